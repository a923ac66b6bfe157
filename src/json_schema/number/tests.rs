//! Languages of numbers against a judge that parses each text, and their sizes.

use super::*;
use proptest::prelude::*;
use std::sync::OnceLock;

fn d(text: &str) -> Decimal {
    Decimal::parse(text, 10_000).unwrap()
}

fn all_of(sets: &[NumberSet]) -> NumberSet {
    sets.iter().fold(NumberSet::all(), |all, set| all.intersect(set))
}

fn between(low: &str, high: &str) -> NumberSet {
    NumberSet::at_least(&d(low)).intersect(&NumberSet::at_most(&d(high)))
}

fn language(set: &NumberSet) -> Arc<Dfa> {
    set.language(&NumberSpelling::default(), &Limits::default()).unwrap()
}

#[track_caller]
fn check(set: &NumberSet, matches: &[&str], misses: &[&str]) {
    let dfa = language(set);
    for text in matches {
        assert!(dfa.is_match(text.as_bytes()), "{set:?} should have {text}");
    }
    for text in misses {
        assert!(!dfa.is_match(text.as_bytes()), "{set:?} should not have {text}");
    }
}

/// The parts of a number as a text.
struct Parts<'a> {
    whole: &'a str,
    fraction: Option<&'a str>,
    exponent: Option<&'a str>,
}

fn parts(text: &str) -> Parts<'_> {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
    Parts { whole, fraction, exponent }
}

/// Tells whether a set's numbers are written like this, by the documentation of the module; without bounds beyond 10^99.
fn is_spelled(set: &NumberSet, spelling: &NumberSpelling, text: &str) -> bool {
    let Parts { whole, fraction, exponent } = parts(text);
    let is_zeros = |digits: Option<&str>| digits.is_none_or(|digits| digits.bytes().all(|b| b == b'0'));
    if set.integer == Some(true) {
        return exponent.is_none() && (fraction.is_none() || (spelling.has_integer_fractions && is_zeros(fraction)));
    }
    let Some(exponent) = exponent else { return true };
    if !spelling.has_exponents || set.integer.is_some() || !set.divisors.is_empty() {
        return false;
    }
    let zero = Decimal::default();
    let is_free = if text.starts_with('-') {
        set.lower.is_none() && set.upper.as_ref().is_none_or(|b| b.value > zero || (b.value == zero && b.is_inclusive))
    } else {
        set.upper.is_none() && set.lower.as_ref().is_none_or(|b| b.value < zero || (b.value == zero && b.is_inclusive))
    };
    let is_normal = whole.len() == 1 && (whole != "0" || is_zeros(fraction));
    exponent.trim_start_matches(['+', '-']).len() <= 2 && (is_free || is_normal)
}

/// All JSON numbers of up to six bytes with some of the digits, with their values.
fn texts() -> &'static [(String, Decimal)] {
    static TEXTS: OnceLock<Vec<(String, Decimal)>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut texts = Vec::new();
        let mut begun = vec![String::new()];
        for n in 0..6 {
            let alphabet = if n < 3 { "0123456789-+.eE" } else { "0159-+.eE" };
            begun = begun.iter().flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}"))).collect();
            // What a digit can't complete is not the beginning of a number.
            let is_number = |text: &str| Decimal::parse(text, 100).is_ok();
            begun.retain(|text| ["", "1", ".1"].iter().any(|end| is_number(&format!("{text}{end}"))));
            texts.extend(
                begun.iter().filter_map(|text| Decimal::parse(text, 100).ok().map(|value| (text.clone(), value))),
            );
        }
        texts
    })
}

fn a_decimal() -> impl Strategy<Value = Decimal> {
    let digits =
        prop_oneof![-120_i128..120, prop::sample::select(vec![0, 1, -1, 5, 9, 10, -10, 99, 100, 101, -500, 1000])];
    (digits, -3_i64..2).prop_map(|(digits, exponent)| Decimal::from_scaled(digits, exponent).unwrap())
}

fn a_set() -> impl Strategy<Value = NumberSet> {
    let divisors =
        ["1", "2", "3", "5", "7", "10", "12", "100", "250", "0.1", "0.5", "0.01", "0.25", "1.5", "0.3", "0.07"];
    let part = prop_oneof![
        3 => a_decimal().prop_map(|value| NumberSet::at_least(&value)),
        2 => a_decimal().prop_map(|value| NumberSet::above(&value)),
        3 => a_decimal().prop_map(|value| NumberSet::at_most(&value)),
        2 => a_decimal().prop_map(|value| NumberSet::below(&value)),
        1 => a_decimal().prop_map(|value| NumberSet::exactly(&value)),
        2 => Just(NumberSet::integers()),
        1 => Just(NumberSet::non_integers()),
        2 => prop::sample::select(divisors.to_vec()).prop_map(|text| NumberSet::multiples_of(&d(text))),
        2 => prop::sample::select(divisors.to_vec()).prop_map(|text| NumberSet::non_multiples_of(&d(text))),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| all_of(&parts))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn short_texts_are_as_the_judge_says(set in a_set(), has_integer_fractions: bool, has_exponents: bool) {
        let spelling = NumberSpelling { has_integer_fractions, has_exponents };
        let dfa = set.language(&spelling, &Limits::default()).unwrap();
        for (text, value) in texts() {
            let expected = set.contains(value) && is_spelled(&set, &spelling, text);
            prop_assert_eq!(dfa.is_match(text.as_bytes()), expected, "{}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_means_no_number(set in a_set()) {
        let is_empty = set.is_empty(&Limits::default()).unwrap();
        prop_assert_eq!(language(&set).is_empty(), is_empty);
        if is_empty {
            prop_assert!(texts().iter().all(|(_, value)| !set.contains(value)));
        }
    }

    #[test]
    fn intersection_is_both(a in a_set(), b in a_set()) {
        let both = a.intersect(&b);
        prop_assert_eq!(&both, &b.intersect(&a));
        prop_assert_eq!(&both, &both.intersect(&a));
        for (_, value) in texts().iter().take(3000) {
            prop_assert_eq!(both.contains(value), a.contains(value) && b.contains(value), "{}", value);
        }
    }

    #[test]
    fn long_numbers_are_compared_to_the_last_digit(
        digits in "[1-9][0-9]{0,45}", exponent in -60_i64..40, low_kind in 0_usize..3, high_kind in 0_usize..3, other in a_decimal(), zeros in 0_usize..3,
    ) {
        let bound = d(&format!("{digits}e{exponent}"));
        let bound = if other.is_negative() { bound.negated() } else { bound };
        let lower = [NumberSet::all(), NumberSet::at_least(&bound), NumberSet::above(&bound)];
        let upper = [NumberSet::all(), NumberSet::at_most(&bound), NumberSet::below(&bound)];
        let apart = d(&format!("{digits}e{}", exponent + 1));
        for set in [
            lower[low_kind].intersect(&upper[high_kind]),
            lower[low_kind].intersect(&NumberSet::at_most(&apart)),
            upper[high_kind].intersect(&NumberSet::at_least(&other)),
        ] {
            let dfa = language(&set);
            for neighbour in neighbours(&digits) {
                for shift in -1..=1 {
                    for sign in ["", "-"] {
                        for text in spellings(&neighbour, exponent + shift, zeros) {
                            let text = format!("{sign}{text}");
                            let expected = set.contains(&d(&text)) && is_spelled(&set, &NumberSpelling::default(), &text);
                            prop_assert_eq!(dfa.is_match(text.as_bytes()), expected, "{} in {:?}", text, set);
                        }
                    }
                }
            }
        }
    }
}

/// Returns an integer, those next to it, and it with a digit more.
fn neighbours(digits: &str) -> Vec<String> {
    let mut all = vec![digits.to_string(), format!("{digits}0"), format!("{digits}1")];
    let (last, rest) = digits.as_bytes().split_last().unwrap();
    let rest = core::str::from_utf8(rest).unwrap();
    all.extend(
        [last.saturating_sub(1), last + 1]
            .iter()
            .filter(|d| d.is_ascii_digit())
            .map(|&d| format!("{rest}{}", char::from(d))),
    );
    all
}

/// Returns some spellings of `digits · 10^exponent`.
fn spellings(digits: &str, exponent: i64, n_zeros: usize) -> Vec<String> {
    let zeros = "0".repeat(n_zeros);
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let plain = match usize::try_from(-exponent) {
        Err(_) | Ok(0) => format!(
            "{digits}{}{}",
            "0".repeat(exponent as usize),
            if n_zeros > 0 { format!(".{zeros}") } else { String::new() }
        ),
        Ok(n) => {
            let padded = format!("{digits:0>width$}", width = n + 1);
            format!("{}.{}{zeros}", &padded[..padded.len() - n], &padded[padded.len() - n..])
        }
    };
    let height = exponent + digits.len() as i64 - 1;
    vec![plain, format!("{}.{}0{zeros}e{height}", &digits[..1], &digits[1..]), format!("{digits}E{exponent:+03}")]
}

#[test]
fn usual_sets_are_small() {
    let (integers, all) = (NumberSet::integers(), NumberSet::all());
    let cases = [
        ("number", all.clone(), 10),
        ("integer", integers.clone(), 4),
        ("integer from 0", NumberSet::at_least(&d("0")).intersect(&integers), 4),
        ("integer from 1", NumberSet::at_least(&d("1")).intersect(&integers), 2),
        ("integer 0 to 100", between("0", "100").intersect(&integers), 8),
        ("number from 0", NumberSet::at_least(&d("0")), 20),
        ("number above 0", NumberSet::above(&d("0")), 30),
        ("number 0 to 1", between("0", "1"), 40),
        ("number 0 to 100", between("0", "100"), 40),
        ("number -90 to 90", between("-90", "90"), 50),
        ("cents", NumberSet::multiples_of(&d("0.01")), 8),
        ("cents from 0", NumberSet::multiples_of(&d("0.01")).intersect(&NumberSet::at_least(&d("0"))), 9),
        ("64 bits", between("-9223372036854775808", "9223372036854775807").intersect(&integers), 100),
        ("multiples of 1000000", NumberSet::multiples_of(&d("1000000")).intersect(&integers), 20),
        ("doubles", between("-1.7976931348623157e308", "1.7976931348623157e308"), 1500),
        ("0.07", NumberSet::exactly(&d("0.07")), 20),
    ];
    for (name, set, n_states_max) in cases {
        let dfa = language(&set);
        let n = 200;
        let start = std::time::Instant::now();
        (0..n).for_each(|_| drop(language(&set)));
        eprintln!("{name}: {} states, {} edges, {:?}", dfa.n_states(), dfa.n_edges(), start.elapsed() / n);
        assert!(dfa.n_states() <= n_states_max, "{name} has {} states", dfa.n_states());
    }
}

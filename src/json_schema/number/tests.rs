//! Languages of numbers against an oracle that parses each text, and their sizes.

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
    set.language(&NumberSpelling::default(), &Limits::default(), &mut Work(&mut |_| true)).unwrap()
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

/// Returns whether a set's numbers are written like this, by the documentation of the module; without bounds beyond 10^99.
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
        let dfa = set.language(&spelling, &Limits::default(), &mut Work(&mut |_| true)).unwrap();
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
        let is_empty = set.is_empty(&Limits::default(), &mut Work(&mut |_| true)).unwrap();
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

/// Walks the automaton, choosing edges and bytes by a list of numbers; then goes the shortest way to an end.
fn sample(dfa: &Dfa, choices: &[u16]) -> Option<String> {
    let mut state = dfa.start()?;
    let mut text = String::new();
    let distances = dfa.distances();
    let mut choices = choices.iter();
    loop {
        let edges: Vec<_> = dfa.edges(state).collect();
        let (byte, target) = match choices.next() {
            Some(&choice) if !edges.is_empty() => {
                let (low, high, target) = edges[usize::from(choice) % edges.len()];
                (low + (choice >> 8) as u8 % (high - low + 1), target)
            }
            _ if dfa.is_accepting(state) => return Some(text),
            _ => edges.iter().map(|&(low, _, target)| (low, target)).min_by_key(|edge| distances[edge.1 as usize])?,
        };
        text.push(char::from(byte));
        state = target;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_automaton_writes_is_in_the_set(set in a_set(), choices in prop::collection::vec(any::<u16>(), 0..60)) {
        if let Some(text) = sample(&language(&set), &choices) {
            prop_assert!(set.contains(&d(&text)), "{}", text);
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(read.as_f64().unwrap().is_finite(), "{}", text);
        }
    }
}

fn a_divisor() -> impl Strategy<Value = Decimal> {
    let digits = prop_oneof![1_i128..30, 1_i128..400, prop::sample::select(vec![1000, 1024, 4096, 2500, 60, 365])];
    (digits, -4_i64..3).prop_map(|(digits, exponent)| Decimal::from_scaled(digits, exponent).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn multiples_and_their_neighbours(
        divisor in a_divisor(), other in a_divisor(), other_kind in 0..4, integer in 0..3,
        width in prop::option::of(0_i128..300), start in -200_000_i128..200_000, at in prop::collection::vec(0_i128..300, 12),
    ) {
        let unit = divisor.exponent();
        let multiple = |k: i128| Decimal::from_scaled(k * divisor.to_scaled(unit).unwrap(), unit).unwrap();
        let mut parts = vec![NumberSet::multiples_of(&divisor)];
        parts.extend(width.map(|width| NumberSet::at_most(&multiple(start + width))));
        parts.extend(width.map(|_| NumberSet::above(&multiple(start))));
        match other_kind {
            0 => parts.push(NumberSet::multiples_of(&other)),
            1 => parts.push(NumberSet::non_multiples_of(&other)),
            _ => {}
        }
        match integer {
            0 => parts.push(NumberSet::integers()),
            1 if other_kind != 0 => parts.push(NumberSet::non_integers()),
            _ => {}
        }
        let set = all_of(&parts);
        // Two divisors may be too much for the default; that is an error, and said so.
        let limits = Limits { dfa_states_max: 1 << 18, ..Limits::default() };
        let spelling = NumberSpelling { has_integer_fractions: true, has_exponents: true };
        let dfa = match set.language(&spelling, &limits, &mut Work(&mut |_| true)) {
            Err(NumberError::TooLarge(error)) => {
                prop_assert_eq!(error.limit_name(), "dfa_states_max");
                return Ok(());
            }
            dfa => dfa.unwrap(),
        };
        prop_assert_eq!(dfa.is_empty(), set.is_empty(&limits, &mut Work(&mut |_| true)).unwrap());
        for at in at {
            let middle = multiple(start + at).to_scaled(unit.min(0)).unwrap();
            for shift in [0, 1, -1, 10, 5, -500] {
                let digits = (middle + shift).unsigned_abs().to_string();
                let sign = if middle + shift < 0 { "-" } else { "" };
                for zeros in 0..2 {
                    for text in spellings(&digits, unit.min(0), zeros) {
                        let text = format!("{sign}{text}");
                        let expected = set.contains(&d(&text)) && is_spelled(&set, &spelling, &text);
                        prop_assert_eq!(dfa.is_match(text.as_bytes()), expected, "{} in {:?}", text, set);
                    }
                }
            }
        }
    }

    #[test]
    fn a_set_is_empty_if_no_number_is_in_it(
        low in -300_i128..300, width in 0_i128..40, step in 1_i128..60, step_exponent in -1_i64..2, has_bounds: [bool; 2],
        others in prop::collection::vec((1_i128..40, -1_i64..2, any::<bool>()), 0..4),
    ) {
        let tenths = |value: i128| Decimal::from_scaled(value, -1).unwrap();
        let lower = if has_bounds[0] { NumberSet::at_least(&tenths(low)) } else { NumberSet::above(&tenths(low)) };
        let upper = if has_bounds[1] { NumberSet::at_most(&tenths(low + width)) } else { NumberSet::below(&tenths(low + width)) };
        let step = NumberSet::multiples_of(&Decimal::from_scaled(step, step_exponent).unwrap());
        let mut set = all_of(&[lower, upper, step]);
        for (digits, exponent, is_multiple) in others {
            let value = Decimal::from_scaled(digits, exponent).unwrap();
            let other = if is_multiple { NumberSet::multiples_of(&value) } else { NumberSet::non_multiples_of(&value) };
            set = set.intersect(&other);
        }
        // All that is a multiple of a step of tenths is a number of tenths.
        let has_number = (low..=low + width).any(|value| set.contains(&tenths(value)));
        prop_assert_eq!(set.is_empty(&Limits::default(), &mut Work(&mut |_| true)).unwrap(), !has_number);
    }
}

#[test]
fn emptiness_of_far_bounds() {
    let is_empty = |set: &NumberSet| set.is_empty(&Limits::default(), &mut Work(&mut |_| true));
    let multiples =
        |divisor: &str, low: &str, high: &str| between(low, high).intersect(&NumberSet::multiples_of(&d(divisor)));
    for (divisor, low, high, verdict) in [
        ("1", "1.1", "1.9", true),
        ("15", "1", "14", true),
        ("15", "1", "15", false),
        ("3", "5", "1e1000000000000", false),
        ("3", "-1e1000000000000", "-5", false),
        ("7", "1e-1000000000000", "6.9", true),
        ("1e-1000000000000", "1", "2", false),
        ("0.07", "1e30", "100000000000000000000000000000.05e1", false),
        ("3", "1e60", "1000000000000000000000000000000000000000000000000000000000001", true),
        ("3", "1e60", "1000000000000000000000000000000000000000000000000000000000002", false),
    ] {
        assert_eq!(is_empty(&multiples(divisor, low, high)), Ok(verdict), "{divisor} from {low} to {high}");
    }
    let neither = all_of(&[NumberSet::non_multiples_of(&d("3")), NumberSet::integers()]);
    assert_eq!(is_empty(&neither.intersect(&between("3", "3"))), Ok(true));
    assert_eq!(is_empty(&neither.intersect(&between("2.5", "3.5"))), Ok(true));
    assert_eq!(is_empty(&neither.intersect(&between("3", "4"))), Ok(false));
    assert_eq!(is_empty(&neither.intersect(&NumberSet::multiples_of(&d("1.5")))), Ok(true));
    assert_eq!(is_empty(&NumberSet::non_integers().intersect(&NumberSet::multiples_of(&d("2")))), Ok(true));
    assert_eq!(is_empty(&NumberSet::non_integers().intersect(&NumberSet::multiples_of(&d("0.5")))), Ok(false));
    assert_eq!(is_empty(&NumberSet::empty()), Ok(true));
    assert_eq!(NumberSet::integers().intersect(&NumberSet::non_integers()), NumberSet::empty());
    assert_eq!(between("2", "1"), NumberSet::empty());
}

#[test]
fn far_bounds_are_reached() {
    let long = format!("1{}", "0".repeat(50));
    let longer = format!("1{}", "0".repeat(308));
    check(
        &NumberSet::at_least(&d("1e50")),
        &[&long, &longer, "1e50", "9.99e99", "1e+99"],
        &["1e49", "9.99e49", "1e309"],
    );
    check(&NumberSet::all(), &[&longer, "1e99", "123.5e-99"], &["1e100", "1e400"]);
    check(
        &NumberSet::at_most(&d("1.7976931348623157e308")),
        &[&longer, "1e308", "1.7976931348623157e308", "1.79769313486231570e+308", "-1e99"],
        &["1.7976931348623158e308", "1.8e308", "1e309", &format!("{longer}0")],
    );
    check(&NumberSet::exactly(&d("1e308")), &[&longer, "1e308", "1.0E+308"], &["1e307", "10e307"]);
    check(&NumberSet::exactly(&d("1e-320")), &[&format!("0.{}1", "0".repeat(319))], &["0", "1e-320", "1e-308"]);
    check(
        &NumberSet::at_most(&d("1e400")),
        &[&longer, "5", "-1e99"],
        &["1e309", &format!("{longer}0"), &"9".repeat(310)],
    );
    check(&NumberSet::at_least(&d("1e-1000000")), &["1", "0.1", "1e-307"], &["0", "-1", "0e1"]);
    check(&NumberSet::at_most(&d("1e-1000000")), &["0", "-1", "-0.0", "-123e4"], &["1", "0.1", "1e-9"]);
    for set in [
        NumberSet::at_least(&d("1e400")),
        NumberSet::exactly(&d("-1e1000000000000")),
        NumberSet::exactly(&d("1e-1000")),
    ] {
        let error = set.language(&NumberSpelling::default(), &Limits::default(), &mut Work(&mut |_| true)).unwrap_err();
        assert_eq!(error, NumberError::Magnitude);
        assert_eq!(set.is_empty(&Limits::default(), &mut Work(&mut |_| true)), Ok(false));
    }
}

#[test]
fn spellings_of_a_few_sets() {
    check(
        &NumberSet::exactly(&d("0.07")),
        &["0.07", "0.070", "7e-2", "7.00E-02"],
        &["0.7", "0.0700001", "0.07.0", "-0.07", "70e-3"],
    );
    check(&NumberSet::exactly(&d("5")), &["5", "5.0", "5e0", "5e-00"], &["5.01", "50e-1", "05", "+5"]);
    check(&NumberSet::exactly(&d("0")), &["0", "-0", "0.0", "-0.00", "0e7", "-0.0E-9"], &["0.1", "00", "1"]);
    check(&NumberSet::integers(), &["0", "-0", "17", "-300"], &["1.0", "1e2", "01", "-", ""]);
    check(
        &between("0", "100"),
        &["100", "100.0", "99.9", "1e2", "7e-3", "9.99e1"],
        &["101", "1000", "1.01e2", "1e3", "100.01"],
    );
    let cents = NumberSet::multiples_of(&d("0.01"));
    check(&cents, &["1", "1.5", "1.50", "1.05000", "-0.01"], &["1.005", "1e2"]);
    check(&NumberSet::non_integers(), &["1.5", "0.001", "-2.50"], &["1", "1.0", "15e-1"]);
    check(
        &NumberSet::multiples_of(&d("1e30")),
        &[&format!("7{}", "0".repeat(30)), "0"],
        &[&format!("7{}", "0".repeat(29))],
    );
    check(
        &NumberSet::multiples_of(&d("7919")).intersect(&between("0.5", "16000")),
        &["7919", "15838", "15838.0", "7919.000"],
        &["0", "791", "23757", "7919.5", "7919.", "-7919"],
    );
    check(
        &NumberSet::multiples_of(&d("1234.5")).intersect(&between("-3000", "3000")),
        &["0", "-0", "0.0", "-0.0", "1234.5", "-1234.50", "2469", "2469.00", "-2469.0"],
        &["1234", "1234.", "1234.05", "2469.5", "24690"],
    );
    // The common multiple is 0.12.
    check(
        &all_of(&[NumberSet::multiples_of(&d("0.04")), NumberSet::multiples_of(&d("0.06"))]),
        &["0.12", "3"],
        &["0.04", "0.06", "0.2"],
    );
}

#[test]
fn sizes_that_are_refused_by_name() {
    let language =
        |set: &NumberSet, limits: &Limits| set.language(&NumberSpelling::default(), limits, &mut Work(&mut |_| true));
    let prime = NumberSet::multiples_of(&d("1000003"));
    let error = language(&prime, &Limits::default()).unwrap_err();
    assert!(matches!(&error, NumberError::TooLarge(error) if error.limit_name() == "dfa_states_max"), "{error}");
    assert!(language(&prime.intersect(&between("0", "9000000")), &Limits::default()).is_ok());
    assert!(language(&between("0", "123456789"), &Limits { dfa_states_max: 20, ..Limits::default() }).is_err());
    let many = all_of(&["999983e9", "999979", "1000003.1", "999961"].map(|text| NumberSet::multiples_of(&d(text))));
    let many = many.intersect(&NumberSet::multiples_of(&d("1234567890123456789")));
    assert_eq!(language(&many, &Limits::default()), Err(NumberError::Divisor { limit_digits: 37 }));
    let others = (0..17).map(|i| NumberSet::non_multiples_of(&Decimal::from_scaled(101 + 2 * i, -3).unwrap()));
    let others = all_of(&others.collect::<Vec<_>>());
    assert_eq!(language(&others, &Limits::default()), Err(NumberError::NonDivisors { given: 17, limit: 16 }));
    assert_eq!(others.is_empty(&Limits::default(), &mut Work(&mut |_| true)), Ok(false));
}

/// What strangers may write takes no longer than its size allows.
#[test]
fn costly_sets_end_soon() {
    let digits = "1234567890".repeat(400);
    let bounds = NumberSet::at_least(&d(&format!("-0.{digits}"))).intersect(&NumberSet::at_most(&d(&digits)));
    let coprime = [97, 101, 103, 107, 109].map(|n: u64| NumberSet::non_multiples_of(&Decimal::from(n)));
    let wide = NumberSet::multiples_of(&d("1234567890123456789012345678901234567e-400"));
    for (name, set) in [
        ("bounds of 4000 digits", bounds),
        ("a large prime", NumberSet::multiples_of(&d("1000003"))),
        ("coprime numbers", all_of(&coprime)),
        ("a number of 37 digits", wide.clone()),
        ("and bounds", wide.intersect(&between("-1e300", "1e300"))),
        (
            "doubles",
            NumberSet::multiples_of(&d("0.001"))
                .intersect(&between("-1.7976931348623157e308", "1.7976931348623157e308")),
        ),
    ] {
        let start = std::time::Instant::now();
        let result = set.language(&NumberSpelling::default(), &Limits::default(), &mut Work(&mut |_| true));
        let result = result.map(|dfa| dfa.n_states()).map_err(|error| error.to_string());
        eprintln!("{name}: {result:?}, {:?}", start.elapsed());
        assert!(start.elapsed().as_secs() < 20, "{name}");
        let start = std::time::Instant::now();
        assert_eq!(set.is_empty(&Limits::default(), &mut Work(&mut |_| true)), Ok(false));
        assert!(start.elapsed().as_secs() < 20, "{name}");
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
    let (digits, exponent) = match digits.trim_start_matches('0') {
        "" => ("0", exponent.min(0)),
        digits => (digits, exponent),
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
        ("multiples of 7919 to 100000", NumberSet::multiples_of(&d("7919")).intersect(&between("0", "100000")), 70),
        ("multiples of 97", NumberSet::multiples_of(&d("97")).intersect(&integers), 120),
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

/// Walks along both automata together until nothing new is met: the same bytes may follow, and texts end at the same places.
#[track_caller]
fn check_register(set: &NumberSet, spelling: &NumberSpelling) -> bool {
    let Some(multiples) = register::Multiples::new(set, spelling) else { return false };
    let dfa = set.language(spelling, &Limits::default(), &mut Work(&mut |_| true)).unwrap();
    let Some(texts) = multiples.texts() else {
        assert!(dfa.is_empty(), "{set:?}");
        return true;
    };
    let start = (dfa.start().unwrap(), 0_u32, 0_u64);
    let mut places = vec![(start, String::new())];
    let mut known = std::collections::HashSet::from([start]);
    let mut next = 0;
    while let Some(((of_dfa, state, rest), text)) = places.get(next).cloned() {
        next += 1;
        let edges = dfa.edges(of_dfa).flat_map(|(low, high, target)| (low..=high).map(move |byte| (byte, target)));
        let expected: Vec<(u8, u32)> = edges.collect();
        let mut found: Vec<(u8, u32, u64)> = Vec::new();
        for &(byte, target) in &texts.edges[state as usize] {
            let arrived = texts.register_rules[target as usize]
                .as_ref()
                .map_or(Some(rest), |register_rule| register_rule.advance(rest));
            found.extend(arrived.map(|rest| (byte, target, rest)));
        }
        found.sort_unstable();
        let bytes = |bytes: &mut dyn Iterator<Item = u8>| String::from_utf8(bytes.collect()).unwrap();
        assert_eq!(
            bytes(&mut found.iter().map(|edge| edge.0)),
            bytes(&mut expected.iter().map(|edge| edge.0)),
            "after {text:?} of {set:?} {multiples:?}"
        );
        let register_rule = texts.register_rules[state as usize].as_ref();
        let can_end = register_rule.is_some_and(|register_rule| register_rule.can_end(rest));
        assert_eq!(can_end, dfa.is_accepting(of_dfa), "{text:?} of {set:?} {multiples:?}");
        if let Some(register_rule) = register_rule {
            assert_eq!(register_rule.can_continue(rest), !found.is_empty(), "after {text:?} of {set:?} {multiples:?}");
        }
        for ((byte, target, rest), (_, of_dfa)) in found.into_iter().zip(expected) {
            let place = (of_dfa, target, rest);
            if known.insert(place) {
                places.push((place, format!("{text}{}", char::from(byte))));
            }
        }
    }
    true
}

#[test]
fn registers_do_what_automata_do() {
    let bounds = [
        NumberSet::all(),
        NumberSet::at_least(&d("0")),
        NumberSet::above(&d("0")),
        NumberSet::at_least(&d("1")),
        NumberSet::at_least(&d("-37.5")),
        NumberSet::at_most(&d("0")),
        NumberSet::below(&d("0")),
        NumberSet::above(&d("1204.305")),
        NumberSet::at_most(&d("-1204.305")),
        NumberSet::at_most(&d("999")),
        between("-20", "20"),
        between("1", "5"),
        between("98.75", "12034.5"),
        between("-3000", "-299.01"),
        between("0.001", "0.2"),
        between("100", "9999"),
        NumberSet::above(&d("7")).intersect(&NumberSet::below(&d("70000"))),
    ];
    let mut n = 0;
    for divisor in
        ["2", "3", "7", "12", "13", "40", "97", "101", "0.5", "0.07", "0.13", "1.25", "2.001", "65.25", "0.9"]
    {
        for bounds in &bounds {
            for kind in [NumberSet::all(), NumberSet::integers()] {
                for divisors in [NumberSet::multiples_of(&d(divisor)), NumberSet::non_multiples_of(&d(divisor))] {
                    let set = bounds.intersect(&kind).intersect(&divisors);
                    for has_integer_fractions in [false, true] {
                        let spelling = NumberSpelling { has_integer_fractions, has_exponents: true };
                        n += usize::from(check_register(&set, &spelling));
                    }
                }
            }
        }
    }
    assert!(n > 1200, "{n} sets have a register");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn registers_of_any_sets_do_what_automata_do(set in a_set(), has_integer_fractions: bool) {
        check_register(&set, &NumberSpelling { has_integer_fractions, has_exponents: true });
    }
}

/// Tells whether a text is one of a number as an item that is compared.
fn is_element_text((dfa, registers): &(Arc<Dfa>, Vec<RegisterTexts>), text: &[u8]) -> bool {
    let reads = |texts: &RegisterTexts| {
        let (mut state, mut rest) = (0usize, 0u64);
        for &byte in text {
            let Some(&(_, target)) = texts.edges[state].iter().find(|(known, _)| *known == byte) else { return false };
            state = target as usize;
            if let Some(rule) = &texts.register_rules[state] {
                let Some(next) = rule.advance(rest) else { return false };
                rest = next;
            }
        }
        texts.register_rules[state].as_ref().is_some_and(|rule| rule.can_end(rest))
    };
    dfa.is_match(text) || registers.iter().any(reads)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Integers by divisors of all sizes, some of which take a register beside zero.
    #[test]
    fn items_that_are_compared_are_those_of_the_set(
        divisor in 1_i128..9000, exponent in -3_i64..2, is_multiple: bool, low in -9000_i128..9000, has_low: bool, around in -3_i128..4,
    ) {
        let of_divisor = Decimal::from_scaled(divisor, exponent).unwrap();
        let mut parts = vec![NumberSet::integers()];
        parts.push(if is_multiple { NumberSet::multiples_of(&of_divisor) } else { NumberSet::non_multiples_of(&of_divisor) });
        parts.extend(has_low.then(|| NumberSet::at_least(&Decimal::from_scaled(low, 0).unwrap())));
        let set = all_of(&parts);
        let texts = set.element_texts(&Limits::default(), &mut Work(&mut |_| true)).unwrap();
        for base in [0, divisor, -divisor, low, 10 * divisor, 1000 * divisor] {
            let value = base + around;
            let expected = set.contains(&Decimal::from_scaled(value, 0).unwrap());
            prop_assert_eq!(is_element_text(&texts, value.to_string().as_bytes()), expected, "{} in {:?}", value, set);
        }
    }
}

#[test]
fn divisors_with_many_digits_have_registers() {
    let spelling = NumberSpelling::default();
    let texts = |set: &NumberSet| set.texts(&spelling, &Limits::default(), &mut Work(&mut |_| true));
    let modulus = |set: &NumberSet| match texts(set).unwrap() {
        NumberTexts::Register(Some(texts)) => {
            texts.register_rules.iter().flatten().find_map(|register_rule| match register_rule {
                crate::machine::RegisterRule::Residue(residue) => Some(residue.modulus),
                crate::machine::RegisterRule::Length(_) | crate::machine::RegisterRule::Tokens(_) => None,
            })
        }
        _ => None,
    };
    let (integers, all) = (NumberSet::integers(), NumberSet::all());
    for (kind, divisor, expected) in [
        (&integers, "0.123456789", 123_456_789),
        (&integers, "0.5000005", 1_000_001),
        (&integers, "18446744073709551615", u64::MAX),
        (&all, "65537.25", 6_553_725),
        (&all, "1000003", 1_000_003),
        (&all, "9007199254740993", 9_007_199_254_740_993),
    ] {
        for set in [NumberSet::multiples_of(&d(divisor)), NumberSet::non_multiples_of(&d(divisor))] {
            assert_eq!(modulus(&kind.intersect(&set)), Some(expected), "{divisor}");
        }
    }
    // Of two divisors the least common multiple.
    let both = NumberSet::multiples_of(&d("10007")).intersect(&NumberSet::multiples_of(&d("1000003")));
    assert_eq!(modulus(&both), Some(10_007 * 1_000_003));
    // Small ones stay automata, and so do the few multiples between bounds.
    for set in
        [NumberSet::multiples_of(&d("997")), NumberSet::multiples_of(&d("1000003")).intersect(&between("0", "1e9"))]
    {
        assert!(matches!(texts(&set), Ok(NumberTexts::Automaton(_))), "{set:?}");
    }
    // More multiples between bounds than are listed.
    let many = NumberSet::multiples_of(&d("1000003")).intersect(&between("0", "1e12"));
    assert_eq!(modulus(&many), Some(1_000_003));
    // One register is not enough.
    let mixed = NumberSet::multiples_of(&d("1000003")).intersect(&NumberSet::non_multiples_of(&d("1000033")));
    assert!(matches!(texts(&mixed), Err(NumberError::TooLarge(_))));
    let huge = NumberSet::multiples_of(&d("18446744073709551617"));
    assert!(matches!(texts(&huge), Err(NumberError::TooLarge(_))));
}

#[test]
fn no_automaton_has_fewer_states_than_are_foretold() {
    let mut rng = crate::testing::Rng::new(7);
    let divisors = ["2", "3", "0.3", "6", "7", "9", "12", "14", "15", "21", "0.25", "35", "45", "49", "1.1", "33"];
    let bounds = [
        NumberSet::all(),
        NumberSet::at_least(&d("45")),
        NumberSet::below(&d("-0.5")),
        NumberSet::integers(),
        NumberSet::non_integers(),
    ];
    let mut n_tight = 0;
    for _ in 0..400 {
        let mut set = bounds[rng.below(bounds.len())].clone();
        for _ in 0..1 + rng.below(3) {
            let divisor = d(divisors[rng.below(divisors.len())]);
            set = set.intersect(&match rng.below(2) {
                0 => NumberSet::multiples_of(&divisor),
                _ => NumberSet::non_multiples_of(&divisor),
            });
        }
        let residues = residue::Residues::new(&set).unwrap();
        if !residues.is_contradiction() {
            let (n_states, least) = (language(&set).n_states() as u128, residues.n_states_min());
            assert!(n_states >= least, "{set:?}: {n_states} states, {least} foretold");
            n_tight += usize::from(least > 1 && n_states < 3 * least);
        }
    }
    assert!(n_tight > 20, "{n_tight}");
}

#[test]
fn what_a_non_divisor_excludes_already_is_no_state() {
    let set = all_of(&["257", "263"].map(|divisor| NumberSet::non_multiples_of(&d(divisor))));
    assert_eq!(language(&set.intersect(&NumberSet::non_integers())), language(&NumberSet::non_integers()));
}

#[test]
fn what_would_be_too_large_is_not_begun() {
    let mut set = NumberSet::multiples_of(&d("3"));
    for prime in ["7", "11", "13", "17", "19", "23"] {
        set = set.intersect(&NumberSet::non_multiples_of(&d(prime)));
    }
    let n_steps = |set: &NumberSet| {
        let mut n_steps = 0;
        let mut spend = |n| {
            n_steps += n;
            true
        };
        let texts = set.texts(&NumberSpelling::default(), &Limits::default(), &mut Work(&mut spend));
        assert!(matches!(texts, Err(NumberError::TooLarge(_))), "{texts:?}");
        n_steps
    };
    assert!(n_steps(&set) < 1000);
    assert!(n_steps(&set.intersect(&between("0", "1000000000000"))) > 100_000, "here digits are counted");
}

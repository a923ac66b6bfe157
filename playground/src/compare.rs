//! `explain --diff`: in what two grammars differ.
//!
//! Two texts lead to the same pair of places if both grammars can go on alike. So a breadth-first search over pairs of places finds a shortest text that one grammar has and the
//! other hasn't, or, where the pairs are finitely many and none of them shows a difference, proves that there is none. Of grammars with recursion, and of schemas whose keys must
//! differ, there may be infinitely many pairs: then a bound ends the search, texts are sampled from either grammar and tried on the other, and if none tells them apart, the
//! answer is open.

use crate::controls::shown_ids;
use crate::explain::Args;
use crate::failure::{Failure, Verdict};
use crate::options::GrammarArgs;
use crate::output::{Output, counted};
use crate::run::Run;
use crate::sampler::{Sampler, Style};
use crate::source::GrammarSource;
use crate::vocabulary;
use maskwright::matcher::PlaceKey;
use maskwright::{Matcher, TokenId, TokenKind};
use serde_json::json;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// The outcome of a comparison.
enum Answer {
    Equal,
    /// A text that only one has, as tokens, and whether none is shorter.
    Different {
        tokens: Vec<TokenId>,
        is_in_first: bool,
        is_shortest: bool,
    },
    Unknown,
}

/// Runs the comparison. The answer is yes if the grammars are equal.
///
/// # Errors
/// If a grammar can't be read or compiled.
pub fn run(args: &Args, other: &Path, output: &mut Output) -> Result<Verdict, Failure> {
    let sources = read(args, other)?;
    let parsed: Vec<_> = sources.iter().filter_map(GrammarSource::parsed).collect();
    let vocab = Arc::new(vocabulary::of_bytes_and_markers(&parsed)?);
    let controls: Vec<TokenId> =
        (0..vocab.n_tokens() as TokenId).filter(|&id| vocab.kind(id) == TokenKind::Control).collect();
    let (first, _) = sources[0].compile(Arc::clone(&vocab))?;
    let (second, _) = sources[1].compile(Arc::clone(&vocab))?;
    let bytes: Vec<TokenId> =
        (0..vocab.n_tokens() as TokenId).filter(|&id| vocab.kind(id) == TokenKind::Text).collect();
    let symbols: Vec<TokenId> = bytes.into_iter().chain(controls).collect();
    // The search would not end on a recursive grammar, which is equal to itself all the same.
    let (answer, n_places) = match sources[0].is_same(&sources[1]) {
        true => (Answer::Equal, 0),
        false => compare(first.matcher(), second.matcher(), &symbols, args.diff_places),
    };
    // Which texts a vocabulary allows depends on how it cuts them.
    let note = [&first, &second].iter().any(|one| vocabulary::counts_tokens(one.grammar())).then_some(
        "a grammar counts tokens (`max_tokens`), and here each byte is one: with a vocabulary the answer may be another",
    );
    let names = [&sources[0].name, &sources[1].name];
    let (word, text) = match &answer {
        Answer::Equal => ("equal", None),
        Answer::Different { tokens, .. } => ("different", Some(shown_ids(&vocab, tokens))),
        Answer::Unknown => ("unknown", None),
    };
    if args.json {
        let (is_in_first, is_shortest) = match answer {
            Answer::Different { is_in_first, is_shortest, .. } => (Some(is_in_first), Some(is_shortest)),
            _ => (None, None),
        };
        output.json(&json!({
            "version": 1,
            "grammars": names,
            "answer": word,
            "text": text,
            "is_in_first": is_in_first,
            "is_shortest": is_shortest,
            "n_places": n_places,
            "notes": note.into_iter().collect::<Vec<_>>(),
        }));
    } else {
        let looked = format!("{} of places", counted(n_places, "pair"));
        match &answer {
            Answer::Equal if n_places == 0 => output.line("equal: both are the same grammar"),
            Answer::Equal => output.line(format_args!("equal: both have the same texts ({looked})")),
            Answer::Unknown => output.line(format_args!("unknown: no difference was found among {looked}")),
            Answer::Different { is_in_first, is_shortest, .. } => {
                let (has, lacks) = if *is_in_first { (names[0], names[1]) } else { (names[1], names[0]) };
                let shortest = if *is_shortest { ", and no shorter text differs" } else { "" };
                output.line(format_args!("different: {}", text.unwrap_or_default()));
                output.line(format_args!("  is a text of {has} and not of {lacks}{shortest}"));
            }
        }
    }
    if let Some(note) = note.filter(|_| !args.json) {
        output.line(format_args!("note: {note}"));
    }
    Ok(Verdict::of(matches!(answer, Answer::Equal)))
}

/// Reads both grammars. A pattern stands in place of the first alone: the second one is a file of whatever form, to which options of schemas belong.
fn read(args: &Args, other: &Path) -> Result<[GrammarSource; 2], Failure> {
    let of_pattern = GrammarArgs { regex: args.grammar.regex.clone(), ..GrammarArgs::default() };
    let of_other = GrammarArgs { regex: None, ..args.grammar.clone() };
    let of_first = if args.grammar.regex.is_some() { &of_pattern } else { &args.grammar };
    Ok([GrammarSource::read(of_first, args.file.as_deref())?, GrammarSource::read(&of_other, Some(other))?])
}

/// A pair of places; `None` where a grammar has refused the text.
struct Pair {
    matchers: [Option<Matcher>; 2],
    tokens: Vec<TokenId>,
}

type PairKey = [Option<PlaceKey>; 2];

fn compare(first: Matcher, second: Matcher, symbols: &[TokenId], places_max: usize) -> (Answer, usize) {
    let starts = [first.fork(), second.fork()];
    let mut seen: HashSet<PairKey> = HashSet::new();
    let mut queue = VecDeque::from([Pair { matchers: [Some(first), Some(second)], tokens: Vec::new() }]);
    // The first place that only one grammar reaches: some text differs, though it may not be a shortest one.
    let mut one_sided: Option<(Matcher, bool, Vec<TokenId>)> = None;
    let (mut n_places, mut n_pushed) = (0, 1);
    while let Some(Pair { mut matchers, tokens }) = queue.pop_front() {
        n_places += 1;
        let accepts = |matcher: &Option<Matcher>| matcher.as_ref().is_some_and(Matcher::is_accepting);
        if accepts(&matchers[0]) != accepts(&matchers[1]) {
            let is_in_first = accepts(&matchers[0]);
            return (Answer::Different { tokens, is_in_first, is_shortest: true }, n_places);
        }
        for &symbol in symbols {
            let is_read = [0, 1]
                .map(|side: usize| matchers[side].as_mut().is_some_and(|matcher| matcher.accept_token(symbol).is_ok()));
            if is_read == [false, false] {
                continue;
            }
            // Without a key a place counts as new.
            let keys = [0, 1].map(|side: usize| match (is_read[side], &matchers[side]) {
                (true, Some(matcher)) => Some(matcher.place_key()),
                _ => None,
            });
            let is_new = match keys {
                [Some(None), _] | [_, Some(None)] => true,
                [first, second] => seen.insert([first.flatten(), second.flatten()]),
            };
            if is_new {
                let mut tokens = tokens.clone();
                tokens.push(symbol);
                let next =
                    [0, 1].map(|side: usize| matchers[side].as_ref().filter(|_| is_read[side]).map(Matcher::fork));
                if let ([Some(only), None] | [None, Some(only)], None) = (&next, &one_sided) {
                    one_sided = Some((only.fork(), next[0].is_some(), tokens.clone()));
                }
                n_pushed += 1;
                // What is queued takes memory; those before are still looked at.
                if n_pushed <= places_max {
                    queue.push_back(Pair { matchers: next, tokens });
                }
            }
            for side in [0, 1] {
                if let (true, Some(matcher)) = (is_read[side], matchers[side].as_mut()) {
                    let _ = matcher.rollback(1);
                }
            }
        }
    }
    if n_pushed <= places_max {
        return (Answer::Equal, n_places);
    }
    let found = one_sided.and_then(|(matcher, is_in_first, mut tokens)| {
        let completion = matcher.completion().ok()??.bytes()?;
        tokens.extend(matcher.grammar().vocab().tokenize_greedy(&completion));
        Some(Answer::Different { tokens, is_in_first, is_shortest: false })
    });
    (found.or_else(|| sampled(&starts)).unwrap_or(Answer::Unknown), n_places)
}

/// Samples texts of either grammar, and returns the shortest that the other has not.
fn sampled(starts: &[Matcher; 2]) -> Option<Answer> {
    const N_TEXTS: u64 = 12;
    const TOKENS_MAX: usize = 120;
    let mut found: Option<(Vec<TokenId>, bool)> = None;
    for side in [0, 1] {
        for seed in 0..N_TEXTS {
            let style = [Style::Text, Style::Rare, Style::Text, Style::Shortest][seed as usize % 4];
            let mut sampler = Sampler::new(starts[side].grammar().vocab(), seed, style);
            let Ok((run, _)) = Run::with_room(starts[side].fork(), TOKENS_MAX) else { break };
            let Ok(run) = run.finish(&mut sampler, |_| {}) else { continue };
            let tokens = run.tokens();
            let mut other = starts[1 - side].fork();
            let is_in_both = other.accept_tokens(&tokens).is_ok() && other.is_accepting();
            if !is_in_both && found.as_ref().is_none_or(|(shortest, _)| tokens.len() < shortest.len()) {
                found = Some((tokens, side == 0));
            }
        }
    }
    found.map(|(tokens, is_in_first)| Answer::Different { tokens, is_in_first, is_shortest: false })
}

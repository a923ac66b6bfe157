//! `playground step`: an output by hand. Commands come from standard input, one a line; each is answered.

use crate::cli::EXIT_CODES;
use crate::controls::pieces;
use crate::expected::{ENDED, Expected, STUCK};
use crate::failure::{Failure, Verdict};
use crate::mask::{Reason, at_prefix};
use crate::options::{FileArgs, PrefixArgs, VocabArgs};
use crate::output::{Output, counted, grouped, quoted, quoted_short, unescaped};
use crate::run::Run;
use crate::sampler::{Sampler, Style};
use crate::source::{Loaded, check_stdin_once, is_stdin};
use crate::tokens::{Asked, find_token, shown_token};
use maskwright::{AcceptedPiece, MatchError, Matcher, TokenId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Options of `step`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground step [OPTIONS] GRAMMAR_FILE\n       playground step [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub prefix: PrefixArgs,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// Seed of walks
    #[arg(long, default_value_t = 85)]
    pub seed: u64,
    /// Answer each command by a line of JSON
    #[arg(long)]
    pub json: bool,
}

const HELP: &str = "\
type TEXT      accept a text, with the escapes \\n \\r \\t \\\\ \\xHH
token TOKEN    accept a token: an id, a name, or its text
mask [N]       show the first N allowed tokens
why TOKEN      why a token is allowed or not
expected       what may come next, and how the text could end
undo [N]       take back the last step, or N
fork NAME      keep the output under a name
go NAME        go on from the output of that name
jump           accept what is forced
walk [N]       accept N tokens at random
finish         go on at random to the end
text           show the text
quit           end";

/// A session.
struct Session<'a> {
    loaded: &'a Loaded,
    matcher: Matcher,
    forks: BTreeMap<String, Matcher>,
    seed: u64,
}

/// An answer: lines for people, and what a program wants to know.
struct Answer {
    lines: Vec<String>,
    is_done: bool,
    more: Value,
}

impl Answer {
    fn yes() -> Self {
        Answer { lines: Vec::new(), is_done: true, more: Value::Null }
    }

    fn lines(lines: Vec<String>) -> Self {
        Answer { lines, ..Answer::yes() }
    }

    fn no(line: impl Into<String>) -> Self {
        Answer { lines: vec![line.into()], is_done: false, more: Value::Null }
    }
}

/// Runs the command. The answer is yes if the text is complete at the end.
///
/// # Errors
/// If the grammar or the vocabulary can't be read, or the prefix doesn't match.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let paths = || args.file.file.iter().chain(&args.prefix.prefix_file).map(std::path::PathBuf::as_path);
    check_stdin_once(paths())?;
    if paths().any(is_stdin) {
        return Err(Failure::Usage("commands come from standard input, so that nothing else can".into()));
    }
    let prefix = args.prefix.read()?;
    let loaded = Loaded::new(&args.file, &args.vocab)?;
    let read = pieces(&prefix, &loaded.grammar, args.prefix.control_tokens);
    let matcher = at_prefix(&loaded, &prefix, &read)?;
    let mut session = Session { loaded: &loaded, matcher, forks: BTreeMap::new(), seed: args.seed };
    if !args.json {
        output.line(session.status());
        output.flush();
    }
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| Failure::File { path: "standard input".into(), message: error.to_string() })?;
        let line = String::from_utf8_lossy(&line).into_owned();
        // Blanks at the end belong to a text that is typed.
        let line = line.strip_suffix('\r').unwrap_or(&line).trim_start();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word.is_empty() {
            continue;
        }
        if matches!(word, "quit" | "q" | "exit") {
            break;
        }
        // What a command can't do is no reason to end.
        let answer = session.answer(word, rest).unwrap_or_else(|failure| Answer::no(failure.to_string()));
        if args.json {
            let report = json!({
                "version": 1,
                "command": line,
                "is_done": answer.is_done,
                "lines": answer.lines,
                "result": answer.more,
                "state": session.to_json(),
            });
            output.line(report);
        } else {
            answer.lines.iter().for_each(|line| output.line(line));
            output.line(session.status());
        }
        output.flush();
    }
    Ok(Verdict::of(session.matcher.is_accepting() || session.matcher.is_terminated()))
}

impl Session<'_> {
    fn answer(&mut self, word: &str, rest: &str) -> Result<Answer, Failure> {
        let vocab = self.loaded.grammar.vocab();
        let number = |default: usize| match rest.trim() {
            "" => Some(default),
            text => text.parse::<usize>().ok(),
        };
        Ok(match word {
            "help" | "?" => Answer::lines(HELP.lines().map(str::to_owned).collect()),
            "token" | "k" | "why" | "w" if rest.is_empty() => Answer::no("which token? An id, a name, or a text"),
            "fork" | "f" if rest.trim().is_empty() => Answer::no("under which name?"),
            "go" | "g" if rest.trim().is_empty() => Answer::no("to the output of which name?"),
            "type" | "t" if self.matcher.is_terminated() => Answer::no(ENDED),
            "type" | "t" => {
                let bytes = unescaped(rest).map_err(Failure::Usage)?;
                match self.matcher.accept_bytes(&bytes) {
                    Ok(()) => Answer::yes(),
                    Err(error) => {
                        let offset = error.byte_offset().unwrap_or(0);
                        let mut ahead = self.matcher.fork();
                        let _ = ahead.accept_bytes(&bytes[..offset]);
                        let shown = bytes.get(offset..offset + 1).map_or(String::new(), quoted);
                        let mut lines = vec![format!("refused: {shown} at byte {offset}")];
                        let expected = Expected::new(&ahead, &bytes[offset..]);
                        lines.extend(expected.labelled_lines());
                        Answer { lines, is_done: false, more: expected.to_json() }
                    }
                }
            }
            "token" | "k" => match find_token(vocab, rest) {
                Asked::Token(id) => match self.matcher.accept_token(id) {
                    Ok(()) => Answer::yes(),
                    Err(_) => self.why(rest),
                },
                Asked::Text(bytes) => Answer::no(format!("{} is no token", quoted(&bytes))),
                Asked::Unknown(id) => Answer::no(format!("there is no token {id}")),
            },
            "mask" | "m" => match (number(20), self.matcher.mask()) {
                (None, _) => Answer::no("how many?"),
                (_, Err(error)) if error.is_stuck() => Answer::no(STUCK),
                (_, Err(error)) => Answer::no(error.to_string()),
                (Some(n), Ok(mask)) => {
                    let shown: Vec<TokenId> = mask.iter().take(n).collect();
                    let lines = shown.iter().map(|&id| format!("{id:>8}  {}", shown_token(vocab, id))).collect();
                    Answer { more: json!({ "n_allowed": mask.count(), "tokens": shown }), ..Answer::lines(lines) }
                }
            },
            "why" | "w" => self.why(rest),
            "expected" | "e" => {
                let expected = Expected::new(&self.matcher, b"");
                Answer { more: expected.to_json(), ..Answer::lines(expected.labelled_lines()) }
            }
            "undo" | "u" => match number(1).map(|n| self.matcher.rollback(n)) {
                None => Answer::no("how many?"),
                Some(Err(_)) => match self.matcher.n_steps() {
                    0 => Answer::no("there is no step to take back"),
                    n_steps => Answer::no(format!("there are only {} to take back", counted(n_steps, "step"))),
                },
                Some(Ok(())) => Answer::yes(),
            },
            "fork" | "f" => {
                const FORKS_MAX: usize = 1000;
                if self.forks.len() >= FORKS_MAX {
                    return Ok(Answer::no("there are too many names"));
                }
                self.forks.insert(rest.trim().to_owned(), self.matcher.fork());
                Answer::yes()
            }
            "go" | "g" => match self.forks.get(rest.trim()) {
                Some(kept) => {
                    self.matcher = kept.fork();
                    Answer::yes()
                }
                None if self.forks.is_empty() => Answer::no("no output has a name: `fork NAME` gives it one"),
                None => {
                    let names: Vec<&str> = self.forks.keys().map(String::as_str).collect();
                    Answer::no(format!("there is no output of that name, only of these: {}", names.join(" ")))
                }
            },
            "jump" | "j" => {
                let failed = |error: MatchError| Failure::Step(error.to_string());
                let forced = self.matcher.jump_forward();
                if !forced.is_empty() {
                    self.matcher.accept_bytes(&forced).map_err(failed)?;
                    Answer::lines(vec![format!("forced: {}", quoted(&forced))])
                } else if let Some(id) = crate::forced::only_token(&mut self.matcher) {
                    self.matcher.accept_token(id).map_err(failed)?;
                    Answer::lines(vec![format!("forced: {}", shown_token(vocab, id))])
                } else {
                    Answer::no("nothing is forced")
                }
            }
            "walk" | "r" => match number(1) {
                Some(0) => Answer::lines(vec!["accepted: nothing".into()]),
                Some(n) => self.walk(n),
                None => Answer::no("how many?"),
            },
            "finish" if self.matcher.is_terminated() => Answer::no(ENDED),
            "finish" => {
                const TOKENS_MAX: usize = 400;
                self.seed = self.seed.wrapping_add(1);
                let (run, _) = Run::with_room(self.matcher.fork(), TOKENS_MAX)?;
                let mut sampler = Sampler::new(vocab, self.seed, Style::Text);
                let run = run.finish(&mut sampler, |_| {})?;
                self.matcher = run.matcher().fork();
                Answer::lines(vec![format!("written: {}", quoted(run.shown().as_bytes()))])
            }
            "text" => Answer::lines(vec![quoted(&self.output())]),
            _ => Answer::no(format!("there is no command {}; `help` lists them", quoted(word.as_bytes()))),
        })
    }

    fn walk(&mut self, n: usize) -> Answer {
        self.seed = self.seed.wrapping_add(1);
        let vocab = self.loaded.grammar.vocab();
        let mut sampler = Sampler::new(vocab, self.seed, Style::Text);
        let mut shown = Vec::new();
        for _ in 0..n {
            let Ok(mask) = self.matcher.mask() else { break };
            let text = self.text();
            let (is_accepting, stop_tokens) = (self.matcher.is_accepting(), self.matcher.stop_tokens().to_vec());
            let view = crate::sampler::View { text: &text, used: 0.0, is_accepting, stop_tokens: &stop_tokens };
            let Some(id) = sampler.draw(&mask, view) else { break };
            if self.matcher.accept_token(id).is_err() {
                break;
            }
            shown.push(shown_token(vocab, id));
        }
        match shown.is_empty() {
            true if self.matcher.is_terminated() => Answer::no(ENDED),
            true if self.matcher.is_accepting() => Answer::no("nothing but the end may come"),
            true => Answer::no(STUCK),
            false => Answer::lines(vec![format!("accepted: {}", shown.join(" "))]),
        }
    }

    fn why(&self, asked: &str) -> Answer {
        let reason = Reason::new(self.loaded, &self.matcher, asked, None);
        Answer { lines: reason.lines(), is_done: reason.is_allowed, more: reason.to_json() }
    }

    /// Returns the text, without tokens that are no text.
    fn text(&self) -> Vec<u8> {
        let vocab = self.loaded.grammar.vocab();
        let mut text = Vec::new();
        for piece in self.matcher.accepted().unwrap_or_default() {
            match piece {
                AcceptedPiece::Bytes(bytes) => text.extend_from_slice(&bytes),
                AcceptedPiece::Token(id) => text.extend_from_slice(vocab.bytes(id)),
            }
        }
        text
    }

    /// Returns the text with the names of control tokens.
    fn output(&self) -> Vec<u8> {
        let vocab = self.loaded.grammar.vocab();
        let mut output = Vec::new();
        for piece in self.matcher.accepted().unwrap_or_default() {
            match piece {
                AcceptedPiece::Bytes(bytes) => output.extend_from_slice(&bytes),
                AcceptedPiece::Token(id) if vocab.bytes(id).is_empty() => {
                    output.extend_from_slice(shown_token(vocab, id).as_bytes());
                }
                AcceptedPiece::Token(id) => output.extend_from_slice(vocab.bytes(id)),
            }
        }
        output
    }

    fn n_allowed(&self) -> usize {
        self.matcher.fork().mask().map_or(0, |mask| mask.count())
    }

    fn state(&self) -> &'static str {
        match (self.matcher.is_terminated(), self.matcher.is_accepting()) {
            (true, _) => "ended",
            (false, true) => "complete",
            (false, false) if self.n_allowed() == 0 => "stuck",
            (false, false) => "open",
        }
    }

    fn status(&self) -> String {
        let text = self.output();
        let tail = &text[text.len().saturating_sub(40)..];
        let dots = if tail.len() < text.len() { "..." } else { "" };
        format!(
            "> {dots}{}  {}, {} allowed, {}",
            quoted_short(tail, 80),
            counted(self.matcher.n_steps(), "step"),
            grouped(self.n_allowed() as u64),
            self.state()
        )
    }

    fn to_json(&self) -> Value {
        json!({
            "text": String::from_utf8_lossy(&self.text()),
            "output": String::from_utf8_lossy(&self.output()),
            "n_steps": self.matcher.n_steps(),
            "n_allowed": self.n_allowed(),
            "state": self.state(),
            "forks": self.forks.keys().collect::<Vec<_>>(),
        })
    }
}

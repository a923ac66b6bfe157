//! `playground trace`: a document token by token: is it allowed, what else is, and where is it blocked?

use crate::check::nanos;
use crate::cli::EXIT_CODES;
use crate::controls::{Piece, pieces};
use crate::exclusions::Exclusions;
use crate::failure::{Failure, Verdict};
use crate::forced::ForcedText;
use crate::mask::Reason;
use crate::options::{GrammarArgs, VocabArgs};
use crate::output::{Output, counted, grouped, harmless, shown_time, unescaped};
use crate::source::{GrammarSource, Loaded, check_stdin_once, read_file};
use crate::tokenizer::Tokenizer;
use crate::tokens::{shown_token, text_of, token_json};
use maskwright::TokenId;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Options of `trace`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground trace [OPTIONS] GRAMMAR_FILE [DOCUMENT|-]\n       playground trace [OPTIONS] --regex PATTERN [DOCUMENT|-]"
)]
pub struct Args {
    /// The grammar file (unless --regex is given), then the document; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "regex", num_args = 1..=2)]
    pub files: Vec<PathBuf>,
    /// The document as a text, with the escapes \n \r \t \\ \xHH
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// The document as ids of tokens, with commas between them
    #[arg(long, value_name = "IDS", value_parser = ids, conflicts_with = "text")]
    pub ids: Option<Ids>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Read names of control tokens in the document that the grammar names, such as `<|eot_id|>` or `<[7]>`, or that spell its markers, as those tokens
    #[arg(long)]
    pub control_tokens: bool,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Ids of tokens: those of one argument.
#[derive(Clone, Debug)]
pub struct Ids(Vec<TokenId>);

/// Reads ids with commas between them.
///
/// # Errors
/// If there are none, or something else.
fn ids(text: &str) -> Result<Ids, String> {
    if text.trim().is_empty() {
        return Err("there are no ids: they are numbers with commas between them, like 12,7".into());
    }
    let id = |text: &str| text.trim().parse().map_err(|_| format!("`{}` is no id of a token", harmless(text)));
    text.split(',').map(id).collect::<Result<_, _>>().map(Ids)
}

struct TracedToken {
    id: TokenId,
    is_allowed: bool,
    n_allowed: usize,
    is_forced: bool,
    time: Duration,
}

/// Runs the command. The answer is yes if all tokens are allowed and the document is complete.
///
/// # Errors
/// If the grammar, the document or the vocabulary can't be read, if the vocabulary can't spell the document, or if a mask takes too much work.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let (grammar_file, document): (Option<&Path>, Option<&PathBuf>) = match (&args.grammar.regex, &args.files[..]) {
        (Some(_), [_, second, ..]) => {
            return Err(Failure::Usage(format!("there is one document too many: {}", second.display())));
        }
        (Some(_), files) => (None, files.first()),
        (None, [first, files @ ..]) => (Some(first), files.first()),
        (None, []) => (None, None),
    };
    check_stdin_once(grammar_file.into_iter().chain(document.map(PathBuf::as_path)))?;
    let source = GrammarSource::read(&args.grammar, grammar_file)?;
    let text = match (document, &args.text, &args.ids) {
        (Some(path), None, None) => {
            let bytes = read_file(path)?;
            bytes.strip_suffix(b"\n").map_or(bytes.clone(), <[u8]>::to_vec)
        }
        (None, Some(text), None) => unescaped(text).map_err(Failure::Usage)?,
        (None, None, Some(_)) => Vec::new(),
        (None, None, None) => return Err(Failure::Usage("there is no document: a file, --text or --ids".into())),
        _ => return Err(Failure::Usage("there is more than one document".into())),
    };
    let loaded = Loaded::of_source(source, &args.vocab)?;
    let vocab = loaded.grammar.vocab();
    // By what the text was cut: known if it was.
    let mut is_cut_by_tokenizer = None;
    let ids: Vec<TokenId> = match &args.ids {
        Some(Ids(ids)) => ids.clone(),
        None => {
            let tokenizer = Tokenizer::read(&args.vocab.vocab)?;
            let (mut all, mut is_tokenizers) = (Vec::new(), true);
            for piece in pieces(&text, &loaded.grammar, args.control_tokens) {
                match piece {
                    Piece::Bytes(at) => {
                        let cut = tokenizer.cut_all(vocab, &text[at])?;
                        is_tokenizers &= cut.is_tokenizers;
                        all.extend(cut.ids);
                    }
                    Piece::Control { ids, .. } => all.extend(ids.first()),
                }
            }
            is_cut_by_tokenizer = Some(is_tokenizers);
            all
        }
    };
    let mut matcher = loaded.matcher();
    let mut traced: Vec<TracedToken> = Vec::new();
    let mut blocked: Option<Reason> = None;
    let mut forced = ForcedText::default();
    for &id in &ids {
        let start = Instant::now();
        let mask = matcher.mask();
        let time = start.elapsed();
        let n_allowed = match mask {
            Ok(mask) => mask.count(),
            Err(error) if error.is_stuck() => 0,
            Err(error) => return Err(Failure::Step(error.to_string())),
        };
        let is_allowed = matcher.is_token_allowed(id);
        let is_forced = is_allowed && forced.has_next(&mut matcher, Some(id), text_of(vocab, id), Some(n_allowed));
        traced.push(TracedToken { id, is_allowed, n_allowed, is_forced, time });
        if !is_allowed {
            blocked = Some(Reason::of_id(&loaded, &matcher, id));
            break;
        }
        matcher.accept_token(id).map_err(|error| Failure::Step(error.to_string()))?;
    }
    let is_complete = blocked.is_none() && (matcher.is_accepting() || matcher.is_terminated());
    let exclusions = match blocked.is_none() && !is_complete {
        true => Exclusions::of(&loaded.source, &loaded.grammar).that_forbid_end(&matcher),
        false => Vec::new(),
    };
    let n_forced = traced.iter().filter(|one| one.is_forced).count();
    if args.json {
        let tokens = traced.iter().map(|one| {
            let mut token = token_json(vocab, one.id);
            token["is_allowed"] = one.is_allowed.into();
            token["n_allowed"] = one.n_allowed.into();
            token["is_forced"] = one.is_forced.into();
            token["mask_ns"] = nanos(one.time).into();
            token
        });
        output.json(&json!({
            "version": 1,
            "grammar": loaded.source.name,
            "vocab": args.vocab.vocab,
            "is_cut_by_tokenizer": is_cut_by_tokenizer,
            "n_tokens": ids.len(),
            "n_forced": n_forced,
            "tokens": tokens.collect::<Value>(),
            "blocked": blocked.as_ref().map(Reason::to_json),
            "is_complete": is_complete,
            "exclusions": exclusions,
        }));
        return Ok(Verdict::of(is_complete));
    }
    if is_cut_by_tokenizer == Some(false) {
        output.line(crate::tokenizer::LONGEST);
    }
    output.line(format_args!("{:>6} {:>8} {:>9} {:>9}  token", "step", "id", "allowed", "mask"));
    for (index, one) in traced.iter().enumerate() {
        let note = match (one.is_allowed, one.is_forced) {
            (false, _) => "   BLOCKED",
            (true, true) => "   forced",
            _ => "",
        };
        let (n_allowed, time) = (grouped(one.n_allowed as u64), shown_time(one.time));
        let shown = shown_token(vocab, one.id);
        output.line(format_args!("{:>6} {:>8} {n_allowed:>9} {time:>9}  {shown}{note}", index + 1, one.id));
    }
    let (n_tokens, n_forced) = (counted(ids.len(), "token"), grouped(n_forced as u64));
    match &blocked {
        Some(reason) => reason.print(output),
        None if is_complete => output.line(format_args!("complete: {n_tokens}, {n_forced} forced")),
        None => {
            output.line(format_args!("not complete: {n_tokens}, {n_forced} forced"));
            crate::expected::Expected::new(&matcher, b"").labelled_lines().iter().for_each(|line| output.line(line));
            exclusions.iter().for_each(|line| output.line(format_args!(" {line}")));
        }
    }
    Ok(Verdict::of(is_complete))
}

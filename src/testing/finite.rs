//! Schemas with finitely many texts: masks against the set of all of them.
//!
//! A random schema is confined to a *universe*, a finite set of values, by another schema beside it: `{"allOf": [universe, schema]}`. The slow
//! validator says which values of the universe are valid; written without white space they are all the texts there are. So what a mask must
//! be is a look-up in a sorted list, and nothing of the engine has a part in it but the reader of JSON: a token is allowed where some text
//! begins with what was read and then the token; a stop token where what was read is a text; the forced text is what all texts that begin
//! so have in common. Equal masks at every prefix also show that there is no dead end.
//!
//! What this can't see: numbers, keys that are not declared and free strings, which have infinitely many texts or several spellings; white space;
//! values deeper than two levels. In which order the keys of a value stand is for the engine to choose, and it is asked: by default that of the
//! universe, else the first that it takes. That it takes one, and no other, is compared.

use super::Rng;
use super::engine::Coverage;
use super::schemas::random_schema;
use super::spelling::{Numbers, Speller};
use super::validator::is_valid;
use crate::json_schema::{Json, SchemaOptions, WhiteSpace};
use crate::vocab::{TokenId, Vocab};
use crate::{CompileError, CompileOptions, GrammarCompiler, Limits, Matcher};
use std::sync::{Arc, LazyLock};

/// Texts of a universe; more make a round slow.
const N_TEXTS_MAX: usize = 4_000;
/// Prefixes compared on one schema.
const N_PREFIXES_MAX: usize = 150;

const TOKENS: [&str; 40] = [
    "{\"",
    "\":",
    "\",\"",
    "\"}",
    "[]",
    "{}",
    "},",
    "]}",
    "\"]",
    "[[",
    "\"\"",
    "ab",
    "\"a\"",
    "\"a\":",
    "\"b\":",
    "\"c\":",
    "true",
    "false",
    "null",
    "tr",
    "ue",
    "nul",
    "l,",
    "l]",
    "l}",
    "null}",
    "true]",
    ",\"",
    ",[",
    ",{",
    ",null",
    "{\"a\":",
    "{\"b\":null}",
    "[\"a\",\"",
    "a\",",
    "b\"]",
    "aba",
    "\u{e9}",
    "[null,",
    "\",true",
];

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend(TOKENS);
    let end = builder.push("</s>");
    builder.stop_tokens([end]);
    Arc::new(builder.build().expect("tokens are a vocabulary"))
});

/// A finite set of values: a schema that says so, and their texts, which it does not have to be believed for.
struct Universe {
    schema: String,
    texts: Vec<String>,
}

impl Universe {
    fn random(rng: &mut Rng) -> Universe {
        let deep = rng.between(0, 2);
        Universe::of_depth(rng, deep)
    }

    fn of_depth(rng: &mut Rng, deep: usize) -> Universe {
        let mut all = vec![Universe::of_scalars(rng)];
        if deep > 0 {
            match rng.below(3) {
                0 => all.push(Universe::of_arrays(rng, deep)),
                1 => all.push(Universe::of_objects(rng, deep)),
                _ => all.extend([Universe::of_arrays(rng, deep), Universe::of_objects(rng, deep)]),
            }
        }
        let schemas: Vec<&str> = all.iter().map(|one| &*one.schema).collect();
        let schema = format!("{{\"anyOf\":[{}]}}", schemas.join(","));
        Universe { schema, texts: all.into_iter().flat_map(|one| one.texts).collect() }
    }

    fn of_scalars(rng: &mut Rng) -> Universe {
        if rng.chance(30) {
            // Strings as a language with a length, not as a list.
            let n_max = rng.between(1, 6);
            let mut texts = vec![String::new()];
            let mut from = 0;
            for _ in 0..n_max {
                let until = texts.len();
                (from..until).for_each(|at| ["a", "b"].iter().for_each(|c| texts.push(format!("{}{c}", texts[at]))));
                from = until;
            }
            let schema = format!("{{\"type\":\"string\",\"pattern\":\"^[ab]*$\",\"maxLength\":{n_max}}}");
            return Universe { schema, texts: texts.iter().map(|text| format!("\"{text}\"")).collect() };
        }
        const SCALARS: [&str; 10] =
            ["null", "true", "false", "\"\"", "\"a\"", "\"ab\"", "\"abab\"", "\"ba1\"", "\"é\"", "\"x-1\""];
        let texts: Vec<String> = SCALARS
            .iter()
            .filter(|_| rng.chance(45))
            .map(|&text| text.to_owned())
            .chain(["\"b\"".to_owned()])
            .collect();
        Universe { schema: format!("{{\"enum\":[{}]}}", texts.join(",")), texts }
    }

    fn of_arrays(rng: &mut Rng, deep: usize) -> Universe {
        let items = Universe::of_depth(rng, deep - 1);
        let mut n_max = rng.between(1, 4) as u32;
        while n_max > 1 && items.texts.len().saturating_pow(n_max) > N_TEXTS_MAX / 2 {
            n_max -= 1;
        }
        let mut texts = vec![String::new()];
        let mut from = 0;
        for _ in 0..n_max {
            let until = texts.len();
            for at in from..until {
                let comma = if texts[at].is_empty() { "" } else { "," };
                items.texts.iter().for_each(|item| texts.push(format!("{}{comma}{item}", texts[at])));
            }
            from = until;
        }
        Universe {
            schema: format!("{{\"type\":\"array\",\"maxItems\":{n_max},\"items\":{}}}", items.schema),
            texts: texts.iter().map(|items| format!("[{items}]")).collect(),
        }
    }

    fn of_objects(rng: &mut Rng, deep: usize) -> Universe {
        let mut texts = vec![String::new()];
        let mut properties = Vec::new();
        for name in ["a", "b", "ab", "c"] {
            let values = Universe::of_depth(rng, deep - 1);
            if texts.len() * (values.texts.len() + 1) > N_TEXTS_MAX / 2 || !rng.chance(70) {
                continue;
            }
            properties.push(format!("\"{name}\":{}", values.schema));
            for at in 0..texts.len() {
                let comma = if texts[at].is_empty() { "" } else { "," };
                values.texts.iter().for_each(|value| texts.push(format!("{}{comma}\"{name}\":{value}", texts[at])));
            }
        }
        let properties = properties.join(",");
        Universe {
            schema: format!("{{\"type\":\"object\",\"properties\":{{{properties}}},\"additionalProperties\":false}}"),
            texts: texts.iter().map(|members| format!("{{{members}}}")).collect(),
        }
    }
}

/// All texts of a language, sorted.
struct Texts(Vec<Vec<u8>>);

impl Texts {
    fn new(mut texts: Vec<Vec<u8>>) -> Self {
        texts.sort();
        texts.dedup();
        Texts(texts)
    }

    fn first_from(&self, prefix: &[u8]) -> usize {
        self.0.partition_point(|text| &**text < prefix)
    }

    fn is_prefix(&self, prefix: &[u8]) -> bool {
        self.0.get(self.first_from(prefix)).is_some_and(|text| text.starts_with(prefix))
    }

    fn is_text(&self, text: &[u8]) -> bool {
        self.0.get(self.first_from(text)).is_some_and(|found| **found == *text)
    }

    /// Returns what all texts that begin with a prefix have in common behind it.
    fn forced(&self, prefix: &[u8]) -> &[u8] {
        let mut with = self.0[self.first_from(prefix)..].iter().take_while(|text| text.starts_with(prefix));
        let Some(first) = with.next() else { return &[] };
        let last = with.last().unwrap_or(first);
        let n_common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        &first[prefix.len()..n_common]
    }
}

/// Makes a schema with finitely many texts from bytes; if it compiles, compares masks with the set of the texts.
///
/// # Panics
/// If a bit differs.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let universe = Universe::random(&mut rng);
    let inner = random_schema(&mut rng);
    // References lead to the definitions of the root.
    let json = Json::parse(&inner, &Limits::default()).expect("it is a schema");
    let definitions = json.member(json.root(), "$defs").map(|at| json.span(at));
    let definitions = definitions.map(|span| &inner[span.start as usize..span.end as usize]).unwrap_or("{}");
    let schema = format!("{{\"$defs\":{definitions},\"allOf\":[{},{inner}]}}", universe.schema);
    check_schema(&mut rng, &schema, &universe.texts)
}

fn check_schema(rng: &mut Rng, schema: &str, texts: &[String]) -> Coverage {
    let json = |text: &str| Json::parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let (parsed, mut coverage) = (json(schema), Coverage::default());
    let mut valid = Vec::new();
    for text in texts {
        match is_valid(&parsed, &json(text)) {
            Ok(true) => valid.push(text.clone().into_bytes()),
            Ok(false) => {}
            Err(_) => return coverage,
        }
    }
    let limits = Limits { automaton_states_max: 1 << 17, automaton_moves_max: 1 << 19, ..Limits::default() };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let compiled = match compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()) {
        Ok(compiled) => compiled,
        Err(CompileError::Schema(error)) if error.is_unsatisfiable() => {
            assert!(valid.is_empty(), "{schema}\nis said to be unsatisfiable");
            return coverage;
        }
        Err(CompileError::Schema(error)) if error.is_unsupported() || error.limit().is_some() => return coverage,
        Err(CompileError::Build(error)) if error.limit_met().is_some() => return coverage,
        Err(error) => panic!("{schema}\n{error}"),
    };
    if valid.is_empty() {
        // Fewer values than `minItems` asks for are not always seen when the schema is compiled (the README says so).
        assert!(compiled.matcher().mask().is_err_and(|error| error.is_stuck()), "{schema}\nhas no valid text");
        return coverage;
    }
    let texts = Texts::new(in_canonical_order(schema, &compiled.matcher(), valid));
    coverage.n_grammars = 1;
    for _ in 0..N_PREFIXES_MAX / 10 {
        let (mut matcher, mut prefix) = (compiled.matcher(), Vec::new());
        for _ in 0..10 {
            let allowed = compare(schema, &mut matcher, &prefix, &texts, &mut coverage);
            let (Some(token), false) = ((!allowed.is_empty()).then(|| *rng.pick(&allowed)), matcher.is_terminated())
            else {
                break;
            };
            matcher.accept_token(token).unwrap_or_else(|error| panic!("{schema}\n{error}"));
            prefix.extend_from_slice(VOCAB.bytes(token));
        }
    }
    coverage
}

/// Returns the texts with their keys in the order that the matcher takes; each must be taken in one.
fn in_canonical_order(schema: &str, matcher: &Matcher, texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    const N_STEPS_MAX: usize = 2_000;
    let speller = Speller::new(schema, Numbers::AsWritten, N_STEPS_MAX);
    let ordered = texts.into_iter().map(|text| {
        let mut fork = matcher.fork();
        if fork.accept_bytes(&text).is_ok() && fork.is_accepting() {
            return text;
        }
        let text = String::from_utf8(text).expect("it was made of text");
        let other = speller.respell(matcher, &Json::parse(&text, &Limits::default()).expect("it is JSON"));
        other.unwrap_or_else(|| panic!("{schema}\nrefuses {text}")).into_bytes()
    });
    ordered.collect()
}

/// Compares all that a matcher says after a prefix; returns the allowed text tokens.
fn compare(schema: &str, matcher: &mut Matcher, prefix: &[u8], texts: &Texts, coverage: &mut Coverage) -> Vec<TokenId> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let place = || format!("{schema}\nafter {}", shown(prefix));
    let mask = matcher.mask().unwrap_or_else(|error| panic!("{}\n{error}", place()));
    let mut allowed = Vec::new();
    for token in 0..VOCAB.n_tokens() as TokenId {
        let is_expected = match VOCAB.stop_tokens().contains(&token) {
            true => texts.is_text(prefix),
            false => texts.is_prefix(&[prefix, VOCAB.bytes(token)].concat()),
        };
        let name = || format!("{}\ntoken {}", place(), shown(VOCAB.bytes(token)));
        assert_eq!(mask.contains(token), is_expected, "{}: in the mask (left), viable (right)", name());
        assert_eq!(matcher.is_token_allowed(token), is_expected, "{}: to be accepted (left), viable (right)", name());
        if is_expected && !VOCAB.stop_tokens().contains(&token) {
            allowed.push(token);
        }
    }
    assert_eq!(matcher.is_accepting(), texts.is_text(prefix), "{}", place());
    assert_eq!(shown(&matcher.jump_forward()), shown(texts.forced(prefix)), "{}: forced", place());
    coverage.n_masks += 1;
    coverage.n_bits += VOCAB.n_tokens() as u64;
    allowed
}

//! Schemas with finitely many documents: masks against the set of all of them.
//!
//! A random schema is restricted to a *universe*, a finite set of values, by a second schema: `{"allOf": [universe, schema]}`. The slow
//! validator decides which values of the universe are valid; written without white space they are all documents of the schema. So the
//! expected mask is a lookup in a sorted list, which uses nothing of the engine but the parser of JSON: a token is allowed if some document
//! begins with the prefix and the token, a stop token if the prefix is a document, and the forced text is the longest common
//! continuation. Equal masks at every prefix also show that there is no dead end.
//!
//! Not covered: numbers, undeclared keys and free strings, which have infinitely many documents or several spellings; white space; values
//! deeper than two levels. The engine chooses the order of the keys of a value; the test takes the order of the universe if the engine
//! accepts it, else the first order that it accepts, and checks that no other is accepted.

use super::Rng;
use super::engine::Coverage;
use super::schemas::random_schema;
use super::spelling::{Numbers, Speller};
use super::validator::is_valid;
use crate::json_schema::{Json, SchemaOptions, WhiteSpace};
use crate::vocab::{TokenId, Vocab};
use crate::{CompileError, CompileOptions, GrammarCompiler, Limits, Matcher};
use std::sync::{Arc, LazyLock};

/// Most documents of a universe; more make a round slow.
const N_TEXTS_MAX: usize = 4_000;
/// Most prefixes compared for one schema.
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

/// A finite set of values: its schema, and its documents, listed independently of the schema.
struct Universe {
    schema: String,
    documents: Vec<String>,
}

impl Universe {
    fn random(rng: &mut Rng) -> Universe {
        let depth = rng.between(0, 2);
        Universe::of_depth(rng, depth)
    }

    fn of_depth(rng: &mut Rng, depth: usize) -> Universe {
        let mut all = vec![Universe::of_scalars(rng)];
        if depth > 0 {
            match rng.below(3) {
                0 => all.push(Universe::of_arrays(rng, depth)),
                1 => all.push(Universe::of_objects(rng, depth)),
                _ => all.extend([Universe::of_arrays(rng, depth), Universe::of_objects(rng, depth)]),
            }
        }
        let schemas: Vec<&str> = all.iter().map(|one| &*one.schema).collect();
        let schema = format!("{{\"anyOf\":[{}]}}", schemas.join(","));
        Universe { schema, documents: all.into_iter().flat_map(|one| one.documents).collect() }
    }

    fn of_scalars(rng: &mut Rng) -> Universe {
        if rng.chance(30) {
            // Strings as a language with a length, not as a list.
            let n_max = rng.between(1, 6);
            let mut documents = vec![String::new()];
            let mut from = 0;
            for _ in 0..n_max {
                let until = documents.len();
                (from..until)
                    .for_each(|at| ["a", "b"].iter().for_each(|c| documents.push(format!("{}{c}", documents[at]))));
                from = until;
            }
            let schema = format!("{{\"type\":\"string\",\"pattern\":\"^[ab]*$\",\"maxLength\":{n_max}}}");
            return Universe { schema, documents: documents.iter().map(|text| format!("\"{text}\"")).collect() };
        }
        const SCALARS: [&str; 10] =
            ["null", "true", "false", "\"\"", "\"a\"", "\"ab\"", "\"abab\"", "\"ba1\"", "\"é\"", "\"x-1\""];
        let documents: Vec<String> = SCALARS
            .iter()
            .filter(|_| rng.chance(45))
            .map(|&text| text.to_owned())
            .chain(["\"b\"".to_owned()])
            .collect();
        Universe { schema: format!("{{\"enum\":[{}]}}", documents.join(",")), documents }
    }

    fn of_arrays(rng: &mut Rng, depth: usize) -> Universe {
        let items = Universe::of_depth(rng, depth - 1);
        let mut n_max = rng.between(1, 4) as u32;
        while n_max > 1 && items.documents.len().saturating_pow(n_max) > N_TEXTS_MAX / 2 {
            n_max -= 1;
        }
        let mut documents = vec![String::new()];
        let mut from = 0;
        for _ in 0..n_max {
            let until = documents.len();
            for at in from..until {
                let comma = if documents[at].is_empty() { "" } else { "," };
                items.documents.iter().for_each(|item| documents.push(format!("{}{comma}{item}", documents[at])));
            }
            from = until;
        }
        Universe {
            schema: format!("{{\"type\":\"array\",\"maxItems\":{n_max},\"items\":{}}}", items.schema),
            documents: documents.iter().map(|items| format!("[{items}]")).collect(),
        }
    }

    fn of_objects(rng: &mut Rng, depth: usize) -> Universe {
        let mut documents = vec![String::new()];
        let mut properties = Vec::new();
        for name in ["a", "b", "ab", "c"] {
            let values = Universe::of_depth(rng, depth - 1);
            if documents.len() * (values.documents.len() + 1) > N_TEXTS_MAX / 2 || !rng.chance(70) {
                continue;
            }
            properties.push(format!("\"{name}\":{}", values.schema));
            for at in 0..documents.len() {
                let comma = if documents[at].is_empty() { "" } else { "," };
                values
                    .documents
                    .iter()
                    .for_each(|value| documents.push(format!("{}{comma}\"{name}\":{value}", documents[at])));
            }
        }
        let properties = properties.join(",");
        Universe {
            schema: format!("{{\"type\":\"object\",\"properties\":{{{properties}}},\"additionalProperties\":false}}"),
            documents: documents.iter().map(|members| format!("{{{members}}}")).collect(),
        }
    }
}

/// All documents of a schema, sorted.
struct Documents(Vec<Vec<u8>>);

impl Documents {
    fn new(mut documents: Vec<Vec<u8>>) -> Self {
        documents.sort();
        documents.dedup();
        Documents(documents)
    }

    fn first_from(&self, prefix: &[u8]) -> usize {
        self.0.partition_point(|text| &**text < prefix)
    }

    fn is_prefix(&self, prefix: &[u8]) -> bool {
        self.0.get(self.first_from(prefix)).is_some_and(|text| text.starts_with(prefix))
    }

    fn is_document(&self, text: &[u8]) -> bool {
        self.0.get(self.first_from(text)).is_some_and(|found| **found == *text)
    }

    /// Returns the longest common continuation of all documents with a prefix.
    fn forced(&self, prefix: &[u8]) -> &[u8] {
        let mut with = self.0[self.first_from(prefix)..].iter().take_while(|text| text.starts_with(prefix));
        let Some(first) = with.next() else { return &[] };
        let last = with.last().unwrap_or(first);
        let n_common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        &first[prefix.len()..n_common]
    }
}

/// Makes a schema with finitely many documents from bytes; if it compiles, compares masks with the set of the documents.
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
    check_schema(&mut rng, &schema, &universe.documents)
}

fn check_schema(rng: &mut Rng, schema: &str, documents: &[String]) -> Coverage {
    let json = |text: &str| Json::parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let (parsed, mut coverage) = (json(schema), Coverage::default());
    let mut valid = Vec::new();
    for text in documents {
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
        // A domain with fewer values than `minItems` requires is not always detected when the schema is compiled (see README).
        assert!(compiled.matcher().mask().is_err_and(|error| error.is_stuck()), "{schema}\nhas no valid text");
        return coverage;
    }
    let documents = Documents::new(in_canonical_order(schema, &compiled.matcher(), valid));
    coverage.n_grammars = 1;
    for _ in 0..N_PREFIXES_MAX / 10 {
        let (mut matcher, mut prefix) = (compiled.matcher(), Vec::new());
        for _ in 0..10 {
            let allowed = compare(schema, &mut matcher, &prefix, &documents, &mut coverage);
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

/// Returns the documents with their keys in the order that the matcher accepts; each must be accepted in some order.
fn in_canonical_order(schema: &str, matcher: &Matcher, documents: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    const N_STEPS_MAX: usize = 2_000;
    let speller = Speller::new(schema, Numbers::AsWritten, N_STEPS_MAX);
    let ordered = documents.into_iter().map(|text| {
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

/// Compares all answers of a matcher after a prefix; returns the allowed text tokens.
fn compare(
    schema: &str,
    matcher: &mut Matcher,
    prefix: &[u8],
    documents: &Documents,
    coverage: &mut Coverage,
) -> Vec<TokenId> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let place = || format!("{schema}\nafter {}", shown(prefix));
    let mask = matcher.mask().unwrap_or_else(|error| panic!("{}\n{error}", place()));
    let mut allowed = Vec::new();
    for token in 0..VOCAB.n_tokens() as TokenId {
        let is_expected = match VOCAB.stop_tokens().contains(&token) {
            true => documents.is_document(prefix),
            false => documents.is_prefix(&[prefix, VOCAB.bytes(token)].concat()),
        };
        let name = || format!("{}\ntoken {}", place(), shown(VOCAB.bytes(token)));
        assert_eq!(mask.contains(token), is_expected, "{}: in the mask (left), viable (right)", name());
        assert_eq!(matcher.is_token_allowed(token), is_expected, "{}: to be accepted (left), viable (right)", name());
        if is_expected && !VOCAB.stop_tokens().contains(&token) {
            allowed.push(token);
        }
    }
    assert_eq!(matcher.is_accepting(), documents.is_document(prefix), "{}", place());
    assert_eq!(shown(&matcher.jump_forward()), shown(documents.forced(prefix)), "{}: forced", place());
    coverage.n_masks += 1;
    coverage.n_bits += VOCAB.n_tokens() as u64;
    allowed
}

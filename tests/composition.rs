//! Grammars made of others: schemas as operands, named grammars, grammars put together in Rust, markers that control tokens may spell.

use maskwright::frontend::ebnf;
use maskwright::grammar::{Grammar, GrammarBuilder, SchemaOperand};
use maskwright::json_schema::{RootForm, SchemaOptions, WhiteSpace};
use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::testing::schemas::{random_schema, random_value};
use maskwright::testing::{Rng, rounds};
use maskwright::vocab::TokenKind;
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Matcher, TokenId, Vocab};
use std::sync::Arc;

/// A vocabulary of all bytes, some longer tokens, and control tokens with these names.
fn vocab(names: &[&str]) -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    let longer = [
        "{\"",
        "\":",
        "\":\"",
        "\",\"",
        "\",",
        "\"}",
        "}}",
        "{}",
        "[]",
        ", ",
        ": ",
        "true",
        "null",
        "12",
        "1,1",
        "[1,",
        "[1,1",
        "\"a\"",
        "a\":",
        "{\"a\":1,\"a\":",
        "{\"a\":1,",
        "\"a\":1",
        "</t>",
        "}</t>",
        "<t>{",
        "<t>",
        "a\"b",
        "say \"",
        "\" <t>",
        "\n{",
        "}\n",
    ];
    builder.extend(longer);
    for name in names {
        let id = builder.push(name);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    let stop = builder.push("<|stop|>");
    builder.stop_tokens([stop]);
    Arc::new(builder.build().unwrap())
}

fn compile(text: &str) -> CompiledGrammar {
    GrammarCompiler::new(vocab(&[])).compile_ebnf(text).unwrap_or_else(|error| panic!("{text}: {error:#}"))
}

fn is_match(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn a_schema_is_an_operand_like_others() {
    let grammar = compile(
        r#"root ::= ("say " [a-z" ]* | call)+ "."
           call ::= "<t>" %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]} "</t>""#,
    );
    for (text, verdict) in [
        ("say hi.", true),
        ("<t>{\"a\": 1}</t>.", true),
        ("say \"x<t>{\"a\": 1, \"b\": [\"</t>\"]}</t>say y.", true),
        ("<t>{\"a\": 1.5}</t>.", false),
        ("<t>{}</t>.", false),
        ("<t>{\"a\": 1}<t>.", false),
        // A key may come once, however odd the quotes before the object.
        ("say \"<t>{\"a\": 1, \"b\": 1, \"b\": 1}</t>.", false),
        ("say \"\"<t>{\"a\": 1, \"b\": 1, \"c\": 1}</t>.", true),
    ] {
        assert_eq!(is_match(&grammar, text), verdict, "{text}");
    }
}

/// Compares the mask with the verdict on each token, at every prefix of a text in tokens that are allowed.
fn check_masks(grammar: &CompiledGrammar, rng: &mut Rng, n_walks: usize, n_steps: usize) -> usize {
    let n_tokens = grammar.vocab().n_tokens() as TokenId;
    let mut n_refused_as_text = 0;
    for _ in 0..n_walks {
        let mut matcher = grammar.matcher();
        for _ in 0..n_steps {
            let mask = matcher.mask().unwrap();
            let mut allowed = Vec::new();
            for token in 0..n_tokens {
                let is_allowed = matcher.is_token_allowed(token);
                let context = || format!("token {token} after {:?}\n{}", text_of(&matcher), grammar.grammar());
                assert_eq!(mask.contains(token), is_allowed, "{}", context());
                allowed.extend(is_allowed.then_some(token));
                n_refused_as_text += usize::from(!is_allowed);
            }
            let text: Vec<TokenId> = allowed.into_iter().filter(|&token| grammar.vocab().is_text(token)).collect();
            // Longer tokens are rarer, and more interesting.
            let long: Vec<TokenId> =
                text.iter().copied().filter(|&token| grammar.vocab().bytes(token).len() > 1).collect();
            let choice = if long.is_empty() || rng.chance(50) { text } else { long };
            if choice.is_empty() {
                break;
            }
            let token = *rng.pick(&choice);
            matcher.accept_token(token).unwrap();
        }
    }
    n_refused_as_text
}

fn text_of(matcher: &Matcher) -> String {
    let mut text = Vec::new();
    for piece in matcher.accepted().unwrap() {
        match piece {
            maskwright::AcceptedPiece::Token(token) => text.extend_from_slice(matcher.grammar().vocab().bytes(token)),
            maskwright::AcceptedPiece::Bytes(bytes) => text.extend(bytes),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn masks_know_the_keys_and_items_amid_other_text() {
    let mut rng = Rng::new(rounds::seed_or(11));
    let grammars = [
        r#"root ::= [a" ]{0,3} "<t>" %json(compact) {"type": "object"} "</t>" root?"#,
        r#"root ::= [a" ]{0,3} %json {"type": "array", "uniqueItems": true, "items": {"enum": [1, 12, "a", {"a": 1}]}} "\n" root?"#,
        r#"root ::= ([1,a"] | %json(compact) {"type": "array", "uniqueItems": true})+"#,
        r#"root ::= %json(compact) {"type": "object", "additionalProperties": {"type": "boolean"}, "propertyNames": {"maxLength": 1}} root | "\n""#,
    ];
    let n_refused: usize = grammars.iter().map(|text| check_masks(&compile(text), &mut rng, 60, 16)).sum();
    assert!(n_refused > 0);
}

#[test]
fn masks_are_those_of_the_expanded_grammar() {
    let schemas = [
        r#"{"enum": [1, 12, "a", null, true]}"#,
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["</t>"]}}, "additionalProperties": false}"#,
        r#"{"type": "array", "items": {"type": "integer", "minimum": 10}, "maxItems": 2}"#,
    ];
    let mut rng = Rng::new(3);
    for schema in schemas {
        let grammar = compile(&format!(r#"root ::= "<t>" %json(compact) {schema} ("</t>" | "," root)"#));
        let recognizer = Recognizer::new(grammar.expanded_grammar(), &Limits::default()).unwrap();
        for _ in 0..6 {
            let mut oracle = OracleMatcher::new(&recognizer, Arc::clone(grammar.vocab()));
            let mut matcher = grammar.matcher();
            for _ in 0..14 {
                let wanted = oracle.mask();
                assert_eq!(matcher.mask().unwrap().as_words(), wanted, "{schema} {}", text_of(&matcher));
                let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
                let token = *rng.pick(&allowed);
                assert!(oracle.accept_token(token));
                matcher.accept_token(token).unwrap();
                if matcher.is_terminated() {
                    break;
                }
            }
        }
    }
}

#[test]
fn equal_schemas_share_their_automaton_and_one_changed_tool_costs_one() {
    let compiler = GrammarCompiler::new(vocab(&[]));
    let tool = |n: usize| {
        format!(
            r#"{{"type": "object", "properties": {{"name{n}": {{"type": "string"}}, "n": {{"type": "integer"}}}}}}"#
        )
    };
    let grammar = |numbers: &[usize]| {
        let tools = numbers.iter().map(|&n| format!(r#""t{n}:" %json {}"#, tool(n)));
        format!("root ::= {}", tools.collect::<Vec<_>>().join(" | "))
    };
    compiler.compile_ebnf(&grammar(&[1, 2, 3, 4])).unwrap();
    let before = compiler.stats();
    compiler.compile_ebnf(&grammar(&[1, 2, 5, 4])).unwrap();
    let after = compiler.stats();
    assert_eq!(after.grammar_misses - before.grammar_misses, 2, "the grammar itself and the tool that changed");
    // A rule of the names, the objects, and the grammar's own.
    assert!(after.units_made - before.units_made <= 6, "{}", after.units_made - before.units_made);
    let twice = compiler.compile_ebnf(&format!(r#"root ::= "a" %json {0} | "b" %json {0}"#, tool(1))).unwrap();
    let once = compiler.compile_ebnf(&format!(r#"root ::= "a" %json {0}"#, tool(1))).unwrap();
    assert!(twice.n_states() <= once.n_states() + 2);
}

#[test]
fn errors_of_schemas_have_a_place_in_the_grammar() {
    let compiler = GrammarCompiler::new(vocab(&[]));
    let text = "root ::= call\ncall ::= \"x\" %json {\"type\": \"string\", \"minLength\": 3, \"maxLength\": 2}";
    let Err(CompileError::Operand(error)) = compiler.compile_ebnf(text) else { panic!("nothing matches the schema") };
    assert!(error.schema_error().is_unsatisfiable() && error.rule() == "call");
    // The schema itself, behind `%json`; of a malformed keyword its value.
    assert_eq!(error.span().unwrap().line_column(text), (2, 20));
    assert!(format!("{error:#}").contains('^'));
    let text = "root ::= \"x\" %json {\n  \"properties\": {\n    \"a\": {\"type\": \"sring\"}}}";
    let Err(CompileError::Operand(error)) = compiler.compile_ebnf(text) else { panic!("there is no such type") };
    assert_eq!(error.span().unwrap().line_column(text), (3, 19));
    for (text, message, hint) in [
        ("root ::= %json", "expected a JSON Schema behind `%json`", "a schema is an object"),
        (
            "root ::= %regex",
            "expected a regular expression behind `%regex`",
            "it is a string or stands between slashes",
        ),
        (
            "root ::= %regex [a]",
            "expected a regular expression behind `%regex`",
            "it is a string or stands between slashes",
        ),
        ("root ::= %json [1]", "expected a JSON Schema behind `%json`", "a schema is an object"),
        ("root ::= %json {\"a\": [}", "the JSON Schema is opened here and not closed", ""),
        ("root ::= %json {\"a", "the string is opened here and not closed", ""),
        ("root ::= %json(compact {}", "the list of options is opened here and not closed", ""),
        ("root ::= %json(compct) {}", "there is no option `compct`", "did you mean `compact`?"),
        ("root ::= %json(indent) {}", "`indent` is followed by `=` and a number", ""),
        ("root ::= %json(indent = x) {}", "the value of an option is a number or a quoted text", ""),
        ("root ::= @list", "there is no grammar `list`", "given beside the source"),
        ("root ::= @", "`@` is followed by the name of a grammar", ""),
        ("root ::= \"a\" & %json {}", "an operand of `&` must be regular", ""),
    ] {
        let error = ebnf::parse(text, "root", &Limits::default()).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert!(error.hint().unwrap_or("").contains(hint), "{text}: {:?}", error.hint());
    }
    // A schema is checked only where it can be reached.
    compiler.compile_ebnf("root ::= \"a\"\nspare ::= %json {\"type\": 1}").unwrap();
    assert!(compiler.compile_ebnf("root ::= %json {\"type\": \"a\" \"b\"}").is_err());
}

#[test]
fn printed_grammars_are_the_same_again() {
    let limits = Limits::default();
    let source = r#"root ::= "a" %json(item_separator = ", ", key_separator = ": ", lenient) {"properties": {"root": {"const": "a\\\"root \u0041 list"}, "\u0062": true}} list?
list ::= %json true | Marker("<|x|>a") /a<\|x\|>/c | %json(draft = "7", indent = 2) { "enum": [ "root_", "_" ] }"#;
    let grammar = ebnf::parse(source, "root", &limits).unwrap().grammar;
    let printed = grammar.to_ebnf().unwrap();
    assert_eq!(ebnf::parse(&printed, "root", &limits).unwrap().grammar, grammar, "{printed}");
    // The names of rules are words nowhere but in the grammar itself.
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let n_root = words(&printed).iter().filter(|word| *word == "root").count();
    let n_list = words(&printed).iter().filter(|word| *word == "list").count();
    assert_eq!((n_root, n_list), (1, 2), "{printed}");
    // The printed grammar of a schema is that schema.
    let schema = r#"{"type": "object", "properties": {"root": {"type": "integer"}}}"#;
    let checked = Grammar::from_json_schema(schema, &SchemaOptions::default()).unwrap();
    let printed = checked.grammar.to_ebnf().unwrap();
    assert_eq!(Grammar::from_ebnf(&printed, "root").unwrap().grammar, checked.grammar);
    assert_eq!(checked.reports.len(), 1);
}

#[test]
fn grammars_are_put_together_in_rust() {
    let digit = Grammar::from_regex("[0-9]").unwrap();
    let words = Grammar::choice(["yes", "no"]);
    let list = Grammar::from_ebnf(r#"root ::= "[" item ("," item)* "]"  item ::= "x""#, "root").unwrap().grammar;
    let all = Grammar::union([
        &Grammar::concat([&words, &digit.repeat(1, Some(2)), &Grammar::any_json()]),
        &Grammar::concat([&list, &list]),
        &Grammar::literal(""),
    ]);
    let grammar = GrammarCompiler::new(vocab(&[])).compile(&all).unwrap();
    for (text, verdict) in [
        ("yes12{\"a\": [1]}", true),
        ("no1", false),
        ("no1true", true),
        ("yes123", true),
        ("[x][x,x]", true),
        ("[x]", false),
        ("", true),
    ] {
        assert_eq!(is_match(&grammar, text), verdict, "{text}");
    }
    let again = ebnf::parse(&all.to_ebnf().unwrap(), "root", &Limits::default()).unwrap().grammar;
    assert_eq!(again, all);
    // A grammar that is there twice has rules of its own each time.
    let mut builder = GrammarBuilder::new();
    let (first, second) = (builder.add_grammar(&list, "l-"), builder.add_grammar(&list, "l-"));
    assert_ne!(first, second);
    assert!(builder.rule_named("l-item-2").is_some());
    let named =
        ebnf::parse_with("root ::= @list @list @w", "root", &[("list", &list), ("w", &words)], &Limits::default());
    let named = GrammarCompiler::new(vocab(&[])).compile(&named.unwrap().grammar).unwrap();
    assert!(is_match(&named, "[x][x]no") && !is_match(&named, "[x]no"));
}

#[test]
fn helpers_of_the_compiler() {
    let compiler = GrammarCompiler::new(vocab(&[]));
    let choice = compiler.compile_choice(["a\"b", "12"]).unwrap();
    assert!(is_match(&choice, "a\"b") && is_match(&choice, "12") && !is_match(&choice, "1"));
    assert!(compiler.compile_choice([]).is_err());
    let object = compiler.compile_json_object().unwrap();
    assert!(is_match(&object, "{\"a\": {}}") && !is_match(&object, "[]"));
    let compact = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let options = CompileOptions::default();
    let lines = compiler.compile_json_lines(r#"{"type": "integer"}"#, &compact, &options).unwrap();
    for (text, verdict) in
        [("1", true), ("1\n", true), ("1\n22\n3", true), ("", false), ("1\n\n2", false), ("1 \n2", false)]
    {
        assert_eq!(is_match(&lines, text), verdict, "{text:?}");
    }
    let error = compiler.compile_json_lines("true", &SchemaOptions::default(), &options).unwrap_err();
    assert!(error.to_string().contains("white_space"), "{error}");
}

#[test]
fn validation_needs_no_vocabulary() {
    let checked = Grammar::from_ebnf("root ::= \"a\" <|end|>\nb ::= %json {\"type\": 1}", "root").unwrap();
    assert_eq!(checked.warnings.len(), 1);
    for text in
        ["root ::= root", "root ::= \"a\" & \"b\"", "root ::= %json {\"minimum\": \"1\"}", "root ::= %json false"]
    {
        assert!(Grammar::from_ebnf(text, "root").is_err(), "{text}");
    }
    assert!(Grammar::from_json_schema("{", &SchemaOptions::default()).is_err());
    assert!(Grammar::from_regex("(").is_err());
    let operand = SchemaOperand::new("{}", SchemaOptions::default());
    assert_eq!(Grammar::schema(operand.clone()), Grammar::schema(operand));
}

#[test]
fn control_tokens_spell_markers_whole_and_in_part() {
    // `<|a|>` stands in `<|a|>b`, and `b<` across its end.
    let vocab = vocab(&["<|a|>", "<|a|>b", "b", "|>b<", "<t>"]);
    let id = |name: &str| vocab.ids_named(name)[0];
    let grammar =
        GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf(r#"root ::= Marker("<|a|>b<t>") "b" [<t>]*"#).unwrap();
    let spells = |pieces: &[Result<&str, &str>]| {
        let mut matcher = grammar.matcher();
        let is_read = pieces.iter().all(|piece| match piece {
            Ok(text) => matcher.accept_bytes(text.as_bytes()).is_ok(),
            Err(name) => matcher.accept_token(id(name)).is_ok(),
        });
        is_read && matcher.is_accepting()
    };
    assert!(spells(&[Ok("<|a|>b<t>b")]));
    assert!(spells(&[Err("<|a|>"), Err("b"), Err("<t>"), Ok("b")]));
    assert!(spells(&[Err("<|a|>b"), Ok("<t>b")]));
    assert!(spells(&[Ok("<|a"), Err("|>b<"), Ok("t>b")]));
    assert!(!spells(&[Ok("<|a|>b<t>"), Err("b")]), "a literal that is no marker has letters only");
    assert!(!spells(&[Ok("<|a|>b<t>b"), Err("<t>")]), "and so has a class");
    // Forced text is what all spellings have in common.
    let mut matcher = grammar.matcher();
    assert_eq!(matcher.jump_forward(), b"<|a|>b<t>b");
    assert!(matcher.mask().unwrap().contains(id("<|a|>b")));
    let regex = GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf(r"root ::= /(<\|a\|>|x)+/c").unwrap();
    let mut matcher = regex.matcher();
    matcher.accept_token(id("<|a|>")).unwrap();
    matcher.accept_bytes(b"x<|a|>").unwrap();
    assert!(matcher.is_accepting());
}

/// A literal of a regular expression goes on through groups and alternatives.
#[test]
fn control_tokens_spell_literals_through_alternatives() {
    let vocab = vocab(&["<en>", "n>", "<f", "r>x", "xx", "<", ">"]);
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    let grammar = compiler.compile_ebnf(r"root ::= /<(en|fr|[0-9])>x{0,2}/c").unwrap();
    let spells = |tokens: &[&str]| {
        let mut matcher = grammar.matcher();
        let is_read = tokens.iter().all(|token| match vocab.ids_named(token) {
            [id] => matcher.accept_token(*id).is_ok(),
            _ => matcher.accept_bytes(token.as_bytes()).is_ok(),
        });
        is_read && matcher.is_accepting()
    };
    for tokens in [&["<en>"][..], &["<", "e", "n>"], &["<f", "r", ">"], &["<", "7", ">"], &["<", "fr", ">", "x"]] {
        assert!(spells(tokens), "{tokens:?}");
    }
    assert!(!spells(&["<f", "r>x"]) && !spells(&["<en>", "xx"]), "a repeat ends a literal");
    // Masks are those of the oracle, and so are those of the printed grammar.
    let recognizer = Recognizer::new(grammar.grammar(), &Limits::default()).unwrap();
    let again = compiler.compile_ebnf(&grammar.grammar().to_string()).unwrap();
    assert_eq!(again.grammar(), grammar.grammar());
    let mut rng = Rng::new(3);
    for _ in 0..200 {
        let (mut matcher, mut oracle) = (grammar.matcher(), OracleMatcher::new(&recognizer, Arc::clone(&vocab)));
        loop {
            let mask = matcher.mask().unwrap();
            assert_eq!(mask.as_words(), oracle.mask(), "{:?}", matcher.accepted());
            let allowed: Vec<TokenId> = mask.iter().collect();
            let Some(&token) = allowed.get(rng.below(allowed.len().max(1))) else { break };
            matcher.accept_token(token).unwrap();
            assert!(oracle.accept_token(token));
            if matcher.is_terminated() {
                break;
            }
        }
    }
}

/// What a document is beside another text, it is alone; as an operand, from a pointer, and as the characters of a string.
#[test]
fn random_schemas_mean_the_same_amid_other_text() {
    let mut rng = Rng::new(rounds::seed_or(17));
    let limits = Limits { automaton_states_max: 1 << 15, schema_alternatives_max: 1 << 7, ..Limits::default() };
    let compiler = GrammarCompiler::builder(vocab(&[])).limits(limits).build();
    let options = CompileOptions::default();
    let (mut n_accepted, mut n_refused, mut n_strings) = (0, 0, 0);
    for _ in 0..400 {
        let schema = random_schema(&mut rng);
        let Ok(alone) = compiler.compile_json_schema(&schema) else { continue };
        let amid = compiler.compile_ebnf(&format!(r#"root ::= [a" ]{{0,3}} %json {schema} ("\n" root)?"#)).unwrap();
        let within = format!(r#"{{"x": [{schema}]}}"#);
        let mut at_pointer = SchemaOptions::default();
        at_pointer.read.pointer = "/x/0".into();
        let has_references = schema.contains("$ref");
        let pointed = compiler.compile_json_schema_with(&within, &at_pointer, &options);
        assert!(pointed.is_ok() || has_references, "{schema}");
        let characters = SchemaOptions { root: RootForm::Text { until: "x".into() }, ..SchemaOptions::default() };
        let characters = compiler.compile_json_schema_with(&schema, &characters, &options);
        for _ in 0..12 {
            let value = random_value(&mut rng, 2);
            let is_valid = is_match(&alone, &value);
            n_accepted += usize::from(is_valid);
            n_refused += usize::from(!is_valid);
            let first = *rng.pick(&["", "a", "\"", "\"\" ", "a\" "]);
            assert_eq!(is_match(&amid, &format!("{first}{value}")), is_valid, "{schema}\n{first}{value}");
            if is_valid {
                assert!(is_match(&amid, &format!("{first}{value}\n\"{value}")), "{schema}\n{first}{value}");
            }
            if let (Ok(pointed), false) = (&pointed, has_references) {
                assert_eq!(is_match(pointed, &value), is_valid, "{schema}\n{value}");
            }
            if let serde_json::Value::String(text) = serde_json::from_str(&value).unwrap() {
                n_strings += 1;
                let is_read = characters.as_ref().is_ok_and(|characters| is_match(characters, &text));
                assert_eq!(is_read, is_valid && !text.contains('x'), "{schema}\n{value} as characters");
            }
        }
        check_masks(&alone, &mut rng, 1, 6);
        check_masks(&amid, &mut rng, 1, 6);
    }
    assert!(n_accepted > 300 && n_refused > 300 && n_strings > 100, "{n_accepted} {n_refused} {n_strings}");
}

//! Tool calls of models: transcripts as the chat templates write them, and near misses, for each choice, with markers as tokens and as letters.

use maskwright::structural_tag::models::{ModelFormat, Thinking, Tool, ToolCallError, ToolCallOptions, ToolChoice};
use maskwright::vocab::TokenKind;
use maskwright::{CompiledGrammar, GrammarCompiler, Limits, Matcher, TokenId, Vocab};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

/// Control tokens, as the tokenizers of the models have them. None begins with another.
static CONTROL: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "<think> </think> <tool_call> </tool_call> <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> \
     ｜DSML｜ <|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|> \
     <|open|> <|close|> <|sep|> <arg_key> </arg_key> <arg_value> </arg_value> <minimax:tool_call> </minimax:tool_call> <|start|> <|end|> \
     <|message|> <|channel|> <|constrain|> <|call|> <|return|> [TOOL_CALLS] [ARGS] [CALL_ID] [THINK] [/THINK] <|START_ACTION|> \
     <|END_ACTION|> <|START_THINKING|> <|END_THINKING|> <|START_RESPONSE|> <|END_RESPONSE|> <|START_TEXT|> <|END_TEXT|> ]<]minimax[>[ <mm:think> </mm:think>"
        .split(' ')
        .collect()
});

/// All bytes, tokens that cross the borders of markers, and the control tokens; these stop tokens besides its own.
fn vocab(stop_tokens: &[&str]) -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend([
        "\n\n", "}\n", "\n<", "</", "{\"", "\": ", "\", \"", "tool", "_call>", "name", "=\"", "\">", "}}", "<|",
    ]);
    let mut stops = vec![builder.push("<|stop|>")];
    for &name in CONTROL.iter() {
        let id = builder.push(name);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
        if stop_tokens.contains(&name) {
            stops.push(id);
        }
    }
    builder.stop_tokens(stops);
    Arc::new(builder.build().unwrap())
}

static COMPILER: LazyLock<GrammarCompiler> = LazyLock::new(|| GrammarCompiler::new(vocab(&[])));

/// `weather` has parameters, `now` takes any object.
fn tools() -> [Tool; 2] {
    let parameters = r#"{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}"#;
    [Tool::new("weather").with_parameters(parameters), Tool::new("now")]
}

#[derive(Clone, Debug)]
struct Ask {
    choice: ToolChoice,
    options: ToolCallOptions,
}

fn ask(choice: ToolChoice) -> Ask {
    Ask { choice, options: ToolCallOptions::default() }
}

impl Ask {
    fn thinking(mut self, thinking: Thinking) -> Ask {
        self.options.thinking = thinking;
        self
    }

    fn single(mut self) -> Ask {
        self.options.is_parallel = false;
        self
    }

    fn at_most(mut self, n_calls: u32) -> Ask {
        self.options.n_calls_max = NonZeroU32::new(n_calls);
        self
    }

    fn compile(&self, format: ModelFormat, compiler: &GrammarCompiler) -> CompiledGrammar {
        let tag = format.structural_tag(&tools(), &self.choice, &self.options, &Limits::default());
        let tag = tag.unwrap_or_else(|error| panic!("{format:?} {self:?}: {error}"));
        compiler.compile_structural_tag(&tag).unwrap_or_else(|error| panic!("{format:?} {self:?}: {error:#}\n{tag}"))
    }
}

fn weather() -> ToolChoice {
    ToolChoice::Named("weather".into())
}

/// A token, or the text before the next control token.
enum Piece<'t> {
    Token(TokenId),
    Text(&'t str),
}

/// Divides a transcript at the control tokens.
fn pieces<'t>(vocab: &Vocab, transcript: &'t str) -> Vec<Piece<'t>> {
    let (mut pieces, mut rest) = (Vec::new(), transcript);
    while !rest.is_empty() {
        let first = CONTROL.iter().filter_map(|name| rest.find(name).map(|at| (at, *name))).min();
        let (at, name) = first.unwrap_or((rest.len(), ""));
        if at > 0 {
            pieces.push(Piece::Text(&rest[..at]));
        }
        if !name.is_empty() {
            pieces.push(Piece::Token(vocab.ids_named(name)[0]));
        }
        rest = &rest[at + name.len()..];
    }
    pieces
}

/// Tells whether a transcript is a whole output, with its markers as control tokens and as letters, which must be the same.
fn is_output(grammar: &CompiledGrammar, transcript: &str) -> bool {
    let mut with_tokens = grammar.matcher();
    let is_read = pieces(grammar.vocab(), transcript).iter().all(|piece| match piece {
        Piece::Token(token) => with_tokens.accept_token(*token).is_ok(),
        Piece::Text(text) => with_tokens.accept_bytes(text.as_bytes()).is_ok(),
    });
    let mut with_letters = grammar.matcher();
    let is_spelled = with_letters.accept_bytes(transcript.as_bytes()).is_ok() && with_letters.is_accepting();
    // As letters, free text may have markers in it that no token may write there.
    let is_output = is_read && with_tokens.is_accepting();
    assert!(is_spelled || !is_output, "{transcript:?} is an output with control tokens only");
    is_output
}

/// Tells whether no spelling of a transcript is an output.
fn is_no_output(grammar: &CompiledGrammar, transcript: &str) -> bool {
    let mut matcher = grammar.matcher();
    let is_spelled = matcher.accept_bytes(transcript.as_bytes()).is_ok() && matcher.is_accepting();
    !is_output(grammar, transcript) && !is_spelled
}

#[track_caller]
fn check(format: ModelFormat, ask: &Ask, outputs: &[&str], others: &[&str]) {
    let grammar = ask.compile(format, &COMPILER);
    for output in outputs {
        assert!(is_output(&grammar, output), "{format:?} {ask:?} should take {output:?}");
    }
    for other in others {
        assert!(is_no_output(&grammar, other), "{format:?} {ask:?} should refuse {other:?}");
    }
}

/// Compares each row of a mask with what a check of each token says, along a transcript.
fn compare_masks(grammar: &CompiledGrammar, transcript: &str) {
    let compare = |matcher: &mut Matcher| {
        let mask = matcher.mask().unwrap();
        let allowed: Vec<TokenId> = mask.iter().collect();
        let n_tokens = grammar.vocab().n_tokens() as TokenId;
        let wanted: Vec<TokenId> = (0..n_tokens).filter(|&token| matcher.is_token_allowed(token)).collect();
        assert_eq!(allowed, wanted, "behind {:?} of {transcript:?}", matcher.accepted());
    };
    let mut matcher = grammar.matcher();
    for piece in pieces(grammar.vocab(), transcript) {
        match piece {
            Piece::Token(token) => {
                compare(&mut matcher);
                matcher.accept_token(token).unwrap();
            }
            Piece::Text(text) => {
                for byte in text.bytes() {
                    compare(&mut matcher);
                    matcher.accept_bytes(&[byte]).unwrap();
                }
            }
        }
    }
    compare(&mut matcher);
    assert!(matcher.is_accepting());
}

/// Transcripts of a model whose outputs are reasoning, then text, then calls.
struct Model {
    format: ModelFormat,
    /// An output without a call.
    text: &'static str,
    /// One call of `weather`, of `now`; both; three, of which the last is `weather`. Without several calls, empty.
    weather: &'static str,
    now: &'static str,
    both: &'static str,
    three: &'static str,
    /// What stands before a call where text is, or nothing if there is none.
    text_before: &'static str,
    /// The marker that opens reasoning, the rest of it, and what stands before a call then. Without reasoning, empty.
    reasoning: (&'static str, &'static str, &'static str),
    /// No outputs under any choice with a call.
    bad: &'static [&'static str],
}

const HAIR: &str = "Hair < 3 \"cm\", {but} \\ not more.\n";
const THINK: (&str, &str, &str) = ("<think>", "\nWhich city? {\"name\": 1} <tool\n</think>", "\n\n");

const MODELS: &[Model] = &[
    Model {
        format: ModelFormat::Llama,
        text: HAIR,
        weather: r#"{"name": "weather", "parameters": {"city": "Oslo", "days": 3}}"#,
        now: r#"{"name": "now", "parameters": {"any": [1]}}"#,
        both: "",
        three: "",
        text_before: "",
        reasoning: ("", "", ""),
        bad: &[
            r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#,
            r#"{"name": "weather", "parameters": {"days": 3}}"#,
            r#"{"name": "weather", "parameters": {"any": [1]}}"#,
            r#"{"name": "weathe", "parameters": {"city": "Oslo"}}"#,
            r#"{"name": "now", "parameters": [1]}"#,
            r#"{"name": "now", "parameters": {}}; {"name": "now", "parameters": {}}"#,
            r#"{"name": "now", "parameters": {}}{"name": "now", "parameters": {}}"#,
            r#"Sure. {"name": "now", "parameters": {}}"#,
        ],
    },
    Model {
        format: ModelFormat::Qwen3,
        text: HAIR,
        weather: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        now: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
        both: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
        three: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        text_before: "Let me see.\n",
        reasoning: THINK,
        bad: &[
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"days\": 1}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"now\", \"parameters\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"then\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call> and",
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}</tool_call>",
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n",
            "<tool_call>",
        ],
    },
    Model {
        format: ModelFormat::Qwen3Coder,
        text: HAIR,
        weather: "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        now: "<tool_call>\n<function=now>\n</function>\n</tool_call>",
        both: "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n<parameter=zone>\nUTC\n</parameter>\n</function>\n</tool_call>",
        three: "<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        text_before: "Let me see.\n",
        reasoning: THINK,
        bad: &[
            "<tool_call>\n<function=weather>\n</function>\n</tool_call>",
            "<tool_call>\n<function=weather>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\nfew\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=zone>\nUTC\n</parameter>\n</function>\n</tool_call>",
            "<tool_call>\n<function=then>\n</function>\n</tool_call>",
            "<function=now>\n</function>",
            "<tool_call>\n<function=now>\n</function>",
        ],
    },
    Model {
        format: ModelFormat::DeepSeekR1,
        text: HAIR,
        weather: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        now: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        both: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        three: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Oslo\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        text_before: "Let me see.",
        reasoning: THINK,
        bad: &[
            "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"days\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>",
        ],
    },
    Model {
        format: ModelFormat::DeepSeekV31,
        text: HAIR,
        weather: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        now: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        both: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        three: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>then<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ],
    },
    Model {
        format: ModelFormat::DeepSeekV32,
        text: HAIR,
        weather: "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        now: "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        both: "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        three: "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"false\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            "<｜DSML｜function_calls>\n</｜DSML｜function_calls>",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"then\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ],
    },
    Model {
        format: ModelFormat::DeepSeekV4,
        text: HAIR,
        weather: "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        now: "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        both: "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        three: "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"weather\">\n\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ],
    },
    Model {
        format: ModelFormat::DeepSeekV41,
        text: HAIR,
        weather: "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">Oslo</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        now: "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        both: "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">Oslo</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        three: "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"weather\">\n<｜DSML｜ parameter name=\"city\" string=\"true\">Oslo</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"weather\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
            "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"now\">\n\n</｜DSML｜invoke>\n</｜DSML｜ calls>",
        ],
    },
    Model {
        format: ModelFormat::KimiK2,
        text: HAIR,
        weather: "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>",
        now: "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:12<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        both: "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        three: "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.weather:2<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<|tool_calls_section_begin|><|tool_calls_section_end|>",
            "<|tool_calls_section_begin|><|tool_call_begin|>now:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.now<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        ],
    },
    Model {
        format: ModelFormat::Glm45,
        text: HAIR,
        weather: "\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
        now: "\n<tool_call>now\n</tool_call>",
        both: "\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>\n<tool_call>now\n<arg_key>zone</arg_key>\n<arg_value>UTC</arg_value>\n</tool_call>",
        three: "\n<tool_call>now\n</tool_call>\n<tool_call>now\n</tool_call>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
        text_before: "\nLet me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<tool_call>weather\n</tool_call>",
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>few</arg_value>\n</tool_call>",
            "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
            "<tool_call>then\n</tool_call>",
            "<tool_call>now\n</tool_call><tool_call>now\n</tool_call>",
        ],
    },
    Model {
        format: ModelFormat::Glm47,
        text: HAIR,
        weather: "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>3</arg_value></tool_call>",
        now: "<tool_call>now</tool_call>",
        both: "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call><tool_call>now</tool_call>",
        three: "<tool_call>now</tool_call><tool_call>now</tool_call><tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<tool_call>weather</tool_call>",
            "<tool_call>weather<arg_key>days</arg_key><arg_value>3</arg_value></tool_call>",
            "<tool_call>nowhere</tool_call>",
            "<tool_call>now\n</tool_call>",
        ],
    },
    Model {
        format: ModelFormat::MiniMaxM2,
        text: HAIR,
        weather: "\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n</minimax:tool_call>",
        now: "\n<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
        both: "\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n<invoke name=\"now\">\n<parameter name=\"zone\">UTC</parameter>\n</invoke>\n</minimax:tool_call>",
        three: "\n<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"now\">\n</invoke>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>\n</invoke>\n</minimax:tool_call>",
        text_before: "Let me see.",
        reasoning: THINK,
        bad: &[
            "<minimax:tool_call>\n</minimax:tool_call>",
            "<minimax:tool_call>\n<invoke name=\"weather\">\n</invoke>\n</minimax:tool_call>",
            "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">few</parameter>\n</invoke>\n</minimax:tool_call>",
            "<minimax:tool_call>\n<invoke name=\"then\">\n</invoke>\n</minimax:tool_call>",
            "<minimax:tool_call>\n<invoke name=\"now\">\n</invoke>\n",
        ],
    },
    Model {
        format: ModelFormat::MiniMaxM3,
        text: HAIR,
        weather: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        now: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        both: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">\n]<]minimax[>[<city>Oslo]<]minimax[>[</city>\n]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        three: "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        text_before: "Let me see.",
        reasoning: ("<mm:think>", "Which city? <tool</mm:think>", "\n\n"),
        bad: &[
            "]<]minimax[>[<tool_call>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Oslo]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Oslo</city>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"weather\">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<days>few]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[<zone>UTC]<]minimax[>[</zone>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"then\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        ],
    },
    Model {
        format: ModelFormat::Cohere,
        text: HAIR,
        weather: "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\"><cofl:value name=\"city\" type=\"raw\">Oslo</cofl:value><cofl:value name=\"days\" type=\"json\">3</cofl:value></cofl:tool_call></cofl:tool_calls>",
        now: "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"now\"></cofl:tool_call></cofl:tool_calls>",
        both: "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\">\n  <cofl:value name=\"city\" type=\"raw\">Oslo</cofl:value>\n</cofl:tool_call><cofl:tool_call id=\"1\" name=\"now\"><cofl:value name=\"a\" type=\"dict\"><cofl:value name=\"b\" type=\"list\"><cofl:value type=\"json\">true</cofl:value></cofl:value></cofl:value></cofl:tool_call></cofl:tool_calls>",
        three: "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"now\"></cofl:tool_call><cofl:tool_call id=\"1\" name=\"now\"></cofl:tool_call>\n<cofl:tool_call id=\"2\" name=\"weather\"><cofl:value name=\"city\" type=\"raw\">Oslo</cofl:value></cofl:tool_call></cofl:tool_calls>",
        text_before: "<|START_TEXT|>Let me see.<|END_TEXT|>",
        reasoning: ("<|START_THINKING|>", "Which city?<|END_THINKING|>", ""),
        bad: &[
            "<cofl:tool_calls></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\"></cofl:tool_call></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"a\" name=\"now\"></cofl:tool_call></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\"><cofl:value name=\"city\" type=\"json\">Oslo</cofl:value></cofl:tool_call></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"weather\"><cofl:value name=\"city\" type=\"raw\">Oslo</cofl:value><cofl:value name=\"days\" type=\"raw\">3</cofl:value></cofl:tool_call></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"then\"></cofl:tool_call></cofl:tool_calls>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"now\"></cofl:tool_call>",
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"now\"><cofl:value name=\"a\" type=\"dict\"><cofl:value type=\"json\">1</cofl:value></cofl:value></cofl:tool_call></cofl:tool_calls>",
        ],
    },
    Model {
        format: ModelFormat::MiMo,
        text: HAIR,
        weather: "<tool_call><function=weather><parameter=city>Oslo</parameter><parameter=days>3</parameter></function></tool_call>",
        now: "<tool_call><function=now></function></tool_call>",
        both: "<tool_call><function=weather><parameter=city>Oslo</parameter></function></tool_call><tool_call><function=now><parameter=zone>UTC</parameter></function></tool_call>",
        three: "<tool_call><function=now></function></tool_call>\n<tool_call><function=now></function></tool_call><tool_call><function=weather><parameter=city>Oslo</parameter></function></tool_call>",
        text_before: "Let me see.",
        reasoning: ("<think>", "Which city?</think>", ""),
        bad: &[
            "<tool_call><function=weather></function></tool_call>",
            "<tool_call><function=weather><parameter=city>Oslo</parameter><parameter=days>few</parameter></function></tool_call>",
            "<tool_call>\n<function=now></function></tool_call>",
            "<tool_call><function=then></function></tool_call>",
            "<function=now></function>",
        ],
    },
    Model {
        format: ModelFormat::Exaone,
        text: HAIR,
        weather: "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
        now: "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
        both: "<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>",
        three: "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
        text_before: "Let me see.\n",
        reasoning: ("<think>", "\nWhich city?\n</think>", "\n\n"),
        bad: &[
            "<tool_call>{\"name\": \"weather\", \"arguments\": {\"days\": 1}}</tool_call>",
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>{\"name\": \"then\", \"arguments\": {}}</tool_call>",
            "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>.",
        ],
    },
    Model {
        format: ModelFormat::Mistral,
        text: HAIR,
        weather: "[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}",
        now: "[TOOL_CALLS]now[CALL_ID]abcDEF123[ARGS]{}",
        both: "[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}[TOOL_CALLS]now[ARGS]{}",
        three: "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]weather[ARGS]{\"city\": \"Oslo\"}",
        text_before: "Let me see.",
        reasoning: ("[THINK]", "Which city?[/THINK]", ""),
        bad: &[
            "[TOOL_CALLS]weather[ARGS]{}",
            "[TOOL_CALLS]then[ARGS]{}",
            "[TOOL_CALLS]now[CALL_ID]abc[ARGS]{}",
            "[TOOL_CALLS]now{}",
            "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}]",
        ],
    },
    Model {
        format: ModelFormat::MistralList,
        text: HAIR,
        weather: "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
        now: "[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}, \"id\": \"abcDEF123\"}]",
        both: "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}, {\"name\": \"now\", \"arguments\": {}}]",
        three: "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"now\", \"arguments\": {}}, {\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
        text_before: "Let me see.",
        reasoning: ("", "", ""),
        bad: &[
            "[TOOL_CALLS] []",
            "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": {}}]",
            "[TOOL_CALLS] [{\"name\": \"now\", \"arguments\": {}, \"id\": \"1\"}]",
            "[TOOL_CALLS] {\"name\": \"now\", \"arguments\": {}}",
            "[{\"name\": \"now\", \"arguments\": {}}][TOOL_CALLS]",
        ],
    },
    Model {
        format: ModelFormat::CommandR7b,
        text: "<|START_RESPONSE|>Hair < 3 cm.<|END_RESPONSE|>",
        weather: "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}\n]<|END_ACTION|>",
        now: "<|START_ACTION|>[\n    {\"tool_call_id\": \"7\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
        both: "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
        three: "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"now\", \"parameters\": {}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"now\", \"parameters\": {}},\n    {\"tool_call_id\": \"2\", \"tool_name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}\n]<|END_ACTION|>",
        text_before: "",
        reasoning: ("<|START_THINKING|>", "Which city?<|END_THINKING|>", ""),
        bad: &[
            "<|START_ACTION|>[\n]<|END_ACTION|>",
            "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \"parameters\": {}}\n]<|END_ACTION|>",
            "<|START_ACTION|>[\n    {\"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
            "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"then\", \"parameters\": {}}\n]<|END_ACTION|>",
            "Hair.<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"now\", \"parameters\": {}}\n]<|END_ACTION|>",
        ],
    },
];

#[test]
fn choices_allow_their_outputs() {
    for &Model { format, text, weather: one, now, both, three, text_before, bad, .. } in MODELS {
        let behind_text = &*format!("{text_before}{one}");
        let cut = &one[..one.len() - 1];
        let several: &[&str] = if both.is_empty() { &[] } else { &[both, three] };
        let outputs = |others: &[&'static str]| [&[one][..], others, several].concat();
        check(
            format,
            &ask(ToolChoice::Auto),
            &[&outputs(&[text, now])[..], &[behind_text]].concat(),
            &[bad, &[cut]].concat(),
        );
        check(format, &ask(ToolChoice::Required), &outputs(&[now]), &[bad, &["", text, cut]].concat());
        check(format, &ask(weather()), &[one], &[bad, several, &["", text, cut, now]].concat());
        check(format, &ask(ToolChoice::None), &[text], &[&outputs(&[now])[..], &[behind_text]].concat());
        if !text_before.is_empty() {
            check(format, &ask(ToolChoice::Required), &[], &[behind_text]);
            check(format, &ask(weather()), &[], &[behind_text]);
        }
    }
}

#[test]
fn counts_of_calls_are_bounded() {
    for &Model { format, text, weather: one, now, both, three, text_before, .. } in MODELS {
        let many: &[&str] = if both.is_empty() { &[] } else { &[both, three] };
        let behind_text = format!("{text_before}{one}");
        check(format, &ask(ToolChoice::Auto).single(), &[text, one, now, &behind_text], many);
        check(format, &ask(ToolChoice::Required).single(), &[one, now], many);
        check(format, &ask(ToolChoice::Required).at_most(1), &[one, now], many);
        if let [both, three] = *many {
            check(format, &ask(ToolChoice::Auto).at_most(2), &[text, one, both], &[three]);
            check(format, &ask(ToolChoice::Required).at_most(2), &[one, both], &[three, text]);
            check(format, &ask(ToolChoice::Required).at_most(3), &[one, both, three], &[]);
            check(format, &ask(ToolChoice::Required).at_most(3).single(), &[one], &[both, three]);
        }
    }
}

#[test]
fn reasoning_comes_first() {
    for &Model { format, text, weather: one, now, reasoning: (begin, thought, before), .. } in MODELS {
        if begin.is_empty() {
            let options = ask(ToolChoice::Auto).thinking(Thinking::FromMarker).options;
            let error = format.structural_tag(&tools(), &ToolChoice::Auto, &options, &Limits::default()).unwrap_err();
            assert!(error.to_string().contains("no reasoning"), "{error}");
            continue;
        }
        let inside = |rest: &str| format!("{thought}{rest}");
        let whole = |rest: &str| format!("{begin}{thought}{rest}");
        let call = format!("{before}{one}");
        let other = format!("{before}{now}");
        for choice in [ToolChoice::Auto, ToolChoice::Required, weather()] {
            let (auto, named) = (choice == ToolChoice::Auto, choice == weather());
            let (off, ask) = (ask(choice.clone()), |thinking| ask(choice.clone()).thinking(thinking));
            let mut others =
                vec![one.to_owned(), begin.to_owned(), format!("{begin}{}", &thought[..thought.len() - 1])];
            let mut outputs = vec![whole(&call)];
            let of_text = if auto { &mut outputs } else { &mut others };
            of_text.push(whole(text));
            let of_other = if named { &mut others } else { &mut outputs };
            of_other.push(whole(&other));
            check(format, &ask(Thinking::FromMarker), &strs(&outputs), &strs(&others));
            check(format, &ask(Thinking::FromInside), &[&inside(&call)], &[one, &inside(&inside(&call))]);
            check(format, &off, &[], &[&whole(&call), &inside(&call)]);
        }
        let none = ask(ToolChoice::None);
        check(format, &none.clone().thinking(Thinking::FromMarker), &[&whole(text)], &[&whole(&call), text]);
        check(format, &none.clone().thinking(Thinking::FromInside), &[&inside(text)], &[&inside(&call), text]);
        check(format, &none, &[text], &[&whole(text), &inside(text)]);
    }
}

fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}

const KIMI_K3_WEATHER: &str = "<|open|>call tool=\"weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>Oslo<|close|>argument<|sep|><|close|>call<|sep|>";
const KIMI_K3_NOW: &str = "<|open|>call tool=\"now\" index=\"2\"<|sep|><|close|>call<|sep|>";

#[test]
fn kimi_k3_has_blocks() {
    let check = |ask: &Ask, outputs: &[&str], others: &[&str]| check(ModelFormat::KimiK3, ask, outputs, others);
    let end = "<|close|>message<|sep|>";
    let text = format!("Hair.<|close|>response<|sep|>{end}");
    let calls = |calls: &[&str]| {
        let calls = calls.concat();
        format!("Let me see.<|close|>response<|sep|><|open|>tools<|sep|>{calls}<|close|>tools<|sep|>{end}")
    };
    let (weather_call, now, none) = (calls(&[KIMI_K3_WEATHER]), calls(&[KIMI_K3_NOW]), calls(&[]));
    let both = calls(&[KIMI_K3_WEATHER, KIMI_K3_NOW]);
    let three = calls(&[KIMI_K3_WEATHER, KIMI_K3_NOW, KIMI_K3_NOW]);
    let wrong = weather_call.replace("string", "number");
    check(&ask(ToolChoice::Auto), &[&text, &weather_call, &now, &both, &three], &[&none, &wrong, "Hair."]);
    check(&ask(ToolChoice::Required), &[&weather_call, &now, &three], &[&none, &text]);
    check(&ask(weather()), &[&weather_call], &[&now, &both, &text]);
    check(&ask(ToolChoice::None), &[&text], &[&weather_call, &now, &none]);
    check(&ask(ToolChoice::Required).single(), &[&now], &[&both]);
    check(&ask(ToolChoice::Auto).at_most(2), &[&text, &both], &[&three]);
    let thought = |rest: &str| format!("Which city?<|close|>think<|sep|><|open|>response<|sep|>{rest}");
    let inside = ask(ToolChoice::Required).thinking(Thinking::FromInside);
    check(&inside, &[&thought(&weather_call)], &[&weather_call, &thought(&text)]);
    let whole = format!("<|open|>think<|sep|>{}", thought(&weather_call));
    check(&ask(weather()).thinking(Thinking::FromMarker), &[&whole], &[&weather_call, &thought(&weather_call)]);
}

const HARMONY_WEATHER: &str =
    "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>";
const HARMONY_NOW: &str = " to=functions.now<|channel|>commentary json<|message|>{}<|call|>";

#[test]
fn harmony_has_messages() {
    let check = |ask: &Ask, outputs: &[&str], others: &[&str]| check(ModelFormat::Harmony, ask, outputs, others);
    let last = "<|channel|>final<|message|>Hair.";
    let preamble = format!("<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant{HARMONY_WEATHER}");
    let twice = format!("{HARMONY_WEATHER}<|start|>assistant{HARMONY_WEATHER}");
    let wrong = HARMONY_WEATHER.replace("city", "town");
    let unknown = HARMONY_WEATHER.replace("weather", "then");
    let cut = HARMONY_WEATHER.replace("<|call|>", "");
    let bad = [&*twice, &wrong, &unknown, &cut, "Hair."];
    let returned = format!("{last}<|return|>");
    check(&ask(ToolChoice::Auto), &[last, &returned, HARMONY_WEATHER, HARMONY_NOW, &preamble], &bad);
    check(&ask(ToolChoice::Required), &[HARMONY_WEATHER, HARMONY_NOW], &[&bad[..], &[last, &preamble]].concat());
    check(&ask(weather()), &[HARMONY_WEATHER], &[&bad[..], &[last, HARMONY_NOW]].concat());
    check(&ask(ToolChoice::None), &[last], &[&bad[..], &[HARMONY_WEATHER, &preamble]].concat());
    let thought = |rest: &str| format!("<|channel|>analysis<|message|>Which city?<|end|><|start|>assistant{rest}");
    let (call, answer) = (thought(HARMONY_WEATHER), thought(last));
    let thinking = |choice| ask(choice).thinking(Thinking::FromMarker);
    check(&thinking(ToolChoice::Auto), &[&call, &answer], &[last, HARMONY_WEATHER]);
    check(&thinking(ToolChoice::Required), &[&call], &[&answer, HARMONY_WEATHER]);
    check(&thinking(ToolChoice::None), &[&answer], &[&call]);
    check(&ask(ToolChoice::Auto), &[], &[&call, &answer]);
    let inside = "Which city?<|end|><|start|>assistant<|channel|>final<|message|>Hair.";
    check(&ask(ToolChoice::Auto).thinking(Thinking::FromInside), &[inside], &[last]);
}

/// Tokenizers of Harmony have `<|call|>` and `<|return|>` among their stop tokens: each ends the output where the grammar names it.
#[test]
fn stop_tokens_end_a_call() {
    let compiler = GrammarCompiler::new(vocab(&["<|call|>", "<|return|>"]));
    let grammar = ask(ToolChoice::Auto).compile(ModelFormat::Harmony, &compiler);
    for output in [HARMONY_WEATHER, "<|channel|>final<|message|>Hair.<|return|>"] {
        let mut matcher = grammar.matcher();
        let pieces = pieces(grammar.vocab(), output);
        for (index, piece) in pieces.iter().enumerate() {
            assert!(!matcher.is_terminated(), "{output:?} {index}");
            match piece {
                Piece::Token(token) => matcher.accept_token(*token).unwrap(),
                Piece::Text(text) => matcher.accept_bytes(text.as_bytes()).unwrap(),
            }
        }
        assert!(matcher.is_terminated(), "{output:?}");
    }
    let mut matcher = grammar.matcher();
    matcher.accept_token(grammar.vocab().ids_named("<|channel|>")[0]).unwrap();
    assert!(!matcher.is_token_allowed(grammar.vocab().ids_named("<|call|>")[0]));
}

#[test]
fn masks_agree_with_checks_of_each_token() {
    for &Model { format, weather: one, both, reasoning: (begin, thought, before), text_before, .. } in MODELS {
        let auto = ask(ToolChoice::Auto).compile(format, &COMPILER);
        let calls = if both.is_empty() { one } else { both };
        compare_masks(&auto, &format!("{text_before}{calls}"));
        if !begin.is_empty() {
            let required = ask(ToolChoice::Required).thinking(Thinking::FromMarker).at_most(2);
            compare_masks(&required.compile(format, &COMPILER), &format!("{begin}{thought}{before}{calls}"));
        }
    }
    let harmony = ask(ToolChoice::Auto).compile(ModelFormat::Harmony, &COMPILER);
    compare_masks(&harmony, &format!("<|channel|>commentary<|message|>I <|end|><|start|>assistant{HARMONY_WEATHER}"));
    let kimi = ask(ToolChoice::Required).thinking(Thinking::FromInside).compile(ModelFormat::KimiK3, &COMPILER);
    let calls = format!("<|open|>tools<|sep|>{KIMI_K3_WEATHER}{KIMI_K3_NOW}<|close|>tools<|sep|>");
    let begin = "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|>";
    compare_masks(&kimi, &format!("{begin}{calls}<|close|>message<|sep|>"));
}

/// Where a control token could stand for letters of text, it may not.
#[test]
fn text_has_no_control_tokens() {
    let grammar = ask(ToolChoice::None).compile(ModelFormat::Qwen3, &COMPILER);
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(b"a ").unwrap();
    let allowed = |matcher: &mut Matcher, name: &str| matcher.is_token_allowed(grammar.vocab().ids_named(name)[0]);
    assert!(!CONTROL.iter().any(|name| allowed(&mut matcher, name)));
    matcher.accept_bytes(b"<tool_call").unwrap();
    assert!(matcher.is_accepting() && !matcher.is_token_allowed(u32::from(b'>')));
}

#[test]
fn every_format_is_tested() {
    let tested = |format| MODELS.iter().any(|model| model.format == format);
    for format in ModelFormat::all() {
        assert!(tested(format) || [ModelFormat::KimiK3, ModelFormat::Harmony].contains(&format), "{format:?}");
    }
}

fn error(tools: &[Tool], choice: ToolChoice) -> ToolCallError {
    ModelFormat::Qwen3.structural_tag(tools, &choice, &ToolCallOptions::default(), &Limits::default()).unwrap_err()
}

#[test]
fn errors_name_the_tool() {
    let named = error(&tools(), ToolChoice::Named("wether".into()));
    assert_eq!(
        named.to_string(),
        "the choice names a tool \"wether\" that is not among the tools (did you mean \"weather\"?)"
    );
    assert_eq!(named.tool(), Some("wether"));
    let unlike = error(&tools(), ToolChoice::Named("calendar".into()));
    assert_eq!(unlike.to_string(), "the choice names a tool \"calendar\" that is not among the tools");
    let required = error(&[], ToolChoice::Required);
    assert_eq!((required.to_string().as_str(), required.tool()), ("a call is required, and there are no tools", None));
    let twice = error(&[Tool::new("f"), Tool::new("f")], ToolChoice::Auto);
    assert_eq!(twice.to_string(), "two tools have the name \"f\"");
    for name in ["", "a b", "a\nb", "a\"b", "a<b", "f[ARGS]", "a\\", "x|y"] {
        let bad = error(&[Tool::new(name)], ToolChoice::Auto);
        assert!(bad.tool() == Some(name) && bad.to_string().starts_with("the name "), "{bad}");
    }
    // Parameters can't close their place in the document.
    for schema in ["{", "{}, \"x\": 1", "", "{\"type\": 'object'}"] {
        let bad = error(&[Tool::new("f").with_parameters(schema)], ToolChoice::None);
        assert!(bad.as_schema().is_some() && bad.tool() == Some("f"), "{bad}");
        assert!(std::error::Error::source(&bad).is_some());
    }
    let deep = [Tool::new("f").with_parameters("[[[[]]]]")];
    let limits = Limits { json_nesting_max: 3, ..Limits::default() };
    let tag = ModelFormat::Qwen3.structural_tag(&deep, &ToolChoice::Auto, &ToolCallOptions::default(), &limits);
    assert_eq!(tag.unwrap_err().as_schema().unwrap().limit().map(|(name, ..)| name), Some("json_nesting_max"));
}

#[test]
fn names_as_other_alphabets_write_them_are_allowed() {
    let tools = [Tool::new("mcp__files.read-only:v1/wetter_für_größe")];
    for format in ModelFormat::all() {
        let tag = format.structural_tag(&tools, &ToolChoice::Required, &ToolCallOptions::default(), &Limits::default());
        assert!(COMPILER.compile_structural_tag(&tag.unwrap()).is_ok(), "{format:?}");
    }
}

#[test]
fn without_tools_auto_is_text() {
    for format in [ModelFormat::Qwen3, ModelFormat::Harmony, ModelFormat::KimiK3, ModelFormat::Llama] {
        let tag = |choice| format.structural_tag(&[], choice, &ToolCallOptions::default(), &Limits::default()).unwrap();
        assert_eq!(tag(&ToolChoice::Auto), tag(&ToolChoice::None));
        assert!(COMPILER.compile_structural_tag(&tag(&ToolChoice::Auto)).is_ok());
    }
}

//! The registry: models, their names, and their formats.

use super::cohere::{COMMAND, COMMAND_R7B};
use super::error::ToolCallError;
use super::layout::Layout;
use super::request::{Plan, Thinking, Tool, ToolCallOptions, ToolChoice};
use super::{deepseek, document, exaone, glm, harmony, kimi, llama, mimo, minimax, mistral, qwen};
use crate::limits::Limits;
use crate::util::closest_name;

/// The format in which a family of models writes tool calls, as its chat template has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelFormat {
    /// Llama 3.1 and later: `{"name": "f", "parameters": {}}`.
    Llama,
    /// Qwen 2.5 and 3, Hermes: JSON between `<tool_call>` and `</tool_call>`.
    Qwen3,
    /// Qwen 3 Coder and 3.5: `<function=f>` with `<parameter=k>` between `<tool_call>` and `</tool_call>`.
    Qwen3Coder,
    /// DeepSeek V3 and R1: JSON in a code block between `<｜tool▁call▁begin｜>` and `<｜tool▁call▁end｜>`.
    DeepSeekR1,
    /// DeepSeek V3.1: JSON without a code block.
    DeepSeekV31,
    /// DeepSeek V3.2: `<｜DSML｜invoke name="f">` in `<｜DSML｜function_calls>`.
    DeepSeekV32,
    /// DeepSeek V4: `<｜DSML｜invoke name="f">` in `<｜DSML｜tool_calls>`.
    DeepSeekV4,
    /// DeepSeek V4.1: `<｜DSML｜ invoke name="f">` in `<｜DSML｜ calls>`.
    DeepSeekV41,
    /// Kimi K2: `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>` in a section.
    KimiK2,
    /// Kimi K3: `<|open|>call tool="f" index="1"<|sep|>` behind a response, which is there even where a call is required.
    KimiK3,
    /// GLM 4.5 and 4.6: `<tool_call>f`, then `<arg_key>` and `<arg_value>` on lines of their own.
    Glm45,
    /// GLM 4.7 and 5: the same without line ends.
    Glm47,
    /// MiniMax M2: `<invoke name="f">` in `<minimax:tool_call>`.
    MiniMaxM2,
    /// MiniMax M3: `]<]minimax[>[<invoke name="f">` with an element for each argument, at whatever depth. Arguments are those that a schema declares; a tool without a schema has none.
    MiniMaxM3,
    /// Harmony, of gpt-oss: `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>`.
    Harmony,
    /// Mistral since tokenizer v11: `[TOOL_CALLS]f[ARGS]{}`.
    Mistral,
    /// Mistral before that: `[TOOL_CALLS] [{"name": "f", "arguments": {}}]`.
    MistralList,
    /// Cohere Command R7B: `{"tool_call_id": "0", "tool_name": "f", "parameters": {}}` in a list behind `<|START_ACTION|>`.
    CommandR7b,
    /// Cohere's later Command models: `<cofl:tool_call id="0" name="f">` with an element for each argument, at whatever depth.
    Cohere,
    /// MiMo V2.6: `<function=f>` with `<parameter=k>` between `<tool_call>` and `</tool_call>`, without line ends.
    MiMo,
    /// EXAONE 4.0: JSON between `<tool_call>` and `</tool_call>`, without line ends.
    Exaone,
}

/// Each format with its names, our own first.
const NAMES: [(ModelFormat, &[&str]); 21] = [
    (ModelFormat::Llama, &["llama", "llama_3", "llama3", "llama3_json"]),
    (ModelFormat::Qwen3, &["qwen_3", "qwen3", "qwen", "qwen25", "qwen_2_5", "hermes"]),
    (ModelFormat::Qwen3Coder, &["qwen_3_coder", "qwen3_coder", "qwen3_xml", "qwen_3_5", "qwen3_5"]),
    (ModelFormat::DeepSeekR1, &["deepseek_r1", "deepseek_v3", "deepseekv3"]),
    (ModelFormat::DeepSeekV31, &["deepseek_v3_1", "deepseek_v31", "deepseekv31"]),
    (ModelFormat::DeepSeekV32, &["deepseek_v3_2", "deepseek_v32", "deepseekv32"]),
    (ModelFormat::DeepSeekV4, &["deepseek_v4", "deepseekv4"]),
    (ModelFormat::DeepSeekV41, &["deepseek_v4_1", "deepseek_v41", "deepseekv41"]),
    (ModelFormat::KimiK2, &["kimi_k2", "kimi"]),
    (ModelFormat::KimiK3, &["kimi_k3"]),
    (ModelFormat::Glm45, &["glm_4_5", "glm_4_6", "glm45"]),
    (ModelFormat::Glm47, &["glm_4_7", "glm_5", "glm47"]),
    (ModelFormat::MiniMaxM2, &["minimax_m2", "minimax"]),
    (ModelFormat::MiniMaxM3, &["minimax_m3"]),
    (ModelFormat::Harmony, &["harmony", "gpt_oss", "openai"]),
    (ModelFormat::Mistral, &["mistral"]),
    (ModelFormat::MistralList, &["mistral_list", "mistral_v3"]),
    (ModelFormat::CommandR7b, &["command_r7b", "command_a"]),
    (ModelFormat::Cohere, &["cohere", "cohere_command"]),
    (ModelFormat::MiMo, &["mimo", "mimo_v2_6"]),
    (ModelFormat::Exaone, &["exaone", "exaone_4", "exaone4"]),
];

/// What makes the format of an output.
enum Maker {
    Layout(&'static Layout),
    Function(fn(&Plan<'_>) -> String),
}

impl ModelFormat {
    /// Returns all formats.
    pub fn all() -> impl Iterator<Item = ModelFormat> {
        NAMES.iter().map(|&(format, _)| format)
    }

    /// Returns the name of the format, such as `qwen_3`.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Returns all names of the format, those that engines have for it included.
    pub fn names(self) -> &'static [&'static str] {
        NAMES.iter().find(|&&(format, _)| format == self).expect("every format has names").1
    }

    /// Returns the format with a name. Letter case doesn't count, and `-` and `.` are like `_`.
    ///
    /// ```
    /// use maskwright::structural_tag::models::ModelFormat;
    /// assert_eq!(ModelFormat::from_name("Kimi-K2")?, ModelFormat::KimiK2);
    /// let error = ModelFormat::from_name("kimi_2k").unwrap_err();
    /// assert_eq!(error.to_string(), "there is no format of tool calls named \"kimi_2k\" (did you mean \"kimi_k2\"?)");
    /// # Ok::<(), maskwright::structural_tag::models::ToolCallError>(())
    /// ```
    ///
    /// # Errors
    /// If no format has the name.
    pub fn from_name(name: &str) -> Result<ModelFormat, ToolCallError> {
        let plain = name.to_ascii_lowercase().replace(['-', '.'], "_");
        let found = NAMES.iter().find(|(_, names)| names.contains(&&*plain));
        found.map(|&(format, _)| format).ok_or_else(|| {
            let names = NAMES.iter().flat_map(|(_, names)| names.iter().copied());
            ToolCallError::unknown_model(name, closest_name(&plain, names))
        })
    }

    /// Returns a structural tag, as JSON text, for outputs of the model with these tools.
    ///
    /// The output begins behind the template's generation prompt and ends where a stop token may follow. Each name goes with the parameters of
    /// its own tool. Several calls stand where the template has them; Llama's and Harmony's have one at most.
    ///
    /// # Errors
    /// If a tool has a name that can't be written or that another tool has, or parameters that are no JSON or exceed a limit; if the choice
    /// names none of the tools or requires a call without any; or if the format has no reasoning and there should be some. Schemas are
    /// checked when the tag is compiled.
    pub fn structural_tag(
        self,
        tools: &[Tool],
        choice: &ToolChoice,
        options: &ToolCallOptions,
        limits: &Limits,
    ) -> Result<String, ToolCallError> {
        let plan = Plan::new(tools, choice, options, limits)?;
        let output = match self.maker() {
            Maker::Layout(layout) if layout.reasoning.is_none() && options.thinking != Thinking::Off => {
                return Err(ToolCallError::no_reasoning(self.name()));
            }
            Maker::Layout(layout) => layout.output(&plan),
            Maker::Function(output) => output(&plan),
        };
        Ok(document::structural_tag(&output))
    }

    fn maker(self) -> Maker {
        Maker::Layout(match self {
            ModelFormat::Llama => &llama::LLAMA,
            ModelFormat::Qwen3 => &qwen::QWEN_3,
            ModelFormat::Qwen3Coder => &qwen::QWEN_3_CODER,
            ModelFormat::DeepSeekR1 => &deepseek::R1,
            ModelFormat::DeepSeekV31 => &deepseek::V3_1,
            ModelFormat::DeepSeekV32 => &deepseek::V3_2,
            ModelFormat::DeepSeekV4 => &deepseek::V4,
            ModelFormat::DeepSeekV41 => &deepseek::V4_1,
            ModelFormat::KimiK2 => &kimi::K2,
            ModelFormat::KimiK3 => return Maker::Function(kimi::k3_output),
            ModelFormat::Glm45 => &glm::GLM_4_5,
            ModelFormat::Glm47 => &glm::GLM_4_7,
            ModelFormat::MiniMaxM2 => &minimax::M2,
            ModelFormat::MiniMaxM3 => &minimax::M3,
            ModelFormat::Harmony => return Maker::Function(harmony::output),
            ModelFormat::Mistral => &mistral::MISTRAL,
            ModelFormat::MistralList => &mistral::MISTRAL_LIST,
            ModelFormat::CommandR7b => &COMMAND_R7B,
            ModelFormat::Cohere => &COMMAND,
            ModelFormat::MiMo => &mimo::MIMO,
            ModelFormat::Exaone => &exaone::EXAONE_4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut names: Vec<&str> = Vec::new();
        for format in ModelFormat::all() {
            for name in format.names() {
                assert_eq!(ModelFormat::from_name(name), Ok(format));
                assert!(!names.contains(name), "{name}");
                names.push(name);
            }
        }
        assert!(ModelFormat::from_name("zzzzzzzz").unwrap_err().to_string().ends_with("named \"zzzzzzzz\""));
    }

    /// Text before a trigger excludes the trigger, which says where the call begins only if the trigger can't overlap itself.
    #[test]
    fn no_trigger_overlaps_itself_and_every_call_begins_with_one() {
        for format in ModelFormat::all() {
            let Maker::Layout(layout) = format.maker() else { continue };
            for trigger in layout.triggers {
                let ends = trigger.char_indices().skip(1).map(|(at, _)| &trigger[at..]);
                assert!(ends.into_iter().all(|end| !trigger.starts_with(end)), "{trigger}");
            }
            let (tools, options) = ([Tool::new("f")], ToolCallOptions::default());
            let plan = Plan::new(&tools, &ToolChoice::Required, &options, &Limits::default());
            let calls = layout.output(&plan.unwrap());
            let first = layout.triggers[0].replace('"', "\\\"");
            assert!(calls.contains(&format!("\"{first}")), "{format:?} {calls}");
        }
    }
}

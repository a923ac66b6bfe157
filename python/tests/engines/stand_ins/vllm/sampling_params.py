"""Parameters of requests."""

from dataclasses import dataclass, field

from vllm.exceptions import VLLMValidationError


@dataclass
class StructuredOutputsParams:
    json: str | dict | None = None
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: str | None = None
    structural_tag: str | None = None
    _backend: str | None = field(default=None, init=False)
    _backend_was_auto: bool = field(default=False, init=False)


@dataclass
class SamplingParams:
    structured_outputs: StructuredOutputsParams | None = None

    def _validate_structured_outputs(self, model_config, structured_outputs_config, tokenizer):
        from vllm.v1.structured_output.backend_xgrammar import validate_xgrammar_grammar

        self.structured_outputs._backend = structured_outputs_config.backend
        try:
            validate_xgrammar_grammar(self)
        except VLLMValidationError:
            if structured_outputs_config.backend != "auto":
                raise
            # The real one tries other backends.
            self.structured_outputs._backend = "guidance"

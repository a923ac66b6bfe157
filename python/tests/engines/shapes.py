"""The shapes of what adapters touch in an engine: names, parameters, abstract methods. Run by `compare_stand_ins.py` once with the stand-ins and once with the engine."""

import dataclasses
import enum
import importlib
import inspect
import json
import sys

#: What adapters touch, by engine: modules, and names within them.
TOUCHED = {
    "vllm": {
        "vllm.logger": ["init_logger"],
        "vllm.exceptions": ["VLLMValidationError"],
        "vllm.sampling_params": ["StructuredOutputsParams", "SamplingParams._validate_structured_outputs"],
        "vllm.v1.structured_output": ["XgrammarBackend"],
        "vllm.v1.structured_output.backend_xgrammar": ["XgrammarBackend", "validate_xgrammar_grammar"],
        "vllm.v1.structured_output.backend_types": [
            "StructuredOutputOptions",
            "StructuredOutputGrammar",
            "StructuredOutputBackend",
        ],
        "vllm.v1.structured_output.request": ["get_structured_output_key"],
    },
    "sglang": {
        "sglang.srt.constrained.base_grammar_backend": [
            "register_grammar_backend",
            "GrammarStats",
            "GrammarRow",
            "BaseGrammarObject",
            "BaseGrammarObject.accept_token",
            "BaseGrammarObject.rollback",
            "BaseGrammarObject.is_terminated",
            "BaseGrammarObject.allocate_vocab_mask",
            "BaseGrammarObject.fill_vocab_mask",
            "BaseGrammarObject.fill_vocab_mask_batched",
            "BaseGrammarObject.reset_vocab_mask",
            "BaseGrammarObject.move_vocab_mask",
            "BaseGrammarObject.apply_vocab_mask",
            "BaseGrammarObject.copy",
            "BaseGrammarObject.try_jump_forward",
            "BaseGrammarObject.jump_forward_str_state",
            "BaseGrammarObject.jump_and_retokenize",
            "InvalidGrammarObject.__init__",
            "BaseGrammarBackend.__init__",
            "BaseGrammarBackend.initialize_vocab_mask_buffer",
            "BaseGrammarBackend.reserve_framing_tokens",
            "BaseGrammarBackend.compile_framed_grammar",
            "BaseGrammarBackend.set_token_filter",
            "BaseGrammarBackend.dispatch_json",
            "BaseGrammarBackend.dispatch_regex",
            "BaseGrammarBackend.dispatch_ebnf",
            "BaseGrammarBackend.dispatch_structural_tag",
            "BaseGrammarBackend.reset",
        ],
        "sglang.srt.constrained.reasoner_grammar_backend": [
            "ReasonerGrammarBackend.__init__",
            "ReasonerGrammarBackend._make_grammar_object",
            "ReasonerGrammarObject._is_generation",
        ],
        "sglang.srt.arg_groups.choices": ["GRAMMAR_BACKEND_CHOICES"],
        "sglang.srt.plugins.hook_registry": ["HookType", "HookRegistry.register", "HookRegistry.apply_hooks"],
        "sglang.srt.speculative.spec_utils": ["traverse_tree"],
        "sglang.srt.parser.reasoning_parser": ["ReasoningParser.__init__"],
        "sglang.srt.runtime_context": ["get_serving"],
    },
}


def _parameters(function):
    return [name for name in inspect.signature(function).parameters]


def shape(value):
    """Return what of a value a stand-in must have, as JSON."""
    if isinstance(value, list):
        return {"items": value}
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return {"members": sorted(value.__members__)}
    if inspect.isclass(value) and issubclass(value, Exception):
        return {"is_value_error": issubclass(value, ValueError)}
    if inspect.isclass(value):
        abstract = {name: _parameters(getattr(value, name)) for name in sorted(getattr(value, "__abstractmethods__", ()))}
        is_data = dataclasses.is_dataclass(value)
        fields = [field.name for field in dataclasses.fields(value)] if is_data else []
        return {"abstract": abstract, "fields": fields}
    return {"parameters": _parameters(value)}


def main():
    shapes = {}
    for module_name, names in TOUCHED[sys.argv[1]].items():
        for name in names:
            value = importlib.import_module(module_name)
            for part in name.split("."):
                value = getattr(value, part, None)
            shapes[f"{module_name}:{name}"] = None if value is None else shape(value)
    print("SHAPES", json.dumps(shapes))


if __name__ == "__main__":
    main()

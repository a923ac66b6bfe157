"""Maskwright in Outlines: logits processors for ``Generator(model, processor=...)``.

::

    from maskwright.outlines import MaskwrightBackend

    model = outlines.from_transformers(...)
    backend = MaskwrightBackend(model)
    generator = outlines.Generator(model, processor=backend.get_json_schema_logits_processor(schema))
"""

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from maskwright._core import CompiledGrammar, Vocab
from maskwright._requests import RequestCompiler, white_space_options

__all__ = ["MaskwrightBackend", "logits_processor", "vocab_of"]


def _kind_of(model: Any) -> str:
    """Return the library that a model of Outlines runs on, by the class's name: no library is imported for it."""
    for base in type(model).__mro__:
        if base.__name__ in ("Transformers", "LlamaCpp", "MLXLM"):
            return base.__name__
    raise ValueError(f"models of type {type(model).__qualname__} can't be steered: one of transformers, llama-cpp-python or mlx-lm")


def vocab_of(model: Any) -> Vocab:
    """Return the vocabulary of a model of Outlines. Raises ``ValueError`` for models that run elsewhere."""
    kind = _kind_of(model)
    if kind == "Transformers":
        tokenizer = getattr(model, "hf_tokenizer", None) or model.tokenizer.tokenizer
        vocab: Vocab = importlib.import_module("maskwright.transformers").vocab_of(tokenizer, model.model)
    elif kind == "LlamaCpp":
        vocab = importlib.import_module("maskwright.llama_cpp").vocab_of(model.model)
    else:
        vocab = importlib.import_module("maskwright.mlx").vocab_of(model.mlx_tokenizer, model.model)
    return vocab


def logits_processor(model: Any, grammar: CompiledGrammar, *, stop_tokens: Sequence[int] | None = None) -> Any:
    """Return the logits processor of a grammar for a model of Outlines."""
    module = {"Transformers": "transformers", "LlamaCpp": "llama_cpp", "MLXLM": "mlx"}[_kind_of(model)]
    return importlib.import_module(f"maskwright.{module}").MaskwrightLogitsProcessor(grammar, stop_tokens=stop_tokens)


class MaskwrightBackend:
    """What a backend of Outlines is: makes logits processors of schemas, regular expressions and grammars.

    Schemas mean what the standard says: other properties than the declared ones are allowed unless the schema forbids them. Constraints that can't be enforced are an error. In regular
    expressions a dot matches no line end, and classes such as ``\\d`` are those of Unicode, as in Python.
    """

    def __init__(self, model: Any, *, vocab: Vocab | None = None) -> None:
        self._model = model
        options = {"additional_properties": True, "additional_items": True, "lenient": False}
        self._compiler = RequestCompiler(vocab or vocab_of(model), schema_options=options, is_regex_of_ascii=False)

    def get_json_schema_logits_processor(
        self, json_schema: str | Mapping[str, Any], whitespace_pattern: str | None = None
    ) -> Any:
        """Return the processor of a JSON Schema. White space is such that the pattern matches it everywhere; a pattern that doesn't match the empty text is a ``ValueError``."""
        text = json_schema if isinstance(json_schema, str) else json.dumps(json_schema)
        compiled = self._compiler.compile("json", text, **white_space_options(pattern=whitespace_pattern))
        return logits_processor(self._model, compiled)

    def get_regex_logits_processor(self, regex: str) -> Any:
        """Return the processor of a regular expression, which the whole output matches."""
        return logits_processor(self._model, self._compiler.compile("regex", regex))

    def get_cfg_logits_processor(self, grammar: str) -> Any:
        """Return the processor of a grammar in EBNF or Lark."""
        return logits_processor(self._model, self._compiler.compile("grammar", grammar))

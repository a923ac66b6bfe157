"""Maskwright in llama-cpp-python: a logits processor for ``Llama``.

::

    from llama_cpp import LogitsProcessorList
    from maskwright.llama_cpp import MaskwrightLogitsProcessor, vocab_of

    compiler = maskwright.GrammarCompiler(vocab_of(llama))
    grammar = compiler.compile_json_schema(schema)
    llama.create_completion(prompt, logits_processor=LogitsProcessorList([MaskwrightLogitsProcessor(grammar)]))
"""

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

from maskwright._bitmask import allocate_bitmask
from maskwright._core import CompiledGrammar, Vocab, apply_mask_cpu
from maskwright._sequences import Sequences, sequence_of

__all__ = ["MaskwrightLogitsProcessor", "vocab_of"]

# Attributes of tokens in llama.cpp.
_UNKNOWN, _UNUSED, _CONTROL, _USER_DEFINED = 1, 2, 8, 16


def vocab_of(llama: Any) -> Vocab:
    """Return the vocabulary of a ``llama_cpp.Llama``; all its tokens that end a generation are stop tokens.

    Raises ``VocabError`` if it can't be built.
    """
    api = importlib.import_module("llama_cpp")
    vocab = llama._model.vocab
    tokens: list[bytes | None] = []
    control: dict[int, str | None] = {}
    added_text: dict[int, str | None] = {}
    stops: list[int] = []
    for token in range(api.llama_vocab_n_tokens(vocab)):
        attributes = api.llama_vocab_get_attr(vocab, token)
        piece = _piece(api, vocab, token)
        ends = bool(api.llama_vocab_is_eog(vocab, token))
        if ends:
            stops.append(token)
        if ends or attributes & (_CONTROL | _UNKNOWN):
            control[token] = piece.decode("utf-8", "replace") or None
        elif attributes & _USER_DEFINED:
            added_text[token] = piece.decode("utf-8", "replace") or None
        tokens.append(None if attributes & _UNUSED and not ends else piece)
    return Vocab(tokens, control=control, added_text=added_text, stop_tokens=stops)


def _piece(api: Any, vocab: Any, token: int) -> bytes:
    """Return the bytes of a token, special ones by their names."""
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        n_bytes = int(api.llama_token_to_piece(vocab, token, buffer, size, 0, True))
        if n_bytes >= 0:
            return buffer.raw[:n_bytes]
        size = -n_bytes


class MaskwrightLogitsProcessor:
    """Gives tokens that a grammar doesn't allow the score negative infinity.

    The state belongs to the tokens of a sequence, so one object serves several generations, one after the other or in turns; call ``reset`` before a prompt that is the beginning of an earlier output. ``stop_tokens``
    replace those of the vocabulary.
    """

    def __init__(self, grammar: CompiledGrammar, *, stop_tokens: Sequence[int] | None = None) -> None:
        self._sequences = Sequences(grammar, stop_tokens=stop_tokens)
        self._bitmask = allocate_bitmask(1, self._sequences.n_tokens)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores of the shape of ``scores``, ``[width]`` of float32, for the sequence ``input_ids``, ``[length]`` of integers. The argument is not changed.

        Raises ``ValueError`` if the scores are narrower than the vocabulary.
        """
        scores = scores.copy()
        self._sequences.fill([sequence_of(input_ids.tolist())], self._bitmask)
        apply_mask_cpu(scores, self._bitmask[0], n_tokens=self._sequences.n_tokens)
        return scores

    def reset(self) -> None:
        """Forget all sequences: the next ones are prompts."""
        self._sequences.reset()

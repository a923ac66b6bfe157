"""Maskwright in mlx-lm: a logits processor for ``generate`` and its relatives.

::

    from maskwright.mlx import MaskwrightLogitsProcessor, vocab_of

    model, tokenizer = mlx_lm.load(...)
    compiler = maskwright.GrammarCompiler(vocab_of(tokenizer, model))
    grammar = compiler.compile_json_schema(schema)
    mlx_lm.generate(model, tokenizer, prompt, logits_processors=[MaskwrightLogitsProcessor(grammar)])
"""

import importlib
from collections.abc import Sequence
from typing import Any

from maskwright._bitmask import allocate_bitmask
from maskwright._core import CompiledGrammar, Vocab
from maskwright._sequences import Sequences, sequence_of

__all__ = ["MaskwrightLogitsProcessor", "vocab_of"]


def vocab_of(tokenizer: Any, model: Any) -> Vocab:
    """Return the vocabulary of a tokenizer of mlx-lm for a model: as wide as the model's logits, and with the tokenizer's end-of-text ids as stop tokens."""
    stops = getattr(tokenizer, "eos_token_ids", None)
    return Vocab.from_tokenizer(tokenizer, stop_tokens=sorted(stops) if stops else None, width=model.args.vocab_size)


class MaskwrightLogitsProcessor:
    """Gives tokens that a grammar doesn't allow the score negative infinity.

    Right for speculative generation and for batches of mlx-lm, where each sequence has its own processors. The state belongs to the tokens of a sequence; call ``reset`` before each generation with the same object,
    since mlx-lm passes only the last token of the prompt. ``stop_tokens`` replace those of the vocabulary.
    """

    def __init__(self, grammar: CompiledGrammar, *, stop_tokens: Sequence[int] | None = None) -> None:
        self._sequences = Sequences(grammar, stop_tokens=stop_tokens)
        self._bitmask = allocate_bitmask(1, self._sequences.n_tokens)

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Return scores of the shape of ``logits``, ``[1, width]`` or ``[width]``, for the sequence ``tokens``, ``[length]`` of integers.

        Raises ``ValueError`` if the logits are narrower than the vocabulary.
        """
        mx = importlib.import_module("mlx.core")
        n_tokens, width = self._sequences.n_tokens, logits.shape[-1]
        if width < n_tokens:
            raise ValueError(f"there are {width} logits for {n_tokens} tokens")
        self._sequences.fill([sequence_of(tokens.tolist())], self._bitmask)
        words = mx.array(self._bitmask[0])
        bits = mx.bitwise_and(mx.right_shift(words[:, None], mx.arange(32, dtype=mx.int32)), 1).reshape(-1)[:n_tokens]
        if width > n_tokens:
            bits = mx.concatenate([bits, mx.zeros(width - n_tokens, dtype=bits.dtype)])
        return mx.where(bits.astype(mx.bool_), logits, mx.array(float("-inf"), dtype=logits.dtype))

    def reset(self) -> None:
        """Forget all sequences: the next ones are prompts."""
        self._sequences.reset()

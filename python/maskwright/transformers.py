"""Maskwright in transformers: a logits processor for ``generate``.

::

    from maskwright.transformers import MaskwrightLogitsProcessor, vocab_of

    compiler = maskwright.GrammarCompiler(vocab_of(tokenizer, model))
    grammar = compiler.compile_json_schema(schema)
    model.generate(**inputs, logits_processor=[MaskwrightLogitsProcessor(grammar)])
"""

import importlib
from collections.abc import Sequence
from typing import Any

from maskwright._bitmask import allocate_bitmask, apply_mask
from maskwright._core import CompiledGrammar, Vocab
from maskwright._sequences import Sequences

__all__ = ["MaskwrightLogitsProcessor", "vocab_of"]


def vocab_of(tokenizer: Any, model: Any) -> Vocab:
    """Return the vocabulary of a tokenizer for a model: as wide as the model's logits, and with the model's end-of-text ids as stop tokens."""
    embeddings = model.get_output_embeddings()
    width = embeddings.weight.shape[0] if embeddings is not None else model.config.get_text_config().vocab_size
    stop = getattr(model.generation_config, "eos_token_id", None)
    stops = None if stop is None else [stop] if isinstance(stop, int) else list(stop)
    return Vocab.from_tokenizer(tokenizer, stop_tokens=stops, width=width)


class MaskwrightLogitsProcessor:
    """Gives tokens that a grammar doesn't allow the score negative infinity.

    ``grammars`` is one ``CompiledGrammar`` for all prompts, or a list with one for each prompt of the batch, where None leaves a prompt free. ``stop_tokens`` replace those of the vocabulary: what ends an output must
    be what ``generate`` ends at.

    Right for greedy search, sampling, beams, several returned sequences, assisted generation, prompt lookup, and padding on either side: the state belongs to the tokens of a sequence, not to its row. The grammar
    is about the tokens that are generated, which begin where a sequence continues no sequence that was seen before; call ``reset`` before a prompt that is the beginning of an earlier output.
    A sequence with a token that the grammar refuses, as another processor may force it, can only end.

    Not for continuous batching, which passes many requests as one row.
    """

    #: What transformers asks before it uses a processor for continuous batching.
    supports_continuous_batching = False

    def __init__(
        self, grammars: CompiledGrammar | Sequence[CompiledGrammar | None], *, stop_tokens: Sequence[int] | None = None
    ) -> None:
        self._sequences = Sequences(grammars, stop_tokens=stop_tokens)
        self._bitmask: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores of the shape of ``scores``, ``[n_rows, width]``, for the sequences ``input_ids``, ``[n_rows, length]`` of integers. The argument is not changed.

        Raises ``ValueError`` if the scores are narrower than the vocabulary, and if the rows can't be divided among the grammars.
        """
        torch = importlib.import_module("torch")
        n_rows = input_ids.shape[0]
        if self._bitmask is None or self._bitmask.shape[0] < n_rows:
            self._bitmask = allocate_bitmask(n_rows, self._sequences.n_tokens, library="torch")
        ids = input_ids.detach().to("cpu", torch.int64).contiguous().numpy()
        rows = self._sequences.fill([row.tobytes() for row in ids], self._bitmask)
        scores = scores.clone()
        if rows:
            apply_mask(scores, self._bitmask[:n_rows], rows=rows, n_tokens=self._sequences.n_tokens)
        return scores

    def reset(self) -> None:
        """Forget all sequences: the next ones are prompts."""
        self._sequences.reset()

    def __deepcopy__(self, memo: Any) -> "MaskwrightLogitsProcessor":
        return MaskwrightLogitsProcessor(self._sequences.grammars, stop_tokens=self._sequences.stop_tokens)

"""Matchers for generation loops that pass the tokens of whole sequences at each step, instead of telling which were accepted.

The state of a sequence is found by its tokens: a sequence that has one token more than a known one is a fork of its state that accepted the token. So beams may be reordered, drafts may be tried and taken back, and
rows may come in any order. A sequence that continues no known one is a prompt, where a new output begins.
"""

import logging
import struct
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from maskwright._core import CompiledGrammar, Matcher, fill_masks

#: The bytes of one token in a key: a native integer of 64 bits.
TOKEN_BYTES = 8

#: States that are kept for each row of a batch: more drafts in a row than any loop tries.
STATES_PER_ROW = 64


class _State:
    """A state: what may follow a sequence. `is_refused` if the grammar allows the sequence no more: its last token, or one before, was not allowed."""

    __slots__ = ("is_refused", "matcher")

    def __init__(self, matcher: Matcher, is_refused: bool = False) -> None:
        self.matcher = matcher
        self.is_refused = is_refused


class Sequences:
    """The states of the sequences of a batch.

    ``grammars`` has one for each prompt of the batch, or a single one for all; None leaves the sequences of a prompt free. A batch may have several rows for each prompt (beams, returned sequences), those of a prompt
    together. ``stop_tokens`` replace those of the vocabulary.
    """

    def __init__(
        self,
        grammars: CompiledGrammar | Sequence[CompiledGrammar | None],
        *,
        stop_tokens: Sequence[int] | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        self.grammars: tuple[CompiledGrammar | None, ...]
        self.grammars = (grammars,) if isinstance(grammars, CompiledGrammar) else tuple(grammars)
        if not self.grammars:
            raise ValueError("there is no grammar")
        self.stop_tokens = None if stop_tokens is None else list(stop_tokens)
        widths = {grammar.vocab.n_tokens for grammar in self.grammars if grammar is not None}
        if len(widths) > 1:
            raise ValueError(f"the grammars are for vocabularies of different sizes: {sorted(widths)}")
        #: The number of tokens of the vocabulary; 0 if no sequence is constrained.
        self.n_tokens = max(widths, default=0)
        self._logger = logger or logging.getLogger("maskwright")
        self._starts = [None if grammar is None else self._start(grammar) for grammar in self.grammars]
        self._states: OrderedDict[tuple[int, bytes], _State] = OrderedDict()
        self._prompts: dict[tuple[int, bytes], None] = {}

    def _start(self, grammar: CompiledGrammar) -> Matcher:
        return grammar.matcher(stop_tokens=self.stop_tokens, fail_closed=True)

    def reset(self) -> None:
        """Forget all sequences: the next ones are prompts."""
        self._states.clear()
        self._prompts.clear()

    def fill(self, sequences: Sequence[bytes], bitmask: Any) -> list[int]:
        """Fill a row of a bitmask for each sequence, given as 8 bytes for each token. Returns the rows that are constrained; the others are not written.

        ``bitmask`` has the shape ``[len(sequences), ceil(n_tokens / 32)]`` or more rows, of int32.
        """
        n_prompts = len(self.grammars)
        if len(sequences) % n_prompts:
            raise ValueError(f"{len(sequences)} sequences can't be divided among {n_prompts} grammars")
        per_prompt = len(sequences) // n_prompts
        states = [self._find(row // per_prompt, sequence) for row, sequence in enumerate(sequences)]
        while len(self._states) > STATES_PER_ROW * len(sequences):
            self._states.popitem(last=False)
        rows = [row for row, state in enumerate(states) if state is not None]
        open_rows = [row for row in rows if not states[row].is_refused]  # type: ignore[union-attr]
        by_position = fill_masks([states[row].matcher for row in open_rows], bitmask, open_rows)  # type: ignore[union-attr]
        errors = {open_rows[position] for position in by_position}
        for row in rows:
            state = states[row]
            assert state is not None
            if state.is_refused or row in errors:
                close_row(bitmask, row, state.matcher.stop_tokens)
            elif (error := state.matcher.error) is not None:
                self._logger.error("an output ends, because its mask can't be found: %s", error)
        return rows

    def is_finished(self, sequence: bytes, prompt: int = 0) -> bool:
        """Return whether an output has ended, or was refused, so that only stop tokens may follow."""
        state = self._states.get((prompt, sequence))
        return state is not None and (state.is_refused or state.matcher.is_terminated)

    def _find(self, prompt: int, sequence: bytes) -> _State | None:
        start = self._starts[prompt]
        if start is None:
            return None
        key = (prompt, sequence)
        state = self._states.get(key)
        if state is not None:
            self._states.move_to_end(key)
            return state
        parent = self._states.get((prompt, sequence[:-TOKEN_BYTES])) if sequence else None
        if parent is not None:
            state = _advance(parent, _last_token(sequence))
        else:
            state = self._catch_up(prompt, sequence, start)
        self._states[key] = state
        return state

    def _catch_up(self, prompt: int, sequence: bytes, start: Matcher) -> _State:
        """Return the state of a sequence whose last step was not seen: one that goes on from a known prompt as the grammar allows, otherwise a prompt itself."""
        for known_prompt, known in self._prompts:
            if known_prompt == prompt and len(known) < len(sequence) and sequence.startswith(known):
                matcher = start.fork()
                tokens = _tokens(sequence[len(known) :])
                if matcher.validate_tokens(tokens) == len(tokens):
                    matcher.accept_tokens(tokens)
                    return _State(matcher)
        # Prompts of earlier outputs are only of use to sequences that were not seen for a while.
        while len(self._prompts) >= STATES_PER_ROW * len(self.grammars):
            del self._prompts[next(iter(self._prompts))]
        self._prompts[prompt, sequence] = None
        return _State(start)


def _advance(parent: _State, token: int) -> _State:
    if parent.is_refused or parent.matcher.is_terminated:
        # Behind the end, loops append padding.
        return parent
    matcher = parent.matcher.fork()
    return _State(matcher) if matcher.try_accept_token(token) else _State(parent.matcher, is_refused=True)


def _tokens(sequence: bytes) -> list[int]:
    return list(struct.unpack(f"{len(sequence) // TOKEN_BYTES}q", sequence))


def _last_token(sequence: bytes) -> int:
    return _tokens(sequence[-TOKEN_BYTES:])[0]


def sequence_of(tokens: Iterable[int]) -> bytes:
    """Return a sequence as bytes."""
    tokens = list(tokens)
    return struct.pack(f"{len(tokens)}q", *tokens)


def close_row(bitmask: Any, row: int, stop_tokens: Iterable[int]) -> None:
    """Write a row of an array or tensor of int32 that allows stop tokens only, as far as it has columns for them."""
    bitmask[row, :] = 0
    for token in stop_tokens:
        if token // 32 >= bitmask.shape[1]:
            continue
        bitmask[row, token // 32] |= 1 << token % 32 if token % 32 < 31 else -(1 << 31)

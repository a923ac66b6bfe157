"""Matchers and bitmasks."""

import logging
import time

import maskwright

from .compiler import CompiledGrammar

logger = logging.getLogger(__name__)


def __getattr__(name):
    # torch is imported by the first call that needs it.
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_bitmask_shape(batch_size, vocab_size):
    """Return the shape of a bitmask: a row for each sequence, ``ceil(vocab_size / 32)`` columns."""
    return (batch_size, maskwright.n_mask_words(vocab_size))


def allocate_token_bitmask(batch_size, vocab_size):
    """Return a bitmask on the CPU in which every token is allowed."""
    return maskwright.allocate_bitmask(batch_size, vocab_size, library="torch")


def reset_token_bitmask(bitmask):
    """Allow every token."""
    bitmask.fill_(-1)


def apply_token_bitmask_inplace(logits, bitmask, *, vocab_size=None, indices=None, backend="auto"):
    """Make the logits of tokens that aren't allowed negative infinity. Columns from ``vocab_size`` on are left as they are."""
    if str(bitmask.dtype) not in ("torch.int32", "torch.uint32"):
        raise ValueError(f"a bitmask is of int32, not {bitmask.dtype}")
    if logits.device != bitmask.device:
        raise ValueError(f"the logits are on {logits.device}, the bitmask is on {bitmask.device}")
    if backend not in ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"):
        raise ValueError(f"there is no backend {backend!r}")
    n_covered = min(logits.shape[-1], bitmask.shape[-1] * 32)
    if vocab_size is None:
        vocab_size = n_covered
        if n_covered < logits.shape[-1]:
            logger.warning("the bitmask covers %d of %d logits: the others stay", n_covered, logits.shape[-1])
    elif vocab_size > n_covered:
        raise ValueError(f"vocab_size is {vocab_size}, and there are {n_covered} logits with a bit")
    if vocab_size == 0:
        return
    rows = indices.tolist() if hasattr(indices, "tolist") else indices
    n_words = maskwright.n_mask_words(vocab_size)
    logits, bitmask = logits[..., :vocab_size], bitmask[..., :n_words]
    if rows is None and logits.dim() == 2 and logits.shape[0] != bitmask.shape[0]:
        raise ValueError(f"there are {logits.shape[0]} rows of logits and {bitmask.shape[0]} of the bitmask")
    maskwright.apply_mask(logits, bitmask, rows=rows, n_tokens=vocab_size)


class GrammarMatcher:
    """The state of one output."""

    def __init__(
        self,
        compiled_grammar,
        *,
        override_stop_tokens=None,
        terminate_without_stop_token=False,
        max_rollback_tokens=-1,
        default_temperature=None,
    ):
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise ValueError("The grammar should be compiled before passing it to GrammarMatcher.")
        if isinstance(override_stop_tokens, int):
            override_stop_tokens = [override_stop_tokens]
        if override_stop_tokens is not None and not override_stop_tokens:
            raise RuntimeError("The override_stop_tokens should not be empty")
        self._info = compiled_grammar.tokenizer_info
        self._ends_when_complete = terminate_without_stop_token
        self._default_temperature = default_temperature
        try:
            # A mask that can't be found is that of the stop tokens: nothing fails between the steps of a batch.
            self._native = compiled_grammar._native.matcher(stop_tokens=override_stop_tokens, fail_closed=True)
        except (OverflowError, ValueError) as error:
            raise RuntimeError(str(error)) from error
        self._stop_token_ids = list(override_stop_tokens or self._info.stop_token_ids)
        self._n_words = maskwright.n_mask_words(self._info.vocab_size)

    def accept_token(self, token_id, *, debug_print=False):
        """Accept one token; return whether it could be."""
        return not self._native.is_terminated and self._native.try_accept_token(token_id)

    def accept_string(self, input_str, *, debug_print=False):
        """Accept text or bytes as one step; return whether they could be."""
        if self._native.is_terminated:
            return False
        try:
            self._native.accept_bytes(input_str)
        except maskwright.MatchError:
            return False
        return True

    def fill_next_token_bitmask(self, bitmask, index=0, *, debug_print=False):
        """Fill a row of a bitmask; return whether it has to be applied."""
        if self._native.is_terminated:
            raise RuntimeError("the matcher has terminated: there is no next token")
        if bitmask.shape[-1] != self._n_words:
            raise RuntimeError(f"the bitmask has {bitmask.shape[-1]} words a row, and needs {self._n_words}")
        try:
            return self._native.fill_mask(bitmask, index)
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from error

    def find_jump_forward_string(self):
        """Return the text that every completion begins with."""
        if self._native.is_terminated:
            raise RuntimeError("the matcher has terminated: nothing is forced")
        return self._native.jump_forward_text()

    def get_captures(self, *, deduplicate=True):
        """Return the captures: pairs of a name and the bytes, in the order of their ends.

        They are those of one reading of the text, in which each occurrence of a rule ends once; ``deduplicate`` has no effect.
        """
        return [(name, text) for name, _start, _end, text in self._native.captures()]

    def traverse_draft_tree(
        self,
        retrieve_next_token,
        retrieve_next_sibling,
        draft_tokens,
        token_bitmask,
        time_threshold=-1.0,
        temperatures=None,
    ):
        """Fill the rows of a tree of drafts, given by first children and next siblings. Node 0 is the text so far. Rows behind drafts that are refused stay as they are.

        Return False if the time (seconds) was over before, and nothing is written then.
        """
        begin = time.monotonic()
        children, siblings = retrieve_next_token.tolist(), retrieve_next_sibling.tolist()
        tokens = draft_tokens.tolist()
        if not len(children) == len(siblings) == len(tokens) or len(tokens) > token_bitmask.shape[0]:
            raise RuntimeError("the nodes of a tree have a child, a sibling, a token and a row each")
        # Depth first, so that parents come before their children.
        order, parents, pending, seen = [], [], [(0, -1)] if tokens else [], set()
        while pending:
            node, parent = pending.pop()
            if node in seen or not 0 <= node < len(tokens):
                raise RuntimeError(f"node {node} is not part of a tree")
            seen.add(node)
            if siblings[node] >= 0 and parent >= 0:
                pending.append((siblings[node], parent))
            order.append(node)
            parents.append(parent)
            if children[node] >= 0:
                pending.append((children[node], len(order) - 1))
        import torch

        rows = torch.empty((len(order), self._n_words), dtype=torch.int32)
        try:
            acceptable = self._native.fill_masks_for_tree(parents, [tokens[node] for node in order], rows)
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from error
        if 0 < time_threshold < time.monotonic() - begin:
            return False
        kept = [index for index, is_acceptable in enumerate(acceptable) if is_acceptable]
        token_bitmask[[order[index] for index in kept], : self._n_words] = rows[kept].view(token_bitmask.dtype)
        if temperatures is not None:
            temperatures.fill_(-1)
            if self._default_temperature is not None:
                temperatures[[order[index] for index in kept]] = self._default_temperature
        return True

    def rollback(self, num_tokens=1):
        """Take back steps."""
        try:
            self._native.rollback(num_tokens)
        except (OverflowError, ValueError) as error:
            raise RuntimeError(str(error)) from error

    def is_terminated(self):
        """Tell whether the output has ended: by a stop token, or, if that was asked for, since the text is complete."""
        return self._native.is_terminated or (self._ends_when_complete and self._native.is_accepting)

    def is_completed(self):
        """Tell whether the text is complete."""
        return self._native.is_accepting

    def reset(self):
        """Go back to before the first token."""
        self._native.reset()

    def fork(self):
        """Return an independent matcher in the same state."""
        fork = object.__new__(GrammarMatcher)
        fork.__dict__.update(self.__dict__)
        fork._native = self._native.fork()
        return fork

    @property
    def max_rollback_tokens(self):
        """How many steps can be taken back: -1, any number."""
        return -1

    @property
    def stop_token_ids(self):
        """The stop tokens in force."""
        return list(self._stop_token_ids)

    @property
    def temperature(self):
        """The temperature of the matcher; rules have none."""
        return self._default_temperature

    def _debug_print_internal_state(self):
        return f"{self._native!r}: {self._native.explain()['message']}"


class BatchGrammarMatcher:
    """Many matchers at once. ``max_threads`` has no effect: the pool of Maskwright has a thread for each core."""

    def __init__(self, max_threads="auto"):
        self._max_threads = max_threads

    def batch_fill_next_token_bitmask(self, matchers, bitmask, indices=None, debug_print=False):
        """Fill a row for each matcher."""
        if any(matcher._native.is_terminated for matcher in matchers):
            raise RuntimeError("a matcher has terminated: there is no next token")
        if matchers and bitmask.shape[-1] != matchers[0]._n_words:
            raise RuntimeError(f"the bitmask has {bitmask.shape[-1]} words a row, and needs {matchers[0]._n_words}")
        try:
            maskwright.fill_masks([matcher._native for matcher in matchers], bitmask, indices)
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from error

    @staticmethod
    def batch_accept_token(matchers, tokens, debug_print=False):
        """Accept one token for each matcher; return for each whether it could be."""
        if len(matchers) != len(tokens):
            raise RuntimeError(f"there are {len(tokens)} tokens for {len(matchers)} matchers")
        return [matcher.accept_token(token) for matcher, token in zip(matchers, tokens, strict=True)]

    @staticmethod
    def batch_accept_string(matchers, strings, debug_print=False):
        """Accept one text for each matcher; return for each whether it could be."""
        if len(matchers) != len(strings):
            raise RuntimeError(f"there are {len(strings)} texts for {len(matchers)} matchers")
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings, strict=True)]

    @staticmethod
    def batch_rollback(matchers, num_tokens=1):
        """Take back steps of each matcher."""
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        if len(matchers) != len(counts):
            raise RuntimeError(f"there are {len(counts)} numbers for {len(matchers)} matchers")
        for matcher, count in zip(matchers, counts, strict=True):
            matcher.rollback(count)

    @staticmethod
    def batch_fill_temperature(matchers, temperatures, indices=None):
        """Write the temperature of each matcher; -1 where it has none."""
        for row, matcher in zip(indices or range(len(matchers)), matchers, strict=False):
            temperatures[row] = -1.0 if matcher.temperature is None else matcher.temperature

"""Matchers and bitmasks."""

import operator
import time
import warnings

import maskwright

from .compiler import CompiledGrammar


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
    if logits.device != bitmask.device:
        raise ValueError(f"the logits are on {logits.device}, the bitmask is on {bitmask.device}")
    if str(bitmask.dtype) not in ("torch.int32", "torch.uint32"):
        raise ValueError(f"a bitmask is of int32, not {bitmask.dtype}")
    if logits.dim() not in (1, 2) or bitmask.dim() not in (1, 2):
        raise ValueError(f"logits and bitmasks have one or two dimensions, not {logits.dim()} and {bitmask.dim()}")
    logits, bitmask = (rows.unsqueeze(0) if rows.dim() == 1 else rows for rows in (logits, bitmask))
    n_covered = min(logits.shape[1], bitmask.shape[1] * 32)
    if vocab_size is None:
        vocab_size = n_covered
        if n_covered < logits.shape[1]:
            message = f"the bitmask covers {n_covered} of {logits.shape[1]} logits: the others stay"
            warnings.warn(message, stacklevel=2)
    if backend not in ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"):
        raise ValueError(f"there is no backend {backend!r}")
    if not 0 <= vocab_size <= n_covered:
        raise RuntimeError(f"vocab_size is {vocab_size}, and there are {n_covered} logits with a bit")
    rows = indices.tolist() if hasattr(indices, "tolist") else indices
    if rows is None and logits.shape[0] != bitmask.shape[0]:
        raise RuntimeError(f"there are {logits.shape[0]} rows of logits and {bitmask.shape[0]} of the bitmask")
    if vocab_size == 0:
        return
    n_words = maskwright.n_mask_words(vocab_size)
    try:
        maskwright.apply_mask(logits[:, :vocab_size], bitmask[:, :n_words], rows=rows, n_tokens=vocab_size)
    except TypeError as error:
        raise ValueError(str(error)) from error
    except (IndexError, ValueError) as error:
        raise RuntimeError(str(error)) from error


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
        if max_rollback_tokens != -1:
            message = "max_rollback_tokens is deprecated: any number of tokens can be taken back"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
        if isinstance(override_stop_tokens, int):
            override_stop_tokens = [override_stop_tokens]
        if override_stop_tokens is not None and not override_stop_tokens:
            raise RuntimeError("The override_stop_tokens should not be empty")
        self._info = compiled_grammar.tokenizer_info
        self._ends_when_complete = terminate_without_stop_token
        self._default_temperature = None if default_temperature is None else float(default_temperature)
        try:
            # A mask that can't be found is that of the stop tokens: nothing fails between the steps of a batch.
            self._native = compiled_grammar._native.matcher(stop_tokens=override_stop_tokens, fail_closed=True)
        except ValueError as error:
            raise RuntimeError(str(error)) from error
        self._stop_token_ids = [int(token) for token in override_stop_tokens or self._info.stop_token_ids]
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
        row = operator.index(index)
        _check_words(bitmask, self._n_words)
        if self._native.is_terminated:
            raise RuntimeError("the matcher has terminated: there is no next token")
        try:
            return self._native.fill_mask(bitmask, row)
        except (IndexError, TypeError, ValueError) as error:
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
        """Fill the rows of a tree of drafts, given by first children and next siblings. Node 0 is the text so far. The row of a draft that is refused, or that ends the output, is zeros; rows behind it stay as they
        are.

        Return False if the time (seconds) was over before, and nothing is written then.
        """
        import torch

        begin = time.monotonic()
        n_nodes = len(draft_tokens)
        for nodes, dtype in [
            (retrieve_next_token, torch.int64),
            (retrieve_next_sibling, torch.int64),
            (draft_tokens, torch.int64),
            (temperatures, torch.float32),
        ]:
            if nodes is not None and (nodes.dtype != dtype or tuple(nodes.shape) != (n_nodes,) or not nodes.is_cpu):
                raise RuntimeError(f"the nodes of a tree are {n_nodes} numbers of {dtype} on the CPU, not {nodes.dtype}, {tuple(nodes.shape)}")
        if n_nodes == 0 or tuple(token_bitmask.shape) != (n_nodes, self._n_words) or token_bitmask.dtype != torch.int32:
            raise RuntimeError(f"the bitmask of a tree has a row of {self._n_words} words of int32 for each node, and a tree has nodes")
        order, parents = _in_preorder(retrieve_next_token.tolist(), retrieve_next_sibling.tolist())
        drafts = [int(token) for token in draft_tokens[order]]
        rows = torch.empty((n_nodes, self._n_words), dtype=torch.int32)
        try:
            accepted = self._native.fill_masks_for_tree(parents, drafts, rows[: len(order)])
        except (TypeError, ValueError) as error:
            raise RuntimeError(str(error)) from error
        if 0 < time_threshold < time.monotonic() - begin:
            return False
        if temperatures is not None:
            temperatures.fill_(-1)
        #: By node: whether it was accepted and the output goes on.
        goes_on = []
        for index, (node, parent) in enumerate(zip(order, parents, strict=True)):
            if index > 0 and not goes_on[parent]:
                goes_on.append(False)
                continue
            goes_on.append(accepted[index] and not self._ends_at(index, parents, drafts))
            token_bitmask[node] = rows[index] if goes_on[index] else 0
            if goes_on[index] and temperatures is not None and self._default_temperature is not None:
                temperatures[node] = self._default_temperature
        return True

    def _ends_at(self, index, parents, drafts):
        """Tell whether the output has ended after an accepted draft."""
        if index == 0:
            return self._native.is_terminated
        if drafts[index] not in self._stop_token_ids:
            return False
        path = []
        while index > 0:
            path.append(drafts[index])
            index = parents[index]
        fork = self._native.fork()
        fork.accept_tokens(path[::-1])
        return fork.is_terminated

    def rollback(self, num_tokens=1):
        """Take back steps."""
        try:
            self._native.rollback(num_tokens)
        except ValueError as error:
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


def _check_words(bitmask, n_words):
    """Raise if an array has no rows of so many words."""
    if not hasattr(bitmask, "shape"):
        raise TypeError(f"a bitmask is an array or a tensor, not {type(bitmask).__name__}")
    if not bitmask.shape or bitmask.shape[-1] != n_words:
        raise RuntimeError(f"the bitmask has the shape {tuple(bitmask.shape)}, and needs rows of {n_words} words")


def _in_preorder(children, siblings):
    """Return the nodes of a tree that can be reached, parents before children, and the positions of their parents in this order."""
    order, parents, pending, seen = [], [], [(0, -1)], set()
    while pending:
        node, parent = pending.pop()
        if node in seen or not 0 <= node < len(children):
            raise RuntimeError(f"node {node} is not part of a tree")
        seen.add(node)
        if siblings[node] >= 0 and parent >= 0:
            pending.append((siblings[node], parent))
        order.append(node)
        parents.append(parent)
        if children[node] >= 0:
            pending.append((children[node], len(order) - 1))
    return order, parents


class BatchGrammarMatcher:
    """Many matchers at once. ``max_threads`` has no effect: the pool of Maskwright has a thread for each core."""

    def __init__(self, max_threads="auto"):
        if max_threads != "auto" and (not isinstance(max_threads, int) or max_threads < 1):
            raise RuntimeError(f'max_threads is "auto" or at least 1, not {max_threads!r}')

    def batch_fill_next_token_bitmask(self, matchers, bitmask, indices=None, debug_print=False):
        """Fill a row for each matcher."""
        if any(matcher._native.is_terminated for matcher in matchers):
            raise RuntimeError("a matcher has terminated: there is no next token")
        for matcher in matchers:
            _check_words(bitmask, matcher._n_words)
        try:
            maskwright.fill_masks([matcher._native for matcher in matchers], bitmask, indices)
        except (IndexError, TypeError, ValueError) as error:
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
        rows = list(range(len(matchers)) if indices is None else indices)
        if len(rows) != len(matchers):
            raise RuntimeError(f"there are {len(rows)} rows for {len(matchers)} matchers")
        if str(temperatures.dtype) != "torch.float32" or temperatures.dim() != 1 or not temperatures.is_cpu:
            raise RuntimeError(f"temperatures are of one dimension and float32 on the CPU, not {temperatures.dtype}")
        if not all(0 <= row < len(temperatures) for row in rows):
            raise RuntimeError(f"rows {rows} are not all below {len(temperatures)}")
        for row, matcher in zip(rows, matchers, strict=True):
            temperatures[row] = -1.0 if matcher.temperature is None else matcher.temperature

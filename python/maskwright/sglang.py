"""Maskwright in SGLang: the grammar backend ``maskwright``, switched on by ``--grammar-backend maskwright``.

``register`` is an entry point of ``sglang.srt.plugins``: SGLang calls it in every process of its own, and all it does is to make the name known. A server that asks for the backend where it can't be had doesn't
start: SGLang refuses a name that it doesn't know.

A request that can't be compiled is answered with its error. Drafts are looked at natively: a whole tree in one call.
"""

import dataclasses
import functools
import importlib
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from maskwright._bitmask import allocate_bitmask, apply_mask
from maskwright._core import Bitmask, CompiledGrammar, Matcher, Vocab, fill_masks
from maskwright._requests import BitmaskCache, RequestCompiler, is_lark, white_space_options
from maskwright._sequences import close_row

NAME = "maskwright"

logger = logging.getLogger("sglang.srt.constrained.maskwright")

_BASE = "sglang.srt.constrained.base_grammar_backend"
_REASONER = "sglang.srt.constrained.reasoner_grammar_backend"
_SPEC_UTILS = "sglang.srt.speculative.spec_utils"

#: What SGLang passes in place of a schema for any JSON value.
_ANY_JSON = "$$ANY$$"


def register() -> None:
    """Make the backend known to this process of SGLang."""
    base: Any = importlib.import_module(_BASE)
    choices = importlib.import_module("sglang.srt.arg_groups.choices")
    base.register_grammar_backend(NAME, create_backend)
    if NAME not in choices.GRAMMAR_BACKEND_CHOICES:
        choices.add_grammar_backend_choices([NAME])


def create_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: set[int] | None) -> Any:
    """Return the backend that SGLang asks for, with its wrapper for reasoning where a parser for it is set.

    Raises ``ValueError`` if the tokenizer can't be read or the options of white space can't be honoured: the server doesn't start.
    """
    serving = importlib.import_module("sglang.srt.runtime_context").get_serving()
    n_spaces = getattr(serving, "constrained_json_max_whitespace_cnt", None)
    options = white_space_options(
        pattern=getattr(serving, "constrained_json_whitespace_pattern", None),
        is_compact=bool(getattr(serving, "constrained_json_disable_any_whitespace", False)),
    )
    if n_spaces is not None and not options:
        options = {"white_space_max": n_spaces}
    stop_tokens = sorted(token for token in eos_token_ids or () if 0 <= token < vocab_size) or None
    vocab = Vocab.from_tokenizer(tokenizer, stop_tokens=stop_tokens, width=vocab_size)
    backend = backend_class()(vocab, options)
    _walk_trees_natively()
    logger.info("Maskwright serves constrained decoding: %s", vocab)
    if not serving.reasoning_parser:
        return backend
    parser = importlib.import_module("sglang.srt.parser.reasoning_parser").ReasoningParser(
        model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer
    )
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    return importlib.import_module(_REASONER).ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )


@functools.cache
def grammar_class() -> Any:
    """Return the class of grammar objects: a ``BaseGrammarObject`` of this SGLang."""
    base: Any = importlib.import_module(_BASE)

    class MaskwrightGrammar(base.BaseGrammarObject):  # type: ignore[misc, name-defined, unused-ignore]
        """The state of one output."""

        _is_maskwright = True

        def __init__(self, compiled: CompiledGrammar, rows: BitmaskCache, content: Any, stats: Any) -> None:
            super().__init__()
            self.compiled = compiled
            self.matcher: Matcher = compiled.matcher(fail_closed=True)
            #: The grammar as a format of a structural tag, to be embedded in another one.
            self.content = content
            self.grammar_stats = stats
            self._rows = rows
            #: Tokens that came after the end, and are no steps of the matcher.
            self._n_ignored = 0
            self._is_reported = False

        def accept_token(self, token: int) -> None:
            """Accept a token; ignore it if the output has ended. Raises ``ValueError``, which SGLang expects, if it is not allowed."""
            if self.matcher.is_terminated:
                self._n_ignored += 1
                return
            self.current_token = token
            self.matcher.accept_token(token)

        def rollback(self, k: int) -> None:
            """Take back the last ``k`` tokens."""
            n_ignored = max(0, min(k, self._n_ignored))
            self._n_ignored -= n_ignored
            try:
                self.matcher.rollback(k - n_ignored)
            except ValueError as error:
                logger.error("Maskwright can't take back %s tokens: %s", k, error)

        def is_terminated(self) -> bool:
            """Return whether the output has ended."""
            return self.matcher.is_terminated

        def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
            return allocate_mask(vocab_size, batch_size, device)

        def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
            """Write the row of what may follow; of the stop tokens if that can't be found."""
            try:
                self.matcher.fill_mask(self._rows.of(vocab_mask), idx)
            except Exception as error:
                self.report(error)
                close_row(vocab_mask, idx, self.matcher.stop_tokens)
                return
            self.report(self.matcher.error)

        def report(self, error: Exception | None) -> None:
            """Log why the output ends, once."""
            if error is not None and not self._is_reported:
                self._is_reported = True
                logger.error("Maskwright ends an output, because its mask can't be found: %s", error)

        @staticmethod
        def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: Any) -> None:
            """Write the rows of a batch, on several threads where that is faster. Other rows are left as they are."""
            ours = []
            for entry in entries:
                if getattr(entry.grammar, "_is_maskwright", False):
                    ours.append(entry)
                else:
                    entry.grammar.fill_vocab_mask(vocab_mask, entry.row)
            if not ours:
                return
            try:
                errors = fill_masks([entry.grammar.matcher for entry in ours], Bitmask(vocab_mask), [entry.row for entry in ours])
            except Exception:
                # Something is wrong with one of the rows: each by itself.
                for entry in ours:
                    entry.grammar.fill_vocab_mask(vocab_mask, entry.row)
                return
            for position, entry in enumerate(ours):
                if (error := errors.get(position)) is not None:
                    close_row(vocab_mask, entry.row, entry.grammar.matcher.stop_tokens)
                entry.grammar.report(error or entry.grammar.matcher.error)

        @staticmethod
        def reset_vocab_mask(vocab_mask: Any) -> None:
            vocab_mask.fill_(-1)

        @staticmethod
        def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
            return vocab_mask.to(device, non_blocking=True)

        @staticmethod
        def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
            apply_mask(logits, vocab_mask)

        def copy(self) -> Any:
            """Return the grammar at its beginning: SGLang keeps one and copies it for each request."""
            stats = self.grammar_stats
            if stats is not None:
                stats = dataclasses.replace(stats, is_cache_hit=True, tree_traversal_time=[])
            return MaskwrightGrammar(self.compiled, self._rows, self.content, stats)

        def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
            """Return the text that must follow, if any."""
            text = self.matcher.jump_forward_text()
            return ([], text) if text else None

        def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
            return helper[1], -1

        def jump_and_retokenize(self, old_output_ids: Sequence[int], new_output_ids: Sequence[int], next_state: int) -> None:
            """Go from the tokens of an output to other tokens. Raises ``ValueError`` if they are not allowed, and is then as before."""
            n_common = 0
            for old, new in zip(old_output_ids, new_output_ids, strict=False):
                if old != new:
                    break
                n_common += 1
            matcher = self.matcher.fork()
            matcher.rollback(len(old_output_ids) - n_common)
            matcher.accept_tokens(new_output_ids[n_common:])
            self.matcher = matcher

        def __repr__(self) -> str:
            return f"MaskwrightGrammar({self.matcher!r}, {self.current_token=})"

    return MaskwrightGrammar


@functools.cache
def backend_class() -> Any:
    """Return the class of backends: a ``BaseGrammarBackend`` of this SGLang."""
    base: Any = importlib.import_module(_BASE)
    grammar = grammar_class()

    class MaskwrightGrammarBackend(base.BaseGrammarBackend):  # type: ignore[misc, name-defined, unused-ignore]
        """Compiles the requests of a server."""

        def __init__(self, vocab: Vocab, schema_options: dict[str, Any] | None = None) -> None:
            super().__init__()
            self.schema_options = schema_options or {}
            self.rows = BitmaskCache()
            self.compiler = self._new_compiler(vocab)
            self._framing_compiler = self.compiler

        def _new_compiler(self, vocab: Vocab) -> RequestCompiler:
            return RequestCompiler(vocab, logger=logger, schema_options=self.schema_options)

        def _dispatch(self, kind: str, dispatch_type: str, spec: str, content: Any) -> Any:
            try:
                compiled = self.compiler.compile(kind, spec)
            except ValueError as error:
                logger.error("Invalid %s: %s", dispatch_type, error)
                return base.InvalidGrammarObject(str(error))
            return grammar(compiled, self.rows, content, base.GrammarStats(dispatch_type=dispatch_type))

        def dispatch_json(self, key_string: str) -> Any:
            spec = "{}" if key_string == _ANY_JSON else key_string
            return self._dispatch("json", "json", spec, lambda: {"type": "json_schema", "json_schema": json.loads(spec)})

        def dispatch_regex(self, key_string: str) -> Any:
            return self._dispatch("regex", "regex", key_string, lambda: {"type": "regex", "pattern": key_string})

        def dispatch_ebnf(self, key_string: str) -> Any:
            """Compile EBNF, or Lark if no line has ``::=``."""
            if is_lark(key_string):
                content = None
            else:
                content = lambda: {"type": "grammar", "grammar": key_string}  # noqa: E731
            return self._dispatch("grammar", "ebnf", key_string, content)

        def dispatch_structural_tag(self, key_string: str) -> Any:
            try:
                tag = with_schemas(json.loads(key_string))
            except (ValueError, RecursionError) as error:
                return base.InvalidGrammarObject(f"Invalid structural_tag: {error}")
            is_framable = isinstance(tag, dict) and "format" in tag
            content = (lambda: tag["format"]) if is_framable else None
            return self._dispatch("structural_tag", "structural_tag", json.dumps(tag), content)

        def reserve_framing_tokens(self, token_ids: Sequence[int]) -> None:
            """Make some tokens control tokens in framed grammars, whatever the tokenizer says: then no text matches them."""
            self._framing_compiler = self._new_compiler(with_control_tokens(self.compiler.vocab, token_ids))

        def compile_framed_grammar(self, grammar_object: Any, frame: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
            """Compile a structural tag that has a grammar in it. None for what has no form as a part of a tag."""
            if getattr(grammar_object, "content", None) is None:
                return None
            tag = frame(grammar_object.content())
            compiled = self._framing_compiler.compile("structural_tag", json.dumps(tag))
            return grammar(
                compiled, self.rows, lambda: tag["format"], base.GrammarStats(dispatch_type="structural_tag")
            )

        @property
        def is_support_token_filter(self) -> bool:
            return True

        @staticmethod
        def set_token_filter(
            vocab_mask: Any, token_ids: Sequence[int], batch_idx: int, is_allowed: bool = True, reset_vocab_mask: bool = True
        ) -> None:
            """Allow tokens of a row, or forbid them; with ``reset_vocab_mask`` the others are the opposite."""
            row = vocab_mask[batch_idx]
            if reset_vocab_mask:
                row[:] = 0 if is_allowed else -1
            for token in token_ids:
                bit = 1 << token % 32 if token % 32 < 31 else -(1 << 31)
                word = int(row[token // 32])
                row[token // 32] = word | bit if is_allowed else word & ~bit

        # SGLang's wrapper for reasoning asks the backend for these, not a grammar.
        @staticmethod
        def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> Any:
            return allocate_mask(vocab_size, batch_size, device)

        @staticmethod
        def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
            return grammar.move_vocab_mask(vocab_mask, device)

        @staticmethod
        def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
            apply_mask(logits, vocab_mask)

        def reset(self) -> None:
            super().reset()
            self.compiler.compiler.clear_caches()

    return MaskwrightGrammarBackend


def allocate_mask(vocab_size: int, batch_size: int, device: Any) -> Any:
    """Return a bitmask of shape ``[batch_size, ceil(vocab_size / 32)]`` on the CPU, pinned where there is a GPU, in which every token is allowed."""
    return allocate_bitmask(batch_size, vocab_size, library="torch")


def with_schemas(tag: Any) -> Any:
    """Return a structural tag in which a schema that is missing or null allows everything, as SGLang has it: tools without parameters have none."""
    if isinstance(tag, list):
        return [with_schemas(element) for element in tag]
    if not isinstance(tag, dict):
        return tag
    if tag.get("type") in ("json_schema", "qwen_xml_parameter"):
        return tag | {"json_schema": {}} if tag.get("json_schema") is None else tag
    tag = {name: with_schemas(value) if name != "schema" else value for name, value in tag.items()}
    if isinstance(tag.get("structures"), list):
        tag["structures"] = [
            structure | {"schema": {}} if isinstance(structure, dict) and structure.get("schema") is None else structure
            for structure in tag["structures"]
        ]
    return tag


def with_control_tokens(vocab: Vocab, token_ids: Sequence[int]) -> Vocab:
    """Return a vocabulary in which some tokens are control tokens, with their texts as names."""
    others = [token for token in token_ids if vocab.token_kind(token) != "control"]
    if not others:
        return vocab
    tokens: list[bytes | None] = []
    control: dict[int, str | None] = {}
    added_text: dict[int, str | None] = {}
    for token in range(vocab.n_tokens):
        kind = vocab.token_kind(token)
        if kind == "control":
            control[token] = vocab.token_name(token)
        elif kind == "added_text":
            added_text[token] = vocab.token_name(token)
        tokens.append(None if kind == "padding" else vocab.token_bytes(token))
    for token in others:
        control[token] = added_text.pop(token, None) or vocab.token_bytes(token).decode("utf-8", "replace") or None
    return Vocab(tokens, control=control, added_text=added_text, stop_tokens=vocab.stop_tokens)


def _walk_trees_natively() -> None:
    """Replace SGLang's walk over trees of drafts, by its own hooks."""
    hooks = importlib.import_module("sglang.srt.plugins.hook_registry")
    spec_utils: Any = importlib.import_module(_SPEC_UTILS)
    if getattr(spec_utils, "_has_maskwright_walk", False):
        return
    spec_utils._has_maskwright_walk = True
    hooks.HookRegistry.register(f"{_SPEC_UTILS}.traverse_tree", traverse_tree, hooks.HookType.AROUND)
    hooks.HookRegistry.apply_hooks()


def traverse_tree(
    original: Callable[..., None],
    retrieve_next_token: Any,
    retrieve_next_sibling: Any,
    draft_tokens: Any,
    grammar: Any,
    allocate_token_bitmask: Any,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Fill the rows of a tree of drafts, ``[n_nodes, words]``: row ``i`` is what may follow node ``i``. Rows of nodes that are refused, and of those where the output has ended, are not written.

    ``retrieve_next_token[i]`` is the first child of node ``i`` and ``retrieve_next_sibling[i]`` the next child of its parent, or -1. Grammars of other backends, and outputs in their reasoning, go the way of SGLang.
    """
    matcher = _matcher_of(grammar)
    parents = None if matcher is None else _parents(retrieve_next_token.tolist(), retrieve_next_sibling.tolist())
    if matcher is None or parents is None:
        original(
            retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, allocate_token_bitmask, *args, **kwargs
        )
        return
    if matcher.is_terminated:
        return
    drafts = draft_tokens.tolist()
    is_open = matcher.fill_masks_for_tree(parents, drafts, Bitmask(allocate_token_bitmask))
    stop_tokens = set(matcher.stop_tokens)
    for node in range(1, len(parents)):
        # Nothing follows the end.
        has_ended = drafts[node] in stop_tokens and _allows_only(allocate_token_bitmask[node], stop_tokens)
        is_open[node] = is_open[node] and is_open[parents[node]] and not has_ended
        if not is_open[node]:
            allocate_token_bitmask[node, :] = -1


def _matcher_of(grammar: Any) -> Matcher | None:
    """Return the matcher of a grammar object of ours, also within SGLang's wrapper for reasoning where that is over; None for others."""
    if getattr(grammar, "_is_maskwright", False):
        matcher: Matcher = grammar.matcher
        return matcher
    inner: Any = getattr(grammar, "grammar", None)
    if not getattr(inner, "_is_maskwright", False) or getattr(grammar, "reasoning_in_grammar", False):
        return None
    matcher_within: Matcher | None = inner.matcher if grammar._is_generation() else None
    return matcher_within


def _parents(first_child: list[int], next_sibling: list[int]) -> list[int] | None:
    """Return the parent of each node, -1 for the root; None if a node is not in the tree, or before its parent."""
    parents = [-2] * len(first_child)
    parents[0] = -1
    for node, child in enumerate(first_child):
        while child != -1:
            if child <= node or parents[child] != -2:
                return None
            parents[child] = node
            child = next_sibling[child]
    return None if -2 in parents or next_sibling[0] != -1 else parents


def _allows_only(row: Any, tokens: set[int]) -> bool:
    """Return whether a row allows no token but some."""
    words: dict[int, int] = {}
    for token in tokens:
        words[token // 32] = words.get(token // 32, 0) | 1 << token % 32
    return all(int(word) & 0xFFFFFFFF & ~words.get(index, 0) == 0 for index, word in enumerate(row.tolist()) if word)

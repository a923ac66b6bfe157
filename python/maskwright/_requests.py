"""What inference engines ask for, as they ask for it: a kind of constraint and its text.

Engines agree on six kinds: ``json`` (a schema), ``json_object``, ``regex``, ``choice`` (a JSON list of texts), ``grammar`` (EBNF or Lark, told apart by ``::=``) and ``structural_tag``. Objects have no additional
properties unless their schema says so, as XGrammar's strict mode has it. Constraints that can't be enforced are dropped, and a warning names them; everything else is exact.
"""

import functools
import json
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from maskwright._core import Bitmask, CompiledGrammar, Grammar, GrammarCompiler, Vocab
from maskwright._relaxed import read_relaxed
from maskwright.errors import CompileError

KINDS = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")

#: Seconds that one request may take to compile.
COMPILE_SECONDS_MAX = 10.0

#: Grammars by their texts: EBNF and Lark whose literals control tokens may spell are compiled from objects, which the compiler doesn't remember.
GRAMMARS_KEPT_MAX = 64

#: Reported texts that are remembered, so that each is reported once.
REPORTS_KEPT_MAX = 1024

#: Runs of white space that are tried, in characters.
_WHITE_SPACE_RUNS = (16, 8, 4, 2, 1)


class RequestCompiler:
    """Compiles requests for one vocabulary. Usable from many threads.

    ``logger`` gets a warning for each request text whose constraints can't all be enforced, once per text. ``is_regex_of_ascii``: in regular expressions a dot matches line ends too, and ``\\d``, ``\\w`` and ``\\s`` are
    those of ASCII, as XGrammar reads them; otherwise a dot doesn't, and the classes are those of Unicode.
    """

    def __init__(
        self,
        vocab: Vocab,
        *,
        timeout: float | None = COMPILE_SECONDS_MAX,
        logger: logging.Logger | None = None,
        schema_options: Mapping[str, Any] | None = None,
        is_regex_of_ascii: bool = True,
    ) -> None:
        self._is_regex_of_ascii = is_regex_of_ascii
        self.compiler = GrammarCompiler(vocab)
        self.timeout = timeout
        self._logger = logger or logging.getLogger("maskwright")
        self._schema_options = dict(schema_options or {})
        self._lock = threading.Lock()
        self._grammars: OrderedDict[tuple[str, str], CompiledGrammar] = OrderedDict()
        self._reported: OrderedDict[tuple[str, str], None] = OrderedDict()

    @property
    def vocab(self) -> Vocab:
        return self.compiler.vocab

    def compile(self, kind: str, spec: str, **schema_options: Any) -> CompiledGrammar:
        """Compile one request. ``schema_options`` are those of ``GrammarCompiler.compile_json_schema``, for the schemas in it.

        Raises ``CompileError`` (a ``ValueError``) for what is malformed, can't be satisfied or exceeds limits, and ``ValueError`` for another kind.
        """
        options = self._schema_options | schema_options
        if kind == "json_object":
            kind, spec = "json", '{"type": "object"}'
        if kind == "json":
            return self._compile_schema(spec, options)
        if kind == "structural_tag":
            return self._compile_tag(spec, options)
        if kind == "regex":
            return self._compile_regex(spec)
        if kind == "choice":
            return self.compiler.compile_choice(choice_texts(spec), timeout=self.timeout)
        if kind == "grammar":
            return self._compile_grammar(spec)
        raise ValueError(f"there is no kind of constraint {kind!r}: {', '.join(KINDS)}")

    def _compile_regex(self, spec: str) -> CompiledGrammar:
        flags = "sa" if self._is_regex_of_ascii else ""
        return self.compiler.compile_regex(spec, flags=flags, timeout=self.timeout)

    def _compile_schema(self, spec: str, options: Mapping[str, Any]) -> CompiledGrammar:
        compiled, relaxed = read_relaxed(self.compiler.compile_json_schema, spec, options, timeout=self.timeout)
        self._report("JSON schema", spec, relaxed)
        return compiled

    def _compile_tag(self, spec: str, options: Mapping[str, Any]) -> CompiledGrammar:
        compiled, relaxed = read_relaxed(self.compiler.compile_structural_tag, spec, options, timeout=self.timeout)
        self._report("structural tag", spec, relaxed)
        return compiled

    def _compile_grammar(self, spec: str) -> CompiledGrammar:
        key = ("grammar", spec)
        with self._lock:
            if key in self._grammars:
                self._grammars.move_to_end(key)
                return self._grammars[key]
        grammar = grammar_of(spec, timeout=self.timeout)
        compiled = self.compiler.compile_grammar(grammar, timeout=self.timeout)
        self._report("grammar", spec, [*grammar.warnings, *compiled.warnings])
        with self._lock:
            self._grammars[key] = compiled
            while len(self._grammars) > GRAMMARS_KEPT_MAX:
                self._grammars.popitem(last=False)
        return compiled

    def _report(self, what: str, spec: str, messages: list[str]) -> None:
        """Warn of a request, unless that was done before."""
        key = (what, spec)
        with self._lock:
            if not messages or key in self._reported:
                return
            self._reported[key] = None
            while len(self._reported) > REPORTS_KEPT_MAX:
                self._reported.popitem(last=False)
        for message in dict.fromkeys(messages):
            self._logger.warning("%s: %s", what, message)


class Validator:
    """Checks requests without the model's vocabulary: what it refuses, no vocabulary can compile.

    Token names are not looked up, and what takes longer than ``timeout`` seconds passes: the compile that follows has more time.
    """

    def __init__(self, *, timeout: float = 0.5, logger: logging.Logger | None = None) -> None:
        bytes_only = Vocab([bytes([byte]) for byte in range(256)])
        # Warnings are for the process that compiles.
        silent = logging.getLogger("maskwright.validator")
        silent.addHandler(logging.NullHandler())
        silent.propagate = False
        self._compiler = RequestCompiler(bytes_only, timeout=timeout, logger=logger or silent)

    def check(self, kind: str, spec: str, **schema_options: Any) -> None:
        """Raise ``ValueError`` if a request can't be compiled."""
        try:
            self._compiler.compile(kind, spec, **schema_options)
        except CompileError as error:
            if error.code not in ("interrupted", "unknown_token"):
                raise


class BitmaskCache:
    """The bitmask that was looked at last, as what is checked once and then passed to many calls."""

    def __init__(self) -> None:
        self._last: tuple[Any, Bitmask] | None = None

    def of(self, array: Any) -> Bitmask:
        """Return a bitmask over an array or CPU tensor of int32."""
        last = self._last
        if last is not None and last[0] is array:
            return last[1]
        bitmask = Bitmask(array)
        self._last = (array, bitmask)
        return bitmask


def choice_texts(spec: str) -> list[str]:
    """Return the texts of a JSON list. Raises ``ValueError`` if it is none, is empty, or holds anything but texts."""
    texts = json.loads(spec)
    if not isinstance(texts, list) or not texts:
        raise ValueError("a choice is a list of texts, at least one")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a choice has elements that are no texts")
    return texts


def _regex_in_ebnf(pattern: str) -> str:
    """Return a regular expression as an operand of EBNF, where it is read as XGrammar does."""
    return f"Regex({json.dumps(pattern, ensure_ascii=False)})"


def is_lark(text: str) -> bool:
    """Return whether a grammar is written in Lark: no line has ``::=``, comments aside. Engines tell the dialects apart by this."""
    return not any("::=" in re.sub(r"(#|//).*$", "", line) for line in text.split("\n"))


def grammar_of(text: str, *, timeout: float | None = None) -> Grammar:
    """Return a grammar written in EBNF or Lark, whose literals control tokens of their names may spell, as the markers of chat templates need."""
    read = Grammar.from_lark if is_lark(text) else Grammar.from_ebnf
    return read(text, timeout=timeout).with_markers()


@functools.lru_cache(maxsize=128)
def white_space_max_of(pattern: str) -> int:
    """Return the longest run of white space, in characters, such that a pattern matches every run that is no longer.

    So every document that is written with such runs has the pattern's white space everywhere. Runs of up to 16 characters are looked at. Raises ``ValueError`` if the pattern is malformed, or doesn't match the empty text.
    """
    spaces = Vocab([" ", "\t", "\n", "\r"])
    compiler = GrammarCompiler(spaces)

    def covers(run: str) -> bool:
        try:
            other = Grammar.from_ebnf(f"root ::= {run} - {_regex_in_ebnf(pattern)}")
            compiler.compile_grammar(other, timeout=1.0)
        except CompileError as error:
            if error.code == "unsatisfiable":
                return True
            raise
        return False

    if not covers('""'):
        raise ValueError(f"white space as {pattern!r}: a pattern that doesn't match the empty text can't be honoured")
    return next((run for run in _WHITE_SPACE_RUNS if covers(rf"[ \t\n\r]{{0,{run}}}")), 0)


def white_space_options(*, pattern: str | None = None, is_compact: bool = False) -> dict[str, Any]:
    """Return the schema options of white space that an engine's options ask for. Raises ``ValueError`` as ``white_space_max_of``."""
    if is_compact:
        return {"white_space_max": 0}
    if pattern is None:
        return {}
    return {"white_space_max": white_space_max_of(pattern)}

"""Grammars."""

import json
import logging

import maskwright
from maskwright._relaxed import read_relaxed

from ._regex import translated
from .config import get_serialization_version
from .exception import InvalidJSONError, InvalidStructuralTagError
from .structural_tag import StructuralTag, StructuralTagItem, tag_text
from .tokenizer_info import _loaded

logger = logging.getLogger(__name__)

#: Any JSON array or object.
_JSON = r"""
root ::= object | array
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9A-Fa-f]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]*
"""


class Grammar:
    """A grammar before it is compiled."""

    def __init__(self, native):
        self._native = native

    def __str__(self):
        native = self._native
        # A text that is read again begins at the rule `root`.
        rooted = native if native.root == "root" else maskwright.Grammar.concat(native)
        return str(rooted)

    @staticmethod
    def from_ebnf(ebnf_string, *, root_rule_name="root"):
        """Read EBNF."""
        return Grammar(_read(maskwright.Grammar.from_ebnf, ebnf_string, root=root_rule_name))

    @staticmethod
    def from_regex(regex_string, *, print_converted_ebnf=False):
        """Read a regular expression, in which `.` is any character and classes are those of ASCII."""
        grammar = Grammar(_read(maskwright.Grammar.from_ebnf, _ebnf_of_regex(regex_string)))
        if print_converted_ebnf:
            print(grammar)
        return grammar

    @staticmethod
    def from_json_schema(
        schema,
        *,
        any_whitespace=True,
        indent=None,
        separators=None,
        strict_mode=True,
        max_whitespace_cnt=None,
        print_converted_ebnf=False,
        any_order=False,
    ):
        """Read a JSON Schema."""
        text = _schema_text(schema)
        options = schema_options(any_whitespace, indent, separators, strict_mode, max_whitespace_cnt, any_order)
        grammar = Grammar(_read_schema(maskwright.Grammar.from_json_schema, text, options))
        if print_converted_ebnf:
            print(grammar)
        return grammar

    @staticmethod
    def from_lark(lark_string, *, tokenizer_info=None, named_grammars=None):
        """Read Lark."""
        if not isinstance(named_grammars, dict | None):
            raise TypeError("named_grammars is a dict")
        read = {name: grammar._native for name, grammar in (named_grammars or {}).items() if isinstance(grammar, Grammar)}
        pending = {name: text for name, text in (named_grammars or {}).items() if name not in read}
        while pending:
            # Texts may refer to each other: one that can't be read now may be, when another was.
            before, errors = len(pending), []
            for name, text in list(pending.items()):
                try:
                    read[name] = _read_lark(text, read)
                    del pending[name]
                except RuntimeError as error:
                    errors.append(error)
            if len(pending) == before:
                raise errors[0]
        return Grammar(_read_lark(lark_string, read))

    @staticmethod
    def from_structural_tag(*args, **kwargs):
        """Read a structural tag: an object, a dict, JSON text, or the older pair of tags and triggers."""
        text = tag_text(args, kwargs)
        return Grammar(_read_tag(_CheckedTag, text).grammar)

    @staticmethod
    def builtin_json_grammar():
        """Return the grammar of any JSON array or object."""
        return Grammar.from_ebnf(_JSON)

    @staticmethod
    def concat(*grammars):
        """Return the grammar of one behind the other."""
        return Grammar(maskwright.Grammar.concat(*(grammar._native for grammar in grammars)))

    @staticmethod
    def union(*grammars):
        """Return the grammar of one of several."""
        return Grammar(maskwright.Grammar.union(*(grammar._native for grammar in grammars)))

    def serialize_json(self):
        """Return the grammar as JSON: its text."""
        text = self._native.to_ebnf()
        if text is None:
            raise RuntimeError("the grammar can't be written as text")
        return json.dumps({"__VERSION__": get_serialization_version(), "ebnf": text, "root": self._native.root})

    @staticmethod
    def deserialize_json(json_string):
        """Read what ``serialize_json`` wrote."""
        data = _loaded(json_string, ["ebnf", "root"])
        return Grammar.from_ebnf(data["ebnf"], root_rule_name=data["root"])


class _CheckedTag:
    """The grammar of a structural tag whose schemas are checked, with their report."""

    def __init__(self, text, timeout=None, **options):
        self.grammar = maskwright.Grammar.from_structural_tag(text, **options)
        self.report = maskwright.Grammar.from_ebnf("root ::= @tag", grammars={"tag": self.grammar}, timeout=timeout).report


def schema_options(any_whitespace, indent, separators, strict_mode, max_whitespace_cnt, any_order):
    """Return the options of a schema by the names of Maskwright."""
    options = {"additional_properties": not strict_mode, "additional_items": not strict_mode}
    if max_whitespace_cnt is not None and max_whitespace_cnt < 1:
        raise RuntimeError(f"max_whitespace_cnt is at least 1, not {max_whitespace_cnt}")
    if indent is not None and indent < 0:
        raise RuntimeError(f"indent is at least 0, not {indent}")
    if any_whitespace:
        options["white_space_max"] = max_whitespace_cnt
    elif indent is not None:
        if separators is not None and tuple(separators) != (",", ": "):
            raise RuntimeError(f"with an indent the separators are (',', ': '), not {tuple(separators)!r}")
        options["indent"] = indent
    else:
        options["separators"] = (", ", ": ") if separators is None else tuple(separators)
    if any_order:
        options["any_order"] = True
    return options


def _schema_text(schema):
    if isinstance(schema, str):
        return schema
    if hasattr(schema, "model_json_schema"):
        return json.dumps(schema.model_json_schema(), ensure_ascii=False)
    if isinstance(schema, dict | bool):
        return json.dumps(schema, ensure_ascii=False)
    raise ValueError("The schema should be a string or a Pydantic model.")


def _ebnf_of_regex(pattern):
    # A string of JSON is one of EBNF.
    return f"root ::= Regex({json.dumps(translated(pattern), ensure_ascii=False)})"


def _read_lark(text, named):
    """Read Lark in which the marker of ``stop`` is read, too."""
    if not isinstance(text, str):
        raise TypeError(f"a grammar is a str, not {type(text).__name__}")
    return _read(maskwright.Grammar.from_lark, f'{text}\n%grammar_options {{"stop_keeps_marker": true}}', grammars=named)


def _read(read, *args, **kwargs):
    """Call with errors as ``RuntimeError``."""
    try:
        return read(*args, **kwargs)
    except maskwright.CompileError as error:
        raise RuntimeError(error.details) from error


def _read_tag(read, text):
    """Read a structural tag, with what is not enforced as warnings."""
    try:
        made, relaxed = read_relaxed(read, text, {})
    except maskwright.CompileError as error:
        try:
            json.loads(text)
        except ValueError:
            raise InvalidJSONError(f"Invalid JSON error: {error}") from error
        raise InvalidStructuralTagError(f"Invalid structural tag error: {error}") from error
    return _reported(made, relaxed, "structural tag")


def _read_schema(read, text, options):
    """Read a schema, with what is not enforced as warnings."""
    made, relaxed = _read(read_relaxed, read, text, options)
    return _reported(made, relaxed, "JSON schema")


def _reported(made, relaxed, what):
    for message in dict.fromkeys(relaxed):
        logger.warning("%s: %s", what, message)
    return made


__all__ = ["Grammar", "StructuralTag", "StructuralTagItem"]

"""Requests of all kinds with what must become of them, for runs of real engines."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: What a request may come to: `valid` ends with a text that the check accepts, `refused` fails before or at its compile, `any` may be either or stop at the limit, but must not harm others.
VALID, REFUSED, ANY = "valid", "refused", "any"


@dataclass(frozen=True)
class Request:
    """One request: `params` are arguments of vLLM's StructuredOutputsParams."""

    name: str
    params: dict[str, Any]
    expected: str
    check: Callable[[str], bool] = lambda text: True


def _schema(schema: dict[str, Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        import jsonschema

        jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        return True

    return check


_SCHEMAS: dict[str, dict[str, Any]] = {
    "object": {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
        "required": ["name", "age"],
    },
    "enum": {"enum": ["red", "green", 3, None, {"a": [1]}]},
    # What the stock backend refuses or ignores.
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 1000},
    "unique": {"type": "array", "items": {"enum": [1, 2, 3, 4]}, "uniqueItems": True, "minItems": 2, "maxItems": 4},
    "contains": {"type": "array", "items": {"enum": ["a", "b"]}, "contains": {"const": "b"}, "maxItems": 5},
    "all_of": {"allOf": [{"type": "string", "maxLength": 4}, {"enum": ["yes", "no", "perhaps"]}]},
    "one_of": {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "boolean"}]},
    "pattern": {"type": "string", "pattern": "^[a-z]{2,5}-[0-9]{3}$", "maxLength": 9},
    "names": {
        "type": "object",
        "propertyNames": {"enum": ["a", "b", "c"]},
        "patternProperties": {"^[ab]$": {"type": "boolean"}},
        "additionalProperties": {"type": "null"},
        "maxProperties": 3,
    },
    "reference": {
        "$defs": {"p": {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "minItems": 2, "maxItems": 2}},
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/p"}, "q": {"$ref": "#/$defs/p"}},
        "required": ["p", "q"],
    },
    "conditional": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["n"]},
    },
    "date": {"type": "string", "format": "date"},
}

_TAG_SCHEMA = _SCHEMAS["object"]


def _tag_check(text: str) -> bool:
    match = re.fullmatch(r"<call>(.*)</call>", text, re.DOTALL)
    return match is not None and _schema(_TAG_SCHEMA)(match[1])


def _good() -> list[Request]:
    requests = [Request(f"json {name}", {"json": schema}, VALID, _schema(schema)) for name, schema in _SCHEMAS.items()]
    requests += [
        Request("json text", {"json": json.dumps(_SCHEMAS["object"])}, VALID, _schema(_SCHEMAS["object"])),
        Request(
            "json compact",
            {"json": _SCHEMAS["reference"], "disable_any_whitespace": True},
            VALID,
            lambda text: _schema(_SCHEMAS["reference"])(text) and not re.search(r"\s", text),
        ),
        Request(
            "json white space",
            {"json": _SCHEMAS["reference"], "whitespace_pattern": r"\s?"},
            VALID,
            lambda text: _schema(_SCHEMAS["reference"])(text) and not re.search(r"\s\s", text),
        ),
        Request("json_object", {"json_object": True}, ANY),
        Request("regex", {"regex": r"[a-z]{3}-\d{2}"}, VALID, lambda text: re.fullmatch(r"[a-z]{3}-\d{2}", text) is not None),
        Request("regex empty", {"regex": ""}, VALID, lambda text: text == ""),
        Request("choice", {"choice": ["Oslo", "Bergen", 'a"b\n']}, VALID, lambda text: text in ("Oslo", "Bergen", 'a"b\n')),
        Request(
            "ebnf",
            {"grammar": 'root ::= expr\nexpr ::= term (("+" | "-") term){0,3}\nterm ::= [0-9]{1,2} | "(" [a-c] ")"\n'},
            VALID,
            lambda text: re.fullmatch(r"(\d{1,2}|\([a-c]\))([+-](\d{1,2}|\([a-c]\))){0,3}", text) is not None,
        ),
        Request(
            "lark",
            {"grammar": 'start: "q" ITEM ("," ITEM)~0..3\nITEM: /[a-f0-9]{2}/\n'},
            VALID,
            lambda text: re.fullmatch(r"q[a-f0-9]{2}(,[a-f0-9]{2}){0,3}", text) is not None,
        ),
        Request(
            "tag",
            {
                "structural_tag": json.dumps(
                    {
                        "type": "structural_tag",
                        "format": {
                            "type": "tag",
                            "begin": "<call>",
                            "content": {"type": "json_schema", "json_schema": _TAG_SCHEMA},
                            "end": "</call>",
                        },
                    }
                )
            },
            VALID,
            _tag_check,
        ),
        Request(
            "tag triggered",
            {
                "structural_tag": json.dumps(
                    {
                        "type": "structural_tag",
                        "format": {
                            "type": "triggered_tags",
                            "triggers": ["<call"],
                            "tags": [
                                {
                                    "type": "tag",
                                    "begin": "<call>",
                                    "content": {"type": "json_schema", "json_schema": _TAG_SCHEMA},
                                    "end": "</call>",
                                }
                            ],
                            "at_least_one": True,
                            "stop_after_first": True,
                        },
                    }
                )
            },
            VALID,
            _tag_check,
        ),
        Request(
            "tag legacy",
            {
                "structural_tag": json.dumps(
                    {"structures": [{"begin": "<call>", "schema": _TAG_SCHEMA, "end": "</call>"}], "triggers": ["<call"]}
                )
            },
            ANY,
        ),
        Request("tag marker", {"structural_tag": json.dumps(
            {"type": "structural_tag", "format": {"type": "tag", "begin": "<tool_call>", "content": {"type": "regex", "pattern": "[ab]{2}"}, "end": "</tool_call>"}}
        )}, VALID, lambda text: re.fullmatch("(<tool_call>)?[ab]{2}(</tool_call>)?", text) is not None),
        # A constraint that no engine can enforce: the rest is, and a warning names it.
        Request(
            "json back-reference",
            {"json": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a|b)\\1$", "maxLength": 3}}, "required": ["a"]}},
            VALID,
            lambda text: set(json.loads(text)) == {"a"},
        ),
    ]
    return requests


def _bad() -> list[Request]:
    deep: Any = {"type": "integer"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    return [
        Request("malformed json", {"json": '{"type": "obj'}, REFUSED),
        Request("unknown type", {"json": {"type": "strin"}}, REFUSED),
        Request("unsatisfiable", {"json": {"type": "object", "required": ["a"], "properties": {"a": False}}}, REFUSED),
        Request("deep schema", {"json": json.dumps(deep)}, REFUSED),
        Request("malformed regex", {"regex": "(a"}, REFUSED),
        Request("NUL in a regex", {"regex": "a\0"}, REFUSED),
        Request("back-reference", {"regex": r"(a|b)\1"}, REFUSED),
        Request("malformed ebnf", {"grammar": 'root ::= "a'}, REFUSED),
        Request("unknown rule", {"grammar": "root ::= nowhere"}, REFUSED),
        Request("malformed lark", {"grammar": "start: ("}, REFUSED),
        Request("unknown token", {"grammar": "root ::= <no_such_token>"}, REFUSED),
        Request("empty choice", {"choice": []}, REFUSED),
        Request("malformed tag", {"structural_tag": '{"type": "structural_tag", "format": {"type": "nothing"}}'}, REFUSED),
        Request("tag is no object", {"structural_tag": "[1]"}, REFUSED),
        Request("white space that can't be", {"json": {"type": "integer"}, "whitespace_pattern": "x"}, REFUSED),
        # What takes long elsewhere.
        Request("counted repeats", {"regex": "((a{1,100}){1,100}){1,100}b"}, ANY),
        Request("determinization", {"regex": "(.*b.{200}){3}"}, ANY),
        Request("ambiguous", {"grammar": 'root ::= "a" | root root | root root root'}, ANY),
        Request("long choice", {"choice": [f"option {index} of many" for index in range(3000)]}, VALID, lambda text: text.startswith("option ")),
        Request("large maxLength", {"json": {"type": "string", "maxLength": 1000000}}, ANY),
        Request("long enum", {"json": {"enum": list(range(5000))}}, VALID, lambda text: 0 <= float(text) < 5000),
    ]


def mix(n: int, *, seed: int = 0) -> list[Request]:
    """Return `n` requests in random order: each one of the list at least once if `n` allows, about three good ones for one that is malformed or hostile."""
    rng = random.Random(seed)
    good, bad = _good(), _bad()
    requests = good + bad
    while len(requests) < n:
        requests.append(rng.choice(bad if rng.random() < 0.25 else good))
    rng.shuffle(requests)
    return requests[:n]

import json
import pickle
import threading
import time

import pytest

import maskwright
from maskwright import Grammar

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Model:
    """Looks like a Pydantic model."""

    @classmethod
    def model_json_schema(cls):
        return SCHEMA


def reads(grammar, text):
    matcher = grammar.matcher()
    try:
        matcher.accept_bytes(text)
    except maskwright.MatchError:
        return False
    return matcher.is_accepting


def test_every_front_end(compiler):
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}
    for grammar, text in [
        (compiler.compile_ebnf('start ::= "a" | "b"', root="start"), "b"),
        (compiler.compile_lark("start: /[a-z]+/"), "abc"),
        (compiler.compile_auto('root ::= "a"'), "a"),
        (compiler.compile_auto('start: "a"'), "a"),
        (compiler.compile_regex("[0-9]+"), "12"),
        (compiler.compile_choice(["yes", "no"]), "no"),
        (compiler.compile_json_object(), '{"x": [1]}'),
        (compiler.compile_json_lines(SCHEMA), '{"a":1}\n{"a":2}\n'),
        (compiler.compile_structural_tag(tag), "x"),
        (compiler.compile_grammar(Grammar.literal("x") + Grammar.choice(["1", "2"])), "x2"),
    ]:
        assert reads(grammar, text), text
        assert not reads(grammar, text + "\x00")


def test_flags_of_regular_expressions(compiler):
    for flags, accepted, refused in [("", "Aa٣", "Aa\n"), ("is", "aA\n", "b"), ("a", "A1", "A٣")]:
        pattern = "A.\\d?" if flags == "" else "AA?." if flags == "is" else "A\\d"
        grammar = compiler.compile_regex(pattern, flags=flags)
        assert reads(grammar, accepted) and not reads(grammar, refused), flags
    with pytest.raises(ValueError, match="flag"):
        compiler.compile_regex("a", flags="z")


@pytest.mark.parametrize("schema", [SCHEMA, '{"type": "object", "required": ["a"]}', Model])
def test_schemas_in_all_forms(compiler, schema):
    grammar = compiler.compile_json_schema(schema)
    assert reads(grammar, '{"a": 1}') and not reads(grammar, "{}")


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        ({"white_space_max": 0}, '{"a":1}', '{"a": 1}'),
        ({"white_space_max": 1}, '{ "a": 1}', '{  "a": 1}'),
        ({"separators": (", ", ": ")}, '{"a": 1}', '{"a":1}'),
        ({"indent": 2}, '{\n  "a": 1\n}', '{"a": 1}'),
        ({"additional_properties": False}, '{"a": 1}', '{"a": 1, "b": 2}'),
        ({"any_order": True}, '{"b": 1, "a": 1}', '{"b": 1, "b": 1}'),
        ({"integer_fractions": True}, '{"a": 1.0}', '{"a": 1.5}'),
        ({"indent": None, "draft": "7"}, '{"a": 1}', "{}"),
    ],
)
def test_options_of_schemas(compiler, options, accepted, refused):
    grammar = compiler.compile_json_schema(SCHEMA, **options)
    assert reads(grammar, accepted) and not reads(grammar, refused)


def test_other_options_of_schemas(compiler):
    documents = {"http://example.com/n": {"type": "integer"}}
    grammar = compiler.compile_json_schema({"$ref": "http://example.com/n"}, documents=documents)
    assert reads(grammar, "12") and not reads(grammar, '"x"')
    pointed = compiler.compile_json_schema({"$defs": {"x": {"const": 5}}}, pointer="/$defs/x")
    assert reads(pointed, "5") and not reads(pointed, "6")
    text = compiler.compile_json_schema({"type": "string"}, text_until="</x>")
    assert reads(text, 'say "hi"') and not reads(text, "a</x>")
    for wrong in ({"indnet": 2}, {"indent": 2, "white_space_max": 3}):
        with pytest.raises(TypeError):
            compiler.compile_json_schema(SCHEMA, **wrong)
    with pytest.raises(ValueError, match="draft"):
        compiler.compile_json_schema(SCHEMA, draft="5")


@pytest.mark.parametrize(
    ("compile_it", "facts"),
    [
        (lambda c: c.compile_ebnf("root ::= a\nb ::= ["), {"code": "syntax", "line": 2, "column": 7}),
        (lambda c: c.compile_regex("a("), {"code": "syntax", "line": 1}),
        (lambda c: c.compile_ebnf('root ::= "a" & "b"'), {"code": "unsatisfiable", "line": 1}),
        (lambda c: c.compile_ebnf("root ::= <|x|>"), {"code": "unknown_token", "line": 1, "column": 10}),
        (
            lambda c: c.compile_json_schema({"properties": {"a": {"minimum": "1"}}}),
            {"code": "document", "pointer": "/properties/a/minimum", "keyword": "minimum"},
        ),
        (lambda c: c.compile_json_schema({"type": "string", "minLength": 5, "maxLength": 3}), {"code": "unsatisfiable"}),
        (lambda c: c.compile_json_schema({"pattern": "(a)\\1"}), {"code": "unsupported", "keyword": "pattern"}),
        (lambda c: c.compile_json_schema("{"), {"code": "syntax", "line": 1, "column": 2}),
        (
            lambda c: c.compile_structural_tag({"type": "structural_tag", "format": {"type": "regex", "pattern": "("}}),
            {"code": "syntax", "pointer": "/format/pattern"},
        ),
        (lambda c: c.compile_json_schema(SCHEMA, separators=(";", ":")), {"code": "option"}),
        (lambda c: c.compile_regex("a" * 100_000), {"code": "limit"}),
        (lambda c: c.compile_regex("[a-z]{1,2000}x", timeout=0), {"code": "interrupted"}),
    ],
)
def test_errors_have_facts(compiler, compile_it, facts):
    with pytest.raises(maskwright.CompileError) as caught:
        compile_it(compiler)
    error = caught.value
    assert isinstance(error, ValueError) and error.details
    assert {name: getattr(error, name) for name in facts} == facts, error
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_limits_by_name(bytes_vocab):
    compiler = maskwright.GrammarCompiler(bytes_vocab, limits={"source_bytes_max": 10})
    with pytest.raises(maskwright.CompileError) as caught:
        compiler.compile_ebnf('root ::= "abc"')
    assert caught.value.limit == (14, 10)
    with pytest.raises(TypeError, match="limit"):
        maskwright.GrammarCompiler(bytes_vocab, limits={"no_such_limit": 1})


def test_a_compile_is_cancelled_from_another_thread(compiler):
    cancel = maskwright.CancelToken()
    thread = threading.Timer(0.05, cancel.cancel)
    thread.start()
    begin = time.monotonic()
    # As large as the limits allow, so that it takes longer than the timer.
    source = "root ::= " + " | ".join(f"(/[a-y]*{i}[a-z]{{1,300}}/ & /[a-z0-9]*z?/)" for i in range(400))
    try:
        compiler.compile_ebnf(source, cancel=cancel)
    except maskwright.CompileError as error:
        assert error.code in ("interrupted", "limit")
    assert time.monotonic() - begin < 5
    thread.join()
    assert cancel.is_cancelled
    with pytest.raises(maskwright.CompileError) as caught:
        compiler.compile_ebnf('root ::= "never seen"', cancel=cancel)
    assert caught.value.code == "interrupted"


def test_reports_of_schemas(compiler):
    schema = {"type": "string", "pattern": "(a)\\1", "title": "t"}
    with pytest.raises(maskwright.CompileError):
        compiler.compile_json_schema(schema)
    report = compiler.compile_json_schema(schema, lenient=True).report
    assert not report.is_exact
    (dropped,) = report.findings(only_unenforced=True)
    assert (dropped["keyword"], dropped["location"], dropped["verdict"]) == ("pattern", "#/pattern", "dropped")
    assert {finding["verdict"] for finding in report.findings()} == {"enforced", "dropped", "annotation"}
    assert compiler.compile_ebnf('root ::= "a"').report is None


def test_grammars_are_put_together_and_printed(compiler):
    number = Grammar.from_json_schema({"type": "integer"}, white_space_max=0)
    pair = Grammar.literal("n=") + number | Grammar.from_regex("[a-c]+")
    grammar = Grammar.concat(pair, Grammar.literal(";")).repeat(1, 2)
    assert reads(compiler.compile_grammar(grammar), "n=5;abc;") and not reads(compiler.compile_grammar(grammar), "")
    again = Grammar.from_ebnf(str(grammar), root=grammar.root)
    assert reads(compiler.compile_grammar(again), "n=5;abc;")
    named = Grammar.from_ebnf("root ::= @x @x", grammars={"x": number})
    assert reads(compiler.compile_grammar(named), "12")
    tag = {"type": "structural_tag", "format": {"type": "any_text", "exclude": ["a"]}}
    warning = "#/format/exclude: the format `any_text` has no field `exclude`, which is ignored; did you mean `excludes`?"
    assert Grammar.from_structural_tag(tag).warnings == [warning]
    assert Grammar.from_ebnf('root ::= "a"\nb ::= "c"').warnings
    with pytest.raises(ValueError):
        number.repeat(2, 1)
    with pytest.raises(maskwright.CompileError):
        Grammar.from_json_schema({"type": "nothing"})


def test_statistics_and_dumps(compiler):
    grammar = compiler.compile_ebnf('root ::= "statistics"')
    compiler.compile_ebnf('root ::= "statistics"')
    stats = compiler.stats()
    assert stats["grammar_hits"] >= 1 and stats["grammar_bytes"] > 0
    assert grammar.n_states > 0 and grammar.memory_bytes > 0
    assert grammar.dump("dot").startswith("digraph") and grammar.dump()
    with pytest.raises(ValueError):
        grammar.dump("svg")


def test_tags_of_tool_calls(compiler):
    assert "hermes" not in maskwright.tool_call_formats() and "qwen_3" in maskwright.tool_call_formats()
    tag = maskwright.tool_call_tag("hermes", [("f", SCHEMA), ("g", None)], choice="required")
    grammar = compiler.compile_structural_tag(tag)
    assert reads(grammar, '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
    assert not reads(grammar, '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>')
    only = maskwright.tool_call_tag("hermes", [("f", SCHEMA), ("g", None)], choice={"name": "g"}, parallel=False)
    function = {"type": "function", "function": {"name": "g"}}
    assert only == maskwright.tool_call_tag("hermes", [("f", SCHEMA), ("g", None)], choice=function, parallel=False)
    assert not reads(compiler.compile_structural_tag(only), '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
    for arguments, options in [
        (("no such model", []), {}),
        (("hermes", []), {"choice": "required"}),
        (("hermes", [("f", "{")]), {}),
        (("hermes", [("f", None)]), {"thinking": "maybe"}),
        (("hermes", [("f", None)]), {"max_calls": 0}),
        (("hermes", [("f", None)]), {"max_calls": -1}),
        (("hermes", [("f", None)]), {"choice": {"type": "function"}}),
    ]:
        with pytest.raises(ValueError):
            maskwright.tool_call_tag(*arguments, **options)


def test_reports_of_schemas_within_tags_and_grammars(compiler):
    schema = {"type": "string", "pattern": "(a)\\1"}
    content = {"type": "json_schema", "json_schema": schema}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [content, content | {"json_schema": {"type": "integer"}}]}}
    report = compiler.compile_structural_tag(tag, lenient=True).report
    (finding,) = report.findings(only_unenforced=True)
    assert not report.is_exact and (finding["keyword"], finding["verdict"]) == ("pattern", "dropped")
    assert json.loads(finding["schema"]) == schema
    assert {finding["keyword"] for finding in report.findings()} == {"type", "pattern"}
    # A grammar has a report before it is compiled, too.
    for made in (maskwright.Grammar.from_ebnf('root ::= "a" %json(lenient) {"pattern": "(a)\\\\1"}'), maskwright.Grammar.from_json_schema(schema, lenient=True)):
        assert not made.report.is_exact
    assert maskwright.Grammar.from_ebnf('root ::= "a"').report is None and compiler.compile_ebnf('root ::= "a"').report is None
    assert compiler.compile_json_schema({"type": "integer"}).report.findings()[0]["schema"] is None


def test_items_behind_a_prefix(compiler):
    schema = {"type": "array", "prefixItems": [{"type": "integer"}]}
    for options, n_allowed in (({}, True), ({"additional_items": False}, False)):
        matcher = compiler.compile_json_schema(schema, **options).matcher()
        matcher.accept_bytes("[1")
        assert matcher.is_token_allowed(ord(",")) is n_allowed

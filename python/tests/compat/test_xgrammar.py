"""The interface of XGrammar: what its callers rely on, and each difference in meaning that the module's documentation lists."""

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("pydantic", reason="structural tags are Pydantic models there")
numpy = pytest.importorskip("numpy", reason="bitmasks are numpy arrays here")

import maskwright.compat.xgrammar as xgr  # noqa: E402
from maskwright.compat.xgrammar.testing import _is_grammar_accept_string  # noqa: E402

TOKENS = ["<s>", "</s>", "a", "abc", 'b"', '"', ':"', "{", "}", ", ", "6", ":", "\n", " ", '"a":true']


def bitmask_of(info, n_rows=1):
    return numpy.zeros((n_rows, (info.vocab_size + 31) // 32), dtype=numpy.int32)


def allowed(matcher, info):
    row = bitmask_of(info)
    matcher.fill_next_token_bitmask(row)
    return [index for index in range(info.vocab_size) if row[0, index // 32] >> (index % 32) & 1]


def accepts(grammar, text):
    return _is_grammar_accept_string(grammar, text)


def matcher_of(source, tokens=TOKENS, **options):
    info = xgr.TokenizerInfo(tokens)
    return xgr.GrammarMatcher(xgr.GrammarCompiler(info).compile_grammar(source), **options), info


def test_masks_of_json_step_by_step():
    matcher, info = matcher_of(xgr.Grammar.builtin_json_grammar())
    steps = ["{", '"', "abc", 'b"', ":", "6", ", ", " ", '"a":true', "}"]
    expected = [
        ["{"],
        ['"', "}", "\n", " ", '"a":true'],
        ["<s>", "a", "abc", 'b"', '"', ':"', "{", "}", ", ", "6", ":", " "],
        ["<s>", "a", "abc", 'b"', '"', ':"', "{", "}", ", ", "6", ":", " "],
        [":", "\n", " ", ':"'],
        ['"', "{", "6", "\n", " "],
        ["}", ", ", "6", "\n", " "],
        ['"', "\n", " ", '"a":true'],
        ['"', "\n", " ", '"a":true'],
        ["}", ", ", "\n", " "],
    ]
    for step, tokens in zip(steps, expected, strict=True):
        found = [TOKENS[index] for index in allowed(matcher, info)]
        assert sorted(found) == sorted(tokens), step
        assert matcher.accept_token(TOKENS.index(step))
    assert [TOKENS[index] for index in allowed(matcher, info)] == ["</s>"]


def test_termination_and_rollback():
    matcher, info = matcher_of('root ::= "a" "6"')
    assert not matcher.is_completed() and not matcher.is_terminated()
    assert matcher.accept_token(2) and matcher.accept_token(10)
    assert matcher.is_completed() and not matcher.is_terminated()
    assert matcher.accept_token(1)
    assert matcher.is_terminated() and matcher.is_completed()
    assert not matcher.accept_token(1) and not matcher.accept_token(0) and not matcher.accept_string("a")
    with pytest.raises(RuntimeError):
        matcher.fill_next_token_bitmask(bitmask_of(info))
    with pytest.raises(RuntimeError):
        matcher.find_jump_forward_string()
    matcher.rollback(2)
    assert not matcher.is_terminated() and allowed(matcher, info) == [10]
    with pytest.raises(RuntimeError):
        matcher.rollback(2)
    matcher.reset()
    assert allowed(matcher, info) == [2]


def test_refused_tokens_change_nothing():
    matcher, info = matcher_of('root ::= "a" "6"')
    for token in (-1, 99, 10, 0):
        assert matcher.accept_token(token) is False
    assert allowed(matcher, info) == [2]


def test_the_end_without_a_stop_token():
    matcher, _ = matcher_of('root ::= "a"+', terminate_without_stop_token=True)
    assert not matcher.is_terminated()
    assert matcher.accept_string("aa") and matcher.is_terminated()
    assert matcher.accept_string("a")
    matcher.rollback(2)
    assert not matcher.is_terminated()


def test_a_text_is_one_step():
    matcher, _ = matcher_of("root ::= [^a]+")
    assert matcher.accept_string(b"\xe2\xa1\xa1") and not matcher.accept_string(b"\xa1")
    assert matcher.accept_string("6:")
    matcher.rollback(1)
    assert matcher.is_completed()
    matcher.rollback(1)
    assert not matcher.is_completed()


def test_forks_are_independent():
    matcher, info = matcher_of('root ::= "a" ("6" | ":")')
    matcher.accept_token(2)
    fork = matcher.fork()
    assert fork.accept_token(10) and fork.stop_token_ids == matcher.stop_token_ids
    assert allowed(matcher, info) == [10, 11]


def test_stop_tokens():
    assert xgr.TokenizerInfo(TOKENS).stop_token_ids == [1]
    matcher, info = matcher_of('root ::= "a"', override_stop_tokens=[10])
    assert matcher.accept_token(2) and allowed(matcher, info) == [10]
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "a"')
    for stops in ([], [99], [-1]):
        with pytest.raises(RuntimeError):
            xgr.GrammarMatcher(compiled, override_stop_tokens=stops)


def test_rows_that_do_not_fit():
    matcher, info = matcher_of('root ::= "a"')
    for row, index in [
        (numpy.zeros((1, 2), numpy.int32), 0),
        (bitmask_of(info), 1),
        (bitmask_of(info), -1),
        (numpy.zeros((1, 1), numpy.int64), 0),
        (numpy.zeros((1, 1), numpy.float32), 0),
    ]:
        with pytest.raises(RuntimeError):
            matcher.fill_next_token_bitmask(row, index)
    assert matcher.fill_next_token_bitmask(numpy.zeros(1, numpy.int32))


def test_rows_that_are_not_contiguous_are_refused():
    matcher, _ = matcher_of('root ::= "a"', [*TOKENS, *(f"<{i}>" for i in range(40))])
    with pytest.raises(RuntimeError, match="behind the other"):
        matcher.fill_next_token_bitmask(numpy.zeros((1, 4), numpy.int32)[:, ::2])


def test_vocabularies():
    info = xgr.TokenizerInfo(["<0x41>", "▁b", ""], xgr.VocabType.BYTE_FALLBACK, vocab_size=5, stop_token_ids=2)
    assert info.decoded_vocab == [b"A", b" b", b""] and info.special_token_ids == [3, 4]
    assert info.stop_token_ids == [2] and info.vocab_size == 5
    assert xgr.TokenizerInfo(["Ġc", "ä½ł"], xgr.VocabType.BYTE_LEVEL).decoded_vocab == [b" c", "你".encode()]
    assert json.loads(info.dump_metadata()) == {
        "vocab_type": 1,
        "vocab_size": 5,
        "add_prefix_space": False,
        "stop_token_ids": [2],
    }
    again = xgr.TokenizerInfo.from_vocab_and_metadata(["<0x41>", "▁b", ""], info.dump_metadata())
    assert again.decoded_vocab == info.decoded_vocab
    assert xgr.TokenizerInfo.deserialize_json(info.serialize_json()).decoded_vocab == info.decoded_vocab
    with pytest.raises(RuntimeError):
        xgr.TokenizerInfo(["a", "b"], vocab_size=1)


def test_errors_are_runtime_errors():
    for read, source in [
        (xgr.Grammar.from_ebnf, "root ::= ["),
        (xgr.Grammar.from_regex, "("),
        (xgr.Grammar.from_json_schema, "{"),
        (xgr.Grammar.from_json_schema, '{"type": "strng"}'),
        (xgr.Grammar.from_lark, "start: missing"),
        (xgr.Grammar.deserialize_json, "{}"),
    ]:
        with pytest.raises(RuntimeError):
            read(source)
    with pytest.raises(xgr.InvalidJSONError):
        xgr.Grammar.from_structural_tag("{")
    with pytest.raises(xgr.InvalidStructuralTagError):
        xgr.Grammar.from_structural_tag('{"type": "structural_tag", "format": {"type": "tag"}}')
    for source in (5, None):
        with pytest.raises(ValueError):
            xgr.Grammar.from_json_schema(source)


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}


def test_strict_mode_is_the_default():
    strict, standard = xgr.Grammar.from_json_schema(OBJECT), xgr.Grammar.from_json_schema(OBJECT, strict_mode=False)
    text = '{"a": "x", "c": 1}'
    assert not _is_grammar_accept_string(strict, text) and _is_grammar_accept_string(standard, text)
    # What is required and not declared is allowed all the same.
    assert _is_grammar_accept_string(xgr.Grammar.from_json_schema({"type": "object", "required": ["z"]}), '{"z": 1}')


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        ({}, ['{"a":"x"}', '{ "a" :\n"x" }', '{"a":' + " " * 16 + '"x"}'], [' {"a":"x"}', '{"a":' + " " * 17 + '"x"}']),
        ({"max_whitespace_cnt": 1}, ['{ "a": "x"}'], ['{  "a":"x"}']),
        ({"any_whitespace": False}, ['{"a": "x", "b": 1}'], ['{"a":"x"}']),
        ({"any_whitespace": False, "separators": (",", ":")}, ['{"a":"x","b":1}'], ['{"a": "x"}']),
        ({"any_whitespace": False, "indent": 2}, ['{\n  "a": "x"\n}'], ['{"a": "x"}']),
    ],
)
def test_white_space(options, accepted, refused):
    grammar = xgr.Grammar.from_json_schema(OBJECT, **options)
    assert all(_is_grammar_accept_string(grammar, text) for text in accepted)
    assert not any(_is_grammar_accept_string(grammar, text) for text in refused)


def test_keywords_that_are_dropped_are_reported(caplog):
    schema = {"type": "string", "pattern": "(a|b)\\1"}
    grammar = xgr.Grammar.from_json_schema(schema)
    assert "pattern" in caplog.text and _is_grammar_accept_string(grammar, '"c"')
    # Those that other engines ignore are enforced.
    unique = xgr.Grammar.from_json_schema({"type": "array", "uniqueItems": True, "items": {"type": "integer"}})
    assert _is_grammar_accept_string(unique, "[1,2]") and not _is_grammar_accept_string(unique, "[1,1]")


def test_captures():
    info = xgr.TokenizerInfo([bytes([byte]) for byte in range(256)], vocab_size=256)
    grammar = xgr.GrammarCompiler(info).compile_grammar('root ::= (num ",")* num\nnum[capture="n"] ::= [0-9]+')
    matcher = xgr.GrammarMatcher(grammar, terminate_without_stop_token=True)
    assert matcher.accept_string("12,3")
    assert matcher.get_captures() == [("n", b"12"), ("n", b"3")]


def test_strict_mode_is_about_items_too():
    schema = {"type": "array", "prefixItems": [{"type": "integer"}]}
    texts = ["[]", "[1]", "[1,2]"]
    for strict, accepted in [(True, texts[:2]), (False, texts)]:
        grammar = xgr.Grammar.from_json_schema(schema, strict_mode=strict)
        assert [text for text in texts if _is_grammar_accept_string(grammar, text)] == accepted


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({"minLength": 2}, ["1", '"ab"']),
        ({"properties": {"a": {"type": "integer"}}, "type": "object", "required": ["z"]}, ['{"z":[]}', '{"a":1,"z":1}']),
        ({"const": {"a": 1}}, ['{"a":1}', '{ "a" : 1}']),
        ({"type": "string", "pattern": "b"}, ['"abc"']),
        ({"type": "integer"}, ["-0"]),
    ],
)
def test_schemas_mean_what_the_standard_says(schema, texts):
    assert all(_is_grammar_accept_string(xgr.Grammar.from_json_schema(schema), text) for text in texts)


def test_malformed_and_impossible_sources_are_errors(caplog):
    malformed = [{"minLength": -1}, {"anyOf": []}, {"$ref": "http://example.org/x"}, {"not": {}}, {"type": "string", "pattern": "("}]
    for schema in malformed:
        with pytest.raises(RuntimeError):
            xgr.Grammar.from_json_schema(schema)
    for read, source in [(xgr.Grammar.from_ebnf, "root ::= root"), (xgr.Grammar.from_regex, "a^b"), (xgr.Grammar.from_regex, "(a)\\1")]:
        with pytest.raises(RuntimeError):
            read(source)
    # Strict mode gives way where it leaves nothing.
    grammar = xgr.Grammar.from_json_schema({"type": "array", "prefixItems": [{}], "minItems": 2})
    assert "additional" in caplog.text and _is_grammar_accept_string(grammar, "[1,2]")


def test_the_dialects_are_wider():
    for read, source, text in [
        (xgr.Grammar.from_ebnf, "root ::= 'a'i | ", "A"),
        (xgr.Grammar.from_ebnf, 'root ::= "a"{2}{2}', "aaaa"),
        (xgr.Grammar.from_regex, "[]a]", "]"),
        (xgr.Grammar.from_regex, "(?i)a", "A"),
    ]:
        assert _is_grammar_accept_string(read(source), text), source


def test_passes_keep_grammars():
    grammar = xgr.Grammar.from_ebnf('root ::= "a"')
    passes = [name for name in vars(xgr.testing.GrammarFunctor) if not name.startswith("_")]
    assert len(passes) == 8 and all(getattr(xgr.testing.GrammarFunctor, name)(grammar) is grammar for name in passes)
    with pytest.raises(NotImplementedError):
        xgr.testing._print_grammar_fsms(grammar)


def test_schemas_in_other_styles_as_ebnf():
    text = xgr.testing._json_schema_to_ebnf(OBJECT, json_format="qwen_xml")
    assert _is_grammar_accept_string(text, "<parameter=a>x</parameter>")
    assert _is_grammar_accept_string(xgr.testing._json_schema_to_ebnf(OBJECT), '{"a": "x"}')


def test_a_compiled_grammar_is_read_back():
    info = xgr.TokenizerInfo(TOKENS)
    compiler = xgr.GrammarCompiler(info)
    for compiled in [compiler.compile_json_schema(OBJECT), compiler.compile_regex("a."), compiler.compile_lark('start: "a"')]:
        again = xgr.CompiledGrammar.deserialize_json(compiled.serialize_json(), info)
        assert again.serialize_json() == compiled.serialize_json() and str(again.grammar) == str(compiled.grammar)
        assert allowed(xgr.GrammarMatcher(again), info) == allowed(xgr.GrammarMatcher(compiled), info)


def test_any_order_takes_each_key_once():
    grammar = xgr.Grammar.from_json_schema(OBJECT, any_order=True)
    for text in ['{"a": "x", "b": 1}', '{"b": 1, "a": "x"}']:
        assert _is_grammar_accept_string(grammar, text)
    assert not _is_grammar_accept_string(grammar, '{"b": 1, "a": "x", "b": 1}')


def test_a_regular_expression_is_that_of_xgrammar():
    assert _is_grammar_accept_string(xgr.Grammar.from_regex(r"a.b"), "a\nb")
    assert not _is_grammar_accept_string(xgr.Grammar.from_regex(r"\d"), "٣")
    assert _is_grammar_accept_string(xgr.Grammar.from_regex(r'"[^"]*"/\\'), '"é"/\\')


def test_printed_grammars_are_read_again():
    for grammar, text in [
        (xgr.Grammar.from_json_schema(OBJECT), '{"a": "x"}'),
        (xgr.Grammar.from_lark("start: /[a-z]+/"), "abc"),
        (xgr.Grammar.from_regex("[a-z]+/"), "abc/"),
        (xgr.Grammar.concat(xgr.Grammar.from_ebnf('root ::= "a"'), xgr.Grammar.from_ebnf('root ::= "b"')), "ab"),
        (xgr.Grammar.union(xgr.Grammar.from_ebnf('root ::= "a"'), xgr.Grammar.from_ebnf('root ::= "b"')), "b"),
    ]:
        assert str(grammar).startswith("root ::=")
        assert _is_grammar_accept_string(xgr.Grammar.from_ebnf(str(grammar)), text)
        assert _is_grammar_accept_string(xgr.Grammar.deserialize_json(grammar.serialize_json()), text)


def test_structural_tags_in_all_forms():
    tag = xgr.structural_tag.TagFormat(
        begin="<f>", content=xgr.structural_tag.JSONSchemaFormat(json_schema=OBJECT), end="</f>"
    )
    new = xgr.StructuralTag(format=xgr.structural_tag.TriggeredTagsFormat(triggers=["<f>"], tags=[tag]))
    items = [xgr.StructuralTagItem(begin="<f>", schema=json.dumps(OBJECT), end="</f>")]
    forms = [(new,), (new.model_dump(),), (new.model_dump_json(),), (items, ["<f>"])]
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo([]))
    for form in forms:
        matcher = xgr.GrammarMatcher(compiler.compile_structural_tag(*form), terminate_without_stop_token=True)
        assert matcher.accept_string('text <f>{"a": "x"}</f> text') and matcher.is_terminated()
        assert not matcher.accept_string("<f>1")
    with pytest.raises(TypeError):
        xgr.Grammar.from_structural_tag()


TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": OBJECT}},
    {"type": "function", "function": {"name": "g", "parameters": OBJECT, "strict": False}},
    {"type": "web_search", "name": "browser.search"},
]


def test_schemas_within_tags_are_checked(caplog):
    for schema in ({"type": "foo"}, {"type": "string", "pattern": "("}, {"$ref": "#/x"}):
        tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}}
        for read in (xgr.Grammar.from_structural_tag, xgr.GrammarCompiler(xgr.TokenizerInfo([])).compile_structural_tag):
            with pytest.raises(xgr.InvalidStructuralTagError):
                read(tag)
    xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"pattern": "(a)\\1"}}})
    assert "`pattern` at #/pattern is not enforced" in caplog.text


def test_the_choice_among_tools():
    functions, builtins, choice = xgr.normalize_tool_choice(TOOLS, "required")
    assert ([tool.function.name for tool in functions], choice) == (["f", "g"], "required") and len(builtins) == 1
    assert xgr.normalize_tool_choice(TOOLS, "none") == ([], [], "auto")
    assert xgr.normalize_tool_choice(TOOLS, {"type": "web_search"})[1:] == (builtins, "forced")
    named = {"type": "function", "function": {"name": "g"}}
    assert [tool.function.name for tool in xgr.normalize_tool_choice(TOOLS, named)[0]] == ["g"]
    allowed_tools = {"mode": "auto", "tools": [named, {"type": "web_search"}]}
    found = xgr.normalize_tool_choice(TOOLS, {"type": "allowed_tools", "allowed_tools": allowed_tools})
    assert ([tool.function.name for tool in found[0]], len(found[1]), found[2]) == (["g"], 1, "auto")
    for tools, wrong in [
        ([], "required"),
        (TOOLS, {"type": "function", "function": {"name": "h"}}),
        (TOOLS, {"type": "x"}),
        (TOOLS, 5),
        ("f", "auto"),
        ([{}], "auto"),
    ]:
        with pytest.raises(ValueError):
            xgr.normalize_tool_choice(tools, wrong)


def test_tags_of_models():
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo([]))
    for reasoning, text in [
        ("disabled", 'Well.<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>'),
        ("enabled", 'hm</think>\n\nWell.<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>'),
    ]:
        tag = xgr.get_model_structural_tag("qwen_3", TOOLS, reasoning=reasoning)
        assert isinstance(tag, xgr.StructuralTag)
        matcher = xgr.GrammarMatcher(compiler.compile_structural_tag(tag), terminate_without_stop_token=True)
        assert matcher.accept_string(text) and matcher.is_terminated(), text
    with pytest.raises(ValueError):
        xgr.get_model_structural_tag("no such model", TOOLS)

    for reasoning in ("auto", "enabled", "disabled"):
        # Of a model that doesn't reason.
        assert xgr.get_model_structural_tag("llama", TOOLS, reasoning=reasoning) == xgr.get_model_structural_tag("llama", TOOLS)

    @xgr.register_model_structural_tag("mine")
    def build(functions, builtins, choice, **options):
        names = [tool.function.name for tool in functions]
        return xgr.StructuralTag(format=xgr.structural_tag.ConstStringFormat(value=f"{choice}: {names}"))

    assert xgr.get_model_structural_tag("mine", TOOLS).format.value == "auto: ['f', 'g']"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"enum": ["on", 1]}, ["true\">on", "false\">1"], ["false\">on", "true\">1", "true\">off"]),
        ({"type": "string", "pattern": "^[a-z]+$"}, ["true\">on"], ["true\">\"on\"", "true\">1"]),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]}, ["true\">on", "false\">12"], ["true\">off", "false\">on"]),
        ({"$ref": "#/$defs/d"}, ["true\">on", "false\">[1]"], ["false\">1", "true\">off"]),
    ],
)
def test_printed_parameters_are_read_again_as_the_same(schema, good, bad):
    defs = {"d": {"anyOf": [{"const": "on"}, {"type": "array", "items": {"type": "integer"}}]}}
    schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": defs}
    written = {"type": "structural_tag", "format": {"type": "json_schema", "style": "deepseek_xml", "json_schema": schema}}
    grammar = xgr.Grammar.from_structural_tag(written)
    for read in (grammar, xgr.Grammar.from_ebnf(str(grammar))):
        for texts, is_accepted in ((good, True), (bad, False)):
            for text in texts:
                assert accepts(read, f'<｜DSML｜parameter name="a" string="{text}</｜DSML｜parameter>') == is_accepted, text


def test_each_model_has_a_function_of_its_own():
    from maskwright.compat.xgrammar import builtin_structural_tag as builtin

    functions, builtins, choice = xgr.normalize_tool_choice(TOOLS, "required")
    names = [name.removeprefix("get_").removesuffix("_structural_tag") for name in vars(builtin) if re.fullmatch("get_.*_structural_tag", name)]
    models = sorted(set(names) - {"model", "builtin"})
    assert len(models) == 18
    for model in models:
        reasoning = "auto" if model == "minimax_m3" else "enabled"
        tools = TOOLS[:1] if model == "minimax_m3" else TOOLS
        functions, builtins, choice = xgr.normalize_tool_choice(tools, "required")
        made = getattr(builtin, f"get_{model}_structural_tag")(functions, builtins, choice)
        assert made == xgr.get_model_structural_tag(model, tools, "required", reasoning=reasoning), model


def test_a_tool_with_a_function_needs_no_type():
    (function,), builtins, _ = xgr.normalize_tool_choice([{"function": {"name": "f"}}])
    assert function.function.name == "f" and builtins == []
    with pytest.raises(ValueError, match="function.name"):
        xgr.normalize_tool_choice([{"function": {}}])
    with pytest.raises(ValueError, match="Unknown format type"):
        # The model is looked at first.
        xgr.get_model_structural_tag("no such model", 5)


def test_special_tokens_in_free_text():
    def excluded(**options):
        tag = xgr.get_model_structural_tag("qwen_3", TOOLS, reasoning=False, **options)
        return "<think>" in tag.model_dump_json(), accepts(xgr.Grammar.from_structural_tag(tag), "a<think>b")

    assert excluded() == (True, False)
    assert excluded(exclude_special_tokens=False) == (False, True)


def test_regular_expressions_in_the_spelling_of_xgrammar():
    for pattern, good, bad in [
        (r"[a[&&~]+", "a[&~", "ab"),
        (r"[^[]", "]", "["),
        (r"[^]", "]", ""),
        (r"[^a\]b[]+", "xy", "["),
        (r"\cA\0\e\q", "\x01\x00\x1bq", "cA0eq"),
        (r"[\b\0]{2}", "\b\0", "b0"),
        (r"\[\]\\[x]", "[]\\x", "[]x"),
    ]:
        for grammar in (xgr.Grammar.from_regex(pattern), xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS)).compile_regex(pattern)):
            assert accepts(grammar, good) and not accepts(grammar, bad), pattern
    for pattern in (r"(a)\1", r"a\b", r"[", "a\\"):
        with pytest.raises(RuntimeError):
            xgr.Grammar.from_regex(pattern)


def test_lark_in_the_reading_of_xgrammar():
    # The marker of `stop` is read.
    grammar = xgr.Grammar.from_lark('start: h "z"\nh[stop="!"]: /[a-z]*/')
    assert accepts(grammar, "ab!z") and not accepts(grammar, "abz")
    # Texts refer to each other, in any order.
    named = {"pair": 'start: @item ":" @item', "item": 'start: @digit+', "digit": xgr.Grammar.from_ebnf("root ::= [0-9]")}
    assert accepts(xgr.Grammar.from_lark("start: @pair", named_grammars=named), "12:3")
    for wrong in ({"pair": "start: @other"}, {"pair": "start: @item", "item": "start: @pair"}):
        with pytest.raises(RuntimeError, match="there is no grammar"):
            xgr.Grammar.from_lark("start: @pair", named_grammars=wrong)


def test_batches():
    info = xgr.TokenizerInfo(TOKENS)
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "a" "6"')
    matchers = [xgr.GrammarMatcher(compiled) for _ in range(20)]
    batch = xgr.BatchGrammarMatcher(max_threads=2)
    assert batch.batch_accept_token(matchers, [2, 10] * 10) == [True, False] * 10
    rows = bitmask_of(info, 21)
    batch.batch_fill_next_token_bitmask(matchers, rows, list(range(1, 21)))
    assert rows[:, 0].tolist() == [0] + [1 << 10, 1 << 2] * 10
    assert batch.batch_accept_string(matchers[:2], ["6", "a"]) == [True, True]
    batch.batch_rollback(matchers[:2], [2, 1])
    with pytest.raises(RuntimeError):
        batch.batch_rollback(matchers[:2], [1])


def test_the_cache_of_a_compiler():
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(TOKENS))
    assert compiler.cache_limit_bytes == -1 and compiler.get_cache_size_bytes() == 0
    compiler.compile_json_schema(OBJECT)
    size = compiler.get_cache_size_bytes()
    compiler.compile_json_schema(OBJECT)
    assert size == compiler.get_cache_size_bytes() > 0
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0


def test_the_shim_stands_for_the_package():
    code = (
        "import xgrammar, xgrammar.structural_tag, maskwright.compat.xgrammar as real\n"
        "from xgrammar.openai_tool_call_schema import FunctionToolParam\n"
        "assert xgrammar is real and xgrammar.structural_tag is real.structural_tag\n"
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import xgrammar; xgrammar.Grammar.from_ebnf(\"root ::= []\")'])\n"
    )
    ran = subprocess.run([sys.executable, "-m", "maskwright.shim", "-c", code], capture_output=True, text=True, check=True)
    assert "RuntimeError" in ran.stderr and "maskwright" in ran.stderr
    assert subprocess.run([sys.executable, "-m", "maskwright.shim"], capture_output=True, check=False).returncode == 2


def test_masks_on_tensors():
    torch = pytest.importorskip("torch", reason="tensors")
    bitmask = xgr.allocate_token_bitmask(3, 70)
    assert tuple(bitmask.shape) == xgr.get_bitmask_shape(3, 70) == (3, 3) and bitmask.dtype == xgr.bitmask_dtype
    bitmask.fill_(0b101)
    logits = torch.ones(3, 80, dtype=torch.bfloat16)
    xgr.apply_token_bitmask_inplace(logits, bitmask, vocab_size=70, indices=[0, 2])
    assert torch.isfinite(logits).sum(-1).tolist() == [6 + 10, 80, 6 + 10]
    with pytest.raises(RuntimeError):
        xgr.apply_token_bitmask_inplace(logits, bitmask, vocab_size=90)
    xgr.reset_token_bitmask(bitmask)
    assert (bitmask == -1).all()


def test_trees_of_drafts():
    torch = pytest.importorskip("torch", reason="trees are tensors")
    matcher, info = matcher_of('root ::= "a" ("6" "}" | ":" "{")')
    # Behind the text "a" come "6" and ":", behind "6" come "}" and, wrongly, "{".
    children, siblings = torch.tensor([1, 3, -1, -1, -1]), torch.tensor([-1, 2, -1, 4, -1])
    tokens = torch.tensor([2, 10, 11, 8, 7])
    matcher.accept_token(2)
    rows = xgr.allocate_token_bitmask(5, info.vocab_size)
    assert matcher.traverse_draft_tree(children, siblings, tokens, rows)
    assert rows[:, 0].tolist() == [1 << 10 | 1 << 11, 1 << 8, 1 << 7, 1 << 1, 0]
    with pytest.raises(RuntimeError):
        matcher.traverse_draft_tree(torch.tensor([0]), torch.tensor([-1]), torch.tensor([2]), rows)


def test_masks_in_mlx():
    mx = pytest.importorskip("mlx.core", reason="the kernel of mlx")
    from maskwright.compat.xgrammar.kernels.apply_token_bitmask_mlx import apply_token_bitmask_mlx

    bitmask = mx.array([[0b101, -(1 << 31)], [-1, 0]], dtype=mx.int32)
    found = apply_token_bitmask_mlx(bitmask, mx.ones((2, 70)), 64)
    assert [[index for index, value in enumerate(row) if value == 1] for row in found.tolist()] == [[0, 2, 63], list(range(32))]

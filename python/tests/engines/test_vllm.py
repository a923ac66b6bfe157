"""The adapter of vLLM, with stand-ins of vLLM's classes."""

import importlib
import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
from engine_vocabulary import N_WORDS, WIDTH, Tokenizer, set_bits

TOKENIZER = Tokenizer()
STOP = TOKENIZER.eos_token_id


@pytest.fixture
def adapter(stand_ins, monkeypatch):
    """The adapter, registered."""
    monkeypatch.setenv("MASKWRIGHT_VLLM", "1")
    adapter = importlib.import_module("maskwright.vllm")
    adapter.register()
    return adapter


def backend(**config):
    structured_output = importlib.import_module("vllm.v1.structured_output")
    config = SimpleNamespace(structured_outputs_config=SimpleNamespace(disable_any_whitespace=False) if not config else SimpleNamespace(**config))
    return structured_output.XgrammarBackend(config, tokenizer=TOKENIZER, vocab_size=WIDTH)


def key_of(**params):
    request = importlib.import_module("vllm.v1.structured_output.request")
    return request.get_structured_output_key(importlib.import_module("vllm.sampling_params").StructuredOutputsParams(**params))


def grammar_of(stop_token_ids=frozenset({STOP}), **params):
    return backend().compile_grammar(*key_of(**params), stop_token_ids=stop_token_ids)


def rows(n=1):
    return numpy.full((n, N_WORDS), -1, dtype=numpy.int32)


def allowed(grammar):
    bitmask = rows()
    grammar.fill_bitmask(bitmask, 0)
    return set_bits(bitmask[0])


def accepts(grammar, text):
    return grammar.accept_tokens("r", [*TOKENIZER.encode(text), STOP]) and grammar.is_terminated()


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TAG = {"type": "structural_tag", "format": {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": OBJECT}, "end": "</call>"}}
OLD_TAG = {"structures": [{"begin": "<call>", "schema": OBJECT, "end": "</call>"}], "triggers": ["<call"]}

KINDS = [
    ({"json": OBJECT}, '{"a": 1}', '{"b": 1}'),
    ({"json": json.dumps(OBJECT)}, '{"a":1}', '{"a":1,"b":2}'),
    ({"json_object": True}, '{"x": [1, {}]}', "[1]"),
    ({"regex": "[ab]{2}"}, "ab", "abc"),
    ({"regex": ""}, "", "a"),
    # As XGrammar reads them: a dot is any character, and digits are those of ASCII.
    ({"regex": r"^.\d$"}, "\n3", "a\u0663"),
    ({"regex": '"\\\\/\u00e9\U0001f600\t'}, '"\\/\u00e9\U0001f600\t', '"'),
    ({"choice": ["yes", 'a"\n']}, 'a"\n', "no"),
    ({"grammar": 'root ::= "a" root?'}, "aaa", "b"),
    ({"grammar": 'start: "a" B\nB: /[0-9]+/'}, "a12", "a"),
    ({"structural_tag": json.dumps(TAG)}, '<call>{"a": 1}</call>', '{"a": 1}'),
    ({"structural_tag": json.dumps(OLD_TAG)}, 'text <call>{"a": 1}</call> text', '<call>{"b": 1}</call>'),
]


@pytest.mark.parametrize(("params", "text", "other"), KINDS)
def test_all_kinds(adapter, params, text, other):
    assert accepts(grammar_of(**params), text)
    assert not accepts(grammar_of(**params), other)


@pytest.mark.parametrize(("params", "text", "other"), KINDS)
def test_validation_accepts_all_kinds_and_changes_nothing(adapter, params, text, other):
    module = importlib.import_module("vllm.sampling_params")
    params = module.StructuredOutputsParams(**params)
    before = vars(params).copy()
    adapter.validate(module.SamplingParams(structured_outputs=params))
    assert vars(params) == before


@pytest.mark.parametrize(
    "params",
    [
        {"json": '{"type": "obj'},
        {"json": {"type": "strin"}},
        {"json": {"required": ["a"], "type": "object", "properties": {"a": False}}},
        {"regex": "(a"},
        {"regex": r"(a|b)\1"},
        {"grammar": 'root ::= "a'},
        {"grammar": "root ::= other"},
        {"grammar": "start: ("},
        {"choice": []},
        {"choice": [1]},
        {"structural_tag": "[1]"},
        {"structural_tag": json.dumps({"type": "structural_tag", "format": {"type": "nothing"}})},
        {"json": {"type": "integer"}, "whitespace_pattern": "x"},
        {"json": {"type": "integer"}, "whitespace_pattern": "("},
    ],
)
def test_validation_refuses(adapter, params):
    module = importlib.import_module("vllm.sampling_params")
    refused = importlib.import_module("vllm.exceptions").VLLMValidationError
    with pytest.raises(refused):
        adapter.validate(module.SamplingParams(structured_outputs=module.StructuredOutputsParams(**params)))


def test_validation_leaves_token_names_to_the_compile(adapter):
    module = importlib.import_module("vllm.sampling_params")
    adapter.validate(module.SamplingParams(structured_outputs=module.StructuredOutputsParams(grammar="root ::= <think>")))
    assert allowed(grammar_of(grammar="root ::= <think>")) == {TOKENIZER.special_ids["<think>"]}
    with pytest.raises(ValueError, match="no_such_token"):
        grammar_of(grammar="root ::= <no_such_token>")


def test_auto_is_ours_and_never_another(adapter):
    module = importlib.import_module("vllm.sampling_params")
    config = SimpleNamespace(backend="auto")
    refused = importlib.import_module("vllm.exceptions").VLLMValidationError
    params = module.SamplingParams(structured_outputs=module.StructuredOutputsParams(json=OBJECT))
    params._validate_structured_outputs(None, config, None)
    assert params.structured_outputs._backend == "xgrammar"
    assert config.backend == "auto"
    params = module.SamplingParams(structured_outputs=module.StructuredOutputsParams(json="{"))
    with pytest.raises(refused):
        params._validate_structured_outputs(None, structured_outputs_config=config, tokenizer=None)


def test_another_backend_is_left_alone_with_a_warning(adapter, caplog):
    module = importlib.import_module("vllm.sampling_params")
    for _ in range(2):
        params = module.SamplingParams(structured_outputs=module.StructuredOutputsParams(json=OBJECT))
        params._validate_structured_outputs(None, SimpleNamespace(backend="guidance"), None)
        assert params.structured_outputs._backend == "guidance"
    assert caplog.text.count("'guidance'") == 1


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"MASKWRIGHT_VLLM": "1"}, True),
        ({"MASKWRIGHT_VLLM": "0", "VLLM_PLUGINS": "maskwright"}, False),
        ({"VLLM_PLUGINS": "other,maskwright"}, True),
        ({"VLLM_PLUGINS": "other"}, False),
    ],
)
def test_switch(stand_ins, monkeypatch, environment, expected):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    adapter = importlib.import_module("maskwright.vllm")
    adapter.register()
    importlib.import_module("vllm.v1.structured_output")
    assert adapter.is_active() is expected
    adapter.register()
    assert adapter.is_active() is expected


def test_a_vllm_without_the_names_is_refused_loudly(stand_ins, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_VLLM", "1")
    module = importlib.import_module("vllm.v1.structured_output.backend_xgrammar")
    monkeypatch.delattr(module, "validate_xgrammar_grammar")
    adapter = importlib.import_module("maskwright.vllm")
    with pytest.raises(RuntimeError, match="validate_xgrammar_grammar"):
        adapter.register()
    assert not adapter.is_active()


def test_a_switch_that_is_no_switch_is_refused(stand_ins, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_VLLM", "yes")
    with pytest.raises(ValueError, match="1 or 0"):
        importlib.import_module("maskwright.vllm").register()


def test_a_limit_that_is_no_number_is_refused(stand_ins, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_VLLM", "1")
    monkeypatch.setenv("MASKWRIGHT_COMPILE_TIMEOUT", "soon")
    with pytest.raises(RuntimeError, match="soon"):
        importlib.import_module("maskwright.vllm").register()


def test_white_space_options_of_requests(adapter):
    spaced = '{"a" : 1}'
    assert accepts(grammar_of(json=OBJECT), spaced)
    assert not accepts(grammar_of(json=OBJECT, disable_any_whitespace=True), spaced)
    assert accepts(grammar_of(json=OBJECT, disable_any_whitespace=True), '{"a":1}')
    assert accepts(grammar_of(json=OBJECT, whitespace_pattern=r"\s?"), spaced)
    assert not accepts(grammar_of(json=OBJECT, whitespace_pattern=r"\s?"), '{"a"  : 1}')
    # Tabs are not allowed by this one, so nothing is written between tokens.
    assert not accepts(grammar_of(json=OBJECT, whitespace_pattern="[ ]?"), spaced)
    assert accepts(grammar_of(json=OBJECT, whitespace_pattern="[ ]?"), '{"a":1}')


def test_white_space_option_of_the_engine(adapter):
    compact = backend(disable_any_whitespace=True)
    assert not accepts(compact.compile_grammar(*key_of(json=OBJECT)), '{"a" : 1}')


def test_stop_tokens_of_a_request(adapter):
    padding = WIDTH - 1
    word = TOKENIZER.encode("x")[0]
    for stops in ({padding}, {STOP, padding}, {word}, {STOP, 10_000_000}, {STOP, -1}):
        grammar = grammar_of(regex="a", stop_token_ids=stops)
        known = {token for token in stops if 0 <= token < WIDTH}
        assert allowed(grammar) == set(TOKENIZER.encode("a"))
        assert grammar.accept_tokens("r", TOKENIZER.encode("a"))
        assert allowed(grammar) == known
    # Without any, those of the tokenizer.
    for none in (None, set()):
        grammar = grammar_of(regex="a", stop_token_ids=none)
        grammar.accept_tokens("r", TOKENIZER.encode("a"))
        assert allowed(grammar) == {STOP}


def test_tokens_after_the_end_are_ignored(adapter):
    grammar = grammar_of(regex="a")
    assert grammar.accept_tokens("r", [*TOKENIZER.encode("a"), STOP, 5, 6])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("r", [7])
    assert grammar.validate_tokens([STOP]) == []


def test_a_token_that_is_refused(adapter, caplog):
    grammar = grammar_of(regex="ab")
    a, b = TOKENIZER.encode("ab")
    for bad in (b, -1, WIDTH, 1 << 40):
        assert not grammar.accept_tokens("request-7", [bad])
    assert "request-7" in caplog.text
    assert grammar.accept_tokens("r", [a, b])


def test_drafts(adapter):
    grammar = grammar_of(regex="a[bc]{2}")
    a, b, c, d = TOKENIZER.encode("abcd")
    before = allowed(grammar)
    assert grammar.validate_tokens([a, b, d]) == [a, b]
    assert grammar.validate_tokens([a, b, c, STOP, STOP]) == [a, b, c, STOP]
    assert grammar.validate_tokens([a, -1]) == [a]
    assert grammar.validate_tokens([]) == []
    assert allowed(grammar) == before
    for token in (a, b, c, STOP):
        assert grammar.accept_tokens("r", [token])
    assert grammar.is_terminated()
    grammar.rollback(4)
    assert not grammar.is_terminated()
    assert allowed(grammar) == before
    grammar.accept_tokens("r", [a])
    grammar.reset()
    assert allowed(grammar) == before


def test_no_call_of_a_step_raises(adapter, caplog):
    grammar = grammar_of(regex="ab", stop_token_ids={STOP, 31, 32})
    grammar.rollback(3)
    assert "take back" in caplog.text
    bitmask = rows()
    # A row that isn't there, then an array that can't be filled: its row is closed.
    grammar.fill_bitmask(numpy.full((1, N_WORDS), -1, dtype=numpy.int64), 0)
    assert "mask can't be found" in caplog.text
    narrow = numpy.full((2, N_WORDS - 4), -1, dtype=numpy.int32)
    grammar = grammar_of(regex="ab", stop_token_ids={31, 32, WIDTH - 1})
    grammar.fill_bitmask(narrow, 1)
    assert set_bits(narrow[1]) == {31, 32}
    assert set_bits(narrow[0]) == set(range(32 * (N_WORDS - 4)))
    grammar.fill_bitmask(bitmask, 1000)
    assert "can't write the row 1000" in caplog.text
    grammar.fill_bitmask(bitmask, 0)
    assert set_bits(bitmask[0]) == set(TOKENIZER.encode("a")) | {TOKENIZER.ids["ab"]}


def test_a_tokenizer_that_can_not_be_read_fails_requests_only(adapter):
    structured_output = importlib.import_module("vllm.v1.structured_output")
    config = SimpleNamespace(structured_outputs_config=SimpleNamespace(disable_any_whitespace=False))
    unreadable = structured_output.XgrammarBackend(config, tokenizer=SimpleNamespace(), vocab_size=WIDTH)
    with pytest.raises(ValueError, match="tokenizer"):
        unreadable.compile_grammar(*key_of(regex="a"))
    unreadable.destroy()


def test_what_can_not_be_enforced_is_named_once(adapter, caplog):
    caplog.set_level(logging.WARNING)
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"^(a|b)\1$"}}, "required": ["a"]}
    compiled = backend()
    for _ in range(2):
        assert accepts(compiled.compile_grammar(*key_of(json=schema)), '{"a": "ab"}')
    assert caplog.text.count("#/properties/a/pattern") == 1
    caplog.clear()
    tag = TAG | {"format": TAG["format"] | {"content": {"type": "json_schema", "json_schema": schema}}}
    assert accepts(compiled.compile_grammar(*key_of(structural_tag=json.dumps(tag))), '<call>{"a": "ab"}</call>')
    assert "structural tag" in caplog.text and "pattern" in caplog.text


def test_markers_may_be_control_tokens(adapter):
    tool = TOKENIZER.special_ids["<|tool|>"]
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<|tool|>", "content": {"type": "regex", "pattern": "a"}, "end": ""}}
    for params in ({"structural_tag": json.dumps(tag)}, {"grammar": 'root ::= "<|tool|>" "a"'}, {"grammar": 'start: "<|tool|>" "a"'}):
        assert allowed(grammar_of(**params)) == {tool, TOKENIZER.encode("<")[0]}
    assert tool not in allowed(grammar_of(regex=".*"))


def test_backends_of_one_tokenizer_share_what_they_compile(adapter):
    first, second = backend(), backend()
    assert first.compiler is second.compiler
    for params in ({"json": OBJECT}, {"grammar": 'root ::= "a"'}):
        key = key_of(**params)
        first.compile_grammar(*key)
        made = first.compiler.compiler.stats()["units_made"]
        second.compile_grammar(*key)
        assert first.compiler.compiler.stats()["units_made"] == made
    first.destroy()
    assert second.compile_grammar(*key_of(regex="a")) is not None


def test_many_threads(adapter):
    compiled = backend()
    bitmask = rows(32)
    expected = rows()
    compiled.compile_grammar(*key_of(json=OBJECT)).fill_bitmask(expected, 0)
    grammars = [compiled.compile_grammar(*key_of(json=OBJECT)) for _ in range(32)]
    threads = [
        threading.Thread(target=lambda part=part: [grammars[row].fill_bitmask(bitmask, row) for row in range(part, 32, 4)])
        for part in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (bitmask == expected).all()


def test_a_long_compile_ends(adapter, monkeypatch):
    monkeypatch.setenv("MASKWRIGHT_COMPILE_TIMEOUT", "0.000001")
    adapter._compilers.clear()
    with pytest.raises(ValueError):
        grammar_of(regex="((a{1,100}){1,100}){1,100}b")
    adapter._compilers.clear()


def test_the_check_of_an_environment(stand_ins, tmp_path):
    """As a program, with the stand-ins: the plug-in is found by its entry point, and can be installed."""
    info = tmp_path / "maskwright-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: maskwright\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\nmaskwright = maskwright.vllm:register\n")
    # Without what an installation has beside it.
    package = tmp_path / "without_installation"
    package.mkdir()
    (package / "maskwright").symlink_to(Path(importlib.import_module("maskwright").__file__).parent)
    stands = Path(__file__).parent / "stand_ins"
    for paths, status, words in (
        ([stands, tmp_path, package], 0, "can take the place"),
        ([tmp_path, package], 1, "can't install itself"),
    ):
        environment = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PATH": os.environ["PATH"]}
        command = [sys.executable, "-S", "-m", "maskwright.vllm"]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (run.returncode, words in run.stdout) == (status, True), (run.stdout, run.stderr)
    environment = {"PYTHONPATH": os.pathsep.join(map(str, [stands, package])), "PATH": os.environ["PATH"]}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "not installed in this environment" in run.stdout

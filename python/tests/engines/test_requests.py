"""Requests of engines: kinds and texts, white space, validation, and states by sequences."""

import json
import re

import pytest
from engine_vocabulary import N_WORDS, WIDTH, Tokenizer, set_bits

import maskwright
from maskwright._relaxed import read_relaxed
from maskwright._requests import RequestCompiler, Validator, choice_texts, is_lark, white_space_max_of, white_space_options
from maskwright._sequences import STATES_PER_ROW, Sequences, sequence_of


@pytest.fixture(scope="module")
def vocab():
    return maskwright.Vocab.from_tokenizer(Tokenizer(), width=WIDTH)


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [(r"\s*", 16), (r"\s?", 1), (r"[ \t\r\n]{0,5}", 4), (r"[ ]?", 0), ("", 0), (r"(\s\s)*", 0), (r"[\n\t ]*", 0), ("x*", 0), (r"\s{0,15}", 8)],
)
def test_white_space_of_a_pattern(pattern, longest):
    assert white_space_max_of(pattern) == longest
    # By the definition, for short runs.
    runs = ["", " ", "\t", "\n", "\r", "  ", " \t", "\n\n", "\r\n\t"]
    assert all(re.fullmatch(pattern, run) for run in runs if len(run) <= longest)


@pytest.mark.parametrize("pattern", ["x", r"\s+", "(", "a\\"])
def test_patterns_that_can_not_be_honoured(pattern):
    with pytest.raises(ValueError):
        white_space_options(pattern=pattern)


def test_white_space_options():
    assert white_space_options() == {}
    assert white_space_options(pattern="x", is_compact=True) == {"white_space_max": 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [('root ::= "a"', False), ('start: "a"', True), ('start: "a" // ::=', True), ('# ::=\nstart: "a"', True), ('# a\nroot ::=\n "a"', False)],
)
def test_dialects(text, expected):
    assert is_lark(text) is expected


@pytest.mark.parametrize("spec", ["[]", "[1]", "{}", '"a"', "[", '["a", null]'])
def test_choices_that_are_none(spec):
    with pytest.raises(ValueError):
        choice_texts(spec)


def test_kinds(vocab):
    compiler = RequestCompiler(vocab)
    with pytest.raises(ValueError, match="no kind"):
        compiler.compile("other", "")
    assert compiler.compile("choice", '["a", "a", ""]').matcher().is_accepting
    # What isn't cached by the compiler is kept beside it.
    assert compiler.compile("grammar", 'root ::= "a"') is compiler.compile("grammar", 'root ::= "a"')
    for index in range(100):
        compiler.compile("grammar", f'root ::= "a{index}"')
    assert len(compiler._grammars) <= 64


def test_what_a_schema_in_a_tag_excludes(vocab, caplog):
    excluding = {"type": "json_schema", "json_schema": {"enum": ["a", "xb"]}, "excludes": ["b"]}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<f>", "content": excluding, "end": "</f>"}}
    matcher = RequestCompiler(vocab).compile("structural_tag", json.dumps(tag)).matcher()
    matcher.accept_bytes('<f>"a"</f>')
    assert matcher.is_accepting and not caplog.text
    with pytest.raises(ValueError, match="regular expression"):
        RequestCompiler(vocab).compile("structural_tag", json.dumps(tag | {"format": {"type": "regex", "pattern": "("}}))


def test_errors_have_their_place_in_the_pattern(vocab):
    with pytest.raises(maskwright.CompileError) as caught:
        RequestCompiler(vocab).compile("regex", "ab(c")
    assert (caught.value.line, caught.value.column) == (1, 3)


def test_the_validator():
    validator = Validator()
    validator.check("grammar", "root ::= <some_token>")
    with pytest.raises(ValueError):
        validator.check("regex", "(")
    # What takes too long is for the compile, which has more time.
    Validator(timeout=0.0).check("regex", "((a{1,100}){1,100}){1,100}b")


def test_states_of_many_sequences(vocab):
    numpy = pytest.importorskip("numpy")
    grammar = maskwright.GrammarCompiler(vocab).compile_regex("[ab]*c")
    sequences = Sequences(grammar)
    bitmask = numpy.zeros((4, N_WORDS), dtype=numpy.int32)
    a, b, c = b"abc"
    prompt = [9, 9]
    grown = list(prompt)
    for step in range(3 * STATES_PER_ROW):
        assert sequences.fill([sequence_of(grown)] * 4, bitmask) == [0, 1, 2, 3]
        grown.append((a, b)[step % 2])
    assert len(sequences._states) <= 4 * STATES_PER_ROW
    # A sequence whose states are forgotten is read again from its prompt.
    sequences._states.clear()
    sequences.fill([sequence_of([*grown, c])], bitmask)
    assert set_bits(bitmask[0]) == set(vocab.stop_tokens)
    assert not sequences.is_finished(sequence_of([*grown, c]))
    sequences.fill([sequence_of([*grown, c, *vocab.stop_tokens])], bitmask)
    assert sequences.is_finished(sequence_of([*grown, c, *vocab.stop_tokens]))
    # What no grammar allows behind a known prompt is a prompt of its own.
    sequences._states.clear()
    sequences.fill([sequence_of([*prompt, c, c, c])], bitmask)
    assert set_bits(bitmask[0]) >= {a, b, c}


def test_vocabularies_of_a_batch(vocab):
    other = maskwright.Vocab(["a", "b"])
    with pytest.raises(ValueError, match="different sizes"):
        Sequences([maskwright.GrammarCompiler(each).compile_regex("a") for each in (vocab, other)])


def test_required_properties_that_are_not_declared(vocab, caplog):
    compiler = RequestCompiler(vocab)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["z"]}
    for _ in range(2):
        matcher = compiler.compile("json", json.dumps(schema)).matcher()
        matcher.accept_bytes('{"z": 1}')
        assert matcher.is_accepting
    assert caplog.text.count("additional properties and items are allowed") == 1
    # Without a way out the error is the first one.
    with pytest.raises(maskwright.CompileError) as caught:
        compiler.compile("json", json.dumps(schema | {"properties": {"z": False}}))
    assert caught.value.code == "unsatisfiable"


@pytest.mark.parametrize(
    ("schema", "text", "warning"),
    [
        ({"type": "string", "pattern": "(a|b)\\1"}, '"cc"', "`pattern` at #/pattern is not enforced"),
        ({"type": "object", "properties": {"a": {}}, "minProperties": 2}, '{"a":1,"b":2}', "additional properties and items are allowed"),
        ({"type": "array", "prefixItems": [{}], "minItems": 2}, "[1,2]", "additional properties and items are allowed"),
        ({"type": "string"}, '"a"', None),
    ],
)
def test_what_is_relaxed_is_reported_once(vocab, caplog, schema, text, warning):
    content = {"type": "json_schema", "json_schema": schema}
    for kind, spec in [("json", schema), ("structural_tag", {"type": "structural_tag", "format": content})]:
        caplog.clear()
        compiler = RequestCompiler(vocab)
        for _ in range(2):
            matcher = compiler.compile(kind, json.dumps(spec)).matcher()
            matcher.accept_bytes(text)
            assert matcher.is_accepting
        assert [record.levelname for record in caplog.records] == ([] if warning is None else ["WARNING"])
        assert warning is None or warning in caplog.text


@pytest.mark.parametrize("schema", [{"type": "string", "pattern": "("}, {"enum": []}, {"minLength": -1}, {"type": "string", "minLength": 3, "maxLength": 1}])
def test_what_is_wrong_stays_an_error(vocab, schema):
    content = {"type": "json_schema", "json_schema": schema}
    for kind, spec in [("json", schema), ("structural_tag", {"type": "structural_tag", "format": content})]:
        with pytest.raises(maskwright.CompileError):
            RequestCompiler(vocab).compile(kind, json.dumps(spec))


def test_attempts_share_one_deadline():
    seconds = []

    def read(text, timeout, **options):
        seconds.append(timeout)
        raise maskwright.CompileError("no", code="unsupported" if len(seconds) == 1 else "unsatisfiable")

    with pytest.raises(maskwright.CompileError):
        read_relaxed(read, "{}", {}, timeout=1.0)
    assert len(seconds) == 3 and 1.0 >= seconds[0] >= seconds[1] >= seconds[2] > 0

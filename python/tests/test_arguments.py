"""What callers give: numbers of any size, mappings and buffers of any kind, memory that moves; and processes that are forked."""

import array
import copy
import subprocess
import sys
import textwrap
import types
import weakref

import pytest

import maskwright
from maskwright import Grammar, MatchError, VocabError


@pytest.mark.parametrize("token", [-1, 1 << 32, 1 << 63, -(1 << 70)])
def test_integers_that_no_token_has(compiler, bytes_vocab, token):
    matcher = compiler.compile_ebnf('root ::= "abc"').matcher()
    for refused in (
        lambda: matcher.accept_token(token),
        lambda: matcher.accept_tokens([97, token]),
        lambda: matcher.replay([token]),
        lambda: matcher.explain_token(token),
        lambda: compiler.compile_ebnf('root ::= "a"').matcher(stop_tokens=[token]),
    ):
        with pytest.raises(MatchError, match=str(token)) as caught:
            refused()
        assert caught.value.token == token
    assert not matcher.try_accept_token(token) and not matcher.is_token_allowed(token)
    assert matcher.validate_tokens([97, token, 98]) == 1 and matcher.n_steps == 0
    for refused in (lambda: bytes_vocab.token_bytes(token), lambda: bytes_vocab.token_kind(token), lambda: bytes_vocab.decode([token])):
        with pytest.raises(IndexError, match=str(token)):
            refused()
    for arguments in ({"stop_tokens": [token]}, {"control": [token]}, {"added_text": {token: "x"}}):
        with pytest.raises(VocabError, match=str(token)):
            maskwright.Vocab([b"a"], **arguments)


@pytest.mark.parametrize("token", [-1, 1 << 63])
def test_a_batch_names_what_it_was_given(compiler, token):
    matchers = [compiler.compile_ebnf('root ::= "abc"').matcher() for _ in range(2)]
    errors = maskwright.accept_tokens(matchers, [97, token])
    assert list(errors) == [1] and errors[1].token == token and str(token) in str(errors[1])
    rows = array.array("I", bytes(2 * 9 * 4))
    errors = maskwright.accept_and_fill(matchers, [[98], [97, token]], memoryview(rows).cast("B").cast("I", (2, 9)))
    assert list(errors) == [1] and (errors[1].token, errors[1].token_index) == (token, 1)
    assert [matcher.n_steps for matcher in matchers] == [2, 0]


@pytest.mark.parametrize("number", [-1, 1 << 64])
def test_numbers_that_are_none(compiler, number):
    matcher = compiler.compile_ebnf('root ::= "abc"').matcher()
    row = array.array("I", bytes(9 * 4))
    for refused in (
        lambda: matcher.fill_mask(row, number),
        lambda: matcher.fill_masks_for_chain([], row, number),
        lambda: maskwright.fill_masks([matcher], row, [number]),
        lambda: maskwright.apply_mask(array.array("f", bytes(9 * 32 * 4)), row, rows=[number]),
    ):
        with pytest.raises(IndexError, match=str(number)):
            refused()
    for refused in (
        lambda: matcher.rollback(number),
        lambda: Grammar.literal("a").repeat(number),
        lambda: Grammar.literal("a").repeat(0, number),
        lambda: maskwright.GrammarCompiler(compiler.vocab, limits={"repeat_max": number}),
    ):
        with pytest.raises(ValueError, match=str(number)):
            refused()


def test_parents_that_are_no_nodes(compiler):
    matcher = compiler.compile_ebnf('root ::= "abc"').matcher()
    rows = memoryview(bytearray(2 * 9 * 4)).cast("I", (2, 9))
    for parent in (-2, 1, 1 << 40, -(1 << 70)):
        with pytest.raises(ValueError, match=str(parent)):
            matcher.fill_masks_for_tree([-1, parent], [0, 97], rows)
    assert matcher.fill_masks_for_tree([-1, 0], [0, 97], rows) == [True, True]


def test_bounds_of_repetitions(compiler):
    for bounds in ((0, 2**32 - 1), (2**32 - 1, None)):
        with pytest.raises(ValueError, match="not below 4294967295"):
            Grammar.literal("a").repeat(*bounds)
    assert compiler.compile_grammar(Grammar.literal("ab").repeat(0, 2**32 - 2)).matcher().is_accepting
    unlimited = maskwright.GrammarCompiler(compiler.vocab, limits={"repeat_max": 2**32 - 1})
    assert unlimited.compile_ebnf('root ::= "ab"{0,4294967294}').matcher().is_accepting
    with pytest.raises(maskwright.CompileError) as caught:
        unlimited.compile_ebnf('root ::= "ab"{0,4294967295}')
    assert (caught.value.code, caught.value.limit) == ("limit", (2**32 - 1, 2**32 - 2))


def test_times(compiler):
    for timeout in (1e300, float("inf")):
        compiler.compile_ebnf('root ::= "a"', timeout=timeout)
    for timeout in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="not from 0 on"):
            compiler.compile_ebnf('root ::= "a"', timeout=timeout)
    cancel = maskwright.CancelToken()
    cancel.cancel()
    tag = {"format": {"type": "any_text"}}
    for read in (lambda: Grammar.from_regex("a", cancel=cancel), lambda: Grammar.from_structural_tag(tag, cancel=cancel)):
        with pytest.raises(maskwright.CompileError) as caught:
            read()
        assert caught.value.code == "interrupted"
    assert compiler.compile_grammar(Grammar.from_regex("a", flags="i", timeout=10)).matcher().validate_tokens([65]) == 1


@pytest.mark.parametrize("kind", [dict, types.MappingProxyType, "UserDict"])
def test_mappings_of_any_kind(kind):
    import collections

    kind = collections.UserDict if kind == "UserDict" else kind
    vocab = maskwright.Vocab([b"a", b"b", b"c"], control=kind({1: "<x>"}), added_text=kind({2: "c"}))
    assert (vocab.ids_named("<x>"), vocab.ids_named("c"), vocab.token_kind(1)) == ([1], [2], "control")
    limited = maskwright.GrammarCompiler(vocab, limits=kind({"repeat_max": 2}))
    with pytest.raises(maskwright.CompileError):
        limited.compile_ebnf('root ::= "a"{3}')
    named = Grammar.from_ebnf("root ::= @other", grammars=kind({"other": Grammar.literal("a")}))
    assert limited.compile_grammar(named).matcher().allowed_tokens() == [0]
    documents = kind({"http://x/y": {"const": 1}})
    Grammar.from_json_schema({"$ref": "http://x/y"}, documents=documents)
    with pytest.raises(TypeError, match="documents"):
        Grammar.from_json_schema({}, documents=5)


def test_bytes_of_any_kind(compiler, bytes_vocab):
    matcher = compiler.compile_ebnf('root ::= "aé"*').matcher()
    for data in ("aé", "aé".encode(), bytearray("aé".encode()), memoryview("aé".encode())):
        matcher.accept_bytes(data)
        assert bytes_vocab.tokenize_greedy(data) == [97, 258]
    assert matcher.n_steps == 4
    with pytest.raises(TypeError, match="not list"):
        matcher.accept_bytes([97])
    vocab = maskwright.Vocab([bytearray(b"a"), memoryview(b"b")])
    assert vocab.decode(iter((0, 1))) == b"ab"
    with pytest.raises(TypeError):
        maskwright.Vocab([[97]])


def test_choices_of_any_iterable(compiler):
    for texts in (("a", "b"), {"a": 1, "b": 2}, (text for text in "ab")):
        assert compiler.compile_choice(texts).matcher().allowed_tokens() == [97, 98, 256][:2]
    assert str(Grammar.choice(text for text in "ab")) == str(Grammar.choice(["a", "b"]))
    with pytest.raises(TypeError, match="not one str"):
        compiler.compile_choice("ab")


def test_immutable_objects_are_their_own_copies(compiler, bytes_vocab):
    compiled = compiler.compile_ebnf('root ::= "a"')
    for thing in (compiler, bytes_vocab, compiled, Grammar.literal("a")):
        assert copy.copy(thing) is thing and copy.deepcopy({"x": thing})["x"] is thing
        assert weakref.ref(thing)() is thing
    matcher = compiled.matcher()
    assert weakref.ref(matcher)() is matcher and copy.deepcopy(matcher) is not matcher


def test_masks_that_are_too_narrow(compiler):
    numpy = pytest.importorskip("numpy")
    # Between the rows are words of others.
    masks = numpy.full((4, 20), -1, dtype=numpy.int32)[:, :10]
    logits = numpy.zeros((4, 640), dtype=numpy.float32)
    with pytest.raises(ValueError, match="320 bits for 640 tokens"):
        maskwright.apply_mask(logits, masks, n_tokens=640)
    with pytest.raises(ValueError, match="3 masks for 4 rows"):
        maskwright.apply_mask(logits, masks[:3], n_tokens=320)
    assert (logits == 0).all()
    maskwright.apply_mask(logits, masks, n_tokens=320)
    assert (logits[:, :320] == 0).all() and (logits[:, 320:] == -numpy.inf).all()


def test_tokenizer_files_that_are_malformed():
    for specials in ({"<e>": -1}, {"<e>": 1 << 40}, {"<e>": "x"}, {5: 1}):
        with pytest.raises(VocabError, match="no token id"):
            maskwright.Vocab.from_tiktoken_text("YQ== 0\n", specials)
    with pytest.raises(VocabError):
        maskwright.Vocab.from_tekken_json("[" * 100_000)


def test_grammars_are_put_together_in_loops(compiler):
    grammar = Grammar.literal("a")
    for _ in range(300):
        grammar = (grammar + Grammar.literal("b") | Grammar.literal("c")).repeat(0, 1)
    assert len(grammar.to_ebnf()) < 100_000
    assert compiler.compile_grammar(grammar).matcher().is_accepting


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux does")
def test_a_forked_process_has_threads_of_its_own():
    # Each matcher is at another place of a grammar whose masks take long, so that the work is handed out.
    program = """
        import os
        import maskwright

        words = [bytes([a, b]) for a in range(97, 123) for b in range(97, 123)] + [bytes([c]) for c in range(256)]
        vocab = maskwright.Vocab(words * 40)

        def work():
            compiler = maskwright.GrammarCompiler(vocab)
            matchers = [compiler.compile_regex(f"[a-z]{{{n}}}(a|b[a-y]*)+", flags="").matcher() for n in range(1, 65)]
            rows = maskwright.allocate_bitmask(len(matchers), vocab.n_tokens)
            assert maskwright.fill_masks(matchers, rows) == {}
            assert maskwright.accept_tokens(matchers, [words.index(b"a")] * len(matchers)) == {}
            assert maskwright.accept_and_fill(matchers[1:], [words.index(b"a")] * 63, rows) == {}

        work()
        if len(os.sched_getaffinity(0)) > 1:
            assert len(os.listdir("/proc/self/task")) > 1, "nothing was handed out"
        for _ in range(2):
            child = os.fork()
            if child == 0:
                work()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        work()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)

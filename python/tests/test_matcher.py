import array
import copy
import ctypes
import threading

import pytest

import maskwright


def allowed(row, n_tokens):
    return [token for token in range(n_tokens) if row[token // 32] >> (token % 32) & 1]


def test_a_loop(compiler, bytes_vocab):
    matcher = compiler.compile_ebnf('root ::= "ab" [0-9]? "é"').matcher()
    row = array.array("I", [7] * 12)
    assert matcher.fill_mask(row) and allowed(row, 262) == [97, 256] == matcher.allowed_tokens()
    assert row[9:] == array.array("I", [0] * 3)
    matcher.accept_token(256)
    matcher.accept_tokens([49, 258])
    assert matcher.is_accepting and not matcher.is_terminated and matcher.n_steps == 3
    matcher.accept_token(bytes_vocab.stop_tokens[0])
    assert matcher.is_terminated and matcher.allowed_tokens() == [259]
    matcher.rollback(3)
    assert matcher.n_steps == 1 and matcher.jump_forward() == b"" and not matcher.is_accepting
    matcher.reset()
    assert matcher.jump_forward_text() == "ab"


def test_refusals_have_facts(compiler):
    matcher = compiler.compile_ebnf('root ::= "abc"').matcher()
    for token in (98, 262, -1, 1 << 40):
        with pytest.raises(maskwright.MatchError) as caught:
            matcher.accept_token(token)
        assert caught.value.token == token and isinstance(caught.value, ValueError)
        assert not matcher.try_accept_token(token) and not matcher.is_token_allowed(token)
    with pytest.raises(maskwright.MatchError) as caught:
        matcher.accept_tokens([97, 98, 98])
    assert (caught.value.token, caught.value.token_index) == (98, 2)
    with pytest.raises(maskwright.MatchError) as caught:
        matcher.accept_bytes("abx")
    assert caught.value.byte_offset == 2
    with pytest.raises(maskwright.MatchError) as caught:
        matcher.rollback(1)
    assert caught.value.bound == (1, 0)
    assert matcher.n_steps == 0 and matcher.validate_tokens([97, 98, 98]) == 2 and matcher.validate_tokens([-1]) == 0
    with pytest.raises(TypeError):
        matcher.accept_token("a")


def test_masks_into_any_memory(compiler):
    matcher = compiler.compile_ebnf('root ::= "a"').matcher()
    numpy = pytest.importorskip("numpy")
    expected = [0, 0, 0, 2, 0, 0, 0, 0, 0]
    wide = numpy.full((3, 20), -1, dtype=numpy.int32)
    for memory, row, read in [
        (array.array("i", [-1] * 9), 0, lambda memory: list(memory)),
        (bytearray(36), 0, None),
        (memoryview(bytearray(72)).cast("I", (2, 9)), 1, lambda memory: memory.tolist()[1]),
        ((ctypes.c_uint32 * 9)(), 0, list),
        (maskwright.allocate_bitmask(2, 262), 1, lambda memory: memory[1].tolist()),
        (maskwright.allocate_bitmask(2, 262, library="buffer"), 0, lambda memory: memory.tolist()[0]),
        # A row of a wider array: what lies between rows stays.
        (wide[:, 3:12], 1, lambda memory: memory[1].tolist()),
        (maskwright.Bitmask(numpy.zeros((2, 9), numpy.uint32)), 1, None),
    ]:
        if read is None and isinstance(memory, bytearray):
            with pytest.raises(TypeError, match="words"):
                matcher.fill_mask(memory, row)
            continue
        assert matcher.fill_mask(memory, row)
        if read is not None:
            assert read(memory) == expected
    assert wide[1, :3].tolist() == [-1] * 3 and wide[1, 12:].tolist() == [-1] * 8 and (wide[0] == -1).all()


def test_memory_that_does_not_fit(compiler):
    matcher = compiler.compile_ebnf('root ::= "a"').matcher()
    numpy = pytest.importorskip("numpy")
    read_only = numpy.zeros((1, 9), numpy.int32)
    read_only.flags.writeable = False
    shifted = numpy.zeros(41, numpy.uint8)[1:37].view(numpy.int32)
    for memory, row, error in [
        (numpy.zeros((2, 18), numpy.int32)[:, ::2], 0, ValueError),
        (numpy.zeros((2, 9), numpy.int32)[::-1], 0, ValueError),
        (numpy.broadcast_to(numpy.zeros(9, numpy.int32), (2, 9)), 0, ValueError),
        (numpy.zeros((1, 1, 9), numpy.int32), 0, ValueError),
        (numpy.zeros((9, 2), numpy.int32).T, 0, ValueError),
        (read_only, 0, ValueError),
        (shifted, 0, ValueError),
        (numpy.zeros((1, 9), numpy.int64), 0, TypeError),
        (numpy.zeros((1, 9), numpy.float32), 0, TypeError),
        (numpy.zeros((1, 9), ">i4"), 0, TypeError),
        ("text", 0, TypeError),
        (None, 0, TypeError),
        (numpy.zeros((1, 8), numpy.int32), 0, maskwright.MatchError),
        (numpy.zeros((1, 9), numpy.int32), 1, IndexError),
        (numpy.zeros((0, 9), numpy.int32), 0, IndexError),
        (numpy.zeros((1, 9), numpy.int32), -1, IndexError),
    ]:
        with pytest.raises(error):
            matcher.fill_mask(memory, row)


def test_drafts(compiler):
    matcher = compiler.compile_ebnf('root ::= "a" ("b"* "c")*').matcher()
    rows = maskwright.allocate_bitmask(6, 262, library="buffer")
    assert matcher.fill_masks_for_chain([97, 98, 97, -1], rows, 1) == 2
    assert [allowed(row, 262) for row in rows.tolist()[1:5]] == [[97, 256], [98, 99, 259], [98, 99], [98, 99]]
    matcher.accept_token(97)
    found = matcher.fill_masks_for_tree([-1, 0, 0, 1, 1], [0, 98, 99, 99, 97], rows)
    assert found == [True, True, True, True, False]
    assert [allowed(row, 262) for row in rows.tolist()[:5]] == [
        [98, 99, 259],
        [98, 99],
        [98, 99, 259],
        [98, 99, 259],
        [98, 99],
    ]
    assert matcher.n_steps == 1
    with pytest.raises(IndexError):
        matcher.fill_masks_for_chain([97] * 6, rows)
    with pytest.raises(maskwright.MatchError):
        matcher.fill_masks_for_tree([-1, 2, 0], [0, 0, 0], rows)


def test_forks_keys_and_copies(compiler):
    matcher = compiler.compile_ebnf('root ::= "a" ("b" | "c")').matcher()
    key = matcher.mask_key()
    for fork in (matcher.fork(), copy.copy(matcher), copy.deepcopy(matcher)):
        assert fork.mask_key() == key and hash(fork.mask_key()) == hash(key)
        fork.accept_token(97)
        assert fork.mask_key() != key and matcher.n_steps == 0
    matcher.replay([97, 98])
    assert matcher.is_accepting
    matcher.forget_history()
    assert matcher.n_steps == 0


def test_forced_text_as_tokens(compiler, bytes_vocab):
    matcher = compiler.compile_ebnf('root ::= "x" "abab" [01]').matcher()
    matcher.accept_token(ord("x"))
    assert matcher.jump_forward_tokens() == (0, [256, 256])
    assert matcher.jump_forward_tokens(lambda text: list(text)) == (0, list(b"abab"))
    assert matcher.jump_forward_tokens(bytes_vocab.tokenize_greedy) == (0, [256, 256])

    def broken(text):
        raise KeyError(text)

    with pytest.raises(KeyError):
        matcher.jump_forward_tokens(broken)
    with pytest.raises(maskwright.MatchError):
        matcher.jump_forward_tokens(lambda text: [98])
    with pytest.raises(TypeError):
        matcher.jump_forward_tokens(lambda text: 5)


def test_options_of_matchers(compiler):
    grammar = compiler.compile_ebnf('root ::= "a" "b"?')
    matcher = grammar.matcher(stop_tokens=[300 - 40], terminate_when_nothing_follows=True)
    assert matcher.stop_tokens == [260]
    matcher.accept_token(97)
    assert matcher.allowed_tokens() == [98, 260] and not matcher.is_terminated
    matcher.accept_token(98)
    assert matcher.is_terminated
    with pytest.raises(maskwright.MatchError):
        grammar.matcher(stop_tokens=[999])


def test_a_matcher_that_fails_closed():
    vocab = maskwright.Vocab(["a", "<end>"], stop_tokens=[1])
    grammar = maskwright.GrammarCompiler(vocab).compile_ebnf('root ::= "a" "b"')
    matcher = grammar.matcher()
    row = array.array("I", [0])
    matcher.accept_token(0)
    with pytest.raises(maskwright.MatchError) as caught:
        matcher.fill_mask(row)
    assert caught.value.is_stuck
    closed = grammar.matcher(fail_closed=True)
    closed.accept_token(0)
    assert closed.fill_mask(row) and row[0] == 2 and closed.error.is_stuck
    closed.accept_token(1)
    assert closed.is_terminated


def test_explanations(compiler):
    matcher = compiler.compile_ebnf('root ::= "a" num\nnum ::= [0-9]').matcher()
    matcher.accept_token(97)
    assert "num" in matcher.explain()["message"]
    refused = matcher.explain_token(98)
    assert refused["allowed"] is False and "num" in refused["message"]
    matcher.forget_history()
    for explain in (matcher.explain, lambda: matcher.explain_token(98)):
        with pytest.raises(maskwright.MatchError, match="forgotten"):
            explain()


def test_batches(compiler):
    numpy = pytest.importorskip("numpy")
    grammar = compiler.compile_ebnf('root ::= "a" "b"')
    matchers = [grammar.matcher() for _ in range(100)]
    rows = numpy.zeros((101, 9), numpy.int32)
    assert maskwright.fill_masks(matchers, rows, list(range(1, 101))) == {}
    assert rows[:, 3].tolist() == [0] + [2] * 100
    errors = maskwright.accept_and_fill(matchers, [97] * 50 + [[97, 98]] * 49 + [[98]], rows)
    assert list(errors) == [99] and errors[99].token == 98 and errors[99].token_index is None
    assert rows[:, 3].tolist() == [4] * 50 + [0] * 50 + [2] and rows[50, 8] == 8 and not rows[99].any()
    assert maskwright.accept_tokens(matchers[:2], [98, -3]).keys() == {1}
    for call in (
        lambda: maskwright.fill_masks(matchers[:2], rows, [0, 0]),
        lambda: maskwright.fill_masks(matchers[:2], rows, [0]),
        lambda: maskwright.accept_and_fill(matchers[:2], [1], rows),
        lambda: maskwright.accept_tokens(matchers[:2], [1]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(IndexError):
        maskwright.fill_masks(matchers, rows[:50])


def test_one_matcher_on_many_threads(compiler):
    matcher = compiler.compile_ebnf('root ::= "a"*').matcher()
    rows = maskwright.allocate_bitmask(8, 262, library="buffer")
    failures = []

    def work(row):
        try:
            for _ in range(300):
                matcher.accept_token(97)
                assert matcher.fill_mask(rows, row)
                assert matcher.is_accepting and matcher.jump_forward_tokens(lambda text: list(text)) == (0, [])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and matcher.n_steps == 2400


def test_everything_is_shared_by_threads(bytes_vocab):
    """Threads compile, fill rows of one bitmask, fork and drop what others use; each finds what one thread alone finds."""
    compiler = maskwright.GrammarCompiler(bytes_vocab)
    schemas = [{"type": "array", "items": {"type": "integer", "maximum": bound}, "maxItems": 3} for bound in range(6)]
    document = b"[3,-12]"
    n_threads = 6

    def words(rows, row):
        return [rows[row, word] for word in range(maskwright.n_mask_words(262))]

    def masks(grammar, rows, row):
        matcher, found = grammar.matcher(), []
        for byte in document:
            matcher.fill_mask(rows, row)
            found.append((words(rows, row), matcher.is_token_allowed(byte)))
            if not matcher.try_accept_token(byte):
                break
            found.append(matcher.fork().jump_forward_text())
        return found

    lone = maskwright.allocate_bitmask(1, 262, library="buffer")
    wanted = [masks(maskwright.GrammarCompiler(bytes_vocab).compile_json_schema(schema), lone, 0) for schema in schemas]
    shared = [compiler.compile_json_schema(schema) for schema in schemas]
    rows = maskwright.allocate_bitmask(n_threads, 262, library="buffer")
    barrier = threading.Barrier(n_threads)
    failures = []

    def work(row):
        try:
            barrier.wait()
            for turn in range(60):
                index = (turn + row) % len(schemas)
                assert masks(shared[index], rows, row) == wanted[index]
                assert masks(compiler.compile_json_schema(schemas[index]), rows, row) == wanted[index]
                if turn % 20 == row:
                    compiler.clear_caches()
                    shared[index] = compiler.compile_json_schema(schemas[index])
                batch = [grammar.matcher() for grammar in shared]
                of_batch = maskwright.allocate_bitmask(len(batch), 262, library="buffer")
                maskwright.fill_masks(batch, of_batch)
                assert [words(of_batch, at) for at in range(len(batch))] == [found[0][0] for found in wanted]
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(row,)) for row in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_masks_on_logits(compiler):
    numpy = pytest.importorskip("numpy")
    matcher = compiler.compile_ebnf('root ::= "a"').matcher()
    bitmask = maskwright.allocate_bitmask(3, 262)
    bitmask[:] = -1
    matcher.fill_mask(bitmask, 1)
    for kind in (numpy.float32, numpy.float16):
        logits = numpy.zeros((3, 300), kind)
        maskwright.apply_mask(logits, bitmask, rows=[1], n_tokens=262)
        assert numpy.isfinite(logits).sum(1).tolist() == [300, 1, 300] and numpy.isfinite(logits[1, 97])
        maskwright.apply_mask(logits, bitmask, n_tokens=262)
        assert numpy.isneginf(logits[:, 262:]).all() and numpy.isfinite(logits[0, :262]).all()
    one = numpy.zeros(262, numpy.float32)
    maskwright.apply_mask(one, bitmask[1])
    assert numpy.isfinite(one).nonzero()[0].tolist() == [97]
    for logits, options in [
        (numpy.zeros((3, 200), numpy.float32), {}),
        (numpy.zeros((3, 261), numpy.float32), {"n_tokens": 262}),
        (numpy.zeros((3, 524), numpy.float32)[:, ::2], {}),
        (numpy.zeros((3, 262), numpy.float32), {"rows": [3]}),
    ]:
        with pytest.raises(ValueError):
            maskwright.apply_mask(logits, bitmask, **options)
    with pytest.raises(TypeError):
        maskwright.apply_mask(numpy.zeros((3, 262), numpy.int32), bitmask)


def test_what_fails_in_a_batch_fails_alone(compiler):
    grammar = compiler.compile_ebnf('root ::= "ab"')
    matchers = [grammar.matcher() for _ in range(4)]
    rows = array.array("i", [-1] * 9 * 4)
    rows = memoryview(rows).cast("B").cast("i", (4, 9))
    errors = maskwright.accept_and_fill(matchers, [97, [97, -1], [1 << 40], []], rows)
    assert sorted(errors) == [1, 2] and all(isinstance(error, maskwright.MatchError) for error in errors.values())
    assert [any(rows[row, word] for word in range(9)) for row in range(4)] == [True, False, False, True]
    assert [matcher.n_steps for matcher in matchers] == [1, 0, 0, 0]
    # Rows without a mask are zeros.
    narrow = memoryview(array.array("i", [-1] * 8)).cast("B").cast("i", (1, 8))
    assert list(maskwright.fill_masks(matchers[:1], narrow)) == [0] and set(narrow.tolist()[0]) == {0}


def test_a_matcher_steps_once_in_a_batch(compiler):
    matcher = compiler.compile_ebnf('root ::= "ab"').matcher()
    row = array.array("i", [0] * 18)
    rows = memoryview(row).cast("B").cast("i", (2, 9))
    with pytest.raises(ValueError, match="twice"):
        maskwright.accept_and_fill([matcher, matcher], [97, 98], rows)
    with pytest.raises(ValueError, match="twice"):
        maskwright.accept_tokens([matcher, matcher], [97, 98])
    assert matcher.n_steps == 0
    # Its mask may be asked for twice.
    assert not maskwright.fill_masks([matcher, matcher], rows) and row[:9] == row[9:]


def test_bytes_of_every_kind(compiler):
    for data in ("ab", b"ab", bytearray(b"ab")):
        matcher = compiler.compile_ebnf('root ::= "ab"').matcher()
        matcher.accept_bytes(data)
        assert matcher.is_accepting and matcher.n_steps == 1
    for data in (None, 1, [97], memoryview(b"abcd").cast("I"), "\ud800"):
        with pytest.raises((TypeError, UnicodeEncodeError)):
            matcher.accept_bytes(data)


def test_bitmasks_without_elements():
    for shape in ((-1, 5), (1, -5)):
        for library in ("numpy", "torch", "buffer"):
            with pytest.raises(ValueError):
                maskwright.allocate_bitmask(*shape, library=library)
    for shape in ((0, 5), (1, 0)):
        with pytest.raises(ValueError):
            maskwright.allocate_bitmask(*shape, library="buffer")
    with pytest.raises(ValueError, match="library"):
        maskwright.allocate_bitmask(1, 5, library="other")


def test_masks_of_bfloat16_in_numpy(compiler):
    numpy = pytest.importorskip("numpy")
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    bitmask = maskwright.allocate_bitmask(1, 40)
    bitmask[0][:] = 5
    logits = numpy.ones((1, 40), dtype=bfloat16)
    maskwright.apply_mask(logits, bitmask, n_tokens=35)
    kept = [token for token in range(40) if logits[0, token] == 1]
    assert kept == [0, 2, 32, 34] and numpy.isneginf(logits.astype(numpy.float32)).sum() == 36
    with pytest.raises(TypeError):
        maskwright.apply_mask(logits.view(numpy.uint16), bitmask)

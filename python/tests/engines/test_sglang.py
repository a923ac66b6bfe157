"""The adapter of SGLang, with stand-ins of SGLang's classes or with SGLang."""

import importlib
import json
import random
from types import SimpleNamespace

import numpy
import pytest
from engine_vocabulary import IS_REAL, N_WORDS, WIDTH, Tokenizer, set_bits

TOKENIZER = Tokenizer()
STOP = TOKENIZER.eos_token_id
THINK_END = TOKENIZER.special_ids["<think>"]
BASE = "sglang.srt.constrained.base_grammar_backend"


@pytest.fixture
def serving(stand_ins, monkeypatch):
    """The settings of the server."""
    context = importlib.import_module("sglang.srt.runtime_context")
    settings = SimpleNamespace(
        reasoning_parser=None,
        enable_strict_thinking=False,
        constrained_json_disable_any_whitespace=False,
        constrained_json_whitespace_pattern=None,
        constrained_json_max_whitespace_cnt=None,
    )
    monkeypatch.setattr(context, "get_serving", lambda: settings)
    return settings


@pytest.fixture
def backend(serving):
    """A backend as SGLang asks for it."""
    return make_backend()


def make_backend():
    adapter = importlib.import_module("maskwright.sglang")
    adapter.register()
    base = importlib.import_module(BASE)
    return base.GRAMMAR_BACKEND_REGISTRY["maskwright"](None, TOKENIZER, WIDTH, {STOP})


def rows(n=1):
    return numpy.full((n, N_WORDS), -1, dtype=numpy.int32)


def allowed(grammar):
    bitmask = rows()
    grammar.fill_vocab_mask(bitmask, 0)
    return set_bits(bitmask[0])


def accepts(grammar, text):
    try:
        for token in [*TOKENIZER.encode(text), STOP]:
            grammar.accept_token(token)
    except ValueError:
        return False
    return grammar.is_terminated()


OBJECT = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
TAG = {"type": "structural_tag", "format": {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": json.loads(OBJECT)}, "end": "</call>"}}
OLD_TAG = {"structures": [{"begin": "<call>", "schema": json.loads(OBJECT), "end": "</call>"}], "triggers": ["<call"]}

KINDS = [
    ("json", OBJECT, '{"a": 1}', '{"a":1,"b":2}'),
    ("json", "$$ANY$$", '[1, {"x": null}]', "[1"),
    ("regex", "[ab]{2}", "ab", "abc"),
    ("ebnf", 'root ::= "a" root?', "aaa", "b"),
    ("ebnf", 'start: "a" B\nB: /[0-9]+/', "a12", "a"),
    ("structural_tag", json.dumps(TAG), '<call>{"a": 1}</call>', '{"a": 1}'),
    ("structural_tag", json.dumps(OLD_TAG), 'text <call>{"a": 1}</call> text', '<call>{"b": 1}</call>'),
    ("structural_tag", json.dumps(OLD_TAG | {"at_least_one": True}), '<call>{"a": 1}</call>', "text"),
    ("structural_tag", json.dumps({"structures": [{"begin": "<f>", "schema": None, "end": "</f>"}], "triggers": ["<f"]}), "<f>[1]</f>", "<f>"),
    ("structural_tag", json.dumps({"type": "structural_tag", "format": {"type": "json_schema"}}), "[1]", "]"),
]


def dispatch(backend, kind, spec):
    return getattr(backend, f"dispatch_{kind}")(spec)


@pytest.mark.parametrize(("kind", "spec", "text", "other"), KINDS)
def test_all_kinds(backend, kind, spec, text, other):
    grammar = dispatch(backend, kind, spec)
    assert not grammar.grammar_stats.is_cache_hit
    assert accepts(grammar, text)
    copy = grammar.copy()
    assert copy.grammar_stats.is_cache_hit
    assert not copy.is_terminated()
    assert accepts(copy, text)
    assert not accepts(grammar.copy(), other)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("json", '{"type": "obj'),
        ("json", '{"type": "strin"}'),
        ("regex", "(a"),
        ("ebnf", 'root ::= "a'),
        ("ebnf", "root ::= <no_such_token>"),
        ("structural_tag", "[1]"),
        ("structural_tag", "[" * 100000),
        ("structural_tag", '{"type": "structural_tag", "format": {"type": "nothing"}}'),
    ],
)
def test_requests_that_can_not_be_compiled(backend, kind, spec):
    invalid = dispatch(backend, kind, spec)
    assert isinstance(invalid, importlib.import_module(BASE).InvalidGrammarObject)
    assert invalid.error_message


def test_the_name_is_known(backend):
    assert importlib.import_module("sglang.srt.arg_groups.choices").GRAMMAR_BACKEND_CHOICES.count("maskwright") == 1
    make_backend()
    assert importlib.import_module("sglang.srt.arg_groups.choices").GRAMMAR_BACKEND_CHOICES.count("maskwright") == 1


def test_a_tokenizer_that_can_not_be_read(serving):
    with pytest.raises(ValueError):
        importlib.import_module("maskwright.sglang").create_backend(None, SimpleNamespace(), WIDTH, None)


@pytest.mark.parametrize(
    ("settings", "text", "other"),
    [
        ({}, '{"a"  : 1}', None),
        ({"constrained_json_disable_any_whitespace": True}, '{"a":1}', '{"a": 1}'),
        ({"constrained_json_whitespace_pattern": r"\s?"}, '{"a" : 1}', '{"a"  : 1}'),
        ({"constrained_json_max_whitespace_cnt": 2}, '{"a"  : 1}', '{"a"   : 1}'),
        ({"constrained_json_max_whitespace_cnt": 0}, '{"a":1}', '{"a": 1}'),
    ],
)
def test_white_space(serving, settings, text, other):
    for name, value in settings.items():
        setattr(serving, name, value)
    backend = make_backend()
    assert accepts(backend.dispatch_json(OBJECT), text)
    assert other is None or not accepts(backend.dispatch_json(OBJECT), other)


def test_tokens(backend):
    grammar = backend.dispatch_regex("ab")
    a, b = TOKENIZER.encode("ab")
    whole = TOKENIZER.ids["ab"]
    assert allowed(grammar) == {a, whole}
    assert grammar.current_token is None
    for bad in (b, STOP, -1, WIDTH):
        with pytest.raises(ValueError):
            grammar.accept_token(bad)
    assert allowed(grammar) == {a, whole}
    grammar.accept_token(whole)
    assert grammar.current_token == whole
    grammar.accept_token(STOP)
    # What comes after the end is ignored, and taken back first.
    grammar.accept_token(b)
    assert grammar.is_terminated()
    grammar.rollback(2)
    assert not grammar.is_terminated()
    assert allowed(grammar) == {STOP}
    grammar.rollback(1)
    assert allowed(grammar) == {a, whole}
    grammar.rollback(5)
    assert allowed(grammar) == {a, whole}
    assert not grammar.finished
    grammar.finished = True
    assert grammar.finished


def test_a_batch(backend):
    base = importlib.import_module(BASE)
    regexes = ["ab", "[0-9]", "x*", "true|false"]
    grammars = [backend.dispatch_regex(regex) for regex in regexes]
    other = SimpleNamespace(fill_vocab_mask=lambda mask, row: mask.__setitem__(row, 7))
    bitmask = rows(6)
    entries = [base.GrammarRow(row, grammar) for row, grammar in zip((0, 2, 3, 5), grammars, strict=True)]
    grammars[0].fill_vocab_mask_batched([*entries, base.GrammarRow(4, other)], bitmask)
    for row, grammar in zip((0, 2, 3, 5), grammars, strict=True):
        assert set_bits(bitmask[row]) == allowed(grammar)
    assert (bitmask[1] == -1).all()
    assert (bitmask[4] == 7).all()


def test_rows_of_a_batch_that_can_not_be_written(backend, caplog):
    """Nothing may raise between the steps of SGLang: rows without a mask have the stop tokens."""
    base = importlib.import_module(BASE)
    grammars = [backend.dispatch_regex("a+"), backend.dispatch_regex("b+")]
    entries = [base.GrammarRow(row, grammar) for row, grammar in enumerate(grammars)]
    bitmask = rows(2)[:, :-1]
    grammars[0].fill_vocab_mask_batched(entries, bitmask)
    assert "ends an output" in caplog.text and (bitmask[0] == bitmask[1]).all()
    twice = rows(1)
    grammars[0].fill_vocab_mask_batched([base.GrammarRow(0, grammar) for grammar in grammars], twice)
    assert set_bits(twice[0]) == allowed(grammars[1])
    grammars[0].rollback(-1)
    grammars[0].rollback(9)
    assert caplog.text.count("can't take back") == 2


def test_forced_text(backend):
    grammar = backend.dispatch_regex("abc[0-9]x")
    assert grammar.try_jump_forward(None) == ([], "abc")
    assert grammar.jump_forward_str_state(([], "abc")) == ("abc", -1)
    a, b, c = TOKENIZER.encode("abc")
    whole = TOKENIZER.ids["ab"]
    grammar.accept_token(a)
    grammar.jump_and_retokenize([a], [whole, c], -1)
    assert allowed(grammar) == {token for token in range(256) if chr(token).isdigit()} & set(TOKENIZER.encode("0123456789"))
    with pytest.raises(ValueError):
        grammar.jump_and_retokenize([whole, c], [a, c], -1)
    assert grammar.try_jump_forward(None) is None
    grammar.jump_and_retokenize([whole, c], [a, b], -1)
    assert allowed(grammar) == {c}


def random_tree(rng, n_nodes, tokens):
    """Return the first child, the next sibling and the token of each node, the nodes in the order of a breadth-first or a depth-first walk."""
    parents = [-1]
    for node in range(1, n_nodes):
        parents.append(rng.randrange(max(0, node - 4), node))
    first, sibling, last = [-1] * n_nodes, [-1] * n_nodes, {}
    for node in range(1, n_nodes):
        parent = parents[node]
        if parent in last:
            sibling[last[parent]] = node
        else:
            first[parent] = node
        last[parent] = node
    return first, sibling, [rng.choice(tokens) for _ in range(n_nodes)]


def as_arrays(*lists):
    """Return lists as the tensors that SGLang has, or as arrays."""
    if IS_REAL:
        import torch

        return [torch.tensor(values) for values in lists]
    return [numpy.array(values) for values in lists]


def bitmask_of(n_rows):
    return as_arrays(rows(n_rows))[0] if IS_REAL else rows(n_rows)


def test_trees_equal_the_walk_of_sglang(backend):
    adapter = importlib.import_module("maskwright.sglang")
    spec_utils = importlib.import_module("sglang.srt.speculative.spec_utils")
    calls = []
    walk = getattr(spec_utils.traverse_tree, "__wrapped__", None) or spec_utils.traverse_tree.args[0]

    def original(*args, **kwargs):
        calls.append(args)
        walk(*args, **kwargs)

    rng = random.Random(5)
    tokens = [*TOKENIZER.encode("aabbc"), TOKENIZER.ids["ab"], STOP, WIDTH + 5]
    for trial in range(200):
        grammar = backend.dispatch_regex("a(b|ab)*c?")
        for token in TOKENIZER.encode("aab")[: trial % 4]:
            grammar.accept_token(token)
        if trial % 10 == 9:
            grammar = backend.dispatch_regex("")
            grammar.accept_token(STOP)
        before = allowed(grammar)
        tree = as_arrays(*random_tree(rng, rng.randrange(1, 12), tokens))
        expected, found = bitmask_of(len(tree[0])), bitmask_of(len(tree[0]))
        walk(*tree, grammar, expected, vocab_size=WIDTH)
        adapter.traverse_tree(original, *tree, grammar, found, vocab_size=WIDTH)
        assert (expected == found).all(), (tree, expected, found)
        assert allowed(grammar) == before
    assert not calls
    # The name that SGLang calls is ours now; what is not ours goes to the walk.
    found = bitmask_of(len(tree[0]))
    spec_utils.traverse_tree(*tree, backend.dispatch_regex("a(b|ab)*c?"), found, vocab_size=WIDTH)
    adapter.traverse_tree(original, *tree, SimpleNamespace(is_terminated=lambda: True), found, vocab_size=WIDTH)
    assert len(calls) == 1


def test_a_tree_in_another_order_goes_to_the_walk(backend):
    adapter = importlib.import_module("maskwright.sglang")
    calls = []
    # Node 1 is the child of node 2.
    tree = as_arrays([2, -1, 1], [-1, -1, -1], TOKENIZER.encode("aba"))
    adapter.traverse_tree(lambda *args: calls.append(args), *tree, backend.dispatch_regex("ab"), bitmask_of(3))
    assert len(calls) == 1


def test_token_filter(backend):
    assert backend.is_support_token_filter
    bitmask = rows(2)
    backend.set_token_filter(bitmask, [0, 31, 32, 63], 1)
    assert set_bits(bitmask[1]) == {0, 31, 32, 63}
    backend.set_token_filter(bitmask, [31, 63], 1, is_allowed=False, reset_vocab_mask=False)
    assert set_bits(bitmask[1]) == {0, 32}
    backend.set_token_filter(bitmask, [5, 31], 1, is_allowed=False)
    assert set_bits(bitmask[1]) == set(range(32 * N_WORDS)) - {5, 31}
    assert (bitmask[0] == -1).all()
    if IS_REAL:
        from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch

        for is_allowed in (True, False):
            for reset in (True, False):
                expected, found = bitmask_of(1), bitmask_of(1)
                set_token_filter_torch(expected, [3, 31, 40], 0, is_allowed, reset)
                backend.set_token_filter(found, [3, 31, 40], 0, is_allowed, reset)
                assert (expected == found).all()


def test_masks_of_torch(backend):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    grammar = backend.dispatch_regex("ab")
    for owner in (grammar, backend):
        mask = owner.allocate_vocab_mask(vocab_size=WIDTH, batch_size=3, device="cpu")
        assert mask.shape == (3, N_WORDS) and mask.dtype == torch.int32 and bool((mask == -1).all())
        grammar.fill_vocab_mask(mask, 1)
        mask = owner.move_vocab_mask(mask, "cpu")
        logits = torch.zeros(3, WIDTH)
        owner.apply_vocab_mask(logits=logits, vocab_mask=mask)
        assert set(torch.nonzero(logits[1] == 0).flatten().tolist()) == allowed(grammar)
        assert bool((logits[0] == 0).all())
    grammar.reset_vocab_mask(mask)
    assert bool((mask == -1).all())


def test_framed_grammars(backend):
    """A grammar inside a structural tag of token formats, as SGLang frames answers; framing tokens match no text."""
    backend.reserve_framing_tokens([THINK_END, TOKENIZER.ids["<call>"]])

    def frame(content):
        return {"type": "structural_tag", "format": {"type": "sequence", "elements": [content, {"type": "token", "token": TOKENIZER.ids["<call>"]}]}}

    for kind, spec, text in (("regex", "[<a-z>]*", "ab"), ("json", OBJECT, '{"a": 1}'), ("ebnf", 'root ::= "x"', "x")):
        inner = dispatch(backend, kind, spec)
        framed = backend.compile_framed_grammar(inner, frame)
        for token in TOKENIZER.encode(text):
            framed.accept_token(token)
        assert TOKENIZER.ids["<call>"] in allowed(framed)
        framed.accept_token(TOKENIZER.ids["<call>"])
        assert allowed(framed) == {STOP}
    # As text it is allowed without the frame only.
    call = TOKENIZER.ids["<call>"]
    assert call in allowed(backend.dispatch_regex("[<a-z>]*"))
    twice = backend.compile_framed_grammar(backend.dispatch_regex("[<a-z>]*"), frame)
    twice.accept_token(call)
    assert allowed(twice) == {STOP}
    assert backend.compile_framed_grammar(backend.dispatch_ebnf('start: "x"'), frame) is None


@pytest.mark.skipif(IS_REAL, reason="needs a parser of the stand-in")
def test_reasoning_is_wrapped(serving):
    serving.reasoning_parser = "some"
    backend = make_backend()
    module = importlib.import_module("sglang.srt.constrained.reasoner_grammar_backend")
    assert isinstance(backend, module.ReasonerGrammarBackend)
    check_reasoning(backend)


@pytest.mark.skipif(not IS_REAL, reason="needs SGLang")
def test_reasoning_with_the_wrapper_of_sglang(serving, monkeypatch):
    parsers = importlib.import_module("sglang.srt.parser.reasoning_parser")
    detector = SimpleNamespace(
        get_think_end_token_ids=lambda tokenizer: [THINK_END],
        get_answer_frame=lambda: None,
        think_excluded_tokens=["x"],
        think_end_token="<think>",
    )
    monkeypatch.setattr(parsers, "ReasoningParser", lambda **options: SimpleNamespace(detector=detector))
    monkeypatch.setattr(Tokenizer, "encode", lambda self, text, add_special_tokens=False: list(text.encode()))
    serving.reasoning_parser = "some"
    check_reasoning(make_backend())
    # The filter of strict thinking is our backend's.
    serving.enable_strict_thinking = True
    backend = make_backend()
    grammar = backend._make_grammar_object(backend.grammar_backend.dispatch_regex("a"), True)
    bitmask = bitmask_of(1)
    grammar.fill_vocab_mask(bitmask, 0)
    assert set_bits(bitmask[0]) == set(range(32 * N_WORDS)) - {ord("x")}


def check_reasoning(backend):
    spec_utils = importlib.import_module("sglang.srt.speculative.spec_utils")
    walk = getattr(spec_utils.traverse_tree, "__wrapped__", None) or spec_utils.traverse_tree.args[0]
    a, b = TOKENIZER.encode("ab")
    # A chain of drafts, from within the reasoning and from behind it.
    first, sibling = [1, 2, 3, 4, -1], [-1] * 5
    for prefix in ([], [a], [THINK_END], [b, THINK_END, a]):
        grammar = backend._make_grammar_object(backend.grammar_backend.dispatch_regex("ab"), True)
        for token in prefix:
            grammar.accept_token(token)
        for drafts in ([0, a, b, STOP, STOP], [0, a, THINK_END, a, b], [0, THINK_END, b, b, b]):
            tree = as_arrays(first, sibling, drafts)
            expected, found = bitmask_of(5), bitmask_of(5)
            walk(*tree, grammar, expected, vocab_size=WIDTH)
            spec_utils.traverse_tree(*tree, grammar, found, vocab_size=WIDTH)
            assert (expected == found).all()
    for token in (b, STOP):
        grammar.accept_token(token)
    assert grammar.is_terminated()


class Request(SimpleNamespace):
    """What the scheduler knows of a request, as far as grammars go."""

    def __init__(self, kind, spec):
        kinds = dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag")) | {kind: spec}
        params = SimpleNamespace(**kinds, ebnf_full_assistant=False, custom_params=None)
        super().__init__(sampling_params=params, origin_input_ids=[], require_reasoning=False, grammar=None, grammar_wait_ct=0, error=None)

    def set_finish_with_abort(self, message):
        self.error = message

    def finished(self):
        return self.error is not None


@pytest.mark.skipif(not IS_REAL, reason="needs SGLang")
def test_requests_go_through_the_scheduler_of_sglang(backend):
    """The queue of compiles, the cache, and the masks of a batch, as the scheduler and the sampler call them."""
    torch = importlib.import_module("torch")
    module = importlib.import_module("sglang.srt.constrained.grammar_manager")
    batches = importlib.import_module("sglang.srt.sampling.sampling_batch_info")
    manager = object.__new__(module.GrammarManager)
    manager.__dict__.update(
        grammar_backend=backend,
        grammar_queue=[],
        _enable_strict_thinking=False,
        grammar_sync_size=1,
        pp_rank=0,
        pp_size=1,
        SGLANG_GRAMMAR_POLL_INTERVAL=0.005,
        SGLANG_GRAMMAR_MAX_POLL_ITERATIONS=10_000,
        scheduler=SimpleNamespace(model_config=SimpleNamespace()),
    )
    specs = [("json_schema", OBJECT), ("regex", "ab"), ("regex", "("), ("regex", "\0"), ("ebnf", 'root ::= "a"'), ("structural_tag", json.dumps(TAG))]
    for _ in range(2):
        requests = [Request(*spec) for spec in specs]
        waiting = [request for request in requests if manager.process_req_with_grammar(request)]
        while waiting:
            ready = {id(request) for request in manager.get_ready_grammar_requests()}
            waiting = [request for request in waiting if id(request) not in ready]
        assert [request.error is not None for request in requests] == [False, False, True, True, False, False]
        # The second time all are found in the cache.
        assert len(backend.cache) == len(specs)
    requests[1].grammar.accept_token(TOKENIZER.encode("a")[0])
    for token in [*TOKENIZER.encode("a"), STOP]:
        requests[4].grammar.accept_token(token)
    grammars = [requests[0].grammar, None, requests[1].grammar, requests[4].grammar, requests[5].grammar]
    info = SimpleNamespace(grammars=grammars, temperatures=[1.0] * 5, vocab_size=WIDTH, device="cpu")
    batches.SamplingBatchInfo.update_regex_vocab_mask(info)
    logits = torch.zeros(5, WIDTH)
    info.grammar_mask.apply(logits)
    found = [set(torch.isfinite(row).nonzero().flatten().tolist()) for row in logits]
    everything = set(range(WIDTH))
    assert found == [allowed(grammars[0]), everything, allowed(grammars[2]), everything, allowed(grammars[4])]
    assert found[2] == set(TOKENIZER.encode("b"))

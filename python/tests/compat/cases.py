"""Calls of the interface of XGrammar, each a function of the module: the same calls are made of XGrammar and of Maskwright."""

import json
import warnings

import torch

TOKENS = ["<s>", "</s>", "a", "abc", 'b"', '"', ':"', "{", "}", ", ", "6", ":", "\n", " ", '"a":true']
AB = 'root ::= "a" "6"'
CASES = {}


def case(name, call):
    assert name not in CASES, name
    CASES[name] = call


def outcome(call):
    """Return what a call returns, or the name of what it raises, with the names of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            # Subclasses are details: callers catch this one.
            result = "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
    return (result, [warning.category.__name__ for warning in caught]) if caught else result


def matcher_of(x, source=AB, tokens=TOKENS, info=None, **options):
    info = x.TokenizerInfo(tokens, **(info or {}))
    return x.GrammarMatcher(x.GrammarCompiler(info).compile_grammar(source), **options), info


def allowed(x, matcher, info):
    row = x.allocate_token_bitmask(1, info.vocab_size)
    matcher.fill_next_token_bitmask(row)
    return x.testing.bitmask_to_bool_mask(row, info.vocab_size)[0].nonzero().flatten().tolist()


# Tokens and texts.
for token in [2, 10, -1, 99, 10**12, 2.0, "a", None, True]:
    case(f"accept_token {token!r}", lambda x, token=token: matcher_of(x)[0].accept_token(token))
for text in ["a", "a6", "a6 ", "b", "", "é", "\x00", b"a", b"\xff", bytearray(b"a")]:
    case(f"accept_string {text!r}", lambda x, text=text: matcher_of(x)[0].accept_string(text))


def life(x, **options):
    matcher, info = matcher_of(x, **options)
    return [
        matcher.is_terminated(),
        matcher.is_completed(),
        matcher.find_jump_forward_string(),
        matcher.accept_token(2),
        matcher.accept_token(2),
        matcher.accept_token(10),
        matcher.is_completed(),
        matcher.is_terminated(),
        allowed(x, matcher, info),
        matcher.accept_token(1),
        matcher.is_terminated(),
        matcher.is_completed(),
        outcome(lambda: allowed(x, matcher, info)),
        matcher.accept_token(1),
        matcher.accept_token(0),
        matcher.accept_string("x"),
        matcher.accept_string(""),
        outcome(matcher.find_jump_forward_string),
        matcher.rollback(1),
        matcher.is_terminated(),
        outcome(lambda: matcher.rollback(5)),
        matcher.rollback(2),
        allowed(x, matcher, info),
        outcome(lambda: matcher.rollback()),
        matcher.reset(),
        matcher.stop_token_ids,
        matcher.max_rollback_tokens,
        matcher.temperature,
    ]


case("life of a matcher", life)
case("life with a temperature", lambda x: life(x, default_temperature=0.5))
case("life with max_rollback_tokens", lambda x: life(x, max_rollback_tokens=5))
case("life that ends when complete", lambda x: life(x, terminate_without_stop_token=True))
for stops in [[], [1], 1, [99], [-1], [0], [10, 1], (1,), "a", [15], [True]]:
    case(f"override_stop_tokens={stops!r}", lambda x, stops=stops: matcher_of(x, override_stop_tokens=stops)[0].stop_token_ids)


def end(x, **options):
    matcher, info = matcher_of(x, **options)
    return matcher.accept_string("a6"), allowed(x, matcher, info)


case("the end by another token", lambda x: end(x, override_stop_tokens=[10]))
case("the end by an id of padding", lambda x: end(x, info={"vocab_size": 20}, override_stop_tokens=[17]))
case("the end by an id of padding of the vocabulary", lambda x: end(x, info={"vocab_size": 20, "stop_token_ids": [17]}))
case("no end", lambda x: end(x, info={"stop_token_ids": []}))


def fork(x):
    matcher, info = matcher_of(x, default_temperature=2)
    matcher.accept_token(2)
    copy = matcher.fork()
    return copy.accept_token(10), allowed(x, matcher, info), allowed(x, copy, info), copy.temperature, type(copy).__name__


case("fork", fork)
for source in ['"abc" ("d" | "e")', '"a"*', '"a" [bc]', '"abc"']:
    case(f"forced text of {source}", lambda x, source=source: matcher_of(x, f"root ::= {source}")[0].find_jump_forward_string())

# Bitmasks.
SHAPES = {
    "int32": torch.zeros(2, 1, dtype=torch.int32),
    "int64": torch.zeros(2, 1, dtype=torch.int64),
    "float32": torch.zeros(2, 1),
    "of one dimension": torch.zeros(1, dtype=torch.int32),
    "of three dimensions": torch.zeros(1, 2, 1, dtype=torch.int32),
    "too wide": torch.zeros(2, 2, dtype=torch.int32),
    "too narrow": torch.zeros(2, 0, dtype=torch.int32),
    "numpy": torch.zeros(2, 1, dtype=torch.int32).numpy(),
    "a list": [[0]],
    "None": None,
}
for shape, rows in SHAPES.items():
    for index in [0, 1, 2, -1, "a", None, 1.0]:

        def fill(x, rows=rows, index=index):
            rows = rows.copy() if type(rows).__name__ == "ndarray" else rows.clone() if hasattr(rows, "clone") else rows
            return matcher_of(x)[0].fill_next_token_bitmask(rows, index), rows.tolist()

        case(f"fill row {index!r} of {shape}", fill)
case("allocate", lambda x: x.allocate_token_bitmask(2, 33).tolist())
case("allocate nothing", lambda x: tuple(x.allocate_token_bitmask(0, 5).shape))
case("the shape of a bitmask", lambda x: (x.get_bitmask_shape(3, 33), x.get_bitmask_shape(1, 0), str(x.bitmask_dtype)))


def reset(x):
    rows = torch.zeros(1, 2, dtype=torch.int32)
    return x.reset_token_bitmask(rows), rows.tolist()


case("reset_token_bitmask", reset)


def apply(x, logits, bitmask, **options):
    logits = logits.clone()
    return outcome(lambda: x.apply_token_bitmask_inplace(logits, torch.tensor(bitmask, dtype=torch.int32), **options)), torch.isfinite(logits).tolist()


for shape, bitmask in [((5,), [5]), ((1, 5), [[5]]), ((2, 5), [[5], [2]]), ((2, 40), [[5], [2]]), ((2, 5), [[5]]), ((1, 5), [[5], [2]]), ((1, 64), [[5, 1]]), ((2, 3, 4), [[5]])]:
    for options in [
        {},
        {"vocab_size": 3},
        {"vocab_size": 40},
        {"indices": [0]},
        {"indices": [1]},
        {"indices": [5]},
        {"indices": []},
        {"indices": [-1]},
        {"indices": torch.tensor([0])},
        {"backend": "?"},
    ]:
        case(
            f"apply {bitmask} to {shape} with {options}",
            lambda x, shape=shape, bitmask=bitmask, options=options: apply(x, torch.ones(*shape), bitmask, **options),
        )
for dtype in [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32]:
    case(f"apply to {dtype}", lambda x, dtype=dtype: apply(x, torch.ones(1, 5, dtype=dtype), [[5]]))
case("apply to columns that are not contiguous", lambda x: apply(x, torch.ones(2, 10)[:, :5], [[5], [2]]))
case("apply int64", lambda x: x.apply_token_bitmask_inplace(torch.ones(1, 5), torch.tensor([[5]])))

# Vocabularies.
for options in [
    {},
    {"vocab_size": 20},
    {"vocab_size": 5},
    {"vocab_size": 0},
    {"stop_token_ids": 5},
    {"stop_token_ids": [6, 5, 5]},
    {"stop_token_ids": [99]},
    {"stop_token_ids": [-1]},
    {"stop_token_ids": []},
    {"add_prefix_space": True},
]:

    def info(x, options=options):
        info = x.TokenizerInfo(TOKENS, **options)
        read = x.TokenizerInfo.from_vocab_and_metadata(TOKENS, info.dump_metadata())
        return [
            [info.vocab_type.name, info.vocab_size, info.stop_token_ids, info.special_token_ids, info.decoded_vocab, info.add_prefix_space, info.dump_metadata()]
            for info in (info, read, x.TokenizerInfo.deserialize_json(info.serialize_json()))
        ]

    case(f"TokenizerInfo with {options}", info)
VOCABULARIES = [
    ("BYTE_FALLBACK", ["<0x1B>", "▁apple", "<0x0a>", "▁", "a▁b", "", "<s>"]),
    ("BYTE_LEVEL", ["Ġ", "ä½ł", "Ċ", "é", "<|x|>", "你", "Ā", ""]),
    ("BYTE_LEVEL", [b"\xff", "é"]),
    ("RAW", [b"\xff", "é", b"", ""]),
    ("RAW", ["a", "a"]),
    ("RAW", []),
    ("RAW", ["</s>", "<eos>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "<|eos|>"]),
    ("RAW", ["<|im_end|>", "<|end|>", "[EOS]", "<|return|>", "<pad>", "<bos>", "<unk>"]),
    ("RAW", [1, 2]),
    ("RAW", "abc"),
    ("RAW", None),
]
for number, (vocab_type, tokens) in enumerate(VOCABULARIES):

    def decoded(x, vocab_type=vocab_type, tokens=tokens):
        info = x.TokenizerInfo(tokens, x.VocabType[vocab_type])
        return info.decoded_vocab, info.stop_token_ids, info.special_token_ids, info.vocab_size

    case(f"vocabulary {number}", decoded)
case("a stop token without text", lambda x: x.TokenizerInfo(["a", "", ""], stop_token_ids=[1]).special_token_ids)
case("prepend_space_in_tokenization", lambda x: x.TokenizerInfo(["a"]).prepend_space_in_tokenization)
for metadata in ["{", "[]", "{}", '{"vocab_type":1}', '{"vocab_type":7,"vocab_size":5,"add_prefix_space":true,"stop_token_ids":[0]}']:
    case(f"metadata {metadata}", lambda x, metadata=metadata: x.TokenizerInfo.from_vocab_and_metadata(["a"], metadata).vocab_size)
METASPACE = {"type": "Metaspace", "prepend_scheme": "always"}
for backend in [
    {"decoder": {"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"}]}},
    {"decoder": {"type": "ByteLevel"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}},
    {"decoder": {"type": "ByteFallback"}, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]}},
    {"decoder": {"type": "ByteFallback"}, "normalizer": {"type": "Prepend", "prepend": "x"}},
    {"decoder": {"type": "ByteFallback"}, "pre_tokenizer": METASPACE},
    {"decoder": {"type": "ByteFallback"}, "pre_tokenizer": METASPACE | {"prepend_scheme": "never"}},
    {"decoder": METASPACE},
    {},
]:

    def metadata_of(x, backend=backend):
        found = x.TokenizerInfo._detect_metadata_from_hf(json.dumps(backend))
        return found["vocab_type"].name, found["add_prefix_space"]

    case(f"metadata of {json.dumps(backend)}", metadata_of)


# Serialization.
def corrupted(dump, load):
    """Return what loading says of texts that are not what was dumped."""

    def outcomes(x):
        text = dump(x)
        data = json.loads(text)
        texts = [text, text[:-1], "abc", json.dumps(data | {"__VERSION__": "0"}), json.dumps(data | {"more": 1})]
        texts.append(json.dumps({"__VERSION__": data["__VERSION__"]}))
        texts.append(json.dumps({name: value for name, value in data.items() if name != "__VERSION__"}))
        kinds = (x.DeserializeFormatError, x.DeserializeVersionError, x.InvalidJSONError)

        def loaded(text):
            try:
                return type(load(x, text)).__name__
            except kinds as error:
                return type(error).__name__

        return [loaded(text) for text in texts]

    return outcomes


def compiled(x):
    return x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_grammar(AB)


case("serialized vocabularies", corrupted(lambda x: x.TokenizerInfo(TOKENS).serialize_json(), lambda x, text: x.TokenizerInfo.deserialize_json(text)))
case("serialized grammars", corrupted(lambda x: x.Grammar.from_ebnf(AB).serialize_json(), lambda x, text: x.Grammar.deserialize_json(text)))
case(
    "serialized compiled grammars",
    corrupted(lambda x: compiled(x).serialize_json(), lambda x, text: x.CompiledGrammar.deserialize_json(text, x.TokenizerInfo(TOKENS))),
)
case("a compiled grammar for another vocabulary", lambda x: x.CompiledGrammar.deserialize_json(compiled(x).serialize_json(), x.TokenizerInfo(["a"])))


def read_back(x):
    info = x.TokenizerInfo(TOKENS)
    first = x.GrammarCompiler(info).compile_json_schema({"type": "object", "properties": {"a": {"type": "boolean"}}})
    again = x.CompiledGrammar.deserialize_json(first.serialize_json(), info)
    matcher = x.GrammarMatcher(again)
    texts = str(again.grammar) == str(first.grammar), again.serialize_json() == first.serialize_json()
    return texts, matcher.accept_string('{"a":true'), allowed(x, matcher, info)


case("a compiled schema that is read back", read_back)
case("the type of the version", lambda x: type(x.get_serialization_version()).__name__)

# Compilers and sources.
for options in [{"max_threads": 0}, {"cache_limit_bytes": -2}, {"cache_enabled": False}, {"max_threads": "a"}, {"cache_limit_bytes": 1 << 40}, {}]:

    def cache(x, options=options):
        compiler = x.GrammarCompiler(x.TokenizerInfo(TOKENS), **options)
        compiler.compile_json_schema({"type": "string"})
        size = compiler.get_cache_size_bytes()
        compiler.clear_cache()
        return compiler.cache_limit_bytes, size > 0

    case(f"GrammarCompiler with {options}", cache)
COMPILER = {
    "compile_grammar": lambda x: x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_grammar,
    "compile_regex": lambda x: x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_regex,
    "compile_json_schema": lambda x: x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_json_schema,
    "compile_lark": lambda x: x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_lark,
    "compile_structural_tag": lambda x: x.GrammarCompiler(x.TokenizerInfo(TOKENS)).compile_structural_tag,
    "from_ebnf": lambda x: x.Grammar.from_ebnf,
    "from_regex": lambda x: x.Grammar.from_regex,
    "from_json_schema": lambda x: x.Grammar.from_json_schema,
    "from_lark": lambda x: x.Grammar.from_lark,
    "from_structural_tag": lambda x: x.Grammar.from_structural_tag,
    "GrammarCompiler": lambda x: x.GrammarCompiler,
    "GrammarMatcher": lambda x: x.GrammarMatcher,
    "concat": lambda x: x.Grammar.concat,
}
for name, of in COMPILER.items():
    for source in [None, 5, "(", [], {"a": object}]:
        case(f"{name}({source!r:.5})", lambda x, of=of, source=source: type(of(x)(source)).__name__)
for arguments in [
    (),
    ([], []),
    ([],),
    ([], [], []),
    ("{",),
    ("{}",),
    ("[]",),
    ({"type": "structural_tag", "format": {"type": "const_string", "value": "a"}},),
    ({"format": {"type": "const_string", "value": "a"}, "more": 1},),
    ({"type": "x", "format": {"type": "const_string", "value": "a"}},),
    ({"type": "structural_tag"},),
    ({"type": "structural_tag", "format": {"type": "?"}},),
]:
    for name in ("from_structural_tag", "compile_structural_tag"):
        case(f"{name}{arguments!r}", lambda x, name=name, arguments=arguments: type(COMPILER[name](x)(*arguments)).__name__)
for named in [{}, [], {"a": 5}, {5: 'start: "a"'}, {"a": 'start: "b"'}]:
    case(f"from_lark with {named}", lambda x, named=named: type(x.Grammar.from_lark('start: "a"', named_grammars=named)).__name__)
for source in [
    "a ::= b",
    "",
    'root = "a"',
    "root ::= a",
    'root ::= "a',
    "root ::= [a",
    "root ::= [z-a]",
    'root ::= "a"{3,1}',
    'root ::= ("a"',
    'root ::= "\\q"',
    "root ::= *",
    'a ::= "b"',
    'root ::= TagDispatch(("a", b))',
]:
    case(f"from_ebnf({source!r})", lambda x, source=source: type(x.Grammar.from_ebnf(source)).__name__)
for schema in [
    "{",
    "",
    "null",
    "5",
    "[]",
    '{"type":"foo"}',
    '{"type":5}',
    '{"$ref":"#/x"}',
    '{"enum":[]}',
    '{"anyOf":5}',
    '{"type":"integer","minimum":5,"maximum":1}',
    '{"type":"string","minLength":5,"maxLength":1}',
    '{"type":"string","pattern":"("}',
    '{"properties":5}',
    '{"prefixItems":5}',
    '{"minLength":1.5}',
    '{"type":"string","format":"?"}',
    "{}",
]:
    case(f"from_json_schema of the text {schema}", lambda x, schema=schema: type(x.Grammar.from_json_schema(schema)).__name__)
for options in [{"max_whitespace_cnt": 0}, {"max_whitespace_cnt": -1}, {"indent": 2}]:
    case(f"from_json_schema with {options}", lambda x, options=options: type(x.Grammar.from_json_schema("{}", **options)).__name__)
case("the name of the root", lambda x: x.testing._is_grammar_accept_string(x.Grammar.from_ebnf('main ::= "a"', root_rule_name="main"), "a"))
case("a root that is not there", lambda x: x.Grammar.from_ebnf('main ::= "a"'))


def attributes(x):
    grammar = compiled(x)
    return type(grammar.grammar).__name__, type(grammar.tokenizer_info).__name__, grammar.memory_size_bytes > 0


case("attributes of a compiled grammar", attributes)


# Batches.
def batch(x):
    info = x.TokenizerInfo(TOKENS)
    grammar = x.GrammarCompiler(info).compile_grammar(AB)
    matchers, batch = [x.GrammarMatcher(grammar) for _ in range(3)], x.BatchGrammarMatcher(max_threads=2)
    rows = x.allocate_token_bitmask(5, info.vocab_size)
    return [
        batch.batch_accept_token(matchers, [2, 10, 2]),
        batch.batch_fill_next_token_bitmask(matchers, rows),
        rows.tolist(),
        batch.batch_fill_next_token_bitmask(matchers, rows, [4, 3, 2]),
        rows.tolist(),
        *(outcome(lambda list=list: batch.batch_fill_next_token_bitmask(matchers, rows, list)) for list in ([0, 1], [0, 1, 9], [0, 1, -1])),
        outcome(lambda: batch.batch_fill_next_token_bitmask(matchers, rows[:2])),
        outcome(lambda: batch.batch_accept_token(matchers, [1])),
        outcome(lambda: batch.batch_accept_string(matchers, ["6", "a"])),
        batch.batch_accept_string(matchers, ["6", b"a", "x"]),
        outcome(lambda: batch.batch_rollback(matchers, [1])),
        batch.batch_rollback(matchers, [2, 1, 1]),
        outcome(lambda: batch.batch_rollback(matchers, 1)),
        batch.batch_rollback([], 1),
        batch.batch_accept_token([], []),
        batch.batch_fill_next_token_bitmask([], rows),
    ]


case("a batch", batch)
for threads in ["auto", 1, 0, -1, "x", 2.5]:
    case(f"max_threads={threads!r}", lambda x, threads=threads: type(x.BatchGrammarMatcher(max_threads=threads)).__name__)


def temperatures(x):
    matchers = [matcher_of(x, default_temperature=value)[0] for value in (None, 0.5, 2)]
    fill, values = x.BatchGrammarMatcher.batch_fill_temperature, torch.zeros(4)
    return [
        fill(matchers, values),
        values.tolist(),
        fill(matchers, values, [3, 2, 1]),
        values.tolist(),
        *(outcome(lambda list=list: fill(matchers, values, list)) for list in ([3, 2], [0, 1, 9], [0, 1, -1])),
        *(outcome(lambda to=to: fill(matchers, to)) for to in (values[:2], values.double(), values.view(2, 2))),
    ]


case("temperatures", temperatures)


# Trees.
def tree(x, children, siblings, tokens, *, n_rows=None, n_temperatures=None, before=(2,), dtype=torch.int64, seconds=-1.0, **options):
    matcher, info = matcher_of(x, 'root ::= "a" ("6" "}" | ":" "{")', **options)
    for token in before:
        assert matcher.accept_token(token)
    rows = x.allocate_token_bitmask(len(children) if n_rows is None else n_rows, info.vocab_size)
    values = None if n_temperatures is None else torch.zeros(n_temperatures)
    nodes = [torch.tensor(list, dtype=dtype) for list in (children, siblings, tokens)]
    done = outcome(lambda: matcher.traverse_draft_tree(*nodes, rows, seconds, values))
    return done, rows[:, 0].tolist(), None if values is None else values.tolist(), outcome(lambda: allowed(x, matcher, info))


TREE = [1, 3, -1, -1, -1], [-1, 2, -1, 4, -1], [2, 10, 11, 8, 7]
for name, nodes, options in [
    ("drafts", TREE, {}),
    ("a chain", ([1, 2, -1], [-1] * 3, [2, 10, 8]), {}),
    ("no drafts", ([-1], [-1], [2]), {}),
    ("a stop token", ([1, 2, -1], [-1] * 3, [2, 1, 2]), {"before": (2, 10, 8)}),
    ("drafts behind the end", TREE, {"before": (2, 10, 8, 1)}),
    ("no tokens", (*TREE[:2], [2, -1, 99, 8, 7]), {}),
    ("temperatures", TREE, {"n_temperatures": 5, "default_temperature": 0.5}),
    ("no temperature", TREE, {"n_temperatures": 5}),
    ("too few temperatures", TREE, {"n_temperatures": 4}),
    ("too few rows", TREE, {"n_rows": 3}),
    ("too many rows", TREE, {"n_rows": 7}),
    ("int32", TREE, {"dtype": torch.int32}),
    ("lists of several lengths", (TREE[0], TREE[1][:3], TREE[2]), {}),
    ("nothing", ([], [], []), {"n_rows": 1}),
    ("a circle", ([0], [-1], [2]), {}),
    ("a node that is not there", ([9], [-1], [2]), {}),
    ("much time", TREE, {"seconds": 100.0}),
]:
    case(f"tree of {name}", lambda x, nodes=nodes, options=options: tree(x, *nodes, **options))

# Settings and helpers.
for depth in [-1, 0, 1, 500, 10**6, 10**7]:

    def set_depth(x, depth=depth):
        with x.max_recursion_depth(77):
            inside = x.get_max_recursion_depth()
        before = x.get_max_recursion_depth()
        done = outcome(lambda: x.set_max_recursion_depth(depth))
        after = x.get_max_recursion_depth()
        x.set_max_recursion_depth(before)
        return inside, before, done, after

    case(f"set_max_recursion_depth({depth})", set_depth)
case("bool_mask_to_bitmask", lambda x: x.testing.bool_mask_to_bitmask(torch.arange(70).reshape(1, 70) % 3 == 0).tolist())
case("bitmask_to_bool_mask", lambda x: x.testing.bitmask_to_bool_mask(torch.tensor([[-1, 5]], dtype=torch.int32)).tolist())
for size in [33, 65]:
    case(f"bitmask_to_bool_mask of {size}", lambda x, size=size: x.testing.bitmask_to_bool_mask(torch.tensor([[-1, 5]], dtype=torch.int32), size).tolist())
case("bitmask_to_bool_mask of int64", lambda x: x.testing.bitmask_to_bool_mask(torch.tensor([[5]])))
for index in [0, 1]:
    case(f"masked tokens of row {index}", lambda x, index=index: x.testing._get_masked_tokens_from_bitmask(torch.tensor([[5]], dtype=torch.int32), 5, index))
case("masked tokens of int64", lambda x: x.testing._get_masked_tokens_from_bitmask(torch.tensor([[5]]), 5))
for word in [0, 1, 2, 3, -1, -(2**31)]:
    case(f"single token of {word}", lambda x, word=word: x.testing._is_single_token_bitmask(torch.tensor([[word]], dtype=torch.int32), 32))
for source in ['"ab"', '""', '"a"*']:
    for text in ["", "a", "ab", "b"]:

        def helpers(x, source=f"root ::= {source}", text=text):
            grammar = x.Grammar.from_ebnf(source)
            matcher = x.testing._get_matcher_from_grammar(grammar)
            other = x.testing._get_matcher_from_grammar_and_tokenizer_info(grammar, x.TokenizerInfo(TOKENS))
            return [
                x.testing._is_grammar_accept_string(source, text),
                x.testing._is_grammar_accept_string(grammar, text, require_termination=False),
                *(step for each in (matcher, other) for step in (each.accept_string(text), each.is_terminated())),
            ]

        case(f"helpers with {source} and {text!r}", helpers)

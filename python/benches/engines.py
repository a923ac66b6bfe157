"""Maskwright beside XGrammar and llguidance, in one process, on the same documents and vocabulary.

    pip install ./python xgrammar llguidance numpy
    python python/benches/engines.py [--vocab FILE.tiktoken] [--rounds N]

The vocabulary is a `.tiktoken` file; without one, the `o200k_base` that the crate tiktoken-rs carries, where cargo has unpacked it. First each engine is verified: it accepts every token of every document, each
of them set in its mask. Then each figure is the median of some rounds; the other engines' are shown as ratios to it. A peer that is not installed is left out, and a schema that one refuses is counted and left out of its figures.
"""

import argparse
import base64
import glob
import json
import os
import statistics
import subprocess
import sys
import time

import numpy

import maskwright

STOP = b"<|endoftext|>"

#: Ten families of schemas, each with a document.
FAMILIES = {
    "flat object": (
        {"type": "object", "properties": {k: {"type": "string"} for k in "abcdef"}, "required": list("abcdef")},
        {k: f"value of {k}" for k in "abcdef"},
    ),
    "numbers": (
        {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}, "required": ["x", "y"]},
        {"x": 123456, "y": -1.5e-07},
    ),
    "optional keys": (
        {"type": "object", "properties": {f"key{i}": {"type": "integer"} for i in range(20)}},
        {f"key{i}": i for i in range(0, 20, 3)},
    ),
    "enum": ({"type": "array", "items": {"enum": [f"option {i}" for i in range(100)]}}, ["option 7", "option 42", "option 99"]),
    "nested": (
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["v", "next"]}}},
        {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}},
    ),
    "long strings": (
        {"type": "object", "properties": {"text": {"type": "string", "maxLength": 200}}, "required": ["text"]},
        {"text": "The quick brown fox jumps over the lazy dog, and then it jumps back again. " * 2},
    ),
    "patterns": (
        {"type": "object", "properties": {"day": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, "id": {"type": "string", "pattern": "^[a-z]{3,8}_[0-9]+$"}}, "required": ["day", "id"]},
        {"day": "2026-11-23", "id": "item_12345"},
    ),
    "choice of objects": (
        {"type": "array", "items": {"anyOf": [{"type": "object", "properties": {"kind": {"const": f"k{i}"}, f"v{i}": {"type": "integer"}}, "required": ["kind", f"v{i}"]} for i in range(12)]}},
        [{"kind": "k3", "v3": 5}, {"kind": "k11", "v11": 6}],
    ),
    "tool call": (
        {
            "type": "object",
            "properties": {
                "name": {"const": "search"},
                "arguments": {
                    "type": "object",
                    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100}, "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5}},
                    "required": ["query"],
                },
            },
            "required": ["name", "arguments"],
        },
        {"name": "search", "arguments": {"query": "exact masks", "limit": 25, "tags": ["a", "b"]}},
    ),
    "matrix": (
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}},
        [[1, 2, 3], [4.5, -5, 6e3], [7, 8, 9]],
    ),
}


def find_vocab():
    """Return the path of a `.tiktoken` file that cargo has."""
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = sorted(glob.glob(os.path.join(home, "registry/src/*/tiktoken-rs-*/assets/o200k_base.tiktoken")))
    if not found:
        sys.exit("no vocabulary: pass --vocab FILE.tiktoken")
    return found[-1]


def read_tokens(path):
    """Return the tokens of a `.tiktoken` file, without gaps, and a stop token behind them."""
    ranks = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            token, rank = line.split()
            ranks[int(rank)] = base64.b64decode(token)
    return [ranks.get(rank, b"") for rank in range(max(ranks) + 1)] + [STOP]


class Ours:
    """Maskwright."""

    name = "maskwright"

    def __init__(self, tokens):
        self.vocab = maskwright.Vocab([token or None for token in tokens], control={len(tokens) - 1: STOP.decode()}, stop_tokens=[len(tokens) - 1])
        self.rows = maskwright.allocate_bitmask(256, len(tokens))
        self.bitmask = maskwright.Bitmask(self.rows)
        self.new_compiler()

    def new_compiler(self):
        self.compiler = maskwright.GrammarCompiler(self.vocab)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, separators=(", ", ": "), additional_properties=False)

    def matcher(self, compiled):
        return compiled.matcher()

    def fill(self, matcher, row=0):
        matcher.fill_mask(self.bitmask, row)

    def accept(self, matcher, token):
        return matcher.try_accept_token(token)

    def rollback(self, matcher, k):
        matcher.rollback(k)

    def fill_all(self, matchers):
        maskwright.fill_masks(matchers, self.bitmask)


class Xgrammar:
    """XGrammar."""

    name = "xgrammar"

    def __init__(self, tokens):
        import xgrammar

        self.library = xgrammar
        self.info = xgrammar.TokenizerInfo(tokens, vocab_size=len(tokens), stop_token_ids=[len(tokens) - 1])
        self.rows = numpy.zeros((256, (len(tokens) + 31) // 32), dtype=numpy.int32)
        self.batch = xgrammar.BatchGrammarMatcher()
        self.new_compiler()

    def new_compiler(self):
        self.compiler = self.library.GrammarCompiler(self.info)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=False, separators=(", ", ": "))

    def matcher(self, compiled):
        return self.library.GrammarMatcher(compiled)

    def fill(self, matcher, row=0):
        matcher.fill_next_token_bitmask(self.rows, row)

    def accept(self, matcher, token):
        return matcher.accept_token(token)

    def rollback(self, matcher, k):
        matcher.rollback(k)

    def fill_all(self, matchers):
        self.batch.batch_fill_next_token_bitmask(matchers, self.rows)


class Llguidance:
    """llguidance."""

    name = "llguidance"

    def __init__(self, tokens):
        import llguidance
        import llguidance.numpy

        self.library = llguidance
        ranks = {token: rank for rank, token in enumerate(tokens[:-1]) if token}
        specials = {STOP.decode(): len(tokens) - 1}
        self.tokenizer = llguidance.LLTokenizer.from_tiktoken(encoder=ranks, special_tokens=specials, pattern=r"(?s).+", n_vocab=len(tokens), eos_token=len(tokens) - 1)
        self.rows = llguidance.numpy.allocate_token_bitmask(256, len(tokens))
        self.executor = llguidance.LLExecutor()

    def new_compiler(self):
        """There is nothing that compiles share."""

    def compile(self, schema):
        options = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
        grammar = self.library.LLMatcher.grammar_from_json_schema(json.dumps(closed(schema) | options))
        matcher = self.library.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher

    def matcher(self, compiled):
        return compiled.deep_copy()

    def fill(self, matcher, row=0):
        self.library.numpy.fill_next_token_bitmask(matcher, self.rows, row)

    def accept(self, matcher, token):
        return matcher.consume_token(token)

    def rollback(self, matcher, k):
        matcher.rollback(k)

    def fill_all(self, matchers):
        self.library.numpy.fill_next_token_bitmask_par(self.executor, list(zip(matchers, range(len(matchers)), strict=True)), self.rows)


def closed(schema):
    """Return a schema whose objects have no additional properties."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return inner | {"additionalProperties": False} if inner.get("type") == "object" else inner


def has(rows, token):
    return bool(rows[0, token // 32] >> (token % 32) & 1)


def verify(engine, compiled, tokens):
    """Check that an engine accepts a document token by token, each set in its mask."""
    matcher = engine.matcher(compiled)
    for token in tokens:
        engine.fill(matcher)
        if not has(engine.rows, token) or not engine.accept(matcher, token):
            return False
    return True


def timed(work, rounds, repeat=1):
    """Return the median time of one call, in microseconds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(repeat):
            work()
        times.append((time.perf_counter() - begin) / repeat * 1e6)
    return statistics.median(times)


def import_time(module):
    """Return how long an import takes in a fresh process, in microseconds."""
    code = f"import time; begin = time.perf_counter(); import {module}; print((time.perf_counter() - begin) * 1e6)"
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
    return statistics.median(runs)


def measure(engine, documents, rounds):
    """Return the figures of an engine, in microseconds."""
    figures, compiled, refused = {}, {}, []
    for name, (schema, _) in FAMILIES.items():
        try:
            begin = time.perf_counter()
            compiled[name] = engine.compile(schema)
            first = engine.matcher(compiled[name])
            engine.fill(first)
            figures[f"compile and first mask: {name}"] = (time.perf_counter() - begin) * 1e6
            if not verify(engine, compiled[name], documents[name]):
                refused.append(name)
        except (RuntimeError, ValueError) as error:
            refused.append(f"{name} ({str(error)[:60]})")
    states = []
    for name, grammar in compiled.items():
        if name in refused:
            continue
        matcher = engine.matcher(grammar)
        for token in documents[name][: len(documents[name]) // 2]:
            engine.accept(matcher, token)
        states.append((matcher, documents[name][len(documents[name]) // 2]))

    def fills():
        for matcher, _ in states:
            engine.fill(matcher)

    def steps():
        for matcher, token in states:
            engine.accept(matcher, token)
            engine.rollback(matcher, 1)

    fills()
    figures["fill a row"] = timed(fills, rounds, 20) / len(states)
    figures["accept and take back"] = timed(steps, rounds, 20) / len(states)
    many = [engine.matcher(compiled["flat object"]) for _ in range(256)]
    for index, matcher in enumerate(many):
        for token in documents["flat object"][: index % len(documents["flat object"])]:
            engine.accept(matcher, token)

    def rows():
        for row, matcher in enumerate(many):
            engine.fill(matcher, row)

    rows()
    figures["256 rows, one by one"] = timed(rows, rounds)
    figures["256 rows in one call"] = timed(lambda: engine.fill_all(many), rounds)
    figures["import in a fresh process"] = import_time(engine.name)
    return figures, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", help="a .tiktoken file")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    tokens = read_tokens(arguments.vocab or find_vocab())
    ours = Ours(tokens)
    documents = {name: ours.vocab.tokenize_greedy(json.dumps(document).encode()) for name, (_, document) in FAMILIES.items()}
    results = {}
    for kind in (Ours, Xgrammar, Llguidance):
        try:
            engine = ours if kind is Ours else kind(tokens)
        except ImportError as error:
            print(f"{kind.name} is left out: {error}")
            continue
        results[kind.name], refused = measure(engine, documents, arguments.rounds)
        for name in refused:
            print(f"{kind.name} does not accept: {name}")
    print(f"{len(tokens)} tokens; microseconds, and the other engines as ratios\n")
    others = [name for name in results if name != ours.name]
    print(f"| | {ours.name} | {' | '.join(others)} |\n|---|{'---|' * (1 + len(others))}")
    for figure, value in results[ours.name].items():
        ratios = [f"{results[other][figure] / value:.1f}x" if figure in results[other] else "-" for other in others]
        print(f"| {figure} | {value:,.2f} | {' | '.join(ratios)} |")


if __name__ == "__main__":
    main()

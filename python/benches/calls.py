"""What a call through Python costs over the same call in Rust: a row of nine words, everything known before.

    pip install ./python numpy
    python python/benches/calls.py

Both run the same calls on the same grammar and vocabulary, Rust's by `cargo bench --bench calls`. Each figure is the least of some passes.
"""

import json
import os
import subprocess
import timeit

import maskwright

PASSES = 20
CALLS = 100_000
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BENCH = "cargo bench --locked -p maskwright-bench --no-default-features --features ours --bench calls".split()


def least(statement, matcher, names):
    """Returns the microseconds of a statement, each pass with a new matcher."""
    passes = (timeit.timeit(statement, globals=names | {"matcher": matcher()}, number=CALLS) for _ in range(PASSES))
    return min(passes) / CALLS * 1e6


def main():
    rust = json.loads(subprocess.run(BENCH, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])
    vocab = maskwright.Vocab([bytes([byte]) for byte in range(256)] + [b"ab"])
    grammar = maskwright.GrammarCompiler(vocab).compile_ebnf("root ::= [a-z]*")
    rows = maskwright.allocate_bitmask(1, vocab.n_tokens)
    names = {"bitmask": maskwright.Bitmask(rows), "row": rows[0], "a": ord("a")}
    calls = [
        ("fill_mask", "`fill_mask` of a `Bitmask`", "matcher.fill_mask(bitmask)"),
        ("fill_mask", "`fill_mask` of a numpy row", "matcher.fill_mask(row)"),
        ("accept_token", "`accept_token`", "matcher.accept_token(a)"),
        ("accept_token + rollback", "`accept_token` and `rollback`", "matcher.accept_token(a); matcher.rollback(1)"),
    ]
    nothing = least("pass", grammar.matcher, names)
    print("| microseconds | Python | Rust | difference |\n|---|---|---|---|")
    for name, title, statement in calls:
        python = least(statement, grammar.matcher, names) - nothing
        print(f"| {title} | {python:.2f} | {rust[name] / 1000:.2f} | {python - rust[name] / 1000:.2f} |")


if __name__ == "__main__":
    main()

"""A batch: many outputs with grammars of their own, one call a step for all of them."""

import random

import numpy

import maskwright


def main(n_outputs: int = 32, seed: int = 1) -> list[str]:
    """Return the outputs."""
    tokens: list[bytes | str] = [*(bytes([byte]) for byte in range(128)), "<|end|>"]
    vocab = maskwright.Vocab(tokens, stop_tokens=[128])
    compiler = maskwright.GrammarCompiler(vocab)
    grammars = [
        compiler.compile_choice(["red", "green", "blue"]),
        compiler.compile_regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
        compiler.compile_json_schema({"enum": [1, "one", None]}),
        compiler.compile_lark('start: "(" start? ")"'),
    ]
    matchers = [grammars[index % len(grammars)].matcher(fail_closed=True) for index in range(n_outputs)]
    outputs: list[list[int]] = [[] for _ in matchers]
    bitmask = maskwright.allocate_bitmask(n_outputs, vocab.n_tokens)
    generator = numpy.random.default_rng(random.Random(seed).randrange(1 << 32))
    errors = maskwright.fill_masks(matchers, bitmask)
    live = list(range(n_outputs))
    while live and not errors:
        logits = generator.random((n_outputs, vocab.n_tokens), dtype=numpy.float32)
        # A model would end before long.
        logits[:, vocab.stop_tokens] += 0.5
        maskwright.apply_mask(logits, bitmask, rows=live, n_tokens=vocab.n_tokens)
        sampled = [int(logits[row].argmax()) for row in live]
        for row, token in zip(live, sampled, strict=True):
            outputs[row].append(token)
        errors = maskwright.accept_and_fill([matchers[row] for row in live], sampled, bitmask, rows=live)
        live = [row for row in live if not matchers[row].is_terminated]
    if errors:
        raise next(iter(errors.values()))
    return [vocab.decode(output).decode() for output in outputs]


if __name__ == "__main__":
    print(*main(), sep="\n")

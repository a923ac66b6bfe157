"""A loop with a toy model: random logits, masked, so that the output is a document of a schema whatever the model likes."""

import json
import random

import numpy

import maskwright


def main(seed: int = 1) -> str:
    """Return a random document of a schema."""
    tokens: list[bytes | str] = [*(bytes([byte]) for byte in range(256)), '":', '", "', "ab", "123", "<|end|>"]
    vocab = maskwright.Vocab(tokens, stop_tokens=[len(tokens) - 1])
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 8}, "size": {"type": "integer", "minimum": 0, "maximum": 999}},
        "required": ["name", "size"],
        "additionalProperties": False,
    }
    grammar = maskwright.GrammarCompiler(vocab).compile_json_schema(schema, white_space_max=0)
    matcher = grammar.matcher()
    bitmask = maskwright.allocate_bitmask(1, vocab.n_tokens)
    generator = random.Random(seed)
    output: list[int] = []
    while not matcher.is_terminated:
        logits = numpy.array([[generator.random() for _ in range(vocab.n_tokens)]], dtype=numpy.float32)
        if matcher.fill_mask(bitmask):
            maskwright.apply_mask(logits, bitmask, n_tokens=vocab.n_tokens)
        token = int(logits[0].argmax())
        matcher.accept_token(token)
        output.append(token)
    text = vocab.decode(output).decode()
    json.loads(text)
    return text


if __name__ == "__main__":
    print(main())

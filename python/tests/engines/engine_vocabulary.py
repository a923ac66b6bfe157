"""A small vocabulary and what stands in for its tokenizer; whether engines are stood in for."""

import json
import os

#: Whether tests use the engines that are installed, and not the stand-ins.
IS_REAL = os.environ.get("MASKWRIGHT_TEST_ENGINES") == "real"

#: Bytes as tokens, then some words, then control tokens: `</s>` ends a text.
WORDS = ["true", "false", "null", '{"', '":', '", "', "<call>", "ab", "12"]
SPECIALS = ["</s>", "<|tool|>", "<think>"]


def byte_level(byte):
    """Return the character that stands for a byte in byte-level vocabularies."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    if byte in printable:
        return chr(byte)
    return chr(256 + [other for other in range(256) if other not in printable].index(byte))


class Tokenizer:
    """Has what a fast tokenizer of transformers has: the text of its `tokenizer.json`, and the id that ends a text."""

    def __init__(self):
        names = [byte_level(byte) for byte in range(256)]
        names += ["".join(byte_level(byte) for byte in word.encode()) for word in WORDS]
        self.ids = {name: token for token, name in enumerate(names)}
        self.special_ids = {name: len(names) + index for index, name in enumerate(SPECIALS)}
        self.eos_token_id = self.special_ids["</s>"]

    def to_str(self):
        return json.dumps(
            {
                "added_tokens": [
                    {"id": token, "content": name, "special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
                    for name, token in self.special_ids.items()
                ],
                "normalizer": None,
                "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
                "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
                "model": {"type": "BPE", "vocab": self.ids, "merges": []},
            }
        )

    def encode(self, text):
        return list(text.encode())


#: The width of logits: some more than there are tokens.
WIDTH = 288
N_WORDS = WIDTH // 32


def set_bits(row):
    """Return the tokens of a row of mask words."""
    return {index * 32 + bit for index, word in enumerate(row) for bit in range(32) if int(word) >> bit & 1}

"""Vocabularies that tests share."""

import pytest

import maskwright


@pytest.fixture(scope="session")
def bytes_vocab():
    """A token for each byte, some longer ones, a stop token and padding."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b'":', "é".encode(), "<|end|>", None, None]
    return maskwright.Vocab(tokens, control={259: "<|end|>"}, stop_tokens=[259])


@pytest.fixture(scope="session")
def compiler(bytes_vocab):
    return maskwright.GrammarCompiler(bytes_vocab)

"""The logits processor of llama-cpp-python, with a stand-in."""

import importlib
import re

import numpy
import pytest

import maskwright


@pytest.fixture
def llama_cpp(stand_ins):
    import sys

    sys.modules.pop("llama_cpp", None)
    yield importlib.import_module("llama_cpp")
    sys.modules.pop("llama_cpp", None)


def test_vocabulary(llama_cpp):
    from maskwright.llama_cpp import vocab_of

    vocab = vocab_of(llama_cpp.Llama())
    assert vocab.n_tokens == len(llama_cpp.TOKENS)
    assert vocab.stop_tokens == [1, 2]
    kinds = [vocab.token_kind(token) for token in range(6)]
    assert kinds == ["control", "control", "control", "added_text", "padding", "text"]
    assert vocab.token_name(2) == "<|eot|>"
    assert vocab.token_bytes(vocab.n_tokens - 1) == b"x" * 100


def test_generations(llama_cpp):
    from maskwright.llama_cpp import MaskwrightLogitsProcessor, vocab_of

    llama = llama_cpp.Llama()
    compiler = maskwright.GrammarCompiler(vocab_of(llama))
    processor = MaskwrightLogitsProcessor(compiler.compile_regex("(ab|c){2,9}[0-9]"))
    for prompt in ([70, 71], [70], [70, 71], []):
        processor.reset()
        tokens = llama.generate(prompt, 40, llama_cpp.LogitsProcessorList([processor]))
        assert tokens[-1] in (1, 2)
        assert re.fullmatch(rb"(ab|c){2,9}[0-9]", compiler.vocab.decode(tokens[:-1]))


def test_scores(llama_cpp):
    from maskwright.llama_cpp import MaskwrightLogitsProcessor, vocab_of

    compiler = maskwright.GrammarCompiler(vocab_of(llama_cpp.Llama()))
    processor = MaskwrightLogitsProcessor(compiler.compile_regex("ab"))
    n_tokens = compiler.vocab.n_tokens
    scores = numpy.zeros(n_tokens + 9, dtype=numpy.single)
    processed = processor(numpy.array([9, 9], dtype=numpy.intc), scores)
    assert (scores == 0).all()
    assert set(numpy.flatnonzero(processed == 0).tolist()) == {5 + ord("a"), n_tokens - 2}
    with pytest.raises(ValueError):
        processor(numpy.array([9, 9], dtype=numpy.intc), scores[: n_tokens - 1])

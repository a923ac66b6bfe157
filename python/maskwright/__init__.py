"""Exact token masks for language models, from a grammar and a vocabulary.

At each decoding step a matcher tells which tokens may come next, so that the output obeys a grammar, a JSON Schema, a regular expression or a structural tag::

    import maskwright

    vocab = maskwright.Vocab.from_tokenizer_file("tokenizer.json")
    compiler = maskwright.GrammarCompiler(vocab)
    matcher = compiler.compile_json_schema({"type": "object"}).matcher()
    bitmask = maskwright.allocate_bitmask(1, vocab.n_tokens)
    while not matcher.is_terminated:
        if matcher.fill_mask(bitmask):
            maskwright.apply_mask(logits, bitmask)
        matcher.accept_token(sample(logits))

Importing this module imports nothing else: numpy and torch are loaded by the calls that need them.
"""

from maskwright._bitmask import allocate_bitmask, apply_mask, n_mask_words
from maskwright._core import (
    Bitmask,
    CancelToken,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    MaskKey,
    Matcher,
    Report,
    Vocab,
    __version__,
    accept_and_fill,
    accept_tokens,
    fill_masks,
    tool_call_formats,
    tool_call_tag,
)
from maskwright.errors import CompileError, MatchError, VocabError

__all__ = [
    "Bitmask",
    "CancelToken",
    "CompileError",
    "CompiledGrammar",
    "Grammar",
    "GrammarCompiler",
    "MaskKey",
    "MatchError",
    "Matcher",
    "Report",
    "Vocab",
    "VocabError",
    "__version__",
    "accept_and_fill",
    "accept_tokens",
    "allocate_bitmask",
    "apply_mask",
    "fill_masks",
    "n_mask_words",
    "tool_call_formats",
    "tool_call_tag",
]

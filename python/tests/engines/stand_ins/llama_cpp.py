"""A stand-in of llama-cpp-python: a vocabulary and a loop that samples, with the calls and layouts of version 0.3.36."""

import ctypes
from types import SimpleNamespace

import numpy

#: Name, attributes and whether it ends a generation: unknown, control, user-defined, unused, bytes.
TOKENS = [
    (b"<unk>", 1, False),
    (b"</s>", 8, True),
    (b"<|eot|>", 8, True),
    (b"<tool>", 16, False),
    (b"[unused]", 2, False),
    *[(bytes([byte]), 32, False) for byte in range(256)],
    (b"ab", 4, False),
    (b"x" * 100, 4, False),
]


class LogitsProcessorList(list):
    def __call__(self, input_ids, scores):
        for processor in self:
            scores = processor(input_ids, scores)
        return scores


def llama_vocab_n_tokens(vocab, /):
    return len(TOKENS)


def llama_vocab_get_attr(vocab, token, /):
    return TOKENS[token][1]


def llama_vocab_is_eog(vocab, token, /):
    return TOKENS[token][2]


def llama_token_to_piece(vocab, token, buf, length, lstrip, special, /):
    assert special is True and lstrip == 0
    piece = TOKENS[token][0]
    if len(piece) > length:
        return -len(piece)
    ctypes.memmove(buf, piece, len(piece))
    return len(piece)


class Llama:
    """Draws tokens at random."""

    def __init__(self, seed=0):
        self._model = SimpleNamespace(vocab=object())
        self._rng = numpy.random.default_rng(seed)

    def generate(self, prompt, n_max, logits_processor):
        """Return the tokens behind a prompt up to the one that ends them."""
        input_ids = numpy.array(prompt, dtype=numpy.intc)
        for _ in range(n_max):
            layout = numpy.dtype([("id", numpy.intc), ("logit", numpy.single), ("p", numpy.single)], align=True)
            data = numpy.zeros(len(TOKENS), dtype=layout).view(numpy.recarray)
            data.logit[:] = self._rng.normal(size=len(TOKENS))
            for processor in logits_processor:
                data.logit[:] = processor(input_ids, data.logit)
            token = int(data.logit.argmax())
            input_ids = numpy.append(input_ids, numpy.intc(token))
            if TOKENS[token][2]:
                break
        return input_ids[len(prompt) :].tolist()

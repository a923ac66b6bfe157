"""Vocabularies of tokenizer objects and of files that are read more easily here than in Rust."""

import base64
import binascii
import json

from maskwright._core import Vocab
from maskwright.errors import VocabError

#: Token ids of files are below it: more tokens than any model has, and lists of so many take no time.
_ID_BOUND = 1 << 21


def rebuild(tokens, control, added_text, stop_tokens):
    """Return a vocabulary that was pickled."""
    return Vocab(tokens, control=control, added_text=added_text, stop_tokens=stop_tokens)


def from_tokenizer(tokenizer, stop_tokens, width):
    """Return the vocabulary of a tokenizer object.

    Known are tokenizers of transformers (fast ones, those over mistral-common, and those over tiktoken), ``tokenizers.Tokenizer``, ``tiktoken.Encoding``, and those of mistral-common. Stop tokens are those of the
    argument; otherwise what the tokenizer names as the end of a text; otherwise those with customary names.
    """
    if stop_tokens is None:
        stop_tokens = _stop_tokens_of(tokenizer)
    text = _tokenizer_json(tokenizer)
    if text is not None:
        return Vocab.from_tokenizer_json(text, stop_tokens=stop_tokens, width=width)
    encoding = _tiktoken_encoding(tokenizer)
    if encoding is not None:
        return _from_tiktoken(encoding, stop_tokens, width)
    tekken = _tekken(tokenizer)
    if tekken is not None:
        return _from_tekken(tekken, stop_tokens, width)
    raise VocabError(
        f"a tokenizer of type {type(tokenizer).__module__}.{type(tokenizer).__qualname__} is not known: "
        "build a Vocab from the bytes of its tokens"
    )


def _stop_tokens_of(tokenizer):
    ids = getattr(tokenizer, "eos_token_ids", None) or getattr(tokenizer, "eos_token_id", None)
    if ids is None:
        return None
    return [ids] if isinstance(ids, int) else list(ids)


def _tokenizer_json(tokenizer):
    """Return the text of the ``tokenizer.json`` that the object has, if it has one."""
    backend = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None) or tokenizer
    to_str = getattr(backend, "to_str", None)
    if to_str is None:
        return None
    text = to_str()
    return text if isinstance(text, str) and text.lstrip().startswith("{") else None


def _tiktoken_encoding(tokenizer):
    for candidate in (tokenizer, getattr(tokenizer, "model", None), getattr(tokenizer, "tokenizer", None)):
        if hasattr(candidate, "_mergeable_ranks") and hasattr(candidate, "_special_tokens"):
            return candidate
    return None


def _from_tiktoken(encoding, stop_tokens, width):
    return _from_ranks(dict(encoding._mergeable_ranks), dict(encoding._special_tokens), stop_tokens, width)


def _from_ranks(ranks, specials, stop_tokens, width):
    """Return the vocabulary of tokens by their bytes and of special tokens by their names."""
    n_tokens = max([*ranks.values(), *specials.values()], default=-1) + 1
    tokens = [None] * n_tokens
    for token, rank in ranks.items():
        if tokens[rank] is not None:
            raise VocabError(f"the id {rank} is given twice", is_malformed=True)
        tokens[rank] = token
    for name, token in specials.items():
        if tokens[token] is not None:
            raise VocabError(f"the id {token} of special token {name} is taken", is_malformed=True)
    control = {token: name for name, token in specials.items()}
    if stop_tokens is None:
        stop_tokens = _customary_stops(control)
    return Vocab(tokens, control=control, stop_tokens=stop_tokens, width=width)


#: Customary names of tokens that end a text or a turn.
_STOP_NAMES = frozenset(
    [
        "</s>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<eos>",
        "<end_of_turn>",
        "[EOS]",
    ]
)


def _customary_stops(control):
    return [token for token, name in control.items() if name in _STOP_NAMES]


def from_tiktoken_text(text, special_tokens, stop_tokens, width):
    """Return the vocabulary of ``.tiktoken`` text."""
    ranks = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            encoded, rank = line.split()
            token, rank = base64.b64decode(encoded, validate=True), int(rank)
        except (ValueError, binascii.Error):
            raise VocabError(f"line {number}: expected a token in base64, a space and its rank", line=number, is_malformed=True) from None
        if not 0 <= rank < _ID_BOUND:
            raise VocabError(f"line {number}: {rank} is no rank", line=number, is_malformed=True)
        if ranks.setdefault(token, rank) != rank:
            raise VocabError(f"line {number}: the token has another rank as well", line=number, is_malformed=True)
    specials = dict(special_tokens or {})
    for name, rank in specials.items():
        if not isinstance(name, str) or not isinstance(rank, int) or not 0 <= rank < _ID_BOUND:
            raise VocabError(f"special token {name!r}: {rank!r} is no token id")
    return _from_ranks(ranks, specials, stop_tokens, width)


def from_tekken_json(text, stop_tokens, width):
    """Return the vocabulary of a ``tekken.json`` file."""
    try:
        data = json.loads(text)
        config, entries = data["config"], data["vocab"]
        n_special = int(config["default_num_special_tokens"])
        n_tokens = int(config["default_vocab_size"])
        if not 0 <= n_special <= n_tokens <= _ID_BOUND:
            raise VocabError(f"{n_special} special tokens of {n_tokens}", is_malformed=True)
        tokens = [None] * n_tokens
        for entry in entries[: n_tokens - n_special]:
            tokens[n_special + int(entry["rank"])] = base64.b64decode(entry["token_bytes"], validate=True)
        specials = data.get("special_tokens") or [{"rank": rank, "token_str": name} for rank, name in enumerate(_TEKKEN_SPECIALS)]
        control = {int(entry["rank"]): entry["token_str"] for entry in specials}
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, binascii.Error) as error:
        if isinstance(error, VocabError):
            raise
        raise VocabError(f"this is no tekken file: {error}", is_malformed=True) from None
    # Special tokens that the file leaves out have names all the same, and are no text.
    control.update((rank, f"<SPECIAL_{rank}>") for rank in range(n_special) if rank not in control)
    if stop_tokens is None:
        stop_tokens = [rank for rank, name in control.items() if name == "</s>"]
    return Vocab(tokens, control=control, stop_tokens=stop_tokens, width=width)


#: The special tokens of files of the first version, which don't list them.
_TEKKEN_SPECIALS = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
]


def _tekken(tokenizer):
    """Return the tokenizer of mistral-common that has the vocabulary, wherever it is wrapped."""
    candidates = [tokenizer]
    for _ in range(4):
        candidates += [
            inner
            for outer in candidates
            for name in ("tokenizer", "instruct_tokenizer", "instruct", "mistral")
            if (inner := getattr(outer, name, None)) is not None and all(inner is not known for known in candidates)
        ]
    for candidate in candidates:
        if hasattr(candidate, "_tekken_token2id_nospecial") and hasattr(candidate, "num_special_tokens"):
            return candidate
    return None


def _from_tekken(tekken, stop_tokens, width):
    n_special = tekken.num_special_tokens
    tokens = [None] * tekken.n_words
    for token, rank in tekken._tekken_token2id_nospecial.items():
        if n_special + rank < len(tokens):
            tokens[n_special + rank] = token
    control = {rank: tekken.id_to_piece(rank) for rank in range(n_special)}
    if stop_tokens is None:
        stop_tokens = [tekken.eos_id]
    return Vocab(tokens, control=control, stop_tokens=stop_tokens, width=width)

"""Vocabularies."""

import enum
import json
import re
import warnings

from maskwright import Vocab

from .config import get_serialization_version
from .exception import DeserializeFormatError, DeserializeVersionError


class VocabType(enum.Enum):
    """How the tokens of a vocabulary are written: as they are, with bytes as ``<0x1B>`` and blanks as ``▁``, or in the alphabet of byte-level BPE."""

    RAW = 0
    BYTE_FALLBACK = 1
    BYTE_LEVEL = 2


def _byte_level_alphabet():
    """Return the bytes by the characters that stand for them: printable ones for themselves, others for characters from U+0100 on (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTES = _byte_level_alphabet()
_BYTE_LEVEL_CHARSET = frozenset(_BYTES)
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

#: Names by which stop tokens are found where none are given.
_STOP_NAMES = frozenset(
    name.encode()
    for name in (
        "</s>",
        "<|end_of_text|>",
        "<|eot_id|>",
        "<|endoftext|>",
        "<eos>",
        "<|eos|>",
        "<end_of_turn>",
        "<｜end▁of▁sentence｜>",
    )
)


def _parts(part):
    """Return the steps of a sequence of a ``tokenizer.json``, or the step."""
    if not part:
        return []
    listed = next((part[name] for name in ("decoders", "normalizers") if name in part), None)
    return [part] if listed is None else listed


def _decode(token, vocab_type):
    if isinstance(token, bytes):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            return token
    else:
        text = token
    if not isinstance(text, str):
        raise RuntimeError(f"a token is str or bytes, not {type(token).__name__}")
    if vocab_type is VocabType.BYTE_FALLBACK:
        piece = _BYTE_PIECE.fullmatch(text)
        return bytes([int(piece[1], 16)]) if piece else text.replace("▁", " ").encode()
    if vocab_type is VocabType.BYTE_LEVEL:
        try:
            return bytes([_BYTES[char] for char in text])
        except KeyError:
            # Added tokens are written as they are.
            return text.encode()
    return token if isinstance(token, bytes) else text.encode("utf-8", "surrogateescape")


def _named_stops(decoded):
    return [index for index, token in enumerate(decoded) if token in _STOP_NAMES]


class TokenizerInfo:
    """The tokens of a model. An empty token is special: never text."""

    def __init__(
        self,
        encoded_vocab,
        vocab_type=VocabType.RAW,
        *,
        vocab_size=None,
        stop_token_ids=None,
        add_prefix_space=False,
    ):
        if isinstance(encoded_vocab, str | bytes):
            raise TypeError("a vocabulary is a list of tokens")
        tokens = list(encoded_vocab)
        decoded = [_decode(token, vocab_type) for token in tokens]
        if stop_token_ids is None:
            stop_token_ids = _named_stops(decoded)
        self._set(decoded, vocab_type, vocab_size, stop_token_ids, add_prefix_space)
        # A token without bytes has no text, and nothing can name it.
        plain = [token or None for token in decoded]
        self._vocab = self._built(plain, {}, self._vocab_size, self._stop_token_ids)

    def _set(self, decoded, vocab_type, vocab_size, stop_token_ids, add_prefix_space):
        if vocab_size is not None and vocab_size < len(decoded):
            raise RuntimeError(f"the vocabulary has {len(decoded)} tokens, more than vocab_size {vocab_size}")
        self._decoded = decoded
        self._vocab_type = vocab_type
        self._vocab_size = len(decoded) if vocab_size is None else vocab_size
        stops = {stop_token_ids} if isinstance(stop_token_ids, int) else set(stop_token_ids)
        # No output has a token beyond the logits.
        self._stop_token_ids = sorted(token for token in stops if 0 <= token < self._vocab_size)
        self._add_prefix_space = add_prefix_space

    @staticmethod
    def _built(tokens, control, vocab_size, stop_token_ids):
        try:
            # A vocabulary has a token at least.
            return Vocab(tokens, control=control, stop_tokens=stop_token_ids, width=max(vocab_size, 1))
        except ValueError as error:
            raise RuntimeError(str(error)) from error

    @staticmethod
    def from_huggingface(tokenizer, *, vocab_size=None, stop_token_ids=None):
        """Read a tokenizer of transformers. Its special tokens are no text; literals of grammars and tags may be spelled by them."""
        if isinstance(stop_token_ids, list) and not stop_token_ids:
            raise ValueError("stop_token_ids cannot be empty")
        if not hasattr(tokenizer, "get_vocab"):
            raise ValueError(f"a tokenizer of type {type(tokenizer).__name__} has no get_vocab")
        ids = tokenizer.get_vocab()
        n_tokens = max([len(ids), *(index + 1 for index in ids.values())])
        encoded = [""] * n_tokens
        for token, index in ids.items():
            encoded[index] = token
        vocab_type, add_prefix_space = TokenizerInfo._detect_metadata(tokenizer, ids)
        decoded = [_decode(token, vocab_type) for token in encoded]
        if stop_token_ids is None:
            stop_token_ids = getattr(tokenizer, "eos_token_id", None)
        if stop_token_ids is None:
            warnings.warn("no stop tokens are given, and the tokenizer has none: they are found by their names", stacklevel=2)
            stop_token_ids = _named_stops(decoded)
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        width = n_tokens if vocab_size is None else vocab_size
        info = TokenizerInfo.__new__(TokenizerInfo)
        decoded = decoded[:width] + [b""] * (width - len(decoded))
        info._set(decoded, vocab_type, width, stops, add_prefix_space)
        try:
            info._vocab = Vocab.from_tokenizer(tokenizer, stop_tokens=[i for i in stops if i < width], width=width)
        except ValueError:
            # A tokenizer in Python: its special tokens are known by name.
            special = {index for index in tokenizer.all_special_ids if index < width}
            control = {index: name for name, index in ids.items() if index in special}
            info._vocab = TokenizerInfo._built([token or None for token in decoded], control, width, stops)
        return info

    @staticmethod
    def _detect_vocab_type_from_vocab(vocab_dict):
        """Return how tokens are written, by the alphabet of which most is there; None if that is neither."""
        if sum(f"<0x{byte:02X}>" in vocab_dict for byte in range(256)) >= 128:
            return VocabType.BYTE_FALLBACK
        if sum(char in vocab_dict for char in _BYTE_LEVEL_CHARSET) < 128:
            return None
        # Added tokens are written as they are: one of a hundred, at most.
        n_written = sum(_BYTE_LEVEL_CHARSET.issuperset(token) for token in vocab_dict)
        return VocabType.BYTE_LEVEL if 100 * n_written >= 99 * len(vocab_dict) else None

    @staticmethod
    def _detect_metadata_from_hf(backend_str):
        """Return how tokens are written, and whether a blank is put before texts, as the text of a ``tokenizer.json`` says."""
        try:
            data = json.loads(backend_str)
            decoders, normalizers = (_parts(data.get(name)) for name in ("decoder", "normalizer"))
        except (AttributeError, ValueError) as error:
            raise RuntimeError(f"the tokenizer can't be read: {error!r}") from error
        types = {decoder.get("type") for decoder in decoders}
        vocab_type = VocabType.RAW
        if "ByteFallback" in types:
            vocab_type = VocabType.BYTE_FALLBACK
        elif "ByteLevel" in types:
            vocab_type = VocabType.BYTE_LEVEL
        prepends = any(part.get("type") == "Prepend" and part.get("prepend") == "▁" for part in normalizers)
        first = data.get("pre_tokenizer") or {}
        is_metaspace = first.get("type") == "Metaspace" and first.get("prepend_scheme") in ("always", "first")
        return {"vocab_type": vocab_type, "add_prefix_space": prepends or is_metaspace}

    @staticmethod
    def _detect_metadata(tokenizer, ids):
        """Return how tokens are written, as the vocabulary shows, or else as the tokenizer says; and whether a blank is put before texts, as the tokenizer says unless it is wrong about the first."""
        found = TokenizerInfo._detect_vocab_type_from_vocab(ids)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None:
            said = TokenizerInfo._detect_metadata_from_hf(backend.to_str())
            if found in (None, said["vocab_type"]):
                return said["vocab_type"], said["add_prefix_space"]
        found = found or VocabType.RAW
        return found, TokenizerInfo._detect_add_prefix_space_by_encoding(tokenizer, found)

    @staticmethod
    def _detect_add_prefix_space_by_encoding(tokenizer, vocab_type):
        """Tell whether the tokenizer puts a blank before a text."""
        try:
            tokens = tokenizer.convert_ids_to_tokens(tokenizer.encode("a", add_special_tokens=False))
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return False
        blank = "▁" if vocab_type is VocabType.BYTE_FALLBACK else "Ġ"
        return bool(tokens) and isinstance(tokens[0], str) and tokens[0].startswith(blank)

    @staticmethod
    def _is_tiktoken_tokenizer(tokenizer):
        """Tell whether a tokenizer of transformers runs on tiktoken."""
        inner = type(getattr(tokenizer, "tokenizer", None))
        names = getattr(tokenizer, "vocab_files_names", None) or {}
        return inner.__module__.split(".")[0] == "tiktoken" or "tiktoken" in str(names.get("vocab_file", ""))

    @staticmethod
    def _is_sentencepiece_tokenizer(tokenizer):
        """Tell whether a tokenizer of transformers runs on SentencePiece."""
        nested = getattr(tokenizer, "tokenizer", None)
        models = [getattr(tokenizer, "sp_model", None), getattr(nested, "sp_model", None), getattr(tokenizer, "tok", None)]
        return any(type(model).__module__.split(".")[0] == "sentencepiece" for model in models)

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab, metadata):
        """Build the vocabulary that ``dump_metadata`` described."""
        try:
            data = json.loads(metadata)
            vocab_type = VocabType(data["vocab_type"])
            options = {name: data[name] for name in ("vocab_size", "stop_token_ids", "add_prefix_space")}
        except (KeyError, TypeError, ValueError) as error:
            raise RuntimeError(f"the metadata can't be read: {error!r}") from error
        return TokenizerInfo(encoded_vocab, vocab_type, **options)

    def dump_metadata(self):
        """Return what is known beyond the tokens, as JSON."""
        data = {
            "vocab_type": self._vocab_type.value,
            "vocab_size": self._vocab_size,
            "add_prefix_space": self._add_prefix_space,
            "stop_token_ids": self._stop_token_ids,
        }
        return json.dumps(data, separators=(",", ":"))

    def serialize_json(self):
        """Return the vocabulary as JSON."""
        data = json.loads(self.dump_metadata())
        data["special_token_ids"] = self.special_token_ids
        data["decoded_vocab"] = [token.decode("latin-1") for token in self._decoded]
        control = (i for i in range(self._vocab.n_tokens) if self._vocab.token_kind(i) == "control")
        data["control"] = {str(i): self._vocab.token_name(i) for i in control}
        return json.dumps(data | {"__VERSION__": get_serialization_version()})

    @staticmethod
    def deserialize_json(json_string):
        """Read what ``serialize_json`` wrote."""
        fields = ["vocab_type", "vocab_size", "add_prefix_space", "stop_token_ids", "special_token_ids", "decoded_vocab", "control"]
        data = _loaded(json_string, fields)
        decoded = [token.encode("latin-1") for token in data["decoded_vocab"]]
        info = TokenizerInfo.__new__(TokenizerInfo)
        vocab_type = VocabType(data["vocab_type"])
        info._set(decoded, vocab_type, data["vocab_size"], data["stop_token_ids"], data["add_prefix_space"])
        control = {int(index): name for index, name in data["control"].items()}
        plain = [token or None for token in decoded]
        info._vocab = TokenizerInfo._built(plain, control, info._vocab_size, info._stop_token_ids)
        return info

    @property
    def vocab_type(self):
        """How tokens are written."""
        return self._vocab_type

    @property
    def vocab_size(self):
        """The width of a row of logits."""
        return self._vocab_size

    @property
    def add_prefix_space(self):
        """Whether the tokenizer puts a blank before a text."""
        return self._add_prefix_space

    @property
    def prepend_space_in_tokenization(self):
        """As ``add_prefix_space``."""
        warnings.warn("prepend_space_in_tokenization is deprecated: use add_prefix_space", stacklevel=2)
        return self._add_prefix_space

    @property
    def decoded_vocab(self):
        """The bytes of the tokens."""
        return list(self._decoded)

    @property
    def stop_token_ids(self):
        """The tokens that end an output."""
        return list(self._stop_token_ids)

    @property
    def special_token_ids(self):
        """The tokens without text, padding among them; not those that end an output."""
        empty = {index for index, token in enumerate(self._decoded) if not token}
        return sorted(empty.union(range(len(self._decoded), self._vocab_size)).difference(self._stop_token_ids))


def _loaded(text, fields):
    """Return the object of a serialized text, which has some fields."""
    try:
        data = json.loads(text)
    except ValueError as error:
        from .exception import InvalidJSONError

        raise InvalidJSONError(f"Invalid JSON error: {error}") from error
    if not isinstance(data, dict):
        raise DeserializeFormatError("Deserialize format error: expected an object")
    if data.get("__VERSION__") != get_serialization_version():
        raise DeserializeVersionError(f"Deserialize version error: the version is {data.get('__VERSION__')!r}")
    if missing := [field for field in fields if field not in data]:
        raise DeserializeFormatError(f"Deserialize format error: {', '.join(missing)} missing")
    return data

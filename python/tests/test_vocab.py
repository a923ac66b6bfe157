import base64
import json
import pickle

import pytest

import maskwright


def test_tokens_kinds_and_names(bytes_vocab):
    assert len(bytes_vocab) == bytes_vocab.n_tokens == 262 and bytes_vocab.n_mask_words == 9
    assert bytes_vocab.stop_tokens == [259]
    kinds = [bytes_vocab.token_kind(token) for token in (65, 258, 259, 260)]
    assert kinds == ["text", "text", "control", "padding"]
    assert bytes_vocab.token_bytes(256) == b"ab" and bytes_vocab.token_bytes(259) == b""
    assert bytes_vocab.token_name(259) == "<|end|>" and bytes_vocab.ids_named("<|end|>") == [259]
    assert bytes_vocab.decode([65, 256]) == b"Aab" and bytes_vocab.tokenize_greedy(b"aba") == [256, 97]
    with pytest.raises(IndexError):
        bytes_vocab.token_bytes(262)


def test_pickled_vocabularies_are_equal(bytes_vocab):
    again = pickle.loads(pickle.dumps(bytes_vocab))
    assert repr(again) == repr(bytes_vocab)
    for token in range(262):
        for ask in ("token_bytes", "token_kind", "token_name"):
            assert getattr(again, ask)(token) == getattr(bytes_vocab, ask)(token)


def test_width_pads_and_cuts():
    assert maskwright.Vocab(["a", "b"], width=5).token_kind(4) == "padding"
    assert maskwright.Vocab(["a", "b", "c"], width=2, stop_tokens=[1, 2]).stop_tokens == [1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([],), maskwright.VocabError),
        ((["a"],), None),
        (([1],), TypeError),
        ((5,), TypeError),
    ],
)
def test_bad_tokens(arguments, error):
    if error is None:
        maskwright.Vocab(*arguments)
    else:
        with pytest.raises(error):
            maskwright.Vocab(*arguments)
    with pytest.raises(maskwright.VocabError, match="stop token"):
        maskwright.Vocab(["a"], stop_tokens=[7])


def tokenizer_json():
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3}, "merges": ["a b"]}
    added = [{"id": 4, "content": "<|im_end|>", "special": True}, {"id": 5, "content": "<think>", "special": False}]
    shared = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": [token | shared for token in added],
            "normalizer": None,
            "pre_tokenizer": byte_level,
            "post_processor": None,
            "decoder": byte_level,
            "model": model,
        }
    )


def test_tokenizer_files(tmp_path):
    text = tokenizer_json()
    vocab = maskwright.Vocab.from_tokenizer_json(text)
    assert [vocab.token_bytes(token) for token in range(4)] == [b"a", b"b", b" ", b"ab"]
    assert vocab.stop_tokens == [4] and vocab.token_kind(5) == "added_text"
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    assert maskwright.Vocab.from_tokenizer_file(path, stop_tokens=[3], width=9).stop_tokens == [3]
    for broken in (text[:100], "{}", "[]", ""):
        with pytest.raises(maskwright.VocabError):
            maskwright.Vocab.from_tokenizer_json(broken)
    with pytest.raises(maskwright.VocabError):
        maskwright.Vocab.from_tokenizer_file(tmp_path / "missing.json")


class Fast:
    """Looks like a fast tokenizer of transformers."""

    eos_token_id = 4

    class backend_tokenizer:  # noqa: N801
        @staticmethod
        def to_str():
            return tokenizer_json()


class Encoding:
    """Looks like an encoding of tiktoken."""

    _mergeable_ranks = {b"a": 0, b"b": 1, b"ab": 3}
    _special_tokens = {"<|endoftext|>": 4}


def test_tokenizer_objects():
    assert maskwright.Vocab.from_tokenizer(Fast()).stop_tokens == [4]
    vocab = maskwright.Vocab.from_tokenizer(Encoding())
    assert (vocab.n_tokens, vocab.stop_tokens, vocab.token_kind(2)) == (5, [4], "padding")
    with pytest.raises(maskwright.VocabError, match="not known"):
        maskwright.Vocab.from_tokenizer(object())


def test_tiktoken_text():
    text = "\n".join(f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate([b"a", b"b", b"\xff"]))
    vocab = maskwright.Vocab.from_tiktoken_text(text, {"<|endoftext|>": 3})
    assert vocab.token_bytes(2) == b"\xff" and vocab.stop_tokens == [3]
    for line in ("YQ==", "YQ== x", "Y 1", "YQ== -1", "YQ== 99999999999"):
        with pytest.raises(maskwright.VocabError) as caught:
            maskwright.Vocab.from_tiktoken_text(f"Yg== 0\n{line}")
        assert caught.value.line == 2 and caught.value.is_malformed
    with pytest.raises(maskwright.VocabError, match="taken"):
        maskwright.Vocab.from_tiktoken_text(text, {"<|endoftext|>": 2})


def test_tekken_files():
    def entry(rank, token):
        return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}

    data = {
        "config": {"default_num_special_tokens": 4, "default_vocab_size": 7},
        "vocab": [entry(0, b"a"), entry(1, b"\xff"), entry(2, b"ab"), entry(3, b"beyond")],
        "special_tokens": [{"rank": 2, "token_str": "</s>"}],
    }
    vocab = maskwright.Vocab.from_tekken_json(json.dumps(data))
    assert [vocab.token_bytes(token) for token in (4, 5, 6)] == [b"a", b"\xff", b"ab"]
    assert vocab.stop_tokens == [2] and vocab.token_name(3) == "<SPECIAL_3>"
    for broken in ("", "{}", "[]", json.dumps(data | {"config": {}}), json.dumps(data | {"vocab": [5]})):
        with pytest.raises(maskwright.VocabError):
            maskwright.Vocab.from_tekken_json(broken)

"""A tokenizer and a model of random weights, small enough for tests: nothing is downloaded."""

import json
from pathlib import Path

#: Special tokens of the tokenizer: `</s>` ends a text, the others stand in chat templates.
SPECIAL_TOKENS = ["<unk>", "<s>", "</s>", "<pad>", "<think>", "</think>", "<tool_call>", "</tool_call>"]

_WORDS = """
the a of to and in is that it for was on are as with they be at one have this from or had by not but what all were when we there can an
your which their said if do will each about how up out them then she many some so these would other into has more her two like him see
true false null name age city type value items object array string number integer boolean 2024 2025 10 100 1000 0.5 3.14 -1
{"name": "x", "age": 1} [1, 2, 3] {"a": [true, false, null]} "key": "value", {"city": "Oslo", "items": []} </x> <x> a-b c_d e.f
"""


def write_tokenizer(folder: Path, *, n_tokens: int = 1000) -> None:
    """Write the files of a byte-level BPE tokenizer of about `n_tokens` tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_WORDS.strip().splitlines() * 8, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "model_max_length": 1024,
        "clean_up_tokenization_spaces": False,
        "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: ",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_model(folder: Path, *, n_tokens: int = 1000, width: int = 1024) -> None:
    """Write a tokenizer and the configuration of a Llama model with `width` logits; the weights are for the engine to invent."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder, n_tokens=n_tokens)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-5,
        "vocab_size": width,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 3,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 2, "bos_token_id": 1}))

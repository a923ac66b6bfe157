"""Generation with transformers, constrained by a JSON Schema: sampling, beams and prompt lookup, for a batch of prompts.

Usage: transformers_generate.py [MODEL]     (without a model: a tiny one of random weights, nothing is downloaded)
"""

import json
import sys
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import maskwright
from maskwright.transformers import MaskwrightLogitsProcessor, vocab_of

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 10}, "population": {"type": "integer", "minimum": 0, "maximum": 40000000}},
    "required": ["city", "population"],
    "additionalProperties": False,
}


def random_model() -> tuple[Any, Any]:
    """Return a model that knows nothing, and a tokenizer of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["</s>", "<pad>", *alphabet]
    backend = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment, unused-ignore]
    backend.decoder = decoders.ByteLevel()  # type: ignore[assignment, unused-ignore]
    backend.add_special_tokens(["</s>", "<pad>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", padding_side="left")
    config = LlamaConfig(vocab_size=320, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, eos_token_id=0, pad_token_id=1, bos_token_id=None)
    return LlamaForCausalLM(config).eval(), tokenizer


def main(name: str | None = None, seed: int = 0) -> list[str]:
    """Return documents of the schema."""
    torch.manual_seed(seed)
    model: Any  # The type that transformers gives it lacks attributes that its own `generate` asks for.
    if name is None:
        model, tokenizer = random_model()
    else:
        model, tokenizer = AutoModelForCausalLM.from_pretrained(name).eval(), AutoTokenizer.from_pretrained(name, padding_side="left")
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    compiler = maskwright.GrammarCompiler(vocab_of(tokenizer, model))
    grammar = compiler.compile_json_schema(SCHEMA, white_space_max=1)
    texts = []
    for prompts, options in (
        (["A large city, as JSON: ", "Another: "], {"do_sample": True}),
        (["A small city, as JSON: "], {"num_beams": 3, "do_sample": False}),
        (["A city, as JSON: "], {"prompt_lookup_num_tokens": 4, "do_sample": True}),
    ):
        inputs = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False).to(model.device)
        output = model.generate(**inputs, logits_processor=[MaskwrightLogitsProcessor(grammar)], max_new_tokens=150, **options)
        texts += tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [json.dumps(json.loads(text)) for text in texts]


if __name__ == "__main__":
    print(*main(sys.argv[1] if len(sys.argv) > 1 else None), sep="\n")

"""The logits processor of transformers, with a tiny model of random weights."""

import copy
import json
import re
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import jsonschema  # noqa: E402
import tiny_model  # noqa: E402
import torch  # noqa: E402

import maskwright  # noqa: E402
from maskwright.transformers import MaskwrightLogitsProcessor, vocab_of  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPTS = ["The people of the city", 'A value is {"name": "x", "age": 1} and {"name":', "1, 2"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The model, its tokenizer and a compiler."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("model")
    tiny_model.write_model(folder)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).eval()
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 3
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    vocab = vocab_of(tokenizer, model)
    assert vocab.n_tokens == model.config.vocab_size
    assert vocab.stop_tokens == [2]
    return model, tokenizer, maskwright.GrammarCompiler(vocab)


def generate(loaded, grammars, prompts=PROMPTS, processor=None, **options):
    """Return what was generated for each prompt, as lists of tokens up to the end."""
    model, tokenizer, _ = loaded
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    inputs.pop("token_type_ids", None)
    processor = processor or MaskwrightLogitsProcessor(grammars)
    torch.manual_seed(0)
    output = model.generate(**inputs, logits_processor=[processor], max_new_tokens=120, **options)
    generated = output[:, inputs["input_ids"].shape[1] :].tolist()
    return [tokens[: tokens.index(2)] if 2 in tokens else None for tokens in generated]


def is_valid(loaded, tokens):
    assert tokens is not None, "an output did not end"
    jsonschema.validate(json.loads(loaded[1].decode(tokens)), SCHEMA)
    return True


WAYS = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True},
    "returned sequences": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 3, "do_sample": False},
    "returned beams": {"num_beams": 4, "num_return_sequences": 3, "do_sample": False},
    "sampled beams": {"num_beams": 3, "do_sample": True},
    "no cache": {"do_sample": True, "use_cache": False},
}


@pytest.mark.parametrize("way", WAYS)
def test_ways(loaded, way):
    grammar = loaded[2].compile_json_schema(SCHEMA, white_space_max=1)
    outputs = generate(loaded, grammar, **WAYS[way])
    assert len(outputs) == len(PROMPTS) * WAYS[way].get("num_return_sequences", 1)
    assert all(is_valid(loaded, tokens) for tokens in outputs)


@pytest.mark.parametrize("do_sample", [False, True])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_prompt_lookup(loaded, prompt, do_sample):
    grammar = loaded[2].compile_json_schema(SCHEMA, white_space_max=1)
    outputs = generate(loaded, grammar, [prompt], prompt_lookup_num_tokens=6, do_sample=do_sample)
    assert is_valid(loaded, outputs[0])


@pytest.mark.parametrize("do_sample", [False, True])
def test_assisted(loaded, do_sample):
    grammar = loaded[2].compile_json_schema(SCHEMA, white_space_max=1)
    model = loaded[0]
    torch.manual_seed(7)
    # Another draw of weights, so that drafts are refused now and then.
    assistant = type(model)(model.config).eval()
    assistant.generation_config = copy.deepcopy(model.generation_config)
    for prompt in PROMPTS:
        outputs = generate(loaded, grammar, [prompt], assistant_model=assistant, do_sample=do_sample)
        assert is_valid(loaded, outputs[0])


@pytest.mark.parametrize("way", ["greedy", "sampling", "beams", "returned sequences"])
def test_a_batch_of_different_grammars(loaded, way):
    compiler = loaded[2]
    grammars = [compiler.compile_regex("[a-c]{4}"), compiler.compile_json_schema(SCHEMA, white_space_max=0), compiler.compile_choice(["yes", "no"])]
    outputs = generate(loaded, grammars, **WAYS[way])
    per_prompt = WAYS[way].get("num_return_sequences", 1)
    texts = [loaded[1].decode(tokens) for tokens in outputs]
    for index in range(per_prompt):
        assert re.fullmatch("[a-c]{4}", texts[index])
        assert is_valid(loaded, outputs[per_prompt + index])
        assert texts[2 * per_prompt + index] in ("yes", "no")


def test_equal_prompts_with_different_grammars(loaded):
    compiler = loaded[2]
    grammars = [compiler.compile_regex("[ab]{3}"), compiler.compile_regex("[12]{3}")]
    outputs = generate(loaded, grammars, [PROMPTS[0]] * 2, do_sample=True)
    assert re.fullmatch("[ab]{3}", loaded[1].decode(outputs[0]))
    assert re.fullmatch("[12]{3}", loaded[1].decode(outputs[1]))


def test_a_prompt_may_be_free(loaded):
    outputs = generate(loaded, [None, loaded[2].compile_regex("[ab]{3}")], PROMPTS[:2], do_sample=True)
    assert re.fullmatch("[ab]{3}", loaded[1].decode(outputs[1]))


def test_greedy_equals_a_loop_with_one_matcher(loaded):
    """The processor is what a loop by hand is: masks of one matcher, the likeliest token each time."""
    model, tokenizer, compiler = loaded
    grammar = compiler.compile_json_schema(SCHEMA, white_space_max=1)
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
        matcher, tokens = grammar.matcher(), []
        while not matcher.is_terminated:
            with torch.no_grad():
                logits = model(ids).logits[:, -1].clone()
            bitmask = maskwright.allocate_bitmask(1, compiler.vocab.n_tokens, library="torch")
            matcher.fill_mask(bitmask)
            maskwright.apply_mask(logits, bitmask)
            token = int(logits.argmax())
            matcher.accept_token(token)
            tokens.append(token)
            ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
        for options in ({}, {"prompt_lookup_num_tokens": 4}):
            assert generate(loaded, grammar, [prompt], do_sample=False, **options)[0] == tokens[:-1]


def test_one_processor_for_several_calls(loaded):
    grammar = loaded[2].compile_json_schema(SCHEMA, white_space_max=1)
    processor = MaskwrightLogitsProcessor(grammar)
    for prompts in (PROMPTS[:1], PROMPTS, [PROMPTS[0] + ' {"name": "a'], PROMPTS[:1]):
        outputs = generate(loaded, None, prompts, processor=processor, do_sample=True)
        assert all(is_valid(loaded, tokens) for tokens in outputs)
    # The turn after an output: the prompt continues it, and a new output begins.
    model, tokenizer, _ = loaded
    inputs = tokenizer(PROMPTS[0], return_tensors="pt")
    inputs.pop("token_type_ids", None)
    first = model.generate(**inputs, logits_processor=[processor], max_new_tokens=120, do_sample=False)
    text = tokenizer.decode(first[0]) + "\nmore: "
    assert is_valid(loaded, generate(loaded, None, [text], processor=processor, do_sample=False)[0])


def test_masks_of_a_processor(loaded):
    compiler = loaded[2]
    processor = MaskwrightLogitsProcessor(compiler.compile_regex("ab"))
    a, b, end = (loaded[1].encode(text, add_special_tokens=False)[0] for text in ("a", "b", "</s>"))
    prompt = [5, 6, 7]
    # Wider than the vocabulary, as padded logits are: the tail is closed.
    scores = torch.zeros(1, compiler.vocab.n_tokens + 64)

    def allowed(tokens):
        processed = processor(torch.tensor([prompt + tokens]), scores)
        assert (scores == 0).all(), "the argument was changed"
        return {int(token) for token in (processed[0] == 0).nonzero()}

    whole = {token for token in range(compiler.vocab.n_tokens) if compiler.vocab.token_bytes(token) == b"ab"}
    assert allowed([]) == {a} | whole
    assert allowed([a]) == {b}
    assert allowed([a, b]) == {end}
    # Refused: only the end may follow, also later.
    assert allowed([b]) == {end}
    assert allowed([b, b]) == {end}
    # Behind the end comes padding.
    assert allowed([a, b, end]) == {end}
    assert allowed([a, b, end, 3]) == {end}
    # Back to a shorter one, and on another way.
    assert allowed([a]) == {b}
    processor.reset()
    assert allowed([a]) == {a} | whole


def test_errors(loaded):
    compiler = loaded[2]
    grammar = compiler.compile_regex("ab")
    processor = MaskwrightLogitsProcessor([grammar, grammar])
    with pytest.raises(ValueError, match="divided"):
        processor(torch.zeros(3, 2, dtype=torch.int64), torch.zeros(3, compiler.vocab.n_tokens))
    with pytest.raises(ValueError):
        MaskwrightLogitsProcessor(grammar)(torch.zeros(1, 2, dtype=torch.int64), torch.zeros(1, compiler.vocab.n_tokens - 32))
    with pytest.raises(ValueError, match="no grammar"):
        MaskwrightLogitsProcessor([])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_types_of_scores(loaded, dtype):
    compiler = loaded[2]
    processor = copy.deepcopy(MaskwrightLogitsProcessor(compiler.compile_regex("ab")))
    processed = processor(torch.tensor([[5]]), torch.zeros(1, compiler.vocab.n_tokens, dtype=dtype))
    assert processed.dtype == dtype
    assert 0 < int((processed == 0).sum()) <= 2


def test_importing_the_module_imports_no_library():
    code = "import maskwright.transformers, sys; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'transformers')))"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

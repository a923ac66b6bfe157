"""The logits processor of mlx-lm, with a tiny model of random weights."""

import json
import re

import pytest

pytest.importorskip("mlx.core", reason="mlx is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

import mlx.core as mx  # noqa: E402
import tiny_model  # noqa: E402

import maskwright  # noqa: E402
from maskwright.mlx import MaskwrightLogitsProcessor, vocab_of  # noqa: E402

REGEX = r"\{\"name\": \"[a-z]{1,6}\", \"age\": [0-9]{1,2}\}"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    from mlx_lm.models.llama import Model, ModelArgs
    from mlx_lm.tokenizer_utils import load

    folder = tmp_path_factory.mktemp("model")
    tiny_model.write_model(folder)
    config = json.loads((folder / "config.json").read_text())
    mx.random.seed(3)
    models = [Model(ModelArgs.from_dict(config)) for _ in range(2)]
    for model in models:
        mx.eval(model.parameters())
    tokenizer = load(folder)
    return models, tokenizer, maskwright.GrammarCompiler(vocab_of(tokenizer, models[0]))


def decoded(loaded, tokens):
    assert tokens[-1] == 2, "the output did not end"
    return loaded[1].decode(tokens[:-1])


def until_stop(steps):
    tokens = []
    for token, *_ in steps:
        tokens.append(int(token))
        if tokens[-1] == 2:
            break
    return tokens


@pytest.mark.parametrize("sampler", [None, lambda scores: mx.random.categorical(scores)])
def test_generation(loaded, sampler):
    from mlx_lm.generate import generate_step

    models, tokenizer, compiler = loaded
    processor = MaskwrightLogitsProcessor(compiler.compile_regex(REGEX))
    for prompt in ("The city", "A value is", "The city"):
        processor.reset()
        ids = mx.array(tokenizer.encode(prompt))
        tokens = until_stop(generate_step(ids, models[0], max_tokens=80, sampler=sampler, logits_processors=[processor]))
        assert re.fullmatch(REGEX, decoded(loaded, tokens))


@pytest.mark.parametrize("sampler", [None, lambda scores: mx.random.categorical(scores)])
def test_speculative_generation(loaded, sampler):
    from mlx_lm.generate import generate_step, speculative_generate_step

    models, tokenizer, compiler = loaded
    grammar = compiler.compile_regex(REGEX)
    ids = mx.array(tokenizer.encode("The city of"))
    # The draft model is another one, so that drafts are refused now and then.
    steps = speculative_generate_step(
        ids, models[0], models[1], num_draft_tokens=3, max_tokens=80, sampler=sampler, logits_processors=[MaskwrightLogitsProcessor(grammar)]
    )
    tokens = until_stop(steps)
    assert re.fullmatch(REGEX, decoded(loaded, tokens))
    if sampler is None:
        alone = until_stop(generate_step(ids, models[0], max_tokens=80, logits_processors=[MaskwrightLogitsProcessor(grammar)]))
        assert tokens == alone


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_scores(loaded, dtype):
    compiler = loaded[2]
    processor = MaskwrightLogitsProcessor(compiler.compile_regex("ab"))
    n_tokens = compiler.vocab.n_tokens
    logits = mx.zeros((1, n_tokens + 9), dtype=dtype)
    processed = processor(mx.array([7, 8]), logits)
    assert processed.dtype == dtype and processed.shape == logits.shape
    allowed = {token for token, score in enumerate(processed[0].tolist()) if score == 0}
    matcher = compiler.compile_regex("ab").matcher()
    assert allowed == set(matcher.allowed_tokens())
    with pytest.raises(ValueError, match="logits"):
        processor(mx.array([7, 8]), logits[:, : n_tokens - 1])

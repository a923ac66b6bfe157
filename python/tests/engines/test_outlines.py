"""Processors for generators of Outlines, with a tiny model of random weights."""

import json
import re

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
outlines = pytest.importorskip("outlines", reason="outlines is not installed")

import jsonschema  # noqa: E402
import tiny_model  # noqa: E402
import torch  # noqa: E402

from maskwright.outlines import MaskwrightBackend, logits_processor, vocab_of  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 99}},
    "required": ["name", "n"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("model")
    tiny_model.write_model(folder)
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).eval()
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 3
    return outlines.from_transformers(model, AutoTokenizer.from_pretrained(folder, padding_side="left"))


def test_a_backend_has_the_methods_of_outlines(model):
    from outlines.backends.base import BaseBackend

    assert BaseBackend.__abstractmethods__ <= set(dir(MaskwrightBackend))


def test_generators(model):
    backend = MaskwrightBackend(model)
    generator = outlines.Generator(model, processor=backend.get_json_schema_logits_processor(SCHEMA))
    # Each call of a generator is a new output.
    for _ in range(2):
        jsonschema.validate(json.loads(generator("The city", max_new_tokens=120, do_sample=True)), SCHEMA)
    for text in generator.batch(["The city", "A"], max_new_tokens=120, do_sample=True):
        jsonschema.validate(json.loads(text), SCHEMA)
    compact = backend.get_json_schema_logits_processor(json.dumps(SCHEMA), r"[ ]?")
    text = outlines.Generator(model, processor=compact)("The city", max_new_tokens=120, do_sample=True)
    assert not re.search(r"\s", re.sub(r'"[^"]*"', "", text))
    regex = outlines.Generator(model, processor=backend.get_regex_logits_processor("[a-c]{3}"))
    assert re.fullmatch("[a-c]{3}", regex("The city", max_new_tokens=20, do_sample=True))
    for grammar in ('root ::= "x" [0-9]', 'start: "x" /[0-9]/'):
        lark = outlines.Generator(model, processor=backend.get_cfg_logits_processor(grammar))
        assert re.fullmatch("x[0-9]", lark("The city", max_new_tokens=20, do_sample=True))


def test_errors(model):
    backend = MaskwrightBackend(model)
    with pytest.raises(ValueError):
        backend.get_json_schema_logits_processor({"type": "string", "pattern": r"(a)\1"})
    with pytest.raises(ValueError, match="steered"):
        vocab_of(object())
    compiled = backend._compiler.compile("regex", "a")
    assert logits_processor(model, compiled).supports_continuous_batching is False

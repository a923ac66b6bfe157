import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import maskwright

pytest.importorskip("numpy", reason="the examples use numpy")
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.mark.parametrize("seed", range(5))
def test_the_loop_writes_documents(seed):
    document = json.loads(runpy.run_path(str(EXAMPLES / "loop.py"))["main"](seed))
    assert set(document) == {"name", "size"}


def test_the_batch_writes_outputs():
    outputs = runpy.run_path(str(EXAMPLES / "batch.py"))["main"]()
    for output, pattern in zip(outputs, ["red|green|blue", r"\d{4}-\d\d-\d\d", '1|"one"|null', r"\(+\)+"] * 8, strict=True):
        assert re.fullmatch(pattern, output)


def test_importing_imports_nothing_else():
    code = "import sys, maskwright; print(*sorted({'numpy', 'torch', 'typing', 'json', 'pydantic'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(Path(maskwright.__file__).parent.parent)})
    assert ran.stdout.split() == []


def test_the_loop_of_the_readme_works(tmp_path, monkeypatch):
    import numpy
    from test_vocab import tokenizer_json

    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    loop = readme.split("```python\n")[1].split("```")[0]
    file = json.loads(tokenizer_json())
    # Every byte of JSON is a token.
    file["model"] = {"type": "BPE", "vocab": {char if char != " " else "Ġ": i for i, char in enumerate(map(chr, range(32, 127)))}, "merges": []}
    for token in file["added_tokens"]:
        token["id"] += 100
    (tmp_path / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    generator = numpy.random.default_rng(1)
    width = maskwright.Vocab.from_tokenizer_file("tokenizer.json").n_tokens

    def model(tokens):
        logits = generator.random((1, width), dtype=numpy.float32)
        # Quotes, braces and the end are likely, so that it ends.
        logits[:, [2, 93, 104]] += 1
        return logits

    scope = {"model": model, "sample": lambda logits: int(logits[0].argmax()), "tokens": []}
    exec(loop, scope)
    text = scope["vocab"].decode([token for token in scope["tokens"] if token < 100]).decode()
    assert "city" in json.loads(text)

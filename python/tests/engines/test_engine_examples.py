"""The examples of engines that need no server."""

import json
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_transformers():
    texts = runpy.run_path(str(EXAMPLES / "transformers_generate.py"))["main"]()
    assert len(texts) == 4
    for text in texts:
        assert set(json.loads(text)) == {"city", "population"}

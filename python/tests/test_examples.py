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

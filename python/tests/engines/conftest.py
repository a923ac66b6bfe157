"""Engines are stood in for by small packages of the same names, first on the path; with `MASKWRIGHT_TEST_ENGINES=real` those that are installed are used."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from engine_vocabulary import IS_REAL  # noqa: E402


def _forget(*names):
    for name in list(sys.modules):
        if name.split(".")[0] in names or name in [f"maskwright.{engine}" for engine in names]:
            del sys.modules[name]


@pytest.fixture
def stand_ins(monkeypatch):
    """Puts the stand-ins of engines on the path, imported afresh."""
    for name in ("MASKWRIGHT_VLLM", "VLLM_PLUGINS", "MASKWRIGHT_COMPILE_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    if IS_REAL:
        yield
        return
    engines = ("vllm", "sglang")
    _forget(*engines)
    monkeypatch.syspath_prepend(str(HERE / "stand_ins"))
    yield
    _forget(*engines)

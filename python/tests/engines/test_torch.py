"""Masks applied by torch, on the CPU: its operations, and the kernel by Triton's interpreter. `python/tests/gpu_check.py` does the same on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

TESTS = Path(__file__).resolve().parents[1]


def test_operations():
    run = subprocess.run(
        [sys.executable, str(TESTS / "gpu_check.py"), "--device", "cpu", "--no-measure"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "ok:" in run.stdout


def test_the_kernel_by_an_interpreter():
    pytest.importorskip("triton", reason="Triton is not installed")
    code = """
import contextlib, sys
sys.path.insert(0, sys.argv[1])
import gpu_check, torch
module = gpu_check.load()
torch.cuda.device = lambda device: contextlib.nullcontext()
operations, by_kernel = module._by_operations, []

def either(torch, logits, bitmask, rows, n_tokens):
    # A kernel that fails calls this again.
    assert not module._kernel_failures, module._kernel_failures
    if logits.stride(1) == 1 and bitmask.stride(1) == 1:
        module._by_kernel(torch, logits, bitmask, rows, n_tokens)
        by_kernel.append(None)
    else:
        operations(torch, logits, bitmask, rows, n_tokens)

module._by_operations = either
gpu_check.check(module, "cpu", by_operations=False)
assert len(by_kernel) > 50
"""
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    run = subprocess.run([sys.executable, "-c", code, str(TESTS)], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_kernel_compiles_for_gpus():
    """Triton and the assembler in its package turn the kernel into machine code; that needs no GPU."""
    pytest.importorskip("triton", reason="Triton is not installed")
    code = """
import itertools, sys
sys.path.insert(0, sys.argv[1])
import gpu_check
module = gpu_check.load()
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from maskwright._triton import close_logits

integers = dict.fromkeys(("width", "n_tokens", "logits_stride", "bitmask_stride"), "i32")
for capability, dtype, rows in itertools.product((75, 80, 90, 100), ("fp32", "fp16", "bf16"), (None, "*i64")):
    # Without a list of rows the launch passes the bitmask in its place.
    pointers = {"logits": f"*{dtype}", "bitmask": "*i32", "rows": rows or "*i32"}
    signature = pointers | integers | {"HAS_ROWS": "constexpr", "BLOCK": "constexpr"}
    constants = {"HAS_ROWS": rows is not None, "BLOCK": module._BLOCK}
    source = ASTSource(fn=close_logits, signature=signature, constexprs=constants)
    assert compile(source, target=GPUTarget("cuda", capability, 32)).asm["cubin"]
"""
    run = subprocess.run([sys.executable, "-c", code, str(TESTS)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_tensor_that_was_resized(compiler):
    import torch

    import maskwright

    tensor = torch.zeros((2, 9), dtype=torch.int32)
    bitmask = maskwright.Bitmask(tensor)
    matcher = compiler.compile_ebnf('root ::= "a"').matcher()
    assert matcher.fill_mask(bitmask, 1) and tensor[1, 3] == 2
    tensor.resize_((4096, 900))
    with pytest.raises(ValueError, match="resized"):
        matcher.fill_mask(bitmask, 1)

"""Checks masks that are applied on a GPU, and measures them. Needs torch, numpy and a GPU, and of the package only its Python files: no extension module.

Usage: python python/tests/gpu_check.py [--device cuda]     (`--device cpu` checks the torch operations alone)
"""

import argparse
import functools
import itertools
import random
import sys
import time
import types
from pathlib import Path

import numpy
import torch


def load():
    """Import `maskwright.torch` without the extension module."""
    package = types.ModuleType("maskwright")
    package.__path__ = [str(Path(__file__).resolve().parents[1] / "maskwright")]
    sys.modules["maskwright"] = package
    import maskwright.torch

    return maskwright.torch


def expected(logits, bitmask, rows, n_tokens):
    """Return what must come of logits, by the definition, on the CPU."""
    result = logits.detach().cpu().clone()
    width = result.shape[-1]
    n_bits = 32 * bitmask.shape[-1]
    n_tokens = min(width, n_bits) if n_tokens is None else n_tokens
    matrix, words = (result, bitmask) if result.dim() == 2 else (result.unsqueeze(0), bitmask.unsqueeze(0))
    for row in range(matrix.shape[0]) if rows is None else rows:
        bits = numpy.unpackbits(words[row].numpy().view(numpy.uint8), bitorder="little")[:n_tokens]
        is_closed = numpy.ones(width, dtype=bool)
        is_closed[: len(bits)] = bits == 0
        matrix[row, torch.from_numpy(is_closed)] = float("-inf")
    return result


def random_bitmask(n_rows, n_words, density):
    bits = torch.rand(n_rows, n_words, 32) < density
    weights = torch.tensor([1 << bit if bit < 31 else -(1 << 31) for bit in range(32)], dtype=torch.int64)
    return (bits.to(torch.int64) * weights).sum(-1).to(torch.int32)


def check(module, device, by_operations):
    """Compare many shapes with the definition. Returns their number."""
    rng, n = random.Random(1), 0
    torch.manual_seed(1)
    for dtype, width in itertools.product((torch.float32, torch.float16, torch.bfloat16), (1, 31, 32, 33, 1000, 4096, 4097, 9000)):
        for trial in range(8):
            n_words = -(-width // 32)
            n_rows = rng.choice([1, 2, 5, 33])
            bitmask = random_bitmask(n_rows + rng.choice([0, 2]), n_words, rng.choice([0.0, 0.01, 0.5, 1.0]))
            n_tokens = rng.choice([None, width, max(1, width - rng.randrange(1, 70))])
            rows = rng.choice([None, [], [0], rng.sample(range(n_rows), rng.randrange(1, n_rows + 1))])
            logits = torch.randn(n_rows, width).to(dtype)
            if trial % 4 == 1:
                # Rows within a wider tensor.
                storage = torch.randn(n_rows, width + 13).to(dtype).to(device)
                storage[:, 5 : 5 + width] = logits.to(device)
                on_device = storage[:, 5 : 5 + width]
                outside = storage.clone()
            elif trial % 4 == 2:
                on_device = logits.t().contiguous().t().to(device)
            else:
                on_device = logits.to(device)
            if trial % 8 == 7:
                logits, bitmask, on_device, rows = logits[0], bitmask[0], on_device[0], rng.choice([None, [0]])
            right = expected(logits, bitmask, rows, n_tokens)
            there = bitmask.to(device) if trial % 2 else bitmask
            if by_operations:
                matrix, words = (on_device, there) if on_device.dim() == 2 else (on_device.unsqueeze(0), there.unsqueeze(0))
                limit = min(width, 32 * n_words) if n_tokens is None else n_tokens
                if rows != []:
                    module._by_operations(torch, matrix, words.to(device), rows, limit)
            else:
                module.apply_mask_on_device(on_device, there, rows=rows, n_tokens=n_tokens)
            assert torch.equal(on_device.cpu(), right), (dtype, width, n_rows, rows, n_tokens, trial)
            if trial % 4 == 1:
                assert torch.equal(storage[:, :5], outside[:, :5]) and torch.equal(storage[:, 5 + width :], outside[:, 5 + width :])
            n += 1
    return n


def check_errors(module, device):
    logits, bitmask = torch.zeros(2, 64, device=device), torch.zeros(2, 2, dtype=torch.int32)
    for arguments, options, kind in (
        ((logits, torch.zeros(2, 3, dtype=torch.int32)), {}, ValueError),
        ((logits, bitmask), {"n_tokens": 65}, ValueError),
        ((logits, torch.zeros(2, 1, dtype=torch.int32)), {"n_tokens": 33}, ValueError),
        ((logits, bitmask[:1]), {}, ValueError),
        ((logits, bitmask), {"rows": [2]}, ValueError),
        ((logits, bitmask), {"rows": [-1]}, ValueError),
        ((logits, bitmask[0]), {}, ValueError),
        ((logits.double(), bitmask), {}, TypeError),
        ((logits, bitmask.long()), {}, TypeError),
        ((logits, [[0, 0]]), {}, TypeError),
    ):
        try:
            module.apply_mask_on_device(*arguments, **options)
        except kind:
            assert bool((logits == 0).all())
        else:
            raise AssertionError(f"{options}: no {kind.__name__}")


def seconds(device, call, n=50):
    for _ in range(5):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(n):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / n


def measure(module, device):
    for dtype, n_rows in itertools.product((torch.float32, torch.bfloat16), (1, 256)):
        width = 151936
        logits = torch.randn(n_rows, width, device=device).to(dtype)
        bitmask = random_bitmask(n_rows, width // 32, 0.01).to(device)
        copied = seconds(device, functools.partial(logits.mul_, 1.0))
        applied = seconds(device, functools.partial(module.apply_mask_on_device, logits, bitmask))
        by_operations = seconds(device, functools.partial(module._by_operations, torch, logits, bitmask, None, width), 5)
        print(
            f"{str(dtype).removeprefix('torch.')}, {n_rows} rows of {width}: applied {applied * 1e6:.1f} us, by torch operations {by_operations * 1e6:.1f} us, "
            f"read and written once {copied * 1e6:.1f} us"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-measure", action="store_true")
    arguments = parser.parse_args()
    device = arguments.device
    module = load()
    n = check(module, device, by_operations=False)
    n_operations = check(module, device, by_operations=True)
    check_errors(module, device)
    name = torch.cuda.get_device_name() if device == "cuda" else device
    if device == "cuda":
        assert module.has_kernel(), module._kernel_failures or "Triton is not installed"
    if not arguments.no_measure:
        measure(module, device)
    print(f"gpu check ({name}, torch {torch.__version__}): ok: {n} shapes by {'the kernel' if device == 'cuda' else 'operations'}, {n_operations} by torch operations")


if __name__ == "__main__":
    main()

"""Checks masks that are applied on a GPU, and measures them, beside XGrammar's kernel where that is installed.

Needs torch, numpy and a GPU, and of the package only its Python files; with its extension module the calls in XGrammar's shape are checked too.

Usage: python python/tests/gpu_check.py [--device cuda]     (`--device cpu` checks the torch operations alone)
"""

import argparse
import functools
import importlib
import itertools
import random
import sys
import time
import types
from pathlib import Path

import numpy
import torch


def load():
    """Import `maskwright.torch`, without the extension module where that is not built."""
    path = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(path))
    try:
        import maskwright.torch
    except ImportError:
        package = types.ModuleType("maskwright")
        package.__path__ = [str(path / "maskwright")]
        sys.modules["maskwright"] = package
        import maskwright.torch

    return maskwright.torch


def optional(name):
    """Import a module that may be missing, or return `None`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


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


def check_compat(compat, device):
    """Compare the call in XGrammar's shape with the definition, for each kind of row list. Returns the number of comparisons."""
    n = 0
    for dtype, indices in itertools.product((torch.float32, torch.bfloat16), (None, [0, 3], torch.tensor([1, 2], dtype=torch.int32, device=device))):
        bitmask = random_bitmask(4, 1001, 0.3)
        logits = torch.randn(4, 32032).to(dtype)
        on_device = logits.to(device)
        compat.apply_token_bitmask_inplace(on_device, bitmask.to(device), vocab_size=32032, indices=indices)
        rows = None if indices is None else [int(row) for row in indices]
        assert torch.equal(on_device.cpu(), expected(logits, bitmask, rows, 32032)), (dtype, indices)
        n += 1
    return n


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


def measure(module, device, peer):
    for dtype, n_rows, density, some in itertools.product((torch.float32, torch.bfloat16), (1, 64, 256), (0.01, 0.99), (False, True)):
        width = 151936
        rows = list(range(0, n_rows, 2)) if some else None
        if rows is not None and n_rows == 1:
            continue
        logits = torch.randn(n_rows, width, device=device).to(dtype)
        bitmask = random_bitmask(n_rows, width // 32, density).to(device)
        copied = seconds(device, functools.partial(logits.mul_, 1.0))
        applied = seconds(device, functools.partial(module.apply_mask_on_device, logits, bitmask, rows=rows))
        by_operations = seconds(device, functools.partial(module._by_operations, torch, logits, bitmask, rows, width), 5)
        beside = ""
        if peer is not None:
            beside = f", XGrammar {seconds(device, functools.partial(peer.apply_token_bitmask_inplace, logits, bitmask, indices=rows)) * 1e6:.1f} us"
        print(
            f"{str(dtype).removeprefix('torch.')}, {n_rows} rows of {width}{', every other' if some else ''}, {density:.0%} allowed: applied {applied * 1e6:.1f} us{beside}, "
            f"by torch operations {by_operations * 1e6:.1f} us, read and written once {copied * 1e6:.1f} us"
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
    compat = optional("maskwright.compat.xgrammar")
    n_compat = 0 if compat is None else check_compat(compat, device)
    if not arguments.no_measure:
        measure(module, device, optional("xgrammar"))
    print(
        f"gpu check ({name}, torch {torch.__version__}): ok: {n} shapes by {'the kernel' if device == 'cuda' else 'operations'}, {n_operations} by torch operations, "
        f"{n_compat or 'none'} by the calls in XGrammar's shape"
    )


if __name__ == "__main__":
    main()

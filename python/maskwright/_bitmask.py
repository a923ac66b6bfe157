"""Bitmasks and logits of numpy and torch, which are imported where they are used."""

from __future__ import annotations

from maskwright._core import apply_mask_cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def n_mask_words(n_tokens: int) -> int:
    """Return the number of words of 32 bits of a mask: ``ceil(n_tokens / 32)``."""
    return (n_tokens + 31) // 32


def allocate_bitmask(n_rows: int, n_tokens: int, *, library: str = "numpy") -> Any:
    """Return a bitmask of shape ``[n_rows, ceil(n_tokens / 32)]`` of int32, in which every token is allowed.

    ``library`` is ``"numpy"``, ``"torch"`` (in pinned memory where there is a GPU), or ``"buffer"``: a ``memoryview``, which needs no library, and has at least one row of one word.

    Raises ``ValueError`` for another library or shape.
    """
    if n_rows < 0 or n_tokens < 0:
        raise ValueError(f"there can't be {n_rows} rows of {n_tokens} tokens")
    n_words = n_mask_words(n_tokens)
    if library == "numpy":
        import numpy

        return numpy.full((n_rows, n_words), -1, dtype=numpy.int32)
    if library == "torch":
        import torch

        return torch.full((n_rows, n_words), -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())
    if library == "buffer":
        if n_rows * n_words == 0:
            raise ValueError(f"a memoryview has elements, and {n_rows} rows of {n_tokens} tokens have none")
        return memoryview(bytearray(b"\xff" * (4 * n_rows * n_words))).cast("B").cast("i", (n_rows, n_words))
    raise ValueError(f"there is no library {library!r}: numpy, torch or buffer")


def apply_mask(
    logits: Any, bitmask: Any, *, rows: Sequence[int] | None = None, n_tokens: int | None = None
) -> None:
    """Make the logits of tokens that a bitmask doesn't allow negative infinity, in place.

    ``logits`` has the shape ``[n_rows, width]`` or ``[width]`` and is of float32, float16 or bfloat16: a numpy array, or a tensor on any device. ``bitmask`` has as many rows, of int32; where logits are on
    another device it is copied there. ``rows`` selects rows of both. ``n_tokens`` is the number of tokens: columns beyond become negative infinity, fewer columns are a ``ValueError``; without it
    the mask is as wide as its words allow.
    """
    if getattr(logits, "is_cpu", True):
        apply_mask_cpu(logits, bitmask, rows=rows, n_tokens=n_tokens)
    else:
        from maskwright.torch import apply_mask_on_device

        apply_mask_on_device(logits, bitmask, rows=rows, n_tokens=n_tokens)

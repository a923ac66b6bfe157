"""Masks applied to logits on the device where they are: by a Triton kernel on GPUs that Triton knows, otherwise by operations of torch."""

import functools
import importlib
import importlib.util
import logging
from collections.abc import Iterable
from typing import Any

__all__ = ["apply_mask_on_device", "has_kernel"]

logger = logging.getLogger("maskwright")

#: Columns that one program of the kernel looks at.
_BLOCK = 2048

#: Rows that torch operations look at at once: they take 8 bytes for each token meanwhile.
_ROWS_AT_ONCE = 32


def apply_mask_on_device(
    logits: Any, bitmask: Any, *, rows: Iterable[int] | None = None, n_tokens: int | None = None
) -> None:
    """Make the logits of tokens that a bitmask doesn't allow negative infinity, in place.

    ``logits`` is a tensor of shape ``[n_rows, width]`` or ``[width]`` of float32, float16 or bfloat16, on any device. ``bitmask`` is a tensor or numpy array of int32 or uint32 with as many dimensions, of shape
    ``[at least n_rows, n_words]``; one that is on another device is copied there, which waits for the device: loops that are not to wait copy it themselves. ``rows`` selects rows of both. ``n_tokens`` is the number of
    tokens: columns beyond become negative infinity. Without it the mask is as wide as its words allow.

    Raises ``ValueError`` if there are fewer columns than tokens, or if a row is not there; ``TypeError`` for elements of other types.
    """
    torch = importlib.import_module("torch")
    if logits.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise TypeError(f"logits are floats of 32 or 16 bits, not {logits.dtype}")
    bitmask = _words_of(bitmask)
    if logits.dim() not in (1, 2) or bitmask.dim() != logits.dim():
        raise ValueError(f"logits of {logits.dim()} dimensions and a bitmask of {bitmask.dim()}: expected one or two, the same")
    if logits.dim() == 1:
        logits, bitmask = logits.unsqueeze(0), bitmask.unsqueeze(0)
    n_rows, width = logits.shape
    n_bits = 32 * bitmask.shape[1]
    if n_tokens is None:
        if width + 31 < n_bits:
            raise ValueError(f"the rows have {width} logits for masks of {n_bits} bits")
        n_tokens = min(width, n_bits)
    elif n_tokens > width:
        raise ValueError(f"the rows have {width} logits for {n_tokens} tokens")
    elif n_tokens > n_bits:
        raise ValueError(f"the masks have {n_bits} bits for {n_tokens} tokens")
    selected = None if rows is None else _list_of(rows)
    if selected is None:
        if bitmask.shape[0] < n_rows:
            raise ValueError(f"the bitmask has {bitmask.shape[0]} rows for {n_rows} rows of logits")
    elif selected and not 0 <= min(selected) <= max(selected) < min(n_rows, bitmask.shape[0]):
        raise ValueError(f"rows {selected} are not all below {min(n_rows, bitmask.shape[0])}")
    if n_rows == 0 or width == 0 or selected == []:
        return
    bitmask = bitmask.to(logits.device)
    if logits.is_cuda and logits.stride(1) == 1 and bitmask.stride(1) == 1 and has_kernel():
        _by_kernel(torch, logits, bitmask, selected, n_tokens)
    else:
        _by_operations(torch, logits, bitmask, selected, n_tokens)


def _list_of(rows: Any) -> list[int]:
    # All of a tensor at once: each element that is asked for alone waits for the device.
    return list(map(int, rows.tolist() if hasattr(rows, "tolist") else rows))


def _words_of(bitmask: Any) -> Any:
    """Return a bitmask as a tensor of int32."""
    torch = importlib.import_module("torch")
    if not isinstance(bitmask, torch.Tensor):
        if not hasattr(bitmask, "__array__"):
            raise TypeError(f"a bitmask for a device is a tensor or a numpy array, not {type(bitmask).__qualname__}")
        if str(bitmask.dtype) == "uint32":
            bitmask = bitmask.view("int32")
        bitmask = torch.as_tensor(bitmask)
    if bitmask.dtype == torch.uint32:
        bitmask = bitmask.view(torch.int32)
    if bitmask.dtype != torch.int32:
        raise TypeError(f"a bitmask is of int32, not {bitmask.dtype}")
    return bitmask


@functools.cache
def has_kernel() -> bool:
    """Return whether Triton is installed. A kernel that it can't build is logged at its first use, and torch operations take its place."""
    return importlib.util.find_spec("triton") is not None and not _kernel_failures


#: Why the kernel can't be used.
_kernel_failures: list[str] = []


def _by_kernel(torch: Any, logits: Any, bitmask: Any, rows: list[int] | None, n_tokens: int) -> None:
    n_rows, width = logits.shape
    grid = (n_rows if rows is None else len(rows), -(-width // _BLOCK))
    row_ids = None
    if rows is not None:
        # From pinned memory, which torch keeps until the copy is done, it needn't wait for the device.
        row_ids = torch.tensor(rows, dtype=torch.int64, pin_memory=logits.is_cuda).to(logits.device, non_blocking=True)
    try:
        close_logits = importlib.import_module("maskwright._triton").close_logits
        with torch.cuda.device(logits.device):
            close_logits[grid](
                logits,
                bitmask,
                bitmask if row_ids is None else row_ids,
                width,
                n_tokens,
                logits.stride(0),
                bitmask.stride(0),
                HAS_ROWS=row_ids is not None,
                BLOCK=_BLOCK,
            )
    except Exception as error:
        # Triton builds at the first use: without a compiler, or for a device that is too old, it fails here and nothing was launched.
        _kernel_failures.append(f"{type(error).__name__}: {error}")
        has_kernel.cache_clear()
        logger.warning("Triton can't build the kernel for masks, torch operations take its place: %s", _kernel_failures[-1])
        _by_operations(torch, logits, bitmask, rows, n_tokens)


def _by_operations(torch: Any, logits: Any, bitmask: Any, rows: list[int] | None, n_tokens: int) -> None:
    every = range(logits.shape[0]) if rows is None else rows
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    n_words = -(-n_tokens // 32)
    for start in range(0, len(every), _ROWS_AT_ONCE):
        part = every[start : start + _ROWS_AT_ONCE]
        index = slice(part.start, part.stop) if isinstance(part, range) else torch.tensor(part, device=logits.device)
        words = bitmask[index, :n_words]
        is_closed = ((words.unsqueeze(-1) >> shifts) & 1 == 0).flatten(1)[:, :n_tokens]
        if isinstance(part, range):
            logits[index, :n_tokens].masked_fill_(is_closed, float("-inf"))
            logits[index, n_tokens:] = float("-inf")
        else:
            closed = logits[index].clone()
            closed[:, :n_tokens].masked_fill_(is_closed, float("-inf"))
            closed[:, n_tokens:] = float("-inf")
            logits[index] = closed

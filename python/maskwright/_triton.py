"""A kernel that closes the logits of tokens that a bitmask doesn't allow. Importing this module imports Triton."""

import triton
import triton.language as tl


@triton.jit
def close_logits(
    logits,
    bitmask,
    rows,
    width,
    n_tokens,
    logits_stride,
    bitmask_stride,
    HAS_ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Make the logits of ``BLOCK`` columns of a row negative infinity where the mask has no bit. Those of allowed tokens keep their values; some of them may be read and written back.

    The grid is ``[number of rows, ceil(width / BLOCK)]``; strides are in elements, ``rows`` has the row of each program if ``HAS_ROWS``.
    """
    row = tl.program_id(0).to(tl.int64)
    if HAS_ROWS:
        row = tl.load(rows + row)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    # What lies beyond the tokens has no bit.
    words = tl.load(bitmask + row * bitmask_stride + columns // 32, mask=columns < n_tokens, other=0)
    is_open = (words >> (columns % 32)) & 1
    n_open = tl.sum(is_open, axis=0)
    at = logits + row * logits_stride + columns
    is_column = columns < width
    # PERF: stores of which each column decides are narrow, a half or full word each. Where many columns are closed, whole vectors are read and written instead, which is 2 to 3 times as fast
    # (`python/tests/gpu_check.py`, 256 rows).
    if n_open == 0:
        tl.store(at, float("-inf"), mask=is_column)
    elif n_open < BLOCK - BLOCK // 8:
        # Triton's interpreter has no constants of bfloat16.
        values = tl.load(at, mask=is_column & (words != 0)).to(tl.float32)
        tl.store(at, tl.where(is_open != 0, values, float("-inf")), mask=is_column)
    else:
        tl.store(at, float("-inf"), mask=is_column & (is_open == 0))

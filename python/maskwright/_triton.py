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
    """Write negative infinity over ``BLOCK`` columns of a row where the mask has no bit. Logits of allowed tokens are neither read nor written.

    The grid is ``[number of rows, ceil(width / BLOCK)]``; strides are in elements, ``rows`` has the row of each program if ``HAS_ROWS``.
    """
    row = tl.program_id(0).to(tl.int64)
    if HAS_ROWS:
        row = tl.load(rows + row)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    # What lies beyond the tokens has no bit.
    words = tl.load(bitmask + row * bitmask_stride + columns // 32, mask=columns < n_tokens, other=0)
    is_closed = (words >> (columns % 32)) & 1 == 0
    tl.store(logits + row * logits_stride + columns, float("-inf"), mask=(columns < width) & is_closed)

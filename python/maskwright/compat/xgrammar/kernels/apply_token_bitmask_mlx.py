"""The kernel of mlx."""


def apply_token_bitmask_mlx(bitmask, logits, vocab_size):
    """Return logits ``[..., vocab_size]`` in which those of tokens that aren't allowed are negative infinity. ``bitmask`` has words of int32, ``[..., ceil(vocab_size / 32)]``."""
    import mlx.core as mx

    bits = mx.right_shift(bitmask.view(mx.uint32)[..., None], mx.arange(32, dtype=mx.uint32)) & 1
    is_allowed = bits.flatten(-2)[..., :vocab_size].astype(mx.bool_)
    return mx.where(is_allowed, logits[..., :vocab_size], mx.array(float("-inf"), dtype=logits.dtype))

"""The kernel by the name of a backend: there is one for each device, whatever it is called."""

from ..matcher import apply_token_bitmask_inplace


def apply_token_bitmask_inplace_cpu(logits, bitmask, vocab_size=None, indices=None):
    """As ``apply_token_bitmask_inplace``."""
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices)

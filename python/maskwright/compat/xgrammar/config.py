"""Settings of the process."""

import contextlib

_SERIALIZATION_VERSION = "maskwright-1"

_DEPTH_MAX = 1_000_000
_depth = 10_000


def get_max_recursion_depth():
    """Return the depth that was set last. Nothing recurses here, so that it limits nothing."""
    return _depth


def set_max_recursion_depth(max_recursion_depth):
    """Set the depth that ``get_max_recursion_depth`` returns. Nothing recurses here, so that it limits nothing."""
    global _depth
    if not 1 <= max_recursion_depth <= _DEPTH_MAX:
        raise RuntimeError(f"a depth is between 1 and {_DEPTH_MAX}, not {max_recursion_depth}")
    _depth = max_recursion_depth


@contextlib.contextmanager
def max_recursion_depth(temp_depth):
    """Set the depth within a block."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)


def get_serialization_version():
    """Return the version of serialized objects."""
    return _SERIALIZATION_VERSION

"""Settings of the server."""

from types import SimpleNamespace

SERVING = SimpleNamespace(
    reasoning_parser=None,
    enable_strict_thinking=False,
    constrained_json_disable_any_whitespace=False,
    constrained_json_whitespace_pattern=None,
    constrained_json_max_whitespace_cnt=None,
)


def get_serving():
    return SERVING

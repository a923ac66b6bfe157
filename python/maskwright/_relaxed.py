"""Schemas and structural tags for callers that expect them to be accepted: inference engines, and programs written for XGrammar.

Where a source can't be compiled as it is, less of it is enforced, and what that is can be told to users. This is the only place that decides so. Two things are relaxed:

- constraints that can't be enforced (the option ``lenient`` of schemas);
- the refusal of additional properties and items, where a schema requires what it doesn't declare.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from maskwright._core import CompiledGrammar, Grammar
from maskwright.errors import CompileError

Made = TypeVar("Made", CompiledGrammar, Grammar)

#: Options without which objects and arrays have nothing but what their schemas declare.
_CLOSING = ("additional_properties", "additional_items")

#: What callers expect of schemas where nothing is said.
DEFAULTS = {"additional_properties": False, "additional_items": False, "lenient": True}


def read_relaxed(
    read: Callable[..., Made], text: Any, options: Mapping[str, Any], *, timeout: float | None = None
) -> tuple[Made, list[str]]:
    """Call ``read(text, timeout=..., **options)``, with ``DEFAULTS`` beneath the options, and while that fails, with less of it. Return the grammar, and what is not enforced as messages.

    ``text`` is a schema, or a structural tag, whose schemas then have the options. Raises ``CompileError`` for what can't be read in any way. All attempts together take at most ``timeout`` seconds.
    """
    options = DEFAULTS | dict(options)
    deadline = None if timeout is None else time.monotonic() + timeout
    attempt = {**options, "lenient": False}
    contradiction: CompileError | None = None
    while True:
        seconds = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        try:
            made = read(text, timeout=seconds, **attempt)
            break
        except CompileError as error:
            if error.code == "unsupported" and options["lenient"] and not attempt["lenient"]:
                attempt["lenient"] = True
            elif error.code == "unsatisfiable" and contradiction is None and not all(attempt[name] for name in _CLOSING):
                attempt |= dict.fromkeys(_CLOSING, True)
                contradiction = error
            else:
                raise contradiction or error from None
    opened = [f"additional properties and items are allowed, since without them: {contradiction}"] if contradiction else []
    return made, opened + _unenforced(made)


def _unenforced(made: CompiledGrammar | Grammar) -> list[str]:
    report = made.report
    if report is None or report.is_exact:
        return []
    messages = []
    for finding in report.findings(only_unenforced=True):
        what = "not enforced" if finding["verdict"] == "dropped" else "enforced in part"
        messages.append(f"`{finding['keyword']}` at {finding['location']} is {what}: {finding['reason']}")
    return messages

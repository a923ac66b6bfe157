"""Exceptions. All of them are ``ValueError``, with what is known as attributes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CompileError", "MatchError", "VocabError"]


class CompileError(ValueError):
    """A source can't be compiled: it is malformed, or it is well formed and can't be built.

    ``code`` is one of ``syntax``, ``document``, ``unsupported``, ``unsatisfiable``, ``unknown_token``, ``limit``, ``interrupted``, ``option``. ``line`` and ``column`` count from 1, columns in
    characters; ``span`` is a pair of byte offsets. ``pointer`` is the JSON pointer of the place in a schema or structural tag, ``keyword`` that of a schema, ``hint`` what the author may have meant,
    ``limit`` what was given and the limit. ``details`` is the message with the source line and a caret.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "syntax",
        line: int | None = None,
        column: int | None = None,
        span: tuple[int, int] | None = None,
        pointer: str | None = None,
        keyword: str | None = None,
        hint: str | None = None,
        limit: tuple[int, int] | None = None,
        details: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.column = column
        self.span = span
        self.pointer = pointer
        self.keyword = keyword
        self.hint = hint
        self.limit = limit
        self.details = message if details is None else details

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


class MatchError(ValueError):
    """A matcher refuses a call, and is as it was before.

    ``token`` is the token that was refused, ``token_index`` its place in the list that was given, ``byte_offset`` the offset of the first byte that was refused, ``bound`` a pair of what was given and
    what is allowed. ``is_stuck``: no token of the vocabulary can go on, though the text is not complete. ``is_over_budget``: the step takes more work or memory than the limits allow.
    ``is_terminated``: the output had ended.
    """

    def __init__(
        self,
        message: str,
        *,
        token: int | None = None,
        token_index: int | None = None,
        byte_offset: int | None = None,
        bound: tuple[int, int] | None = None,
        is_stuck: bool = False,
        is_over_budget: bool = False,
        is_terminated: bool = False,
    ) -> None:
        super().__init__(message)
        self.token = token
        self.token_index = token_index
        self.byte_offset = byte_offset
        self.bound = bound
        self.is_stuck = is_stuck
        self.is_over_budget = is_over_budget
        self.is_terminated = is_terminated

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


class VocabError(ValueError):
    """A vocabulary can't be read or built.

    ``line`` is the 1-based line of the text that can't be read, ``unsupported_section`` the section of a tokenizer file that can't be represented exactly; ``is_malformed`` says that the text is truncated,
    of another format, or inconsistent in itself.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        unsupported_section: str | None = None,
        is_malformed: bool = False,
    ) -> None:
        super().__init__(message)
        self.line = line
        self.unsupported_section = unsupported_section
        self.is_malformed = is_malformed

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(cls: type[Exception], args: tuple[Any, ...], facts: dict[str, Any]) -> Exception:
    error = cls(*args)
    error.__dict__.update(facts)
    return error

"""Regular expressions in XGrammar's spelling."""

#: Escapes whose letter means a character, and what Maskwright writes for it.
_ESCAPES = {"0": r"\x00", "e": r"\x1B"}

#: Escapes that mean the same in both, by their letter.
_KNOWN = frozenset("dDwWsSnrtfvaxuU")

#: Escapes that Maskwright refuses with a reason: back-references and word boundaries.
_REFUSED = frozenset("bBkgpP123456789")


def translated(pattern):
    """Return a pattern in Maskwright's spelling: what XGrammar gives a meaning, and Maskwright refuses or reads differently.

    - ``\\cA`` is a control character, ``\\0`` and ``\\e`` are characters, and a letter with no meaning behind ``\\`` is itself;
    - ``[``, ``&&`` and ``~~`` in a class are characters, and ``[^]`` is any.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"a regular expression is a str, not {type(pattern).__name__}")
    out, at, is_class, first = [], 0, False, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            written, at = _escape(pattern, at, is_class)
            out.append(written)
            continue
        if is_class:
            # A bracket that closes nothing yet is a character.
            is_class = char != "]" or at == first
            out.append("\\" + char if char in "[&~" else char)
        elif pattern.startswith("[^]", at):
            out.append(r"[\s\S]")
            at += 2
        else:
            is_class = char == "["
            first = at + 1 + pattern.startswith("^", at + 1)
            out.append(char)
        at += 1
    return "".join(out)


def _escape(pattern, at, is_class):
    """Return what is written for an escape, and where it ends."""
    letter = pattern[at + 1]
    if letter == "c" and at + 2 < len(pattern) and pattern[at + 2].isascii() and pattern[at + 2].isalpha():
        return rf"\x{ord(pattern[at + 2]) & 0x1F:02X}", at + 3
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 2
    if is_class and letter == "b":
        return r"\x08", at + 2
    if letter.isascii() and letter.isalpha() and letter not in _KNOWN and letter not in _REFUSED:
        return letter, at + 2
    return pattern[at : at + 2], at + 2

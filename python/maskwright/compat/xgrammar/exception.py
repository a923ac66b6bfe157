"""Exceptions. All of them are ``RuntimeError``; the error of Maskwright is the cause."""


class DeserializeFormatError(RuntimeError):
    """A serialized object can't be read."""


class DeserializeVersionError(RuntimeError):
    """A serialized object is of another version."""


class InvalidStructuralTagError(RuntimeError):
    """A structural tag is malformed."""


class InvalidJSONError(RuntimeError):
    """A text is not JSON."""

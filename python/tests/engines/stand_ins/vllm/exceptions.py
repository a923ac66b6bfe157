"""Exceptions. The one for requests that are refused is no ValueError."""


class VLLMValidationError(Exception):
    def __init__(self, message, *, parameter=None, value=None):
        super().__init__(message)

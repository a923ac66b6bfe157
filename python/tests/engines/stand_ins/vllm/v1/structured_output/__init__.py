"""Structured outputs."""

from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

__all__ = ["XgrammarBackend"]

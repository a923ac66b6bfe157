"""Modules shaped like those of other engines."""

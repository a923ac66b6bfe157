"""A part of the stand-in of SGLang."""

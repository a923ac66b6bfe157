"""A logits processor for transformers."""

from ..compiler import CompiledGrammar


class LogitsProcessor:
    """Masks the logits of a batch: one grammar for all rows, or one for each.

    It follows the tokens that it is called with, so that it can be used again, and with beams and assistants.
    """

    def __init__(self, compiled_grammar):
        from maskwright.transformers import MaskwrightLogitsProcessor

        grammars = [compiled_grammar] if isinstance(compiled_grammar, CompiledGrammar) else list(compiled_grammar)
        natives = [grammar._native for grammar in grammars]
        self._processor = MaskwrightLogitsProcessor(natives[0] if len(natives) == 1 else natives)

    def __call__(self, input_ids, scores):
        return self._processor(input_ids, scores)

"""Parsers of reasoning."""


class ReasoningParser:
    def __init__(
        self,
        model_type=None,
        stream_reasoning=True,
        force_reasoning=None,
        request=None,
        tokenizer=None,
        tool_call_parser_active=None,
        prefix=None,
    ):
        self.detector = _Detector()


class _Detector:
    think_end_token = "<think>"

    def get_think_end_token_ids(self, tokenizer):
        return [tokenizer.special_ids["<think>"]]

"""The backend whose place is taken."""

from vllm.exceptions import VLLMValidationError
from vllm.v1.structured_output.backend_types import StructuredOutputBackend


class XgrammarBackend(StructuredOutputBackend):
    def compile_grammar(self, request_type, grammar_spec, stop_token_ids=None):
        raise NotImplementedError

    def allocate_token_bitmask(self, max_num_seqs):
        raise NotImplementedError

    def destroy(self):
        raise NotImplementedError


def validate_xgrammar_grammar(sampling_params):
    raise VLLMValidationError("the stock validator")

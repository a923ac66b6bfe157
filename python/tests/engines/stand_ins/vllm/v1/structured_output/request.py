"""Requests."""

import json

from vllm.v1.structured_output.backend_types import StructuredOutputOptions


def get_structured_output_key(params):
    if params.json is not None:
        return StructuredOutputOptions.JSON, params.json if isinstance(params.json, str) else json.dumps(params.json)
    if params.json_object:
        return StructuredOutputOptions.JSON_OBJECT, ""
    if params.regex is not None:
        return StructuredOutputOptions.REGEX, params.regex
    if params.choice is not None:
        return StructuredOutputOptions.CHOICE, json.dumps(params.choice)
    if params.grammar is not None:
        return StructuredOutputOptions.GRAMMAR, params.grammar
    return StructuredOutputOptions.STRUCTURAL_TAG, params.structural_tag

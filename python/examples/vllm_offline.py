"""Constrained generation with vLLM, without a server, by Maskwright in place of the backend `xgrammar`.

Usage: vllm_offline.py MODEL [OPTION=JSON...]     (options of `vllm.LLM`)
"""

import json
import os
import sys
from typing import Any

# Before vLLM is imported, so that all its processes know.
os.environ.setdefault("MASKWRIGHT_VLLM", "1")

TOOL = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<tool_call>",
        "content": {
            "type": "json_schema",
            "json_schema": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Bergen"]}}, "required": ["city"]},
        },
        "end": "</tool_call>",
    },
}

REQUESTS: dict[str, dict[str, Any]] = {
    # What the stock backend refuses: numbers by their divisors, arrays without duplicates.
    "json": {"json": {"type": "array", "items": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 99}, "uniqueItems": True, "maxItems": 4}},
    "compact json": {"json": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}, "disable_any_whitespace": True},
    "regex": {"regex": r"[A-Z]{3}-\d{4}"},
    "choice": {"choice": ["yes", "no"]},
    "lark": {"grammar": 'start: WORD ("," WORD)~0..3\nWORD: /[a-z]{1,5}/\n'},
    "tool call": {"structural_tag": json.dumps(TOOL)},
}


def main(model: str, options: dict[str, Any]) -> dict[str, str]:
    """Return what the model writes for each request."""
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(model=model, **options)
    params = [
        SamplingParams(max_tokens=100, seed=seed, skip_special_tokens=False, structured_outputs=StructuredOutputsParams(**request))
        for seed, request in enumerate(REQUESTS.values())
    ]
    outputs = llm.generate([f"An example of {name}: " for name in REQUESTS], params)
    # Otherwise the engine's process may outlive this one, which then waits for it.
    llm.llm_engine.engine_core.shutdown()
    return {name: output.outputs[0].text for name, output in zip(REQUESTS, outputs, strict=True)}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    texts = main(sys.argv[1], {name: json.loads(value) for name, _, value in (argument.partition("=") for argument in sys.argv[2:])})
    for name, text in texts.items():
        print(f"{name}: {text}")

"""Runs the example of vLLM with a tiny model of random weights. Ends with one line, and with status 1 if an output is not what was asked for."""

import json
import re
import sys
import tempfile
from pathlib import Path

import tiny_model

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import vllm_offline  # noqa: E402


def main():
    options = {
        "load_format": "dummy",
        "dtype": "float32",
        "max_model_len": 512,
        "enforce_eager": True,
        "gpu_memory_utilization": 0.2,
        "kv_cache_memory_bytes": 128 << 20,
    }
    with tempfile.TemporaryDirectory() as folder:
        tiny_model.write_model(Path(folder))
        texts = vllm_offline.main(folder, options)
    numbers = json.loads(texts["json"].replace("</s>", ""))
    assert all(number % 7 == 0 for number in numbers) and len(set(numbers)) == len(numbers), texts
    assert texts["compact json"].replace("</s>", "") in ('{"ok":true}', '{"ok":false}'), texts
    assert re.match(r"[A-Z]{3}-\d{4}", texts["regex"]), texts
    assert texts["choice"].replace("</s>", "") in ("yes", "no"), texts
    assert re.match(r"[a-z]{1,5}(,[a-z]{1,5}){0,3}", texts["lark"]), texts
    call = re.match(r"<tool_call>(.*)</tool_call>", texts["tool call"], re.DOTALL)
    assert call is not None and json.loads(call[1])["city"] in ("Oslo", "Bergen"), texts
    print(f"vLLM (example): ok: {len(texts)} outputs")


if __name__ == "__main__":
    main()

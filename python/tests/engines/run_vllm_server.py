"""Runs vLLM's server with a tiny model of random weights, and asks it over HTTP for structured outputs of all kinds, tool calls among them. Ends with one line, and with status 1 if an answer is not as it must be."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import jsonschema
import tiny_model

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Bergen"]}, "n": {"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 99}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": SCHEMA, "strict": True}}
TAG = {"type": "structural_tag", "format": {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</call>"}}


def is_document(text):
    jsonschema.validate(json.loads(text), SCHEMA)
    return True


def is_call(message):
    calls = message.get("tool_calls") or []
    return bool(calls) and all(call["function"]["name"] == "weather" and is_document(call["function"]["arguments"]) for call in calls)


#: Name, fields of the request, and a check of the answer's message; None where the answer must be a refusal.
REQUESTS = [
    ("json_schema", {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}}, lambda m: is_document(m["content"])),
    ("json_object", {"response_format": {"type": "json_object"}, "max_tokens": 20}, lambda m: m["content"].lstrip().startswith("{")),
    ("structural tag", {"response_format": TAG}, lambda m: is_document(re.fullmatch(r"<call>(.*)</call>", m["content"], re.DOTALL)[1])),
    ("regex", {"structured_outputs": {"regex": "[a-c]{4}"}}, lambda m: re.fullmatch("[a-c]{4}", m["content"]) is not None),
    ("choice", {"structured_outputs": {"choice": ["yes", "no"]}}, lambda m: m["content"] in ("yes", "no")),
    ("ebnf", {"structured_outputs": {"grammar": 'root ::= "a" [0-9]'}}, lambda m: re.fullmatch("a[0-9]", m["content"]) is not None),
    ("lark", {"structured_outputs": {"grammar": 'start: "a" /[0-9]/'}}, lambda m: re.fullmatch("a[0-9]", m["content"]) is not None),
    (
        "white space of a request",
        {"structured_outputs": {"json": SCHEMA, "whitespace_pattern": "[ ]?"}},
        lambda m: is_document(m["content"]) and not re.search(r"\s", m["content"]),
    ),
    ("tool required", {"tools": [TOOL], "tool_choice": "required"}, is_call),
    ("tool by name", {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "weather"}}}, is_call),
    ("malformed schema", {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "strin"}}}}, None),
    ("malformed regex", {"structured_outputs": {"regex": "(a"}}, None),
    ("malformed grammar", {"structured_outputs": {"grammar": 'root ::= "a'}}, None),
    ("malformed tag", {"response_format": {"type": "structural_tag", "format": {"type": "nothing"}}}, None),
    ("white space that can't be", {"structured_outputs": {"json": SCHEMA, "whitespace_pattern": "x"}}, None),
]


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, body=None):
    """Return the status and the JSON of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def main():
    faults, n_refused = [], 0
    with tempfile.TemporaryDirectory() as folder:
        tiny_model.write_model(Path(folder))
        port = free_port()
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--served-model-name", "tiny", "--port", str(port), "--host", "127.0.0.1"]
        command += ["--load-format", "dummy", "--dtype", "float32", "--max-model-len", "1024", "--enforce-eager", "--gpu-memory-utilization", "0.2"]
        command += ["--kv-cache-memory-bytes", str(128 << 20), "--max-num-seqs", "8", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
        log_path = Path(folder) / "log"
        with log_path.open("w") as log:
            server = subprocess.Popen(
                command, env=os.environ | {"MASKWRIGHT_VLLM": "1"}, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                url = f"http://127.0.0.1:{port}"
                deadline = time.monotonic() + 300
                while True:
                    with contextlib.suppress(OSError, ValueError):
                        if ask(f"{url}/health")[0] == 200:
                            break
                    if server.poll() is not None or time.monotonic() > deadline:
                        sys.exit(f"the server doesn't start:\n{log_path.read_text()[-4000:]}")
                    time.sleep(1)
                for seed, (name, fields, is_right) in enumerate(REQUESTS * 3):
                    body = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 400, "temperature": 1.0, "seed": seed}
                    status, answer = ask(f"{url}/v1/chat/completions", body | fields)
                    try:
                        if is_right is None:
                            n_refused += 1
                            if status != 400:
                                faults.append(f"{name}: status {status}: {answer}")
                        elif status != 200 or not is_right(answer["choices"][0]["message"]):
                            faults.append(f"{name}: status {status}: {answer}")
                    except Exception as error:
                        faults.append(f"{name}: {type(error).__name__}: {error}: {answer}")
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGINT)
                try:
                    server.wait(30)
                except subprocess.TimeoutExpired:
                    os.killpg(server.pid, signal.SIGKILL)
                    server.wait()
        is_ours = "Maskwright" in log_path.read_text() and "serves structured outputs" in log_path.read_text()
        if not is_ours:
            faults.append(f"the log doesn't say that Maskwright serves:\n{log_path.read_text()[-2000:]}")
    for fault in faults:
        print("FAULT", fault)
    print(f"vLLM (server): {'FAILED' if faults else 'ok'}: {3 * len(REQUESTS)} requests, {n_refused} of them refused, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

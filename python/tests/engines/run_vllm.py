"""Runs the real vLLM engine on the CPU with random weights, with Maskwright in place of xgrammar. Ends with one line, and a status other than 0 if anything is not as it must be.

Usage: run_vllm.py [--n-drafts N] [--n-requests N] [--mode requests|reasoning|beams]. In which process the engine runs is for the environment to say: VLLM_ENABLE_V1_MULTIPROCESSING.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

import requests_mix
import tiny_model

PROMPT = 'The {"name": "x", "age": 1} and [1, 2, 3] are:'


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-drafts", type=int, default=0)
    parser.add_argument("--n-requests", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=160)
    parser.add_argument("--mode", choices=["requests", "reasoning", "beams"], default="requests")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        tiny_model.write_model(Path(folder))
        options = {}
        if arguments.n_drafts:
            options["speculative_config"] = {
                "method": "ngram",
                "num_speculative_tokens": arguments.n_drafts,
                "prompt_lookup_max": 3,
                "prompt_lookup_min": 1,
            }
        if arguments.mode == "reasoning":
            options["structured_outputs_config"] = {"reasoning_parser": "deepseek_r1"}
        if arguments.mode == "beams":
            # Beam search wants a backend by name.
            options["structured_outputs_config"] = {"backend": "xgrammar"}
        from vllm import LLM

        llm = LLM(
            model=folder,
            load_format="dummy",
            dtype="float32",
            max_model_len=512,
            max_num_seqs=16,
            enforce_eager=True,
            seed=0,
            disable_log_stats=True,
            gpu_memory_utilization=0.2,
            kv_cache_memory_bytes=256 << 20,
            **options,
        )
        from maskwright.vllm import is_active

        assert is_active(), "Maskwright is not installed in this process"
        started = time.monotonic()
        run = {"requests": run_requests, "reasoning": run_reasoning, "beams": run_beams}[arguments.mode]
        try:
            summary, faults = run(llm, arguments)
            seconds = time.monotonic() - started
        finally:
            # Otherwise the engine's process may outlive this one, which then waits for it.
            llm.llm_engine.engine_core.shutdown()
    for fault in faults:
        print("FAULT", fault, file=sys.stderr)
    apart = os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1") != "0"
    where = f"{arguments.mode}, {'engine apart' if apart else 'in process'}, {arguments.n_drafts} drafts"
    print(f"vLLM ({where}): {'FAILED' if faults else 'ok'}: {summary} in {seconds:.1f} s, {len(faults)} faults")
    return 1 if faults else 0


def run_requests(llm, arguments):
    """Runs requests of all kinds, malformed and hostile ones among them, all at once. Returns a summary and what is not as it must be."""
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    requests = requests_mix.mix(arguments.n_requests)
    counts: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    pending = []
    for index, request in enumerate(requests):
        try:
            params = SamplingParams(
                temperature=1.0,
                seed=index,
                # Random weights may well write white space wherever it is allowed, up to its bound.
                max_tokens=400 if request.expected == requests_mix.VALID else arguments.max_tokens,
                structured_outputs=StructuredOutputsParams(**request.params),
            )
            llm.llm_engine.add_request(str(index), PROMPT, params)
            pending.append(str(index))
        except (ValueError, VLLMValidationError) as error:
            counts["refused at once"] += 1
            if request.expected == requests_mix.VALID:
                faults.append(f"{request.name}: refused: {error}")
    outputs = {}
    while llm.llm_engine.has_unfinished_requests():
        for output in llm.llm_engine.step():
            if output.finished:
                outputs[output.request_id.split("-")[0]] = output.outputs[0]
    n_tokens = 0
    for key in pending:
        request, output = requests[int(key)], outputs.get(key)
        if output is None:
            faults.append(f"{request.name}: no output at all")
            continue
        n_tokens += len(output.token_ids)
        counts[f"finished: {output.finish_reason}"] += 1
        if request.expected == requests_mix.REFUSED and output.finish_reason != "error":
            faults.append(f"{request.name}: served: {output.text!r}")
        elif request.expected == requests_mix.VALID:
            try:
                is_valid = output.finish_reason == "stop" and request.check(output.text)
            except Exception as error:
                faults.append(f"{request.name}: {type(error).__name__}: {error}: {output.text!r}")
            else:
                if not is_valid:
                    faults.append(f"{request.name}: {output.finish_reason}: {output.text!r}")
    summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{len(requests)} requests, {summary}, {n_tokens} tokens", faults


def run_reasoning(llm, arguments):
    """Runs requests whose outputs begin with reasoning, which no grammar is about; what follows `</think>` must be valid."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    end = llm.get_tokenizer().convert_tokens_to_ids("</think>")
    requests = [request for request in requests_mix.mix(40) if request.expected == requests_mix.VALID]
    params = [
        SamplingParams(
            temperature=1.0,
            seed=index,
            max_tokens=400,
            # Random weights would hardly ever end their reasoning.
            logit_bias={end: 6.0, 2: -100.0} if index % 2 else {end: 6.0},
            skip_special_tokens=False,
            structured_outputs=StructuredOutputsParams(**request.params),
        )
        for index, request in enumerate(requests)
    ]
    faults, n_reasoning, n_valid = [], 0, 0
    for request, output in zip(requests, llm.generate([PROMPT] * len(params), params, use_tqdm=False), strict=True):
        ids = list(output.outputs[0].token_ids)
        if end not in ids:
            continue
        at = ids.index(end)
        n_reasoning += at
        text = llm.get_tokenizer().decode([token for token in ids[at + 1 :] if token != 2])
        try:
            is_complete = output.outputs[0].finish_reason == "stop"
            if not (is_complete and request.check(text)):
                faults.append(f"{request.name}: {output.outputs[0].finish_reason}: {text!r}")
            n_valid += 1
        except Exception as error:
            faults.append(f"{request.name}: {type(error).__name__}: {error}: {text!r}")
    if not n_valid:
        faults.append("no output got beyond its reasoning")
    return f"{len(params)} requests, {n_reasoning} tokens of reasoning, {n_valid} outputs after it", faults


def run_beams(llm, arguments):
    """Runs beam search, which compiles each request again for each beam and step: a cache must answer."""
    from vllm.sampling_params import BeamSearchParams, StructuredOutputsParams

    import maskwright.vllm as adapter

    faults, n_beams = [], 0
    requests = {request.name: request for request in requests_mix.mix(60) if request.expected == requests_mix.VALID}
    n_run = 0
    for name in ("json object", "json enum", "regex", "choice", "ebnf", "tag"):
        request = requests[name]
        params = BeamSearchParams(beam_width=3, max_tokens=60, structured_outputs=StructuredOutputsParams(**request.params))
        n_run += 1
        for sequence in llm.beam_search([{"prompt": PROMPT}], params)[0].sequences:
            n_prompt = len(llm.get_tokenizer().encode(PROMPT))
            text = llm.get_tokenizer().decode([token for token in sequence.tokens[n_prompt:] if token != 2])
            n_beams += 1
            try:
                if sequence.tokens[-1] == 2 and not request.check(text):
                    faults.append(f"{name}: {text!r}")
            except Exception as error:
                faults.append(f"{name}: {type(error).__name__}: {error}: {text!r}")
    compilers = [compiler for known in adapter._compilers.values() for compiler in known.values()]
    stats = compilers[0].compiler.stats()
    if len(compilers) != 1 or stats["grammar_hits"] < 5 * stats["grammar_misses"]:
        faults.append(f"compiled again and again: {len(compilers)} compilers, {stats}")
    return f"{n_run} requests, {n_beams} beams, {stats['grammar_hits']} of {stats['grammar_hits'] + stats['grammar_misses']} compiles from the cache", faults


if __name__ == "__main__":
    sys.exit(main())

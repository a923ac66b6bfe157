"""Compiles the structural tags that engines build for the tool calls of models: those of XGrammar for each of its models, and vLLM's own. What is sampled from our masks must be accepted by XGrammar, and the other way round. Ends with one line.

Usage: run_tags.py [--n-samples N]
"""

import argparse
import itertools
import json
import random
import sys

import xgrammar
from xgrammar.builtin_structural_tag import _structural_tag_registry

import maskwright
from maskwright._requests import RequestCompiler

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "d",
            "strict": is_strict,
            "parameters": {
                "type": "object",
                "properties": {"city": {"enum": ["Oslo", "Bergen"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}},
                "required": ["city"],
            },
        },
    }
    for name, is_strict in (("weather", True), ("news", True))
]


def tags():
    """Yield names and texts of tags."""
    choices = ["auto", "required", {"type": "function", "function": {"name": "weather"}}]
    for model, choice, reasoning in itertools.product(sorted(_structural_tag_registry), choices, ("enabled", "disabled")):
        tag = xgrammar.get_model_structural_tag(model, tools=TOOLS, tool_choice=choice, reasoning=reasoning)
        yield f"{model}, {choice if isinstance(choice, str) else 'named'}, reasoning {reasoning}", json.dumps(tag.model_dump())
    import vllm.parser.harmony  # noqa: F401
    from vllm.tool_parsers.structural_tag_registry import _VLLM_STRUCTURAL_TAG_REGISTRY as registry
    from xgrammar.openai_tool_call_schema import FunctionToolParam

    own = [FunctionToolParam.model_validate(tool) for tool in TOOLS]
    for model, choice, has_reasoning in itertools.product(sorted(registry), ("auto", "required"), (True, False)):
        tag = registry[model](own, [], choice, has_reasoning)
        yield f"vLLM's {model}, {choice}, reasoning {has_reasoning}", json.dumps(tag.model_dump())


def choose(rng, allowed, text):
    """Return the next token of a sample: the end where it is allowed, now and then, otherwise printable characters. White space but line ends, and minus signs, are left out where there is a choice: how much of the first is allowed,
    and whether `-0` is at least 0, the engines decide otherwise."""
    if STOP in allowed and rng.random() < 0.3:
        return STOP
    for wanted in (lambda token: 33 <= token < 127 and token != 45, lambda token: token == 10, lambda token: token < 256):
        if some := [token for token in allowed if wanted(token)]:
            return rng.choice(some)
    return STOP


def sample(rng, writer, judge):
    """Write a text with one matcher and have the other one judge it. Returns the text, whether it came to an end, and the token that was refused, if any."""
    text = bytearray()
    while len(text) < 400:
        token = choose(rng, writer.allowed(), text)
        writer.accept(token)
        if not judge.accept(token):
            return text, False, token
        if token == STOP:
            return text, True, None
        text.append(token)
    return text, False, None


class Ours:
    def __init__(self, grammar):
        self.matcher = grammar.matcher()
        self.allowed = self.matcher.allowed_tokens
        self.accept = self.matcher.try_accept_token


class Stock:
    def __init__(self, grammar):
        self.matcher = xgrammar.GrammarMatcher(grammar)
        self.bitmask = xgrammar.allocate_token_bitmask(1, STOP + 1)
        self.accept = self.matcher.accept_token

    def allowed(self):
        self.matcher.fill_next_token_bitmask(self.bitmask)
        words = self.bitmask[0].tolist()
        return [token for token in range(STOP + 1) if words[token // 32] >> token % 32 & 1]


#: The token that ends a text.
STOP = 256


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-samples", type=int, default=3)
    n_samples = parser.parse_args().n_samples
    # Letters are enough: special tokens may always be spelled.
    tokens = [bytes([byte]) for byte in range(256)] + ["</s>"]
    compiler = RequestCompiler(maskwright.Vocab(tokens, control={STOP: "</s>"}, stop_tokens=[STOP]))
    info = xgrammar.TokenizerInfo([*tokens[:256], b"</s>"], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[STOP])
    stock_compiler = xgrammar.GrammarCompiler(info)
    rng = random.Random(3)
    faults, n_tags, n_whole, n_bytes = [], 0, 0, 0
    for name, text in tags():
        n_tags += 1
        try:
            ours = compiler.compile("structural_tag", text)
        except ValueError as error:
            faults.append(f"{name}: {error}: {text[:400]}")
            continue
        stock = stock_compiler.compile_structural_tag(text)
        for index in range(2 * n_samples):
            writer, judge = (Ours(ours), Stock(stock)) if index % 2 else (Stock(stock), Ours(ours))
            written, is_whole, refused = sample(rng, writer, judge)
            if refused is not None:
                faults.append(f"{name}: {type(judge).__name__} refuses {refused} behind {bytes(written)!r}")
            n_whole += is_whole
            n_bytes += len(written)
    for fault in faults:
        print("FAULT", fault)
    print(
        f"tags: {'FAILED' if faults else 'ok'}: {n_tags} tags, {n_whole} whole outputs on which both agree, "
        f"{n_bytes} bytes, {len(faults)} faults"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

"""The same calls of XGrammar and of the module in its shape: what they return, raise and accept, and the list of where they differ."""

import inspect
import logging
import re

import pytest

pytest.importorskip("torch", reason="XGrammar needs torch")
xgrammar = pytest.importorskip("xgrammar", reason="XGrammar is not installed")
if not xgrammar.__file__ or "maskwright" in xgrammar.__file__:
    pytest.skip("the package xgrammar is Maskwright", allow_module_level=True)

from cases import CASES, outcome  # noqa: E402
from verdicts import GRAMMARS, OPTIONS, READERS, SCHEMA_TEXTS  # noqa: E402

import maskwright.compat.xgrammar as xgr  # noqa: E402

#: Calls with another outcome than in XGrammar, by a pattern of their names, and why.
DIFFERENT_CALLS = {
    "life that ends when complete": "a stop token that the mask has is accepted, and is the end",
    "the end by an id of padding of the vocabulary": "the id is a stop token as it is with override_stop_tokens",
    "vocabulary 0": "a name such as </s> is looked for in tokens, wherever it is",
    r'from_json_schema of the text \{"minLength":1.5\}': "a malformed keyword is an error",
}

_JSON = "schemas mean what JSON Schema says"
_LAYOUT = "documents are laid out as by json.dumps, those of any value too"
_DIALECT = "a wider dialect"

#: Sources that other texts are accepted of, by the kind and a pattern, and why.
DIFFERENT_LANGUAGES = {
    r'ebnf: root ::= (\.|"a"i|\[\\[dws]\]\+?)': _DIALECT,
    r"regex: (\(\?P<n>a\)|a\*\*|\\p\{Lu?\}|\[\]\]|\(\?i\)a|\(\?s\)a\.)": _DIALECT,
    r"regex: \\ud83d\\ude00": "half a character is no character",
    r"regex: a[$^]b": "an anchor amid a text is one: nothing matches",
    r"tag: .*'any_text'\}, 'end': ''\}": "free text may end with the output",
    r'schema: \{"type": "string"\}': "an escaped surrogate by itself is no character",
    r'schema: \{"type": "integer"\}': "-0 is an integer",
    r'schema: .*("uniqueItems"|"contains"|"patternProperties"|"oneOf"|"allOf": .."type": "object"|"not"|"if"|"dependentRequired"|"unevaluatedProperties").*': _JSON,
    r'schema: .*("minProperties"|"required": \["z"\]|"required": \["a", "z"\]|"enum": \[1, "a"\]|"minimum": 0\.5|"minLength"|"format": "(date|regex)").*': _JSON,
    r'schema: \{"type": "string", "pattern": "(a|\^\[0|\^\\").*': "a pattern may match anywhere, and quotes in it are escaped in documents",
    r'schema: \{"(properties|items|minimum)": .*': "without `type` a keyword is about values of its type only",
    r'schema: \{("enum"|"const"): .*(\{|\[).*': "constants may have the white space of other documents",
    r'schema: (\{"type": "(array|object)"\}|\{\}|.*"prefixItems": .."type".*|.*"additionalProperties": true\}|.*\{"a": \{\}\}.*|.*"(\$defs|c)".*)': _LAYOUT,
    r'schema: .*"a b".*': "a declared name may not be written with escapes and other contents",
}


def reason_of(name, reasons):
    return next((reason for pattern, reason in reasons.items() if re.fullmatch(pattern, name, re.DOTALL)), None)


@pytest.mark.parametrize("name", CASES)
def test_a_call_has_the_outcome_of_xgrammar(name):
    theirs, ours = (repr(outcome(lambda module=module: CASES[name](module))) for module in (xgrammar, xgr))
    if reason_of(name, DIFFERENT_CALLS) is None:
        assert ours == theirs
    else:
        assert ours != theirs, "it is listed as different"


def verdicts(module, read, texts):
    """Return which texts a grammar accepts."""
    try:
        grammar = read(module)
    except RuntimeError:
        return "refused"
    return [text for text in texts if module.testing._is_grammar_accept_string(grammar, text)]


def check_language(name, reads, texts):
    """Check that grammars, read in some ways, accept the same texts, unless they are listed as different: then one does not."""
    theirs, ours = ([verdicts(module, read, texts) for read in reads] for module in (xgrammar, xgr))
    if reason_of(name, DIFFERENT_LANGUAGES) is None:
        assert ours == theirs
    else:
        assert ours != theirs, "it is listed as different"


@pytest.mark.parametrize(("kind", "source", "texts"), GRAMMARS, ids=[f"{kind}: {source}"[:120] for kind, source, _ in GRAMMARS])
def test_a_grammar_has_the_language_of_xgrammar(kind, source, texts):
    check_language(f"{kind}: {source}", [lambda module: READERS[kind](module, source)], texts)


@pytest.mark.parametrize(("schema", "texts"), SCHEMA_TEXTS, ids=[schema[:120] for schema, _ in SCHEMA_TEXTS])
def test_a_schema_has_the_language_of_xgrammar(schema, texts, caplog):
    caplog.set_level(logging.ERROR)
    reads = [lambda module, options=options: module.Grammar.from_json_schema(schema, **options) for options in OPTIONS]
    check_language(f"schema: {schema}", reads, texts)


def parameters(function):
    return [(parameter.name, parameter.kind, repr(parameter.default)) for parameter in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("module", ["", "compiler", "config", "contrib.hf", "exception", "grammar", "matcher", "structural_tag", "testing", "tokenizer_info"])
def test_signatures_are_those_of_xgrammar(module):
    theirs, ours = xgrammar, xgr
    for part in filter(None, module.split(".")):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    # Aids of its bindings.
    own = {"XGRObject", "TYPE_CHECKING"}
    for name, value in vars(theirs).items():
        if name.startswith("__") or name in own or not str(getattr(value, "__module__", "")).startswith("xgrammar"):
            continue
        if inspect.isfunction(value) and value.__module__ == theirs.__name__ and not (name.startswith(("_convert", "_get_structural", "_build"))):
            assert parameters(value) == parameters(getattr(ours, name)), name
        if inspect.isclass(value) and value.__module__ == theirs.__name__:
            twin = getattr(ours, name)
            for member, function in vars(value).items():
                if member.startswith("model_") or (member.startswith("_") and member != "__init__"):
                    continue
                assert hasattr(twin, member), f"{name}.{member}"
                if inspect.isfunction(getattr(value, member)) and not isinstance(function, property):
                    assert parameters(getattr(value, member)) == parameters(getattr(twin, member)), f"{name}.{member}"


def tokenizers():
    """Yield tokenizers of each alphabet, with special tokens and added ones."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    for has_prefix in (False, True):
        byte_level = Tokenizer(models.BPE())
        byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=has_prefix)
        byte_level.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False)
        byte_level.train_from_iterator(["hello world é 你好"] * 9, trainer)
        byte_level.add_special_tokens(["<tool>"])
        byte_level.add_tokens(["<think>"])
        yield byte_level
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    byte_fallback = Tokenizer(models.BPE(vocab={piece: index for index, piece in enumerate(pieces)}, merges=[("▁", "a")], unk_token="<unk>", byte_fallback=True))
    byte_fallback.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    byte_fallback.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    yield byte_fallback
    yield Tokenizer(models.WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))


def test_tokenizers_of_transformers_are_read_as_by_xgrammar():
    transformers = pytest.importorskip("transformers", reason="tokenizers of transformers")

    def facts(module, tokenizer, options):
        info = module.TokenizerInfo.from_huggingface(tokenizer, **options)
        return info.vocab_type.name, info.vocab_size, info.stop_token_ids, info.special_token_ids, info.decoded_vocab, info.add_prefix_space

    for backend in tokenizers():
        known = {"eos_token": "</s>"} if backend.token_to_id("</s>") is not None else {}
        for names in (known, {}):
            tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **names)
            n = len(tokenizer)
            for options in [{}, {"vocab_size": n + 13}, {"vocab_size": n - 2}, {"stop_token_ids": [1, 0]}, {"stop_token_ids": []}, {"stop_token_ids": n + 3, "vocab_size": n + 13}]:
                theirs, ours = (outcome(lambda module=module, o=options, t=tokenizer: facts(module, t, o)) for module in (xgrammar, xgr))
                assert ours == theirs, (n, options)
    for other in (5, None, "gpt2"):
        for module in (xgrammar, xgr):
            with pytest.raises(ValueError):
                module.TokenizerInfo.from_huggingface(other)

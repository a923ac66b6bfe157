"""The compiler."""

import json

import maskwright
from maskwright._relaxed import read_relaxed

from ._regex import translated
from .config import get_serialization_version
from .grammar import Grammar, _read, _read_schema, _read_tag, _schema_text, schema_options
from .structural_tag import tag_text, with_token_ids
from .tokenizer_info import TokenizerInfo, _loaded


def _read_quietly(text, options):
    """Return the grammar of a schema that was compiled, whose warnings were given then."""
    return read_relaxed(maskwright.Grammar.from_json_schema, text, options)[0]


class CompiledGrammar:
    """A grammar compiled for a vocabulary."""

    def __init__(self, native, tokenizer_info, grammar=None):
        self._native = native
        self._tokenizer_info = tokenizer_info
        self._grammar = grammar

    @property
    def grammar(self):
        """The grammar."""
        if self._grammar is None:
            return Grammar(self._native.grammar)
        return self._grammar() if callable(self._grammar) else self._grammar

    @property
    def tokenizer_info(self):
        """The vocabulary."""
        return self._tokenizer_info

    @property
    def memory_size_bytes(self):
        """About how much memory the grammar takes."""
        return self._native.memory_bytes

    def serialize_json(self):
        """Return the grammar as JSON: its source, which is compiled again."""
        return json.dumps(
            {
                "__VERSION__": get_serialization_version(),
                "grammar": json.loads(self.grammar.serialize_json()),
                "tokenizer_metadata": json.loads(self._tokenizer_info.dump_metadata()),
            }
        )

    @staticmethod
    def deserialize_json(json_str, tokenizer_info):
        """Compile what ``serialize_json`` wrote, for the same vocabulary."""
        data = _loaded(json_str, ["grammar", "tokenizer_metadata"])
        if data["tokenizer_metadata"] != json.loads(tokenizer_info.dump_metadata()):
            from .exception import DeserializeFormatError

            raise DeserializeFormatError("Deserialize format error: it was compiled for another vocabulary")
        grammar = Grammar.deserialize_json(json.dumps(data["grammar"]))
        return GrammarCompiler(tokenizer_info).compile_grammar(grammar)


class GrammarCompiler:
    """A compiler for one vocabulary. ``max_threads`` has no effect: Maskwright decides what is worth threads."""

    def __init__(self, tokenizer_info, *, max_threads=8, cache_enabled=True, cache_limit_bytes=-1):
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ValueError("Please convert the tokenizer to TokenizerInfo before passing it to GrammarCompiler.")
        if not isinstance(max_threads, int):
            raise TypeError(f"max_threads is an int, not {type(max_threads).__name__}")
        if cache_limit_bytes < -1:
            raise RuntimeError(f"cache_limit_bytes is a size, or -1 for the default, not {cache_limit_bytes}")
        self._tokenizer_info = tokenizer_info
        self._cache_limit_bytes = cache_limit_bytes
        cache = None if cache_enabled and cache_limit_bytes < 0 else cache_limit_bytes if cache_enabled else 0
        self._native = maskwright.GrammarCompiler(tokenizer_info._vocab, grammar_cache_bytes=cache)
        vocab, stops = tokenizer_info._vocab, set(tokenizer_info._stop_token_ids)
        #: Whether literals can be spelled by control tokens.
        self._has_markers = any(
            vocab.token_kind(token) == "control" and token not in stops and vocab.token_name(token)
            for token in range(vocab.n_tokens)
        )

    def _compiled(self, native, grammar=None):
        return CompiledGrammar(native, self._tokenizer_info, grammar)

    def compile_grammar(self, grammar, *, root_rule_name="root"):
        """Compile EBNF text or a grammar."""
        if isinstance(grammar, str):
            if not self._has_markers:
                # The compiler remembers texts, and not objects.
                return self._compiled(_read(self._native.compile_ebnf, grammar, root=root_rule_name))
            grammar = Grammar.from_ebnf(grammar, root_rule_name=root_rule_name)
        elif not isinstance(grammar, Grammar):
            raise ValueError("Invalid grammar type. Please pass a string or a Grammar object.")
        native = grammar._native.with_markers() if self._has_markers else grammar._native
        return self._compiled(_read(self._native.compile_grammar, native), grammar)

    def compile_json_schema(
        self,
        schema,
        *,
        any_whitespace=True,
        indent=None,
        separators=None,
        strict_mode=True,
        max_whitespace_cnt=None,
        any_order=False,
    ):
        """Compile a JSON Schema."""
        text = _schema_text(schema)
        options = schema_options(any_whitespace, indent, separators, strict_mode, max_whitespace_cnt, any_order)
        compiled = _read_schema(self._native.compile_json_schema, text, options)
        # The grammar that was compiled is that of its automata: one that says what was written is read when it is asked for.
        return self._compiled(compiled, lambda: Grammar(_read_quietly(text, options)))

    def compile_regex(self, regex):
        """Compile a regular expression."""
        if not self._has_markers:
            return self._compiled(_read(self._native.compile_regex, translated(regex), flags="sa"), lambda: Grammar.from_regex(regex))
        return self.compile_grammar(Grammar.from_regex(regex))

    def compile_lark(self, lark_string, *, named_grammars=None):
        """Compile Lark."""
        return self.compile_grammar(Grammar.from_lark(lark_string, named_grammars=named_grammars))

    def compile_structural_tag(self, *args, **kwargs):
        """Compile a structural tag."""
        text = with_token_ids(tag_text(args, kwargs), self._tokenizer_info)
        return self._compiled(_read_tag(self._native.compile_structural_tag, text))

    def compile_builtin_json_grammar(self):
        """Compile the grammar of any JSON array or object."""
        return self.compile_grammar(Grammar.builtin_json_grammar())

    def clear_cache(self):
        """Forget what was compiled."""
        self._native.clear_caches()

    def get_cache_size_bytes(self):
        """Return how much memory the cache of grammars takes."""
        return self._native.stats()["grammar_bytes"]

    @property
    def cache_limit_bytes(self):
        """The bound on that memory; -1 for the default."""
        return self._cache_limit_bytes

"""The compiler."""

import json

import maskwright

from .config import get_serialization_version
from .grammar import Grammar, _ebnf_of_regex, _lenient, _read, _read_tag, _schema_text, schema_options
from .structural_tag import tag_text, with_token_ids
from .tokenizer_info import TokenizerInfo, _loaded


class CompiledGrammar:
    """A grammar compiled for a vocabulary."""

    def __init__(self, native, tokenizer_info, grammar=None):
        self._native = native
        self._tokenizer_info = tokenizer_info
        self._grammar = grammar

    @property
    def grammar(self):
        """The grammar."""
        return self._grammar if self._grammar is not None else Grammar(self._native.grammar)

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
    """A compiler for one vocabulary. ``max_threads`` has no effect: nothing is slow enough to be divided."""

    def __init__(self, tokenizer_info, *, max_threads=8, cache_enabled=True, cache_limit_bytes=-1):
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ValueError("Please convert the tokenizer to TokenizerInfo before passing it to GrammarCompiler.")
        if max_threads < 1:
            raise RuntimeError(f"max_threads is at least 1, not {max_threads}")
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
        return self._compiled(_lenient(self._native.compile_json_schema, text, options))

    def compile_regex(self, regex):
        """Compile a regular expression."""
        if not self._has_markers:
            return self._compiled(_read(self._native.compile_ebnf, _ebnf_of_regex(regex)))
        return self.compile_grammar(_ebnf_of_regex(regex))

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

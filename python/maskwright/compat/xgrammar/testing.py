"""Helpers of tests. Those that show the inside of XGrammar have nothing to show here, and say so."""

import json

from .compiler import CompiledGrammar, GrammarCompiler
from .grammar import Grammar, _schema_text
from .matcher import GrammarMatcher
from .tokenizer_info import TokenizerInfo


def _json_schema_to_ebnf(
    schema,
    *,
    any_whitespace=True,
    indent=None,
    separators=None,
    max_whitespace_cnt=None,
    strict_mode=True,
    json_format="json",
    any_order=False,
):
    """Return the grammar of a schema as EBNF, also in one of the styles of structural tags."""
    if json_format == "json":
        options = {"any_whitespace": any_whitespace, "indent": indent, "separators": separators, "any_order": any_order}
        return str(Grammar.from_json_schema(schema, max_whitespace_cnt=max_whitespace_cnt, strict_mode=strict_mode, **options))
    style = {"style": json_format, "any_order": any_order, "max_whitespace_cnt": max_whitespace_cnt}
    content = {"type": "json_schema", "json_schema": json.loads(_schema_text(schema)), **style}
    return str(Grammar.from_structural_tag({"type": "structural_tag", "format": content}))


def _regex_to_ebnf(regex, with_rule_name=True):
    text = str(Grammar.from_regex(regex)).strip()
    return text + "\n" if with_rule_name else text.removeprefix("root ::= ")


def _ebnf_to_grammar_no_normalization(ebnf_string, root_rule_name="root"):
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _get_matcher_from_grammar(grammar, **kwargs):
    """Return a matcher without a vocabulary, which ends where the text is complete."""
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, None, terminate_without_stop_token=True, **kwargs)


def _get_matcher_from_grammar_and_tokenizer_info(grammar, tokenizer_info=None, **kwargs):
    info = TokenizerInfo([]) if tokenizer_info is None else tokenizer_info
    return GrammarMatcher(GrammarCompiler(info, cache_enabled=False).compile_grammar(grammar), **kwargs)


def _is_grammar_accept_string(grammar, input_str, *, debug_print=False, print_time=False, require_termination=True):
    if isinstance(grammar, CompiledGrammar):
        matcher = GrammarMatcher(grammar, terminate_without_stop_token=True)
    else:
        matcher = _get_matcher_from_grammar(grammar)
    is_accepted = matcher.accept_string(input_str)
    return is_accepted and (matcher.is_terminated() or not require_termination)


def bool_mask_to_bitmask(bool_mask):
    """Pack booleans ``[n_rows, n_tokens]`` into words. Bits behind the last token are ones."""
    import torch

    n_rows, n_tokens = bool_mask.shape
    padded = torch.nn.functional.pad(bool_mask.to(torch.int64), (0, -n_tokens % 32), value=1).view(n_rows, -1, 32)
    words = (padded << torch.arange(32, device=bool_mask.device)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def bitmask_to_bool_mask(bit_mask, vocab_size=None):
    """Unpack words into booleans ``[n_rows, n_tokens]``."""
    import torch

    _check_bitmask(bit_mask)
    n_bits = 32 * bit_mask.shape[1]
    if vocab_size is not None and vocab_size > n_bits:
        raise ValueError(f"vocab_size is {vocab_size}, and a row has {n_bits} bits")
    bits = (bit_mask.to(torch.int64).unsqueeze(-1) >> torch.arange(32)) & 1
    return bits.flatten(-2).bool()[:, :vocab_size]


def _check_bitmask(bitmask):
    if not bitmask.is_cpu:
        raise ValueError("a bitmask is on the CPU")
    if str(bitmask.dtype) != "torch.int32":
        raise ValueError(f"a bitmask is of torch.int32, not {bitmask.dtype}")


def _allowed(bitmask, vocab_size, index):
    """Return the row of a bitmask as booleans."""
    _check_bitmask(bitmask)
    rows = bitmask if bitmask.dim() == 2 else bitmask.unsqueeze(0)
    if not 0 <= index < rows.shape[0]:
        raise RuntimeError(f"there is no row {index}: there are {rows.shape[0]}")
    return bitmask_to_bool_mask(rows[index : index + 1], vocab_size)[0]


def _get_masked_tokens_from_bitmask(bitmask, vocab_size, index=0):
    return (~_allowed(bitmask, vocab_size, index)).nonzero().flatten().tolist()


def _is_single_token_bitmask(bitmask, vocab_size, index=0):
    allowed = _allowed(bitmask, vocab_size, index).nonzero().flatten().tolist()
    return (True, allowed[0]) if len(allowed) == 1 else (False, -1)


def _traverse_draft_tree(
    retrieve_next_token, retrieve_next_sibling, draft_tokens, matcher, allocate_token_bitmask, time_threshold=-1.0
):
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )


def _of_xgrammar(name):
    return NotImplementedError(f"{name} shows the inside of XGrammar, which is not here")


def _is_rule_fsm_accept_string(grammar, rule_id, input_str):
    raise _of_xgrammar("_is_rule_fsm_accept_string")


def _get_allow_empty_rule_ids(compiled_grammar):
    raise _of_xgrammar("_get_allow_empty_rule_ids")


def _generate_range_regex(start=None, end=None):
    raise _of_xgrammar("_generate_range_regex")


def _generate_float_regex(start=None, end=None, exclusive_start=False, exclusive_end=False):
    raise _of_xgrammar("_generate_float_regex")


def _print_grammar_fsms(grammar):
    raise _of_xgrammar("_print_grammar_fsms")


class GrammarFunctor:
    """The passes of XGrammar, none of which changes the language of a grammar. Here they return the grammar as it is: what has to be done to it, the compiler does."""

    @staticmethod
    def structure_normalizer(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def rule_inliner(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def byte_string_fuser(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def dead_code_eliminator(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def lookahead_assertion_analyzer(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def grammar_optimizer(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def fsm_builder(grammar):
        """Return the grammar."""
        return grammar

    @staticmethod
    def repetition_normalizer(grammar):
        """Return the grammar."""
        return grammar

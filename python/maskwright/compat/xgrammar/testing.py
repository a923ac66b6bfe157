"""Helpers of tests. Those that show the inside of XGrammar have nothing to show here, and say so."""

from .compiler import CompiledGrammar, GrammarCompiler
from .grammar import Grammar
from .matcher import GrammarMatcher
from .tokenizer_info import TokenizerInfo


def _json_schema_to_ebnf(schema, **options):
    return str(Grammar.from_json_schema(schema, **options))


def _regex_to_ebnf(regex, with_rule_name=True):
    text = str(Grammar.from_regex(regex)).strip()
    return text + "\n" if with_rule_name else text.removeprefix("root ::= ")


def _ebnf_to_grammar_no_normalization(ebnf_string, root_rule_name="root"):
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _get_matcher_from_grammar(grammar, **kwargs):
    return _get_matcher_from_grammar_and_tokenizer_info(grammar, None, **kwargs)


def _get_matcher_from_grammar_and_tokenizer_info(grammar, tokenizer_info=None, **kwargs):
    info = TokenizerInfo([]) if tokenizer_info is None else tokenizer_info
    return GrammarMatcher(GrammarCompiler(info).compile_grammar(grammar), **kwargs)


def _is_grammar_accept_string(grammar, input_str, *, debug_print=False, print_time=False, require_termination=True):
    if isinstance(grammar, CompiledGrammar):
        matcher = GrammarMatcher(grammar, terminate_without_stop_token=True)
    else:
        matcher = _get_matcher_from_grammar(grammar, terminate_without_stop_token=True)
    is_accepted = matcher.accept_string(input_str)
    return is_accepted and (matcher.is_terminated() or not require_termination)


def bool_mask_to_bitmask(bool_mask):
    """Pack booleans ``[n_rows, n_tokens]`` into words."""
    import torch

    n_rows, n_tokens = bool_mask.shape
    padded = torch.nn.functional.pad(bool_mask.to(torch.int64), (0, -n_tokens % 32)).view(n_rows, -1, 32)
    words = (padded << torch.arange(32)).sum(-1)
    return torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32)


def bitmask_to_bool_mask(bit_mask, vocab_size=None):
    """Unpack words into booleans ``[n_rows, n_tokens]``."""
    import torch

    bits = (bit_mask.to(torch.int64).unsqueeze(-1) >> torch.arange(32)) & 1
    mask = bits.flatten(-2).bool()
    return mask if vocab_size is None else mask[..., :vocab_size]


def _get_masked_tokens_from_bitmask(bitmask, vocab_size, index=0):
    import torch

    return torch.where(~bitmask_to_bool_mask(bitmask[index : index + 1], vocab_size)[0])[0].tolist()


def _is_single_token_bitmask(bitmask, vocab_size, index):
    import torch

    allowed = torch.where(bitmask_to_bool_mask(bitmask[index : index + 1], vocab_size)[0])[0].tolist()
    return (True, allowed[0]) if len(allowed) == 1 else (False, -1)


def _traverse_draft_tree(
    retrieve_next_token, retrieve_next_sibling, draft_tokens, matcher, bitmask, time_threshold=-1.0, **kwargs
):
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, bitmask, time_threshold, **kwargs
    )


def _inside(name):
    def of_xgrammar(*args, **kwargs):
        raise NotImplementedError(f"{name} shows the inside of XGrammar, which is not here")

    of_xgrammar.__name__ = name
    return of_xgrammar


_is_rule_fsm_accept_string = _inside("_is_rule_fsm_accept_string")
_get_allow_empty_rule_ids = _inside("_get_allow_empty_rule_ids")
_generate_range_regex = _inside("_generate_range_regex")
_generate_float_regex = _inside("_generate_float_regex")
_print_grammar_fsms = _inside("_print_grammar_fsms")


class GrammarFunctor:
    """The passes of XGrammar, which are not here."""

    structure_normalizer = staticmethod(_inside("structure_normalizer"))
    rule_inliner = staticmethod(_inside("rule_inliner"))
    byte_string_fuser = staticmethod(_inside("byte_string_fuser"))
    dead_code_eliminator = staticmethod(_inside("dead_code_eliminator"))
    lookahead_assertion_analyzer = staticmethod(_inside("lookahead_assertion_analyzer"))
    grammar_optimizer = staticmethod(_inside("grammar_optimizer"))
    fsm_builder = staticmethod(_inside("fsm_builder"))
    repetition_normalizer = staticmethod(_inside("repetition_normalizer"))

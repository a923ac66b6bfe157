"""The interface of XGrammar 0.2.8, served by Maskwright.

``import maskwright.compat.xgrammar as xgr``, or run a program with it in place of ``xgrammar`` by ``python -m maskwright.shim CMD...``. Errors are ``RuntimeError`` here, as callers expect.

What differs in meaning, on purpose (``tests/compat/test_against_xgrammar.py`` makes the same calls of both):

======================================  ======================================================================  ===================================================================================================================
what                                    XGrammar                                                                here
======================================  ======================================================================  ===================================================================================================================
white space of JSON                     any run, unless ``max_whitespace_cnt`` is given                         runs of at most 16 characters, unless it is given
layouts of JSON                         values that a schema says nothing of are compact, lists can't be empty  as ``json.dumps`` writes them; with ``indent`` the separators are ``,`` and ``: ``
schemas                                 keywords that it doesn't know have no effect                            every keyword is enforced; one that can't be is dropped with a warning
keywords without ``type``               decide the type                                                         are about values of their type only
``required`` beyond ``properties``      is ignored                                                              is required; such properties are allowed in strict mode, too
``strict_mode`` (on by default)         declared properties and items only                                      the same, unless nothing were left: then others are allowed, with a warning
constants                               one spelling                                                            the white space of other documents
patterns of schemas                     match as a whole                                                        may match anywhere, as the standard says
``-0``; an escaped surrogate by itself  no integer; part of a string                                            an integer; no character
malformed and impossible sources        are mostly accepted                                                     are an error: wrong values of keywords, unknown documents, grammars and schemas that nothing satisfies
``any_order=True``                      any order, and neither required nor unique keys are checked             any order, and both are checked; of at most 12 declared keys
EBNF                                    its dialect                                                             the same and more: empty alternatives, ``.``, ``'a'``, ``"a"i``, ``[\\d]``, ``a++``, repetitions of repetitions
regular expressions                     anchors amid a pattern and look-ahead are ignored, some are refused     anchors hold, look-around is refused; ``(?i)``, ``\\p{L}`` and ``(?P<n>a)`` are read; letters in any case by Unicode, not ASCII
``Regex(json_string=True)``             characters that JSON escapes match nothing                              the text decodes to a match: escapes may be written
bounds of tokens                        each token of the part counts; one that can't end is relaxed            a token counts where it reads on though the part could have ended there, so that every output can be completed
temperatures of rules                   are reported                                                            are read, and have no effect
free text up to a marker (Lark)         a marker commits to what follows it                                     grammars are languages: other rules may match the marker, too; ``lazy`` and ``suffix`` need it
captures of ``suffix`` and ``stop``     have no marker                                                          have the marker
``excludes`` of a ``json_schema``       not of strings with a pattern or format; lengths are dropped             hold for all strings, beside patterns, formats and lengths
parameters in the styles of XML         white space may stand before the first and behind the last              between parameters and around values only
tags of models                          free text may follow the last call, also one that was required          outputs are those of the model's chat template: its line ends, and nothing behind a call that it doesn't write
limits                                  none                                                                    those of ``maskwright``: what would take too much memory or work is an error
tokens that are special                 text of their spelling, also within strings                             never text (``from_huggingface``); literals of grammars and tags may be spelled by them
stop tokens that are padding            are dropped from vocabularies                                           can end an output
a text that no token goes on            an empty mask                                                           the mask of the stop tokens
masks                                   may allow tokens that lead nowhere                                      exact: a set bit can be accepted and completed
rows of a bitmask or of logits          any stride is accepted, and written as if it were contiguous            rows that are not contiguous are refused, and so are two matchers with one row
``accept_token`` of a stop token        False with ``terminate_without_stop_token``                             True where the mask has it
``get_captures``                        each end of a rule that is met on the way                               those of one reading of the text: first alternatives, longest matches
serialized grammars                     the engine's automata                                                   the source, which is compiled again
``str`` of a grammar                    its rules after its passes                                              the grammar as it was written, which is read again as the same
``testing.GrammarFunctor``              passes, one by one                                                      each returns the grammar: none of them changes a language
======================================  ======================================================================  ===================================================================================================================
"""

from . import exception, matcher, structural_tag, testing
from .builtin_structural_tag import (
    get_builtin_structural_tag,
    get_model_structural_tag,
    normalize_tool_choice,
    register_model_structural_tag,
)
from .compiler import CompiledGrammar, GrammarCompiler
from .config import (
    get_max_recursion_depth,
    get_serialization_version,
    max_recursion_depth,
    set_max_recursion_depth,
)
from .contrib import hf
from .exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
)
from .grammar import Grammar
from .matcher import (
    BatchGrammarMatcher,
    GrammarMatcher,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    get_bitmask_shape,
    reset_token_bitmask,
)
from .structural_tag import StructuralTag, StructuralTagItem
from .tokenizer_info import TokenizerInfo, VocabType

#: The version of XGrammar whose interface this is.
__version__ = "0.2.8"


def __getattr__(name):
    if name == "bitmask_dtype":
        return matcher.bitmask_dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "exception",
    "get_bitmask_shape",
    "get_builtin_structural_tag",
    "get_max_recursion_depth",
    "get_model_structural_tag",
    "get_serialization_version",
    "hf",
    "max_recursion_depth",
    "normalize_tool_choice",
    "register_model_structural_tag",
    "reset_token_bitmask",
    "set_max_recursion_depth",
    "structural_tag",
    "testing",
]

"""The interface of XGrammar 0.2.8, served by Maskwright.

``import maskwright.compat.xgrammar as xgr``, or run a program with it in place of ``xgrammar`` by ``python -m maskwright.shim CMD...``. Errors are ``RuntimeError`` here, as callers expect.

What differs in meaning, on purpose:

===================================  ===================================================================  ==========================================================================
what                                 XGrammar                                                             here
===================================  ===================================================================  ==========================================================================
white space of JSON                  any run, unless ``max_whitespace_cnt`` is given                       runs of at most 16 characters, unless it is given
schemas                              keywords that it doesn't know have no effect                          every keyword is enforced; one that can't be is dropped with a warning
``strict_mode`` (on by default)      additional properties are refused in objects with ``properties``      the same
``any_order=True``                   any order, and neither required nor unique keys are checked            any order, and both are checked; of at most 12 declared keys
tokens that are special              text of their spelling, also within strings                           never text (``from_huggingface``); literals of grammars and tags may be spelled by them
a text that no token goes on         an empty mask                                                         the mask of the stop tokens
masks                                may allow tokens that lead nowhere                                    exact: a set bit can be accepted and completed
rows of a bitmask                    any stride is accepted, and written as if it were contiguous          rows that are not contiguous are refused
``accept_token`` of a stop token     False with ``terminate_without_stop_token``                           True where the mask has it
``get_captures``                     each end of a rule that is met on the way                            those of one reading of the text: first alternatives, longest matches
serialized grammars                  the engine's automata                                                 the source, which is compiled again
===================================  ===================================================================  ==========================================================================
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

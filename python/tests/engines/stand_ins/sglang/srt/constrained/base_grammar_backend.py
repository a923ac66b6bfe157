"""What backends and grammar objects are."""

from dataclasses import dataclass, field
from typing import NamedTuple

GRAMMAR_BACKEND_REGISTRY = {}


def register_grammar_backend(name, init_func):
    GRAMMAR_BACKEND_REGISTRY[name] = init_func


@dataclass
class GrammarStats:
    compilation_time: float | None = None
    schema_count: int | None = None
    ebnf_size: int | None = None
    is_cache_hit: bool = False
    is_grammar_aborted: bool = False
    tree_traversal_time: list[float] = field(default_factory=list)
    dispatch_type: str | None = None
    num_timeout: int = 0


class GrammarRow(NamedTuple):
    row: int
    grammar: "BaseGrammarObject"


class BaseGrammarObject:
    def __init__(self):
        self._finished = False
        self.grammar_stats = None
        self.current_token = None

    def maybe_init_reasoning(self, reasoning):
        pass

    def accept_token(self, token):
        raise NotImplementedError

    def rollback(self, k):
        raise NotImplementedError

    def is_terminated(self):
        return False

    def allocate_vocab_mask(self, vocab_size, batch_size, device):
        raise NotImplementedError

    def fill_vocab_mask(self, vocab_mask, idx):
        raise NotImplementedError

    @staticmethod
    def fill_vocab_mask_batched(entries, vocab_mask):
        for entry in entries:
            entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask):
        raise NotImplementedError

    @staticmethod
    def move_vocab_mask(vocab_mask, device):
        raise NotImplementedError

    @staticmethod
    def apply_vocab_mask(logits, vocab_mask):
        raise NotImplementedError

    def copy(self):
        return self

    def try_jump_forward(self, tokenizer):
        raise NotImplementedError

    def jump_forward_str_state(self, helper):
        raise NotImplementedError

    def jump_and_retokenize(self, old_output_ids, new_output_ids, next_state):
        raise NotImplementedError

    @property
    def finished(self):
        return self._finished

    @finished.setter
    def finished(self, finished):
        self._finished = finished


class InvalidGrammarObject(BaseGrammarObject):
    def __init__(self, error_message="Unknown grammar error"):
        super().__init__()
        self.error_message = error_message


class BaseGrammarBackend:
    def __init__(self):
        self.cache = {}

    def initialize_vocab_mask_buffer(self, name, vocab_size, max_rows, device):
        return None

    def reserve_framing_tokens(self, token_ids):
        pass

    def compile_framed_grammar(self, grammar, frame):
        return None

    @property
    def is_support_token_filter(self):
        return False

    def set_token_filter(self, vocab_mask, token_ids, batch_idx, is_allowed=True, reset_vocab_mask=True):
        pass

    def dispatch_json(self, key_string):
        raise NotImplementedError

    def dispatch_regex(self, key_string):
        raise NotImplementedError

    def dispatch_ebnf(self, key_string):
        raise NotImplementedError

    def dispatch_structural_tag(self, key_string):
        raise NotImplementedError

    def reset(self):
        self.cache.clear()

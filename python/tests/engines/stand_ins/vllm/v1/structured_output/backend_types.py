"""What backends and grammars are."""

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


class StructuredOutputOptions(enum.Enum):
    JSON = enum.auto()
    JSON_OBJECT = enum.auto()
    REGEX = enum.auto()
    GRAMMAR = enum.auto()
    CHOICE = enum.auto()
    STRUCTURAL_TAG = enum.auto()


class StructuredOutputGrammar(ABC):
    @abstractmethod
    def accept_tokens(self, request_id, tokens): ...

    @abstractmethod
    def validate_tokens(self, tokens): ...

    @abstractmethod
    def rollback(self, num_tokens): ...

    @abstractmethod
    def fill_bitmask(self, bitmask, batch_index): ...

    @abstractmethod
    def is_terminated(self): ...

    @abstractmethod
    def reset(self): ...


@dataclass
class StructuredOutputBackend(ABC):
    vllm_config: Any
    tokenizer: Any
    vocab_size: int

    @abstractmethod
    def compile_grammar(self, request_type, grammar_spec, stop_token_ids=None): ...

    @abstractmethod
    def allocate_token_bitmask(self, max_num_seqs): ...

    @abstractmethod
    def destroy(self): ...

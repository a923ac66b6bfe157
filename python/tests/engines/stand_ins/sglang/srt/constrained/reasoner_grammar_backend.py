"""The wrapper of backends where outputs begin with reasoning: a grammar is asked only when that is over."""

from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject


class ReasonerGrammarObject(BaseGrammarObject):
    def __init__(self, grammar, think_end_ids):
        super().__init__()
        self.grammar = grammar
        self.think_end_ids = tuple(think_end_ids)
        self.reasoning_in_grammar = False
        self.history = []

    def _is_generation(self):
        return self.think_end_ids[0] in self.history

    def accept_token(self, token):
        if self._is_generation():
            self.grammar.accept_token(token)
        self.history.append(token)

    def rollback(self, k):
        for _ in range(k):
            self.history.pop()
            if self._is_generation():
                self.grammar.rollback(1)

    def is_terminated(self):
        return self._is_generation() and self.grammar.is_terminated()

    def fill_vocab_mask(self, vocab_mask, idx):
        if self._is_generation():
            self.grammar.fill_vocab_mask(vocab_mask, idx)


class ReasonerGrammarBackend(BaseGrammarBackend):
    def __init__(self, grammar_backend, reasoning_parser, tokenizer, enable_strict_thinking=False):
        super().__init__()
        self.grammar_backend = grammar_backend
        self.think_end_ids = reasoning_parser.detector.get_think_end_token_ids(tokenizer)

    def _make_grammar_object(self, grammar, reasoning):
        # What the real one takes from the backend.
        assert self.grammar_backend.allocate_vocab_mask
        assert self.grammar_backend.move_vocab_mask
        assert self.grammar_backend.apply_vocab_mask
        assert self.grammar_backend.set_token_filter
        return ReasonerGrammarObject(grammar, self.think_end_ids)

"""Drafts in trees."""


def traverse_tree(retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, allocate_token_bitmask, vocab_size=None):
    """Fills the row of each node that is reached by tokens that are allowed, and where the output has not ended."""

    def visit(node, parent):
        token = int(draft_tokens[node])
        is_allowed = node == 0
        if node != 0 and not (vocab_size and token >= vocab_size):
            is_allowed = bool(int(allocate_token_bitmask[parent][token // 32]) >> token % 32 & 1)
        if is_allowed:
            if node != 0:
                grammar.accept_token(token)
            if not grammar.is_terminated():
                grammar.fill_vocab_mask(allocate_token_bitmask, node)
                if retrieve_next_token[node] != -1:
                    visit(int(retrieve_next_token[node]), node)
            if node != 0:
                grammar.rollback(1)
        if retrieve_next_sibling[node] != -1:
            visit(int(retrieve_next_sibling[node]), parent)

    visit(0, -1)

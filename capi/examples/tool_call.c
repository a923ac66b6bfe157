/* A tool call over a toy model: random logits, masked, so that the output is text and well-formed calls whatever the model likes. Each function of the interface is called at least once; the program fails
 * with a message if something isn't as it should be. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maskwright.h"

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* A token for each byte, and one that ends the output. */
enum { N_TOKENS = 257, STOP = 256, N_WORDS = (N_TOKENS + 31) / 32 };

static const char TAG[] =
    "{\"type\": \"structural_tag\", \"format\": {\"type\": \"triggered_tags\", \"triggers\": [\"<tool>\"], \"at_least_one\": true, \"stop_after_first\": true, \"tags\": ["
    "{\"type\": \"tag\", \"begin\": \"<tool>\", \"end\": \"</tool>\", \"content\": {\"type\": \"json_schema\", \"json_schema\": "
    "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"maxLength\": 6}, \"days\": {\"enum\": [1, 3, 7]}}, \"required\": [\"city\", \"days\"]}}}]}}";

/* Stops with the message of an error, if there is one. */
static void fail(mw_error *error) {
    if (error != NULL) {
        fprintf(stderr, "error %d at line %zu, column %zu: %s\n", (int)mw_error_code(error), mw_error_line(error), mw_error_column(error), mw_error_message(error));
        mw_error_free(error);
        exit(1);
    }
}

static mw_vocab *vocabulary(void) {
    uint8_t bytes[256 + 7];
    size_t lengths[N_TOKENS];
    mw_token_kind kinds[N_TOKENS];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        lengths[i] = 1;
        kinds[i] = MW_TOKEN_KIND_TEXT;
    }
    memcpy(bytes + 256, "<|end|>", 7);
    lengths[STOP] = 7;
    kinds[STOP] = MW_TOKEN_KIND_CONTROL;
    uint32_t stops[] = {STOP};
    mw_vocab_options options = {.struct_size = sizeof options, .stop_tokens = stops, .n_stop_tokens = 1};
    mw_error *error = NULL;
    mw_vocab *vocab = mw_vocab_new(bytes, lengths, kinds, N_TOKENS, &options, &error);
    fail(error);
    CHECK(mw_vocab_n_tokens(vocab) == N_TOKENS && mw_vocab_n_mask_words(vocab) == N_WORDS);
    return vocab;
}

/* Writes an output; returns its length. */
static size_t generate(const mw_grammar *grammar, uint32_t seed, char *output, size_t capacity) {
    mw_error *error = NULL;
    mw_matcher *matcher = mw_matcher_new(grammar, NULL, &error);
    fail(error);
    size_t length = 0;
    while (!mw_matcher_is_terminated(matcher)) {
        uint32_t row[N_WORDS];
        bool needs_apply = true;
        CHECK(mw_matcher_fill(matcher, row, N_WORDS, &needs_apply, &error) == MW_CODE_OK);
        float logits[N_TOKENS];
        for (int i = 0; i < N_TOKENS; i++) {
            seed = seed * 1664525u + 1013904223u;
            /* Letters are likely. */
            logits[i] = (float)(seed >> 8) / (float)(1 << 24) + (float)((i >= 'a' && i <= 'z') || i == STOP);
        }
        if (needs_apply) {
            CHECK(mw_apply_mask_f32(row, N_WORDS, N_TOKENS, logits, N_TOKENS, &error) == MW_CODE_OK);
        }
        uint32_t best = 0;
        for (uint32_t i = 1; i < N_TOKENS; i++) {
            best = logits[i] > logits[best] ? i : best;
        }
        CHECK(mw_matcher_is_allowed(matcher, best));
        CHECK(mw_matcher_accept(matcher, best, &error) == MW_CODE_OK);
        if (best != STOP) {
            CHECK(length < capacity);
            output[length++] = (char)best;
        }
    }
    mw_matcher_free(matcher);
    return length;
}

static void check_errors(const mw_compiler *compiler) {
    mw_error *error = NULL;
    const char ebnf[] = "root ::= a\nb ::= [";
    CHECK(mw_compile(compiler, MW_SOURCE_EBNF, ebnf, strlen(ebnf), NULL, &error) == NULL);
    CHECK(mw_error_code(error) == MW_CODE_SYNTAX && mw_error_line(error) == 2 && mw_error_column(error) == 7 && mw_error_hint(error) != NULL);
    mw_error_free(error);
    error = NULL;
    const char schema[] = "{\"properties\": {\"a\": {\"minimum\": \"1\"}}}";
    CHECK(mw_compile(compiler, MW_SOURCE_JSON_SCHEMA, schema, strlen(schema), NULL, &error) == NULL);
    CHECK(mw_error_code(error) == MW_CODE_DOCUMENT && strcmp(mw_error_keyword(error), "minimum") == 0 && strcmp(mw_error_pointer(error), "/properties/a/minimum") == 0);
    mw_error_free(error);
    /* Nonsense is an error, and a place for it need not be given. */
    CHECK(mw_compile(NULL, MW_SOURCE_EBNF, ebnf, strlen(ebnf), NULL, NULL) == NULL);
    CHECK(mw_compile(compiler, 99, ebnf, strlen(ebnf), NULL, NULL) == NULL);
    CHECK(mw_compile(compiler, MW_SOURCE_EBNF, "\xff", 1, NULL, NULL) == NULL);
    CHECK(mw_compile(compiler, MW_SOURCE_EBNF, NULL, 5, NULL, NULL) == NULL);
    mw_compile_options broken = {.struct_size = 1};
    CHECK(mw_compile(compiler, MW_SOURCE_EBNF, ebnf, strlen(ebnf), &broken, NULL) == NULL);
    CHECK(mw_vocab_new(NULL, NULL, NULL, 3, NULL, NULL) == NULL && mw_vocab_n_tokens(NULL) == 0);
    CHECK(mw_vocab_from_tokenizer_json("{}", 2, NULL, NULL) == NULL);
    CHECK(mw_matcher_captures(NULL, NULL) == NULL && mw_captures_n(NULL) == 0 && !mw_captures_get(NULL, 0, NULL));
    CHECK(mw_matcher_accept(NULL, 1, NULL) == MW_CODE_ARGUMENT && mw_matcher_fork(NULL) == NULL && !mw_matcher_try_accept(NULL, 1));
    mw_cancel *cancel = mw_cancel_new();
    mw_cancel_set(cancel);
    mw_compile_options cancelled = {.struct_size = sizeof cancelled, .cancel = cancel, .timeout_ms = 1000};
    CHECK(mw_compile(compiler, MW_SOURCE_REGEX, "never seen", 10, &cancelled, &error) == NULL && mw_error_code(error) == MW_CODE_INTERRUPTED);
    mw_error_free(error);
    mw_cancel_free(cancel);
}

static void check_captures(const mw_compiler *compiler) {
    mw_error *error = NULL;
    const char lark[] = "start: key \"=\" value\nkey[capture]: /[a-z]+/\nvalue[capture=\"v\"]: /[0-9]+/";
    mw_grammar *grammar = mw_compile(compiler, MW_SOURCE_LARK, lark, strlen(lark), NULL, &error);
    fail(error);
    mw_matcher *matcher = mw_matcher_new(grammar, NULL, &error);
    fail(error);
    mw_grammar_free(grammar);
    CHECK(mw_matcher_accept_bytes(matcher, (const uint8_t *)"ab=12", 5, &error) == MW_CODE_OK);
    mw_captures *captures = mw_matcher_captures(matcher, &error);
    fail(error);
    mw_capture part;
    CHECK(mw_captures_n(captures) == 2 && mw_captures_get(captures, 1, &part) && !mw_captures_get(captures, 2, &part));
    CHECK(strcmp(part.name, "v") == 0 && part.n_bytes == 2 && memcmp(part.text, "12", 2) == 0 && part.offset == 3);
    mw_captures_free(captures);
    mw_matcher_forget_history(matcher);
    CHECK(mw_matcher_captures(matcher, &error) == NULL && mw_error_code(error) == MW_CODE_OUT_OF_RANGE);
    mw_error_free(error);
    mw_matcher_free(matcher);
}

static void check_steps(const mw_compiler *compiler) {
    mw_error *error = NULL;
    const char lark[] = "start: \"ab\" (\"c\" | \"d\")";
    mw_grammar *grammar = mw_compile(compiler, MW_SOURCE_AUTO, lark, strlen(lark), NULL, &error);
    fail(error);
    CHECK(mw_grammar_n_warnings(grammar) == 0 && mw_grammar_warning(grammar, 0) == NULL && mw_grammar_memory_bytes(grammar) > 0);
    CHECK(strcmp(mw_grammar_unenforced(grammar), "[]") == 0);
    mw_matcher_options options = {.struct_size = sizeof options, .terminate_when_nothing_follows = true, .fail_closed = true};
    mw_matcher *matcher = mw_matcher_new(grammar, &options, &error);
    fail(error);
    mw_grammar_free(grammar);

    uint8_t forced[8];
    CHECK(mw_matcher_jump_forward(matcher, forced, sizeof forced) == 2 && memcmp(forced, "ab", 2) == 0);
    CHECK(mw_matcher_jump_forward(matcher, NULL, 0) == 2);
    uint32_t tokens[] = {'a', 'b', 'c'}, wrong[] = {'a', 'x'};
    CHECK(mw_matcher_validate(matcher, tokens, 3) == 3 && mw_matcher_validate(matcher, wrong, 2) == 1);
    CHECK(mw_matcher_accept_many(matcher, wrong, 2, &error) == MW_CODE_REFUSED && mw_error_token_index(error) == 1);
    mw_error_free(error);
    error = NULL;
    CHECK(mw_matcher_n_steps(matcher) == 0);
    CHECK(mw_matcher_accept_bytes(matcher, (const uint8_t *)"ab", 2, &error) == MW_CODE_OK);
    CHECK(mw_matcher_rollback(matcher, 2, NULL) == MW_CODE_OUT_OF_RANGE);

    /* Drafts: a chain of "c", and a tree of "c" and "x". */
    uint32_t rows[3][N_WORDS];
    size_t n_acceptable = 9;
    CHECK(mw_matcher_fill_chain(matcher, tokens + 2, 1, rows[0], N_WORDS, &n_acceptable, &error) == MW_CODE_OK && n_acceptable == 1);
    CHECK(rows[0]['c' / 32] == (1u << 'c' % 32 | 1u << 'd' % 32) && rows[1][STOP / 32] == 1u << STOP % 32);
    int32_t parents[] = {-1, 0, 0};
    uint32_t drafts[] = {0, 'c', 'x'};
    bool acceptable[3];
    CHECK(mw_matcher_fill_tree(matcher, parents, drafts, 3, rows[0], N_WORDS, acceptable, &error) == MW_CODE_OK);
    CHECK(acceptable[0] && acceptable[1] && !acceptable[2]);

    mw_matcher *fork = mw_matcher_fork(matcher);
    CHECK(mw_matcher_try_accept(fork, 'c') && !mw_matcher_try_accept(fork, 'c') && mw_matcher_is_accepting(fork) && mw_matcher_is_terminated(fork));
    CHECK(!mw_matcher_is_accepting(matcher));
    CHECK(mw_matcher_copy_state(matcher, fork, &error) == MW_CODE_OK && mw_matcher_is_terminated(matcher));
    CHECK(mw_matcher_rollback(matcher, 2, &error) == MW_CODE_OK && mw_matcher_n_steps(matcher) == 0);
    CHECK(mw_matcher_replay(fork, tokens, 2, &error) == MW_CODE_OK && mw_matcher_n_steps(fork) == 2);
    mw_matcher_forget_history(fork);
    CHECK(mw_matcher_n_steps(fork) == 0);
    mw_matcher_reset(fork);

    /* A batch of both: one accepts, one refuses. */
    mw_pool *pool = mw_pool_new(2, &error);
    fail(error);
    mw_matcher *batch[] = {matcher, fork}, *twice[] = {fork, fork};
    mw_code codes[2];
    CHECK(mw_batch_fill(pool, batch, 2, rows[0], N_WORDS, codes, &error) == MW_CODE_OK && codes[0] == MW_CODE_OK);
    CHECK(rows[1]['a' / 32] == 1u << 'a' % 32);
    CHECK(mw_batch_accept_and_fill(NULL, batch, wrong, 2, rows[0], N_WORDS, codes, &error) == MW_CODE_OK);
    CHECK(codes[0] == MW_CODE_OK && codes[1] == MW_CODE_REFUSED && rows[0]['b' / 32] == 1u << 'b' % 32 && rows[1]['a' / 32] == 0);
    CHECK(mw_batch_fill(pool, twice, 2, rows[0], N_WORDS, NULL, NULL) == MW_CODE_ARGUMENT);
    mw_pool_free(pool);

    uint16_t halves[N_TOKENS] = {0};
    CHECK(mw_apply_mask_f16(rows[0], N_WORDS, N_TOKENS, halves, N_TOKENS, &error) == MW_CODE_OK && halves['b'] == 0 && halves['a'] == 0xfc00);
    memset(halves, 0, sizeof halves);
    CHECK(mw_apply_mask_bf16(rows[0], N_WORDS, N_TOKENS, halves, N_TOKENS, &error) == MW_CODE_OK && halves['b'] == 0 && halves['a'] == 0xff80);
    CHECK(mw_apply_mask_bf16(rows[0], N_WORDS, N_TOKENS, halves, 5, NULL) == MW_CODE_OUT_OF_RANGE);
    mw_matcher_free(fork);
    mw_matcher_free(matcher);
}

int main(void) {
    mw_error *error = NULL;
    mw_vocab *vocab = vocabulary();
    mw_compiler_options sizes = {.struct_size = sizeof sizes, .grammar_cache_bytes = 1 << 20};
    mw_compiler *compiler = mw_compiler_new(vocab, &sizes, &error);
    fail(error);
    mw_vocab_free(vocab);
    mw_compile_options options = {.struct_size = sizeof options, .timeout_ms = 10000, .has_white_space_max = true};
    mw_grammar *grammar = mw_compile(compiler, MW_SOURCE_STRUCTURAL_TAG, TAG, strlen(TAG), &options, &error);
    fail(error);
    for (uint32_t seed = 1; seed <= 5; seed++) {
        char output[4096];
        size_t length = generate(grammar, seed, output, sizeof output - 1);
        output[length] = 0;
        CHECK(strncmp(output, "<tool>{\"city\":\"", 15) == 0 && strcmp(output + length - 8, "}</tool>") == 0);
        if (seed == 1) {
            printf("%s\n", output);
        }
    }
    mw_grammar_free(grammar);
    check_errors(compiler);
    check_captures(compiler);
    check_steps(compiler);
    mw_compiler_clear_caches(compiler);
    mw_compiler_free(compiler);
    CHECK(strlen(mw_version()) > 0 && mw_error_code(NULL) == MW_CODE_OK);
    puts("ok");
    return 0;
}

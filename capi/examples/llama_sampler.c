/* A sampler of llama.cpp that masks by a grammar of Maskwright.
 *
 * This file is an example: it is compiled with llama.cpp's own header, which is not part of this project. It was last compiled with the header of llama-cpp-python 0.3.36.
 *
 *     cargo build --release -p maskwright-capi
 *     cc -c -I capi/include -I LLAMA_CPP/include -I LLAMA_CPP/ggml/include capi/examples/llama_sampler.c
 *     # link with target/release/libmaskwright_c.a and llama.cpp's libraries, and -lpthread -ldl -lm
 *
 * Then, once for a model and once for a request:
 *
 *     mw_vocab *vocab = maskwright_llama_vocab(llama_model_get_vocab(model), &error);
 *     mw_compiler *compiler = mw_compiler_new(vocab, NULL, &error);
 *     mw_grammar *grammar = mw_compile(compiler, MW_SOURCE_JSON_SCHEMA, schema, strlen(schema), NULL, &error);
 *     llama_sampler_chain_add(chain, maskwright_llama_sampler(grammar, mw_vocab_n_mask_words(vocab), &error));   // before those that choose
 *
 * A request whose grammar doesn't compile fails before it begins, rather than going on without one.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"
#include "maskwright.h"

/* Returns the vocabulary of a model: pieces are text, control tokens are control tokens, and whatever ends a generation is a stop token. */
mw_vocab *maskwright_llama_vocab(const struct llama_vocab *from, mw_error **error) {
    const int32_t n_tokens = llama_vocab_n_tokens(from);
    size_t *lengths = calloc((size_t)n_tokens, sizeof *lengths);
    mw_token_kind *kinds = calloc((size_t)n_tokens, sizeof *kinds);
    uint32_t *stops = calloc((size_t)n_tokens, sizeof *stops);
    size_t n_bytes = 0, capacity = (size_t)n_tokens * 8 + 256, n_stops = 0;
    char *bytes = malloc(capacity);
    mw_vocab *vocab = NULL;
    if (lengths == NULL || kinds == NULL || stops == NULL || bytes == NULL) {
        goto done;
    }
    for (llama_token token = 0; token < n_tokens; token++) {
        /* Special tokens are written by their names. */
        int32_t length = llama_token_to_piece(from, token, bytes + n_bytes, (int32_t)(capacity - n_bytes), 0, true);
        if (length < 0) {
            capacity = 2 * capacity + (size_t)-length;
            char *grown = realloc(bytes, capacity);
            if (grown == NULL) {
                goto done;
            }
            bytes = grown;
            length = llama_token_to_piece(from, token, bytes + n_bytes, (int32_t)(capacity - n_bytes), 0, true);
        }
        lengths[token] = length > 0 ? (size_t)length : 0;
        n_bytes += lengths[token];
        const enum llama_token_attr attributes = llama_vocab_get_attr(from, token);
        const bool is_control = llama_vocab_is_control(from, token) || (attributes & (LLAMA_TOKEN_ATTR_UNKNOWN | LLAMA_TOKEN_ATTR_UNUSED)) != 0;
        const bool is_added = (attributes & LLAMA_TOKEN_ATTR_USER_DEFINED) != 0;
        kinds[token] = is_control ? MW_TOKEN_KIND_CONTROL : is_added ? MW_TOKEN_KIND_ADDED_TEXT : MW_TOKEN_KIND_TEXT;
        if (llama_vocab_is_eog(from, token)) {
            stops[n_stops++] = (uint32_t)token;
        }
    }
    mw_vocab_options options = {.struct_size = sizeof options, .stop_tokens = stops, .n_stop_tokens = n_stops};
    vocab = mw_vocab_new((const uint8_t *)bytes, lengths, kinds, (size_t)n_tokens, &options, error);
done:
    free(bytes);
    free(stops);
    free(kinds);
    free(lengths);
    return vocab;
}

struct state {
    mw_matcher *matcher;
    uint32_t *row;
    size_t n_words;
};

static const char *name(const struct llama_sampler *sampler) {
    (void)sampler;
    return "maskwright";
}

static void accept(struct llama_sampler *sampler, llama_token token) {
    struct state *state = sampler->ctx;
    /* A token that was sampled elsewhere and is refused leaves the matcher as it was: the next mask is that of the text before it. */
    mw_matcher_try_accept(state->matcher, (uint32_t)token);
}

static void apply(struct llama_sampler *sampler, llama_token_data_array *candidates) {
    struct state *state = sampler->ctx;
    if (candidates->size == 1) {
        /* llama.cpp samples without the grammar first, and asks about the one token. */
        if (!mw_matcher_is_allowed(state->matcher, (uint32_t)candidates->data[0].id)) {
            candidates->data[0].logit = -INFINITY;
        }
        return;
    }
    /* The matcher fails closed: the row is always filled. */
    mw_matcher_fill(state->matcher, state->row, state->n_words, NULL, NULL);
    for (size_t i = 0; i < candidates->size; i++) {
        const uint32_t id = (uint32_t)candidates->data[i].id;
        if (id / 32 >= state->n_words || (state->row[id / 32] >> id % 32 & 1) == 0) {
            candidates->data[i].logit = -INFINITY;
        }
    }
    candidates->sorted = false;
}

static void reset(struct llama_sampler *sampler) {
    mw_matcher_reset(((struct state *)sampler->ctx)->matcher);
}

static struct llama_sampler *made(mw_matcher *matcher, size_t n_words);

static struct llama_sampler *clone(const struct llama_sampler *sampler) {
    const struct state *state = sampler->ctx;
    return made(mw_matcher_fork(state->matcher), state->n_words);
}

static void release(struct llama_sampler *sampler) {
    struct state *state = sampler->ctx;
    mw_matcher_free(state->matcher);
    free(state->row);
    free(state);
}

static struct llama_sampler_i INTERFACE = {
    .name = name,
    .accept = accept,
    .apply = apply,
    .reset = reset,
    .clone = clone,
    .free = release,
};

static struct llama_sampler *made(mw_matcher *matcher, size_t n_words) {
    struct state *state = malloc(sizeof *state);
    uint32_t *row = calloc(n_words, sizeof *row);
    if (matcher == NULL || state == NULL || row == NULL) {
        mw_matcher_free(matcher);
        free(state);
        free(row);
        return NULL;
    }
    *state = (struct state){.matcher = matcher, .row = row, .n_words = n_words};
    return llama_sampler_init(&INTERFACE, state);
}

/* Returns a sampler for one output; NULL and an error if there is none. `n_words` is mw_vocab_n_mask_words of the vocabulary. */
struct llama_sampler *maskwright_llama_sampler(const mw_grammar *grammar, size_t n_words, mw_error **error) {
    mw_matcher_options options = {.struct_size = sizeof options, .fail_closed = true};
    mw_matcher *matcher = mw_matcher_new(grammar, &options, error);
    return matcher == NULL ? NULL : made(matcher, n_words);
}

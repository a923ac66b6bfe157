/* The C interface of maskwright: exact token masks for language models.
 *
 * Generated from the sources in capi/src; a test compares the two.
 *
 * Handles are opaque. Each is freed by its own function, which accepts NULL; handles that it was made from may be freed before it, in any order.
 *
 * Errors: a function that can fail has a last argument `error`. If it is not NULL and the function fails, `*error` becomes a new error, to be freed by mw_error_free; otherwise it is left as it is.
 * Such functions return NULL or a code other than MW_CODE_OK then, and nothing else has happened. No panic crosses the interface: it becomes an error with the code MW_CODE_INTERNAL.
 *
 * Options begin with their own size, `struct_size`, so that options may be added at their ends: initialize them with zeros and set it to sizeof. What is zero is the default. Options that
 * the library is too old to know are an error unless they are zero.
 *
 * Threads: vocabularies, compilers, grammars, pools and cancel flags may be used by any number of threads at once. A matcher may be used by one thread at a time, and handed from one to another. An error
 * may be read by many threads. A process that was forked may use all handles but pools, if no other thread was within a call at the fork.
 *
 * Strings that are returned are UTF-8 with a NUL at the end, belong to the handle that they come from, and live as long as it does. Texts that are given have a length and need no NUL.
 */

#ifndef MASKWRIGHT_H
#define MASKWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What kind of error it is.
typedef enum mw_code {
  // No error.
  MW_CODE_OK = 0,
  // The source is malformed.
  MW_CODE_SYNTAX = 1,
  // The source is no JSON Schema, or no structural tag.
  MW_CODE_DOCUMENT = 2,
  // The source asks for something that can't be enforced.
  MW_CODE_UNSUPPORTED = 3,
  // No text conforms to the source.
  MW_CODE_UNSATISFIABLE = 4,
  // The grammar names a token that the vocabulary lacks.
  MW_CODE_UNKNOWN_TOKEN = 5,
  // A limit was exceeded.
  MW_CODE_LIMIT = 6,
  // The time was over, or the compile was cancelled.
  MW_CODE_INTERRUPTED = 7,
  // An option makes no sense, or contradicts another.
  MW_CODE_OPTION = 8,
  // An argument makes no sense: NULL, text that is not UTF-8, the same matcher twice, a parent that is no node before its child.
  MW_CODE_ARGUMENT = 20,
  // The vocabulary can't be read or built.
  MW_CODE_VOCAB = 21,
  // The grammar does not allow the token or the bytes here.
  MW_CODE_REFUSED = 30,
  // The output has ended.
  MW_CODE_TERMINATED = 31,
  // No token of the vocabulary can go on, though the text is not complete.
  MW_CODE_STUCK = 32,
  // The step takes more work or memory than the limits allow.
  MW_CODE_OVER_BUDGET = 33,
  // Something is out of range: a row that is too short, more steps than there are, a history that was forgotten.
  MW_CODE_OUT_OF_RANGE = 34,
  // The library failed, which is a bug.
  MW_CODE_INTERNAL = 99,
} mw_code;

// The kind of a token, which decides where it may be allowed.
typedef enum mw_token_kind {
  // Ordinary text: allowed where the grammar allows its bytes.
  MW_TOKEN_KIND_TEXT = 0,
  // A special token such as <|im_start|>: never text, allowed only where a grammar names it. Its bytes are its name.
  MW_TOKEN_KIND_CONTROL = 1,
  // An added token such as `<think>`: text that a grammar may also name.
  MW_TOKEN_KIND_ADDED_TEXT = 2,
  // An id without a token: never allowed.
  MW_TOKEN_KIND_PADDING = 3,
} mw_token_kind;

// What a source is.
typedef enum mw_source {
  // EBNF, as GBNF and XGrammar write it.
  MW_SOURCE_EBNF = 0,
  // Lark, with the root rule `start`.
  MW_SOURCE_LARK = 1,
  // EBNF if it has `::=`, Lark otherwise.
  MW_SOURCE_AUTO = 2,
  // A regular expression, which the whole output must match.
  MW_SOURCE_REGEX = 3,
  // A JSON Schema.
  MW_SOURCE_JSON_SCHEMA = 4,
  // A structural tag, as JSON.
  MW_SOURCE_STRUCTURAL_TAG = 5,
  // A JSON array of texts, of which the output is one.
  MW_SOURCE_CHOICE = 6,
} mw_source;

// A flag that cancels compiles from another thread.
typedef struct mw_cancel mw_cancel;

// The parts of an accepted text that its grammar names.
typedef struct mw_captures mw_captures;

// A compiler of grammars for one vocabulary.
typedef struct mw_compiler mw_compiler;

// An error: a code, a message, and where it is.
typedef struct mw_error mw_error;

// A grammar compiled for one vocabulary.
typedef struct mw_grammar mw_grammar;

// The state of one output: what was accepted so far, and what may follow. A call that fails leaves it as it was.
typedef struct mw_matcher mw_matcher;

// Threads that step batches.
typedef struct mw_pool mw_pool;

// The tokens of a model.
typedef struct mw_vocab mw_vocab;

// A part of an accepted text.
typedef struct mw_capture {
  // The name.
  const char *name;
  // The bytes of the part, without a NUL.
  const uint8_t *text;
  // Their number.
  size_t n_bytes;
  // How many bytes of the accepted text are before them. Control tokens have none.
  size_t offset;
} mw_capture;

// Options of compilers.
typedef struct mw_compiler_options {
  // The size of this struct.
  size_t struct_size;
  // Bound on cached masks, in bytes; 0: the default.
  size_t mask_cache_bytes;
  // Bound on cached automata, in bytes; 0: the default.
  size_t unit_cache_bytes;
  // Bound on cached grammars, in bytes; 0: the default.
  size_t grammar_cache_bytes;
} mw_compiler_options;

// Options of one compile. Those from `has_white_space_max` on are of schemas, also within structural tags. `white_space_max`, `indent` and separators exclude one another.
typedef struct mw_compile_options {
  // The size of this struct.
  size_t struct_size;
  // Compiling fails after so many milliseconds; 0: never.
  uint64_t timeout_ms;
  // Compiling fails once this is set; NULL: never.
  const struct mw_cancel *cancel;
  // The name of the root rule of EBNF; NULL: "root".
  const char *root;
  // Whether `white_space_max` is given.
  bool has_white_space_max;
  // The longest run of white space between two tokens of JSON, in characters; by default 16.
  uint32_t white_space_max;
  // Spaces per level, with a line for each member and item; 0: no lines.
  uint32_t indent;
  // Between members and between items, like ", ". NULL: a comma without white space if there is a `key_separator`, otherwise any white space.
  const char *item_separator;
  // Between a key and its value, like ": ". NULL: a colon without white space if there is an `item_separator`, otherwise any white space.
  const char *key_separator;
  // Whether an object without `additionalProperties` has no other keys than its `properties`. In structural tags that is the default.
  bool no_additional_properties;
  // Whether it may have others also in a structural tag.
  bool additional_properties;
  // Whether `format` is not asserted.
  bool no_formats;
  // Whether integers may be written like 1.0.
  bool integer_fractions;
  // Whether a constraint that can't be enforced is dropped and reported, instead of an error.
  bool lenient;
  // Whether the keys of objects come in any order, instead of that in which schemas name them.
  bool any_order;
  // Whether an array with `prefixItems` and without `items` has no further items.
  bool no_additional_items;
} mw_compile_options;

// Options of matchers.
typedef struct mw_matcher_options {
  // The size of this struct.
  size_t struct_size;
  // Stop tokens in place of the vocabulary's; any id below the width of the logits. NULL: those of the vocabulary.
  const uint32_t *stop_tokens;
  // Their number.
  size_t n_stop_tokens;
  // Whether the output also ends without a stop token, as soon as the text is complete and nothing can follow.
  bool terminate_when_nothing_follows;
  // Whether a mask that can't be found is that of the stop tokens, and not an error.
  bool fail_closed;
} mw_matcher_options;

// Options of vocabularies.
typedef struct mw_vocab_options {
  // The size of this struct.
  size_t struct_size;
  // The tokens that end an output. They are never text. NULL: none, or those that a tokenizer file seems to have.
  const uint32_t *stop_tokens;
  // Their number.
  size_t n_stop_tokens;
  // The width of a row of logits; 0: the number of tokens. Ids beyond the tokens are padding, tokens beyond the width are dropped.
  size_t logits_width;
} mw_vocab_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library, such as "0.1.0".
const char *mw_version(void);

// Makes a pool of `n_threads` threads, at most 1024; 0: one for each core. A pool is not to be used in a process that was forked after it was made.
struct mw_pool *mw_pool_new(size_t n_threads,
                            struct mw_error **error);

// Frees a pool.
void mw_pool_free(struct mw_pool *pool);

// Fills a row for each matcher, on the threads of a pool or, if it is NULL, on those that the process shares (a forked process has its own): row i begins at `rows + i * words_per_row`. `codes`, if it is not NULL, has a place for each matcher: what became of
// its row, which is all zeros where it failed. Fails itself only if arguments make no sense.
enum mw_code mw_batch_fill(const struct mw_pool *pool,
                           struct mw_matcher *const *matchers,
                           size_t n_matchers,
                           uint32_t *rows,
                           size_t words_per_row,
                           enum mw_code *codes,
                           struct mw_error **error);

// Accepts one token for each matcher and fills its row: one step of a batch. Otherwise as mw_batch_fill; the row of a matcher that refuses its token is all zeros, and the matcher as it was.
enum mw_code mw_batch_accept_and_fill(const struct mw_pool *pool,
                                      struct mw_matcher *const *matchers,
                                      const uint32_t *tokens,
                                      size_t n_matchers,
                                      uint32_t *rows,
                                      size_t words_per_row,
                                      enum mw_code *codes,
                                      struct mw_error **error);

// Returns the parts of the text so far that the grammar names (`capture` in Lark and EBNF), in the order of their ends, and of those with the same end the inner ones first. A text that can be read in several ways is read from
// the left: first alternative, longest match. The text is read again, for which history must not be forgotten: this is for the end of an output, not for each step.
struct mw_captures *mw_matcher_captures(const struct mw_matcher *matcher,
                                        struct mw_error **error);

// Returns the number of parts; 0 for NULL.
size_t mw_captures_n(const struct mw_captures *captures);

// Writes a part to `*part`, whose pointers live as long as `captures`; returns whether there is one.
bool mw_captures_get(const struct mw_captures *captures, size_t index, struct mw_capture *part);

// Frees captures.
void mw_captures_free(struct mw_captures *captures);

// Makes a compiler. It keeps what it needs of the vocabulary.
struct mw_compiler *mw_compiler_new(const struct mw_vocab *vocab,
                                    const struct mw_compiler_options *options,
                                    struct mw_error **error);

// Compiles a source; `kind` is an mw_source. What was compiled before is found again.
struct mw_grammar *mw_compile(const struct mw_compiler *compiler,
                              uint32_t kind,
                              const char *text,
                              size_t n_bytes,
                              const struct mw_compile_options *options,
                              struct mw_error **error);

// Empties the caches of a compiler. What was compiled stays usable.
void mw_compiler_clear_caches(const struct mw_compiler *compiler);

// Frees a compiler. Grammars that it compiled stay usable.
void mw_compiler_free(struct mw_compiler *compiler);

// Returns the number of warnings: probable mistakes in the grammar.
size_t mw_grammar_n_warnings(const struct mw_grammar *grammar);

// Returns a warning, or NULL if there are fewer.
const char *mw_grammar_warning(const struct mw_grammar *grammar, size_t index);

// Returns the keywords of a schema that are not enforced, or not in full, as a JSON array of objects with `keyword`, `location`, `verdict`, `reason` and `schema`: the text of a schema within a grammar or a
// structural tag, otherwise null. NULL for NULL.
const char *mw_grammar_unenforced(const struct mw_grammar *grammar);

// Returns about how much memory the grammar takes, in bytes, without masks.
size_t mw_grammar_memory_bytes(const struct mw_grammar *grammar);

// Frees a grammar. Matchers that were made from it keep what they need.
void mw_grammar_free(struct mw_grammar *grammar);

// Makes a flag that cancels compiles.
struct mw_cancel *mw_cancel_new(void);

// Sets the flag: every compile that has it fails within some milliseconds.
void mw_cancel_set(const struct mw_cancel *cancel);

// Frees a flag. Compiles that have it go on.
void mw_cancel_free(struct mw_cancel *cancel);

// Returns the code of an error; MW_CODE_OK for NULL.
enum mw_code mw_error_code(const struct mw_error *error);

// Returns the message: one line; "" for NULL.
const char *mw_error_message(const struct mw_error *error);

// Returns the line in the source, from 1; 0 if it is not known.
size_t mw_error_line(const struct mw_error *error);

// Returns the column in the line, in characters, from 1; 0 if it is not known.
size_t mw_error_column(const struct mw_error *error);

// Returns the JSON pointer of the place in a schema or structural tag; NULL if there is none.
const char *mw_error_pointer(const struct mw_error *error);

// Returns the keyword of a schema; NULL if there is none.
const char *mw_error_keyword(const struct mw_error *error);

// Returns what the author may have meant; NULL if there is no hint.
const char *mw_error_hint(const struct mw_error *error);

// Returns the position of the failing token in the list that was given; SIZE_MAX if there is none.
size_t mw_error_token_index(const struct mw_error *error);

// Frees an error.
void mw_error_free(struct mw_error *error);

// Makes the logits of the tokens that a mask doesn't allow negative infinity, and those beyond `n_tokens`. There must be at least ceil(n_tokens / 32) words and `n_tokens` logits.
enum mw_code mw_apply_mask_f32(const uint32_t *mask,
                               size_t n_words,
                               size_t n_tokens,
                               float *logits,
                               size_t n_logits,
                               struct mw_error **error);

// As mw_apply_mask_f32, for IEEE 754 numbers of 16 bits.
enum mw_code mw_apply_mask_f16(const uint32_t *mask,
                               size_t n_words,
                               size_t n_tokens,
                               uint16_t *logits,
                               size_t n_logits,
                               struct mw_error **error);

// As mw_apply_mask_f32, for the upper halves of numbers of 32 bits (bfloat16).
enum mw_code mw_apply_mask_bf16(const uint32_t *mask,
                                size_t n_words,
                                size_t n_tokens,
                                uint16_t *logits,
                                size_t n_logits,
                                struct mw_error **error);

// Makes a matcher before any token. It keeps what it needs of the grammar.
struct mw_matcher *mw_matcher_new(const struct mw_grammar *grammar,
                                  const struct mw_matcher_options *options,
                                  struct mw_error **error);

// Accepts one token. A stop token ends the output where the text is complete.
enum mw_code mw_matcher_accept(struct mw_matcher *matcher, uint32_t token, struct mw_error **error);

// Accepts several tokens, all or none; mw_error_token_index has the position of the one that failed.
enum mw_code mw_matcher_accept_many(struct mw_matcher *matcher,
                                    const uint32_t *tokens,
                                    size_t n_tokens,
                                    struct mw_error **error);

// Accepts bytes, as one step.
enum mw_code mw_matcher_accept_bytes(struct mw_matcher *matcher,
                                     const uint8_t *bytes,
                                     size_t n_bytes,
                                     struct mw_error **error);

// Accepts one token if it is allowed; returns whether it was.
bool mw_matcher_try_accept(struct mw_matcher *matcher, uint32_t token);

// Returns whether a token could be accepted: whether its bit is set in the mask. Much faster than a mask.
bool mw_matcher_is_allowed(struct mw_matcher *matcher, uint32_t token);

// Returns how many of `tokens` could be accepted one after the other. Nothing is accepted.
size_t mw_matcher_validate(struct mw_matcher *matcher, const uint32_t *tokens, size_t n_tokens);

// Fills a row of `n_words` words with what may follow: bit i % 32 of word i / 32, least significant first, is set when token i is allowed. Words beyond those of a mask are cleared. `*needs_apply`, if it is not
// NULL, becomes false if every token is allowed. Where the row can't be filled it is all zeros, unless the matcher fails closed.
enum mw_code mw_matcher_fill(struct mw_matcher *matcher,
                             uint32_t *row,
                             size_t n_words,
                             bool *needs_apply,
                             struct mw_error **error);

// Fills the rows of a chain of drafts, one more than there are drafts: row i is what may follow the first i of them, and begins at `rows + i * words_per_row`. Behind a draft that is refused rows are copies of the one that
// refuses it. `*n_acceptable` becomes the number of drafts that can be accepted. The matcher is as before.
enum mw_code mw_matcher_fill_chain(struct mw_matcher *matcher,
                                   const uint32_t *drafts,
                                   size_t n_drafts,
                                   uint32_t *rows,
                                   size_t words_per_row,
                                   size_t *n_acceptable,
                                   struct mw_error **error);

// Fills the rows of a tree of drafts: row i is what may follow node i, and begins at `rows + i * words_per_row`. Node 0 stands for the text so far: its parent is -1, its draft is not looked at. The parent of every other
// node is a node before it. `acceptable`, if it is not NULL, has a place for each node: whether it and all drafts above it can be accepted. The matcher is as before.
enum mw_code mw_matcher_fill_tree(struct mw_matcher *matcher,
                                  const int32_t *parents,
                                  const uint32_t *drafts,
                                  size_t n_nodes,
                                  uint32_t *rows,
                                  size_t words_per_row,
                                  bool *acceptable,
                                  struct mw_error **error);

// Takes back the last `k` steps, stop tokens included.
enum mw_code mw_matcher_rollback(struct mw_matcher *matcher, size_t k, struct mw_error **error);

// Returns an independent matcher in the same state; NULL for NULL. About a microsecond, however long the history is.
struct mw_matcher *mw_matcher_fork(const struct mw_matcher *matcher);

// Makes a matcher one in the state of another.
enum mw_code mw_matcher_copy_state(struct mw_matcher *to, const struct mw_matcher *from, struct mw_error **error);

// Goes back to before the first token.
void mw_matcher_reset(struct mw_matcher *matcher);

// Goes back to before the first token and accepts `tokens`: the state after preemption, rebuilt.
enum mw_code mw_matcher_replay(struct mw_matcher *matcher,
                               const uint32_t *tokens,
                               size_t n_tokens,
                               struct mw_error **error);

// Forgets the steps so far, to save memory: they can't be taken back any more.
void mw_matcher_forget_history(struct mw_matcher *matcher);

// Returns whether the text so far is complete: a stop token may follow.
bool mw_matcher_is_accepting(const struct mw_matcher *matcher);

// Returns whether the output has ended: only stop tokens are allowed.
bool mw_matcher_is_terminated(const struct mw_matcher *matcher);

// Returns the number of steps that can be taken back.
size_t mw_matcher_n_steps(const struct mw_matcher *matcher);

// Writes the longest text that every completion begins with, as much of it as fits into `capacity` bytes, without a NUL; returns how long it is. It can end within a character. Nothing is written where `buffer` is NULL.
size_t mw_matcher_jump_forward(struct mw_matcher *matcher,
                               uint8_t *buffer,
                               size_t capacity);

// Frees a matcher.
void mw_matcher_free(struct mw_matcher *matcher);

// Builds a vocabulary of `n_tokens` tokens, the first with id 0. `bytes` are those of all tokens, one behind the other, and `lengths` how many each has; `kinds` are their kinds, or NULL if all are
// text. Some tenths of a second for 150,000 tokens.
struct mw_vocab *mw_vocab_new(const uint8_t *bytes,
                              const size_t *lengths,
                              const enum mw_token_kind *kinds,
                              size_t n_tokens,
                              const struct mw_vocab_options *options,
                              struct mw_error **error);

// Reads the text of a tokenizer.json file.
struct mw_vocab *mw_vocab_from_tokenizer_json(const char *json,
                                              size_t n_bytes,
                                              const struct mw_vocab_options *options,
                                              struct mw_error **error);

// Returns the number of tokens: the width of a row of logits; 0 for NULL.
size_t mw_vocab_n_tokens(const struct mw_vocab *vocab);

// Returns the number of words of a mask, ceil(n_tokens / 32); 0 for NULL.
size_t mw_vocab_n_mask_words(const struct mw_vocab *vocab);

// Frees a vocabulary. Compilers that were made from it keep what they need.
void mw_vocab_free(struct mw_vocab *vocab);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MASKWRIGHT_H */

// Maskwright for C++17: handles that free themselves, errors as exceptions. Header-only, over maskwright.h.
//
// Threads are as in maskwright.h: a Matcher by one thread at a time, everything else by any number.

#ifndef MASKWRIGHT_HPP
#define MASKWRIGHT_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskwright.h"

namespace maskwright {

// An error of the library: what() is the message.
class Error : public std::runtime_error {
public:
    explicit Error(const mw_error *error)
        : std::runtime_error(mw_error_message(error)),
          code(mw_error_code(error)),
          line(mw_error_line(error)),
          column(mw_error_column(error)),
          pointer(text_of(mw_error_pointer(error))),
          keyword(text_of(mw_error_keyword(error))),
          hint(text_of(mw_error_hint(error))),
          token_index(mw_error_token_index(error)) {}

    mw_code code;
    // From 1; 0 if not known.
    std::size_t line, column;
    // Empty if there is none.
    std::string pointer, keyword, hint;
    // SIZE_MAX if there is none.
    std::size_t token_index;

private:
    static std::string text_of(const char *text) { return text == nullptr ? std::string() : std::string(text); }
};

namespace detail {

// A place for an error, which is thrown if there is one.
class Check {
public:
    Check() = default;
    Check(const Check &) = delete;
    Check &operator=(const Check &) = delete;
    ~Check() { mw_error_free(error_); }

    operator mw_error **() { return &error_; }

    void done() const {
        if (error_ != nullptr) {
            throw Error(error_);
        }
    }

private:
    mw_error *error_ = nullptr;
};

template <typename T, void (*Free)(T *)>
struct Freer {
    void operator()(T *handle) const { Free(handle); }
};

template <typename T, void (*Free)(T *)>
using Handle = std::unique_ptr<T, Freer<T, Free>>;

}  // namespace detail

// Cancels compiles from another thread.
class Cancel {
public:
    Cancel() : handle_(mw_cancel_new()) {}
    void set() { mw_cancel_set(handle_.get()); }
    const mw_cancel *get() const { return handle_.get(); }

private:
    detail::Handle<mw_cancel, mw_cancel_free> handle_;
};

// The tokens of a model.
class Vocab {
public:
    // The first token has id 0. Stop tokens are never text; a width of 0 is the number of tokens.
    explicit Vocab(const std::vector<std::string> &tokens, const std::vector<mw_token_kind> &kinds = {}, const std::vector<std::uint32_t> &stop_tokens = {}, std::size_t logits_width = 0) {
        if (!kinds.empty() && kinds.size() != tokens.size()) {
            throw std::invalid_argument("there must be a kind for each token, or none");
        }
        std::string bytes;
        std::vector<std::size_t> lengths;
        for (const std::string &token : tokens) {
            bytes += token;
            lengths.push_back(token.size());
        }
        mw_vocab_options options = made_options(stop_tokens, logits_width);
        detail::Check check;
        handle_.reset(mw_vocab_new(reinterpret_cast<const std::uint8_t *>(bytes.data()), lengths.data(), kinds.empty() ? nullptr : kinds.data(), tokens.size(), &options, check));
        check.done();
    }

    // Reads the text of a tokenizer.json file; without stop tokens it has those that the file seems to have.
    static Vocab from_tokenizer_json(std::string_view json, const std::vector<std::uint32_t> &stop_tokens = {}, std::size_t logits_width = 0) {
        mw_vocab_options options = made_options(stop_tokens, logits_width);
        detail::Check check;
        Vocab vocab(mw_vocab_from_tokenizer_json(json.data(), json.size(), &options, check));
        check.done();
        return vocab;
    }

    std::size_t n_tokens() const { return mw_vocab_n_tokens(handle_.get()); }
    std::size_t n_mask_words() const { return mw_vocab_n_mask_words(handle_.get()); }
    const mw_vocab *get() const { return handle_.get(); }

private:
    explicit Vocab(mw_vocab *handle) : handle_(handle) {}

    static mw_vocab_options made_options(const std::vector<std::uint32_t> &stop_tokens, std::size_t logits_width) {
        mw_vocab_options options{};
        options.struct_size = sizeof options;
        options.stop_tokens = stop_tokens.empty() ? nullptr : stop_tokens.data();
        options.n_stop_tokens = stop_tokens.size();
        options.logits_width = logits_width;
        return options;
    }

    detail::Handle<mw_vocab, mw_vocab_free> handle_;
};

// A part of an accepted text that a grammar names: it begins at byte `offset`.
struct Capture {
    std::string name, text;
    std::size_t offset;
};

// The state of one output. Moving it leaves an empty one behind, which may only be destroyed or assigned to.
class Matcher {
public:
    // Takes a handle over.
    explicit Matcher(mw_matcher *handle) : handle_(handle) {}

    void accept(std::uint32_t token) { checked([&](mw_error **error) { mw_matcher_accept(get(), token, error); }); }
    void accept(const std::vector<std::uint32_t> &tokens) {
        checked([&](mw_error **error) { mw_matcher_accept_many(get(), tokens.data(), tokens.size(), error); });
    }
    void accept_bytes(std::string_view bytes) {
        checked([&](mw_error **error) { mw_matcher_accept_bytes(get(), reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size(), error); });
    }
    bool try_accept(std::uint32_t token) { return mw_matcher_try_accept(get(), token); }
    bool is_allowed(std::uint32_t token) { return mw_matcher_is_allowed(get(), token); }
    std::size_t validate(const std::vector<std::uint32_t> &tokens) { return mw_matcher_validate(get(), tokens.data(), tokens.size()); }

    // Fills a row; returns whether it has to be applied.
    bool fill(std::uint32_t *row, std::size_t n_words) {
        bool needs_apply = true;
        checked([&](mw_error **error) { mw_matcher_fill(get(), row, n_words, &needs_apply, error); });
        return needs_apply;
    }
    bool fill(std::vector<std::uint32_t> &row) { return fill(row.data(), row.size()); }

    // Fills one row more than there are drafts; returns how many drafts can be accepted.
    std::size_t fill_chain(const std::vector<std::uint32_t> &drafts, std::vector<std::uint32_t> &rows, std::size_t words_per_row) {
        check_size(rows, (drafts.size() + 1) * words_per_row);
        std::size_t n_acceptable = 0;
        checked([&](mw_error **error) { mw_matcher_fill_chain(get(), drafts.data(), drafts.size(), rows.data(), words_per_row, &n_acceptable, error); });
        return n_acceptable;
    }

    // Fills a row for each node of a tree of drafts, of which the first stands for the text so far and has the parent -1; returns for each whether it and all drafts above it can be accepted.
    std::vector<bool> fill_tree(const std::vector<std::int32_t> &parents, const std::vector<std::uint32_t> &drafts, std::vector<std::uint32_t> &rows, std::size_t words_per_row) {
        if (parents.size() != drafts.size()) {
            throw std::invalid_argument("there must be a parent for each draft");
        }
        check_size(rows, drafts.size() * words_per_row);
        std::unique_ptr<bool[]> acceptable(new bool[drafts.size()]());
        checked([&](mw_error **error) { mw_matcher_fill_tree(get(), parents.data(), drafts.data(), drafts.size(), rows.data(), words_per_row, acceptable.get(), error); });
        return std::vector<bool>(acceptable.get(), acceptable.get() + drafts.size());
    }

    void rollback(std::size_t k) { checked([&](mw_error **error) { mw_matcher_rollback(get(), k, error); }); }
    Matcher fork() const { return Matcher(mw_matcher_fork(handle_.get())); }
    void copy_state(const Matcher &from) { checked([&](mw_error **error) { mw_matcher_copy_state(get(), from.handle_.get(), error); }); }
    void reset() { mw_matcher_reset(get()); }
    void replay(const std::vector<std::uint32_t> &tokens) {
        checked([&](mw_error **error) { mw_matcher_replay(get(), tokens.data(), tokens.size(), error); });
    }
    void forget_history() { mw_matcher_forget_history(get()); }

    // The parts of the text so far that the grammar names, in the order of their ends.
    std::vector<Capture> captures() const {
        detail::Handle<mw_captures, mw_captures_free> found;
        checked([&](mw_error **error) { found.reset(mw_matcher_captures(handle_.get(), error)); });
        std::vector<Capture> captures;
        mw_capture part;
        for (std::size_t i = 0; mw_captures_get(found.get(), i, &part); i++) {
            captures.push_back({part.name, std::string(reinterpret_cast<const char *>(part.text), part.n_bytes), part.offset});
        }
        return captures;
    }

    bool is_accepting() const { return mw_matcher_is_accepting(handle_.get()); }
    bool is_terminated() const { return mw_matcher_is_terminated(handle_.get()); }
    std::size_t n_steps() const { return mw_matcher_n_steps(handle_.get()); }

    // The text that every completion begins with; it can end within a character.
    std::string jump_forward() {
        std::string forced(mw_matcher_jump_forward(get(), nullptr, 0), '\0');
        mw_matcher_jump_forward(get(), reinterpret_cast<std::uint8_t *>(forced.data()), forced.size());
        return forced;
    }

    mw_matcher *get() { return handle_.get(); }

private:
    template <typename F>
    static void checked(F &&call) {
        detail::Check check;
        call(static_cast<mw_error **>(check));
        check.done();
    }

    static void check_size(const std::vector<std::uint32_t> &rows, std::size_t n_words) {
        if (rows.size() < n_words) {
            throw std::invalid_argument("the rows have too few words");
        }
    }

    detail::Handle<mw_matcher, mw_matcher_free> handle_;
};

// A grammar compiled for one vocabulary.
class Grammar {
public:
    explicit Grammar(mw_grammar *handle) : handle_(handle) {}

    Matcher matcher(bool fail_closed = false, bool terminate_when_nothing_follows = false) const {
        mw_matcher_options options{};
        options.struct_size = sizeof options;
        options.fail_closed = fail_closed;
        options.terminate_when_nothing_follows = terminate_when_nothing_follows;
        detail::Check check;
        Matcher matcher(mw_matcher_new(handle_.get(), &options, check));
        check.done();
        return matcher;
    }

    std::vector<std::string> warnings() const {
        std::vector<std::string> warnings;
        for (std::size_t i = 0; i < mw_grammar_n_warnings(handle_.get()); i++) {
            warnings.emplace_back(mw_grammar_warning(handle_.get(), i));
        }
        return warnings;
    }

    std::string unenforced() const { return mw_grammar_unenforced(handle_.get()); }

private:
    detail::Handle<mw_grammar, mw_grammar_free> handle_;
};

// Options of a compile, with all of them as by default.
inline mw_compile_options compile_options() {
    mw_compile_options options{};
    options.struct_size = sizeof options;
    return options;
}

// A compiler of grammars for one vocabulary.
class Compiler {
public:
    explicit Compiler(const Vocab &vocab) {
        detail::Check check;
        handle_.reset(mw_compiler_new(vocab.get(), nullptr, check));
        check.done();
    }

    Grammar compile(mw_source kind, std::string_view text, const mw_compile_options &options = compile_options()) const {
        detail::Check check;
        Grammar grammar(mw_compile(handle_.get(), kind, text.data(), text.size(), &options, check));
        check.done();
        return grammar;
    }

    void clear_caches() { mw_compiler_clear_caches(handle_.get()); }

private:
    detail::Handle<mw_compiler, mw_compiler_free> handle_;
};

}  // namespace maskwright

#endif

// A tool call over a toy model, with the C++ wrapper: handles free themselves, errors are exceptions.

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "maskwright.hpp"

static void check(bool condition, const char *what) {
    if (!condition) {
        std::cerr << "not so: " << what << '\n';
        std::exit(1);
    }
}

static std::string generate(const maskwright::Grammar &grammar, const maskwright::Vocab &vocab, const std::vector<std::string> &tokens, unsigned seed) {
    std::mt19937 random(seed);
    maskwright::Matcher matcher = grammar.matcher();
    std::vector<std::uint32_t> row(vocab.n_mask_words());
    std::string output;
    while (!matcher.is_terminated()) {
        matcher.fill(row);
        std::vector<std::uint32_t> allowed;
        for (std::uint32_t token = 0; token < vocab.n_tokens(); token++) {
            if (row[token / 32] >> token % 32 & 1) {
                allowed.push_back(token);
            }
        }
        check(!allowed.empty(), "some token is allowed");
        // The end is taken where it may come.
        const std::uint32_t token = allowed.back() == tokens.size() - 1 ? allowed.back() : allowed[random() % allowed.size()];
        matcher.accept(token);
        if (token != tokens.size() - 1) {
            output += tokens[token];
        }
    }
    return output;
}

int main() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 128; byte++) {
        tokens.push_back(std::string(1, static_cast<char>(byte)));
    }
    tokens.push_back("city");
    tokens.push_back("<|end|>");
    std::vector<mw_token_kind> kinds(tokens.size(), MW_TOKEN_KIND_TEXT);
    kinds.back() = MW_TOKEN_KIND_CONTROL;
    const maskwright::Vocab vocab(tokens, kinds, {static_cast<std::uint32_t>(tokens.size() - 1)});
    const maskwright::Compiler compiler(vocab);

    mw_compile_options options = maskwright::compile_options();
    options.item_separator = ", ";
    options.key_separator = ": ";
    const maskwright::Grammar grammar = compiler.compile(
        MW_SOURCE_JSON_SCHEMA, R"({"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["city", "days"], "additionalProperties": false})",
        options);
    check(grammar.warnings().empty() && grammar.unenforced() == "[]", "nothing is wrong with the schema");

    // Grammars and vocabularies are shared by threads, each of which has matchers of its own.
    std::vector<std::string> outputs(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < outputs.size(); i++) {
        threads.emplace_back([&, i] { outputs[i] = generate(grammar, vocab, tokens, static_cast<unsigned>(i)); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const std::string &output : outputs) {
        check(output.rfind("{\"city\": \"", 0) == 0 && output.back() == '}', "an object comes out");
    }
    std::cout << outputs[0] << '\n';

    maskwright::Matcher matcher = grammar.matcher();
    check(matcher.jump_forward() == "{\"city\": \"", "the beginning is forced");
    matcher.accept_bytes("{\"city\": \"R");
    maskwright::Matcher fork = matcher.fork();
    fork.accept_bytes("ome");
    matcher.copy_state(fork);
    matcher.rollback(1);
    check(matcher.n_steps() == 1 && matcher.try_accept('o') && !matcher.is_allowed('o'), "steps are taken back");
    std::vector<std::uint32_t> rows(2 * vocab.n_mask_words());
    check(matcher.fill_chain({'m'}, rows, vocab.n_mask_words()) == 1, "a draft is accepted");
    rows.resize(3 * vocab.n_mask_words());
    check(matcher.fill_tree({-1, 0, 0}, {0, 'm', 'x'}, rows, vocab.n_mask_words()) == std::vector<bool>{true, true, false}, "a tree of drafts");
    maskwright::Matcher named = compiler.compile(MW_SOURCE_EBNF, "root ::= key \"=\"\nkey[capture] ::= [a-z]+").matcher();
    named.accept_bytes("ab=");
    const std::vector<maskwright::Capture> captures = named.captures();
    check(captures.size() == 1 && captures[0].name == "key" && captures[0].text == "ab" && captures[0].offset == 0, "a part has a name");
    try {
        matcher.accept('x');
        check(false, "a refused token throws");
    } catch (const maskwright::Error &error) {
        check(error.code == MW_CODE_REFUSED, "the code says so");
    }
    try {
        compiler.compile(MW_SOURCE_REGEX, "a(");
        check(false, "a malformed pattern throws");
    } catch (const maskwright::Error &error) {
        check(error.code == MW_CODE_SYNTAX && error.line == 1, "the error has its place");
    }
    std::cout << "ok\n";
}

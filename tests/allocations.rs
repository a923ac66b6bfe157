//! Memory, counted by the allocator: no allocations per step in steady state, little memory per matcher, token and level.

use maskwright::testing::cases::default_vocab;
use maskwright::{CompiledGrammar, GrammarCompiler, Matcher};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// An allocator that counts per thread, so that tests on other threads don't interfere.
struct Counting;

thread_local! {
    static N_ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static N_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(n_allocations: u64, n_bytes: i64) {
    // Allocations of a thread that is ending are not counted.
    _ = N_ALLOCATIONS.try_with(|count| count.set(count.get() + n_allocations));
    _ = N_BYTES.try_with(|bytes| bytes.set(bytes.get() + n_bytes));
}

// SAFETY: every call is passed on to `System` with the arguments as given; counting touches only cells of this thread that need
// neither allocation nor destruction.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: `pointer` came from `System` with this layout, as all memory here does.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: `pointer` came from `System` with this layout, and the caller keeps the contract for `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `work`, the number of its allocations, and the growth of memory in use in bytes.
fn counted<T>(work: impl FnOnce() -> T) -> (T, u64, i64) {
    let (n_allocations, n_bytes) = (N_ALLOCATIONS.get(), N_BYTES.get());
    let result = work();
    (result, N_ALLOCATIONS.get() - n_allocations, N_BYTES.get() - n_bytes)
}

/// Compiles a grammar for a vocabulary whose first tokens are the bytes.
fn compile(text: &str) -> CompiledGrammar {
    GrammarCompiler::new(Arc::new(default_vocab())).compile_ebnf(text).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Fills and accepts along a document; returns the allocations of filling, and of accepting.
fn pass(matcher: &mut Matcher, tokens: &[u32], row: &mut [u32]) -> (u64, u64) {
    let (mut n_filling, mut n_accepting) = (0, 0);
    for &token in tokens {
        let (filled, n, _) = counted(|| matcher.fill_mask(row));
        filled.expect("a token follows");
        n_filling += n;
        let (accepted, n, _) = counted(|| matcher.accept_token(token));
        accepted.expect("the document matches");
        n_accepting += n;
    }
    (n_filling, n_accepting)
}

/// Checks a second pass over a document; the history of `n_live` live pairs is several times that of one.
fn check_steady_state(name: &str, grammar: &CompiledGrammar, tokens: &[u32], n_live: u64) {
    let mut row = vec![0; grammar.vocab().n_mask_words()];
    let mut matcher = grammar.matcher();
    pass(&mut matcher, tokens, &mut row);
    let (rolled_back, n_rolling, _) = counted(|| matcher.rollback(tokens.len()));
    rolled_back.expect("so many steps were made");
    let (n_filling, n_accepting) = pass(&mut matcher, tokens, &mut row);
    println!("{name}: {} tokens, {n_filling} {n_accepting} {n_rolling} allocations", tokens.len());
    // The history grows in chunks.
    assert!(n_accepting <= n_live * tokens.len() as u64 / 32, "{name}: accepting allocates {n_accepting} times");
    assert_eq!((n_filling, n_rolling), (0, 0), "{name}: filling, rolling back");
    // Within a chunk nothing is allocated.
    matcher.reset();
    let few = &tokens[..tokens.len().min(60 / (n_live as usize + 1))];
    pass(&mut matcher, few, &mut row);
    matcher.rollback(few.len()).unwrap();
    assert_eq!(pass(&mut matcher, few, &mut row), (0, 0), "{name}: within a chunk");
}

#[test]
fn steady_state_allocates_nothing() {
    let documents = [
        (
            "brackets",
            "root ::= \"[\" (root (\",\" root)*)? \"]\" | [0-9]+",
            format!("[{}1]", "[1,[22,[],[3,[4,5,[66]]],7],[[[[8]]]]],".repeat(20)),
            1,
        ),
        (
            "strings",
            "root ::= \"{\" (s \":\" s \",\")* \"}\"\ns ::= \"\\\"\" ([^\"\\\\] | \"\\\\\" .)* \"\\\"\"",
            format!("{{{}}}", r#""foo":"x\"é","#.repeat(40)),
            1,
        ),
        (
            "sums",
            "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [0-9]+",
            "1+(2*(31+4)*5)+".repeat(30) + "0",
            2,
        ),
        ("counted", "root ::= ([a-z]{1,40} \",\"){2,500}", "foo,barbat,x,".repeat(50), 3),
        ("ambiguous", "root ::= (\"a\" | \"aa\" | \"aab\"){5,1000}", "aabaaaaa".repeat(30), 3),
    ];
    for (name, text, document, n_live) in documents {
        let grammar = compile(text);
        let tokens = grammar.vocab().tokenize_greedy(document.as_bytes());
        check_steady_state(name, &grammar, &tokens, n_live);
    }
}

/// Undeclared keys and unique items are compared with earlier ones. A mask of unique items lists the earlier ones that the item under way may still become, which takes
/// an allocation each time that list doubles.
#[test]
fn distinct_values_allocate_nothing() {
    let compiler = GrammarCompiler::new(Arc::new(default_vocab()));
    let keys =
        compiler.compile_json_schema(r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#).unwrap();
    let members: Vec<String> = (0..40).map(|n| format!("\"k{n}\": {n}")).collect();
    let tokens = keys.vocab().tokenize_greedy(format!("{{{}}}", members.join(", ")).as_bytes());
    check_steady_state("keys", &keys, &tokens, 4);
    let schema = r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}}"#;
    let items = compiler.compile_json_schema(schema).unwrap();
    let texts: Vec<String> = (0..40).map(|n| format!("\"foo{n}\"")).collect();
    let tokens = items.vocab().tokenize_greedy(format!("[{}]", texts.join(",")).as_bytes());
    let mut row = vec![0; items.vocab().n_mask_words()];
    let mut matcher = items.matcher();
    pass(&mut matcher, &tokens, &mut row);
    matcher.rollback(tokens.len()).unwrap();
    let (n_filling, n_accepting) = pass(&mut matcher, &tokens, &mut row);
    println!("items: {} tokens, {n_filling} {n_accepting} allocations", tokens.len());
    assert!(n_filling <= tokens.len() as u64 * 8, "{n_filling}");
    assert!(n_accepting <= tokens.len() as u64, "{n_accepting}");
}

/// Chains and trees of drafts, again and again: in steady state nothing is allocated, whatever is refused.
#[test]
fn drafts_allocate_nothing() {
    let json = r#"root ::= value
value ::= "{" (pair ("," pair)*)? "}" | "[" (value ("," value)*)? "]" | string | [0-9]+
pair ::= string ":" value
string ::= "\"" ([^"\\] | "\\" .)* "\"""#;
    for (name, text, document) in [
        ("json", json, r#"{"foo":[1,22,{"bar":"x\"é"}],"bat":["#),
        ("sums", "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [0-9]+", "1+(2*(31+4)*5)+"),
        ("counted", "root ::= ([a-z]{1,40} \",\"){2,500}", "foo,barbat,x,"),
    ] {
        let grammar = compile(text);
        let tokens = grammar.vocab().tokenize_greedy(document.as_bytes());
        let n_words = grammar.vocab().n_mask_words();
        // The document as a chain, with a draft that may be refused and a stop token beside each.
        let (mut parents, mut drafts) = (vec![-1], vec![0]);
        let mut above = 0;
        for &token in &tokens {
            let node = parents.len() as i32;
            parents.extend([above; 3]);
            drafts.extend([token, b'9'.into(), 303]);
            above = node;
        }
        let mut rows = vec![0; parents.len() * n_words];
        let mut matcher = grammar.matcher();
        let mut n_acceptable = 0;
        for round in 0..3 {
            let (filled, n_of_tree, _) = counted(|| {
                let filled = matcher.fill_masks_for_tree(&parents, &drafts, &mut rows, n_words).expect("rows fit");
                filled.is_acceptable.iter().filter(|&&is_acceptable| is_acceptable).count()
            });
            let (chain, n_of_chain, _) = counted(|| matcher.fill_masks_for_chain(&tokens, &mut rows, n_words));
            assert_eq!(chain.expect("rows fit").n_acceptable, tokens.len(), "{name}");
            assert!(filled > tokens.len() && filled < parents.len(), "{name}: {filled} of {}", parents.len());
            assert!(round == 0 || filled == n_acceptable, "{name}");
            n_acceptable = filled;
            assert!(round == 0 || (n_of_tree, n_of_chain) == (0, 0), "{name}: {n_of_tree} {n_of_chain} allocations");
        }
    }
}

#[test]
fn a_level_of_brackets_is_small_and_nothing_recurses() {
    const N_LEVELS: usize = 100_000;
    let grammar = compile("root ::= \"[\" root* \"]\" | \"{\" root \"}\"");
    // As one step, so that there is next to no history.
    let open = "[{".repeat(N_LEVELS / 2);
    let mut matcher = grammar.matcher();
    let (accepted, _, n_bytes) = counted(|| matcher.accept_bytes(open.as_bytes()));
    accepted.unwrap();
    // The bytes themselves are history.
    let per_level = (n_bytes - 2 * N_LEVELS as i64) as f64 / N_LEVELS as f64;
    println!("{per_level:.1} bytes a level");
    assert!(per_level <= 32.0);
    let mut fork = matcher.fork();
    fork.mask().unwrap();
    fork.accept_bytes("[]".as_bytes()).unwrap();
    fork.accept_bytes("}]".repeat(N_LEVELS / 2).as_bytes()).unwrap();
    assert!(fork.is_accepting());
    fork.forget_history();
    matcher.forget_history();
    matcher.mask().unwrap();
    // Token by token, the history beside it.
    let mut matcher = grammar.matcher();
    let (_, _, n_bytes) = counted(|| (0..N_LEVELS).for_each(|_| matcher.accept_token(b'['.into()).unwrap()));
    let per_level = n_bytes as f64 / N_LEVELS as f64;
    println!("{per_level:.1} bytes a level and token");
    assert!(per_level <= 16.0 + 32.0);
    matcher.rollback(N_LEVELS).unwrap();
    assert_eq!(matcher.n_steps(), 0);
}

/// However long the text, the number of live pairs and the bytes per token are constant, and there are no new masks.
#[test]
fn ambiguous_grammars_take_constant_space_per_token() {
    // Each further live pair takes 16 bytes.
    let documents = [
        ("s ::= s s | [a-z ] | \"\"\nroot ::= s", "the foo bar bat ", "", 64.0),
        ("e ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [0-9]+\nroot ::= e", "12+(3*45)*1+", "7", 64.0),
        ("s ::= \"if \" c s | \"if \" c s \"else \" s | \"x \"\nc ::= [a-b]\nroot ::= s", "if a", "x else x ", 64.0),
        ("root ::= x x x x+\nx ::= \"a\" | \"aa\"", "aaa", "", 64.0),
        ("root ::= \"a\" root{0,9000}", "a", "", 192.0),
        ("root ::= ((((\"a\"{3,}){3,}){3,}){3,}){3,}", "a", "", 64.0),
    ];
    for (text, again, end, bytes_max) in documents {
        let grammar = compile(text);
        let tokens = grammar.vocab().tokenize_greedy(again.as_bytes());
        let mut matcher = grammar.matcher();
        let mut row = vec![0; grammar.vocab().n_mask_words()];
        // After each of several stretches: the largest number of live pairs, the memory, the number of masks so far.
        let mut stretches = Vec::new();
        for _ in 0..6 {
            let mut n_live_max = 0;
            for _ in 0..1_000 / tokens.len() + 1 {
                for &token in &tokens {
                    matcher.fill_mask(&mut row).unwrap();
                    matcher.accept_token(token).unwrap();
                    n_live_max = n_live_max.max(matcher.n_live());
                }
            }
            stretches.push((n_live_max, matcher.memory_bytes(), grammar.stats().misses));
        }
        let per_token =
            (stretches[5].1 - stretches[2].1) as f64 / (3 * (1_000 / tokens.len() + 1) * tokens.len()) as f64;
        println!("{text}: {stretches:?}, {per_token:.1} bytes a token");
        assert_eq!(stretches[0].0, stretches[5].0, "{text}: live places");
        assert_eq!(stretches[1].2, stretches[5].2, "{text}: masks");
        assert!(per_token <= bytes_max, "{text}: {per_token} bytes a token");
        let early = stretches[2].1 - stretches[1].1;
        let late = stretches[5].1 - stretches[4].1;
        assert!(late <= early + early / 4 + 4096, "{text}: {early} bytes in an early stretch, {late} in a late one");
        matcher.accept_bytes(end.as_bytes()).unwrap();
        assert!(matcher.is_accepting() || end.is_empty(), "{text}");
    }
}

/// If recursion goes through counters, a text has so many parses that each token takes a pair per token before it, and no more.
#[test]
fn recursion_under_counters_takes_space_for_each_token_and_those_before() {
    const N_TOKENS: usize = 128;
    let grammars = [
        ("root ::= \"a\" (root (\"b\"|root)?){2,100} \"c\"? | \"a\"", b'a'),
        ("root ::= ((\"b\"|root|root)+){100,}", b'b'),
        ("root ::= \"a\" root{40} | \"a\"", b'a'),
        ("root ::= \"a\" root{40,} \"b\"? | \"a\"", b'a'),
        ("root ::= ((((\"a\"{3,}|\"b\"){3,}|\"c\"){3,}|\"d\"){3,}|\"e\"){3,}", b'a'),
        ("root ::= ((((\"a\"{3,} \"b\"?){13,50} \"c\"?){13,15} \"d\"?){13,20} \"e\"?){13,}", b'a'),
    ];
    for (text, byte) in grammars {
        let mut matcher = compile(text).matcher();
        let before = matcher.memory_bytes();
        (0..N_TOKENS).for_each(|_| matcher.accept_token(byte.into()).unwrap());
        let per_pair = (matcher.memory_bytes() - before) as f64 / (N_TOKENS * N_TOKENS / 2) as f64;
        println!("{text}: {} live places, {per_pair:.1} bytes a pair of tokens", matcher.n_live());
        assert!(per_pair <= 256.0, "{text}: {per_pair} bytes a pair of tokens");
    }
}

#[cfg(feature = "tiktoken")]
mod cl100k {
    use super::*;
    use maskwright::{Encoding, Vocab};

    const ORDERS: &str = r#"
root   ::= "[" order (", " order)* "]"
order  ::= "{\"id\": " int ", \"name\": " string ", \"items\": [" item (", " item)* "], \"paid\": " ("true" | "false") "}"
item   ::= "{\"sku\": \"" [A-Z] [A-Z] [A-Z] "-" [0-9]+ "\", \"quantity\": " int ", \"price\": " int "." [0-9] [0-9] "}"
int    ::= "0" | [1-9] [0-9]*
string ::= "\"" ([^"\\\x00-\x1F] | "\\" ["\\/bfnrt])* "\""
"#;

    fn document(n_orders: usize) -> String {
        let order = |id: usize| {
            format!(
                r#"{{"id": {id}, "name": "Jorge Élan Núñez the {id}.", "items": [{{"sku": "TEA-{id}59", "quantity": 3, "price": 12.{}5}}, {{"sku": "CUP-8", "quantity": 16, "price": 7.25}}], "paid": true}}"#,
                id % 10
            )
        };
        format!("[{}]", (1..=n_orders).map(order).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn a_matcher_is_small_and_a_token_smaller() {
        let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        let grammar = compiler.compile_ebnf(ORDERS).unwrap();
        let tokens = vocab.tokenize_greedy(document(80).as_bytes());
        assert!(tokens.len() > 4_000, "{} tokens", tokens.len());
        check_steady_state("orders", &grammar, &tokens, 1);
        let (mut matcher, _, n_bytes) = counted(|| Box::new(grammar.matcher()));
        println!("fresh: {n_bytes} bytes, {} as told", matcher.memory_bytes());
        assert!(n_bytes < 4096 && matcher.memory_bytes() < 4096);
        let before = matcher.memory_bytes();
        let (_, _, n_bytes) = counted(|| matcher.accept_tokens(&tokens).unwrap());
        let per_token = n_bytes as f64 / tokens.len() as f64;
        let told = (matcher.memory_bytes() - before) as f64 / tokens.len() as f64;
        println!("{} tokens: {per_token:.2} bytes each, {told:.2} as told", tokens.len());
        assert!(per_token <= 16.0 && told <= 16.0);
        assert!(matcher.is_accepting());
    }
}

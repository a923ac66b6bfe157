//! Dumps of automata.

use maskwright::{Dump, GrammarCompiler, Vocab};

#[test]
fn units_print_as_text_and_as_dot() {
    let vocab = Vocab::from_tokens(["a", "[", "]"]).unwrap();
    let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf("root ::= \"[\" root? \"]\" <[0]>").unwrap();
    let text = grammar.dump(Dump::Text);
    assert!(text.starts_with("unit 0 `root` ("), "{text}");
    for part in ["[[] -> ", "push ", "<[0]> -> ", " end\n"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let dot = grammar.dump(Dump::Dot);
    assert!(dot.starts_with("digraph grammar {") && dot.ends_with("}\n"), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count(), "{dot}");
    assert!(dot.contains("style=dashed") && dot.contains("shape=doublecircle"), "{dot}");
}

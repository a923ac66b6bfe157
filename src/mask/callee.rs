//! States that only call.
//!
//! Behind the opening quote of a string that is bounded in length or by a pattern stands a state that has no way of its own: each byte it reads calls the automaton
//! of the characters. It is taken for the first state of what it calls, over the frames that the calls push, since that state has the loop or the cluster
//! by which most of its tokens are found without a walk.

use crate::automaton::{Linked, LocalState, Program, StateId, Step};
use crate::util::Threshold;
use smallvec::{SmallVec, smallvec};

/// Fewest bytes of a state that is worth a comparison: what reads fewer is walked soon.
const BYTES_MIN: Threshold = Threshold::new(48);
/// The state that most units are called in. Where it is another one the comparison fails, and the state is walked.
const START: LocalState = LocalState(0);
/// Most moves with one byte that are compared.
const MOVES_MAX: usize = 4;

/// What a state calls, whatever it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Callee {
    /// The states that are returned to, bottom first.
    pub frames: SmallVec<[StateId; 2]>,
    /// The state that is called.
    pub start: StateId,
}

/// Returns what a state calls, if with each byte it does what the state that it calls does over the same frames.
///
/// The called state has moves without frames then, so that it calls nothing that it could be taken for in turn. Cost: a look at each run of bytes that either of the
/// two tells apart, and a comparison of at most [`MOVES_MAX`] moves as long as they are alike.
pub(super) fn callee(program: &Program, state: StateId) -> Option<Callee> {
    let (linked, local) = program.place(state)?;
    let bytes = linked.unit.bytes(local);
    if bytes.len() < BYTES_MIN.get() {
        return None;
    }
    // What is called may call in turn: the fewest frames are the caller's.
    let mut fewest: Option<Move> = None;
    let mut last = None;
    for byte in bytes.iter() {
        let class = Some(linked.unit.class(byte));
        if core::mem::replace(&mut last, class) == class {
            continue;
        }
        for (frames, target) in moves(linked, local, byte, &[])? {
            if fewest.as_ref().is_none_or(|(fewest, _)| frames.len() < fewest.len()) {
                fewest = Some((frames, target));
            }
        }
    }
    let (frames, target) = fewest?;
    let (called, _) = program.place(target)?;
    let start = called.own(START);
    if start == state || program.bytes(start) != bytes {
        return None;
    }
    let mut last = None;
    let is_alike = |byte: u8| {
        let classes = Some((linked.unit.class(byte), called.unit.class(byte)));
        core::mem::replace(&mut last, classes) == classes
            || moves(linked, local, byte, &[]) == moves(called, START, byte, &frames)
    };
    bytes.iter().all(is_alike).then_some(Callee { frames, start })
}

/// What a move pushes, bottom first, and where it leads.
type Move = (SmallVec<[StateId; 2]>, StateId);

/// The moves of a state with a byte, over `frames`; nothing if they are many.
fn moves(linked: &Linked, local: LocalState, byte: u8, frames: &[StateId]) -> Option<SmallVec<[Move; MOVES_MAX]>> {
    Some(match linked.unit.code(local, byte).step() {
        Step::None => SmallVec::new(),
        Step::Plain(to) | Step::Local(to) => smallvec![(frames.into(), linked.own(to))],
        Step::List(list) => {
            let list = linked.unit.list(list);
            if list.len() > MOVES_MAX {
                return None;
            }
            let over =
                |pushed: &[_]| frames.iter().copied().chain(pushed.iter().map(|&place| linked.state(place))).collect();
            list.iter().map(|one| (over(&one.pushes), linked.state(one.target))).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::DONE;
    use crate::exec::{Stacks, start, step_bytes};
    use crate::{CompiledGrammar, GrammarCompiler, Vocab};
    use std::sync::Arc;

    fn compiler() -> GrammarCompiler {
        let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
        tokens.extend((0..=255u8).flat_map(|byte| [vec![byte, b'"'], vec![byte, b'>', b'!']]));
        tokens
            .extend(["a@b\"]", "a@b\",", "x@y.z\" ]", "abc>!", "abc>?", "abcd>!"].map(|text| text.as_bytes().to_vec()));
        GrammarCompiler::new(Arc::new(Vocab::from_tokens(tokens).unwrap()))
    }

    /// Returns what the state after a text calls: how many frames it pushes, and how many bytes the called state reads. The mask behind the text is compared with trying each token.
    fn called_behind(compiled: &CompiledGrammar, text: &str) -> Option<(usize, usize)> {
        let mut matcher = compiled.matcher();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        let mask = matcher.mask().unwrap();
        let tokens = 0..compiled.vocab().n_tokens() as u32;
        let wrong = tokens.into_iter().find(|&id| mask.contains(id) != matcher.is_token_allowed(id));
        assert_eq!(wrong, None, "behind {text}");
        let (program, mut stacks) = (compiled.program(), Stacks::new(DONE));
        let (mut live, mut current, mut next) = Default::default();
        start(program, &mut live);
        assert_eq!(step_bytes(program, &mut stacks, &live, text.as_bytes(), &mut current, &mut next), text.len());
        let &[head] = &current[..] else { panic!("the text is read in one way") };
        callee(program, head.state).map(|callee| (callee.frames.len(), program.bytes(callee.start).len()))
    }

    #[test]
    fn a_bounded_string_calls_its_characters() {
        let compiled = |schema: &str| compiler().compile_json_schema(schema).unwrap();
        let words = compiled(r#"{"type":"string","pattern":"^(\\S+ ){0,9}\\S+$","maxLength":200}"#);
        let found = called_behind(&words, "\"");
        assert!(found.is_some_and(|(n_frames, n_bytes)| n_frames == 0 && n_bytes > 100), "{found:?}");
        let items = compiled(r#"{"type":"array","items":{"type":"string","format":"email","maxLength":100}}"#);
        assert!(called_behind(&items, "[\"").is_some());
        assert_eq!(called_behind(&items, "[\"a"), None, "the characters go on by themselves");
        assert_eq!(called_behind(&items, "["), None, "brackets and white space are no characters");
    }

    #[test]
    fn what_is_called_returns_to_the_caller() {
        let source = r#"root ::= "<" name ">" "!"  name ::= [^<>]{3,200}"#;
        let compiled = compiler().compile_ebnf(source).unwrap();
        let found = called_behind(&compiled, "<");
        assert!(found.is_some_and(|(n_frames, n_bytes)| n_frames == 1 && n_bytes > 100), "{found:?}");
    }
}

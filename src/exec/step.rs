//! Steps of a configuration by a byte or a control token.
//!
//! With counters and ambiguity a configuration can have many heads of one state. They take a move together, so that what they push is
//! one node, whose exits tell them apart: as many nodes are made in a step as there are states, however many heads there are.

use super::head::{BOTTOM, Configuration, Head};
use super::stack::{Stacks, StacksMark};
use crate::automaton::{DONE, Kind, Linked, LocalState, MoveListId, Owner, Program, StateId, Step, Unit};

/// Puts the configuration before any text into `live`. `stacks` has only its bottom, which returns to [`DONE`].
pub(crate) fn start(program: &Program, live: &mut Configuration) {
    live.clear();
    if program.has_empty_text() {
        live.push(Head { state: DONE, node: BOTTOM, register: 0 });
    }
    let state = program.start();
    if program.info(state).is_some_and(|info| info.has_moves()) {
        live.push(Head { state, node: BOTTOM, register: 0 });
    }
}

/// Tells whether the text that led here is a whole sentence.
pub(crate) fn is_done(live: &[Head]) -> bool {
    // Sorted, and no state is smaller.
    live.first().is_some_and(|head| head.state == DONE)
}

/// Puts into `next` the configuration after `byte`; of no use if the work of the stacks is spent then.
#[inline]
pub(crate) fn step_byte(program: &Program, stacks: &mut Stacks, live: &[Head], byte: u8, next: &mut Configuration) {
    next.clear();
    let fresh = stacks.mark();
    stacks.read(&[byte]);
    stacks.work.spend(live.len() as u64);
    if stacks.work.is_spent() {
        return;
    }
    for_each_state(live, |heads| {
        let Some((linked, local)) = program.place(heads[0].state) else { return };
        match linked.unit.code(local, byte).step() {
            Step::None => {}
            Step::Plain(state) => next.extend(heads.iter().map(|&head| Head { state: linked.own(state), ..head })),
            Step::Local(state) => {
                let state = linked.own(state);
                heads.iter().for_each(|&head| stacks.land(program, Head { state, ..head }, next));
            }
            Step::List(list) => apply(program, stacks, linked, heads, list, next),
        }
    });
    if next.len() > 1 {
        tidy(program, stacks, next, fresh);
    }
}

/// Puts into `current` the configuration after `bytes`, and returns how many of them can be read; if not all, `current` is of no use.
pub(crate) fn step_bytes(
    program: &Program,
    stacks: &mut Stacks,
    live: &[Head],
    bytes: &[u8],
    current: &mut Configuration,
    next: &mut Configuration,
) -> usize {
    current.clear();
    current.extend_from_slice(live);
    let mut n_read = 0;
    loop {
        n_read += read_plain(program, stacks, current, &bytes[n_read..]);
        let Some(&byte) = bytes.get(n_read) else { return n_read };
        step_byte(program, stacks, current, byte, next);
        if next.is_empty() {
            return n_read;
        }
        core::mem::swap(current, next);
        n_read += 1;
    }
}

/// Where a byte leads a head, as far as that is seen without a look at its stack.
pub(crate) enum PlainStep {
    /// No text goes on so, or none has so many pieces.
    Nowhere,
    /// To a state of the same unit, with this register: nothing else changes.
    To(LocalState, u64),
    /// Stacks change, or something ends.
    Other,
}

/// Returns where a byte leads from a state with a register.
#[inline]
pub(crate) fn plain_step(unit: &Unit, state: LocalState, register: u64, byte: u8) -> PlainStep {
    match unit.code(state, byte).step() {
        Step::None => PlainStep::Nowhere,
        Step::Plain(to) => PlainStep::To(to, register),
        Step::Local(to) => enter(unit, to, register),
        Step::List(_) => PlainStep::Other,
    }
}

/// Returns where a head with a register gets that enters a state by a move that pushes nothing: what [`Stacks::land`] does, if the state counts and may not end with what is
/// counted then; of others it says nothing ([`PlainStep::Other`]).
#[inline]
pub(crate) fn enter(unit: &Unit, state: LocalState, register: u64) -> PlainStep {
    let info = unit.info(state);
    let Kind::RegisterRule { register_rule } = info.kind else { return PlainStep::Other };
    let register_rule = unit.register_rule(register_rule);
    match register_rule.advance(register) {
        None => PlainStep::Nowhere,
        Some(register) if register_rule.can_end(register) => PlainStep::Other,
        Some(register) if info.has_moves() && register_rule.can_continue(register) => PlainStep::To(state, register),
        Some(_) => PlainStep::Nowhere,
    }
}

/// Reads bytes as long as there is one place and nothing but its state and what it counts change; returns how many.
///
/// Most bytes of most tokens are read here, without a look at the stack.
#[inline]
fn read_plain(program: &Program, stacks: &mut Stacks, live: &mut [Head], bytes: &[u8]) -> usize {
    let [head] = live else { return 0 };
    let Some((linked, mut local)) = program.place(head.state) else { return 0 };
    let mut n_read = 0;
    for &byte in bytes {
        let PlainStep::To(state, register) = plain_step(&linked.unit, local, head.register, byte) else { break };
        (local, head.register) = (state, register);
        n_read += 1;
    }
    head.state = linked.own(local);
    stacks.read(&bytes[..n_read]);
    stacks.work.spend(n_read as u64);
    n_read
}

/// Puts into `next` the configuration after a token that is read as a whole; if not `is_of_sets`, only where the grammar names it.
pub(crate) fn step_control(
    program: &Program,
    stacks: &mut Stacks,
    live: &[Head],
    token: u32,
    is_of_sets: bool,
    next: &mut Configuration,
) {
    next.clear();
    let fresh = stacks.mark();
    for_each_state(live, |heads| {
        let Some((linked, local)) = program.place(heads[0].state) else { return };
        for list in linked.unit.control_lists(local, token, is_of_sets) {
            apply(program, stacks, linked, heads, list, next);
        }
    });
    tidy(program, stacks, next, fresh);
}

/// Notes that a token has ended: the next one may count. `fresh` is the mark of the stacks from before the token.
#[inline]
pub(crate) fn end_token(program: &Program, stacks: &mut Stacks, live: &mut Configuration, fresh: StacksMark) {
    if program.counts_tokens() && !live.is_empty() {
        count_tokens(program, stacks, live, fresh);
    }
}

/// Makes the registers of heads that count tokens those behind a token, and drops heads from which no further token can read.
fn count_tokens(program: &Program, stacks: &mut Stacks, live: &mut Configuration, fresh: StacksMark) {
    let mut is_changed = false;
    live.retain_mut(|head| {
        let Some((linked, local)) = program.place(head.state) else { return true };
        let info = linked.unit.info(local);
        let Some(Owner::RegisterRules(strictest)) = info.owner else { return true };
        let register = linked.unit.register_rule(strictest).after_token(head.register);
        is_changed |= register != head.register;
        head.register = register;
        match info.kind {
            // Where the text may end, it goes on in other heads.
            Kind::RegisterRule { register_rule } => linked.unit.register_rule(register_rule).can_continue(register),
            _ => true,
        }
    });
    if is_changed && live.len() > 1 {
        tidy(program, stacks, live, fresh);
    }
}

/// Calls `visit` with the heads of each state in turn.
#[inline]
fn for_each_state(live: &[Head], mut visit: impl FnMut(&[Head])) {
    // The usual configuration is one head.
    if let [_] = live {
        return visit(live);
    }
    live.chunk_by(|a, b| a.state == b.state).for_each(visit);
}

/// Adds to `next` where the moves of `list` lead from `heads`, which are of one state.
fn apply(
    program: &Program,
    stacks: &mut Stacks,
    linked: &Linked,
    heads: &[Head],
    list: MoveListId,
    next: &mut Configuration,
) {
    for one in linked.unit.list(list) {
        if stacks.work.is_spent() {
            return;
        }
        stacks.work.spend((heads.len() + one.pushes.len()) as u64);
        let target = linked.state(one.target);
        let Some((&bottom, above)) = one.pushes.split_first() else {
            heads.iter().for_each(|&head| stacks.land(program, Head { state: target, ..head }, next));
            continue;
        };
        let mut node = stacks.push(program, linked.state(bottom), heads);
        for &pushed in above {
            let head = Head { state: linked.state(pushed), node, register: 0 };
            node = stacks.push(program, head.state, &[head]);
        }
        stacks.land(program, Head { state: target, node, register: 0 }, next);
    }
}

/// What it costs to put a head in its place among the others.
const WORK_PER_SORTED: u64 = 4;

/// Sorts a configuration, and makes few heads of those that are of one state; `fresh` is the mark of the stacks from before the step.
pub(crate) fn tidy(program: &Program, stacks: &mut Stacks, live: &mut Configuration, fresh: StacksMark) {
    stacks.work.spend(WORK_PER_SORTED * live.len() as u64);
    live.sort_unstable();
    live.dedup();
    if live.windows(2).all(|pair| pair[0].state != pair[1].state) {
        return;
    }
    let are_joined = |a: &Head, b: &Head| {
        a.node == b.node || !fresh.has(a.node) && !fresh.has(b.node) || !is_counted(program, a.state)
    };
    let n_left = stacks.merge_heads(program, live, fresh, 0, are_joined);
    live.truncate(n_left);
}

/// Tells whether heads of a state have registers.
fn is_counted(program: &Program, state: StateId) -> bool {
    program.info(state).is_some_and(|info| info.owner.is_some())
}

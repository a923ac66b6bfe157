//! Steps of a configuration by a byte or a control token.
//!
//! With counters and ambiguity a configuration can have many pairs of one state. They take a move together, so that what they push is
//! one node, whose exits tell them apart: as many nodes are made in a step as there are states, however many pairs there are.

use super::stack::{BOTTOM, NodeId, Stacks, StacksMark};
use crate::automaton::{DONE, Kind, Linked, Owner, Program, StateId, Step};

/// A place where a text can lead: a state, the stack below it, and the register of the state's machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Pair {
    pub state: StateId,
    pub node: NodeId,
    pub register: u64,
}

const _: () = assert!(size_of::<Pair>() == 16);

/// The places where one text can lead, sorted, each once. Empty: the text is not a prefix of any sentence.
pub(crate) type Configuration = Vec<Pair>;

/// Puts the configuration before any text into `live`. `stacks` has only its bottom, which returns to [`DONE`].
pub(crate) fn start(program: &Program, live: &mut Configuration) {
    live.clear();
    if program.has_empty_text() {
        live.push(Pair { state: DONE, node: BOTTOM, register: 0 });
    }
    let state = program.start();
    if program.info(state).is_some_and(|info| info.has_moves()) {
        live.push(Pair { state, node: BOTTOM, register: 0 });
    }
}

/// Tells whether the text that led here is a whole sentence.
pub(crate) fn is_done(live: &[Pair]) -> bool {
    // Sorted, and no state is smaller.
    live.first().is_some_and(|pair| pair.state == DONE)
}

/// Puts into `next` the configuration after `byte`; of no use if the work of the stacks is spent then.
#[inline]
pub(crate) fn step_byte(program: &Program, stacks: &mut Stacks, live: &[Pair], byte: u8, next: &mut Configuration) {
    next.clear();
    let fresh = stacks.mark();
    stacks.read(byte);
    stacks.work.spend(live.len() as u64);
    if stacks.work.is_spent() {
        return;
    }
    for_each_state(live, |pairs| {
        let Some((linked, local)) = program.place(pairs[0].state) else { return };
        match linked.unit.code(local, byte).step() {
            Step::None => {}
            Step::Quiet(state) => next.extend(pairs.iter().map(|&pair| Pair { state: linked.base + state, ..pair })),
            Step::Simple(state) => {
                let state = linked.base + state;
                pairs.iter().for_each(|&pair| stacks.land(program, Pair { state, ..pair }, next));
            }
            Step::List(list) => apply(program, stacks, linked, pairs, list, next),
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
    live: &[Pair],
    bytes: &[u8],
    current: &mut Configuration,
    next: &mut Configuration,
) -> usize {
    current.clear();
    current.extend_from_slice(live);
    let mut n_read = 0;
    loop {
        n_read += read_quietly(program, stacks, current, &bytes[n_read..]);
        let Some(&byte) = bytes.get(n_read) else { return n_read };
        step_byte(program, stacks, current, byte, next);
        if next.is_empty() {
            return n_read;
        }
        core::mem::swap(current, next);
        n_read += 1;
    }
}

/// Reads bytes as long as there is one place and nothing but its state changes; returns how many.
///
/// PERF: that is most of nearly all tokens.
#[inline]
fn read_quietly(program: &Program, stacks: &mut Stacks, live: &mut [Pair], bytes: &[u8]) -> usize {
    let [pair] = live else { return 0 };
    let Some((linked, mut local)) = program.place(pair.state) else { return 0 };
    let mut n_read = 0;
    for &byte in bytes {
        let Step::Quiet(state) = linked.unit.code(local, byte).step() else { break };
        local = state;
        n_read += 1;
    }
    pair.state = linked.base + local;
    stacks.read_all(&bytes[..n_read]);
    stacks.work.spend(n_read as u64);
    n_read
}

/// Puts into `next` the configuration after the control token `token`.
pub(crate) fn step_control(
    program: &Program,
    stacks: &mut Stacks,
    live: &[Pair],
    token: u32,
    next: &mut Configuration,
) {
    next.clear();
    let fresh = stacks.mark();
    for_each_state(live, |pairs| {
        let Some((linked, local)) = program.place(pairs[0].state) else { return };
        if let Some(list) = linked.unit.control_list(local, token) {
            apply(program, stacks, linked, pairs, list, next);
        }
    });
    tidy(program, stacks, next, fresh);
}

/// Calls `visit` with the pairs of each state in turn.
#[inline]
fn for_each_state(live: &[Pair], mut visit: impl FnMut(&[Pair])) {
    // PERF: the usual configuration is one pair.
    if let [_] = live {
        return visit(live);
    }
    live.chunk_by(|a, b| a.state == b.state).for_each(visit);
}

/// Adds to `next` where the moves of `list` lead from `pairs`, which are of one state.
fn apply(program: &Program, stacks: &mut Stacks, linked: &Linked, pairs: &[Pair], list: u32, next: &mut Configuration) {
    for one in linked.unit.list(list) {
        if stacks.work.is_spent() {
            return;
        }
        stacks.work.spend((pairs.len() + one.pushes.len()) as u64);
        let target = linked.state(one.target);
        let Some((&bottom, above)) = one.pushes.split_first() else {
            pairs.iter().for_each(|&pair| stacks.land(program, Pair { state: target, ..pair }, next));
            continue;
        };
        let mut node = stacks.push_all(program, linked.state(bottom), pairs);
        for &pushed in above {
            node = stacks.push(program, Pair { state: linked.state(pushed), node, register: 0 });
        }
        stacks.land(program, Pair { state: target, node, register: 0 }, next);
    }
}

/// What it costs to put a pair in its place among the others.
const WORK_PER_SORTED: u64 = 4;

/// Sorts a configuration, and makes few pairs of those that are of one state; `fresh` is the mark of the stacks from before the step.
pub(crate) fn tidy(program: &Program, stacks: &mut Stacks, live: &mut Configuration, fresh: StacksMark) {
    stacks.work.spend(WORK_PER_SORTED * live.len() as u64);
    live.sort_unstable_by_key(|pair| (pair.state, pair.node, pair.register));
    live.dedup();
    if live.windows(2).all(|pair| pair[0].state != pair[1].state) {
        return;
    }
    let n_joined = join_registers(program, live);
    let n_kept = stacks.drop_implied(program, &mut live[..n_joined]);
    live.truncate(n_kept);
    live.sort_unstable_by_key(|pair| (pair.state, pair.register, pair.node));
    // Each group that can be one pair becomes its first, in place.
    let meets = |a: &Pair, b: &Pair| {
        let are_joined =
            a.node == b.node || a.node >= fresh.n_nodes && b.node >= fresh.n_nodes || !is_counted(program, a.state);
        (a.state, a.register) == (b.state, b.register) && are_joined
    };
    let (mut n_kept, mut first) = (0, 0);
    while first < live.len() {
        let n_meeting = live[first..].partition_point(|pair| meets(&live[first], pair));
        let group = &live[first..first + n_meeting];
        let node = match group {
            [only] => only.node,
            _ => stacks.union(program, group.iter().map(|pair| pair.node), fresh),
        };
        live[n_kept] = Pair { node, ..live[first] };
        n_kept += 1;
        first += n_meeting;
    }
    live.truncate(n_kept);
}

/// Makes one pair of those that differ at most in registers which one register can stand for. The pairs are sorted by state, node and
/// register; those that are left come first, and their number is returned.
pub(super) fn join_registers(program: &Program, pairs: &mut [Pair]) -> usize {
    let mut n_kept = 0;
    for index in 0..pairs.len() {
        let pair = pairs[index];
        if let Some(last) = pairs[..n_kept].last_mut()
            && (last.state, last.node) == (pair.state, pair.node)
            && let Some(register) = joined(program, *last, pair.register)
        {
            last.register = register;
            continue;
        }
        pairs[n_kept] = pair;
        n_kept += 1;
    }
    n_kept
}

/// Returns the register that stands for that of `pair` and for `other`, if there is one.
pub(super) fn joined(program: &Program, pair: Pair, other: u64) -> Option<u64> {
    if pair.register == other {
        return Some(other);
    }
    let (linked, local) = program.place(pair.state)?;
    let info = linked.unit.info(local);
    debug_assert!(!matches!((info.kind, info.owner), (Kind::End, Some(Owner::Counter(_)))));
    match info.owner? {
        Owner::Counter(counter) => linked.unit.counter(counter).join(pair.register, other),
        Owner::Elements(_) | Owner::RegisterRules(_) => None,
    }
}

/// Returns a register that no `horizon` bytes can tell from `register` in `state`, whatever elements there are.
pub(crate) fn signature(program: &Program, state: StateId, register: u64, horizon: u32) -> u64 {
    let Some((linked, local)) = program.place(state).filter(|_| register != 0) else { return register };
    match linked.unit.info(local).owner {
        Some(Owner::Counter(counter)) => linked.unit.counter(counter).signature(register, horizon),
        Some(Owner::RegisterRules(register_rule)) => {
            linked.unit.register_rule(register_rule).signature(register, horizon)
        }
        Some(Owner::Elements(_)) => 0,
        None => register,
    }
}

/// Tells whether pairs of a state have registers.
fn is_counted(program: &Program, state: StateId) -> bool {
    program.info(state).is_some_and(|info| info.owner.is_some())
}

//! Calls and returns: which heads are live once a state is entered.

use super::head::{Head, StackNodeId, stands_for};
use super::stack::Stacks;
use crate::automaton::{Kind, Linked, LocalState, Program, StateId};
use smallvec::SmallVec;

impl Stacks {
    /// Adds to `live` the heads that are live once a state is entered: `head` itself, if it reads anything, and where it returns to.
    #[inline]
    pub fn land(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>) {
        self.land_with(program, head, live, true);
    }

    /// As [`Self::land`]; values are admitted to their sets, or else left to who returns later.
    #[inline]
    fn land_with(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>, admits: bool) {
        let Some((linked, local)) = program.place(head.state) else { return live.extend([head]) };
        let info = linked.unit.info(local);
        match info.kind {
            Kind::Loop { .. } => self.land_counted(program, linked, local, head, live, admits),
            Kind::RegisterRule { .. } => {
                if let Some(register) = linked.unit.advance(local, head.register) {
                    self.land_counted(program, linked, local, Head { register, ..head }, live, admits);
                }
            }
            kind => {
                if info.has_moves() {
                    live.extend([head]);
                }
                match kind {
                    Kind::End => self.leave(program, head, live, admits),
                    Kind::BodyEnd { loop_state, .. } => {
                        if let Some(register) = linked.unit.advance(local, head.register) {
                            let head = Head { state: linked.own(loop_state), register, ..head };
                            self.land_counted(program, linked, loop_state, head, live, admits);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// As [`Self::land`], in a state that counts, with what is counted by then.
    fn land_counted(
        &mut self,
        program: &Program,
        linked: &Linked,
        state: LocalState,
        head: Head,
        live: &mut impl Extend<Head>,
        admits: bool,
    ) {
        if linked.unit.info(state).has_moves() && linked.unit.can_continue(state, head.register) {
            live.extend([head]);
        }
        if linked.unit.can_end(state, head.register) {
            self.leave(program, head, live, admits);
        }
    }

    /// Adds the exits below a head that may end, but those that it stands for itself: some of those to its own state.
    #[inline]
    fn leave(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>, admits: bool) {
        self.look_at(head.node);
        let n_exits = self.n_exits(head.node);
        self.work.spend(n_exits as u64);
        for index in 0..n_exits {
            let exit = self.exit(head.node, index);
            if exit.state == head.state && stands_for(program, head, exit.register) {
                continue;
            }
            match &mut self.values {
                Some(values) if admits => {
                    let place = program.place(exit.state);
                    match place.map(|(linked, local)| (linked.unit.info(local).kind, &linked.unit)) {
                        Some((Kind::DistinctValue(distinct), unit)) => {
                            // Each of them is compared with the new one.
                            self.work.spend(u64::from(values.n_values(exit.register)));
                            let register = values.admit(exit.register, distinct, unit.declared_keys(distinct));
                            live.extend(register.map(|register| Head { register, ..exit }));
                        }
                        _ => live.extend([exit]),
                    }
                }
                _ => live.extend([exit]),
            }
        }
    }

    /// Returns the node that returns to `state` with the register and the node of any of `heads`.
    pub fn push(&mut self, program: &Program, state: StateId, heads: &[Head]) -> StackNodeId {
        let kind = program.info(state).map_or(Kind::Inner, |info| info.kind);
        // The usual node: one head of a plain state, without a register.
        if let (&[Head { node, register: 0, .. }], Kind::Inner) = (heads, kind) {
            return self.plain(state, node);
        }
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for &head in heads {
            if self.work.is_spent() {
                break;
            }
            let head = Head { state, ..head };
            match (kind, &self.values) {
                (Kind::DistinctValue(_), Some(values)) => {
                    exits.push(Head { register: values.begin(head.register), ..head });
                }
                (Kind::DistinctValue(_), None) => exits.push(head),
                _ => self.land_with(program, head, &mut exits, false),
            }
        }
        self.node_of(program, &mut exits, self.mark(), 0)
    }
}

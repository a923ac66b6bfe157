//! What is known of states apart from their moves.
//!
//! Steps and masks ask for it all the time, of states all over the grammar, so a state takes one word of 32 bits: what it reads, and its *role*.
//! Of roles (what happens on entering, and what the register belongs to) a unit has few: mostly that of a state within, and of an end.
//!
//! ```text
//! | 22 bits: role | 2 bits: reads nothing, one byte, more | 8 bits: that byte |
//! ```

use super::moves::LocalState;
use crate::machine::Distinct;
use crate::util::index_type;
use hashbrown::HashMap;
use smallvec::SmallVec;

index_type!(
    /// Names a counter of a unit.
    pub(crate) CounterId
);

index_type!(
    /// Names a register rule of a unit.
    pub(crate) RegisterRuleId
);

/// What happens on entering a state, beside going on from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// Nothing.
    Inner,
    /// The unit may end here.
    End,
    /// A copy of a counted body may be complete here: the counter advances, and its loop state is entered.
    BodyEnd { counter: CounterId, loop_state: LocalState },
    /// Between two copies of a counted body: the counter says whether the unit may end and whether a copy may begin.
    Loop { counter: CounterId },
    /// The count of pieces must fit, and the unit may end here if it says so.
    RegisterRule { register_rule: RegisterRuleId },
    /// A value was read, by a call that returns here: it must be another than all before, and joins them. Entered by returning only.
    DistinctValue(Distinct),
}

/// What the register of a state belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Owner {
    /// A counter of the unit.
    Counter(CounterId),
    /// The values of a rule, which are all different.
    DistinctValues(Distinct),
    /// A count of pieces; the strictest register rule of the rule.
    RegisterRules(RegisterRuleId),
}

/// What a state can read, as far as forced text is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// Nothing.
    Nothing,
    /// One byte only, and no control token.
    Only(u8),
    /// More than one byte, or a control token.
    More,
}

/// A state apart from its moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StateInfo {
    pub kind: Kind,
    /// What can be read from here.
    pub reads: Reads,
    /// What the register of this state belongs to.
    pub owner: Option<Owner>,
}

impl StateInfo {
    /// Tells whether anything can be read from here.
    #[inline]
    pub fn has_moves(&self) -> bool {
        self.reads != Reads::Nothing
    }
}

/// What states have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Role {
    pub kind: Kind,
    pub owner: Option<Owner>,
}

/// The [`StateInfo`] of each state of a unit.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct StateInfos {
    /// Each once, in the order in which states have them.
    roles: SmallVec<[Role; FIRST_ROLES]>,
    /// By state.
    packed: Box<[u32]>,
}

const READS_SHIFT: u32 = 8;
const ROLE_SHIFT: u32 = 10;
/// Most roles of a unit.
pub(super) const ROLES_MAX: usize = 1 << (32 - ROLE_SHIFT);

const NOTHING: u32 = 0;
const ONLY: u32 = 1;
const MORE: u32 = 2;

/// Roles that are looked at one by one.
const FIRST_ROLES: usize = 4;

/// [`StateInfos`] under construction.
pub(super) struct StateInfosBuilder {
    roles: SmallVec<[Role; FIRST_ROLES]>,
    /// Of those behind the first.
    numbers: HashMap<Role, u32>,
    packed: Vec<u32>,
}

impl StateInfosBuilder {
    pub fn with_capacity(n_states: usize) -> Self {
        StateInfosBuilder { roles: SmallVec::new(), numbers: HashMap::new(), packed: Vec::with_capacity(n_states) }
    }

    /// Returns the number of a role.
    pub fn role(&mut self, role: Role) -> u32 {
        // Nearly all states have one of the first roles.
        if let Some(number) = self.roles.iter().take(FIRST_ROLES).position(|&known| known == role) {
            return number as u32;
        }
        let is_first = self.roles.len() < FIRST_ROLES;
        let roles = &mut self.roles;
        let mut add = || {
            roles.push(role);
            roles.len() as u32 - 1
        };
        if is_first { add() } else { *self.numbers.entry(role).or_insert_with(add) }
    }

    /// Adds a state with the role of a number.
    pub fn push(&mut self, role: u32, reads: Reads) {
        let reads = match reads {
            Reads::Nothing => NOTHING << READS_SHIFT,
            Reads::Only(byte) => ONLY << READS_SHIFT | u32::from(byte),
            Reads::More => MORE << READS_SHIFT,
        };
        self.packed.push(role << ROLE_SHIFT | reads);
    }

    /// Gives a state that was added the role of a number.
    pub fn set_role(&mut self, state: LocalState, role: u32) {
        let packed = &mut self.packed[state.index()];
        *packed = role << ROLE_SHIFT | *packed & ((1 << ROLE_SHIFT) - 1);
    }

    /// Returns what is known of the states; nothing if they have more than [`ROLES_MAX`] roles.
    pub fn finish(self) -> Option<StateInfos> {
        let is_named = self.roles.len() <= ROLES_MAX;
        is_named.then(|| StateInfos { roles: self.roles, packed: self.packed.into() })
    }
}

impl StateInfos {
    /// Returns what is known of some states; nothing if they have more than [`ROLES_MAX`] roles.
    pub fn of(infos: impl ExactSizeIterator<Item = StateInfo>) -> Option<StateInfos> {
        let mut builder = StateInfosBuilder::with_capacity(infos.len());
        for StateInfo { kind, reads, owner } in infos {
            let role = builder.role(Role { kind, owner });
            builder.push(role, reads);
        }
        builder.finish()
    }

    /// Returns the number of states.
    #[inline]
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns what is known of a state.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, state: LocalState) -> StateInfo {
        let packed = self.packed[state.index()];
        let Role { kind, owner } = self.roles[(packed >> ROLE_SHIFT) as usize];
        let reads = match packed >> READS_SHIFT & 3 {
            NOTHING => Reads::Nothing,
            ONLY => Reads::Only(packed as u8),
            _ => Reads::More,
        };
        StateInfo { kind, reads, owner }
    }

    /// Tells whether nothing happens on entering a state, and it has moves.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn is_quiet(&self, state: LocalState) -> bool {
        let packed = self.packed[state.index()];
        packed >> READS_SHIFT & 3 != NOTHING && self.roles[(packed >> ROLE_SHIFT) as usize].kind == Kind::Inner
    }

    /// Returns the roles that states have.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// Returns the memory that they take beside their own size, in bytes.
    pub fn memory_bytes(&self) -> usize {
        (if self.roles.spilled() { size_of_val(&*self.roles) } else { 0 }) + size_of_val(&*self.packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infos_are_what_they_were() {
        let kinds =
            (0..40).map(|counter| Kind::BodyEnd { counter: CounterId(counter), loop_state: LocalState(counter + 1) });
        let kinds: Vec<Kind> = [Kind::Inner, Kind::End].into_iter().chain(kinds).collect();
        let reads = [Reads::Nothing, Reads::Only(0), Reads::Only(255), Reads::More];
        let infos: Vec<StateInfo> = (0..300)
            .map(|state| StateInfo {
                kind: kinds[state * 7 % kinds.len()],
                reads: reads[state % reads.len()],
                owner: (state % 3 == 0).then_some(Owner::Counter(CounterId::new(state % 5))),
            })
            .collect();
        let packed = StateInfos::of(infos.iter().copied()).unwrap();
        assert_eq!(packed.len(), infos.len());
        (0..).zip(&infos).for_each(|(state, info)| assert_eq!(packed.get(LocalState(state)), *info));
        let mut roles: Vec<Role> = packed.roles().to_vec();
        roles.dedup();
        assert_eq!(roles.len(), packed.roles().len());
        assert_eq!(StateInfos::of(infos.iter().copied()), Some(packed));
    }
}

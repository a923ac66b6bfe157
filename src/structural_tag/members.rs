//! Members of an object that is no JSON, such as parameters: in declared order, or in any.
//!
//! A member begins with its key: what stands before all keys is not part of it, so that rules begin where keys tell them apart.

use super::error::TagError;
use super::steps::{STEPS_PER_PART, Steps};
use crate::grammar::{ExprId, GrammarBuilder, RuleId};

/// Most declared members that may come in any order.
pub(super) const ANY_ORDER_MAX: usize = 20;

/// Most members in a row that are one expression.
const IN_A_ROW_MAX: usize = 8;

/// A declared member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// From its key on.
    pub member: ExprId,
    pub is_required: bool,
}

/// The members that an object may have.
#[derive(Debug)]
pub(super) struct Members {
    pub declared: Vec<Member>,
    /// A member that is not declared, from its key on, if there may be such.
    pub other: Option<ExprId>,
    /// What stands before the key of each member but the first.
    pub next: ExprId,
}

impl Members {
    /// Adds the members, from the key of the first one on, if there are any; returns as well whether there may be none. Rules have names that begin with `prefix`.
    pub fn lower(
        &self,
        builder: &mut GrammarBuilder,
        is_any_order: bool,
        prefix: &str,
        steps: Steps<'_>,
    ) -> Result<Option<(ExprId, bool)>, TagError> {
        if is_any_order { self.in_any_order(builder, prefix, steps) } else { self.in_order(builder, prefix, steps) }
    }

    /// Adds the members in any order: the rules are the sets of members that came. What they have in common is compiled by itself.
    ///
    /// ```text
    /// set-0 ::= "a" value-1 (next set-1)? | "b" value-2 (next set-2)?
    /// set-1 ::= "b" value-2
    /// set-2 ::= "a" value-1
    /// ```
    fn in_any_order(
        &self,
        builder: &mut GrammarBuilder,
        prefix: &str,
        steps: Steps<'_>,
    ) -> Result<Option<(ExprId, bool)>, TagError> {
        let all: u32 = (1 << self.declared.len()) - 1;
        let bits = self.declared.iter().enumerate().filter(|(_, member)| member.is_required);
        let required: u32 = bits.fold(0, |bits, (index, _)| bits | 1 << index);
        // Behind all of them there are others only.
        let n_sets = if self.other.is_some() { all + 1 } else { all };
        if n_sets == 0 {
            return Ok(None);
        }
        // Each set would spell all that it has, and twelve members have 4,096 sets.
        let next = own_rule(builder, &format!("{prefix}next"), self.next);
        let declared = self.declared.iter().enumerate();
        let declared =
            declared.map(|(index, member)| own_rule(builder, &format!("{prefix}member-{index}"), member.member));
        let declared: Vec<ExprId> = declared.collect();
        let other = self.other.map(|other| own_rule(builder, &format!("{prefix}other"), other));
        let sets: Vec<RuleId> = (0..n_sets).map(|set| builder.rule(&format!("{prefix}set-{set:x}"))).collect();
        let behind = (0..=all).map(|set| {
            let Some(&rule) = sets.get(set as usize) else { return builder.empty() };
            let more = builder.rule_ref(rule);
            let more = builder.sequence([next, more]);
            if required & !set == 0 { builder.repeat(more, 0, Some(1)) } else { more }
        });
        let behind: Vec<ExprId> = behind.collect();
        for (set, &rule) in (0..n_sets).zip(&sets) {
            steps.spend(STEPS_PER_PART)?;
            let missing = declared.iter().enumerate().filter(|(index, _)| set >> index & 1 == 0);
            let missing = missing.map(|(index, &member)| (member, set | 1 << index));
            let others = other.map(|other| (other, set));
            let alternatives =
                missing.chain(others).map(|(member, after)| builder.sequence([member, behind[after as usize]]));
            let alternatives: Vec<ExprId> = alternatives.collect();
            let body = builder.one_of(alternatives);
            builder.define(rule, body);
        }
        Ok(Some((builder.rule_ref(sets[0]), required == 0)))
    }

    /// Adds the members in their declared order. For each there are the texts from its key on or, where it may be left out, from that of a later one:
    ///
    /// ```text
    /// 0 ::= "a" value-1 (next 1)? | 1       where `a` may be left out and so may all later ones
    /// 1 ::= "b" value-2
    /// ```
    fn in_order(
        &self,
        builder: &mut GrammarBuilder,
        prefix: &str,
        steps: Steps<'_>,
    ) -> Result<Option<(ExprId, bool)>, TagError> {
        // What begins with the key of a later member, if there are any, and whether there may be none.
        let mut later = self.other.map(|other| {
            let next = builder.sequence([self.next, other]);
            let more = builder.repeat(next, 0, None);
            let body = builder.sequence([other, more]);
            let rule = builder.rule(&format!("{prefix}others"));
            builder.define(rule, body);
            builder.rule_ref(rule)
        });
        let mut may_be_none = true;
        for (index, member) in self.declared.iter().enumerate().rev() {
            steps.spend(STEPS_PER_PART)?;
            let behind = match later {
                None => builder.empty(),
                Some(later) => {
                    let behind = builder.sequence([self.next, later]);
                    if may_be_none { builder.repeat(behind, 0, Some(1)) } else { behind }
                }
            };
            let here = builder.sequence([member.member, behind]);
            let body = match later {
                Some(later) if !member.is_required => builder.choice([here, later]),
                _ => here,
            };
            // What may come without the member before it stands twice.
            let is_twice = index > 0 && !self.declared[index - 1].is_required;
            later = Some(match is_twice || index % IN_A_ROW_MAX == IN_A_ROW_MAX - 1 {
                true => {
                    let rule = builder.rule(&format!("{prefix}{index}"));
                    builder.define(rule, body);
                    builder.rule_ref(rule)
                }
                false => body,
            });
            may_be_none &= !member.is_required;
        }
        Ok(later.map(|later| (later, may_be_none)))
    }
}

/// Makes a rule of an expression that is compiled by itself.
fn own_rule(builder: &mut GrammarBuilder, name: &str, body: ExprId) -> ExprId {
    let rule = builder.rule(name);
    builder.define(rule, body);
    builder.set_separate(rule);
    builder.rule_ref(rule)
}

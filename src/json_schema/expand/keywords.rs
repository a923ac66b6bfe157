//! The facts that each keyword asserts, and the alternatives of its negation.

use super::*;
use crate::json_schema::language::LanguageId;
use crate::json_schema::lower::{MEMBERS_MAX, too_many_members};

impl Expander<'_> {
    /// Expands a keyword; returns whether it can hold.
    pub(super) fn pursue_entry(
        &mut self,
        partial: &mut Partial,
        schema: SchemaId,
        keyword: &Keyword,
        scope: ScopeId,
        frames: Frames,
    ) -> Expanded<bool> {
        let kind = partial.kind;
        let member = |id: SchemaId| Member::schema(id, scope);
        let facts: SmallVec<[Fact; 2]> = match (keyword, kind) {
            (Keyword::Type(set), ValueKind::Number) if set.contains(TypeSet::NUMBER) => return Ok(true),
            (Keyword::Type(_), ValueKind::Number) => one(Fact::Number(NumberSet::integers())),
            // A type that fails was ruled out before.
            (Keyword::Type(_) | Keyword::Nullable(_), _) => return Ok(true),
            (Keyword::Enum(values), _) => return Ok(self.pursue_values(partial, schema, values)),
            (Keyword::Const(value), _) => return Ok(self.pursue_values(partial, schema, &[*value])),
            (Keyword::MultipleOf(divisor), ValueKind::Number) => one(Fact::Number(NumberSet::multiples_of(divisor))),
            (Keyword::Minimum(bound), ValueKind::Number) => one(Fact::Number(NumberSet::at_least(bound))),
            (Keyword::Maximum(bound), ValueKind::Number) => one(Fact::Number(NumberSet::at_most(bound))),
            (Keyword::ExclusiveMinimum(bound), ValueKind::Number) => one(Fact::Number(NumberSet::above(bound))),
            (Keyword::ExclusiveMaximum(bound), ValueKind::Number) => one(Fact::Number(NumberSet::below(bound))),
            (Keyword::MinLength(min), ValueKind::String) => one(Fact::MinLength(*min)),
            (Keyword::MaxLength(max), ValueKind::String) => one(Fact::MaxLength(*max)),
            (Keyword::Pattern(pattern), ValueKind::String) => {
                one(Fact::Language(self.languages.pattern(pattern, "pattern", self.limits)?, true))
            }
            (Keyword::Format(name, draft), ValueKind::String) => match self.format(name, *draft) {
                Some(language) => one(Fact::Language(language, true)),
                None => return Ok(true),
            },
            (Keyword::Properties(properties), ValueKind::Object) => {
                for &frame in &frames {
                    partial.frames[frame as usize].names.extend(properties.iter().map(|(name, _)| name.clone()));
                }
                if let Shape::Object(object) = &mut partial.shape {
                    object.properties.reserve(properties.len());
                }
                let facts = properties.iter().map(|(name, id)| Fact::Property(Arc::clone(name), member(*id)));
                facts.collect()
            }
            (Keyword::PatternProperties(patterns), ValueKind::Object) => {
                let mut facts = SmallVec::new();
                for (place, (_, id)) in patterns.iter().enumerate() {
                    let language = self.key_pattern(schema, place)?;
                    for &frame in &frames {
                        let frame = &mut partial.frames[frame as usize];
                        frame.languages.extend(language);
                        frame.is_open |= language.is_none();
                    }
                    let Some(language) = language else { continue };
                    facts.push(Fact::Keys(KeyRule { keys: Keys::In(language), member: member(*id) }));
                }
                facts
            }
            (Keyword::AdditionalProperties(id), ValueKind::Object) => {
                frames.iter().for_each(|&frame| partial.frames[frame as usize].has_all = true);
                let keys = self.keys_beside(schema)?;
                one(Fact::Keys(KeyRule { keys, member: member(*id) }))
            }
            (Keyword::PropertyNames(id), ValueKind::Object) => one(Fact::Names(member(*id))),
            (Keyword::Required(names), ValueKind::Object) => {
                names.iter().map(|name| Fact::Required(Arc::clone(name))).collect()
            }
            (Keyword::MinProperties(min), ValueKind::Object) => {
                one(Fact::MinProperties(self.checked_min("minProperties", *min)?))
            }
            (Keyword::MaxProperties(max), ValueKind::Object) => one(Fact::MaxProperties(*max)),
            (Keyword::DependentRequired(lists), ValueKind::Object) => {
                for (name, needed) in lists {
                    let name: Arc<str> = Arc::clone(name);
                    let present = core::iter::once(Arc::clone(&name)).chain(needed.iter().cloned());
                    partial.choices.push_back(Choice::Of(Alternatives::new(vec![
                        vec![Goal::Fact(Fact::Absent(Arc::clone(&name)))],
                        present.map(|name| Goal::Fact(Fact::Required(name))).collect(),
                    ])));
                }
                return Ok(true);
            }
            (Keyword::DependentSchemas(schemas), ValueKind::Object) => {
                for (name, id) in schemas {
                    let name: Arc<str> = Arc::clone(name);
                    partial.choices.push_back(Choice::Of(Alternatives::new(vec![
                        vec![Goal::Fact(Fact::Absent(Arc::clone(&name)))],
                        vec![Goal::Fact(Fact::Required(name)), Goal::Member(member(*id), frames.clone())],
                    ])));
                }
                return Ok(true);
            }
            (Keyword::PrefixItems(items), ValueKind::Array) => {
                for &frame in &frames {
                    let frame = &mut partial.frames[frame as usize];
                    frame.n_items = frame.n_items.max(items.len() as u64);
                }
                let rule = |(index, id): (usize, &SchemaId)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    Fact::Items(ItemRule { from, to, member: member(*id) })
                };
                items.iter().enumerate().map(rule).collect()
            }
            (Keyword::Items(id), ValueKind::Array) => {
                frames.iter().for_each(|&frame| partial.frames[frame as usize].has_all = true);
                one(Fact::Items(ItemRule { from: self.n_prefix_items(schema), to: None, member: member(*id) }))
            }
            (Keyword::Contains { schema: id, min, max }, ValueKind::Array) => {
                if self.model.schema(schema).draft() == Draft::Draft2020 {
                    for &frame in &frames {
                        partial.frames[frame as usize].contains.push(member(*id));
                    }
                }
                if *min == 0 && max.is_none() {
                    return Ok(true);
                }
                one(Fact::Count(ItemCount { from: 0, to: None, member: member(*id), min: *min, max: *max }))
            }
            (Keyword::MinItems(min), ValueKind::Array) => one(Fact::MinItems(*min)),
            (Keyword::MaxItems(max), ValueKind::Array) => one(Fact::MaxItems(*max)),
            (Keyword::UniqueItems, ValueKind::Array) => one(Fact::Unique),
            (Keyword::AllOf(ids), _) => {
                let goals = ids.iter().rev().map(|&id| Goal::Member(member(id), frames.clone()));
                partial.goals.extend(goals);
                return Ok(true);
            }
            (Keyword::AnyOf(ids), _) => {
                let is_exact = frames.iter().any(|&frame| partial.frames[frame as usize].is_exact);
                let choice = self.any_of(partial, ids, scope, &frames, is_exact)?;
                partial.choices.push_back(choice);
                return Ok(true);
            }
            (Keyword::OneOf(ids), _) => {
                partial.choices.push_back(Choice::One(ids.iter().map(|&id| member(id)).collect(), frames));
                return Ok(true);
            }
            (Keyword::Not(id), _) => {
                partial.goals.push(Goal::Member(member(*id).negated(), Frames::new()));
                return Ok(true);
            }
            (Keyword::If { test, then, otherwise }, _) => {
                if then.is_none() && otherwise.is_none() && frames.is_empty() {
                    return Ok(true);
                }
                let branch = |id: &Option<SchemaId>| id.map(|id| Goal::Member(member(id), frames.clone()));
                let holds = core::iter::once(Goal::Member(member(*test), frames.clone())).chain(branch(then));
                let fails = Goal::Member(member(*test).negated(), Frames::new());
                let fails = core::iter::once(fails).chain(branch(otherwise));
                partial.choices.push_back(Choice::Of(Alternatives::new(vec![holds.collect(), fails.collect()])));
                return Ok(true);
            }
            (Keyword::Ref(id), _) => {
                partial.goals.push(Goal::Member(member(*id), frames));
                return Ok(true);
            }
            (Keyword::DynamicRef { target, anchor }, _) => {
                let target = self.conjunctions.dynamic_target(self.model, scope, anchor).unwrap_or(*target);
                partial.goals.push(Goal::Member(member(target), frames));
                return Ok(true);
            }
            // Keywords of other kinds, and those that are expanded when everything else is known.
            _ => return Ok(true),
        };
        partial.goals.extend(facts.into_iter().rev().map(Goal::Fact));
        Ok(true)
    }

    /// Adds the fact that the value is one of a list; returns whether that can hold.
    fn pursue_values(&mut self, partial: &mut Partial, schema: SchemaId, values: &[ValueId]) -> bool {
        let document = self.model.schema(schema).document();
        let json = self.model.json(document);
        let fact = match partial.kind {
            ValueKind::Null | ValueKind::True | ValueKind::False => {
                return values.iter().any(|&value| is_of_kind(json.value(value), partial.kind));
            }
            ValueKind::Number => {
                let mut seen = HashSet::new();
                let numbers = values.iter().filter_map(|&value| match json.value(value) {
                    Value::Number(number) => seen.insert(number).then(|| number.clone()),
                    _ => None,
                });
                Fact::NumberIn(numbers.collect())
            }
            ValueKind::String => {
                let mut seen = HashSet::new();
                let texts = values.iter().filter_map(|&value| match json.value(value) {
                    Value::String(text) => seen.insert(text).then(|| text.into()),
                    _ => None,
                });
                Fact::StringIn(texts.collect())
            }
            ValueKind::Array | ValueKind::Object => {
                let same_kind = values.iter().filter(|&&value| is_of_kind(json.value(value), partial.kind));
                let alternatives =
                    same_kind.map(|&value| vec![Goal::Member(Member::value(document, value), Frames::new())]);
                partial.choices.push_back(Choice::Of(Alternatives::new(alternatives.collect())));
                return true;
            }
        };
        self.add(partial, fact)
    }

    /// Returns the alternatives of violating a keyword.
    pub(super) fn negate_entry(
        &mut self,
        kind: ValueKind,
        schema: SchemaId,
        keyword: &Keyword,
        scope: ScopeId,
    ) -> Expanded<Vec<Alternative>> {
        let yes = |id: SchemaId| Goal::Member(Member::schema(id, scope), Frames::new());
        let not = |id: SchemaId| Goal::Member(Member::schema(id, scope).negated(), Frames::new());
        let denied = |id: SchemaId| Member::schema(id, scope).negated();
        let fact = |fact: Fact| vec![Goal::Fact(fact)];
        Ok(match (keyword, kind) {
            (Keyword::Type(set), ValueKind::Number) if !set.contains(TypeSet::NUMBER) => {
                vec![fact(Fact::Number(NumberSet::non_integers()))]
            }
            (Keyword::Enum(values), _) => {
                let document = self.model.schema(schema).document();
                // Different from each: simple facts if there are such, else one negation after the other.
                let same_kind: Vec<ValueId> = {
                    let json = self.model.json(document);
                    values.iter().copied().filter(|&value| is_of_kind(json.value(value), kind)).collect()
                };
                if kind == ValueKind::Object {
                    return Ok(vec![self.other_objects(document, &same_kind)?]);
                }
                let goal = |value: ValueId| Goal::Member(Member::value(document, value).negated(), Frames::new());
                vec![same_kind.into_iter().map(goal).collect()]
            }
            (Keyword::Const(value), _) => {
                let document = self.model.schema(schema).document();
                vec![vec![Goal::Member(Member::value(document, *value).negated(), Frames::new())]]
            }
            (Keyword::MultipleOf(divisor), ValueKind::Number) => {
                vec![fact(Fact::Number(NumberSet::non_multiples_of(divisor)))]
            }
            (Keyword::Minimum(bound), ValueKind::Number) => {
                vec![fact(Fact::Number(NumberSet::below(bound)))]
            }
            (Keyword::Maximum(bound), ValueKind::Number) => vec![fact(Fact::Number(NumberSet::above(bound)))],
            (Keyword::ExclusiveMinimum(bound), ValueKind::Number) => {
                vec![fact(Fact::Number(NumberSet::at_most(bound)))]
            }
            (Keyword::ExclusiveMaximum(bound), ValueKind::Number) => {
                vec![fact(Fact::Number(NumberSet::at_least(bound)))]
            }
            (Keyword::MinLength(min), ValueKind::String) => below(*min).map(Fact::MaxLength).map(fact).collect(),
            (Keyword::MaxLength(max), ValueKind::String) => vec![fact(Fact::MinLength(max.saturating_add(1)))],
            (Keyword::Pattern(pattern), ValueKind::String) => {
                vec![fact(Fact::Language(self.languages.pattern(pattern, "pattern", self.limits)?, false))]
            }
            (Keyword::Format(name, draft), ValueKind::String) => {
                let language = if self.options.has_formats { self.languages.outer_format(name, *draft) } else { None };
                language.map(|language| fact(Fact::Language(language, false))).into_iter().collect()
            }
            (Keyword::Properties(properties), ValueKind::Object) => properties
                .iter()
                .map(|(name, id)| {
                    let name: Arc<str> = Arc::clone(name);
                    vec![Goal::Fact(Fact::Required(Arc::clone(&name))), Goal::Fact(Fact::Property(name, denied(*id)))]
                })
                .collect(),
            (Keyword::PatternProperties(patterns), ValueKind::Object) => {
                let mut alternatives = Vec::with_capacity(patterns.len());
                for (place, (_, id)) in patterns.iter().enumerate() {
                    alternatives.push(match self.key_pattern(schema, place)? {
                        Some(keys) => fact(Fact::Obligation(Obligation::key(Keys::In(keys), Some(denied(*id))))),
                        None => vec![],
                    });
                }
                alternatives
            }
            (Keyword::AdditionalProperties(id), ValueKind::Object) => {
                let keys = self.keys_beside(schema)?;
                vec![fact(Fact::Obligation(Obligation::key(keys, Some(denied(*id)))))]
            }
            (Keyword::PropertyNames(id), ValueKind::Object) => {
                vec![fact(Fact::Obligation(Obligation::key(Keys::Satisfying(denied(*id)), None)))]
            }
            (Keyword::Required(names), ValueKind::Object) => {
                names.iter().map(|name| fact(Fact::Absent(Arc::clone(name)))).collect()
            }
            (Keyword::MinProperties(min), ValueKind::Object) => {
                below(*min).map(Fact::MaxProperties).map(fact).collect()
            }
            (Keyword::MaxProperties(max), ValueKind::Object) => {
                vec![fact(Fact::MinProperties(self.checked_min("maxProperties", max.saturating_add(1))?))]
            }
            (Keyword::DependentRequired(lists), ValueKind::Object) => lists
                .iter()
                .flat_map(|(name, needed)| {
                    needed.iter().map(move |other| {
                        vec![Goal::Fact(Fact::Required(Arc::clone(name))), Goal::Fact(Fact::Absent(Arc::clone(other)))]
                    })
                })
                .collect(),
            (Keyword::DependentSchemas(schemas), ValueKind::Object) => {
                schemas.iter().map(|(name, id)| vec![Goal::Fact(Fact::Required(Arc::clone(name))), not(*id)]).collect()
            }
            (Keyword::PrefixItems(items), ValueKind::Array) => items
                .iter()
                .enumerate()
                .map(|(index, id)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    vec![
                        Goal::Fact(Fact::MinItems(index as u64 + 1)),
                        Goal::Fact(Fact::Items(ItemRule { from, to, member: denied(*id) })),
                    ]
                })
                .collect(),
            (Keyword::Items(id), ValueKind::Array) => {
                let from = self.n_prefix_items(schema);
                vec![fact(Fact::Count(ItemCount { from, to: None, member: denied(*id), min: 1, max: None }))]
            }
            (Keyword::Contains { schema: id, min, max }, ValueKind::Array) => {
                let member = Member::schema(*id, scope);
                let count = |min, max| fact(Fact::Count(ItemCount { from: 0, to: None, member, min, max }));
                let too_few = below(*min).map(|max| count(0, Some(max)));
                too_few.chain(max.map(|max| count(max.saturating_add(1), None))).collect()
            }
            (Keyword::MinItems(min), ValueKind::Array) => below(*min).map(Fact::MaxItems).map(fact).collect(),
            (Keyword::MaxItems(max), ValueKind::Array) => vec![fact(Fact::MinItems(max.saturating_add(1)))],
            (Keyword::UniqueItems, ValueKind::Array) => {
                return Err(
                    SchemaError::unsupported("uniqueItems", "under a negation it asks for two equal items").into()
                );
            }
            (Keyword::UnevaluatedProperties(_), ValueKind::Object)
            | (Keyword::UnevaluatedItems(_), ValueKind::Array) => {
                let mut entries = self.model.schema(schema).entries().iter();
                let index = entries.position(|entry| core::ptr::eq(&entry.keyword, keyword));
                let index = index.expect("the keyword is one of the schema's") as u32;
                vec![vec![Goal::UnevaluatedViolation(schema, index, scope)]]
            }
            (Keyword::AllOf(ids), _) => ids.iter().map(|&id| vec![not(id)]).collect(),
            (Keyword::AnyOf(ids), _) => vec![ids.iter().map(|&id| not(id)).collect()],
            (Keyword::OneOf(ids), _) => {
                let mut alternatives = vec![ids.iter().map(|&id| not(id)).collect::<Alternative>()];
                let alive: Vec<SchemaId> = ids.iter().copied().filter(|&id| !self.surely_fails(kind, id)).collect();
                for (index, &a) in alive.iter().enumerate() {
                    for &b in &alive[index + 1..] {
                        if a == b || !self.are_disjoint(Member::schema(a, scope), Member::schema(b, scope), kind)? {
                            alternatives.push(vec![yes(a), yes(b)]);
                        }
                    }
                }
                alternatives
            }
            (Keyword::Not(id), _) => vec![vec![yes(*id)]],
            (Keyword::If { test, then, otherwise }, _) => {
                let holds = then.map(|then| vec![yes(*test), not(then)]);
                holds.into_iter().chain(otherwise.map(|otherwise| vec![not(*test), not(otherwise)])).collect()
            }
            (Keyword::Ref(id), _) => vec![vec![not(*id)]],
            (Keyword::DynamicRef { target, anchor }, _) => {
                vec![vec![not(self.conjunctions.dynamic_target(self.model, scope, anchor).unwrap_or(*target))]]
            }
            // A type that fails was detected before; values of this kind can't violate anything else.
            _ => vec![],
        })
    }

    /// Returns the language of a format, if it is asserted.
    fn format(&mut self, name: &str, draft: Draft) -> Option<LanguageId> {
        if self.options.has_formats { self.languages.format(name, draft) } else { None }
    }

    /// Returns the language of a pattern of `patternProperties`, by its index; `None` if lenient mode drops it.
    fn key_pattern(&mut self, schema: SchemaId, place: usize) -> Expanded<Option<LanguageId>> {
        let model = self.model;
        let found = model.schema(schema).entries().iter().find_map(|entry| match &entry.keyword {
            Keyword::PatternProperties(patterns) => Some((entry.value, &patterns[place].0)),
            _ => None,
        });
        let (map, pattern) = found.expect("the schema has patterns");
        match self.languages.pattern(pattern, "patternProperties", self.limits) {
            Ok(language) => Ok(Some(language)),
            Err(LowerError::Build(error)) => Err(error.into()),
            Err(LowerError::Schema(error)) => {
                let at =
                    model.json(model.schema(schema).document()).member(map, pattern).expect("the pattern is a key");
                let error = model.error_at(schema, at, error);
                self.relax(schema, map, Some(place as u32), error)?;
                Ok(None)
            }
        }
    }

    /// Returns the keys to which `additionalProperties` of a schema applies.
    pub(super) fn keys_beside(&mut self, schema: SchemaId) -> Expanded<Keys> {
        let (mut names, mut languages) = (HashSet::new(), Vec::new());
        for entry in self.model.schema(schema).entries() {
            match &entry.keyword {
                Keyword::Properties(properties) => names.extend(properties.iter().map(|(name, _)| name.clone())),
                Keyword::PatternProperties(patterns) => {
                    for place in 0..patterns.len() {
                        let Some(language) = self.key_pattern(schema, place)? else {
                            let reason = "a pattern beside it was dropped, whose keys it is not about";
                            return Err(SchemaError::unsupported("additionalProperties", reason).into());
                        };
                        languages.push(language);
                    }
                }
                _ => {}
            }
        }
        Ok(Keys::Beside { names: Rc::new(names), languages: languages.into() })
    }

    /// Returns the least number of members that a keyword requires.
    ///
    /// # Errors
    /// In lenient mode, if it is too large: later its keyword would be unknown. In strict mode other bounds may still make it unsatisfiable,
    /// which is the better error.
    pub(in super::super) fn checked_min(&self, keyword: &str, min: u64) -> Expanded<u64> {
        match self.options.is_lenient && min > MEMBERS_MAX {
            true => Err(too_many_members(keyword, min).into()),
            false => Ok(min),
        }
    }

    fn n_prefix_items(&self, schema: SchemaId) -> u64 {
        let entries = self.model.schema(schema).entries().iter();
        let n_items = entries.filter_map(|entry| match &entry.keyword {
            Keyword::PrefixItems(items) => Some(items.len() as u64),
            _ => None,
        });
        n_items.sum()
    }
}

fn one(fact: Fact) -> SmallVec<[Fact; 2]> {
    smallvec::smallvec![fact]
}

/// Returns the number before `n`, if there is one.
fn below(n: u64) -> impl Iterator<Item = u64> {
    n.checked_sub(1).into_iter()
}

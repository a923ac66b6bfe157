//! Finite sets of constants: a cheap approximation of a member, without expansion.
//!
//! Most choices are discriminated by a constant under a key: `{"properties": {"type": {"const": "a"}}, "required": ["type"]}`. So that n
//! branches can be compared with each other, and with what is known already, the constants that a member allows, and those that it
//! requires under its keys, are collected once, across references and `allOf`. The sets are supersets: a member may allow less.

use super::super::language::enumerate_strings;
use super::*;
use crate::frontend::ecma;
use crate::json_schema::conjunction::ChoiceId;
use crate::json_schema::model::{LogicKeyword, ObjectKeyword, ReferenceKeyword, StringKeyword, ValueKeyword};

/// Most sub-schemas that one search visits, beside those of the branches of unions.
const LOOKS_MAX: usize = 64;
/// Most sub-schemas that it visits in all.
const LOOKS_IN_ALL_MAX: usize = 1024;
/// Most strings of a pattern that counts as a finite set.
const STRINGS_MAX: usize = 32;
/// Most values in an array or object that is compared as a whole.
const COMPOUND_VALUES_MAX: usize = 256;
/// Steps that a look at the constants of a member counts as.
const STEPS_PER_MEMBER: usize = 4;
/// Greatest nesting of `anyOf` that is searched.
const UNIONS_DEEP_MAX: usize = 3;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(Arc<str>),
    /// An array or an object, in canonical form.
    Compound {
        is_object: bool,
        text: Arc<str>,
    },
}

impl Constant {
    /// Returns a value of a document; `None` if it is an array or object with too many values to compare.
    pub(super) fn new(json: &Json, id: ValueId) -> Option<Constant> {
        Some(match json.value(id) {
            Value::Null => Constant::Null,
            Value::Bool(verdict) => Constant::Bool(verdict),
            Value::Number(number) => Constant::Number(number.clone()),
            Value::String(text) => Constant::Text(text.into()),
            value @ (Value::Array(_) | Value::Object(_)) => {
                let is_object = matches!(value, Value::Object(_));
                Constant::Compound { is_object, text: json.to_canonical_json(id, COMPOUND_VALUES_MAX)?.into() }
            }
        })
    }

    pub(super) fn is_of_kind(&self, kind: ValueKind) -> bool {
        match self {
            Constant::Null => kind == ValueKind::Null,
            Constant::Bool(verdict) => kind == if *verdict { ValueKind::True } else { ValueKind::False },
            Constant::Number(_) => kind == ValueKind::Number,
            Constant::Text(_) => kind == ValueKind::String,
            Constant::Compound { is_object, .. } => {
                kind == if *is_object { ValueKind::Object } else { ValueKind::Array }
            }
        }
    }

    pub(super) fn number(&self) -> Option<&Decimal> {
        if let Constant::Number(number) = self { Some(number) } else { None }
    }

    pub(super) fn text(&self) -> Option<&Arc<str>> {
        if let Constant::Text(text) = self { Some(text) } else { None }
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Constant::Compound { .. })
    }

    fn is_of(&self, types: TypeSet) -> bool {
        types.contains(match self {
            Constant::Null => TypeSet::NULL,
            Constant::Bool(_) => TypeSet::BOOLEAN,
            Constant::Number(number) if number.is_integer() => TypeSet::INTEGER,
            Constant::Number(_) => TypeSet::NUMBER,
            Constant::Text(_) => TypeSet::STRING,
            Constant::Compound { is_object: false, .. } => TypeSet::ARRAY,
            Constant::Compound { is_object: true, .. } => TypeSet::OBJECT,
        })
    }
}

/// A superset of the values that a member allows; equal to it if `is_exact`.
#[derive(Clone, Debug)]
pub(super) struct Finite {
    pub values: Rc<HashSet<Constant>>,
    pub is_exact: bool,
    /// Whether that is about strings alone: `{"pattern": "^a$"}` allows one string, and whatever is no string.
    is_about_strings: bool,
}

impl Finite {
    /// Returns whether that is about values of a kind.
    pub fn is_about(&self, kind: ValueKind) -> bool {
        !self.is_about_strings || kind == ValueKind::String
    }

    /// Returns whether a value may be one that the member allows.
    fn may_be(&self, value: &Constant) -> bool {
        self.is_about_strings && value.text().is_none() || self.values.contains(value)
    }
}

/// Necessary conditions on the objects that satisfy a member: the discriminators of `oneOf` and `anyOf`.
#[derive(Default, Debug)]
pub(super) struct KeyConstants {
    pub required: HashSet<Arc<str>>,
    /// By key: a superset of its values, if they are finitely many.
    pub values: HashMap<Arc<str>, Rc<HashSet<Constant>>>,
}

impl KeyConstants {
    /// Returns whether no object satisfies both.
    pub fn exclude(&self, other: &KeyConstants) -> bool {
        let (few, many) = if self.values.len() <= other.values.len() { (self, other) } else { (other, self) };
        few.values.iter().any(|(name, values)| {
            (self.required.contains(name) || other.required.contains(name))
                && many.values.get(name).is_some_and(|others| values.is_disjoint(others))
        })
    }
}

/// Takes those away that a test refuses, and copies a shared set only if there are some.
fn keep(values: &mut Rc<HashSet<Constant>>, test: impl Fn(&Constant) -> bool) {
    if !values.iter().all(&test) {
        Rc::make_mut(values).retain(|value| test(value));
    }
}

impl Expander<'_> {
    /// Returns a superset of the values that a member allows, if they, or the strings among them, are finitely many.
    pub(super) fn finite(&mut self, member: Member) -> Option<Finite> {
        if let Some(cached) = self.finite.get(&member) {
            return cached.clone();
        }
        let found = self.find_finite(member, 0, &mut 0);
        self.finite.insert(member, found.clone());
        found
    }

    /// Returns whether a member is satisfied by finitely many scalars only.
    pub fn is_finite(&mut self, member: Member) -> bool {
        self.n_values(member).is_some()
    }

    /// Returns the number of values that satisfy a member, if they are finitely many scalars and known exactly.
    pub fn n_values(&mut self, member: Member) -> Option<usize> {
        let finite = self.finite(member).filter(|finite| finite.is_exact && !finite.is_about_strings)?;
        finite.values.iter().all(Constant::is_scalar).then_some(finite.values.len())
    }

    fn find_finite(&mut self, member: Member, depth: usize, n_looks_in_all: &mut usize) -> Option<Finite> {
        if member.is_negated || depth > UNIONS_DEEP_MAX || *n_looks_in_all > LOOKS_IN_ALL_MAX {
            return None;
        }
        // Shared as long as nothing is taken away: hundreds of properties may refer to one long list.
        let (mut found, mut is_exact): (Option<Rc<HashSet<Constant>>>, bool) = (None, true);
        let mut restrict = |values: Rc<HashSet<Constant>>| match &mut found {
            Some(found) => keep(found, |value| values.contains(value)),
            None => found = Some(values),
        };
        let mut types: SmallVec<[TypeSet; 4]> = SmallVec::new();
        let mut of_strings: Vec<Rc<HashSet<Constant>>> = Vec::new();
        let model = self.model;
        let mut pending = vec![member];
        let mut n_looks = 0;
        while let Some(member) = pending.pop() {
            n_looks += 1;
            *n_looks_in_all += 1;
            let id = match member.subject {
                _ if n_looks > LOOKS_MAX || *n_looks_in_all > LOOKS_IN_ALL_MAX => {
                    is_exact = false;
                    break;
                }
                Subject::Value(document, value) => {
                    restrict(Rc::new(HashSet::from_iter([Constant::new(self.model.json(document), value)?])));
                    continue;
                }
                Subject::Schema(id) => id,
                Subject::Choice(id) => {
                    restrict(Rc::new(self.constants_of(id)?));
                    continue;
                }
                Subject::Nothing => return None,
            };
            let schema = model.schema(id);
            let json = model.json(schema.document());
            let entries = match schema.body() {
                Body::Bool(verdict) => {
                    is_exact &= verdict;
                    continue;
                }
                Body::Keywords { entries, .. } => entries,
            };
            for entry in entries {
                match &entry.keyword {
                    Keyword::Value(ValueKeyword::Const(value)) => {
                        restrict(Rc::new(HashSet::from_iter([Constant::new(json, *value)?])));
                    }
                    Keyword::Value(ValueKeyword::Enum(values)) => {
                        let constants = self.enums.entry((schema.document(), entry.value)).or_insert_with(|| {
                            let constants = values.iter().map(|&value| Constant::new(json, value));
                            constants.collect::<Option<_>>().map(Rc::new)
                        });
                        restrict(constants.clone()?);
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => {
                        pending.push(Member { subject: Subject::Schema(*id), ..member })
                    }
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(ids.iter().map(|&id| Member { subject: Subject::Schema(id), ..member }));
                    }
                    Keyword::Value(ValueKeyword::Type(set)) if !schema.is_nullable() => types.push(*set),
                    Keyword::Logic(LogicKeyword::AnyOf(ids)) | Keyword::Logic(LogicKeyword::OneOf(ids))
                        if ids.len() <= LOOKS_IN_ALL_MAX =>
                    {
                        is_exact &= matches!(entry.keyword, Keyword::Logic(LogicKeyword::AnyOf(_)));
                        let place = (schema.document(), entry.value);
                        let of_branches = self.unions.get(&place).cloned().unwrap_or_else(|| {
                            let branches = ids.iter().map(|&id| Member { subject: Subject::Schema(id), ..member });
                            let union = self.union_of(branches, depth + 1, n_looks_in_all);
                            // Deep within others, a search may have ended early.
                            if union.is_some() || depth == 0 {
                                self.unions.insert(place, union.clone());
                            }
                            union
                        });
                        is_exact &= of_branches.as_ref().is_some_and(|finite| finite.is_exact);
                        match of_branches {
                            Some(finite) if finite.is_about_strings => of_strings.push(finite.values),
                            Some(finite) => restrict(finite.values),
                            None => {}
                        }
                    }
                    Keyword::String(StringKeyword::Pattern(pattern)) => match self.few_strings(pattern) {
                        Some(few) => of_strings.push(Rc::new(few)),
                        None => is_exact = false,
                    },
                    _ => is_exact = false,
                }
            }
        }
        // A pattern does not constrain other values.
        let is_about_strings = found.is_none() && !types.contains(&TypeSet::STRING);
        let mut values = found.or_else(|| of_strings.pop())?;
        for texts in of_strings {
            keep(&mut values, |value| value.text().is_none() || texts.contains(value));
        }
        keep(&mut values, |value| types.iter().all(|types| value.is_of(*types)));
        Some(Finite { values, is_exact, is_about_strings })
    }

    /// Returns a superset of the values that one of some members allows, if each allows finitely many, or finitely many strings.
    fn union_of(
        &mut self,
        branches: impl Iterator<Item = Member>,
        depth: usize,
        n_looks_in_all: &mut usize,
    ) -> Option<Finite> {
        let (mut all, mut is_exact, mut is_about_strings) = (HashSet::new(), true, false);
        for branch in branches {
            let finite = self.find_finite(branch, depth, n_looks_in_all)?;
            is_exact &= finite.is_exact;
            is_about_strings |= finite.is_about_strings;
            all.extend(finite.values.iter().cloned());
        }
        all.retain(|value| !is_about_strings || value.text().is_some());
        Some(Finite { values: Rc::new(all), is_exact, is_about_strings })
    }

    /// Returns members of one constant each, one of which every value of a member satisfies, if they are visible; perhaps some more than once.
    pub fn listed_values(&self, member: Member) -> Option<Vec<Member>> {
        let mut pending = vec![member];
        for _ in 0..LOOKS_MAX {
            let Member { subject: Subject::Schema(id), is_negated: false, .. } = pending.pop()? else { continue };
            let schema = self.model.schema(id);
            for entry in schema.entries() {
                match &entry.keyword {
                    Keyword::Value(ValueKeyword::Const(value)) => {
                        return Some(vec![Member::value(schema.document(), *value)]);
                    }
                    Keyword::Value(ValueKeyword::Enum(values)) if values.len() <= LOOKS_MAX => {
                        return Some(values.iter().map(|&value| Member::value(schema.document(), value)).collect());
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => pending.push(Member::schema(*id, member.scope)),
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(ids.iter().map(|&id| Member::schema(id, member.scope)));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Returns the constants of a choice, if it is between constants.
    fn constants_of(&self, id: ChoiceId) -> Option<HashSet<Constant>> {
        let constants = self.conjunctions.choices(id).iter().map(|&id| match self.conjunctions.members(id) {
            &[Member { subject: Subject::Value(document, value), is_negated: false, .. }] => {
                Constant::new(self.model.json(document), value)
            }
            _ => None,
        });
        constants.collect()
    }

    /// Returns the strings in which a pattern matches, if they are few.
    fn few_strings(&mut self, pattern: &str) -> Option<HashSet<Constant>> {
        // Many patterns mean a constant, and need no automaton.
        if let Some(text) = ecma::anchored_literal(pattern) {
            return Some(HashSet::from_iter([Constant::Text(text.into())]));
        }
        // A pattern that can't be compiled is an error where it is needed.
        let language = self.languages.pattern(pattern, "pattern", self.limits).ok()?;
        let texts = enumerate_strings(self.languages.dfa(language), STRINGS_MAX)?;
        texts.iter().map(|text| Some(Constant::Text(core::str::from_utf8(text).ok()?.into()))).collect()
    }

    /// Returns a superset of the values that satisfy all members, if they are finitely many.
    pub(super) fn allowed(&mut self, members: &[Member]) -> Option<Rc<HashSet<Constant>>> {
        // Who asks spends more, and learns then that nothing is left.
        _ = self.budget.spend(STEPS_PER_MEMBER * members.len());
        let mut lists: SmallVec<[Finite; 4]> = members.iter().filter_map(|&member| self.finite(member)).collect();
        // The shortest list is filtered, so that no list is copied to be compared with a constant.
        let of_all_kinds = (0..lists.len()).filter(|&index| !lists[index].is_about_strings);
        let shortest = of_all_kinds.min_by_key(|&index| lists[index].values.len())?;
        let shortest = lists.swap_remove(shortest).values;
        let mut denied: SmallVec<[Finite; 4]> = SmallVec::new();
        for &member in members.iter().filter(|member| member.is_negated) {
            denied.extend(self.finite(member.negated()).filter(|finite| finite.is_exact));
        }
        let is_allowed = |value: &&Constant| {
            lists.iter().all(|list| list.may_be(value)) && !denied.iter().any(|list| list.values.contains(*value))
        };
        Some(match lists.is_empty() && denied.is_empty() {
            true => shortest,
            false => Rc::new(shortest.iter().filter(is_allowed).cloned().collect()),
        })
    }

    /// Returns the shapes of the scalars that satisfy all members, if each member lists the values that satisfy it, or those that don't.
    pub(super) fn listed_shapes(&mut self, members: &[Member], kind: ValueKind) -> Option<Rc<[Shape]>> {
        for &member in members {
            let finite = self.finite(Member { is_negated: false, ..member })?;
            if !finite.is_exact || !finite.is_about(kind) || !finite.values.iter().all(Constant::is_scalar) {
                return None;
            }
        }
        let allowed = self.allowed(members)?;
        let mut values: Vec<&Constant> = allowed.iter().filter(|value| value.is_of_kind(kind)).collect();
        values.sort_unstable();
        Some(match (values.first(), kind) {
            (None, _) => Rc::clone(&self.no_shapes),
            (Some(_), ValueKind::Number) => {
                let numbers = values.into_iter().filter_map(Constant::number).cloned().collect();
                let number = NumberShape { set: NumberSet::all(), values: Some(numbers), excluded: BTreeSet::new() };
                Rc::new([Shape::Number(number)])
            }
            (Some(_), ValueKind::String) => {
                let texts = values.into_iter().filter_map(Constant::text).cloned().collect();
                Rc::new([Shape::String(StringShape { values: Some(texts), ..StringShape::default() })])
            }
            (Some(_), _) => Rc::new([Shape::Only]),
        })
    }

    /// Returns whether visibly no value satisfies all members.
    pub(super) fn are_never(&mut self, members: &[Member]) -> bool {
        self.allowed(members).is_some_and(|values| values.is_empty())
    }

    /// Returns the necessary conditions on the objects that satisfy a member.
    pub(super) fn key_constants(&mut self, member: Member) -> Rc<KeyConstants> {
        if let Some(cached) = self.key_constants.get(&member) {
            return Rc::clone(cached);
        }
        let mut required = HashSet::new();
        let mut properties: HashMap<Arc<str>, Vec<Member>> = HashMap::new();
        let mut pending = if member.is_negated { vec![] } else { vec![member] };
        let mut n_looks = 0;
        while let Some(member) = pending.pop() {
            let Subject::Schema(id) = member.subject else { continue };
            n_looks += 1;
            if n_looks > LOOKS_MAX {
                break;
            }
            let scope = self.conjunctions.enter(self.model, member.scope, id);
            for entry in self.model.schema(id).entries() {
                match &entry.keyword {
                    Keyword::Object(ObjectKeyword::Required(names)) => required.extend(names.iter().cloned()),
                    Keyword::Object(ObjectKeyword::Properties(named)) => {
                        for (name, id) in named {
                            properties.entry(Arc::clone(name)).or_default().push(Member::schema(*id, scope));
                        }
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => pending.push(Member::schema(*id, scope)),
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(ids.iter().map(|&id| Member::schema(id, scope)))
                    }
                    _ => {}
                }
            }
        }
        let values =
            properties.into_iter().filter_map(|(name, members)| Some((name, self.allowed(&members)?))).collect();
        let keys = Rc::new(KeyConstants { required, values });
        self.key_constants.insert(member, Rc::clone(&keys));
        keys
    }

    /// Returns whether objects of a shape visibly fail a member.
    pub(super) fn excludes(&mut self, object: &ObjectShape, member: Member) -> bool {
        let keys = self.key_constants(member);
        if keys.required.iter().any(|name| object.absent.contains(name)) {
            return true;
        }
        keys.values.iter().any(|(name, values)| {
            (keys.required.contains(name) || object.required.contains(name))
                && object
                    .properties
                    .get(name)
                    .is_some_and(|members| self.allowed(members).is_some_and(|allowed| allowed.is_disjoint(values)))
        })
    }
}

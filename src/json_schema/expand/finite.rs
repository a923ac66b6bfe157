//! Finite sets of scalars: what can be seen about a member without expanding it.
//!
//! Most choices are told apart by a constant under a key: `{"properties": {"type": {"const": "a"}}, "required": ["type"]}`. So that n branches
//! can be compared with each other, and with what is known already, the constants that a member allows and those that it asks for under its
//! keys are read off once, following references and `allOf`. What is found is never too small: more may be forbidden than is seen here.

use super::super::language::few_texts;
use super::*;

/// How many sub-schemas one look goes into.
const LOOKS_MAX: usize = 64;
/// Most strings that a pattern is read off as.
const STRINGS_MAX: usize = 32;
/// How deep `anyOf` is looked into.
const UNIONS_DEEP_MAX: usize = 3;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(Arc<str>),
}

impl Scalar {
    fn is_of(&self, types: TypeSet) -> bool {
        types.contains(match self {
            Scalar::Null => TypeSet::NULL,
            Scalar::Bool(_) => TypeSet::BOOLEAN,
            Scalar::Number(number) if number.is_integer() => TypeSet::INTEGER,
            Scalar::Number(_) => TypeSet::NUMBER,
            Scalar::Text(_) => TypeSet::STRING,
        })
    }
}

/// The values that a member allows at most; exactly those if `is_exact`.
#[derive(Clone, Debug)]
pub(super) struct Finite {
    pub values: Rc<HashSet<Scalar>>,
    pub is_exact: bool,
}

/// What objects must look like that satisfy a member.
#[derive(Default, Debug)]
pub(super) struct Tags {
    pub required: HashSet<Arc<str>>,
    /// By key: the values that it may have, where they are finitely many.
    pub values: HashMap<Arc<str>, Rc<HashSet<Scalar>>>,
}

impl Tags {
    /// Tells whether an object that satisfies one can't satisfy the other.
    pub fn exclude(&self, other: &Tags) -> bool {
        let (few, many) = if self.values.len() <= other.values.len() { (self, other) } else { (other, self) };
        few.values.iter().any(|(name, values)| {
            (self.required.contains(name) || other.required.contains(name))
                && many.values.get(name).is_some_and(|others| values.is_disjoint(others))
        })
    }
}

impl Expander<'_> {
    /// Returns the values that a member allows at most, where they are finitely many scalars.
    pub(super) fn finite(&mut self, member: Member) -> Option<Finite> {
        if let Some(known) = self.finite.get(&member) {
            return known.clone();
        }
        let found = self.find_finite(member, 0);
        self.finite.insert(member, found.clone());
        found
    }

    /// Tells whether a member is satisfied by some scalars and nothing else.
    pub fn is_finite(&mut self, member: Member) -> bool {
        self.finite(member).is_some_and(|finite| finite.is_exact)
    }

    /// Returns how many values satisfy a member, where they are finitely many scalars and known exactly.
    pub fn n_values(&mut self, member: Member) -> Option<usize> {
        self.finite(member).filter(|finite| finite.is_exact).map(|finite| finite.values.len())
    }

    fn find_finite(&mut self, member: Member, n_deep: usize) -> Option<Finite> {
        if member.is_negated || n_deep > UNIONS_DEEP_MAX {
            return None;
        }
        let (mut found, mut is_exact): (Option<HashSet<Scalar>>, bool) = (None, true);
        let mut restrict = |values: HashSet<Scalar>| match &mut found {
            Some(found) => found.retain(|value| values.contains(value)),
            None => found = Some(values),
        };
        let mut types: SmallVec<[TypeSet; 4]> = SmallVec::new();
        let mut texts: Option<HashSet<Scalar>> = None;
        let model = self.model;
        let mut pending = vec![member];
        let mut n_looks = 0;
        while let Some(member) = pending.pop() {
            n_looks += 1;
            let id = match member.subject {
                _ if n_looks > LOOKS_MAX => {
                    is_exact = false;
                    break;
                }
                Subject::Value(document, value) => {
                    restrict(HashSet::from_iter([scalar(self.model.json(document).value(value))?]));
                    continue;
                }
                Subject::Schema(id) => id,
                Subject::Nothing | Subject::Choice(_) => return None,
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
                    Keyword::Const(value) => restrict(HashSet::from_iter([scalar(json.value(*value))?])),
                    Keyword::Enum(values) => {
                        let scalars: Option<HashSet<Scalar>> =
                            values.iter().map(|&value| scalar(json.value(value))).collect();
                        restrict(scalars?);
                    }
                    Keyword::Ref(id) => pending.push(Member { subject: Subject::Schema(*id), ..member }),
                    Keyword::AllOf(ids) => {
                        pending.extend(ids.iter().map(|&id| Member { subject: Subject::Schema(id), ..member }));
                    }
                    Keyword::Type(set)
                        if !entries.iter().any(|other| matches!(other.keyword, Keyword::Nullable(_))) =>
                    {
                        types.push(*set);
                    }
                    Keyword::AnyOf(ids) | Keyword::OneOf(ids) if ids.len() <= LOOKS_MAX => {
                        is_exact &= matches!(entry.keyword, Keyword::AnyOf(_));
                        let mut all = HashSet::new();
                        let branches = ids.iter().map(|&id| Member { subject: Subject::Schema(id), ..member });
                        let are_finite =
                            branches.into_iter().all(|branch| match self.find_finite(branch, n_deep + 1) {
                                Some(finite) => {
                                    is_exact &= finite.is_exact;
                                    all.extend(finite.values.iter().cloned());
                                    true
                                }
                                None => false,
                            });
                        if are_finite {
                            restrict(all);
                        } else {
                            is_exact = false;
                        }
                    }
                    Keyword::Pattern(pattern) => match self.few_strings(pattern) {
                        Some(few) => match &mut texts {
                            Some(texts) => texts.retain(|text| few.contains(text)),
                            None => texts = Some(few),
                        },
                        None => is_exact = false,
                    },
                    _ => is_exact = false,
                }
            }
        }
        // A pattern says nothing of other values.
        if let Some(texts) = texts {
            match &mut found {
                Some(found) => found.retain(|value| !matches!(value, Scalar::Text(_)) || texts.contains(value)),
                None if types.contains(&TypeSet::STRING) => found = Some(texts),
                None => return None,
            }
        }
        let mut values = found?;
        values.retain(|value| types.iter().all(|types| value.is_of(*types)));
        Some(Finite { values: Rc::new(values), is_exact })
    }

    /// Returns the strings in which a pattern matches, if they are few.
    fn few_strings(&mut self, pattern: &str) -> Option<HashSet<Scalar>> {
        // A pattern that can't be had is an error where it is needed.
        let language = self.languages.pattern(pattern, "pattern", self.limits).ok()?;
        let texts = few_texts(self.languages.dfa(language), STRINGS_MAX)?;
        texts.iter().map(|text| Some(Scalar::Text(core::str::from_utf8(text).ok()?.into()))).collect()
    }

    /// Returns the values that satisfy all members at most, where they are finitely many.
    pub(super) fn allowed(&mut self, members: &[Member]) -> Option<Rc<HashSet<Scalar>>> {
        let mut found: Option<Rc<HashSet<Scalar>>> = None;
        for &member in members {
            if let Some(finite) = self.finite(member) {
                match &mut found {
                    Some(found) => Rc::make_mut(found).retain(|value| finite.values.contains(value)),
                    None => found = Some(finite.values),
                }
            }
        }
        let mut found = found?;
        for &member in members.iter().filter(|member| member.is_negated) {
            if let Some(finite) = self.finite(member.negated()).filter(|finite| finite.is_exact) {
                Rc::make_mut(&mut found).retain(|value| !finite.values.contains(value));
            }
        }
        Some(found)
    }

    /// Tells whether surely no value satisfies all members, at a glance.
    pub(super) fn are_never(&mut self, members: &[Member]) -> bool {
        self.allowed(members).is_some_and(|values| values.is_empty())
    }

    /// Returns what objects must look like that satisfy a member.
    pub(super) fn tags(&mut self, member: Member) -> Rc<Tags> {
        if let Some(known) = self.tags.get(&member) {
            return Rc::clone(known);
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
                    Keyword::Required(names) => required.extend(names.iter().cloned()),
                    Keyword::Properties(named) => {
                        for (name, id) in named {
                            properties.entry(Arc::clone(name)).or_default().push(Member::schema(*id, scope));
                        }
                    }
                    Keyword::Ref(id) => pending.push(Member::schema(*id, scope)),
                    Keyword::AllOf(ids) => pending.extend(ids.iter().map(|&id| Member::schema(id, scope))),
                    _ => {}
                }
            }
        }
        let values =
            properties.into_iter().filter_map(|(name, members)| Some((name, self.allowed(&members)?))).collect();
        let tags = Rc::new(Tags { required, values });
        self.tags.insert(member, Rc::clone(&tags));
        tags
    }

    /// Tells whether objects of a shape fail a member, at a glance.
    pub(super) fn excludes(&mut self, object: &ObjectShape, member: Member) -> bool {
        let tags = self.tags(member);
        if tags.required.iter().any(|name| object.absent.contains(name)) {
            return true;
        }
        tags.values.iter().any(|(name, values)| {
            (tags.required.contains(name) || object.required.contains(name))
                && object
                    .properties
                    .get(name)
                    .is_some_and(|members| self.allowed(members).is_some_and(|allowed| allowed.is_disjoint(values)))
        })
    }
}

fn scalar(value: Value<'_>) -> Option<Scalar> {
    Some(match value {
        Value::Null => Scalar::Null,
        Value::Bool(verdict) => Scalar::Bool(verdict),
        Value::Number(number) => Scalar::Number(number.clone()),
        Value::String(text) => Scalar::Text(text.into()),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

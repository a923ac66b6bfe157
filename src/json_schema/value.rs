//! JSON documents as flat arenas.
//!
//! A tree of boxes overflows the stack when it is dropped, compared or printed at 100,000 levels, and
//! `serde_json::Value` has neither spans, nor duplicate keys, nor numbers as written. A [`Json`] is four
//! tables: values in the order in which they begin, the lists of children, the decoded strings concatenated, and the
//! numbers. A value has its parent and its index in it, so that JSON pointers are computed on demand. Every
//! traversal is a loop.
//!
//! Objects of more than a few members also have their members sorted by key, so that a lookup in 50,000 properties
//! is a binary search.

use super::decimal::Decimal;
use crate::util::json_string::push_quoted;
use crate::util::{Span, index_type};
use core::fmt::{self, Write as _};
use std::sync::Arc;

index_type!(
    /// The index of a value of a [`Json`] document.
    pub ValueId
);

/// A JSON document: values with their spans, keys in their order, duplicate keys, exact numbers.
///
/// ```
/// use maskwright::{Limits, json_schema::{Json, Value}};
/// let json = Json::parse(r#"{"a/b": [true, 1.0]}"#, &Limits::default())?;
/// let list = json.member(json.root(), "a/b").unwrap();
/// let Value::Array(items) = json.value(list) else { panic!() };
/// assert_eq!(json.pointer(items[1]), "/a~1b/1");
/// assert_eq!(json.at_pointer("/a~1b/1"), Some(items[1]));
/// assert_eq!(json.to_string(), r#"{"a/b":[true,1]}"#);
/// # Ok::<(), maskwright::json_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Json {
    pub(super) source: Arc<str>,
    /// The JSON pointer of the root: not empty where this is a part of a document.
    pub(super) origin: Box<str>,
    pub(super) nodes: Vec<Node>,
    items: Vec<ValueId>,
    members: Vec<Member>,
    sorted: Vec<u32>,
    pub(super) texts: String,
    numbers: Vec<Decimal>,
    duplicates: Vec<Duplicate>,
}

/// A value, one level deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, like `1.0`.
    Number(&'a Decimal),
    /// A string, decoded.
    String(&'a str),
    /// A list, like `[1, 2]`.
    Array(&'a [ValueId]),
    /// An object, like `{"a": 1}`; [`Json::key`] gives the keys.
    Object(&'a [Member]),
}

/// A key of an object, its span, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub(super) key: Text,
    /// The span of the key, with its quotes.
    pub key_span: Span,
    /// The value.
    pub value: ValueId,
}

/// A duplicate key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The object.
    pub object: ValueId,
    /// The span of the later key, with its quotes.
    pub key_span: Span,
    /// The value of the later key.
    pub value: ValueId,
}

/// A range of the decoded strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// `NONE` for the root.
    parent: u32,
    /// The index among the parent's children.
    index: u32,
    span: Span,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(u32),
    String(Text),
    Array { start: u32, end: u32 },
    Object { start: u32, end: u32, sorted: u32 },
}

const NONE: u32 = u32::MAX;

/// Most members of an object that is searched linearly; larger ones by binary search.
const LINEAR_MAX: usize = 8;

impl Json {
    /// Returns a document without a root, with capacity for one of so many bytes.
    pub(super) fn empty(source: Arc<str>, origin: Box<str>, n_bytes: usize) -> Json {
        let (items, sorted, numbers, duplicates) = Default::default();
        // Capacity for nearly all documents: schemas of parameters, without white space, are the dense ones. Long ones grow.
        let n_read = n_bytes.min(1 << 16);
        let (n_values, n_bytes) = (n_read / 10 + 1, n_read / 4 * 3);
        let (nodes, members) = (Vec::with_capacity(n_values), Vec::with_capacity(n_values));
        let texts = String::with_capacity(n_bytes);
        Json { source, origin, nodes, items, members, sorted, texts, numbers, duplicates }
    }

    /// Returns the outermost value.
    pub fn root(&self) -> ValueId {
        ValueId(0)
    }

    /// Returns about how much memory this takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        fn bytes_of<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        bytes_of(&self.nodes)
            + bytes_of(&self.items)
            + bytes_of(&self.members)
            + bytes_of(&self.sorted)
            + bytes_of(&self.numbers)
            + bytes_of(&self.duplicates)
            + self.texts.capacity()
            + self.source.len()
    }

    /// Returns the number of values.
    pub fn n_values(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the text that this was read from; empty if it was not read from a text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// As [`Self::source`], to be kept.
    pub(crate) fn shared_source(&self) -> Arc<str> {
        Arc::clone(&self.source)
    }

    /// Returns a value, one level deep.
    pub fn value(&self, id: ValueId) -> Value<'_> {
        match self.nodes[id.index()].kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(b),
            Kind::Number(i) => Value::Number(&self.numbers[i as usize]),
            Kind::String(text) => Value::String(self.text(text)),
            Kind::Array { start, end } => Value::Array(&self.items[start as usize..end as usize]),
            Kind::Object { start, end, .. } => Value::Object(&self.members[start as usize..end as usize]),
        }
    }

    /// Returns the key of a member, decoded.
    pub fn key(&self, member: &Member) -> &str {
        self.text(member.key)
    }

    /// As [`Self::key`], to compare: of a range of bytes it is not checked where characters end.
    fn key_bytes(&self, member: &Member) -> &[u8] {
        &self.texts.as_bytes()[member.key.start as usize..member.key.end as usize]
    }

    /// Returns the key of a value; `None` if its parent is not an object.
    pub fn key_of(&self, id: ValueId) -> Option<&str> {
        let node = &self.nodes[id.index()];
        match self.value(self.parent(id)?) {
            Value::Object(members) => Some(self.key(&members[node.index as usize])),
            _ => None,
        }
    }

    /// Returns the span of the key of a value, with its quotes; `None` if the value is no member of an object.
    pub fn key_span(&self, id: ValueId) -> Option<Span> {
        let node = &self.nodes[id.index()];
        match self.value(self.parent(id)?) {
            Value::Object(members) => Some(members[node.index as usize].key_span),
            _ => None,
        }
    }

    /// Returns the span of a value in the source.
    pub fn span(&self, id: ValueId) -> Span {
        self.nodes[id.index()].span
    }

    /// Returns the outermost value with this span.
    pub fn value_at(&self, span: Span) -> Option<ValueId> {
        // Values are in the order in which they begin.
        let at = self.nodes.partition_point(|node| node.span.start < span.start);
        (self.nodes.get(at)?.span == span).then(|| ValueId::new(at))
    }

    /// Returns the number of values in a value, itself included.
    fn n_values_within(&self, id: ValueId) -> usize {
        let end = self.nodes[id.index()].span.end;
        self.nodes.partition_point(|node| node.span.start < end) - id.index()
    }

    /// Returns the values in a value, itself first, in the order in which they begin.
    pub(crate) fn values_within(&self, id: ValueId) -> impl Iterator<Item = ValueId> + use<> {
        (id.index()..id.index() + self.n_values_within(id)).map(ValueId::new)
    }

    /// Returns the array or object that contains a value; `None` for the root.
    pub fn parent(&self, id: ValueId) -> Option<ValueId> {
        Some(self.nodes[id.index()].parent).filter(|&parent| parent != NONE).map(ValueId)
    }

    /// Returns the value of a key of an object, the last one if the key is duplicate; `None` too if `id` is not an
    /// object.
    pub fn member(&self, id: ValueId, key: &str) -> Option<ValueId> {
        let Kind::Object { start, end, sorted } = self.nodes[id.index()].kind else { return None };
        let members = &self.members[start as usize..end as usize];
        if sorted == NONE {
            return members
                .iter()
                .rev()
                .find(|member| self.key_bytes(member) == key.as_bytes())
                .map(|member| member.value);
        }
        let order = &self.sorted[sorted as usize..][..members.len()];
        let after = order.partition_point(|&i| self.key(&members[i as usize]) <= key);
        let last = &members[order[after.checked_sub(1)?] as usize];
        (self.key(last) == key).then_some(last.value)
    }

    /// Returns the duplicate keys, in the order in which their objects end.
    pub fn duplicates(&self) -> &[Duplicate] {
        &self.duplicates
    }

    /// Returns the JSON pointer (RFC 6901) of a value; the root's is empty.
    pub fn pointer(&self, id: ValueId) -> String {
        let mut path = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            path.push(at);
            at = parent;
        }
        let mut text = String::from(&*self.origin);
        for &id in path.iter().rev() {
            text.push('/');
            match self.key_of(id) {
                None => write!(text, "{}", self.nodes[id.index()].index).expect("writing to a string succeeds"),
                Some(key) if !key.contains(['~', '/']) => text += key,
                Some(key) => text += &key.replace('~', "~0").replace('/', "~1"),
            }
        }
        text
    }

    /// Returns the value at a JSON pointer (RFC 6901).
    pub fn at_pointer(&self, pointer: &str) -> Option<ValueId> {
        self.at_pointer_from(self.root(), pointer)
    }

    /// Returns the value at a JSON pointer that begins at `id`.
    pub fn at_pointer_from(&self, id: ValueId, pointer: &str) -> Option<ValueId> {
        if pointer.is_empty() {
            return Some(id);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(id, |at, step| match self.value(at) {
            Value::Object(_) if !step.contains('~') => self.member(at, step),
            Value::Object(_) => self.member(at, &step.replace("~1", "/").replace("~0", "~")),
            Value::Array(items) => {
                let plain = step == "0" || (!step.starts_with('0') && step.bytes().all(|b| b.is_ascii_digit()));
                items.get(step.parse::<usize>().ok().filter(|_| plain)?).copied()
            }
            _ => None,
        })
    }

    /// Returns whether two values are equal by JSON Schema: numbers by value, objects in any order of
    /// their keys. Of duplicate keys the last counts.
    pub fn equal(&self, a: ValueId, other: &Json, b: ValueId) -> bool {
        let mut open = vec![(a, b)];
        while let Some((a, b)) = open.pop() {
            match (self.value(a), other.value(b)) {
                (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                    open.extend(a.iter().copied().zip(b.iter().copied()));
                }
                (Value::Array(_), _) => return false,
                (Value::Object(members), Value::Object(others)) => {
                    for member in members {
                        let key = self.key(member);
                        let Some(value) = other.member(b, key) else { return false };
                        if self.member(a, key) == Some(member.value) {
                            open.push((member.value, value));
                        }
                    }
                    if others.iter().any(|member| self.member(a, other.key(member)).is_none()) {
                        return false;
                    }
                }
                (a, b) if a == b => {}
                _ => return false,
            }
        }
        true
    }

    /// Returns a value as compact JSON, keys in their order.
    pub fn to_json(&self, id: ValueId) -> String {
        self.written(id, false, usize::MAX).expect("there is no bound")
    }

    /// Returns a value as compact JSON, keys sorted and each once; `None` if there are more than `n_values_max` values in it. Equal values have equal texts.
    pub fn to_canonical_json(&self, id: ValueId, n_values_max: usize) -> Option<String> {
        self.written(id, true, n_values_max)
    }

    fn written(&self, id: ValueId, is_canonical: bool, n_values_max: usize) -> Option<String> {
        enum Task<'a> {
            Value(ValueId),
            Key(&'a str),
            Raw(char),
        }
        let mut out = String::new();
        let mut open = vec![Task::Value(id)];
        let mut n_left = n_values_max.checked_sub(1)?;
        while let Some(task) = open.pop() {
            let id = match task {
                Task::Raw(c) => {
                    out.push(c);
                    continue;
                }
                Task::Key(key) => {
                    push_quoted(key, &mut out);
                    out.push(':');
                    continue;
                }
                Task::Value(id) => id,
            };
            match self.value(id) {
                Value::Null => out += "null",
                Value::Bool(b) => out += if b { "true" } else { "false" },
                Value::Number(number) => write!(out, "{number}").expect("writing to a string succeeds"),
                Value::String(text) => push_quoted(text, &mut out),
                Value::Array(items) => {
                    n_left = n_left.checked_sub(items.len())?;
                    out.push('[');
                    open.push(Task::Raw(']'));
                    for (i, &item) in items.iter().enumerate().rev() {
                        open.push(Task::Value(item));
                        open.extend((i > 0).then_some(Task::Raw(',')));
                    }
                }
                Value::Object(members) => {
                    n_left = n_left.checked_sub(members.len())?;
                    let mut members: Vec<&Member> = members.iter().collect();
                    if is_canonical {
                        // Of several members with one key the last counts.
                        members.retain(|member| self.member(id, self.key(member)) == Some(member.value));
                        members.sort_unstable_by_key(|member| self.key(member));
                    }
                    out.push('{');
                    open.push(Task::Raw('}'));
                    for (i, member) in members.into_iter().enumerate().rev() {
                        open.extend([Task::Value(member.value), Task::Key(self.key(member))]);
                        open.extend((i > 0).then_some(Task::Raw(',')));
                    }
                }
            }
        }
        Some(out)
    }

    fn text(&self, text: Text) -> &str {
        &self.texts[text.start as usize..text.end as usize]
    }

    /// Adds a value without children; its parent is set when the parent ends.
    pub(super) fn push(&mut self, kind: Kind, span: Span) -> ValueId {
        let id = ValueId::new(self.nodes.len());
        self.nodes.push(Node { parent: NONE, index: 0, span, kind });
        id
    }

    /// Stores a number.
    pub(super) fn number(&mut self, number: Decimal) -> Kind {
        self.numbers.push(number);
        Kind::Number((self.numbers.len() - 1) as u32)
    }

    /// Sets the items of an array.
    pub(super) fn close_array(&mut self, id: ValueId, items: &[ValueId], end: usize) {
        let start = self.items.len() as u32;
        self.items.extend_from_slice(items);
        self.close(id, Kind::Array { start, end: start + items.len() as u32 }, end, items.iter().copied());
    }

    /// Sets the members of an object.
    pub(super) fn close_object(&mut self, id: ValueId, members: &[Member], end: usize) {
        let start = self.members.len() as u32;
        self.members.extend_from_slice(members);
        let mut repeated: Vec<u32> = Vec::new();
        let mut sorted = NONE;
        if members.len() <= LINEAR_MAX {
            let before = |i: usize| members[..i].iter().any(|m| self.key_bytes(m) == self.key_bytes(&members[i]));
            repeated.extend((0..members.len()).filter(|&i| before(i)).map(|i| i as u32));
        } else {
            let mut order: Vec<u32> = (0..members.len() as u32).collect();
            order.sort_by_key(|&i| self.key(&members[i as usize]));
            let same = |pair: &&[u32]| self.key(&members[pair[0] as usize]) == self.key(&members[pair[1] as usize]);
            repeated.extend(order.windows(2).filter(same).map(|pair| pair[1]));
            repeated.sort_unstable();
            sorted = self.sorted.len() as u32;
            self.sorted.extend(order);
        }
        self.duplicates.extend(repeated.into_iter().map(|i| {
            let Member { key_span, value, .. } = members[i as usize];
            Duplicate { object: id, key_span, value }
        }));
        let kind = Kind::Object { start, end: start + members.len() as u32, sorted };
        self.close(id, kind, end, members.iter().map(|member| member.value));
    }

    fn close(&mut self, id: ValueId, kind: Kind, end: usize, children: impl Iterator<Item = ValueId>) {
        let node = &mut self.nodes[id.index()];
        node.kind = kind;
        node.span = Span::new(node.span.start as usize, end);
        for (index, child) in children.enumerate() {
            let child = &mut self.nodes[child.index()];
            (child.parent, child.index) = (id.0, index as u32);
        }
    }
}

/// Two documents are equal when their roots are.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.equal(self.root(), other, other.root())
    }
}

/// Writes the document as compact JSON.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json(self.root()))
    }
}

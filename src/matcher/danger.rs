//! What a walk that looks for repeated values knows at each depth: where the text leads, and which suffixes can make a difference there.

use crate::exec::{Candidates, Configuration, Head, StackNodeId, StacksMark, Within};
use crate::util::ByteSet;
use crate::vocab::{Punctuation, Trie, TrieNode};
use ahash::AHashSet;
use smallvec::SmallVec;

/// Memory for the walk.
#[derive(Default)]
pub(super) struct Recheck {
    /// By depth in the trie: where the text leads.
    pub levels: Vec<Level>,
    pub n_levels: usize,
    pub stack: StackWalk,
}

/// The text up to a node of the trie.
pub(super) struct Level {
    pub live: Configuration,
    pub mark: StacksMark,
    pub within: Within,
    pub danger: Danger,
    /// Whether no place was dropped on the way because of the values before: then the cached mask is right about what is live here.
    pub is_complete: bool,
}

/// Which suffixes can make a difference from some places on.
#[derive(Clone, Copy)]
pub(super) struct Danger {
    /// Those with some of this punctuation.
    pub punctuation: Punctuation,
    /// Those that begin so.
    pub bytes: ByteSet,
    /// Those that begin with white space and don't end with it.
    pub is_behind_space: bool,
}

impl Danger {
    pub const NONE: Danger = Danger { punctuation: Punctuation::NONE, bytes: ByteSet::EMPTY, is_behind_space: false };
    pub const ALL: Danger = Danger { bytes: ByteSet::ALL, ..Danger::NONE };

    pub fn of_punctuation(punctuation: Punctuation) -> Danger {
        Danger { punctuation, ..Danger::NONE }
    }

    pub fn of_bytes(bytes: ByteSet) -> Danger {
        Danger { bytes, ..Danger::NONE }
    }

    /// All suffixes but white space alone.
    pub fn of_all_but_space() -> Danger {
        Danger { bytes: !ByteSet::from_bytes(b" \t\n\r"), is_behind_space: true, ..Danger::NONE }
    }

    pub fn or(self, other: Danger) -> Danger {
        Danger {
            punctuation: self.punctuation.or(other.punctuation),
            bytes: self.bytes | other.bytes,
            is_behind_space: self.is_behind_space || other.is_behind_space,
        }
    }

    /// Returns the same for places that read only these bytes.
    pub fn among(self, bytes: ByteSet) -> Danger {
        Danger { bytes: self.bytes & bytes, ..self }
    }

    /// Returns the same for places of which it is not known that something can follow: white space alone may be behind a dead end.
    pub fn with_space(self) -> Danger {
        let space = if self.is_behind_space { ByteSet::from_bytes(b" \t\n\r") } else { ByteSet::EMPTY };
        Danger { bytes: self.bytes | space, ..self }
    }

    /// Tells whether all suffixes can make a difference.
    pub fn is_all(self) -> bool {
        self.bytes == ByteSet::ALL
    }

    /// Tells whether suffixes that begin with a byte, with this punctuation, make no difference.
    pub fn spares(self, byte: u8, punctuation: Punctuation) -> bool {
        let is_behind_space = self.is_behind_space && byte.is_ascii_whitespace();
        let is_dangerous = self.bytes.contains(byte)
            || punctuation.intersects(self.punctuation)
            || is_behind_space && punctuation.intersects(Punctuation::NO_SPACE);
        !is_dangerous
    }

    /// Tells whether suffixes with this punctuation make no difference.
    pub fn spares_all(self, punctuation: Punctuation) -> bool {
        let is_behind_space = self.is_behind_space && punctuation.intersects(Punctuation::NO_SPACE);
        self.bytes.is_empty() && !punctuation.intersects(self.punctuation) && !is_behind_space
    }
}

impl Recheck {
    /// Returns the memory that is kept from mask to mask, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let heads: usize = self.levels.iter().map(|level| level.live.capacity()).sum();
        let repeating = &self.stack.repeating;
        let candidates: usize = repeating.iter().flat_map(|one| &one.candidates).map(Candidates::memory_bytes).sum();
        self.levels.capacity() * size_of::<Level>()
            + heads * size_of::<Head>()
            + repeating.capacity() * size_of::<Repeating>()
            + candidates
            + self.stack.known_new.capacity() * size_of::<(Head, u32)>()
    }

    pub fn push(&mut self, live: &[Head], level: Level) {
        // Levels stay, so that their configurations are not allocated anew.
        if self.n_levels == self.levels.len() {
            self.levels.push(level);
        } else {
            let live = core::mem::take(&mut self.levels[self.n_levels].live);
            self.levels[self.n_levels] = Level { live, ..level };
        }
        let own = &mut self.levels[self.n_levels].live;
        own.clear();
        own.extend_from_slice(live);
        self.n_levels += 1;
    }
}

/// What is known of the stacks from before the tokens, and memory to go down stacks.
#[derive(Default)]
pub(super) struct StackWalk {
    pub seen: SeenNodes,
    pub pending: SmallVec<[(StackNodeId, usize); 16]>,
    /// What there was before the tokens.
    pub before: StacksMark,
    /// Whether all frames there were looked at.
    pub are_all_known: bool,
    /// Whether tokens that hold a key whole which is there already were tried.
    pub are_held_keys_tried: bool,
    /// The frames there whose values may become others.
    pub repeating: Vec<Repeating>,
    /// The frames there whose values can become none of the earlier ones, and how long the text was when that was found. Longer texts don't change it, so it is kept
    /// from mask to mask, as `repeating` is.
    pub known_new: Vec<(Head, u32)>,
}

/// Nodes that were met: the first few in a list that is searched, the others in a hash set.
#[derive(Default)]
pub(super) struct SeenNodes {
    few: SmallVec<[StackNodeId; 32]>,
    more: AHashSet<StackNodeId>,
}

impl SeenNodes {
    pub fn clear(&mut self) {
        self.few.clear();
        self.more.clear();
    }

    pub fn len(&self) -> usize {
        self.few.len() + self.more.len()
    }

    pub fn contains(&self, node: StackNodeId) -> bool {
        self.few.contains(&node) || !self.more.is_empty() && self.more.contains(&node)
    }

    pub fn push(&mut self, node: StackNodeId) {
        if self.few.len() < self.few.inline_size() {
            self.few.push(node);
        } else {
            self.more.insert(node);
        }
    }
}

/// A frame whose value may become another one.
pub(super) struct Repeating {
    pub frame: Head,
    /// The earlier values that it may become, if there are some; else it may become a declared key.
    pub candidates: Option<Candidates>,
}

impl StackWalk {
    /// Forgets what has to do with text, nodes and sets that are no more: `mark` and `n_sets` tell what is left.
    pub fn truncate(&mut self, mark: StacksMark, n_sets: u32) {
        let remains = |frame: &Head| mark.has(frame.node) && frame.register as u32 <= n_sets;
        // The candidates are those of the whole text.
        let is_text_left = self.before.n_bytes <= mark.n_bytes;
        self.repeating.retain(|repeating| is_text_left && remains(&repeating.frame));
        self.known_new.retain(|(frame, n_bytes)| *n_bytes <= mark.n_bytes && remains(frame));
    }
}

/// Returns the number of bytes of the longest suffix below a node.
pub(super) fn height(trie: &Trie, node: TrieNode) -> usize {
    match trie.height(node) {
        u8::MAX => usize::MAX,
        height => usize::from(height),
    }
}

/// Returns the most values that end within so many bytes, the one under way included.
pub(super) fn n_values_within(n_bytes: usize) -> usize {
    // Each is a byte at least, and so is the comma before it.
    n_bytes / 2 + 1
}

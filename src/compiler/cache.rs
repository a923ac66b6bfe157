//! The cache of what was compiled, by its source. A source is compiled once, even if many threads request it at the same time.
//!
//! A source that is being compiled has a cell in `pending`, on which further requests wait. An error is returned to all that waited
//! and not cached, so that a timeout does not outlive its compile. Beyond the bound in bytes what nobody asked for lately is
//! forgotten, little by little ([`BoundedMap`]).

use super::error::CompileError;
use super::options::CompileOptions;
use crate::compiled::{CompiledGrammar, CompiledSchema};
use crate::frontend::regex::RegexOptions;
use crate::grammar::SchemaOperand;
use crate::json_schema::SchemaOptions;
use crate::limits::Limits;
use crate::pass::CompileBudget;
use crate::structural_tag::TagOptions;
use crate::util::BoundedMap;
use ahash::{AHashMap, RandomState};
use core::hash::{Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a request waits for another thread's compile before it checks its own deadline.
const WAIT: Duration = Duration::from_millis(5);

/// What things are compiled from.
pub(super) trait Source: Eq + Hash {
    /// Returns about how much memory it takes beside itself, in bytes.
    fn memory_bytes(&self) -> usize;
}

/// What is compiled. Clones share it.
pub(super) trait Compiled: Clone {
    /// Returns about how much memory it takes, in bytes.
    fn memory_bytes(&self) -> usize;
}

impl Compiled for CompiledGrammar {
    fn memory_bytes(&self) -> usize {
        CompiledGrammar::memory_bytes(self)
    }
}

impl Compiled for Arc<CompiledSchema> {
    fn memory_bytes(&self) -> usize {
        // Its units take about as much as what they are built from.
        2 * CompiledSchema::memory_bytes(self)
    }
}

impl Source for SchemaOperand {
    fn memory_bytes(&self) -> usize {
        self.text().len()
    }
}

/// The source of a compiled grammar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum SourceKey {
    /// EBNF, and the root rule.
    Ebnf(Arc<str>, Box<str>),
    /// Lark.
    Lark(Arc<str>),
    /// A regular expression, and how it is read.
    Regex(Arc<str>, RegexOptions),
    /// A JSON Schema and its options; the same resolver is assumed to return the same documents.
    Schema(Arc<str>, Box<SchemaOptions>),
    /// A structural tag and its options, likewise.
    Tag(Arc<str>, Box<TagOptions>),
}

impl Source for SourceKey {
    fn memory_bytes(&self) -> usize {
        match self {
            SourceKey::Ebnf(text, root) => text.len() + root.len(),
            SourceKey::Lark(text) | SourceKey::Regex(text, _) => text.len(),
            SourceKey::Schema(text, options) => text.len() + size_of_val(&**options),
            SourceKey::Tag(text, options) => text.len() + size_of_val(&**options),
        }
    }
}

/// A source with its hash: a source may be of megabytes, and is looked up several times. Clones share it.
pub(super) struct HashedSource<S> {
    hash: u64,
    source: Arc<S>,
}

impl<S> Clone for HashedSource<S> {
    fn clone(&self) -> Self {
        HashedSource { hash: self.hash, source: Arc::clone(&self.source) }
    }
}

impl<S: Eq> PartialEq for HashedSource<S> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.source == other.source
    }
}

impl<S: Eq> Eq for HashedSource<S> {}

impl<S> Hash for HashedSource<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The outcome of a compile in progress, for the requests that wait for it.
struct PendingCell<T> {
    outcome: Mutex<Option<Result<T, CompileError>>>,
    is_done: Condvar,
}

struct Inner<S, T> {
    cached: BoundedMap<HashedSource<S>, T>,
    pending: AHashMap<HashedSource<S>, Arc<PendingCell<T>>>,
    hits: u64,
    misses: u64,
}

/// A cache of what was compiled from sources `S`.
pub(super) struct CompileCache<S, T> {
    bytes_max: usize,
    hasher: RandomState,
    inner: Mutex<Inner<S, T>>,
}

impl<S: Source, T: Compiled> CompileCache<S, T> {
    pub fn new(bytes_max: usize) -> Self {
        let cached = BoundedMap::new(bytes_max);
        let inner = Inner { cached, pending: AHashMap::new(), hits: 0, misses: 0 };
        CompileCache { bytes_max, hasher: RandomState::new(), inner: Mutex::new(inner) }
    }

    /// Returns a source with its hash.
    pub fn hashed(&self, source: S) -> HashedSource<S> {
        HashedSource { hash: self.hasher.hash_one(&source), source: Arc::new(source) }
    }

    /// Returns what a source was compiled to, if it is cached.
    pub fn find(&self, source: &HashedSource<S>) -> Option<T> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = inner.cached.get(source)?;
        inner.hits += 1;
        Some(compiled)
    }

    /// Returns what `source` is compiled to, from the cache or by `compile`. Without a cache, `source` is not called.
    pub fn get_or_compile(
        &self,
        source: impl FnOnce() -> S,
        options: &CompileOptions,
        compile: impl FnOnce() -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        match self.bytes_max {
            0 => compile(),
            _ => self.get_or_compile_hashed(&self.hashed(source()), options, compile),
        }
    }

    /// As [`Self::get_or_compile`].
    pub fn get_or_compile_hashed(
        &self,
        source: &HashedSource<S>,
        options: &CompileOptions,
        compile: impl FnOnce() -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if self.bytes_max == 0 {
            return compile();
        }
        let cell = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(compiled) = inner.cached.get(source) {
                inner.hits += 1;
                return Ok(compiled);
            }
            match inner.pending.get(source).cloned() {
                Some(cell) => Some(cell),
                None => {
                    inner.misses += 1;
                    let cell = PendingCell { outcome: Mutex::new(None), is_done: Condvar::new() };
                    inner.pending.insert(source.clone(), Arc::new(cell));
                    None
                }
            }
        };
        if let Some(cell) = cell {
            // While it waits, this request keeps to its own deadline and flag.
            let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), &Limits::default());
            let mut outcome = cell.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            while outcome.is_none() {
                budget.check()?;
                outcome = cell.is_done.wait_timeout(outcome, WAIT).unwrap_or_else(PoisonError::into_inner).0;
            }
            return match outcome.clone() {
                // The deadline or cancellation of another request does not concern this one.
                Some(Err(CompileError::Build(error))) if error.is_interrupted() => compile(),
                Some(outcome) => outcome,
                None => unreachable!("waited for the outcome"),
            };
        }
        let guard = CompileGuard { cache: self, source, is_finished: false };
        let outcome = compile();
        guard.finish(outcome.clone());
        outcome
    }

    /// Returns (hits, misses, bytes cached).
    pub fn stats(&self) -> (u64, u64, usize) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        (inner.hits, inner.misses, inner.cached.weight())
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.cached.clear();
    }

    /// Caches what was compiled, if the compile succeeded, and hands the outcome to all that wait.
    fn publish(&self, source: &HashedSource<S>, outcome: Result<T, CompileError>) {
        // Threads that compile the pieces of one grammar come here all the time: what takes a while is done outside of the lock.
        let bytes = outcome.as_ref().map_or(0, |compiled| compiled.memory_bytes() + 2 * source.source.memory_bytes());
        let cell = {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(compiled) = &outcome {
                inner.cached.insert(source.clone(), bytes, compiled.clone());
            }
            inner.pending.remove(source)
        };
        // A request that waits has the cell too, and none can get it any more. To wake nobody would still be a call of the operating system.
        if let Some(cell) = cell.filter(|cell| Arc::strong_count(cell) > 1) {
            *cell.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            cell.is_done.notify_all();
        }
    }
}

/// A guard of a compile in progress. If the compile panics, requests that wait get `cancelled` and compile for themselves.
struct CompileGuard<'a, S: Source, T: Compiled> {
    cache: &'a CompileCache<S, T>,
    source: &'a HashedSource<S>,
    is_finished: bool,
}

impl<S: Source, T: Compiled> CompileGuard<'_, S, T> {
    fn finish(mut self, outcome: Result<T, CompileError>) {
        self.is_finished = true;
        self.cache.publish(self.source, outcome);
    }
}

impl<S: Source, T: Compiled> Drop for CompileGuard<'_, S, T> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.cache.publish(self.source, Err(CompileError::Build(crate::pass::BuildError::cancelled())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GrammarCompiler;
    use super::*;
    use crate::vocab::Vocab;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    fn grammar() -> CompiledGrammar {
        let vocab = Vocab::from_tokens(["a"]).unwrap();
        GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= "a""#).unwrap()
    }

    fn key(n: usize) -> SourceKey {
        SourceKey::Regex(n.to_string().into(), RegexOptions::default())
    }

    #[test]
    fn many_threads_compile_once() {
        let (cache, n_compiles) = (CompileCache::new(1 << 20), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let compile = || {
                        n_compiles.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(30));
                        Ok(grammar())
                    };
                    cache.get_or_compile(|| key(1), &CompileOptions::default(), compile).unwrap();
                });
            }
        });
        assert_eq!(n_compiles.into_inner(), 1);
    }

    #[test]
    fn a_waiting_request_keeps_its_own_deadline_and_its_timeout_is_not_cached() {
        let cache = CompileCache::new(1 << 20);
        let is_started = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let compile = || {
                    is_started.store(1, Ordering::Release);
                    std::thread::sleep(Duration::from_millis(400));
                    Ok(grammar())
                };
                cache.get_or_compile(|| key(1), &CompileOptions::default(), compile).unwrap();
            });
            while is_started.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            let options =
                CompileOptions { deadline: Some(Instant::now() + Duration::from_millis(20)), cancelled: None };
            let waited = cache.get_or_compile(|| key(1), &options, || unreachable!("another compiles it"));
            assert!(matches!(waited, Err(CompileError::Build(error)) if error.is_interrupted()));
        });
        cache.get_or_compile(|| key(1), &CompileOptions::default(), || unreachable!("it is cached")).unwrap();
    }

    #[test]
    fn what_was_used_last_stays_and_a_panic_leaves_nothing_behind() {
        let options = CompileOptions::default();
        let one = grammar();
        let cache = CompileCache::new(2 * one.memory_bytes() + 100);
        let ask = |n| {
            let mut was_compiled = false;
            let compile = || {
                was_compiled = true;
                Ok(one.clone())
            };
            cache.get_or_compile(|| key(n), &options, compile).unwrap();
            was_compiled
        };
        assert!(ask(1) && ask(2) && !ask(1) && ask(3));
        assert!(!ask(1) && ask(2), "2 was used longest ago when 3 came");
        let panics =
            std::panic::AssertUnwindSafe(|| cache.get_or_compile(|| key(9), &options, || panic!("on purpose")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(ask(9), "the next one compiles");
    }
}

//! What every layer uses: typed indices, components of graphs and distances in them, byte sets, rows of bits, UTF-8, escapes and tokens of JSON, spans, a persistent list, caches, a hasher, mixed bits, a pool of workspaces, thresholds.

pub(crate) mod bit_row;
mod bounded_cache;
mod byte_set;
pub(crate) mod chunked;
mod closest_name;
mod components;
mod distances;
mod fold_hasher;
mod ids;
pub(crate) mod json_string;
mod json_tokens;
mod mixed;
mod pool;
mod ring_cache;
mod span;
mod threshold;
mod utf8_state;

pub(crate) use bounded_cache::{BoundedMap, BoundedTable};
pub use byte_set::ByteSet;
pub(crate) use closest_name::{closest_name, edit_distance};
pub(crate) use components::{Components, components};
pub(crate) use distances::distances_to_end;
pub(crate) use fold_hasher::FoldBuildHasher;
pub(crate) use ids::{Index, index_type};
pub(crate) use json_tokens::{JsonToken, json_tokens};
pub(crate) use mixed::mixed;
pub(crate) use pool::{Pool, set_lane};
pub(crate) use ring_cache::RingCache;
pub use span::Span;
pub(crate) use threshold::Threshold;
#[cfg(feature = "testing")]
pub use threshold::set_small_thresholds;
pub(crate) use utf8_state::Utf8State;

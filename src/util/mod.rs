//! Small parts that every layer uses: typed indices, byte sets, spans, chunked history, last answers, fingerprints, spare memory.

mod byte_set;
pub(crate) mod chunked;
mod ids;
mod nearest;
mod prints;
mod ring;
mod span;
mod spares;

pub use byte_set::ByteSet;
pub(crate) use ids::index_type;
pub(crate) use nearest::nearest;
pub(crate) use prints::PrintBuilder;
pub(crate) use ring::Ring;
pub use span::Span;
pub(crate) use spares::Spares;

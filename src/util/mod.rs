//! Small parts that every layer uses: typed indices, byte sets, spans, bit kernels, chunked history.

mod byte_set;
pub(crate) mod chunked;
mod ids;
mod nearest;
mod span;

pub use byte_set::ByteSet;
pub(crate) use ids::index_type;
pub(crate) use nearest::nearest;
pub use span::Span;

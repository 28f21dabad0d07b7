//! Twins of traces: tables of what a trace did, and requests made from them.
//!
//! [`Profile::fit`] reads a source once and counts; [`Twin`] makes requests of the counts. No
//! address and no time stamp of the source is in a profile.
//!
//! # What is counted
//!
//! Each request is a symbol: its operation, and the classes of its size, of the gap before it, of
//! its place (`history.rs`) and of the load that earlier requests put on a simple device. The trace
//! is cut into at most 256 segments of equal numbers of requests, 32 or more, of which the duration
//! and the numbers of requests by operation and length of gap are kept; and neighbouring segments
//! are joined into phases, of which all moves from one symbol to the next are counted. Besides,
//! over the whole trace: the sizes of each operation, 16 quantile bins of each class of gaps, the
//! ranks of each kind of places, offsets in chunks, alignment, and the span. Streams and flags of
//! requests are left out: a twin is one stream.
//!
//! # How requests are made
//!
//! A twin passes each symbol as often as it was counted, segment by segment as many of each trait,
//! by the moves that were counted as far as that is possible (`walk.rs`); sizes, gaps and places
//! are dealt like cards (`deck.rs`). So a twin as long as the trace has the same number of requests
//! of each operation, the same sizes and the same duration, whatever the seed. A twin of another
//! length has segments of other lengths in the same proportion, at the same rates.
//!
//! Gaps are stretched so that each segment lasts as long as it did, the longest pauses first; and a
//! request waits up to a quarter of a second for a device that would be busier with earlier
//! requests than it was in the trace, because applications wait for answers.
//!
//! The requests depend on the profile, the keys and the seed only, and are the same on every
//! machine. Each part has its own stream of random numbers ([`SplitMix64::stream`]; purposes 1
//! moves, 2 sizes, 3 gaps, 4 places). For each request but the last, in this order: the move to the
//! next request, one draw; its own size, one draw; the gap to the next, two (bin, place in the
//! bin); its place (`places.rs`). The draws of a segment are made twice alike: first to add up its
//! gaps. A flush has neither size nor place.
//!
//! [`SplitMix64::stream`]: crate::random::SplitMix64::stream

mod check;
mod classes;
mod deck;
mod fit;
mod gaps;
mod history;
mod keys;
mod phases;
mod places;
mod tables;
mod text;
mod touched;
mod twin;
mod walk;

pub use self::check::MAX_SPAN_SECTORS;
pub use self::fit::Fitter;
pub use self::keys::ProfileKeys;
pub use self::tables::{Gaps, Phase, Places, Profile, Segment, Sizes};
pub use self::twin::Twin;

#[cfg(test)]
mod tests;

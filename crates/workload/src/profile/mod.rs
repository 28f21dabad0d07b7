//! Twins of traces: tables of what a trace did, and requests made from them.
//!
//! [`Profile::fit`] reads a source once and counts; [`Twin`] makes requests of the counts. No
//! address and no time stamp of the source is in a profile. See [`tables`] for what is.
//!
//! # What is counted
//!
//! Each request is a symbol: its operation, and the classes of its size, of the gap before it and of
//! its place (`classes.rs`, `history.rs`). The trace is cut into phases of equal numbers of
//! requests; each phase has the counts of all moves from one symbol to the next and its duration.
//! Besides, over the whole trace: the sizes of each operation and class, 16 quantile bins of each
//! class of gaps, the ranks of each kind of places, offsets in chunks, alignment, and the span.
//!
//! # How requests are made
//!
//! A phase of the twin walks over all moves of that phase, each as often as it was counted, in a
//! random order ([`walk`]); sizes, gaps and places are dealt like cards ([`deck`]). So a twin as
//! long as the trace has the same number of requests of each operation, the same sizes, the same
//! moves and the same duration, in each phase, whatever the seed. A twin of another length has
//! phases of other lengths in the same proportion, at the same rates.
//!
//! The requests depend on the profile, the keys and the seed only, and are the same on every
//! machine. Each part has its own stream of random numbers ([`SplitMix64::stream`]; purposes 1
//! moves, 2 sizes, 3 gaps, 4 places). For each request, in this order: its move; its size, one
//! draw; its gap, two (bin, place in the bin); its place (`places.rs`). The gaps of a phase are
//! drawn twice alike: first to add them up, then to stretch the pauses to the phase's duration. A
//! flush has neither size nor place.
//!
//! [`SplitMix64::stream`]: crate::random::SplitMix64::stream
//! [`tables`]: self::tables
//! [`walk`]: self::walk
//! [`deck`]: self::deck

mod classes;
mod deck;
mod fit;
mod gaps;
mod history;
mod keys;
mod phases;
mod places;
mod tables;
mod touched;
mod twin;
mod walk;

pub use self::keys::ProfileKeys;
pub use self::tables::{Gaps, Phase, Places, Profile, Segment, Sizes};
pub use self::twin::Twin;

#[cfg(test)]
mod tests;

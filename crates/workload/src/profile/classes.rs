//! The classes of gaps, sizes, places and ranks that a profile counts in.

use flashyard_core::request::RequestOp;

/// Upper bounds (exclusive) of the classes of the time before a request, in nanoseconds; the last
/// class has none. Chosen so that reads (tens of microseconds), writes (milliseconds), a person's
/// pauses and timers of some seconds are told apart.
pub(super) const GAP_BOUNDS_NS: [u64; 12] = [
    20_000,
    60_000,
    200_000,
    700_000,
    2_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    1_500_000_000,
    4_000_000_000,
    12_000_000_000,
];

/// Upper bounds (inclusive) of the classes of sizes, in sectors; the last class has none.
pub(super) const SIZE_BOUNDS: [u64; 7] = [8, 16, 32, 64, 128, 256, 1_024];

/// Bounds that are given up, one after the other, where there are too many moves.
pub(super) const GIVEN_UP: [Bound; 9] = [
    Bound::Gap(20_000),
    Bound::Size(1_024),
    Bound::Size(16),
    Bound::Gap(12_000_000_000),
    Bound::Size(64),
    Bound::Gap(200_000),
    Bound::Gap(5_000_000),
    Bound::Size(128),
    Bound::Gap(4_000_000_000),
];

/// A bound between two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Of gaps.
    Gap(u64),
    /// Of sizes.
    Size(u64),
}

/// From this length on, gaps are stretched to keep the duration: pauses, not gaps inside bursts.
pub(super) const PAUSE_NS: u64 = 15_000_000;

/// Upper bounds (exclusive) of the gaps that segments count apart.
const PACE_BOUNDS_NS: [u64; 5] = [700_000, 5_000_000, 60_000_000, 300_000_000, 1_500_000_000];
/// Traits of a symbol that segments count: whether it is a read, and its pace.
pub(super) const TRAITS: usize = 2 * (PACE_BOUNDS_NS.len() + 1);

/// The trait of a request of this operation with a gap of this class before it; `bounds` are those
/// of the classes.
pub(super) fn trait_of(op: u64, gap_class: u64, bounds: &[u64]) -> usize {
    let class = usize::try_from(gap_class).expect("classes were checked");
    // The least gap of a class decides, so that it does not matter which bounds were given up.
    let least = class.checked_sub(1).map_or(0, |below| bounds[below]);
    let pace = PACE_BOUNDS_NS.partition_point(|&bound| bound <= least);
    2 * pace + usize::from(op != RequestOp::Read as u64)
}

/// Operations.
pub(super) const OPS: usize = RequestOp::ALL.len();

/// Kinds of places.
pub(super) const KINDS: usize = 4;
/// The end of a run, the range behind it not touched yet.
pub(super) const RUN_ON: usize = 0;
/// The end of a run, the range behind it touched before.
pub(super) const RUN_OVER: usize = 1;
/// An earlier start.
pub(super) const AGAIN: usize = 2;
/// Anywhere else.
pub(super) const ELSEWHERE: usize = 3;

/// Classes of ranks: 0 to 3, then two an octave up to [`REMEMBERED`].
pub(super) const RANKS: usize = 4 + 2 * 10;
/// Distinct places of a sort that are remembered.
pub(super) const REMEMBERED: usize = 4_096;

/// The class of a gap.
pub(super) fn gap_class(gap_ns: u64) -> usize {
    GAP_BOUNDS_NS.partition_point(|&bound| bound <= gap_ns)
}

/// The class of a size, between `bounds`.
pub(super) fn size_class(sectors: u64, bounds: &[u64]) -> usize {
    bounds.partition_point(|&bound| bound < sectors)
}

/// The class of a rank below [`REMEMBERED`].
pub(super) fn rank_class(rank: usize) -> usize {
    if rank < 4 {
        return rank;
    }
    let octave = rank.ilog2() as usize;
    let half = (rank >> (octave - 1)) & 1;
    2 * octave + half
}

/// The first rank of a class and how many ranks it has.
pub(super) fn ranks_of(class: usize) -> (usize, usize) {
    if class < 4 {
        return (class, 1);
    }
    let (octave, half) = (class / 2, class % 2);
    ((2 + half) << (octave - 1), 1 << (octave - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_ranks_have_no_gap() {
        let mut next = 0;
        for class in 0..RANKS {
            let (first, count) = ranks_of(class);
            assert_eq!(first, next);
            for rank in first..first + count {
                assert_eq!(rank_class(rank), class);
            }
            next = first + count;
        }
        assert_eq!(next, REMEMBERED);
    }

    #[test]
    fn bounds_belong_to_the_class_that_the_docs_say() {
        assert_eq!([gap_class(0), gap_class(19_999), gap_class(20_000)], [0, 0, 1]);
        assert_eq!(gap_class(u64::MAX), GAP_BOUNDS_NS.len());
        assert_eq!([1, 8, 9, 2_000].map(|size| size_class(size, &SIZE_BOUNDS)), [0, 0, 1, 7]);
    }

    #[test]
    fn no_bound_is_given_up_that_others_need() {
        for bound in PACE_BOUNDS_NS.into_iter().chain([PAUSE_NS]) {
            assert!(GAP_BOUNDS_NS.contains(&bound) && !GIVEN_UP.contains(&Bound::Gap(bound)));
        }
        let gaps = GIVEN_UP.iter().filter_map(|bound| match bound {
            Bound::Gap(bound) => Some(*bound),
            Bound::Size(_) => None,
        });
        assert!(gaps.clone().all(|bound| GAP_BOUNDS_NS.contains(&bound)));
        assert_eq!(trait_of(0, 0, &GAP_BOUNDS_NS), 0);
        assert_eq!(trait_of(1, 12, &GAP_BOUNDS_NS), TRAITS - 1);
    }
}

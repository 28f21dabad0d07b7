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

/// Upper bounds (exclusive) of the classes of the load that a request meets, in nanoseconds of
/// work; the last class has none.
pub(super) const LOAD_BOUNDS_NS: [u64; 6] =
    [1, 2_000_000, 10_000_000, 50_000_000, 250_000_000, 2_000_000_000];

/// Time that a page of 4 KiB takes to read and to write on the device that loads are measured with.
/// Assumed: those of a phone's flash, as in Lee et al., IEEE Access 2021.
const PAGE_WORK_NS: [u64; 2] = [60_000, 700_000];

/// The work of a request.
pub(super) fn work_ns(op: RequestOp, pages: u64) -> u64 {
    match op {
        RequestOp::Read => PAGE_WORK_NS[0] * pages,
        RequestOp::Write => PAGE_WORK_NS[1] * pages,
        RequestOp::Trim | RequestOp::Flush => 0,
    }
}

/// Bounds that are given up, one after the other, where there are too many moves.
pub(super) const GIVEN_UP: [Bound; 12] = [
    Bound::Gap(20_000),
    Bound::Size(1_024),
    Bound::Size(16),
    Bound::Gap(4_000_000_000),
    Bound::Size(64),
    Bound::Load(2_000_000),
    Bound::Gap(200_000),
    Bound::Size(256),
    Bound::Gap(15_000_000),
    Bound::Size(32),
    Bound::Load(250_000_000),
    Bound::Load(1),
];

/// A bound between two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Of gaps.
    Gap(u64),
    /// Of sizes.
    Size(u64),
    /// Of loads.
    Load(u64),
}

/// Upper bounds (exclusive) of the gaps that segments count apart.
const PACE_BOUNDS_NS: [u64; 6] =
    [700_000, 5_000_000, 60_000_000, 300_000_000, 1_500_000_000, 12_000_000_000];
/// Classes of gaps that segments count apart.
pub(super) const PACES: usize = PACE_BOUNDS_NS.len() + 1;
/// Sizes (inclusive) up to which a request is small, in sectors.
const SMALL_SECTORS: u64 = 128;
/// Traits of a symbol that segments count: its pace, and whether it is a read, a large write or
/// anything else.
pub(super) const TRAITS: usize = 3 * PACES;

/// The trait of a request: of this operation, with a gap and a size of classes that start here.
pub(super) fn trait_of(op: u64, least_gap_ns: u64, sectors_below: u64) -> usize {
    let sort = match RequestOp::ALL[usize::try_from(op).expect("operations were checked")] {
        RequestOp::Read => 0,
        RequestOp::Write if sectors_below >= SMALL_SECTORS => 2,
        _ => 1,
    };
    3 * pace_of(least_gap_ns) + sort
}

/// The pace of a gap.
pub(super) fn pace_of(gap_ns: u64) -> usize {
    PACE_BOUNDS_NS.partition_point(|&bound| bound <= gap_ns)
}

/// The range that a class between exclusive upper bounds covers; the end is not part of it.
pub(super) fn range_of(class: u64, bounds: &[u64]) -> (u64, u64) {
    let class = usize::try_from(class).expect("classes were checked");
    let least = class.checked_sub(1).map_or(0, |below| bounds[below]);
    (least, bounds.get(class).copied().unwrap_or(u64::MAX))
}

/// Operations.
pub(super) const OPS: usize = RequestOp::ALL.len();

/// Kinds of places.
pub(super) const KINDS: usize = 5;
/// The end of the latest run, where the request ends in a page that was not touched yet.
pub(super) const RUN_ON: usize = 0;
/// The end of the latest run, where it ends in a touched page.
pub(super) const RUN_OVER: usize = 1;
/// The end of another run.
pub(super) const RUN_OTHER: usize = 2;
/// An earlier start.
pub(super) const AGAIN: usize = 3;
/// Anywhere else.
pub(super) const ELSEWHERE: usize = 4;

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
        for bound in PACE_BOUNDS_NS {
            assert!(GAP_BOUNDS_NS.contains(&bound) && !GIVEN_UP.contains(&Bound::Gap(bound)));
        }
        let gaps = GIVEN_UP.iter().filter_map(|bound| match bound {
            Bound::Gap(bound) => Some(*bound),
            Bound::Size(_) | Bound::Load(_) => None,
        });
        assert!(gaps.clone().all(|bound| GAP_BOUNDS_NS.contains(&bound)));
        assert!(SIZE_BOUNDS.contains(&SMALL_SECTORS));
        assert!(!GIVEN_UP.contains(&Bound::Size(SMALL_SECTORS)));
        assert_eq!(trait_of(0, 0, 0), 0);
        assert_eq!(trait_of(1, u64::MAX, 128), TRAITS - 1);
    }
}

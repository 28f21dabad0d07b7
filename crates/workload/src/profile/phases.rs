//! Segments and phases of a trace whose length is not known before its end.

use std::collections::BTreeMap;

use super::tables::{Phase, Segment};

/// Requests of a segment at first.
const LEAST_REQUESTS: u64 = 32;
/// Segments that are kept while reading; then each two become one.
const MOST_SEGMENTS: usize = 256;

/// Moves between symbols, counted.
pub(super) type MoveCounts = BTreeMap<(u16, u16), u64>;

/// Counts of one segment, or of several.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) duration_ns: u64,
    pub(super) moves: MoveCounts,
}

impl Counts {
    fn join(&mut self, next: Self) {
        self.requests += next.requests;
        self.duration_ns += next.duration_ns;
        for (key, count) in next.moves {
            *self.moves.entry(key).or_default() += count;
        }
    }

    /// The same with other symbols.
    fn rename(&self, names: &[u16]) -> Self {
        let mut moves = MoveCounts::new();
        for (&(from, to), &count) in &self.moves {
            let key = (names[usize::from(from)], names[usize::from(to)]);
            *moves.entry(key).or_default() += count;
        }
        Self { moves, ..*self }
    }
}

/// What a profile's phases may be like at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Requests that a phase has at least, where the trace has as many.
    pub(super) least_requests: u64,
    /// Distinct moves of all phases together.
    pub(super) most_moves: usize,
}

/// Counts of moves, segment by segment.
#[derive(Clone, Debug)]
pub(super) struct SegmentCounts {
    done: Vec<Counts>,
    current: Counts,
    segment_requests: u64,
}

impl SegmentCounts {
    pub(super) fn new() -> Self {
        Self { done: Vec::new(), current: Counts::default(), segment_requests: LEAST_REQUESTS }
    }

    pub(super) fn add(&mut self, from: u16, to: u16, gap_ns: u64) {
        if self.current.requests == self.segment_requests {
            self.done.push(std::mem::take(&mut self.current));
            if self.done.len() == MOST_SEGMENTS {
                self.halve();
            }
        }
        self.current.requests += 1;
        self.current.duration_ns += gap_ns;
        *self.current.moves.entry((from, to)).or_default() += 1;
    }

    fn halve(&mut self) {
        let mut segments = std::mem::take(&mut self.done).into_iter();
        while let Some(mut segment) = segments.next() {
            if let Some(next) = segments.next() {
                segment.join(next);
            }
            self.done.push(segment);
        }
        self.segment_requests *= 2;
    }

    /// All segments.
    pub(super) fn finish(mut self) -> Vec<Counts> {
        if self.current.requests > 0 {
            self.done.push(self.current);
        }
        self.done
    }
}

/// How many distinct moves there are in all.
pub(super) fn distinct_moves(segments: &[Counts], names: &[u16]) -> usize {
    let mut all = Counts::default();
    for segment in segments {
        all.join(segment.rename(names));
    }
    all.moves.len()
}

/// Segments as phases, joined until they keep the limits: always the two neighbours that have the
/// fewest requests together, the first such ones. `traits` are those of the symbols under their new
/// names, below `trait_count`.
pub(super) fn phases(
    segments: &[Counts],
    names: &[u16],
    traits: &[usize],
    trait_count: usize,
    limits: Limits,
) -> Vec<Phase> {
    let mut joined: Vec<(Counts, Vec<Segment>)> = segments
        .iter()
        .map(|segment| {
            let segment = segment.rename(names);
            let mut counts = vec![0; trait_count];
            for (&(_, to), &count) in &segment.moves {
                counts[traits[usize::from(to)]] += count;
            }
            let row = Segment { duration_ns: segment.duration_ns, counts };
            (segment, vec![row])
        })
        .collect();
    while joined.len() > 1 {
        let moves: usize = joined.iter().map(|(counts, _)| counts.moves.len()).sum();
        let short = joined.iter().any(|(counts, _)| counts.requests < limits.least_requests);
        if moves <= limits.most_moves && !short {
            break;
        }
        let pair = |&first: &usize| joined[first].0.requests + joined[first + 1].0.requests;
        let first = (0..joined.len() - 1).min_by_key(pair).expect("two or more");
        let (next, rows) = joined.remove(first + 1);
        joined[first].0.join(next);
        joined[first].1.extend(rows);
    }
    let phase = |(counts, segments): (Counts, _)| Phase { segments, moves: rows(&counts.moves) };
    joined.into_iter().map(phase).collect()
}

/// Moves as rows of a symbol and pairs of a next symbol and its count.
fn rows(moves: &MoveCounts) -> Vec<Vec<u64>> {
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for (&(from, to), &count) in moves {
        let from = u64::from(from);
        if rows.last().is_none_or(|row| row[0] != from) {
            rows.push(vec![from]);
        }
        rows.last_mut().expect("just pushed").extend([u64::from(to), count]);
    }
    rows
}

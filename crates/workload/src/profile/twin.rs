//! Requests made of a profile.

use std::sync::Arc;

use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;

use super::classes::{OPS, PAUSE_NS, TRAITS, size_class, trait_of};
use super::deck::Deck;
use super::gaps::GapDecks;
use super::keys::ProfileKeys;
use super::places::Places;
use super::tables::Profile;
use super::walk::{Guide, Walk};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{RequestSource, SourceStats};

/// Sectors of a MiB.
const MIB_SECTORS: u64 = 2_048;

/// The twin of a trace, as a stream of requests.
#[derive(Clone, Debug)]
pub struct Twin {
    profile: Arc<Profile>,
    requests: u64,
    position: Position,
    chain: Chain,
    clock: Clock,
    /// By operation and class of size.
    sizes: Vec<Deck>,
    size_random: SplitMix64,
    places: Places,
    time_scale: u64,
    stats: SourceStats,
}

/// Which segment the twin is in.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    phase: usize,
    segment: usize,
    /// Moves of the trace up to the end of the segment.
    fitted: u64,
    /// Requests of the segment that are still to come.
    left: u64,
}

/// Symbols and the gaps before them.
#[derive(Clone, Debug)]
struct Chain {
    walk: Walk,
    guide: Guide,
    /// The symbol that the phase started behind.
    start: usize,
    at: usize,
    random: SplitMix64,
    gaps: GapDecks,
}

impl Chain {
    fn new(profile: &Profile, seed: u64) -> Self {
        let mut random = SplitMix64::stream(seed, 1);
        let kind = |symbol: &[u64; 4]| trait_of(symbol[0], symbol[2], &profile.gap_bounds_ns);
        let mut guide = Guide::new(profile.symbols.iter().map(kind).collect(), TRAITS);
        let start = index(profile.first);
        let walk = Walk::new(&[], start, &mut guide, &mut random);
        let gaps = GapDecks::new(&profile.gaps, SplitMix64::stream(seed, 3));
        Self { walk, guide, start, at: start, random, gaps }
    }

    /// Starts a walk over the moves of a phase.
    fn start(&mut self, profile: &Profile, phase: usize) {
        let moves = &profile.phase[phase].moves;
        self.walk = Walk::new(moves, self.start, &mut self.guide, &mut self.random);
    }

    /// Goes to the next symbol and returns the gap before it.
    fn next(&mut self, profile: &Profile, phase: usize) -> u64 {
        if self.walk.left() == 0 {
            self.start(profile, phase);
        }
        self.at = self.walk.next(&mut self.guide, &mut self.random).expect("a phase has moves");
        self.gaps.draw(index(profile.symbols[self.at][2]))
    }
}

/// Turns gaps into times so that a segment ends when it should.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    start_ns: u128,
    duration_ns: u128,
    /// So far, and of the whole segment.
    sums: Sums,
    totals: Sums,
}

/// What gaps add up to: those inside bursts, and pauses.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    gaps: u128,
    pauses: u128,
}

impl Sums {
    fn add(&mut self, gap_ns: u64) {
        if gap_ns < PAUSE_NS {
            self.gaps += u128::from(gap_ns);
        } else {
            self.pauses += u128::from(gap_ns);
        }
    }
}

impl Clock {
    /// Pauses are stretched if there are any and there is room for the other gaps; otherwise all
    /// gaps are. No sum reaches 2^64, so no product overflows.
    fn now(&self) -> u128 {
        let Self { start_ns, duration_ns, sums, totals } = self;
        if totals.pauses > 0 && totals.gaps < *duration_ns {
            let room = duration_ns - totals.gaps;
            start_ns + sums.gaps + sums.pauses * room / totals.pauses
        } else {
            let all = (totals.gaps + totals.pauses).max(1);
            start_ns + (sums.gaps + sums.pauses) * duration_ns / all
        }
    }
}

impl Twin {
    /// The requests of a profile for these keys and this seed, on a device of this capacity.
    pub fn new(
        profile: Arc<Profile>,
        keys: &ProfileKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let span = span(&profile, keys, capacity_sectors)?;
        let classes = profile.size_bounds.len() + 1;
        let mut sizes = vec![Deck::default(); OPS * classes];
        for table in &profile.sizes {
            for &card in &table.sectors {
                let class = size_class(card[0], &profile.size_bounds);
                sizes[index(table.op) * classes + class].add(card);
            }
        }
        Ok(Self {
            requests: if keys.requests == 0 { profile.requests() } else { keys.requests },
            position: Position::default(),
            chain: Chain::new(&profile, seed),
            clock: Clock::default(),
            sizes,
            size_random: SplitMix64::stream(seed, 2),
            places: Places::new(&profile.places, span, SplitMix64::stream(seed, 4)),
            time_scale: keys.time_scale,
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
            profile,
        })
    }

    /// Goes to the next segment that has requests in a twin of this length.
    fn next_segment(&mut self) {
        let fitted_all = u128::from((self.profile.requests() - 1).max(1));
        let moves = u128::from(self.requests - 1);
        let share = |fitted: u64| {
            let part = moves * u128::from(fitted) / fitted_all;
            u64::try_from(part).expect("a part of the requests")
        };
        while self.position.left == 0 {
            let Position { phase, segment, fitted, .. } = self.position;
            if segment == 0 {
                self.chain.start = self.chain.at;
                self.chain.start(&self.profile, phase);
            }
            let row = &self.profile.phase[phase].segments[segment];
            let behind = fitted + row.requests();
            let left = share(behind) - share(fitted);
            let duration_ns =
                u128::from(row.duration_ns) * u128::from(left) / u128::from(row.requests());
            self.chain.guide.want(&row.counts);
            self.position = Position { phase, segment, fitted: behind, left };
            self.clock = Clock {
                start_ns: self.clock.start_ns + self.clock.duration_ns,
                duration_ns,
                sums: Sums::default(),
                totals: self.measure(),
            };
            self.position.segment += 1;
            if self.position.segment == self.profile.phase[phase].segments.len() && left == 0 {
                (self.position.phase, self.position.segment) = (phase + 1, 0);
            }
        }
    }

    /// What the gaps of the segment will add up to.
    fn measure(&self) -> Sums {
        let mut chain = self.chain.clone();
        let mut sums = Sums::default();
        for _ in 0..self.position.left {
            sums.add(chain.next(&self.profile, self.position.phase));
        }
        sums
    }
}

impl RequestSource for Twin {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.stats.requests == self.requests {
            return Ok(None);
        }
        if self.stats.requests > 0 {
            if self.position.left == 0 {
                let phase = &self.profile.phase[self.position.phase];
                if self.position.segment == phase.segments.len() {
                    (self.position.phase, self.position.segment) = (self.position.phase + 1, 0);
                }
            }
            self.next_segment();
            let gap = self.chain.next(&self.profile, self.position.phase);
            self.clock.sums.add(gap);
            self.position.left -= 1;
        }
        self.stats.requests += 1;
        let now = self.clock.now() * u128::from(self.time_scale) / 1_000_000;
        let arrival = u64::try_from(now).expect("times were checked");
        let [op, size, _, kind] = self.profile.symbols[self.chain.at].map(index);
        let (mut first_sector, mut sectors) = (0, 0);
        if RequestOp::ALL[op] != RequestOp::Flush {
            let sizes = &mut self.sizes[op * (self.profile.size_bounds.len() + 1) + size];
            let card = sizes.deal(&mut self.size_random).expect("sizes were checked");
            sectors = u32::try_from(card).expect("sizes were checked");
            first_sector = self.places.draw(op, kind, sectors);
        }
        Ok(Some(Request {
            arrival: Time::from_ns(arrival),
            first_sector,
            sectors,
            stream: 0,
            op: RequestOp::ALL[op],
            flags: Flags::NONE,
        }))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }
}

/// The span of the addresses, in sectors.
fn span(
    profile: &Profile,
    keys: &ProfileKeys,
    capacity: Option<u64>,
) -> Result<u64, WorkloadError> {
    let span = if keys.span_mib == 0 { profile.span_sectors } else { keys.span_mib * MIB_SECTORS };
    let _ = capacity;
    Ok(span)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("tables were checked")
}

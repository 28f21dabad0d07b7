//! Requests made of a profile.

use std::sync::Arc;

use flashyard_core::request::{LAST_ARRIVAL, Request, RequestOp};
use flashyard_core::units::Time;

use super::classes::{
    OPS, PACES, RUN_ON, RUN_OVER, TRAITS, pace_of, range_of, size_class, trait_of, work_ns,
};
use super::deck::Deck;
use super::gaps::GapDecks;
use super::history::PAGE_SECTORS;
use super::keys::ProfileKeys;
use super::places::Places;
use super::tables::{Profile, Segment};
use super::walk::{Guide, Traits, Walk};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::{Extent, RequestSource, SourceStats};

/// How much later than planned a request arrives at most.
const MOST_LATE_NS: u64 = 250_000_000;

/// The same in mean gaps: requests that come faster than any device answers do not wait for it.
/// Assumed: as many as a queue is deep.
const MOST_LATE_GAPS: u64 = 128;

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
    /// Of the next request.
    arrival_ns: u64,
    /// The load that the next request would meet if it came at once.
    load_ns: u64,
    /// The last arrival.
    end_ns: u64,
    places: Places,
    time_scale: u64,
    /// How much later than planned a request arrives at most.
    most_late_ns: u64,
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

/// What happens, when and how much; not where.
#[derive(Clone, Debug)]
struct Chain {
    walk: Walk,
    guide: Guide,
    /// The symbol that the phase started behind.
    start: usize,
    at: usize,
    random: SplitMix64,
    gaps: GapDecks,
    /// By operation and class of size.
    sizes: Vec<Deck>,
    size_random: SplitMix64,
    /// Whether requests start at pages of 4 KiB.
    aligned: bool,
}

impl Chain {
    fn new(profile: &Profile, seed: u64) -> Self {
        let random = SplitMix64::stream(seed, 1);
        let traits = |symbol: &[u64; 5]| Traits {
            number: trait_of(
                symbol[0],
                range_of(symbol[2], &profile.gap_bounds_ns).0,
                range_of(symbol[1], &profile.size_bounds).0,
            ),
            gap: range_of(symbol[2], &profile.gap_bounds_ns),
            load: range_of(symbol[4], &profile.load_bounds_ns),
        };
        let mut guide = Guide::new(profile.symbols.iter().map(traits).collect(), TRAITS);
        let start = index(profile.first);
        let walk = Walk::new(&[], start, &mut guide);
        let gaps = GapDecks::new(&profile.gaps, SplitMix64::stream(seed, 3));
        let classes = profile.size_bounds.len() + 1;
        let mut sizes = vec![Deck::default(); OPS * classes];
        for table in &profile.sizes {
            for &card in &table.sectors {
                let class = size_class(card[0], &profile.size_bounds);
                sizes[index(table.op) * classes + class].add(card);
            }
        }
        let size_random = SplitMix64::stream(seed, 2);
        let aligned = profile.is_aligned();
        Self { walk, guide, start, at: start, random, gaps, sizes, size_random, aligned }
    }

    /// Starts a walk over the moves of a phase.
    fn start(&mut self, profile: &Profile, phase: usize) {
        let moves = &profile.phase[phase].moves;
        self.walk = Walk::new(moves, self.start, &mut self.guide);
    }

    /// Goes to the next symbol. Returns the size of the request of the symbol before and the gap
    /// between the two: rather one after which the next request meets the load that it should.
    fn next(&mut self, profile: &Profile, phase: usize) -> (u32, u64) {
        if self.walk.left() == 0 {
            self.start(profile, phase);
        }
        let before = self.at;
        self.at = self.walk.next(&mut self.guide, &mut self.random).expect("a phase has moves");
        let kind = index(profile.symbols[self.at][3]);
        let goes_on = self.aligned && (kind == RUN_ON || kind == RUN_OVER);
        let sectors = self.size(profile, before, goes_on);
        let (least, most) = self.guide.symbols[self.at].gaps(self.guide.load_ns);
        let gap = self.gaps.draw(index(profile.symbols[self.at][2]), least, most);
        self.guide.load_ns = self.guide.load_ns.saturating_sub(gap);
        (sectors, gap)
    }

    /// Draws the size of a request of this symbol. If the next request `goes_on` where this one
    /// ends, it prefers whole pages, so that starts keep their alignment.
    fn size(&mut self, profile: &Profile, symbol: usize, goes_on: bool) -> u32 {
        let [op, size, ..] = profile.symbols[symbol].map(index);
        if RequestOp::ALL[op] == RequestOp::Flush {
            return 0;
        }
        let sizes = &mut self.sizes[op * (profile.size_bounds.len() + 1) + size];
        let suits = |size: u64| !self.aligned || goes_on == size.is_multiple_of(PAGE_SECTORS);
        let sectors = sizes.deal_if(&mut self.size_random, suits).expect("sizes were checked");
        let work = work_ns(RequestOp::ALL[op], sectors.div_ceil(PAGE_SECTORS));
        self.guide.load_ns = self.guide.load_ns.saturating_add(work);
        u32::try_from(sectors).expect("sizes were checked")
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
    /// Gaps of this pace and longer ones are stretched.
    from: usize,
}

/// What gaps add up to, by pace.
type Sums = [u128; PACES];

/// The first pace that is a pause, not a gap inside a burst.
const FIRST_PAUSE: usize = 2;

impl Clock {
    fn new(start_ns: u128, duration_ns: u128, totals: Sums) -> Self {
        // The longest pauses are stretched, if that does not make them much shorter; otherwise
        // shorter ones too, and where there are no pauses all gaps.
        let fixed = |from: usize| totals[..from].iter().sum::<u128>();
        let from = (FIRST_PAUSE..PACES).rev().find(|&from| {
            let stretched = totals[from..].iter().sum::<u128>();
            stretched > 0 && fixed(from) + stretched / 2 <= duration_ns
        });
        let pauses = totals[FIRST_PAUSE..].iter().sum::<u128>();
        let any = if pauses > 0 && fixed(FIRST_PAUSE) < duration_ns { FIRST_PAUSE } else { 0 };
        Self { start_ns, duration_ns, sums: Sums::default(), totals, from: from.unwrap_or(any) }
    }

    fn add(&mut self, gap_ns: u64) {
        self.sums[pace_of(gap_ns)] += u128::from(gap_ns);
    }

    /// The time that the sums so far stand for.
    fn now(&self) -> u128 {
        let parts = |sums: &Sums| {
            let (fixed, stretched) = sums.split_at(self.from);
            (fixed.iter().sum::<u128>(), stretched.iter().sum::<u128>())
        };
        let ((fixed, stretched), (all_fixed, all)) = (parts(&self.sums), parts(&self.totals));
        self.start_ns + fixed + part_of(self.duration_ns - all_fixed, stretched, all)
    }
}

/// `span * part / all`, where part <= all and span < 2^64; large sums are rounded so that it fits.
fn part_of(span: u128, part: u128, all: u128) -> u128 {
    let shift = (128 - all.leading_zeros()).saturating_sub(64);
    span * (part >> shift) / (all >> shift).max(1)
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
        let requests = if keys.requests == 0 { profile.requests() } else { keys.requests };
        if profile.phase.is_empty() && requests > 1 {
            return Err(WorkloadError::Key {
                key: "profile.requests",
                what: format!("{requests} requests cannot be made after a trace of one"),
                fix: "fit a longer trace, or leave it 0".to_owned(),
            });
        }
        let end_ns = end_ns(&profile, requests);
        // Also before they are scaled: a small scale must not hide times that have no room.
        let too_late = |key, fix: &str| {
            let what = "the last request arrives past 146 years".to_owned();
            Err(WorkloadError::Key { key, what, fix: fix.to_owned() })
        };
        let last_ns = LAST_ARRIVAL.as_ns();
        if end_ns > last_ns {
            return too_late("profile.requests", "lower it");
        }
        if u128::from(end_ns) * u128::from(keys.time_scale.millionths())
            > u128::from(last_ns) * 1_000_000
        {
            return too_late("profile.time_scale", "lower it, or profile.requests");
        }
        Ok(Self {
            requests,
            position: Position::default(),
            chain: Chain::new(&profile, seed),
            clock: Clock::default(),
            arrival_ns: 0,
            load_ns: 0,
            end_ns,
            places: Places::new(&profile, span, SplitMix64::stream(seed, 4)),
            time_scale: keys.time_scale.millionths(),
            most_late_ns: most_late_ns(&profile),
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
            profile,
        })
    }

    /// Goes to the next segment that has requests in a twin of this length.
    fn next_segment(&mut self) {
        let share = Share::new(&self.profile, self.requests);
        while self.position.left == 0 {
            let Position { mut phase, mut segment, fitted, .. } = self.position;
            if segment == self.profile.phase[phase].segments.len() {
                (phase, segment) = (phase + 1, 0);
            }
            if segment == 0 {
                self.chain.start = self.chain.at;
                self.chain.start(&self.profile, phase);
            }
            let row = &self.profile.phase[phase].segments[segment];
            let behind = fitted + row.requests();
            let left = share.of(behind) - share.of(fitted);
            let duration_ns = duration_ns(row, left);
            self.chain.guide.want(&row.counts);
            self.position = Position { phase, segment, fitted: behind, left };
            let start_ns = self.clock.start_ns + self.clock.duration_ns;
            self.clock = Clock::new(start_ns, duration_ns, self.measure());
            self.position.segment += 1;
        }
    }

    /// Sets the arrival of the request behind this one: what the clock says, or later, if it would
    /// meet more load than its class allows, by `most_late_ns` at most. What is late so is made
    /// up for in the next pauses, not inside bursts. Where waiting that long does not help, it does
    /// not wait.
    fn next_arrival(&mut self, at: usize, sectors: u32, gap_ns: u64) {
        let op = RequestOp::ALL[index(self.profile.symbols[at][0])];
        let work = work_ns(op, u64::from(sectors).div_ceil(PAGE_SECTORS));
        let load = self.load_ns.saturating_add(work);
        let (wait, _) = self.chain.guide.symbols[self.chain.at].gaps(load);
        let wait = if wait > self.most_late_ns { 0 } else { wait };
        let in_burst = if pace_of(gap_ns) < FIRST_PAUSE { gap_ns } else { 0 };
        let planned = u64::try_from(self.clock.now()).expect("times were checked");
        let next = if self.stats.requests + 1 == self.requests {
            self.end_ns
        } else {
            let wanted = self.arrival_ns + wait.max(in_burst);
            let latest = (planned + self.most_late_ns).max(self.arrival_ns + in_burst);
            wanted.min(latest).min(self.end_ns).max(planned)
        };
        self.load_ns = load.saturating_sub(next - self.arrival_ns);
        self.arrival_ns = next;
    }

    /// What the gaps of the segment will add up to.
    fn measure(&self) -> Sums {
        let mut chain = self.chain.clone();
        let mut sums = Sums::default();
        for _ in 0..self.position.left {
            let (_, gap) = chain.next(&self.profile, self.position.phase);
            sums[pace_of(gap)] += u128::from(gap);
        }
        sums
    }
}

impl RequestSource for Twin {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if self.stats.requests == self.requests {
            return Ok(None);
        }
        self.stats.requests += 1;
        let at = self.chain.at;
        let arrival_ns = u128::from(self.arrival_ns) * u128::from(self.time_scale) / 1_000_000;
        let arrival_ns = u64::try_from(arrival_ns).expect("times were checked");
        let sectors = if self.stats.requests == self.requests {
            self.chain.size(&self.profile, at, false)
        } else {
            if self.position.left == 0 {
                self.next_segment();
            }
            let (sectors, gap) = self.chain.next(&self.profile, self.position.phase);
            self.position.left -= 1;
            self.clock.add(gap);
            self.next_arrival(at, sectors, gap);
            sectors
        };
        let [op, _, _, kind, _] = self.profile.symbols[at].map(index);
        let mut first_sector = 0;
        if RequestOp::ALL[op] != RequestOp::Flush {
            first_sector = self.places.draw(op, kind, sectors);
        }
        Ok(Some(
            Request::new(RequestOp::ALL[op], first_sector, sectors).at(Time::from_ns(arrival_ns)),
        ))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }

    fn extent(&self) -> Option<Extent> {
        Some(Extent { done: self.stats.requests, of: self.requests })
    }
}

/// How many requests and how much time of a twin belong to a part of the trace.
struct Share {
    moves: u128,
    fitted: u128,
}

impl Share {
    fn new(profile: &Profile, requests: u64) -> Self {
        let fitted = u128::from((profile.requests() - 1).max(1));
        Self { moves: u128::from(requests - 1), fitted }
    }

    /// The moves of the twin up to this one of the trace.
    fn of(&self, fitted: u64) -> u64 {
        let part = self.moves * u128::from(fitted) / self.fitted;
        u64::try_from(part).expect("a part of the requests")
    }
}

/// The least of both limits.
fn most_late_ns(profile: &Profile) -> u64 {
    let gaps = (profile.requests() - 1).max(1);
    MOST_LATE_NS.min((profile.duration_ns() / gaps).saturating_mul(MOST_LATE_GAPS))
}

/// How long so many moves of a segment last.
fn duration_ns(segment: &Segment, moves: u64) -> u128 {
    u128::from(segment.duration_ns) * u128::from(moves) / u128::from(segment.requests())
}

/// When the last request of a twin arrives, before its times are scaled.
fn end_ns(profile: &Profile, requests: u64) -> u64 {
    let share = Share::new(profile, requests);
    let (mut fitted, mut end_ns) = (0, 0);
    for segment in profile.segments() {
        let behind = fitted + segment.requests();
        end_ns += duration_ns(segment, share.of(behind) - share.of(fitted));
        fitted = behind;
    }
    u64::try_from(end_ns).unwrap_or(u64::MAX)
}

/// The span of the addresses, in sectors; at least that of the largest request.
fn span(
    profile: &Profile,
    keys: &ProfileKeys,
    capacity: Option<u64>,
) -> Result<u64, WorkloadError> {
    let fitted = keys.span_mib == 0;
    let span = if fitted { profile.span_sectors } else { keys.span_mib * MIB_SECTORS };
    let largest = profile.sizes.iter().flat_map(|table| &table.sectors).map(|card| card[0]).max();
    let mib = |sectors: u64| sectors.div_ceil(MIB_SECTORS);
    let wrong =
        |what: String, fix: String| Err(WorkloadError::Key { key: "profile.span_mib", what, fix });
    if let Some(largest) = largest.filter(|&largest| largest > span) {
        let what =
            format!("the largest request does not fit, {} MiB in {}", mib(largest), mib(span));
        return wrong(what, format!("set it to {} or more, or 0", mib(largest)));
    }
    if let Some(capacity) = capacity.filter(|&capacity| capacity < span) {
        let what = format!("addresses span {} MiB, the device has {}", mib(span), mib(capacity));
        let fits = capacity / MIB_SECTORS;
        return wrong(what, format!("set it to {fits} or less, or give the device more capacity"));
    }
    Ok(span)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("tables were checked")
}

//! Streams: where the requests of a phase come from, and when the host issues them.
//!
//! A source yields requests with recorded arrival times. Its stream's pacing says what becomes of
//! them: they are kept (an open loop), or replaced by the time at which a request is issued because
//! an earlier one was answered (a closed loop). Requests of a stream are issued in the order of the
//! source, whatever the order of their answers.

use flashyard_core::key::Kind;
use flashyard_core::request::Request;
use flashyard_core::units::{Span, Time};
use flashyard_core::{choice, keys};
use std::fmt;

choice! {
    /// When a stream's requests are issued.
    pub enum Pacing {
        /// At the arrival times of the source, counted from the start of the phase.
        Open = "open",
        /// As many as `depth` are outstanding; the next one is issued when one is answered.
        Closed = "closed",
        /// Request i is issued when request i - depth has been answered and the recorded gap,
        /// arrival of i - arrival of i - 1, has passed since; never before request i - 1.
        Think = "think",
        /// As fast as the submission queue takes them.
        Fast = "fast",
        /// A random time after the device has fetched the request before, uniformly distributed
        /// from `gap_min_us` to `gap_max_us`. The first request is issued such a time after the
        /// start.
        Spaced = "spaced",
    }
}

/// The placement identifier that is none.
const NO_PLACEMENT: u64 = 65_535;

keys! {
    /// Keys of `[stream]`, a section of a workload file.
    pub struct StreamKeys {
        /// When the requests are issued.
        pacing: Pacing = Pacing::Open => {
            kind: Kind::Choice(Pacing::WORDS),
            source: "traces are replayed at their recorded times",
            flip: "closed", with: &[],
        },
        /// With `closed` and `think`: number of requests that are outstanding at once.
        depth: u64 = 32 => {
            kind: Kind::count("requests", 1, 65_536),
            source: "assumed; SATA NCQ has 32 tags",
            flip: "1", with: &["stream.pacing=closed"],
        },
        /// Weight of the stream. With weighted `interface.arbitration`: requests that are fetched
        /// in a row before it is the next stream's turn. With `policy.command = "fair"`: its share
        /// of the time of dies, against those of other streams.
        weight: u64 = 1 => {
            kind: Kind::count("requests", 1, 255),
            source: "NVM Express base specification: arbitration weights are 8 bits wide",
            flip: "4", with: &["interface.arbitration=weighted", "interface.fetch_depth=1"],
        },
        /// Placement identifier of its requests; those of one handle of the device share blocks
        /// (`placement.handles`). 65,535: that of the source, and where it has none the number of
        /// the stream.
        placement: u64 = NO_PLACEMENT => {
            kind: Kind::count("identifier", 0, NO_PLACEMENT),
            source: "NVM Express TP4146: identifiers have 16 bits",
            flip: "1", with: &["@full", "placement.handles=2"],
        },
        /// With `spaced`: least time from the fetch of a request to the next request.
        gap_min_us: Span = Span::from_us(100) => {
            kind: Kind::micros(0, 1 << 62),
            source: "Kim, Lee and Min: arrivals every 100 to 200 us load the framework most",
            flip: "150", with: &["stream.pacing=spaced"],
        },
        /// With `spaced`: greatest time from the fetch of a request to the next request.
        gap_max_us: Span = Span::from_us(200) => {
            kind: Kind::micros(0, 1 << 62),
            source: "Kim, Lee and Min: arrivals every 100 to 200 us load the framework most",
            flip: "500", with: &["stream.pacing=spaced"],
        },
        /// With `spaced`: time from the start of the phase at which a burst begins. From then on
        /// `burst_min_us` and `burst_max_us` are in the place of `gap_min_us` and `gap_max_us`.
        burst_from_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 62),
            source: "assumed: no burst",
            flip: "5",
            with: &["stream.pacing=spaced", "stream.burst_until_ms=10", "stream.burst_max_us=20"],
        },
        /// With `spaced`: time from the start of the phase at which the burst ends. Not later than
        /// `burst_from_ms`: there is no burst.
        burst_until_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 62),
            source: "assumed: no burst",
            flip: "10", with: &["stream.pacing=spaced", "stream.burst_max_us=20"],
        },
        /// With `spaced`: the least time between requests in the burst.
        burst_min_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1 << 62),
            source: "assumed",
            flip: "10",
            with: &["stream.pacing=spaced", "stream.burst_until_ms=10", "stream.burst_max_us=20"],
        },
        /// With `spaced`: the greatest time between requests in the burst.
        burst_max_us: Span = Span::from_us(200) => {
            kind: Kind::micros(0, 1 << 62),
            source: "assumed",
            flip: "20", with: &["stream.pacing=spaced", "stream.burst_until_ms=10"],
        },
        /// With `spaced`: seed of the random times. Each stream of a phase draws its own.
        gap_seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["stream.pacing=spaced"],
        },
        /// Bytes a second at which requests are fetched: those of reads and writes. 0: no limit.
        rate_limit_mb_per_s: u64 = 0 => {
            kind: Kind::count("MB/s", 0, 1_000_000),
            source: "no limit", flip: "1", with: &[],
        },
        /// Requests a second at which requests are fetched. 0: no limit.
        rate_limit_iops: u64 = 0 => {
            kind: Kind::count("requests/s", 0, 1_000_000_000),
            source: "no limit", flip: "100", with: &[],
        },
        /// With a limit: how long a stream may save up what it does not use, to fetch it at once.
        rate_limit_burst_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "assumed: even spacing", flip: "10", with: &["stream.rate_limit_iops=100"],
        },
    }
}

impl StreamKeys {
    /// The placement identifier of its requests, if it has one.
    #[inline]
    pub fn identifier(&self) -> Option<u16> {
        u16::try_from(self.placement).ok().filter(|_| self.placement != NO_PLACEMENT)
    }
}

/// Gives the requests of a stream, one a call; `None` at the end.
pub type Source<'a, E> = Box<dyn FnMut() -> Result<Option<Request>, E> + 'a>;

/// A stream of requests.
pub struct Stream<'a, E> {
    /// What reports call it.
    pub name: String,
    /// When its requests are issued.
    pub keys: StreamKeys,
    /// Where they come from. Times are relative to the start of the phase, and must not decrease
    /// where the pacing uses them. It is asked for one request ahead.
    pub source: Source<'a, E>,
}

impl<E> fmt::Debug for Stream<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.name)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// A stream during a phase: its next request.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    pub(crate) keys: StreamKeys,
    /// The next request; none where none is known, or where none comes.
    pub(crate) next: Option<Request>,
    /// Recorded time from the request before `next` to it.
    pub(crate) gap: Span,
    recorded: Time,
    over: bool,
}

impl Feed {
    pub(crate) const fn new(keys: StreamKeys) -> Self {
        Self { keys, next: None, gap: Span::ZERO, recorded: Time::ZERO, over: false }
    }

    /// Asks for the next request. Returns whether its time can be used: it is not earlier than that
    /// of the request before.
    pub(crate) fn pull<S: Supply>(
        &mut self,
        supply: &mut S,
        stream: usize,
    ) -> Result<bool, S::Error> {
        self.next = supply.next(stream)?;
        self.over = self.next.is_none() && supply.is_over();
        let timed = matches!(self.keys.pacing, Pacing::Open | Pacing::Think);
        let Some(request) = self.next.filter(|_| timed) else { return Ok(true) };
        if request.arrival < self.recorded {
            return Ok(false);
        }
        self.gap = request.arrival.since(self.recorded);
        self.recorded = request.arrival;
        Ok(true)
    }

    /// Whether it has no request, and none comes.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// No further request is issued.
    pub(crate) const fn end(&mut self) {
        self.next = None;
        self.over = true;
    }
}

/// Where the requests of the streams of a phase come from.
pub(crate) trait Supply {
    type Error;
    /// The next request of a stream, if there is one now.
    fn next(&mut self, stream: usize) -> Result<Option<Request>, Self::Error>;
    /// Whether a stream that has none now has none any more.
    fn is_over(&self) -> bool;
    /// The request that a stream gave last has been issued, as the one of this order of arrival.
    fn issued(&mut self, _stream: usize, _order: u64) {}
}

/// Sources that are asked.
pub(crate) struct Sources<'a, E>(Vec<Source<'a, E>>);

impl<'a, E> Sources<'a, E> {
    /// The sources of streams, with the name and the keys of each.
    pub(crate) fn of(streams: Vec<Stream<'a, E>>) -> (Self, Vec<(String, StreamKeys)>) {
        let parts = streams.into_iter().map(|stream| (stream.source, (stream.name, stream.keys)));
        let (sources, streams) = parts.unzip();
        (Self(sources), streams)
    }
}

impl<E> Supply for Sources<'_, E> {
    type Error = E;

    fn next(&mut self, stream: usize) -> Result<Option<Request>, E> {
        (self.0[stream])()
    }

    fn is_over(&self) -> bool {
        true
    }
}

/// A phase under way on a device of either kind.
pub(crate) trait Driven<S: Supply> {
    type Error;
    /// The next instant at which something happens, up to and including `until`.
    fn next_instant(&mut self, until: Time) -> Option<Time>;
    /// What the device does of itself at an instant, the next one: answers are given.
    fn begins(&mut self, now: Time);
    /// The rest of the instant: requests are issued, and work begins.
    fn ends(&mut self, supply: &mut S, now: Time) -> Result<(), Self::Error>;
}

/// Where the event loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Nothing happens any more up to and including the time asked for. The last instant, if there
    /// was one.
    All(Option<Time>),
    /// The first half of this instant is over.
    Half(Time),
    /// This instant is over.
    Whole(Time),
}

/// The event loop: one instant after the other, up to and including `until`, as long as `go_on`
/// says so.
#[inline]
pub(crate) fn drive<S: Supply, D: Driven<S>>(
    driven: &mut D,
    supply: &mut S,
    until: Time,
    go_on: impl Fn(&D) -> bool,
) -> Result<Reached, D::Error> {
    let mut last = None;
    while let Some(now) = driven.next_instant(until) {
        driven.begins(now);
        if !go_on(driven) {
            return Ok(Reached::Half(now));
        }
        driven.ends(supply, now)?;
        if !go_on(driven) {
            return Ok(Reached::Whole(now));
        }
        last = Some(now);
    }
    Ok(Reached::All(last))
}

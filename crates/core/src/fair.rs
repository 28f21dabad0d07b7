//! Start-time fair queueing: virtual time shares servers between streams by their weights.
//!
//! A stream has a virtual time, the start tag of its next operation. An operation that starts moves
//! it on by its cost over the weight of the stream. A server that is free takes the stream whose
//! virtual time is least among those with an operation for it, so it never idles with work. A
//! stream that was idle begins at the virtual time of the system: it neither saves up service nor
//! pays for it.
//!
//! On one server the order is that of the start tags `S = max(V, F of the operation before)`, with
//! `F = S + cost / weight`.
//!
//! At equal times the caller tells what is over first, then what arrives, then what starts: an
//! operation that arrives when the last one ends finds the system empty.
//!
//! Source: Goyal, Vin and Cheng, SIGCOMM 1996, for one server; streams that share the chips of a
//! flash device follow the case study of Kim, Lee and Min.

/// Virtual time: cost over weight, in nanoseconds and 16 bits of their fractions. The costs of all
/// the chips of a device over any run fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VirtualTime(u128);

const FRACTION_BITS: u32 = 16;

impl VirtualTime {
    /// So many nanoseconds of service at weight 1.
    pub const fn from_ns(ns: u64) -> Self {
        Self((ns as u128) << FRACTION_BITS)
    }

    /// Nanoseconds at weight 1, without their fraction.
    pub const fn as_ns(self) -> u128 {
        self.0 >> FRACTION_BITS
    }

    /// With its fraction, as a number whose order is that of virtual times.
    pub const fn as_rank(self) -> u128 {
        self.0
    }

    fn to_words(self) -> [u64; 2] {
        let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).expect("64 bits");
        [half(self.0 >> 64), half(self.0)]
    }

    const fn of_words([high, low]: [u64; 2]) -> Self {
        Self((high as u128) << 64 | low as u128)
    }
}

/// What is kept of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    weight: u32,
    /// Operations that wait.
    waiting: u32,
    /// The start tag of its next operation.
    virtual_time: VirtualTime,
}

impl Share {
    /// Words that hold one.
    pub const WORDS: usize = 3;

    /// An idle stream of a weight, at least 1; a stream of twice the weight gets twice the service.
    pub const fn new(weight: u32) -> Self {
        assert!(weight > 0, "a stream without weight is never served");
        Self { weight, waiting: 0, virtual_time: VirtualTime(0) }
    }

    /// The start tag of its next operation.
    pub const fn virtual_time(&self) -> VirtualTime {
        self.virtual_time
    }

    /// Changes the weight, at least 1, for operations that start from now on.
    pub const fn weigh(&mut self, weight: u32) {
        assert!(weight > 0, "a stream without weight is never served");
        self.weight = weight;
    }

    /// The share as words: zeros stand for an idle stream of weight 1.
    pub fn to_words(self) -> [u64; Self::WORDS] {
        let [high, low] = self.virtual_time.to_words();
        [u64::from(self.weight - 1) << 32 | u64::from(self.waiting), high, low]
    }

    /// The share that these words hold.
    pub fn of_words([counts, high, low]: [u64; Self::WORDS]) -> Self {
        let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).expect("32 bits");
        let virtual_time = VirtualTime::of_words([high, low]);
        Self { weight: half(counts >> 32) + 1, waiting: half(counts), virtual_time }
    }
}

/// What the streams share: the virtual time of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct System {
    virtual_time: VirtualTime,
    /// The greatest virtual time of any stream.
    latest: VirtualTime,
    /// Operations that wait or are served, of all streams.
    operations: u64,
}

impl System {
    /// Words that hold one.
    pub const WORDS: usize = 5;

    /// A system without operations.
    pub const fn new() -> Self {
        Self { virtual_time: VirtualTime(0), latest: VirtualTime(0), operations: 0 }
    }

    /// The system as words: zeros stand for a new one.
    pub fn to_words(self) -> [u64; Self::WORDS] {
        let [high, low] = self.virtual_time.to_words();
        let [latest_high, latest_low] = self.latest.to_words();
        [high, low, latest_high, latest_low, self.operations]
    }

    /// The system that these words hold.
    pub const fn of_words(words: [u64; Self::WORDS]) -> Self {
        let [high, low, latest_high, latest_low, operations] = words;
        Self {
            virtual_time: VirtualTime::of_words([high, low]),
            latest: VirtualTime::of_words([latest_high, latest_low]),
            operations,
        }
    }

    /// An operation of a stream has come and waits.
    pub fn arrived(&mut self, share: &mut Share) {
        if self.operations == 0 {
            self.virtual_time = self.latest;
        }
        self.operations += 1;
        if share.waiting == 0 {
            share.virtual_time = share.virtual_time.max(self.virtual_time);
        }
        share.waiting += 1;
    }

    /// A waiting operation of a stream starts; it is expected to be served for `cost_ns`
    /// nanoseconds. Returns its start tag.
    pub fn started(&mut self, share: &mut Share, cost_ns: u64) -> VirtualTime {
        let tag = share.virtual_time;
        self.virtual_time = self.virtual_time.max(tag);
        let service = VirtualTime::from_ns(cost_ns).0 / u128::from(share.weight);
        share.virtual_time = VirtualTime(tag.0 + service);
        self.latest = self.latest.max(share.virtual_time);
        share.waiting = share.waiting.saturating_sub(1);
        tag
    }

    /// A waiting operation of a stream starts outside of the order: it costs the stream nothing.
    pub const fn bypassed(&mut self, share: &mut Share) {
        share.waiting = share.waiting.saturating_sub(1);
    }

    /// A waiting operation of a stream has left without being served.
    pub const fn withdrawn(&mut self, share: &mut Share) {
        self.bypassed(share);
        self.completed();
    }

    /// An operation that had started is over.
    pub const fn completed(&mut self) {
        self.operations = self.operations.saturating_sub(1);
    }
}

/// Fair queueing over lent memory, a [`Share`] a stream.
#[derive(Debug)]
pub struct FairQueueing<S> {
    shares: S,
    system: System,
}

impl<S: AsRef<[Share]> + AsMut<[Share]>> FairQueueing<S> {
    /// Idle streams.
    pub const fn new(shares: S) -> Self {
        Self { shares, system: System::new() }
    }

    /// The virtual time of a stream: the start tag of its next operation.
    pub fn virtual_time(&self, stream: usize) -> VirtualTime {
        self.shares.as_ref()[stream].virtual_time
    }

    /// An operation of a stream has come and waits.
    pub fn arrived(&mut self, stream: usize) {
        self.system.arrived(&mut self.shares.as_mut()[stream]);
    }

    /// The stream to serve of those that have an operation for a free server: the one of the least
    /// virtual time, the lowest number among equals.
    pub fn pick(&self, candidates: impl IntoIterator<Item = usize>) -> Option<usize> {
        candidates.into_iter().min_by_key(|&stream| (self.virtual_time(stream), stream))
    }

    /// A waiting operation of a stream starts; it is expected to be served for `cost_ns`
    /// nanoseconds. Returns its start tag.
    pub fn started(&mut self, stream: usize, cost_ns: u64) -> VirtualTime {
        self.system.started(&mut self.shares.as_mut()[stream], cost_ns)
    }

    /// An operation that had started is over.
    pub const fn completed(&mut self) {
        self.system.completed();
    }
}

#[cfg(test)]
mod tests;

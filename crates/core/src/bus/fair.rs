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
}

/// What is kept of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    weight: u32,
    /// The start tag of its next operation.
    virtual_time: VirtualTime,
    /// Operations that wait.
    waiting: u32,
}

impl Share {
    /// An idle stream of a weight, at least 1; a stream of twice the weight gets twice the service.
    pub const fn new(weight: u32) -> Self {
        assert!(weight > 0, "a stream without weight is never served");
        Self { weight, virtual_time: VirtualTime(0), waiting: 0 }
    }
}

/// Fair queueing over lent memory, a [`Share`] a stream.
#[derive(Debug)]
pub struct FairQueueing<S> {
    shares: S,
    virtual_time: VirtualTime,
    /// Operations that wait or are served, of all streams.
    operations: u64,
}

impl<S: AsRef<[Share]> + AsMut<[Share]>> FairQueueing<S> {
    /// Idle streams.
    pub const fn new(shares: S) -> Self {
        Self { shares, virtual_time: VirtualTime(0), operations: 0 }
    }

    /// Streams.
    pub fn streams(&self) -> usize {
        self.shares.as_ref().len()
    }

    /// The virtual time of a stream: the start tag of its next operation.
    pub fn virtual_time(&self, stream: usize) -> VirtualTime {
        self.shares.as_ref()[stream].virtual_time
    }

    /// The virtual time of the system: the greatest start tag so far.
    pub const fn system_time(&self) -> VirtualTime {
        self.virtual_time
    }

    /// An operation of a stream has come and waits.
    pub fn arrived(&mut self, stream: usize) {
        let shares = self.shares.as_mut();
        if self.operations == 0 {
            let latest = shares.iter().map(|share| share.virtual_time).max();
            self.virtual_time = latest.unwrap_or_default();
        }
        self.operations += 1;
        let share = &mut shares[stream];
        if share.waiting == 0 {
            share.virtual_time = share.virtual_time.max(self.virtual_time);
        }
        share.waiting += 1;
    }

    /// The stream to serve of those that have an operation for a free server: the one of the least
    /// virtual time, the lowest number among equals.
    pub fn pick(&self, candidates: impl IntoIterator<Item = usize>) -> Option<usize> {
        candidates.into_iter().min_by_key(|&stream| (self.virtual_time(stream), stream))
    }

    /// A waiting operation of a stream starts; it is expected to be served for `cost_ns`
    /// nanoseconds. Returns its start tag.
    pub fn started(&mut self, stream: usize, cost_ns: u64) -> VirtualTime {
        let share = &mut self.shares.as_mut()[stream];
        let tag = share.virtual_time;
        self.virtual_time = self.virtual_time.max(tag);
        let service = VirtualTime::from_ns(cost_ns).0 / u128::from(share.weight);
        share.virtual_time = VirtualTime(tag.0 + service);
        share.waiting = share.waiting.saturating_sub(1);
        tag
    }

    /// An operation that had started is over.
    pub const fn completed(&mut self) {
        self.operations = self.operations.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;

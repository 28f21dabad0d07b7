//! Fair: start-time fair queueing between streams. A free die takes the oldest command of the
//! stream with the least virtual time among those that have one for it, so it never idles with
//! work. A command costs its nominal duration; a stream has one virtual time for the whole device.
//!
//! Streams are the host's, with the weights of `[stream]`, and three of the device: the map,
//! flushes of the write buffer, garbage collection. Commands of the map belong to the map's stream
//! also where a request waits for them, since what one stream evicts another one may have changed.
//!
//! Source: Goyal, Vin and Cheng, SIGCOMM 1996; for the chips of a flash device the case study of
//! Kim, Lee and Min. Deviations: theirs has no internal streams. Garbage collection of a plane at
//! its hard threshold of free blocks bypasses the queueing and costs its stream nothing, because a
//! write that waits for room would wait for other streams as well. A command that an operation
//! serves along with another one costs nothing.
//!
//! O(log n) a command and O(log s) a choice for n commands and s streams that wait for a die, over
//! many choices.

use super::interface::{CommandEvent, CommandPolicy, CommandView, Happened, Placement};
use crate::command::StreamId;
use crate::fair::{Share, System};
use crate::key::Kind;
use crate::units::Time;

crate::keys! {
    /// Keys of `[policy.fair]`.
    pub struct FairKeys {
        /// Weight of garbage collection, wear levelling and merges. A stream of twice the weight
        /// gets twice the time of dies.
        gc_weight: u64 = 1 => {
            kind: Kind::count("shares", 1, 65_535),
            source: "assumed: as a stream of the host; the published case study has none",
            flip: "20",
            with: &["policy.command=fair", "@full", "gc.soft_free_blocks=12"],
        },
        /// Weight of the commands of the map, those that requests wait for included.
        map_weight: u64 = 1 => {
            kind: Kind::count("shares", 1, 65_535),
            source: "assumed: as a stream of the host; the published case study has none",
            flip: "20",
            with: &["policy.command=fair", "@full"],
        },
        /// Weight of the flushes of the write buffer.
        flush_weight: u64 = 1 => {
            kind: Kind::count("shares", 1, 65_535),
            source: "assumed: as a stream of the host; the published case study has none",
            flip: "20",
            with: &["policy.command=fair", "@full", "buffer.bytes=65536"],
        },
    }
}

impl FairKeys {
    /// The weight of a stream; `host` is that of a stream of the host.
    fn weight(&self, stream: StreamId, host: u32) -> u32 {
        let key = match stream {
            StreamId::Map => self.map_weight,
            StreamId::Flush => self.flush_weight,
            StreamId::Gc => self.gc_weight,
            StreamId::Host(_) => return host,
        };
        u32::try_from(key).expect("a weight is small")
    }
}

/// The words of a stream.
fn words(shares: &mut [u64], stream: StreamId) -> &mut [u64; Share::WORDS] {
    let at = stream.index() * Share::WORDS;
    let words = &mut shares[at..at + Share::WORDS];
    words.try_into().expect("as many as a share has")
}

impl CommandPolicy for FairKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["MAP", "FLUSH", "HOST"]
    }

    #[inline]
    fn place(&self, command: &CommandView<'_>, _now: Time) -> Placement {
        let queue = match command.stream {
            StreamId::Map => 0,
            StreamId::Flush | StreamId::Gc => 1,
            StreamId::Host(_) => 2,
        };
        Placement::new(queue, 0)
    }

    fn reads_fot(&self) -> bool {
        false
    }

    fn has_state(&self) -> bool {
        true
    }

    fn state_words(&self, _dies: usize, streams: usize) -> usize {
        System::WORDS + streams * Share::WORDS
    }

    fn command_event(&self, state: &mut [u64], event: &CommandEvent) {
        let (system, shares) = state
            .split_first_chunk_mut::<{ System::WORDS }>()
            .expect("the words that it asked for");
        let words = words(shares, event.stream);
        let (mut all, mut share) = (System::of_words(*system), Share::of_words(*words));
        match event.what {
            Happened::Arrived => {
                share.weigh(self.weight(event.stream, event.weight));
                all.arrived(&mut share);
            }
            Happened::Dispatched { bypasses: true, .. } => all.bypassed(&mut share),
            Happened::Dispatched { cost, .. } => {
                all.started(&mut share, cost.as_ns());
            }
            Happened::Completed => all.completed(),
            Happened::Withdrawn => all.withdrawn(&mut share),
            Happened::Emptied => return,
        }
        (*system, *words) = (all.to_words(), share.to_words());
    }

    fn ranks_streams(&self) -> bool {
        true
    }

    fn stream_rank(&self, state: &[u64], stream: StreamId) -> u128 {
        let at = System::WORDS + stream.index() * Share::WORDS;
        let words = state[at..at + Share::WORDS].try_into().expect("as many as a share has");
        Share::of_words(words).virtual_time().as_rank()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Op;
    use crate::units::{DieId, Span};
    use std::vec;
    use std::vec::Vec;

    /// Tells a policy what happens to commands of streams.
    struct Bench {
        policy: FairKeys,
        state: Vec<u64>,
    }

    impl Bench {
        fn new(policy: FairKeys) -> Self {
            Self { policy, state: vec![0; policy.state_words(1, StreamId::INTERNAL + 2)] }
        }

        fn tell(&mut self, stream: StreamId, weight: u32, what: Happened) {
            let (at, die, op) = (Time::ZERO, DieId::new(0), Op::Read);
            let event = CommandEvent { what, at, die, stream, weight, op };
            self.policy.command_event(&mut self.state, &event);
        }

        fn dispatch(&mut self, stream: StreamId, us: u64, bypasses: bool) {
            let cost = Span::from_us(us);
            self.tell(stream, 1, Happened::Dispatched { cost, bypasses });
        }

        /// The virtual times of streams in microseconds.
        fn us<const N: usize>(&self, streams: [StreamId; N]) -> [u128; N] {
            streams.map(|stream| (self.policy.stream_rank(&self.state, stream) >> 16) / 1_000)
        }
    }

    const A: StreamId = StreamId::Host(0);
    const B: StreamId = StreamId::Host(1);

    /// A command moves the virtual time of its stream by its cost over its weight: the weight of
    /// the host's stream, or the key of an internal one.
    #[test]
    fn commands_cost_by_weight() {
        let keys = FairKeys { gc_weight: 5, map_weight: 2, flush_weight: 4 };
        let mut bench = Bench::new(keys);
        let streams = [A, B, StreamId::Map, StreamId::Flush, StreamId::Gc];
        for (stream, weight) in streams.into_iter().zip([1, 10, 1, 1, 1]) {
            bench.tell(stream, weight, Happened::Arrived);
        }
        for stream in streams {
            bench.dispatch(stream, 100, false);
        }
        assert_eq!(bench.us(streams), [100, 10, 50, 25, 20]);
    }

    /// What goes first in any case neither pays nor moves the virtual time that a stream begins
    /// with; and a stream that was idle begins with that of the last start.
    #[test]
    fn urgent_collection_leaves_virtual_time_alone() {
        let mut bench = Bench::new(FairKeys::default());
        for _ in 0..3 {
            bench.tell(A, 1, Happened::Arrived);
            bench.tell(StreamId::Gc, 1, Happened::Arrived);
        }
        bench.dispatch(A, 100, false);
        bench.dispatch(StreamId::Gc, 900, true);
        assert_eq!(bench.us([A, StreamId::Gc]), [100, 0]);
        bench.dispatch(A, 100, false);
        bench.tell(B, 1, Happened::Arrived);
        assert_eq!(bench.us([A, B]), [200, 100]);
        bench.dispatch(StreamId::Gc, 900, false);
        assert_eq!(bench.us([StreamId::Gc]), [900]);
    }

    /// When nothing waits or runs any more, the next command finds all streams equal. One that went
    /// away without being served leaves nothing behind.
    #[test]
    fn an_empty_device_forgets() {
        let mut bench = Bench::new(FairKeys::default());
        bench.tell(A, 1, Happened::Arrived);
        bench.dispatch(A, 100, false);
        bench.tell(B, 1, Happened::Arrived);
        bench.tell(B, 1, Happened::Withdrawn);
        bench.tell(A, 1, Happened::Completed);
        bench.tell(B, 1, Happened::Arrived);
        assert_eq!(bench.us([A, B]), [100, 100]);
    }
}

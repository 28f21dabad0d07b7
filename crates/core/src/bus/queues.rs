//! Operations that wait for chips: a queue for each chip, first in, first out, or, with fair
//! queueing, one for each stream of each chip.

use super::fair::{FairQueueing, Share};
use super::request::Operation;
use crate::command::Op;

/// Operations that wait in one queue, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    first: u32,
    count: u32,
}

impl Ring {
    /// None.
    pub const EMPTY: Self = Self { first: 0, count: 0 };
}

/// Shares chips fairly between streams.
#[derive(Debug)]
pub struct Fair<'a> {
    /// Virtual time, a share for each stream.
    pub queueing: FairQueueing<&'a mut [Share]>,
    /// How long an operation is expected to occupy its chip, in ns, by number of [`Op`].
    pub costs: [u64; Op::ALL.len()],
}

/// The queues of the chips, over lent memory.
#[derive(Debug)]
pub struct ChipQueues<'a> {
    rings: &'a mut [Ring],
    operations: &'a mut [Option<Operation>],
    fair: Option<Fair<'a>>,
    /// Operations that wait in a queue at most; queues of each chip.
    depth: u32,
    streams: usize,
}

impl<'a> ChipQueues<'a> {
    /// Empty queues. There is a ring for each chip or, with fair queueing, for each stream of each
    /// chip; `operations` holds equally many operations of each.
    pub fn new(
        rings: &'a mut [Ring],
        operations: &'a mut [Option<Operation>],
        fair: Option<Fair<'a>>,
    ) -> Self {
        assert!(!rings.is_empty() && operations.len() >= rings.len(), "room in each queue");
        let streams = fair.as_ref().map_or(1, |fair| fair.queueing.streams());
        assert!(streams > 0 && rings.len().is_multiple_of(streams), "a ring for each stream");
        rings.fill(Ring::EMPTY);
        let depth = u32::try_from(operations.len() / rings.len()).unwrap_or(u32::MAX);
        Self { rings, operations, fair, depth, streams }
    }

    /// The queue of a stream at a chip.
    fn ring_of(&self, chip: u32, stream: u16) -> usize {
        let stream = if self.fair.is_some() { usize::from(stream) } else { 0 };
        chip as usize * self.streams + stream
    }

    /// Whether an operation of a stream may be taken in for a chip.
    pub fn has_room(&self, chip: u32, stream: u16) -> bool {
        self.rings[self.ring_of(chip, stream)].count < self.depth
    }

    /// An operation waits for its chip. There must be room.
    pub fn push(&mut self, operation: &Operation) {
        let (index, depth) = (self.ring_of(operation.chip, operation.stream), self.depth);
        let ring = &mut self.rings[index];
        assert!(ring.count < depth, "the queue of chip {} is full", operation.chip);
        // Up to the end of the ring; what goes beyond begins again.
        let before_end = depth - ring.first;
        let place =
            if ring.count < before_end { ring.first + ring.count } else { ring.count - before_end };
        self.operations[index * depth as usize + place as usize] = Some(*operation);
        ring.count += 1;
        if let Some(fair) = &mut self.fair {
            fair.queueing.arrived(operation.stream.into());
        }
    }

    /// The operation that a chip serves next: the oldest one of its queue or, with fair queueing,
    /// of the stream whose virtual time is least.
    pub fn pop(&mut self, chip: u32) -> Option<Operation> {
        let first = chip as usize * self.streams;
        let index = match &self.fair {
            None => first,
            Some(fair) => {
                let waits = |stream: &usize| self.rings[first + stream].count > 0;
                first + fair.queueing.pick((0..self.streams).filter(waits))?
            }
        };
        let ring = &mut self.rings[index];
        if ring.count == 0 {
            return None;
        }
        let place = index * self.depth as usize + ring.first as usize;
        let operation = self.operations[place].take()?;
        ring.first = if ring.first + 1 < self.depth { ring.first + 1 } else { 0 };
        ring.count -= 1;
        if let Some(fair) = &mut self.fair {
            fair.queueing.started(operation.stream.into(), fair.costs[operation.op as usize]);
        }
        Some(operation)
    }

    /// An operation is complete.
    pub const fn completed(&mut self) {
        if let Some(fair) = &mut self.fair {
            fair.queueing.completed();
        }
    }
}

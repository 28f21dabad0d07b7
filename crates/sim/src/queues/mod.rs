//! Commands that wait for dies: a queue of requests and one of garbage collection for each die, in
//! the order of the command policy, and which dies are to be looked at.

use crate::config::Settings;
use crate::policy::Policy;
use crate::sets::STAGE_KINDS;
use flashyard_core::graph::NIL;
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::{CommandPolicy, Placement};
use flashyard_core::queue::{CommandQueue, DeadlineKey, Positions, ReadyKey};
use flashyard_core::units::{DieId, Span, Time};

/// The commands that wait for a die.
#[derive(Debug)]
pub(crate) struct DieQueues {
    pub(crate) host: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    pub(crate) gc: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    /// Commands of reads that were put into `host` until now; stale where that is empty.
    pub(crate) reads_placed: u64,
}

impl DieQueues {
    fn new() -> Self {
        Self {
            host: CommandQueue::new(Vec::new(), Vec::new()),
            gc: CommandQueue::new(Vec::new(), Vec::new()),
            reads_placed: 0,
        }
    }

    /// Whether no command waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.host.is_empty() && self.gc.is_empty()
    }

    /// Commands of reads that were put into `host` since it was empty.
    pub(crate) const fn reads_placed(&self) -> u64 {
        if self.host.is_empty() { 0 } else { self.reads_placed }
    }
}

/// The queues of all dies.
pub(crate) struct Queues {
    pub(crate) policy: Policy,
    pub(crate) of_dies: Vec<DieQueues>,
    pub(crate) positions: Positions<Vec<u32>>,
    pub(crate) next_insertion: u64,
    /// The oldest and newest queued command of each kind on each plane, where operations gather
    /// several.
    pub(crate) of_planes: Vec<[(u32, u32); STAGE_KINDS]>,
    /// Whether anybody reads flash operation times; whether the policy reads inherited ranks, and
    /// whether waiting commands move.
    pub(crate) counts_fot: bool,
    pub(crate) inherits: bool,
    pub(crate) rekeys: bool,
    pub(crate) fot_by_die: Vec<Span>,
    /// Dies that may be able to take a command, a bit each.
    pub(crate) stirred: Vec<u64>,
}

impl Queues {
    /// The empty queues of a device.
    pub(crate) fn new(settings: &Settings, policy: Policy) -> Self {
        let dies = settings.geometry.dies() as usize;
        Self {
            counts_fot: policy.reads_fot(),
            inherits: policy.inherits(),
            rekeys: policy.rekeys(),
            policy,
            of_dies: (0..dies).map(|_| DieQueues::new()).collect(),
            positions: Positions { ready: Vec::new(), deadline: Vec::new() },
            next_insertion: 0,
            of_planes: vec![[(NIL, NIL); STAGE_KINDS]; settings.geometry.all_planes() as usize],
            fot_by_die: vec![Span::ZERO; dies],
            stirred: vec![0; dies.div_ceil(64)],
        }
    }

    /// Makes room for so many sets.
    pub(crate) fn grow(&mut self, sets: usize) {
        self.positions.ready.resize(sets, ABSENT);
        self.positions.deadline.resize(sets, ABSENT);
    }

    /// A command waits for a die from now on; `of_read` is whether a read of the host asks for it.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        die: DieId,
        set: u32,
        placement: &Placement,
        in_gc_queue: bool,
        of_read: bool,
    ) {
        let queues = &mut self.of_dies[die.index()];
        if !in_gc_queue {
            queues.reads_placed = queues.reads_placed() + u64::from(of_read);
        }
        let queue = if in_gc_queue { &mut queues.gc } else { &mut queues.host };
        if queue.is_full() {
            let count = (2 * queue.len()).max(64);
            let (ready, deadlines) = queue.storage_mut();
            ready.resize(count, Entry::vacant(0));
            deadlines.resize(count, Entry::vacant(0));
        }
        queue.insert(&mut self.positions, set, placement, self.next_insertion);
        self.next_insertion += 1;
    }

    /// A command waits no more; returns its deadline.
    #[inline]
    pub(crate) fn remove(&mut self, die: DieId, set: u32, in_gc_queue: bool) -> Option<Time> {
        let queues = &mut self.of_dies[die.index()];
        let queue = if in_gc_queue { &mut queues.gc } else { &mut queues.host };
        queue.remove(&mut self.positions, set)
    }

    /// Whether anybody asks what sets wait for: its time, or its rank.
    #[inline]
    pub(crate) const fn ranks_sets(&self) -> bool {
        self.counts_fot || self.inherits || self.rekeys
    }

    /// A die may be able to take a command.
    #[inline]
    pub(crate) fn stir(&mut self, die: DieId) {
        self.stirred[die.index() / 64] |= 1 << (die.index() % 64);
    }
}

//! Commands that wait for dies: a queue of requests and one of garbage collection for each die, in
//! the order of the command policy, and which dies are to be looked at.

use crate::config::Settings;
use crate::handle::SetId;
use crate::policy::Policy;
use crate::sets::STAGE_KINDS;
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::{CommandPolicy, Placement};
use flashyard_core::queue::{CommandQueue, DeadlineKey, Positions, ReadyKey};
use flashyard_core::units::{DieId, Span, Time};

/// The commands that wait for a die.
#[derive(Debug)]
struct DieQueues {
    host: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    gc: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    /// Commands of reads that were put into `host` until now; stale where that is empty.
    reads_placed: u64,
}

impl DieQueues {
    fn new() -> Self {
        Self {
            host: CommandQueue::new(Vec::new(), Vec::new()),
            gc: CommandQueue::new(Vec::new(), Vec::new()),
            reads_placed: 0,
        }
    }

    /// Commands of reads that were put into `host` since it was empty.
    const fn reads_placed(&self) -> u64 {
        if self.host.is_empty() { 0 } else { self.reads_placed }
    }
}

/// The queues of all dies.
pub(crate) struct Queues {
    pub(crate) policy: Policy,
    of_dies: Vec<DieQueues>,
    positions: Positions<Vec<u32>>,
    next_insertion: u64,
    /// The oldest and newest queued command of each kind on each plane, where operations gather
    /// several.
    pub(crate) of_planes: Vec<[(Option<SetId>, Option<SetId>); STAGE_KINDS]>,
    /// Whether anybody reads flash operation times; whether the policy reads inherited ranks, and
    /// whether waiting commands move.
    pub(crate) counts_fot: bool,
    pub(crate) inherits: bool,
    pub(crate) rekeys: bool,
    pub(crate) fot_by_die: Vec<Span>,
    /// Dies that may be able to take a command, a bit each.
    stirred: Vec<u64>,
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
            of_planes: vec![[(None, None); STAGE_KINDS]; settings.geometry.all_planes() as usize],
            fot_by_die: vec![Span::ZERO; dies],
            stirred: vec![0; dies.div_ceil(64)],
        }
    }

    /// Makes room for so many sets.
    pub(crate) fn grow(&mut self, sets: usize) {
        self.positions.ready.resize(sets, ABSENT);
        self.positions.deadline.resize(sets, ABSENT);
    }

    /// The commands that a die may take next: the first one of requests, and of garbage collection.
    #[inline]
    pub(crate) fn first(&self, die: DieId, now: Time) -> (Option<SetId>, Option<SetId>) {
        let queues = &self.of_dies[die.index()];
        let first = |set: Option<u32>| set.map(SetId::new);
        (first(queues.host.peek(now)), first(queues.gc.peek(now)))
    }

    /// Whether no command waits for a die.
    #[inline]
    pub(crate) fn is_empty(&self, die: DieId) -> bool {
        let queues = &self.of_dies[die.index()];
        queues.host.is_empty() && queues.gc.is_empty()
    }

    /// Whether a command of garbage collection waits for a die.
    pub(crate) fn has_gc(&self, die: DieId) -> bool {
        !self.of_dies[die.index()].gc.is_empty()
    }

    /// Commands of requests that wait for dies.
    pub(crate) fn of_requests(&self) -> impl Iterator<Item = SetId> {
        self.of_dies.iter().flat_map(|die| die.host.members()).map(SetId::new)
    }

    /// Commands of reads that were put into the queue of requests of a die since it was empty.
    #[inline]
    pub(crate) fn reads_placed(&self, die: DieId) -> u64 {
        self.of_dies[die.index()].reads_placed()
    }

    /// How many commands have waited so far.
    pub(crate) const fn next_insertion(&self) -> u64 {
        self.next_insertion
    }

    /// So many commands were done without a queue.
    pub(crate) const fn skip_insertions(&mut self, commands: u64) {
        self.next_insertion += commands;
    }

    /// A command waits for a die from now on; `of_read` is whether a read of the host asks for it.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        die: DieId,
        set: SetId,
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
        queue.insert(&mut self.positions, set.get(), placement, self.next_insertion);
        self.next_insertion += 1;
    }

    /// A command waits no more; returns its deadline.
    #[inline]
    pub(crate) fn remove(&mut self, die: DieId, set: SetId, in_gc_queue: bool) -> Option<Time> {
        let queues = &mut self.of_dies[die.index()];
        let queue = if in_gc_queue { &mut queues.gc } else { &mut queues.host };
        queue.remove(&mut self.positions, set.get())
    }

    /// A die may be able to take a command.
    #[inline]
    pub(crate) fn stir(&mut self, die: DieId) {
        self.stirred[die.index() / 64] |= 1 << (die.index() % 64);
    }

    /// Takes the lowest die that may be able to take a command.
    #[inline]
    pub(crate) fn take_stirred(&mut self) -> Option<DieId> {
        let word = self.stirred.iter().position(|&dies| dies != 0)?;
        let bit = self.stirred[word].trailing_zeros();
        self.stirred[word] &= self.stirred[word] - 1;
        Some(DieId::from_index(word * 64 + bit as usize))
    }

    /// Whether a die may be able to take a command.
    pub(crate) fn has_stirred(&self) -> bool {
        self.stirred.iter().any(|&dies| dies != 0)
    }
}

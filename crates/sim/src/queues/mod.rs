//! Commands that wait for dies: a queue of requests and one of garbage collection for each die, in
//! the order of the command policy, and which dies are to be looked at. Where the policy ranks
//! streams, requests have a queue for each stream.

#![expect(clippy::inline_always, reason = "steps of each command; a call costs as much as they do")]

mod streams;

use crate::config::Settings;
use crate::handle::SetId;
use crate::parts::policy::Policy;
use crate::sets::{STAGE_KINDS, Stage};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::{CommandPolicy, Placement};
use flashyard_core::queue::{CommandQueue, DeadlineKey, Link, Positions, ReadyKey};
use flashyard_core::units::{DieId, PlaneId, Time};
use streams::Lent;

/// Commands that wait.
type Commands = CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>;

/// The commands that wait for a die.
#[derive(Clone, Debug)]
struct DieQueues {
    /// Empty where requests have a queue for each stream.
    host: Commands,
    gc: Commands,
    /// Commands of reads that were put into `host` until now; stale where that is empty. With a
    /// queue for each stream, those since all were empty.
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
}

/// The queues of all dies.
#[derive(Clone)]
pub(crate) struct Queues {
    policy: Policy,
    of_dies: Vec<DieQueues>,
    positions: Positions<Vec<u32>, Vec<Link>>,
    next_insertion: u64,
    /// Whether one operation may serve several commands.
    gathers: bool,
    /// Where operations gather several commands, the oldest and newest waiting one of each kind on
    /// each plane, and the neighbours of each, the older one first.
    of_planes: Vec<[[Option<SetId>; 2]; STAGE_KINDS]>,
    neighbours: Vec<[Option<SetId>; 2]>,
    /// Whether anybody reads flash operation times; whether the policy reads inherited ranks, and
    /// whether waiting commands move.
    counts_fot: bool,
    inherits: bool,
    rekeys: bool,
    /// What the policy has where it keeps a state, and whether it ranks streams.
    lent: Option<Box<Lent>>,
    ranks_streams: bool,
    /// Dies that may be able to take a command, a bit each, and whether there are any.
    stirred: Vec<u64>,
    has_stirred: bool,
    /// By set, the place of its command in the order of arrival, where dies take commands in that
    /// order; commands that have arrived.
    arrivals: Vec<u64>,
    arrived: u64,
}

impl Queues {
    /// The empty queues of a device.
    pub(crate) fn new(settings: &Settings, policy: Policy) -> Self {
        let dies = settings.geometry.dies() as usize;
        Self {
            counts_fot: policy.reads_fot(),
            inherits: policy.inherits(),
            rekeys: policy.rekeys(),
            lent: Lent::new(&policy, dies),
            ranks_streams: policy.has_state() && policy.ranks_streams(),
            policy,
            gathers: settings.gathers(),
            of_dies: (0..dies).map(|_| DieQueues::new()).collect(),
            positions: Positions { ready: Vec::new(), deadline: Vec::new(), links: Vec::new() },
            next_insertion: 0,
            of_planes: vec![[[None; 2]; STAGE_KINDS]; settings.geometry.all_planes() as usize],
            neighbours: Vec::new(),
            stirred: vec![0; dies.div_ceil(64)],
            has_stirred: false,
            arrivals: Vec::new(),
            arrived: 0,
        }
    }

    /// For how many sets there is room.
    #[inline]
    pub(crate) const fn capacity(&self) -> usize {
        self.neighbours.len()
    }

    /// Makes room for so many sets.
    pub(crate) fn grow(&mut self, sets: usize) {
        self.positions.ready.resize(sets, ABSENT);
        self.positions.deadline.resize(sets, ABSENT);
        self.positions.links.resize(sets, Link::VACANT);
        self.neighbours.resize(sets, [None; 2]);
        if let Some(lent) = &mut self.lent {
            lent.grow(sets);
        }
    }

    /// The command policy.
    #[inline]
    pub(crate) const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether one operation may serve several commands.
    #[inline]
    pub(crate) const fn gathers(&self) -> bool {
        self.gathers
    }

    /// Whether the policy reads inherited ranks.
    #[inline]
    pub(crate) const fn inherits(&self) -> bool {
        self.inherits
    }

    /// Whether waiting commands move.
    pub(crate) const fn rekeys(&self) -> bool {
        self.rekeys
    }

    /// Whether anybody reads flash operation times.
    pub(crate) const fn counts_fot(&self) -> bool {
        self.counts_fot
    }

    /// Somebody reads flash operation times.
    pub(crate) const fn count_fot(&mut self) {
        self.counts_fot = true;
    }

    /// Whether anybody asks what new sets wait for.
    #[inline]
    pub(crate) const fn looks_at_waits(&self) -> bool {
        self.counts_fot || self.inherits || self.rekeys
    }

    /// The commands that a die may take next: the first one of requests, and of garbage collection.
    #[inline(always)]
    pub(crate) fn first(&mut self, die: DieId, now: Time) -> (Option<SetId>, Option<SetId>) {
        if self.has_state() {
            return self.first_with_state(die, now);
        }
        self.first_plain(die, now)
    }

    #[inline(always)]
    fn first_plain(&self, die: DieId, now: Time) -> (Option<SetId>, Option<SetId>) {
        let queues = &self.of_dies[die.index()];
        let first = |set: Option<u32>| set.map(SetId::new);
        (first(queues.host.peek(now)), first(queues.gc.peek(now)))
    }

    /// Whether no command waits for a die.
    #[inline]
    pub(crate) fn is_empty(&self, die: DieId) -> bool {
        let queues = &self.of_dies[die.index()];
        let empty = queues.host.is_empty() && queues.gc.is_empty();
        empty && (!self.ranks_streams || self.streams_are_empty(die))
    }

    /// Whether a command of garbage collection waits for a die.
    pub(crate) fn has_gc(&self, die: DieId) -> bool {
        !self.of_dies[die.index()].gc.is_empty()
    }

    /// Commands of requests that wait for dies.
    pub(crate) fn of_requests(&self) -> impl Iterator<Item = SetId> {
        let positions = &self.positions;
        let of_streams = self.lent.iter().flat_map(|lent| lent.members(positions));
        let of_dies = self.of_dies.iter().flat_map(|die| die.host.members(positions));
        of_dies.chain(of_streams).map(SetId::new)
    }

    /// Commands of reads that were put into the queues of requests of a die since they were empty.
    #[inline]
    pub(crate) fn reads_placed(&self, die: DieId) -> u64 {
        let queues = &self.of_dies[die.index()];
        if queues.host.is_empty() && !self.ranks_streams { 0 } else { queues.reads_placed }
    }

    /// The command of a set has arrived at its die.
    pub(crate) fn note_arrival(&mut self, set: SetId) {
        self.arrivals.resize(self.positions.ready.len(), 0);
        self.arrivals[set.index()] = self.arrived;
        self.arrived += 1;
    }

    /// The place of a set's command in the order of arrival.
    pub(crate) fn arrival(&self, set: SetId) -> u64 {
        self.arrivals[set.index()]
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
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        die: DieId,
        set: SetId,
        placement: &Placement,
        in_gc_queue: bool,
        of_read: bool,
    ) {
        if self.has_state() {
            return self.insert_with_state((die, set), placement, in_gc_queue, of_read);
        }
        self.insert_plain((die, set), placement, in_gc_queue, of_read);
    }

    #[inline(always)]
    fn insert_plain(
        &mut self,
        (die, set): (DieId, SetId),
        placement: &Placement,
        in_gc_queue: bool,
        of_read: bool,
    ) {
        let queues = &mut self.of_dies[die.index()];
        if !in_gc_queue {
            let before = if queues.host.is_empty() { 0 } else { queues.reads_placed };
            queues.reads_placed = before + u64::from(of_read);
        }
        let queue = if in_gc_queue { &mut queues.gc } else { &mut queues.host };
        if queue.is_full() {
            grow(queue, 64);
        }
        queue.insert(&mut self.positions, set.get(), placement, self.next_insertion);
        self.next_insertion += 1;
    }

    /// A command waits no more; returns its deadline.
    #[inline(always)]
    pub(crate) fn remove(&mut self, die: DieId, set: SetId, in_gc_queue: bool) -> Option<Time> {
        if self.has_state() {
            return self.remove_with_state(die, set, in_gc_queue);
        }
        self.remove_plain(die, set, in_gc_queue)
    }

    #[inline(always)]
    fn remove_plain(&mut self, die: DieId, set: SetId, in_gc_queue: bool) -> Option<Time> {
        let queues = &mut self.of_dies[die.index()];
        let queue = if in_gc_queue { &mut queues.gc } else { &mut queues.host };
        queue.remove(&mut self.positions, set.get())
    }

    /// A die may be able to take a command.
    #[inline]
    pub(crate) fn stir(&mut self, die: DieId) {
        self.stirred[die.index() / 64] |= 1 << (die.index() % 64);
        self.has_stirred = true;
    }

    /// Takes the lowest die that may be able to take a command.
    #[inline]
    pub(crate) fn take_stirred(&mut self) -> Option<DieId> {
        let word = self.stirred.iter().position(|&dies| dies != 0);
        self.has_stirred = word.is_some();
        let word = word?;
        let bit = self.stirred[word].trailing_zeros();
        self.stirred[word] &= self.stirred[word] - 1;
        Some(DieId::from_index(word * 64 + bit as usize))
    }

    /// Whether [`Self::take_stirred`] may find a die: some were stirred since it found none.
    #[inline]
    pub(crate) const fn has_stirred(&self) -> bool {
        self.has_stirred
    }
}

/// Lends a queue that is full more memory, for so many commands at least.
#[cold]
fn grow(queue: &mut Commands, least: usize) {
    let count = (2 * queue.len()).max(least);
    let (ready, deadlines) = queue.storage_mut();
    ready.resize(count, Entry::vacant(0));
    deadlines.resize(count, Entry::vacant(0));
}

/// Waiting commands by kind and plane.
impl Queues {
    /// The oldest waiting command of a kind on a plane.
    #[inline]
    pub(crate) fn oldest(&self, plane: PlaneId, stage: Stage) -> Option<SetId> {
        self.of_planes[plane.index()][stage as usize][0]
    }

    /// The command of the same kind that has waited longest behind another one.
    #[inline]
    pub(crate) fn newer(&self, set: SetId) -> Option<SetId> {
        self.neighbours[set.index()][1]
    }

    /// Adds a command to those of its kind on its plane.
    pub(crate) fn list(&mut self, set: SetId, plane: PlaneId, stage: Stage) {
        let [oldest, newest] = &mut self.of_planes[plane.index()][stage as usize];
        let before = newest.replace(set);
        match before {
            None => *oldest = Some(set),
            Some(before) => self.neighbours[before.index()][1] = Some(set),
        }
        self.neighbours[set.index()] = [before, None];
    }

    /// Takes it out again.
    #[inline(always)]
    pub(crate) fn unlist(&mut self, set: SetId, plane: PlaneId, stage: Stage) {
        let [before, after] = self.neighbours[set.index()];
        let [oldest, newest] = &mut self.of_planes[plane.index()][stage as usize];
        match before {
            None => *oldest = after,
            Some(before) => self.neighbours[before.index()][1] = after,
        }
        match after {
            None => *newest = before,
            Some(after) => self.neighbours[after.index()][0] = before,
        }
    }
}

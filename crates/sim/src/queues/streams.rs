//! What a command policy with a state has: the words that it is lent, the stream of each command
//! and, where it ranks streams, a queue for each stream at each die.

use super::{Commands, Queues};
use crate::handle::SetId;
use crate::parts::policy::Policy;
use flashyard_core::command::{Op, StreamId};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::{CommandEvent, CommandPolicy, Happened, Placement};
use flashyard_core::queue::{CommandQueue, Link, Positions, StreamKey, StreamOrder};
use flashyard_core::units::{DieId, Span, Time};

/// The queues of the streams at a die, by [`StreamId::index`].
#[derive(Clone)]
struct DieStreams {
    queues: Vec<Commands>,
    order: StreamOrder<Vec<Entry<StreamKey>>, Vec<u32>>,
}

/// What a policy with a state has.
#[derive(Clone)]
pub(super) struct Lent {
    words: Vec<u64>,
    /// Streams that the words are for, and dies.
    streams: usize,
    dies: usize,
    /// The weights of the host's streams; where there is one, of all that its requests name.
    weights: Vec<u32>,
    /// The stream of the command of each set that waits or runs.
    of_sets: Vec<StreamId>,
    /// Empty where the policy does not rank streams.
    of_dies: Vec<DieStreams>,
}

impl Lent {
    /// What the policy of a device with so many dies has, where it keeps a state.
    pub(super) fn new(policy: &Policy, dies: usize) -> Option<Box<Self>> {
        policy.has_state().then(|| {
            let die = |_| DieStreams {
                queues: Vec::new(),
                order: StreamOrder::new(Vec::new(), Vec::new()),
            };
            let mut lent = Self {
                words: Vec::new(),
                streams: 0,
                dies,
                weights: Vec::new(),
                of_sets: Vec::new(),
                of_dies: (0..dies).filter(|_| policy.ranks_streams()).map(die).collect(),
            };
            lent.make_room(policy, StreamId::INTERNAL);
            Box::new(lent)
        })
    }

    /// Makes room for so many streams.
    fn make_room(&mut self, policy: &Policy, streams: usize) {
        self.streams = streams;
        self.words.resize(policy.state_words(self.dies, streams), 0);
        for die in &mut self.of_dies {
            let (entries, positions) = die.order.storage_mut();
            entries.resize(streams, Entry::vacant((0, 0)));
            positions.resize(streams, ABSENT);
            die.queues.resize_with(streams, || CommandQueue::new(Vec::new(), Vec::new()));
        }
    }

    /// Makes room for so many sets.
    pub(super) fn grow(&mut self, sets: usize) {
        self.of_sets.resize(sets, StreamId::Gc);
    }

    /// The state of the policy.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The commands that wait for a die in queues of streams.
    pub(super) fn members<'a>(
        &'a self,
        positions: &'a Positions<Vec<u32>, Vec<Link>>,
    ) -> impl Iterator<Item = u32> + 'a {
        let queues = self.of_dies.iter().flat_map(|die| &die.queues);
        queues.flat_map(|queue| queue.members(positions))
    }

    fn weight(&self, stream: StreamId) -> u32 {
        let StreamId::Host(number) = stream else { return 1 };
        let own = self.weights.get(usize::from(number)).or(self.weights.first());
        own.copied().unwrap_or(1)
    }
}

/// The words that a policy is lent, and the queues of streams at a die.
fn lent_to(lent: &mut Option<Box<Lent>>, die: DieId) -> (&[u64], &mut DieStreams) {
    let lent = lent.as_mut().expect("who ranks streams has a state");
    (&lent.words, &mut lent.of_dies[die.index()])
}

/// Policies with a state.
impl Queues {
    /// Whether the policy keeps a state, and so is told of commands.
    #[inline]
    pub(crate) const fn has_state(&self) -> bool {
        self.lent.is_some()
    }

    /// The state of the policy.
    #[inline]
    pub(crate) fn state(&self) -> &[u64] {
        self.lent.as_ref().map_or(&[], |lent| lent.words())
    }

    /// A phase begins whose streams have these weights.
    pub(crate) fn begin_phase(&mut self, weights: impl Iterator<Item = u64>) {
        let Some(lent) = &mut self.lent else { return };
        lent.words.fill(0);
        lent.weights.clear();
        lent.weights.extend(weights.map(|weight| u32::try_from(weight).expect("it is small")));
    }

    /// Whether no command waits for a die in the queue of a stream.
    #[cold]
    pub(super) fn streams_are_empty(&self, die: DieId) -> bool {
        self.lent.as_ref().is_none_or(|lent| lent.of_dies[die.index()].order.is_empty())
    }

    /// See [`Self::first`].
    #[cold]
    pub(super) fn first_with_state(
        &mut self,
        die: DieId,
        now: Time,
    ) -> (Option<SetId>, Option<SetId>) {
        let first = self.first_plain(die, now);
        if !self.ranks_streams {
            return first;
        }
        let (words, DieStreams { queues, order }) = lent_to(&mut self.lent, die);
        let rank = |stream| self.policy.stream_rank(words, StreamId::of_index(stream as usize));
        let stream = order.first(rank);
        let host = stream.and_then(|stream| queues[stream as usize].peek(now));
        (host.map(SetId::new), first.1)
    }

    /// See [`Self::insert`].
    #[cold]
    pub(super) fn insert_with_state(
        &mut self,
        (die, set): (DieId, SetId),
        placement: &Placement,
        in_gc_queue: bool,
        of_read: bool,
    ) {
        if in_gc_queue || !self.ranks_streams {
            return self.insert_plain((die, set), placement, in_gc_queue, of_read);
        }
        self.of_dies[die.index()].reads_placed += u64::from(of_read);
        let stream = self.stream_of(set);
        let (words, DieStreams { queues, order }) = lent_to(&mut self.lent, die);
        let queue = &mut queues[stream.index()];
        if queue.is_empty() {
            let index = u32::try_from(stream.index()).expect("streams have 16 bits");
            order.insert(index, self.policy.stream_rank(words, stream));
        }
        if queue.is_full() {
            super::grow(queue, 4);
        }
        queue.insert(&mut self.positions, set.get(), placement, self.next_insertion);
        self.next_insertion += 1;
    }

    /// See [`Self::remove`].
    #[cold]
    pub(super) fn remove_with_state(
        &mut self,
        die: DieId,
        set: SetId,
        in_gc_queue: bool,
    ) -> Option<Time> {
        if in_gc_queue || !self.ranks_streams {
            return self.remove_plain(die, set, in_gc_queue);
        }
        let index = self.stream_of(set).index();
        let (_, DieStreams { queues, order }) = lent_to(&mut self.lent, die);
        let deadline = queues[index].remove(&mut self.positions, set.get());
        if queues[index].is_empty() {
            order.remove(u32::try_from(index).expect("streams have 16 bits"));
        }
        if order.is_empty() {
            self.of_dies[die.index()].reads_placed = 0;
        }
        deadline
    }

    /// The stream of the command of a set that waits or runs.
    fn stream_of(&self, set: SetId) -> StreamId {
        self.lent.as_ref().expect("the policy has a state").of_sets[set.index()]
    }

    /// The command of a set waits for its die from now on, for a stream.
    #[cold]
    pub(crate) fn command_arrives(
        &mut self,
        (die, set): (DieId, SetId),
        stream: StreamId,
        op: Op,
        now: Time,
    ) {
        let Some(lent) = &mut self.lent else { return };
        if stream.index() >= lent.streams {
            let streams = (stream.index() + 1).next_power_of_two();
            lent.make_room(&self.policy, streams);
        }
        lent.of_sets[set.index()] = stream;
        self.tell(Happened::Arrived, (die, set), op, now);
    }

    /// A die has taken the command of a set.
    #[cold]
    pub(crate) fn command_leaves(
        &mut self,
        (die, set): (DieId, SetId),
        (cost, bypasses): (Span, bool),
        op: Op,
        now: Time,
    ) {
        self.tell(Happened::Dispatched { cost, bypasses }, (die, set), op, now);
        if self.is_empty(die) {
            self.tell(Happened::Emptied, (die, set), op, now);
        }
    }

    /// Tells a policy with a state what has become of the command of a set.
    #[cold]
    pub(crate) fn tell(&mut self, what: Happened, (die, set): (DieId, SetId), op: Op, at: Time) {
        let Some(lent) = &mut self.lent else { return };
        let stream = lent.of_sets[set.index()];
        let event = CommandEvent { what, at, die, stream, weight: lent.weight(stream), op };
        self.policy.command_event(&mut lent.words, &event);
    }

    /// Whether the policy ranks streams.
    #[inline]
    pub(crate) const fn ranks_streams(&self) -> bool {
        self.ranks_streams
    }

    /// Whether garbage collection goes before the command of a set, which waits in the queue of a
    /// stream.
    #[cold]
    pub(crate) fn gc_is_before(&self, set: SetId) -> bool {
        let rank = |stream| (self.policy.stream_rank(self.state(), stream), stream);
        rank(StreamId::Gc) < rank(self.stream_of(set))
    }
}

//! What a command policy with a state has: the words that it is lent, the stream of each command
//! and, where it ranks streams, a queue for each stream at each die.

use super::{Commands, Queues};
use crate::handle::SetId;
use crate::policy::Policy;
use flashyard_core::command::{Op, StreamId};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::{CommandEvent, CommandPolicy, Happened, Placement};
use flashyard_core::queue::{CommandQueue, Positions, StreamKey, StreamOrder};
use flashyard_core::units::{DieId, Span, Time};

/// The queues of the streams at a die, by [`StreamId::index`].
struct DieStreams {
    queues: Vec<Commands>,
    order: StreamOrder<Vec<Entry<StreamKey>>, Vec<u32>>,
}

/// What a policy with a state has.
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
    pub(super) fn members(&self) -> impl Iterator<Item = u32> {
        self.of_dies.iter().flat_map(|die| &die.queues).flat_map(CommandQueue::members)
    }

    /// Whether no command waits for a die in the queue of a stream.
    pub(super) fn is_empty(&self, die: DieId) -> bool {
        self.of_dies.get(die.index()).is_none_or(|die| die.order.is_empty())
    }

    /// The first command of the stream of the least rank that has one for a die.
    pub(super) fn first(&mut self, policy: &Policy, die: DieId, now: Time) -> Option<u32> {
        let DieStreams { queues, order } = &mut self.of_dies[die.index()];
        let stream = order
            .first(|stream| policy.stream_rank(&self.words, StreamId::of_index(stream as usize)))?;
        queues[stream as usize].peek(now)
    }

    /// A command waits for a die from now on in the queue of its stream.
    pub(super) fn insert(
        &mut self,
        policy: &Policy,
        positions: &mut Positions<Vec<u32>>,
        (die, set): (DieId, SetId),
        placement: &Placement,
        number: u64,
    ) {
        let stream = self.of_sets[set.index()];
        let DieStreams { queues, order } = &mut self.of_dies[die.index()];
        let queue = &mut queues[stream.index()];
        if queue.is_empty() {
            let index = u32::try_from(stream.index()).expect("streams have 16 bits");
            order.insert(index, policy.stream_rank(&self.words, stream));
        }
        super::insert(queue, positions, set, placement, number);
    }

    /// A command no longer waits in the queue of its stream; returns its deadline.
    pub(super) fn remove(
        &mut self,
        positions: &mut Positions<Vec<u32>>,
        die: DieId,
        set: SetId,
    ) -> Option<Time> {
        let index = self.of_sets[set.index()].index();
        let DieStreams { queues, order } = &mut self.of_dies[die.index()];
        let deadline = queues[index].remove(positions, set.get());
        if queues[index].is_empty() {
            order.remove(u32::try_from(index).expect("streams have 16 bits"));
        }
        deadline
    }

    fn weight(&self, stream: StreamId) -> u32 {
        let StreamId::Host(number) = stream else { return 1 };
        let own = self.weights.get(usize::from(number)).or(self.weights.first());
        own.copied().unwrap_or(1)
    }
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

    /// The command of a set waits for its die from now on, for a stream.
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
    pub(crate) fn tell(&mut self, what: Happened, (die, set): (DieId, SetId), op: Op, at: Time) {
        let Some(lent) = &mut self.lent else { return };
        let stream = lent.of_sets[set.index()];
        let event = CommandEvent { what, at, die, stream, weight: lent.weight(stream), op };
        self.policy.command_event(&mut lent.words, &event);
    }

    /// Whether garbage collection goes before the command of a set, which waits in the queue of a
    /// stream.
    pub(crate) fn gc_is_before(&self, set: SetId) -> bool {
        let Some(lent) = self.lent.as_ref().filter(|_| self.ranks_streams) else { return false };
        let rank = |stream| (self.policy.stream_rank(&lent.words, stream), stream);
        rank(StreamId::Gc) < rank(lent.of_sets[set.index()])
    }
}

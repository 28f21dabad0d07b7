//! What a command policy sees, and what it answers; the rules that several policies share.

use crate::command::{Op, Purpose, Rank, StreamId};
use crate::units::{DieId, Span, Time};

/// The request that a command belongs to, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestView {
    /// Reads rank before everything else a host asks for.
    pub is_read: bool,
    /// Mapping units that it touches.
    pub pages: u32,
    /// When it reached the device.
    pub arrival: Time,
    /// Its flash operation time, as far as it has been translated.
    pub fot: Span,
    /// Its place in the order of admission.
    pub order: u64,
}

impl RequestView {
    /// Its own rank.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank { class: u8::from(!self.is_read), fot: self.fot }
    }
}

/// A command that is about to wait, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandView<'a> {
    /// What the array will do.
    pub op: Op,
    /// What it is done for.
    pub purpose: Purpose,
    /// The request it belongs to; none for the device's own work.
    pub request: Option<RequestView>,
    /// The best rank of the requests that wait for it, directly or transitively.
    pub inherited: Rank,
    /// How many commands of reads have been placed on its die since no command of a policy waited
    /// there.
    pub reads_before: u64,
    /// The stream that it works for.
    pub stream: StreamId,
    /// The state of the policy; empty where it keeps none.
    pub state: &'a [u64],
}

/// What has become of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It waits for its die from now on. Not told again where it moves to another queue.
    Arrived,
    /// The die has taken it.
    Dispatched {
        /// How long it is expected to occupy the die. Nothing for a command that an operation
        /// serves along with the one that it was begun for.
        cost: Span,
        /// Whether it went first whatever the ranks of streams are: garbage collection of a plane
        /// at its hard threshold of free blocks, or garbage collection that keeps a pace.
        bypasses: bool,
    },
    /// It was the last one that waited for its die. Told after it has been dispatched.
    Emptied,
    /// It was dispatched and is over.
    Completed,
    /// It no longer waits for the die, because there is no room for what it programs; it comes
    /// again.
    Withdrawn,
}

/// What a policy with a state is told of a command.
///
/// At one instant, what is over comes before what arrives, and that before what is dispatched; what
/// the end of a command leads to at once comes before the ends of commands on later dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEvent {
    /// What has happened.
    pub what: Happened,
    /// When.
    pub at: Time,
    /// The die of the command.
    pub die: DieId,
    /// The stream that it works for.
    pub stream: StreamId,
    /// The weight of that stream; 1 of internal ones.
    pub weight: u32,
    /// What the array does.
    pub op: Op,
}

/// Where a command waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// One of the policy's queues; queue 0 is served first.
    pub queue: u8,
    /// Order inside the queue, least first; equal keys in the order of insertion.
    pub key: u64,
    /// When the command may wait no longer.
    pub deadline: Option<Time>,
}

impl Placement {
    #[inline]
    pub(super) const fn new(queue: u8, key: u64) -> Self {
        Self { queue, key, deadline: None }
    }
}

/// Places commands.
///
/// Every answer MUST depend on the arguments and the settings alone. What a policy remembers is in
/// the words that it is lent, which hold zeros when a phase begins.
pub trait CommandPolicy {
    /// The names of its queues in logs, queue 0 first. There is at least one, and at most 256.
    fn queue_names(&self) -> &'static [&'static str];

    /// Where a command of a host request, or one that such a request waits for, shall wait; `now`
    /// is the instant at which it was first inserted, also where it is placed again.
    fn place(&self, command: &CommandView, now: Time) -> Placement;

    /// Whether placements follow [`RequestView::fot`]: without observers it is only counted then.
    fn reads_fot(&self) -> bool {
        true
    }

    /// How many of the first queues go before garbage collection of a plane that is at its hard
    /// threshold of free blocks.
    fn queues_before_urgent_gc(&self) -> u8 {
        0
    }

    /// Whether placements follow [`CommandView::inherited`]: only then are ranks handed on.
    fn inherits(&self) -> bool {
        false
    }

    /// Whether waiting commands move when their placement changes: when a more pressing request
    /// comes to wait for them, or when the FOT of their request grows.
    fn rekeys(&self) -> bool {
        false
    }

    /// Whether it keeps a state: only then is it lent memory and told of commands.
    fn has_state(&self) -> bool {
        false
    }

    /// How many words it wants for so many dies and streams, counted by [`StreamId::index`]. When a
    /// stream comes that is beyond them, the words that it has stay, and zeros follow them: what is
    /// kept of streams MUST come last.
    fn state_words(&self, dies: usize, streams: usize) -> usize {
        let _ = (dies, streams);
        0
    }

    /// Something has become of a command, garbage collection's included.
    fn command_event(&self, state: &mut [u64], event: &CommandEvent) {
        let _ = (state, event);
    }

    /// Whether each stream has a queue of its own at each die, and a die takes the command of the
    /// stream with the least [`stream_rank`](Self::stream_rank). Its placements then order the
    /// commands of each stream. Such a policy MUST have a state.
    fn ranks_streams(&self) -> bool {
        false
    }

    /// The rank of a stream, the least first; of equal ones the lower [`StreamId::index`]. It MUST
    /// NOT fall while commands of the stream wait.
    fn stream_rank(&self, state: &[u64], stream: StreamId) -> u128 {
        let _ = (state, stream);
        0
    }
}

crate::choice! {
    /// The instant that a deadline counts from.
    pub enum DeadlineFrom {
        /// The command's insertion into a queue (each command of a set gets a fresh deadline).
        Insertion = "insertion",
        /// The request's arrival.
        Arrival = "arrival",
    }
}

/// Reads to queue 0, programs to queue 1.
#[inline]
pub(super) const fn by_op(op: Op) -> u8 {
    match op {
        Op::Read | Op::Erase => 0,
        Op::Program => 1,
    }
}

/// Commands of reads to queue 0, all others to queue 1.
#[inline]
pub(super) const fn by_class(rank: Rank) -> u8 {
    if rank.class == 0 { 0 } else { 1 }
}

/// `from + limit`; a limit of zero means no deadline.
#[inline]
pub(super) fn due(
    from: DeadlineFrom,
    limit: Span,
    request: Option<&RequestView>,
    now: Time,
) -> Option<Time> {
    let start = match (from, request) {
        (DeadlineFrom::Arrival, Some(request)) => request.arrival,
        _ => now,
    };
    (!limit.is_zero()).then(|| start.saturating_add(limit))
}

/// Reads before the rest, the shorter FOT first; `limits` are the longest waits in either queue.
#[inline]
pub(super) fn by_rank(
    rank: Rank,
    limits: [Span; 2],
    from: DeadlineFrom,
    request: Option<&RequestView>,
    now: Time,
) -> Placement {
    let queue = by_class(rank);
    let deadline = due(from, limits[usize::from(queue)], request, now);
    Placement { queue, key: rank.fot.as_ns(), deadline }
}

/// Views of commands for the tests of policies.
#[cfg(test)]
pub(super) mod views {
    use super::{CommandView, RequestView};
    use crate::command::{Op, Purpose, Rank, StreamId};
    use crate::units::{Span, Time};

    /// A command of a request that arrived at 10 us.
    pub(in super::super) fn command(
        op: Op,
        is_read: bool,
        pages: u32,
        fot_us: u64,
    ) -> CommandView<'static> {
        let arrival = Time::from_us(10);
        let fot = Span::from_us(fot_us);
        let request = Some(RequestView { is_read, pages, arrival, fot, order: 3 });
        CommandView {
            op,
            purpose: Purpose::Host,
            request,
            inherited: Rank::NONE,
            reads_before: 0,
            stream: StreamId::Host(0),
            state: &[],
        }
    }
}

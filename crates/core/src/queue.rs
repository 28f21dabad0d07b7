//! The queue of commands that wait for one die, in the order a command policy gives them.
//!
//! Commands are served by (queue, key, insertion number): queue 0 before queue 1 and so on, equal
//! keys first in first out. A command whose deadline has passed comes before all others, the
//! earliest deadline first. Source: Lee et al., IEEE Access 2021, Algorithm 1.
//!
//! Most policies give most commands keys in ascending order. Commands that come behind all others
//! form a row, from which any of them is taken in constant time. Those that come before its last
//! one, as reads do that overtake programs, form a second row in the same way. The rest is in a
//! heap.
//!
//! Where a policy ranks streams, each stream has such a queue at each die, and a [`StreamOrder`]
//! knows which streams have commands for the die.

use crate::heap::{ABSENT, Entry, IndexedHeap};
use crate::policy::Placement;
use crate::units::Time;

/// Order among ready commands: queue, key, insertion number, from the highest bits down.
pub type ReadyKey = u128;
/// Order among commands with a deadline: deadline, queue, insertion number, from the highest bits
/// down.
pub type DeadlineKey = u128;

/// Bits of an insertion number: 2,000 years of a million insertions a second.
const NUMBER_BITS: u32 = 56;

/// In place of a position in the heap: the command is in the first row, or in the second one.
const FIRST: u32 = ABSENT - 1;
const SECOND: u32 = ABSENT - 2;

/// A command of a row, its key and its neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    key: ReadyKey,
    before: u32,
    behind: u32,
}

impl Link {
    /// A command of no row, to initialise lent memory with.
    pub const VACANT: Self = Self { key: 0, before: ABSENT, behind: ABSENT };
}

/// Where commands stand in the rows and heaps of all dies; these slices, each with a place for
/// every command, serve every queue.
#[derive(Clone, Debug)]
pub struct Positions<P, L> {
    /// In the heap of ready commands.
    pub ready: P,
    /// In the heap of deadlines.
    pub deadline: P,
    /// In the rows of ready commands.
    pub links: L,
}

/// Commands in ascending order: how many they are, the first and the last one with their keys.
#[derive(Clone, Copy, Debug)]
struct Row {
    len: usize,
    first: (ReadyKey, u32),
    last: (ReadyKey, u32),
}

impl Row {
    const EMPTY: Self = Self { len: 0, first: (0, ABSENT), last: (0, ABSENT) };

    /// The first command, if there is one.
    #[inline]
    fn first(&self) -> Option<(ReadyKey, u32)> {
        (self.len > 0).then_some(self.first)
    }

    /// Whether a command comes behind all others.
    #[inline]
    const fn ends_before(&self, key: ReadyKey) -> bool {
        self.len == 0 || self.last.0 < key
    }

    /// The commands.
    fn members(&self, links: &[Link]) -> impl Iterator<Item = u32> {
        let first = self.first().map(|(_, command)| command);
        let all = core::iter::successors(first, |&command| Some(links[command as usize].behind));
        all.take(self.len)
    }

    /// A command comes behind all others.
    #[inline]
    fn append(&mut self, links: &mut [Link], key: ReadyKey, command: u32) {
        let before = if self.len == 0 { ABSENT } else { self.last.1 };
        links[command as usize] = Link { key, before, behind: ABSENT };
        if before == ABSENT {
            self.first = (key, command);
        } else {
            links[before as usize].behind = command;
        }
        self.last = (key, command);
        self.len += 1;
    }

    /// Takes a command out.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn remove(&mut self, links: &mut [Link], command: u32) {
        self.len -= 1;
        if self.len == 0 {
            return;
        }
        let Link { before, behind, .. } = links[command as usize];
        if let Some(next) = links.get_mut(behind as usize) {
            next.before = before;
            if before == ABSENT {
                self.first = (next.key, behind);
                return;
            }
        }
        let previous = &mut links[before as usize];
        previous.behind = behind;
        if behind == ABSENT {
            self.last = (previous.key, before);
        }
    }
}

/// The waiting commands of a die.
#[derive(Clone, Debug)]
pub struct CommandQueue<R, D> {
    /// How many they are.
    len: usize,
    /// Those that came behind all others.
    row: Row,
    /// Of the others, those that came behind all others of these.
    second: Row,
    /// The rest.
    ready: IndexedHeap<ReadyKey, R>,
    deadlines: IndexedHeap<DeadlineKey, D>,
}

impl<R, D> CommandQueue<R, D>
where
    R: AsRef<[Entry<ReadyKey>]> + AsMut<[Entry<ReadyKey>]>,
    D: AsRef<[Entry<DeadlineKey>]> + AsMut<[Entry<DeadlineKey>]>,
{
    /// An empty queue over lent memory of equal lengths.
    pub fn new(ready: R, deadlines: D) -> Self {
        assert_eq!(ready.as_ref().len(), deadlines.as_ref().len());
        Self {
            len: 0,
            row: Row::EMPTY,
            second: Row::EMPTY,
            ready: IndexedHeap::new(ready),
            deadlines: IndexedHeap::new(deadlines),
        }
    }

    /// How many commands wait.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The commands that wait, in no particular order.
    pub fn members<'a, P>(
        &'a self,
        positions: &'a Positions<P, impl AsRef<[Link]>>,
    ) -> impl Iterator<Item = u32> + 'a {
        let links = positions.links.as_ref();
        self.row.members(links).chain(self.second.members(links)).chain(self.ready.members())
    }

    /// Whether the memory of a heap is used up.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.ready.is_full() || self.deadlines.is_full()
    }

    /// The memory of both heaps, to lend more.
    pub fn storage_mut(&mut self) -> (&mut R, &mut D) {
        (self.ready.storage_mut(), self.deadlines.storage_mut())
    }

    /// Adds a command. `number` is the insertion number: it MUST grow from call to call.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub fn insert<P: AsMut<[u32]>>(
        &mut self,
        positions: &mut Positions<P, impl AsMut<[Link]>>,
        command: u32,
        placement: &Placement,
        number: u64,
    ) {
        let Placement { queue, key, deadline } = *placement;
        debug_assert!(number >> NUMBER_BITS == 0, "insertion numbers are used up");
        let tail = u128::from(number);
        let ready = (u128::from(queue) << 120) | (u128::from(key) << NUMBER_BITS) | tail;
        self.len += 1;
        if self.row.ends_before(ready) {
            positions.ready.as_mut()[command as usize] = FIRST;
            self.row.append(positions.links.as_mut(), ready, command);
        } else {
            self.insert_before(positions, ready, command);
        }
        if let Some(deadline) = deadline {
            let order = (u128::from(queue) << NUMBER_BITS) | tail;
            let key = (u128::from(deadline.as_ns()) << 64) | order;
            self.deadlines.push(positions.deadline.as_mut(), key, command);
        }
    }

    /// A command comes before the last one of the first row.
    #[inline(never)]
    fn insert_before<P: AsMut<[u32]>>(
        &mut self,
        positions: &mut Positions<P, impl AsMut<[Link]>>,
        key: ReadyKey,
        command: u32,
    ) {
        let places = positions.ready.as_mut();
        if self.second.ends_before(key) {
            places[command as usize] = SECOND;
            self.second.append(positions.links.as_mut(), key, command);
        } else {
            self.ready.push(places, key, command);
        }
    }

    /// Takes a command out; returns its deadline.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub fn remove<P: AsMut<[u32]>>(
        &mut self,
        positions: &mut Positions<P, impl AsMut<[Link]>>,
        command: u32,
    ) -> Option<Time> {
        let place = &mut positions.ready.as_mut()[command as usize];
        self.len -= 1;
        match *place {
            FIRST | SECOND => {
                let row = if *place == FIRST { &mut self.row } else { &mut self.second };
                *place = ABSENT;
                row.remove(positions.links.as_mut(), command);
            }
            _ => {
                self.ready.remove(positions.ready.as_mut(), command);
            }
        }
        if self.deadlines.is_empty() {
            return None;
        }
        let deadlines = positions.deadline.as_mut();
        (deadlines[command as usize] != ABSENT)
            .then(|| deadline_of(self.deadlines.remove(deadlines, command)))
    }

    /// The command to serve next at `now`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub fn peek(&self, now: Time) -> Option<u32> {
        match self.deadlines.peek() {
            Some((key, command)) if deadline_of(key) <= now => Some(command),
            _ => self.first_ready(),
        }
    }

    /// The first command by queue, key and insertion number.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn first_ready(&self) -> Option<u32> {
        if self.len == self.row.len {
            return self.row.first().map(|(_, command)| command);
        }
        self.first_of_all()
    }

    /// The same where not all commands are in the first row.
    #[inline(never)]
    fn first_of_all(&self) -> Option<u32> {
        let earlier = |a: Option<(ReadyKey, u32)>, b| match (a, b) {
            (Some(a), Some(b)) => Some(if a < b { a } else { b }),
            (a, b) => a.or(b),
        };
        let others = earlier(self.second.first(), self.ready.peek());
        earlier(self.row.first(), others).map(|(_, command)| command)
    }
}

/// The rank of a stream, then its number.
pub type StreamKey = (u128, u32);

/// The streams that have commands for a die, the least rank first, the lower number among equals.
///
/// The rank of a stream may grow while it is a member, and the order is not told: it asks for the
/// present rank of a stream when that stands first, and puts it back where it belongs. A rank that
/// has grown many times costs one such move, so a choice is O(log n) over many choices.
#[derive(Clone, Debug)]
pub struct StreamOrder<E, P> {
    heap: IndexedHeap<StreamKey, E>,
    positions: P,
}

impl<E, P> StreamOrder<E, P>
where
    E: AsRef<[Entry<StreamKey>]> + AsMut<[Entry<StreamKey>]>,
    P: AsMut<[u32]>,
{
    /// No streams, over lent memory: as many entries and positions as there are streams, each
    /// position [`ABSENT`].
    pub const fn new(entries: E, positions: P) -> Self {
        Self { heap: IndexedHeap::new(entries), positions }
    }

    /// The memory, to lend more.
    pub const fn storage_mut(&mut self) -> (&mut E, &mut P) {
        (self.heap.storage_mut(), &mut self.positions)
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// A stream has its first command for the die.
    pub fn insert(&mut self, stream: u32, rank: u128) {
        self.heap.push(self.positions.as_mut(), (rank, stream), stream);
    }

    /// A stream has no command for the die any more.
    pub fn remove(&mut self, stream: u32) {
        self.heap.remove(self.positions.as_mut(), stream);
    }

    /// The stream to serve next; `rank` is the present rank of a stream.
    pub fn first(&mut self, rank: impl Fn(u32) -> u128) -> Option<u32> {
        loop {
            let ((known, _), stream) = self.heap.peek()?;
            let present = rank(stream);
            if present == known {
                return Some(stream);
            }
            debug_assert!(present > known, "the rank of stream {stream} has fallen");
            self.remove(stream);
            self.insert(stream, present);
        }
    }
}

/// The deadline in a key.
#[inline]
fn deadline_of(key: DeadlineKey) -> Time {
    Time::from_ns(u64::try_from(key >> 64).expect("the upper half has 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_commands_come_first_and_equal_keys_in_order() {
        let mut queue = CommandQueue::new([Entry::vacant(0); 4], [Entry::vacant(0); 4]);
        let (ready, deadline, links) = ([ABSENT; 4], [ABSENT; 4], [Link::VACANT; 4]);
        let mut positions = Positions { ready, deadline, links };
        let place = |queue, key, deadline: Option<u64>| Placement {
            queue,
            key,
            deadline: deadline.map(Time::from_us),
        };
        queue.insert(&mut positions, 0, &place(1, 0, Some(50)), 0);
        queue.insert(&mut positions, 1, &place(0, 9, None), 1);
        queue.insert(&mut positions, 2, &place(0, 9, Some(60)), 2);
        assert_eq!(queue.peek(Time::from_us(49)), Some(1), "queue 0, inserted first");
        assert_eq!(queue.peek(Time::from_us(50)), Some(0), "expired at its deadline");
        assert_eq!(queue.remove(&mut positions, 0), Some(Time::from_us(50)));
        assert_eq!(queue.peek(Time::from_us(60)), Some(2));
        assert_eq!(queue.remove(&mut positions, 2), Some(Time::from_us(60)));
        assert_eq!(queue.remove(&mut positions, 1), None);
        assert!(queue.is_empty());
    }
    /// Ranks that grow while their streams wait, against a scan over all streams.
    #[test]
    fn streams_come_by_their_present_ranks() {
        let mut order = StreamOrder::new([Entry::vacant((0, 0)); 32], [ABSENT; 32]);
        let mut ranks = [0_u128; 32];
        let mut waits = [false; 32];
        let mut random = 1_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let stream = u32::try_from(random >> 59).expect("5 bits");
            let at = stream as usize;
            if (random >> 40).is_multiple_of(4) {
                waits[at] = !waits[at];
                if waits[at] {
                    order.insert(stream, ranks[at]);
                } else {
                    order.remove(stream);
                }
            } else {
                ranks[at] += u128::from(random >> 30 & 7);
            }
            let least = (0..32).filter(|&at| waits[at as usize]);
            let least = least.min_by_key(|&at| (ranks[at as usize], at));
            assert_eq!(order.first(|stream| ranks[stream as usize]), least);
            assert_eq!(order.is_empty(), least.is_none());
        }
    }
}

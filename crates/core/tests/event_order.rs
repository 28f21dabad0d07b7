//! The order of events and of waiting commands against sorted lists, over long random histories.

use flashyard_core::events::{EventTree, VACANT, nodes_of};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::Placement;
use flashyard_core::queue::{CommandQueue, Link, Positions};
use flashyard_core::units::{Span, Time};

/// A linear congruential generator, its high bits.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.0 >> 33) % bound
    }
}

/// An event loop as the device runs one: the first event happens, its resource becomes due later or
/// rests, others start, are put off or are called off. Many events share an instant.
#[test]
fn events_happen_in_the_order_of_a_sorted_list() {
    for resources in [1u32, 3, 64, 129] {
        let mut random = Random(resources.into());
        let mut lent = [VACANT; 73];
        let length = nodes_of(resources as usize);
        let mut tree = EventTree::new(&mut lent[..length]);
        let mut list: Vec<(Time, u32)> = Vec::new();
        let mut now = Time::ZERO;
        let mut happened = 0;
        for _ in 0..20_000 {
            let first = list.first().copied();
            let takes = first.is_some() && random.below(3) > 0;
            let resource = match first {
                Some((time, resource)) if takes => {
                    assert_eq!(tree.first(), (time, resource));
                    assert!(time >= now, "time goes on");
                    (now, happened) = (time, happened + 1);
                    resource
                }
                _ => u32::try_from(random.below(resources.into())).expect("few resources"),
            };
            list.retain(|(_, other)| *other != resource);
            let next = match random.below(4) {
                0 => Time::MAX,
                _ => now + Span::from_ns(random.below(8)),
            };
            tree.set(resource, next);
            if next < Time::MAX {
                let at = list.partition_point(|event| *event < (next, resource));
                list.insert(at, (next, resource));
            }
        }
        assert!(happened > 8_000, "{resources} resources: {happened} events happened");
    }
}

/// A command of the list: where it waits, and its insertion number.
type Waiting = (u32, Placement, u64);

/// The one to serve at `now`: the longest overdue; else by queue, key and insertion.
fn first(list: &[Waiting], now: Time) -> Option<u32> {
    let overdue = list.iter().filter_map(|(command, place, number)| {
        place.deadline.filter(|due| *due <= now).map(|due| (due, place.queue, *number, *command))
    });
    let ready =
        list.iter().map(|(command, place, number)| (place.queue, place.key, number, command));
    overdue.min().map(|found| found.3).or_else(|| ready.min().map(|found| *found.3))
}

/// The queues of two dies that share the positions of their commands, which come, go and move while
/// time passes; keys and queues over their whole ranges.
#[test]
fn commands_are_served_in_the_order_of_a_list() {
    const COMMANDS: usize = 48;
    let mut random = Random(5);
    let queue = || CommandQueue::new([Entry::vacant(0); COMMANDS], [Entry::vacant(0); COMMANDS]);
    let mut queues = [queue(), queue()];
    let mut lists: [Vec<Waiting>; 2] = [Vec::new(), Vec::new()];
    let (ready, deadline) = ([ABSENT; COMMANDS], [ABSENT; COMMANDS]);
    let mut positions = Positions { ready, deadline, links: [Link::VACANT; COMMANDS] };
    let (mut now, mut overdue) = (Time::ZERO, 0);
    for number in 0..40_000 {
        now = now + Span::from_ns(random.below(3));
        let command = u32::try_from(random.below(COMMANDS as u64)).expect("few commands");
        let home = lists.iter().position(|list| list.iter().any(|waiting| waiting.0 == command));
        if let Some(die) = home {
            let at = lists[die].iter().position(|waiting| waiting.0 == command).expect("found");
            let (_, place, _) = lists[die].remove(at);
            assert_eq!(queues[die].remove(&mut positions, command), place.deadline);
        }
        if home.is_none() || random.below(3) == 0 {
            let die = usize::from(random.below(2) == 0);
            let key = match random.below(8) {
                0 => u64::MAX,
                1 => u64::MAX - 1,
                key => key % 4,
            };
            let queue = [0, 1, 2, u8::MAX][usize::try_from(random.below(4)).expect("below 4")];
            let due = now + Span::from_ns(random.below(60));
            let place = Placement { queue, key, deadline: (key != 3).then_some(due) };
            queues[die].insert(&mut positions, command, &place, number);
            lists[die].push((command, place, number));
        }
        for (queue, list) in queues.iter().zip(&lists) {
            let mut members: Vec<u32> = queue.members(&positions).collect();
            members.sort_unstable();
            let mut wanted: Vec<u32> = list.iter().map(|waiting| waiting.0).collect();
            wanted.sort_unstable();
            assert_eq!((queue.len(), members), (list.len(), wanted));
            assert_eq!(queue.peek(now), first(list, now), "at {now:?}");
            overdue += u32::from(list.iter().any(|(_, place, _)| place.deadline <= Some(now)));
        }
    }
    assert!(overdue > 10_000, "deadlines passed at {overdue} looks");
}

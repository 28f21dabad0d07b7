//! What each policy picks among the same candidates.

use super::commands_first::CommandsFirstKeys;
use super::decoupled::DecoupledKeys;
use super::framework::{DataOrder, FrameworkKeys};
use super::in_order::InOrderKeys;
use super::out_of_order::OutOfOrderKeys;
use super::sequential::SequentialKeys;
use super::*;
use crate::bus::request::BusKind;
use crate::units::Time;

const fn candidate(number: u64, kind: BusKind, started: bool, wanted: u64) -> Candidate {
    let since = Time::from_ns(number);
    Candidate { number, stream: 0, since, kind, started, wanted }
}

/// Operation 3 moves data since long, 4 moves data, 2 asks for its status, 5 wants to start.
fn view(candidates: &[Option<Candidate>; 5]) -> ChannelView<'_> {
    ChannelView { candidates, started: 5, completed: 2, last_data: 1 }
}

const CANDIDATES: [Option<Candidate>; 5] = [
    None,
    Some(candidate(3, BusKind::DataOut, true, 10)),
    Some(candidate(5, BusKind::ReadActivate, false, 13)),
    Some(candidate(2, BusKind::Status, true, 12)),
    Some(candidate(4, BusKind::DataOut, true, 11)),
];

#[test]
fn policies_order_the_same_candidates_differently() {
    let view = view(&CANDIDATES);
    let pick = |policy: AnyBusPolicy| policy.pick(&view);
    assert_eq!(
        pick(AnyBusPolicy::CommandsFirst(CommandsFirstKeys::default())),
        Some(3),
        "wanted earlier"
    );
    assert_eq!(pick(AnyBusPolicy::InOrder(InOrderKeys::default())), Some(1), "wanted first of all");
    assert_eq!(
        pick(AnyBusPolicy::Sequential(SequentialKeys::default())),
        Some(3),
        "2 are complete"
    );
    assert_eq!(pick(AnyBusPolicy::Decoupled(DecoupledKeys::default())), Some(2), "5 have started");
    assert_eq!(
        pick(AnyBusPolicy::OutOfOrder(OutOfOrderKeys::default())),
        Some(2),
        "the lowest lane"
    );
    assert_eq!(pick(AnyBusPolicy::Framework(FrameworkKeys::default())), Some(3), "wanted earlier");
}

/// An operation that is not the next one waits, although the bus is free.
#[test]
fn gates_leave_the_bus_idle() {
    let candidates = [None, None, None, None, Some(candidate(7, BusKind::ReadActivate, false, 1))];
    let view = view(&candidates);
    assert_eq!(AnyBusPolicy::Sequential(SequentialKeys::default()).pick(&view), None);
    assert_eq!(AnyBusPolicy::Decoupled(DecoupledKeys::default()).pick(&view), None);
    assert_eq!(AnyBusPolicy::OutOfOrder(OutOfOrderKeys::default()).pick(&view), Some(4));
}

#[test]
fn data_go_in_three_orders() {
    let mut candidates = CANDIDATES;
    candidates[2] = None;
    candidates[3] = Some(candidate(1, BusKind::DataIn, false, 20));
    let view = view(&candidates);
    let pick = |data_order| FrameworkKeys { data_order, ..Default::default() }.pick(&view);
    assert_eq!(pick(DataOrder::LowestChip), Some(1));
    assert_eq!(pick(DataOrder::RoundRobin), Some(3), "the next one after 1");
    assert_eq!(pick(DataOrder::Oldest), Some(3));
}

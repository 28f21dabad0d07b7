//! The naive reference of scheduling that knows the buffer and the chips: the worked examples of
//! its publication, the hazards of the published dependency rule, and laws on random runs.

use crate::common::seeds;
use crate::naive_cache::cases::Case;
use crate::naive_cache::{Outcome, Params, Policy, Req, one_pass, random_case, run};

fn write(first: u64, pages: u64) -> Req {
    Req { at_ns: 0, first, pages, read: false }
}

fn read(first: u64, pages: u64) -> Req {
    Req { read: true, ..write(first, pages) }
}

/// One chip, one request at a time, nothing takes time; the buffer starts full.
fn serial(initial: &[u64], policy: Policy) -> Params {
    Params {
        channels: 1,
        ways: 1,
        lines: initial.len(),
        initial: initial.to_vec(),
        read_ns: 0,
        program_ns: 0,
        channel_ns: 0,
        link_ns: 0,
        buffer_ns: 0,
        dispatch_ns: 0,
        depth: 32,
        width: 1,
        duplex: false,
        at_once: false,
        holds: false,
        hit_first: true,
        read_first: true,
        skips: false,
        policy,
    }
}

fn with(case: &Case, width: usize, policy: Policy) -> Outcome {
    run(&Params { width, policy, ..case.params.clone() }, &case.trace)
}

/// Four writes against three lines, that page 1 is the least recent of: in order, each write
/// evicts the page that the next one wants.
#[test]
fn hits_first_saves_programs_where_order_thrashes() {
    let trace = [write(4, 1), write(1, 1), write(2, 1), write(3, 1)];
    let times = |policy| Params { program_ns: 5, buffer_ns: 1, ..serial(&[1, 2, 3], policy) };
    let in_order = run(&times(Policy::Fifo), &trace);
    assert_eq!(in_order.done_ns, [6, 12, 18, 24]);
    assert_eq!(in_order.evictions, [1, 2, 3, 4]);
    let hits_first = run(&times(Policy::Ready), &trace);
    assert_eq!(hits_first.done_ns, [9, 1, 2, 3]);
    assert_eq!(hits_first.evictions, [1]);
}

/// The same writes where the least recent line is nobody's: the same end, but half the mean.
#[test]
fn hits_first_halves_the_mean_where_order_evicts_once() {
    let trace = [write(4, 1), write(1, 1), write(2, 1), write(3, 1)];
    let times = |policy| Params { program_ns: 5, buffer_ns: 1, ..serial(&[5, 1, 2, 3], policy) };
    let in_order = run(&times(Policy::Fifo), &trace);
    assert_eq!((in_order.done_ns, in_order.evictions), (vec![6, 7, 8, 9], vec![5]));
    let hits_first = run(&times(Policy::Ready), &trace);
    assert_eq!((hits_first.done_ns, hits_first.evictions), (vec![9, 1, 2, 3], vec![5]));
}

/// A read behind a write to its chip waits for the program that the host does not see: in order
/// the three take 2 array reads, 3 transfers and 1 program, reads first 1 program less.
#[test]
fn reads_first_hides_the_program() {
    let trace = [read(0, 1), write(1, 1), read(2, 1)];
    let times = |policy| Params {
        lines: 1,
        at_once: true,
        read_ns: 2,
        link_ns: 1,
        program_ns: 10,
        ..serial(&[], policy)
    };
    assert_eq!(run(&times(Policy::Fifo), &trace).done_ns, [3, 4, 17]);
    assert_eq!(run(&times(Policy::Ready), &trace).done_ns, [3, 7, 6]);
}

/// The published rule is right in order of arrival; in order of slots a chain breaks it: the
/// last link is compared with a value that its predecessor does not have yet.
#[test]
fn the_published_rule_needs_the_order_of_arrival() {
    let (first, middle, last) = ((0, write(0, 1), 5), (1, read(0, 2), 2), (2, write(1, 1), 5));
    assert_eq!(one_pass(&[first, middle, last]), Some(0));
    assert_eq!(one_pass(&[last, middle, first]), Some(0), "2 runs before the read of its page");
}

/// Reads do not wait for reads; a partial overlap with a write counts.
#[test]
fn dependencies_are_those_of_pages_shared_with_a_write() {
    let overlap = [(0, write(8, 4), 5), (1, read(11, 2), 3), (2, read(40, 1), 3)];
    assert_eq!(one_pass(&overlap), Some(2));
    let same = [(0, write(5, 1), 5), (1, write(5, 1), 5), (2, write(7, 1), 4)];
    assert_eq!(one_pass(&same), Some(2));
    assert_eq!(one_pass(&[(0, read(5, 1), 3), (1, read(5, 1), 3)]), Some(0));
}

#[test]
fn laws_hold_on_random_cases() {
    let (mut flying, mut by_slot, mut larger) = (0, 0, 0);
    for seed in seeds(0..400) {
        let case = random_case(seed);
        let Case { params, trace } = &case;
        let out = run(params, trace);
        let mut picks = out.picks.clone();
        picks.sort_unstable();
        assert!(picks.iter().copied().eq(0..trace.len()), "seed {seed}: each request once");
        for (request, done_ns) in trace.iter().zip(&out.done_ns) {
            let least = params.dispatch_ns + params.link_ns;
            assert!(*done_ns >= request.at_ns + least, "seed {seed}");
            larger += usize::from(!request.read && request.pages > params.lines as u64);
        }
        let ready = with(&case, params.width, Policy::Ready);
        assert_eq!((ready.queued_hazards, ready.flying_hazards), (0, 0), "seed {seed}");
        assert_eq!(with(&case, 1, Policy::OnePass), with(&case, 1, Policy::Ready), "seed {seed}");
        let fifo = with(&case, 1, Policy::Fifo);
        assert!(fifo.picks.iter().copied().eq(0..trace.len()), "seed {seed}");
        assert!(fifo.done_ns.is_sorted(), "seed {seed}");
        if !params.at_once {
            // One at a time nothing runs at a decision, so every chip is idle.
            assert_eq!(with(&case, 1, Policy::Idle), fifo, "seed {seed}");
            assert_eq!(with(&case, 1, Policy::StrictIdle), fifo, "seed {seed}");
        }
        by_slot += with(&case, 1, Policy::OnePassBySlot).queued_hazards;
        flying += with(&case, 3, Policy::OnePass).flying_hazards;
    }
    assert!(larger > 0, "some writes are larger than the buffer");
    assert!(flying > 0, "with several out, the queue's rule alone lets requests overtake");
    assert!(by_slot > 0, "slots taken again are not in order of arrival");
}

//! The naive implementation of read-while-write scheduling does what its study shows: the example
//! of its first figure event by event, the effect of each rule by hand, and on random cases the
//! limits of the ports and of flash.

use crate::naive_ros::cases::{Case, random_case};
use crate::naive_ros::{Allocate, Event, Line, Params, Policy, Req, Run, What, run};
use std::collections::BTreeSet;

/// The units of the figure: a get takes 1, a put 3, a program 5. Only puts make a line recent.
fn params(policy: Policy) -> Params {
    Params {
        policy,
        overlap_flushes: policy == Policy::Ros,
        overlap_reads: policy == Policy::Ros,
        overlap_programs: policy == Policy::Ros,
        hoist: true,
        early_flush: true,
        newest_first: false,
        pairing: false,
        watermark: 0,
        get: 1,
        put: 3,
        program: 5,
        flash_read: 4,
        channels: 1,
        depth: 32,
        gets_refresh: false,
        allocate: Allocate::Never,
    }
}

/// Dirty lines of these pages, from the least recent one, in these banks.
fn dirty(lines: &[(u64, u32)]) -> Vec<Line> {
    let line = |&(page, bank)| Line { bank, page: Some(page), dirty: true };
    lines.iter().map(line).collect()
}

/// Requests of one page that arrive at once: `W1 R2`.
fn at_once(text: &str) -> Vec<Req> {
    let one = |word: &str| {
        let (kind, page) = word.split_at(1);
        Req { arrival: 0, write: kind == "W", first: page.parse().unwrap(), pages: 1 }
    };
    text.split(' ').map(one).collect()
}

/// The events as `W1 0-3`: W put, R get, M read from flash, F get of a flush, P program.
fn told(run: &Run) -> Vec<String> {
    let one = |event: &Event| {
        let letter = match event.what {
            What::Put => "W",
            What::Get => "R",
            What::FlashRead => "M",
            What::Fill => "A",
            What::FlushGet => "F",
            What::Program => "P",
        };
        format!("{letter}{} {}-{}", event.page, event.start, event.end)
    };
    run.events.iter().map(one).collect()
}

#[track_caller]
fn expect(params: &Params, lines: &[(u64, u32)], requests: &str, events: &str) -> Run {
    let run = run(params, &dirty(lines), &at_once(requests));
    assert_eq!(told(&run).join(", "), events);
    run
}

/// By hand, in the units of the figure, with lines of which the one with page `clean` is clean. An
/// early flush frees the clean 4 behind 3, 1 and 5, which are in the bank of the put or asked for.
/// A write that hits the clean 10 needs no line, so nothing is flushed early. A write that has
/// begun a flush waits for it, although 4 is clean.
#[test]
fn clean_lines_give_way_in_their_turn() {
    for (lines, clean, requests, events) in [
        (&[(3, 1), (1, 1), (5, 1), (4, 0)][..], 4, "W1 W6 R5", "W1 0-3, W6 3-6, R5 3-4"),
        (&[(3, 0), (1, 1), (10, 2)], 10, "W1 W1 R9 W10", "W1 0-3, W1 3-6, M9 6-10, W10 10-13"),
        (&[(3, 0), (4, 1)], 4, "W6", "F3 0-1, P3 1-6, W6 6-9"),
        (&[(4, 1), (3, 0)], 4, "W6", "W6 0-3"),
    ] {
        let mut lines = dirty(lines);
        for line in &mut lines {
            line.dirty = line.page != Some(clean);
        }
        let mut params = params(Policy::Ros);
        params.overlap_reads = requests != "W1 W1 R9 W10";
        assert_eq!(told(&run(&params, &lines, &at_once(requests))).join(", "), events);
    }
}

const FIGURE: &str = "W1 W2 R3 R4 R5 W6";
const FIGURE_LINES: [(u64, u32); 5] = [(3, 2), (4, 1), (5, 2), (1, 0), (2, 1)];

#[test]
fn the_figure_takes_18_then_17_then_12() {
    let serial = expect(
        &params(Policy::Is),
        &FIGURE_LINES,
        FIGURE,
        "W1 0-3, W2 3-6, R3 6-7, R4 7-8, R5 8-9, F3 9-10, P3 10-15, W6 15-18",
    );
    assert_eq!((serial.hidden, serial.got), (0, 4));
    let in_order = expect(
        &params(Policy::Ris),
        &FIGURE_LINES,
        FIGURE,
        "W1 0-3, W2 3-6, R3 3-4, R4 6-7, R5 7-8, F3 8-9, P3 9-14, W6 14-17",
    );
    assert_eq!((in_order.hidden, in_order.got), (1, 4));
    let out_of_order = expect(
        &params(Policy::Ros),
        &FIGURE_LINES,
        FIGURE,
        "W1 0-3, R3 0-1, R4 1-2, R5 2-3, W2 3-6, F3 3-4, P3 4-9, W6 9-12",
    );
    assert_eq!((out_of_order.hidden, out_of_order.got), (4, 4));
    assert_eq!(out_of_order.completion, [3, 6, 1, 2, 3, 12]);
}

/// Lines that the first two writes take empty are as good as hits.
#[test]
fn the_figure_holds_with_empty_lines_too() {
    let mut lines = dirty(&FIGURE_LINES);
    for line in &mut lines[3..] {
        (line.page, line.dirty) = (None, false);
    }
    let last = |policy| run(&params(policy), &lines, &at_once(FIGURE)).completion[5];
    assert_eq!([Policy::Is, Policy::Ris, Policy::Ros].map(last), [18, 17, 12]);
}

/// The banks for which the figure comes out: counted over all assignments.
#[test]
fn the_figure_needs_three_banks() {
    for (banks, expected) in [(2_u32, 0), (3, 12), (4, 72)] {
        let mut found = 0;
        for code in 0..banks.pow(5) {
            let bank = |place: u32| code / banks.pow(place) % banks;
            let lines = [(3, bank(0)), (4, bank(1)), (5, bank(2)), (1, bank(3)), (2, bank(4))];
            let told_of = |policy| told(&run(&params(policy), &dirty(&lines), &at_once(FIGURE)));
            let [serial, in_order, ros] = [Policy::Is, Policy::Ris, Policy::Ros].map(told_of);
            // The text of the figure: all three reads come earlier than the second write.
            let reads_first = ros[1..4].iter().filter(|event| event.starts_with('R')).count();
            let ends = ["15-18", "14-17", "9-12"];
            let same = [&serial, &in_order, &ros].into_iter().zip(ends);
            let same = same.filter(|(told, end)| told.last().unwrap().ends_with(end)).count();
            found += u32::from(same == 3 && reads_first == 3);
        }
        assert_eq!(found, expected, "{banks} banks");
    }
}

/// Fig. 1 with the newest request hoisted first: in the same time.
#[test]
fn newest_first_turns_the_reads_round() {
    let params = Params { newest_first: true, ..params(Policy::Ros) };
    let events = "W1 0-3, R5 0-1, R4 1-2, R3 2-3, W2 3-6, F3 3-4, P3 4-9, W6 9-12";
    expect(&params, &FIGURE_LINES, FIGURE, events);
}

/// One place in the queue leaves nothing to reorder.
#[test]
fn a_queue_of_one_is_serial() {
    for policy in [Policy::Is, Policy::Ris, Policy::Ros] {
        let params = Params { depth: 1, ..params(policy) };
        let run = run(&params, &dirty(&FIGURE_LINES), &at_once(FIGURE));
        assert_eq!(run.completion, [3, 6, 7, 8, 9, 18], "{policy:?}");
    }
}

#[test]
fn each_rule_of_ros_moves_what_it_says() {
    let ros = params(Policy::Ros);
    let lines = [(7, 0), (1, 1), (2, 0)];
    expect(&ros, &lines, "W1 W8 R2", "W1 0-3, F7 0-1, P7 1-6, R2 1-2, W8 6-9");
    let in_turn = Params { hoist: false, ..ros.clone() };
    expect(&in_turn, &lines, "W1 W8 R2", "W1 0-3, F7 0-1, P7 1-6, W8 6-9, R2 9-10");

    let lines = [(7, 0), (1, 1)];
    expect(&ros, &lines, "W1 W1 W8", "W1 0-3, F7 0-1, P7 1-6, W1 3-6, W8 6-9");
    let late = Params { early_flush: false, ..ros.clone() };
    expect(&late, &lines, "W1 W1 W8", "W1 0-3, W1 3-6, F7 3-4, P7 4-9, W8 9-12");

    expect(&ros, &lines, "W1", "W1 0-3");
    let kept_free = Params { watermark: 1, ..ros.clone() };
    expect(&kept_free, &lines, "W1", "W1 0-3, F7 0-1, P7 1-6");

    expect(&ros, &lines, "R7 R7 W1", "R7 0-1, R7 1-2, W1 1-4");
    let paired = Params { pairing: true, ..ros };
    expect(&paired, &lines, "R7 R7 W1", "R7 0-1, W1 0-3, R7 1-2");
}

/// A get of 2 fits once behind a put of 3: what is left is not hidden.
#[test]
fn only_reads_that_end_with_the_put_are_hoisted() {
    let params = Params { get: 2, ..params(Policy::Ros) };
    let lines = [(3, 2), (4, 2), (1, 0), (2, 1)];
    expect(&params, &lines, "W1 W2 R3 R4", "W1 0-3, R3 0-2, W2 3-6, R4 3-5");
}

#[test]
fn a_read_miss_runs_beside_a_put_in_ros_alone() {
    let lines = [(7, 0), (1, 1)];
    expect(&params(Policy::Ros), &lines, "W1 R9", "W1 0-3, M9 0-4");
    expect(&params(Policy::Ris), &lines, "W1 R9", "W1 0-3, M9 3-7");
    expect(&params(Policy::Ros), &lines, "R9 W1", "M9 0-4, W1 4-7");
    // It waits for the channel that the flush has.
    let events = "W1 0-3, F7 0-1, P7 1-6, W8 6-9, M9 6-10";
    expect(&params(Policy::Ros), &lines, "W1 W8 R9", events);
}

/// The line is held to the end of the program: reads hit it, a new page waits for it.
#[test]
fn a_line_under_flush_answers_reads() {
    let lines = [(7, 0), (1, 1)];
    let events = "W1 0-3, F7 0-1, P7 1-6, R7 1-2, W8 6-9";
    expect(&params(Policy::Ros), &lines, "W1 W8 R7", events);
}

/// A read hit keeps its line from being flushed next, if told so.
#[test]
fn reads_make_lines_recent_if_told() {
    let lines = [(7, 0), (1, 1)];
    let puts = params(Policy::Is);
    expect(&puts, &lines, "R7 W8", "R7 0-1, F7 1-2, P7 2-7, W8 7-10");
    let both = Params { gets_refresh: true, ..puts };
    expect(&both, &lines, "R7 W8", "R7 0-1, F1 1-2, P1 2-7, W8 7-10");
}

/// The rule of RIS: nothing beside flash, and a flush alone or, if told so, beside a put.
#[test]
fn in_order_flushes_overlap_only_if_told() {
    let lines = [(7, 0), (1, 1)];
    expect(&params(Policy::Ris), &lines, "W1 W8", "W1 0-3, F7 3-4, P7 4-9, W8 9-12");
    let beside = Params { overlap_flushes: true, ..params(Policy::Ris) };
    expect(&beside, &lines, "W1 W8", "W1 0-3, F7 0-1, P7 1-6, W8 6-9");
}

/// A read of a page that an older write waits to put stays behind it.
#[test]
fn a_read_never_overtakes_the_write_of_its_page() {
    let lines = [(3, 0), (1, 1)];
    expect(&params(Policy::Ros), &lines, "W1 W3 R3", "W1 0-3, W3 3-6, R3 6-7");
    expect(&params(Policy::Ros), &lines, "W1 W1 R3", "W1 0-3, R3 0-1, W1 3-6");
}

/// Each access is made once, in the right place; ports and flash do one thing at a time; the
/// order of accesses is one that data allows.
#[test]
fn random_cases_keep_the_rules_of_the_device() {
    let mut seen = BTreeSet::new();
    for seed in 0..3000 {
        let case = random_case(seed);
        let run = run(&case.params, &case.lines, &case.requests);
        let kinds = run.events.iter().map(|event| (case.params.policy as u8, event.what));
        seen.extend(kinds);
        check(seed, &case, &run);
    }
    assert_eq!(seen.len(), 3 * 6, "every policy has done everything");
}

fn check(seed: u64, case: &Case, run: &Run) {
    let overlap = |a: &Event, b: &Event| a.start < b.end && b.start < a.end;
    let port = |what| match what {
        What::Put | What::Fill => 'w',
        What::Get | What::FlushGet => 'r',
        What::FlashRead | What::Program => 'f',
    };
    let mut hidden = 0;
    for (place, a) in run.events.iter().enumerate() {
        for b in run.events[place + 1..].iter().filter(|b| overlap(a, b)) {
            assert_ne!(case.params.policy, Policy::Is, "seed {seed}: {a:?} {b:?}");
            assert_ne!(port(a.what), port(b.what), "seed {seed}: {a:?} {b:?}");
            if port(a.what) != 'f' && port(b.what) != 'f' {
                assert_ne!(a.bank, b.bank, "seed {seed}: {a:?} {b:?}");
                hidden += a.end.min(b.end) - b.start.max(a.start);
            }
        }
    }
    assert_eq!(run.hidden, hidden, "seed {seed}");
    for (number, request) in case.requests.iter().enumerate() {
        let of_it = || run.events.iter().filter(|event| event.request == Some(number));
        let pages: BTreeSet<u64> = of_it().map(|event| event.page).collect();
        assert!(pages.into_iter().eq(request.first..request.first + request.pages), "seed {seed}");
        assert_eq!(of_it().count() as u64, request.pages, "seed {seed}");
        assert_eq!(of_it().map(|event| event.end).max(), Some(run.completion[number]));
        assert!(of_it().all(|event| event.start >= request.arrival), "seed {seed}");
        assert!(of_it().all(|event| (event.what == What::Put) == request.write), "seed {seed}");
    }
    assert!(run.events.iter().all(|event| event.bank.is_none_or(|bank| bank < case.banks)));
    // Two accesses of one page, one of them a put, are made in the order of their requests.
    let accesses: Vec<&Event> = run.events.iter().filter(|e| e.request.is_some()).collect();
    for a in &accesses {
        for b in accesses.iter().filter(|b| b.page == a.page && b.request > a.request) {
            let puts = a.what == What::Put || b.what == What::Put;
            assert!(!puts || a.end <= b.start, "seed {seed}: {a:?} {b:?}");
        }
    }
}

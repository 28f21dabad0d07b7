//! The simulator against a naive re-implementation of the published policies that shares no code
//! with it: every command, every queue entry, every completion of thousands of random runs.

use crate::common::{Random, read, record, request, seeds, settings, write};
use flashyard_core::request::RequestOp;

const POLICIES: [(&str, crate::naive::Policy); 6] = [
    ("fifo", crate::naive::Policy::Fifo),
    ("rcf", crate::naive::Policy::Rcf),
    ("size", crate::naive::Policy::Size),
    ("rrf", crate::naive::Policy::Rrf),
    ("fot", crate::naive::Policy::Fot),
    ("drs", crate::naive::Policy::Drs),
];

struct Case {
    config: crate::naive::Config,
    trace: Vec<crate::naive::Req>,
}

/// Bursts of requests on a small footprint, so that lines are shared, pinned and evicted dirty.
fn random_case(random: &mut Random) -> Case {
    let entries_per_line = random.pick(&[1, 2, 4, 8]);
    let line_count = 1 + random.below(8);
    let footprint = random.pick(&[8, 32, 128, 512]);
    let mut lines = Vec::new();
    for run in 0..line_count {
        if random.below(2) == 0 && run < footprint / entries_per_line {
            lines.push(Some((run * entries_per_line, random.below(2) == 0)));
        }
    }
    // Empty lines are the oldest ones.
    while (lines.len() as u64) < line_count {
        lines.insert(0, None);
    }
    let deepest = random.pick(&[3, 16, 64]);
    let config = crate::naive::Config {
        entries_per_line,
        entries_per_map_page: entries_per_line * random.pick(&[1, 4, 16]),
        depth: usize::try_from(1 + random.below(deepest)).unwrap(),
        rrq_us: random.pick(&[300, 2_000, 500_000]),
        wrq_us: random.pick(&[3_000, 20_000, 5_000_000]),
        read_us: random.pick(&[60, 75]),
        program_us: random.pick(&[100, 700]),
        hazards: random.below(4) > 0,
        lines,
    };
    let mut now = 0;
    let gap = random.pick(&[1, 100, 3_000]);
    let writes = random.below(11);
    let trace = (0..=random.below(60))
        .map(|_| {
            if random.below(3) == 0 {
                now += random.below(gap);
            }
            let longest = random.pick(&[1, 4, 12]);
            let pages = 1 + random.below(longest);
            crate::naive::Req {
                arrival_us: now,
                write: random.below(10) < writes,
                lpn: random.below(footprint),
                pages,
            }
        })
        .collect();
    Case { config, trace }
}

/// The settings of the simulator's device.
fn keys(config: &crate::naive::Config, name: &str) -> Vec<String> {
    let crate::naive::Config { entries_per_line, entries_per_map_page, lines, .. } = config;
    let mut keys = vec![
        "geometry.blocks_per_plane=512".to_string(),
        "ftl.over_provisioning_percent=400".to_string(),
        format!("policy.command={name}"),
        format!("map.entries_per_line={entries_per_line}"),
        format!("map.entries_per_page={entries_per_map_page}"),
        format!("map.cache_bytes={}", lines.len() as u64 * entries_per_line * 4),
        format!("map.hazards={}", if config.hazards { "order" } else { "ignore" }),
        format!("queue.depth={}", config.depth),
        format!("nand.read_us={}", config.read_us),
        format!("nand.program_us={}", config.program_us),
    ];
    for policy in ["rrf", "fot", "drs"] {
        let [read, write] = [config.rrq_us, config.wrq_us].map(|us| us as f64 / 1e3);
        keys.push(format!("policy.{policy}.write_deadline_ms={write}"));
        if policy != "rrf" {
            keys.push(format!("policy.{policy}.read_deadline_ms={read}"));
        }
    }
    keys
}

#[track_caller]
fn compare(case: &Case, name: &str, policy: crate::naive::Policy) {
    let config = &case.config;
    let settings = settings(&keys(config, name));
    let filled: Vec<(u64, bool)> = config.lines.iter().copied().flatten().collect();
    let requests: Vec<_> = case
        .trace
        .iter()
        .map(|r| {
            let op = if r.write { RequestOp::Write } else { RequestOp::Read };
            request(r.arrival_us, op, r.lpn, u32::try_from(r.pages).unwrap())
        })
        .collect();
    let (_, run) = record(&settings, &filled, &requests);
    let expected = crate::naive::simulate(config, &case.trace, policy);
    let us = |ns: u64| ns / 1_000;
    let queue = |name: &str| usize::from(["PCQ", "WRQ"].contains(&name));
    for (index, done) in run.requests.iter().enumerate() {
        assert_eq!(us(done.completion.as_ns()), expected.completion[index], "request {index}");
        assert_eq!(us(done.fot_ns), expected.fot[index], "FOT of request {index}");
    }
    let schedule: Vec<_> = run
        .commands
        .iter()
        .map(|done| crate::naive::Exec {
            start: us(done.start.as_ns()),
            end: us(done.end.as_ns()),
            req: usize::try_from(done.command.request.unwrap()).unwrap(),
            page: done.command.page.into(),
            cmd: done.command.stage,
            queue: queue(done.queue),
        })
        .collect();
    assert_eq!(schedule, expected.schedule);
    let events: Vec<_> = run
        .queued
        .iter()
        .map(|event| crate::naive::QueueEvent {
            t: us(event.at.as_ns()),
            requeue: event.moved,
            req: usize::try_from(event.command.request.unwrap()).unwrap(),
            page: event.command.page.into(),
            cmd: event.command.stage,
            queue: queue(event.queue),
            key: match name {
                "fot" | "drs" => us(event.key),
                _ => event.key,
            },
        })
        .collect();
    assert_eq!(events, expected.queue_events);
}

/// Catches any difference from the published rules, in order, timing, priority or re-keying.
#[test]
fn random_runs_equal_the_naive_implementation() {
    for seed in seeds(0..600) {
        let case = random_case(&mut Random(seed));
        for (name, policy) in POLICIES {
            let result = std::panic::catch_unwind(|| compare(&case, name, policy));
            let Case { config, trace } = &case;
            assert!(result.is_ok(), "seed {seed}, policy {name}: {config:?}\n{trace:?}");
        }
    }
}

/// By hand: unit 1 is programmed from 0 to 700 us. The write of 2 queues the eviction of line 0 at
/// 350 us. The read of 2 at 500 us waits for it, and moves it to the queue of reads, whose limit of
/// 300 us counts from 350 us. So it goes at 700 us, before the read of 1, which has a shorter FOT;
/// counted from 500 us it would go behind, and that read would end at 760 us.
#[test]
fn the_deadline_of_a_rekeyed_command_counts_from_its_first_insertion() {
    let config = crate::naive::Config {
        entries_per_line: 1,
        entries_per_map_page: 1,
        depth: 256,
        rrq_us: 300,
        wrq_us: 5_000_000,
        read_us: 60,
        program_us: 700,
        hazards: true,
        lines: vec![Some((0, true)), Some((1, false))],
    };
    let requests = [write(0, 1), write(350, 2), read(500, 2), read(600, 1)];
    let (_, run) = record(&settings(&keys(&config, "drs")), &[(0, true), (1, false)], &requests);
    let first = run.commands.iter().map(|done| (done.command.stage, done.start.as_ns() / 1_000));
    assert_eq!(first.take(3).collect::<Vec<_>>(), [("DP", 0), ("MRe", 700), ("DR", 760)]);
    assert_eq!(run.requests[3].completion.as_ns(), 820_000);
    let asked = |(arrival_us, write, lpn)| crate::naive::Req { arrival_us, write, lpn, pages: 1 };
    let trace = [(0, true, 1), (350, true, 2), (500, false, 2), (600, false, 1)].map(asked);
    compare(&Case { config, trace: trace.to_vec() }, "drs", crate::naive::Policy::Drs);
}

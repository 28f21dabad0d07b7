//! Worked examples of fair queueing, and its order against that of the textbook form.

use super::*;
use std::collections::VecDeque;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// An operation: when it comes, its stream, its cost.
type Job = (u64, usize, u64);

/// A job that was served: its number, begin, end and start tag.
type Served = (usize, u64, u64, u128);

/// One server. At equal times what is over comes first, then what arrives, then what starts.
fn serve(jobs: &[Job], weights: &[u32]) -> Vec<Served> {
    let mut shares: Vec<Share> = weights.iter().map(|weight| Share::new(*weight)).collect();
    let mut fair = FairQueueing::new(&mut shares[..]);
    let mut queues = vec![VecDeque::new(); weights.len()];
    let (mut now, mut next, mut served) = (0, 0, Vec::new());
    while served.len() < jobs.len() {
        while next < jobs.len() && jobs[next].0 <= now {
            fair.arrived(jobs[next].1);
            queues[jobs[next].1].push_back(next);
            next += 1;
        }
        let candidates = (0..queues.len()).filter(|&stream| !queues[stream].is_empty());
        let Some(stream) = fair.pick(candidates) else {
            now = jobs[next].0;
            continue;
        };
        let job = queues[stream].pop_front().expect("it is a candidate");
        let tag = fair.started(stream, jobs[job].2);
        let end = now + jobs[job].2;
        while next < jobs.len() && jobs[next].0 < end {
            fair.arrived(jobs[next].1);
            queues[jobs[next].1].push_back(next);
            next += 1;
        }
        fair.completed();
        served.push((job, now, end, tag.as_ns()));
        now = end;
    }
    served
}

/// The textbook form, with the tags of each operation computed when it comes: S = max(V, F of the
/// one before), F = S + cost / weight; V is the start tag of the operation in service, or the
/// greatest finish tag where there is none. Served by start tag, then stream. Exact fractions: the
/// tags are in 1/60 ns, for weights up to 6.
fn textbook(jobs: &[Job], weights: &[u32]) -> Vec<Served> {
    let mut finish = vec![0; weights.len()];
    let (mut virtual_time, mut latest) = (0, 0);
    let mut waiting: Vec<(u64, usize, usize, u64)> = Vec::new();
    let (mut now, mut next, mut served) = (0, 0, Vec::new());
    let mut arrive = |job: usize, virtual_time: u64, waiting: &mut Vec<_>, latest: &mut u64| {
        let (_, stream, cost) = jobs[job];
        let start = finish[stream].max(virtual_time);
        finish[stream] = start + cost * 60 / u64::from(weights[stream]);
        *latest = (*latest).max(finish[stream]);
        waiting.push((start, stream, job, cost));
    };
    while served.len() < jobs.len() {
        while next < jobs.len() && jobs[next].0 <= now {
            if waiting.is_empty() {
                virtual_time = virtual_time.max(latest);
            }
            arrive(next, virtual_time, &mut waiting, &mut latest);
            next += 1;
        }
        let Some(least) = (0..waiting.len()).min_by_key(|&at| waiting[at]) else {
            now = jobs[next].0;
            continue;
        };
        let (start, _, job, cost) = waiting.swap_remove(least);
        virtual_time = start;
        let end = now + cost;
        while next < jobs.len() && jobs[next].0 < end {
            arrive(next, virtual_time, &mut waiting, &mut latest);
            next += 1;
        }
        served.push((job, now, end, u128::from(start / 60)));
        now = end;
    }
    served
}

fn order(served: &[Served], jobs: &[Job]) -> String {
    let name = |&(job, ..): &Served| format!("{}{job}", if jobs[job].1 == 0 { 'A' } else { 'B' });
    served.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Worked example: two streams of equal weights.
#[test]
fn a_stream_that_comes_late_is_served_at_once_and_no_more() {
    let jobs = [(0, 0, 5), (0, 0, 5), (0, 0, 5), (0, 0, 5), (1, 1, 2), (1, 1, 2), (6, 1, 2)];
    let served = serve(&jobs, &[1, 1]);
    assert_eq!(order(&served, &jobs), "A0 B4 B5 B6 A1 A2 A3");
    let tags: Vec<u128> = served.iter().map(|served| served.3).collect();
    assert_eq!(tags, [0, 0, 2, 4, 5, 10, 15]);
    let ends: Vec<u64> = served.iter().map(|served| served.2).collect();
    assert_eq!(ends, [5, 7, 9, 11, 16, 21, 26]);
}

/// Worked example: a weight of two is two operations of three.
#[test]
fn service_follows_the_weights() {
    let jobs: Vec<Job> = (0..9).map(|job| (0, usize::from(job >= 6), 2)).collect();
    let served = serve(&jobs, &[2, 1]);
    assert_eq!(
        order(&served, &jobs).replace(|c: char| c.is_ascii_digit(), ""),
        "A B A A B A A B A"
    );
    let tags: Vec<u128> = served.iter().map(|served| served.3).collect();
    assert_eq!(tags, [0, 0, 1, 2, 2, 3, 4, 4, 5]);
}

/// What ends when others arrive has ended before: they find the system empty and begin equal.
#[test]
fn an_end_comes_before_an_arrival_at_the_same_time() {
    let jobs = [(0, 0, 5), (5, 1, 2), (5, 0, 2)];
    let served = serve(&jobs, &[1, 1]);
    assert_eq!(order(&served, &jobs), "A0 A2 B1");
    let tags: Vec<u128> = served.iter().map(|served| served.3).collect();
    assert_eq!(tags, [0, 5, 5]);
}

/// Against the textbook form, on random operations of up to six streams.
#[test]
fn the_order_is_that_of_start_tags() {
    let mut random = 7_u64;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (random >> 33) % bound
    };
    for _ in 0..3_000 {
        let streams = usize::try_from(1 + below(6)).expect("small");
        // Weights whose fractions 16 bits hold exactly.
        let weights: Vec<u32> = (0..streams).map(|_| 1 << below(3)).collect();
        // From a server that always has work to one that is idle half of the time.
        let (mut at, pace) = (0, 1 + below(16));
        let jobs: Vec<Job> = (0..40)
            .map(|_| {
                at += below(4) * pace;
                (at, usize::try_from(below(streams as u64)).expect("small"), 4 * (1 + below(5)))
            })
            .collect();
        assert_eq!(serve(&jobs, &weights), textbook(&jobs, &weights), "{jobs:?} {weights:?}");
    }
}

/// Two streams that always wait get service in proportion to their weights, whatever their costs.
#[test]
fn no_stream_with_work_starves() {
    let jobs: Vec<Job> =
        (0..4_000).map(|job| (0, job % 2, if job % 2 == 0 { 90 } else { 7 })).collect();
    let served = serve(&jobs, &[1, 3]);
    let (mut service, mut until) = ([0; 2], 0);
    // As long as both have something left.
    for &(job, begun, end, _) in &served {
        service[jobs[job].1] += end - begun;
        until += 1;
        if jobs.iter().rposition(|other| other.1 == jobs[job].1) == Some(job) {
            break;
        }
    }
    assert!(until > 2_000, "{until} operations");
    let (light, heavy) = (service[0] * 3, service[1]);
    assert!(light.abs_diff(heavy) <= 3 * 90 + 7, "{service:?}");
}

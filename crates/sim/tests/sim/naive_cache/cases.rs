//! Random cases, each worked out from its seed.

use super::{Params, Policy, Req};
use crate::common::Random;

/// All of them.
pub const POLICIES: [Policy; 6] = [
    Policy::Fifo,
    Policy::Idle,
    Policy::StrictIdle,
    Policy::Ready,
    Policy::OnePass,
    Policy::OnePassBySlot,
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Case {
    pub params: Params,
    pub trace: Vec<Req>,
}

/// Bursts on a few pages: lines are shared, evicted while wanted and too few for one request.
pub fn random_case(seed: u64) -> Case {
    let mut random = Random(seed);
    let mut small = |bound| usize::try_from(1 + random.below(bound)).unwrap();
    let (channels, ways, lines) = (small(2), small(2), small(8));
    let (depth, width) = (small(8), small(3));
    let footprint = random.pick(&[4, 12, 40]);
    let full = random.below(2) == 0;
    let params = Params {
        channels,
        ways,
        lines,
        initial: if full { (100..100 + lines as u64).collect() } else { Vec::new() },
        read_ns: random.pick(&[25_013, 60_101]),
        program_ns: random.pick(&[200_017, 700_027]),
        channel_ns: random.pick(&[12_011, 123_031]),
        link_ns: random.pick(&[1_009, 13_649]),
        buffer_ns: random.pick(&[0, 6_197]),
        dispatch_ns: random.pick(&[0, 2_003]),
        depth,
        width,
        duplex: random.below(2) == 0,
        at_once: random.below(4) == 0,
        holds: false,
        hit_first: true,
        read_first: true,
        skips: false,
        policy: random.pick(&POLICIES),
    };
    let gap = random.pick(&[1_000, 100_000, 2_000_000]);
    let longest = random.pick(&[1, 3, 12]);
    let reads = random.below(11);
    let mut now = 0;
    let trace = (0..=random.below(60))
        .map(|_| {
            if random.below(3) == 0 {
                now += random.below(gap);
            }
            let (first, pages) = (random.below(footprint), 1 + random.below(longest));
            Req { at_ns: now, first, pages, read: random.below(10) < reads }
        })
        .collect();
    Case { params, trace }
}

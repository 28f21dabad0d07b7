//! Random cases for the naive machine, each worked out from its seed.

use super::{Allocate, Line, Params, Policy, Req};

/// A case: what to run.
#[derive(Clone, Debug)]
pub struct Case {
    pub params: Params,
    pub banks: u32,
    pub lines: Vec<Line>,
    pub requests: Vec<Req>,
}

/// One of many cases: few lines and banks, bursts of requests of several pages that share pages
/// with one another and with the first lines, queues of up to 8. Line k is in bank k modulo banks.
/// The empty lines come first. In a quarter of the cases some of the others are clean.
pub fn random_case(seed: u64) -> Case {
    let mut random = Random(seed);
    let line_count = 1 + random.below(8);
    let banks = 1 + random.below(5);
    let footprint = line_count + random.below(2 * line_count + 4);
    let empty = random.pick(&[0, 0, line_count / 2, line_count]);
    let bank = |line: u64| u32::try_from(line % banks).expect("few banks");
    let offset = random.below(footprint);
    let line = |number| {
        // Different pages: the footprint is at least as large as the buffer.
        let page = (number >= empty).then(|| (number + offset) % footprint);
        Line { bank: bank(number), page, dirty: page.is_some() }
    };
    let mut lines: Vec<Line> = (0..line_count).map(line).collect();
    let mut params = random_params(&mut random);
    if seed.is_multiple_of(3) && params.policy != Policy::Is {
        // These draws have a generator of their own, so the draws of other cases do not move.
        let mut other = Random(!seed);
        for overlap in
            [&mut params.overlap_flushes, &mut params.overlap_reads, &mut params.overlap_programs]
        {
            *overlap = other.below(2) == 0;
        }
    }
    let requests = random_requests(&mut random, footprint, &params);
    if seed % 4 == 1 {
        params.allocate = if seed % 8 == 1 { Allocate::Clean } else { Allocate::Displace };
    }
    if seed % 4 == 2 {
        let mut other = Random(seed << 32);
        for line in &mut lines {
            line.dirty &= other.below(3) > 0;
        }
    }
    Case { params, banks: bank(banks - 1) + 1, lines, requests }
}

/// Every policy and ablation; times with and without common factors, so that some events fall on
/// the same instant and some do not.
fn random_params(random: &mut Random) -> Params {
    let (get, put, program, flash_read) = random.pick(&[
        (1, 3, 5, 4),
        (2, 3, 10, 6),
        (10, 25, 100, 50),
        (17, 103, 331, 127),
        (40, 30, 70, 55),
    ]);
    let policy = random.pick(&[Policy::Is, Policy::Ris, Policy::Ros, Policy::Ros, Policy::Ros]);
    let mut seldom = |policies| policy == policies && random.below(4) == 0;
    let ros = policy == Policy::Ros;
    let overlap_flushes = seldom(Policy::Ris) || ros;
    let (no_hoist, no_early_flush) = (seldom(Policy::Ros), seldom(Policy::Ros));
    let (newest_first, pairing) = (seldom(Policy::Ros), seldom(Policy::Ros));
    let watermark = if seldom(Policy::Ros) { 2 } else { 0 };
    Params {
        policy,
        overlap_flushes,
        overlap_reads: ros,
        overlap_programs: ros,
        hoist: !no_hoist,
        early_flush: !no_early_flush,
        newest_first,
        pairing,
        watermark,
        get,
        put,
        program,
        flash_read,
        channels: 1,
        depth: random.pick(&[1, 2, 3, 4, 6, 8]),
        gets_refresh: random.below(2) == 0,
        allocate: Allocate::Never,
    }
}

/// Bursts at one instant, requests close together, and pauses.
fn random_requests(random: &mut Random, footprint: u64, params: &Params) -> Vec<Req> {
    let count = 4 + random.below(40);
    let reads_of_8 = random.pick(&[1, 4, 4, 6]);
    let longest = random.pick(&[1, 2, 4]).min(footprint);
    let mut arrival = 0;
    let mut requests = Vec::new();
    for _ in 0..count {
        arrival += match random.below(8) {
            0..=4 => 0,
            5 => random.below(params.put) + 1,
            6 => params.put,
            _ => random.below(4 * params.program),
        };
        let pages = 1 + random.below(longest);
        let first = random.below(footprint - pages + 1);
        requests.push(Req { arrival, write: random.below(8) >= reads_of_8, first, pages });
    }
    requests
}

/// A generator of its own: these cases never change. Splitmix64, from its public definition.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let choice = self.below(choices.len() as u64);
        choices[usize::try_from(choice).expect("few choices")]
    }
}

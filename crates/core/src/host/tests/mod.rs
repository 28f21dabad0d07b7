//! What the tests of several host policies share: a small device, the published example of
//! read-while-write scheduling, random workloads.

pub(super) mod fake;

use super::HostPolicy;
use super::is::IsKeys;
use super::ris::RisKeys;
use super::ros::RosKeys;
use crate::request::{Flags, RequestOp};
use fake::{Asked, Event, Fake, Line};
use std::borrow::ToOwned;
use std::collections::BTreeMap;
use std::vec::Vec;

/// Random numbers: `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Of `0..limit`.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        u32::try_from(self.next() % u64::from(limit)).expect("below a u32")
    }
}

/// The published example: lines 3, 4, 5, 1, 2 in these banks, all dirty, least recent first, and
/// W1 W2 R3 R4 R5 W6 at once; a put takes 3, a get 1, a program 5.
fn figure_in(banks: [u32; 5]) -> Fake {
    let mut fake = Fake { dies: 1, ..Fake::default() };
    for (lpn, bank) in [3, 4, 5, 1, 2].into_iter().zip(banks) {
        fake = fake.line(lpn, bank, true);
    }
    fake.write(1, 1).write(2, 1).read(3, 1).read(4, 1).read(5, 1).write(6, 1)
}

pub(super) fn figure() -> Fake {
    figure_in([2, 1, 2, 0, 1])
}

/// The policy serves the published example so: events by start, hidden and all time of gets.
pub(super) fn assert_figure(
    policy: &impl HostPolicy,
    events: &[(&str, u64, u64, u32)],
    hidden: (u64, u64),
) {
    let mut fake = figure();
    fake.run(policy);
    let expected: Vec<_> = events.iter().map(|e| (e.0.to_owned(), e.1, e.2, e.3)).collect();
    assert_eq!(fake.events, expected);
    assert_eq!(fake.hidden(), hidden);
}

/// Devices of a few lines with a few random requests each.
pub(super) fn random_machines(count: u64) -> impl Iterator<Item = Fake> {
    (0..count).map(|seed| random_machine(&mut Random(seed)))
}

fn random_machine(random: &mut Random) -> Fake {
    let mut fake = Fake {
        get: 1 + u64::from(random.below(3)),
        put: 1 + u64::from(random.below(8)),
        program: 1 + u64::from(random.below(20)),
        nand: 1 + u64::from(random.below(9)),
        dies: 1 + random.below(3),
        depth: 1 + random.below(12) as usize,
        keeps: random.below(2) == 0,
        ..Fake::default()
    };
    let (lines, banks, units) = (1 + random.below(6), 1 + random.below(4), 4 + random.below(12));
    let full = random.below(3);
    for number in 0..lines {
        fake = fake.line(number, number % banks, full > 0);
        if full == 0 {
            fake.lines.last_mut().expect("it was just added").lpn = None;
        }
    }
    let mut entered = 0;
    for id in 0..40 {
        let op = [RequestOp::Read, RequestOp::Write, RequestOp::Write, RequestOp::Read];
        let op = if random.below(20) == 0 { RequestOp::Flush } else { op[id % 4] };
        let pages = if op == RequestOp::Flush { 0 } else { 1 + random.below(3) as usize };
        entered += u64::from(random.below(12) / 4 * random.below(6));
        let (first, flags, slot) = (random.below(units), Flags::NONE, 0);
        let (started, versions) = (std::vec![false; pages], std::vec![0; pages]);
        fake.coming.push(Asked { id, op, flags, first, entered, slot, started, versions });
    }
    fake.coming.reverse();
    fake.count_versions();
    fake
}

impl Fake {
    /// The names of what was done, in the order of its start.
    pub(super) fn names(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.0.as_str()).collect()
    }

    /// Time of gets that overlaps puts, and time of gets.
    pub(super) fn hidden(&self) -> (u64, u64) {
        let of =
            |names: [char; 2]| self.events.iter().filter(move |event| event.0.starts_with(names));
        let overlap = |get: &Event, put: &Event| get.2.min(put.2).saturating_sub(get.1.max(put.1));
        of(['R', 'F']).fold((0, 0), |(hidden, all), get| {
            let behind: u64 = of(['W', 'W']).map(|put| overlap(get, put)).sum();
            (hidden + behind, all + get.2 - get.1)
        })
    }

    /// When the last request ends if pages and their flushes go one by one: told without a policy.
    pub(super) fn time_in_order(&self) -> u64 {
        let mut lines: BTreeMap<u64, Line> =
            self.lines.iter().map(|line| (line.stamp, line.clone())).collect();
        let (mut time, mut stamp) = (0, 1 << 40);
        for asked in self.coming.iter().rev() {
            time = time.max(asked.entered);
            for lpn in (asked.first..).take(asked.started.len()) {
                let found = lines.iter().find(|(_, line)| line.lpn == Some(lpn));
                let found = found.map(|(stamp, _)| *stamp);
                if asked.op == RequestOp::Read {
                    time += if found.is_some() { self.get } else { self.nand };
                    continue;
                }
                let empty = lines.iter().find(|(_, line)| line.lpn.is_none());
                let oldest = empty.or(lines.first_key_value()).map(|(stamp, _)| *stamp);
                let taken = lines.remove(&found.or(oldest).expect("there are lines"));
                let mut line = taken.expect("it was found");
                if found.is_none() && line.lpn.is_some() {
                    time += self.get + self.program;
                }
                time += self.put;
                line.lpn = Some(lpn);
                stamp += 1;
                lines.insert(stamp, line);
            }
        }
        time
    }
}

/// The example's times fit the banks that were derived for it by hand: a page that R3 or the flush
/// of 3 overlaps is in another bank than W2, R4 is in that of W2, and W1 is in none of the reads'.
#[test]
fn the_published_times_need_three_banks() {
    for (banks, fitting) in [(2, 0), (3, 12), (4, 72)] {
        let mut found = 0;
        for number in 0..u32::pow(banks, 5) {
            let digit = |place| number / u32::pow(banks, place) % banks;
            let places = [digit(0), digit(1), digit(2), digit(3), digit(4)];
            let total = |time, policy: &dyn Fn(&mut Fake)| {
                let mut fake = figure_in(places);
                policy(&mut fake);
                fake.now == time
            };
            let fits = total(18, &|fake| fake.run(&IsKeys {}))
                && total(17, &|fake| fake.run(&RisKeys::default()))
                && total(12, &|fake| fake.run(&RosKeys::default()));
            let [b3, b4, b5, b1, b2] = places;
            assert_eq!(fits, b3 != b2 && b4 == b2 && ![b3, b4, b5].contains(&b1), "{places:?}");
            found += u32::from(fits);
        }
        assert_eq!(found, fitting);
    }
}

//! Every rule against an independent look at all full blocks.

use super::*;
use crate::parts::blocks::{Blocks, Care, Frontier, Frontiers};
use flashyard_core::geometry::{Geometry, StripeOrder};
use flashyard_core::quantity::Ppm;
use flashyard_core::units::{PlaneId, Ppn};

const FRONTIERS: Frontiers = Frontiers {
    streams: 1,
    generations: 1,
    maps: false,
    copied_maps: true,
    isolated: false,
    slc: false,
    journal: false,
};
const UNITS: u32 = 8;
const PLANE: PlaneId = PlaneId::new(1);

fn geometry(blocks_per_plane: u32) -> Geometry {
    Geometry {
        channels: 2,
        ways: 1,
        dies_per_way: 1,
        planes: 1,
        blocks_per_plane,
        pages_per_block: UNITS,
        page_bytes: 4096,
        units_per_page: 1,
        program_pages: 1,
        joined: 1,
        stripe_pages: 1,
        order: StripeOrder::Cwdp,
    }
}

fn care(rule: Rule) -> Care {
    Care { rule, ..Care::default() }
}

/// A full block as the test sees it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    block: BlockId,
    valid: u32,
    /// When it was filled, or passed over by a rule that does so.
    filled: u64,
    /// When its valid units last changed, in units written so far.
    changed: u64,
    erases: u32,
}

/// Two planes of blocks that are written, invalidated and cleaned at random, and what the test
/// knows of the full blocks of one of them.
struct Pool {
    geometry: Geometry,
    blocks: Blocks,
    random: u64,
    valid: Vec<Ppn>,
    full: Vec<Seen>,
    written: u64,
    fills: u64,
    /// By block.
    erases: Vec<u32>,
}

impl Pool {
    fn new(blocks: u32, rule: AnyVictim) -> Self {
        Self::under(blocks, Rule::BuiltIn(rule))
    }

    fn under(blocks: u32, rule: Rule) -> Self {
        Self {
            geometry: geometry(blocks),
            blocks: Blocks::new(geometry(blocks), FRONTIERS, care(rule)),
            random: 11,
            valid: Vec::new(),
            full: Vec::new(),
            written: 0,
            fills: 0,
            erases: vec![0; 2 * blocks as usize],
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % bound
    }

    fn write(&mut self) {
        let (ppn, _) = self.blocks.take_unit(PLANE, Frontier::HostData(0)).unwrap();
        self.blocks.programmed(ppn);
        let block = self.geometry.block_of(ppn);
        if self.geometry.unit_in_block(ppn) + 1 == UNITS {
            self.fills += 1;
            let valid = self.blocks.valid_units(block);
            let (filled, changed) = (self.fills, self.written);
            let erases = self.erases[block.index()];
            let seen = Seen { block, valid, filled, changed, erases };
            self.full.push(seen);
        }
        self.blocks.validate(ppn);
        self.written += 1;
        self.note(block, 1);
        self.valid.push(ppn);
    }

    fn invalidate(&mut self) {
        if !self.valid.is_empty() {
            let place = self.below(self.valid.len());
            let ppn = self.valid.swap_remove(place);
            self.blocks.invalidate(ppn);
            self.note(self.geometry.block_of(ppn), -1);
        }
    }

    fn note(&mut self, block: BlockId, change: i32) {
        let written = self.written;
        if let Some(seen) = self.full.iter_mut().find(|seen| seen.block == block) {
            seen.valid = seen.valid.checked_add_signed(change).unwrap();
            seen.changed = written;
        }
    }

    /// Cleans a block; what was valid in it is lost.
    fn clean(&mut self, block: BlockId) {
        self.blocks.claim(block);
        let of_block = |ppn: &Ppn| self.geometry.block_of(*ppn) == block;
        for ppn in self.valid.iter().copied().filter(of_block) {
            self.blocks.invalidate(ppn);
        }
        let geometry = self.geometry;
        self.valid.retain(|ppn| geometry.block_of(*ppn) != block);
        self.blocks.erased(block);
        self.erases[block.index()] += 1;
        self.full.retain(|seen| seen.block != block);
    }

    /// Writes and invalidates until few blocks are free, then lets `check` judge the victim.
    fn run(&mut self, rounds: u32, mut check: impl FnMut(&[Seen], u64, Option<BlockId>)) {
        let mut victims = 0;
        for _ in 0..rounds {
            if self.below(5) < 3 && self.blocks.free_blocks(PLANE) > 2 {
                self.write();
            } else {
                self.invalidate();
            }
            if self.blocks.free_blocks(PLANE) <= 4 && self.below(3) == 0 {
                let victim = self.blocks.victim(PLANE);
                self.full.sort_by_key(|seen| seen.filled);
                check(&self.full, self.written, victim);
                if let Some(victim) = victim {
                    victims += 1;
                    self.clean(victim);
                }
            }
        }
        assert!(victims > rounds / 100, "{victims} victims");
    }
}

fn gaining(full: &[Seen]) -> Vec<Seen> {
    full.iter().copied().filter(|seen| seen.valid < UNITS).collect()
}

#[track_caller]
fn found(full: &[Seen], victim: Option<BlockId>) -> Option<Seen> {
    let seen = victim.map(|victim| *full.iter().find(|seen| seen.block == victim).unwrap());
    assert_eq!(seen.is_some(), !gaining(full).is_empty());
    assert!(seen.is_none_or(|seen| seen.valid < UNITS), "{seen:?} gains nothing");
    seen
}

#[test]
fn greedy_finds_the_fewest_valid_units() {
    Pool::new(24, VictimKeys::default().policy(VictimName::Greedy)).run(
        20_000,
        |full, _, victim| {
            let fewest = gaining(full).iter().map(|seen| seen.valid).min();
            assert_eq!(found(full, victim).map(|seen| seen.valid), fewest);
        },
    );
}

/// The queue of the published model, with blocks that gain nothing put back at its end.
#[test]
fn fifo_finds_the_oldest_that_gains() {
    let mut queue: Vec<BlockId> = Vec::new();
    Pool::new(24, VictimKeys::default().policy(VictimName::Fifo)).run(20_000, |full, _, victim| {
        let new = full.iter().map(|seen| seen.block).filter(|block| !queue.contains(block));
        let new: Vec<_> = new.collect();
        queue.extend(new);
        if gaining(full).is_empty() {
            assert_eq!(victim, None);
            return;
        }
        let valid = |block: BlockId| full.iter().find(|seen| seen.block == block).unwrap().valid;
        while valid(queue[0]) == UNITS {
            queue.rotate_left(1);
        }
        assert_eq!(victim, Some(queue.remove(0)));
    });
}

/// The best score of all blocks, though only the head of each bucket is looked at.
#[test]
fn cost_benefit_finds_the_best_score_of_all() {
    let rule = VictimKeys::default().policy(VictimName::CostBenefit);
    let mut aged = 0;
    Pool::new(24, rule).run(20_000, |full, now, victim| {
        let Some(victim) = found(full, victim) else { return };
        // (age x gain, cost), a fraction.
        let score = |seen: &Seen| {
            let gain = (now - seen.changed) * u64::from(UNITS - seen.valid);
            (u128::from(gain), u128::from(seen.valid))
        };
        let (gain, cost) = score(&victim);
        for other in gaining(full) {
            let (more, less) = score(&other);
            assert!(cost == 0 || more * cost <= gain * less, "{victim:?} not {other:?} at {now}");
        }
        aged += u32::from(gaining(full).iter().any(|seen| seen.valid < victim.valid));
    });
    assert!(aged > 50, "age never outweighed valid units: {aged}");
}

/// How often each rank among the blocks that gain is drawn from a pool that does not change: with d
/// of n drawn with replacement the best k are missed with probability (1 - k/n)^d, without
/// replacement with probability C(n - k, d) / C(n, d).
#[track_caller]
fn check_draws(rule: AnyVictim, missed: impl Fn(f64, f64) -> f64) {
    const DRAWS: u32 = 40_000;
    let mut pool = Pool::new(40, rule);
    while pool.blocks.free_blocks(PLANE) > 2 {
        pool.write();
    }
    // Different blocks have different numbers of valid units, as far as there are; some have all.
    let blocks: Vec<BlockId> = pool.full.iter().map(|seen| seen.block).collect();
    for (place, block) in blocks.into_iter().enumerate() {
        for _ in 0..place % (UNITS as usize + 1) {
            let at = pool.valid.iter().position(|ppn| pool.geometry.block_of(*ppn) == block);
            let ppn = pool.valid.swap_remove(at.unwrap());
            pool.blocks.invalidate(ppn);
            pool.note(block, -1);
        }
    }
    let mut gaining = gaining(&pool.full);
    gaining.sort_by_key(|seen| seen.valid);
    let mut drawn = [0u32; UNITS as usize + 1];
    let mut blocks = std::collections::BTreeMap::new();
    for _ in 0..DRAWS {
        let victim = pool.blocks.victim(PLANE).unwrap();
        *blocks.entry(victim).or_insert(0u32) += 1;
        drawn[pool.blocks.valid_units(victim) as usize] += 1;
    }
    let n = gaining.len();
    assert!(n > 25, "{n}");
    for valid in 0..UNITS {
        let best = gaining.iter().filter(|seen| seen.valid <= valid).count();
        let hit: u32 = drawn[..=valid as usize].iter().sum();
        let expected = 1.0 - missed(best as f64, n as f64);
        let sigma = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
        let share = f64::from(hit) / f64::from(DRAWS);
        assert!((share - expected).abs() <= 5.0 * sigma + 1e-9, "{valid}: {share} {expected}");
    }
    assert_eq!(drawn[UNITS as usize], 0, "a block that gains nothing was drawn");
    // Blocks with equally many valid units have the same chance.
    for seen in &gaining {
        let alike = gaining.iter().filter(|other| other.valid == seen.valid).count() as f64;
        let mean = f64::from(drawn[seen.valid as usize]) / alike;
        let count = f64::from(blocks.get(&seen.block).copied().unwrap_or(0));
        assert!((count - mean).abs() <= 5.0 * mean.sqrt() + 1e-9, "{seen:?}: {count} {mean}");
    }
}

#[test]
fn drawn_victims_have_the_published_chances() {
    let keys = VictimKeys {
        d_choices: d_choices::DChoicesKeys { choices: 3 },
        rga: rga::RgaKeys { choices: 3 },
        ..VictimKeys::default()
    };
    let with = |d: i32| move |best: f64, n: f64| (1.0 - best / n).powi(d);
    check_draws(keys.policy(VictimName::Random), with(1));
    let one = VictimKeys { window: window::WindowKeys { share_percent: Ppm::ZERO }, ..keys };
    check_draws(one.policy(VictimName::Window), with(1));
    check_draws(keys.policy(VictimName::DChoices), with(3));
    check_draws(keys.policy(VictimName::Rga), |best, n| {
        (0..3)
            .map(|drawn| (n - best - f64::from(drawn)).max(0.0) / (n - f64::from(drawn)))
            .product()
    });
    // 40 blocks: five are drawn.
    check_draws(VictimKeys::default().policy(VictimName::Rga), |best, n| {
        (0..5)
            .map(|drawn| (n - best - f64::from(drawn)).max(0.0) / (n - f64::from(drawn)))
            .product()
    });
}

/// Each rule counts every candidate that it compares.
#[test]
fn searches_count_the_candidates_that_a_rule_compares() {
    let keys = VictimKeys {
        d_choices: d_choices::DChoicesKeys { choices: 3 },
        rga: rga::RgaKeys { choices: 3 },
        window: window::WindowKeys { share_percent: Ppm::from_percent(30) },
        ..VictimKeys::default()
    };
    for (name, expected) in [
        (VictimName::Greedy, (|n| n) as fn(u64) -> u64),
        (VictimName::CostBenefit, |n| n),
        (VictimName::Random, |_| 1),
        (VictimName::DChoices, |_| 3),
        (VictimName::Rga, |n| n.min(3)),
        (VictimName::Window, |n| (3 * n).div_ceil(10)),
    ] {
        let mut pool = Pool::new(24, keys.policy(name));
        for _ in 0..2_000 {
            if pool.blocks.free_blocks(PLANE) > 4 {
                pool.write();
                pool.invalidate();
            } else {
                let count = gaining(&pool.full).len() as u64;
                let (victim, searches) = pool.blocks.search(PLANE, true).unwrap();
                assert_eq!(searches, expected(count), "{name:?} of {count}");
                let (_, searches) = pool.blocks.search(PLANE, false).unwrap();
                assert_eq!(searches, count, "{name:?}: all are looked at");
                pool.clean(victim);
            }
        }
    }
    // Two blocks that gain nothing come before the one that does.
    let mut pool = Pool::new(24, keys.policy(VictimName::Fifo));
    (0..4 * UNITS).for_each(|_| pool.write());
    let third = pool.full[2].block;
    let ppn = *pool.valid.iter().find(|ppn| pool.geometry.block_of(**ppn) == third).unwrap();
    pool.blocks.invalidate(ppn);
    assert_eq!(pool.blocks.search(PLANE, true), Some((third, 3)));
}

/// Lists stay sound while blocks come and go: a draw is always one of the full blocks that gain,
/// and a draw of all of them is greedy.
#[test]
fn draws_from_a_changing_pool_find_full_blocks_that_gain() {
    let keys = VictimKeys { rga: rga::RgaKeys { choices: 100 }, ..VictimKeys::default() };
    for name in [VictimName::Random, VictimName::DChoices, VictimName::Rga] {
        Pool::new(24, keys.policy(name)).run(20_000, |full, _, victim| {
            let victim = found(full, victim);
            if name == VictimName::Rga {
                let fewest = gaining(full).iter().map(|seen| seen.valid).min();
                assert_eq!(victim.map(|seen| seen.valid), fewest);
            }
        });
    }
}

/// Looks at everything there is: the block with the fewest erases, among equals the one that has
/// changed last, among those the one filled first.
#[derive(Debug)]
struct LeastWorn;

impl VictimRule for LeastWorn {
    fn looks(&self) -> Looks {
        Looks::AGE | Looks::RANDOM | Looks::ORDER | Looks::NUMBERS
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        let drawn = [full.draw(), full.draw_by_number()];
        let heads: Vec<_> = (0..=UNITS).filter_map(|valid| full.longest_with(valid)).collect();
        let all =
            heads.iter().flat_map(|&head| std::iter::successors(Some(head), |b| full.after(*b)));
        let all: Vec<BlockId> = all.collect();
        let oldest = all.iter().copied().max_by_key(|block| full.filled_after(*block));
        assert_eq!(full.oldest(), oldest, "the order and the times of filling");
        let gaining = all.into_iter().filter(|block| full.gains(*block));
        let key = |block: &BlockId| {
            (full.erases(*block), full.age(*block), u64::MAX - full.filled_after(*block))
        };
        let best = gaining.min_by_key(key);
        for drawn in drawn {
            assert_eq!(drawn.is_some(), best.is_some(), "one is drawn where one gains");
            assert!(drawn.is_none_or(|drawn| full.gains(drawn)));
        }
        best
    }

    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

#[test]
fn a_rule_may_combine_all_that_there_is_to_look_at() {
    Pool::under(24, Rule::Own(Arc::new(LeastWorn))).run(20_000, |full, now, victim| {
        let key = |seen: &&Seen| (seen.erases, now - seen.changed, seen.filled);
        let best = gaining(full);
        let best = best.iter().min_by_key(key);
        assert_eq!(found(full, victim).map(|seen| seen.block), best.map(|seen| seen.block));
    });
}

#[test]
fn what_a_rule_looks_at_is_saved_in_a_byte() {
    let codes = [Looks::NOTHING, Looks::ORDER, Looks::RANDOM, Looks::NUMBERS, Looks::AGE];
    assert_eq!(codes.map(Looks::code), [0, 1, 2, 3, 4]);
    let all = LeastWorn.looks();
    for looks in codes.into_iter().chain([all, Looks::AGE | Looks::ORDER]) {
        assert_eq!(Looks::of_code(looks.code()), Some(looks));
    }
    assert!([5, 0x7f, 0x90].map(Looks::of_code).iter().all(Option::is_none));
}

//! What the blocks of a pool hold in steady state: how many valid units of each temperature, from
//! the block that was filled first to the one filled last.

use super::analytic::{self, ByAge};
use super::miniature;
use super::random::{Random, whole};
use super::{Cleaning, Pool, Refusal};

/// Valid units of a block, of the first and of the second class.
pub type Valid = [u32; 2];

/// A block that has been filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Its valid units.
    pub valid: Valid,
    /// How many host writes ago it was filled, about.
    pub age: u32,
    /// What filled it, as [`Open`] counts.
    pub generation: u32,
}

/// A block that is being filled; all its units so far are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// 0 for host writes, else which copies it takes: those of units copied for the first time,
    /// the second time, ..
    pub generation: u32,
    /// Units of each class that it holds.
    pub valid: Valid,
}

/// A victim whose copies are under way: its first units have been dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its units before this one hold nothing.
    pub walked: u32,
    /// Its valid units behind them.
    pub valid: Valid,
    /// What filled it, as [`Open`] counts.
    pub generation: u32,
}

/// The blocks of a pool in steady state; those that it does not name are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Full blocks, the one filled first in front.
    pub full: Vec<Full>,
    /// Open blocks.
    pub open: Vec<Open>,
    /// Where collection is paced, the victim of a job that has begun.
    pub begun: Option<Begun>,
}

/// Where the numbers of valid units come from.
#[derive(Clone, Debug)]
enum Shape {
    /// The share of blocks up to each level.
    Levels(Vec<f64>),
    /// Ages and what is left of a block at each age.
    Ages(ByAge),
    /// Blocks of a small simulated pool; ages are host writes for each logical unit.
    Tiles(Vec<Tile>),
}

/// A full block of a small pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Its valid units.
    pub valid: Valid,
    /// Host writes since it was filled, for each logical unit.
    pub age: f64,
    /// What filled it, as [`Open`] counts.
    pub generation: u32,
}

/// The steady state of pools that are alike.
#[derive(Clone, Debug)]
pub struct Recipe {
    shape: Shape,
    /// Units of a block that the shape is made for.
    shape_units: u32,
    writes: [f64; 2],
    /// The share of the first class among the units that are copied.
    copied_share: f64,
    /// Writes to the array for each write of the host in this state.
    pub write_amplification: f64,
    /// How far the write amplification of the small simulated pool is from that of one of half the
    /// size; none where the state follows from a formula.
    pub error: Option<f64>,
}

/// The share of blocks without gain from which on a formula that knows of none is not used.
/// Assumed: write amplification is off by about as much.
const FEW: f64 = 0.003;

impl Recipe {
    /// Finds the steady state of a pool that has room, under writes of which the share `writes[k]`
    /// goes to class k.
    pub fn new(
        pool: &Pool,
        cleaning: Cleaning,
        writes: [f64; 2],
        seed: u64,
    ) -> Result<Self, Refusal> {
        let dense = pool.dense();
        let mut recipe = Self::of_dense(&dense, cleaning, writes, seed)?;
        recipe.write_amplification *= f64::from(pool.block_units) / f64::from(dense.block_units);
        Ok(recipe)
    }

    fn of_dense(
        pool: &Pool,
        cleaning: Cleaning,
        writes: [f64; 2],
        seed: u64,
    ) -> Result<Self, Refusal> {
        let places = pool.places_in_use();
        let units = f64::from(pool.units[0]) + f64::from(pool.units[1]);
        if units < 1.0 {
            return Err(Refusal("the pool holds no units".to_string()));
        }
        let alpha = places / units;
        if alpha <= 1.0 || pool.block_units < 2 {
            return Err(Refusal(format!(
                "{units} units for {places} places in use, of {} blocks of {} units: without spare \
                 places there is no steady state",
                pool.blocks, pool.block_units
            )));
        }
        let classes = pool.classes(writes);
        if Self::needs_miniature(pool, cleaning, writes) {
            return miniature::recipe(pool, cleaning, writes, seed);
        }
        let level = |only_invalid, choices| {
            analytic::best_of(choices, alpha, pool.block_units, only_invalid)
        };
        let by_age = |state: Option<ByAge>| {
            let state = state.ok_or_else(|| no_solution(cleaning, alpha))?;
            Ok(Self::of_ages(pool, state, writes))
        };
        let levels = match cleaning {
            Cleaning::Fifo => {
                let state = analytic::fifo_by_age(places, classes);
                return by_age(match state {
                    Some(state) if pool.is_uniform(writes) => {
                        Some(state.passing_over(pool.block_units))
                    }
                    other => other,
                });
            }
            Cleaning::Random => return by_age(analytic::random_by_age(places, classes)),
            Cleaning::Greedy => analytic::greedy(alpha, pool.block_units),
            Cleaning::RandomInvalid => level(true, 1),
            Cleaning::Choices(choices) => level(false, choices),
            Cleaning::ChoicesInvalid(choices) => level(true, choices),
            Cleaning::CostBenefit => None,
        };
        let levels = levels.ok_or_else(|| no_solution(cleaning, alpha))?;
        let mut sum = 0.0;
        let upto = levels.share.iter().map(|share| {
            sum += share;
            sum
        });
        Ok(Self {
            shape: Shape::Levels(upto.collect()),
            shape_units: pool.block_units,
            writes,
            copied_share: f64::from(pool.units[0]) / units,
            write_amplification: levels.write_amplification,
            error: None,
        })
    }

    /// Whether no formula is known for this way of cleaning and writing a [dense](Pool::dense)
    /// pool, or too many blocks gain nothing, which the formula knows of uniform writes to blocks
    /// that gain unit by unit alone.
    pub fn needs_miniature(pool: &Pool, cleaning: Cleaning, writes: [f64; 2]) -> bool {
        let is_uniform = pool.is_uniform(writes);
        match cleaning {
            Cleaning::Random => false,
            Cleaning::CostBenefit => true,
            Cleaning::Fifo if is_uniform && pool.gain == 1 => false,
            Cleaning::Fifo => Self::passes_over(pool, cleaning, writes) > FEW,
            _ if !is_uniform => true,
            Cleaning::Greedy => false,
            _ if pool.gain == 1 => false,
            Cleaning::RandomInvalid => Self::passes_over(pool, cleaning, writes) > FEW,
            Cleaning::Choices(choices) | Cleaning::ChoicesInvalid(choices) => {
                libm::pow(Self::passes_over(pool, cleaning, writes), f64::from(choices)) > FEW
            }
        }
    }

    /// The share of blocks without gain among those that a rule comes by.
    fn passes_over(pool: &Pool, cleaning: Cleaning, writes: [f64; 2]) -> f64 {
        let classes = pool.classes(writes);
        let state = match cleaning {
            Cleaning::Fifo => analytic::fifo_by_age(pool.places_in_use(), classes),
            _ => analytic::random_by_age(pool.places_in_use(), classes),
        };
        state.map_or(0.0, |state| state.without_gain(pool.block_units, pool.gain))
    }

    /// From ages of blocks.
    pub(super) fn of_ages(pool: &Pool, state: ByAge, writes: [f64; 2]) -> Self {
        Self {
            shape: Shape::Ages(state),
            shape_units: pool.block_units,
            writes,
            copied_share: state.copied[0],
            write_amplification: state.write_amplification,
            error: None,
        }
    }

    /// From the full blocks of a small pool, in the order in which they were filled, and the share
    /// of the first class among copied units.
    pub(super) const fn of_tiles(
        tiles: Vec<Tile>,
        shape_units: u32,
        writes: [f64; 2],
        copied_share: f64,
        write_amplification: f64,
        error: f64,
    ) -> Self {
        let error = Some(error);
        let shape = Shape::Tiles(tiles);
        Self { shape, shape_units, writes, copied_share, write_amplification, error }
    }

    /// The blocks of a pool. Open blocks are filled to a random degree, so that pools are not in
    /// step, and paced collection has dealt with as much of a victim as goes with that. Every unit
    /// of the pool is in exactly one block.
    pub fn plan(&self, pool: &Pool, random: &mut Random) -> Result<Plan, Refusal> {
        let mut left = pool.units;
        let (mut open, mut room) = (Vec::new(), 0);
        for generation in 0..=pool.generations {
            let copies = generation > 0;
            if copies && self.write_amplification <= 1.0 {
                break;
            }
            let filled = random.below(pool.block_units);
            let filled = filled - filled % pool.program_units;
            let share = if copies { self.copied_share } else { self.writes[0] };
            // As many of each class as there are.
            let first = random.binomial(filled, share).min(left[0]);
            let first = first.max(filled.saturating_sub(left[1]));
            if first > left[0] {
                continue;
            }
            let valid = [first, filled - first];
            left = [left[0] - valid[0], left[1] - valid[1]];
            if valid != [0, 0] {
                open.push(Open { generation, valid });
                room += pool.block_units - filled;
            }
        }
        let open_blocks = u32::try_from(open.len()).expect("a few");
        let mut free = pool.idle_free();
        let mut begun = None;
        if let Some(target) = pool.target {
            let units = target.saturating_sub(room);
            free = units / pool.block_units;
            begun = self.begun(pool, units % pool.block_units, &mut left, random);
        }
        let used = free + open_blocks + u32::from(begun.is_some());
        let blocks = pool.blocks.saturating_sub(used);
        let mut full = self.blocks(&pool.dense(), blocks, random);
        fit(&mut full, left, pool.block_units, random)?;
        Ok(Plan { full, open, begun })
    }

    /// A victim with the mean share of valid units, of which `walked` units have been dealt with;
    /// it takes its units from those that are left.
    fn begun(
        &self,
        pool: &Pool,
        walked: u32,
        left: &mut Valid,
        random: &mut Random,
    ) -> Option<Begun> {
        if walked == 0 {
            return None;
        }
        let share = 1.0 - 1.0 / self.write_amplification.max(1.0);
        let valid = whole(f64::from(pool.block_units - walked) * share);
        let first = random.binomial(valid, self.copied_share).min(left[0]);
        let valid = [first, (valid - first).min(left[1])];
        *left = [left[0] - valid[0], left[1] - valid[1]];
        let copied = random.unit() >= 1.0 / self.write_amplification;
        let generation = if copied { self.generation(pool, random) } else { 0 };
        Some(Begun { walked, valid, generation })
    }

    /// Valid units of that many full blocks, before their totals are made to fit.
    fn blocks(&self, pool: &Pool, blocks: u32, random: &mut Random) -> Vec<Full> {
        let step = 1.0 / f64::from(blocks.max(1));
        let start = random.unit();
        let quantiles = (0..blocks).map(|block| (f64::from(block) + start) * step);
        match &self.shape {
            Shape::Levels(upto) => {
                // Ages matter to no way of cleaning that has levels; blocks are filled in turn.
                let oldest = pool.places_in_use() / self.write_amplification;
                let mut level = 0;
                let block = |quantile: f64| {
                    while level < pool.block_units && upto[level as usize] <= quantile {
                        level += 1;
                    }
                    let valid = split(level, self.copied_share, pool, random);
                    let copied = random.unit() * self.write_amplification >= 1.0;
                    let generation = if copied { self.generation(pool, random) } else { 0 };
                    Full { valid, age: host_writes((1.0 - quantile) * oldest), generation }
                };
                quantiles.map(block).collect()
            }
            Shape::Ages(state) => {
                let mut turn = random.unit();
                let block =
                    |quantile: f64| self.aged(pool, state, 1.0 - quantile, &mut turn, random);
                quantiles.map(block).collect()
            }
            Shape::Tiles(tiles) => {
                let scale = f64::from(pool.block_units) / f64::from(self.shape_units);
                let units = f64::from(pool.logical_units());
                let block = |quantile: f64| {
                    let at = whole((quantile * tiles.len() as f64 - 0.5).max(0.0)) as usize;
                    let tile = tiles[at.min(tiles.len() - 1)];
                    let mut most = pool.block_units;
                    let valid = tile.valid.map(|valid| {
                        let scaled = f64::from(valid) * scale + random.unit() - 0.5;
                        let valid = whole(scaled.max(0.0)).min(most);
                        most -= valid;
                        valid
                    });
                    let generation = tile.generation;
                    Full { valid, age: host_writes(tile.age * units), generation }
                };
                quantiles.map(block).collect()
            }
        }
    }

    /// A block of which the given share of blocks is younger. `turn` deals host blocks out evenly.
    fn aged(
        &self,
        pool: &Pool,
        state: &ByAge,
        younger: f64,
        turn: &mut f64,
        random: &mut Random,
    ) -> Full {
        let age = state.age(younger);
        let of_host = 1.0 / state.write_amplification;
        *turn += of_host;
        let (share, generation) = if pool.generations == 0 {
            (of_host * self.writes[0] + (1.0 - of_host) * state.copied[0], 0)
        } else if *turn >= 1.0 {
            *turn -= 1.0;
            (self.writes[0], 0)
        } else {
            (state.copied[0], self.generation(pool, random))
        };
        let first = random.binomial(pool.block_units, share);
        let units = [first, pool.block_units - first];
        let valid = [0, 1].map(|k| random.binomial(units[k], libm::exp(-state.rates[k] * age)));
        Full { valid, age: host_writes(age), generation }
    }

    /// How often units of a block of copies were copied before they came there: each time with the
    /// probability that a write to the array is a copy.
    fn generation(&self, pool: &Pool, random: &mut Random) -> u32 {
        let again = 1.0 - 1.0 / self.write_amplification;
        let more = (1..pool.generations).find(|_| random.unit() >= again);
        more.unwrap_or(pool.generations)
    }
}

/// A number of host writes, of which far more than ever matter are left out.
fn host_writes(count: f64) -> u32 {
    whole(count.clamp(0.0, 4e9))
}

/// Splits one level into both classes, which are alike unless only one has units.
fn split(level: u32, share: f64, pool: &Pool, random: &mut Random) -> Valid {
    let first = match pool.units {
        [0, _] => 0,
        [_, 0] => level,
        _ => random.binomial(level, share),
    };
    [first, level - first]
}

fn no_solution(cleaning: Cleaning, alpha: f64) -> Refusal {
    Refusal(format!("{cleaning:?} cleaning with {alpha} places in use a unit has no steady state"))
}

/// Adds and removes valid units, evenly over the blocks, until there are as many of each class as
/// `target` says. Every round over the blocks changes at least one or is the last.
fn fit(full: &mut [Full], target: Valid, units: u32, random: &mut Random) -> Result<(), Refusal> {
    let sum = |k: usize| -> i64 { full.iter().map(|block| i64::from(block.valid[k])).sum() };
    let mut missing = [0, 1].map(|k| i64::from(target[k]) - sum(k));
    // What is too many goes first, which makes room for what is missing.
    for adding in [false, true] {
        for k in [0, 1] {
            while (missing[k] != 0) && (missing[k] > 0) == adding {
                let fits = |Full { valid, .. }: &Full| {
                    if adding { valid[0] + valid[1] < units } else { valid[k] > 0 }
                };
                // A full block gets no more: its level is where blocks start.
                let able = full.iter().filter(|block| fits(block)).count() as u64;
                if able == 0 {
                    return Err(Refusal(format!(
                        "{} full blocks of {units} units do not hold {target:?} units",
                        full.len()
                    )));
                }
                let wanted = missing[k].unsigned_abs().min(able);
                let mut turn = u64::from(random.below(u32::try_from(able).expect("few blocks")));
                for Full { valid, .. } in full.iter_mut().filter(|block| fits(block)) {
                    turn += wanted;
                    if turn >= able {
                        turn -= able;
                        valid[k] = if adding { valid[k] + 1 } else { valid[k] - 1 };
                        missing[k] -= if adding { 1 } else { -1 };
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_hold_every_unit() {
        let mut random = Random::new(3, 4);
        for cleaning in [
            Cleaning::Greedy,
            Cleaning::Fifo,
            Cleaning::Random,
            Cleaning::RandomInvalid,
            Cleaning::Choices(3),
        ] {
            for units in [[3_000, 0], [0, 3_500], [1_000, 2_700], [1, 0]] {
                let pool = Pool {
                    blocks: 256,
                    block_units: 16,
                    program_units: 1,
                    partial_programs: 1,
                    gain: 1,
                    units,
                    soft: 3,
                    target: None,
                    generations: 1,
                };
                let total = f64::from(units[0] + units[1]);
                let writes = units.map(|units| f64::from(units) / total);
                let recipe = Recipe::new(&pool, cleaning, writes, 1).unwrap();
                let plan = recipe.plan(&pool, &mut random).unwrap();
                let full = plan.full.iter().map(|block| block.valid);
                let mut sum = [0, 0];
                for valid in full.chain(plan.open.iter().map(|open| open.valid)) {
                    assert!(valid[0] + valid[1] <= 16, "{valid:?}");
                    sum = [sum[0] + valid[0], sum[1] + valid[1]];
                }
                assert_eq!(sum, units, "{cleaning:?}");
                assert_eq!(plan.full.len() + plan.open.len() + 4, 256);
            }
        }
    }

    #[test]
    fn a_pool_without_spare_places_is_refused() {
        let mut pool = Pool {
            blocks: 20,
            block_units: 8,
            program_units: 1,
            partial_programs: 1,
            gain: 1,
            units: [124, 0],
            soft: 3,
            target: None,
            generations: 1,
        };
        let why = Recipe::new(&pool, Cleaning::Greedy, [1.0, 0.0], 1).unwrap_err();
        assert!(why.to_string().contains("no steady state"), "{why}");
        pool.units = [120, 0];
        let recipe = Recipe::new(&pool, Cleaning::Greedy, [1.0, 0.0], 1).unwrap();
        // The places in use on average may not be there when all collections are over.
        for seed in 0..50 {
            if let Ok(plan) = recipe.plan(&pool, &mut Random::new(seed, 0)) {
                assert!(plan.full.len() >= 14, "{plan:?}");
            }
        }
        let mut full = [[4, 4], [4, 3]].map(|valid| Full { valid, age: 0, generation: 0 });
        assert!(fit(&mut full, [9, 8], 8, &mut Random::new(1, 1)).is_err());
        assert!(fit(&mut full, [9, 7], 8, &mut Random::new(1, 1)).is_ok());
        assert_eq!([0, 1].map(|k| full[0].valid[k] + full[1].valid[k]), [9, 7]);
    }
}

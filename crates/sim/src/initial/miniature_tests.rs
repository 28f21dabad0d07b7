//! Constructed states against brute force: what follows a construction must be what goes on in
//! steady state.

use super::*;

/// The write amplification over the first capacity's worth of writes after construction, mean of
/// `starts` constructions, against the brute-force steady state of a pool that was filled in order.
#[track_caller]
fn check(cleaning: Cleaning, pool: Pool, writes: [f64; 2], starts: u64, limit: f64) {
    let units = u64::from(pool.logical_units());
    let mut long = Miniature::new(pool, cleaning, writes, 77);
    long.fill().unwrap();
    long.run(12 * units).unwrap();
    let steady = long.run(8 * units).unwrap();
    let recipe = Recipe::new(&pool, cleaning, writes, 5).unwrap();
    let sum: f64 = (0..starts)
        .map(|seed| {
            let plan = recipe.plan(&pool, &mut Random::new(seed, 0)).unwrap();
            Miniature::constructed(pool, cleaning, writes, &plan, seed).run(units).unwrap()
        })
        .sum();
    let off = sum / starts as f64 / steady - 1.0;
    let said = recipe.write_amplification / steady - 1.0;
    let what = format!("{cleaning:?} {writes:?} of {pool:?}: {steady}, constructed {off:+.4}");
    assert!(off.abs() < limit, "{what}");
    assert!(said.abs() < limit, "{what}: the recipe says {}", recipe.write_amplification);
    assert!(recipe.error.is_none_or(|error| error < limit), "{what}: {:?}", recipe.error);
}

const ALL: [Cleaning; 7] = [
    Cleaning::Greedy,
    Cleaning::Fifo,
    Cleaning::Random,
    Cleaning::RandomInvalid,
    Cleaning::Choices(4),
    Cleaning::ChoicesInvalid(2),
    Cleaning::CostBenefit,
];

fn pool(blocks: u32, block_units: u32, spare: f64, hot: f64) -> Pool {
    let mut pool = Pool {
        blocks,
        block_units,
        program_units: 1,
        partial_programs: 1,
        gain: 1,
        units: [0, 0],
        soft: 2,
        target: None,
        generations: 1,
    };
    let units = pool.places_in_use() / (1.0 + spare);
    pool.units = [whole(units * hot), whole(units * (1.0 - hot))];
    pool
}

#[test]
fn constructed_states_are_steady_under_uniform_writes() {
    for cleaning in ALL {
        check(cleaning, pool(1_024, 64, 0.07, 0.0), [0.0, 1.0], 2, 0.01);
        check(cleaning, pool(1_024, 32, 0.28, 0.0), [0.0, 1.0], 2, 0.01);
    }
}

/// Copies may share the host's blocks, or be kept apart by how often they have been copied.
#[test]
fn constructed_states_are_steady_with_any_number_of_open_blocks() {
    for generations in [0, 3] {
        for cleaning in [Cleaning::Greedy, Cleaning::Fifo] {
            let mut mixed = pool(1_024, 32, 0.2, 0.0);
            mixed.generations = generations;
            check(cleaning, mixed, [0.0, 1.0], 2, 0.01);
            let mut warm = pool(1_024, 32, 0.2, 0.3);
            warm.generations = generations;
            check(cleaning, warm, [0.8, 0.2], 2, 0.03);
        }
    }
}

#[test]
fn constructed_states_are_steady_under_two_temperatures() {
    for cleaning in ALL {
        check(cleaning, pool(2_048, 64, 0.1, 0.2), [0.8, 0.2], 2, 0.03);
        check(cleaning, pool(1_024, 32, 0.28, 0.1), [0.5, 0.5], 2, 0.03);
    }
}

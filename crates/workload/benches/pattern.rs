//! Requests a second of the patterns: they must not slow the simulator down.

use divan::Bencher;
use divan::counter::ItemsCount;
use flashyard_core::quantity::{Ppm, Sectors};
use flashyard_workload::RequestSource;
use flashyard_workload::pattern::{Access, Arrival, Pattern, PatternKeys};

/// Requests of a run.
const REQUESTS: u64 = 1_000_000;

fn main() {
    divan::main();
}

fn drain(bencher: Bencher<'_, '_>, keys: &PatternKeys) {
    let keys = PatternKeys { requests: REQUESTS, ..*keys };
    bencher.counter(ItemsCount::new(REQUESTS)).bench(|| {
        let mut pattern = Pattern::new(&keys, 1, None).expect("the keys fit");
        let mut sum = 0_u64;
        while let Some(request) = pattern.next_request().expect("the keys fit") {
            sum = sum.wrapping_add(request.first_sector ^ request.arrival.as_ns());
        }
        sum
    });
}

#[divan::bench(args = ["uniform", "sequential", "zipf", "hot_cold", "strided", "self_similar"])]
fn reads(bencher: Bencher<'_, '_>, access: &str) {
    let place = Access::WORDS.iter().position(|word| *word == access).expect("a word");
    drain(bencher, &PatternKeys { access: Access::ALL[place], ..PatternKeys::default() });
}

#[divan::bench]
fn mixed_sizes_poisson(bencher: Bencher<'_, '_>) {
    let keys = PatternKeys {
        read_percent: Ppm::from_percent(70),
        max_size_kib: Sectors::from_kib(128),
        arrival: Arrival::Poisson,
        ..PatternKeys::default()
    };
    drain(bencher, &keys);
}

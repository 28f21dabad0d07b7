//! The scheduler of the framework against the reference's tables, and the rules that its requests
//! keep.

#[path = "../examples/framework/bench.rs"]
mod bench;

use bench::{Bench, Costs, HARDWARE, RANGES, SOFTWARE, case_study, rate};
use flashyard_core::bus::policy::framework::DataOrder;
use flashyard_core::bus::request::BusKind;
use flashyard_core::command::Op;

/// Whether two numbers differ by fewer than so many parts in a thousand of the second.
fn is_near(found: u64, expected: u64, permille: u64) -> bool {
    found.abs_diff(expected) * 1_000 < expected * permille
}

/// The main table of the reference, in kilobytes a second and in permille of that: the hardware
/// scheduler within 1 %. The costs of the software scheduler were fitted to its worst point, 97.3 %
/// of the hardware one: within 1.5 %.
#[test]
fn throughput_is_that_of_the_reference() {
    let table = [
        ([1, 256, 128], [48_590, 46_270, 21_760, 10_880, 4_670], [987, 996, 1_000, 1_000, 1_000]),
        ([1, 256, 512], [70_330, 46_730, 21_790, 10_900, 4_680], [973, 999, 1_000, 1_000, 1_000]),
    ];
    for (mix, rates, shares) in table {
        for ((range, expected), share) in RANGES.into_iter().zip(rates).zip(shares) {
            let hardware = rate(HARDWARE, mix, range, DataOrder::RoundRobin);
            assert!(is_near(hardware, expected, 10), "{mix:?} {range:?}: {hardware}, {expected}");
            let software = rate(SOFTWARE, mix, range, DataOrder::RoundRobin);
            let expected = expected * share / 1_000;
            assert!(is_near(software, expected, 15), "{mix:?} {range:?}: {software}, {expected}");
            assert!(software <= hardware + hardware / 1_000, "{mix:?} {range:?}: it is not faster");
        }
    }
}

/// A processor that is faster loses less against the scheduler in hardware.
#[test]
fn the_clock_of_the_processor_decides_what_software_loses() {
    let share = |costs| rate(costs, [1, 256, 512], RANGES[0], DataOrder::RoundRobin);
    let shares = [10, 100, 1_000].map(|mhz| share(Costs::measured(mhz)));
    let hardware = share(HARDWARE);
    assert!(shares.is_sorted() && shares[2] <= hardware + hardware / 1_000, "{shares:?}");
    assert!(shares[0] < hardware * 9 / 10 && shares[2] > hardware * 99 / 100, "{shares:?}");
    let [iteration, _, send, _] = Costs::measured(1_000).all();
    assert!(iteration < send, "most work is that of a request");
}

/// The rates of the reference at saturation, within 1 %.
#[test]
fn the_order_of_data_decides_at_saturation() {
    let orders = [DataOrder::LowestChip, DataOrder::RoundRobin, DataOrder::Oldest];
    for (order, expected) in orders.into_iter().zip([67_700, 70_600, 73_800]) {
        let found = rate(HARDWARE, [1, 256, 512], RANGES[0], order);
        assert!(is_near(found, expected, 10), "{order:?}: {found}, {expected}");
    }
}

/// One operation on an idle channel takes its requests and its array, and a few rounds of the loop.
#[test]
fn single_operations_take_what_their_requests_take() {
    let alone = [([0, 0, 1], 240_870), ([0, 1, 0], 1_665_900), ([1, 0, 0], 5_000_490)];
    for (mix, expected) in alone {
        let mut bench = Bench::new(HARDWARE, mix, (10_000_000, 10_000_000), 1);
        bench.run(DataOrder::LowestChip, 100_000_000);
        for &(number, at) in &bench.completions {
            let took = at - bench.handed[number as usize].0;
            assert!((expected..expected + 500).contains(&took), "{mix:?}: {took} ns");
        }
        assert!(bench.completions.len() > 5);
    }
}

/// One request on the bus, nothing but status to a busy chip (see [`Bench::send`]), one chunk of
/// data under way, the grammar, the order of each chip, each operation complete once.
#[test]
fn requests_keep_the_rules() {
    for order in [DataOrder::LowestChip, DataOrder::RoundRobin, DataOrder::Oldest] {
        for costs in [HARDWARE, SOFTWARE] {
            let mut bench = Bench::new(costs, [1, 4, 4], (1_000, 300_000), 3);
            bench.log = Some(Vec::new());
            bench.run(order, 3_000_000_000);
            let log = bench.log.take().expect("it was kept");
            let mut sequences = vec![String::new(); bench.handed.len()];
            let mut last_of_chip = [0; 3];
            for pair in log.windows(2) {
                assert!(pair[0].2 <= pair[1].1, "one request is on the bus at a time");
            }
            for (request, ..) in &log {
                if request.kind != BusKind::Status {
                    let last = &mut last_of_chip[request.chip as usize];
                    assert!(request.operation >= *last, "a chip serves in order");
                    *last = request.operation;
                    sequences[request.operation as usize] += request.kind.name();
                }
            }
            let mut completed = vec![0; bench.handed.len()];
            for &(number, _) in &bench.completions {
                completed[number as usize] += 1;
                let grammar = match bench.handed[number as usize].1 {
                    Op::Erase => "EA",
                    Op::Program => "PPIDIDIDIDPA",
                    Op::Read => "RAODODODOD",
                };
                assert_eq!(sequences[number as usize], grammar);
            }
            assert!(completed.iter().all(|count| *count <= 1), "an operation completes once");
            assert!(bench.completions.len() > 1_000);
        }
    }
}

/// The case study: a stream bursts in the middle third of 30 s. Without fair queueing the other
/// one loses a quarter to two fifths of its throughput, with it next to nothing. The figures are
/// those of the reference in kilobytes a second, within 2 %.
#[test]
fn a_burst_takes_nothing_from_the_other_stream_with_fair_queueing() {
    let us = |range: (u64, u64)| (range.0 * 1_000, range.1 * 1_000);
    let cases = [
        // Arrivals of A, of B, in A's burst; unaware A and B; fair A and B: before, in, after it.
        (
            [(800, 1_200), (800, 1_200), (100, 200)],
            [[16_300, 45_500, 16_400], [16_400, 12_500, 16_400]],
            [[16_300, 42_000, 16_400], [16_400, 16_300, 16_400]],
        ),
        (
            [(600, 1_000), (500, 700), (100, 200)],
            [[20_400, 40_400, 20_400], [27_300, 17_800, 27_300]],
            [[20_400, 31_700, 20_500], [27_300, 27_300, 27_300]],
        ),
        (
            [(400, 600), (400, 600), (50, 100)],
            [[28_900, 40_300, 29_100], [28_900, 17_600, 29_200]],
            [[30_000, 29_800, 30_000], [29_800, 29_900, 30_000]],
        ),
    ];
    for (ranges, unaware, aware) in cases {
        for (is_fair, expected) in [(false, unaware), (true, aware)] {
            let found = case_study(ranges.map(us), is_fair);
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                let case = (ranges, is_fair);
                assert!(is_near(*found, *expected, 20), "{case:?}: {found}, not {expected}");
            }
        }
    }
}

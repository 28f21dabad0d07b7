//! The mixes are the published ones, request by request and on average.

use flashyard_core::key::{Kind, Value};
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;

use super::*;

/// Exported pages of 2 KiB of the published study's device, and their sectors.
const PAGES: u64 = 524_288;
const PAGE: u64 = 4;

fn keys(name: &str) -> MixKeys {
    BuiltInMix::from_name(name).unwrap().keys
}

fn requests(keys: &MixKeys, seed: u64) -> Vec<Request> {
    let mut mix = Mix::new(keys, seed, Some(PAGES * PAGE)).unwrap();
    std::iter::from_fn(|| mix.next_request().unwrap()).collect()
}

fn kib(requests: &[Request]) -> f64 {
    let sectors: u64 = requests.iter().map(|request| u64::from(request.sectors)).sum();
    sectors as f64 / 2.0 / requests.len() as f64
}

/// The first requests of seed 42: start page and pages of 2 KiB, and the operation of all.
#[track_caller]
fn starts(name: &str, op: RequestOp, expected: [(u64, u64); 5]) {
    let requests = requests(&MixKeys { requests: 5, ..keys(name) }, 42);
    let found = requests.iter().map(|r| (r.first_sector / PAGE, u64::from(r.sectors) / PAGE));
    assert_eq!(found.collect::<Vec<_>>(), expected, "{name}");
    assert!(requests.iter().all(|request| request.op == op), "{name}");
    assert!(requests.iter().all(|request| request.first_sector % PAGE == 0), "{name}");
}

#[track_caller]
fn times(name: &str, expected_ms: [f64; 5]) {
    let requests = requests(&MixKeys { requests: 5, ..keys(name) }, 42);
    for (request, expected) in requests.iter().zip(expected_ms) {
        let found = request.arrival.as_ns() as f64 / 1e6;
        assert!((found - expected).abs() < 1.001e-6, "{name}: {found} instead of {expected}");
    }
}

// The check values of these two were computed by a program of their own before this one existed.
#[test]
fn the_first_transactions_are_the_pinned_ones() {
    let same_sizes = |starts: [u64; 5]| starts.map(|start| (start, 2));
    let write = RequestOp::Write;
    starts("oltp", write, same_sizes([19_938, 324_262, 348_734, 361_206, 38_880]));
    starts("oltp-clustered", write, same_sizes([0, 16_386, 27_694, 35_682, 0]));
    starts("oltp-scattered", write, same_sizes([24_690, 234_452, 453_184, 4_404, 24_690]));
    let expected = [180.640_265, 451.202_406, 481.812_579, 512.176_712, 933.255_413];
    for name in ["oltp", "oltp-clustered", "oltp-scattered"] {
        times(name, expected);
    }
}

#[test]
fn the_first_queries_are_the_pinned_ones() {
    let expected = [(19_938, 8), (324_262, 4), (348_734, 8), (348_742, 8), (324_962, 8)];
    starts("olap", RequestOp::Read, expected);
    times("olap", [210.489_885, 525.760_646, 561.428_950, 596.810_556, 778.471_960]);
}

#[test]
fn whole_mixes_have_the_realised_figures() {
    // The same program's: mean KiB, writes, sequential in percent, hours.
    for (name, size, writes, sequential, hours) in
        [("oltp", "4.381", "90.97", "2.0", "11.99"), ("olap", "12.81", "4.97", "18.0", "10.30")]
    {
        let requests = requests(&keys(name), 42);
        let percent = |count: usize| count as f64 * 100.0 / requests.len() as f64;
        let found_writes = requests.iter().filter(|request| request.op == RequestOp::Write).count();
        let continues = |pair: &&[Request]| pair[0].end_sector() == Some(pair[1].first_sector);
        let found_sequential = requests.windows(2).filter(continues).count();
        let last = requests[requests.len() - 1].arrival.as_ns() as f64 / 3.6e12;
        let places = size.len() - size.find('.').unwrap() - 1;
        assert_eq!(format!("{:.places$}", kib(&requests)), size, "{name}");
        assert_eq!(format!("{:.2}", percent(found_writes)), writes, "{name}");
        assert_eq!(format!("{:.1}", percent(found_sequential)), sequential, "{name}");
        assert_eq!(format!("{last:.2}"), hours, "{name}");
    }
}

/// The mean of two sizes in KiB, and its deviation in one draw.
fn size(small: u64, large: u64, large_ppm: u64) -> (f64, f64) {
    let (small, large, share) = (small as f64 / 2.0, large as f64 / 2.0, large_ppm as f64 / 1e6);
    (small + share * (large - small), (large - small) * (share * (1.0 - share)).sqrt())
}

#[test]
fn rows_have_the_published_shares_and_means() {
    for built_in in BUILT_IN_MIXES {
        let (keys, published, name) = (built_in.keys, built_in.published, built_in.name);
        let (read, _) = size(
            keys.read_small_kib.sectors(),
            keys.read_large_kib.sectors(),
            keys.read_large_percent.ppm(),
        );
        let (write, _) = size(
            keys.write_small_kib.sectors(),
            keys.write_large_kib.sectors(),
            keys.write_large_percent.ppm(),
        );
        let writes = keys.write_percent.ppm() as f64 / 1e6;
        let same = |found: f64, published: Option<f64>, digits: f64| {
            if let Some(published) = published {
                assert!((found - published).abs() < digits, "{name}: {found}, not {published}");
            }
        };
        same((1.0 - writes) * 100.0, Some(published.read_percent), 1e-9);
        same(read, published.read_kib, 5e-4);
        same(write, published.write_kib, 5e-4);
        same(writes * write + (1.0 - writes) * read, published.kib, 0.005);
        same(100.0 - keys.sequential_percent.ppm() as f64 / 1e4, published.random_percent, 1e-9);
        same(keys.interarrival_ms.as_ns() as f64 / 1e6, published.interarrival_ms, 1e-9);
        let hours = keys.requests as f64 * keys.interarrival_ms.as_ns() as f64 / 3.6e12;
        same(hours, published.hours, 0.005);
    }
}

#[test]
fn requests_have_the_shares_and_means_of_their_row() {
    for built_in in BUILT_IN_MIXES {
        let (keys, name) = (built_in.keys, built_in.name);
        let all = requests(&keys, 1);
        let (writes, reads): (Vec<Request>, Vec<Request>) =
            all.iter().partition(|request| request.op == RequestOp::Write);
        let share = keys.write_percent.ppm() as f64 / 1e6;
        let (n, found) = (all.len() as f64, writes.len() as f64);
        let off = (found - share * n).abs() / (n * share * (1.0 - share)).sqrt();
        assert!(off < 4.0, "{name}: {found} writes of {n}");
        for (requests, (mean, deviation)) in [
            (
                reads,
                size(
                    keys.read_small_kib.sectors(),
                    keys.read_large_kib.sectors(),
                    keys.read_large_percent.ppm(),
                ),
            ),
            (
                writes,
                size(
                    keys.write_small_kib.sectors(),
                    keys.write_large_kib.sectors(),
                    keys.write_large_percent.ppm(),
                ),
            ),
        ] {
            let (found, error) = (kib(&requests), deviation / (requests.len() as f64).sqrt());
            assert!((found - mean).abs() <= 4.0 * error, "{name}: {found} instead of {mean}");
        }
        let mean_ns = all[all.len() - 1].arrival.as_ns() as f64 / n;
        let off = (mean_ns / keys.interarrival_ms.as_ns() as f64 - 1.0).abs() * n.sqrt();
        assert!(off < 4.0, "{name}: {mean_ns}");
    }
}

#[test]
fn the_interface_mixes_load_their_device_by_a_half() {
    for name in ["fin1", "fin2", "gen1", "gen2", "gen3", "ftp"] {
        let keys = keys(name);
        let pages = |sectors: u64| sectors.div_ceil(8);
        let bus = |pages: u64| 123.0 * pages.div_ceil(4) as f64 + 13.65 * pages as f64;
        let read = |sectors| 25.0 + bus(pages(sectors));
        let write = |sectors| 200.0 * pages(sectors).div_ceil(16) as f64 + bus(pages(sectors));
        let mix = |ppm: u64, small: f64, large: f64| small + ppm as f64 / 1e6 * (large - small);
        let read = mix(
            keys.read_large_percent.ppm(),
            read(keys.read_small_kib.sectors()),
            read(keys.read_large_kib.sectors()),
        );
        let write = mix(
            keys.write_large_percent.ppm(),
            write(keys.write_small_kib.sectors()),
            write(keys.write_large_kib.sectors()),
        );
        let load =
            mix(keys.write_percent.ppm(), read, write) * 1e3 / keys.interarrival_ms.as_ns() as f64;
        assert!((load - 0.5).abs() < 0.01, "{name}: {load}");
    }
}

#[test]
fn popular_units_have_their_share_wherever_they_lie() {
    let n = 100_000;
    for name in ["oltp-clustered", "oltp-scattered"] {
        let keys = MixKeys { requests: n, sequential_percent: Ppm::ZERO, ..keys(name) };
        let units = PAGES * PAGE / keys.unit_kib.sectors();
        let mut counts = vec![0_u64; usize::try_from(units).unwrap()];
        for request in requests(&keys, 3) {
            // The last unit has no room for two; all popular ones do.
            counts[usize::try_from(request.first_sector / keys.unit_kib.sectors()).unwrap()] += 1;
        }
        // The unit of each rank, by the published rule.
        let unit = |rank: u64| match keys.places {
            MixPlaces::Scattered => (rank * 2_654_435_761 + 12_345) % units,
            _ => rank,
        };
        for (thousandths, share) in [(200, 0.8), (40, 0.64), (8, 0.512)] {
            let found: u64 = (0..units * thousandths / 1_000)
                .map(|rank| counts[usize::try_from(unit(rank)).unwrap()])
                .sum();
            let off = (found as f64 - n as f64 * share) / (n as f64 * share * (1.0 - share)).sqrt();
            assert!(off.abs() < 4.0, "{name}: {found} in {thousandths}");
        }
    }
}

#[test]
fn requests_stay_in_the_footprint_and_those_of_odd_sizes_end_with_it() {
    let odd = MixKeys {
        requests: 20_000,
        read_small_kib: Sectors::from_sectors(3),
        read_large_kib: Sectors::from_kib(500),
        read_large_percent: Ppm::from_percent(50),
        write_percent: Ppm::from_percent(10),
        sequential_percent: Ppm::from_percent(30),
        footprint_percent: Ppm::from_percent(1),
        ..keys("oltp")
    };
    let footprint = PAGES * PAGE / 100 / 8 * 8;
    for places in [MixPlaces::Uniform, MixPlaces::Clustered, MixPlaces::Scattered] {
        let requests = requests(&MixKeys { places, ..odd }, 1);
        let ends: Vec<u64> = requests.iter().map(|r| r.end_sector().unwrap()).collect();
        assert_eq!(ends.iter().max(), Some(&footprint), "{places:?}");
        assert!(requests.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
    }
}

#[test]
fn a_device_without_room_and_a_rate_without_end_are_refused() {
    let refused = |keys: &MixKeys, capacity| Mix::new(keys, 1, Some(capacity)).unwrap_err();
    let what = "mix.footprint_percent: the largest request does not fit, 512 KiB in 508; raise it, \
                give the device more capacity, or lower the sizes or mix.unit_kib";
    assert_eq!(refused(&keys("ftp"), 1_023).to_string(), what);
    assert!(Mix::new(&keys("ftp"), 1, Some(1_024)).is_ok());
    let slow = MixKeys { interarrival_ms: Span::from_ms(1_000_000_000), ..keys("oltp") };
    let mut mix = Mix::new(&slow, 1, None).unwrap();
    let error = std::iter::repeat_with(|| mix.next_request()).find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("mix.interarrival_ms: the last request"), "{error}");
}

#[test]
fn a_seed_is_a_stream_and_the_first_row_the_default() {
    assert_eq!(BUILT_IN_MIXES[0].keys, MixKeys::default());
    let few = MixKeys { requests: 100, ..MixKeys::default() };
    assert_eq!(requests(&few, 7), requests(&few, 7));
    assert_ne!(requests(&few, 7), requests(&few, 8));
    for built_in in BUILT_IN_MIXES {
        assert!(crate::generator::BuiltIn::from_name(built_in.name).is_none());
        assert!(crate::pattern::BuiltInPattern::from_name(built_in.name).is_none());
    }
}

#[test]
fn every_key_of_every_row_is_in_its_range() {
    for built_in in BUILT_IN_MIXES {
        for key in MixKeys::KEYS {
            if let Kind::Number { min, max, .. } = key.kind {
                let Some(Value::Number(number)) = built_in.keys.get(key.name) else {
                    panic!("{}", key.name)
                };
                assert!((min..=max).contains(&number), "{}: {}", built_in.name, key.name);
            }
        }
    }
}

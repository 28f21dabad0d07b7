//! What patterns promise: operations, sizes, places and times have the distributions that their
//! keys ask for. Seeds are fixed. Critical values of chi-square are those of 99.9 %, from tables.

use flashyard_core::key::{Kind, Value};
use flashyard_core::quantity::Ppm;
use flashyard_core::quantity::{Micro, Milli, Sectors};
use flashyard_core::request::ZoneAction;

use super::*;

/// Sectors of 4 KiB.
const PAGE: u64 = 8;

fn keys(requests: u64) -> PatternKeys {
    PatternKeys { requests, ..PatternKeys::default() }
}

fn requests(keys: &PatternKeys, seed: u64, capacity: u64) -> Vec<Request> {
    let mut pattern = Pattern::new(keys, seed, Some(capacity)).unwrap();
    std::iter::from_fn(|| pattern.next_request().unwrap()).collect()
}

/// The places of requests, in units of 4 KiB.
fn pages(keys: &PatternKeys, seed: u64, capacity: u64) -> Vec<u64> {
    requests(keys, seed, capacity).iter().map(|request| request.first_sector / PAGE).collect()
}

fn counts(values: impl IntoIterator<Item = u64>, kinds: usize) -> Vec<u64> {
    let mut counts = vec![0; kinds];
    for value in values {
        counts[usize::try_from(value).unwrap()] += 1;
    }
    counts
}

/// Pearson's statistic of counts against the chances of their classes, which are made to add up to
/// one.
fn chi_square(counts: &[u64], chances: &[f64]) -> f64 {
    assert_eq!(counts.len(), chances.len());
    let all = counts.iter().sum::<u64>() as f64 / chances.iter().sum::<f64>();
    let term = |(count, chance): (&u64, &f64)| {
        let expected = all * chance;
        assert!(expected >= 5.0, "a class is too small for the test: {expected}");
        (*count as f64 - expected).powi(2) / expected
    };
    counts.iter().zip(chances).map(term).sum()
}

/// 256 MiB of any size; the last request may go beyond.
#[test]
fn a_total_ends_a_pattern() {
    for size_kib in [4, 12, 16_384] {
        let keys = PatternKeys {
            size_kib: Sectors::from_sectors(2 * size_kib),
            total_mib: 256,
            ..BUILT_IN_PATTERNS[0].keys
        };
        let mut pattern = Pattern::new(&keys, 1, None).unwrap();
        let count = std::iter::from_fn(|| pattern.next_request().unwrap()).count() as u64;
        assert_eq!(count, (256 * 1_024_u64).div_ceil(size_kib));
    }
}

#[test]
fn uniform_places_are_uniform_and_independent() {
    let pages = pages(&keys(100_000), 1, 64 * PAGE);
    let equal = |kinds| vec![1.0 / kinds as f64; kinds];
    let found = chi_square(&counts(pages.iter().copied(), 64), &equal(64));
    assert!(found < 103.4, "63 degrees of freedom: {found}");
    // Each pair of followers alike.
    let pairs = pages.chunks_exact(2).map(|pair| pair[0] / 8 * 8 + pair[1] / 8);
    let found = chi_square(&counts(pairs, 64), &equal(64));
    assert!(found < 103.4, "63 degrees of freedom: {found}");
}

#[test]
fn operations_have_their_shares() {
    let keys = PatternKeys {
        read_percent: Ppm::from_percent(60),
        trim_percent: Ppm::from_percent(10),
        ..keys(100_000)
    };
    let requests = requests(&keys, 1, 1 << 20);
    let of = |op| requests.iter().filter(|request| request.op == op).count() as u64;
    let found = [of(RequestOp::Read), of(RequestOp::Write), of(RequestOp::Trim)];
    let found = chi_square(&found, &[0.6, 0.3, 0.1]);
    assert!(found < 13.8, "2 degrees of freedom: {found}");
    assert_eq!(of(RequestOp::Flush), 0);
}

#[test]
fn shares_of_nothing_and_of_all_are_exact() {
    for (read_percent, trim_percent, op) in
        [(1_000_000, 0, RequestOp::Read), (0, 1_000_000, RequestOp::Trim), (0, 0, RequestOp::Write)]
    {
        let keys = PatternKeys {
            read_percent: Ppm::from_ppm(read_percent),
            trim_percent: Ppm::from_ppm(trim_percent),
            ..keys(5_000)
        };
        assert!(requests(&keys, 3, 1 << 20).iter().all(|request| request.op == op));
    }
}

#[test]
fn a_flush_follows_every_so_many_writes() {
    let keys = PatternKeys { read_percent: Ppm::from_percent(50), flush_every: 3, ..keys(5_000) };
    let found = requests(&keys, 1, 1 << 20);
    assert_eq!(found.len(), 5_000, "flushes are requests too");
    let mut writes = 0;
    for request in &found {
        match request.op {
            RequestOp::Write => writes += 1,
            RequestOp::Flush => {
                assert_eq!((writes, request.first_sector, request.sectors), (3, 0, 0));
                writes = 0;
            }
            _ => {}
        }
        assert!(writes < 4);
    }
    // The other requests are those of the pattern without flushes.
    let plain = requests(&PatternKeys { flush_every: 0, ..keys }, 1, 1 << 20);
    let others: Vec<Request> =
        found.into_iter().filter(|request| request.op != RequestOp::Flush).collect();
    assert!(others.len() < 4_600 && others[..] == plain[..others.len()]);
}

/// Every so many writes one has FUA; the requests are those of the pattern without.
#[test]
fn fua_is_asked_every_so_many_writes() {
    let keys = PatternKeys { read_percent: Ppm::from_percent(50), fua_every: 4, ..keys(5_000) };
    let found = requests(&keys, 1, 1 << 20);
    let plain = requests(&PatternKeys { fua_every: 0, ..keys }, 1, 1 << 20);
    let mut writes = 0;
    for (found, plain) in found.iter().zip(&plain) {
        writes += u64::from(found.op == RequestOp::Write);
        let asks = found.op == RequestOp::Write && writes % 4 == 0;
        assert_eq!((found.flags.has(Flags::FUA), plain.flags), (asks, Flags::NONE));
        let all = |request: &Request| {
            (request.op, request.arrival, request.first_sector, request.sectors)
        };
        assert_eq!(all(found), all(plain));
    }
    assert!(writes > 2_000);
}

#[test]
fn sizes_are_uniform_over_their_steps() {
    let keys = PatternKeys {
        size_kib: Sectors::from_sectors(PAGE),
        max_size_kib: Sectors::from_sectors(4 * PAGE + 3),
        ..keys(40_000)
    };
    let requests = requests(&keys, 1, 1 << 20);
    let steps = requests.iter().map(|request| {
        assert_eq!(u64::from(request.sectors) % PAGE, 0);
        u64::from(request.sectors) / PAGE - 1
    });
    let found = chi_square(&counts(steps, 4), &[0.25; 4]);
    assert!(found < 16.3, "3 degrees of freedom: {found}");
}

#[test]
fn requests_lie_in_their_range_and_reach_both_its_ends() {
    let capacity = 10_007 * PAGE + 5;
    for access in Access::ALL {
        let keys = PatternKeys {
            access: *access,
            size_kib: Sectors::from_sectors(PAGE),
            max_size_kib: Sectors::from_sectors(5 * PAGE),
            start_percent: Ppm::from_percent(25),
            range_percent: Ppm::from_percent(1),
            ..keys(20_000)
        };
        let requests = requests(&keys, 1, capacity);
        let (first, end) = (capacity / 4 / PAGE * PAGE, capacity * 26 / 100);
        let starts = || requests.iter().map(|request| request.first_sector);
        assert!(starts().all(|start| start >= first && start % PAGE == 0), "{access:?}");
        assert!(requests.iter().all(|request| request.end_sector().unwrap() <= end), "{access:?}");
        assert_eq!(starts().min(), Some(first), "{access:?}");
        let last = starts().max().unwrap();
        // In a sequence the largest request need not come last; fio's scatter leaves places out.
        let near = if *access == Access::FioZipf { 12 } else { 6 };
        assert!(end - last < near * PAGE, "{access:?}: {last} of {end}");
    }
}

#[test]
fn sequences_have_no_gap_and_start_again() {
    let keys = PatternKeys {
        access: Access::Sequential,
        size_kib: Sectors::from_sectors(2 * PAGE),
        align_kib: Sectors::from_sectors(2 * PAGE),
        ..keys(12)
    };
    let expected = [0, 2, 4, 6, 8, 0, 2, 4, 6, 8, 0, 2];
    assert_eq!(pages(&keys, 1, 11 * PAGE), expected, "the last page is too small for a request");
    let sizes = PatternKeys { max_size_kib: Sectors::from_sectors(6 * PAGE), ..keys };
    let requests = requests(&sizes, 1, 1_000 * PAGE);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].end_sector(), Some(pair[1].first_sector));
    }
    // A request that is no multiple of the alignment leaves the rest of its last place out.
    let odd =
        PatternKeys { size_kib: Sectors::from_sectors(3), align_kib: Sectors::from_kib(1), ..keys };
    let starts: Vec<u64> =
        self::requests(&odd, 1, 13).iter().map(|request| request.first_sector).collect();
    assert_eq!(starts, [0, 4, 8, 0, 4, 8, 0, 4, 8, 0, 4, 8]);
}

/// Without an alignment of its own a place is as large as the least request: a sequence of any size
/// has no gap, and random requests do not overlap by a part.
#[test]
fn places_are_as_large_as_the_least_request() {
    for sectors in [1, 3, 8, 64] {
        let size_kib = Sectors::from_sectors(sectors);
        let sequence = PatternKeys { access: Access::Sequential, size_kib, ..keys(40) };
        for pair in requests(&sequence, 1, 40 * sectors).windows(2) {
            assert_eq!(pair[0].end_sector(), Some(pair[1].first_sector), "{sectors} sectors");
        }
        let uniform = PatternKeys { size_kib, ..keys(40) };
        let starts = requests(&uniform, 1, 1_000 * sectors);
        assert!(starts.iter().all(|request| request.first_sector.is_multiple_of(sectors)));
    }
    // The smaller one of reads and writes, where both happen.
    let mixed = PatternKeys {
        size_kib: Sectors::from_kib(16),
        write_size_kib: Sectors::from_kib(4),
        read_percent: Ppm::from_percent(50),
        access: Access::Sequential,
        ..keys(100)
    };
    for pair in requests(&mixed, 1, 100_000).windows(2) {
        assert_eq!(pair[0].end_sector(), Some(pair[1].first_sector));
    }
    let reads = PatternKeys { read_percent: Ppm::ALL, ..mixed };
    let whole = |request: &Request| request.first_sector.is_multiple_of(32);
    assert!(requests(&reads, 1, 100_000).iter().all(whole), "no write has a say");
}

#[test]
fn strides_are_constant_and_every_lap_starts_a_place_later() {
    let keys = PatternKeys {
        access: Access::Strided,
        stride_kib: Sectors::from_sectors(4 * PAGE),
        ..keys(13)
    };
    let expected = [0, 4, 8, 1, 5, 9, 2, 6, 3, 7, 0, 4, 8];
    assert_eq!(pages(&keys, 1, 10 * PAGE), expected);
    let wide = PatternKeys { stride_kib: Sectors::from_sectors(100 * PAGE), ..keys };
    assert_eq!(pages(&wide, 1, 3 * PAGE), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
}

/// The chance of each of `n` ranks by summing up.
fn zipf_chances(n: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=n).map(|rank| f64::from(rank).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[test]
fn zipf_ranks_have_their_chances() {
    for thousandths in [1, 500, 990, 1_000, 1_001, 1_500, 3_000] {
        let exponent = thousandths as f64 / 1e3;
        for ranks in [1, 2, 3, 1_000_u32] {
            let keys = PatternKeys {
                access: Access::Zipf,
                zipf_exponent: Milli::from_thousandths(thousandths),
                scatter: false,
                ..keys(200_000)
            };
            let pages = pages(&keys, 1, u64::from(ranks) * PAGE);
            // Ranks of small chance are one class.
            let mut chances = zipf_chances(ranks, exponent);
            let mut found = counts(pages, chances.len());
            let head = chances.iter().take_while(|chance| **chance > 1e-4).count().min(30);
            let tail = (found[head..].iter().sum(), chances[head..].iter().sum());
            found.truncate(head);
            chances.truncate(head);
            if tail.1 > 0.0 {
                found.push(tail.0);
                chances.push(tail.1);
            }
            let statistic = chi_square(&found, &chances);
            // Of 1, 2, 3 and 31 classes or fewer.
            let critical = [0.1, 10.9, 13.9, 59.8][found.len().min(4) - 1];
            assert!(statistic < critical, "{exponent}, {ranks} ranks: {statistic}");
        }
    }
}

#[test]
fn ranks_beyond_the_places_share_them_with_their_neighbours() {
    let exponent = 1.2;
    let chances: Vec<f64> =
        zipf_chances(1_000, exponent).chunks(50).map(|ranks| ranks.iter().sum()).collect();
    for access in [Access::Zipf, Access::FioZipf] {
        let keys = PatternKeys {
            access,
            zipf_exponent: Milli::from_thousandths(1_200),
            zipf_ranks: 1_000,
            scatter: false,
            ..keys(200_000)
        };
        let found = counts(pages(&keys, 1, 20 * PAGE), 20);
        if access == Access::Zipf {
            // 0.1 % of 19 degrees of freedom.
            assert!(chi_square(&found, &chances) < 43.8);
        }
        // Gray's method is exact in its first two ranks alone; places hold fifty.
        for (count, chance) in found.iter().zip(&chances) {
            let share = *count as f64 / 200_000.0;
            assert!((share / chance - 1.0).abs() < 0.15, "{access:?}: {share} {chance}");
        }
    }
}

#[test]
fn zipf_medians_are_right_among_very_many_ranks() {
    // H(m) = H(n) / 2 with H(k) = log k + gamma: m = sqrt(n) e^(-gamma / 2). A terabyte of sectors.
    let n = 1_u64 << 31;
    let keys = PatternKeys {
        access: Access::Zipf,
        zipf_exponent: Milli::from_thousandths(1_000),
        scatter: false,
        size_kib: Sectors::from_sectors(1),
        align_kib: Sectors::from_sectors(1),
        ..keys(100_001)
    };
    let requests = requests(&keys, 1, n);
    let mut ranks: Vec<u64> = requests.iter().map(|request| request.first_sector + 1).collect();
    ranks.sort_unstable();
    let log = |rank: f64| rank.ln() + 0.577_215_664_9;
    // The share of all accesses at the quantile's rank, whose deviation is sqrt(q (1 - q) / count).
    for (place, share, deviation) in [(50_000, 0.5, 0.0016), (75_000, 0.75, 0.0014)] {
        let found = log(ranks[place] as f64 + 0.5) / log(n as f64);
        assert!((found - share).abs() < 3.0 * deviation, "{share}: {found}");
    }
}

#[test]
fn scattered_ranks_are_as_popular_as_ranks_in_order() {
    for access in [Access::Zipf, Access::HotCold, Access::SelfSimilar] {
        let keys = PatternKeys { access, ..keys(20_000) };
        let spread = |scatter| {
            let pages = pages(&PatternKeys { scatter, ..keys }, 1, 500 * PAGE);
            let mut counts = counts(pages.iter().copied(), 500);
            counts.sort_unstable();
            (counts, pages)
        };
        let (scattered, in_order) = (spread(true), spread(false));
        assert_eq!(scattered.0, in_order.0, "{access:?}");
        assert_ne!(scattered.1, in_order.1, "{access:?}");
    }
}

#[test]
fn hot_places_get_their_share_and_are_alike() {
    let keys = PatternKeys {
        access: Access::HotCold,
        hot_units_percent: Ppm::from_percent(10),
        hot_accesses_percent: Ppm::from_percent(90),
        scatter: false,
        ..keys(200_000)
    };
    let found = counts(pages(&keys, 1, 100 * PAGE), 100);
    let chances: Vec<f64> =
        (0..100).map(|place| if place < 10 { 0.09 } else { 0.1 / 90.0 }).collect();
    let statistic = chi_square(&found, &chances);
    assert!(statistic < 148.2, "99 degrees of freedom: {statistic}");
}

#[test]
fn zones_get_their_shares_and_are_alike_inside() {
    let zoned = PatternKeys { access: Access::Zoned, ..keys(200_000) };
    let share = |place: u32| match place {
        0..20 => 0.8 / 20.0,
        20..40 => 0.1 / 20.0,
        _ => 0.1 / 60.0,
    };
    let chances: Vec<f64> = (0..100).map(share).collect();
    let statistic = chi_square(&counts(pages(&zoned, 1, 100 * PAGE), 100), &chances);
    assert!(statistic < 148.2, "99 degrees of freedom: {statistic}");
    // Without a place in the first zone, and without one in the third.
    let second =
        PatternKeys { zone_1_percent: Ppm::ZERO, zone_2_percent: Ppm::from_percent(100), ..zoned };
    let statistic = chi_square(&counts(pages(&second, 1, 20 * PAGE), 20), &[0.05; 20]);
    assert!(statistic < 43.8, "19 degrees of freedom: {statistic}");
}

#[test]
fn self_similar_places_have_their_shares_at_every_depth() {
    for (skew_percent, h) in [(800_000, 0.8), (900_000, 0.9_f64)] {
        let keys = PatternKeys {
            access: Access::SelfSimilar,
            skew_percent: Ppm::from_ppm(skew_percent),
            scatter: false,
            ..keys(100_000)
        };
        let pages = pages(&keys, 1, 1_000_000 * PAGE);
        for depth in 1..=4 {
            let first = 1e6 * (1.0 - h).powi(depth);
            let share = h.powi(depth);
            let found = pages.iter().filter(|page| (**page as f64) < first - 0.5).count() as f64;
            let off = (found - 1e5 * share) / (1e5 * share * (1.0 - share)).sqrt();
            assert!(off.abs() < 4.0, "{h}, depth {depth}: {found}");
        }
    }
    let even = PatternKeys {
        access: Access::SelfSimilar,
        skew_percent: Ppm::from_percent(50),
        ..self::keys(20_000)
    };
    let found = chi_square(&counts(pages(&even, 1, 20 * PAGE), 20), &[0.05; 20]);
    assert!(found < 43.8, "19 degrees of freedom: {found}");
}

#[test]
fn a_share_of_the_requests_continues_and_the_others_follow_their_rule() {
    let keys = PatternKeys {
        sequential_percent: Ppm::from_percent(60),
        read_percent: Ppm::from_percent(70),
        flush_every: 5,
        size_kib: Sectors::from_sectors(3),
        max_size_kib: Sectors::from_sectors(45),
        align_kib: Sectors::from_kib(1),
        ..keys(50_000)
    };
    let all = requests(&keys, 1, 1_000_000);
    let all: Vec<&Request> = all.iter().filter(|request| request.sectors > 0).collect();
    let mut drawn = Vec::new();
    for pair in all.windows(2) {
        // The first place that is not in the request before, over flushes and operations.
        if pair[1].first_sector != pair[0].end_sector().unwrap().next_multiple_of(2) {
            drawn.push(pair[1].first_sector);
        }
    }
    let n = (all.len() - 1) as f64;
    let off = (drawn.len() as f64 - 0.4 * n) / (n * 0.4 * 0.6).sqrt();
    assert!(off.abs() < 4.0, "{} of {n}", drawn.len());
    let uniform =
        chi_square(&counts(drawn.iter().map(|start| start * 20 / 1_000_000), 20), &[0.05; 20]);
    assert!(uniform < 43.8, "19 degrees of freedom: {uniform}");
    // The others are those that there are without, from the first on.
    let without = requests(&PatternKeys { sequential_percent: Ppm::ZERO, ..keys }, 1, 1_000_000);
    let without = without.iter().filter(|request| request.sectors > 0);
    let without: Vec<u64> = without.map(|request| request.first_sector).collect();
    assert_eq!(drawn[..], without[1..=drawn.len()]);
}

#[test]
fn a_request_that_cannot_continue_is_drawn() {
    let keys = PatternKeys { sequential_percent: Ppm::ALL, ..keys(200) };
    let pages = pages(&keys, 3, 10 * PAGE);
    let mut laps = 0;
    for pair in pages.windows(2) {
        assert!(pair[1] == pair[0] + 1 || pair[0] == 9, "{pair:?}");
        laps += u32::from(pair[0] == 9);
    }
    assert!(laps > 20, "from anywhere to the end, 5.5 requests a lap: {laps}");
    let error = Pattern::new(&PatternKeys { access: Access::Sequential, ..keys }, 1, None);
    assert_eq!(
        error.unwrap_err().to_string(),
        "pattern.sequential_percent: with access = \"sequential\" every request continues, 100 %; \
         set it to 0, or choose another pattern.access for the other requests"
    );
}

#[test]
fn a_range_of_one_temperature_is_uniform() {
    for hot_units_percent in [0, 1_000_000] {
        for hot_accesses_percent in [0, 300_000, 1_000_000] {
            let keys = PatternKeys {
                access: Access::HotCold,
                hot_units_percent: Ppm::from_ppm(hot_units_percent),
                hot_accesses_percent: Ppm::from_ppm(hot_accesses_percent),
                ..keys(20_000)
            };
            let found = counts(pages(&keys, 1, 20 * PAGE), 20);
            let statistic = chi_square(&found, &[0.05; 20]);
            assert!(statistic < 43.8, "19 degrees of freedom: {statistic}");
        }
    }
}

#[test]
fn constant_arrivals_are_exact() {
    // Three a second, and 1.000001 a second: a million seconds hold a million requests and one.
    for (rate_per_s, per_million_s) in [(3_000_000, 3_000_000_u128), (1_000_001, 1_000_001)] {
        let keys = PatternKeys {
            arrival: Arrival::Constant,
            rate_per_s: Micro::from_millionths(rate_per_s),
            ..keys(10_000)
        };
        for (number, request) in requests(&keys, 1, 1 << 20).iter().enumerate() {
            let exact = number as u128 * 1_000_000_000_000_000 / per_million_s;
            assert_eq!(u128::from(request.arrival.as_ns()), exact);
        }
    }
}

#[test]
fn poisson_arrivals_have_exponential_distances() {
    let keys = PatternKeys {
        arrival: Arrival::Poisson,
        rate_per_s: Micro::from_millionths(2_000_000_000),
        ..keys(40_000)
    };
    let requests = requests(&keys, 1, 1 << 20);
    let times: Vec<f64> = requests.iter().map(|request| request.arrival.as_ns() as f64).collect();
    // A mean of 500 us, deviation 500 / sqrt(40,000) = 2.5 us.
    let mean = times[times.len() - 1] / 40_000.0 / 1e3;
    assert!((mean - 500.0).abs() < 7.5, "{mean}");
    // As many distances between each two tenths: -log(1 - k / 10) means.
    let class = |gap: f64| (0..9).filter(|k| gap > -(1.0 - f64::from(k + 1) / 10.0).ln()).count();
    let gaps = times.windows(2).map(|pair| class((pair[1] - pair[0]) / 500_000.0) as u64);
    let statistic = chi_square(&counts(gaps, 10), &[0.1; 10]);
    assert!(statistic < 27.9, "9 degrees of freedom: {statistic}");
}

#[test]
fn patterns_for_closed_loops_arrive_at_once() {
    assert!(requests(&keys(100), 1, 1 << 20).iter().all(|r| r.arrival == Time::ZERO));
}

#[test]
fn no_number_of_requests_is_no_end() {
    let mut endless = Pattern::new(&keys(0), 1, Some(1 << 20)).unwrap();
    let mut finite = Pattern::new(&keys(100), 1, Some(1 << 20)).unwrap();
    for _ in 0..100 {
        assert_eq!(endless.next_request().unwrap(), finite.next_request().unwrap());
    }
    assert_eq!(finite.next_request().unwrap(), None);
    assert!(endless.next_request().unwrap().is_some());
}

#[test]
fn a_key_of_one_part_leaves_the_others_alone() {
    let base = PatternKeys {
        read_percent: Ppm::from_percent(50),
        arrival: Arrival::Poisson,
        ..keys(1_000)
    };
    let plain = requests(&base, 1, 1 << 30);
    let places = PatternKeys { access: Access::Zipf, ..base };
    let same = requests(&places, 1, 1 << 30);
    assert!(plain.iter().zip(&same).all(|(a, b)| (a.op, a.arrival) == (b.op, b.arrival)));
    assert_ne!(plain, same);
    let ops = PatternKeys { read_percent: Ppm::from_percent(10), arrival: Arrival::None, ..base };
    let same = requests(&ops, 1, 1 << 30);
    assert!(plain.iter().zip(&same).all(|(a, b)| a.first_sector == b.first_sector));
}

#[test]
fn a_seed_is_a_stream() {
    for built_in in BUILT_IN_PATTERNS {
        let keys = PatternKeys { requests: 100, ..built_in.keys };
        let sequential = keys.access == Access::Sequential;
        assert_eq!(requests(&keys, 7, 1 << 20), requests(&keys, 7, 1 << 20));
        assert_eq!(requests(&keys, 7, 1 << 20) == requests(&keys, 8, 1 << 20), sequential);
    }
}

#[test]
fn the_stream_never_changes() {
    // Drawn by hand: places are stream 4 of the seed, by multiply and shift.
    let mut random = SplitMix64::stream(1, 4);
    let places = 1_000_u64;
    let expected: Vec<u64> = (0..5)
        .map(|_| {
            let product = u128::from(random.next_u64()) * u128::from(places);
            u64::try_from(product >> 64).unwrap()
        })
        .collect();
    assert_eq!(pages(&keys(5), 1, places * PAGE), expected);
}

#[test]
fn built_in_patterns_start_from_the_defaults() {
    assert_eq!(BUILT_IN_PATTERNS[0].keys, PatternKeys::default());
    for built_in in BUILT_IN_PATTERNS {
        assert_eq!(BuiltInPattern::from_name(built_in.name).unwrap().keys, built_in.keys);
        assert_eq!(built_in.keys.arrival, Arrival::None, "{} is a closed loop", built_in.name);
        assert!(crate::generator::BuiltIn::from_name(built_in.name).is_none());
    }
}

#[test]
fn every_key_is_in_its_range() {
    for key in PatternKeys::KEYS {
        if let Kind::Number { scale, min, max, .. } = key.kind {
            let Some(Value::Number(number)) = PatternKeys::default().get(key.name) else {
                panic!("{}", key.name)
            };
            assert!((min..=max).contains(&number), "{}", key.name);
            assert!(scale > 0);
        }
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let refused = |keys: &PatternKeys| Pattern::new(keys, 1, Some(1_000)).unwrap_err().to_string();
    let base = keys(10);
    assert_eq!(
        refused(&PatternKeys {
            read_percent: Ppm::from_ppm(905_000),
            trim_percent: Ppm::from_percent(10),
            ..base
        }),
        "pattern.trim_percent: reads and trims are 100.5 % together; lower pattern.read_percent or \
         pattern.trim_percent to 100 % in all"
    );
    assert_eq!(
        refused(&PatternKeys { start_percent: Ppm::from_ppm(1), ..base }),
        "pattern.range_percent: the range ends at 100.0001 % of the device; lower \
         pattern.start_percent or pattern.range_percent to 100 % in all"
    );
    assert_eq!(
        refused(&PatternKeys { max_size_kib: Sectors::from_sectors(7), ..base }),
        "pattern.max_size_kib: 3.5 KiB is less than the least size; choose pattern.size_kib = 4 or \
         more, or 0"
    );
    assert_eq!(
        refused(&PatternKeys { size_kib: Sectors::from_kib(1000), ..base }),
        "pattern.range_percent: the largest request does not fit, 1000 KiB in 500; raise it, give \
         the device more capacity, or lower the sizes"
    );
    let slow = PatternKeys {
        arrival: Arrival::Constant,
        rate_per_s: Micro::from_millionths(1),
        ..keys(10_000)
    };
    let mut pattern = Pattern::new(&slow, 1, None).unwrap();
    let error = std::iter::repeat_with(|| pattern.next_request()).find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("pattern.rate_per_s: the last request"), "{error}");
}

/// Appends go to the zone that their address lies in, and ask to be kept as other writes do;
/// actions go through the zones by turns.
#[test]
fn requests_to_zones_are_appends_and_actions() {
    let grid = ZoneGrid { count: 8, size: 4 * PAGE, capacity: 4 * PAGE };
    let made = |keys: PatternKeys| -> Vec<Request> {
        let mut pattern = Pattern::with_zones(&keys, 1, Some(32 * PAGE), Some(grid)).unwrap();
        std::iter::from_fn(|| pattern.next_request().unwrap()).collect()
    };
    let writes = PatternKeys {
        access: Access::Sequential,
        read_percent: Ppm::ZERO,
        zones: 2,
        first_zone: 3,
        append: true,
        fua_every: 2,
        ..keys(12)
    };
    for (number, request) in made(writes).iter().enumerate() {
        assert!(request.appends(), "{request:?}");
        assert_eq!(request.first_sector, [12, 16][number / 4 % 2] * PAGE, "{number}");
        assert_eq!(request.flags.has(Flags::FUA), number % 2 == 1, "{number}");
    }
    let actions = PatternKeys { zone_action: Action::Finish, ..writes };
    let found: Vec<_> = made(actions).iter().map(|r| (r.zone_action(), r.first_sector)).collect();
    let wanted = [12, 16].map(|page| (Some(ZoneAction::Finish), page * PAGE));
    assert!(found.len() == 12 && found.chunks(2).all(|two| *two == wanted), "{found:?}");
}

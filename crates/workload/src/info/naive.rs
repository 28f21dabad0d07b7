//! Every statistic against its plain definition, on random requests; and closed forms.
//!
//! On a trace at hand, in format `msr` and sorted by `sort -st, -k1,1n TRACE > FILE`, these give
//! the same figures as `flashyard trace info FILE`. Page accesses, first ones in %, footprint:
//!
//!     awk -F, '{for(p=int($5/4096);p<=int(($5+$6-1)/4096);p++){n++;c+=!s[p]++}}
//!         END{print n,100*c/n,c}' FILE
//!
//! Page reads and page writes after a write, in %:
//!
//!     awk -F, '{for(p=int($5/4096);p<=int(($5+$6-1)/4096);p++)if($4=="Read"){r++;a+=p in w}
//!         else{u++;b+=p in w;w[p]}} END{print 100*a/r,100*b/u}' FILE
//!
//! Overlap with the last 32, in %; sequential reads and writes, in %:
//!
//!     awk -F, '{k=NR%32;m=0;for(i in b)m+=b[i]<$5+$6&&$5<e[i];v+=m>0;b[k]=$5;e[k]=$5+$6}
//!         END{print 100*v/NR}' FILE
//!     awk -F, '{n[$4]++;q[$4]+=e[$4]==$5;e[$4]=$5+$6} END{for(o in n)print o,100*q[o]/n[o]}' FILE
//!
//! The greatest working set of 1 s, in MiB:
//!
//!     awk -F, 'NR==1{t=$1} {w=int(($1-t)/1e7);if(w!=o){if(c>m)m=c;c=0;o=w;delete s}
//!         for(p=int($5/4096);p<=int(($5+$6-1)/4096);p++)c+=!s[p]++}
//!         END{if(c>m)m=c;print m/256}' FILE
//!
//! Hits of a 1 MiB LRU cache, in %:
//!
//!     python3 -c 'import sys
//!     s=[];h=n=0
//!     for l in open(sys.argv[1]):
//!         c=l.split(",");o=int(c[4])
//!         for p in range(o//4096,(o+int(c[5])-1)//4096+1):
//!             n+=1;h+=p in s;s=[q for q in s if q!=p][-255:]+[p]
//!     print(100*h/n)' FILE

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a test are small"
)]
#![expect(clippy::float_cmp, reason = "halves of whole numbers are exact")]

use std::collections::{BTreeMap, BTreeSet};

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;

use super::histogram::Percentiles;
use super::pages::{Access, Pages};
use super::tests::{info, near};
use super::*;
use crate::random::SplitMix64;
use crate::random::mixed;

/// Requests of all operations with jumps and runs, near `pages` pages.
fn requests(seed: u64, count: usize, pages: u64, longest: u64) -> Vec<Request> {
    let mut random = SplitMix64::new(seed);
    let (mut ns, mut next) = (5_000_000_000_u64, 0);
    let mut all = Vec::new();
    for _ in 0..count {
        let bits = random.below(33);
        ns += if random.happens(300_000) { 0 } else { random.below(1 << bits) };
        let op = match random.below(20) {
            0 => RequestOp::Trim,
            1 => RequestOp::Flush,
            2..9 => RequestOp::Read,
            _ => RequestOp::Write,
        };
        let first_sector = if random.happens(300_000) { next } else { random.below(pages * 8) };
        let sectors = if op == RequestOp::Flush { 0 } else { 1 + random.below(longest) };
        next = first_sector + sectors;
        let sectors = u32::try_from(sectors).unwrap();
        let stream = u16::try_from(random.below(3) * 5).unwrap();
        let arrival = Time::from_ns(ns);
        all.push(Request::new(op, first_sector, sectors).at(arrival).of_stream(stream));
    }
    all
}

/// The numbers, arrivals and contents of the reads and writes.
fn accesses(all: &[Request]) -> impl Iterator<Item = (usize, u64, &Request)> {
    let data = |op| matches!(op, RequestOp::Read | RequestOp::Write);
    let numbered = all.iter().enumerate().filter(move |(_, request)| data(request.op));
    let start = all[0].arrival.as_ns();
    numbered.map(move |(number, request)| (number, request.arrival.as_ns() - start, request))
}

fn pages(request: &Request) -> std::ops::RangeInclusive<u64> {
    request.first_sector / 8..=(request.end_sector().unwrap() - 1) / 8
}

fn share(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// Percentiles by sorting; each may be too large by less than 1 / `fraction` of itself.
#[track_caller]
fn sorted<T: Copy + Into<f64>>(found: &Percentiles<T>, mut values: Vec<f64>, fraction: f64) {
    values.sort_by(f64::total_cmp);
    for (found, rank) in [
        (found.min, 0.0),
        (found.p10, 0.1),
        (found.p50, 0.5),
        (found.p90, 0.9),
        (found.p99, 0.99),
        (found.max, 1.0),
    ] {
        let rank = (values.len() as f64 * rank).ceil().max(1.0) as usize;
        let (found, exact) = (found.expect("there are values").into(), values[rank - 1]);
        let off = found - exact;
        assert!((0.0..=exact / fraction).contains(&off), "{found} instead of {exact}");
    }
}

fn floats(of: &Percentiles<u64>) -> Percentiles<f64> {
    of.map(|value| value as f64)
}

#[test]
fn reuse_is_that_of_a_list_in_order_of_use() {
    // Distances below 128 pages are exact.
    for (count, span, longest, fraction) in
        [(3_000, 90, 60, f64::INFINITY), (4_000, 2_000, 300, 64.0)]
    {
        let all = requests(span, count, span, longest);
        let mut list: Vec<u64> = Vec::new();
        let (mut cold, mut distances) = (0, Vec::new());
        for page in accesses(&all).flat_map(|(_, _, request)| pages(request)) {
            match list.iter().rposition(|&other| other == page) {
                None => cold += 1,
                Some(at) => {
                    distances.push((list.len() - 1 - at) as f64 / 256.0);
                    list.remove(at);
                }
            }
            list.push(page);
        }
        let touched = all.iter().filter(|request| request.op != RequestOp::Flush).flat_map(pages);
        let touched: BTreeSet<u64> = touched.collect();
        let info = info(all);
        assert_eq!(info.footprint_pages, touched.len() as u64);
        let (reuse, total) = (info.reuse, cold + distances.len());
        assert_eq!((reuse.page_accesses, reuse.sampled_percent), (total as u64, 100.0));
        near(reuse.cold_percent, share(cold, total));
        sorted(&reuse.distance_mib, distances, fraction);
    }
}

/// The cache as it would be: a queue of pages.
#[test]
fn hits_are_those_of_a_simulated_cache() {
    let all = requests(2, 6_000, 3_000, 200);
    let reuse = info(all.clone()).reuse;
    for cache in &reuse.lru[..3] {
        let mut queue = std::collections::VecDeque::new();
        let (mut hits, mut total) = (0, 0);
        for page in accesses(&all).flat_map(|(_, _, request)| pages(request)) {
            total += 1;
            if let Some(at) = queue.iter().position(|&other| other == page) {
                hits += 1;
                queue.remove(at);
            } else if queue.len() == cache.cache_mib as usize * 256 {
                queue.pop_front();
            }
            queue.push_back(page);
        }
        near(cache.hit_percent, share(hits, total));
    }
}

#[test]
fn working_sets_are_sets() {
    let all = requests(3, 3_000, 5_000, 300);
    let info = info(all.clone());
    for set in &info.working_set {
        let mut windows: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (_, ns, request) in accesses(&all) {
            windows.entry(ns / set.window_ns).or_default().extend(pages(request));
        }
        let sum: usize = windows.values().map(BTreeSet::len).sum();
        let most = windows.values().map(BTreeSet::len).max().unwrap();
        let count = info.duration_ns / set.window_ns + 1;
        assert!(count > 1, "there are windows to tell apart");
        near(set.mean_mib, sum as f64 / count as f64 / 256.0);
        near(set.max_mib, most as f64 / 256.0);
    }
}

#[test]
fn accesses_after_writes_are_those_of_a_map() {
    let all = requests(4, 4_000, 3_000, 100);
    let mut written: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    // For reads and for writes: all, distances in requests, distances in time.
    let mut found = [(0, Vec::new(), Vec::new()), (0, Vec::new(), Vec::new())];
    for (number, ns, request) in accesses(&all) {
        let is_write = request.op == RequestOp::Write;
        let (total, by_request, by_time) = &mut found[usize::from(is_write)];
        for page in pages(request) {
            *total += 1;
            if let Some((then, then_ns)) = written.get(&page) {
                by_request.push((number - then) as f64);
                by_time.push((ns - then_ns) as f64);
            }
            if is_write {
                written.insert(page, (number, ns));
            }
        }
    }
    let info = info(all);
    for (after, (total, by_request, by_time)) in
        [&info.read_after_write, &info.write_after_write].into_iter().zip(found)
    {
        near(after.percent, share(by_request.len(), total));
        sorted(&floats(&after.distance_requests), by_request, 64.0);
        sorted(&floats(&after.distance_ns), by_time, 64.0);
    }
}

#[test]
fn overlap_is_that_of_sets_of_sectors() {
    let all = requests(5, 2_000, 400, 40);
    let sectors = |request: &Request| -> BTreeSet<u64> {
        (request.first_sector..request.end_sector().unwrap()).collect()
    };
    let data: Vec<_> =
        accesses(&all).map(|(_, _, request)| (request.op, sectors(request))).collect();
    let mut counts = BTreeMap::new();
    for (at, (op, range)) in data.iter().enumerate() {
        let before = data[at.saturating_sub(32)..at].iter();
        let met: BTreeSet<_> = before
            .filter(|(_, other)| !other.is_disjoint(range))
            .map(|(other, _)| *other)
            .collect();
        *counts.entry("any").or_insert(0) += usize::from(!met.is_empty());
        for other in met {
            let kind = match (op, other) {
                (RequestOp::Read, RequestOp::Write) => "raw",
                (RequestOp::Write, RequestOp::Read) => "war",
                (RequestOp::Write, _) => "waw",
                _ => "rar",
            };
            *counts.entry(kind).or_insert(0) += 1;
        }
    }
    let overlap = info(all).overlap;
    for (kind, found) in [
        ("any", overlap.any_percent),
        ("raw", overlap.raw_percent),
        ("war", overlap.war_percent),
        ("waw", overlap.waw_percent),
        ("rar", overlap.rar_percent),
    ] {
        assert!(counts[kind] > 50, "{kind} happens");
        near(found, share(counts[kind], data.len()));
    }
}

#[test]
fn runs_are_those_of_a_list_of_ends() {
    let all = requests(6, 3_000, 300, 20);
    let info = info(all.clone());
    for (op, found) in
        [(RequestOp::Read, info.sequentiality.read), (RequestOp::Write, info.sequentiality.write)]
    {
        let of_op: Vec<_> = all.iter().filter(|request| request.op == op).collect();
        let follows = |at: usize, back: usize| {
            let before = &of_op[at.saturating_sub(back)..at];
            before.iter().any(|other| other.end_sector() == Some(of_op[at].first_sector))
        };
        let count = |back| (0..of_op.len()).filter(|&at| follows(at, back)).count();
        near(found.sequential_percent, share(count(1), of_op.len()));
        near(found.sequential_of_8_percent, share(count(8), of_op.len()));
        assert!(count(8) > count(1) && count(1) > 50, "both happen");
        // Runs, one by one: their lengths and sizes.
        let mut runs: Vec<(f64, f64)> = Vec::new();
        for (at, request) in of_op.iter().enumerate() {
            if !follows(at, 1) {
                runs.push((0.0, 0.0));
            }
            let run = runs.last_mut().unwrap();
            *run = (run.0 + 1.0, run.1 + f64::from(request.sectors) / 2.0);
        }
        let mean =
            |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        near(found.run_requests_mean, mean(|run| run.0));
        near(found.run_kib_mean, mean(|run| run.1));
    }
}

#[test]
fn sizes_are_those_of_sorting() {
    let all = requests(7, 3_000, 300, 30);
    let info = info(all.clone());
    let sizes = [&info.sizes.read, &info.sizes.write, &info.sizes.trim];
    for (op, found) in RequestOp::ALL.into_iter().zip(sizes) {
        let of_op: Vec<_> = all.iter().filter(|request| request.op == op).collect();
        let kib = of_op.iter().map(|request| f64::from(request.sectors) / 2.0).collect();
        sorted(&found.kib, kib, f64::INFINITY);
        let whole = |request: &&&Request| (request.first_sector % 8, request.sectors % 8) == (0, 0);
        near(found.aligned_percent, share(of_op.iter().filter(whole).count(), of_op.len()));
        let times = |kib: f64| {
            of_op.iter().filter(|request| f64::from(request.sectors) / 2.0 == kib).count()
        };
        let counts: Vec<_> = found.common.iter().map(|size| size.requests).collect();
        assert!(counts.len() == 8 && counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        for size in &found.common {
            assert_eq!(size.requests as usize, times(size.kib));
            near(size.percent, share(times(size.kib), of_op.len()));
        }
        let others = (1..=30).map(|sectors| f64::from(sectors) / 2.0);
        let others = others.filter(|kib| found.common.iter().all(|size| size.kib != *kib));
        assert!(others.map(times).all(|times| times as u64 <= counts[7]), "the most common");
    }
}

#[test]
fn the_rate_over_time_is_that_of_bins_of_its_final_width() {
    for count in [1, 2, 40, 3_000] {
        let all = requests(count, usize::try_from(count).unwrap(), 300, 30);
        let info = info(all.clone());
        let (rate, start) = (&info.rate, all[0].arrival.as_ns());
        let bins = info.duration_ns / rate.bin_ns + 1;
        assert_eq!(rate.bins.len() as u64, bins);
        let doublings = rate.bin_ns / 1_000;
        assert!(rate.bin_ns % 1_000 == 0 && doublings.is_power_of_two());
        assert!(bins <= 64 && (bins > 32 || doublings == 1), "{bins} bins");
        for (number, bin) in (0..).zip(&rate.bins) {
            let inside = |r: &&Request| (r.arrival.as_ns() - start) / rate.bin_ns == number;
            let here: Vec<_> = all.iter().filter(inside).collect();
            let of = |op| here.iter().filter(|request| request.op == op).count() as u64;
            let bytes = here.iter().filter(|request| request.op != RequestOp::Trim);
            let bytes = bytes.map(|request| u128::from(request.sectors) * 512).sum::<u128>();
            let (reads, writes) = (of(RequestOp::Read), of(RequestOp::Write));
            assert_eq!(*bin, Bin { requests: here.len() as u64, reads, writes, bytes });
        }
        let most = rate.bins.iter().map(|bin| bin.requests).max().unwrap();
        near(rate.peak_per_s, most as f64 / (rate.bin_ns as f64 / 1e9));
        let quiet = rate.bins.iter().filter(|bin| bin.requests == 0).count();
        near(rate.quiet_percent, share(quiet, rate.bins.len()));
        assert_eq!(rate.digits().len(), rate.bins.len());
        assert_eq!(rate.digits().matches('0').count(), quiet);
        assert!(rate.digits().contains('9'));
    }
}

#[test]
fn gaps_are_those_of_two_passes() {
    let all = requests(9, 3_000, 300, 30);
    let info = info(all.clone());
    let times = all.windows(2).map(|pair| pair[1].arrival.as_ns() - pair[0].arrival.as_ns());
    let gaps: Vec<f64> = times.map(|ns| ns as f64).collect();
    sorted(&floats(&info.interarrival_ns), gaps.clone(), 64.0);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviations: Vec<f64> = gaps.iter().map(|gap| (gap - mean) / mean).collect();
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    near(info.interarrival_autocorrelation, products / squares);
    near(info.interarrival_cv, (squares / gaps.len() as f64).sqrt());
}

/// Gaps of 1 and 3 in turn, n of them: the numerator is -(n - 1), the denominator n.
#[test]
fn autocorrelation_of_alternating_gaps_and_of_none() {
    let at = |ns| requests(1, 1, 1, 1)[0].at(Time::from_ns(ns));
    let alternating = |scale: u64| info((0..101).map(|n| at(scale * (2 * n - n % 2))).collect());
    near(alternating(1).interarrival_autocorrelation, -0.99);
    // Sums of more than 127 bits.
    near(alternating(1 << 54).interarrival_autocorrelation, -0.99);
    let constant = info((0..100).map(|n| at(n * 1_001)).collect());
    assert_eq!(constant.interarrival_autocorrelation, None);
    assert_eq!(info(Vec::new()).interarrival_autocorrelation, None);
}

#[test]
fn streams_are_counted_one_by_one() {
    let all = requests(10, 300, 300, 30);
    let info = info(all.clone());
    let counts = info.stream_requests.iter().map(|stream| {
        let of_it = |request: &&Request| u64::from(request.stream) == stream.stream;
        assert_eq!(stream.requests as usize, all.iter().filter(of_it).count());
        stream.stream
    });
    assert_eq!(counts.collect::<Vec<_>>(), [0, 5, 10]);
    assert_eq!(info.streams, 3);
}

/// Uniform accesses of n pages: whatever was used before, the next page is any place of the list in
/// order of use alike, so a cache of c pages holds it with a chance of c / n, independently.
#[test]
fn uniform_accesses_hit_in_proportion_to_the_cache() {
    let (pages, count) = (1_024, 100_000_u32);
    let mut random = SplitMix64::new(11);
    let all = (0..count).map(|n| {
        Request::new(RequestOp::Read, random.below(pages) * 8, 8).at(Time::from_us(u64::from(n)))
    });
    let reuse = info(all.collect()).reuse;
    // 256 of 1,024 pages; four standard errors, and the 50 accesses before it is full.
    let error = 4.0 * (0.25_f64 * 0.75 / f64::from(count)).sqrt() * 100.0 + 0.05;
    let hits = reuse.lru[0].hit_percent.unwrap();
    assert!((hits - 25.0).abs() < error, "{hits} %");
    let median = reuse.distance_mib.p50.unwrap();
    // Half of the places: a standard error of 1,024 x 0.5 / sqrt(count) pages, buckets of 8.
    assert!((median * 256.0 - 512.0).abs() < 4.0 * 1.7 + 8.0, "{median} MiB");
    near(reuse.cold_percent, 100.0 * 1_024.0 / f64::from(count));
}

/// A Poisson process: dispersion 1 in any window, no autocorrelation, exponential gaps.
#[test]
fn poisson_arrivals_have_their_formulas() {
    let mut random = SplitMix64::new(12);
    let (count, mean_ns) = (100_000, 1e6);
    let mut ns = 0;
    let all = (0..count).map(|_| {
        ns += (random.exponential() * mean_ns) as u64;
        requests(1, 1, 1, 1)[0].at(Time::from_ns(ns))
    });
    let info = info(all.collect());
    for dispersion in &info.dispersion[..3] {
        // The variance of n counts has a relative standard error of sqrt(2 / n).
        let windows = info.duration_ns as f64 / dispersion.window_ns as f64;
        let off = (dispersion.index.unwrap() - 1.0).abs();
        assert!(off < 4.0 * (2.0 / windows).sqrt(), "{dispersion:?}");
    }
    let error = 4.0 / f64::from(count).sqrt();
    assert!(info.interarrival_autocorrelation.unwrap().abs() < error);
    // The median of an exponential distribution is ln 2 means, with a standard error of 1 / sqrt(n)
    // means; a bucket is 1/64 wide.
    let median = info.interarrival_ns.p50.unwrap() as f64 / mean_ns;
    let exact = std::f64::consts::LN_2;
    assert!((median - exact).abs() < error + exact / 64.0, "{median}");
}

/// Reads the pages of `order`, one a request.
fn read_pages(limit: usize, order: &[u64]) -> Reuse {
    let mut pages = Pages::new(limit);
    for (request, &page) in (0..).zip(order) {
        pages.access(page, page, Access { since_ns: 0, request, is_write: false });
    }
    pages.reuse()
}

/// When every page was seen once, sampling is a choice of pages; what follows must be what a list
/// of the chosen ones says, each counted 16 times.
#[test]
fn sampled_reuse_is_that_of_the_sampled_pages() {
    let mut random = SplitMix64::new(13);
    let start: Vec<u64> = (0..8_192).collect();
    let more: Vec<u64> = (0..20_000).map(|_| random.below(8_192)).collect();
    let limit = 600;
    let before = read_pages(limit, &start);
    near(Some(before.sampled_percent), 100.0 / 16.0);
    let after = read_pages(limit, &[&start[..], &more].concat());
    let mut list: Vec<u64> =
        start.iter().copied().filter(|page| mixed(*page).is_multiple_of(16)).collect();
    assert!(list.len() <= limit);
    let mut hits = [0, 0];
    let mut sampled = 0;
    for page in more.iter().filter(|page| mixed(**page).is_multiple_of(16)) {
        let at = list.iter().position(|other| other == page).unwrap();
        let distance = 16 * (list.len() - 1 - at);
        hits[0] += usize::from(distance < 256);
        hits[1] += usize::from(distance < 1_024);
        sampled += 1;
        list.remove(at);
        list.push(*page);
    }
    // No page is met again in `start`: it has no hits, and as many accesses as first ones.
    let first = after.cold_percent.unwrap() / 100.0;
    let all = 16.0 * f64::from(sampled) / (1.0 - first);
    near(after.lru[0].hit_percent, 100.0 * 16.0 * hits[0] as f64 / all);
    near(after.lru[1].hit_percent, 100.0 * 16.0 * hits[1] as f64 / all);
    assert!(hits[0] > 20 && hits[1] > hits[0]);
}

/// A quarter of 65,536 pages hits a quarter of the time. The pages that are sampled are a binomial
/// number of mean 4,096: a standard error of 1 / 64 of the share.
#[test]
fn sampling_keeps_the_share_of_hits() {
    let mut random = SplitMix64::new(14);
    let order: Vec<u64> = (0..65_536).chain((0..600_000).map(|_| random.below(65_536))).collect();
    let reuse = read_pages(6_000, &order);
    near(Some(reuse.sampled_percent), 100.0 / 16.0);
    let of_all = order.len() as f64 / 600_000.0;
    let hits = reuse.lru[3].hit_percent.unwrap() * of_all;
    assert!((hits - 25.0).abs() < 4.0 * 25.0 / 64.0, "{hits} %");
}

/// A request of 4,096 times as many pages as may be remembered takes no more room than others.
#[test]
fn a_huge_request_is_sampled_before_it_is_counted() {
    let mut pages = Pages::new(1_024);
    let access = Access { since_ns: 0, request: 0, is_write: true };
    assert!(pages.access(0, (1 << 22) - 1, access));
    let reuse = pages.reuse();
    assert_eq!((reuse.page_accesses, reuse.cold_percent), (1 << 22, Some(100.0)));
    let level = (100.0 / reuse.sampled_percent).log2();
    // 2^22 pages >> 16 are 64, a sixteenth of the limit.
    assert!((level - 16.0).abs() < 1e-9, "{level}");
}

//! Statistics of streams that are short enough to check by hand.

use flashyard_core::request::Request;
use flashyard_core::units::Time;

use super::*;
use crate::RequestSource;
use crate::SourceStats;
use crate::error::WorkloadError;
use flashyard_core::request::RequestOp;

/// Hands out what it is given.
struct Fixed(std::vec::IntoIter<Request>);

impl RequestSource for Fixed {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        Ok(self.0.next())
    }

    fn stats(&self) -> SourceStats {
        SourceStats { clock_epochs: 1, ..SourceStats::default() }
    }
}

fn request(ms: u64, op: RequestOp, first_sector: u64, sectors: u32) -> Request {
    let arrival = Time::from_us(ms * 1_000);
    Request::new(op, first_sector, sectors).at(arrival)
}

pub(super) fn info(requests: Vec<Request>) -> Info {
    Info::collect(&mut Fixed(requests.into_iter())).unwrap()
}

#[track_caller]
pub(super) fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("the figure is defined");
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn a_hand_made_stream_is_summed_up() {
    let info = info(vec![
        request(1_000, RequestOp::Write, 0, 8),
        request(1_001, RequestOp::Write, 8, 9),
        request(1_001, RequestOp::Read, 0, 16),
        request(1_041, RequestOp::Trim, 800, 8),
        request(1_041, RequestOp::Flush, 0, 0),
    ]);
    assert_eq!((info.reads, info.writes, info.trims, info.flushes), (1, 2, 1, 1));
    near(info.write_kib_mean, 4.25);
    near(info.read_kib_mean, 8.0);
    near(info.write_percent, 40.0);
    near(info.sequential_percent, 20.0);
    assert_eq!((info.footprint_pages, info.highest_sector), (4, Some(807)));
    assert_eq!((info.first_ns, info.duration_ns), (1_000_000_000, 41_000_000));
    near(info.requests_per_s, 5.0 / 0.041);
    near(info.interarrival_ns_mean, 10.25e6);
    // Gaps of 1, 0, 40 and 0 ms: mean 10.25, mean square 400.25.
    near(info.interarrival_cv, (400.25_f64 - 10.25 * 10.25).sqrt() / 10.25);
    // Whole windows of 10 ms hold 3, 0, 0 and 0: mean 3 / 4, mean square 9 / 4.
    near(info.dispersion[0].index, (9.0 / 4.0 - 9.0 / 16.0) / (3.0 / 4.0));
    assert_eq!(info.dispersion[1].index, None);
}

#[test]
fn figures_without_a_base_are_left_out() {
    let info = info(vec![request(5, RequestOp::Read, 0, 1)]);
    assert_eq!((info.requests_per_s, info.interarrival_cv), (None, None));
    assert_eq!(info.write_kib_mean, None);
    let table = info.table();
    assert!(table.contains("\nmean read, KiB ") && !table.contains("mean write"), "{table}");
}

#[test]
fn the_table_has_figures_then_percentiles_then_lists() {
    let mut other = request(1, RequestOp::Read, 0, 8);
    other.stream = 7;
    let info = info(vec![request(0, RequestOp::Write, 0, 8), other]);
    let table = info.table();
    let parts: Vec<&str> = table.splitn(3, "\n\n").collect();
    let [figures, percentiles, lists] = parts[..] else { panic!("{table}") };
    for part in [figures, percentiles] {
        let widths: Vec<usize> = part.lines().map(str::len).collect();
        assert!(widths.iter().all(|&width| width == widths[0]), "{table}");
    }
    // Each figure that is defined is shown once; six of them in a row of percentiles.
    let defined = info.figures().iter().filter(|figure| figure.value.is_some()).count();
    assert_eq!(figures.lines().count() + 6 * (percentiles.lines().count() - 1), defined);
    assert!(percentiles.contains("\nread size, KiB  "), "{percentiles}");
    for list in [
        "most common reads: 4 KiB 100.0 %",
        "most common writes: 4 KiB 100.0 %",
        "requests by stream: 0: 1, 7: 1",
        // Bins of 16 us: 1 ms is bin 62.
        &format!("a digit each 16 us, 9 the most:\n  9{}9", "0".repeat(61)),
    ] {
        assert!(lists.contains(list), "{list}\n{lists}");
    }
}

#[test]
fn figures_are_the_same_for_every_workload_and_have_names_of_their_own() {
    let full = info(vec![request(0, RequestOp::Write, 0, 8), request(1, RequestOp::Read, 0, 8)]);
    let names = |info: &Info| info.figures().iter().map(Figure::label).collect::<Vec<_>>();
    assert_eq!(names(&full), names(&info(Vec::new())));
    let distinct: std::collections::BTreeSet<String> = names(&full).into_iter().collect();
    assert_eq!(distinct.len(), full.figures().len());
}

#[test]
fn two_workloads_stand_side_by_side() {
    let a = info(vec![request(0, RequestOp::Write, 0, 8), request(1, RequestOp::Write, 0, 8)]);
    let b = info(vec![
        request(0, RequestOp::Write, 0, 16),
        request(1, RequestOp::Read, 0, 8),
        request(2, RequestOp::Read, 0, 8),
    ]);
    let table = compare(("one", &a), ("two", &b));
    let line = |start: &str| {
        let line = table.lines().find(|line| line.starts_with(start)).unwrap();
        line[start.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(table.starts_with("a: one\nb: two\n"), "{table}");
    assert_eq!(line("requests "), ["2", "3", "1.500"]);
    assert_eq!(line("reads "), ["0", "2", "-"]);
    assert_eq!(line("writes, %"), ["100.000", "33.333", "-66.667"]);
    assert_eq!(line("mean write, KiB"), ["4.00", "8.00", "2.000"]);
    assert_eq!(line("mean read, KiB"), ["-", "4.00", "-"]);
}

/// Ten requests, each figure worked out by hand.
#[test]
fn places_and_times_of_a_hand_made_stream() {
    use RequestOp::{Read, Trim, Write};
    let info = info(vec![
        request(0, Write, 0, 16),     // pages 0, 1
        request(100, Write, 16, 8),   // page 2, sequential
        request(200, Read, 8, 8),     // page 1: 1 page since; written 2 requests, 200 ms ago
        request(300, Read, 800, 8),   // page 100
        request(1_100, Read, 16, 8),  // page 2: 2 since; goes on from the read before the last
        request(1_200, Trim, 0, 800), // pages 0 to 99 of the footprint, no access
        request(1_300, Write, 20, 8), // pages 2, 3: page 2: none since; 6 - 1 = 5 requests
        request(2_500, Write, 28, 4), // page 3: none since, written 1 request ago; sequential
    ]);
    let reuse = &info.reuse;
    assert_eq!((reuse.page_accesses, info.footprint_pages), (9, 101));
    near(reuse.cold_percent, 100.0 * 5.0 / 9.0);
    near(reuse.distance_mib.min, 0.0);
    near(reuse.distance_mib.p50, 0.0);
    near(reuse.distance_mib.max, 2.0 / 256.0);
    assert!(reuse.lru.iter().all(|cache| cache.hit_percent == Some(100.0 * 4.0 / 9.0)));
    // Windows of 1 s hold the pages 0, 1, 2, 100; 2, 3; 3.
    near(info.working_set[0].mean_mib, 7.0 / 3.0 / 256.0);
    near(info.working_set[0].max_mib, 4.0 / 256.0);
    near(info.working_set[1].max_mib, 5.0 / 256.0);
    // 2 of 3 page reads and 2 of 6 page writes come after a write.
    near(info.read_after_write.percent, 100.0 * 2.0 / 3.0);
    assert_eq!(info.read_after_write.distance_requests.min, Some(2));
    assert_eq!(info.read_after_write.distance_requests.max, Some(3));
    assert_eq!(info.read_after_write.distance_ns.max, Some(1_000_000_000));
    near(info.write_after_write.percent, 100.0 * 2.0 / 6.0);
    assert_eq!(info.write_after_write.distance_requests.max, Some(5));
    // Sectors 8 to 15 and 16 to 23 are read after they were written; 20 to 27 meets a write and a
    // read; 28 to 31 meets none.
    near(info.overlap.any_percent, 100.0 * 3.0 / 7.0);
    near(info.overlap.raw_percent, 100.0 * 2.0 / 7.0);
    near(info.overlap.war_percent, 100.0 / 7.0);
    near(info.overlap.waw_percent, 100.0 / 7.0);
    near(info.overlap.rar_percent, 0.0);
    let (read, write) = (&info.sequentiality.read, &info.sequentiality.write);
    near(read.sequential_percent, 0.0);
    near(read.sequential_of_8_percent, 100.0 / 3.0);
    near(write.sequential_percent, 50.0);
    near(write.run_requests_mean, 2.0);
    near(write.run_kib_mean, 9.0);
    near(info.sizes.write.aligned_percent, 50.0);
    near(info.sizes.trim.kib.p50, 400.0);
    assert_eq!(info.rate.bin_ns, 65_536_000);
    assert_eq!(info.rate.bins.len(), 39);
}

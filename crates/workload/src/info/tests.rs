//! Statistics of streams that are short enough to check by hand.

use flashyard_core::request::{Flags, Request};
use flashyard_core::units::Time;

use super::*;

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
    Request { arrival, first_sector, sectors, stream: 0, op, flags: Flags::NONE }
}

fn info(requests: Vec<Request>) -> Info {
    Info::collect(&mut Fixed(requests.into_iter())).unwrap()
}

#[track_caller]
fn near(found: Option<f64>, expected: f64) {
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
    // Windows of 10 ms hold 3, 0, 0, 0 and 2: mean 1, mean square 13 / 5.
    near(info.dispersion[0].index, 13.0 / 5.0 - 1.0);
    assert_eq!(info.dispersion[1].index, None);
}

#[test]
fn figures_without_a_base_are_left_open() {
    let info = info(vec![request(5, RequestOp::Read, 0, 1)]);
    assert_eq!((info.requests_per_s, info.interarrival_cv), (None, None));
    assert_eq!(info.write_kib_mean, None);
    let table = info.table();
    let line = table.lines().find(|line| line.starts_with("mean write, KiB")).unwrap();
    assert!(line.ends_with("  -"), "{table}");
}

#[test]
fn the_table_has_a_line_a_figure() {
    let table = info(vec![request(0, RequestOp::Write, 0, 8)]).table();
    let widths: Vec<usize> = table.lines().map(str::len).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "{table}");
    assert_eq!(widths.len(), 29);
}

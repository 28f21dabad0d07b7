//! Sizes have the distributions that their keys ask for. Seeds are fixed; critical values of
//! chi-square are those of 99.9 %.

use super::*;
use flashyard_core::quantity::Bytes;
use flashyard_core::quantity::Ppm;

/// Draws of every test.
const DRAWS: u32 = 100_000;

fn keys(sizes: SizeRule, mean_bytes: u64) -> PatternKeys {
    PatternKeys {
        sizes,
        mean_kib: Bytes::from_bytes(mean_bytes),
        max_size_kib: Sectors::from_kib(64),
        ..PatternKeys::default()
    }
}

fn draw(keys: &PatternKeys, op: RequestOp) -> Vec<u32> {
    let mut sizes = Sizes::new(keys, SplitMix64::new(9)).unwrap();
    let drawn: Vec<u32> = (0..DRAWS).map(|_| sizes.draw(op)).collect();
    assert!(drawn.iter().all(|size| u64::from(*size) <= sizes.largest()));
    drawn
}

#[track_caller]
fn mean_is(sizes: &[u32], bytes: f64) {
    let count = sizes.len() as f64;
    let sum = |of: &dyn Fn(f64) -> f64| sizes.iter().map(|size| of(f64::from(*size))).sum::<f64>();
    let mean = sum(&|size| size) / count;
    let error = (sum(&|size| (size - mean).powi(2)) / count / count).sqrt();
    let expected = bytes / 512.0;
    assert!((mean - expected).abs() <= 4.0 * error, "{mean} instead of {expected}, +- {error}");
}

/// Sizes 8, 16, ... sectors against their chances, which need not add up to one.
#[track_caller]
fn chances_are(sizes: &[u32], chances: &[f64], critical: f64) {
    let all: f64 = chances.iter().sum();
    let mut counts = vec![0.0; chances.len()];
    for size in sizes {
        assert_eq!(size % 8, 0);
        counts[(size / 8 - 1) as usize] += 1.0;
    }
    let statistic: f64 = counts
        .iter()
        .zip(chances)
        .map(|(count, chance)| {
            let expected = sizes.len() as f64 * chance / all;
            assert!(expected >= 5.0, "a class is too small for the test");
            (count - expected).powi(2) / expected
        })
        .sum();
    assert!(statistic < critical, "{statistic}");
}

/// The mean of sizes 8, 16, ... sectors in bytes.
fn mean_bytes(chances: &[f64]) -> f64 {
    let weighted: f64 = chances.iter().zip(1_u32..).map(|(c, k)| c * f64::from(k) * 4_096.0).sum();
    weighted / chances.iter().sum::<f64>()
}

fn rounded(bytes: f64) -> u64 {
    whole(bytes + 0.5)
}

#[test]
fn geometric_sizes_have_their_chances() {
    // Falling, flat and rising.
    for ratio in [0.6, 0.9, 1.0, 1.1, 1.6_f64] {
        let chances: Vec<f64> = (0..16).map(|k| ratio.powi(k)).collect();
        let keys = keys(SizeRule::Geometric, rounded(mean_bytes(&chances)));
        chances_are(&draw(&keys, RequestOp::Read), &chances, 37.7);
    }
}

#[test]
fn pareto_sizes_have_their_chances() {
    for shape in [0.2, 1.0, 1.5, 2.5_f64] {
        // Rounded down from a bounded Pareto distribution of 4 to 68 KiB.
        let below = |k: f64| (1.0 - k.powf(-shape)) / (1.0 - 17_f64.powf(-shape));
        let chances: Vec<f64> =
            (1..=16).map(|k| below(f64::from(k) + 1.0) - below(f64::from(k))).collect();
        let keys = keys(SizeRule::Pareto, rounded(mean_bytes(&chances)));
        chances_are(&draw(&keys, RequestOp::Read), &chances, 37.7);
    }
}

#[test]
fn quantiles_of_many_sizes_are_those_of_the_closed_forms() {
    // 0.5 KiB to 16 MiB in steps of 0.5, as good as continuous.
    let fine = |sizes, mean_kib| PatternKeys {
        size_kib: Sectors::from_sectors(1),
        max_size_kib: Sectors::from_sectors(1 << 15),
        align_kib: Sectors::from_sectors(1),
        ..keys(sizes, mean_kib)
    };
    let (low, high) = (1.0, f64::from((1 << 15) + 1));
    let shape = 1.2_f64;
    let above = |x: f64| (x.powf(-shape) - high.powf(-shape)) / (1.0 - high.powf(-shape));
    let reached: f64 = (2..=1_u32 << 15).map(|x| above(f64::from(x))).sum();
    let pareto = draw(&fine(SizeRule::Pareto, rounded((low + reached) * 512.0)), RequestOp::Read);
    // A mean of 64 KiB and half a step, of which hardly anything is cut.
    let geometric = draw(&fine(SizeRule::Geometric, 65_536), RequestOp::Read);
    for part in [0.25, 0.5, 0.75, 0.99] {
        let error = (part * (1.0 - part) * f64::from(DRAWS)).sqrt();
        let check = |sizes: &[u32], sectors: f64, share: f64| {
            let found = sizes.iter().filter(|size| f64::from(**size) < sectors).count() as f64;
            let off = (found - share * f64::from(DRAWS)) / error;
            assert!(off.abs() < 4.0, "{part}: {found} below {sectors}");
        };
        let quantile = (1.0 - part * (1.0 - high.powf(-shape))).powf(-1.0 / shape).floor();
        check(&pareto, quantile, 1.0 - above(quantile));
        // 1 / (e^t - 1) = 127 steps.
        let stays = 127.0 / 128.0_f64;
        let steps = ((1.0 - part).ln() / stays.ln()).floor();
        check(&geometric, steps + 1.0, 1.0 - stays.powf(steps));
    }
}

#[test]
fn means_come_out_up_to_the_ends_of_their_range() {
    for (rule, last) in [(SizeRule::Geometric, 65_536), (SizeRule::Pareto, 21_000)] {
        for bytes in [4_096, 4_100, 8_000, 16_384, last] {
            mean_is(&draw(&keys(rule, bytes), RequestOp::Read), bytes as f64);
        }
    }
    // Means just above a least size that is many steps: a tail of exponents up to a million.
    for bytes in [1 << 20, (1 << 20) + 20, (1 << 20) + 5_000, 1_060_000] {
        let near = PatternKeys {
            size_kib: Sectors::from_sectors(1 << 11),
            max_size_kib: Sectors::from_sectors(1 << 12),
            align_kib: Sectors::from_sectors(1),
            ..keys(SizeRule::Pareto, bytes)
        };
        mean_is(&draw(&near, RequestOp::Read), bytes as f64);
    }
    let ends = |bytes| draw(&keys(SizeRule::Geometric, bytes), RequestOp::Read);
    assert!(ends(4_096).iter().all(|size| *size == 8));
    assert!(ends(65_536).iter().all(|size| *size == 128));
    mean_is(&draw(&keys(SizeRule::Geometric, 34_816), RequestOp::Read), 34_816.0);
}

#[test]
fn two_sizes_have_their_shares_and_need_no_alignment() {
    let two = PatternKeys {
        large_percent: Ppm::from_percent(25),
        max_size_kib: Sectors::from_sectors(131),
        ..keys(SizeRule::Two, 512)
    };
    let drawn = draw(&two, RequestOp::Read);
    assert!(drawn.iter().all(|size| [8, 131].contains(size)));
    mean_is(&drawn, 512.0 * (0.75 * 8.0 + 0.25 * 131.0));
}

#[test]
fn writes_have_sizes_of_their_own_and_trims_those_of_reads() {
    let both = PatternKeys {
        read_percent: Ppm::from_percent(50),
        write_size_kib: Sectors::from_kib(32),
        write_max_size_kib: Sectors::from_kib(128),
        write_mean_kib: Bytes::from_kib(64),
        ..keys(SizeRule::Geometric, 8_192)
    };
    let (reads, writes) = (draw(&both, RequestOp::Read), draw(&both, RequestOp::Write));
    assert_eq!((reads.iter().min(), writes.iter().min()), (Some(&8), Some(&64)));
    assert!(writes.iter().any(|size| *size > 128));
    mean_is(&reads, 8_192.0);
    mean_is(&writes, 65_536.0);
    assert_eq!(draw(&both, RequestOp::Trim), reads);
    let shares = PatternKeys {
        read_percent: Ppm::from_percent(50),
        large_percent: Ppm::from_percent(10),
        write_large_percent: Ppm::from_percent(90),
        ..keys(SizeRule::Two, 512)
    };
    mean_is(&draw(&shares, RequestOp::Read), 512.0 * (0.9 * 8.0 + 0.1 * 128.0));
    mean_is(&draw(&shares, RequestOp::Write), 512.0 * (0.1 * 8.0 + 0.9 * 128.0));
}

#[test]
fn sizes_of_operations_that_never_happen_do_not_matter() {
    let huge =
        PatternKeys { write_size_kib: Sectors::from_sectors(1 << 20), ..PatternKeys::default() };
    assert_eq!(Sizes::new(&huge, SplitMix64::new(1)).unwrap().largest(), 8);
    let writes = PatternKeys {
        read_percent: Ppm::ZERO,
        size_kib: Sectors::from_sectors(1 << 20),
        write_size_kib: Sectors::from_kib(4),
        ..huge
    };
    assert_eq!(Sizes::new(&writes, SplitMix64::new(1)).unwrap().largest(), 8);
    // The mean fits the writes, and no size of reads.
    let mean = PatternKeys {
        write_size_kib: Sectors::from_kib(32),
        write_max_size_kib: Sectors::from_kib(64),
        read_percent: Ppm::ZERO,
        ..keys(SizeRule::Geometric, 50_000)
    };
    mean_is(&draw(&mean, RequestOp::Write), 50_000.0);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let refused =
        |keys: &PatternKeys| Sizes::new(keys, SplitMix64::new(1)).unwrap_err().to_string();
    assert_eq!(
        refused(&PatternKeys { max_size_kib: Sectors::ZERO, ..keys(SizeRule::Two, 512) }),
        "pattern.sizes: \"two\" needs different sizes, all have 4 KiB; set pattern.max_size_kib, \
         or take pattern.sizes out"
    );
    assert_eq!(
        refused(&keys(SizeRule::Geometric, 65_537)),
        "pattern.mean_kib: no such mean with these sizes, 64.0009765625 KiB; choose 4.00 to 64.00 \
         KiB, or change pattern.size_kib or pattern.max_size_kib"
    );
    // Towards a tail of no exponent: 4 KiB times the sum of ln(17 / k) / ln 17, k from 1 to 16.
    let most: f64 = (1..17).map(|k| (17.0 / f64::from(k)).ln() / 17_f64.ln()).sum();
    assert!(
        refused(&keys(SizeRule::Pareto, 40_960))
            .contains(&format!("choose 4.00 to {:.2} KiB", most * 4.0))
    );
    assert!(
        refused(&PatternKeys {
            write_mean_kib: Bytes::from_kib(1),
            read_percent: Ppm::from_percent(50),
            ..keys(SizeRule::Pareto, 16_384)
        })
        .starts_with("pattern.write_mean_kib: no such mean with these sizes, 1 KiB")
    );
    assert_eq!(
        refused(&PatternKeys {
            write_size_kib: Sectors::from_kib(100),
            ..keys(SizeRule::Uniform, 512)
        }),
        "pattern.write_max_size_kib: 64 KiB is less than the least size; choose \
         pattern.write_size_kib = 100 or more"
    );
    assert_eq!(
        refused(&PatternKeys {
            max_size_kib: Sectors::from_sectors(1 << 21),
            align_kib: Sectors::from_sectors(1),
            ..keys(SizeRule::Pareto, 512)
        }),
        "pattern.align_kib: 2097145 different sizes, more than 65536; raise it, or choose another \
         pattern.sizes"
    );
}

//! How often log-block schemes merge under uniform overwrites of single pages on a device whose
//! data blocks are full: closed forms. No write has the first offset of its block, so that no log
//! block can take the place of a data block.

use crate::common::Random;
use flashyard_core::request::RequestOp;
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::report::Report;
use flashyard_sim::stream::{Stream, StreamKeys};
use std::convert::Infallible;

/// A full device of one die: data blocks, pages of a block.
struct Shape {
    blocks: u32,
    pages: u32,
}

fn settings(shape: &Shape, scheme: &str, keys: &[String]) -> Settings {
    // Log blocks and what merges need beside them.
    let physical = shape.blocks + shape.blocks / 2;
    let base = [
        format!("geometry.blocks_per_plane={physical}"),
        format!("geometry.pages_per_block={}", shape.pages),
        format!("ftl.scheme={scheme}"),
        "ftl.over_provisioning_percent=50".to_string(),
        "nand.program_order=any".to_string(),
        "map.store=resident".to_string(),
        "queue.depth=1".to_string(),
        "policy.command=fifo".to_string(),
        "state.initial=full".to_string(),
    ];
    let settings = crate::common::settings(&[&base, keys].concat());
    assert_eq!(settings.exported_units, shape.blocks * shape.pages);
    settings
}

/// Runs `warm` writes and then `measured` ones that count.
fn run(shape: &Shape, scheme: &str, keys: &[String], [warm, measured]: [u64; 2]) -> Report {
    let settings = settings(shape, scheme, keys);
    let mut device = Device::new(&settings);
    let mut random = Random(7);
    for (writes, measure) in [(warm, false), (measured, true)] {
        let mut left = writes;
        let mut source = || {
            left = left.checked_sub(1)?;
            let block = random.below(shape.blocks.into());
            let offset = 1 + random.below(u64::from(shape.pages) - 1);
            let page = block * u64::from(shape.pages) + offset;
            let request = crate::common::request(0, RequestOp::Write, page, 1);
            Some(request.at(Time::ZERO))
        };
        let stream = Stream {
            name: "s".to_string(),
            keys: StreamKeys::default(),
            source: Box::new(move || Ok::<_, Infallible>(source())),
        };
        let phase = PhaseKeys { measure, ..PhaseKeys::default() };
        device.run_phase(&phase, vec![stream]).unwrap();
    }
    let report = device.finish().unwrap();
    assert_eq!(report.flash.pages["programs"]["host"], measured);
    report
}

/// Whether a number is that of the formula but for a share.
#[track_caller]
fn near(what: &str, found: f64, formula: f64, share: f64) {
    assert!((found / formula - 1.0).abs() <= share, "{what}: {found}, the formula says {formula}");
}

/// Pages programmed by merges, blocks erased.
fn merged(report: &Report) -> (u64, u64) {
    let pages = &report.flash.pages;
    assert_eq!(pages["programs"]["merge"], pages["reads"]["merge"], "a copy is both");
    (pages["programs"]["merge"], pages["erases"]["merge"])
}

/// Each overwrite has its block copied: A = B, one erase a write.
#[test]
fn block_mapping_copies_a_block_for_every_overwrite() {
    let shape = Shape { blocks: 64, pages: 32 };
    let report = run(&shape, "block", &[], [100, 2_000]);
    assert_eq!(merged(&report), (2_000 * 31, 2_000));
    assert_eq!(report.flash.write_amplification, Some(32.0));
    assert_eq!(report.gc.merges.full, 2_000);
}

/// The data block of a write has one of the K log blocks with chance K / N; else the victim's data
/// block is merged: B copies, two erases, whichever log block is the victim.
#[test]
fn bast_merges_when_the_data_block_of_a_write_has_no_log_block() {
    let shape = Shape { blocks: 512, pages: 32 };
    let writes = 40_000;
    for log_blocks in [26, 102, 205] {
        for victim in ["lru", "fifo"] {
            let keys =
                [format!("ftl.bast.log_blocks={log_blocks}"), format!("ftl.bast.victim={victim}")];
            let report = run(&shape, "bast", &keys, [4_000, writes]);
            let merges = &report.gc.merges;
            let what = format!("{log_blocks} log blocks, {victim}");
            assert_eq!((merges.switch, merges.partial, merges.dead), (0, 0, 0), "{what}");
            let formula = 1.0 - f64::from(log_blocks) / f64::from(shape.blocks);
            // Four standard errors of a chance.
            let share = 4.0 * ((1.0 - formula) / formula / writes as f64).sqrt();
            near(&what, merges.full as f64 / writes as f64, formula, share);
            assert_eq!(merged(&report), (merges.full * 32, merges.full * 2), "{what}");
            let wa = report.flash.write_amplification.unwrap();
            near(&what, wa, 1.0 + 32.0 * formula, share);
        }
    }
}

/// Log blocks that are filled, on the average, from one merge of a data block to its next.
///
/// The next write to it comes after N / B log blocks, in the middle of one, and its page makes the
/// block be merged when that log block is the oldest of Kr: Kr - 1/2 + N / B. Where the page was
/// rewritten by then (chance 1 - s), the next write to the block counts instead. With z writes to
/// the block in Kr log blocks and the rewriting one anywhere among these, that comes
/// (1 - (1 - e^-z) / z) N / B later, and may again be rewritten: (1 - s) / s times in all.
fn cycle(shape: &Shape, log_blocks: f64) -> f64 {
    let (blocks, pages) = (f64::from(shape.blocks), f64::from(shape.pages));
    let age = log_blocks - 0.5;
    let wait = blocks / pages;
    let z = age / wait;
    let kept = (-z / (pages - 1.0)).exp();
    let later = wait * (1.0 - (1.0 - (-z).exp()) / z);
    age + wait + later * (1.0 - kept) / kept
}

/// Of K log blocks Kr = K - 1 take random writes; the oldest is the victim.
#[test]
fn fast_merges_each_data_block_at_the_rate_of_a_renewal_process() {
    for (blocks, pages, log_blocks) in [(512, 32, 27), (512, 32, 103), (1_024, 64, 52)] {
        let shape = Shape { blocks, pages };
        let keys = [format!("ftl.fast.log_blocks={log_blocks}")];
        let cycle = cycle(&shape, f64::from(log_blocks - 1));
        let filled = 1_500;
        // Four cycles without rewrites.
        let warm = 4 * u64::from(log_blocks * pages + blocks);
        let writes = filled * u64::from(pages);
        let report = run(&shape, "fast", &keys, [warm, writes]);
        let merges = &report.gc.merges;
        let what = format!("{blocks} blocks of {pages} pages, {log_blocks} log blocks");
        assert_eq!((merges.switch, merges.partial), (0, 0), "{what}");
        let formula = f64::from(blocks) / cycle;
        // Three to four standard errors of a count of renewals, and what the formula leaves out.
        near(&what, merges.full as f64 / filled as f64, formula, 0.01);
        near(&what, report.flash.write_amplification.unwrap(), 1.0 + formula, 0.01);
        let (copies, erases) = merged(&report);
        assert_eq!(copies, merges.full * u64::from(pages), "{what}");
        // The data blocks, and each log block once.
        assert_eq!(erases, merges.full + filled, "{what}");
    }
}

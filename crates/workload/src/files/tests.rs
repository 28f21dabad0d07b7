//! Layouts against what they promise, and the fragmentation of a log against a closed form.

use super::*;
use crate::files::piece::Extent;
use flashyard_core::request::RequestOp;
use std::collections::{BTreeMap, BTreeSet};

/// Sectors of a block.
const SECTORS: u64 = BLOCK_SECTORS as u64;

const SMALL: FilesKeys = FilesKeys { files: 300, loops: 400, ..BUILT_IN_FILES[0].keys };

fn all(keys: &FilesKeys) -> Vec<Request> {
    let mut source = Files::new(keys, 7, Some(1 << 24)).unwrap();
    std::iter::from_fn(|| source.next_request().unwrap()).collect()
}

fn count(requests: &[Request], op: RequestOp) -> usize {
    requests.iter().filter(|request| request.op == op).count()
}

/// 30 updates of 512 parts hit 29.17 different ones. A file is in one piece more than there are
/// neighbours of which one was updated at least: 511 (1 - (510/512)^30) + 1 = 57.6 on average.
#[test]
fn updates_break_a_file_of_a_log_into_58_pieces() {
    let keys = FilesKeys { files: 200, ..BUILT_IN_FILES[3].keys };
    let system = stages::before(&keys, 3, None).unwrap();
    let extents = system.into_extents();
    let mean = extents.iter().map(Vec::len).sum::<usize>() as f64 / extents.len() as f64;
    let expected = 511.0 * (1.0 - (510.0_f64 / 512.0).powi(30)) + 1.0;
    assert!((expected - 57.7).abs() < 0.3, "{expected}");
    // The standard deviation of a file is about 1.8: 0.13 of 200 files.
    assert!((mean - expected).abs() < 0.6, "{mean}, expected {expected}");
    let ext2 = FilesKeys { layout: Layout::Ext2, ..keys };
    let extents = stages::before(&ext2, 3, None).unwrap().into_extents();
    let blocks = |extents: &[Extent]| extents.iter().map(|(_, count)| count).sum::<u32>();
    assert!(extents.iter().all(|extents| extents.len() <= 2 && blocks(extents) == 2_048));
}

/// What is read was written before, by an earlier stage or this one, and no two files share a
/// block.
#[test]
fn only_what_was_written_is_read() {
    for layout in [Layout::Ext2, Layout::Log] {
        for area_mib in [0, 70] {
            let keys = FilesKeys { layout, area_mib, ..SMALL };
            let mut written = BTreeSet::new();
            for stage in [Stage::Write, Stage::Mail] {
                for request in all(&FilesKeys { stage, ..keys }) {
                    let first = request.first_sector / SECTORS;
                    let blocks = first..first + u64::from(request.sectors) / SECTORS;
                    for block in blocks {
                        if request.op == RequestOp::Write {
                            written.insert(block);
                        }
                        assert!(written.contains(&block), "{layout:?}: {request:?}");
                    }
                }
            }
            let mut seen = BTreeSet::new();
            let system = stages::before(&FilesKeys { stage: Stage::Read, ..keys }, 7, None);
            for (first, count) in system.unwrap().into_extents().into_iter().flatten() {
                assert!((first..first + count).all(|block| seen.insert(block)));
            }
        }
    }
}

/// A log appends: without the cleaner it writes no block twice but the two of checkpoints, and what
/// it appends at once lies in a row. In place, the same blocks are written again and again.
#[test]
fn a_log_appends_and_ext2_overwrites() {
    let again = |requests: &[Request]| {
        let mut written = BTreeMap::new();
        for request in requests.iter().filter(|request| request.op == RequestOp::Write) {
            let first = request.first_sector / SECTORS;
            for block in first..first + u64::from(request.sectors) / SECTORS {
                *written.entry(block).or_insert(0) += 1;
            }
        }
        written.into_iter().filter(|&(block, times)| block >= 2 && times > 1).count()
    };
    let large = FilesKeys { area_mib: 4_000, ..SMALL };
    let log = all(&FilesKeys { layout: Layout::Log, ..large });
    assert_eq!(again(&log), 0);
    assert!(again(&all(&large)) > 100);
    // A create with its fsync is one write, or two at the end of a segment, and a flush.
    let writes = count(&log, RequestOp::Write) as f64 / count(&log, RequestOp::Flush) as f64;
    assert!((1.0..1.1).contains(&writes), "{writes}");
    // In place: data, inode, bitmaps and the directory are apart.
    let ext2 = all(&large);
    let writes = count(&ext2, RequestOp::Write) as f64 / count(&ext2, RequestOp::Flush) as f64;
    assert!((2.5..6.0).contains(&writes), "{writes}");
    assert_eq!(count(&ext2, RequestOp::Flush), 2 * 400);
}

/// A log that is small for its files is cleaned, and then goes on.
#[test]
fn the_cleaner_makes_room() {
    let keys = FilesKeys { layout: Layout::Log, area_mib: 60, loops: 3_000, ..SMALL };
    let mut source = Files::new(&keys, 7, None).unwrap();
    let requests = std::iter::from_fn(|| source.next_request().unwrap());
    let end = requests.map(|request| request.end_sector().unwrap()).max().unwrap();
    assert!(end <= 60 << 11, "{end}");
    let cleaned = source.system.as_ref().unwrap().cleaned().unwrap_or(0);
    assert!(cleaned > 50, "{cleaned}");
}

/// The mean of sizes from 4 KiB to 1 MiB that are exponential with a mean of 128 KiB.
#[test]
fn files_have_the_mean_size() {
    let keys = FilesKeys { stage: Stage::Mail, files: 12_288, ..SMALL };
    let system = stages::before(&keys, 1, None).unwrap();
    let all: u64 = (0..12_288).map(|file| u64::from(system.first_size(file)) * BLOCK_KIB).sum();
    let mean = all as f64 / 12_288.0;
    // Sizes round to whole blocks: from 2 to 1,026 KiB. Memoryless: 2 KiB more than without the
    // lower bound, less what the upper one cuts off.
    let (low, high) = (2.0, 1_026.0);
    let tail = (-(high - low) / 128.0_f64).exp();
    let expected = low + 128.0 - (high - low) * tail / (1.0 - tail);
    assert!((mean - expected).abs() < 4.0, "{mean}, expected {expected}");
}

/// Each file is read once and in order, whoever reads it.
#[test]
fn threads_read_all_files_once() {
    let keys = FilesKeys { stage: Stage::Read, layout: Layout::Log, threads: 7, ..SMALL };
    let threads = Files::threads(&keys, 7, None).unwrap();
    assert_eq!(threads.len(), 7);
    let mut sectors = 0;
    for mut thread in threads {
        while let Some(request) = thread.next_request().unwrap() {
            assert_eq!(request.op, RequestOp::Read);
            assert!(u64::from(request.sectors) <= 2 * keys.request_kib);
            sectors += u64::from(request.sectors);
        }
    }
    let system = stages::before(&keys, 7, None).unwrap();
    let all: u64 = (0..300).map(|file| u64::from(system.first_size(file))).sum();
    assert_eq!(sectors, all * SECTORS);
    let together: u64 = {
        let mut source = Files::new(&keys, 7, None).unwrap();
        let requests = std::iter::from_fn(|| source.next_request().unwrap());
        requests.map(|request| u64::from(request.sectors)).sum()
    };
    assert_eq!(together, sectors);
}

#[test]
fn wrong_keys_are_refused_by_name() {
    let refused = |keys: &FilesKeys| Files::new(keys, 1, Some(1 << 21)).unwrap_err().to_string();
    let odd = refused(&FilesKeys { io_kib: 6, ..SMALL });
    assert!(odd.contains("files.io_kib") && odd.contains("whole blocks"), "{odd}");
    let large = refused(&FilesKeys { files: 12_288, ..SMALL });
    assert!(large.contains("files.area_mib") && large.contains("no room"), "{large}");
    let threads = refused(&FilesKeys { threads: 2, ..SMALL });
    assert!(threads.contains("files.threads"), "{threads}");
    let mean = refused(&FilesKeys { mean_kib: 2_048, ..SMALL });
    assert!(mean.contains("files.mean_kib"), "{mean}");
}

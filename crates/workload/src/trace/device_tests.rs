//! Devices of a trace that are kept apart, and header sectors.

use super::*;
use crate::RequestSource;
use flashyard_core::request::Request;

fn read(
    text: &str,
    keys: &TraceKeys,
    capacity_sectors: Option<u64>,
) -> Result<(Vec<Request>, Trace), String> {
    let options = TraceOptions { capacity_sectors, ..Default::default() };
    let mut trace = Trace::open(Input::memory("t.txt", text.as_bytes()), keys, &options)
        .map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok((requests, trace))
}

/// Rows of format `ssdsim`: device, first sector, sectors.
fn rows(rows: &[(u64, u64, u64)]) -> String {
    let row = |(n, (device, first, sectors)): (usize, &(u64, u64, u64))| {
        format!("{} {device} {first} {sectors} 1\n", 1_000 + n)
    };
    rows.iter().enumerate().map(row).collect()
}

fn places(requests: &[Request]) -> Vec<(u64, u32)> {
    requests.iter().map(|request| (request.first_sector, request.sectors)).collect()
}

/// Chunks of other devices are other chunks: as if each device lay 2^43 sectors behind the one
/// before.
#[test]
fn devices_that_are_apart_are_renumbered_as_if_they_lay_behind_one_another() {
    let mut random = crate::random::SplitMix64::new(5);
    let together: Vec<_> =
        (0..500).map(|_| (random.below(5), random.below(40_000), 1 + random.below(400))).collect();
    let behind: Vec<_> =
        together.iter().map(|&(device, first, n)| (device, first + (device << 43), n)).collect();
    let overlap = TraceKeys { fold: Fold::Renumber, chunk_kib: 64, ..TraceKeys::default() };
    let apart = TraceKeys { devices: Devices::Apart, ..overlap };
    let (found, trace) = read(&rows(&together), &apart, None).unwrap();
    assert_eq!(found, read(&rows(&behind), &overlap, None).unwrap().0);
    assert_ne!(found, read(&rows(&together), &overlap, None).unwrap().0);
    let chunks = |&(device, first, n): &(u64, u64, u64)| {
        (first / 128..=(first + n - 1) / 128).map(move |chunk| (device, chunk))
    };
    let all: std::collections::BTreeSet<_> = together.iter().flat_map(chunks).collect();
    assert_eq!(trace.addresses.footprint(), Some((all.len() as u64, 64)));
    // A trace that does not fit says how much it needs with devices apart.
    let refused = read(&rows(&together), &apart, Some(4_096)).unwrap_err();
    assert!(refused.contains(&format!("touches {} chunks of 64 KiB", all.len())), "{refused}");
}

/// 1,000 MiB: device n starts at n x 618 MiB, modulo the capacity, and no request crosses its end.
#[test]
fn devices_that_are_apart_start_at_parts_of_the_capacity() {
    let (mib, capacity) = (2_048, 1_000 * 2_048);
    let keys = TraceKeys { fold: Fold::Modulo, devices: Devices::Apart, ..TraceKeys::default() };
    let asked = [
        (0, 7, 8),
        (1, 7, 8),
        (2, 7, 8),
        (2, capacity + 7, 8),
        (3, 7, 8),
        (0, capacity - 4, 8),
        (1, (1_000 - 618) * mib - 4, 8),
    ];
    let expected = [
        (7, 8),
        (618 * mib + 7, 8),
        (236 * mib + 7, 8),
        (236 * mib + 7, 8),
        (854 * mib + 7, 8),
        (capacity - 8, 8),
        (capacity - 8, 8),
    ];
    let (found, trace) = read(&rows(&asked), &keys, Some(capacity)).unwrap();
    assert_eq!(places(&found), expected);
    // Those whose own addresses end behind the device.
    assert_eq!(trace.stats().folded, 2);
    let note = "5 requests of other devices of the trace were moved, apart from device 0";
    assert!(trace.notes().iter().any(|found| found == note), "{:?}", trace.notes());
}

/// Of 1 MiB, 256 pages, 0.618 is less than a MiB: device n starts at n x 158 pages.
#[test]
fn devices_are_apart_on_a_device_below_two_mib() {
    let keys = TraceKeys { fold: Fold::Modulo, devices: Devices::Apart, ..TraceKeys::default() };
    let asked = [(0, 3, 8), (1, 3, 8), (2, 3, 8)];
    let (found, _) = read(&rows(&asked), &keys, Some(2_048)).unwrap();
    assert_eq!(places(&found), [(3, 8), (158 * 8 + 3, 8), (60 * 8 + 3, 8)]);
}

#[test]
fn devices_are_apart_only_where_addresses_change() {
    for fold in [Fold::Error, Fold::Mirror] {
        let keys = TraceKeys { fold, devices: Devices::Apart, ..TraceKeys::default() };
        let refused = read(&rows(&[(0, 0, 8)]), &keys, Some(4_096)).unwrap_err();
        let expected = format!(
            "trace.devices: trace.fold = {} keeps no devices apart; set trace.fold to renumber or \
             modulo",
            fold.word()
        );
        assert_eq!(refused, expected);
    }
    let keys = TraceKeys { fold: Fold::Renumber, devices: Devices::Apart, ..TraceKeys::default() };
    let refused = read(&rows(&[(1, (1 << 48) - 4, 8)]), &keys, None).unwrap_err();
    assert!(refused.contains("behind sector 281474976710656, at 281474976710660"), "{refused}");
    assert!(read(&rows(&[(1, (1 << 48) - 8, 8)]), &keys, None).is_ok());
}

/// A size of 8 n + 1 sectors, n > 0, is 8 n sectors of data; others stay.
#[test]
fn header_sectors_are_dropped_where_that_is_asked_for() {
    let asked = [(0, 3, 1), (0, 8, 8), (0, 16, 9), (0, 5, 17), (0, 64, 10), (0, 80, 33)];
    let text = rows(&asked);
    let keep = TraceKeys::default();
    let sizes = |keys: &TraceKeys| {
        let (found, trace) = read(&text, keys, Some(4_096)).unwrap();
        let firsts: Vec<_> = found.iter().map(|request| request.first_sector).collect();
        assert_eq!(firsts, asked.map(|(_, first, _)| first));
        (found.iter().map(|request| request.sectors).collect::<Vec<_>>(), trace.notes())
    };
    assert_eq!(sizes(&keep).0, [1, 8, 9, 17, 10, 33]);
    let drop = TraceKeys { header_sectors: HeaderSectors::Drop, ..keep };
    let (found, notes) = sizes(&drop);
    assert_eq!(found, [1, 8, 8, 16, 10, 32]);
    assert_eq!(notes[0], "3 requests lost a header sector");
    // Before a request is widened.
    let widened = TraceKeys { align_kib: 4, ..drop };
    let found = read(&rows(&[(0, 8, 9)]), &widened, Some(4_096)).unwrap().0;
    assert_eq!(places(&found), [(8, 8)]);
}

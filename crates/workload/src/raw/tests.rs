//! Tests of drawn and listed raw operations.

use super::*;
use crate::input::Input;
use flashyard_core::geometry::StripeOrder;
use flashyard_core::quantity::Ppm;
use std::collections::{BTreeMap, BTreeSet};

/// 2 channels of 2 dies with 2 planes of 10 blocks of 4 pages of 16 KiB.
const SHAPE: Geometry = Geometry {
    channels: 2,
    ways: 2,
    dies_per_way: 1,
    planes: 2,
    blocks_per_plane: 10,
    pages_per_block: 4,
    page_bytes: 16_384,
    units_per_page: 1,
    program_pages: 1,
    joined: 1,
    stripe_pages: 1,
    order: StripeOrder::Cwdp,
};

fn all(mut raw: Raw) -> (Vec<Request>, Vec<String>) {
    let next = || raw.next_request().unwrap();
    let requests: Vec<_> = std::iter::from_fn(next).collect();
    assert_eq!(raw.stats().requests, requests.len() as u64);
    (requests, raw.notes())
}

/// The page of a request on the device.
fn page(request: &Request) -> u64 {
    assert_eq!(request.first_sector % 32, 0);
    request.first_sector / 32
}

#[test]
fn kinds_come_as_the_mix_says_and_places_all_alike() {
    let keys = RawKeys { requests: 77_000, erase_weight: 10, ..RawKeys::default() };
    let (requests, notes) = all(Raw::new(&keys, 1, &SHAPE).unwrap());
    assert!(notes.is_empty());
    let count = |op| requests.iter().filter(|request| request.op == op).count() as f64;
    for (op, weight) in
        [(RequestOp::Trim, 10.0), (RequestOp::Write, 256.0), (RequestOp::Read, 128.0)]
    {
        let expected = 77_000.0 * weight / 394.0;
        assert!((count(op) - expected).abs() < 4.0 * f64::sqrt(expected), "{op:?}: {}", count(op));
    }
    let mut pages = BTreeMap::new();
    for request in requests.iter().filter(|request| request.op != RequestOp::Trim) {
        assert_eq!((request.sectors, request.arrival), (32, Time::ZERO));
        *pages.entry(page(request)).or_insert(0) += 1;
    }
    // 320 pages with a mean of 234.
    assert_eq!(pages.len(), 320);
    assert!(pages.values().all(|count| (160..320).contains(count)), "{pages:?}");
    let erases = requests.iter().filter(|request| request.op == RequestOp::Trim);
    let blocks: BTreeSet<_> = erases
        .inspect(|erase| assert_eq!(erase.sectors, 4 * 32))
        .collect::<Vec<_>>()
        .iter()
        .map(|erase| page(erase) / 4)
        .collect();
    assert_eq!(blocks.len(), 80);
}

#[test]
fn ranges_leave_the_other_blocks_alone() {
    for placement in [Placement::Random, Placement::Append] {
        let keys = RawKeys {
            start_percent: Ppm::from_percent(40),
            range_percent: Ppm::from_percent(20),
            placement,
            requests: 5_000,
            ..RawKeys::default()
        };
        let (requests, _) = all(Raw::new(&keys, 3, &SHAPE).unwrap());
        let blocks: BTreeSet<_> = requests.iter().map(|request| page(request) / 4 % 10).collect();
        assert_eq!(blocks.into_iter().collect::<Vec<_>>(), [4, 5], "{placement:?}");
    }
    let refused = |start_percent: u64, range_percent: u64, what: &str| {
        let keys = RawKeys {
            start_percent: Ppm::from_ppm(start_percent),
            range_percent: Ppm::from_ppm(range_percent),
            ..RawKeys::default()
        };
        let error = Raw::new(&keys, 1, &SHAPE).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    refused(500_000, 600_000, "the blocks end at 110 % of a plane");
    refused(0, 50_000, "no block of the 10 of a plane");
    let none = RawKeys { erase_weight: 0, program_weight: 0, read_weight: 0, ..RawKeys::default() };
    let error = Raw::new(&none, 1, &SHAPE).unwrap_err().to_string();
    assert!(error.contains("every part of the mix is 0"), "{error}");
}

/// A plain account of what NAND allows.
#[test]
fn appended_operations_keep_the_rules_of_nand() {
    for (erased, seed) in [(true, 1), (false, 2), (true, 3)] {
        let keys = RawKeys {
            requests: 20_000,
            erase_weight: 40,
            placement: Placement::Append,
            erased,
            ..RawKeys::default()
        };
        let (requests, notes) = all(Raw::new(&keys, seed, &SHAPE).unwrap());
        let mut used: BTreeMap<u64, u64> = BTreeMap::new();
        if erased {
            used.extend((0..80).map(|block| (block, 0)));
        }
        let mut counts = [0; 3];
        for request in &requests {
            let (block, page) = (page(request) / 4, page(request) % 4);
            match request.op {
                RequestOp::Read => assert!(page < used[&block], "nothing to read"),
                RequestOp::Write => {
                    let next = used.get_mut(&block).expect("it has been erased");
                    assert_eq!(*next, page);
                    *next += 1;
                }
                _ => {
                    let before = used.insert(block, 0);
                    assert!(before.is_none_or(|used| used == 4), "a full block, or an unknown one");
                }
            }
            counts[request.op as usize] += 1;
        }
        assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
        // 256 programs fill 64 blocks, of which 40 are erased: the rest of the erases replace
        // programs.
        assert!(
            notes.iter().any(|note| note.contains("no block of the die was erased")),
            "{notes:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_replaced_and_counted() {
    let keys = RawKeys {
        requests: 100,
        erase_weight: 1,
        program_weight: 0,
        read_weight: 1,
        placement: Placement::Append,
        ..RawKeys::default()
    };
    let shape = Geometry { channels: 1, ways: 1, planes: 1, blocks_per_plane: 1, ..SHAPE };
    let (requests, notes) = all(Raw::new(&keys, 1, &shape).unwrap());
    assert_eq!(requests[0].op, RequestOp::Write, "neither a read nor an erase is possible");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].ends_with("nothing was programmed on the die"), "{notes:?}");
    assert!(notes[1].ends_with("no block of the die was full"), "{notes:?}");
}

fn listed(text: &str) -> Result<Vec<Request>, String> {
    let mut list = List::new(Input::memory("ops.csv", text.as_bytes()), &SHAPE).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = list.next_operation().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok(requests)
}

#[test]
fn lists_name_die_block_and_page() {
    let text = "arrival_us,op,die,block,page\n# a note\n0,program,1,0,0\n1.5, r ,3, 19, 3\n\n7,erase,0,11\n";
    let requests = listed(text).unwrap();
    let seen: Vec<_> =
        requests.iter().map(|r| (r.arrival.as_ns(), r.op, page(r), r.sectors)).collect();
    let expected = [
        (0, RequestOp::Write, 80, 32),
        (1_500, RequestOp::Read, 319, 32),
        (7_000, RequestOp::Trim, 44, 128),
    ];
    assert_eq!(seen, expected);
    let refused = |row: &str, what: &str| {
        let error = listed(&format!("3,e,0,0\n{row}\n")).unwrap_err();
        assert!(error.starts_with(&format!("ops.csv:2: {what}")), "{error}");
    };
    refused("3,write,0,0,0", "unknown operation, \"write\"");
    refused("3,r,0,0", "4 columns instead of 5");
    refused("2,r,0,0,0", "arrival is earlier than the one before, \"2\"");
    refused("3,r,4,0,0", "die is not below 4, \"4\"");
    refused("3,r,0,20,0", "block is not below 20, \"20\"");
    refused("3,r,0,0,4", "page is not below 4, \"4\"");
    refused("3,e,0,0,1", "page is not below 1, \"1\"");
}

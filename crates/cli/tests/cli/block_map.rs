//! The block map of a report: each step fits the state before it, and the last state is the run's.

use crate::support::{Folder, int};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the data of the page say of its map, and the results beside it.
fn map_of(folder: &Folder, args: &str) -> (Value, Value) {
    let words = ["run", "toy"].into_iter().chain(args.split_whitespace());
    folder.run(&words.chain(["--out", "r"]).collect::<Vec<_>>()).text();
    let html = String::from_utf8(folder.read("r/report.html")).unwrap();
    let from = html.split_once("id=\"data\">").expect("the page has data").1;
    let mut data: Value = serde_json::from_str(from.split_once("</script>").unwrap().0).unwrap();
    (data["map"].take(), data["results"].take())
}

fn numbers(of: &Value) -> Vec<Vec<i64>> {
    serde_json::from_value(of.clone()).expect("lists of numbers")
}

/// The units that are not erased. The value is the LPN that a valid unit holds.
type Units = BTreeMap<i64, Option<i64>>;

/// Does every step of a map. `counts` has programs and erases by purpose.
fn replay(map: &Value, name: &str) -> (Units, BTreeMap<(bool, String), u64>) {
    let start = numbers(&map["start"]).into_iter();
    let start = start.map(|unit| (unit[0], (unit[1] == 1).then_some(unit[2])));
    let (mut units, mut counts) = (start.collect::<Units>(), BTreeMap::new());
    let (pages, purposes) = (int(map, "pages").cast_signed(), &map["purposes"]);
    let word = |number: i64| purposes[usize::try_from(number).unwrap()].as_str().unwrap();
    let mut time = 0;
    for step in numbers(&map["steps"]) {
        let context = format!("{name}: {step:?}");
        assert!(step[1] >= time, "{context}");
        time = step[1];
        match step[0] {
            0 => {
                let [ppn, holds, old, from, current, purpose] = step[2..8] else { panic!() };
                assert!(!units.contains_key(&ppn), "{context}: the page is not erased");
                let holder = units.iter().find(|(_, held)| **held == Some(holds));
                let holder = holder.map_or(-1, |(ppn, _)| *ppn);
                if current == 1 {
                    assert_eq!(old, holder, "{context}: who held it");
                    assert!(from < 0 || from == old, "{context}: a copy of the newest contents");
                    units.insert(old, None);
                    units.remove(&-1);
                }
                units.insert(ppn, (current == 1).then_some(holds));
                *counts.entry((true, word(purpose).to_string())).or_default() += 1;
            }
            1 => assert_eq!(units.insert(step[2], None), Some(Some(step[3])), "{context}"),
            2 => {
                let block = step[2] * pages..(step[2] + 1) * pages;
                let valid = units.range(block.clone()).filter(|(_, held)| held.is_some()).count();
                assert_eq!(valid, 0, "{context}: valid pages are lost");
                units.retain(|ppn, _| !block.contains(ppn));
                *counts.entry((false, word(step[4]).to_string())).or_default() += 1;
            }
            kind => {
                assert_eq!(kind, 3, "{context}");
                let reason = &map["reasons"][usize::try_from(step[2]).unwrap()];
                if reason["kind"] == "job" {
                    let first = int(reason, "victim").cast_signed() * pages;
                    let held = units.range(first..first + pages).filter(|(_, held)| held.is_some());
                    let valid = u64::try_from(held.count()).unwrap();
                    assert_eq!(valid, int(reason, "valid"), "{context}: valid pages of the victim");
                    assert!(valid < int(map, "pages") || reason["trigger"] == "wear", "{context}");
                }
            }
        }
    }
    (units, counts)
}

/// A page map, map pages on flash, log blocks, several planes, pacing, wear, a history.
const DEVICES: [&str; 11] = [
    "",
    "--set gc.pacing=spare --set gc.policy=fifo",
    "--set wear.static_gap=2 --set pattern.trim_percent=10",
    "--set state.initial=steady",
    "--set geometry.channels=2 --set geometry.planes=2 --set state.initial=full",
    "--ftl dftl --set gc.reserve_blocks=4 --set gc.soft_free_blocks=5 --set gc.hard_free_blocks=4 \
     --set ftl.over_provisioning_percent=150 --set map.cache_bytes=16",
    "--ftl bast --set pattern.trim_percent=5",
    "--ftl fast --set state.initial=aged",
    "--ftl last",
    "--ftl block",
    "--ftl bast --set geometry.planes=2 --set ftl.log_span=superblock",
];

#[test]
fn every_step_fits_and_the_last_state_is_that_of_the_run() {
    let folder = Folder::new();
    for name in DEVICES {
        let (map, run) = map_of(&folder, name);
        let (units, counts) = replay(&map, name);
        // Valid pages are the logical pages that the requests of the host have left.
        let valid = units.values().flatten().filter(|held| **held >= 0).count();
        assert_eq!(u64::try_from(valid).unwrap(), int(&map, "logical"), "{name}");
        assert_eq!(int(&map, "more"), 0, "{name}");
        for (kind, programs) in [("programs", true), ("erases", false)] {
            for purpose in ["host", "gc", "map_gc", "map_writeback", "merge", "wear"] {
                let expected = int(&run, &format!("flash.{kind}.{purpose}"));
                let found = counts.get(&(programs, purpose.to_string())).copied().unwrap_or(0);
                assert_eq!(found, expected, "{name}: {kind} for {purpose}");
            }
        }
        let jobs = map["reasons"].as_array().unwrap();
        assert!(!jobs.is_empty(), "{name}: nothing is collected or merged");
    }
}

/// What the steps lead to is what the device holds.
#[test]
fn a_saved_device_starts_where_the_map_ended() {
    let folder = Folder::new();
    for name in ["", "--ftl fast", "--set geometry.planes=2 --set pattern.trim_percent=10"] {
        let (map, _) = map_of(&folder, &format!("{name} --save s.bin"));
        let few = format!("{name} --restore s.bin --set pattern.requests=5");
        let (again, _) = map_of(&folder, &few);
        let (units, _) = replay(&map, name);
        let start = numbers(&again["start"]).into_iter();
        let start = start.map(|unit| (unit[0], (unit[1] == 1).then_some(unit[2])));
        assert_eq!(start.collect::<Units>(), units, "{name}");
        replay(&again, name);
    }
}

#[test]
fn long_runs_are_cut_and_large_devices_have_no_map() {
    let folder = Folder::new();
    let (map, _) = map_of(&folder, "--set pattern.requests=12000");
    let steps = map["steps"].as_array().unwrap().len();
    assert!(steps == 20_000 && int(&map, "more") > 0, "{steps}");
    let page = String::from_utf8(folder.read("r/report.html")).unwrap();
    assert!(page.contains("The map has the first 20000 steps; "));
    let large = ["run", "small-full", "random-write", "--set", "pattern.requests=20", "--out", "l"];
    folder.run(&large).text();
    let page = String::from_utf8(folder.read("l/report.html")).unwrap();
    let why = "Block map: the device has 20480 physical pages, and the map shows at most 4096";
    assert!(page.contains(&format!("<li>{why}</li>")) && !page.contains("id=\"block-map\""));
}

/// The toy runs its own workload, and garbage collection begins after 52 writes.
#[test]
fn the_toy_collects_garbage_after_a_few_dozen_writes() {
    let folder = Folder::new();
    let (map, run) = map_of(&folder, "");
    assert_eq!(int(&run, "latency_ns.write.count"), 400);
    let steps = numbers(&map["steps"]);
    let first = steps.iter().position(|step| step[0] == 3).expect("a job");
    assert_eq!(first, 52, "programs before it");
    let job = &map["reasons"][0];
    assert_eq!((&job["trigger"], &job["free"]), (&"few".into(), &2.into()));
}

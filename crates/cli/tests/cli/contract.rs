//! The `--json` contract: nulls where a figure is not defined, and sums that add up. The fields and
//! their types are those of `flashyard schema`, which has tests of its own.

use crate::support::{Folder, int, is_near, sum, without_command};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

fn run(folder: &Folder, args: &[&str]) -> Value {
    folder.run(&[&["run", "--json"], args].concat()).json()
}

/// One die, garbage collection, and standby power. All tests look at the same runs.
fn runs() -> &'static [Value] {
    static RUNS: OnceLock<Vec<Value>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let folder = Folder::new();
        vec![
            run(&folder, &["drs", "radiowb"]),
            run(&folder, &["small-full", "radiowb"]),
            run(&folder, &["embedded-2x2", "radiowb", "--set", "energy.standby_mw=3"]),
        ]
    })
}

#[test]
fn empty_classes_have_count_0_and_nulls() {
    let folder = Folder::with("reads.txt", "0 0 0 8 1\n5 0 8 8 1\n");
    let object = run(&folder, &["reads.txt"]);
    for class in ["write", "trim", "flush"] {
        let latency = object["latency_ns"][class].as_object().expect("a class");
        assert_eq!(latency["count"], 0);
        let others = latency.iter().filter(|(name, _)| *name != "count");
        assert!(others.clone().all(|(_, value)| value.is_null()), "{class}: {latency:?}");
        assert_eq!(others.count(), 9);
    }
    assert_eq!(object["latency_ns"]["read"]["count"], 2);
    assert_eq!(sum(&object["latency_parts_ns"]["write"]), 0);
    for path in ["write_amplification", "programs_per_host_page"] {
        assert_eq!(object["flash"][path], Value::Null, "nothing was written");
    }
    assert_eq!(object["throughput"]["write_bytes_per_s"], 0.0);
    assert_eq!(object["waits_ns"]["write"]["own_commands_mean"], Value::Null);
    assert_eq!(object["provenance"]["seed"], Value::Null, "a trace has no seed");
}

#[test]
fn figures_that_need_time_are_null_where_none_passes() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n0 0 64 8 1\n");
    let object =
        run(&folder, &["t.txt", "--set", "nand.unmapped_read=zero", "--set", "map.store=resident"]);
    assert_eq!(int(&object, "throughput.makespan_ns"), 0, "never-written pages cost nothing here");
    for name in ["iops", "read_bytes_per_s", "write_bytes_per_s"] {
        assert_eq!(object["throughput"][name], Value::Null, "{name}");
    }
    assert_eq!(object["verdict"]["offered_load"], Value::Null);
    assert_eq!(object["verdict"]["unmapped_read_cost"], "zero");
    assert_eq!(int(&object, "verdict.unmapped_reads"), 2);
    assert_eq!(object["latency_ns"]["read"]["mean"], 0.0);
}

#[test]
fn latencies_are_ordered_and_made_of_their_parts() {
    for object in runs() {
        for class in ["read", "write", "all"] {
            let latency = &object["latency_ns"][class];
            let names = ["min", "p50", "p90", "p95", "p99", "p999", "p9999", "max"];
            let values = names.map(|name| int(latency, name));
            assert!(values.is_sorted(), "{class}: {values:?}");
            let mean = latency["mean"].as_f64().expect("a mean");
            assert!((values[0] as f64..=values[7] as f64).contains(&mean));
        }
        let classes = ["read", "write"].map(|class| {
            let latency = &object["latency_ns"][class];
            let parts = sum(&object["latency_parts_ns"][class]);
            let mean = parts as f64 / int(latency, "count") as f64;
            assert!(is_near(&latency["mean"], mean), "{class}: {mean} of {latency}");
            let tails = &object["latency_parts_tail_ns"][class];
            let (p99, p999) = (sum(&tails["p99"]), sum(&tails["p999"]));
            assert!(parts > p99 && p99 >= p999 && p999 >= int(latency, "max"), "{class}");
            parts
        });
        let all = &object["latency_ns"]["all"];
        let mean = (classes[0] + classes[1]) as f64 / int(all, "count") as f64;
        assert!(is_near(&all["mean"], mean), "{mean} of {all}");
    }
}

#[test]
fn counts_of_requests_agree() {
    for object in runs() {
        let workload = &object["workload"];
        for (class, plural) in
            [("read", "reads"), ("write", "writes"), ("trim", "trims"), ("flush", "flushes")]
        {
            assert_eq!(int(&object["latency_ns"][class], "count"), int(workload, plural));
        }
        let all = int(object, "latency_ns.all.count");
        assert_eq!(all, int(workload, "requests"));
        assert_eq!(all, int(workload, "reads") + int(workload, "writes"));
        let makespan = int(object, "throughput.makespan_ns");
        assert!(makespan >= int(workload, "last_ns") - int(workload, "first_ns"));
        let iops = all as f64 * 1e9 / makespan as f64;
        assert!(is_near(&object["throughput"]["iops"], iops), "{iops}");
    }
}

#[test]
fn energy_adds_up_over_resources_and_over_purposes() {
    for object in runs() {
        let energy = &object["energy_pj"];
        let total = int(energy, "total");
        assert_eq!(total, sum(&energy["by_resource"]));
        assert_eq!(total, sum(&energy["by_purpose"]));
        assert_eq!(total, sum(&energy["by_phase"]));
        let span = int(object, "power.span_ns");
        assert!(is_near(&object["power"]["mean_mw"], total as f64 / span as f64));
        let parts = ["attributed", "flushed", "unattributed"].map(|part| int(energy, part));
        assert_eq!(total, parts.iter().sum::<u64>());
        let standby = int(energy, "by_purpose.standby");
        assert_eq!(standby, int(energy, "by_resource.standby"));
        assert!(int(energy, "unattributed") >= standby);
        // mW x us x 1000 = pJ.
        let device = &object["device"];
        for (resource, ops, time, power) in [
            ("array_read", "reads", "read_us", "read_mw"),
            ("array_program", "programs", "program_us", "program_mw"),
            ("array_erase", "erases", "erase_us", "erase_mw"),
        ] {
            let one = int(&device["nand"], time) * 1_000 * int(&device["energy"], power);
            let ops = sum(&object["flash"]["array_ops"][ops]);
            assert_eq!(int(&energy["by_resource"], resource), ops * one, "{resource}");
        }
        let dies = int(device, "geometry.channels") * int(device, "geometry.ways");
        let power = int(device, "energy.standby_mw") * dies;
        assert!(standby >= power * int(object, "throughput.makespan_ns"));
        assert_eq!(standby > 0, power > 0);
    }
}

#[test]
fn flash_operations_add_up_over_phases_and_explain_write_amplification() {
    for object in runs() {
        let flash = &object["flash"];
        for (plural, single) in [("reads", "read"), ("programs", "program"), ("erases", "erase")] {
            let phases = flash["phases"].as_object().unwrap().values();
            let by_phase: u64 = phases.map(|phase| int(phase, single)).sum();
            assert_eq!(by_phase, sum(&flash["array_ops"][plural]), "{plural}");
            assert_eq!(flash[plural], flash["array_ops"][plural], "a page an operation");
        }
        let programs = sum(&flash["programs"]);
        let seconds = int(object, "throughput.makespan_ns") as f64 / 1e9;
        let written = object["throughput"]["write_bytes_per_s"].as_f64().unwrap() * seconds;
        let page = int(object, "device.geometry.page_bytes");
        assert!(is_near(&flash["write_amplification"], (programs * page) as f64 / written));
        let ratio = programs as f64 / int(flash, "programs.host") as f64;
        assert!(is_near(&flash["programs_per_host_page"], ratio));
        let ran = object["verdict"]["gc_ran"].as_bool().unwrap();
        assert_eq!(ran, int(object, "gc.jobs") > 0);
        assert!(int(object, "gc.jobs") >= sum(&flash["erases"]));
        assert_eq!(ran, object["device"]["state"]["initial"] == "full");
    }
}

#[test]
fn map_lookups_are_hits_or_misses() {
    for object in runs() {
        let map = &object["map"];
        assert_eq!(int(map, "lookups"), int(map, "hits") + int(map, "misses"));
        assert_eq!(int(map, "misses"), int(object, "flash.reads.map_fetch"));
        assert!(int(map, "dirty_evictions") <= int(map, "misses"));
    }
}

#[test]
fn waits_are_given_for_devices_with_one_die_and_add_up_to_latency() {
    let [object, several_dies @ ..] = runs() else { unreachable!("there are runs") };
    assert!(several_dies.iter().all(|object| object["waits_ns"].is_null()));
    for class in ["read", "write", "all"] {
        let waits = object["waits_ns"][class].as_object().expect("one die");
        let total: f64 = waits.values().map(|wait| wait.as_f64().unwrap()).sum();
        let mean = &object["latency_ns"][class]["mean"];
        // Commands of one request can overlap only on several dies.
        assert!(is_near(mean, total), "{class}: {total} {mean}");
    }
}

#[test]
fn hashes_are_those_of_the_settings_and_of_the_requests() {
    let folder = Folder::with("t.txt", "7000 3 64 8 1\n9000 3 128 16 0\n");
    let object = run(&folder, &["t.txt"]);
    let device = Sha256::digest(object["device"].to_string());
    let mut requests = Vec::new();
    for (arrival, first, sectors, op) in [(0u64, 64u64, 8u32, 0u8), (2_000, 128, 16, 1)] {
        requests.extend(arrival.to_le_bytes());
        requests.extend(first.to_le_bytes());
        requests.extend(sectors.to_le_bytes());
        requests.extend(3u16.to_le_bytes());
        requests.extend([op, 0]);
    }
    let hex = |bytes: &[u8]| -> String {
        bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    assert_eq!(object["provenance"]["device_sha256"], hex(&device));
    assert_eq!(object["provenance"]["workload_sha256"], hex(&Sha256::digest(&requests)));
    let placed = run(&folder, &["t.txt", "--set", "stream.placement=300"]);
    let mut with_identifiers = Vec::new();
    for request in requests.as_chunks::<24>().0 {
        with_identifiers.extend(&request[..22]);
        with_identifiers.extend([request[22] + 128, request[23]]);
        with_identifiers.extend(300u16.to_le_bytes());
    }
    let hash = hex(&Sha256::digest(with_identifiers));
    assert_eq!(placed["provenance"]["workload_sha256"], hash);
}

#[test]
fn the_command_is_repeated_as_it_was_given() {
    let folder = Folder::new();
    let args = ["run", "--json", "movie", "--set", "queue.depth=8", "--seed", "3"];
    let object = folder.run(&args).json();
    assert_eq!(object["provenance"]["command"], serde_json::json!(args));
    assert_eq!(int(&object, "provenance.seed"), 3);
    assert_eq!(object["flashyard"], env!("CARGO_PKG_VERSION"));
    assert_eq!(int(&object, "device.queue.depth"), 8);
    assert!(without_command(object)["provenance"].get("command").is_none());
}

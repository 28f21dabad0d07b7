//! A disk and the workloads of file systems, from the command line.

use crate::support::{Folder, int};

const DISK: &str = "wd1600bekt";

/// What a disk does not have is refused, with the option or the key and the reason.
#[test]
fn what_a_disk_does_not_have_is_refused() {
    let stable = "[pattern]\nrequests = 9\n[phase]\nstable_percent = 1\n";
    let initial = "[pattern]\nrequests = 9\n[[initial.map_lines]]\nslpn = 1\n";
    let folder = Folder::with("stable.toml", stable);
    folder.write("initial.toml", initial);
    for (args, why) in [
        (&["--save", "x"][..], "--save: a disk"),
        (&["--restore", "stable.toml"], "--restore: a disk"),
        (&["--commands", "c.csv"], "--commands: a disk"),
        (&["--bus", "b.csv"], "--bus: a disk"),
        (&["stable.toml"], "phase.stable_percent: a disk"),
        (&["initial.toml"], "[initial]: a disk has no map cache"),
        (&["--set", "gc.policy=fifo"], "gc.policy: this device is a disk"),
        (&["raw-1-256-128"], "[raw]: "),
    ] {
        let ran = folder.run(&[&["run", DISK], args].concat());
        assert_eq!(ran.status, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
    let flash = folder.run(&["run", "drs", "--set", "disk.rpm=5400"]);
    assert!(flash.stderr.contains("disk.rpm: this device is a flash device"), "{flash:?}");
}

/// The device in JSON has the sections of its kind only, and the energy its own rows.
#[test]
fn the_json_of_a_disk_has_no_flash() {
    let folder = Folder::new();
    let few = ["--set", "pattern.requests=300", "--check", "--json"];
    let run = folder.run(&[&["run", DISK, "mixed-70-30"][..], &few].concat()).json();
    let sections: Vec<_> = run["device"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(sections, ["deep_sleep", "device", "disk", "interface", "metrics", "sleep"]);
    assert_eq!(run["device"]["device"]["kind"], "disk");
    let rows: Vec<_> =
        run["energy_pj"]["by_resource"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(rows, ["idle", "read", "rotate", "seek", "sleep", "write"]);
    assert!(run["flash"]["write_amplification"].is_null() && run["waits_ns"].is_null());
    let flash = folder.run(&[&["run", "drs", "mixed-70-30"][..], &few].concat()).json();
    assert!(flash["device"]["disk"].is_null(), "{}", flash["device"]);
    let text = folder.run(&["run", DISK, "random-read", "--set", "pattern.requests=99"]).text();
    assert!(text.contains("busy         arm") && !text.contains("write amplification"), "{text}");
}

/// A read every minute or less, and a disk that stops after ten seconds: samples of the power meter
/// that sum up to the energy, and a line of the summary.
#[test]
fn a_disk_sleeps_and_has_a_power_meter() {
    let folder = Folder::new();
    let set = [
        "pattern.requests=20",
        "stream.pacing=spaced",
        "stream.gap_min_us=1_000_000",
        "stream.gap_max_us=60_000_000",
        "sleep.after_us=10_000_000",
        "sleep.power_mw=200",
        "sleep.exit_us=3_500_000",
    ];
    let mut args = vec!["run", DISK, "random-read"];
    args.extend(set.iter().flat_map(|key| ["--set", key]));
    let run = folder.run(&[&args[..], &["--json", "--power", "power.csv"]].concat()).json();
    let text = String::from_utf8(folder.read("power.csv")).expect("text");
    let rows = text.lines().skip(1).map(|row| row.split(',').nth(2).unwrap());
    let sum: u64 = rows.map(|cell| cell.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, int(&run, "energy_pj.total"));
    assert!(int(&run, "power.sleep.wakes") > 0);
    let slept = int(&run, "power.sleep.asleep_ns") * 200;
    assert_eq!(int(&run, "energy_pj.by_resource.sleep"), slept);
    let text = folder.run(&args).text();
    assert!(text.contains("sleep        ") && text.contains("woke "), "{text}");
}

/// 64 MiB one after the other: the same data in any size, and larger requests are faster.
#[test]
fn direct_io_of_any_size_moves_the_same_data() {
    let folder = Folder::new();
    for pattern in ["random-read", "random-write", "sequential-read", "sequential-write"] {
        let mut before = 0.0;
        for size in ["4", "1024", "16384"] {
            let size = format!("pattern.size_kib={size}");
            let set = ["stream.depth=1", "pattern.total_mib=64", "pattern.align_kib=4", &size];
            let mut args = vec!["run", DISK, pattern, "--json"];
            args.extend(set.iter().flat_map(|set| ["--set", set]));
            let run = folder.run(&args).json();
            let requests = int(&run, "workload.requests");
            let kib: u64 = size.split('=').next_back().unwrap().parse().unwrap();
            assert_eq!(requests * kib, 64 << 10, "{pattern}, {size}");
            let class = if pattern.ends_with("read") { "read" } else { "write" };
            let rate = run["throughput"][format!("{class}_bytes_per_s")].as_f64().unwrap();
            assert!(rate > before * 0.95, "{pattern}, {size}: {rate}, before {before}");
            before = rate;
        }
    }
}

/// Stages are phases of one file system: the threads read what the stages before have written, so
/// that no page is read that was never written.
#[test]
fn the_stages_of_a_file_system_share_its_files() {
    let folder = Folder::new();
    for layout in ["ext2", "lfs"] {
        let workload = format!("fileserver-{layout}");
        let args = ["run", "sata-mlc", &workload, "--json", "--check", "--seed", "5"];
        let set = ["--set", "files.files=60", "--set", "files.max_kib=2048"];
        let sizes = ["--set", "files.min_kib=2048", "--set", "files.mean_kib=2048"];
        let run = folder.run(&[&args[..], &set, &sizes].concat()).json();
        let phases = run["phases"].as_array().unwrap();
        let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["write", "update", "read"]);
        let measured: Vec<_> = phases.iter().map(|phase| phase["measured"] == true).collect();
        assert_eq!(measured, [false, false, true]);
        assert_eq!(int(&run, "verdict.unmapped_reads"), 0, "{layout}");
        assert_eq!(run["streams"].as_object().unwrap().len(), 50);
        let bytes: u64 = run["workload"]["reads"].as_u64().unwrap();
        assert!(bytes >= 60 * 2_048 / 128, "{bytes}");
        let told = run["workload"]["changes"].to_string();
        assert!(told.contains("60 files of 120 MiB"), "{told}");
    }
}

#[test]
fn a_file_system_can_be_written_as_a_trace() {
    let folder = Folder::new();
    let set = ["--set", "files.files=50", "--set", "files.loops=10", "--device", DISK];
    folder.run(&[&["trace", "generate", "varmail-lfs", "v.fyt"][..], &set].concat()).text();
    let info = folder.run(&["trace", "info", "v.fyt", "--json"]).json();
    assert_eq!(int(&info, "flushes"), 20);
    let small = ["run", "small-full", "varmail-ext2"];
    let refused = folder.run(&small);
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("files.area_mib: 66 MiB have no room"), "{}", refused.stderr);
}

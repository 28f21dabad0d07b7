//! Every key of a workload does something, and the reference of all keys is the truth.

use crate::support::{Folder, Ran, repository_file};
use flashyard_core::key::Key;
use flashyard_sim::config::{DeviceKeys, Sections as _};
use flashyard_workload::FormatInfo;
use flashyard_workload::files::FilesKeys;
use flashyard_workload::generator::GeneratorKeys;
use flashyard_workload::mix::MixKeys;
use flashyard_workload::pattern::PatternKeys;
use flashyard_workload::profile::ProfileKeys;
use flashyard_workload::raw::RawKeys;
use flashyard_workload::trace::{TraceKeys, key_trace};

/// What a run shows besides what it echoes: results, and the hash of the requests as simulated.
fn results(folder: &Folder, workload: &str, settings: &[&str]) -> Ran {
    let device = workload.starts_with("raw-").then_some(RAW_DEVICE);
    let mut args = vec!["run", "--json"];
    args.extend(device);
    args.push(workload);
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let mut ran = folder.run(&args);
    if ran.status == Some(0) {
        let mut run: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let requests = run["provenance"]["workload_sha256"].take();
        run.as_object_mut().unwrap().retain(|name, _| name != "provenance" && name != "device");
        run["requests"] = requests;
        let workload = run["workload"].as_object_mut().expect("an object");
        let told = ["settings", "plan", "changes"];
        workload.retain(|name, _| !told.contains(&name.as_str()));
        ran.stdout = run.to_string();
        ran.stderr = String::new(); // The remark on speed.
    }
    ran
}

/// The device on which the keys of raw operations are tried; on others a workload alone is.
const RAW_DEVICE: &str = "framework";

/// Each key, flipped under the settings named beside it, changes a result or ends in an error.
fn every_flip_shows(folder: &Folder, workload: &str, section: &str, keys: &[Key]) {
    assert!(!keys.is_empty());
    for key in keys {
        let flip = format!("{section}.{}={}", key.name, key.flip);
        let flipped = [key.with, &[flip.as_str()]].concat();
        let (before, after) =
            (results(folder, workload, key.with), results(folder, workload, &flipped));
        assert_ne!(before, after, "{flip} changes nothing under {:?}", key.with);
        for ran in [before, after] {
            assert!(matches!(ran.status, Some(0 | 2)), "{flip}: {ran:?}");
        }
    }
}

#[test]
fn every_key_of_a_trace_does_something() {
    for key in TraceKeys::KEYS {
        let folder = Folder::with("t.txt", key_trace(key.name));
        every_flip_shows(&folder, "t.txt", "trace", &[*key]);
    }
}

#[test]
fn every_key_of_the_generator_does_something() {
    every_flip_shows(&Folder::new(), "facebook", "generator", GeneratorKeys::KEYS);
}

#[test]
fn every_key_of_a_pattern_does_something() {
    every_flip_shows(&Folder::new(), "random-read", "pattern", PatternKeys::KEYS);
}

/// A pattern key that a run calls unused changes no result; under the settings with which it does,
/// no run calls it so.
#[test]
fn pattern_keys_that_change_nothing_are_told() {
    let folder = Folder::new();
    let few = ["pattern.requests=500"];
    let plain = results(&folder, "random-read", &few);
    let mut unused = 0;
    for key in PatternKeys::KEYS {
        let flip = format!("pattern.{}={}", key.name, key.flip);
        let told = |with: &[&str]| {
            let settings = with.iter().flat_map(|setting| ["--set", setting]);
            let args: Vec<&str> = ["run", "random-read"].into_iter().chain(settings).collect();
            let told = format!("note: pattern.{} changes nothing: pattern.", key.name);
            folder.run(&args).stderr.contains(&told)
        };
        if told(&[few[0], &flip]) {
            unused += 1;
            assert_eq!(results(&folder, "random-read", &[few[0], &flip]), plain, "{flip}");
        }
        assert!(!told(&[key.with, &[flip.as_str()]].concat()), "{flip} under {:?}", key.with);
    }
    assert!(unused > 20, "{unused} keys are unused");
}

/// A device key that a run calls unused changes no result; under the settings with which it does,
/// no run calls it so.
#[test]
fn device_keys_that_change_nothing_are_told() {
    let folder = Folder::new();
    let ran = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let few = ["run", "small-full", "random-write", "--json", "--set", "pattern.requests=500"];
        let args: Vec<&str> = few.into_iter().chain(settings).collect();
        let Ran { stdout, stderr, .. } = folder.run(&args);
        let run: Option<serde_json::Value> = serde_json::from_str(&stdout).ok();
        let results = run.map(|mut run| {
            run.as_object_mut().expect("an object").retain(|name, _| name != "provenance");
            run["device"].take();
            run
        });
        (results, stderr)
    };
    let (plain, _) = ran(&[]);
    let mut unused = 0;
    for (section, keys, _) in DeviceKeys::default().sections() {
        for key in keys {
            let flip = format!("{section}.{}={}", key.name, key.flip);
            let note = format!("note: {section}.{} changes nothing: ", key.name);
            if matches!(
                &*section,
                "slc" | "retry" | "sleep" | "deep_sleep" | "buffer" | "gc" | "bus"
            ) && let (Some(results), told) = ran(&[&flip])
                && told.contains(&note)
            {
                unused += 1;
                assert_eq!(Some(results), plain, "{flip}");
                let with = key.with.iter().filter(|setting| !setting.starts_with('@'));
                let (_, told) = ran(&with.copied().chain([flip.as_str()]).collect::<Vec<_>>());
                assert!(!told.contains(&note), "{flip} under {:?}", key.with);
            }
        }
    }
    assert!(unused > 40, "{unused} keys are unused");
}

/// Keys of parts that are not chosen change nothing, and are told; in a comparison or a sweep only
/// where no value of a varied key chooses the part.
#[test]
fn keys_of_parts_that_are_not_chosen_are_told() {
    let folder = Folder::new();
    let keys = ["policy.drs.rekey=false", "gc.rga.choices=5", "ftl.fast.log_blocks=8"];
    let device = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let few = ["--set", "pattern.requests=300", "--set", "policy.command=rcf"];
        let run = ["run", "embedded-2x2", "random-write"];
        let args: Vec<&str> = run.into_iter().chain(few).chain(settings).collect();
        folder.run(&args)
    };
    let (plain, told) = (device(&[]), device(&keys));
    assert_eq!(plain.stdout, told.stdout);
    for (key, chooser) in [
        ("policy.drs.rekey", "policy.command = rcf"),
        ("gc.rga.choices", "gc.policy = greedy"),
        ("ftl.fast.log_blocks", "ftl.scheme = page"),
    ] {
        let note = format!("note: {key} changes nothing: {chooser}");
        assert!(told.stderr.contains(&note), "{note} in {}", told.stderr);
    }
    let compared = |varied: &str| {
        let few = ["--set", "pattern.requests=300", "--set", keys[0], "--vary", varied];
        let args = [&["compare", "embedded-2x2", "random-read"], &few[..]].concat();
        folder.run(&args).stderr.contains("policy.drs.rekey changes nothing")
    };
    assert!(compared("policy.command=rcf,fifo"));
    assert!(!compared("policy.command=rcf,drs"));
    let swept = |policies: &str| {
        let file = format!(
            "device = \"embedded-2x2\"\nworkload = \"random-read\"\n\
             set = [\"pattern.requests=300\", \"policy.drs.rekey=false\"]\n\
             vary = [\"policy.command={policies}\", \"gc.rga.choices=4,5\"]\n"
        );
        folder.write("swept.toml", file);
        let ran = folder.run(&["sweep", "swept.toml", "--dry-run"]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        ["policy.drs.rekey", "gc.rga.choices"]
            .map(|key| ran.stderr.contains(&format!("note: {key} changes nothing")))
    };
    assert_eq!(swept("rcf,fifo"), [true, true]);
    assert_eq!(swept("rcf,drs"), [false, true]);
    // What switches a mechanism off may change all: the device has had it.
    for off in ["nvme-tlc buffer.bytes=0", "nvme-qlc slc.dynamic_percent=0"] {
        let (device, setting) = off.split_once(' ').unwrap();
        let shown = folder.run(&["show", device, "--set", setting]);
        assert!(!shown.stderr.contains("changes nothing"), "{shown:?}");
    }
    let shown = folder.run(&["show", "embedded-2x2", "--set", keys[1]]);
    assert!(shown.stderr.contains("note: gc.rga.choices changes nothing"), "{shown:?}");
}

#[test]
fn every_key_of_a_mix_does_something() {
    every_flip_shows(&Folder::new(), "oltp", "mix", MixKeys::KEYS);
}

#[test]
fn every_key_of_raw_operations_does_something() {
    every_flip_shows(&Folder::new(), "raw-1-256-128", "raw", RawKeys::KEYS);
}

#[test]
fn every_key_of_files_does_something() {
    every_flip_shows(&Folder::new(), "varmail-ext2", "files", FilesKeys::KEYS);
}

#[test]
fn every_key_of_a_profile_does_something() {
    let folder = Folder::new();
    folder.run(&["trace", "fit", "facebook", "-o", "twin.toml"]).text();
    every_flip_shows(&folder, "twin.toml", "profile", ProfileKeys::KEYS);
}

/// The keys that `list keys` shows, as `section.key=value`.
fn shown_defaults(listing: &str) -> Vec<String> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in listing.lines() {
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split(']').next().expect("a section");
        } else if let Some(key) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) {
            let setting = key.split("  (").next().expect("a key").replace(" = ", "=");
            settings.push(format!("{section}.{setting}"));
        }
    }
    settings
}

#[test]
fn the_defaults_that_are_shown_are_the_defaults() {
    let folder = Folder::new();
    let settings = shown_defaults(&folder.run(&["list", "keys"]).text());
    assert!(settings.len() > 70, "{settings:?}");
    // A generated workload has no use for the keys of other origins.
    let others = ["trace.", "pattern.", "mix.", "profile.", "files.", "raw."];
    let idle = |set: &&str| others.iter().any(|section| set.starts_with(section));
    let settings = settings.iter().map(String::as_str).filter(|set| !idle(set));
    let settings: Vec<&str> = settings.collect();
    let shown = results(&folder, "facebook", &settings);
    assert_eq!(shown.status, Some(0), "{}", shown.stderr);
    assert_eq!(shown, results(&folder, "facebook", &[]));
}

#[test]
fn the_reference_of_keys_is_what_the_command_lists() {
    let document = repository_file("docs/KEYS.md");
    let block = document.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("docs/KEYS.md has a ```text block");
    let listed = Folder::new().run(&["list", "keys"]).text();
    if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
        let written = document.replace(block, &format!("{}\n", listed.trim_end()));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/KEYS.md");
        std::fs::write(file, written).expect("docs/KEYS.md is written");
        return;
    }
    assert!(
        block.trim_end() == listed.trim_end(),
        "docs/KEYS.md is out of date: `cargo xtask golden --update` puts what `flashyard list \
         keys` prints into its block"
    );
}

#[test]
fn the_reference_of_traces_has_a_row_for_every_format() {
    let document = repository_file("docs/TRACES.md");
    for format in FormatInfo::all() {
        let row = format!("| `{}` |", format.name);
        let rows = document.lines().filter(|line| line.starts_with(&row)).count();
        assert!(rows > 0, "docs/TRACES.md: no row of its tables of formats begins with {row}");
    }
}

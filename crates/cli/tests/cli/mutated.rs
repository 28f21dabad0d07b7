//! Input that was changed at random: whatever is given, the command ends with status 0, 1 or 2 and
//! never by a panic or a failed allocation, also where memory is limited.
//!
//! The readers of traces and descriptors have such tests of their own, and all readers have fuzz
//! targets; these go through the command, with what devices, workloads, saved devices and settings
//! lead to.

use crate::support::{Folder, Ran, TRACE, finish};
use flashyard_workload::random::SplitMix64;
use std::process::Stdio;

/// Values that numbers are replaced by.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "0.5",
    "1e9",
    "true",
    "\"x\"",
    "65536",
    "1000000000000",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
];

/// Bytes that are put in.
const BYTES: &[u8] = b"0123456789.,=[]\"\n -e#_\xff";

/// One of so many.
fn below(random: &mut SplitMix64, count: usize) -> usize {
    usize::try_from(random.below(count as u64)).unwrap()
}

/// Changes one thing.
fn mutate(random: &mut SplitMix64, bytes: &mut Vec<u8>) {
    let at = below(random, bytes.len() + 1);
    let end = (at + 1 + below(random, 20)).min(bytes.len());
    match random.below(4) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.insert(at, BYTES[below(random, BYTES.len())]),
        2 => {
            let copy = bytes[at..end].to_vec();
            let to = below(random, bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        _ => {
            let is_start = |at: &usize| {
                bytes[*at].is_ascii_digit() && (*at == 0 || b" \n,".contains(&bytes[at - 1]))
            };
            let starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
            if starts.is_empty() {
                return;
            }
            let start = starts[below(random, starts.len())];
            let number = |byte: &u8| byte.is_ascii_digit() || b"_.".contains(byte);
            let length = bytes[start..].iter().take_while(|byte| number(byte)).count();
            let with = NUMBERS[below(random, NUMBERS.len())];
            bytes.splice(start..start + length, with.bytes());
        }
    }
}

fn mutated(random: &mut SplitMix64, text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(3) {
        mutate(random, &mut bytes);
    }
    bytes
}

/// The command within 4 GB of address space and 20 s of processor time.
fn run(folder: &Folder, args: &[&str]) -> Ran {
    let command = folder.command(args);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 4000000 && ulimit -t 20 && exec \"$0\" \"$@\""]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(folder.path("")).stdin(Stdio::null());
    finish(&mut limited, None)
}

/// Runs the command on a file that was changed so many times.
#[track_caller]
fn check(name: &str, text: &[u8], seed: u64, rounds: u32, args: &[&str]) {
    let folder = Folder::with("t.txt", TRACE);
    let mut random = SplitMix64::new(seed);
    let mut refused = 0;
    for round in 0..rounds {
        let bytes = mutated(&mut random, text);
        folder.write(name, &bytes);
        let ran = run(&folder, args);
        let shown = || format!("round {round}: {ran:?} {}", String::from_utf8_lossy(&bytes));
        assert!(matches!(ran.status, Some(0..=2)), "{}", shown());
        assert!(!ran.stderr.contains("panicked"), "{}", shown());
        refused += u32::from(ran.status == Some(2));
    }
    assert!(refused > 0, "something is changed that counts");
}

const DEVICE: &[u8] = include_bytes!("../../../run/devices/embedded-2x2.toml");

/// Traces alone, since a pattern may become one of more requests than a test has time for.
const WORKLOAD: &[u8] = b"[[phase]]\nname = \"fill\"\n[phase.trace]\npath = \"t.txt\"\n\
    fold = \"renumber\"\nchunk_kib = 64\ntick_us = 1000\n[[phase]]\nname = \"use\"\n[[phase.stream]]\nname = \"a\"\n\
    [phase.stream.trace]\npath = \"t.txt\"\nfold = \"modulo\"\ntime_scale = 2.0\n";

#[test]
fn devices() {
    check("d.toml", DEVICE, 1, 40, &["run", "d.toml", "t.txt"]);
}

#[test]
fn workloads() {
    check("w.toml", WORKLOAD, 2, 40, &["run", "drs", "w.toml"]);
}

#[test]
fn traces() {
    let args = ["run", "drs", "m.txt", "--set", "trace.fold=modulo"];
    check("m.txt", TRACE.as_bytes(), 3, 30, &args);
    let rows = b"Timestamp,Offset,Size,IOType,VolumeID\n1,8,8,1,7\n1,64,8,0,7\n2,8,8,1,9\n";
    check("m.txt", rows, 4, 30, &args);
}

#[test]
fn saved_devices() {
    let folder = Folder::with("t.txt", TRACE);
    let small = ["--set", "geometry.blocks_per_plane=400", "--set", "trace.fold=modulo"];
    let save = [&["run", "drs", "t.txt", "--save", "saved"], &small[..]].concat();
    assert_eq!(folder.run(&save).status, Some(0));
    let restore = [&["run", "drs", "t.txt", "--restore", "m.saved"], &small[..]].concat();
    check("m.saved", &folder.read("saved"), 5, 25, &restore);
}

#[test]
fn settings() {
    let folder = Folder::with("t.txt", TRACE);
    let list = folder.run(&["list", "keys"]).text();
    let mut section = "";
    let mut keys: Vec<String> = Vec::new();
    for line in list.lines() {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name;
        } else if let Some((name, _)) = line.strip_prefix("  ").and_then(|l| l.split_once(" = ")) {
            keys.push(format!("{section}.{name}"));
        }
    }
    assert!(keys.len() > 200, "{}", keys.len());
    let mut random = SplitMix64::new(6);
    for _ in 0..40 {
        let setting = |random: &mut SplitMix64| {
            let value = NUMBERS[below(random, NUMBERS.len())];
            format!("{}={value}", keys[below(random, keys.len())])
        };
        let settings = [setting(&mut random), setting(&mut random)];
        let set = ["--set", &settings[0], "--set", &settings[1]];
        let ran = run(&folder, &[&["run", "drs", "t.txt"], &set[..]].concat());
        assert!(matches!(ran.status, Some(0..=2)), "{settings:?}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{settings:?}: {ran:?}");
    }
}

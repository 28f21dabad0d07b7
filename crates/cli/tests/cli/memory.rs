//! A device that needs more memory than there is is refused before it is built, in the same way
//! however memory is limited; nothing is ever ended by a failed allocation.

use crate::support::{Folder, Ran, finish};
use std::process::{Command, Stdio};

/// The command with an address space of so many KiB.
fn run_within(folder: &Folder, kib: u64, args: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {kib} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_flashyard")]).args(args);
    command.current_dir(folder.path("")).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    finish(&mut command, None)
}

/// It ends with status 2 and one line.
#[track_caller]
fn refused(ran: &Ran, parts: &[&str]) {
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    for part in parts {
        assert!(ran.stderr.contains(part), "{part} is missing: {ran:?}");
    }
}

/// 2 TiB of 4 KiB units, and one request.
const LARGE: [&str; 6] =
    ["--set", "geometry.channels=64", "--set", "map.store=resident", "--set", "state.initial=full"];

#[test]
fn a_device_that_is_too_large_is_refused_with_what_it_needs_and_what_helps() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let run = [&["run", "drs", "t.txt"], &LARGE[..], &["--out", "results"]].concat();
    let say =
        ["device drs: it needs ", "GiB of memory (", "map of physical units", "but there are"];
    let limited = run_within(&folder, 1_000_000, &run);
    refused(&limited, &[&say[..], &["(ulimit -v); lower geometry.blocks_per_plane"]].concat());
    let given = folder.run(&[&run[..], &["--memory", "500"]].concat());
    let insist = ["there are 500.0 MiB given by --memory;", "insist with --memory "];
    refused(&given, &[&say[..], &insist].concat());
    let compare = [&["compare", "drs", "t.txt", "--vary", "queue.depth=1,2"], &LARGE[..]].concat();
    refused(&run_within(&folder, 1_000_000, &compare), &say);
    assert_eq!(folder.files().len(), 1, "nothing is left: {:?}", folder.files().keys());
    assert!(!folder.path("results").exists());
}

#[test]
fn what_helps_depends_on_what_is_large() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let check = |settings: &[&str], remedy: &str| {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let args = [&["run", "drs", "t.txt"], &settings[..]].concat();
        refused(&run_within(&folder, 400_000, &args), &[remedy]);
    };
    check(&["buffer.bytes=30000000000"], "; lower buffer.bytes");
    check(&["map.store=cmt", "map.cache_bytes=200000000"], "lower map.cache_bytes");
    let many = ["geometry.channels=1024", "geometry.ways=64", "geometry.blocks_per_plane=400"];
    check(&many, "lower geometry.blocks_per_plane or geometry.pages_per_block");
    let run = ["run", "drs", "t.txt", "--set", "state.initial=full"];
    assert_eq!(run_within(&folder, 400_000, &run).status, Some(0), "it fits");
    let checked = run_within(&folder, 400_000, &[&run[..], &["--check"]].concat());
    refused(&checked, &["MiB checker", "leave --check out"]);
}

/// What a device takes at the start is said by its parts: of a fresh one the program takes most.
#[test]
fn the_parts_of_what_is_needed_at_the_start_are_listed() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let ran = folder.run(&["run", "nvme-enterprise", "t.txt", "--memory", "10"]);
    refused(&ran, &["it needs 16.1 MiB of memory (16.0 MiB program, ", "insist with --memory 17"]);
    assert!(!ran.stderr.contains("GiB"), "{ran:?}");
}

/// A fresh device takes what is written of it: far less than there is.
#[test]
fn a_fresh_device_of_any_size_runs_and_says_what_it_may_take() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let run = ["run", "drs", "t.txt", "--memory", "50"];
    let ran = folder.run(&run);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let note = "note: device drs: it takes up to ";
    assert!(ran.stderr.starts_with(note), "{ran:?}");
    let enough = folder.run(&["run", "drs", "t.txt", "--memory", "5000"]);
    assert!(!enough.stderr.contains("note"), "{enough:?}");
    // What was saved may have been written.
    let small = ["--set", "geometry.blocks_per_plane=20000"];
    let save = [&["run", "drs", "t.txt", "--save", "saved"], &small[..]].concat();
    assert_eq!(folder.run(&save).status, Some(0));
    let restore = [&["run", "drs", "t.txt", "--restore", "saved"], &small[..]].concat();
    assert_eq!(folder.run(&restore).status, Some(0));
    refused(&folder.run(&[&restore[..], &["--memory", "20"]].concat()), &["--memory"]);
}

/// Runs that do not fit beside each other go one after the other, with the same results.
#[test]
fn comparisons_use_no_more_memory_than_there_is() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let compare =
        ["compare", "drs", "t.txt", "--vary", "queue.depth=1,2,3", "--set", "state.initial=full"];
    let free = folder.run(&compare);
    let within = run_within(&folder, 400_000, &compare);
    assert_eq!(free.text(), within.text());
}

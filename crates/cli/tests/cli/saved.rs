//! Saved devices: a run that goes on gives what one gives that never stopped, and wrong files are
//! refused.

use crate::support::{Folder, int, without_command, without_names};
use serde_json::Value;

const DEVICE: &str = "embedded-2x2";

/// Writes, then reads of the same places; neither depends on a seed.
const BOTH: &str = "[[phase]]\nworkload = \"write.toml\"\n[[phase]]\nworkload = \"read.toml\"\n";
const WRITE: &str = "[pattern]\nbase = \"sequential-write\"\nrequests = 30\n";
const READ: &str = "[pattern]\nbase = \"sequential-read\"\nrequests = 40\nsize_kib = 64\n";

/// A folder with workloads and with the device after the first of them.
fn folder() -> Folder {
    let folder = Folder::with("both.toml", BOTH);
    folder.write("write.toml", WRITE);
    folder.write("read.toml", READ);
    folder.run(&["run", DEVICE, "write.toml", "--save", "written.state"]).text();
    folder
}

/// A run without what tells where it started.
fn results(mut run: Value) -> Value {
    run = without_names(run);
    let provenance = run["provenance"].as_object_mut().unwrap();
    provenance.retain(|name, _| name == "device_sha256");
    let workload = run["workload"].as_object_mut().unwrap();
    workload.retain(|name, _| name != "plan" && name != "settings");
    for phase in run["phases"].as_array_mut().expect("a list") {
        phase["name"] = Value::Null;
    }
    run
}

#[test]
fn a_run_that_goes_on_is_one_that_never_stopped() {
    let folder = folder();
    let whole = folder.run(&["run", DEVICE, "both.toml", "--check", "--json"]).json();
    let restore = ["--restore", "written.state", "--check", "--json"];
    let ran = folder.run(&[&["run", DEVICE, "read.toml"], &restore[..]].concat());
    assert!(ran.stderr.starts_with("40 requests in "), "{}", ran.stderr);
    let rest = ran.json();
    assert_eq!(int(&rest, "workload.requests"), 70, "measured phases before count");
    let names: Vec<_> = rest["phases"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["saved 1", "phase 1"]);
    assert_eq!(results(rest), results(whole));
}

#[test]
fn the_same_work_is_saved_as_the_same_bytes() {
    let folder = folder();
    let written = folder.read("written.state");
    folder.run(&["run", DEVICE, "write.toml", "--save", "again.state"]).text();
    assert!(folder.read("again.state") == written);
    // Also by way of another saved device.
    let args = ["--restore", "written.state", "--save", "on.state"];
    folder.run(&[&["run", DEVICE, "read.toml"], &args[..]].concat()).text();
    folder.run(&["run", DEVICE, "both.toml", "--save", "both.state"]).text();
    assert!(folder.read("on.state") == folder.read("both.state"));
}

#[test]
fn comparisons_start_from_a_saved_device() {
    let folder = folder();
    let restore = ["read.toml", "--restore", "written.state", "--json"];
    let vary = ["--vary", "policy.command=fifo,rrf"];
    let compared = folder.run(&[&["compare", DEVICE], &restore[..], &vary].concat()).json();
    for (place, policy) in ["fifo", "rrf"].iter().enumerate() {
        let set = format!("policy.command={policy}");
        let run = folder.run(&[&["run", DEVICE], &restore[..], &["--set", &set]].concat()).json();
        assert!(run["provenance"]["state_sha256"].is_string());
        assert_eq!(without_command(compared[place].clone()), without_command(run));
    }
}

/// The state is refused with a message that starts like this, and nothing is left behind.
#[track_caller]
fn refused(folder: &Folder, device: &str, state: &str, message: &str) {
    let before = folder.files();
    let outputs = ["--out", "results", "--save", "new.state"];
    let args = [&["run", device, "read.toml", "--restore", state], &outputs[..]].concat();
    let ran = folder.run(&args);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.starts_with(&format!("error: {message}")), "{ran:?}");
    assert_eq!(folder.files(), before);
}

#[test]
fn wrong_states_are_refused() {
    let folder = folder();
    let state = folder.read("written.state");
    refused(&folder, DEVICE, "none.state", "none.state: cannot be read, ");
    refused(&folder, DEVICE, "read.toml", "read.toml: this is not a saved device");
    refused(&folder, "drs", "written.state", "written.state: the saved device has other settings");
    folder.write("short.state", &state[..state.len() - 1]);
    refused(&folder, DEVICE, "short.state", "short.state: the saved device is ");
    let mut damaged = state;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    folder.write("damaged.state", damaged);
    refused(&folder, DEVICE, "damaged.state", "damaged.state: the saved device is ");
}

#[test]
fn initial_lines_and_a_saved_device_exclude_each_other() {
    let folder = folder();
    folder.write("read.toml", format!("{READ}[[initial.map_lines]]\nslpn = 8\n"));
    let message = "--restore: the saved device has its map cache; take [initial] out";
    refused(&folder, DEVICE, "written.state", message);
    folder.write("read.toml", format!("{READ}[[initial.buffer_lines]]\npage = 8\n"));
    let message = "--restore: the saved device has its write buffer; take [initial] out";
    refused(&folder, DEVICE, "written.state", message);
}

/// A saved device holds what it held, whatever the keys of initial states say.
#[test]
fn keys_of_initial_states_change_nothing_of_a_saved_device() {
    let folder = folder();
    let run = ["run", DEVICE, "read.toml", "--restore", "written.state", "--json"];
    let plain = folder.run(&run);
    assert!(!plain.stderr.contains("changes nothing"), "{plain:?}");
    let state = folder.run(&[&run[..], &["--set", "state.initial=aged"]].concat());
    let note = "note: state.initial changes nothing: a restored device holds what it held";
    assert_eq!(state.stderr.matches(note).count(), 1, "{state:?}");
    assert_eq!(state.json()["latency_ns"], plain.json()["latency_ns"]);
}

#[test]
fn a_state_that_cannot_be_written_is_an_error_and_a_failed_run_leaves_none() {
    let folder = folder();
    let ran = folder.run(&["run", DEVICE, "read.toml", "--save", "none/x.state"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.starts_with("error: none/x.state: cannot be written"), "{ran:?}");
    folder.write("t.txt", "0 0 0 8 1\noops\n");
    let before = folder.files();
    assert_eq!(folder.run(&["run", "t.txt", "--save", "x.state"]).status, Some(2));
    assert_eq!(folder.files(), before);
}

//! Completions of the command line: what the command answers to a shell that asks.

use crate::support::{Folder, finish};
use std::process::{Command, Stdio};

/// The candidates for the last word of a command line, without the lines about them.
fn candidates(folder: &Folder, line: &[&str]) -> Vec<String> {
    let mut command = folder.command(&[&["--", "flashyard"], line].concat());
    let text = finish(command.env("FLASHYARD_COMPLETE", "fish"), None).text();
    let name = |line: &str| line.split('\t').next().unwrap_or_default().to_string();
    text.lines().map(name).collect()
}

#[track_caller]
fn check(folder: &Folder, line: &[&str], expected: &[&str]) {
    assert_eq!(candidates(folder, line), expected, "{line:?}");
}

/// Every command of the command line, and its names of devices and workloads.
#[test]
fn commands_presets_and_workloads_are_candidates() {
    let folder = Folder::new();
    check(&folder, &["comp"], &["compare", "completions"]);
    check(&folder, &["run", "nvme-e"], &["nvme-enterprise"]);
    check(&folder, &["run", "nvme-x"], &["nvme-xl-flash"]);
    check(&folder, &["run", "nvme-tlc", "mixed-"], &["mixed-70-30"]);
    // One name alone may be a workload.
    check(&folder, &["run", "mixed-"], &["mixed-70-30"]);
    check(&folder, &["show", "small-"], &["small-full"]);
    check(&folder, &["reproduce", "fra"], &["framework"]);
    check(&folder, &["reproduce", "a"], &["all"]);
    check(&folder, &["trace", "convert", "movie", "x", "--to", "blk"], &["blkparse"]);
    check(&folder, &["list", "keys", "wea"], &["wear"]);
    check(&folder, &["run", "--ftl", "l"], &["line-cache", "last"]);
    check(&folder, &["why", "--by", ""], &["stream"]);
    check(&folder, &["why", "--class=w"], &["--class=write"]);
}

#[test]
fn keys_and_their_words_are_candidates() {
    let folder = Folder::new();
    check(&folder, &["run", "--set", "ga"], &[]);
    check(&folder, &["run", "--set", "buf"], &["buffer."]);
    check(&folder, &["run", "--set", "gc.po"], &["gc.policy="]);
    check(&folder, &["run", "--set", "gc.policy=gre"], &["gc.policy=greedy"]);
    check(&folder, &["run", "--set=gc.policy=gre"], &["--set=gc.policy=greedy"]);
    check(&folder, &["run", "--set", "nand.read_us="], &[]);
    check(&folder, &["run", "--set", "ftl=f"], &["ftl=fast"]);
    // A device and a workload are named, not set; what reads a trace has a name.
    check(&folder, &["run", "--set", "workload="], &[]);
    check(&folder, &["run", "--set", "trace.form"], &["trace.format="]);
    check(&folder, &["run", "--set", "trace.format=blkp"], &["trace.format=blkparse"]);
    // Numbers of a pattern are keys of the workload, which a study does not take.
    check(&folder, &["run", "--set", "patt"], &["pattern."]);
    check(&folder, &["trace", "info", "movie", "--set", "patt"], &["pattern."]);
    check(&folder, &["reproduce", "drs", "--set", "patt"], &[]);
    let words = candidates(&folder, &["run", "--set", "gc.policy="]);
    let listed = folder.run(&["list", "policies", "--json"]).json();
    let rules = listed["victim_rules"].as_array().expect("a list").iter();
    let rules = rules.map(|rule| format!("gc.policy={}", rule["name"].as_str().unwrap()));
    assert_eq!(words, rules.collect::<Vec<_>>());
}

/// Several values of a key, and alternatives of several keys.
#[test]
fn values_to_compare_are_candidates_one_after_another() {
    let folder = Folder::new();
    let vary = |text: &str| candidates(&folder, &["compare", "drs", "--vary", text]);
    assert_eq!(vary("gc.policy=greedy,fi"), ["gc.policy=greedy,fifo"]);
    assert_eq!(vary("map.store=cmt,gc.po"), ["map.store=cmt,gc.policy="]);
    assert_eq!(vary("map.store=cmt | gc.po"), ["map.store=cmt | gc.policy="]);
    assert_eq!(vary("device=sma"), ["device=small-full"]);
}

#[test]
fn files_and_folders_are_candidates() {
    let folder = Folder::with("my-device.toml", "");
    folder.write("my-traces/one.txt", "");
    check(&folder, &["run", "my-"], &["my-device.toml", "my-traces/"]);
    check(&folder, &["run", "drs", "my-traces/"], &["my-traces/one.txt"]);
    check(&folder, &["run", "--out", "my-"], &["my-traces/"]);
    check(&folder, &["sweep", "my-d"], &["my-device.toml"]);
    check(&folder, &["run", "--capacity", ""], &[]);
}

/// A shell that nobody knows is refused, and with the variable no command runs.
#[test]
fn an_unknown_shell_is_refused() {
    let folder = Folder::new();
    for (shell, words) in [("csh", &["--", "flashyard", "ru"][..]), ("bash", &["man", "pages"])] {
        let mut command = folder.command(words);
        let ran = finish(command.env("FLASHYARD_COMPLETE", shell), None);
        assert!(ran.status == Some(1) && ran.stdout.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains("FLASHYARD_COMPLETE"), "{ran:?}");
    }
    assert!(folder.files().is_empty());
}

/// What bash makes of the script: a word that it splits at `=` is completed behind the sign.
#[test]
fn bash_completes_behind_an_equals_sign() {
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let folder = Folder::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_flashyard"));
    let mut path = vec![program.parent().expect("a folder").to_path_buf()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let ask = |words: &str, current: &str| {
        let line = format!(
            "source <(flashyard completions bash); complete -p flashyard >&2\n\
             COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             COMP_LINE=\"flashyard x{current}\"; COMP_POINT=${{#COMP_LINE}}\n\
             _flashyard flashyard '{current}' x\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", &line]).current_dir(folder.path(""));
        let ran = finish(command.env("PATH", std::env::join_paths(&path).unwrap()), None);
        assert!(ran.stderr.contains("-F _flashyard flashyard"), "{ran:?}");
        ran.text().lines().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(ask("flashyard run --set gc.po", "gc.po"), ["gc.policy="]);
    assert_eq!(ask("flashyard run --set gc.policy = gre", "gre"), ["greedy"]);
    assert!(ask("flashyard run --set gc.policy =", "").contains(&"greedy".to_string()));
    assert_eq!(ask("flashyard run nvme-t", "nvme-t"), ["nvme-tlc"]);
    // Letters of the shell are escaped as the quote asks that is open, which bash keeps for itself.
    for name in ["my file.txt", "it's.txt", "cost$x.txt"] {
        folder.write(name, "");
    }
    for (word, current, expected) in [
        ("my", "my", "my\\ file.txt"),
        ("'\"my f'", "my f", "my file.txt"),
        ("\"'my f\"", "my f", "my file.txt"),
        ("it", "it", "it\\'s.txt"),
        ("'\"it'", "it", "it's.txt"),
        ("\"'it\"", "it", "it'\\''s.txt"),
        ("cost", "cost", "cost\\$x.txt"),
        ("'\"cost'", "cost", "cost\\$x.txt"),
        ("\"'cost\"", "cost", "cost$x.txt"),
    ] {
        assert_eq!(ask(&format!("flashyard run {word}"), current), [expected], "{word}");
    }
}

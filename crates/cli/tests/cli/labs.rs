//! Labs: a right answer passes, answers that are wrong in a plausible way do not, and sheets are
//! the pages of docs/labs.

use crate::support::{Folder, Ran, repository_file};
use serde_json::Value;
use std::collections::BTreeMap;

const LABS: [&str; 3] = ["gc-rule", "slow-tail", "spare-space"];

/// A folder with the files of a lab.
fn started(lab: &str, seed: u64) -> Folder {
    let folder = Folder::new();
    folder.run(&["lab", "start", lab, "--seed", &seed.to_string(), "--out", "."]).text();
    folder
}

/// Fills the form of a lab.
fn fill(folder: &Folder, values: &[(&str, &str)]) {
    let form = String::from_utf8(folder.read("answer.toml")).unwrap();
    let line = |line: &str| {
        let of = |(key, _): &&(&str, &str)| line.starts_with(&format!("{key} ="));
        let value = values.iter().find(of);
        value.map_or_else(|| line.to_string(), |(key, value)| format!("{key} = {value}"))
    };
    let filled: Vec<String> = form.lines().map(line).collect();
    folder.write("answer.toml", filled.join("\n"));
}

/// What the check of a lab says about a criterion.
fn criteria(ran: &Ran) -> Vec<(bool, &str)> {
    let lines = ran.stdout.lines();
    let of = |line| match str::strip_prefix(line, "met ") {
        Some(said) => Some((true, said.trim())),
        None => str::strip_prefix(line, "not met ").map(|said| (false, said.trim())),
    };
    lines.filter_map(of).collect()
}

/// Fails unless the check ends with status 1, with these criteria missed alone.
#[track_caller]
fn missed(ran: &Ran, begins: &[&str]) {
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let missed: Vec<&str> =
        criteria(ran).into_iter().filter(|(met, _)| !met).map(|(_, said)| said).collect();
    assert_eq!(missed.len(), begins.len(), "{missed:?}");
    for (said, begin) in missed.iter().zip(begins) {
        assert!(said.starts_with(begin), "{said} is not about {begin}");
    }
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(last.ends_with("criteria are not met"), "{}", ran.stderr);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
}

#[track_caller]
fn passed(ran: &Ran) {
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(criteria(ran).iter().all(|(met, _)| *met), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
}

#[test]
fn the_sheets_of_labs_are_the_pages_of_the_documents() {
    let folder = Folder::new();
    let listed = folder.run(&["lab", "list"]).text();
    for (number, lab) in (1..).zip(LABS) {
        let source = repository_file(&format!("crates/labs/labs/{lab}.md"));
        if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
            let file = format!("{}/../../docs/labs/{lab}.md", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(file, &source).expect("the page is written");
        }
        assert!(
            repository_file(&format!("docs/labs/{lab}.md")) == source,
            "docs/labs/{lab}.md is out of date: `cargo xtask golden --update` writes it"
        );
        let shown = folder.run(&["lab", "show", lab]).text();
        assert_eq!(shown, folder.run(&["lab", "show", &number.to_string()]).text());
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{lab}");
        assert!(!shown.contains("]("), "links are words: {shown}");
        let title = source.lines().next().unwrap().trim_start_matches("# ");
        assert!(shown.contains(title) && listed.contains(title) && listed.contains(lab), "{lab}");
    }
}

#[test]
fn starting_never_takes_the_place_of_a_file() {
    for lab in LABS {
        let folder = Folder::new();
        let said = folder.run(&["lab", "start", lab]).text();
        let files = folder.files();
        assert!(files.len() >= 3 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
        let again = folder.run(&["lab", "start", lab, "--seed", "2"]);
        assert_eq!(again.status, Some(2), "{again:?}");
        assert!(again.stderr.contains("may hold work of yours"), "{}", again.stderr);
        assert_eq!(files, folder.files());
        // Another seed is another task, the same seed the same one.
        folder.run(&["lab", "start", lab, "--seed", "2", "--out", "2"]).text();
        folder.run(&["lab", "start", lab, "--out", "1"]).text();
        let device = if lab == "gc-rule" { "skewed-device.toml" } else { "device.toml" };
        let of = |place: &str| folder.read(&format!("{place}/{device}"));
        assert!(of(lab) == of("1") && of(lab) != of("2"), "{lab}");
    }
}

#[test]
fn a_built_in_rule_is_judged_and_is_not_ones_own() {
    let folder = Folder::new();
    let check = |rule: &str| folder.run(&["lab", "check", "gc-rule", rule, "--seed", "1"]);
    // The bars can be reached: only the name is against it.
    missed(&check("cost_benefit"), &["cost_benefit is a rule of your own"]);
    let greedy = check("greedy");
    let name = "greedy is a rule of your own";
    missed(
        &greedy,
        &[name, "skewed writes: write amplification", "skewed writes: the most erased"],
    );
    let random = check("random");
    missed(
        &random,
        &[
            "random is a rule of your own",
            "skewed writes: write amplification",
            "uniform writes: write amplification",
        ],
    );
    assert_eq!(random.stdout.matches("(yours)").count(), 1, "{}", random.stdout);
}

/// What `why --json` says of the slow reads: the operation and purpose that most time went to, its
/// part, its suspension, its share, and p99.9 in microseconds.
fn explained(folder: &Folder, seed: &str) -> [String; 6] {
    let args = ["why", "device.toml", "workload.toml", "--seed", seed];
    let tail = ["--class", "read", "--above", "p99.9", "--json"];
    let why = folder.run(&[&args[..], &tail].concat()).json();
    let rows = why["rows"].as_array().unwrap().iter();
    let rows: Vec<&Value> =
        rows.filter(|row| row["op"].is_string() && row["own"].is_null()).collect();
    let ns = |row: &Value| row["ns"].as_u64().unwrap();
    let most = |rows: &[&Value], keys: &[&str]| {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            let words = keys.iter().map(|key| row[*key].as_str().unwrap_or("-"));
            *sums.entry(words.collect::<Vec<_>>().join(" ")).or_default() += ns(row);
        }
        sums.into_iter().max_by_key(|(_, ns)| *ns).unwrap()
    };
    let (kind, time) = most(&rows, &["op", "purpose"]);
    let (op, purpose) = kind.split_once(' ').unwrap();
    let of: Vec<&Value> =
        rows.into_iter().filter(|row| row["op"] == op && row["purpose"] == purpose).collect();
    let share = 100.0 * time as f64 / why["latency_ns"].as_f64().unwrap();
    let p999 = why["percentile_ns"].as_f64().unwrap() / 1e3;
    [
        format!("{op:?}"),
        format!("{purpose:?}"),
        format!("{:?}", most(&of, &["part"]).0),
        format!("{:?}", most(&of, &["suspension"]).0),
        format!("{share:.1}"),
        format!("{p999:.1}"),
    ]
}

const CAUSE: [&str; 6] = ["operation", "purpose", "part", "suspension", "share_percent", "p999_us"];

#[test]
fn what_why_says_and_one_setting_pass_whatever_the_fault() {
    let changes = [
        "nand.erase_suspends=4",
        "nand.program_suspends=4",
        "nand.program_suspends=8",
        "policy.command=rrf",
        "nand.program_suspends=4",
    ];
    let mut causes = std::collections::BTreeSet::new();
    for (seed, change) in (5..).zip(changes) {
        let folder = started("slow-tail", seed);
        let truth = explained(&folder, &seed.to_string());
        let values: Vec<(&str, &str)> =
            CAUSE.into_iter().zip(truth.iter().map(String::as_str)).collect();
        fill(&folder, &values);
        fill(&folder, &[("change", &format!("{change:?}"))]);
        passed(&folder.run(&["lab", "check", "slow-tail", "answer.toml"]));
        causes.insert(truth[..4].join(" "));
    }
    assert_eq!(causes.len(), 5, "each fault has a cause of its own: {causes:?}");
}

#[test]
fn wrong_causes_and_changes_that_do_not_help_are_missed() {
    let folder = started("slow-tail", 5);
    let truth = explained(&folder, "5");
    let values: Vec<(&str, &str)> =
        CAUSE.into_iter().zip(truth.iter().map(String::as_str)).collect();
    fill(&folder, &values);
    let check = |values: &[(&str, &str)]| {
        fill(&folder, values);
        folder.run(&["lab", "check", "slow-tail", "answer.toml"])
    };
    // Suspending programs does not help reads that wait for erases.
    let ran = check(&[("change", "\"nand.program_suspends=16\"")]);
    missed(&ran, &["nand.program_suspends=16: p99.9 of reads is"]);
    // It helps, but at a price. The cause is right in all but its share.
    let ran = check(&[("change", "\"gc.soft_free_blocks=9\""), ("share_percent", "50")]);
    missed(
        &ran,
        &["they take 50 %", "gc.soft_free_blocks=9: p99.9", "gc.soft_free_blocks=9: write"],
    );
    // A hint does not name the answer.
    let wrong = [
        ("operation", "\"program\""),
        ("purpose", "\"host\""),
        ("part", "\"die_program\""),
        ("suspension", "\"used_up\""),
        ("p999_us", "100"),
        ("change", "\"nand.erase_suspends=4\""),
    ];
    let ran = check(&wrong);
    let begins = ["p99.9 of", "slow reads", "the purpose", "this time", "why they", "they take"];
    missed(&ran, &begins);
    let cause =
        ran.stdout.split("IOPS").nth(1).unwrap().split("nand.erase_suspends").next().unwrap();
    assert!(!cause.contains("erase") && !cause.contains("never"), "{cause}");
}

/// The write amplification of cleaning first in, first out, and the valid pages of a victim of 64:
/// `spare` in percent, of a plane of this many blocks, of which `empty` hold nothing.
fn formula(spare: f64, blocks: f64, empty: f64) -> (f64, f64) {
    let places = (blocks - empty) / blocks * (1.0 + spare / 100.0);
    let valid = (0..10_000).fold(0.5, |u: f64, _| (-places * (1.0 - u)).exp());
    (1.0 / (1.0 - valid), 64.0 * valid)
}

#[test]
fn the_least_spare_space_passes_and_more_or_less_does_not() {
    for seed in [1, 2] {
        let folder = started("spare-space", seed);
        let device = String::from_utf8(folder.read("device.toml")).unwrap();
        let blocks = device.lines().find_map(|line| line.strip_prefix("blocks_per_plane = "));
        let blocks: f64 = blocks.unwrap().parse().unwrap();
        let form = String::from_utf8(folder.read("answer.toml")).unwrap();
        let goal = form.split("at most ").nth(1).unwrap().split(".\n").next().unwrap();
        let goal: f64 = goal.parse().unwrap();
        let check = |spare: f64, empty: f64| {
            let (amplification, pages) = formula(spare, blocks, empty);
            fill(
                &folder,
                &[
                    ("over_provisioning_percent", &spare.to_string()),
                    ("predicted_write_amplification", &format!("{amplification:.3}")),
                    ("predicted_valid_pages", &format!("{pages:.2}")),
                ],
            );
            folder.run(&["lab", "check", "spare-space", "answer.toml"])
        };
        // The formula is off by 1 % at most, which is less than half a step.
        let first = (8..100).map(f64::from).find(|spare| formula(*spare, blocks, 3.5).0 <= goal);
        let first = first.expect("some value keeps the goal");
        let least = [first - 1.0, first, first + 1.0].into_iter().find(|spare| {
            let ran = check(*spare, 3.5);
            ran.status == Some(0) && criteria(&ran).len() == 4
        });
        let least = least.expect("one of the three is the least");
        missed(&check(least + 1.0, 3.5), &[&format!("{least} % and {} % miss", least - 1.0)]);
        missed(&check(least - 1.0, 3.5), &[&format!("{} %: write", least - 1.0)]);
        // Free and open blocks left out of the count.
        let ran = check(least, 0.0);
        assert_eq!(ran.status, Some(1));
        let said = criteria(&ran);
        assert!(!said[2].0 && said[0].0 && said[1].0, "{said:?}");
    }
}

#[test]
fn answers_that_cannot_be_read_are_refused_with_place_and_reason() {
    let tail = started("slow-tail", 1);
    let spare = started("spare-space", 1);
    let refused = |folder: &Folder, args: &[&str], said: &str| {
        let ran = folder.run(&[&["lab", "check"][..], args].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {} lacks {said}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    let form = ["slow-tail", "answer.toml"];
    refused(&tail, &form, "answer.toml:26: change: no answer yet");
    fill(&tail, &[("change", "\"nand.program_us=1\"")]);
    refused(&tail, &form, "nand.program_us is not for firmware to decide");
    fill(&tail, &[("change", "\"nand.program_suspends\"")]);
    refused(&tail, &form, "KEY=VALUE is needed");
    fill(&tail, &[("change", "\"gc.pacing=spare\"")]);
    refused(&tail, &form, "p999_us: a number from 1 to");
    fill(&tail, &[("p999_us", "1000"), ("operation", "\"erases\"")]);
    refused(&tail, &form, "did you mean erase?; one of read, program, erase");
    refused(&tail, &["slow-tail", "none.toml"], "none.toml: cannot be read");
    refused(&tail, &["slow-tail", "answer.toml", "--seed", "4"], "the file is for seed 1");
    refused(&tail, &["slow-tail", "device.toml"], "title: no such answer");
    refused(&tail, &["slow-tail", "answer.toml", "--set", "gc.a=1"], "--set: it sets keys of");
    refused(&spare, &["spare-space", "answer.toml"], "a whole number from 8 to 100 is needed");
    fill(&spare, &[("over_provisioning_percent", "20.5")]);
    refused(&spare, &["spare-space", "answer.toml"], "answer.toml:8: over_provisioning_percent");
    refused(&spare, &["gc-rule", "gredy"], "did you mean greedy?");
    let set = ["gc-rule", "fifo", "--set", "ftl.over_provisioning_percent=90"];
    refused(&spare, &set, "it is no key of the rule");
}

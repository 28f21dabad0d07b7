//! The whole command with own parts: what it prints for them, and what it refuses.

use serde_json::Value;
use std::process::{Command, Output};

fn own_parts(line: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_own-parts");
    Command::new(program).args(line.split_whitespace()).output().expect("the program starts")
}

#[track_caller]
fn text(line: &str) -> String {
    let output = own_parts(line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(&text(line)).expect("--json prints JSON")
}

/// The results, without the settings and the command line that led to them.
#[track_caller]
fn results(line: &str) -> Value {
    let mut object = json(line);
    object["device"].take();
    object["provenance"].take();
    object
}

#[track_caller]
fn refused(line: &str) -> String {
    let output = own_parts(line);
    assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
    assert!(output.stdout.is_empty(), "{line}: nothing is printed");
    String::from_utf8(output.stderr).expect("it prints text")
}

/// Overwrites a full device: the work of a rule for victims.
const FULL: &str = "run small-full random-write --check --json --set pattern.requests=6000";

/// The same under the ring.
const RING: &str = "--set ftl.scheme=ring --set map.store=resident";

/// Four mapping units a page, behind a buffer, under the log of parts of pages.
const SECTORS: &str = "--set ftl.scheme=sectors --set map.store=resident \
                       --set nand.program_order=any --set geometry.page_bytes=16384 \
                       --set ftl.mapping_unit_bytes=4096 --set buffer.bytes=1MiB";

/// The work of a command policy: small requests beside long ones.
const BURSTS: &str = "run drs facebook --check --json --set generator.requests=2000";

#[test]
fn a_policy_runs_checked_and_changes_results() {
    let own = results(&format!("{BURSTS} --set policy.command=short-first"));
    for other in ["drs", "size", "fifo"] {
        let built_in = results(&format!("{BURSTS} --set policy.command={other}"));
        assert_eq!(own["workload"], built_in["workload"], "the same requests");
        assert_ne!(own["latency_ns"], built_in["latency_ns"], "{other}");
    }
    let flipped = format!("{BURSTS} --set policy.command=short-first --set policy.short-first.");
    assert_ne!(own, results(&format!("{flipped}limit_ms=0")), "its key does something");
    assert_eq!(own, results(&format!("{flipped}limit_ms=20")), "20 is the default");
}

#[test]
fn a_host_policy_runs_checked_and_changes_results() {
    let serial = "--set host.dispatch_width=1 --set interface.fetch_depth=32";
    let own = results(&format!("{BURSTS} {serial} --set host.policy=reads-first"));
    let fifo = results(&format!("{BURSTS} {serial}"));
    let mean =
        |run: &Value, class: &str| run["latency_ns"][class]["mean"].as_f64().expect("a mean");
    assert!(mean(&own, "read") < mean(&fifo, "read"), "reads go first");
    assert_eq!(own["map"]["hazard_picks"], fifo["map"]["hazard_picks"], "none has to be held");
    let never = results(&format!(
        "{BURSTS} {serial} --set host.policy=reads-first \
         --set host.reads-first.limit_ms=0"
    ));
    assert!(mean(&never, "read") < mean(&own, "read"), "its key does something");
}

#[test]
fn a_bus_policy_runs_checked_and_changes_results() {
    let requests = "--set bus.precision=requests --set geometry.ways=4 --set \
                    channel.command_ns=300 --set channel.ps_per_byte=25000";
    let run = |policy: &str| results(&format!("{BURSTS} {requests} --set {policy}"));
    let own = run("channel.arbitration=read-data-first");
    for other in ["commands_first", "in_order", "sequential"] {
        let built_in = run(&format!("channel.arbitration={other}"));
        assert_eq!(own["workload"], built_in["workload"], "the same requests");
        assert_ne!(own["latency_ns"], built_in["latency_ns"], "{other}");
    }
    let flipped = "channel.arbitration=read-data-first --set \
                   channel.read-data-first.commands_first=false";
    assert_ne!(own, run(flipped), "its key does something");
}

#[test]
fn a_rule_for_victims_runs_checked_and_changes_results() {
    let own = results(&format!("{FULL} --set gc.policy=rested"));
    assert!(own["gc"]["jobs"].as_u64() > Some(0), "blocks were cleaned: {}", own["gc"]);
    let greedy = results(&format!("{FULL} --set gc.policy=greedy"));
    assert_ne!(own["flash"], greedy["flash"]);
    // Every block is at rest at once: then it is greedy.
    let at_once = format!("{FULL} --set gc.policy=rested --set gc.rested.rest_blocks=0");
    assert_eq!(results(&at_once), greedy);
}

#[test]
fn a_mapping_scheme_runs_checked_and_changes_results() {
    let own = results(&format!("{FULL} {RING}"));
    let page = results(&format!("{FULL} --set map.store=resident"));
    assert_eq!(own["workload"]["writes"], page["workload"]["writes"]);
    assert_ne!(own["flash"], page["flash"]);
    let count = |run: &Value, what: &str, purpose: &str| {
        run["flash"][what][purpose].as_u64().expect("a count")
    };
    assert_eq!(count(&own, "programs", "host"), 6_000, "a program a page");
    assert_eq!(own["memory"]["table_bytes"], page["memory"]["table_bytes"], "a table of pages");
    let (copies, erases) = (count(&own, "programs", "gc"), count(&own, "erases", "gc"));
    assert_eq!(count(&own, "reads", "gc"), copies, "each copy is read once");
    // Conservation: every program takes an erased page, and 54 of 320 blocks are spare.
    assert!(copies > 0 && erases > 0 && 64 * (erases + 54) >= 6_000 + copies);
    let far = results(&format!("{FULL} {RING} --set ftl.ring.ahead=9"));
    assert!(count(&far, "programs", "gc") > copies, "less room to fill costs copies");
    // All parts at once, on a device that sees trims and reads too.
    let all = "run small-full mixed-70-30 --check --json --set pattern.requests=3000 \
               --set policy.command=short-first --set pattern.trim_percent=10";
    let all = results(&format!("{all} {RING}"));
    assert!(all["workload"]["trims"].as_u64() > Some(0));
}

/// Small writes fill programs of the log, of which each flash page is gathered out of one to four
/// others; whole pages leave the log alone.
#[test]
fn a_log_of_parts_of_pages_runs_checked_and_fills_programs() {
    let count = |run: &Value, path: &[&str]| {
        let at = path.iter().fold(run, |value, key| &value[*key]);
        at.as_u64().unwrap_or_else(|| panic!("{path:?} is no count"))
    };
    let small = results(&format!("{FULL} {SECTORS}"));
    let held = |run: &Value| {
        let padding = &["flash", "padded_units_by", "host"];
        count(run, &["buffer", "flushed_units"]) + count(run, padding)
    };
    assert_eq!(4 * count(&small, &["flash", "programs", "host"]), held(&small));
    let gathered = count(&small, &["gc", "merges", "full"]);
    let copies = |what: &str| count(&small, &["flash", what, "merge"]);
    assert!(gathered > 1_000 && copies("programs") >= gathered);
    assert!(copies("reads") >= copies("programs") && copies("reads") <= 4 * copies("programs"));
    let writes = "run small-full sequential-write --check --json --set pattern.requests=1500";
    let whole = results(&format!("{writes} {SECTORS}"));
    assert_eq!(count(&whole, &["gc", "merges", "full"]), 0);
    assert_eq!(4 * count(&whole, &["flash", "programs", "host"]), held(&whole));
    let fewer = results(&format!("{FULL} {SECTORS} --set ftl.sectors.log_blocks=12"));
    assert!(count(&fewer, &["gc", "merges", "full"]) < gathered, "a larger log gathers less");
    let mixed = "run small-full mixed-70-30 --check --json --set pattern.requests=3000 \
                 --set pattern.trim_percent=10";
    assert!(count(&results(&format!("{mixed} {SECTORS}")), &["workload", "trims"]) > 0);
    let said = refused(&format!("{FULL} {SECTORS} --set ftl.scheme=ring"));
    assert!(said.contains("its layer does not fill programs that hold 4 mapping units"), "{said}");
    let said = refused(&format!("{FULL} {SECTORS} --set ftl.sectors.log_blocks=100"));
    assert!(said.contains("ftl.sectors.log_blocks: 100 of 160 blocks"), "{said}");
}

#[test]
fn settings_of_own_parts_are_echoed() {
    let line = format!(
        "{BURSTS} --set policy.command=short-first --set policy.short-first.limit_ms=1.5 \
         --set gc.policy=rested"
    );
    let object = json(&line);
    let device = &object["device"];
    assert_eq!(device["policy"]["command"], "short-first");
    assert_eq!(device["policy.short-first"]["limit_ms"], 1.5);
    assert_eq!(device["gc"]["policy"], "rested");
    assert_eq!(device["gc.rested"]["rest_blocks"], 8);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(object["provenance"]["command"], serde_json::json!(words));
    let sha = |object: &Value| object["provenance"]["device_sha256"].clone();
    let other = json(&format!("{BURSTS} --set policy.command=short-first --set gc.policy=rested"));
    assert_ne!(sha(&object), sha(&other), "the hash covers keys of own parts");
}

#[test]
fn own_and_built_in_parts_are_compared() {
    let line = "compare drs facebook --check --json --set generator.requests=500 \
                --vary policy.command=drs,short-first --vary gc.policy=greedy,rested";
    let runs = json(line);
    let runs = runs.as_array().expect("an object a run");
    let names: Vec<_> = runs
        .iter()
        .map(|run| (run["device"]["policy"]["command"].clone(), run["device"]["gc"].clone()))
        .map(|(command, gc)| (command, gc["policy"].clone()))
        .collect();
    let pair = |command: &str, rule: &str| (command.into(), rule.into());
    let expected = [
        ("drs", "greedy"),
        ("drs", "rested"),
        ("short-first", "greedy"),
        ("short-first", "rested"),
    ];
    assert_eq!(names, expected.map(|(command, rule)| pair(command, rule)));
    assert_ne!(runs[0]["latency_ns"], runs[2]["latency_ns"]);
}

#[test]
fn a_device_file_names_own_parts() {
    let file = std::env::temp_dir().join(format!("own-parts-{}.toml", std::process::id()));
    let text =
        "base = 'drs'\n[policy]\ncommand = 'short-first'\n[policy.short-first]\nlimit_ms = 7\n";
    std::fs::write(&file, text).expect("the file is written");
    let set = "--set policy.command=short-first --set policy.short-first.limit_ms=7";
    let tail = "facebook --json --set generator.requests=200";
    let by_file = results(&format!("run {} {tail}", file.display()));
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!(by_file, results(&format!("run drs {tail} {set}")));
}

#[test]
fn lists_show_own_parts_behind_built_in_ones() {
    let policies = text("list policies");
    let line = |name: &str| policies.lines().position(|line| line.trim_start().starts_with(name));
    assert!(line("drs") < line("short-first") && line("short-first") < line("host policies"));
    assert!(line("host policies") < line("reads-first") && line("reads-first") < line("rested"));
    assert!(line("greedy") < line("rested"));
    assert!(policies.contains("Small requests first"));
    let ftls = text("list ftls small-full");
    let ring: Vec<&str> =
        ftls.lines().skip_while(|line| !line.starts_with("ring")).take(3).collect();
    let [row, maps, sets] = ring[..] else { panic!("the ring is listed: {ftls}") };
    assert!(row.ends_with("runs"), "{row}");
    assert_eq!(maps.trim(), "maps: The pages of a plane in a ring");
    assert_eq!(sets.trim(), "sets: ftl.scheme=ring");
    let keys = text("list keys");
    assert!(keys.contains("[policy.short-first]") && keys.contains("limit_ms = 20  (ms, 0 to"));
    assert!(keys.contains("[gc.rested]") && keys.contains("fair | short-first)"));
}

#[test]
fn wrong_names_are_refused_with_the_nearest_known_one() {
    let said = refused("run --set policy.command=shrot-first");
    assert!(said.contains("fair, short-first; did you mean short-first?"), "{said}");
    let said = refused("run --set gc.policy=restd");
    assert!(said.contains("did you mean rested?"), "{said}");
    let said = refused("run --set policy.short-first.limit=1");
    assert!(said.contains("did you mean policy.short-first.limit_ms?"), "{said}");
    let said = refused(&format!("run {RING} --set ftl.scheme=rign"));
    assert!(said.contains("sectors; did you mean ring?"), "{said}");
    let said = refused(&format!("run small-full {RING} --set ftl.ring.ahead=1000"));
    assert!(said.contains("ftl.ring.ahead: 1000 of 2"), "{said}");
    let said = refused("run --set ftl.scheme=ring");
    assert!(said.contains("map.store: ftl.scheme = \"ring\" keeps its own map"), "{said}");
    let said = refused("compare --vary policy.short-first.limit_ms=1,x");
    assert!(said.contains("x is not a number (ms) from 0 to 10000"), "{said}");
}

#[test]
fn the_rest_of_the_command_is_there() {
    assert!(text("trace info facebook --set generator.requests=50").contains("requests"));
    assert!(text("run --help").contains("own-parts run"));
}

#[test]
fn the_schema_has_own_words_and_keys() {
    let schema = json("schema run");
    let sections = &schema["$defs"]["flash_device"]["properties"];
    let words = sections["policy"]["properties"]["command"]["enum"].as_array().expect("words");
    assert!(words.contains(&"short-first".into()), "{words:?}");
    let limit = &sections["policy.short-first"]["properties"]["limit_ms"];
    assert_eq!(limit["x-unit"], "ms");
    // The keys of what runs are those that the schema asks for.
    let run = json("run toy --json --set policy.command=short-first");
    for (section, keys) in run["device"].as_object().expect("sections") {
        let known = sections[section]["properties"].as_object().expect("a section");
        let keys = keys.as_object().expect("keys");
        assert!(known.keys().eq(keys.keys()), "{section}: {known:?} and {keys:?}");
    }
}

/// The lab for rules: a rule that weighs age and valid units meets every criterion, one that is
/// greedy under another name does not.
#[test]
fn a_rule_of_ones_own_passes_the_lab() {
    let said = text("lab check gc-rule rested");
    assert!(said.contains("rested (yours)") && said.contains("all 6 criteria are met"), "{said}");
    let output = own_parts("lab check gc-rule rested --set gc.rested.rest_blocks=0");
    let said = String::from_utf8(output.stdout).expect("it prints text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("not met ").count(), 2, "{said}");
    assert!(said.contains("skewed writes: write amplification is 1.000 of greedy's"), "{said}");
    let said = refused("lab check gc-rule rested --set gc.rested.rest=1");
    assert!(said.contains("did you mean gc.rested.rest_blocks?"), "{said}");
}

//! `flashyard reproduce` on a few requests of each workload. The rule of its verdicts is tested
//! with made-up figures beside its code.

use crate::schema::Schema;
use crate::support::{Folder, finish, repository_file};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::OnceLock;

const STUDIES: [&str; 6] = ["drs", "energy", "ros", "cache-aware", "framework", "crossings"];

const VERDICTS: [&str; 9] = [
    "holds",
    "in part",
    "does not hold",
    "not shown",
    "nothing happened",
    "open",
    "by definition",
    "by calibration",
    "not judged",
];

/// The object of a study, which is run once for all tests.
fn study(name: &str) -> &'static Value {
    static OBJECTS: [OnceLock<Value>; 6] = [const { OnceLock::new() }; 6];
    let place = STUDIES.iter().position(|known| *known == name).expect("one of the studies");
    OBJECTS[place].get_or_init(|| {
        let args = ["reproduce", name, "--json", "--requests", "40", "--replicas", "2"];
        let object = Folder::new().run(&args).json();
        Schema::of("reproduce").check(name, &object);
        object
    })
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().map(text).collect()
}

/// The statements of a file, published or asked.
fn stated(name: &str, kind: &str) -> Vec<toml::Table> {
    let file: toml::Table =
        repository_file(&format!("crates/studies/experiments/{name}.toml")).parse().unwrap();
    let Some(rows) = file.get(kind) else { return Vec::new() };
    let rows = rows.as_array().unwrap().iter();
    let statements = rows.flat_map(|row| row["statement"].as_array().unwrap());
    statements.map(|statement| statement.as_table().unwrap().clone()).collect()
}

/// Every statement of the file is judged, in its order, with a verdict of the rule.
#[test]
fn statements_are_all_judged() {
    for name in STUDIES {
        let object = study(name);
        assert_eq!((&object["schema_version"], text(&object["study"])), (&json!(1), name));
        for kind in ["published", "asked"] {
            let stated = stated(name, kind);
            let judged = list(&object[kind]);
            assert_eq!(judged.len(), stated.len(), "{name}");
            for (judged, stated) in judged.iter().zip(&stated) {
                for key in ["quote", "says", "place", "form"] {
                    let stated = stated.get(key).map_or(Value::Null, |v| json!(v.as_str()));
                    assert_eq!(judged[key], stated, "{name}");
                }
                let verdict = text(&judged["verdict"]);
                assert!(VERDICTS.contains(&verdict), "{judged}");
                let by = stated.get("by").map(|by| format!("by {}", by.as_str().unwrap()));
                assert!(
                    !verdict.starts_with("by ")
                        || by.is_some_and(|by| by == verdict)
                        || stated.contains_key("by_generated"),
                    "{judged}"
                );
                let is_part = stated.contains_key("part");
                assert_eq!(list(&judged["parts"]).is_empty(), !is_part, "{judged}");
                // Only parts and workloads hold in part.
                let goes_over = stated.get("holds").is_some_and(|holds| {
                    let text = holds.as_str().unwrap();
                    ["all(", "most(", "any("].iter().any(|word| text.contains(word))
                });
                assert!(verdict != "in part" || is_part || goes_over, "{judged}");
            }
        }
    }
}

/// No figure of ours stands under what is published but in what was found.
#[test]
fn quotations_have_their_place() {
    for name in STUDIES {
        for statement in stated(name, "published") {
            assert_eq!(statement.contains_key("quote"), statement.contains_key("place"), "{name}");
            assert_ne!(statement.contains_key("quote"), statement.contains_key("says"), "{name}");
            assert!(statement.contains_key("form"), "{name}: {statement:?}");
        }
    }
}

/// Every grid has all its runs, and every run its figures.
#[test]
fn grids_are_all_run() {
    for name in STUDIES {
        let object = study(name);
        let runs = list(&object["runs"]);
        let mut grids: Vec<&str> = runs.iter().map(|run| text(&run["grid"])).collect();
        grids.dedup();
        for grid in grids {
            let own: Vec<&Value> = runs.iter().filter(|run| run["grid"] == grid).collect();
            let count = |field: &str| {
                let mut all: Vec<&str> = own.iter().map(|run| text(&run[field])).collect();
                all.sort_unstable();
                all.dedup();
                all.len()
            };
            let product = count("point") * count("subject") * count("workload");
            assert_eq!(own.len(), product, "{name}: {grid}");
        }
        for run in runs {
            let figure = |figure: &str| run["figures"][figure].as_f64();
            if let (Some(read), Some(write)) = (figure("read"), figure("write")) {
                let io = figure("io").expect("a mean");
                let flush = figure("flush").unwrap_or(read);
                let (least, most) = (read.min(write).min(flush), read.max(write).max(flush));
                assert!(least <= io && io <= most, "{run}");
            }
            assert!(figure("energy").is_some() && figure("makespan").is_some(), "{run}");
        }
    }
}

/// The parts of each run's energy add up to it.
#[test]
fn energies_by_operation_add_up() {
    let object = study("energy");
    for run in list(&object["runs"]) {
        let of = |name: &str| run["figures"][name].as_f64().expect("a figure");
        let parts = [
            "host_read_energy",
            "host_write_energy",
            "copy_read_energy",
            "copy_write_energy",
            "map_read_energy",
            "map_write_energy",
            "erase_energy",
            "other_energy",
        ];
        let sum: f64 = parts.iter().map(|part| of(part)).sum();
        assert!((sum - of("energy")).abs() < 0.5, "{run}");
        assert!(of("post_energy") <= of("energy"));
        let looks = if text(&run["grid"]).contains("nJ a look") { of("looks") } else { 0.0 };
        assert!((of("search_energy") - 15_000.0 * looks).abs() < 0.5, "{run}");
    }
}

/// Ratios to the baseline are exactly 1 for the baseline.
#[test]
fn tables_have_their_rows_and_columns() {
    let table = |name: &str, title: &str| -> &'static Value {
        let tables = list(&study(name)["tables"]).iter();
        let mut found = tables.filter(|table| text(&table["title"]).starts_with(title));
        found.next().unwrap_or_else(|| panic!("{name} has no table {title}"))
    };
    let reads = table("drs", "Mean read latency over that of RCF (figure 9)");
    assert_eq!(texts(&reads["columns"]), ["rcf", "size", "rrf", "fot", "drs", "rcf us", "reads"]);
    let rows = list(&reads["rows"]);
    let names: Vec<&str> = rows.iter().map(|row| text(&row["name"])).collect();
    let workloads =
        ["Movie", "YouTube", "Booting", "Facebook", "AngryBird", "Radio", "Radio/Msg", "Radio/WB"];
    assert_eq!(names[..8], workloads);
    assert!(names[8] == "mean of phones" && names[names.len() - 1] == "median");
    assert!(rows.iter().all(|row| row["values"][0].is_null() || row["values"][0] == json!(1.0)));
    let depths = table("drs", "Queue depth: mean read latency of DRS");
    let expected: Vec<String> = (0..=9).map(|power| (1 << power).to_string()).collect();
    assert_eq!(texts(&depths["columns"]), expected);
    let caches = table("drs", "Map cache in bytes");
    let bytes: Vec<&str> = list(&caches["rows"]).iter().map(|row| text(&row["name"])).collect();
    assert_eq!(bytes, (9..=16).map(|power| (1 << power).to_string()).collect::<Vec<_>>());
    // Means leave out what is not there, and are those of the rows above.
    let mean = rows[8]["values"][4].as_f64().expect("a mean");
    let own: Vec<f64> = rows[..8].iter().filter_map(|row| row["values"][4].as_f64()).collect();
    assert!((own.iter().sum::<f64>() / own.len() as f64 - mean).abs() < 1e-9);
}

/// A column whose name ends in a unit of time or energy holds its values in this unit.
#[test]
fn tables_hold_what_the_names_of_their_columns_say() {
    let units = ["us", "ms", "J", "mJ", "uJ"];
    for name in STUDIES {
        for table in list(&study(name)["tables"]) {
            for (column, unit) in texts(&table["columns"]).iter().zip(list(&table["units"])) {
                let last = column.rsplit(' ').next().expect("a word");
                assert!(!units.contains(&last) || unit == last, "{name}: {column}: {unit}");
            }
        }
    }
    let object = study("drs");
    let is = |table: &&Value| text(&table["title"]).starts_with("Mean read latency over that of");
    let table = list(&object["tables"]).iter().find(is).expect("a table");
    let is = |run: &&Value| run["subject"] == "rcf" && run["workload"] == "Movie";
    let run = list(&object["runs"]).iter().find(is).expect("a run");
    let ns = run["figures"]["read"].as_f64().expect("a figure");
    assert_eq!(table["rows"][0]["values"][5], json!(ns / 1e3));
}

/// What is expected of the examples comes out; here once more, by hand.
#[test]
fn worked_examples_come_out() {
    let found = |name: &str, example: usize, what: &str| -> Vec<String> {
        let example = &study(name)["examples"][example];
        let mut all = Vec::new();
        for run in list(&example["runs"]) {
            for check in list(&run["checks"]) {
                assert_eq!(check["holds"], true, "{name}: {example}");
                if check["what"] == what {
                    all.push(format!("{}: {}", text(&run["subject"]), text(&check["found"])));
                }
            }
        }
        all
    };
    // A put takes 3, a get 1, a program 5.
    assert_eq!(found("ros", 0, "total"), ["is: 18", "ris: 17", "ros: 12"]);
    assert_eq!(found("ros", 0, "hidden reads"), ["is: 0 of 4", "ris: 1 of 4", "ros: 4 of 4"]);
    // Every write misses and evicts (6 each), or three hit first (1 each) and one evicts.
    let both =
        |fifo: u32, aware: u32| vec![format!("fifo: {fifo}"), format!("cache-read-aware: {aware}")];
    assert_eq!(found("cache-aware", 1, "total"), both(4 * 6, 3 + 6));
    assert_eq!(found("cache-aware", 1, "programs"), both(4, 1));
    assert_eq!(found("cache-aware", 2, "total"), both(6 + 3, 3 + 6));
    // A read waits for a program of 10, or none does.
    assert_eq!(found("cache-aware", 3, "total"), both(2 * 2 + 3 + 10, 2 * 2 + 3));
    // Figure 4: four reads by turns, then programs; or the shorter request first.
    let reads = found("drs", 0, "mean read");
    assert_eq!(reads[0], format!("rcf (figure 4 b): {}", f64::midpoint(1820.0, 240.0)));
    assert_eq!(reads[2], format!("drs (figure 4 c): {}", f64::midpoint(1000.0, 120.0)));
    // Figure 8: while request 3 waits for them, MRe and MP of request 1, a write, are in RRQ.
    let commands = found("drs", 1, "commands");
    assert!(commands[0].contains(" 1MRe[WRQ]@120 1MP[WRQ]@180 3MRf[RRQ]@880 "), "{commands:?}");
    assert!(commands[1].contains(" 1MRe[RRQ]@120 1MP[RRQ]@180 3MRf[RRQ]@880 "), "{commands:?}");
    assert!(commands[1].contains(" 1MRf[WRQ]@1000 1DP[WRQ]@1060 "), "{commands:?}");
}

/// One request at a time: whenever one is started, all dies are idle but for flushes.
#[test]
fn idle_is_fifo_with_one_request_at_a_time() {
    let object = study("cache-aware");
    let runs = list(&object["runs"]).iter().filter(|run| run["grid"] == "policies");
    let runs: Vec<&Value> = runs.collect();
    for run in runs.iter().filter(|run| run["subject"] == "idle") {
        let fifo = runs
            .iter()
            .find(|other| other["workload"] == run["workload"] && other["subject"] == "fifo");
        assert_eq!(run["figures"], fifo.expect("a run of fifo")["figures"]);
    }
    let is = |statement: &&Value| statement["says"] == "IDLE is FIFO";
    let statement = list(&object["asked"]).iter().find(is).expect("a statement");
    assert_eq!(statement["verdict"], "by definition", "{statement}");
}

/// Streams burst in the middle third of a run that lasts for a time: forty requests show nothing.
#[test]
fn nothing_is_judged_of_runs_that_end_before_their_time() {
    let object = study("framework");
    for statement in list(&object["published"]).iter().chain(list(&object["asked"])) {
        assert_eq!(statement["verdict"], "not judged", "{statement}");
    }
}

/// Tables say how busy the baseline is: requests outstanding, by the law of Little.
#[test]
fn tables_have_the_load_of_the_baseline() {
    let object = study("ros");
    let is = |table: &&Value| table["title"] == "Banks: ROS over IS";
    let table = list(&object["tables"]).iter().find(is).expect("a table");
    let runs = list(&object["runs"]).iter();
    let runs = runs.filter(|run| run["grid"] == "banks" && run["subject"] == "is");
    let loads = runs.map(|run| {
        let figure = |name: &str| run["figures"][name].as_f64().expect("a figure");
        figure("rate") * figure("io") / 1e9
    });
    let (low, high) =
        loads.fold((f64::MAX, 0.0_f64), |(low, high), load| (low.min(load), high.max(load)));
    for (found, expected) in list(&table["baseline_load"]).iter().zip([low, high]) {
        let found = found.as_f64().expect("a number");
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
    }
}

/// The memory of the buffer decides its standby power: the same times, 98 and 15 uW/MiB.
#[test]
fn a_dram_stands_by_at_more_power_than_a_pram() {
    let runs = list(&study("ros")["runs"]).iter().filter(|run| run["grid"] == "memory");
    let standby = |run: &Value| run["figures"]["buffer_standby"].as_f64().expect("a figure");
    let runs: Vec<&Value> = runs.collect();
    let (dram, pram) = runs.split_at(runs.len() / 2);
    assert_eq!((&dram[0]["point"], &pram[0]["point"]), (&json!("DRAM"), &json!("PRAM")));
    for (dram, pram) in dram.iter().zip(pram) {
        assert_eq!((&dram["workload"], &dram["subject"]), (&pram["workload"], &pram["subject"]));
        let expected = standby(pram) * 98.0 / 15.0;
        assert!(standby(pram) > 0.0 && (standby(dram) - expected).abs() <= 7.0);
    }
}

/// Every combination of three buffers, two maps and two command policies, on several dies.
#[test]
fn crossings_are_all_combinations() {
    let object = study("crossings");
    let subjects = texts(&object["subjects"]);
    assert_eq!(
        (subjects.len(), subjects[0], subjects[11]),
        (12, "none, lines, rcf", "PRAM, DFTL, drs")
    );
    for run in list(&object["runs"]) {
        let standby = run["figures"]["buffer_standby"].as_f64().expect("a figure");
        assert_eq!(standby > 0.0, !text(&run["subject"]).starts_with("none"), "{run}");
    }
}

/// Replicas are numbered, so their order does not depend on threads.
#[test]
fn a_study_does_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    let args = ["reproduce", "crossings", "--json", "--requests", "60", "--replicas", "2"];
    let texts = ["1", "2"].map(|threads| {
        let mut command = folder.command(&args);
        finish(command.env("RAYON_NUM_THREADS", threads).stdin(Stdio::null()), None).text()
    });
    assert_eq!(texts[0], texts[1]);
}

/// All that is printed fits, and nothing is judged where no noise is measured.
#[test]
fn what_is_printed_fits_a_terminal() {
    let args = ["reproduce", "ros", "--requests", "40", "--replicas", "0"];
    let printed = Folder::new().run(&args).text();
    for line in printed.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let (_, verdicts) = printed.split_once("What is published: ").expect("verdicts");
    let judged: Vec<&str> = verdicts.lines().filter(|line| line.starts_with("  holds ")).collect();
    assert_eq!(judged, [""; 0]);
    assert!(printed.contains("  not judged        ROS lowers the mean read latency by 30 %"));
}

/// The short form takes its requests and replicas from the file, and prints the verdicts alone:
/// a line each.
#[test]
fn a_short_study_prints_a_line_for_each_verdict() {
    let folder = Folder::new();
    let run = |name: &str, more: &[&str]| {
        let name = format!("{name}.toml");
        let file = repository_file(&format!("crates/studies/experiments/{name}"));
        let (before, after) = file.split_once("[short]\n").expect("a short form");
        let (_, after) = after.split_once("\n\n").unwrap();
        let short = "[short]\nrequests = 40\nreplicas = 2\n\n";
        folder.write(&name, format!("{before}{short}{after}"));
        folder.run(&[&["reproduce", &name, "--short"][..], more].concat())
    };
    let printed = run("cache-aware", &[]).text();
    let statements =
        stated("cache-aware", "published").len() + stated("cache-aware", "asked").len();
    let is_verdict =
        |line: &&str| VERDICTS.iter().any(|word| line.starts_with(&format!("  {word:<18}")));
    assert_eq!(printed.lines().filter(is_verdict).count(), statements, "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
    assert!(printed.contains("the recorded traces of the study are not there"), "{printed}");
    let object = run("crossings", &["--json"]).json();
    let replicas = list(&object["runs"]).iter().map(|run| run["replicas"].as_u64().unwrap());
    assert_eq!((&object["replicas"], replicas.max()), (&json!(2), Some(2)));
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().map_or_else(Vec::new, |object| object.keys().cloned().collect())
}

#[test]
fn figures_of_studies_are_documented() {
    let studies = repository_file("docs/STUDIES.md");
    for name in STUDIES {
        let object = study(name);
        for figure in keys(&object["runs"][0]["figures"]) {
            assert!(studies.contains(&format!("| `{figure}` |")), "STUDIES.md lacks {figure}");
        }
    }
}

/// A study whose runs are cut, with a fault and without.
const CUT: &str = r#"
title = "t"
source = "s"
notes = "n"
replicas = 0
[[device]]
name = "d"
preset = "small-full"
settings = ["geometry.pages_per_block=8", "state.initial=fresh", "power.oob_scan=true"]
[[subject]]
name = "sound"
[[subject]]
name = "faulty"
settings = ["power.fault=unserialisable"]
[[group]]
name = "g"
[[group.workload]]
name = "w"
built_in = "random-write"
settings = ["pattern.requests=300", "pattern.range_percent=3", "pattern.fua_every=2"]
[[grid]]
name = "cut"
device = "d"
cuts = 10
[[fault]]
class = "unserialisable writes"
plants = "the first page"
drives = [8, 15]
grid = "cut"
faulty = "faulty"
sound = "sound"
[[asked]]
about = "a"
grid = "cut"
[[asked.statement]]
says = "a sound device keeps its promises"
holds = "all(breaking(sound) = 0)"
found = "{mean(breaking(sound)) | count} and {mean(breaking(faulty)) | count} of {mean(cuts(sound)) | count}"
"#;

/// Cuts of a study find the fault and name what was promised: on the screen and as data.
#[test]
fn planted_faults_are_named() {
    let folder = Folder::with("cut.toml", CUT);
    let object = folder.run(&["reproduce", "cut.toml", "--json"]).json();
    Schema::of("reproduce").check("cut.toml", &object);
    let fault = &object["faults"][0];
    assert_eq!(
        (&fault["class"], &fault["drives"]),
        (&json!("unserialisable writes"), &json!([8, 15]))
    );
    assert_eq!((&fault["sound"]["breaking"], &fault["sound"]["cuts"]), (&json!(0.0), &json!(10.0)));
    assert_eq!(fault["sound"]["first_broken"], Value::Null);
    let first = &fault["faulty"]["first_broken"];
    assert!(fault["faulty"]["breaking"].as_f64() > Some(5.0), "{fault}");
    // Without a buffer each answer says that the write is kept.
    assert_eq!((&first["rule"], &first["how"]), (&json!("durable"), &json!("unfound")));
    assert_eq!(object["runs"][1]["cuts"], fault["faulty"]);
    let text = folder.run(&["reproduce", "cut.toml"]).text();
    let named = format!(
        "request {}, unit {}, change {}",
        first["request"], first["unit"], first["version"]
    );
    assert!(text.replace("\n      ", " ").contains(&named), "{named}: {text}");
    for (from, to, why) in [
        ("faulty = \"faulty\"", "faulty = \"fautly\"", "no subject of this name"),
        ("cuts = 10", "cuts = 10\nkey = \"queue.depth\"\nvalues = [1, 2]", "one point"),
        ("\"power.oob_scan=true\"", "\"power.oob_scan=false\"", "power.fault"),
    ] {
        let ran = Folder::with("cut.toml", CUT.replace(from, to)).run(&["reproduce", "cut.toml"]);
        assert!(ran.status == Some(2) && ran.stderr.contains(why), "{why}: {}", ran.stderr);
    }
}

/// The example of STUDIES.md is a study.
#[test]
fn a_study_is_a_file_of_a_users_own() {
    let docs = repository_file("docs/STUDIES.md");
    let start = docs.find("    title = ").expect("an experiment file");
    let lines =
        docs[start..].lines().take_while(|line| line.is_empty() || line.starts_with("    "));
    let file = lines.map(str::trim_start).collect::<Vec<_>>().join("\n");
    let folder = Folder::with("my-study.toml", &file);
    let args = ["reproduce", "my-study.toml", "--requests", "100", "--json"];
    let object = folder.run(&args).json();
    assert_eq!(list(&object["runs"]).len(), 2 * 2 * 5);
    assert_eq!(list(&object["asked"]).len(), 2);
    assert_eq!(object["replicas"], 5);
    folder.write("wrong.toml", file.replace("read(rcf/fifo)", "read(rfc/fifo)"));
    let ran = folder.run(&["reproduce", "wrong.toml"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("rfc: no subject of this name; did you mean rcf?"), "{ran:?}");
}

/// A load at which the queue of the run itself stays short, and that of a replica grows.
const NEAR: &str = r#"
title = "t"
source = "s"
notes = "n"
replicas = 6
[[device]]
name = "one die"
preset = "drs"
settings = ["map.store=resident", "policy.command=fifo", "queue.depth=64", "nand.read_us=130"]
[[subject]]
name = "c"
[[group]]
name = "g"
[[group.workload]]
name = "w"
built_in = "random-read"
settings = [
    "pattern.requests=2000",
    "stream.pacing=open",
    "pattern.arrival=poisson",
    "pattern.rate_per_s=7600",
]
[[grid]]
name = "runs"
device = "one die"
[[table]]
title = "t"
grid = "runs"
rows = "workloads"
column = [{ title = "c", cell = "read(c)" }]
[[asked]]
about = "c"
grid = "runs"
[[asked.statement]]
says = "c takes more than nothing"
holds = "mean(read(c)) > 0"
found = "{mean(read(c)) | us} us"
"#;

/// An interval over replicas of which some are overloaded shows nothing: the figure is marked, and
/// not judged.
#[test]
fn a_replica_whose_queue_grows_marks_the_run() {
    let folder = Folder::with("near.toml", NEAR);
    let object = folder.run(&["reproduce", "near.toml", "--json"]).json();
    Schema::of("reproduce").check("near.toml", &object);
    let run = &object["runs"][0];
    assert_eq!((&run["queue_grew"], &run["replicas"]), (&json!(false), &json!(6)));
    assert!(run["replicas_grew"].as_u64().is_some_and(|grew| 0 < grew && grew < 6), "{run}");
    assert_eq!(object["tables"][0]["rows"][0]["overloaded"], json!([true]));
    let statement = &object["asked"][0];
    assert_eq!(statement["verdict"], "not judged");
    assert!(text(&statement["found"]).ends_with("* us; its queue grows"), "{statement}");
    // Without replicas nothing is known of them.
    let alone = folder.run(&["reproduce", "near.toml", "--replicas", "0", "--json"]).json();
    assert_eq!(alone["runs"][0]["replicas_grew"], 0);
    assert_eq!(alone["tables"][0]["rows"][0]["overloaded"], json!([false]));
}

/// Two streams of 0.6 s, of which the first bursts from 200 to 400 ms.
const BURST: &str = r#"
[phase]
time_ms = 600
[[stream]]
name = "a"
gap_min_us = 800
gap_max_us = 1_200
burst_from_ms = 200
burst_until_ms = 400
burst_min_us = 100
burst_max_us = 200
[stream.raw]
base = "raw-1-256-256"
requests = 0
[[stream]]
name = "b"
gap_min_us = 800
gap_max_us = 1_200
[stream.raw]
base = "raw-1-256-256"
requests = 0
"#;

/// A workload that the device paces is run as `run` runs it; its figures are those of the series.
#[test]
fn plans_are_run_as_workload_files_are() {
    let study = format!(
        "title = \"t\"\nsource = \"s\"\nnotes = \"n\"\nreplicas = 2\nseed = 7\n\
         [[device]]\nname = \"d\"\npreset = \"framework\"\nsettings = [\"metrics.bin_ms=20\"]\n\
         [[subject]]\nname = \"fair\"\nsettings = [\"policy.command=fair\"]\n\
         [[group]]\nname = \"g\"\n[[group.workload]]\nname = \"w\"\nplan = '''{BURST}'''\n\
         [[grid]]\nname = \"one\"\ndevice = \"d\"\n[[asked]]\nabout = \"a\"\ngrid = \"one\"\n\
         [[asked.statement]]\nsays = \"b stays\"\n\
         holds = \"all(second_during(fair) > 0)\"\n"
    );
    let folder = Folder::with("study.toml", &study);
    folder.write("burst.toml", BURST);
    let object = folder.run(&["reproduce", "study.toml", "--json"]).json();
    assert_eq!(object["asked"][0]["verdict"], "holds");
    let figures = &object["runs"][0]["figures"];
    let set = ["--set", "metrics.bin_ms=20", "--set", "policy.command=fair", "--seed", "7"];
    let args = [&["run", "framework", "burst.toml", "--json"][..], &set].concat();
    let run = folder.run(&args).json();
    let bytes = |of: &Value| of.as_u64().unwrap();
    let near = |figure: &str, bytes: u64, ms: u64| {
        let found = figures[figure].as_f64().unwrap();
        let expected = bytes as f64 / ms as f64 / 1e3;
        assert!((found - expected).abs() < 1e-9, "{figure}: {found}, expected {expected}");
    };
    let bins = list(&run["series"]["bins"])[3..30].iter();
    let all = bins.map(|bin| bytes(&bin["read_bytes"]) + bytes(&bin["write_bytes"])).sum();
    near("bandwidth", all, 540);
    for (stream, name) in [("a", "first"), ("b", "second")] {
        let of_stream: Vec<u64> =
            list(&run["streams"][stream]["bin_bytes"]).iter().map(bytes).collect();
        for (part, when) in ["before", "during", "after"].into_iter().enumerate() {
            let sum = of_stream[part * 10..part * 10 + 10].iter().sum();
            near(&format!("{name}_{when}"), sum, 200);
        }
    }
    // Requests that the device paces have no arrivals to scale.
    let scaled = study.replace(
        "device = \"d\"",
        "device = \"d\"\n[[grid.point]]\nname = \"p\"\ntime_scale = 2.0",
    );
    folder.write("scaled.toml", scaled);
    let ran = folder.run(&["reproduce", "scaled.toml"]);
    assert!(ran.stderr.contains("w: time_scale and load are for requests that come"), "{ran:?}");
}

#[test]
fn what_studies_set_themselves_and_what_they_lack_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("empty")).unwrap();
    let none = "empty: neither it nor a directory in it has any of ssdsim_example_fin1_10k.ascii";
    for (args, what) in [
        (&["ros", "--set", "host.policy=is"][..], "--set host.policy=is: the study itself sets"),
        (&["ros", "--set", "buffer.banks=2"], "--set buffer.banks=2: the study itself sets"),
        (&["cache-aware", "--set", "metrics.skip_requests=1"], "the study itself sets"),
        (&["cache-aware", "--set", "mix.requests=9"], "the study itself sets mix.requests"),
        (&["framework", "--set", "phase.time_ms=9"], "the study itself sets phase.time_ms"),
        (&["crossings", "--set", "map.store=resident"], "the study itself sets map.store"),
        (&["drs", "--set", "queue.depth=9"], "the study itself sets queue.depth"),
        (&["energy", "--set", "ftl.scheme=fast"], "the study itself sets ftl.scheme"),
        (&["energy", "--set", "gc.window.share_percent=1"], "sets gc.window.share_percent"),
        (&["energy", "--set", "state.initial=full"], "the study itself sets state.initial"),
        (&["energy", "--traces", "empty"], none),
        (&["energy", "--device", "nope"], "nope: no such device preset or file"),
        (&["ros", "--requests", "0"], "0 is not in 1.."),
        (&["ros", "--replicas", "1"], "noise needs two at least"),
        (&["zns", "--replicas", "999999999999"], "'--replicas <N>': 999999999999 is not in 0..="),
        (&["drs", "--twins", "999999999999"], "'--twins [<N>]': 999999999999 is not in 0..=10000"),
        (&["ros", "--traces", "empty"], none),
        (&["ros", "--traces", "nope"], "nope: cannot be read"),
        (&["crossings", "--traces", "empty"], "empty: missing log121_Movie.txt"),
        (&["cache-aware", "--device", "nope"], "nope: no such device preset or file"),
        (&["ros", "--short", "--requests", "9"], "cannot be used with"),
        (&["all", "--json"], "all studies have no --json"),
        (&["rso"], "no such study; did you mean ros?"),
        (&["nosuch"], "power, all, or an experiment file (.toml)"),
        (&["zns", "--twins"], "the device decides when those of finish one block come"),
        (&["none.toml"], "none.toml: cannot be read"),
    ] {
        let ran = folder.run(&[&["reproduce"][..], args].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{args:?}: {ran:?}");
    }
}

/// A trace takes its place among the workloads; the files that are not there are named.
#[test]
fn traces_come_besides_the_mixes() {
    let folder = Folder::new();
    folder.write("one/log121_Movie.txt", "0 0 0 8 0\n1000000 0 64 8 1\n");
    let args =
        ["reproduce", "ros", "--json", "--requests", "20", "--replicas", "0", "--traces", "."];
    let object = folder.run(&args).json();
    let groups = list(&object["groups"]);
    let phones = json!({"group": "phones", "recorded": true, "workloads": ["Movie"]});
    let of = |name: &str| groups.iter().find(|group| group["group"] == name).expect("a group");
    assert_eq!((&of("mixes")["recorded"], of("phones")), (&json!(false), &phones));
    assert_eq!(of("servers")["workloads"], json!([]));
    let missing = texts(&object["traces_missing"]);
    assert!(missing.len() == 26 && !missing.contains(&"log121_Movie.txt"), "{missing:?}");
    // There are no servers, so what is published of means is judged on the mixes.
    let statement = &object["published"][1];
    assert_eq!((&statement["group"], &statement["recorded"]), (&json!("mixes"), &json!(false)));
}

/// Where there are recorded traces, what is published is judged on them, though the mixes come
/// first in the file.
#[test]
fn recorded_traces_are_judged_before_generated_ones() {
    let folder = Folder::with("wsrch-small.trace", "0 0 0 8 0\n1000000 0 64 8 1\n");
    let args = ["--json", "--requests", "20", "--replicas", "0", "--traces", "."];
    for (name, part, place) in [("ros", "published", 1), ("cache-aware", "asked", 0)] {
        let object = folder.run(&[&["reproduce", name][..], &args].concat()).json();
        let statement = &object[part][place];
        assert_eq!(
            (&statement["group"], &statement["recorded"]),
            (&json!("servers"), &json!(true))
        );
        assert_eq!(statement["workloads"], json!(["WebSearch"]));
    }
}

/// A device that wears out ends its run with an error, which names the run.
#[test]
fn a_run_that_fails_is_named() {
    let file = r#"
        title = "t"
        source = "s"
        notes = "n"
        replicas = 0
        [[device]]
        name = "worn"
        preset = "small-full"
        settings = ["nand.endurance_cycles=3"]
        [[subject]]
        name = "fifo"
        [[group]]
        name = "writes"
        [[group.workload]]
        name = "random"
        built_in = "random-write"
        settings = ["pattern.requests=200000"]
        [[grid]]
        name = "only"
        device = "worn"
        key = "queue.depth"
        values = [16]
    "#;
    let ran = Folder::with("worn.toml", file).run(&["reproduce", "worn.toml"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("error: only, 16, fifo, random: "), "{ran:?}");
}

//! `flashyard reproduce ros`, `cache-aware` and `crossings` on a few requests of each workload.

use crate::support::{Folder, repository_file};
use serde_json::Value;
use std::sync::OnceLock;

/// The object of a study, which is run once for all tests.
fn study(name: &str) -> &'static Value {
    static STUDIES: OnceLock<[Value; 3]> = OnceLock::new();
    let names = ["ros", "cache-aware", "crossings"];
    let run = |name| Folder::new().run(&["reproduce", name, "--json", "--requests", "40"]).json();
    let studies = STUDIES.get_or_init(|| names.map(run));
    &studies[names.iter().position(|known| *known == name).expect("one of the studies")]
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

/// What a figure's runs take, by policy: total, and gets hidden and in all.
fn figure(object: &Value, place: usize) -> Vec<(String, [f64; 3])> {
    let runs = list(&object["figures"][place]["runs"]).iter().map(|run| {
        let found = |name: &str| run["found"][name].as_f64().expect("a number");
        assert_eq!(run["published_total"].as_f64(), Some(found("total")), "{run}");
        let figures = [found("total"), found("hidden_gets"), found("gets")];
        (text(&run["policy"]).to_string(), figures)
    });
    runs.collect()
}

/// The figure of the paper: a put takes 3, a get 1, a program 5.
#[test]
fn ros_has_the_totals_and_hidden_reads_of_its_figure() {
    let object = study("ros");
    let expected = [("is", [18.0, 0.0, 4.0]), ("ris", [17.0, 1.0, 4.0]), ("ros", [12.0, 4.0, 4.0])];
    let expected = expected.map(|(policy, figures)| (policy.to_string(), figures));
    assert_eq!(figure(object, 0), expected);
    let first = &object["published"][0];
    assert_eq!((&first["holds"], text(&first["form"])), (&Value::Bool(true), "a figure only"));
    // Six mixes under ten policies on the device of the study, under three on the whole one.
    assert_eq!(list(&object["runs"]).len(), 6 * 10 + 6 * 3);
}

/// Figure 3: every write misses and evicts (6 each), or three hit first (1 each) and one evicts;
/// figure 4: a read waits for a program of 10, or none does.
#[test]
fn cache_aware_has_the_totals_of_its_figures() {
    let object = study("cache-aware");
    let totals = |place| {
        let runs = figure(object, place);
        runs.into_iter().map(|(policy, figures)| (policy, figures[0])).collect::<Vec<_>>()
    };
    let expected =
        |fifo, aware| vec![("fifo".to_string(), fifo), ("cache-read-aware".to_string(), aware)];
    assert_eq!(totals(0), expected(4.0 * 6.0, 3.0 + 6.0));
    assert_eq!(totals(1), expected(6.0 + 3.0, 3.0 + 6.0));
    assert_eq!(totals(2), expected(2.0 * 2.0 + 3.0 + 10.0, 2.0 * 2.0 + 3.0));
    let of =
        |figures: &Value| [&figures["read_mean_ns"], &figures["write_mean_ns"]].map(Value::clone);
    let runs = list(&object["runs"]);
    for run in runs.iter().filter(|run| run["device"] == "cache-aware" && run["policy"] == "idle") {
        // One request at a time: whenever one is started, all dies are idle but for flushes.
        let fifo = runs.iter().find(|other| {
            ["device", "workload"].iter().all(|name| other[*name] == run[*name])
                && other["policy"] == "fifo"
        });
        assert_eq!(of(&run["figures"]), of(&fifo.expect("a run of fifo")["figures"]));
    }
}

/// Every combination of three buffers, two maps and two command policies, and the sentences.
#[test]
fn crossings_are_all_run() {
    let object = study("crossings");
    let runs = list(&object["runs"]);
    assert_eq!((runs.len(), list(&object["workloads"]).len()), (12, 8));
    assert_eq!(
        (runs[0]["read_over_first"].as_f64(), text(&runs[0]["buffer"])),
        (Some(1.0), "no buffer")
    );
    // Two buffers by two maps: whether drs still pays, what the buffer does; and what DFTL costs.
    let sentences = list(&object["sentences"]);
    assert_eq!(sentences.len(), 4 + 4 + 1);
    assert!(text(&sentences[0]).starts_with("Behind DRAM + cache-read-aware drs "));
    assert!(text(&object["source"]).contains("Lee et al.") && object["seed"].is_u64());
    for run in runs {
        assert_eq!(list(&run["figures"]).len(), 8);
        // The memory of a buffer has standby power, no buffer has none.
        let standby = run["figures"][0]["buffer_standby_pj"].as_f64().expect("a number");
        assert_eq!(standby > 0.0, text(&run["buffer"]) != "no buffer", "{run}");
    }
}

/// Every field of the three objects is described.
#[test]
fn fields_of_the_studies_are_documented() {
    let docs = repository_file("docs/JSON.md");
    for name in ["ros", "cache-aware", "crossings"] {
        let object = study(name);
        let lists = ["runs", "sweeps", "groups", "figures", "published"];
        let lists = lists.iter().filter_map(|list| object[*list][0].as_object());
        let inner = ["figures", "found"].map(|field| {
            let place = if field == "figures" {
                &object["runs"][0]
            } else {
                &object["figures"][0]["runs"][0]
            };
            if place[field].is_array() { place[field][0].clone() } else { place[field].clone() }
        });
        let all = lists.chain(object.as_object()).chain(inner.iter().filter_map(Value::as_object));
        for field in all.flat_map(|object| object.keys()) {
            assert!(docs.contains(&format!("`{field}`")), "{name}: docs/JSON.md lacks {field}");
        }
    }
}

#[test]
fn what_the_studies_set_themselves_and_what_they_lack_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (args, what) in [
        (&["ros", "--set", "host.policy=is"][..], "--set host.policy=is: the study itself sets"),
        (&["ros", "--set", "buffer.banks=2"], "--set buffer.banks=2: the study itself sets"),
        (&["cache-aware", "--set", "metrics.skip_requests=1"], "the study itself sets"),
        (&["cache-aware", "--set", "mix.requests=9"], "the study itself sets mix.requests"),
        (&["crossings", "--set", "map.store=resident"], "the study itself sets map.store"),
        (&["crossings", "--twins"], "--twins: only reproduce drs has twins"),
        (&["drs", "--requests", "9"], "--requests: reproduce drs and energy run whole workloads"),
        (&["ros", "--requests", "0"], "0 is not in 1.."),
        (&["ros", "--traces", "empty"], "empty: neither it nor a directory in it has any of"),
        (&["ros", "--traces", "nope"], "nope: cannot be read"),
        (&["crossings", "--traces", "empty"], "empty: missing log121_Movie.txt"),
        (&["cache-aware", "--device", "nope"], "nope: no such device preset or file"),
    ] {
        let ran = folder.run(&[&["reproduce"][..], args].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
}

/// A trace takes its place among the workloads; the files that are not there are named.
#[test]
fn traces_come_besides_the_mixes() {
    let folder = Folder::new();
    folder.write("one/log121_Movie.txt", "0 0 0 8 0\n1000000 0 64 8 1\n");
    let args = ["reproduce", "ros", "--json", "--requests", "20", "--traces", "."];
    let object = folder.run(&args).json();
    let groups = list(&object["groups"]);
    assert_eq!((groups.len(), &groups[1]["workloads"]), (2, &serde_json::json!(["Movie"])));
    let missing: Vec<&str> = list(&object["traces_missing"]).iter().map(text).collect();
    assert!(missing.len() == 26 && !missing.contains(&"log121_Movie.txt"), "{missing:?}");
}

/// The device of figure 1: five lines in three banks; a put takes 3 us, a get 1, a program 5.
const FIGURE_DEVICE: &str = "\
[geometry]
blocks_per_plane = 64
pages_per_block = 16
[nand]
read_us = 5
program_us = 5
[ftl]
over_provisioning_percent = 100
[map]
store = \"resident\"
[buffer]
bytes = 20_480
access_ns = 0
ps_per_byte = 0
read_ns = 1_000
write_ns = 3_000
ports = \"read_and_write\"
banks = 3
eviction = \"full\"
flush_width = 1
flush_reads = true
after_flush = \"free\"
recency = \"writes\"
[interface]
fetch_depth = 32
[policy]
command = \"fifo\"
";

/// Its requests, W1 W2 R3 R4 R5 W6, all there at the start (format `ssdsim`: 0 writes, 1 reads).
const FIGURE_TRACE: &str =
    "0 0 8 8 0\n0 0 16 8 0\n0 0 24 8 1\n0 0 32 8 1\n0 0 40 8 1\n0 0 48 8 0\n";

/// The pages in the buffer and the banks of their lines, the least recently used first.
const FIGURE_LINES: [(u64, u32); 5] = [(3, 0), (4, 1), (5, 0), (1, 2), (2, 1)];

/// Figure 1 by a plain run of a device file and a workload file: 18, 17 and 12 us; of 4 us of gets
/// 0, 1 and 4 pass beside a put.
#[test]
fn a_plain_run_of_files_repeats_the_figure() {
    let folder = Folder::with("device.toml", FIGURE_DEVICE);
    folder.write("figure.ssdsim", FIGURE_TRACE);
    let lines = FIGURE_LINES
        .map(|(page, bank)| format!("[[initial.buffer_lines]]\npage = {page}\nbank = {bank}\n"));
    let text = format!("[trace]\npath = \"figure.ssdsim\"\n{}", lines.concat());
    folder.write("figure.toml", text);
    for (policy, total, hidden) in [("is", 18, 0), ("ris", 17, 1), ("ros", 12, 4)] {
        let set = format!("host.policy={policy}");
        let args = ["run", "device.toml", "figure.toml", "--check", "--json", "--set", &set];
        let run = folder.run(&args).json();
        assert_eq!(run["throughput"]["makespan_ns"], total * 1_000, "{policy}");
        assert_eq!(run["buffer"]["hidden_read_ns"], hidden * 1_000, "{policy}");
        let ns = |name: &str| run["buffer"][name].as_u64().expect("an integer");
        assert_eq!(ns("get_ns") + ns("flush_get_ns"), 4_000, "{policy}");
        // Pages 1 and 2 are there, page 6 needs a line.
        assert_eq!([ns("write_hits"), ns("write_misses")], [2, 1], "{policy}");
    }
    let args = ["run", "device.toml", "figure.toml", "--set", "host.policy=ros"];
    let table = folder.run(&args).text();
    let line = table.lines().find(|line| line.starts_with("buffer ")).expect("a line of it");
    assert!(
        line.contains("hidden read ratio 100.0 % of the port time of gets")
            && line.contains("page accesses"),
        "{line}"
    );
}

/// A clean line holds what flash has, so its page is not written back.
#[test]
fn initial_buffer_lines_may_be_clean() {
    let folder = Folder::with("device.toml", FIGURE_DEVICE);
    folder.write("one.ssdsim", "0 0 8 8 1\n");
    let dirty = |key: &str| {
        let text =
            format!("[trace]\npath = \"one.ssdsim\"\n[[initial.buffer_lines]]\npage = 1\n{key}");
        folder.write("one.toml", text);
        let run = folder.run(&["run", "device.toml", "one.toml", "--json"]).json();
        assert_eq!(run["buffer"]["read_hits"], 1);
        run["buffer"]["dirty_at_end"].clone()
    };
    assert_eq!([dirty(""), dirty("dirty = true\n"), dirty("dirty = false\n")], [1, 1, 0]);
}

#[test]
fn initial_buffer_lines_that_do_not_fit_are_refused() {
    let folder = Folder::with("device.toml", FIGURE_DEVICE);
    folder.write("one.ssdsim", "0 0 8 8 1\n");
    let line = |keys: &str| format!("[[initial.buffer_lines]]\n{keys}\n");
    let fields = "one.toml:3: initial.buffer_lines: each needs page (a number) and may have bank";
    for (lines, what) in [
        (line("page = -1"), fields),
        (line("bank = 1"), fields),
        (line("page = 1\nslpn = 8"), fields),
        (line("page = 1\nbank = 3"), "initial unit 1: bank 3 of 3 (buffer.banks)"),
        (line("page = 1").repeat(2), "initial unit 1 is in the write buffer already"),
        ((0..6).map(|page| line(&format!("page = {page}"))).collect(), "6 initial units are more"),
    ] {
        folder.write("one.toml", format!("[trace]\npath = \"one.ssdsim\"\n{lines}"));
        let ran = folder.run(&["run", "device.toml", "one.toml"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
    folder.write("one.toml", format!("[trace]\npath = \"one.ssdsim\"\n{}", line("page = 1")));
    let bare = folder.run(&["run", "device.toml", "one.toml", "--set", "buffer.bytes=0"]);
    assert!(bare.stderr.contains("no write buffer; set buffer.bytes"), "{bare:?}");
}

/// The memory of the buffer decides its standby power.
#[test]
fn a_dram_stands_by_at_more_power_than_a_pram() {
    let object = study("ros");
    let sweeps = list(&object["sweeps"]);
    let memory = sweeps.iter().find(|sweep| sweep["title"] == "memory").expect("a sweep of it");
    let standby = |point: usize| -> Vec<f64> {
        let runs = list(&memory["points"][point]["runs"][0]).iter();
        runs.map(|run| run["buffer_standby_pj"].as_f64().expect("a number")).collect()
    };
    // The same times, so energy is as power: 98 and 15 uW/MiB.
    for (dram, pram) in standby(0).iter().zip(standby(1)) {
        let expected = pram * 98.0 / 15.0;
        assert!(pram > 0.0 && (dram - expected).abs() <= 7.0, "{dram} {pram}");
    }
}

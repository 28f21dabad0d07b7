//! What newcomers come for, each from its question to its answer: how many commands that takes,
//! whether every line fits 80 columns, and whether the answer is there. A part of one's own is such
//! a task, too; its script is the test of examples/own-parts.

use crate::support::{Folder, int, quantity, said};
use serde_json::Value;

/// A newcomer at a terminal.
struct Terminal {
    folder: Folder,
    commands: usize,
}

impl Terminal {
    fn new() -> Self {
        Self { folder: Folder::new(), commands: 0 }
    }

    /// What a command prints. Words are separated by blanks, and `'` holds some together.
    #[track_caller]
    fn run(&mut self, command: &str) -> String {
        self.commands += 1;
        let parts = command.split('\'').enumerate();
        let args: Vec<&str> = parts
            .flat_map(|(place, part)| match place % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            })
            .collect();
        let text = self.folder.run(&args).text();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
        text
    }

    /// The same as JSON, which is for programs.
    #[track_caller]
    fn json(&self, command: &str) -> Value {
        self.folder.run(&command.split_whitespace().collect::<Vec<_>>()).json()
    }

    /// The task is done; it may take so many commands.
    #[track_caller]
    fn done(self, commands: usize) {
        assert!(self.commands <= commands, "{} commands", self.commands);
    }
}

/// The times of a row of a table of points, in seconds.
#[track_caller]
fn times(table: &str, row: &str) -> Vec<f64> {
    let line = table.lines().find(|line| line.starts_with(&format!("{row} ")));
    let line = line.unwrap_or_else(|| panic!("no row {row} in\n{table}"));
    // Percentiles of few requests are marked.
    let cells: Vec<&str> =
        line[row.len()..].split_whitespace().map(|cell| cell.trim_end_matches('*')).collect();
    let is_unit = |cell: &&str| ["ns", "us", "ms", "s"].contains(cell);
    cells.windows(2).filter(|pair| is_unit(&pair[1])).map(quantity).collect()
}

/// The first value of a row of figures.
#[track_caller]
fn row<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.starts_with(&format!("{name}   ")));
    let line = line.unwrap_or_else(|| panic!("no row {name} in\n{text}"));
    line[name.len()..].split_whitespace().next().expect("a value")
}

/// Whether a verdict says that figures mislead, in front of them.
#[track_caller]
fn is_warned(text: &str, what: &str) {
    let before = text.split("\nlatency").next().unwrap_or(text);
    let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(before.contains(&format!("! {what}")), "{text}");
}

/// DFTL, a page map or FAST for a trace of one's own, on a drive of 1 TB?
#[test]
fn a_trace_and_three_layers_on_a_drive_of_1_tb() {
    let mut at = Terminal::new();
    at.folder.write("mine.csv", trace(2_000));
    let info = at.run("trace info mine.csv");
    assert_eq!(row(&info, "requests"), "2000");
    let table = at.run(
        "compare nvme-tlc mine.csv --capacity 1TB --set trace.fold=modulo \
         --vary ftl=page,dftl,fast",
    );
    is_warned(&table, "ftl=page, ftl=dftl: the device starts fresh and");
    let [page, dftl, fast] = times(&table, "read p99.9")[..] else { panic!("three: {table}") };
    assert!(page < dftl && page < fast, "{table}");
    at.done(2);
}

/// Requests of the MSR Cambridge format: a third of them reads, of what the writes write.
fn trace(requests: u64) -> String {
    let line = |number: u64| {
        let kind = if number.is_multiple_of(3) { "Read" } else { "Write" };
        let ticks = 128_166_372_000_000_000 + number * 2_000;
        let place = number.wrapping_mul(2_654_435_761) % 200_000 * 4_096;
        let place = if kind == "Read" { place / 2 / 4_096 * 4_096 } else { place };
        format!("{ticks},mine,0,{kind},{place},4096,100\n")
    };
    (0..requests).map(line).collect()
}

/// Why is the tail of a mixed load slow, and what would help?
#[test]
fn the_tail_of_a_mixed_load() {
    let mut at = Terminal::new();
    let load = "nvme-tlc mixed-70-30 --capacity 64GB --set state.initial=steady \
                --set pattern.requests=6000 --set stream.depth=4 --class read --above p99.9";
    let why = at.run(&format!("why {load}"));
    assert!(why.lines().count() <= 40, "one screen:\n{why}");
    let first: String = why.lines().take(3).collect::<Vec<_>>().join(" ");
    let answer = "behind programs of garbage collection that had used up their 4 suspensions";
    assert!(first.starts_with("p99.9 of reads is ") && first.contains(answer), "{why}");
    let helped = at.run(&format!("why {load} --vary nand.program_suspends=4,16"));
    assert!(helped.starts_with("with nand.program_suspends=16 p99.9 of reads falls"), "{helped}");
    at.done(2);
}

/// A teacher shows garbage collection page by page.
#[test]
fn garbage_collection_in_a_lecture() {
    let mut at = Terminal::new();
    let text = at.run("run toy --out lecture");
    assert!(said(&text, "collection").contains(" victims with "), "{text}");
    let page = String::from_utf8(at.folder.read("lecture/report.html")).unwrap();
    assert!(page.contains("Block map") && page.contains("Next collection"));
    assert!(!page.contains("http://") || !page.contains("<script src"), "it opens offline");
    let why = at.run("why toy");
    assert!(why.contains("garbage collection"), "{why}");
    at.done(2);
}

/// The fsync of a write-ahead log beside queries.
#[test]
fn a_database_with_its_log() {
    let mut at = Terminal::new();
    let database = r#"
[[stream]]
name = "wal"
pacing = "closed"
depth = 1
[stream.pattern]
base = "sequential-write"
requests = 200
flush_every = 1
range_percent = 1

[[stream]]
name = "queries"
pacing = "closed"
depth = 8
[stream.pattern]
base = "random-read"
requests = 2000
"#;
    at.folder.write("database.toml", database);
    let drive = "sata-mlc database.toml --capacity 64GB --set state.initial=full";
    let text = at.run(&format!("run {drive} --out results"));
    let streams = text.split("\nstream ").nth(1).expect("a table of streams");
    let wal = streams.split("\nwal ").nth(1).expect("the log");
    let flush = wal.lines().find(|line| line.trim_start().starts_with("flush ")).expect("fsync");
    let mean = quantity(&flush.split_whitespace().skip(2).take(2).collect::<Vec<_>>());
    let run = at.json(&format!("run {drive} --json"));
    let exact = &run["streams"]["wal"]["latency_ns"]["flush"];
    assert_eq!(int(exact, "count"), 100);
    assert!((1e9 * mean / exact["mean"].as_f64().unwrap() - 1.0).abs() < 5e-3, "{flush}: {exact}");
    let why = at.run(&format!("why {drive} --class flush"));
    assert!(why.starts_with("p99 of flushes is ") && why.contains("for earlier writes"), "{why}");
    at.done(2);
}

/// What blkparse prints of a phone, on two generations of its storage.
#[test]
fn a_capture_of_a_phone() {
    let mut at = Terminal::new();
    let line = |number: u64| {
        let time = format!("{}.{:09}", number / 1_000, number % 1_000 * 1_000_000);
        let (rwbs, sectors) = [("R", 8), ("WS", 16), ("R", 256), ("FWS", 0), ("D", 64)]
            [usize::try_from(number % 5).unwrap()];
        let size = if sectors == 0 { String::new() } else { format!(" + {sectors}") };
        let sector = number * 104_729 % 1_000_000;
        format!("  8,0    1  {number:7}     {time}  1234  Q   {rwbs} {sector}{size} [app]\n")
    };
    at.folder.write("phone.txt", (1..=500).map(line).collect::<String>());
    let info = at.run("trace info phone.txt");
    for (name, expected) in
        [("reads", "200"), ("writes", "100"), ("trims", "100"), ("flushes", "100")]
    {
        assert_eq!(row(&info, name), expected, "{info}");
    }
    let text = at.run("run emmc-5.1 phone.txt");
    for class in ["read ", "write ", "trim ", "flush "] {
        assert!(text.lines().any(|line| line.starts_with(class)), "{class}: {text}");
    }
    let table = at.run("compare phone.txt --vary device=emmc-5.1,ufs-3.1");
    let [emmc, ufs] = times(&table, "read mean")[..] else { panic!("two: {table}") };
    assert!(ufs < emmc, "{table}");
    at.done(3);
}

/// Does a paper's result come out here?
#[test]
fn a_paper_beside_this_simulator() {
    let mut at = Terminal::new();
    let text = at.run("reproduce ros --requests 200 --replicas 0 --out paper");
    assert!(text.contains("published") || text.contains("statement"), "{text}");
    let page = String::from_utf8(at.folder.read("paper/report.html")).unwrap();
    assert!(page.contains("published"));
    at.done(1);
}

/// Somebody who has MQSim's two files.
#[test]
fn coming_from_mqsim() {
    let mut at = Terminal::new();
    at.folder.write("ssdconfig.xml", include_str!("../mqsim/device.xml"));
    at.folder.write("workload.xml", include_str!("../mqsim/workload.xml"));
    let refused = at.folder.run(&["run", "ssdconfig.xml"]);
    assert!(refused.stderr.contains("flashyard import mqsim ssdconfig.xml"), "{refused:?}");
    let list = at.run("import mqsim ssdconfig.xml workload.xml");
    assert!(list.contains("Without effect in MQSim") && list.contains("Priority_Class"), "{list}");
    let text = at.run("run ssdconfig.toml workload-1.toml --set phase.requests=500");
    assert!(text.contains("\nlatency "), "{text}");
    at.done(2);
}

/// 500 runs over night.
#[test]
fn five_hundred_points() {
    let mut at = Terminal::new();
    let sweep = r#"
device = "toy"
workload = "toy-write"
vary = ["ftl.over_provisioning_percent=30..79:1", "gc.policy=greedy,fifo"]
seeds = 5
rank = "wa"
"#;
    at.folder.write("night.toml", sweep);
    let plan = at.run("sweep night.toml --dry-run");
    assert!(plan.ends_with("\n100 points, 0 of 500 runs done\n"), "{plan}");
    let text = at.run("sweep night.toml");
    assert!(text.contains("\nbest wa: "), "{text}");
    let file = at.folder.read("night.parquet");
    // Nothing is left to do; the same points make the same file.
    at.run("sweep night.toml");
    assert_eq!(at.folder.read("night.parquet"), file);
    at.done(3);
}

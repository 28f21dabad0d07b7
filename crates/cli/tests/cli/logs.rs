//! The files of `--out` and `--commands`: complete, and in agreement with the summary.

use crate::support::{Folder, int, is_near, repository_file, sum, without_command};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// A run with both logs.
struct Logged {
    summary: Value,
    /// The integer columns of the request log, by name.
    requests: BTreeMap<String, Vec<u64>>,
    /// Its operations.
    ops: Vec<String>,
    /// The rows of the command log, by column.
    commands: Vec<BTreeMap<String, String>>,
}

impl Logged {
    fn run(args: &[&str]) -> Self {
        let folder = Folder::new();
        let files = ["--out", "results", "--commands", "commands.csv", "--json"];
        let printed = folder.run(&[&["run"], args, &files].concat()).text();
        let summary = folder.read("results/summary.json");
        assert_eq!(String::from_utf8(summary).unwrap(), printed, "one object in both places");
        let (requests, ops) = read_requests(&folder);
        let commands = read_commands(&String::from_utf8(folder.read("commands.csv")).unwrap());
        assert_eq!(folder.files().len(), 4, "no temporary file is left");
        Self { summary: serde_json::from_str(&printed).unwrap(), requests, ops, commands }
    }

    fn column(&self, name: &str) -> &[u64] {
        self.requests.get(name).unwrap_or_else(|| panic!("there is no column {name}"))
    }

    /// The names of the columns that start and end like this.
    fn columns(&self, start: &str, end: &str) -> Vec<&str> {
        let all = self.requests.keys().map(String::as_str);
        all.filter(|name| name.starts_with(start) && name.ends_with(end)).collect()
    }
}

fn read_requests(folder: &Folder) -> (BTreeMap<String, Vec<u64>>, Vec<String>) {
    let file = std::fs::File::open(folder.path("results/requests.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let mut columns: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut ops = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        for (name, field) in row.unwrap().get_column_iter() {
            match field {
                Field::Str(op) => ops.push(op.clone()),
                Field::Long(value) => {
                    let value = u64::try_from(*value).expect("no number is negative");
                    columns.entry(name.clone()).or_default().push(value);
                }
                other => panic!("{name} is {other:?}"),
            }
        }
    }
    (columns, ops)
}

fn read_commands(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), header.len(), "{line}");
        header.iter().zip(cells).map(|(name, cell)| (name.to_string(), cell.to_string())).collect()
    };
    lines.map(row).collect()
}

/// One die, several dies, and garbage collection. All tests look at the same runs.
fn logged() -> &'static [Logged] {
    static LOGGED: OnceLock<Vec<Logged>> = OnceLock::new();
    LOGGED.get_or_init(|| {
        let few = ["--set", "generator.requests=2500"];
        let many = ["--set", "generator.requests=6000"];
        let resident = ["--set", "map.store=resident", "--set", "policy.command=fifo"];
        let cached = ["--set", "map.store=line_cache", "--set", "map.cache_bytes=4096"];
        vec![
            Logged::run(&[&["drs", "radiowb"], &few[..]].concat()),
            Logged::run(&[&["embedded-2x2", "facebook"], &few[..], &resident].concat()),
            Logged::run(&[&["small-full", "radiowb"], &many[..], &cached].concat()),
        ]
    })
}

#[test]
fn the_summary_file_is_what_json_prints() {
    let folder = Folder::new();
    let printed = folder.run(&["run", "movie", "--json"]).json();
    let table = folder.run(&["run", "movie", "--out", "deep/results"]).text();
    assert!(table.starts_with("device drs, workload movie"), "{table}");
    let file = serde_json::from_slice(&folder.read("deep/results/summary.json")).unwrap();
    assert_eq!(without_command(file), without_command(printed));
}

#[test]
fn the_request_log_has_a_row_a_request() {
    for logged in logged() {
        let requests = int(&logged.summary, "workload.requests");
        let mut order = logged.column("order").to_vec();
        order.sort_unstable();
        assert_eq!(order, (0..requests).collect::<Vec<_>>());
        for class in ["read", "write"] {
            let rows = logged.ops.iter().filter(|op| *op == class).count() as u64;
            assert_eq!(rows, int(&logged.summary["latency_ns"][class], "count"));
        }
        let arrivals = logged.column("arrival_ns");
        assert_eq!(arrivals.iter().min(), Some(&int(&logged.summary, "workload.first_ns")));
        assert_eq!(arrivals.iter().max(), Some(&int(&logged.summary, "workload.last_ns")));
        let last = logged.column("completion_ns").iter().max().unwrap();
        let makespan = int(&logged.summary, "throughput.makespan_ns");
        assert_eq!(last - int(&logged.summary, "workload.first_ns"), makespan);
    }
}

#[test]
fn latency_is_completion_less_arrival_and_the_sum_of_its_parts() {
    for logged in logged() {
        let latency = logged.column("latency_ns");
        let parts = logged.columns("part_", "_ns");
        assert_eq!(parts.len(), 19, "{parts:?}");
        for (row, latency) in latency.iter().enumerate() {
            let of = |column: &str| logged.column(column)[row];
            assert_eq!(*latency, of("completion_ns") - of("arrival_ns"));
            assert_eq!(*latency, parts.iter().map(|part| of(part)).sum::<u64>());
            let (wait, own) = (of("queue_wait_ns"), of("own_ns"));
            assert!(wait <= *latency && (own > 0 || wait == *latency));
        }
        for class in ["read", "write"] {
            let rows = |column: &str| {
                let values = logged.column(column).iter().zip(&logged.ops);
                values.filter(|(_, op)| *op == class).map(|(value, _)| *value).collect::<Vec<_>>()
            };
            for part in &parts {
                let name = part.trim_start_matches("part_").trim_end_matches("_ns");
                let parts = &logged.summary["latency_parts_ns"][class];
                // Left out where channels carry no bus requests, no page is sensed again, and
                // there is no SLC cache.
                let is_rare = ["status", "retry", "die_fold"].contains(&name);
                let expected = match &parts[name] {
                    Value::Null if is_rare => 0,
                    _ => int(parts, name),
                };
                assert_eq!(rows(part).iter().sum::<u64>(), expected, "{class} {name}");
            }
            check_summary(&mut rows("latency_ns"), &logged.summary["latency_ns"][class]);
        }
    }
}

/// Means and extremes are exact, percentiles by nearest rank and too high by less than 1 %.
fn check_summary(latencies: &mut [u64], summary: &Value) {
    latencies.sort_unstable();
    let total: u64 = latencies.iter().sum();
    assert!(is_near(&summary["mean"], total as f64 / latencies.len() as f64), "{summary}");
    assert_eq!(int(summary, "min"), latencies[0]);
    assert_eq!(int(summary, "max"), latencies[latencies.len() - 1]);
    let shares = [
        ("p50", 5_000),
        ("p90", 9_000),
        ("p95", 9_500),
        ("p99", 9_900),
        ("p999", 9_990),
        ("p9999", 9_999),
    ];
    for (name, share) in shares {
        let rank = (latencies.len() * share).div_ceil(10_000);
        let (exact, shown) = (latencies[rank - 1], int(summary, name));
        assert!(shown >= exact && shown - exact <= exact / 100, "{name}: {shown} for {exact}");
    }
}

#[test]
fn the_energy_and_operations_of_requests_are_those_attributed() {
    for logged in logged() {
        let energy = &logged.summary["energy_pj"];
        let sum_of = |column: &str| logged.column(column).iter().sum::<u64>();
        assert_eq!(sum_of("energy_pj"), int(energy, "attributed"));
        let mut all_charged = true;
        for op in ["read", "program", "erase"] {
            for (purpose, ops) in logged.summary["flash"]["array_ops"][format!("{op}s")]
                .as_object()
                .expect("operations by purpose")
            {
                let charged = sum_of(&format!("{op}s_{purpose}"));
                let ops = ops.as_u64().unwrap();
                assert!(charged <= ops, "{op}s for {purpose}: {charged} of {ops}");
                all_charged &= charged == ops;
            }
        }
        let rest = int(energy, "unattributed") + int(energy, "flushed");
        assert_eq!(all_charged, rest == 0);
    }
}

#[test]
fn a_long_request_log_is_whole() {
    // More than the rows that are kept in memory before they are written.
    let folder = Folder::new();
    let few = ["run", "drs", "movie", "--set", "generator.requests=70000", "--out", "results"];
    folder.run(&[&few[..], &["--set", "map.store=resident"]].concat()).text();
    let file = std::fs::File::open(folder.path("results/requests.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let metadata = reader.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), 70_000);
    let rows: Vec<i64> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [65_536, 70_000 - 65_536]);
    let creator = concat!("flashyard ", env!("CARGO_PKG_VERSION"));
    assert_eq!(metadata.file_metadata().created_by(), Some(creator));
    let (columns, ops) = read_requests(&folder);
    let order: BTreeSet<u64> = columns["order"].iter().copied().collect();
    assert_eq!((order.len(), ops.len()), (70_000, 70_000));
}

#[test]
fn the_columns_of_the_request_log_are_documented() {
    let folder = Folder::new();
    folder.run(&["run", "movie", "--set", "generator.requests=1", "--out", "results"]).text();
    let file = std::fs::File::open(folder.path("results/requests.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let schema = reader.metadata().file_metadata().schema_descr();
    let document = repository_file("docs/JSON.md");
    for column in schema.columns() {
        let name = column.name();
        let kind = if name == "op" { PhysicalType::BYTE_ARRAY } else { PhysicalType::INT64 };
        assert_eq!(column.physical_type(), kind, "{name}");
        assert_eq!(column.max_def_level(), 0, "{name} has no nulls");
        let family = ["reads", "programs", "erases"]
            .iter()
            .find(|op| name.strip_prefix(**op).is_some_and(|rest| rest.starts_with('_')));
        let documented = match family {
            Some(op) => format!("`{op}_PURPOSE`"),
            None if name.starts_with("part_") => "`part_PART_ns`".to_string(),
            None => format!("`{name}`"),
        };
        assert!(document.contains(&documented), "docs/JSON.md does not name {documented}");
    }
}

#[test]
fn the_command_log_has_a_row_an_operation() {
    for logged in logged() {
        let ops = &logged.summary["flash"]["array_ops"];
        let all = ["reads", "programs", "erases"].map(|op| sum(&ops[op]));
        assert_eq!(logged.commands.len() as u64, all.iter().sum::<u64>());
        for op in ["read", "program", "erase"] {
            for (purpose, count) in ops[format!("{op}s")].as_object().unwrap() {
                let is_one = |row: &&BTreeMap<_, _>| row["op"] == *op && row["purpose"] == *purpose;
                let rows = logged.commands.iter().filter(is_one).count() as u64;
                assert_eq!(Some(rows), count.as_u64(), "{op} {purpose}");
            }
        }
        let moved: u64 = logged.commands.iter().map(|row| number(row, "rekeys")).sum();
        assert_eq!(moved, int(&logged.summary, "map.commands_moved"));
    }
}

#[track_caller]
fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

#[test]
fn a_die_does_one_command_at_a_time_each_after_it_was_queued() {
    for logged in logged() {
        let ends: Vec<u64> = logged.commands.iter().map(|row| number(row, "end_ns")).collect();
        assert!(ends.is_sorted(), "rows stand in the order of their ends");
        let mut by_die: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for row in &logged.commands {
            let times = ["enqueue_ns", "start_ns", "end_ns"].map(|name| number(row, name));
            assert!(times[0] <= times[1] && times[1] < times[2], "{row:?}");
            by_die.entry(number(row, "die")).or_default().push((times[1], times[2]));
        }
        let device = &logged.summary["device"]["geometry"];
        assert!(by_die.len() as u64 <= int(device, "channels") * int(device, "ways"));
        for (die, mut spans) in by_die {
            spans.sort_unstable();
            let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            assert!(apart, "die {die} does two things at once");
        }
    }
}

#[test]
fn the_stages_of_commands_are_documented_and_mean_what_they_say() {
    let document = repository_file("docs/JSON.md");
    let header =
        "request,page,stage,op,purpose,die,ppn,queue,key,enqueue_ns,start_ns,end_ns,rekeys,retries";
    assert!(document.contains(header), "docs/JSON.md shows the header of the command log");
    let expected = [
        ("MRe", "read", &["map_writeback"][..]),
        ("MP", "program", &["map_writeback"]),
        ("MRf", "read", &["map_fetch"]),
        ("DR", "read", &["host"]),
        ("DP", "program", &["host"]),
        ("GR", "read", &["gc", "map_gc", "wear"]),
        ("GP", "program", &["gc", "map_gc", "wear"]),
        ("GE", "erase", &["gc", "wear"]),
        ("UR", "read", &["map_gc"]),
        ("UP", "program", &["map_gc"]),
    ];
    let mut seen = BTreeSet::new();
    for logged in logged() {
        for row in &logged.commands {
            let (_, op, purposes) = expected
                .iter()
                .find(|(stage, ..)| *stage == row["stage"])
                .unwrap_or_else(|| panic!("an unknown stage in {row:?}"));
            assert!(row["op"] == *op && purposes.contains(&row["purpose"].as_str()), "{row:?}");
            // Garbage collection belongs to the device; everything else to a request.
            let of_device = row["purpose"].ends_with("gc");
            assert_eq!(row["request"].is_empty(), of_device, "{row:?}");
            assert_eq!(row["page"].is_empty(), of_device, "{row:?}");
            seen.insert(row["stage"].clone());
        }
    }
    for (stage, ..) in expected {
        assert!(seen.contains(stage), "no run has {stage}");
        assert!(document.contains(&format!("`{stage}`")), "docs/JSON.md does not name {stage}");
    }
}

/// A read that comes while the data of a program are on the channel (20.48 us) suspends it as soon
/// as its array phase begins (20 us), and takes 60 us in the array and 20.48 us on the channel.
#[test]
fn suspensions_have_rows_and_reads_do_not_miss_them() {
    let folder = Folder::with("t.txt", "0 0 0 8 0\n20000 0 32 8 1\n");
    let keys = ["map.store=resident", "policy.command=rcf", "nand.program_suspends=8"];
    let keys = keys.iter().flat_map(|key| ["--set", key]).collect::<Vec<_>>();
    let args = ["run", "embedded-2x2", "t.txt", "--check", "--json", "--commands", "c.csv"];
    let summary = folder.run(&[&args[..], &keys].concat()).json();
    let latency = 480 + 20_000 + 60_000 + 20_480;
    assert_eq!(int(&summary["latency_ns"]["read"], "max"), latency);
    let rows = read_commands(&String::from_utf8(folder.read("c.csv")).unwrap());
    let shown = ["op", "start_ns", "end_ns"];
    let rows: Vec<_> = rows.iter().map(|row| shown.map(|name| row[name].as_str())).collect();
    let expected = [
        ["suspend", "20480", "40480"],
        ["read", "40480", "120960"],
        ["resume", "120960", "140960"],
        ["program", "0", "840960"],
    ];
    assert_eq!(rows, expected);
}

/// Every page is sensed again, twice: 120.48 us, and two times 60 us and a step of 1 us.
#[test]
fn retries_have_a_column_and_a_line_of_the_summary() {
    let folder = Folder::with("t.txt", "0 0 0 8 1\n");
    let keys = [
        "map.store=resident",
        "state.initial=full",
        "retry.chance_percent=100",
        "retry.again_percent=100",
        "retry.most=2",
    ];
    let keys = keys.iter().flat_map(|key| ["--set", key]).collect::<Vec<_>>();
    let args = ["run", "embedded-2x2", "t.txt", "--check", "--commands", "c.csv"];
    let text = folder.run(&[&args[..], &keys].concat()).text();
    assert!(text.contains("1 reads (1 sensed again), 0 programs"), "{text}");
    let row = text.lines().find(|line| line.starts_with("retry ")).expect("a part of reads");
    assert!(row.contains("122 us"), "{row}");
    let rows = read_commands(&String::from_utf8(folder.read("c.csv")).unwrap());
    assert_eq!((rows.len(), &*rows[0]["retries"]), (1, "2"));
}

#[test]
fn both_logs_count_the_same_commands_of_a_request() {
    for logged in logged() {
        let mut rows = vec![0u64; logged.ops.len()];
        for row in logged.commands.iter().filter(|row| !row["request"].is_empty()) {
            rows[usize::try_from(number(row, "request")).unwrap()] += 1;
        }
        let own = ["host", "map_fetch", "map_writeback"]
            .iter()
            .flat_map(|purpose| ["reads", "programs"].map(|op| format!("{op}_{purpose}")));
        let mut counted = vec![0u64; rows.len()];
        for column in own {
            for (order, count) in logged.column("order").iter().zip(logged.column(&column)) {
                counted[usize::try_from(*order).unwrap()] += count;
            }
        }
        assert_eq!(rows, counted);
    }
}

/// Bytes over time of each of two placement handles, and of blocks in which both have data.
#[test]
fn handles_have_columns_of_their_own() {
    let folder = Folder::new();
    let stream = |name: &str, handle: u8| {
        format!(
            "[[stream]]\nname = \"{name}\"\nplacement = {handle}\npacing = \"fast\"\n\
             pattern.base = \"random-write\"\npattern.requests = 4000\n"
        )
    };
    folder.write("two.toml", stream("a", 0) + &stream("b", 1));
    let args = ["run", "small-full", "two.toml", "--set", "placement.handles=2"];
    let files = ["--set", "metrics.bin_ms=100", "--out", "results", "--json"];
    let run = folder.run(&[&args[..], &files].concat()).json();
    let rows = run["placement"].as_array().expect("there are handles");
    let text = String::from_utf8(folder.read("results/series.csv")).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let names = ["handle 0", "handle 1", "shared blocks"];
    for (row, name) in rows.iter().zip(names) {
        for (what, key) in [("host", "bin_host_bytes"), ("media", "bin_media_bytes")] {
            let column = header.iter().position(|cell| *cell == format!("{what} bytes of {name}"));
            let column = column.unwrap_or_else(|| panic!("{what} bytes of {name}: {header:?}"));
            let cells = text.lines().skip(1).map(|line| line.split(',').nth(column).unwrap());
            let cells: Vec<u64> = cells.map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(serde_json::json!(cells), row[key], "{name}");
        }
    }
    assert_eq!(rows.len(), names.len());
}

/// Bytes over time, slowdown and the effect of a rate limit, of each of two streams.
#[test]
fn streams_have_columns_of_their_own() {
    let folder = Folder::new();
    folder.write(
        "two.toml",
        "[[stream]]\nname = \"slow\"\npacing = \"fast\"\nrate_limit_mb_per_s = 2\n\
         pattern.requests = 200\n[[stream]]\nname = \"free\"\npattern.requests = 300\n",
    );
    let work = ["run", "embedded-2x2", "two.toml", "--set", "policy.command=fair"];
    let files = ["--set", "metrics.bin_ms=5", "--out", "results", "--json"];
    let run = folder.run(&[&work[..], &files].concat()).json();
    let bins = run["series"]["bins"].as_array().expect("there are bins");
    let slow = &run["streams"]["slow"];
    let bytes = |name: &str| run["streams"][name]["bin_bytes"].as_array().expect("there are bins");
    let sum = |name| bytes(name).iter().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>();
    assert_eq!([sum("slow"), sum("free")], [200 * 4_096, 300 * 4_096]);
    assert_eq!(bytes("slow").len(), bins.len());
    // 199 requests of 4 KiB before the last one, at 2 MB/s.
    assert_eq!(slow["rate_limited_ns"], 199 * 2_048_000);
    assert_eq!(run["streams"]["free"]["rate_limited_ns"], 0);
    assert!(slow["slowdown"].as_f64() > Some(10.0), "{}", slow["slowdown"]);
    let text = String::from_utf8(folder.read("results/series.csv")).unwrap();
    let header = text.lines().next().unwrap();
    assert!(header.ends_with("mean_mw,bytes of free,bytes of slow"), "{header}");
    for (row, number) in text.lines().skip(1).zip(0..) {
        let cells: Vec<&str> = row.rsplit(',').collect();
        let same = |name, cell: &str| cell.parse().ok() == bytes(name)[number].as_u64();
        assert!(same("slow", cells[0]) && same("free", cells[1]), "{row}");
    }
    let table = folder.run(&work).text();
    assert!(table.contains("slowdown") && table.contains("held back"), "{table}");
}

#[test]
fn the_time_series_is_that_of_the_summary() {
    let folder = Folder::new();
    let work = ["run", "small-full", "random-write", "--set", "pattern.requests=3000", "--json"];
    let files = ["--set", "metrics.bin_ms=20", "--out", "results"];
    let run = folder.run(&[&work[..], &files].concat()).json();
    let bins = run["series"]["bins"].as_array().expect("there are bins");
    let text = String::from_utf8(folder.read("results/series.csv")).unwrap();
    let rows = read_commands(&text);
    assert_eq!(rows.len(), bins.len());
    let width = int(&run, "series.bin_ns");
    for (number, (row, bin)) in rows.iter().zip(bins).enumerate() {
        let bin = bin.as_object().expect("a bin");
        // Without an SLC cache JSON leaves the programs of folding out.
        let left_out = usize::from(!bin.contains_key("fold_programs"));
        assert_eq!(row.len(), bin.len() + 1 + left_out, "every field is a column");
        assert_eq!(row["start_ns"], (number as u64 * width).to_string());
        for (name, value) in bin {
            let cell = &row[name];
            let same = match value {
                Value::Null => cell.is_empty(),
                _ => cell.parse().is_ok_and(|cell| is_near(value, cell)),
            };
            assert!(same, "{name}: {cell} for {value}");
        }
    }
    let writes: u64 = rows.iter().map(|row| number(row, "writes")).sum();
    assert_eq!(writes, int(&run, "workload.writes"));
    assert!(rows.len() > 2);
    // Without bins there is no series, and no file.
    let none = folder.run(&[&work[..], &["--out", "without"]].concat()).json();
    assert!(none["series"].is_null() && !folder.path("without/series.csv").exists());
    // Nor over the results of a run that had one.
    folder.run(&[&work[..], &["--out", "results"]].concat()).json();
    assert!(folder.path("results/summary.json").exists());
    for name in ["series.csv", "series.parquet"] {
        assert!(!folder.path(&format!("results/{name}")).exists(), "{name}");
    }
}

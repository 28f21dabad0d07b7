//! `flashyard sweep`: what is killed goes on with the same bytes, points that fail do not lose the
//! others, means are those of the runs, a prepared device is one that ran before, goals are met.

use crate::support::{Folder, Ran, finish, is_near};
use flashyard_run::headline;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Twelve runs of some tens of milliseconds each.
const GRID: &str = "device = \"small-full\"\nworkload = \"random-write\"\n\
    set = [\"pattern.requests=8000\", \"stream.depth=4\"]\n\
    vary = [\"ftl.over_provisioning_percent=20..40:10\", \"gc.policy=greedy | gc.policy=fifo\"]\n\
    seeds = 2\n";

type Row = BTreeMap<String, String>;

/// The rows of a CSV file.
fn rows(folder: &Folder, name: &str) -> Vec<Row> {
    let bytes = folder.read(name);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let header = reader.headers().unwrap().clone();
    let row = |row: csv::StringRecord| {
        header.iter().map(String::from).zip(row.iter().map(String::from)).collect()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[track_caller]
fn number(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name}: {:?}", row[name]))
}

/// Lines of the journal behind its first one.
fn finished(folder: &Folder) -> usize {
    let text = std::fs::read(folder.path("s.parquet.journal")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').count().saturating_sub(2)
}

fn start(folder: &Folder) -> Child {
    let mut command = folder.command(&["sweep", "s.toml", "--csv", "s.csv"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("RAYON_NUM_THREADS", "2").spawn().expect("the command starts")
}

/// The folder of a sweep that was killed, by a signal that cannot be caught, each time that so
/// many further runs were finished; `None` if it came to its end before the signal.
fn killed(steps: &[usize]) -> Option<Folder> {
    let folder = Folder::with("s.toml", GRID);
    for &wanted in steps {
        let mut child = start(&folder);
        let since = Instant::now();
        while finished(&folder) < wanted && child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < Duration::from_secs(300), "it does not get on");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            return None;
        }
        assert!(finished(&folder) >= wanted);
    }
    Some(folder)
}

#[test]
fn a_sweep_that_is_killed_anywhere_goes_on_with_the_same_bytes() {
    let unbroken = Folder::with("s.toml", GRID);
    let text = unbroken.run(&["sweep", "s.toml", "--csv", "s.csv"]).text();
    assert_eq!(finished(&unbroken), 12);
    for steps in [&[1, 4, 7][..], &[2]] {
        // A busy machine may hold the signal back until the sweep is done.
        let folder = (0..20).find_map(|_| killed(steps)).expect("it is killed before its end");
        let before = finished(&folder);
        // A line that was not written to its end.
        let mut journal = folder.read("s.parquet.journal");
        journal.extend(b"{\"run\":\"12");
        folder.write("s.parquet.journal", journal);
        let ran = folder.run(&["sweep", "s.toml", "--csv", "s.csv"]);
        assert!(
            ran.stderr.starts_with(&format!("{before} of 12 runs were done before\n")),
            "{ran:?}"
        );
        assert_eq!(ran.text(), text);
        assert_eq!(finished(&folder), 12, "none was run twice");
        for name in ["s.parquet", "s.csv"] {
            assert!(folder.read(name) == unbroken.read(name), "{name}");
        }
    }
}

#[test]
fn a_finished_sweep_runs_only_what_was_added_to_it() {
    let folder = Folder::with("s.toml", GRID);
    folder.run(&["sweep", "s.toml"]).text();
    let first = folder.read("s.parquet");
    let again = folder.run(&["sweep", "s.toml"]);
    assert!(again.stderr.starts_with("12 of 12 runs were done before\n"), "{again:?}");
    assert!(folder.read("s.parquet") == first);
    folder.write("s.toml", GRID.replace("20..40:10", "20..40:10,50"));
    let listed = folder.run(&["sweep", "s.toml", "--dry-run"]).text();
    assert!(listed.ends_with("8 points, 12 of 16 runs done\n"), "{listed}");
    assert_eq!(
        (listed.lines().count(), listed.matches(" (2 of 2 runs)").count()),
        (9, 6),
        "{listed}"
    );
    let more = folder.run(&["sweep", "s.toml"]);
    assert!(more.stderr.starts_with("12 of 16 runs were done before\n"), "{more:?}");
    let other = folder.run(&["sweep", "s.toml", "--set", "nand.read_us=61"]);
    assert!(other.stderr.starts_with("the journal has no run of these settings"), "{other:?}");
}

#[test]
fn means_and_intervals_are_those_of_the_runs_and_runs_those_of_run() {
    let folder = Folder::with("s.toml", GRID.replace("seeds = 2", "seeds = [3, 5, 8]"));
    let ran = folder.run(&["sweep", "s.toml", "--csv", "p.csv", "--runs", "r.csv"]);
    let text = ran.text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("best all p99.9: ") && text.contains("worst all p99.9"), "{text}");
    let (points, runs) = (rows(&folder, "p.csv"), rows(&folder, "r.csv"));
    assert_eq!((points.len(), runs.len()), (6, 18));
    for (point, runs) in points.iter().zip(runs.chunks(3)) {
        assert_eq!((point["runs"].as_str(), point["seed"].as_str()), ("3", ""));
        for name in ["write.mean_us", "wa", "iops", "energy_mj"] {
            let values: Vec<f64> = runs.iter().map(|run| number(run, name)).collect();
            let mean = values.iter().sum::<f64>() / 3.0;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            // Student's t of two degrees of freedom.
            let half = 4.303 * (squares / 2.0).sqrt() / 3f64.sqrt();
            let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-9 * wanted.abs();
            assert!(near(number(point, name), mean), "{name}");
            assert!(near(number(point, &format!("{name}_ci95")), half), "{name}");
        }
    }
    let run = &runs[4];
    assert_eq!(run["seed"], "5");
    let set = format!("ftl.over_provisioning_percent={}", run["ftl.over_provisioning_percent"]);
    let policy = format!("gc.policy={}", run["gc.policy"]);
    let mut args = vec!["run", "small-full", "random-write", "--json", "--seed", "5"];
    for set in ["pattern.requests=8000", "stream.depth=4", &set, &policy] {
        args.extend(["--set", set]);
    }
    let alone = folder.run(&args).json();
    let found = |path: &str| alone.pointer(path).cloned().unwrap_or(Value::Null);
    assert!(is_near(&found("/flash/write_amplification"), number(run, "wa")));
    assert!(is_near(&found("/latency_ns/write/p999"), number(run, "write.p999_us") * 1e3));
    assert_eq!(found("/provenance/workload_sha256"), run["workload_sha256"].as_str());
    assert!(is_near(&found("/throughput/iops"), number(run, "iops")));
}

#[test]
fn the_file_has_types_units_seeds_and_the_version() {
    let folder = Folder::with("s.toml", GRID);
    folder.run(&["sweep", "s.toml"]).text();
    let file = std::fs::File::open(folder.path("s.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    assert_eq!(metadata.num_rows(), 6);
    let notes = metadata.key_value_metadata().unwrap();
    let note = |key: &str| {
        let found = notes.iter().find(|note| note.key == key);
        found.and_then(|note| note.value.clone()).unwrap_or_else(|| panic!("{key}"))
    };
    assert_eq!(note("flashyard.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(note("flashyard.seeds"), "1,2");
    assert_eq!(note("flashyard.sweep"), GRID);
    let units: Value = serde_json::from_str(&note("flashyard.units")).unwrap();
    let meanings: Value = serde_json::from_str(&note("flashyard.columns")).unwrap();
    for column in metadata.schema_descr().columns() {
        assert!(units[column.name()].is_string() && meanings[column.name()].is_string());
    }
    assert_eq!((&units["write.p999_us"], &units["j_per_gb"]), (&"us".into(), &"J/GB".into()));
    assert_eq!(units["ftl.over_provisioning_percent"], "%");
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let row: BTreeMap<String, String> =
        row.get_column_iter().map(|(name, field)| (name.clone(), field.to_string())).collect();
    assert_eq!(
        (row["point"].as_str(), row["ftl.over_provisioning_percent"].as_str()),
        ("1", "20.0")
    );
    let settings: Value = serde_json::from_str(row["settings"].trim_matches('"')).unwrap();
    assert_eq!(settings["device"]["ftl"]["over_provisioning_percent"], 20);
    assert_eq!(settings["workload"][0]["streams"][0]["settings"]["requests"], 8000);
}

/// The figures of each of several streams are columns; a class that a stream has no request of, and
/// workloads of one stream, have none.
#[test]
fn streams_have_columns_of_their_own() {
    let folder = Folder::new();
    let stream = |name: &str, base: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\n[stream.pattern]\nbase = \"{base}\"\nrequests = 300\n"
        )
    };
    folder.write("two.toml", stream("a", "random-write") + &stream("b", "random-read"));
    let text = "device = \"small-full\"\nvary = [\"workload=two.toml,toy-write\"]\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--csv", "s.csv"]).text();
    let rows = rows(&folder, "s.csv");
    let run = folder.run(&["run", "small-full", "two.toml", "--json"]).json();
    for (stream, class) in [("a", "write"), ("b", "read"), ("b", "all")] {
        let found = &run["streams"][stream]["latency_ns"][class]["p9999"];
        let name = format!("stream.{stream}.{class}.p9999_us");
        assert!(is_near(found, number(&rows[0], &name) * 1e3), "{name}: {found}");
        assert!(rows[1][&name].is_empty(), "it has one stream");
    }
    let of = |field: &str| run["streams"]["b"][field].as_f64().unwrap();
    let found = of("requests") * 1e9 / of("active_ns");
    assert!((found / number(&rows[0], "stream.b.iops") - 1.0).abs() < 1e-9, "{found}");
    assert!(!rows[0].contains_key("stream.a.read.count"), "{rows:?}");
}

/// Reads and writes of streams of their own; their latencies follow `nand.read_us` and
/// `nand.program_us`.
const TWO: &str = "[[stream]]\nname = \"oltp\"\n[stream.pattern]\nbase = \"random-read\"\n\
    requests = 300\n[[stream]]\nname = \"log\"\n[stream.pattern]\nbase = \"random-write\"\n\
    requests = 300\n";

const OF_STREAMS: &str = "rank = \"stream.oltp.read.p99_us\"\n\
    columns = [\"stream.log.write.p99_us\", \"stream.log.iops\"]\n";

/// The words of the line that begins with this one.
fn words<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = lines.filter(|words| words.first() == Some(&first));
    found.next().unwrap_or_else(|| panic!("{first}: {text}"))
}

/// The printed figures of streams are those of the file's columns, the best and the worst point
/// follow from them, here and on the page, and points without the stream have no rank.
#[test]
fn a_rank_and_columns_by_stream_show_the_columns_of_the_file() {
    let folder = Folder::with("two.toml", TWO);
    let text = format!(
        "device = \"small-full\"\nvary = [\"workload=toy-write | \
         workload=two.toml,nand.read_us=300 | workload=two.toml,nand.read_us=40 | \
         workload=two.toml,nand.read_us=900\"]\n{OF_STREAMS}"
    );
    folder.write("s.toml", text);
    let ran = folder.run(&["sweep", "s.toml", "--csv", "s.csv", "--report", "s"]);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    let (text, rows) = (ran.text(), rows(&folder, "s.csv"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let shown = |row: &Row, stream: &str, figure: &str| {
        let value = number(row, &format!("stream.{stream}.{figure}"));
        headline::named(figure).show(Some(value))
    };
    for row in &rows[1..] {
        let figures = [("oltp", "read.p99_us"), ("log", "write.p99_us"), ("log", "iops")];
        let figures = figures.map(|(stream, figure)| shown(row, stream, figure)).join(" ");
        let found = words(&text, &row["point"]).join(" ");
        assert!(found.ends_with(&figures), "{figures}: {found}");
    }
    assert!(words(&text, "1").ends_with(&["-"; 3]), "it has one stream: {text}");
    let mut ranked: Vec<&Row> = rows[1..].iter().collect();
    ranked.sort_by(|a, b| {
        let [a, b] = [a, b].map(|row| number(row, "stream.oltp.read.p99_us"));
        a.total_cmp(&b)
    });
    let page = String::from_utf8(folder.read("s/report.html")).unwrap();
    for (ends, row) in [(["best", "Best"], ranked[0]), (["worst", "Worst"], ranked[2])] {
        let (value, point) = (shown(row, "oltp", "read.p99_us"), &row["point"]);
        let [line, sentence] =
            ends.map(|end| format!("{end} stream oltp read p99: {value}, point {point}"));
        assert!(text.contains(&line) && page.contains(&sentence), "{line}: {text}");
    }
}

/// A limit between two means of three seeds, and in the interval of the one that fails.
#[test]
fn a_goal_is_doubted_where_the_value_beside_its_answer_may_meet_it() {
    let folder = Folder::new();
    let goal = |limit: u32| {
        format!(
            "device = \"small-full\"\nworkload = \"random-write\"\n\
             set = [\"pattern.requests=3000\"]\nseeds = 3\n\
             [goal]\nkey = \"ftl.over_provisioning_percent\"\nrange = [20, 24]\nresolution = 1\n\
             metric = \"write.mean_us\"\nbelow = {limit}\nfind = \"least\"\n"
        )
    };
    let means = "device = \"small-full\"\nworkload = \"random-write\"\n\
                 set = [\"pattern.requests=3000\"]\nseeds = 3\n\
                 vary = [\"ftl.over_provisioning_percent=20,21,22,23,24\"]\n";
    folder.write("m.toml", means);
    folder.run(&["sweep", "m.toml", "--csv", "m.csv"]).text();
    let all: Vec<[f64; 2]> = rows(&folder, "m.csv")
        .iter()
        .map(|row| ["write.mean_us", "write.mean_us_ci95"].map(|name| number(row, name)))
        .collect();
    let fails = all.windows(2).position(|pair| pair[1][0] + 10.0 < pair[0][0]).expect("a step");
    let limit = all[fails][0] - 5.0;
    assert!(all[fails][1] > 5.0, "{all:?}");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean")]
    folder.write("g.toml", goal(limit as u32));
    let text = folder.run(&["sweep", "g.toml"]).text();
    let beside = format!("warning: the mean at {} does not meet", 20 + fails);
    assert!(text.replace('\n', " ").contains(&beside), "{beside}: {text}");
}

/// The answer is the one of a sweep over all values, by the column of the file.
#[test]
fn a_goal_is_held_against_the_figure_of_a_stream() {
    let folder = Folder::with("two.toml", TWO);
    let head = "device = \"small-full\"\nworkload = \"two.toml\"\n";
    folder.write("g.toml", format!("{head}vary = [\"nand.read_us=50..250:50\"]\n"));
    folder.run(&["sweep", "g.toml", "--csv", "g.csv"]).text();
    let all = rows(&folder, "g.csv");
    let latencies: Vec<f64> =
        all.iter().map(|row| number(row, "stream.oltp.read.p99_us")).collect();
    assert!(latencies.is_sorted(), "{latencies:?}");
    let limit = f64::midpoint(latencies[2], latencies[3]);
    let goal = |metric: &str| {
        format!(
            "{head}[goal]\nkey = \"nand.read_us\"\nrange = [50, 250]\nresolution = 50\n\
             metric = \"{metric}\"\nbelow = {limit:?}\nfind = \"most\"\n"
        )
    };
    folder.write("s.toml", goal("stream.oltp.read.p99_us"));
    let text = folder.run(&["sweep", "s.toml", "--csv", "s.csv"]).text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let searched = rows(&folder, "s.csv");
    let answer = searched.iter().find(|row| row["goal_answer"] == "1").expect("one is found");
    assert!((number(answer, "nand.read_us") - 150.0).abs() < 1e-9, "{text}");
    for row in &searched {
        let is_met = number(row, "stream.oltp.read.p99_us") < limit;
        assert_eq!(row["goal_holds"], u8::from(is_met).to_string());
    }
    folder.write("n.toml", goal("stream.none.read.p99_us"));
    let none = folder.run(&["sweep", "n.toml"]);
    assert!(none.stderr.contains(
        "warning: no run has the stream of stream.none.read.p99_us; streams are log, oltp\n"
    ));
    let say = "no value found: stream.none.read.p99_us < ";
    assert!(none.clone().text().contains(say), "{none:?}");
}

/// Both ends of the range of a goal are tried, so its steps come to the end.
#[test]
fn a_goal_whose_steps_miss_the_end_of_its_range_is_refused() {
    let folder = Folder::with(
        "g.toml",
        "device = \"small-full\"\nworkload = \"random-read\"\n[goal]\nkey = \"stream.depth\"\n\
         range = [1, 10]\nresolution = 4\nmetric = \"read.p99_us\"\nbelow = 100\nfind = \"most\"\n",
    );
    let refused = folder.run(&["sweep", "g.toml"]);
    let why = "its steps do not come to the end of the range; end it at 9, or set another";
    assert!(refused.status == Some(2) && refused.stderr.contains(why), "{refused:?}");
}

/// A stream that no run has is named in one line, with those that there are.
#[test]
fn streams_that_no_run_has_are_named() {
    let folder = Folder::with("two.toml", TWO);
    let text = |workload: &str| {
        format!(
            "device = \"small-full\"\nworkload = \"{workload}\"\n\
             vary = [\"nand.read_us=50,100\"]\n{OF_STREAMS}"
        )
    };
    let warned = |text: String, warning: &str| {
        folder.write("s.toml", text);
        let ran = folder.run(&["sweep", "s.toml"]);
        let lines: Vec<&str> =
            ran.stderr.lines().filter(|line| line.starts_with("warning")).collect();
        assert_eq!(lines, [warning]);
        assert!(!ran.text().contains("best"), "no point has the figure of the rank");
    };
    warned(
        text("two.toml").replace("oltp", "olpt").replace("log.iops", "log.x.iops"),
        "warning: no run has the stream of stream.olpt.read.p99_us, stream.log.x.iops; streams are \
         log, oltp",
    );
    warned(
        text("toy-write"),
        "warning: no run has the stream of stream.oltp.read.p99_us, stream.log.write.p99_us, \
         stream.log.iops; runs with one stream have no figures by stream",
    );
}

/// A class of which no run has a request is named in one line, of all streams and of one; so are
/// figures that have no value.
#[test]
fn figures_that_no_run_has_are_named() {
    let folder = Folder::with("two.toml", TWO);
    let text = "device = \"small-full\"\nworkload = \"two.toml\"\n\
                vary = [\"nand.read_us=50,100\"]\nrank = \"trim.p99_us\"\n\
                columns = [\"stream.log.read.p99_us\", \"stream.log.read.count\", \"tbw\"]\n";
    folder.write("s.toml", text);
    let ran = folder.run(&["sweep", "s.toml"]);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    let of_classes = "warning: no run has a request of the class of trim.p99_us, \
                      stream.log.read.p99_us";
    assert_eq!(lines, [of_classes, "warning: no run has the figure tbw"]);
}

/// Figures that the file asks for and that do not fit the screen are named.
#[test]
fn figures_without_room_are_named() {
    let names = ["write.p50_us", "write.p90_us", "write.p99_us", "write.p999_us", "write.max_us"];
    let all = [&names[..], &["energy_mj", "mb_per_s", "wa", "erases", "iops"]].concat();
    let columns = all.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let text = format!("{GRID}columns = [{columns}]\n").replace("8000", "300");
    let folder = Folder::with("s.toml", text);
    let text = folder.run(&["sweep", "s.toml"]).text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let said = text.replace('\n', " ");
    let (_, said) = said.split_once("not shown for lack of room: ").expect("it is said");
    let (left_out, _) = said.split_once("; they are in the file").expect("it has an end");
    let left_out: Vec<&str> = left_out.split(", ").collect();
    assert!(left_out.iter().all(|name| all.contains(name)), "{left_out:?}");
    // The default figures are not asked for, so nothing is said of them.
    let few = Folder::with("s.toml", GRID.replace("8000", "300"));
    assert!(!few.run(&["sweep", "s.toml"]).text().contains("lack of room"));
}

/// Every key that a sweep varies is a column: one that all points agree in, and one that has no
/// effect on any of them, since the device is a disk.
#[test]
fn keys_that_are_varied_are_columns_though_they_do_not_differ() {
    let folder = Folder::new();
    for (device, vary, columns) in [
        ("small-full", "\"gc.policy=greedy\", \"stream.depth=4\"", ["gc.policy", "stream.depth"]),
        ("wd1600bekt", "\"gc.policy=greedy\", \"stream.depth=4\"", ["stream.depth", "gc.policy"]),
    ] {
        folder.write(
            "s.toml",
            format!(
                "device = \"{device}\"\nworkload = \"random-write\"\n\
                 set = [\"pattern.requests=50\"]\nvary = [{vary}]\n"
            ),
        );
        folder.run(&["sweep", "s.toml", "--csv", "s.csv"]).text();
        let text = String::from_utf8(folder.read("s.csv")).unwrap();
        let names: Vec<&str> = text.lines().next().unwrap().split(',').skip(5).take(2).collect();
        assert_eq!(names, columns, "{device}");
    }
}

/// An impossible device, and a trace that turns out to be damaged.
#[test]
fn points_that_fail_are_reported_and_lose_no_others() {
    let folder = Folder::with("bad.txt", "0 0 0 8 1\n9 0 0 8 1\n1 0 0 8 1\n");
    folder.write("good.txt", "0 0 0 8 1\n9 0 0 8 1\n");
    let text = "device = \"small-full\"\n\
                set = [\"map.store=line_cache\", \"map.cache_bytes=4096\"]\n\
                vary = [\"workload=good.txt,bad.txt\", \"state.initial=full,steady\"]\n";
    folder.write("s.toml", text);
    let ran = folder.run(&["sweep", "s.toml", "--csv", "s.csv"]);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stderr.ends_with("error: 3 of 4 points failed\n"), "{ran:?}");
    let found = rows(&folder, "s.csv");
    assert_eq!(found.len(), 4);
    assert!(found[0]["failed"].is_empty() && number(&found[0], "requests") > 1.0);
    assert!(found[1]["failed"].contains("small-full"), "{}", found[1]["failed"]);
    assert!(
        found[2]["failed"].starts_with("bad.txt:3: time steps back"),
        "{:?}",
        found[2]["failed"]
    );
    assert!(found[1..].iter().all(|row| row["iops"].is_empty()));
    // Failures are finished points, too.
    let again = folder.run(&["sweep", "s.toml", "--csv", "s.csv"]);
    assert_eq!((again.status, again.stdout), (Some(1), ran.stdout));
}

/// A device after a preparation is one that ran the phase before; runs that share it are alike.
#[test]
fn a_prepared_device_is_one_that_ran_before() {
    let folder = Folder::new();
    folder.write("write.toml", "[pattern]\nbase = \"sequential-write\"\nrequests = 300\n");
    folder.write("read.toml", "[pattern]\nbase = \"sequential-read\"\nrequests = 400\n");
    let both = "[[phase]]\nmeasure = false\nworkload = \"write.toml\"\n\
                [[phase]]\nworkload = \"read.toml\"\n";
    folder.write("both.toml", both);
    let text = "device = \"embedded-2x2\"\nworkload = \"read.toml\"\n\
                vary = [\"stream.depth=1,4,16\"]\n[prepare]\nworkload = \"write.toml\"\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--csv", "s.csv", "--check"]).text();
    for (row, depth) in rows(&folder, "s.csv").iter().zip(["1", "4", "16"]) {
        let set = format!("phase.2.stream.depth={depth}");
        let args = ["run", "embedded-2x2", "both.toml", "--json", "--set", &set];
        let run = folder.run(&args).json();
        for (path, name) in [("mean", "read.mean_us"), ("p999", "read.p999_us")] {
            let found = &run["latency_ns"]["read"][path];
            assert!(is_near(found, number(row, name) * 1e3), "{name}: {found}");
        }
        let reads = number(row, "flash_reads");
        let ops = run["flash"]["array_ops"]["reads"].as_object().unwrap();
        let all: u64 = ops.values().map(|count| count.as_u64().unwrap()).sum();
        assert!((reads - all as f64).abs() < 0.5, "{reads} of {all}");
    }
}

const GOAL: &str = "device = \"small-full\"\nworkload = \"random-write\"\n\
    set = [\"pattern.requests=6000\"]\nvary = [\"stream.depth=1,4\"]\n\
    [goal]\nkey = \"ftl.over_provisioning_percent\"\nrange = [20, 28]\nmetric = \"wa\"\n";

/// The answer is the one that a run of all values gives.
#[test]
fn a_goal_is_met_by_the_least_value() {
    let folder = Folder::with("s.toml", format!("{GOAL}below = 2.8\n"));
    let text = folder.run(&["sweep", "s.toml", "--csv", "s.csv"]).text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let grid = GOAL.split("[goal]").next().unwrap();
    let vary = "\"ftl.over_provisioning_percent=20..28\", \"stream.depth=1,4\"";
    folder.write("g.toml", grid.replace("\"stream.depth=1,4\"", vary));
    folder.run(&["sweep", "g.toml", "--csv", "g.csv"]).text();
    let (searched, all) = (rows(&folder, "s.csv"), rows(&folder, "g.csv"));
    assert!(searched.len() < all.len());
    for depth in ["1", "4"] {
        let of = |rows: &[Row]| -> Vec<Row> {
            rows.iter().filter(|row| row["stream.depth"] == depth).cloned().collect()
        };
        let percent = |row: &Row| row["ftl.over_provisioning_percent"].clone();
        let least =
            of(&all).into_iter().find(|row| number(row, "wa") < 2.8).map(|row| percent(&row));
        let mut answers = of(&searched);
        answers.retain(|row| row["goal_answer"] == "1");
        assert_eq!(answers.first().map(percent), least, "depth {depth}: {text}");
        let least = least.expect("it is met");
        let line = format!("least ftl.over_provisioning_percent with wa < 2.8: {least}; ");
        assert!(text.contains(&line), "{line}: {text}");
    }
}

#[test]
fn a_goal_that_is_not_met_says_so() {
    let folder = Folder::with("s.toml", format!("{GOAL}below = 1\n"));
    let text = folder.run(&["sweep", "s.toml"]).text();
    let say = "no value found: wa < 1 does not hold at the far end";
    assert_eq!(text.matches(say).count(), 2, "{text}");
    // The figure has a table of its own.
    assert!(!text.contains("lack of room"), "{text}");
}

fn refused(folder: &Folder, args: &[&str], message: &str) {
    let before = folder.files();
    let ran: Ran = finish(folder.command(args).stdin(Stdio::null()), None);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(message), "{message}: {ran:?}");
    assert!(folder.files() == before, "nothing is written");
}

#[test]
fn wrong_sweeps_are_refused_before_anything_runs() {
    let folder = Folder::with("s.toml", GRID);
    folder.write("x.csv", "1\n");
    let check = |text: &str, message: &str| {
        folder.write("w.toml", text);
        refused(&folder, &["sweep", "w.toml"], message);
    };
    check("vary = [\"queue.dept=1,2\"]\n", "w.toml queue.dept=1: queue.dept: unknown key; did you");
    check("device = \"dsr\"\n", "dsr: no such device preset or file; did you mean drs?");
    check("device = \"drs\"\nvary = [\"device=ros\"]\n", "device: points name it, too");
    check("vary = [\"seed=1,2\"]\n", "use the key seeds of the file");
    check("workload = \"x.csv\"\nseeds = 2\nvery = 1\n", "w.toml:3: unknown field `very`");
    check("set = [\"map.store=cmt\", \"state.initial=steady\"]\n", "no point can run");
    check("workload = \"-\"\n", "sweep reads the workload once a run");
    let names = |args: &[&str], message: &str| {
        refused(&folder, &[&["sweep", "s.toml"], args].concat(), message);
    };
    names(&["--out", "s.csv"], "--out s.csv: its name must end in .parquet");
    names(&["--csv", "a.csv", "--runs", "a.csv"], "a.csv: another result is written to this file");
    names(&["--set", "gc.policy=greedy"], "--set gc.policy=greedy: the sweep varies gc.policy");
    folder.write("s.parquet.journal", "mine\n");
    names(&[], "s.parquet.journal: it is no journal of this version");
}

//! report.html: what is in it is what the run found, it is whole, and it loads nothing.

use crate::support::{Folder, int, is_near, without_command};
use serde_json::Value;

const WORK: [&str; 6] =
    ["run", "small-full", "random-write", "--set", "pattern.requests=3000", "--check"];

/// The data of a page.
fn data_of(html: &[u8]) -> Value {
    let html = std::str::from_utf8(html).expect("the page is UTF-8");
    let from = html.split_once("id=\"data\">").expect("the page has data").1;
    serde_json::from_str(from.split_once("</script>").unwrap().0).expect("the data is JSON")
}

fn plot<'a>(data: &'a Value, id: &str) -> &'a Value {
    let plots = data["plots"].as_array().expect("a list of plots");
    plots.iter().find(|plot| plot["id"] == id).unwrap_or_else(|| panic!("no plot {id}"))
}

fn names(data: &Value) -> Vec<&str> {
    data["plots"].as_array().unwrap().iter().map(|plot| plot["id"].as_str().unwrap()).collect()
}

fn sum(values: &Value, weights: &[f64]) -> f64 {
    let values = values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
    values.zip(weights).map(|(value, weight)| value * weight).sum()
}

#[test]
fn a_report_shows_the_run_and_changes_nothing_of_it() {
    let folder = Folder::new();
    let run = folder.run(&[&WORK[..], &["--out", "results", "--json"]].concat()).json();
    let html = folder.read("results/report.html");
    let data = data_of(&html);
    let mut expected = run.clone();
    expected.as_object_mut().unwrap().remove("series");
    assert_eq!((&data["kind"], &data["results"]), (&"run".into(), &expected));
    // Without the folder the run finds the same: the series of the plots is the report's alone.
    let plain = folder.run(&[&WORK[..], &["--json"]].concat()).json();
    assert!(run["series"].is_null() && run["power"]["peak_mw"].is_null());
    assert_eq!(without_command(plain), without_command(run));
    // Each plot has its place, and the same command writes the same bytes.
    let text = String::from_utf8(html.clone()).unwrap();
    for id in names(&data) {
        assert!(text.contains(&format!("<figure id=\"plot-{id}\"")), "{id}");
    }
    folder.run(&[&WORK[..], &["--out", "results", "--json"]].concat()).json();
    assert!(html == folder.read("results/report.html"));
}

#[test]
fn plots_add_up_to_the_figures_of_the_run() {
    let folder = Folder::new();
    let run = folder.run(&[&WORK[..], &["--out", "results", "--json"]].concat()).json();
    let data = data_of(&folder.read("results/report.html"));
    // The distribution reaches the percentiles where the summary has them.
    let line = &plot(&data, "latency-cdf")["series"][0];
    let points = line["points"].as_array().unwrap();
    let at = |ns: u64| points.iter().find(|point| point[0] == ns).and_then(|one| one[1].as_f64());
    for (name, share) in [("p99", 99.0), ("p999", 99.9), ("max", 100.0)] {
        let reached = at(int(&run, &format!("latency_ns.write.{name}")));
        assert!(reached.is_some_and(|reached| reached >= share), "{name}: {reached:?}");
    }
    assert_eq!(points[0][1], 0.0);
    // Rates times the widths of their bins are the sums of the run.
    let widths = |plot: &Value| -> Vec<f64> {
        let ends = plot["ends"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap() / 1e9);
        let ends: Vec<f64> = ends.collect();
        let starts = [0.0].into_iter().chain(ends.iter().copied());
        ends.iter().zip(starts).map(|(end, start)| end - start).collect()
    };
    // Nothing is read, so only writes have a plot.
    assert!(!names(&data).contains(&"throughput-read"));
    let throughput = plot(&data, "throughput-write");
    let written = sum(&throughput["series"][0]["values"], &widths(throughput));
    assert!((written - 3_000.0 * 4_096.0).abs() < 1.0, "{written}");
    let programs = plot(&data, "gc");
    for (series, purpose) in [(0, "host"), (1, "gc")] {
        let found = sum(&programs["series"][series]["values"], &widths(programs));
        let expected = int(&run, &format!("flash.programs.{purpose}")) as f64;
        assert!((found - expected).abs() < 1e-6 * expected, "{purpose}: {found}, {expected}");
    }
    assert!(widths(programs).len() <= 512);
    // Dies, blocks and the parts of write amplification.
    let columns = |id: &str| -> Vec<f64> {
        let values = plot(&data, id)["values"].as_array().unwrap();
        values.iter().map(|column| column[1].as_f64().unwrap()).collect()
    };
    let dies = columns("dies");
    let mean = dies.iter().sum::<f64>() / dies.len() as f64 / 100.0;
    assert!(dies.len() == 2 && is_near(&run["utilisation"]["dies"]["mean"], mean), "{mean}");
    assert!((columns("wear").iter().sum::<f64>() - 320.0).abs() < 1e-9);
    let parts = &plot(&data, "write-amplification")["rows"][0]["values"];
    let factor = sum(parts, &[1.0; 6]);
    assert!((factor - run["flash"]["write_amplification"].as_f64().unwrap()).abs() < 1e-12);
    for (id, axis) in [("energy-resource", "by_resource"), ("energy-purpose", "by_purpose")] {
        let rows = plot(&data, id)["rows"].as_array().unwrap();
        let all: f64 = rows.iter().map(|row| row["value"].as_f64().unwrap()).sum();
        let expected: u64 =
            run["energy_pj"][axis].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert!((all - expected as f64).abs() < 1.0, "{axis}");
    }
}

#[test]
fn what_a_run_does_not_have_is_not_drawn_and_the_report_says_why() {
    let folder = Folder::new();
    let few = ["--set", "pattern.requests=50", "--out"];
    folder.run(&[&["run", "wd1600bekt", "random-read"][..], &few, &["disk"]].concat()).text();
    let page = String::from_utf8(folder.read("disk/report.html")).unwrap();
    for line in [
        "Utilisation of dies and channels: a disk has neither dies nor channels",
        "Write amplification and wear: a disk writes in place and does not wear",
        "Garbage collection over time: a disk collects no garbage and erases no blocks",
    ] {
        assert!(page.contains(&format!("<li>{line}</li>")), "{line}");
    }
    let data = data_of(page.as_bytes());
    let drawn = names(&data);
    assert!(drawn.contains(&"power") && !drawn.contains(&"dies") && !drawn.contains(&"gc"));
    let fresh = ["run", "embedded-2x2", "random-write"];
    folder.run(&[&fresh[..], &few, &["fresh", "--save", "state.bin"]].concat()).text();
    let page = String::from_utf8(folder.read("fresh/report.html")).unwrap();
    assert!(page.contains("<li>Wear: no block was erased</li>"));
    let why = "a device that is saved would keep the time series: set metrics.bin_ms";
    assert!(page.contains(&format!("<li>Plots over time: {why}</li>")));
    // The saved device is the one of a run without a report.
    folder.run(&[&fresh[..], &few[..2], &["--save", "plain.bin"]].concat()).text();
    assert!(folder.read("state.bin") == folder.read("plain.bin"));
}

#[test]
fn a_report_that_cannot_be_written_leaves_nothing() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("results/report.html")).unwrap();
    let ran = folder.run(&[&WORK[..], &["--out", "results"]].concat());
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("report.html: it is there and is no file")
    );
    assert!(folder.files().is_empty(), "{:?}", folder.files().keys());
}

#[test]
fn a_comparison_has_each_figure_of_each_run() {
    let folder = Folder::new();
    let work = ["compare", "small-full", "mixed-70-30", "--set", "pattern.requests=400"];
    let vary = ["--vary", "gc.policy=greedy,fifo", "--vary", "queue.depth=1,4,16"];
    let runs = folder.run(&[&work[..], &vary, &["--out", "c", "--json"]].concat()).json();
    let data = data_of(&folder.read("c/report.html"));
    assert_eq!((&data["kind"], &data["results"]), (&"compare".into(), &runs));
    for class in ["read", "write"] {
        let means = plot(&data, &format!("latency-mean-{class}"));
        assert_eq!(means["names"], serde_json::json!(["1", "4", "16"]));
        assert_eq!(means["joined"], true, "depths are numbers");
        for (line, policy) in ["greedy", "fifo"].iter().enumerate() {
            let series = &means["series"][line];
            assert_eq!(series["name"], *policy);
            for depth in 0..3 {
                assert_eq!(
                    series["values"][depth],
                    runs[3 * line + depth]["latency_ns"][class]["mean"]
                );
            }
        }
    }
    let lines = plot(&data, "latency-cdf")["series"].as_array().unwrap();
    let lines: Vec<&str> = lines.iter().map(|line| line["name"].as_str().unwrap()).collect();
    let runs = ["greedy, 1", "greedy, 4", "greedy, 16", "fifo, 1", "fifo, 4", "fifo, 16"];
    assert_eq!(lines, runs);
    let html = String::from_utf8(folder.read("c/report.html")).unwrap();
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("<figure id=\"plot-energy\"") < place("<h2>Figures by run</h2>"));
    assert!(!names(&data).iter().any(|id| id.starts_with("stream-")), "there is one stream");
    let buttons = html.matches("class=\"save\" hidden>Save as SVG</button>").count();
    assert_eq!(buttons, names(&data).len());
}

/// A workload of two streams has the latencies of each, in a comparison and in a sweep. Values that
/// are words are not joined.
#[test]
fn streams_have_plots_of_their_own_and_words_are_not_joined() {
    let folder = Folder::new();
    let streams = "[[stream]]\nname = \"reader\"\npattern = { requests = 200, read_percent = 80 }\n\
                   [[stream]]\nname = \"writer\"\npattern = { requests = 100, read_percent = 0 }\n";
    folder.write("two.toml", streams);
    let sweep = "device = \"small-full\"\nworkload = \"two.toml\"\n\
                 vary = [\"gc.policy=greedy,fifo\"]\n";
    folder.write("s.toml", sweep);
    let vary = ["--vary", "gc.policy=greedy,fifo", "--out", "c", "--json"];
    let runs = folder.run(&[&["compare", "small-full", "two.toml"], &vary[..]].concat()).json();
    folder.run(&["sweep", "s.toml", "--report", "s"]).text();
    for page in ["c/report.html", "s/report.html"] {
        let data = data_of(&folder.read(page));
        let means = plot(&data, "stream-latency-mean-write");
        assert_eq!(
            (&means["joined"], &means["title"]),
            (&false.into(), &"Mean latency of writes by stream".into())
        );
        for (line, stream) in ["reader", "writer"].iter().enumerate() {
            let series = &means["series"][line];
            assert_eq!(series["name"], *stream);
            for run in 0..2 {
                let mean = &runs[run]["streams"][stream]["latency_ns"]["write"]["mean"];
                let shown = series["values"][run].as_f64().unwrap();
                assert!((shown - mean.as_f64().unwrap()).abs() < 1e-9 * shown, "{page}");
            }
        }
        let reads = plot(&data, "stream-latency-p99-read")["series"].as_array().unwrap();
        assert_eq!(reads.len(), 1, "the writer reads nothing");
    }
}

/// The points of a sweep are drawn as its table has them.
#[test]
fn a_sweep_has_each_figure_of_each_point() {
    let folder = Folder::new();
    let text = "device = \"small-full\"\nworkload = \"random-write\"\nseeds = 2\n\
                set = [\"pattern.requests=300\"]\nvary = [\"stream.depth=1,4\"]\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--csv", "s.csv", "--report", "s"]).text();
    let data = data_of(&folder.read("s/report.html"));
    let bytes = folder.read("s.csv");
    let mut table = csv::Reader::from_reader(&bytes[..]);
    let header = table.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|one| one == name).expect(name);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    for (id, column, scale) in [
        ("latency-p999-write", "write.p999_us", 1e3),
        ("iops", "iops", 1.0),
        ("power", "power_w", 1e3),
    ] {
        let plot = plot(&data, id);
        assert_eq!(plot["names"], serde_json::json!(["1", "4"]));
        for (point, row) in rows.iter().enumerate() {
            let figure = row[place(column)].parse::<f64>().unwrap() * scale;
            let shown = plot["series"][0]["values"][point].as_f64().unwrap();
            assert!((shown - figure).abs() <= 1e-9 * figure, "{id}: {shown}, {figure}");
        }
    }
    let html = String::from_utf8(folder.read("s/report.html")).unwrap();
    assert!(html.contains("Each is the mean of 2 seeds.") && html.contains("device starts full"));
}

/// The page of a sweep begins with its best and worst point and with plots; a warning names the
/// points that it belongs to, and the table of all points comes last.
#[test]
fn a_sweep_begins_with_plots_and_keeps_warnings_to_their_points() {
    let folder = Folder::new();
    let text = "device = \"small-full\"\nworkload = \"random-write\"\n\
                set = [\"pattern.requests=300\"]\n\
                vary = [\"state.initial=full,steady\", \"stream.depth=1,4,8\"]\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--report", "s"]).text();
    let html = String::from_utf8(folder.read("s/report.html")).unwrap();
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
    let (best, warning) = (place("Best all p99.9: "), place("W1, points 1-3: the device starts"));
    let (plot, table) = (place("Latency at 99.9 %"), place("Figures by point"));
    assert!(best < warning && warning < plot && plot < table);
    let rows: Vec<&str> = html[table..].split("<tr").skip(2).collect();
    assert_eq!(rows.len(), 6);
    for (row, number) in rows.iter().zip(1..) {
        assert_eq!(row.contains("W1"), number <= 3, "{row}");
    }
}

/// A search tries values in an order of its own; the page has them by number.
#[test]
fn values_that_a_search_tried_are_in_order() {
    let folder = Folder::new();
    let text = "device = \"small-full\"\nworkload = \"random-write\"\n\
                set = [\"pattern.requests=2000\"]\nvary = [\"stream.depth=1,4\"]\n[goal]\n\
                key = \"ftl.over_provisioning_percent\"\nrange = [8, 28]\nmetric = \"wa\"\n\
                below = 2.8\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--report", "s"]).text();
    let data = data_of(&folder.read("s/report.html"));
    let shown = &plot(&data, "write-amplification")["names"];
    let names = shown.as_array().unwrap().iter();
    let names: Vec<u64> = names.map(|name| name.as_str().unwrap().parse().unwrap()).collect();
    assert!(names.len() > 3 && names.is_sorted(), "{names:?}");
}

/// A point that does not set a key has its value nevertheless; figures that the file asks for are
/// in the table of points, and that of the rank is drawn.
#[test]
fn a_sweep_shows_what_its_file_asks_for() {
    let folder = Folder::new();
    let text = "device = \"small-full\"\nworkload = \"random-write\"\n\
                set = [\"pattern.requests=300\"]\nrank = \"write.max_us\"\n\
                columns = [\"erases\", \"wa\"]\n\
                [[point]]\nset = [\"stream.depth=4\"]\n\
                [[point]]\nset = [\"gc.policy=fifo\"]\n";
    folder.write("s.toml", text);
    let printed = folder.run(&["sweep", "s.toml", "--csv", "s.csv", "--report", "s"]).text();
    let html = String::from_utf8(folder.read("s/report.html")).unwrap();
    let table = html.split_once("<h2>Figures by point</h2>").unwrap().1;
    let cells = |row: &str, ends: &str| -> Vec<String> {
        let cells = row.split(ends).map(|cell| cell.rsplit('>').next().unwrap().to_string());
        let cells: Vec<String> = cells.collect();
        cells[..cells.len() - 1].to_vec()
    };
    let mut rows = table.split("</tr>");
    let header = cells(rows.next().unwrap(), "</th>");
    let place = |name: &str| header.iter().position(|one| one == name).expect(name);
    let points: Vec<Vec<String>> =
        rows.take(2).map(|row| cells(&row.replace("</th>", "</td>"), "</td>")).collect();
    let depth = points[1][place("stream.depth")].clone();
    assert_eq!((&points[0][place("stream.depth")][..], &depth[..]), ("4", "32"), "{points:?}");
    assert!(points[0][place("gc.policy")] != "-", "{points:?}");
    let bytes = folder.read("s.csv");
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let columns = reader.headers().unwrap().clone();
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let number = |point: usize, name: &str| -> f64 {
        let place = columns.iter().position(|one| one == name).expect(name);
        records[point][place].parse().unwrap()
    };
    let data = data_of(html.as_bytes());
    let rank = plot(&data, "rank");
    assert_eq!(rank["title"], "Rank: write max");
    for (point, row) in points.iter().enumerate() {
        let longest = number(point, "write.max_us");
        assert!(printed.contains(&row[place("write max")]), "{row:?}: {printed}");
        assert_eq!(row[place("erases")], number(point, "erases").to_string());
        let series = rank["series"].as_array().unwrap().iter();
        let mut drawn = series.flat_map(|one| one["values"].as_array().unwrap());
        assert!(drawn.any(|value| is_near(value, longest * 1e3)), "{rank}");
    }
    assert_eq!(header.iter().filter(|name| *name == "WA" || *name == "wa").count(), 1);
}

/// A figure that is 0 is a figure.
#[test]
fn a_sweep_keeps_zeros() {
    let folder = Folder::new();
    let text = "device = \"nvme-tlc\"\nworkload = \"random-write\"\n\
                set = [\"pattern.requests=20\"]\nvary = [\"stream.depth=1,4\"]\n";
    folder.write("s.toml", text);
    folder.run(&["sweep", "s.toml", "--report", "s"]).text();
    let html = folder.read("s/report.html");
    let data = data_of(&html);
    let factor = plot(&data, "write-amplification");
    assert_eq!(factor["series"][0]["values"], serde_json::json!([0.0, 0.0]));
    assert!(String::from_utf8(html).unwrap().contains("<td>0.000</td>"));
}

/// A percentile of few requests is marked as in tables on the screen.
#[test]
fn tables_of_pages_mark_percentiles_of_few_requests() {
    let folder = Folder::new();
    let run = ["compare", "small-full", "random-write", "--vary", "queue.depth=1,4"];
    for (requests, is_marked) in [("300", true), ("12000", false)] {
        let set = format!("pattern.requests={requests}");
        folder.run(&[&run[..], &["--set", &set, "--out", "c"]].concat()).text();
        let html = String::from_utf8(folder.read("c/report.html")).unwrap();
        let table = html.split_once("<h2>Figures by run</h2>").unwrap().1;
        let table = table.split_once("<footer>").unwrap().0;
        assert_eq!(table.matches("*</td>").count(), if is_marked { 4 } else { 0 }, "{table}");
        assert_eq!(table.contains("* fewer than 10 requests took longer"), is_marked);
    }
}

#[test]
fn a_study_has_published_figures_beside_ours() {
    let folder = Folder::new();
    let args = ["reproduce", "framework", "--requests", "100", "--replicas", "0", "--out", "s"];
    let study = folder.run(&[&args[..], &["--json"]].concat()).json();
    let html = folder.read("s/report.html");
    let data = data_of(&html);
    assert_eq!((&data["kind"], &data["results"]), (&"reproduce".into(), &study));
    let statements = ["published", "asked"].iter().flat_map(|all| study[*all].as_array().unwrap());
    let numbers: Vec<&Value> =
        statements.flat_map(|one| one["numbers"].as_array().unwrap()).collect();
    assert!(!numbers.is_empty());
    let kinds = names(&data).into_iter().filter(|id| id.starts_with("published-"));
    let rows: Vec<&Value> =
        kinds.flat_map(|id| plot(&data, id)["rows"].as_array().unwrap()).collect();
    assert_eq!(rows.len(), numbers.len());
    for number in numbers {
        let scale = if number["percent"] == true { 100.0 } else { 1.0 };
        let value = |name: &str| number[name].as_f64().map(|value| value * scale);
        let is_it = |row: &&&Value| {
            row["published"].as_f64() == value("published")
                && row["found"].as_f64() == value("found")
        };
        let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{number}"));
        assert_eq!(row["verdict"], number["verdict"]);
        let is_yes = ["holds", "by definition", "by calibration"].map(Value::from);
        assert_eq!(row["class"] == "yes", is_yes.contains(&number["verdict"]), "{row}");
    }
    let page = String::from_utf8(html).unwrap();
    let judged = page.matches("<span class=\"word ").count();
    let all = ["published", "asked"].map(|name| study[name].as_array().unwrap().len());
    assert_eq!(judged, all.iter().sum::<usize>());
}

//! `--power FILE`: samples that sum up to the results; J/MB, W and MB/s.

use crate::support::{Folder, int, quantity, without_command};

/// The columns `start_ns`, `span_ns` and `energy_pj` of a log.
fn samples(folder: &Folder, name: &str) -> Vec<[u64; 3]> {
    let text = String::from_utf8(folder.read(name)).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("start_ns,span_ns,energy_pj,mean_mw"));
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        let [start, span, energy] = [0, 1, 2].map(|place| cells[place].parse::<u64>().unwrap());
        let mean: f64 = cells[3].parse().unwrap();
        assert!((mean * span as f64 - energy as f64).abs() < 1e-3, "{line}");
        [start, span, energy]
    };
    lines.map(row).collect()
}

/// A device that sleeps between requests and takes energy for all that can take some.
const KEYS: [&str; 10] = [
    "--set",
    "energy.link_pj_per_byte=40",
    "--set",
    "energy.controller_idle_mw=20",
    "--set",
    "energy.reclaim_mw=519",
    "--set",
    "sleep.after_us=3000",
    "--set",
    "sleep.power_mw=2",
];

/// One option gives a sample every millisecond and changes no result; a key gives another period,
/// and a file in the folder of results.
#[test]
fn the_log_of_the_power_meter_sums_up_to_the_energy() {
    let folder = Folder::new();
    let run = ["run", "drs", "radio", "--json", "--set", "generator.requests=150"];
    let plain = folder.run(&[&run[..], &KEYS].concat()).json();
    let shown = ["--power", "power.csv", "--timeline", "timeline.pb", "--out", "plain"];
    let ran = folder.run(&[&run[..], &KEYS, &shown].concat()).json();
    assert_eq!(without_command(ran.clone()), without_command(plain), "files change no result");
    assert!(!folder.path("plain/power.csv").exists(), "it has no power meter of its own");
    let period = ["--set", "metrics.power_us=250", "--out", "results"];
    let finer = folder.run(&[&run[..], &KEYS, &period].concat()).json();
    let total = int(&ran, "energy_pj.total");
    assert_eq!(total, int(&finer, "energy_pj.total"));
    for (object, file, period) in
        [(&ran, "power.csv", 1_000_000), (&finer, "results/power.csv", 250_000)]
    {
        let samples = samples(&folder, file);
        assert_eq!(samples.iter().map(|[.., energy]| energy).sum::<u64>(), total, "{file}");
        let time = samples.iter().map(|[_, span, _]| span).sum::<u64>();
        assert_eq!(time, int(object, "power.span_ns"), "{file}");
        let (last, others) = samples.split_last().expect("a run takes time");
        assert!(others.iter().all(|[_, span, _]| *span == period) && last[1] <= period, "{file}");
        let places = samples.iter().zip(0..).all(|([start, ..], number)| *start == number * period);
        assert!(places, "{file}: samples lie side by side");
    }
    let samples = samples(&folder, "results/power.csv").len() as u64;
    assert_eq!(int(&finer, "power.meter.samples"), samples);
    assert!(int(&ran, "power.sleep.wakes") > 0 && int(&ran, "energy_pj.by_resource.sleep") > 0);
}

/// The summary and the comparison show the same figures as the JSON object, and ratios to the first
/// run.
#[test]
fn joules_a_megabyte_are_shown_and_compared() {
    let folder = Folder::new();
    let inputs = ["drs", "radio"];
    let ran = |power: &str| {
        let keys = ["--json", "--set", power];
        folder.run(&[&["run"], &inputs[..], &keys].concat()).json()
    };
    let runs = ["energy.standby_mw=0", "energy.standby_mw=30"].map(ran);
    let figures = runs.each_ref().map(|run| {
        let number = |path: &str| run.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        let watts = number("/power/mean_mw") / 1e3;
        [number("/power/j_per_mb"), watts, number("/throughput/bytes_per_s") / 1e6]
    });
    let [joules, watts, _] = figures[0];
    let summary = folder.run(&[&["run"], &inputs[..]].concat()).text();
    // The report has more digits than the summary.
    let written =
        runs[0].pointer("/throughput/write_bytes_per_s").and_then(serde_json::Value::as_f64);
    let written = written.expect("writes") / 1e6;
    for (name, figure) in [
        ("energy", format!(", {:.1} J/GB: ", 1e3 * joules)),
        ("power", format!("{:.0} uW on average", 1e6 * watts)),
        ("throughput", format!("{:.1} kB/s written", 1e3 * written)),
    ] {
        let line = crate::support::said(&summary, name);
        assert!(line.contains(&figure), "{figure} in {line}");
    }
    let vary = ["--vary", "energy.standby_mw=0,30"];
    let table = folder.run(&[&["compare"], &inputs[..], &vary].concat()).text();
    for (name, place, scale) in [("energy per GB", 0, 1e3), ("power", 1, 1.0), ("rate", 2, 1e6)] {
        let row = table.lines().find(|line| line.starts_with(name)).expect(name);
        let cells: Vec<&str> = row[name.len()..].split_whitespace().collect();
        for (cell, figure) in [(&cells[..2], figures[0]), (&cells[2..4], figures[1])] {
            let (shown, value) = (quantity(cell), figure[place] * scale);
            assert!((shown - value).abs() <= 5e-3 * value, "{row}: {value}");
        }
        let ratio = figures[1][place] / figures[0][place];
        let shown: f64 = cells[4].trim_start_matches('x').parse().expect("a number");
        assert!((shown - ratio).abs() <= 1e-3, "{row}: {ratio}");
    }
}

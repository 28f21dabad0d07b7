//! The picture of the README shows what the command prints now.

use crate::support::{Folder, repository_file};
use serde_json::Value;
use std::fmt::Write;

/// The run that the picture shows, without `--json`.
const COMMAND: &str = "compare drs facebook --vary policy.command=fifo,rcf,rrf,fot,drs";

/// Parts of a latency, in the order of the bars: the name in the report, the words, the colour.
const PARTS: [(&str, &str, &str); 7] = [
    ("die_program", "die busy with programs of others", "#d95f02"),
    ("die_read", "die busy with reads of others", "#7570b3"),
    ("own_map", "own map commands", "#1b9e77"),
    ("delaying", "commands of others that it waits for", "#66a61e"),
    ("host_queue", "host queue", "#a6761d"),
    ("map_stall", "all lines of the map cache being fetched", "#e7298a"),
    ("array", "own page in the array", "#333333"),
];

/// Horizontal pixels from the left edge to the bars, and of a thousand microseconds.
const LEFT: f64 = 60.0;
const PER_MS: f64 = 130.0;

/// Vertical pixels from the top edge to the bars, from bar to bar, and of a bar.
const TOP: f64 = 56.0;
const STEP: f64 = 30.0;
const BAR: f64 = 20.0;

/// Microseconds of a mean read: the whole, and by part in the order of `PARTS`.
fn read_us(run: &Value) -> (f64, [f64; PARTS.len()]) {
    let of = |value: &Value| value.as_f64().expect("a number");
    let reads = &run["latency_ns"]["read"];
    let parts = &run["latency_parts_ns"]["read"];
    let us = |ns: f64| ns / of(&reads["count"]) / 1e3;
    let shown = PARTS.map(|(name, ..)| us(of(&parts[name])));
    let all: f64 = parts.as_object().expect("an object").values().map(of).sum();
    assert!((us(all) - shown.iter().sum::<f64>()).abs() < 1e-6, "a part is missing: {parts}");
    (us(all), shown)
}

/// A line of text that begins, or with `anchor` "end" ends, at this place.
fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>")
        .unwrap();
}

/// A filled rectangle.
fn bar(svg: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
    writeln!(svg, "<rect {place} fill=\"{colour}\"/>").unwrap();
}

/// One stacked bar a policy, with a legend below.
fn draw(runs: &[Value]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"344\" \
         viewBox=\"0 0 720 344\" font-family=\"sans-serif\" font-size=\"13\">\n",
    );
    bar(&mut svg, (0.0, 0.0), (720.0, 344.0), "#ffffff");
    text(
        &mut svg,
        10.0,
        22.0,
        "start",
        "Mean read latency (us) by command policy, and what it is made of",
    );
    text(&mut svg, 10.0, 40.0, "start", &format!("flashyard {COMMAND}"));
    for (row, run) in runs.iter().enumerate() {
        let y = TOP + STEP * f64::from(u8::try_from(row).expect("few rows"));
        let policy = run["device"]["policy"]["command"].as_str().expect("a name");
        text(&mut svg, LEFT - 8.0, y + 15.0, "end", policy);
        let (all, parts) = read_us(run);
        let mut x = LEFT;
        for ((_, _, colour), us) in PARTS.iter().zip(parts) {
            bar(&mut svg, (x, y), (us / 1e3 * PER_MS, BAR), colour);
            x += us / 1e3 * PER_MS;
        }
        text(&mut svg, x + 6.0, y + 15.0, "start", &format!("{all:.0}"));
    }
    for (place, (_, words, colour)) in (0u8..).zip(PARTS) {
        let x = if place % 2 == 0 { LEFT } else { 380.0 };
        let y = TOP + 172.0 + 26.0 * f64::from(place / 2);
        bar(&mut svg, (x, y), (14.0, 14.0), colour);
        text(&mut svg, x + 22.0, y + 12.0, "start", words);
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_the_readme_shows_what_the_command_prints() {
    let folder = Folder::new();
    let args: Vec<&str> = COMMAND.split(' ').chain(["--json"]).collect();
    let runs: Vec<Value> = serde_json::from_str(&folder.run(&args).text()).expect("JSON");
    let drawn = draw(&runs);
    if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/read-latency.svg");
        std::fs::write(file, drawn).expect("docs/read-latency.svg is written");
        return;
    }
    assert!(repository_file("README.md").contains(COMMAND), "README.md does not name the command");
    assert!(
        repository_file("docs/read-latency.svg") == drawn,
        "docs/read-latency.svg is out of date: `cargo xtask golden --update` writes it"
    );
}

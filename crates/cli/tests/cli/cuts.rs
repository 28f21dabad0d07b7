//! Power cuts on the command line: the JSON object, the table, the files, and what is refused.

use crate::support::{Folder, int};

/// A device whose buffer holds what 2,000 writes leave in it.
const RUN: [&str; 6] = [
    "run",
    "small-full",
    "random-write",
    "--set=pattern.requests=2000",
    "--set=buffer.bytes=262144",
    "--check",
];

/// The rows of the file say what the object says, and the same cuts are looked at each time.
#[test]
fn cuts_are_summed_up_and_written() {
    let folder = Folder::new();
    let object = folder.run(&[&RUN[..], &["--json", "--cuts=500", "--out", "out"]].concat()).json();
    let text = String::from_utf8(folder.read("out/cuts.csv")).expect("text");
    let mut lines = text.lines();
    let names = "at_ns,lost_units,oldest_ns,torn_requests,trims_undone,broken";
    assert_eq!(lines.next(), Some(names));
    let rows: Vec<Vec<u64>> =
        lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert!(rows.len() == 500 && rows.windows(2).all(|two| two[0][0] < two[1][0]));
    assert!(rows.iter().all(|row| row[0] <= int(&object, "workload.last_ns") + 100_000_000));
    for (place, field) in [(1, "lost_units"), (2, "oldest_ns"), (3, "torn_requests")] {
        let mut sorted: Vec<u64> = rows.iter().map(|row| row[place]).collect();
        sorted.sort_unstable();
        let of = |quantile: &str| int(&object, &format!("power_cuts.{field}.{quantile}"));
        assert_eq!([of("p50"), of("p99"), of("most")], [sorted[249], sorted[494], sorted[499]]);
    }
    let most = int(&object, "power_cuts.lost_units.most");
    assert!(most > 0 && most <= 64, "the buffer has 64 lines: {most}");
    assert_eq!(int(&object, "power_cuts.lost_bytes.most"), 4_096 * most);
    assert_eq!(int(&object, "power_cuts.breaking"), 0);
    let again = folder.run(&[&RUN[..], &["--json", "--cuts=500"]].concat()).json();
    assert_eq!(again["power_cuts"], object["power_cuts"]);
    let without = folder.run(&[&RUN[..], &["--json"]].concat()).json();
    assert!(without.get("power_cuts").is_none());
    let page = String::from_utf8(folder.read("out/report.html")).expect("text");
    assert!(page.contains("Units lost by a power cut over time"));
    let told = folder.run(&[&RUN[..], &["--cuts=500"]].concat()).text();
    assert!(told.contains("no cut breaks one"), "{told}");
}

/// A later run without cuts takes their files away.
#[test]
fn files_of_cuts_go_with_their_run() {
    let folder = Folder::new();
    folder.run(&[&RUN[..], &["--cuts=10", "--out", "out"]].concat()).text();
    assert!(folder.path("out/cuts.csv").exists());
    folder.run(&[&RUN[..], &["--out", "out"]].concat()).text();
    assert!(!folder.path("out/cuts.csv").exists());
}

#[test]
fn devices_without_versions_of_units_are_refused() {
    let folder = Folder::new();
    for (device, why) in
        [("wd1600bekt", "a disk writes in place"), ("framework", "without translation")]
    {
        let ran = folder.run(&["run", device, "random-write", "--cuts=10"]);
        assert!(ran.status == Some(2) && ran.stderr.contains(why), "{device}: {ran:?}");
    }
}

//! The page map on the study's device, under its workloads, against the tables of a program by
//! other hands: energies from counts and mean responses to the digit printed.

use crate::support::{Folder, int};

/// 8,192 exported blocks and 402 spare ones on one die; nothing but the array takes time.
const DEVICE: &str = r#"
[geometry]
channels = 1
ways = 1
dies_per_way = 1
planes = 1
blocks_per_plane = 8594
pages_per_block = 64
page_bytes = 2048

[nand]
read_us = 130.9
program_us = 405.9
erase_us = 1500

[ftl]
over_provisioning_percent = 4.9072
generations = 0

[map]
store = "resident"

[queue]
depth = 1

[policy]
command = "fifo"

[gc]
start = "needed"
policy = "window"
soft_free_blocks = 1
hard_free_blocks = 1
reserve_blocks = 1
"#;

/// Energies of host reads and programs, copies (reads, programs), erases, and all, in J; erases;
/// the mean response in ms.
struct Row {
    workload: &'static str,
    state: &'static str,
    footprint: u32,
    joules: [&'static str; 6],
    erases: u64,
    response: &'static str,
}

const ROWS: [Row; 5] = [
    Row {
        workload: "oltp-clustered",
        state: "full",
        footprint: 100,
        joules: ["0.30", "24.47", "24.85", "200.26", "48.50", "298.37"],
        erases: 91_906,
        response: "11.204",
    },
    Row {
        workload: "olap",
        state: "full",
        footprint: 100,
        joules: ["6.84", "2.89", "0.98", "7.89", "2.12", "20.72"],
        erases: 4_025,
        response: "1.477",
    },
    Row {
        workload: "olap-scattered",
        state: "full",
        footprint: 100,
        joules: ["6.84", "2.89", "0.87", "7.00", "1.93", "19.53"],
        erases: 3_660,
        response: "1.417",
    },
    Row {
        workload: "oltp-clustered",
        state: "fresh",
        footprint: 50,
        joules: ["0.30", "24.47", "0.04", "0.28", "0.83", "25.92"],
        erases: 1_574,
        response: "0.858",
    },
    Row {
        workload: "oltp-clustered",
        state: "fresh",
        footprint: 100,
        joules: ["0.30", "24.47", "0.07", "0.56", "0.89", "26.29"],
        erases: 1_687,
        response: "0.871",
    },
];

#[test]
fn the_page_map_has_the_energies_and_responses_of_the_study() {
    let folder = Folder::new();
    folder.write("study.toml", DEVICE);
    for row in ROWS {
        let state = format!("state.initial={}", row.state);
        let footprint = format!("mix.footprint_percent={}", row.footprint);
        let work = ["run", "study.toml", row.workload, "--seed", "42", "--json"];
        let run = folder.run(&[&work[..], &["--set", &state, "--set", &footprint]].concat()).json();
        let name = format!("{} on a {} device", row.workload, row.state);
        // Microjoules of a read, a program, an erase: Park et al. 2011, Table 1.
        let joules = |field: &str, micro: f64| int(&run, field) as f64 * micro / 1e6;
        let mut parts = vec![
            joules("flash.reads.host", 4.72),
            joules("flash.programs.host", 38.04),
            joules("flash.reads.gc", 4.72),
            joules("flash.programs.gc", 38.04),
            joules("flash.erases.gc", 527.68),
        ];
        parts.push(parts.iter().sum());
        let printed: Vec<_> = parts.iter().map(|part| format!("{part:.2}")).collect();
        assert_eq!(printed, row.joules, "{name}");
        assert_eq!(int(&run, "flash.erases.gc"), row.erases, "{name}");
        assert_eq!(int(&run, "gc.jobs"), row.erases, "{name}");
        let mean = run["latency_ns"]["all"]["mean"].as_f64().unwrap() / 1e6;
        assert_eq!(format!("{mean:.3}"), row.response, "{name}");
    }
}

//! Buffers with known contents: figure 1 of the ROS study by files of a user's own.

use crate::support::Folder;

/// The device of figure 1: five lines in three banks; a put takes 3 us, a get 1, a program 5.
const FIGURE_DEVICE: &str = "\
base = \"none\"
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
    let line = crate::support::said(&table, "buffer");
    assert!(
        line.contains("hidden read ratio 100.0 % of the port time of gets")
            && line.contains("2 of 3 page writes hit (66.7 %)"),
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

//! Rows of `flashyard reproduce energy` as plain runs of its device.

use crate::support::{Folder, int, is_near, sum};

/// Two full layers of the study on a short workload: counts x Table 1, and tables as listed.
#[test]
fn a_row_of_the_study_is_a_run_of_its_device() {
    let folder = Folder::new();
    let listed = folder.run(&["list", "ftls", "ftl-study"]).text();
    for (scheme, tables) in [("fast", 93_184u64), ("block", 16_384)] {
        let set = format!("ftl.scheme={scheme}");
        let args = ["run", "--json", "--check", "ftl-study", "oltp", "--set", &set];
        let args = [&args[..], &["--set", "mix.requests=300"]].concat();
        let run = folder.run(&args).json();
        assert_eq!(int(&run, "memory.table_bytes"), tables);
        let line = listed.lines().find(|line| line.starts_with(scheme)).expect("listed");
        assert!(line.contains(&tables.to_string()) && line.ends_with("runs"), "{line}");
        // Nothing else than these merges can have erased or copied.
        let merges = sum(&run["gc"]["merges"]);
        let erases = int(&run, "flash.erases.merge");
        assert!(erases >= merges, "{merges} merges, {erases} erases");
        let programs = sum(&run["flash"]["programs"]);
        let host = int(&run, "flash.programs.host");
        assert!(is_near(&run["flash"]["programs_per_host_page"], programs as f64 / host as f64));
        // A page access looks a place up in each table; each page that is written changes an
        // entry of a log table or, as programs of free pages in data blocks do, none that a block
        // map has; a merge replaces an entry of the block table.
        let pages = int(&run, "flash.reads.host") + host;
        let replaced = merges - int(&run, "gc.merges.dead");
        let expected = if scheme == "fast" { 2 * pages + host } else { pages } + replaced;
        assert_eq!(int(&run, "memory.table_accesses"), expected, "{scheme}");
    }
}

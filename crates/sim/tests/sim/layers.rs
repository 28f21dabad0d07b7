//! What translation layers do beside merging when they must: before the run, while they search, in
//! idle times.

use crate::common::{Random, page_writes, record, request, settings};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::RequestOp;
use flashyard_sim::config::Settings;
use flashyard_sim::metrics::parts::Part;
use flashyard_sim::parts::log::PLANNING;

/// 40 blocks of 8 pages, 26 of them exported, under a scheme, one request at a time.
fn layered(scheme: &str, keys: &[&str]) -> Settings {
    let scheme = format!("ftl.scheme={scheme}");
    let base = [
        "geometry.blocks_per_plane=40",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning_percent=53.8461",
        "nand.program_order=any",
        "map.store=resident",
        "queue.depth=1",
        "policy.command=fifo",
        "ftl.merge_first=true",
    ];
    settings(&[&base[..], &[scheme.as_str()], keys].concat())
}

/// What is merged to make the initial state is no work of the run.
#[test]
fn aged_devices_begin_to_count_with_the_run() {
    for scheme in PLANNING {
        let device = layered(scheme, &["state.initial=aged", "energy.search_pj=50"]);
        let (report, _) = record(&device, &[], &[request(0, RequestOp::Read, 3, 1)]);
        let merges = &report.gc.merges;
        assert_eq!([merges.switch, merges.partial, merges.full, merges.dead], [0; 4], "{scheme}");
        assert_eq!(report.gc.searches, 0, "{scheme}");
        assert!(!report.verdict.gc_ran, "{scheme}");
        assert_eq!(report.energy_pj.by_resource["search"], 0, "{scheme}");
        let writes = page_writes(1, 400, u64::from(device.exported_units));
        let (report, _) = record(&device, &[], &writes);
        assert!(report.verdict.gc_ran, "{scheme} merges under writes");
    }
}

/// Requests come one after the other and each waits for its merges, so every look at a candidate
/// makes the run longer by its time, and nothing else does.
#[test]
fn searches_of_layers_take_their_time() {
    let mut searching = 0;
    for scheme in PLANNING {
        let run = |us: u64| {
            let search = format!("gc.search_us={us}");
            let device = layered(scheme, &["state.initial=full", &search]);
            let writes = page_writes(2, 600, u64::from(device.exported_units));
            record(&device, &[], &writes).0
        };
        let (free, slow) = (run(0), run(70));
        assert_eq!(free.gc.searches, slow.gc.searches, "{scheme}");
        searching += u32::from(free.gc.searches > 20);
        let longer = slow.throughput.makespan_ns - free.throughput.makespan_ns;
        assert_eq!(longer, 70_000 * free.gc.searches, "{scheme}");
        let firmware = |report: &flashyard_sim::report::Report| {
            report.latency_parts_ns["write"].0[Part::Firmware as usize]
        };
        assert_eq!(firmware(&free), 0, "{scheme}");
        assert!(firmware(&slow) >= longer, "{scheme}: waits for searches are explained");
    }
    assert!(searching >= 3, "{searching} schemes look at more than 20 candidates");
}

/// A gap that is long enough is used for one piece of work on a plane: the merge of a log block.
#[test]
fn an_idle_gap_merges_one_log_block() {
    let keys = ["state.initial=full", "gc.timing=background", "gc.idle_us=1000"];
    let device = layered("bast", &keys);
    let mut random = Random(3);
    // Three writes to three blocks, then reads a second apart.
    let mut requests: Vec<_> = (0..3)
        .map(|block| request(0, RequestOp::Write, 8 * block + 1 + random.below(7), 1))
        .collect();
    requests.extend((1..=5).map(|second| request(second * 1_000_000, RequestOp::Read, 0, 1)));
    let (report, run) = record(&device, &[], &requests);
    let merges = &report.gc.merges;
    assert_eq!([merges.switch, merges.partial, merges.full], [0, 0, 3]);
    let erases: Vec<_> = run
        .commands
        .iter()
        .filter(|command| command.purpose == Purpose::Merge && command.op == Op::Erase)
        .map(|command| command.end.as_ns() / 1_000_000_000)
        .collect();
    // A full merge erases the data block and the log block.
    assert_eq!(erases, [0, 0, 1, 1, 2, 2]);
    assert_eq!(report.flash.phases["idle"]["erase"], 6);
}

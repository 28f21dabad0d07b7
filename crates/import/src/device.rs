//! MQSim's ssdconfig.xml as a device: its host interface, caches, map, collection and channels.

use crate::facts::Facts;
use crate::flash::{FLASH, NO_SUSPENSION};
use crate::found::Fate::{Changed, Idle, Missing, Taken};
use crate::found::{FRACTION, Found, Outcome, decimal, quoted, whole};
use crate::table::Becomes::{Always, By, Same};
use crate::table::Kind::{Real, Truth, Whole, Word};
use crate::table::{
    Key, Value, changed, idle, key, missing, optional, read, read_outer, taken, taken_as, words,
};
use crate::xml::Group;

/// Keys of the host.
const HOST: &[Key<Facts>] = &[
    key("PCIe_Lane_Bandwidth", Real(1e-6, 1e6), By(|facts, _| link(facts))),
    key("PCIe_Lane_Count", Whole(1, 1_024), By(|facts, _| link(facts))),
    key("SATA_Processing_Delay", Whole(0, 1_000_000_000), By(sata_delay)),
    key(
        "Enable_ResponseTime_Logging",
        Truth,
        By(|_, logs| {
            if logs.truth {
                taken_as("the series has the period as its metrics.bin_ms")
            } else {
                taken_as("there is no time series")
            }
        }),
    ),
    key(
        "ResponseTime_Logging_Period_Length",
        Whole(1, u64::MAX >> 12),
        By(|facts, ns| {
            if facts.logs {
                taken(&[("metrics.bin_ms", decimal(ns.whole as f64 / 1e6, 6))])
            } else {
                idle("logging is off")
            }
        }),
    ),
];

/// Keys of the host interface, and what the device holds at the start.
const INTERFACE: &[Key<Facts>] = &[
    key("Seed", Whole(0, LARGEST), Always(Missing, "draws of the device have seeds of their own")),
    key("Enabled_Preconditioning", Truth, By(precondition)),
    words("Memory_Type", &[("FLASH", Taken, &[], "")]),
    words(
        "HostInterface_Type",
        &[
            ("NVME", Taken, &[], "each flow has a queue of its own"),
            (
                "SATA",
                Changed,
                &[],
                "all flows share a queue; the link is that of the PCIe keys, as in MQSim",
            ),
        ],
    ),
    key("IO_Queue_Depth", Whole(1, 65_535), By(queue_depth)),
    key("Queue_Fetch_Size", Whole(1, 65_535), By(fetch_size)),
];

/// Keys of the data cache.
const CACHE: &[Key<Facts>] = &[
    words(
        "Caching_Mechanism",
        &[
            ("ADVANCED", Taken, &[], "writes go to flash at once, as data unseen lately do there"),
            ("SIMPLE", Changed, &[], "the buffer is that of ADVANCED"),
        ],
    ),
    words(
        "Data_Cache_Sharing_Mode",
        &[
            ("SHARED", Taken, &[], "the buffer is shared"),
            ("EQUAL_PARTITIONING", Missing, &[], "flows share the buffer"),
        ],
    ),
    key("Data_Cache_Capacity", Whole(1, LARGEST), By(|facts, _| cache(facts, capacity))),
    key("Data_Cache_DRAM_Row_Size", Whole(0, LARGEST), Always(Missing, NO_ROWS)),
    key("Data_Cache_DRAM_Data_Rate", Whole(1, LARGEST), By(|facts, _| cache(facts, port))),
    key("Data_Cache_DRAM_Data_Busrt_Size", Whole(1, LARGEST), By(|facts, _| cache(facts, port))),
    key("Data_Cache_DRAM_tRCD", Whole(0, LARGEST), By(|facts, _| cache(facts, access))),
    key("Data_Cache_DRAM_tCL", Whole(0, LARGEST), By(|facts, _| cache(facts, access))),
    key("Data_Cache_DRAM_tRP", Whole(0, LARGEST), Always(Missing, NO_ROWS)),
];

/// Keys of the map, of scheduling and of where pages go.
const MAP: &[Key<Facts>] = &[
    words(
        "Address_Mapping",
        &[
            ("PAGE_LEVEL", Taken, &[("ftl.scheme", "\"page\"")], ""),
            ("HYBRID", Missing, &[], "MQSim's hybrid map is empty; see --ftl for layers"),
            ("ZONE_LEVEL", Missing, &[], "there are no zones; pages are mapped"),
        ],
    ),
    key(
        "Ideal_Mapping_Table",
        Truth,
        By(|_, is_ideal| {
            let store = if is_ideal.truth { "resident" } else { "cmt" };
            taken(&[("map.store", quoted(store))])
        }),
    ),
    key("CMT_Capacity", Whole(1, LARGEST), By(map_cache)),
    key(
        "CMT_Sharing_Mode",
        Word(&["SHARED", "EQUAL_PARTITIONING", "EQUAL_SIZE_PARTITIONING"]),
        By(|facts, mode| match mode.word {
            _ if facts.has_ideal_map => idle(IDEAL),
            _ if facts.flows.most < 2 => taken_as("there is one flow"),
            _ if facts.is_sata => taken_as("with SATA all flows share one cache in MQSim, too"),
            "SHARED" => {
                changed(&[], "flows share one cache; MQSim makes one of this size for each flow")
            }
            _ => missing("flows share the map cache"),
        }),
    ),
    key("Plane_Allocation_Scheme", Word(&SCHEMES), Same("ftl.stripe_order")),
    words(
        "Transaction_Scheduling_Policy",
        &[
            ("OUT_OF_ORDER", Taken, &[("policy.command", "\"rcf\"")], ""),
            (
                "PRIORITY_OUT_OF_ORDER",
                Changed,
                &[("policy.command", "\"priority\"")],
                "without the classes of flows",
            ),
            ("FLIN", Missing, &[], "nor does MQSim run it; policy.command stays rcf"),
        ],
    ),
    key(
        "Overprovisioning_Ratio",
        Real(1e-6, 0.999),
        By(|_, ratio| {
            let percent = decimal((1.0 / (1.0 - ratio.real) - 1.0) * 100.0, FRACTION);
            let why = "MQSim's share is of the physical capacity, this one of the exported one";
            changed(&[("ftl.over_provisioning_percent", percent)], why)
        }),
    ),
];

/// Keys of garbage collection, wear levelling and suspension.
const COLLECTION: &[Key<Facts>] = &[
    key(
        "GC_Exec_Threshold",
        Real(0.0, 1.0),
        By(|facts, share| blocks("gc.soft_free_blocks", facts, share, LEAST_FREE_BLOCKS)),
    ),
    words(
        "GC_Block_Selection_Policy",
        &[
            ("GREEDY", Taken, &[("gc.policy", "\"greedy\"")], ""),
            ("RGA", Taken, &[("gc.policy", "\"rga\"")], ""),
            ("RANDOM", Changed, RANDOM, "only full blocks are drawn"),
            ("RANDOM_P", Changed, RANDOM, "only full blocks are drawn"),
            ("RANDOM_PP", Changed, RANDOM, "victims may have few pages that are not valid"),
            ("FIFO", Taken, &[("gc.policy", "\"fifo\"")], ""),
        ],
    ),
    key("Use_Copyback_for_GC", Truth, Same("gc.copyback")),
    key("Preemptible_GC_Enabled", Truth, Same("gc.preemptible")),
    key(
        "GC_Hard_Threshold",
        Real(0.0, 1.0),
        By(|facts, share| blocks("gc.hard_free_blocks", facts, share, 1)),
    ),
    key("Dynamic_Wearleveling_Enabled", Truth, By(|_, _| levels("wear.dynamic", "true"))),
    key("Static_Wearleveling_Enabled", Truth, By(|_, _| levels("wear.static_gap", "99"))),
    key(
        "Static_Wearleveling_Threshold",
        Whole(0, LARGEST),
        By(|_, _| levels("wear.static_gap", "99")),
    ),
    key("Preferred_suspend_erase_time_for_read", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
    key("Preferred_suspend_erase_time_for_write", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
    key("Preferred_suspend_write_time_for_read", Whole(0, u64::MAX), Always(Idle, NO_SUSPENSION)),
];

/// Keys of channels and chips. The last ones are of other versions: zones are those of a branch.
const CHANNEL: &[Key<Facts>] = &[
    key("Flash_Channel_Count", Whole(1, 1_024), Same("geometry.channels")),
    key("Flash_Channel_Width", Whole(1, 1_000_000), By(|facts, _| transfer(facts))),
    key("Channel_Transfer_Rate", Whole(1, 1_000_000), By(|facts, _| transfer(facts))),
    key("Chip_No_Per_Channel", Whole(1, 1_024), Same("geometry.ways")),
    words("Flash_Comm_Protocol", &[("NVDDR2", Taken, &[], "")]),
    optional("Support_Zone", Truth, Always(Missing, NO_ZONES)),
    optional(
        "Prefered_suspend_erase_time_for_read",
        Whole(0, u64::MAX),
        Always(Idle, NO_SUSPENSION),
    ),
];

/// The orders in which MQSim stripes pages.
const SCHEMES: [&str; 24] = [
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC",
    "DCWP", "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

/// MQSim collects while a plane has fewer free blocks than this, whatever its file says.
const LEAST_FREE_BLOCKS: u64 = 10;

const RANDOM: &[(&str, &str)] = &[("gc.policy", "\"random\"")];

const NO_ROWS: &str = "it is for requests longer than a row; here units are pages";

const NO_ZONES: &str = "there are no zones";

const IDEAL: &str = "the map is ideal";

const LARGEST: u64 = u32::MAX as u64;

/// The device of a file.
pub(crate) fn device(root: &Group, facts: &Facts) -> Found {
    let mut found = Found::default();
    read_outer(root, &["Host_Parameter_Set", "Device_Parameter_Set"], &mut found);
    read(&root.inside("Host_Parameter_Set"), &[HOST], &[], facts, &mut found);
    let group = root.inside("Device_Parameter_Set");
    let tables = [INTERFACE, CACHE, MAP, COLLECTION, CHANNEL];
    let groups = ["Flash_Parameter_Set", "Zone_Parameter_Set"];
    read(&group, &tables, &groups, facts, &mut found);
    for entry in &group.inside("Zone_Parameter_Set").entries {
        found.add(entry, &missing(NO_ZONES));
    }
    read(&group.inside("Flash_Parameter_Set"), &[FLASH], &[], facts, &mut found);
    if !facts.flows.write_cache {
        found.settings.retain(|setting| !setting.path.starts_with("buffer."));
    }
    found
}

/// The speed of the link.
fn link(facts: &Facts) -> Outcome {
    taken(&[("interface.link_ps_per_byte", decimal(1_000.0 / facts.link_gb_per_s, 0))])
}

fn sata_delay(facts: &Facts, ns: &Value<'_>) -> Outcome {
    if !facts.is_sata {
        return idle("the host interface is not SATA");
    }
    let why = "MQSim takes this time for each message, one message after the other";
    changed(&[("interface.link_latency_ns", ns.whole.to_string())], why)
}

/// What the device holds at the start.
fn precondition(facts: &Facts, is_preconditioned: &Value<'_>) -> Outcome {
    if !is_preconditioned.truth {
        return taken(&[("state.initial", quoted("fresh"))]);
    }
    let fill = facts.flows.occupancy.unwrap_or(100.0);
    // The steady state of a map on flash is not known.
    let state = if facts.has_ideal_map { "steady" } else { "aged" };
    let keys = [
        ("state.initial", quoted(state)),
        ("state.rested", "true".to_string()),
        ("state.fill_percent", decimal(fill, FRACTION)),
    ];
    let whence = match facts.flows.occupancy {
        Some(_) => "the mean Initial_Occupancy_Percentage of the flows is written",
        None => "without a workload file the whole device is written",
    };
    let why = format!("{whence}, from the start of the device; MQSim computes a steady state");
    changed(&keys, why)
}

fn queue_depth(facts: &Facts, depth: &Value<'_>) -> Outcome {
    let depth = depth.whole.to_string();
    if facts.is_sata {
        taken(&[("interface.fetch_depth", depth)])
    } else if facts.flows.most > 1 {
        let why = "requests that find no room in MQSim's queue wait in the host, here in the \
                   queue, which has no limit";
        changed(&[], why)
    } else {
        taken(&[("interface.queue_depth", depth)])
    }
}

fn fetch_size(facts: &Facts, size: &Value<'_>) -> Outcome {
    let depth = size.whole.min(facts.queue_depth).to_string();
    if facts.is_sata {
        idle("it is for NVMe")
    } else if facts.flows.most > 1 {
        let no_sum = ("interface.fetch_depth", "0".to_string());
        taken(&[("interface.queue_depth", depth), no_sum])
    } else {
        taken(&[("interface.fetch_depth", depth)])
    }
}

/// A key of the data cache, where there is one.
fn cache(facts: &Facts, of: fn(&Facts) -> Outcome) -> Outcome {
    if facts.flows.write_cache { of(facts) } else { idle("no flow has its writes cached") }
}

fn capacity(facts: &Facts) -> Outcome {
    let bytes = facts.cache_bytes.min(facts.planes().saturating_mul(facts.page_bytes));
    let keys = [
        ("buffer.bytes", bytes.to_string()),
        ("buffer.high_percent", "0.0001".to_string()),
        ("buffer.low_percent", "0".to_string()),
    ];
    let why = "MQSim flushes at once, and lets no more than a page for each plane be on the way";
    changed(&keys, why)
}

fn access(facts: &Facts) -> Outcome {
    taken(&[("buffer.access_ns", facts.dram_ns.to_string())])
}

fn port(facts: &Facts) -> Outcome {
    let (rate, burst) = facts.dram_transfers;
    // MQSim moves two bytes a burst and transfer; half of its time is for each way.
    let ps = decimal((1e6 / rate as f64 / burst as f64 / 4.0).max(1.0), 0);
    let why = "half of MQSim's time: a unit crosses the port twice here, into the buffer and to \
               flash";
    changed(&[("buffer.ps_per_byte", ps)], why)
}

fn map_cache(facts: &Facts, bytes: &Value<'_>) -> Outcome {
    if facts.has_ideal_map {
        return idle(IDEAL);
    }
    let (cached, stored) = facts.entry_bytes();
    taken(&[
        ("map.cache_bytes", bytes.whole.to_string()),
        ("map.cached_entry_bytes", cached.to_string()),
        ("map.entry_bytes", stored.to_string()),
        ("map.protected_percent", "0".to_string()),
        ("map.share_fetches", "true".to_string()),
        ("map.fetch_bytes", "512".to_string()),
    ])
}

/// A share of the blocks of a plane as a number of them.
fn blocks(key: &'static str, facts: &Facts, share: &Value<'_>, least: u64) -> Outcome {
    taken(&[(key, whole(share.real * facts.blocks as f64).max(least).to_string())])
}

/// What MQSim's wear levelling does, whatever the file says.
fn levels(key: &'static str, value: &str) -> Outcome {
    let why = "MQSim does not hand it to its wear levelling, which is always on and has a \
               threshold of 100";
    Outcome { keys: vec![(key, value.to_string())], ..idle(why) }
}

/// The speed of a channel, with MQSim's whole nanoseconds.
fn transfer(facts: &Facts) -> Outcome {
    let (rate, width) = facts.transfers;
    if (rate, width) == (333, 1) {
        return taken(&[("channel.interface", quoted("nv-ddr2-333"))]);
    }
    let key = |ps: u64| [("channel.ps_per_byte", ps.max(1).to_string())];
    let ns = 1_000 / rate;
    if ns == 0 {
        let why = "MQSim rounds the time of a transfer down to a nanosecond: to 0";
        changed(&key(1_000_000 / rate / width), why)
    } else if 1_000 % rate == 0 {
        taken(&key(ns * 1_000 / width))
    } else {
        let why = "a transfer takes whole nanoseconds in MQSim, rounded down";
        changed(&key(ns * 1_000 / width), why)
    }
}

//! MQSim's ssdconfig.xml as a device: its host interface, caches, map, collection and channels.

use super::facts::Facts;
use super::flash::{self, NO_SUSPENSION};
use super::found::{FRACTION, Found, decimal, quoted, whole};
use super::xml::{Entry, Group};

const HOST: [&str; 5] = [
    "PCIe_Lane_Bandwidth",
    "PCIe_Lane_Count",
    "SATA_Processing_Delay",
    "Enable_ResponseTime_Logging",
    "ResponseTime_Logging_Period_Length",
];

/// Zones are those of a branch of MQSim.
const OPTIONAL: [&str; 2] = ["Support_Zone", "Prefered_suspend_erase_time_for_read"];

const DEVICE: [&str; 38] = [
    "Seed",
    "Enabled_Preconditioning",
    "Memory_Type",
    "HostInterface_Type",
    "IO_Queue_Depth",
    "Queue_Fetch_Size",
    "Caching_Mechanism",
    "Data_Cache_Sharing_Mode",
    "Data_Cache_Capacity",
    "Data_Cache_DRAM_Row_Size",
    "Data_Cache_DRAM_Data_Rate",
    "Data_Cache_DRAM_Data_Busrt_Size",
    "Data_Cache_DRAM_tRCD",
    "Data_Cache_DRAM_tCL",
    "Data_Cache_DRAM_tRP",
    "Address_Mapping",
    "Ideal_Mapping_Table",
    "CMT_Capacity",
    "CMT_Sharing_Mode",
    "Plane_Allocation_Scheme",
    "Transaction_Scheduling_Policy",
    "Overprovisioning_Ratio",
    "GC_Exec_Threshold",
    "GC_Block_Selection_Policy",
    "Use_Copyback_for_GC",
    "Preemptible_GC_Enabled",
    "GC_Hard_Threshold",
    "Dynamic_Wearleveling_Enabled",
    "Static_Wearleveling_Enabled",
    "Static_Wearleveling_Threshold",
    "Preferred_suspend_erase_time_for_read",
    "Preferred_suspend_erase_time_for_write",
    "Preferred_suspend_write_time_for_read",
    "Flash_Channel_Count",
    "Flash_Channel_Width",
    "Channel_Transfer_Rate",
    "Chip_No_Per_Channel",
    "Flash_Comm_Protocol",
];

/// The orders in which MQSim stripes pages.
const SCHEMES: [&str; 24] = [
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC",
    "DCWP", "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

/// MQSim collects while a plane has fewer free blocks than this, whatever its file says.
const LEAST_FREE_BLOCKS: u64 = 10;

/// Why wear levelling cannot be changed.
const ALWAYS_LEVELS: &str =
    "MQSim does not hand it to its wear levelling, which is always on and has a threshold of 100";

const LARGEST: u64 = u32::MAX as u64;

/// The device of a file.
pub(super) fn read(root: &Group, facts: &Facts) -> Found {
    let mut found = Found::default();
    found.check(root, &[], &["Host_Parameter_Set", "Device_Parameter_Set"]);
    for entry in &root.entries {
        found.unknown(entry, root, &["Host_Parameter_Set", "Device_Parameter_Set"]);
    }
    let group = root.inside("Host_Parameter_Set");
    found.check(&group, &HOST, &[]);
    for entry in &group.entries {
        if !host(entry, facts, &mut found) {
            found.unknown(entry, &group, &HOST);
        }
    }
    let group = root.inside("Device_Parameter_Set");
    found.check(&group, &DEVICE, &["Flash_Parameter_Set", "Zone_Parameter_Set"]);
    for entry in &group.entries {
        let is_known = interface(entry, facts, &mut found)
            || cache(entry, facts, &mut found)
            || map(entry, facts, &mut found)
            || collection(entry, facts, &mut found)
            || channel(entry, facts, &mut found);
        if !is_known {
            found.unknown(entry, &group, &[&DEVICE[..], &OPTIONAL].concat());
        }
    }
    for entry in &group.inside("Zone_Parameter_Set").entries {
        found.missing(entry, "there are no zones");
    }
    flash::read(&group.inside("Flash_Parameter_Set"), facts, &mut found);
    if facts.flows.write_cache {
        return found;
    }
    found.settings.retain(|setting| !setting.path.starts_with("buffer."));
    found
}

fn host(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    match entry.name.as_str() {
        "PCIe_Lane_Bandwidth" | "PCIe_Lane_Count" => {
            if entry.name == "PCIe_Lane_Count" {
                found.whole(entry, 1, 1_024);
            } else {
                found.real(entry, 1e-6, 1e6);
            }
            let ps = decimal(1_000.0 / facts.link_gb_per_s, 0);
            found.taken(entry, &[("interface.link_ps_per_byte", ps)]);
        }
        "SATA_Processing_Delay" => {
            let ns = found.whole(entry, 0, 1_000_000_000);
            if facts.is_sata {
                let why = "MQSim takes this time for each message, one message after the other";
                found.changed(entry, &[("interface.link_latency_ns", ns.to_string())], why);
            } else {
                found.idle(entry, &[], "the host interface is not SATA");
            }
        }
        "Enable_ResponseTime_Logging" => {
            if found.truth(entry) {
                found.taken_as(entry, "the series has the period as its metrics.bin_ms");
            } else {
                found.taken_as(entry, "there is no time series");
            }
        }
        "ResponseTime_Logging_Period_Length" => {
            let ns = found.whole(entry, 1, u64::MAX >> 12);
            if facts.logs {
                found.taken(entry, &[("metrics.bin_ms", decimal(ns as f64 / 1e6, 6))]);
            } else {
                found.idle(entry, &[], "logging is off");
            }
        }
        _ => return false,
    }
    true
}

/// Keys of the host interface, and what the device holds at the start.
fn interface(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    match entry.name.as_str() {
        "Seed" => {
            found.whole(entry, 0, u64::from(u32::MAX));
            found.missing(entry, "draws of the device have seeds of their own");
        }
        "Enabled_Preconditioning" => precondition(entry, facts, found),
        "Memory_Type" => {
            found.word(entry, &["FLASH"]);
            found.taken_as(entry, "");
        }
        "HostInterface_Type" => match found.word(entry, &["NVME", "SATA"]) {
            "SATA" => {
                let why = "all flows share a queue; the link is that of the PCIe keys, as in MQSim";
                found.changed(entry, &[], why);
            }
            _ => found.taken_as(entry, "each flow has a queue of its own"),
        },
        "IO_Queue_Depth" => {
            let depth = found.whole(entry, 1, 65_535).to_string();
            match facts {
                Facts { is_sata: true, .. } => {
                    found.taken(entry, &[("interface.fetch_depth", depth)]);
                }
                Facts { flows, .. } if flows.most > 1 => {
                    let why = "requests that find no room in MQSim's queue wait in the host, here \
                               in the queue, which has no limit";
                    found.changed(entry, &[], why);
                }
                _ => found.taken(entry, &[("interface.queue_depth", depth)]),
            }
        }
        "Queue_Fetch_Size" => {
            let depth = found.whole(entry, 1, 65_535).min(facts.queue_depth).to_string();
            if facts.is_sata {
                found.idle(entry, &[], "it is for NVMe");
            } else if facts.flows.most > 1 {
                let no_sum = ("interface.fetch_depth", "0".to_string());
                found.taken(entry, &[("interface.queue_depth", depth), no_sum]);
            } else {
                found.taken(entry, &[("interface.fetch_depth", depth)]);
            }
        }
        _ => return false,
    }
    true
}

/// What the device holds at the start.
fn precondition(entry: &Entry, facts: &Facts, found: &mut Found) {
    if !found.truth(entry) {
        found.taken(entry, &[("state.initial", quoted("fresh"))]);
        return;
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
    found.changed(entry, &keys, &why);
}

/// Keys of the data cache.
fn cache(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    let name = entry.name.as_str();
    if !name.starts_with("Data_Cache_") && name != "Caching_Mechanism" {
        return false;
    }
    let no_cache = "no flow has its writes cached";
    let (rate, burst) = facts.dram_transfers;
    match name {
        "Caching_Mechanism" => match found.word(entry, &["ADVANCED", "SIMPLE"]) {
            "SIMPLE" => found.changed(entry, &[], "the buffer is that of ADVANCED"),
            _ => {
                found.taken_as(entry, "writes go to flash at once, as data unseen lately do there");
            }
        },
        "Data_Cache_Sharing_Mode" => match found.word(entry, &["SHARED", "EQUAL_PARTITIONING"]) {
            "SHARED" => found.taken_as(entry, "the buffer is shared"),
            _ => found.missing(entry, "flows share the buffer"),
        },
        "Data_Cache_DRAM_Row_Size" | "Data_Cache_DRAM_tRP" => {
            found.whole(entry, 0, LARGEST);
            found.missing(entry, "it is for requests longer than a row; here units are pages");
        }
        "Data_Cache_Capacity"
        | "Data_Cache_DRAM_tRCD"
        | "Data_Cache_DRAM_tCL"
        | "Data_Cache_DRAM_Data_Rate"
        | "Data_Cache_DRAM_Data_Busrt_Size" => {
            let least = u64::from(!name.contains("_tRCD") && !name.contains("_tCL"));
            found.whole(entry, least, LARGEST);
            if !facts.flows.write_cache {
                found.idle(entry, &[], no_cache);
            } else if name == "Data_Cache_Capacity" {
                let bytes = facts.cache_bytes.min(facts.planes().saturating_mul(facts.page_bytes));
                let keys = [
                    ("buffer.bytes", bytes.to_string()),
                    ("buffer.high_percent", "0.0001".to_string()),
                    ("buffer.low_percent", "0".to_string()),
                ];
                let why = "MQSim flushes at once, and lets no more than a page for each plane be \
                           on the way";
                found.changed(entry, &keys, why);
            } else if name.starts_with("Data_Cache_DRAM_t") {
                found.taken(entry, &[("buffer.access_ns", facts.dram_ns.to_string())]);
            } else {
                // MQSim moves two bytes a burst and transfer; half of its time is for each way.
                let ps = decimal((1e6 / rate as f64 / burst as f64 / 4.0).max(1.0), 0);
                let why = "half of MQSim's time: a unit crosses the port twice here, into the \
                           buffer and to flash";
                found.changed(entry, &[("buffer.ps_per_byte", ps)], why);
            }
        }
        _ => return false,
    }
    true
}

/// Keys of the map, of scheduling and of where pages go.
fn map(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    let (cached, stored) = facts.entry_bytes();
    match entry.name.as_str() {
        "Address_Mapping" => match found.word(entry, &["PAGE_LEVEL", "HYBRID", "ZONE_LEVEL"]) {
            "PAGE_LEVEL" => found.taken(entry, &[("ftl.scheme", quoted("page"))]),
            "HYBRID" => found.missing(entry, "MQSim's hybrid map is empty; see --ftl for layers"),
            _ => found.missing(entry, "there are no zones; pages are mapped"),
        },
        "Ideal_Mapping_Table" => {
            let store = if found.truth(entry) { "resident" } else { "cmt" };
            found.taken(entry, &[("map.store", quoted(store))]);
        }
        "CMT_Capacity" => {
            let bytes = found.whole(entry, 1, LARGEST);
            let keys = [
                ("map.cache_bytes", bytes.to_string()),
                ("map.cached_entry_bytes", cached.to_string()),
                ("map.entry_bytes", stored.to_string()),
                ("map.protected_percent", "0".to_string()),
                ("map.share_fetches", "true".to_string()),
                ("map.fetch_bytes", "512".to_string()),
            ];
            if facts.has_ideal_map {
                found.idle(entry, &[], "the map is ideal");
            } else {
                found.taken(entry, &keys);
            }
        }
        "CMT_Sharing_Mode" => {
            let words = ["SHARED", "EQUAL_PARTITIONING", "EQUAL_SIZE_PARTITIONING"];
            match found.word(entry, &words) {
                _ if facts.has_ideal_map => found.idle(entry, &[], "the map is ideal"),
                _ if facts.flows.most < 2 => found.taken_as(entry, "there is one flow"),
                "SHARED" => {
                    let why = "flows share one cache; MQSim makes one of this size for each flow";
                    found.changed(entry, &[], why);
                }
                _ => found.missing(entry, "flows share the map cache"),
            }
        }
        "Plane_Allocation_Scheme" => {
            let order = quoted(&found.word(entry, &SCHEMES).to_ascii_lowercase());
            found.taken(entry, &[("ftl.stripe_order", order)]);
        }
        "Transaction_Scheduling_Policy" => {
            match found.word(entry, &["OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER", "FLIN"]) {
                "OUT_OF_ORDER" => found.taken(entry, &[("policy.command", quoted("rcf"))]),
                "FLIN" => found.missing(entry, "nor does MQSim run it; policy.command stays rcf"),
                _ => {
                    let why = "without the classes of flows";
                    found.changed(entry, &[("policy.command", quoted("priority"))], why);
                }
            }
        }
        "Overprovisioning_Ratio" => {
            let ratio = found.real(entry, 1e-6, 0.999);
            let percent = decimal((1.0 / (1.0 - ratio) - 1.0) * 100.0, FRACTION);
            let why = "MQSim's share is of the physical capacity, this one of the exported one";
            found.changed(entry, &[("ftl.over_provisioning_percent", percent)], why);
        }
        _ => return false,
    }
    true
}

/// Keys of garbage collection, wear levelling and suspension.
fn collection(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    let blocks = |found: &mut Found, least: u64| {
        let share = found.real(entry, 0.0, 1.0);
        whole(share * facts.blocks as f64).max(least).to_string()
    };
    match entry.name.as_str() {
        "GC_Exec_Threshold" => {
            let count = blocks(found, LEAST_FREE_BLOCKS);
            found.taken(entry, &[("gc.soft_free_blocks", count)]);
        }
        "GC_Hard_Threshold" => {
            let count = blocks(found, 1);
            found.taken(entry, &[("gc.hard_free_blocks", count)]);
        }
        "GC_Block_Selection_Policy" => {
            let words = ["GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO"];
            let word = found.word(entry, &words);
            let policy = |name: &str| [("gc.policy", quoted(name))];
            match word {
                "RANDOM" | "RANDOM_P" => {
                    found.changed(entry, &policy("random"), "only full blocks are drawn");
                }
                "RANDOM_PP" => {
                    let why = "victims may have few pages that are not valid";
                    found.changed(entry, &policy("random"), why);
                }
                word => found.taken(entry, &policy(&word.to_ascii_lowercase())),
            }
        }
        "Use_Copyback_for_GC" => {
            let is_used = found.truth(entry).to_string();
            found.taken(entry, &[("gc.copyback", is_used)]);
        }
        "Preemptible_GC_Enabled" => {
            let is_preemptible = found.truth(entry).to_string();
            found.taken(entry, &[("gc.preemptible", is_preemptible)]);
        }
        "Dynamic_Wearleveling_Enabled" => {
            found.truth(entry);
            found.idle(entry, &[("wear.dynamic", "true".to_string())], ALWAYS_LEVELS);
        }
        "Static_Wearleveling_Enabled" => {
            found.truth(entry);
            found.idle(entry, &[("wear.static_gap", "99".to_string())], ALWAYS_LEVELS);
        }
        "Static_Wearleveling_Threshold" => {
            found.whole(entry, 0, LARGEST);
            found.idle(entry, &[("wear.static_gap", "99".to_string())], ALWAYS_LEVELS);
        }
        "Preferred_suspend_erase_time_for_read"
        | "Prefered_suspend_erase_time_for_read"
        | "Preferred_suspend_erase_time_for_write"
        | "Preferred_suspend_write_time_for_read" => {
            found.whole(entry, 0, u64::MAX);
            found.idle(entry, &[], NO_SUSPENSION);
        }
        _ => return false,
    }
    true
}

/// Keys of channels and chips.
fn channel(entry: &Entry, facts: &Facts, found: &mut Found) -> bool {
    match entry.name.as_str() {
        "Flash_Channel_Count" => {
            let count = found.whole(entry, 1, 1_024);
            found.taken(entry, &[("geometry.channels", count.to_string())]);
        }
        "Chip_No_Per_Channel" => {
            let count = found.whole(entry, 1, 1_024);
            found.taken(entry, &[("geometry.ways", count.to_string())]);
        }
        "Flash_Channel_Width" | "Channel_Transfer_Rate" => {
            found.whole(entry, 1, 1_000_000);
            transfer(entry, facts, found);
        }
        "Flash_Comm_Protocol" => {
            found.word(entry, &["NVDDR2"]);
            found.taken_as(entry, "");
        }
        "Support_Zone" => {
            found.truth(entry);
            found.missing(entry, "there are no zones");
        }
        _ => return false,
    }
    true
}

/// The speed of a channel, with MQSim's whole nanoseconds.
fn transfer(entry: &Entry, facts: &Facts, found: &mut Found) {
    let (rate, width) = facts.transfers;
    if (rate, width) == (333, 1) {
        found.taken(entry, &[("channel.interface", quoted("nv-ddr2-333"))]);
        return;
    }
    let key = |ps: u64| [("channel.ps_per_byte", ps.max(1).to_string())];
    let ns = 1_000 / rate;
    if ns == 0 {
        let why = "MQSim rounds the time of a transfer down to a nanosecond: to 0";
        found.changed(entry, &key(1_000_000 / rate / width), why);
    } else if 1_000 % rate == 0 {
        found.taken(entry, &key(ns * 1_000 / width));
    } else {
        let why = "a transfer takes whole nanoseconds in MQSim, rounded down";
        found.changed(entry, &key(ns * 1_000 / width), why);
    }
}

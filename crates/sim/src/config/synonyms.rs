//! What words of the field that no key is called lead to.

/// A key or a setting that a word leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meant {
    /// `section.key`, or `section.key = value`.
    pub setting: &'static str,
    /// What it is.
    pub what: &'static str,
}

/// A setting that a word leads to, and what it is.
const fn to(setting: &'static str, what: &'static str) -> Meant {
    Meant { setting, what }
}

/// Words, without case and with `_` for `-` and space, and what each leads to; the likeliest first.
const SYNONYMS: &[(&[&str], &[Meant])] = &[
    (
        &["dftl", "cmt", "demand_map", "map_cache", "mapping_cache", "cached_mapping_table"],
        &[
            to("map.store = cmt", "a map on flash behind cached entries (DFTL)"),
            to("map.cache_bytes", "the size of the map cache"),
        ],
    ),
    (
        &["mapping", "map_table", "l2p", "ftl_scheme", "translation", "scheme", "page_map"],
        &[to("ftl.scheme", "how logical pages are mapped"), to("map.store", "where the map is")],
    ),
    (&["fast"], &[to("ftl.scheme = fast", "log blocks that all data shares")]),
    (&["bast"], &[to("ftl.scheme = bast", "a log block for each block")]),
    (&["last"], &[to("ftl.scheme = last", "log blocks by locality")]),
    (&["hybrid", "log_block"], &[to("ftl.scheme", "bast, fast or last")]),
    (&["log_blocks"], &[to("ftl.fast.log_blocks", "log blocks; so for bast and last")]),
    (
        &["wl", "wear_leveling", "wear_levelling", "leveling", "levelling"],
        &[
            to("wear.dynamic", "the least erased free block is next"),
            to("wear.static_gap", "cold blocks are cleaned too"),
        ],
    ),
    (
        &[
            "op",
            "overprovisioning",
            "over_provisioning",
            "overprovision",
            "spare",
            "spare_percent",
            "op_ratio",
            "op_percent",
            "overprovisioning_ratio",
        ],
        &[to("ftl.over_provisioning_percent", "space that the host cannot see")],
    ),
    (
        &["qd", "queuedepth", "iodepth", "io_depth", "outstanding", "numjobs"],
        &[
            to("stream.depth", "requests that a workload keeps outstanding"),
            to("interface.queue_depth", "entries of a submission queue"),
            to("queue.depth", "slots of the flash command queue"),
        ],
    ),
    (
        &["cache", "write_cache", "write_buffer", "dram", "cache_size", "buffer_size", "wb"],
        &[
            to("buffer.bytes", "the size of the write buffer"),
            to("map.cache_bytes", "the size of the map cache"),
        ],
    ),
    (
        &["pram", "nvram", "buffer_type"],
        &[
            to("buffer.volatile", "whether the buffer loses data without power"),
            to("buffer.banks", "banks of the buffer"),
        ],
    ),
    (
        &[
            "gc_threshold",
            "gc_start",
            "gc_watermark",
            "gc_trigger",
            "low_watermark",
            "threshold",
            "free_blocks",
        ],
        &[
            to("gc.soft_percent", "spare space at which collection starts"),
            to("gc.soft_free_blocks", "the same in free blocks of a plane"),
            to("gc.hard_percent", "spare space at which it is urgent"),
        ],
    ),
    (
        &["gc_policy", "victim", "victim_selection", "greedy", "cost_benefit", "cleaning_policy"],
        &[to("gc.policy", "which block is collected next")],
    ),
    (
        &["idle_gc", "background_gc", "bgc"],
        &[to("gc.timing = background", "garbage collection in idle time")],
    ),
    (&["copyback", "copy_back"], &[to("gc.copyback", "copies inside a die")]),
    (
        &["slc", "mlc", "tlc", "qlc", "cell", "cell_type", "bits", "levels"],
        &[to("nand.bits_per_cell", "1 SLC, 2 MLC, 3 TLC, 4 QLC")],
    ),
    (
        &[
            "slc_cache",
            "slc_mode",
            "pslc",
            "pseudo_slc",
            "turbowrite",
            "turbo_write",
            "write_booster",
            "writebooster",
            "dynamic_write_acceleration",
            "folding",
        ],
        &[
            to("slc.static_percent", "an SLC cache of blocks that are set aside"),
            to(
                "slc.dynamic_percent",
                "an SLC cache of free blocks, which shrinks as they get fewer",
            ),
            to("slc.when_full", "where writes go while it has no room"),
        ],
    ),
    (
        &["trim", "discard", "unmap", "deallocate"],
        &[
            to("pattern.trim_percent", "trims among the requests"),
            to("trace.keep_ops", "which requests of a trace are kept"),
        ],
    ),
    (
        &["tr", "t_r", "read_latency", "read_time", "tread"],
        &[to("nand.read_us", "tR, the time to sense a page")],
    ),
    (
        &["tprog", "t_prog", "program_latency", "write_latency", "program_time", "write_us"],
        &[to("nand.program_us", "tPROG, the time to program a page")],
    ),
    (
        &["tbers", "t_bers", "erase_latency", "erase_time"],
        &[to("nand.erase_us", "tBERS, the time to erase a block")],
    ),
    (
        &["chips", "packages", "luns", "dies", "ces", "lun"],
        &[
            to("geometry.ways", "chips behind a channel"),
            to("geometry.dies_per_way", "dies of a chip"),
        ],
    ),
    (
        &["blocks", "block_count", "num_blocks"],
        &[to("geometry.blocks_per_plane", "erase blocks of a plane")],
    ),
    (&["page_size", "pagesize"], &[to("geometry.page_bytes", "data bytes of a page")]),
    (
        &["block_size", "erase_block_size"],
        &[
            to("geometry.pages_per_block", "pages of an erase block"),
            to("pattern.size_kib", "the size of requests"),
        ],
    ),
    (
        &["bs", "blocksize", "request_size", "io_size"],
        &[to("pattern.size_kib", "the size of requests")],
    ),
    (
        &["rw", "read_ratio", "rwmixread", "write_ratio", "write_percent"],
        &[to("pattern.read_percent", "reads among the requests")],
    ),
    (
        &["rate", "iops", "rate_iops", "load"],
        &[
            to("pattern.rate_per_s", "requests a second, with pattern.arrival"),
            to("stream.rate_limit_iops", "a limit of a stream"),
        ],
    ),
    (
        &["multiplane", "plane_parallelism", "interleave"],
        &[to("nand.multi_plane", "which planes one operation covers")],
    ),
    (
        &["suspend", "program_suspend", "erase_suspend", "suspension"],
        &[
            to("nand.program_suspends", "how often a program is suspended"),
            to("nand.erase_suspends", "how often an erase is suspended"),
        ],
    ),
    (
        &["pe_cycles", "lifetime", "cycles", "endurance", "wear_out"],
        &[to("nand.endurance_cycles", "erases until a block is worn out")],
    ),
    (
        &["ecc", "ber", "rber", "bit_error_rate"],
        &[to("nand.bit_errors_ppb", "bit errors of reads")],
    ),
    (
        &["read_retry", "retries", "read_retries", "retry_table", "rrt", "soft_read"],
        &[
            to("retry.chance_percent", "how often pages are sensed again"),
            to("retry.again_percent", "how many senses follow"),
        ],
    ),
    (
        &["bad_blocks", "bbt"],
        &[to("nand.factory_bad_percent", "blocks that are bad from the start")],
    ),
    (
        &["nvme", "pcie", "sata", "bandwidth", "link", "host_link", "link_speed"],
        &[to("interface.link_ps_per_byte", "the rate of the link to the host")],
    ),
    (
        &["onfi", "toggle", "bus_speed", "channel_speed", "channel_rate", "flash_bus"],
        &[
            to("channel.interface", "a named interface of the channels"),
            to("channel.ps_per_byte", "the rate of a channel"),
        ],
    ),
    (
        &["scheduler", "scheduling", "io_scheduler", "read_priority"],
        &[
            to("policy.command", "which command a die takes next"),
            to("host.policy", "which request starts next"),
        ],
    ),
    (
        &["preconditioning", "precondition", "steady_state", "prefill", "prefilled", "fill"],
        &[
            to("state.initial", "what the device holds at the start"),
            to("state.fill_percent", "how much of it is written"),
        ],
    ),
    (
        &["warmup", "warm_up", "ramp_time"],
        &[to("metrics.skip_requests", "requests before results count")],
    ),
    (
        &["zns", "zone", "zoned_namespace"],
        &[to("ftl.scheme", "\"zns\": a device with zones, as [ftl.zns] says")],
    ),
    (
        &["streams", "multi_stream", "fdp"],
        &[to("placement.handles", "open blocks of a plane that keep data of streams apart")],
    ),
    (
        &["power", "energy", "watts", "current"],
        &[
            to("energy.program_mw", "the power of a program; so for read, erase"),
            to("energy.budget_mw", "a limit of the power"),
        ],
    ),
    (
        &["firmware_latency", "cpu", "controller"],
        &[
            to("firmware.cores", "cores that serve requests first"),
            to("firmware.read_ns", "the time of a core for a read"),
        ],
    ),
    (
        &["io_uring", "libaio", "syscall", "submit", "submission", "reap", "host_cpu", "thread"],
        &[
            to("interface.submit_ns", "the time of a thread of the host to submit a request"),
            to("interface.reap_ns", "the time of it to reap an answer"),
        ],
    ),
    (
        &["aspm", "wake", "wakeup", "wake_up", "nap", "power_state", "idle_latency"],
        &[
            to("interface.wake_us", "what a request after a pause takes longer"),
            to("sleep.exit_us", "the same of a device that sleeps and saves energy"),
        ],
    ),
    (
        &["page_register", "open_row", "row_buffer", "hit_rate", "hit_ratio", "early_read"],
        &[to("nand.read_early_percent", "the share of reads that sense nothing")],
    ),
    (
        &["tail", "jitter", "scatter", "latency_spread", "write_jitter"],
        &[
            to("firmware.write_tail_ns", "an exponential tail of writes; so for reads"),
            to("firmware.spread_percent", "an even spread of the time of firmware"),
            to("nand.spread_percent", "a tail of array times"),
        ],
    ),
    (
        &["stall", "stalls", "map_flush", "table_flush", "checkpoint", "hiccup"],
        &[
            to("firmware.stall_units", "writes between two stalls"),
            to("firmware.stall_us", "how long one lasts"),
        ],
    ),
    (
        &["iwl", "aipr", "independent_planes", "independent_plane_read", "async_plane_read"],
        &[to("geometry.dies_per_way", "planes that read by themselves are dies")],
    ),
    (
        &["write_pacing", "even_release", "paced_writes"],
        &[
            to("buffer.release_us", "lines of the buffer become usable one after another"),
            to("gc.pacing", "copies that each program pays for"),
        ],
    ),
];

/// What a word of the field leads to, the likeliest first; nothing for other words. Case, and the
/// choice of `-`, `_` or a space, do not count.
pub fn meant(word: &str) -> &'static [Meant] {
    let word = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let found = SYNONYMS.iter().find(|(words, _)| words.contains(&word.as_str()));
    found.map_or(&[], |(_, meant)| meant)
}

/// A hint at what the path of an unknown key means in the field.
pub(super) fn hint(path: &str) -> Option<String> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let joined = path.replace('.', "_");
    let word = [name, joined.as_str()].into_iter().find(|word| !meant(word).is_empty())?;
    let settings: Vec<&str> = meant(word).iter().map(|meant| meant.setting).collect();
    let more = format!("; `flashyard list keys {word}` shows more");
    Some(format!("; did you mean {}?{more}", settings.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Sections, apply_setting};
    use std::collections::BTreeSet;

    #[test]
    fn every_word_is_there_once_and_leads_to_keys_that_exist() {
        let mut words = BTreeSet::new();
        let keys = DeviceKeys::default();
        for (synonyms, meant) in SYNONYMS {
            for word in *synonyms {
                assert!(words.insert(word), "{word} is there twice");
            }
            for Meant { setting, .. } in *meant {
                let path = setting.split(" = ").next().unwrap();
                let (section, name) = path.rsplit_once('.').unwrap();
                let of_workload = ["pattern", "stream", "trace"].contains(&section);
                assert!(of_workload || keys.get(section, name).is_some(), "{setting}");
                if let Some((path, value)) = setting.split_once(" = ") {
                    let mut problems = Vec::new();
                    let setting = format!("{path}={value}");
                    apply_setting("--set", &setting, &mut keys.clone(), &mut problems);
                    assert_eq!(problems, [], "{setting}");
                }
            }
        }
    }

    #[test]
    fn unknown_keys_that_are_words_of_the_field_lead_to_keys() {
        let check = |setting: &str, expected: &str| {
            let mut problems = Vec::new();
            apply_setting("--set", setting, &mut DeviceKeys::default(), &mut problems);
            let found = problems[0].to_string();
            assert!(found.contains(expected), "{found}");
        };
        check("dftl=true", "did you mean map.store = cmt or map.cache_bytes?");
        check("dftl=true", "`flashyard list keys dftl` shows more");
        check("ftl.overprovisioning=7", "did you mean ftl.over_provisioning_percent?");
        check("gc.threshold=3", "gc.soft_percent");
        check("QD=3", "stream.depth");
        check("tlc=3", "nand.bits_per_cell");
        check("xyzzyplugh=3", "`flashyard list keys xyzzyplugh` shows");
        check("nand=3", "nand: a section, not a key; `flashyard list keys nand` lists its keys");
    }
}

//! What words of the field that no key is called lead to.

/// A key or a setting that a word leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meant {
    /// `section.key`, or `section.key = value`.
    pub setting: &'static str,
    /// What it is.
    pub what: &'static str,
}

/// Words, without case and with `_` for `-` and space, and what each leads to; the likeliest first.
const SYNONYMS: &[(&[&str], &[Meant])] = &[
    (
        &["dftl", "cmt", "demand_map", "map_cache", "mapping_cache", "cached_mapping_table"],
        &[
            Meant {
                setting: "map.store = cmt",
                what: "a map on flash behind cached entries (DFTL)",
            },
            Meant { setting: "map.cache_bytes", what: "the size of the map cache" },
        ],
    ),
    (
        &["mapping", "map_table", "l2p", "ftl_scheme", "translation", "scheme", "page_map"],
        &[
            Meant { setting: "ftl.scheme", what: "how logical pages are mapped" },
            Meant { setting: "map.store", what: "where the map is" },
        ],
    ),
    (&["fast"], &[Meant { setting: "ftl.scheme = fast", what: "log blocks that all data shares" }]),
    (&["bast"], &[Meant { setting: "ftl.scheme = bast", what: "a log block for each block" }]),
    (&["last"], &[Meant { setting: "ftl.scheme = last", what: "log blocks by locality" }]),
    (&["hybrid", "log_block"], &[Meant { setting: "ftl.scheme", what: "bast, fast or last" }]),
    (
        &["log_blocks"],
        &[Meant { setting: "ftl.fast.log_blocks", what: "log blocks; so for bast and last" }],
    ),
    (
        &["wl", "wear_leveling", "wear_levelling", "leveling", "levelling"],
        &[
            Meant { setting: "wear.dynamic", what: "the least erased free block is next" },
            Meant { setting: "wear.static_gap", what: "cold blocks are cleaned too" },
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
        &[Meant {
            setting: "ftl.over_provisioning_percent",
            what: "space that the host cannot see",
        }],
    ),
    (
        &["qd", "queuedepth", "iodepth", "io_depth", "outstanding", "numjobs"],
        &[
            Meant { setting: "stream.depth", what: "requests that a workload keeps outstanding" },
            Meant { setting: "interface.queue_depth", what: "entries of a submission queue" },
            Meant { setting: "queue.depth", what: "slots of the flash command queue" },
        ],
    ),
    (
        &["cache", "write_cache", "write_buffer", "dram", "cache_size", "buffer_size", "wb"],
        &[
            Meant { setting: "buffer.bytes", what: "the size of the write buffer" },
            Meant { setting: "map.cache_bytes", what: "the size of the map cache" },
        ],
    ),
    (
        &["pram", "nvram", "buffer_type"],
        &[
            Meant {
                setting: "buffer.volatile",
                what: "whether the buffer loses data without power",
            },
            Meant { setting: "buffer.banks", what: "banks of the buffer" },
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
            Meant { setting: "gc.soft_percent", what: "spare space at which collection starts" },
            Meant { setting: "gc.soft_free_blocks", what: "the same in free blocks of a plane" },
            Meant { setting: "gc.hard_percent", what: "spare space at which it is urgent" },
        ],
    ),
    (
        &["gc_policy", "victim", "victim_selection", "greedy", "cost_benefit", "cleaning_policy"],
        &[Meant { setting: "gc.policy", what: "which block is collected next" }],
    ),
    (
        &["idle_gc", "background_gc", "bgc"],
        &[Meant { setting: "gc.timing = background", what: "garbage collection in idle time" }],
    ),
    (&["copyback", "copy_back"], &[Meant { setting: "gc.copyback", what: "copies inside a die" }]),
    (
        &["slc", "mlc", "tlc", "qlc", "cell", "cell_type", "bits", "levels"],
        &[Meant { setting: "nand.bits_per_cell", what: "1 SLC, 2 MLC, 3 TLC, 4 QLC" }],
    ),
    (
        &["slc_cache", "slc_mode", "pslc", "turbowrite"],
        &[Meant {
            setting: "buffer.bytes",
            what: "a write buffer in memory; devices have no SLC cache",
        }],
    ),
    (
        &["trim", "discard", "unmap", "deallocate"],
        &[
            Meant { setting: "pattern.trim_percent", what: "trims among the requests" },
            Meant { setting: "trace.keep_ops", what: "which requests of a trace are kept" },
        ],
    ),
    (
        &["tr", "t_r", "read_latency", "read_time", "tread"],
        &[Meant { setting: "nand.read_us", what: "tR, the time to sense a page" }],
    ),
    (
        &["tprog", "t_prog", "program_latency", "write_latency", "program_time", "write_us"],
        &[Meant { setting: "nand.program_us", what: "tPROG, the time to program a page" }],
    ),
    (
        &["tbers", "t_bers", "erase_latency", "erase_time"],
        &[Meant { setting: "nand.erase_us", what: "tBERS, the time to erase a block" }],
    ),
    (
        &["chips", "packages", "luns", "dies", "ces", "lun"],
        &[
            Meant { setting: "geometry.ways", what: "chips behind a channel" },
            Meant { setting: "geometry.dies_per_way", what: "dies of a chip" },
        ],
    ),
    (
        &["blocks", "block_count", "num_blocks"],
        &[Meant { setting: "geometry.blocks_per_plane", what: "erase blocks of a plane" }],
    ),
    (
        &["page_size", "pagesize"],
        &[Meant { setting: "geometry.page_bytes", what: "data bytes of a page" }],
    ),
    (
        &["block_size", "erase_block_size"],
        &[
            Meant { setting: "geometry.pages_per_block", what: "pages of an erase block" },
            Meant { setting: "pattern.size_kib", what: "the size of requests" },
        ],
    ),
    (
        &["bs", "blocksize", "request_size", "io_size"],
        &[Meant { setting: "pattern.size_kib", what: "the size of requests" }],
    ),
    (
        &["rw", "read_ratio", "rwmixread", "write_ratio", "write_percent"],
        &[Meant { setting: "pattern.read_percent", what: "reads among the requests" }],
    ),
    (
        &["rate", "iops", "rate_iops", "load"],
        &[
            Meant {
                setting: "pattern.rate_per_s",
                what: "requests a second, with pattern.arrival",
            },
            Meant { setting: "stream.rate_limit_iops", what: "a limit of a stream" },
        ],
    ),
    (
        &["multiplane", "plane_parallelism", "interleave"],
        &[Meant { setting: "nand.multi_plane", what: "which planes one operation covers" }],
    ),
    (
        &["suspend", "program_suspend", "erase_suspend", "suspension"],
        &[
            Meant { setting: "nand.program_suspends", what: "how often a program is suspended" },
            Meant { setting: "nand.erase_suspends", what: "how often an erase is suspended" },
        ],
    ),
    (
        &["pe_cycles", "lifetime", "cycles", "endurance", "wear_out"],
        &[Meant { setting: "nand.endurance_cycles", what: "erases until a block is worn out" }],
    ),
    (
        &["ecc", "ber", "rber", "bit_error_rate"],
        &[Meant { setting: "nand.bit_errors_ppb", what: "bit errors of reads" }],
    ),
    (
        &["read_retry", "retries", "read_retries", "retry_table", "rrt", "soft_read"],
        &[
            Meant { setting: "retry.chance_percent", what: "how often pages are sensed again" },
            Meant { setting: "retry.again_percent", what: "how many senses follow" },
        ],
    ),
    (
        &["bad_blocks", "bbt"],
        &[Meant {
            setting: "nand.factory_bad_percent",
            what: "blocks that are bad from the start",
        }],
    ),
    (
        &["nvme", "pcie", "sata", "bandwidth", "link", "host_link", "link_speed"],
        &[Meant {
            setting: "interface.link_ps_per_byte",
            what: "the rate of the link to the host",
        }],
    ),
    (
        &["onfi", "toggle", "bus_speed", "channel_speed", "channel_rate", "flash_bus"],
        &[
            Meant { setting: "channel.interface", what: "a named interface of the channels" },
            Meant { setting: "channel.ps_per_byte", what: "the rate of a channel" },
        ],
    ),
    (
        &["scheduler", "scheduling", "io_scheduler", "read_priority"],
        &[
            Meant { setting: "policy.command", what: "which command a die takes next" },
            Meant { setting: "host.policy", what: "which request starts next" },
        ],
    ),
    (
        &["preconditioning", "precondition", "steady_state", "prefill", "prefilled", "fill"],
        &[
            Meant { setting: "state.initial", what: "what the device holds at the start" },
            Meant { setting: "state.fill_percent", what: "how much of it is written" },
        ],
    ),
    (
        &["warmup", "warm_up", "ramp_time"],
        &[Meant { setting: "metrics.skip_requests", what: "requests before results count" }],
    ),
    (
        &["streams", "multi_stream", "fdp", "zns"],
        &[Meant { setting: "ftl.streams", what: "open blocks of a plane for streams of data" }],
    ),
    (
        &["power", "energy", "watts", "current"],
        &[
            Meant {
                setting: "energy.program_mw",
                what: "the power of a program; so for read, erase",
            },
            Meant { setting: "energy.budget_mw", what: "a limit of the power" },
        ],
    ),
    (
        &["firmware_latency", "cpu", "controller"],
        &[
            Meant { setting: "firmware.cores", what: "cores that serve requests first" },
            Meant { setting: "firmware.read_ns", what: "the time of a core for a read" },
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

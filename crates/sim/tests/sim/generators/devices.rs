//! Small devices with every command policy, mapping scheme, map, rule of collection and power
//! budget, and requests for them.

use super::programs::with_programs;
use crate::common::{DRAWN_POLICIES, Random, keys, keys_of_parts, request, starts_pages};
use flashyard_core::bus::policy::BusPolicyName;
use flashyard_core::bus::policy::framework::{DataOrder, Questions};
use flashyard_core::geometry::StripeOrder;
use flashyard_core::host::HostPolicyName;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{
    Acknowledge, ArmOrder, BusTiming, DeviceKeys, DramKind, DramScaling, Duplex, FirmwareFamily,
    GcStart, GcTiming, InitialState, LogSpan, MapReserve, MovedEntries, MultiPlane, Precision,
    ProgramOrder, Readiness, RewriteOrder, Rotation, SchedulerScope, Settings, SlcFull, SlotsScope,
    Transfer, WriteFrontier, apply_setting,
};
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::parts::victim::VictimName;
use std::collections::BTreeMap;

/// Which devices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Every third one with a write buffer, all with a power budget.
    Any,
    /// Those whose blocks bear a few erases.
    Worn,
    /// Those with log blocks.
    LogBlocks,
    /// Those with a map on flash.
    Cached,
    /// Any of the others, with bus requests.
    Bus,
    /// Any of the others, with firmware cores and faster reads of parts of pages.
    Firmware,
    /// Any of the others, with background work in periods.
    Background,
    /// Disks.
    Disk,
    /// Any of the others, with energy of the link, power of reclaiming space, sleep and a power
    /// meter.
    Powered,
    /// Those of `Any` and `Cached`, with a family of firmware.
    Families,
    /// Any of the others, with mechanisms of real drives: threads of the host, naps, early and long
    /// reads, tails and stalls of firmware, lines that become usable one after another.
    Mechanisms,
    /// Those with log blocks, which are superblocks, some behind a write buffer, with work in idle
    /// times or with bus requests.
    Superblocks,
    /// Those with log blocks whose programs hold several mapping units, behind a write buffer; some
    /// log blocks are superblocks.
    Packed,
    /// Any of the others with a page map and several planes, with one frontier over the planes of a
    /// die, and a power meter.
    Joined,
    /// Any of the others with a page map, with an SLC cache.
    Cells,
}

/// The device of a seed and its requests.
pub fn case(family: Family, seed: u64) -> (Settings, Vec<Request>) {
    let mut random = Random(seed);
    if family == Family::Bus {
        let of = [Family::Any, Family::LogBlocks, Family::Cached];
        let (settings, requests) = case(random.pick(&of), seed);
        return (with_bus(&mut random, settings.keys), requests);
    }
    if family == Family::Firmware {
        let of = [Family::Any, Family::LogBlocks, Family::Cached, Family::Bus];
        let (settings, requests) = case(random.pick(&of), seed);
        return (with_firmware(&mut random, settings.keys), requests);
    }
    if family == Family::Background {
        let of = [Family::Any, Family::LogBlocks, Family::Cached];
        let (settings, requests) = case(random.pick(&of), seed);
        return (with_periods(&mut random, settings.keys), requests);
    }
    if family == Family::Disk {
        return disk_case(&mut random);
    }
    if family == Family::Powered {
        let of = [Family::Any, Family::LogBlocks, Family::Cached, Family::Bus];
        let (settings, mut requests) = case(random.pick(&of), seed);
        // Pauses in which the device may fall asleep.
        let pause = random.pick(&[0, 1_000, 30_000]);
        for (number, request) in (0..).zip(&mut requests) {
            request.arrival = request.arrival + Span::from_us(number / 60 * pause);
        }
        return (with_states(&mut random, settings.keys), requests);
    }
    if family == Family::Families {
        let (settings, requests) = case(random.pick(&[Family::Any, Family::Cached]), seed);
        return (with_family(&mut random, &settings.keys), requests);
    }
    if family == Family::Mechanisms {
        let of = [Family::Any, Family::Cached, Family::Firmware, Family::Powered, Family::Joined];
        let (settings, requests) = case(random.pick(&of), seed);
        return (with_mechanisms(&mut random, settings.keys), requests);
    }
    if family == Family::Superblocks {
        let (settings, requests) = case(Family::LogBlocks, seed);
        return (with_superblocks(&mut random, settings.keys), requests);
    }
    if family == Family::Packed {
        let settings = with_programs(&mut random, &case(Family::LogBlocks, seed).0.keys);
        let requests = random_requests(&mut random, &settings);
        return (settings, requests);
    }
    if matches!(family, Family::Joined | Family::Cells) {
        return with_other_blocks(family, &mut random, seed);
    }
    let mut settings = random_settings(&mut random, kind_of(family, seed));
    if family == Family::Worn {
        settings.keys.nand.endurance_cycles = random.pick(&[2, 3, 4, 10, 30]);
    }
    let requests = random_requests(&mut random, &settings);
    if family == Family::Any {
        settings = with_power(&mut random, &settings);
    }
    (settings, requests)
}

/// What a family that has parts of its own is drawn from.
fn kind_of(family: Family, seed: u64) -> Kind {
    match family {
        Family::Any if seed.is_multiple_of(3) => Kind::Buffered,
        Family::Any | Family::Worn => Kind::Plain,
        Family::LogBlocks => Kind::LogBlocks,
        Family::Cached => Kind::Cached,
        Family::Background
        | Family::Bus
        | Family::Cells
        | Family::Disk
        | Family::Families
        | Family::Firmware
        | Family::Joined
        | Family::Mechanisms
        | Family::Packed
        | Family::Powered
        | Family::Superblocks => {
            unreachable!("another family with these parts")
        }
    }
}

/// A device whose blocks are joined or may be used with one bit a cell.
fn with_other_blocks(family: Family, random: &mut Random, seed: u64) -> (Settings, Vec<Request>) {
    if family == Family::Joined {
        let of = [Family::Any, Family::Any, Family::Worn, Family::Cached, Family::Families];
        let (settings, requests) = case(random.pick(&of), seed);
        return (with_joined(random, settings.keys), requests);
    }
    let of = [Family::Any, Family::Any, Family::Worn, Family::Cached, Family::Joined];
    let (settings, requests) = case(random.pick(&of), seed);
    (with_cells(random, &settings), requests)
}

/// A device that works in idle times, a number of blocks in each period.
fn with_periods(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    keys.gc.timing = GcTiming::Background;
    keys.gc.idle_us = random.pick(&[Span::ZERO, Span::from_us(50), Span::from_ms(1)]);
    keys.gc.background_period_us =
        random.pick(&[Span::from_us(1), Span::from_us(300), Span::from_ms(5)]);
    keys.gc.background_blocks = random.pick(&[1, 1, 3, 100]);
    keys.gc.background_log_blocks = random.pick(&[0, 1, 4]);
    keys.schemes.fast.sequential_log = random.below(2) == 0;
    Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
}

/// Log blocks are superblocks, without what that refuses.
pub fn span_planes(keys: &mut DeviceKeys) {
    keys.ftl.log_span = LogSpan::Superblock;
    keys.ftl.merge_first = false;
    keys.gc.copyback = false;
    keys.queue.slots_scope = SlotsScope::Device;
    keys.queue.die_depth = 0;
}

/// A device whose log blocks are superblocks.
pub fn with_superblocks(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    span_planes(&mut keys);
    if keys.buffer.bytes == 0 {
        keys.buffer.bytes = random.pick(&[0, 0, 16_384, 65_536]);
        keys.buffer.volatile = random.below(2) == 0;
        keys.buffer.acknowledge = random.pick(Acknowledge::ALL);
    }
    let settings = Settings::new(keys).unwrap_or_else(|error| panic!("{error}"));
    match random.below(4) {
        0 if settings.keys.buffer.bytes == 0 => with_bus(random, settings.keys),
        1 => with_periods(random, settings.keys),
        _ => settings,
    }
}

/// Keys of disks and the values that are drawn for them.
const DISK_DRAWS: &[(&str, &[&str])] = &[
    ("disk.sectors", &["80000", "4000000"]),
    ("disk.rpm", &["5400", "15000"]),
    ("disk.zones", &["1", "3", "16"]),
    ("disk.rotation", Rotation::WORDS),
    ("disk.overhead_us", &["1", "100", "3000"]),
    ("disk.order", ArmOrder::WORDS),
    ("disk.write_back", ArmOrder::WORDS),
    ("disk.segments", &["0", "1", "3", "16"]),
    ("disk.segment_bytes", &["4096", "65536", "524288"]),
    ("disk.write_cache_bytes", &["0", "4096", "65536", "8388608"]),
    ("interface.fetch_depth", &["0", "1", "4", "32"]),
    ("interface.link_ps_per_byte", &["0", "3333"]),
    ("interface.link_latency_ns", &["0", "1000"]),
    ("interface.duplex", &["full", "half"]),
    ("metrics.bin_ms", &["0", "1"]),
    ("metrics.power_us", &["0", "1000", "37001"]),
    ("sleep.after_us", &["0", "700", "20000"]),
    ("sleep.power_mw", &["0", "400"]),
    ("sleep.entry_us", &["0", "3000"]),
    ("sleep.entry_pj", &["0", "1000003"]),
    ("sleep.exit_us", &["0", "90000"]),
    ("sleep.exit_pj", &["0", "2000003"]),
    ("deep_sleep.after_us", &["0", "90000", "900000"]),
    ("deep_sleep.power_mw", &["0", "200"]),
    ("deep_sleep.entry_us", &["0", "400000"]),
    ("deep_sleep.entry_pj", &["0", "999"]),
    ("deep_sleep.exit_us", &["0", "3500000"]),
    ("deep_sleep.exit_pj", &["0", "17500000000001"]),
];

/// A disk, and requests for a small part of it, many of which overlap.
fn disk_case(random: &mut Random) -> (Settings, Vec<Request>) {
    let drawn = DISK_DRAWS.iter().map(|(key, values)| format!("{key}={}", random.pick(values)));
    let drawn: Vec<_> = drawn.chain(["device.kind=disk".to_string()]).collect();
    let settings = Settings::new(keys(&drawn)).unwrap_or_else(|error| panic!("{error}"));
    let reach = random.pick(&[300, 3_000, 60_000]);
    // Pauses in which the disk may fall asleep.
    let pause = random.pick(&[0, 40_000, 3_000_000]);
    let mut now_us = 0;
    let requests = (0..200).map(|number| {
        now_us += random.pick(&[0, 0, 20, 900, 30_000]);
        now_us += if number % 60 == 59 { pause } else { 0 };
        let op = match random.below(20) {
            0 => RequestOp::Flush,
            1 => RequestOp::Trim,
            2..11 => RequestOp::Write,
            _ => RequestOp::Read,
        };
        let flags = match (op, random.below(8)) {
            (RequestOp::Write, 0) => Flags::FUA,
            (RequestOp::Write, 1) => Flags::PREFLUSH.with(Flags::FUA),
            (RequestOp::Write, 2) => Flags::PREFLUSH,
            (RequestOp::Trim, 0..4) => Flags::ZEROES,
            _ => Flags::NONE,
        };
        let longest = random.pick(&[8, 64, 2_000]);
        let sectors = u32::try_from(1 + random.below(longest)).unwrap();
        let first_sector = random.below(reach);
        Request::new(op, first_sector, sectors).at(Time::from_us(now_us)).with(flags)
    });
    let requests = requests.collect();
    (settings, requests)
}

/// A device whose link, idle times and own work take energy, with a power meter.
fn with_states(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    keys.energy.link_pj_per_byte = random.pick(&[0, 1, 40]);
    keys.energy.reclaim_mw = random.pick(&[0, 519]);
    keys.energy.reclaim_idle_mw = random.pick(&[0, 7]);
    keys.energy.controller_active_mw = random.pick(&[0, 210]);
    keys.energy.controller_idle_mw = random.pick(&[0, 70]);
    keys.energy.dram = random.pick(DramKind::ALL);
    keys.energy.dram_scaling = random.pick(DramScaling::ALL);
    keys.interface.link_ps_per_byte = random.pick(&[0, 0, 1_667, 100_000]);
    keys.interface.link_latency_ns = random.pick(&[0, 700]);
    keys.interface.transfer = random.pick(Transfer::ALL);
    keys.interface.duplex = random.pick(Duplex::ALL);
    for (level, after) in [(&mut keys.sleep, 20_000), (&mut keys.deep_sleep, 900_000)] {
        level.after_us = random.pick(&[Span::ZERO, Span::from_ns(after), Span::from_ns(5 * after)]);
        level.power_mw = random.pick(&[0, 3]);
        let mut draw = |ns: u64, pj: u64| {
            let (ns, pj) = random.pick(&[(0, 0), (0, 999), (ns, pj)]);
            (Span::from_ns(ns), pj)
        };
        (level.entry_us, level.entry_pj) = draw(70_001, 1_000_003);
        (level.exit_us, level.exit_pj) = draw(410_000, 2_000_003);
    }
    keys.metrics.power_us = random.pick(&[Span::ZERO, Span::from_ms(1), Span::from_ns(37_001)]);
    keys.metrics.bin_ms = random.pick(&[Span::ZERO, Span::from_ms(1)]);
    Settings::new(keys.clone()).unwrap_or_else(|_| {
        // Host policies that start pages leave transfers of pages to others.
        keys.interface.transfer = Transfer::Request;
        Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// Mechanisms of real drives and the values that are drawn for them.
const MECHANISM_DRAWS: &[(&str, &[&str])] = &[
    ("interface.submit_ns", &["0", "1", "1500"]),
    ("interface.reap_ns", &["0", "900", "20000"]),
    ("interface.threads", &["stream", "host"]),
    ("interface.wake_us", &["0", "7", "300"]),
    ("interface.wake_after_us", &["0", "0.5", "100"]),
    ("interface.queue_depth", &["0", "0", "4"]),
    ("nand.read_early_percent", &["0", "3", "60", "100"]),
    ("nand.read_early_us", &["0.001", "4", "1000"]),
    ("retry.chance_percent", &["0", "0", "1"]),
    ("retry.step_us", &["1000"]),
    ("firmware.cores", &["1", "3"]),
    ("firmware.read_tail_ns", &["0", "1000"]),
    ("firmware.write_tail_ns", &["0", "1", "30000"]),
    ("firmware.stall_units", &["0", "1", "20"]),
    ("firmware.stall_us", &["0.001", "40", "3000"]),
    ("firmware.stall_holds", &["writes", "all"]),
    ("buffer.release_us", &["0", "200", "3000"]),
    ("gc.soft_zone_blocks", &["0", "0", "1"]),
    ("nand.pulse_us", &["0", "70", "400"]),
    ("map.log_bytes", &["0", "0", "64", "512"]),
    ("map.log_entries", &["1", "16"]),
    ("nand.multi_plane_read_us", &["0", "0", "150", "1000"]),
];

/// A device with mechanisms of real drives.
fn with_mechanisms(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    let mut problems = Vec::new();
    for (key, values) in MECHANISM_DRAWS {
        let assignment = format!("{key}={}", random.pick(values));
        apply_setting("--set", &assignment, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    if Settings::new(keys.clone()).is_err() {
        // A map on flash is not logged, nor is that of a device that can be cut.
        keys.map.log_bytes = 0;
    }
    Settings::new(keys.clone()).unwrap_or_else(|_| {
        // Policies that flush the buffer count its lines, planes may have too few blocks for a soft
        // zone, and early reads may need more power than there is.
        (keys.buffer.release_us, keys.gc.soft_zone_blocks) = (Span::ZERO, 0);
        Settings::new(keys.clone()).unwrap_or_else(|_| {
            keys.nand.read_early_percent = Ppm::ZERO;
            Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
        })
    })
}

/// A device whose channels carry bus requests, without what the bus policy refuses.
fn with_bus(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    keys.bus.precision = Precision::Requests;
    keys.channel.arbitration = random.pick(BusPolicyName::ALL);
    keys.bus.timing = random.pick(BusTiming::ALL);
    keys.bus.chunk_bytes = random.pick(&[1_024, 4_096, 65_536]);
    keys.bus.readiness = random.pick(Readiness::ALL);
    keys.bus.poll_before_data = keys.bus.readiness == Readiness::Polled || random.below(2) == 0;
    keys.bus.status_ns = random.pick(&[0, 130]);
    keys.bus.poll_gap_ns = random.pick(&[20_000, 100_000]);
    keys.bus.scheduler_scope = random.pick(SchedulerScope::ALL);
    let costs = &mut keys.bus_policies.framework;
    costs.data_order = random.pick(DataOrder::ALL);
    costs.questions = random.pick(Questions::ALL);
    costs.loop_ns = random.pick(&[0, 10, 400]);
    costs.send_ns = random.pick(&[0, 10, 400]);
    if costs.questions == Questions::Always {
        // A loop that asks all the time must take some.
        costs.loop_ns = 20_000;
    }
    Settings::new(keys.clone()).unwrap_or_else(|_| {
        (keys.nand.program_suspends, keys.nand.erase_suspends) = (0, 0);
        (keys.energy.budget_mw, keys.energy.max_active_dies) = (0, 0);
        keys.nand.cache_read = false;
        Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// A device whose requests come over a link to firmware cores, and whose arrays sense parts of
/// pages in less time, where a read may need so little.
fn with_firmware(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    keys.firmware.cores = random.pick(&[1, 1, 2, 5]);
    keys.firmware.read_ns = random.pick(&[0, 900, 20_000]);
    keys.firmware.write_ns = random.pick(&[0, 1_300, 50_000]);
    keys.firmware.trim_ns = random.pick(&[0, 700]);
    keys.firmware.flush_ns = random.pick(&[0, 30_000]);
    keys.firmware.unit_ns = random.pick(&[0, 0, 450]);
    keys.firmware.spread_percent = random.pick(&[Ppm::ZERO, Ppm::from_percent(30), Ppm::ALL]);
    keys.interface.link_latency_ns = random.pick(&[0, 0, 2_000]);
    keys.interface.link_ps_per_byte = random.pick(&[0, 250]);
    keys.interface.fetch_depth = random.pick(&[0, 0, 4, 32]);
    keys.energy.read_pj = random.pick(&[0, 0, 1_000_003]);
    keys.nand.read_part_bytes = random.pick(&[512, 4_096, 4_096, 8_192]);
    keys.nand.read_part_us =
        random.pick(&[Span::from_us(20), Span::from_ns(59_999), Span::from_us(60)]);
    keys.nand.codeword_bytes = random.pick(&[0, 512, 1_024, 2_048]);
    Settings::new(keys.clone()).unwrap_or_else(|_| {
        (keys.energy.read_pj, keys.nand.codeword_bytes) = (0, 0);
        keys.nand.read_part_us = Span::ZERO;
        Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// A device of several planes that are written together, with more blocks where that takes them.
fn with_joined(random: &mut Random, mut keys: DeviceKeys) -> Settings {
    keys.geometry.planes = keys.geometry.planes.max(random.pick(&[2, 2, 4]));
    keys.nand.multi_plane = random.pick(&[MultiPlane::SamePage, MultiPlane::Any]);
    keys.ftl.frontier = WriteFrontier::Die;
    keys.gc.copyback = false;
    keys.metrics.power_us = Span::from_us(100);
    Settings::new(keys.clone()).unwrap_or_else(|_| {
        (keys.energy.budget_mw, keys.energy.max_active_dies) = (0, 0);
        keys.geometry.blocks_per_plane *= 5;
        keys.ftl.over_provisioning_percent = Ppm::from_percent(200);
        keys.nand.factory_bad_percent = Ppm::ZERO;
        keys.nand.one_shot = false;
        keys.state.initial = InitialState::Fresh;
        Settings::new(keys).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// A device with an SLC cache that exports at least as much as another one.
fn with_cells(random: &mut Random, of: &Settings) -> Settings {
    let mut keys = of.keys.clone();
    let bits = random.pick(&[2, 3, 4]);
    keys.nand.bits_per_cell = bits;
    keys.nand.program_order = ProgramOrder::Sequential;
    keys.geometry.pages_per_block = keys.geometry.pages_per_block.next_multiple_of(bits);
    (keys.gc.erase_after_map, keys.gc.map_reserve) = (false, MapReserve::Half);
    keys.gc.copyback &= !keys.nand.one_shot;
    keys.gc.start = GcStart::Early;
    keys.slc.static_percent = Ppm::from_percent(random.pick(&[0, 3, 10]));
    let shares = if keys.slc.is_on() { &[0, 30, 100][..] } else { &[10, 50, 100] };
    keys.slc.dynamic_percent = Ppm::from_percent(random.pick(shares));
    keys.slc.dynamic_most_percent = Ppm::from_percent(random.pick(&[5, 100, 100]));
    keys.slc.when_full = random.pick(SlcFull::ALL);
    keys.slc.fold_idle_us = random.pick(&[Span::ZERO, Span::from_us(50), Span::from_ms(2)]);
    keys.slc.endurance_cycles = random.pick(&[0, 0, 3]);
    if random.below(3) == 0 {
        keys.gc.timing = GcTiming::Background;
    }
    let blocks = keys.geometry.blocks_per_plane;
    for state in [keys.state.initial, InitialState::Fresh] {
        keys.state.initial = state;
        for more in 0..60 {
            keys.geometry.blocks_per_plane = blocks + blocks * more / 8;
            let g = &keys.geometry;
            let planes = g.channels * g.ways * g.dies_per_way * g.planes;
            let pages = planes * g.blocks_per_plane * g.pages_per_block;
            let units = pages * u64::from(of.geometry.units_per_page);
            let spare =
                (units * 1_000_000 / u64::from(of.exported_units)).saturating_sub(1_000_000);
            keys.ftl.over_provisioning_percent = Ppm::from_ppm(spare);
            if let Ok(settings) = Settings::new(keys.clone()) {
                return settings;
            }
        }
    }
    let error = Settings::new(keys).expect_err("it was refused");
    panic!("{error}");
}

/// A device with a family of firmware, where its map on flash has room for the reserve.
fn with_family(random: &mut Random, keys: &DeviceKeys) -> Settings {
    let mut own = keys.clone();
    own.firmware.family = random.pick(FirmwareFamily::ALL);
    own.gc.suspend_while_short = random.below(3) > 0;
    own.gc.preemptible = true;
    own.gc.start = GcStart::Early;
    own.nand.program_suspends = random.pick(&[0, 0, 1]);
    own.host.dispatch_width = random.pick(&[0, 0, 3]);
    Settings::new(own.clone()).unwrap_or_else(|_| {
        own.firmware.family = FirmwareFamily::None;
        own.energy = keys.energy;
        Settings::new(own)
            .or_else(|_| Settings::new(keys.clone()))
            .unwrap_or_else(|error| panic!("{error}"))
    })
}

/// Keys and the values that are drawn for them, each as likely as another.
const DRAWS: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "1", "2", "3"]),
    ("geometry.ways", &["1", "1", "2", "3"]),
    ("geometry.dies_per_way", &["1", "1", "1", "2"]),
    ("geometry.planes", &["1", "1", "2", "4"]),
    ("geometry.blocks_per_plane", &["24", "40", "80"]),
    ("geometry.pages_per_block", &["4", "8", "16", "64"]),
    ("geometry.page_bytes", &["4096", "4096", "8192", "16384"]),
    ("ftl.mapping_unit_bytes", &["0", "4096"]),
    ("ftl.stripe_order", StripeOrder::WORDS),
    ("ftl.allocation", &["static", "static", "dynamic"]),
    ("placement.handles", &["1", "1", "3"]),
    ("ftl.generations", &["0", "1", "1", "2"]),
    ("ftl.partial_write", &["ignore", "ignore", "read_modify_write", "bitmap"]),
    ("nand.bits_per_cell", &["1", "1", "2", "4"]),
    ("nand.one_shot", &["false", "true"]),
    ("nand.read_2_us", &["0", "90"]),
    ("nand.program_2_us", &["0", "1500"]),
    ("nand.spread_percent", &["0", "0", "30"]),
    ("nand.multi_plane", &["none", "same_page", "any"]),
    ("nand.cache_read", &["false", "true"]),
    ("nand.program_suspends", &["0", "0", "3"]),
    ("nand.erase_suspends", &["0", "0", "3"]),
    ("nand.unmapped_read", &["array", "zero"]),
    ("channel.ps_per_byte", &["0", "0", "2500", "100000"]),
    ("channel.command_ns", &["0", "0", "300"]),
    ("gc.copyback", &["false", "false", "true"]),
    ("map.store", &["line_cache", "line_cache", "cmt", "cmt", "resident"]),
    ("map.entries_per_line", &["1", "2", "8"]),
    ("map.entries_per_page", &["16", "64", "0"]),
    ("map.batch_update", &["true", "false"]),
    ("map.hazards", &["order", "order", "ignore"]),
    ("map.cached_entry_bytes", &["4", "8"]),
    ("map.protected_percent", &["0", "50", "80", "100"]),
    ("map.lazy_copying", &["true", "true", "false"]),
    ("map.moved_entries", MovedEntries::WORDS),
    ("map.rewrite_order", RewriteOrder::WORDS),
    ("map.unwritten_read", &["array", "zero"]),
    ("map.share_fetches", &["false", "true"]),
    ("map.fetch_bytes", &["0", "0", "512"]),
    ("map.cache_bytes", &["32", "64", "256"]),
    ("queue.depth", &["1", "2", "8", "64"]),
    ("queue.slots_scope", &["device", "die"]),
    ("queue.admission", &["request", "page", "atomic"]),
    ("queue.delayed_sets_hold_slot", &["true", "false"]),
    ("queue.data_order", &["none", "lpn"]),
    ("fot.shared_delays", &["per_request", "per_set"]),
    ("fot.transitive", &["true", "false"]),
    ("fot.span", &["sum", "longest_die"]),
    ("policy.command", DRAWN_POLICIES),
    ("host.policy", &["fifo", "idle"]),
    ("state.initial", &["fresh", "fresh", "fresh", "full", "random", "aged", "steady"]),
    ("energy.standby_mw", &["0", "3"]),
];

/// The same for devices with a write buffer, instead of what is drawn above.
const BUFFER_DRAWS: &[(&str, &[&str])] = &[
    ("map.store", &["resident", "line_cache", "cmt"]),
    ("buffer.bytes", &["0", "16384", "16384", "65536", "1000000", "1099511627776"]),
    ("buffer.acknowledge", &["buffer", "buffer", "program"]),
    ("buffer.access_ns", &["0", "41", "30000"]),
    ("buffer.ps_per_byte", &["0", "78", "10000"]),
    ("buffer.high_percent", &["30", "80", "100"]),
    ("buffer.low_percent", &["0", "30"]),
    ("buffer.flush_when_idle", &["false", "true"]),
    ("buffer.recency", &["reads_and_writes", "writes"]),
];

/// How blocks are chosen and cared for.
const CARE_DRAWS: &[(&str, &[&str])] = &[
    ("gc.policy", VictimName::WORDS),
    ("gc.d_choices.choices", &["1", "4", "100"]),
    ("gc.rga.choices", &["0", "1", "100"]),
    ("gc.timing", &["on_demand", "background"]),
    ("gc.background_free_blocks", &["1", "8", "15"]),
    ("gc.idle_us", &["0", "100", "5000"]),
    ("gc.preemptible", &["true", "false"]),
    ("gc.start", &["early", "early", "needed"]),
    ("gc.window.share_percent", &["0", "30", "100"]),
    ("gc.search_us", &["0", "0", "3"]),
    ("gc.emergency", &["false", "true"]),
    ("gc.restore", &["false", "false", "false", "true"]),
    ("gc.pacing", &["none", "none", "spare", "tokens"]),
    ("gc.copies_per_program", &["1", "4", "50"]),
    ("gc.reads_before_copy", &["0", "0", "1", "4"]),
    ("state.rested", &["false", "true"]),
    ("ftl.map_generations", &["1", "0"]),
    ("wear.dynamic", &["false", "true"]),
    ("wear.static_gap", &["0", "1", "5"]),
    ("nand.factory_bad_percent", &["0", "0", "3", "12"]),
];

/// The same for devices whose pages are chosen by schemes with log blocks.
const LOG_DRAWS: &[(&str, &[&str])] = &[
    ("ftl.scheme", PLANNING),
    ("nand.program_order", &["any", "any", "ascending"]),
    ("map.store", &["resident"]),
    ("geometry.pages_per_block", &["4", "8", "16"]),
    ("ftl.mapping_unit_bytes", &["0"]),
    ("ftl.allocation", &["static"]),
    ("placement.handles", &["1"]),
    ("nand.one_shot", &["false"]),
    ("nand.multi_plane", &["none", "none", "any"]),
    ("nand.factory_bad_percent", &["0"]),
    ("wear.dynamic", &["false"]),
    ("wear.static_gap", &["0"]),
    ("buffer.bytes", &["0"]),
    ("state.initial", &["fresh", "full", "random", "aged"]),
    ("ftl.merge_first", &["false", "false", "true"]),
    ("ftl.finish", &["false", "true"]),
    ("ftl.block.coalesce", &["false", "true"]),
    ("ftl.bast.log_blocks", &["0", "1", "3"]),
    ("ftl.bast.victim", &["lru", "fifo"]),
    ("ftl.fast.log_blocks", &["0", "2", "4"]),
    ("ftl.fast.broken_run", &["merge", "keep", "reopen"]),
    ("ftl.last.log_blocks", &["0", "3", "5"]),
    ("ftl.last.sequential_blocks", &["0", "1", "2"]),
    ("ftl.last.threshold_bytes", &["4096", "8192", "65536"]),
    ("ftl.last.hot_percent", &["0", "25", "100"]),
    ("ftl.last.hot_blocks", &["0", "0", "1"]),
    ("ftl.last.victim", &["all", "window", "drawn"]),
    ("ftl.last.window_percent", &["1", "50", "100"]),
];

/// The same for devices with a map on flash that collect only when they need to, or write map pages
/// before they erase.
const CACHED_DRAWS: &[(&str, &[&str])] = &[
    ("map.store", &["line_cache", "cmt", "cmt"]),
    ("map.lazy_copying", &["true", "false"]),
    ("map.unwritten_read", &["zero", "array"]),
    ("gc.start", &["early", "needed"]),
    ("gc.erase_after_map", &["false", "true", "true"]),
    ("gc.map_reserve", &["half", "as_data"]),
    ("gc.emergency", &["false", "true"]),
    ("gc.search_us", &["0", "3"]),
    ("gc.restore", &["false", "false", "true"]),
    ("ftl.map_generations", &["0", "1"]),
    ("ftl.finish", &["false", "true"]),
    ("buffer.bytes", &["0", "0", "16384", "65536"]),
    ("buffer.high_percent", &["30", "100"]),
    ("buffer.low_percent", &["0"]),
    ("wear.static_gap", &["0"]),
    ("geometry.pages_per_block", &["8", "16", "64"]),
];

/// What a device chooses its pages by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every device draws.
    Plain,
    /// A write buffer too.
    Buffered,
    /// A scheme with log blocks.
    LogBlocks,
    /// A map on flash.
    Cached,
}

/// A device that can be.
fn random_settings(random: &mut Random, kind: Kind) -> Settings {
    let mut draws: BTreeMap<&str, String> =
        DRAWS.iter().map(|(key, values)| (*key, random.pick(values).to_string())).collect();
    draws.extend(CARE_DRAWS.iter().map(|(key, values)| (*key, random.pick(values).to_string())));
    let own: &[_] = match kind {
        Kind::Plain => &[],
        Kind::Buffered => BUFFER_DRAWS,
        Kind::LogBlocks => LOG_DRAWS,
        Kind::Cached => CACHED_DRAWS,
    };
    draws.extend(own.iter().map(|(key, values)| (*key, random.pick(values).to_string())));
    // No steady state is known of a map on flash.
    if draws["map.store"] != "resident" && draws["state.initial"] == "steady" {
        draws.insert("state.initial", "aged".to_string());
    }
    if draws["gc.pacing"] != "none" {
        draws.insert("gc.preemptible", "true".to_string());
        draws.insert("gc.start", "early".to_string());
    }
    // A steady state would fill a buffer that is as large as the device.
    if draws.get("buffer.bytes").is_some_and(|bytes| bytes.len() > 7) {
        draws.insert("buffer.initial", "empty".to_string());
    }
    // If a block holds one program, wear levelling rewrites map pages, and these rewrites take all
    // blocks that collection frees: the run would not end.
    let bits = if draws["nand.one_shot"] == "true" { &draws["nand.bits_per_cell"] } else { "1" };
    if draws["map.store"] != "resident" && *bits == *draws["geometry.pages_per_block"] {
        draws.insert("wear.static_gap", "0".to_string());
    }
    let reserve = random.pick(&[2, 3, 4]) + if kind == Kind::Cached { 4 } else { 0 };
    let hard = reserve + random.below(3);
    draws.insert("gc.reserve_blocks", reserve.to_string());
    draws.insert("gc.hard_free_blocks", hard.to_string());
    draws.insert("gc.soft_free_blocks", (hard + random.below(4)).to_string());
    let keys: Vec<String> = draws.iter().map(|(key, value)| format!("{key}={value}")).collect();
    // The smallest spare space that the settings accept, or a little more.
    let spare = random.pick(if kind == Kind::Cached { &[15, 25] } else { &[10, 13] });
    let mut keys = self::keys(&keys);
    let mut why = String::new();
    for percent in 10..900u64 {
        keys.ftl.over_provisioning_percent = Ppm::from_ppm((percent * spare + 5) / 10 * 10_000);
        match Settings::new(keys.clone()) {
            Ok(settings) => return settings,
            Err(error) => why = error.to_string(),
        }
    }
    // Parts that do not go together are drawn again, and so are blocks that hold one program only:
    // no spare space is enough for them.
    let known = [
        "gc.copyback",
        "queue.slots_scope",
        "leave no room",
        "log blocks",
        "gc.restore: ftl.scheme",
        "no steady state",
    ];
    assert!(known.iter().any(|known| why.contains(known)), "{why}");
    random_settings(random, kind)
}

/// The device with policies, a rule for victims and, where a scheme plans, a scheme of the
/// registries and with some of the keys of all parts at other values; and what was drawn.
pub fn with_parts(random: &mut Random, settings: &Settings) -> (Settings, Vec<String>) {
    // Parts that a device cannot have are drawn again.
    loop {
        let policy = random.pick(HostPolicyName::WORDS);
        let mut drawn = vec![
            format!("policy.command={}", random.pick(DRAWN_POLICIES)),
            format!("gc.policy={}", random.pick(VictimName::WORDS)),
            format!("host.policy={policy}"),
        ];
        if settings.keys.plans() {
            drawn.push(format!("ftl.scheme={}", random.pick(PLANNING)));
        }
        let flush = starts_pages(policy).then(|| "buffer.flush_when_idle=false".to_string());
        let mut keys = settings.keys.clone();
        let mut problems = Vec::new();
        for assignment in keys_of_parts(random).iter().chain(&drawn).chain(&flush) {
            apply_setting("--set", assignment, &mut keys, &mut problems);
        }
        assert!(problems.is_empty(), "{problems:?}");
        if let Ok(settings) = Settings::new(keys) {
            return (settings, drawn);
        }
    }
}

/// The device with another power budget, time series and energies.
fn with_power(random: &mut Random, settings: &Settings) -> Settings {
    let mut keys = settings.keys.clone();
    keys.energy.controller_idle_mw = random.pick(&[0, 7]);
    keys.energy.erase_pj = random.pick(&[0, 1_000_000_007]);
    keys.energy.max_active_dies = random.pick(&[0, 0, 0, 1, 2]);
    keys.energy.budget_mw = random.pick(&[0, 0, 0, 352, 700]);
    keys.metrics.bin_ms = random.pick(&[Span::ZERO, Span::from_ms(1)]);
    Settings::new(keys).expect("no operation takes more than 352 mW")
}

/// Requests of every kind, most of them for a few units.
fn random_requests(random: &mut Random, settings: &Settings) -> Vec<Request> {
    let units = u64::from(settings.exported_units);
    let hot = 1 + random.below(units);
    let weights = [random.below(4), 1 + random.below(6), random.below(2), random.below(2)];
    let gap = random.pick(&[1, 50, 2_000, 50_000]);
    let longest = random.pick(&[1, 3, 20]);
    let mut now = 0;
    (0..150 + random.below(900))
        .map(|_| {
            if random.below(4) == 0 {
                now += random.below(gap);
            }
            let mut roll = random.below(weights.iter().sum());
            let op = RequestOp::ALL.into_iter().zip(weights).find_map(|(op, weight)| {
                let hit = roll < weight;
                roll = roll.saturating_sub(weight);
                hit.then_some(op)
            });
            let op = op.unwrap();
            let pages = 1 + random.below(longest).min(units - 1);
            let reach = if random.below(5) == 0 { units } else { hot };
            let lpn = random.below(reach).min(units - pages);
            let mut request = request(now, op, lpn, u32::try_from(pages).unwrap());
            if random.below(3) == 0 && pages > 1 && op != RequestOp::Flush {
                request.first_sector += random.below(8);
                request.sectors -= 8;
            }
            request.stream = u16::try_from(random.below(4)).unwrap();
            if op == RequestOp::Write && random.below(20) == 0 {
                request.flags = Flags::PREFLUSH;
            }
            if op == RequestOp::Write && random.below(30) == 0 {
                request.flags = request.flags.with(Flags::FUA);
            }
            if op == RequestOp::Trim && random.below(3) == 0 {
                request.flags = Flags::ZEROES;
            }
            request
        })
        .collect()
}

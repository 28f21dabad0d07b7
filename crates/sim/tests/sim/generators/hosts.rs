//! Small devices with every host policy, write buffer, map, link and queue together, and streams of
//! requests for them. Two policies pick at random among what a host policy may answer.

use crate::common::phases::{named, pacing};
use crate::common::{Random, request, starts_pages};
use flashyard_core::host::cache_read_aware::Dependencies;
use flashyard_core::host::ros::HoistOrder;
use flashyard_core::host::{HostAnswer, HostPolicy, HostPolicyName, HostView, UnderWay};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_sim::config::{DeviceKeys, InitialBuffer, Settings, apply_setting};
use flashyard_sim::own::{OwnParts, Parts};
use flashyard_sim::parts::log::PLANNING;
use flashyard_sim::stream::{Pacing, Stream};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The two policies as parts of the devices' own.
pub fn own_parts() -> OwnParts {
    Parts::new()
        .host_policy("any-request", "", |keys: AnyRequest| keys)
        .host_policy("any-page", "", |keys: AnyPage| keys)
        .share()
}

/// The device and the workload of a seed.
pub fn case(parts: &OwnParts, seed: u64) -> (Settings, Workload) {
    let mut random = Random(seed);
    let kind = match seed % 10 {
        9 => Kind::LogBlocks,
        5.. => Kind::Tight,
        _ => Kind::Any,
    };
    drawn_case(&mut random, parts, kind)
}

/// The device and the workload of a seed, with log blocks behind a write buffer.
pub fn log_case(parts: &OwnParts, seed: u64) -> (Settings, Workload) {
    drawn_case(&mut Random(seed), parts, Kind::BufferedLogs)
}

/// The same where a program holds several mapping units.
pub fn packed_case(parts: &OwnParts, seed: u64) -> (Settings, Workload) {
    drawn_case(&mut Random(seed), parts, Kind::PackedLogs)
}

fn drawn_case(random: &mut Random, parts: &OwnParts, kind: Kind) -> (Settings, Workload) {
    let settings = random_settings(random, parts, kind);
    let workload = random_workload(random, &settings);
    (settings, workload)
}

flashyard_core::keys! {
    /// A policy that starts any request.
    pub struct AnyRequest {}
}

flashyard_core::keys! {
    /// A policy that starts any page, flushes any line, or waits.
    pub struct AnyPage {}
}

/// A number that is another one for each thing that a policy sees.
fn drawn(view: &(impl HostView + ?Sized)) -> Random {
    let UnderWay { gets, puts, others } = view.under_way();
    let counts = [gets, puts, others, view.flushes(), view.free_lines()];
    let counts = counts.map(u64::from).into_iter().chain([view.waiting() as u64]);
    Random(counts.fold(view.now().as_ns(), |sum, count| sum.wrapping_mul(31).wrapping_add(count)))
}

impl HostPolicy for AnyRequest {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        match view.waiting() as u64 {
            0 => HostAnswer::Wait,
            waiting => HostAnswer::Start(usize::try_from(drawn(view).below(waiting)).unwrap()),
        }
    }
}

impl HostPolicy for AnyPage {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        let mut random = drawn(view);
        let quiet = view.under_way() == UnderWay::default() && view.flushes() == 0;
        let (roll, waiting) = (random.below(8), view.waiting() as u64);
        if waiting == 0 || (roll < 1 && !quiet) {
            return HostAnswer::Wait;
        }
        let next = |line: &_| view.next_line(*line);
        let lines = std::iter::successors(view.oldest_line(), |line| next(&line.line));
        if roll < 3
            && let Some(line) = lines.take(1 + random.pick(&[0, 3])).last()
        {
            return HostAnswer::Flush(line.line);
        }
        let place = if quiet { 0 } else { usize::try_from(random.below(waiting)).unwrap() };
        let request = view.request(place);
        let pages = u64::from(view.pages(place).max(1));
        let from = u32::try_from(random.below(pages)).unwrap();
        let first = view.next_page(place, 0);
        let page = view.next_page(place, from).filter(|_| !quiet).or(first);
        let whole = !matches!(request.op, RequestOp::Read | RequestOp::Write)
            || request.flags.has(Flags::PREFLUSH);
        match page {
            Some(page) if !whole => HostAnswer::StartPage { place, page },
            _ => HostAnswer::Start(place),
        }
    }

    fn by_pages(&self) -> bool {
        true
    }
}

/// Settings from `section.key=value` strings.
fn try_settings(own: &OwnParts, assignments: &[String]) -> Result<Settings, String> {
    let mut keys = DeviceKeys::with_own(own.clone());
    let mut problems = Vec::new();
    for assignment in assignments {
        apply_setting("--set", assignment, &mut keys, &mut problems);
    }
    assert!(problems.is_empty(), "{problems:?}");
    Settings::new(keys).map_err(|error| error.to_string())
}

/// Keys and the values that are drawn for them, each as likely as another.
type Draws = &'static [(&'static str, &'static [&'static str])];

const FLASH: Draws = &[
    ("geometry.channels", &["1", "1", "2"]),
    ("geometry.ways", &["1", "1", "2", "3"]),
    ("geometry.planes", &["1", "1", "2"]),
    ("geometry.blocks_per_plane", &["32", "64"]),
    ("geometry.pages_per_block", &["12", "24"]),
    ("geometry.page_bytes", &["4096", "4096", "8192", "16384"]),
    ("ftl.mapping_unit_bytes", &["0", "4096"]),
    ("ftl.allocation", &["static", "static", "dynamic"]),
    ("placement.handles", &["1", "1", "2"]),
    ("ftl.partial_write", &["ignore", "read_modify_write", "bitmap"]),
    ("ftl.finish", &["false", "false", "true"]),
    ("nand.bits_per_cell", &["1", "1", "2", "3"]),
    ("nand.one_shot", &["false", "true"]),
    ("nand.multi_plane", &["none", "same_page", "any"]),
    ("nand.cache_read", &["false", "true"]),
    ("nand.program_suspends", &["0", "0", "3"]),
    ("nand.erase_suspends", &["0", "0", "3"]),
    ("nand.unmapped_read", &["array", "zero"]),
    ("channel.ps_per_byte", &["0", "2500"]),
    ("gc.preemptible", &["true", "false"]),
    ("gc.timing", &["on_demand", "background"]),
    ("gc.background_free_blocks", &["10", "15"]),
    ("state.initial", &["fresh", "full", "full", "random", "aged", "steady"]),
    ("policy.command", &["drs", "rcf", "fifo", "fot", "rrf"]),
];

/// How blocks are chosen and cared for, and what power there is.
const CARE: Draws = &[
    ("gc.policy", &["greedy", "greedy", "fifo", "random", "cost_benefit"]),
    ("gc.start", &["early", "early", "needed"]),
    ("gc.search_us", &["0", "0", "3"]),
    ("gc.restore", &["false", "false", "true"]),
    ("gc.pacing", &["none", "none", "spare", "tokens"]),
    ("gc.reads_before_copy", &["0", "2"]),
    ("state.rested", &["false", "true"]),
    ("gc.idle_us", &["0", "100"]),
    ("gc.erase_after_map", &["false", "false", "true"]),
    ("gc.map_reserve", &["half", "half", "as_data"]),
    ("ftl.map_generations", &["1", "0"]),
    ("ftl.generations", &["0", "1"]),
    ("wear.dynamic", &["false", "true"]),
    ("nand.factory_bad_percent", &["0", "0", "3"]),
    ("nand.read_2_us", &["0", "90"]),
    ("nand.spread_percent", &["0", "0", "30"]),
    ("energy.max_active_dies", &["0", "0", "1", "2"]),
    ("metrics.bin_ms", &["0", "1"]),
    ("metrics.skip_requests", &["0", "50"]),
];

const MAP: Draws = &[
    ("map.store", &["resident", "line_cache", "cmt"]),
    ("map.entries_per_line", &["1", "2", "8"]),
    ("map.entries_per_page", &["16", "64"]),
    ("map.batch_update", &["true", "false"]),
    ("map.hazards", &["order", "order", "ignore"]),
    ("map.cached_entry_bytes", &["8"]),
    ("map.protected_percent", &["0", "50", "100"]),
    ("map.share_fetches", &["false", "true"]),
    ("map.unwritten_read", &["array", "zero"]),
    ("map.moved_entries", &["dirty", "join", "join_cached"]),
    // From a single line or entry to more than the map has.
    ("map.cache_bytes", &["64", "64", "256", "1000000"]),
];

const BUFFER: Draws = &[
    ("buffer.bytes", &["0", "4096", "8192", "16384", "65536", "262144", "1000000000"]),
    ("buffer.volatile", &["true", "true", "false"]),
    ("buffer.acknowledge", &["buffer", "buffer", "program"]),
    ("buffer.access_ns", &["0", "41", "30000"]),
    ("buffer.ps_per_byte", &["0", "78"]),
    ("buffer.read_ns", &["0", "15000"]),
    ("buffer.write_ns", &["0", "100000"]),
    ("buffer.high_percent", &["30", "100"]),
    ("buffer.low_percent", &["0", "30"]),
    ("buffer.flush_when_idle", &["false", "true"]),
    ("buffer.recency", &["reads_and_writes", "writes"]),
    ("buffer.ports", &["shared", "read_and_write"]),
    ("buffer.banks", &["1", "2", "4", "100"]),
    ("buffer.eviction", &["watermark", "full", "ahead", "at_once"]),
    ("buffer.flush_width", &["0", "0", "1", "3"]),
    ("buffer.flush_reads", &["false", "true"]),
    ("buffer.after_flush", &["clean", "free"]),
    ("buffer.read_allocate", &["never", "clean", "displace"]),
    ("buffer.replacement", &["lru", "fifo", "clock"]),
    ("buffer.initial", &["empty", "dirty"]),
];

const HOST: Draws = &[
    ("host.dispatch_width", &["0", "0", "1", "3"]),
    ("host.dispatch_ns", &["0", "0", "700", "20000"]),
    ("host.idle.window", &["1", "4", "32"]),
    ("host.idle.strict", &["false", "true"]),
    ("host.idle.ignores_buffer", &["false", "true"]),
    ("host.idle.skip_conflicts", &["false", "true"]),
    ("host.ris.overlap_flushes", &["false", "true"]),
    ("host.ris.overlap_reads", &["false", "true"]),
    ("host.ris.overlap_programs", &["false", "true"]),
    ("host.ros.overlap_flushes", &["true", "false"]),
    ("host.ros.overlap_reads", &["true", "false"]),
    ("host.ros.overlap_programs", &["true", "false"]),
    ("host.ros.window", &["1", "4", "32"]),
    ("host.ros.hoist", &["true", "true", "false"]),
    ("host.ros.early_flush", &["true", "true", "false"]),
    ("host.ros.hoist_order", HoistOrder::WORDS),
    ("host.ros.pairing", &["false", "true"]),
    ("host.ros.watermark_lines", &["0", "0", "1", "8"]),
    ("host.cache-read-aware.window", &["1", "4", "32"]),
    ("host.cache-read-aware.dependencies", Dependencies::WORDS),
    ("host.cache-read-aware.hit_first", &["true", "true", "false"]),
    ("host.cache-read-aware.read_first", &["true", "true", "false"]),
    ("host.cache-read-aware.age_us", &["0", "0", "500"]),
    ("interface.fetch_depth", &["0", "0", "1", "4", "32"]),
    ("interface.queue_depth", &["0", "0", "1", "8"]),
    ("interface.arbitration", &["round_robin", "weighted"]),
    ("interface.link_ps_per_byte", &["0", "0", "2500"]),
    ("interface.link_latency_ns", &["0", "0", "2000"]),
    ("interface.transfer", &["request", "page", "part"]),
    ("interface.duplex", &["full", "half"]),
    ("queue.depth", &["1", "1", "2", "8", "64"]),
    ("queue.slots_scope", &["device", "die"]),
    ("queue.admission", &["request", "page", "atomic"]),
    ("queue.delayed_sets_hold_slot", &["true", "false"]),
    ("queue.data_order", &["none", "lpn"]),
];

/// Schemes with log blocks, instead of what is drawn above.
const LOG_BLOCKS: Draws = &[
    ("ftl.scheme", PLANNING),
    ("ftl.mapping_unit_bytes", &["0"]),
    ("ftl.allocation", &["static"]),
    ("placement.handles", &["1"]),
    ("ftl.merge_first", &["false", "true"]),
    ("nand.one_shot", &["false"]),
    ("nand.multi_plane", &["none", "any"]),
    ("nand.factory_bad_percent", &["0"]),
    ("wear.dynamic", &["false"]),
    ("gc.erase_after_map", &["false"]),
    ("gc.map_reserve", &["half"]),
    ("nand.program_order", &["any"]),
    ("map.store", &["resident"]),
    ("buffer.bytes", &["0"]),
    ("state.initial", &["fresh", "full", "random", "aged"]),
];

/// The same behind a write buffer.
const BUFFERED_LOGS: Draws = &[
    ("ftl.scheme", PLANNING),
    ("ftl.mapping_unit_bytes", &["0"]),
    ("ftl.allocation", &["static"]),
    ("placement.handles", &["1"]),
    ("ftl.merge_first", &["false", "false", "true"]),
    ("ftl.block.coalesce", &["false", "true"]),
    ("ftl.bast.log_blocks", &["0", "1", "3"]),
    ("ftl.bast.victim", &["lru", "fifo"]),
    ("ftl.fast.log_blocks", &["0", "2", "4"]),
    ("ftl.fast.broken_run", &["merge", "keep", "reopen"]),
    ("ftl.last.log_blocks", &["0", "3", "5"]),
    ("ftl.last.threshold_bytes", &["4096", "16384", "65536"]),
    ("ftl.last.victim", &["all", "window", "drawn"]),
    ("geometry.pages_per_block", &["6", "12", "24"]),
    ("geometry.blocks_per_plane", &["24", "40"]),
    ("nand.one_shot", &["false"]),
    ("nand.multi_plane", &["none", "any"]),
    ("nand.factory_bad_percent", &["0"]),
    ("nand.program_order", &["any", "any", "ascending"]),
    ("wear.dynamic", &["false"]),
    ("gc.erase_after_map", &["false"]),
    ("gc.map_reserve", &["half"]),
    ("gc.restore", &["false"]),
    ("map.store", &["resident"]),
    ("buffer.bytes", &["0", "16384", "16384", "65536", "262144", "1000000000"]),
    ("buffer.flush_width", &["0", "0", "1", "8"]),
    ("gc.background_period_us", &["0", "0", "500", "20000"]),
    ("gc.background_blocks", &["1", "5"]),
    ("gc.background_log_blocks", &["0", "1"]),
    ("ftl.fast.sequential_log", &["true", "true", "false"]),
    ("state.initial", &["fresh", "full", "random", "aged"]),
];

/// What is other where a program holds several mapping units.
const PACKED_LOGS: Draws = &[
    ("ftl.scheme", &["bast", "fast", "last"]),
    ("ftl.mapping_unit_bytes", &["4096"]),
    ("geometry.page_bytes", &["8192", "16384"]),
    ("nand.one_shot", &["false", "true"]),
    ("buffer.bytes", &["16384", "65536", "65536", "262144", "1000000000"]),
];

/// As little of everything as can be, instead of what is drawn above.
const TIGHT: Draws = &[
    ("ftl.mapping_unit_bytes", &["4096"]),
    ("map.store", &["line_cache", "cmt"]),
    ("map.entries_per_line", &["1", "2"]),
    ("map.entries_per_page", &["16"]),
    ("map.cache_bytes", &["8", "16", "24", "64"]),
    ("buffer.bytes", &["4096", "4096", "8192", "12288", "32768"]),
    ("interface.fetch_depth", &["0", "2", "32"]),
    ("queue.depth", &["1", "1", "2", "3"]),
    ("queue.data_order", &["none", "lpn", "lpn"]),
];

/// What is special about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What every device draws.
    Any,
    /// As little of everything as can be.
    Tight,
    /// A scheme with log blocks.
    LogBlocks,
    /// The same behind a write buffer.
    BufferedLogs,
    /// The same where a program holds several mapping units.
    PackedLogs,
}

/// A device that can be.
fn random_settings(random: &mut Random, parts: &OwnParts, kind: Kind) -> Settings {
    let (own, other): (Draws, Draws) = match kind {
        Kind::Any => (&[], &[]),
        Kind::Tight => (TIGHT, &[]),
        Kind::LogBlocks => (LOG_BLOCKS, &[]),
        Kind::BufferedLogs => (BUFFERED_LOGS, &[]),
        Kind::PackedLogs => (BUFFERED_LOGS, PACKED_LOGS),
    };
    let lists = [FLASH, CARE, MAP, BUFFER, HOST, own, other];
    let draws = lists.into_iter().flatten();
    let mut draws: BTreeMap<&str, String> =
        draws.map(|(key, values)| (*key, random.pick(values).to_string())).collect();
    let built_in = HostPolicyName::WORDS.iter();
    let policies: Vec<_> = built_in.chain(&["any-request", "any-page"]).copied().collect();
    let policy = random.pick(&policies);
    draws.insert("host.policy", policy.to_string());
    if starts_pages(policy) || policy == "any-page" {
        draws.insert("host.dispatch_width", "0".to_string());
        draws.insert("host.dispatch_ns", "0".to_string());
        draws.insert("buffer.eviction", random.pick(&["watermark", "full"]).to_string());
        draws.insert("buffer.flush_when_idle", "false".to_string());
    }
    let idle_ms = if draws["buffer.flush_when_idle"] == "true" { random.below(3) } else { 0 };
    draws.insert("buffer.idle_ms", idle_ms.to_string());
    if draws["map.store"] != "resident" && draws["state.initial"] == "steady" {
        draws.insert("state.initial", "aged".to_string());
    }
    if draws["gc.pacing"] != "none" {
        draws.insert("gc.preemptible", "true".to_string());
        draws.insert("gc.start", "early".to_string());
    }
    let reserve = random.pick(&[6, 8]);
    draws.insert("gc.reserve_blocks", reserve.to_string());
    draws.insert("gc.hard_free_blocks", reserve.to_string());
    draws.insert("gc.soft_free_blocks", (reserve + random.below(3)).to_string());
    let keys: Vec<String> = draws.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let spare = random.pick(&[10, 15]);
    let mut why = String::new();
    for percent in 2..90 {
        let mut keys = keys.clone();
        keys.push(format!("ftl.over_provisioning_percent={}", percent * spare));
        match try_settings(parts, &keys) {
            Ok(settings) => return settings,
            Err(error) => why = error,
        }
    }
    let known = [
        "queue.slots_scope",
        "leave no room",
        "log blocks",
        "gc.restore: ftl.scheme",
        "no steady state",
        "no room",
        "smaller than a mapping unit",
    ];
    assert!(known.iter().any(|known| why.contains(known)), "{why}");
    random_settings(random, parts, kind)
}

/// Requests of every kind, many of them for the same few units.
fn random_requests(random: &mut Random, settings: &Settings, count: u64) -> Vec<Request> {
    let sectors = settings.capacity_sectors();
    let hot = random.pick(&[64, 400, sectors]);
    let longest = random.pick(&[8, 40, 200]).min(sectors / 2);
    let gap = random.pick(&[1, 50, 2_000, 20_000]);
    let barriers = random.pick(&[20, 200]);
    let reads = random.pick(&[1, 5, 9]);
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += if random.below(3) == 0 { random.below(gap) } else { 0 };
            let op = match random.below(barriers) {
                0 => RequestOp::Flush,
                1 => RequestOp::Trim,
                _ if random.below(10) < reads => RequestOp::Read,
                _ => RequestOp::Write,
            };
            let mut request = request(now, op, 0, 1);
            let count = 1 + random.below(longest);
            request.sectors = u32::try_from(count).unwrap();
            request.first_sector = random.below(hot).min(sectors - count);
            if random.below(2) == 0 && count >= 8 {
                request.first_sector = request.first_sector / 8 * 8;
                request.sectors = request.sectors / 8 * 8;
            }
            if op == RequestOp::Flush {
                (request.first_sector, request.sectors) = (0, 0);
            }
            request.stream = u16::try_from(random.below(3)).unwrap();
            request.flags = match (op, random.below(barriers)) {
                (RequestOp::Write, 0..2) => Flags::FUA,
                (RequestOp::Write, 2..4) => Flags::PREFLUSH,
                (RequestOp::Write, 4) => Flags::FUA.with(Flags::PREFLUSH),
                (RequestOp::Trim, 0..100) if random.below(3) == 0 => Flags::ZEROES,
                _ => Flags::NONE,
            };
            request
        })
        .collect()
}

/// What is asked of a device: streams of requests, and units that the buffer holds at first.
pub struct Workload {
    /// Pacing, depth and requests of each stream.
    pub streams: Vec<(Pacing, u64, Vec<Request>)>,
    /// Number, bank where it is named, and whether it is dirty.
    pub units: Vec<(u64, Option<u32>, bool)>,
}

impl Workload {
    /// The streams, from their start.
    pub fn streams(&self) -> Vec<Stream<'_, Infallible>> {
        let streams = self.streams.iter();
        streams.map(|(pace, depth, requests)| named("s", pacing(*pace, *depth), requests)).collect()
    }
}

/// One or two streams, and a buffer that is empty or not.
fn random_workload(random: &mut Random, settings: &Settings) -> Workload {
    let count = 100 + random.below(400);
    let lanes = random.pick(&[1, 1, 2]);
    let pacings = [Pacing::Open, Pacing::Open, Pacing::Closed, Pacing::Think, Pacing::Fast];
    let streams = (0..lanes)
        .map(|_| {
            let depth = random.pick(&[1, 3, 40]);
            (random.pick(&pacings), depth, random_requests(random, settings, count / lanes))
        })
        .collect();
    let full = settings.keys.buffer.initial == InitialBuffer::Dirty;
    let room = if full || random.below(2) == 0 { 0 } else { settings.buffer_units.min(20) };
    let first = random.below(50);
    let bank = |random: &mut Random| {
        (random.below(2) == 0)
            .then(|| u32::try_from(random.below(settings.keys.buffer.banks)).unwrap())
    };
    let units = (0..u64::from(room).min(random.below(21)))
        .map(|number| (first + number, bank(random), random.below(2) == 0))
        .collect();
    Workload { streams, units }
}

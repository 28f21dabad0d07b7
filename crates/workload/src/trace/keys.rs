//! The keys of `[trace]`.

use crate::format::Event;
use flashyard_core::key::Kind;
use flashyard_core::quantity::{Bytes, Micro};
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// What happens to a row that cannot be read.
    pub enum BadRows {
        /// It is an error.
        Error = "error",
        /// It is left out and counted.
        Skip = "skip",
    }
}

choice! {
    /// What happens where time steps back from one row to the next.
    pub enum TimeOrder {
        /// It is an error.
        Error = "error",
        /// The rows are sorted by time.
        Sort = "sort",
        /// Runs of the clock follow one another; within each the rows are sorted.
        JoinEpochs = "join_epochs",
    }
}

choice! {
    /// What happens to requests behind the end of the device.
    pub enum Fold {
        /// They are an error.
        Error = "error",
        /// They are moved to the start sector modulo the capacity, and counted.
        Modulo = "modulo",
        /// They are mirrored at the end of the device, and counted.
        Mirror = "mirror",
        /// Chunks of the address space are numbered in the order of their first use.
        Renumber = "renumber",
    }
}

choice! {
    /// What becomes of equal addresses on several devices of a trace.
    pub enum Devices {
        /// They are one.
        Overlap = "overlap",
        /// They are kept apart.
        Apart = "apart",
    }
}

choice! {
    /// What becomes of a sector behind a multiple of 4 KiB.
    pub enum HeaderSectors {
        /// It stays.
        Keep = "keep",
        /// It is dropped.
        Drop = "drop",
    }
}

choice! {
    /// What happens where an object has no room on the device.
    pub enum ObjectFull {
        /// It is an error.
        Error = "error",
        /// The objects whose last put is the longest ago make room.
        EvictOldest = "evict_oldest",
    }
}

choice! {
    /// Which requests are used, by what they ask for.
    pub enum KeepOps {
        /// All.
        All = "all",
        /// Reads.
        Reads = "reads",
        /// Writes.
        Writes = "writes",
        /// Reads and writes.
        ReadsAndWrites = "reads_and_writes",
        /// Trims.
        Trims = "trims",
        /// Flushes.
        Flushes = "flushes",
    }
}

/// What [`KEY_TRACE`] needs beside the key under test, with sorted rows and with joined epochs.
const SORTED: &[&str] = &["trace.time_order=sort", "trace.fold=modulo"];
const UNFINISHED: &[&str] = &["trace.time_order=sort", "trace.fold=modulo", "trace.event=complete"];
const JOINED: &[&str] = &["trace.time_order=join_epochs", "trace.fold=modulo"];
const RENUMBERED: &[&str] = &["trace.time_order=sort", "trace.fold=renumber"];
/// A device of 32 GiB has room for one such chunk.
const LARGE_CHUNKS: &[&str] =
    &["trace.time_order=sort", "trace.fold=renumber", "trace.chunk_kib=20971520"];

/// The most KiB of a request.
const REQUEST_KIB: u64 = 1 << 31;

/// A hundred years in nanoseconds.
const CENTURY_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

keys! {
    /// Keys of `[trace]`. Requests pass the transforms in the order of the keys.
    pub struct TraceKeys {
        /// Lines at the start of the file that are skipped.
        skip_lines: u64 = 0 => {
            kind: Kind::count("lines", 0, 1_000_000_000),
            source: "0: formats know their own headers",
            flip: "1",
            with: SORTED,
        },
        /// What to do with a row that cannot be read. `error` ends the command. `skip` leaves the
        /// row out and counts it, and the first such row is shown.
        bad_rows: BadRows = BadRows::Error => {
            kind: Kind::Choice(BadRows::WORDS),
            source: "assumed: a lost row changes results, so the user asks for it",
            flip: "skip",
            with: UNFINISHED,
        },
        /// Which event of a request is its arrival, if the format records several.
        event: Event = Event::Queue => {
            kind: Kind::Choice(Event::WORDS),
            source: "assumed: the event that no device under study has delayed",
            flip: "dequeue",
            with: SORTED,
        },
        /// What to do where an object of a `kv` trace has no room on the device. `error` ends the
        /// command. `evict_oldest` deletes the objects whose last put is the longest ago until
        /// there is room; a get or delete of an object that is not there then asks nothing of the
        /// device.
        object_full: ObjectFull = ObjectFull::Error => {
            kind: Kind::Choice(ObjectFull::WORDS),
            source: "assumed: evictions that the store did not make change results, so the user \
                     asks for them",
            flip: "evict_oldest",
            with: &["trace.keep_ops=reads"],
        },
        /// Objects of a `kv` trace take room in multiples of this, at multiples of this.
        object_align_kib: u64 = 4 => {
            kind: Kind::count("KiB", 1, 1 << 20),
            source: "assumed: the block of most file systems",
            flip: "1",
            with: &[],
        },
        /// Which requests are used, by what they ask for.
        keep_ops: KeepOps = KeepOps::All => {
            kind: Kind::Choice(KeepOps::WORDS),
            source: "all: a lost request changes results, so the user asks for it",
            flip: "reads",
            with: SORTED,
        },
        /// Requests of streams below this number are left out.
        first_stream: u64 = 0 => {
            kind: Kind::count("number", 0, 65_535),
            source: "0 keeps all streams",
            flip: "1",
            with: SORTED,
        },
        /// Requests of streams above this number are left out.
        last_stream: u64 = 65_535 => {
            kind: Kind::count("number", 0, 65_535),
            source: "65535 keeps all streams",
            flip: "0",
            with: SORTED,
        },
        /// Shorter requests are left out, except flushes.
        min_kib: Bytes = Bytes::ZERO => {
            kind: Kind::Number { unit: "KiB", scale: 1_024, min: 0, max: REQUEST_KIB * 1_024 },
            source: "0 keeps all sizes",
            flip: "4.5",
            with: SORTED,
        },
        /// Longer requests are left out, except flushes; 0 keeps all.
        max_kib: Bytes = Bytes::ZERO => {
            kind: Kind::Number { unit: "KiB", scale: 1_024, min: 0, max: REQUEST_KIB * 1_024 },
            source: "0 keeps all sizes",
            flip: "4",
            with: SORTED,
        },
        /// Requests that start before this sector are left out, except flushes.
        from_sector: u64 = 0 => {
            kind: Kind::count("sectors", 0, u64::MAX),
            source: "0 keeps all addresses",
            flip: "64",
            with: SORTED,
        },
        /// Requests that start at or behind this sector are left out, except flushes. A request
        /// that starts before it and ends behind it is kept whole. 0 keeps all.
        to_sector: u64 = 0 => {
            kind: Kind::count("sectors", 0, u64::MAX),
            source: "0 keeps all addresses",
            flip: "90",
            with: SORTED,
        },
        /// What to do when a row is earlier than the row before it. `error` ends the command.
        /// `sort` sorts the rows within `sort_window` and keeps the order of equal times.
        /// `join_epochs` is for a clock that was set during the recording: it moves each run of the
        /// clock behind the run that appeared before it, and then sorts the rows. It reads the file
        /// twice.
        time_order: TimeOrder = TimeOrder::Error => {
            kind: Kind::Choice(TimeOrder::WORDS),
            source: "assumed: a trace is in order unless its user says otherwise",
            flip: "join_epochs",
            with: SORTED,
        },
        /// How many requests are held back to sort them by time. A request that comes later than
        /// that ends the command with an error that says which window would do.
        sort_window: u64 = 4_096 => {
            kind: Kind::count("requests", 1, 1 << 24),
            source: "assumed; the Nexus 5 traces need at most 169",
            flip: "1",
            with: SORTED,
        },
        /// A time that is further than this from every time of a run of the clock belongs to
        /// another run.
        epoch_jump_s: Span = Span::from_ms(3_600_000) => {
            kind: Kind::Number { unit: "s", scale: 1_000_000_000, min: 1, max: CENTURY_NS },
            source: "assumed: longer than the pauses inside the traces, shorter than a clock step",
            flip: "1000000000",
            with: JOINED,
        },
        /// Time between the last request of a run of the clock and the first of the next.
        epoch_gap_ms: Span = Span::from_ms(1) => {
            kind: Kind::millis(0, CENTURY_NS),
            source: "assumed: a pause too short to let a queue drain",
            flip: "7",
            with: JOINED,
        },
        /// The tick of the clock that recorded the times. The requests of one tick are spread
        /// evenly over it, in their order, the first at its start. 0 takes the tick that the format
        /// is known to have (`tencent`: a second) and leaves the times of other formats alone.
        /// 0.001, a nanosecond, leaves all times alone.
        tick_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 3_600_000_000_000),
            source: "assumed: evenly spread, since nothing is known of the time inside a tick; all \
                     at its start would be a burst that was not there",
            flip: "1000000",
            with: SORTED,
        },
        /// Requests less than this much later than the first request are left out.
        start_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, CENTURY_NS),
            source: "0 starts with the first request",
            flip: "1.3",
            with: SORTED,
        },
        /// Requests this much or more later than the first request are left out. 0 keeps all.
        end_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, CENTURY_NS),
            source: "0 goes on to the last request",
            flip: "2",
            with: SORTED,
        },
        /// How many of the requests that are left are passed over.
        first_request: u64 = 0 => {
            kind: Kind::count("requests", 0, u64::MAX),
            source: "0 starts with the first request",
            flip: "1",
            with: SORTED,
        },
        /// How many requests are used, after all that was left out; 0 is all.
        request_limit: u64 = 0 => {
            kind: Kind::count("requests", 0, u64::MAX),
            source: "0 goes on to the last request",
            flip: "3",
            with: SORTED,
        },
        /// How many times the requests that are left run. Each repetition begins at the time of the
        /// last request of the one before. It reads the file as many times.
        repeat: u64 = 1 => {
            kind: Kind::count("times", 1, 1_000_000_000),
            source: "1: as recorded; MQSim has Relay_Count for it (Tavakkol et al., FAST 2018)",
            flip: "2",
            with: SORTED,
        },
        /// `drop`: a read or write of 8n + 1 sectors, with n at least 1, loses its last sector. In
        /// `biotracer` traces such a size counts the header sector of a packed write.
        header_sectors: HeaderSectors = HeaderSectors::Keep => {
            kind: Kind::Choice(HeaderSectors::WORDS),
            source: "keep: a changed size changes results, so the user asks for it",
            flip: "drop",
            with: SORTED,
        },
        /// Reads and writes are widened to multiples of this; 0 leaves them alone.
        align_kib: u64 = 0 => {
            kind: Kind::count("KiB", 0, 1 << 20),
            source: "0 leaves the recorded addresses alone",
            flip: "16",
            with: SORTED,
        },
        /// What to do with requests behind the end of the device: `error`; `modulo`: the start
        /// sector modulo the capacity, moved down where the request would still cross the end;
        /// `mirror`: to and fro over the device, and against an end that the request would cross;
        /// `renumber`: chunks of `chunk_kib` are numbered in the order of first use, wherever they
        /// lie.
        fold: Fold = Fold::Error => {
            kind: Kind::Choice(Fold::WORDS),
            source: "assumed: folding changes locality, so the user asks for it",
            flip: "modulo",
            with: &["trace.time_order=sort"],
        },
        /// How several devices of a trace (its streams) share the one device. `overlap`: equal
        /// addresses are one address. `apart`: with `fold = "renumber"` chunks of different devices
        /// are different chunks; with `modulo` device n of the trace starts at n times 0.618 of the
        /// capacity, modulo the capacity. These 0.618 are rounded down to whole MiB, on a device
        /// below 2 MiB to whole 4 KiB. The other folds refuse `apart`.
        devices: Devices = Devices::Overlap => {
            kind: Kind::Choice(Devices::WORDS),
            source: "overlap leaves the recorded addresses alone; 0.618 (golden section): no small \
                     multiple comes near to a whole number",
            flip: "apart",
            with: SORTED,
        },
        /// Size of the chunks that `fold = "renumber"` numbers: addresses inside a chunk stay
        /// neighbours.
        chunk_kib: u64 = 128 => {
            kind: Kind::count("KiB", 4, 1 << 30),
            source: "assumed: the largest request of most hosts",
            flip: "4",
            with: RENUMBERED,
        },
        /// Whether chunks beyond the capacity share the places of the first chunks: their number
        /// modulo the chunks of the device. Otherwise they are an error, which says how much space
        /// they need.
        renumber_wrap: bool = false => {
            kind: Kind::Bool,
            source: "assumed: sharing changes what is overwritten, so the user asks for it",
            flip: "true",
            with: LARGE_CHUNKS,
        },
        /// Factor on all times relative to the first request; rounded down to nanoseconds.
        time_scale: Micro = Micro::from_millionths(1_000_000) => {
            kind: Kind::Number { unit: "x", scale: 1_000_000, min: 1, max: 1_000_000_000_000 },
            source: "1 leaves the recorded times alone",
            flip: "0.5",
            with: SORTED,
        },
        /// Scales the whole trace so that this time passes from the first request to the last, each
        /// time that it is repeated. 0 leaves it alone. It reads the file twice.
        duration_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, CENTURY_NS),
            source: "0 leaves the recorded times alone",
            flip: "40",
            with: SORTED,
        },
        /// Times relative to the first request are rounded down to multiples of this; 0 keeps
        /// nanoseconds.
        time_quantum_us: Span = Span::ZERO => {
            kind: Kind::micros(0, CENTURY_NS),
            source: "0 leaves the recorded times alone",
            flip: "1000",
            with: SORTED,
        },
        /// Whether the first request arrives at time 0; otherwise at its recorded time.
        rebase: bool = true => {
            kind: Kind::Bool,
            source: "assumed: a run starts with its first request",
            flip: "false",
            with: SORTED,
        },
        /// With `rebase = false`: the time on the clock of the trace that becomes time 0 of the
        /// run. Several traces of one clock, such as Windows file times, then keep their distances.
        /// No request may be earlier.
        origin_s: Span = Span::ZERO => {
            kind: Kind::Number { unit: "s", scale: 1_000_000_000, min: 0, max: u64::MAX },
            source: "0 leaves the recorded times alone",
            flip: "1",
            with: &["trace.time_order=sort", "trace.fold=modulo", "trace.rebase=false"],
        },
    }
}

/// A small trace on which the flip of this key shows.
pub fn key_trace(key: &str) -> &'static str {
    match key {
        "last_stream" | "devices" => STREAMS_TRACE,
        "header_sectors" => HEADER_TRACE,
        "object_full" => FULL_TRACE,
        "object_align_kib" => OBJECTS_TRACE,
        _ => KEY_TRACE,
    }
}

/// Requests of two streams (format `spc`).
const STREAMS_TRACE: &str = "0,8,4096,R,0.1\n1,800,4096,W,0.2\n";

/// Objects of 20 GiB, of which a device of 32 GiB has room for one (format `kv`).
const FULL_TRACE: &str = "time,op,key,bytes\n0.1,put,a,21474836480\n0.2,put,b,21474836480\n\
                          0.3,put,c,4096\n0.4,get,c,4096\n";

/// Objects of less than a page (format `kv`).
const OBJECTS_TRACE: &str = "time,op,key,bytes\n0.1,put,a,1024\n0.2,put,b,1024\n\
                             0.3,get,a,1024\n0.4,get,b,1024\n";

/// A write of 8 sectors and one more (format `spc`).
const HEADER_TRACE: &str = "0,8,4608,W,0.1\n0,800,4096,W,0.2\n";

/// A small trace (format `biotracer`) on which nearly every key of [`TraceKeys`] shows: its rows
/// stand out of order, its clock is set once, one row has no finish time, and the last lies behind
/// the end of any device.
pub const KEY_TRACE: &str = "\
0\t8\t4096\t1\t5.000000000\t5.000300000\t5.0004\t5.001\n\
96\t16\t8192\t0\t5.002000000\t5.002100000\t5.0022\t5.0040\n\
8\t8\t4096\t0\t5.001500500\t5.001600000\t5.0017\t5.0022\n\
64\t16\t8192\t1\t5.001200000\t5.001700000\t5.0018\t-\n\
80\t16\t8192\t1\t5.001300000\t5.001800000\t5.0019\t5.0031\n\
800\t8\t4096\t1\t86405.000000700\t86405.000100000\t86405.0004\t86405.001\n\
1000000000008\t8\t4096\t0\t86405.010000000\t86405.012000000\t86405.0121\t86405.013\n";

/// What is known about a trace beside its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Its format: a name, a descriptor file that ends in `.toml`, or a descriptor of one line,
    /// which has a colon; detected where there is none.
    pub format: Option<String>,
    /// The name of the column whose values are the streams; the format's own choice where there is
    /// none.
    pub split: Option<String>,
    /// The sectors of the device; unlimited where there is none.
    pub capacity_sectors: Option<u64>,
}

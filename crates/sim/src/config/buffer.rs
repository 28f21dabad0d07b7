//! The section `[buffer]`: DRAM or PRAM between the host queue and the translation layer.

use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// When a write is answered.
    pub enum Acknowledge {
        /// When it is in the buffer. If the buffer is volatile, a write with FUA is answered when
        /// its program is over.
        Buffer = "buffer",
        /// When its program is over; the program begins at once.
        Program = "program",
    }
}

choice! {
    /// What makes a unit the most recently used one.
    pub enum Recency {
        /// Reads and writes that find the unit.
        ReadsAndWrites = "reads_and_writes",
        /// Only writes.
        Writes = "writes",
    }
}

choice! {
    /// Which lines are flushed first, and which clean lines are replaced first.
    pub enum Replacement {
        /// The least recently used lines.
        Lru = "lru",
        /// The lines that became dirty (or clean) first, whatever was used since.
        Fifo = "fifo",
        /// As `fifo`, but a line that was used meanwhile goes to the end once.
        Clock = "clock",
    }
}

choice! {
    /// The ports of the buffer.
    pub enum PortKind {
        /// One port that carries one unit at a time.
        Shared = "shared",
        /// One port for gets and one for puts. Both work at once in different banks.
        ReadAndWrite = "read_and_write",
    }
}

choice! {
    /// When dirty units are flushed that no request asks for.
    pub enum Eviction {
        /// Flushing begins when `high_percent` of the lines are dirty and ends at `low_percent`.
        /// With a host policy that starts pages it acts like `full`.
        Watermark = "watermark",
        /// When a write needs a line and none is free. A host policy that starts pages may flush
        /// earlier.
        Full = "full",
        /// When the waiting writes will need more lines than are free or being flushed.
        Ahead = "ahead",
        /// As soon as a unit has been put.
        AtOnce = "at_once",
    }
}

choice! {
    /// Which lines a unit takes that was read from flash.
    pub enum ReadAllocate {
        /// None: the unit is not kept.
        Never = "never",
        /// A free or clean line.
        Clean = "clean",
        /// A free line, or else the line that is replaced first. If that line is dirty, it is
        /// flushed before.
        Displace = "displace",
    }
}

choice! {
    /// What becomes of a line whose contents are on flash.
    pub enum AfterFlush {
        /// The unit stays, clean, until its line is needed.
        Clean = "clean",
        /// The line is free.
        Free = "free",
    }
}

choice! {
    /// What the buffer of a new device holds.
    pub enum InitialBuffer {
        /// As `state.initial` says: with `steady`, random dirty units in all lines, or with
        /// `state.rested` in `high_percent` of them; otherwise the buffer holds nothing.
        Auto = "auto",
        /// Nothing.
        Empty = "empty",
        /// A dirty unit in every line. These are the last units of the device, in ascending order.
        Dirty = "dirty",
    }
}

/// What a key of reading ahead needs to change anything.
const READS_AHEAD: &[&str] =
    &["map.store=resident", "buffer.bytes=262144", "buffer.read_ahead_kib=64"];

keys! {
    /// Keys of `[buffer]`.
    pub struct BufferKeys {
        /// Size of the write buffer. Each line holds one mapping unit. 0: no buffer.
        bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 44),
            source: "Lee et al., IEEE Access 2021: none",
            flip: "65536", with: &["map.store=resident"],
        },
        /// When a write is answered: when it is in the buffer, or when its program is over.
        acknowledge: Acknowledge = Acknowledge::Buffer => {
            kind: Kind::Choice(Acknowledge::WORDS),
            source: "assumed: what a write-back buffer is for",
            flip: "program", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Whether a loss of power loses the contents of the buffer. If so, a flush, a preflush and
        /// FUA wait for flash. If not (PRAM, or DRAM with a battery), they wait only until the
        /// earlier writes, or the FUA write itself, are in the buffer.
        volatile: bool = true => {
            kind: Kind::Bool,
            source: "assumed: DRAM; the ROS study's PRAM keeps what it holds",
            flip: "false", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time to put or get a unit, without its bytes. Accesses may overlap during this time.
        access_ns: u64 = 41 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "JEDEC DDR3-1600 11-11-11: tRP + tRCD + tCL of 13.75 ns each",
            flip: "1000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time that a byte of a unit takes on its port. The time of a unit is rounded up to a
        /// nanosecond.
        ps_per_byte: u64 = 78 => {
            kind: Kind::count("ps", 0, 1_000_000_000),
            source: "JEDEC DDR3-1600: 12.8 GB/s on 64 bits",
            flip: "1000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time that the get of a unit takes its port and its bank, in addition to its bytes.
        read_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: DRAM, whose time is in its bytes; PRAM: docs/DEVICES.md",
            flip: "15400", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time that the put of a unit takes its port and its bank, in addition to its bytes.
        write_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "assumed: DRAM, whose time is in its bytes; PRAM: docs/DEVICES.md",
            flip: "102400", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Ports of the buffer. With "shared" one port carries one unit at a time (DRAM). With
        /// "read_and_write" one port is for gets and one for puts, and both work at once in
        /// different banks (PRAM).
        ports: PortKind = PortKind::Shared => {
            kind: Kind::Choice(PortKind::WORDS),
            source: "assumed: DRAM; the ROS study has a PRAM that is read while it is written",
            flip: "read_and_write", with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.banks=8",
                "buffer.write_ns=102400",
            ],
        },
        /// Banks of the buffer. The number of a line modulo this is its bank.
        banks: u64 = 1 => {
            kind: Kind::count("banks", 1, 65_536),
            source: "assumed; figure 1 of the ROS study needs three",
            flip: "8", with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.ports=read_and_write",
                "buffer.write_ns=102400",
            ],
        },
        /// Which rule flushes dirty units that no request asks for. With host policies that start
        /// pages (`is`, `ris`, `ros`) the policy flushes: then "watermark" acts like "full", and
        /// "ahead" and "at_once" are refused.
        eviction: Eviction = Eviction::Watermark => {
            kind: Kind::Choice(Eviction::WORDS),
            source: "assumed: before lines are needed; the ROS study and Bang et al.: full",
            flip: "full", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Largest number of program units that are flushed at once, without those that a request
        /// asks for. 0: two for each plane; no limit with host policies that start pages.
        flush_width: u64 = 0 => {
            kind: Kind::count("program units", 0, 1 << 20),
            source: "assumed: one in the array and one that waits for it; the ROS study: 1",
            flip: "1", with: &["map.store=resident", "buffer.bytes=65536", "geometry.ways=4"],
        },
        /// Time over which the lines that a program frees become usable for new units, evenly one
        /// after another; on each plane, in units of a program. A time that is longer than the
        /// programs of a plane limits how fast lines become usable. 0: all at once.
        release_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: a line is free when its program is over",
            flip: "90000", with: &["map.store=resident", "buffer.bytes=65536"],
        },
        /// Bytes of lines that programs free which become usable together, when so many are free
        /// or no program is under way that frees more. 0: each line by itself.
        release_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 44),
            source: "assumed: a line is free when its program is over",
            flip: "32768", with: &["map.store=resident", "buffer.bytes=65536"],
        },
        /// With `eviction` "ahead": how many of the oldest queued requests the rule looks at.
        ahead_requests: u64 = 32 => {
            kind: Kind::count("requests", 1, 1 << 32),
            source: "native command queuing: 32 requests",
            flip: "1", with: &[
                "map.store=resident", "buffer.bytes=65536", "buffer.eviction=ahead",
                "queue.depth=4", "geometry.ways=4",
            ],
        },
        /// Whether a flush gets its unit from the buffer, through a port, before it programs the
        /// unit.
        flush_reads: bool = false => {
            kind: Kind::Bool,
            source: "assumed: DRAM, far faster than the program; the ROS study: true",
            flip: "true", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// What a line becomes when its contents are on flash: clean or free.
        after_flush: AfterFlush = AfterFlush::Clean => {
            kind: Kind::Choice(AfterFlush::WORDS),
            source: "assumed: it may be read again; the ROS study and Bang et al.: free",
            flip: "free", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Which line a unit takes that was read whole from flash: none, a free or clean one, or
        /// also a dirty one, which is flushed first. No request waits for this. The unit is not
        /// kept while writes wait for lines, or when no flush may begin. Never-written units are
        /// not kept (see `state.initial`).
        read_allocate: ReadAllocate = ReadAllocate::Never => {
            kind: Kind::Choice(ReadAllocate::WORDS),
            source: "assumed: a buffer of writes",
            flip: "clean", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// How far the device reads ahead of a run of reads, each of which begins where the one
        /// before it has ended. What it reads takes free and clean lines. A write of a unit that is
        /// being read ahead makes the device drop what comes. 0: it does not read ahead.
        read_ahead_kib: u64 = 0 => {
            kind: Kind::count("KiB", 0, 1 << 22),
            source: "assumed: none; makers name no window",
            flip: "64", with: &[
                "map.store=resident", "buffer.bytes=262144",
            ],
        },
        /// With `read_ahead_kib`: the device reads on as soon as this share of it, or less, is left
        /// ahead of the run.
        read_ahead_low_percent: Ppm = Ppm::from_percent(90) => {
            kind: Kind::percent(0, 1_000_000),
            source: "fitted: WD ZN540, whose reads in order at depth 1 have a p99 near the mean",
            flip: "0", with: READS_AHEAD,
        },
        /// With `read_ahead_kib`: how many runs the device follows at once. A new one takes the
        /// place of the one that was read longest ago. A read that continues none is a new run.
        read_ahead_runs: u64 = 32 => {
            kind: Kind::count("runs", 1, 65_536),
            source: "assumed; US 11,294,595: a number of streams that is limited",
            flip: "1", with: READS_AHEAD,
        },
        /// With `read_ahead_kib`: while more runs than this have had one of the last 64 reads, the
        /// device reads ahead of none. 0: it reads ahead of all runs that it follows.
        read_ahead_at_once: u64 = 0 => {
            kind: Kind::count("runs", 0, 64),
            source: "assumed: no limit",
            flip: "1", with: READS_AHEAD,
        },
        /// With `read_ahead_at_once`: of runs that are too many, the device still reads the rest of
        /// the block of so many KiB in which a read ends; such blocks follow one another from the
        /// first unit on. 0: nothing.
        read_ahead_rest_kib: u64 = 0 => {
            kind: Kind::count("KiB", 0, 4_096),
            source: "assumed: nothing",
            flip: "16", with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.read_ahead_kib=64",
                "buffer.read_ahead_at_once=1",
            ],
        },
        /// With `read_ahead_kib`: so many reads in a row make a run that the device reads ahead of.
        /// 1: it reads ahead of every read.
        read_ahead_after: u64 = 2 => {
            kind: Kind::count("reads", 1, 65_536),
            source: "SimpleSSD: after a read that continues the one before it",
            flip: "1", with: READS_AHEAD,
        },
        /// Which lines are flushed first, and which clean lines are replaced first.
        replacement: Replacement = Replacement::Lru => {
            kind: Kind::Choice(Replacement::WORDS),
            source: "Bang et al.: LRU",
            flip: "fifo", with: &["map.store=resident", "buffer.bytes=65536"],
        },
        /// What the buffer holds at the start.
        initial: InitialBuffer = InitialBuffer::Auto => {
            kind: Kind::Choice(InitialBuffer::WORDS),
            source: "assumed: a device that is in use as its flash is",
            flip: "dirty", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// With `eviction` "watermark": flushing begins when this share of the lines is dirty. It
        /// has no effect with host policies that start pages.
        high_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(1, 1_000_000),
            source: "assumed",
            flip: "90", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// With `eviction` "watermark": flushing ends when at most this share of the lines is
        /// dirty. It has no effect with host policies that start pages.
        low_percent: Ppm = Ppm::from_percent(60) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed",
            flip: "20", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Whether dirty units are flushed, in whole program units, while no request is
        /// outstanding. Host policies that start pages refuse it.
        flush_when_idle: bool = false => {
            kind: Kind::Bool,
            source: "assumed: units that may be overwritten soon stay",
            flip: "true", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// With `flush_when_idle`: time without an outstanding request before flushing begins.
        idle_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 62),
            source: "assumed: at once",
            flip: "50", with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.flush_when_idle=true",
            ],
        },
        /// Which accesses make a unit the most recently used one. Less recently used units are
        /// flushed and replaced first.
        recency: Recency = Recency::ReadsAndWrites => {
            kind: Kind::Choice(Recency::WORDS),
            source: "assumed: LRU over all accesses; figure 1 of the ROS study needs writes",
            flip: "writes", with: &["map.store=resident", "buffer.bytes=262144"],
        },
    }
}

impl BufferKeys {
    /// Whether the device reads ahead of runs of reads.
    pub const fn reads_ahead(&self) -> bool {
        self.read_ahead_kib > 0
    }
}

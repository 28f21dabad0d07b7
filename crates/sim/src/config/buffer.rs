//! The section `[buffer]`: DRAM between the host queue and the translation layer.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// When a write is answered.
    pub enum Acknowledge {
        /// When it is in the buffer; a write with FUA when its program is over.
        Buffer = "buffer",
        /// When its program, which begins at once, is over.
        Program = "program",
    }
}

choice! {
    /// What makes a unit the most recently used one.
    pub enum Recency {
        /// Reads and writes that find it.
        ReadsAndWrites = "reads_and_writes",
        /// Writes alone.
        Writes = "writes",
    }
}

keys! {
    /// Keys of `[buffer]`.
    pub struct BufferKeys {
        /// Size of the write buffer; a line holds a mapping unit. 0: none.
        bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 44),
            source: "Lee et al., IEEE Access 2021: none",
            flip: "65536", with: &["map.store=resident"],
        },
        /// When a write is answered.
        acknowledge: Acknowledge = Acknowledge::Buffer => {
            kind: Kind::Choice(Acknowledge::WORDS),
            source: "assumed: what a write-back buffer is for",
            flip: "program", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time to put or get a unit, besides its bytes; accesses overlap in it.
        access_ns: u64 = 41 => {
            kind: Kind::count("ns", 0, 1_000_000_000),
            source: "JEDEC DDR3-1600 11-11-11: tRP + tRCD + tCL of 13.75 ns each",
            flip: "1000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Time of a byte of a unit on the one port of the buffer; rounded up to a nanosecond once
        /// a unit.
        ps_per_byte: u64 = 78 => {
            kind: Kind::count("ps", 0, 1_000_000_000),
            source: "JEDEC DDR3-1600: 12.8 GB/s on 64 bits",
            flip: "1000", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Flushing begins when this share of the lines is dirty.
        high_percent: u64 = 800_000 => {
            kind: Kind::percent(1, 1_000_000),
            source: "assumed",
            flip: "90", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// It ends when at most this share of the lines is dirty.
        low_percent: u64 = 600_000 => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed",
            flip: "20", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// Whether dirty units are flushed, whole program units at a time, while no request is
        /// outstanding.
        flush_when_idle: bool = false => {
            kind: Kind::Bool,
            source: "assumed: units that may be overwritten soon stay",
            flip: "true", with: &["map.store=resident", "buffer.bytes=262144"],
        },
        /// What makes a unit the most recently used one; the others are flushed, and clean ones
        /// give way, first.
        recency: Recency = Recency::ReadsAndWrites => {
            kind: Kind::Choice(Recency::WORDS),
            source: "assumed: LRU over all accesses",
            flip: "writes", with: &["map.store=resident", "buffer.bytes=262144"],
        },
    }
}

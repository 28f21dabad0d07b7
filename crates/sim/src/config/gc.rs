//! Garbage collection and wear levelling: their sections and keys.

use crate::ftl::victim::VictimName;
use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// When garbage collection works.
    pub enum GcTiming {
        /// While a plane has at most `soft_free_blocks` free.
        OnDemand = "on_demand",
        /// Also while no request is outstanding, up to `background_free_blocks`.
        Background = "background",
    }
}

keys! {
    /// Keys of `[gc]`: garbage collection, plane by plane.
    pub struct GcKeys {
        /// Which full block is cleaned next.
        policy: VictimName = VictimName::Greedy => {
            kind: Kind::Choice(VictimName::WORDS),
            source: "assumed: the fewest copies",
            flip: "fifo", with: &["@full"],
        },
        /// When it works.
        timing: GcTiming = GcTiming::OnDemand => {
            kind: Kind::Choice(GcTiming::WORDS),
            source: "assumed",
            flip: "background", with: &["@full"],
        },
        /// With `timing = "background"` it starts when no request has been outstanding for
        /// `idle_us` and a plane has at most this many free blocks.
        background_free_blocks: u64 = 32 => {
            kind: Kind::count("blocks", 1, 1 << 24),
            source: "assumed: twice soft_free_blocks",
            flip: "18", with: &["@full", "gc.timing=background"],
        },
        /// How long no request must have been outstanding before it works in the background.
        idle_us: u64 = 1_000_000 => {
            kind: Kind::micros(0, 4_000_000_000_000),
            source: "assumed: longer than the pauses inside a burst",
            flip: "100000", with: &["@full", "gc.timing=background"],
        },
        /// Whether commands of requests go between those of a job while a plane has more than
        /// `hard_free_blocks` free; else a job goes first until its block is erased.
        preemptible: bool = true => {
            kind: Kind::Bool,
            source: "assumed",
            flip: "false", with: &["@full"],
        },
        /// It starts when a die has at most this many free blocks.
        soft_free_blocks: u64 = 16 => {
            kind: Kind::count("blocks", 1, 1 << 24),
            source: "assumed",
            flip: "20", with: &["@full"],
        },
        /// Its commands go before all others while a die has at most this many free blocks.
        hard_free_blocks: u64 = 8 => {
            kind: Kind::count("blocks", 1, 1 << 24),
            source: "assumed; Lee et al., IEEE Access 2021: GC commands go first while it is needed",
            flip: "16", with: &["@full"],
        },
        /// Whether copies stay on the die: its page register takes what was read and programs it.
        copyback: bool = false => {
            kind: Kind::Bool,
            source: "ONFI 4.2: optional (copyback)",
            flip: "true", with: &["@full", "channel.ps_per_byte=2500"],
        },
        /// Host data takes no new block while a die has at most this many free blocks, and map
        /// pages none at half of it; copies may use what is left. Shows where it is above
        /// `hard_free_blocks`, below which garbage collection goes first anyway.
        reserve_blocks: u64 = 4 => {
            kind: Kind::count("blocks", 2, 1 << 24),
            source: "assumed; a copy needs one block, the rest is room for map pages",
            flip: "8", with: &["@full", "gc.hard_free_blocks=1"],
        },
    }
}

keys! {
    /// Keys of `[wear]`.
    pub struct WearKeys {
        /// Whether the least erased free block of a plane is written next, not the one erased
        /// first.
        dynamic: bool = false => {
            kind: Kind::Bool,
            source: "assumed: blocks take turns",
            flip: "true", with: &["@full"],
        },
        /// When a full block of a plane has been erased less often than another block of it by more
        /// than this, every other job cleans the least erased full block. 0: never.
        static_gap: u64 = 0 => {
            kind: Kind::count("erases", 0, 1 << 30),
            source: "assumed: cold data stays where it is",
            flip: "1", with: &["@full"],
        },
    }
}

//! Garbage collection and wear levelling: their sections and keys.

use crate::ftl::victim::VictimName;
use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// When garbage collection works.
    pub enum GcTiming {
        /// While blocks are short, as `start` says.
        OnDemand = "on_demand",
        /// Also while no request is outstanding, up to `background_free_blocks`; layers that plan
        /// (`ftl.scheme`) then do a piece of work a plane, such as the merge of a log block.
        Background = "background",
    }
}

choice! {
    /// What starts garbage collection on a plane.
    pub enum GcStart {
        /// A block is opened and at most `soft_free_blocks` are free.
        Early = "early",
        /// A program needs a free block and at most `reserve_blocks` are free: it waits for as many
        /// jobs, one after the other, as it takes until it has room.
        Needed = "needed",
    }
}

choice! {
    /// What the reserve means to map pages.
    pub enum MapReserve {
        /// All of them leave half of `reserve_blocks` alone.
        Half = "half",
        /// Those written back from the cache leave `reserve_blocks` alone, as host data does; those
        /// that garbage collection rewrites take whatever is left; where that is nothing the run
        /// ends with an error.
        AsData = "as_data",
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
        /// What starts it on a plane.
        start: GcStart = GcStart::Early => {
            kind: Kind::Choice(GcStart::WORDS),
            source: "assumed",
            flip: "needed", with: &["@full"],
        },
        /// Whether the block with the fewest valid units of all is cleaned while at most half of
        /// `reserve_blocks` are free, whatever `policy` says.
        emergency: bool = false => {
            kind: Kind::Bool,
            source: "assumed",
            flip: "true",
            with: &["@full", "gc.policy=fifo", "gc.soft_free_blocks=2", "gc.hard_free_blocks=1",
                "gc.reserve_blocks=2"],
        },
        /// Whether it goes on after the run until every plane has as many free blocks as when the
        /// run began, or no more can be won.
        restore: bool = false => {
            kind: Kind::Bool,
            source: "Park et al. 2011 count what follows the workload; what that is is assumed",
            flip: "true", with: &["@full", "gc.soft_free_blocks=2", "gc.hard_free_blocks=2",
                "gc.reserve_blocks=2"],
        },
        /// Time that a look at one candidate for a victim takes. A job begins as much later as its
        /// search looks at candidates.
        search_us: u64 = 0 => {
            kind: Kind::micros(0, 1_000_000_000),
            source: "assumed: the table of blocks is in memory",
            flip: "1", with: &["@full"],
        },
        /// Whether a victim is erased only after the map pages with entries of what was moved have
        /// been written. A reserve that is too small for these ends the run with an error.
        erase_after_map: bool = false => {
            kind: Kind::Bool,
            source: "assumed: entries of moved data are kept in memory until then",
            flip: "true", with: &["@full"],
        },
        /// What `reserve_blocks` means to map pages.
        map_reserve: MapReserve = MapReserve::Half => {
            kind: Kind::Choice(MapReserve::WORDS),
            source: "assumed",
            flip: "as_data", with: &["@full", "gc.hard_free_blocks=1", "gc.reserve_blocks=8"],
        },
        /// With `timing = "background"` it starts when no request has been outstanding for
        /// `idle_us` and a plane of a page map has at most this many free blocks.
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
        /// With `start = "early"` it starts when a plane has at most this many free blocks.
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
        /// Host data takes no new block while a plane has at most this many free blocks, and map
        /// pages none at half of it (`map_reserve`); copies may use what is left. Shows where it is
        /// above `hard_free_blocks`, below which garbage collection goes first anyway.
        reserve_blocks: u64 = 4 => {
            kind: Kind::count("blocks", 1, 1 << 24),
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

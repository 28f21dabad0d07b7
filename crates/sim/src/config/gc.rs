//! Garbage collection and wear levelling: their sections and keys.

use super::{DeviceKeys, MapStore};
use crate::parts::victim::VictimName;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// When garbage collection works.
    pub enum GcTiming {
        /// Only when a plane is short of free blocks, as `start` says.
        OnDemand = "on_demand",
        /// Also while no request is outstanding, up to `background_free_blocks`. A layer that plans
        /// (`ftl.scheme`) then does one piece of work for each plane, such as the merge of a log
        /// block. With `background_period_us` both reclaim a number of blocks in each period.
        Background = "background",
    }
}

choice! {
    /// What starts garbage collection on a plane.
    pub enum GcStart {
        /// Opening a block when at most `soft_free_blocks` are free.
        Early = "early",
        /// A program that needs a free block when at most `reserve_blocks` are free. It waits for
        /// jobs, one after the other, until it has room.
        Needed = "needed",
    }
}

choice! {
    /// How much of the reserve map pages leave free.
    pub enum MapReserve {
        /// All map pages leave half of `reserve_blocks` free.
        Half = "half",
        /// Map pages that are written back from the cache leave all of `reserve_blocks` free, as
        /// host data does. Map pages that garbage collection rewrites may take all free blocks. If
        /// none is left, the run ends with an error.
        AsData = "as_data",
    }
}

choice! {
    /// How garbage collection shares a die with programs while a plane is short of spare space.
    pub enum GcPacing {
        /// It does not. Its commands wait behind all others until at most `hard_free_blocks` are
        /// free. Then they go before all others until the victim is erased.
        None = "none",
        /// For each unit that a program writes, it makes enough copies to keep the spare space of
        /// the plane at the level that `soft_free_blocks` sets, and more if less spare space is
        /// left. The next program waits for these copies; reads go before them.
        Spare = "spare",
        /// The same, but with `copies_per_program` copies for each unit.
        Tokens = "tokens",
    }
}

keys! {
    /// Keys of `[gc]`: garbage collection, plane by plane.
    pub struct GcKeys {
        /// Which full block is the next victim.
        policy: VictimName = VictimName::Greedy => {
            kind: Kind::Choice(VictimName::WORDS),
            source: "assumed: the fewest copies",
            flip: "fifo", with: &["@full"],
        },
        /// When garbage collection works: on demand, or also in the background while no request is
        /// outstanding.
        timing: GcTiming = GcTiming::OnDemand => {
            kind: Kind::Choice(GcTiming::WORDS),
            source: "assumed",
            flip: "background", with: &["@full"],
        },
        /// When garbage collection starts on a plane: at `soft_free_blocks`, or when a program
        /// needs a free block.
        start: GcStart = GcStart::Early => {
            kind: Kind::Choice(GcStart::WORDS),
            source: "assumed",
            flip: "needed", with: &["@full"],
        },
        /// Whether the victim is the block with the fewest valid units, whatever `policy` says,
        /// while at most half of `reserve_blocks` are free.
        emergency: bool = false => {
            kind: Kind::Bool,
            source: "assumed",
            flip: "true",
            with: &["@full", "gc.policy=fifo", "gc.soft_free_blocks=2", "gc.hard_free_blocks=1",
                "gc.reserve_blocks=2"],
        },
        /// Whether garbage collection goes on after the run until every plane has as many free
        /// blocks as at the start of the run, or no more can be gained.
        restore: bool = false => {
            kind: Kind::Bool,
            source: "Park et al. 2011 count what follows the workload; what that is is assumed",
            flip: "true", with: &["@full", "gc.soft_free_blocks=2", "gc.hard_free_blocks=2",
                "gc.reserve_blocks=2"],
        },
        /// Time that a search for a victim takes for each candidate that it looks at. The job
        /// begins when the search is over.
        search_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 1_000_000_000),
            source: "assumed: the table of blocks is in memory",
            flip: "1", with: &["@full"],
        },
        /// Whether a victim is erased only after the map pages with entries of its moved data have
        /// been written. If the reserve is too small for these, the run ends with an error.
        erase_after_map: bool = false => {
            kind: Kind::Bool,
            source: "assumed: entries of moved data are kept in memory until then",
            flip: "true", with: &["@full"],
        },
        /// How much of `reserve_blocks` map pages leave free. With "half" they leave half of it;
        /// with "as_data" pages that are written back leave all of it, and pages that garbage
        /// collection rewrites leave none: a run whose reserve is too small for these ends with an
        /// error.
        map_reserve: MapReserve = MapReserve::Half => {
            kind: Kind::Choice(MapReserve::WORDS),
            source: "assumed",
            flip: "as_data", with: &["@full", "gc.hard_free_blocks=1", "gc.reserve_blocks=8"],
        },
        /// How garbage collection shares a die with programs while a plane is short of spare space.
        pacing: GcPacing = GcPacing::None => {
            kind: Kind::Choice(GcPacing::WORDS),
            source: "assumed: the published systems collect at once",
            flip: "spare", with: &["@full"],
        },
        /// With `pacing` "tokens": units that garbage collection copies for each unit that a
        /// program writes.
        copies_per_program: u64 = 4 => {
            kind: Kind::count("units", 1, 1 << 20),
            source: "assumed: enough for a write amplification of 5",
            flip: "1", with: &["@full", "gc.pacing=tokens"],
        },
        /// With pacing: free blocks beyond those that a plane is kept at, from which on garbage
        /// collection works and programs owe a part of their copies: the more, the fewer of these
        /// blocks are left. 0: they owe all of them from the first block that is missing.
        soft_zone_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: pacing has no soft zone",
            flip: "4", with: &["@full", "gc.pacing=spare"],
        },
        /// With pacing: largest number of commands of requests that go before a garbage collection
        /// command for which programs wait. 0: no limit.
        reads_before_copy: u64 = 0 => {
            kind: Kind::count("commands", 0, 1 << 20),
            source: "assumed: reads are protected",
            flip: "1", with: &["@full", "gc.pacing=spare"],
        },
        /// With pacing: whether reads suspend the operation of a die while writes wait for lines of
        /// the write buffer or, without a buffer, programs of that die have to wait for copies.
        /// Otherwise they wait for the end of the operation.
        suspend_while_short: bool = true => {
            kind: Kind::Bool,
            source: "assumed: reads are protected",
            flip: "false",
            with: &["@full", "gc.pacing=spare", "nand.program_suspends=8",
                "nand.erase_suspends=8"],
        },
        /// With `timing` "background": garbage collection of a page map starts when no request has
        /// been outstanding for `idle_us` and a plane has at most this many free blocks. 0: as
        /// `background_percent` says.
        background_free_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: a share of the spare space",
            flip: "18", with: &["@full", "gc.timing=background"],
        },
        /// With `background_free_blocks = 0`: share of the spare blocks of a plane, at most 32
        /// blocks. Spare blocks are those beyond the blocks that the valid units of the plane fill.
        background_percent: Ppm = Ppm::from_percent(25) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: twice soft_percent",
            flip: "15",
            with: &["@full", "gc.timing=background"],
        },
        /// With `timing` "background": period of background work. In each period of an idle time at
        /// most `background_blocks` blocks of the device are reclaimed. 0: a page map collects one
        /// block after the other, and a layer that plans does one piece of work for each plane in
        /// each idle time.
        background_period_us: Span = Span::ZERO => {
            kind: Kind::micros(0, 4_000_000_000_000),
            source: "assumed: without pauses",
            flip: "100000", with: &["@full", "gc.timing=background"],
        },
        /// With `background_period_us`: blocks that a page map collects in each period, or log
        /// blocks that a translation layer merges, on all planes together. Each plane reclaims one
        /// block at a time.
        background_blocks: u64 = 1 => {
            kind: Kind::count("blocks", 1, 1 << 24),
            source: "assumed",
            flip: "5",
            with: &["@full", "gc.timing=background", "gc.background_period_us=20000",
                "gc.background_free_blocks=18"],
        },
        /// With `background_period_us`: background work of a translation layer ends when this many
        /// of its log blocks are clean. 0: when all of them are.
        background_log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: as much as there is to do",
            flip: "1",
            with: &["@log", "gc.timing=background", "gc.background_period_us=1000"],
        },
        /// Time without an outstanding request before background garbage collection starts.
        idle_us: Span = Span::from_ms(1) => {
            kind: Kind::micros(0, 4_000_000_000_000),
            source: "assumed: longer than the pauses inside a burst",
            flip: "100000", with: &["@full", "gc.timing=background"],
        },
        /// Whether commands of requests run between the commands of a job while the plane has more
        /// than `hard_free_blocks` free blocks. Otherwise a job goes first until its block is
        /// erased. Pacing needs `true`.
        preemptible: bool = true => {
            kind: Kind::Bool,
            source: "assumed",
            flip: "false", with: &["@full"],
        },
        /// With `start` "early": garbage collection starts when a plane has at most this many free
        /// blocks. With pacing, this many blocks are free on average when it starts. 0: as
        /// `soft_percent` says, and at least `hard_free_blocks` and `reserve_blocks`.
        soft_free_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed: a share of the spare space",
            flip: "20", with: &["@full"],
        },
        /// With `soft_free_blocks = 0`: share of the spare blocks of a plane, at most 16 blocks.
        /// Spare blocks are those beyond the blocks that the valid units of the plane fill.
        soft_percent: Ppm = Ppm::from_ppm(125_000) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: an eighth, so that seven eighths hold data that is not valid",
            flip: "8", with: &["@full"],
        },
        /// Without pacing: garbage collection goes before all other commands while its plane has at
        /// most this many free blocks. 0: as `hard_percent` says.
        hard_free_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed; Lee et al., IEEE Access 2021: GC commands go first while it is needed",
            flip: "16", with: &["@full"],
        },
        /// With `hard_free_blocks = 0`: share of the spare blocks of a plane, at most 8 blocks.
        hard_percent: Ppm = Ppm::from_ppm(62_500) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: half of soft_percent",
            flip: "15", with: &["@full"],
        },
        /// Whether copies stay on the die: it programs the page from its page register, without a
        /// transfer.
        copyback: bool = false => {
            kind: Kind::Bool,
            source: "ONFI 4.2: optional (copyback)",
            flip: "true", with: &["@full", "channel.ps_per_byte=2500"],
        },
        /// Host data takes no new block while a plane has at most this many free blocks, and map
        /// pages take none at half of it (`map_reserve`). Copies may use the rest. It changes
        /// results only above `hard_free_blocks`, where garbage collection goes first anyway. 0: as
        /// `reserve_percent` says.
        reserve_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "assumed; a copy needs one block, the rest is room for map pages",
            flip: "8", with: &["@full", "gc.hard_free_blocks=1"],
        },
        /// With `reserve_blocks = 0`: share of the spare blocks of a plane, at most 4 blocks and,
        /// with a map on flash, at least 2.
        reserve_percent: Ppm = Ppm::from_ppm(31_250) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: half of hard_percent",
            flip: "15",
            with: &["@full", "gc.hard_free_blocks=1", "map.store=resident"],
        },
    }
}

/// Free blocks that no share of the spare space exceeds: at which collection starts, becomes
/// urgent, and host data takes no new block; and up to which it goes on in the background. Assumed.
const MOST_FREE: [u64; 4] = [16, 8, 4, 32];

impl GcKeys {
    /// The keys with every threshold in blocks, on planes with this many spare ones.
    #[must_use]
    pub(crate) fn resolved(mut self, spare: u64, keys: &DeviceKeys) -> Self {
        let share = |ppm: u64, most: u64| (spare * ppm).div_ceil(1_000_000).clamp(1, most);
        let maps_halve = self.start == GcStart::Early || self.map_reserve == MapReserve::Half;
        let least = if keys.map.store != MapStore::Resident && maps_halve { 2 } else { 1 };
        let [soft, hard, reserve, background] = MOST_FREE;
        if self.soft_free_blocks == 0 {
            let own = share(self.soft_percent.ppm(), soft).max(least);
            self.soft_free_blocks = own.max(self.hard_free_blocks).max(self.reserve_blocks);
        }
        let soft = self.soft_free_blocks;
        if self.hard_free_blocks == 0 {
            self.hard_free_blocks = share(self.hard_percent.ppm(), hard).min(soft);
        }
        if self.reserve_blocks == 0 {
            self.reserve_blocks = share(self.reserve_percent.ppm(), reserve).max(least).min(soft);
        }
        if self.background_free_blocks == 0 {
            self.background_free_blocks = share(self.background_percent.ppm(), background);
        }
        self
    }
}

keys! {
    /// Keys of `[wear]`.
    pub struct WearKeys {
        /// Whether the least erased free block of a plane is written next. Otherwise the block that
        /// was erased first is next.
        dynamic: bool = false => {
            kind: Kind::Bool,
            source: "assumed: blocks take turns",
            flip: "true", with: &["@full"],
        },
        /// While the least erased full block of a plane lags behind the most erased one by more
        /// than this, every other job cleans it. 0: never.
        static_gap: u64 = 0 => {
            kind: Kind::count("erases", 0, 1 << 30),
            source: "assumed: cold data stays where it is",
            flip: "1", with: &["@full"],
        },
    }
}

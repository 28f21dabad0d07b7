//! The translation layer and what the device holds at the start: `[ftl]` and `[state]`.

pub use crate::parts::layer::LogSpan;
use crate::parts::log::SchemeName;
use flashyard_core::geometry::StripeOrder;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::{choice, keys};

choice! {
    /// Where host data goes.
    pub enum Allocation {
        /// To the plane that striping gives to its logical address.
        Static = "static",
        /// To the plane with the fewest unfinished host programs. Of equals, the first one after
        /// the plane chosen last is taken.
        Dynamic = "dynamic",
    }
}

choice! {
    /// Over how many planes an open block stretches.
    pub enum WriteFrontier {
        /// Each plane has open blocks of its own.
        Plane = "plane",
        /// The planes of a die have theirs together.
        Die = "die",
    }
}

choice! {
    /// What a write of a part of a mapping unit costs.
    pub enum PartialWrite {
        /// As much as a write of the whole unit.
        Ignore = "ignore",
        /// The device first reads the unit if it was written before.
        ReadModifyWrite = "read_modify_write",
        /// The device first reads the unit only if sectors outside the write have been written
        /// before.
        Bitmap = "bitmap",
    }
}

/// A setting that a translation layer needs on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSetting {
    /// The key, `section.key`.
    pub key: &'static str,
    /// Its value, as a file would have it.
    pub value: String,
    /// Why the layer needs it.
    pub why: String,
}

keys! {
    /// Keys of `[ftl]`.
    pub struct FtlKeys {
        /// How logical pages are mapped to physical ones. Each scheme's own keys are in
        /// `[ftl.NAME]`.
        scheme: SchemeName = SchemeName::Page => {
            kind: Kind::Choice(SchemeName::WORDS),
            source: "Lee et al., IEEE Access 2021: pages are mapped",
            flip: "block", with: &["@log"],
        },
        /// Over how many planes a scheme that plans works. "plane": each plane has its own layer,
        /// and log blocks are blocks. "superblock": the device has one layer, and its log blocks
        /// and data blocks are superblocks, one block of each plane; keys that count log blocks
        /// count superblocks then. It has no effect with the schemes page and none, and on a device
        /// of one plane.
        log_span: LogSpan = LogSpan::Plane => {
            kind: Kind::Choice(LogSpan::WORDS),
            source: "assumed: the published schemes manage one chip",
            flip: "superblock", with: &["@log", "geometry.channels=2"],
        },
        /// Whether a write waits for all merges that were planned before it, and for those that its
        /// scheme plans behind it. Otherwise it waits only for the erase of the block that it goes
        /// to.
        merge_first: bool = false => {
            kind: Kind::Bool,
            source: "assumed; Park et al. 2011 count merges into the response that triggers them",
            flip: "true", with: &["@log"],
        },
        /// Whether the device merges every log block after the last request, and writes every map
        /// page with dirty entries back once.
        finish: bool = false => {
            kind: Kind::Bool,
            source: "assumed; Park et al. 2011 count merges after finishing workloads too",
            flip: "true", with: &["@log"],
        },
        /// Bytes of a mapping unit. A page must hold a whole number of units. 0: a page.
        mapping_unit_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1_048_576),
            source: "Lee et al., IEEE Access 2021: pages are mapped",
            flip: "2048", with: &[],
        },
        /// Which plane host data goes to: the one that striping gives to its LPN, or the one with
        /// the fewest unfinished host programs.
        allocation: Allocation = Allocation::Static => {
            kind: Kind::Choice(Allocation::WORDS),
            source: "assumed: static striping, as Bang et al. use it",
            flip: "dynamic", with: &["geometry.channels=2", "geometry.ways=2"],
        },
        /// Order in which static striping changes channel (c), way (w), die (d) and plane (p), the
        /// fastest first.
        stripe_order: StripeOrder = StripeOrder::Cwdp => {
            kind: Kind::Choice(StripeOrder::WORDS),
            source: "assumed: channels first",
            flip: "wcdp",
            with: &["geometry.channels=2", "geometry.ways=2", "channel.ps_per_byte=2500"],
        },
        /// Pages of a plane that static striping fills with consecutive units before it goes on to
        /// the next one, in `stripe_order`; with `frontier = "die"` pages of a die, one plane after
        /// the other. It needs a page map and static allocation.
        stripe_pages: u64 = 1 => {
            kind: Kind::count("pages", 1, 1024),
            source: "assumed: a page at a time, as Bang et al. stripe",
            flip: "3", with: &["geometry.channels=2"],
        },
        /// Over how many planes an open block stretches. "die": one block of each plane of a die is
        /// filled, collected and erased as one, so that each program covers all planes, at the same
        /// page. What counts blocks of a plane then counts such rows of blocks. It needs a page
        /// map and `nand.multi_plane`, and has no effect on dies of one plane.
        frontier: WriteFrontier = WriteFrontier::Plane => {
            kind: Kind::Choice(WriteFrontier::WORDS),
            source: "assumed: planes apart; drives of products write superblocks (Open-Channel SSD 2.0: one block of each plane)",
            flip: "die", with: &["geometry.planes=2", "nand.multi_plane=same_page"],
        },
        /// Open blocks of a plane for copied data, by how often the data was copied. 0: copies
        /// share the open block of host data.
        generations: u64 = 1 => {
            kind: Kind::count("blocks", 0, 8),
            source: "assumed: copied data is colder than host data",
            flip: "2", with: &["@full"],
        },
        /// Open blocks of a plane for copied map pages. 0: they share the open block of map pages
        /// that are written back.
        map_generations: u64 = 1 => {
            kind: Kind::count("blocks", 0, 1),
            source: "assumed: as for data",
            flip: "0", with: &["@full"],
        },
        /// What a write of a part of a mapping unit costs.
        partial_write: PartialWrite = PartialWrite::Ignore => {
            kind: Kind::Choice(PartialWrite::WORDS),
            source: "Lee et al., IEEE Access 2021: requests are whole pages",
            flip: "read_modify_write", with: &["state.initial=full"],
        },
        /// Over-provisioning: (physical capacity - exported capacity) / exported capacity. It has
        /// no effect with `scheme = "none"`, which exports every page.
        over_provisioning_percent: Ppm = Ppm::from_percent(7) => {
            kind: Kind::percent(1, 1_000_000_000),
            source: "assumed: 7 %, GiB sold as GB",
            flip: "120", with: &["@full"],
        },
    }
}

choice! {
    /// What the device holds when the run starts.
    pub enum InitialState {
        /// Nothing was ever written.
        Fresh = "fresh",
        /// Every exported page was written once, in order.
        Full = "full",
        /// Every exported unit was written once, in random order.
        Random = "random",
        /// Every exported page was written once, and then units were overwritten at random. This
        /// takes no simulated time.
        Aged = "aged",
        /// The state in which random writes leave a device in the long run, made without simulating
        /// them.
        Steady = "steady",
    }
}

keys! {
    /// Keys of `[state]`.
    pub struct StateKeys {
        /// What the device holds when the run starts.
        initial: InitialState = InitialState::Fresh => {
            kind: Kind::Choice(InitialState::WORDS),
            source: "Lee et al., IEEE Access 2021: no preconditioning",
            flip: "full", with: &["nand.unmapped_read=zero"],
        },
        /// Share of the exported capacity, from its start, that is written.
        fill_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: all of it, the hardest case for garbage collection",
            flip: "50", with: &["@full", "nand.unmapped_read=zero"],
        },
        /// Writes of `aged`, as a share of the capacity that is written.
        aged_percent: Ppm = Ppm::from_percent(300) => {
            kind: Kind::percent(0, 1_000_000_000),
            source: "assumed: enough for most of the way to steady state under uniform writes",
            flip: "50", with: &["@full", "state.initial=aged"],
        },
        /// Share of the written capacity, from its start, that is hot in `aged` and `steady`.
        hot_units_percent: Ppm = Ppm::from_percent(20) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: a fifth of the units",
            flip: "10", with: &["@full", "state.initial=aged", "state.hot_writes_percent=90"],
        },
        /// Share of the writes of `aged` and `steady` that goes to hot units. Writes are uniform if
        /// this equals `hot_units_percent`.
        hot_writes_percent: Ppm = Ppm::from_percent(20) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: uniform writes",
            flip: "80", with: &["@full", "state.initial=aged"],
        },
        /// Whether `aged` and `steady` leave as many free blocks as garbage collection makes in
        /// idle time (`gc.soft_free_blocks`), and `steady` a write buffer in which flushing is
        /// about to begin (`buffer.high_percent`). Otherwise they leave as many free blocks as a
        /// load without idle time does (`gc.hard_free_blocks`), and a write buffer whose lines are
        /// all dirty. With `gc.pacing` it has no effect on free blocks.
        rested: bool = false => {
            kind: Kind::Bool,
            source: "assumed: a load without idle time, whose results depend on the state the most",
            flip: "true", with: &["@full", "state.initial=aged"],
        },
        /// Seed of the random numbers of `random`, `aged` and `steady`.
        seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["@full", "state.initial=aged"],
        },
    }
}

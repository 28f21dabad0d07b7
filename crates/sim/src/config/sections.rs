//! The sections of a device file and their keys.

use super::buffer::BufferKeys;
use super::energy::EnergyKeys;
use super::gc::{GcKeys, WearKeys};
use super::interface::InterfaceKeys;
use super::memory::MemoryKeys;
use super::metrics::MetricsKeys;
use super::onfi::OnfiInterface;
use crate::ftl::log::{SchemeKeys, SchemeName};
use crate::ftl::victim::VictimKeys;
use crate::own::{OwnKeys, OwnParts};
use flashyard_core::geometry::StripeOrder;
use flashyard_core::host::{HostPolicyKeys, HostPolicyName};
use flashyard_core::key::{Key, Kind, Value};
use flashyard_core::policy::{FotKeys, PolicyKeys, PolicyName};
use flashyard_core::{choice, keys};

keys! {
    /// Keys of `[geometry]`.
    pub struct GeometryKeys {
        /// Channels of the device.
        channels: u64 = 1 => {
            kind: Kind::count("channels", 1, 1_024),
            source: "Lee et al., IEEE Access 2021: one channel",
            flip: "2", with: &[],
        },
        /// Chips (ways) behind each channel.
        ways: u64 = 1 => {
            kind: Kind::count("chips", 1, 1_024),
            source: "Lee et al., IEEE Access 2021: one way",
            flip: "2", with: &[],
        },
        /// Dies of each chip.
        dies_per_way: u64 = 1 => {
            kind: Kind::count("dies", 1, 64),
            source: "Lee et al., IEEE Access 2021: one die",
            flip: "2", with: &[],
        },
        /// Planes of each die: each has its own blocks and page register.
        planes: u64 = 1 => {
            kind: Kind::count("planes", 1, 16),
            source: "Lee et al., IEEE Access 2021: none mentioned",
            flip: "2", with: &["nand.multi_plane=any"],
        },
        /// Erase blocks of a plane.
        blocks_per_plane: u64 = 70_400 => {
            kind: Kind::count("blocks", 1, u32::MAX as u64),
            source: "assumed: 32 GiB exported at 7 % over-provisioning, the size of the phone's eMMC (Zhou et al., IISWC 2015)",
            flip: "80", with: &["@full"],
        },
        /// Pages of an erase block.
        pages_per_block: u64 = 128 => {
            kind: Kind::count("pages", 1, 65_536),
            source: "assumed",
            flip: "16", with: &["@full"],
        },
        /// Data bytes of a page.
        page_bytes: u64 = 4_096 => {
            kind: Kind::count("bytes", 512, 1_048_576),
            source: "Lee et al., IEEE Access 2021: 4 kB",
            flip: "8192", with: &[],
        },
    }
}

choice! {
    /// What reading a page that was never written costs.
    pub enum UnmappedRead {
        /// An array read, as on a device that was written once.
        Array = "array",
        /// Nothing: the answer is zeros.
        Zero = "zero",
    }
}

choice! {
    /// Which planes of a die one operation may cover.
    pub enum MultiPlane {
        /// One plane at a time.
        None = "none",
        /// Several, at the same page of their blocks.
        SamePage = "same_page",
        /// Several, anywhere.
        Any = "any",
    }
}

choice! {
    /// In which order the pages of a block may be programmed.
    pub enum ProgramOrder {
        /// One after the other, none left out.
        Sequential = "sequential",
        /// Upwards; pages may be left out.
        Ascending = "ascending",
        /// Any, as on small blocks of SLC.
        Any = "any",
    }
}

keys! {
    /// Keys of `[nand]`. A block's pages are of `bits_per_cell` types that take turns.
    pub struct NandKeys {
        /// Bits of a cell, and page types: 1 SLC, 2 MLC, 3 TLC, 4 QLC.
        bits_per_cell: u64 = 1 => {
            kind: Kind::count("bits", 1, 4),
            source: "assumed: one page type, as Lee et al., IEEE Access 2021, time their device",
            flip: "2", with: &["nand.read_2_us=90"],
        },
        /// Whether all pages of a word line are programmed by one operation.
        one_shot: bool = false => {
            kind: Kind::Bool,
            source: "assumed; usual for TLC and QLC of three dimensions",
            flip: "true", with: &["nand.bits_per_cell=2"],
        },
        /// tR: sensing a page, of the first type.
        read_us: u64 = 60_000 => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "Lee et al., IEEE Access 2021: 60 us",
            flip: "61", with: &[],
        },
        /// tR of pages of the second type; 0: as the first.
        read_2_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["nand.bits_per_cell=2"],
        },
        /// tR of pages of the third type; 0: as the first.
        read_3_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["geometry.pages_per_block=126", "nand.bits_per_cell=3"],
        },
        /// tR of pages of the fourth type; 0: as the first.
        read_4_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "90", with: &["nand.bits_per_cell=4"],
        },
        /// tPROG: programming a page of the first type, or a word line in one shot.
        program_us: u64 = 700_000 => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "Lee et al., IEEE Access 2021: 700 us",
            flip: "701", with: &[],
        },
        /// tPROG of pages of the second type; 0: as the first.
        program_2_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["nand.bits_per_cell=2"],
        },
        /// tPROG of pages of the third type; 0: as the first.
        program_3_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["geometry.pages_per_block=126", "nand.bits_per_cell=3"],
        },
        /// tPROG of pages of the fourth type; 0: as the first.
        program_4_us: u64 = 0 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: as the first",
            flip: "900", with: &["nand.bits_per_cell=4"],
        },
        /// The most that the time in the array may exceed the typical one; operation by operation
        /// the excess is this share x r^4, r uniform in 0 to 1.
        spread_percent: u64 = 0 => {
            kind: Kind::percent(0, 100_000_000),
            source: "assumed: a bounded tail above the typical time",
            flip: "10", with: &[],
        },
        /// Which planes of a die one operation may cover.
        multi_plane: MultiPlane = MultiPlane::None => {
            kind: Kind::Choice(MultiPlane::WORDS),
            source: "ONFI 4.2: optional",
            flip: "any", with: &["geometry.planes=2"],
        },
        /// Whether the array may sense the next page while a page leaves the register.
        cache_read: bool = false => {
            kind: Kind::Bool,
            source: "ONFI 4.2: optional (read cache)",
            flip: "true", with: &["channel.ps_per_byte=25000"],
        },
        /// How often one program may be suspended for reads; 0: never.
        program_suspends: u64 = 0 => {
            kind: Kind::count("times", 0, 1_000),
            source: "assumed: none",
            flip: "4", with: &["policy.command=rcf"],
        },
        /// How often one erase may be suspended for reads; 0: never.
        erase_suspends: u64 = 0 => {
            kind: Kind::count("times", 0, 1_000),
            source: "assumed: none",
            flip: "4", with: &["@full", "policy.command=rcf"],
        },
        /// From the decision to suspend until the array is free.
        suspend_us: u64 = 20_000 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed",
            flip: "30", with: &["nand.program_suspends=4", "policy.command=rcf"],
        },
        /// What resuming adds to the time that was left.
        resume_us: u64 = 20_000 => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed",
            flip: "30", with: &["nand.program_suspends=4", "policy.command=rcf"],
        },
        /// tBERS: erasing a block.
        erase_us: u64 = 5_000_000 => {
            kind: Kind::micros(1, 4_000_000_000),
            source: "assumed: the paper models no erase; 5 ms is common for MLC",
            flip: "5001", with: &["@full"],
        },
        /// What reading a never-written page costs.
        unmapped_read: UnmappedRead = UnmappedRead::Array => {
            kind: Kind::Choice(UnmappedRead::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; its device behaves as one written before",
            flip: "zero", with: &[],
        },
        /// In which order the pages of a block may be programmed; schemes with log blocks
        /// (`ftl.scheme`) leave pages out.
        program_order: ProgramOrder = ProgramOrder::Sequential => {
            kind: Kind::Choice(ProgramOrder::WORDS),
            source: "ONFI 4.2: in order; Park et al. 2011 simulate 2 kB pages of SLC, which may be programmed in any",
            flip: "ascending", with: &["@log"],
        },
        /// Blocks that are bad from the start, of every hundred; as many on each plane, rounded up.
        factory_bad_percent: u64 = 0 => {
            kind: Kind::percent(0, 500_000),
            source: "assumed: none; data sheets allow about 2 % over the life of a device",
            flip: "5", with: &["@full"],
        },
        /// Erases that wear a block out, for each block a tenth more or less. 0: none.
        endurance_cycles: u64 = 0 => {
            kind: Kind::count("erases", 0, 1 << 30),
            source: "assumed: runs are short beside the life of a device",
            flip: "20", with: &["@full"],
        },
    }
}

choice! {
    /// Who takes a channel next.
    pub enum ChannelArbitration {
        /// Commands and addresses before data; equals in the order of need.
        CommandsFirst = "commands_first",
        /// Whoever needed it first.
        InOrder = "in_order",
    }
}

keys! {
    /// Keys of `[channel]`.
    pub struct ChannelKeys {
        /// The interface by name: it gives each of the other keys that is 0.
        interface: OnfiInterface = OnfiInterface::None => {
            kind: Kind::Choice(OnfiInterface::WORDS),
            source: "ONFI 4.2 and 5.0, timing modes: docs/DEVICES.md; Lee et al., IEEE Access 2021: no transfer time",
            flip: "nv-ddr2-333", with: &[],
        },
        /// Transfer time of a byte; rounded up to a nanosecond once a page. 0: as `interface`.
        ps_per_byte: u64 = 0 => {
            kind: Kind::count("ps", 0, 1_000_000_000),
            source: "Lee et al., IEEE Access 2021: no transfer time",
            flip: "2500", with: &[],
        },
        /// Command and address of an operation on the channel. 0: as `interface`.
        command_ns: u64 = 0 => {
            kind: Kind::count("ns", 0, 1_000_000),
            source: "Lee et al., IEEE Access 2021: no transfer time",
            flip: "300", with: &[],
        },
        /// Who takes a channel next. Programs bring their command and data together, as data.
        arbitration: ChannelArbitration = ChannelArbitration::CommandsFirst => {
            kind: Kind::Choice(ChannelArbitration::WORDS),
            source: "assumed; shortest first keeps arrays busy",
            flip: "in_order",
            with: &["geometry.ways=4", "channel.command_ns=300", "channel.ps_per_byte=25000"],
        },
    }
}

choice! {
    /// Where the map is.
    pub enum MapStore {
        /// On flash, behind a cache of lines of consecutive entries.
        LineCache = "line_cache",
        /// On flash, behind a cached mapping table of single entries, as DFTL.
        Cmt = "cmt",
        /// In memory as a whole: every translation is a hit.
        Resident = "resident",
    }
}

choice! {
    /// What happens to map operations that would use stale entries.
    pub enum MapHazards {
        /// They wait.
        Order = "order",
        /// They do not wait, and are counted.
        Ignore = "ignore",
    }
}

choice! {
    /// What becomes of an entry whose data garbage collection moves.
    pub enum MovedEntries {
        /// A cached one is dirty; the map page of another is rewritten, behind its pending writes.
        Dirty = "dirty",
        /// It is part of a pending write of its map page whose program has not begun, whatever it
        /// is; else as `dirty`.
        Join = "join",
        /// As `join`; but of a write that waits for the room which this collection makes, only
        /// what is cached or evicted by it is part, and what it will fetch is not cached yet.
        JoinCached = "join_cached",
    }
}

choice! {
    /// In which order garbage collection rewrites map pages.
    pub enum RewriteOrder {
        /// Of their numbers.
        Page = "page",
        /// Of the first unit of each that was moved.
        Moved = "moved",
    }
}

keys! {
    /// Keys of `[map]`.
    pub struct MapKeys {
        /// Where the map is.
        store: MapStore = MapStore::LineCache => {
            kind: Kind::Choice(MapStore::WORDS),
            source: "Lee et al., IEEE Access 2021",
            flip: "resident", with: &[],
        },
        /// Memory of the map cache; lines = cache_bytes / (entry_bytes x entries_per_line), of a
        /// `cmt` entries = cache_bytes / cached_entry_bytes.
        cache_bytes: u64 = 1_024 => {
            kind: Kind::count("bytes", 1, 1 << 32),
            source: "Lee et al., IEEE Access 2021: 1 kB",
            flip: "2048", with: &[],
        },
        /// Consecutive entries of a cache line.
        entries_per_line: u64 = 8 => {
            kind: Kind::count("entries", 1, 65_536),
            source: "Lee et al., IEEE Access 2021, is silent; 8 fits its remarks best together with ordered hazards",
            flip: "16", with: &[],
        },
        /// Bytes of a mapping entry.
        entry_bytes: u64 = 4 => {
            kind: Kind::count("bytes", 1, 64),
            source: "Lee et al., IEEE Access 2021, is silent; 4 bytes address 16 TiB of 4 kB pages",
            flip: "8", with: &[],
        },
        /// Entries of a map page; 0 for page_bytes / entry_bytes.
        entries_per_page: u64 = 0 => {
            kind: Kind::count("entries", 0, 1 << 20),
            source: "formula",
            flip: "64", with: &[],
        },
        /// Whether a dirty eviction also cleans the other dirty lines of its map page.
        batch_update: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al., IEEE Access 2021",
            flip: "false", with: &[],
        },
        /// Whether evictions of one map page, and fetches of entries being written back, wait.
        hazards: MapHazards = MapHazards::Order => {
            kind: Kind::Choice(MapHazards::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; a real device must order them",
            flip: "ignore", with: &[],
        },
        /// Bytes of an entry in a `cmt`: logical and physical page.
        cached_entry_bytes: u64 = 8 => {
            kind: Kind::count("bytes", 1, 64),
            source: "Gupta et al., ASPLOS 2009: 4 and 4 bytes",
            flip: "16", with: &["map.store=cmt"],
        },
        /// Share of the entries of a `cmt` that is kept for those that were hit; 0: plain LRU.
        protected_percent: u64 = 800_000 => {
            kind: Kind::percent(0, 1_000_000),
            source: "FlashSim, the published simulator of Gupta et al., ASPLOS 2009: 6552 of 8192",
            flip: "0", with: &["map.store=cmt"],
        },
        /// Whether the entry of moved data is only updated where it is cached; else its map page
        /// is rewritten all the same.
        lazy_copying: bool = true => {
            kind: Kind::Bool,
            source: "Gupta et al., ASPLOS 2009",
            flip: "false", with: &["@full"],
        },
        /// What becomes of an entry whose data garbage collection moves.
        moved_entries: MovedEntries = MovedEntries::Dirty => {
            kind: Kind::Choice(MovedEntries::WORDS),
            source: "assumed; Gupta et al., ASPLOS 2009, collect during an eviction: join_cached",
            flip: "join", with: &["@full"],
        },
        /// In which order garbage collection rewrites map pages.
        rewrite_order: RewriteOrder = RewriteOrder::Page => {
            kind: Kind::Choice(RewriteOrder::WORDS),
            source: "assumed",
            flip: "moved", with: &["@full"],
        },
        /// What reading a map page costs that was never written.
        unwritten_read: UnmappedRead = UnmappedRead::Array => {
            kind: Kind::Choice(UnmappedRead::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; its device behaves as one written before",
            flip: "zero", with: &[],
        },
    }
}

choice! {
    /// What a slot limit counts.
    pub enum SlotsScope {
        /// All command sets of the device.
        Device = "device",
        /// The sets of each data die; the oldest unslotted set still goes first.
        Die = "die",
    }
}

choice! {
    /// How a request enters the device.
    pub enum Admission {
        /// Translated as a whole, its sets take slots one by one.
        Request = "request",
        /// A page is translated when it has a slot.
        Page = "page",
        /// Translated as a whole once all its sets have slots.
        Atomic = "atomic",
    }
}

choice! {
    /// Whether accesses of the same LPN are ordered.
    pub enum DataOrder {
        /// No; reads then return a version that was valid while they were under way.
        None = "none",
        /// An access waits for the earlier unfinished write of its LPN.
        Lpn = "lpn",
    }
}

keys! {
    /// Keys of `[queue]`: the flash command queue.
    pub struct QueueKeys {
        /// Command sets that may be under way; a slot is held from admission to completion.
        depth: u64 = 256 => {
            kind: Kind::count("slots", 1, 1_000_000),
            source: "Lee et al., IEEE Access 2021: 256",
            flip: "2", with: &[],
        },
        /// What the slots are counted over.
        slots_scope: SlotsScope = SlotsScope::Device => {
            kind: Kind::Choice(SlotsScope::WORDS),
            source: "the published device has one die, where both agree",
            flip: "die", with: &["queue.depth=2", "geometry.channels=2"],
        },
        /// How a request enters.
        admission: Admission = Admission::Request => {
            kind: Kind::Choice(Admission::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; FOT must be known when a request enters",
            flip: "page", with: &["policy.command=fot", "queue.depth=4"],
        },
        /// Whether a set that waits for another request's map commands holds its slot.
        delayed_sets_hold_slot: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "false", with: &["queue.depth=4"],
        },
        /// Whether accesses of the same LPN wait for each other.
        data_order: DataOrder = DataOrder::None => {
            kind: Kind::Choice(DataOrder::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "lpn", with: &[],
        },
    }
}

keys! {
    /// Keys of `[policy]`: the command policy. Each policy's own keys are in `[policy.NAME]`.
    pub struct PolicyChoice {
        /// Which waiting command a die takes next.
        command: PolicyName = PolicyName::Drs => {
            kind: Kind::Choice(PolicyName::WORDS),
            source: "Lee et al., IEEE Access 2021: the proposed scheduler",
            flip: "fifo", with: &[],
        },
    }
}

keys! {
    /// Keys of `[host]`: the host policy. Each policy's own keys are in `[host.NAME]`.
    pub struct HostChoice {
        /// Which queued request the device starts next.
        policy: HostPolicyName = HostPolicyName::Fifo => {
            kind: Kind::Choice(HostPolicyName::WORDS),
            source: "Lee et al., IEEE Access 2021: a FIFO of requests",
            flip: "idle",
            with: &["geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
    }
}

choice! {
    /// Where host data goes.
    pub enum Allocation {
        /// To the plane that striping gives to its logical address.
        Static = "static",
        /// To the plane with the fewest programs under way, from the one after the last on.
        Dynamic = "dynamic",
    }
}

choice! {
    /// What a write of a part of a mapping unit costs.
    pub enum PartialWrite {
        /// As one of the whole unit.
        Ignore = "ignore",
        /// A read of the unit first, where it was written before.
        ReadModifyWrite = "read_modify_write",
        /// A read only where sectors outside the write have been written before.
        Bitmap = "bitmap",
    }
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
        /// Whether a write waits for all merges that were planned before it and, where its scheme
        /// merges behind it, for those; else only for the erase of the block that it goes to.
        merge_first: bool = false => {
            kind: Kind::Bool,
            source: "assumed; Park et al. 2011 count merges into the response that triggers them",
            flip: "true", with: &["@log"],
        },
        /// Whether every log block is merged after the last request.
        finish: bool = false => {
            kind: Kind::Bool,
            source: "assumed; Park et al. 2011 count merges after finishing workloads too",
            flip: "true", with: &["@log"],
        },
        /// Bytes of a mapping unit, a whole share of a page; 0: a page.
        mapping_unit_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1_048_576),
            source: "Lee et al., IEEE Access 2021: pages are mapped",
            flip: "2048", with: &[],
        },
        /// Where host data goes.
        allocation: Allocation = Allocation::Static => {
            kind: Kind::Choice(Allocation::WORDS),
            source: "assumed: static striping, as Bang et al. use it",
            flip: "dynamic", with: &["geometry.channels=2", "geometry.ways=2"],
        },
        /// In which order static striping changes channel, way, die and plane, fastest first.
        stripe_order: StripeOrder = StripeOrder::Cwdp => {
            kind: Kind::Choice(StripeOrder::WORDS),
            source: "assumed: channels first",
            flip: "wcdp",
            with: &["geometry.channels=2", "geometry.ways=2", "channel.ps_per_byte=2500"],
        },
        /// Open blocks a plane for host data; a request writes to the one of its stream modulo
        /// this.
        streams: u64 = 1 => {
            kind: Kind::count("blocks", 1, 16),
            source: "assumed",
            flip: "2", with: &["@full"],
        },
        /// Open blocks a plane for copied data, by how often it was copied; 0: copies share the
        /// block of host data.
        generations: u64 = 1 => {
            kind: Kind::count("blocks", 0, 8),
            source: "assumed: copied data is colder than host data",
            flip: "2", with: &["@full"],
        },
        /// Open blocks a plane for copied map pages; 0: they share the one of map pages that are
        /// written back.
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
        /// Spare space: (physical - exported) / exported.
        over_provisioning_percent: u64 = 70_000 => {
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
        /// Full, then overwritten at random without timing.
        Aged = "aged",
        /// As random writes leave it in the long run, made without simulating them.
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
        /// The share of the exported capacity, from its start, that is written.
        fill_percent: u64 = 1_000_000 => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: all of it, the hardest case for garbage collection",
            flip: "50", with: &["@full", "nand.unmapped_read=zero"],
        },
        /// Writes of `aged`, as a share of the capacity that is written.
        aged_percent: u64 = 3_000_000 => {
            kind: Kind::percent(0, 1_000_000_000),
            source: "assumed: enough for most of the way to steady state under uniform writes",
            flip: "50", with: &["@full", "state.initial=aged"],
        },
        /// The share of the written capacity, from its start, that is hot in `aged` and `steady`.
        hot_units_percent: u64 = 200_000 => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: a fifth of the units",
            flip: "10", with: &["@full", "state.initial=aged", "state.hot_writes_percent=90"],
        },
        /// The share of the writes of `aged` and `steady` that goes to hot units; equal to
        /// `hot_units_percent`, writes are uniform.
        hot_writes_percent: u64 = 200_000 => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: uniform writes",
            flip: "80", with: &["@full", "state.initial=aged"],
        },
        /// Where random numbers of `random`, `aged` and `steady` start.
        seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["@full", "state.initial=aged"],
        },
    }
}

impl DeviceKeys {
    /// Every key at its default; names and keys of these parts are known too.
    pub fn with_own(parts: OwnParts) -> Self {
        Self { own: OwnKeys::new(parts), ..Self::default() }
    }
}

/// A set of sections that a file or a command line can assign keys of.
pub trait Sections {
    /// Every section: its name, its keys and a line about it.
    fn sections(&self) -> Vec<(String, &'static [Key], &'static str)>;
    /// Stores a checked value; returns whether there is such a section and key.
    fn set(&mut self, section: &str, key: &str, value: Value) -> bool;
    /// The value of a key.
    fn get(&self, section: &str, key: &str) -> Option<Value>;
}

macro_rules! device_keys {
    ($($(#[doc = $doc:literal])+ $field:ident: $type:ty,)+) => {
        /// Every key of a device file, as written; [`super::Settings`] is what the engine trusts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct DeviceKeys {
            $($(#[doc = $doc])+ pub $field: $type,)+
            /// The keys of every command policy.
            pub policies: PolicyKeys,
            /// The keys of every host policy.
            pub host_policies: HostPolicyKeys,
            /// The keys of every rule for victims.
            pub victims: VictimKeys,
            /// The keys of every mapping scheme.
            pub schemes: SchemeKeys,
            /// The user's own parts and their keys.
            pub own: OwnKeys,
        }

        impl Sections for DeviceKeys {
            fn sections(&self) -> Vec<(String, &'static [Key], &'static str)> {
                let mut all = vec![$((
                    stringify!($field).to_string(),
                    <$type>::KEYS,
                    concat!($($doc),+),
                ),)+];
                let parts = PolicyKeys::PARTS.iter().map(|part| ("policy", part));
                let parts = parts.chain(HostPolicyKeys::PARTS.iter().map(|part| ("host", part)));
                let parts = parts.chain(VictimKeys::PARTS.iter().map(|part| ("gc", part)));
                let parts = parts.chain(SchemeKeys::PARTS.iter().map(|part| ("ftl", part)));
                all.extend(parts.map(|(family, (name, keys, doc))| {
                    (format!("{family}.{name}"), *keys, *doc)
                }));
                self.own.add_to(&mut all);
                all
            }

            fn set(&mut self, section: &str, key: &str, value: Value) -> bool {
                let built_in = match section.split_once('.') {
                    Some(("policy", name)) => self.policies.set(name, key, value),
                    Some(("host", name)) => self.host_policies.set(name, key, value),
                    Some(("gc", name)) => self.victims.set(name, key, value),
                    Some(("ftl", name)) => self.schemes.set(name, key, value),
                    _ => match section {
                        $(stringify!($field) => self.$field.set(key, value),)+
                        _ => false,
                    },
                };
                built_in || self.own.set(section, key, value)
            }

            fn get(&self, section: &str, key: &str) -> Option<Value> {
                let built_in = match section.split_once('.') {
                    Some(("policy", name)) => self.policies.get(name, key),
                    Some(("host", name)) => self.host_policies.get(name, key),
                    Some(("gc", name)) => self.victims.get(name, key),
                    Some(("ftl", name)) => self.schemes.get(name, key),
                    _ => match section {
                        $(stringify!($field) => self.$field.get(key),)+
                        _ => None,
                    },
                };
                built_in.or_else(|| self.own.get(section, key))
            }
        }
    };
}

device_keys! {
    /// The shape of the flash array.
    geometry: GeometryKeys,
    /// Array times.
    nand: NandKeys,
    /// The bus that dies share.
    channel: ChannelKeys,
    /// Power of each state.
    energy: EnergyKeys,
    /// Mapping entries and their cache.
    map: MapKeys,
    /// The flash command queue.
    queue: QueueKeys,
    /// How flash operation times are counted.
    fot: FotKeys,
    /// The command policy.
    policy: PolicyChoice,
    /// The host policy.
    host: HostChoice,
    /// Submission queues and the link to the host.
    interface: InterfaceKeys,
    /// The write buffer in DRAM.
    buffer: BufferKeys,
    /// The translation layer.
    ftl: FtlKeys,
    /// Garbage collection.
    gc: GcKeys,
    /// Wear levelling.
    wear: WearKeys,
    /// What the device holds when the run starts.
    state: StateKeys,
    /// How tables are laid out in memory.
    memory: MemoryKeys,
    /// What is recorded.
    metrics: MetricsKeys,
}

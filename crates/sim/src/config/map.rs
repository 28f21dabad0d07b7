//! The section `[map]`: where the map is, and how it is cached.

use super::nand::UnmappedRead;
use flashyard_core::key::Kind;
use flashyard_core::quantity::Ppm;
use flashyard_core::{choice, keys};

choice! {
    /// Where the map is.
    pub enum MapStore {
        /// On flash, behind a cache of lines of consecutive entries.
        LineCache = "line_cache",
        /// On flash, behind a cached mapping table of single entries, as DFTL.
        Cmt = "cmt",
        /// The whole map is in memory, and every translation is a hit.
        Resident = "resident",
    }
}

choice! {
    /// What map operations do that would use stale entries.
    pub enum MapHazards {
        /// They wait.
        Order = "order",
        /// They do not wait, but are counted.
        Ignore = "ignore",
    }
}

choice! {
    /// How the map entry of data that garbage collection moves reaches flash.
    pub enum MovedEntries {
        /// A cached entry becomes dirty. If the entry is not cached, its map page is rewritten
        /// behind the pending writes of this page.
        Dirty = "dirty",
        /// The entry joins any pending write of its map page whose program has not begun. If there
        /// is none, it is treated as with `dirty`.
        Join = "join",
        /// As `join`, with one difference: a pending map write that waits for the room which this
        /// collection makes takes only entries that are cached or that it evicts. The entries that
        /// it will fetch do not count as cached yet.
        JoinCached = "join_cached",
    }
}

choice! {
    /// The order in which garbage collection rewrites map pages.
    pub enum RewriteOrder {
        /// By number.
        Page = "page",
        /// By the first unit of each map page that was moved.
        Moved = "moved",
    }
}

keys! {
    /// Keys of `[map]`.
    pub struct MapKeys {
        /// Where the map is: on flash behind a cache of lines, on flash behind a cache of single
        /// entries (DFTL), or in memory.
        store: MapStore = MapStore::LineCache => {
            kind: Kind::Choice(MapStore::WORDS),
            source: "Lee et al., IEEE Access 2021",
            flip: "resident", with: &[],
        },
        /// Memory of the map cache. It holds cache_bytes / (entry_bytes x entries_per_line) lines,
        /// or with `store` "cmt" cache_bytes / cached_entry_bytes entries.
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
        /// Entries of a map page. 0: page_bytes / entry_bytes.
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
        /// Whether an eviction waits for an unfinished write of its map page, and a fetch for an
        /// unfinished write-back of its line.
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
        /// Share of the entries of a `cmt` that is kept for entries that were hit. 0: plain LRU.
        protected_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(0, 1_000_000),
            source: "FlashSim, the published simulator of Gupta et al., ASPLOS 2009: 6552 of 8192",
            flip: "0", with: &["map.store=cmt"],
        },
        /// Whether garbage collection updates a cached entry of moved data in the cache alone.
        /// Otherwise it also rewrites the map page.
        lazy_copying: bool = true => {
            kind: Kind::Bool,
            source: "Gupta et al., ASPLOS 2009",
            flip: "false", with: &["@full"],
        },
        /// How the map entry of data that garbage collection moves reaches flash: as a dirty entry,
        /// or with a pending write of its map page.
        moved_entries: MovedEntries = MovedEntries::Dirty => {
            kind: Kind::Choice(MovedEntries::WORDS),
            source: "assumed; Gupta et al., ASPLOS 2009, collect during an eviction: join_cached",
            flip: "join", with: &["@full"],
        },
        /// Order in which garbage collection rewrites map pages: by number, or by the first unit of
        /// each that was moved.
        rewrite_order: RewriteOrder = RewriteOrder::Page => {
            kind: Kind::Choice(RewriteOrder::WORDS),
            source: "assumed",
            flip: "moved", with: &["@full", "map.entries_per_page=8"],
        },
        /// Whether a miss of a `cmt` waits for an unfinished fetch of the same map page. Otherwise
        /// it fetches the page again.
        share_fetches: bool = false => {
            kind: Kind::Bool,
            source: "assumed; MQSim (Tavakkol et al., FAST 2018): true",
            flip: "true", with: &["map.store=cmt"],
        },
        /// Bytes of a fetched map page that cross the channel. 0: the whole page.
        fetch_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 1 << 20),
            source: "assumed; MQSim (Tavakkol et al., FAST 2018): a sector",
            flip: "512", with: &["channel.ps_per_byte=2500"],
        },
        /// What a read of a never-written map page costs.
        unwritten_read: UnmappedRead = UnmappedRead::Array => {
            kind: Kind::Choice(UnmappedRead::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent; its device behaves as one written before",
            flip: "zero", with: &[],
        },
        /// Bytes of a piece of the map in memory that are written to flash when it has changed.
        /// What is written gathers until a program is full of it, and a piece that changes again
        /// until then is written once. 0: the map in memory is never written.
        log_bytes: u64 = 0 => {
            kind: Kind::count("bytes", 0, 65_536),
            source: "assumed: never; capacitors save it",
            flip: "512", with: &["map.store=resident"],
        },
        /// With `log_bytes`: the entries of a piece, which are those of units in a row.
        log_entries: u64 = 128 => {
            kind: Kind::count("entries", 1, 65_536),
            source: "formula: entries of 4 bytes that fill 512",
            flip: "1", with: &["map.store=resident", "map.log_bytes=512"],
        },
    }
}

//! The section `[power]`: what outlives a loss of power, and how the device finds it again.

use flashyard_core::key::Kind;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// What keeps the device at work for a moment when the power fails.
    pub enum Plp {
        /// Nothing.
        None = "none",
        /// A capacitor: the device writes what is in its memory to flash before it stops.
        Capacitor = "capacitor",
    }
}

choice! {
    /// A fault that is planted into a device.
    pub enum Fault {
        /// The device is sound.
        None = "none",
        /// Programs that the cut interrupts spoil pages on their word lines, and nobody notices.
        BitCorruption = "bit_corruption",
        /// Programs that the cut interrupts count as whole.
        ShornWrites = "shorn_writes",
        /// Recovery does not compare the numbers of changes.
        Unserialisable = "unserialisable",
        /// A piece of the checkpoint is lost.
        Metadata = "metadata",
        /// The root is lost where the cut interrupts a page of the journal.
        Dead = "dead",
        /// Flushes and FUA are answered, and write nothing.
        FlushIgnored = "flush_ignored",
    }
}

/// A device with a volatile write buffer that is cut, and one with a capacitor.
const CUT: &[&str] =
    &["@cut", "@full", "map.store=resident", "power.oob_scan=true", "power.journal_entries=64"];
const BUFFERED: &[&str] = &[
    "@cut",
    "@full",
    "map.store=resident",
    "power.oob_scan=true",
    "power.journal_entries=64",
    "buffer.bytes=131072",
];
/// One that every fault can be planted into.
const FAULTY: &[&str] = &[
    "@cut",
    "@full",
    "map.store=resident",
    "power.oob_scan=true",
    "power.journal_entries=64",
    "power.checkpoint_mib=1",
    "nand.bits_per_cell=2",
    "buffer.bytes=131072",
];
const CAPACITOR: &[&str] = &[
    "@cut",
    "@full",
    "map.store=resident",
    "power.oob_scan=true",
    "power.plp=capacitor",
    "buffer.bytes=131072",
    "buffer.volatile=false",
];
const CELLS: &[&str] = &[
    "@cut",
    "@full",
    "map.store=resident",
    "power.oob_scan=true",
    "nand.bits_per_cell=2",
    "geometry.channels=1",
];

keys! {
    /// Keys of `[power]`: what a device does so that its contents outlive a loss of power, and how
    /// it finds them again (docs/POWER.md). Where `plp` is "none", `oob_scan`
    /// false and both `journal_entries` and `checkpoint_mib` are 0, the section is off: such a
    /// device cannot be cut, and writes nothing for that.
    pub struct PowerKeys {
        /// What keeps the device at work for a moment when the power fails.
        plp: Plp = Plp::None => {
            kind: Kind::Choice(Plp::WORDS),
            source: "assumed: client drives have no capacitor, drives for data centres do",
            flip: "capacitor", with: BUFFERED,
        },
        /// Energy of the capacitor that programs may take when the power fails. First programs
        /// under way end, then the journal is written, then dirty units of the write buffer, those
        /// that have been dirty for the longest time first. 0: as much as it takes.
        capacitor_uj: u64 = 0 => {
            kind: Kind::count("uJ", 0, 1_000_000_000_000),
            source: "assumed: enough, as drives with a capacitor promise",
            flip: "1", with: CAPACITOR,
        },
        /// The whole map is written to flash each time that the host has written so much, so that
        /// recovery looks at nothing older. The unit is MiB of units on flash. 0: never.
        checkpoint_mib: u64 = 0 => {
            kind: Kind::count("MiB", 0, 1 << 40),
            source: "assumed: no checkpoint",
            flip: "1", with: CUT,
        },
        /// Changes of the map that are written together to the journal: commits of writes, copies
        /// and trims, of 16 bytes each, as many as fit a mapping unit to a page. At most as many
        /// as a program holds; what a program has room for beside them stays empty. A flush writes
        /// the trims behind the last such page at once. Where layers plan, they are trims and
        /// blocks that a layer takes or lets go of. 0: no journal.
        journal_entries: u64 = 0 => {
            kind: Kind::count("changes", 0, 65_536),
            source: "assumed: no journal",
            flip: "64", with: &["@cut", "@full", "map.store=resident", "power.oob_scan=true"],
        },
        /// Whether recovery reads the spare areas of pages that may be newer than what it knows:
        /// of all blocks that were opened since the last checkpoint, or of all blocks where there
        /// is none. They name the unit of a page and the number of its change.
        oob_scan: bool = false => {
            kind: Kind::Bool,
            source: "assumed: the section is off; page maps recover so, see Zhang et al., FTL recovery",
            flip: "true", with: &[
                "@cut",
                "@full",
                "map.store=resident",
                "power.journal_entries=64",
                "power.checkpoint_mib=1",
            ],
        },
        /// Largest write, in mapping units, of which recovery keeps all or nothing as long as the
        /// older contents are still on flash: AWUPF of the NVM Express specification.
        awupf_units: u64 = 1 => {
            kind: Kind::count("units", 1, 65_536),
            source: "NVM Express: AWUPF of 0 is one block",
            flip: "16", with: BUFFERED,
        },
        /// Whether a program that the loss of power interrupts destroys the pages that were
        /// programmed before on the same word line. Pages with numbers from k n to k n + k - 1
        /// share one, with k bits a cell; programs in one shot destroy nothing.
        paired_pages: bool = false => {
            kind: Kind::Bool,
            source: "assumed: firmware that keeps a copy of lower pages; Tseng, Grupp and Swanson, DAC 2011",
            flip: "true", with: CELLS,
        },
        /// How long the dies go on with the operations that they have begun when the power fails:
        /// what ends by then has happened. The clock does not count this time.
        rail_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1 << 40),
            source: "assumed: dies stop at once",
            flip: "100", with: &["@cut", "@full", "map.store=resident", "power.oob_scan=true"],
        },
        /// A fault that is planted into the device, to see whether a test finds it.
        /// "bit_corruption": a program that the cut interrupts spoils the pages before it on its
        /// word line (see `paired_pages`), and recovery takes them as they are. "shorn_writes":
        /// such a program, if it is of writes by the host, counts as whole, with the first 3/8 of
        /// the sectors of each unit.
        /// "unserialisable": recovery takes the page of a unit that it finds first, not the newest
        /// one. "metadata": recovery goes on without a piece of the newest checkpoint, which the
        /// seed of the cut chooses. "dead": a cut that interrupts a page of the journal or of a
        /// checkpoint loses the root, and with it all that is on flash. "flush_ignored": a flush
        /// and FUA wait for no program.
        fault: Fault = Fault::None => {
            kind: Kind::Choice(Fault::WORDS),
            source: "the device is sound; the first five: Zheng et al., FAST 2013",
            flip: "unserialisable", with: FAULTY,
        },
    }
}

/// Blocks of each plane that the journal fills where layers have the others: one is filled while
/// the other one has what was written before. Assumed.
const LAYER_JOURNAL_BLOCKS: u32 = 2;

impl PowerKeys {
    /// Bytes of a change in the journal: the unit, its place, the number of the change. Assumed.
    pub(crate) const ENTRY_BYTES: u64 = 16;

    /// Whether pages of a journal or of a checkpoint are written.
    pub const fn is_written(&self) -> bool {
        self.journal_entries > 0 || self.checkpoint_mib > 0
    }

    /// Blocks of each plane that the journal has for itself, on a device with layers.
    pub(super) const fn layer_journal_blocks(&self) -> u32 {
        if self.is_written() { LAYER_JOURNAL_BLOCKS } else { 0 }
    }

    /// Whether the device can be cut, and does anything for that.
    pub const fn is_on(&self) -> bool {
        self.oob_scan || self.is_written() || matches!(self.plp, Plp::Capacitor)
    }
}

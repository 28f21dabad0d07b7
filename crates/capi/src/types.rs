//! Plain data that crosses the border, in the layout of C.

use crate::policies::{FyBusPolicy, FyCommandPolicy};
use core::ffi::c_char;

/// An instant that does not come.
pub const FY_NEVER: u64 = u64::MAX;

/// A request without a hint where its data go.
pub const FY_NO_PLACEMENT: u16 = u16::MAX;

/// How many parts a latency has.
pub const FY_PARTS: usize = 19;

/// What became of a call.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyStatus {
    /// It did what it is for.
    Ok = 0,
    /// An argument cannot be: a null pointer, a size that is no whole number of sectors, an
    /// operation that there is not.
    Argument = -1,
    /// There is no such device, or a setting is wrong; the text says which.
    Input = -2,
    /// The request arrives before the time of the device.
    Past = -3,
    /// The request reaches past the device, or arrives too late to be simulated: behind 2^62 ns.
    Range = -4,
    /// The request arrives before one that was submitted earlier.
    Order = -5,
    /// The submission queue is full (`interface.queue_depth`).
    Full = -6,
    /// The device takes no requests any more.
    Closed = -7,
    /// The simulated device failed: it has no room left, or a rule is broken. It refuses further
    /// calls.
    Device = -8,
    /// The simulator failed, or a policy in C answered what cannot be. The device refuses further
    /// calls.
    Panic = -9,
}

/// What the host asks for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyHostOp {
    /// Reads bytes.
    Read = 0,
    /// Writes bytes.
    Write = 1,
    /// Forgets the contents of whole mapping units.
    Trim = 2,
    /// Is over when every write that was answered before it came is on the flash, or in a buffer
    /// that outlives a loss of power.
    Flush = 3,
}

/// A request of the host.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyHostRequest {
    /// When it arrives, in nanoseconds from the start.
    pub at_ns: u64,
    /// Its first byte; a multiple of 512.
    pub offset: u64,
    /// Its bytes; a multiple of 512, 0 for a flush alone.
    pub bytes: u64,
    /// A number of the caller's, which the completion carries.
    pub cookie: u64,
    /// What it asks for: a value of `FyHostOp`.
    pub op: u32,
    /// 1: it is over when its data are on the flash (FUA). 2: a flush goes before it. 4: what it
    /// trims reads as zeros from then on. On a device with zones, 8 of a write: an append to the
    /// zone that begins at the offset; of a trim of no bytes: 16 resets that zone, 32 finishes, 64
    /// opens, 128 closes it.
    pub flags: u32,
    /// The stream that policies see.
    pub stream: u16,
    /// A hint where its data go, or `FY_NO_PLACEMENT`.
    pub placement: u16,
    /// 0.
    pub reserved: u32,
}

/// A request that is over.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyCompletion {
    /// The number that the request had.
    pub cookie: u64,
    /// When it was over, in nanoseconds from the start.
    pub at_ns: u64,
    /// What its time went to, in nanoseconds, by part; `fy_part_name` names the parts.
    pub parts_ns: [u64; FY_PARTS],
    /// Of an append to a zone the first byte that it has written; 0 of any other request.
    pub offset: u64,
    /// 0, or why a request to a device with zones had no effect: status code type and status code
    /// of NVM Express, such as 0x1BC for a write that is not at the write pointer.
    pub status: u32,
    /// 0.
    pub reserved: u32,
}

/// The state of a zone.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FyZoneState {
    /// Nothing is written.
    #[default]
    Empty = 0,
    /// A write or an append has opened it.
    ImplicitlyOpen = 1,
    /// The host has opened it.
    ExplicitlyOpen = 2,
    /// Written in part, or opened before, and not open.
    Closed = 3,
    /// Nothing more can be written.
    Full = 4,
    /// It can be read and nothing else.
    ReadOnly = 5,
    /// Its contents are lost.
    Offline = 6,
}

/// A zone.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyZone {
    /// Its first byte.
    pub offset: u64,
    /// Bytes of it that can be written.
    pub capacity: u64,
    /// Its write pointer. Of a full zone the first byte that the host has not written.
    pub write_pointer: u64,
    /// Its state.
    pub state: FyZoneState,
    /// 0.
    pub reserved: u32,
}

/// A placement handle (reclaim unit handle).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyHandle {
    /// Bytes that its reclaim unit can still take (RUAMW): the block of each plane that it writes
    /// to, or its superblock.
    pub available_bytes: u64,
    /// The same of an empty one.
    pub unit_bytes: u64,
    /// Bytes that the host has asked to write with it (HBMW).
    pub host_bytes: u64,
    /// Bytes that were programmed for its data, copies included (MBMW).
    pub media_bytes: u64,
    /// Bytes of erased blocks in which its data lay (MBE).
    pub erased_bytes: u64,
}

/// How contents that the host was told of were lost.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FyHow {
    /// They were in memory.
    Buffered = 0,
    /// Their program was interrupted.
    Programming = 1,
    /// They were on flash, on the word line of a program that was interrupted.
    Paired = 2,
    /// They were on flash, and recovery did not find them.
    Unfound = 3,
    /// They were on flash, with the rest of their write not there.
    Torn = 4,
    /// They were trimmed, and are there again.
    Untrimmed = 5,
    /// Their program was interrupted and counts as whole: these sectors do not have them.
    Shorn = 6,
    /// They are on flash with other bits.
    Corrupt = 7,
}

/// What a loss of power has done.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyCut {
    /// When the power failed, in nanoseconds from the start.
    pub at_ns: u64,
    /// How long recovery takes: requests wait until then.
    pub recovery_ns: u64,
    /// Pages that recovery reads.
    pub reads: u64,
    /// Mapping units of which something was lost.
    pub lost_units: u64,
    /// Those of them that the device had promised to keep.
    pub broken_units: u64,
    /// Mapping units whose program was interrupted.
    pub torn_units: u64,
    /// Units of the write buffer that the capacitor has saved.
    pub dumped_units: u64,
    /// Energy that the capacitor has given, in picojoules.
    pub energy_pj: u64,
    /// What saving everything takes, in picojoules.
    pub needed_pj: u64,
}

/// A mapping unit that a loss of power has taken something from.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyLost {
    /// The first byte of the unit that is lost.
    pub offset: u64,
    /// How many are, up to the last one: what all answered requests cover whose data in the unit
    /// are lost, and what is between them. Where some of them were on flash, the whole unit.
    pub bytes: u64,
    /// How the newest of them were lost: a value of `FyHow`.
    pub how: u32,
    /// 1 if the device had promised to keep any of them, else 0.
    pub promised: u32,
}

/// What a device has done so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FyFigures {
    /// Bytes that the host has asked to read.
    pub read_bytes: u64,
    /// Bytes that the host has asked to write.
    pub written_bytes: u64,
    /// Bytes programmed for all purposes; 0 on a disk.
    pub programmed_bytes: u64,
    /// Blocks erased; 0 on a disk.
    pub erased_blocks: u64,
    /// Energy of operations, in arrays and on channels, in picojoules.
    pub operations_pj: u64,
    /// Bytes programmed / bytes that the host has asked to write; 0 before the first.
    pub write_amplification: f64,
}

/// What makes a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyOptions {
    /// The name of a preset, the path of a device file, or the text of one.
    pub device: *const c_char,
    /// Settings, each `section.key=value`; may be null where there are none.
    pub settings: *const *const c_char,
    /// How many there are.
    pub settings_count: usize,
    /// Command policies in C, which `policy.command=NAME` chooses; may be null.
    pub command_policies: *const FyCommandPolicy,
    /// How many there are.
    pub command_policies_count: usize,
    /// Bus policies in C, which `channel.arbitration=NAME` chooses; may be null.
    pub bus_policies: *const FyBusPolicy,
    /// How many there are.
    pub bus_policies_count: usize,
    /// Whether every rule is checked during the run: data integrity, order, exact sums. Slower.
    pub check: bool,
}

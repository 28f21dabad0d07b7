//! Queues of operations that wait for chips.

use crate::memory::{self, Plan};
use crate::types::{FY_ALIGN, FyOperation};
use core::ffi::c_void;
use core::fmt;
use flashyard_core::bus::fair::{FairQueueing, Share};
use flashyard_core::bus::queues::{ChipQueues, Fair, Ring};
use flashyard_core::bus::request::Operation;

/// What queues take at most, in bytes, beside the following: for `FY_QUEUES_BYTES`.
pub const FY_QUEUES_FIXED_BYTES: usize = 192;

/// What a queue takes, in bytes, beside its operations.
pub const FY_QUEUE_BYTES: usize = 8;

/// What an operation that waits takes, in bytes.
pub const FY_WAITING_BYTES: usize = 48;

/// What a stream takes at most, in bytes.
pub const FY_STREAM_BYTES: usize = 32;

/// Shares chips fairly between streams, by start-time fair queueing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyFair {
    /// The weight of each stream, at least 1; a stream of twice the weight gets twice the service.
    pub weights: *const u32,
    /// How many streams there are, 1 to 65,536.
    pub streams: u32,
    /// How long an operation is expected to occupy its chip, in nanoseconds, by `FyOp`.
    pub costs_ns: [u64; 3],
}

/// Queues of the operations that wait for chips, at the start of lent memory: one for each chip or,
/// with fair queueing, for each stream of each chip.
pub struct FyQueues {
    inner: ChipQueues<'static>,
    chips: usize,
    streams: usize,
}

const _: () = assert!(memory::is_aligned_enough::<FyQueues>(), "FY_ALIGN is too small");
const _: () = assert!(memory::is_aligned_enough::<Option<Operation>>(), "FY_ALIGN is too small");
const _: () = assert!(memory::is_aligned_enough::<Share>(), "FY_ALIGN is too small");

const _: () = assert!(size_of::<FyQueues>() + 2 * FY_ALIGN <= FY_QUEUES_FIXED_BYTES);
const _: () = assert!(size_of::<Ring>() == FY_QUEUE_BYTES);
const _: () = assert!(size_of::<Option<Operation>>() == FY_WAITING_BYTES);
const _: () = assert!(size_of::<Share>() <= FY_STREAM_BYTES);

impl fmt::Debug for FyQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FyQueues").field("chips", &self.chips).finish_non_exhaustive()
    }
}

/// Where the parts of the queues are in their memory.
struct Places {
    plan: Plan,
    rings: usize,
    operations: usize,
    shares: usize,
    /// Queues; operations of all of them.
    count: usize,
    room: usize,
}

fn places(chips: u32, depth: u32, streams: u32) -> Option<Places> {
    if chips == 0 || depth == 0 || !(1..=65_536).contains(&streams) {
        return None;
    }
    let count = (chips as usize).checked_mul(streams as usize)?;
    let room = count.checked_mul(depth as usize)?;
    let mut plan = Plan::of::<FyQueues>();
    let rings = plan.slice::<Ring>(count)?;
    let operations = plan.slice::<Option<Operation>>(room)?;
    let shares = plan.slice::<Share>(streams as usize)?;
    Some(Places { plan, rings, operations, shares, count, room })
}

/// The bytes that queues of `depth` operations each need; 0 if there can be none. Without fair
/// queueing `streams` is 1.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name is one of C")]
pub extern "C" fn fy_queues_size(chips: u32, depth: u32, streams: u32) -> usize {
    places(chips, depth, streams).map_or(0, |places| places.plan.bytes())
}

/// Makes empty queues in lent memory of `bytes` bytes, which begins at a multiple of `FY_ALIGN`;
/// with `fair`, chips are shared fairly between streams. Returns null if the memory is too small,
/// not aligned, or an argument is wrong.
///
/// # Safety
///
/// `memory` is valid for reads and writes of so many bytes for as long as the queues are used, and
/// nothing else uses it. `fair` is null or valid for reads, and so are its weights.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "memory is lent by a firmware in C")]
pub unsafe extern "C" fn fy_queues_init(
    memory: *mut c_void,
    bytes: usize,
    chips: u32,
    depth: u32,
    fair: *const FyFair,
) -> *mut FyQueues {
    let queues = memory.cast::<FyQueues>();
    let memory = memory.cast::<u8>();
    let null = core::ptr::null_mut();
    // SAFETY: the caller says that it is null or valid.
    let fair = unsafe { fair.as_ref() };
    let streams = fair.map_or(1, |fair| fair.streams);
    let Some(places) = places(chips, depth, streams) else { return null };
    if !places.plan.fits(memory, bytes) {
        return null;
    }
    // SAFETY: the plan fits into the memory, and no two of its parts overlap.
    let rings = unsafe { memory::slice(memory, places.rings, places.count, Ring::EMPTY) };
    // SAFETY: as above.
    let operations = unsafe { memory::slice(memory, places.operations, places.room, None) };
    let mut sharing = None;
    if let Some(fair) = fair {
        let count = streams as usize;
        // SAFETY: as above.
        let shares = unsafe { memory::slice(memory, places.shares, count, Share::new(1)) };
        for (stream, share) in shares.iter_mut().enumerate() {
            if fair.weights.is_null() {
                return null;
            }
            // SAFETY: the caller says that there is a weight for each stream.
            let place = unsafe { fair.weights.add(stream) };
            // SAFETY: as above.
            let weight = unsafe { place.read() };
            if weight == 0 {
                return null;
            }
            *share = Share::new(weight);
        }
        sharing = Some(Fair { queueing: FairQueueing::new(shares), costs: fair.costs_ns });
    }
    let inner = ChipQueues::new(rings, operations, sharing);
    let (chips, streams) = (chips as usize, streams as usize);
    // SAFETY: the memory begins with room for it and is aligned.
    unsafe { queues.write(FyQueues { inner, chips, streams }) };
    queues
}

impl FyQueues {
    /// Whether there is such a queue. Without fair queueing every stream has that of the chip.
    const fn has(&self, chip: u32, stream: u16) -> bool {
        (chip as usize) < self.chips && (self.streams == 1 || (stream as usize) < self.streams)
    }
}

/// Whether an operation of a stream may be handed over for a chip.
///
/// # Safety
///
/// `queues` are some that `fy_queues_init` has made, in memory that is still lent.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the queues are in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_queues_has_room(
    queues: *const FyQueues,
    chip: u32,
    stream: u16,
) -> bool {
    // SAFETY: the caller says that they are some.
    let queues = unsafe { queues.as_ref() };
    queues.is_some_and(|queues| queues.has(chip, stream) && queues.inner.has_room(chip, stream))
}

/// An operation waits for its chip. Returns false, and does nothing, if there is no room or the
/// operation cannot be.
///
/// # Safety
///
/// `queues` are some that `fy_queues_init` has made, in memory that is still lent. `operation` is
/// valid for reads.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the queues are in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_queues_push(
    queues: *mut FyQueues,
    operation: *const FyOperation,
) -> bool {
    // SAFETY: the caller says that they are some, and that nobody else uses them now.
    let Some(queues) = (unsafe { queues.as_mut() }) else { return false };
    // SAFETY: the caller says that it is valid.
    let Some(operation) = (unsafe { operation.as_ref() }) else { return false };
    let operation = operation.operation(queues.chips);
    let Some(operation) = operation.filter(|one| queues.has(one.chip, one.stream)) else {
        return false;
    };
    let has_room = queues.inner.has_room(operation.chip, operation.stream);
    if has_room {
        queues.inner.push(&operation);
    }
    has_room
}

/// Takes the operation that a chip serves next and writes it: the oldest one or, with fair
/// queueing, that of the stream whose virtual time is least. Returns whether there is one.
///
/// # Safety
///
/// `queues` are some that `fy_queues_init` has made, in memory that is still lent. `operation` is
/// valid for writes.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the queues are in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_queues_pop(
    queues: *mut FyQueues,
    chip: u32,
    operation: *mut FyOperation,
) -> bool {
    // SAFETY: the caller says that they are some, and that nobody else uses them now.
    let Some(queues) = (unsafe { queues.as_mut() }) else { return false };
    if operation.is_null() || !queues.has(chip, 0) {
        return false;
    }
    let Some(next) = queues.inner.pop(chip) else { return false };
    // SAFETY: the caller says that it is valid.
    unsafe { operation.write(FyOperation::from(&next)) };
    true
}

/// An operation that was taken is complete. Fair queueing needs to know.
///
/// # Safety
///
/// `queues` are some that `fy_queues_init` has made, in memory that is still lent.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the queues are in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_queues_completed(queues: *mut FyQueues) {
    // SAFETY: the caller says that they are some, and that nobody else uses them now.
    if let Some(queues) = unsafe { queues.as_mut() } {
        queues.inner.completed();
    }
}

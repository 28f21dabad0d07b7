//! The scheduler.

use crate::memory::{self, Plan};
use crate::types::{FY_ALIGN, FyOperation, FyOutcome, FyRequest, FyResponse, data_order};
use core::ffi::c_void;
use core::fmt;
use flashyard_core::bus::request::{BusRequest, Operation};
use flashyard_core::bus::scheduler::{
    ChannelState, ChipState, Platform, Polling, Response, Scheduler,
};
use flashyard_core::units::{Span, Time};

/// An instant that never comes.
pub const FY_NEVER: u64 = u64::MAX;

/// What a scheduler takes at most, in bytes, beside its chips and channels: for
/// `FY_SCHEDULER_BYTES`.
pub const FY_SCHEDULER_FIXED_BYTES: usize = 112;

/// What a chip of a scheduler takes, in bytes.
pub const FY_CHIP_BYTES: usize = 80;

/// What a channel of a scheduler takes, in bytes.
pub const FY_CHANNEL_BYTES: usize = 64;

/// How the scheduler decides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyOptions {
    /// Time between an answer "busy" and the next question, in nanoseconds; 1000 is usual.
    pub poll_gap_ns: u64,
    /// Whether a chip is asked only once it has had the time that is expected of its operation.
    /// Otherwise it is asked in every iteration.
    pub waits: bool,
    /// Which chip moves data next: a value of `FyDataOrder`.
    pub data_order: u8,
}

/// What the scheduler runs on. Each function gets `context`; none may be null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyPlatform {
    /// Handed to every function.
    pub context: *mut c_void,
    /// The present, in nanoseconds; it never goes back.
    pub now: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Takes in the operations that have been handed over, as far as the queues of their chips have
    /// room. Returns whether there was one.
    pub take_in: Option<unsafe extern "C" fn(context: *mut c_void) -> bool>,
    /// Writes the operation that a chip serves next, now that it serves none. Returns whether there
    /// is one.
    pub next: Option<
        unsafe extern "C" fn(context: *mut c_void, chip: u32, operation: *mut FyOperation) -> bool,
    >,
    /// Sends a request to the controller of its channel, which serves requests in order. Returns
    /// when it will have left the bus, in nanoseconds.
    pub send: Option<unsafe extern "C" fn(context: *mut c_void, request: *const FyRequest) -> u64>,
    /// Writes the next response of the controllers. Returns whether there is one.
    pub response:
        Option<unsafe extern "C" fn(context: *mut c_void, response: *mut FyResponse) -> bool>,
    /// The operation that a chip served is complete.
    pub complete: Option<unsafe extern "C" fn(context: *mut c_void, operation: *const FyOperation)>,
}

/// The scheduler of one channel or more, at the start of lent memory.
pub struct FyScheduler {
    inner: Scheduler<&'static mut [ChipState], &'static mut [ChannelState]>,
    chips: usize,
}

const _: () = assert!(memory::is_aligned_enough::<FyScheduler>(), "FY_ALIGN is too small");
const _: () = assert!(memory::is_aligned_enough::<ChipState>(), "FY_ALIGN is too small");
const _: () = assert!(memory::is_aligned_enough::<ChannelState>(), "FY_ALIGN is too small");

const _: () = assert!(size_of::<FyScheduler>() + FY_ALIGN <= FY_SCHEDULER_FIXED_BYTES);
const _: () = assert!(size_of::<ChipState>() == FY_CHIP_BYTES);
const _: () = assert!(size_of::<ChannelState>() == FY_CHANNEL_BYTES);

impl fmt::Debug for FyScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FyScheduler").field("chips", &self.chips).finish_non_exhaustive()
    }
}

/// The memory of a scheduler, and where its chips and channels are in it.
fn plan(chips: u32, channels: u32) -> Option<(Plan, usize, usize)> {
    if channels == 0 || chips < channels || !chips.is_multiple_of(channels) {
        return None;
    }
    let mut plan = Plan::of::<FyScheduler>();
    let chips = plan.slice::<ChipState>(chips as usize)?;
    let channels = plan.slice::<ChannelState>(channels as usize)?;
    Some((plan, chips, channels))
}

/// The bytes that a scheduler needs; 0 if there can be none. Each channel has equally many chips,
/// at least one.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name is one of C")]
pub extern "C" fn fy_scheduler_size(chips: u32, channels: u32) -> usize {
    plan(chips, channels).map_or(0, |plan| plan.0.bytes())
}

/// Makes a scheduler whose chips have nothing to do in lent memory of `bytes` bytes, which begins
/// at a multiple of `FY_ALIGN`. Returns null if it is too small, not aligned, or an argument is
/// wrong.
///
/// # Safety
///
/// `memory` is valid for reads and writes of so many bytes for as long as the scheduler is used,
/// and nothing else uses it. `options` is valid for reads, or null.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "memory is lent by a firmware in C")]
pub unsafe extern "C" fn fy_scheduler_init(
    memory: *mut c_void,
    bytes: usize,
    chips: u32,
    channels: u32,
    options: *const FyOptions,
) -> *mut FyScheduler {
    let scheduler = memory.cast::<FyScheduler>();
    let memory = memory.cast::<u8>();
    let null = core::ptr::null_mut();
    let Some((plan, chips_at, channels_at)) = plan(chips, channels) else { return null };
    // SAFETY: the caller says that it is valid or null.
    let Some(options) = (unsafe { options.as_ref() }) else { return null };
    let Some(order) = data_order(options.data_order) else { return null };
    if !plan.fits(memory, bytes) {
        return null;
    }
    let polling = Polling { waits: options.waits, gap: Span::from_ns(options.poll_gap_ns) };
    let (count, buses) = (chips as usize, channels as usize);
    // SAFETY: the plan fits into the memory, and no two of its parts overlap.
    let chips = unsafe { memory::slice(memory, chips_at, count, ChipState::IDLE) };
    // SAFETY: as above.
    let channels = unsafe { memory::slice(memory, channels_at, buses, ChannelState::IDLE) };
    let inner = Scheduler::new(chips, channels, order, polling);
    // SAFETY: the memory begins with room for it and is aligned.
    unsafe { scheduler.write(FyScheduler { inner, chips: count }) };
    scheduler
}

/// One iteration of the loop.
///
/// # Safety
///
/// `scheduler` is one that `fy_scheduler_init` has made, in memory that is still lent. `platform`
/// is valid for reads; its functions may be called with its context. None of them uses this
/// scheduler.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the scheduler is in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_scheduler_iterate(
    scheduler: *mut FyScheduler,
    platform: *const FyPlatform,
) -> FyOutcome {
    // SAFETY: the caller says that it is one, and that nobody else uses it now.
    let Some(scheduler) = (unsafe { scheduler.as_mut() }) else { return FyOutcome::WrongAnswer };
    // SAFETY: the caller says that it is valid.
    let Some(platform) = (unsafe { platform.as_ref() }) else { return FyOutcome::WrongAnswer };
    let Some(mut board) = Board::of(platform, scheduler.chips) else {
        return FyOutcome::WrongAnswer;
    };
    let worked = scheduler.inner.iterate(&mut board);
    match (board.wrong, worked) {
        (true, _) => FyOutcome::WrongAnswer,
        (false, true) => FyOutcome::Worked,
        (false, false) => FyOutcome::Idle,
    }
}

/// When a chip is asked for its status next, in nanoseconds; `FY_NEVER` where none waits for that.
///
/// # Safety
///
/// `scheduler` is one that `fy_scheduler_init` has made, in memory that is still lent.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the scheduler is in memory that is lent by a firmware in C")]
pub unsafe extern "C" fn fy_scheduler_next_question(scheduler: *const FyScheduler) -> u64 {
    // SAFETY: the caller says that it is one.
    let scheduler = unsafe { scheduler.as_ref() };
    scheduler.map_or(FY_NEVER, |scheduler| scheduler.inner.next_question().as_ns())
}

/// The functions of a firmware as a platform of the scheduler.
struct Board {
    context: *mut c_void,
    now: unsafe extern "C" fn(*mut c_void) -> u64,
    take_in: unsafe extern "C" fn(*mut c_void) -> bool,
    next: unsafe extern "C" fn(*mut c_void, u32, *mut FyOperation) -> bool,
    send: unsafe extern "C" fn(*mut c_void, *const FyRequest) -> u64,
    response: unsafe extern "C" fn(*mut c_void, *mut FyResponse) -> bool,
    complete: unsafe extern "C" fn(*mut c_void, *const FyOperation),
    chips: usize,
    /// Whether the firmware has answered something that cannot be.
    wrong: bool,
}

impl Board {
    fn of(platform: &FyPlatform, chips: usize) -> Option<Self> {
        Some(Self {
            context: platform.context,
            now: platform.now?,
            take_in: platform.take_in?,
            next: platform.next?,
            send: platform.send?,
            response: platform.response?,
            complete: platform.complete?,
            chips,
            wrong: false,
        })
    }
}

#[expect(unsafe_code, reason = "the functions are those of a firmware in C")]
impl Platform for Board {
    fn now(&self) -> Time {
        // SAFETY: the caller of `fy_scheduler_iterate` says that it may be called.
        Time::from_ns(unsafe { (self.now)(self.context) })
    }

    fn take_in(&mut self) -> bool {
        // SAFETY: as in `now`.
        unsafe { (self.take_in)(self.context) }
    }

    fn next(&mut self, chip: u32) -> Option<Operation> {
        let mut operation = FyOperation::default();
        // SAFETY: as in `now`; the operation is writable.
        let is_one = unsafe { (self.next)(self.context, chip, &raw mut operation) };
        if !is_one {
            return None;
        }
        let operation = operation.operation(self.chips).filter(|one| one.chip == chip);
        self.wrong |= operation.is_none();
        operation
    }

    fn send(&mut self, request: &BusRequest) -> Time {
        let request = FyRequest::from(request);
        // SAFETY: as in `now`; the request is readable.
        Time::from_ns(unsafe { (self.send)(self.context, &raw const request) })
    }

    fn response(&mut self) -> Option<Response> {
        let mut response = FyResponse::default();
        // SAFETY: as in `now`; the response is writable.
        while unsafe { (self.response)(self.context, &raw mut response) } {
            match response.response(self.chips) {
                None => self.wrong = true,
                some => return some,
            }
        }
        None
    }

    fn complete(&mut self, operation: &Operation) {
        let operation = FyOperation::from(operation);
        // SAFETY: as in `now`; the operation is readable.
        unsafe { (self.complete)(self.context, &raw const operation) };
    }
}

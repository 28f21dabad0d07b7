//! Policies that are functions of C.

#![expect(unsafe_code, reason = "the border to C")]

use core::ffi::{c_char, c_void};
use flashyard_core::bus::policy::{BusPolicy, ChannelView};
use flashyard_core::command::{Op, StreamId};
use flashyard_core::key::NoKeys;
use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
use flashyard_core::units::Time;
use flashyard_sim::own::{Family, OwnParts, Parts};
use std::cell::RefCell;

use crate::border::{list, text};
use crate::types::{FY_NEVER, FyOptions};

/// A command that is about to wait for its die.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyCommand {
    /// When its request reached the device, in nanoseconds from the start; `FY_NEVER` for the
    /// device's own work.
    pub request_arrival_ns: u64,
    /// The flash operation time of its request, as far as that is translated, in nanoseconds.
    pub request_fot_ns: u64,
    /// The place of its request in the order of admission.
    pub request_order: u64,
    /// How many commands of reads have been placed on its die since none waited there.
    pub reads_before: u64,
    /// Mapping units of its request.
    pub request_pages: u32,
    /// The stream that it works for; 65,535 for the device's own work.
    pub stream: u16,
    /// What the array does: 0 reads, 1 programs, 2 erases.
    pub op: u8,
    /// What it is done for: 0 data of the host, 1 and 2 the map (fetch, write-back), 3 and 4
    /// garbage collection (data, map), 5 wear levelling, 6 merges, 7 folding of an SLC cache, 8 the
    /// journal of the map, 9 recovery from a loss of power, 10 reading ahead.
    pub purpose: u8,
    /// Whether its request is a read.
    pub is_read: bool,
}

/// Where a command waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FyPlacement {
    /// The order inside the queue, the least first; equal ones in the order of insertion.
    pub key: u64,
    /// When the command may wait no longer, in nanoseconds from the start; `FY_NEVER` without such
    /// a time.
    pub deadline_ns: u64,
    /// The queue, from 0, which is served first.
    pub queue: u32,
}

/// A command policy: which waiting command a die takes next. Its answers must depend on the
/// arguments alone; copies of a device share the context.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyCommandPolicy {
    /// The name that `policy.command` chooses it by; it is copied.
    pub name: *const c_char,
    /// What its function gets first. Nothing uses it once the device and its copies are closed.
    pub context: *mut c_void,
    /// Its queues, from 1 to 16.
    pub queues: u32,
    /// Says where a command waits. `placement` holds queue 0, key 0 and no deadline at first.
    pub place: Option<
        extern "C" fn(
            context: *mut c_void,
            command: *const FyCommand,
            now_ns: u64,
            placement: *mut FyPlacement,
        ),
    >,
}

/// An operation of a chip whose next bus request can be sent now.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FyBusCandidate {
    /// The place of the operation in the order in which chips took operations.
    pub number: u64,
    /// When the operation was handed over, in nanoseconds from the start.
    pub since_ns: u64,
    /// The place of the request in the order in which requests could be sent.
    pub wanted: u64,
    /// The stream that asked for the operation.
    pub stream: u16,
    /// The request: 0 erase, 1 program prolog, 2 data in, 3 program, 4 read, 5 data out, 6 status.
    pub kind: u8,
    /// Whether the array of the operation has been started.
    pub started: bool,
    /// Whether there is a request at all.
    pub present: bool,
}

/// What a bus policy knows of a channel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FyChannel {
    /// By chip; with cache reads a chip has two, of its array and of its page register.
    pub candidates: *const FyBusCandidate,
    /// How many there are.
    pub chips: usize,
    /// Operations whose array has been started.
    pub started: u64,
    /// Operations that are complete.
    pub completed: u64,
    /// The chip that moved data last.
    pub last_data: usize,
}

/// A bus policy: what a channel carries next. Its answers must depend on the arguments alone;
/// copies of a device share the context.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FyBusPolicy {
    /// The name that `channel.arbitration` chooses it by; it is copied.
    pub name: *const c_char,
    /// What its function gets first. Nothing uses it once the device and its copies are closed.
    pub context: *mut c_void,
    /// The chip whose request is sent, one that is present; a negative number leaves the bus idle
    /// until something changes.
    pub pick: Option<extern "C" fn(context: *mut c_void, channel: *const FyChannel) -> i64>,
}

/// The names of queues in logs.
const QUEUES: [&str; 16] = [
    "C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "C14",
    "C15",
];

/// What a function of C gets first.
#[derive(Clone, Copy)]
struct Context(*mut c_void);

// SAFETY: the library only passes the pointer to the function that it was registered with. A caller
// that uses one context on several threads promises that the function is safe for that.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

#[derive(Clone, Copy)]
struct CommandsInC {
    context: Context,
    queues: usize,
    place: extern "C" fn(*mut c_void, *const FyCommand, u64, *mut FyPlacement),
}

impl CommandPolicy for CommandsInC {
    fn queue_names(&self) -> &'static [&'static str] {
        &QUEUES[..self.queues]
    }

    fn place(&self, command: &CommandView<'_>, now: Time) -> Placement {
        let stream = match command.stream {
            StreamId::Host(stream) => stream,
            _ => u16::MAX,
        };
        let mut seen = FyCommand {
            request_arrival_ns: FY_NEVER,
            reads_before: command.reads_before,
            stream,
            op: match command.op {
                Op::Read => 0,
                Op::Program => 1,
                Op::Erase => 2,
            },
            purpose: command.purpose as u8,
            ..FyCommand::default()
        };
        if let Some(request) = command.request {
            seen.request_arrival_ns = request.arrival.as_ns();
            seen.request_fot_ns = request.fot.as_ns();
            seen.request_order = request.order;
            seen.request_pages = request.pages;
            seen.is_read = request.is_read;
        }
        let mut placement = FyPlacement { key: 0, deadline_ns: FY_NEVER, queue: 0 };
        (self.place)(self.context.0, &raw const seen, now.as_ns(), &raw mut placement);
        let queue = usize::try_from(placement.queue).ok().filter(|queue| *queue < self.queues);
        let queue = queue.unwrap_or_else(|| {
            panic!(
                "the policy in C places a command in queue {} of {}",
                placement.queue, self.queues
            )
        });
        let deadline = (placement.deadline_ns < FY_NEVER).then_some(placement.deadline_ns);
        Placement {
            queue: u8::try_from(queue).expect("at most 16"),
            key: placement.key,
            deadline: deadline.map(Time::from_ns),
        }
    }
}

#[derive(Clone, Copy)]
struct BusInC {
    context: Context,
    pick: extern "C" fn(*mut c_void, *const FyChannel) -> i64,
}

thread_local! {
    /// The candidates in the layout of C, from call to call the same memory.
    static CANDIDATES: RefCell<Vec<FyBusCandidate>> = const { RefCell::new(Vec::new()) };
}

impl BusPolicy for BusInC {
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize> {
        // Taken out: the function may use another device.
        let mut candidates = CANDIDATES.take();
        candidates.clear();
        candidates.extend(channel.candidates.iter().map(|candidate| {
            candidate.map_or_else(FyBusCandidate::default, |of| FyBusCandidate {
                number: of.number,
                since_ns: of.since.as_ns(),
                wanted: of.wanted,
                stream: of.stream,
                kind: u8::try_from(of.kind.index()).expect("seven kinds"),
                started: of.started,
                present: true,
            })
        }));
        let seen = FyChannel {
            candidates: candidates.as_ptr(),
            chips: candidates.len(),
            started: channel.started,
            completed: channel.completed,
            last_data: channel.last_data,
        };
        let picked = (self.pick)(self.context.0, &raw const seen);
        CANDIDATES.set(candidates);
        let chip = usize::try_from(picked).ok()?;
        let there = channel.candidates.get(chip).is_some_and(Option::is_some);
        assert!(there, "the policy in C picks chip {chip}, which has no request to send");
        Some(chip)
    }
}

/// The policies of options as parts of a device.
///
/// # Safety
///
/// Pointers of the options are as `FyOptions` says, and functions bear the threads that drive their
/// devices.
pub(crate) unsafe fn parts(options: &FyOptions) -> Result<OwnParts, String> {
    let FyOptions { command_policies, command_policies_count, .. } = *options;
    let FyOptions { bus_policies, bus_policies_count, .. } = *options;
    // SAFETY: the caller promises it.
    let commands = unsafe { list("command_policies", command_policies, command_policies_count) }?;
    // SAFETY: the caller promises it.
    let buses = unsafe { list("bus_policies", bus_policies, bus_policies_count) }?;
    if commands.is_empty() && buses.is_empty() {
        return Ok(OwnParts::default());
    }
    let mut parts = Parts::new();
    for policy in commands {
        // SAFETY: the caller promises it.
        let name = unsafe { name(policy.name, &parts, Family::CommandPolicy) }?;
        let queues = usize::try_from(policy.queues).unwrap_or(0);
        let place = policy.place.filter(|_| (1..=QUEUES.len()).contains(&queues));
        let place = place.ok_or_else(|| {
            format!("command policy {name}: it needs a function and from 1 to 16 queues")
        })?;
        let made = CommandsInC { context: Context(policy.context), queues, place };
        parts = parts.command_policy(name, "A policy in C.", move |_: NoKeys| made);
    }
    for policy in buses {
        // SAFETY: the caller promises it.
        let name = unsafe { name(policy.name, &parts, Family::BusPolicy) }?;
        let pick = policy.pick.ok_or_else(|| format!("bus policy {name}: it needs a function"))?;
        let made = BusInC { context: Context(policy.context), pick };
        parts = parts.bus_policy(name, "A policy in C.", move |_: NoKeys| made);
    }
    Ok(parts.share())
}

/// The name of a policy.
///
/// # Safety
///
/// The pointer is as `FyOptions` says.
unsafe fn name(pointer: *const c_char, parts: &Parts, family: Family) -> Result<String, String> {
    // SAFETY: the caller promises it.
    let name = unsafe { text(pointer) }.ok_or("a policy has no name")?;
    parts.refuses(family, name).map_or_else(|| Ok(name.to_string()), Err)
}

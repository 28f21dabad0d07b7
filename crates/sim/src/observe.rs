//! What a run tells those who watch it: one call an event, with plain data.

use crate::metrics::counters::Tally;
use crate::metrics::parts::Parts;
use flashyard_core::bus::request::BusRequest;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::Request;
use flashyard_core::units::{ChannelId, DieId, PlaneId, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A command that waits in a queue, or moved inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// When.
    pub at: Time,
    /// Whether it waited already and was moved.
    pub moved: bool,
    /// The command.
    pub command: CommandName,
    /// The queue's name.
    pub queue: &'static str,
    /// Its key there.
    pub key: u64,
}

/// Which command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandName {
    /// The request that it belongs to, by order of arrival from 0; none for the device's own work.
    pub request: Option<u64>,
    /// The page access, counted inside the request.
    pub page: u32,
    /// Short name: MRe, MP, MRf, DR, DP; GR, GP, GE, UR, UP for garbage collection.
    pub stage: &'static str,
}

/// A command that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandDone {
    /// The command.
    pub command: CommandName,
    /// What the array did.
    pub op: Op,
    /// What for.
    pub purpose: Purpose,
    /// The logical unit of the data that it moved; none for map pages, copies and erases.
    pub lpn: Option<u32>,
    /// Where.
    pub die: DieId,
    /// The physical page, the first page of an erased block, or none for a never-written page.
    pub ppn: Option<u32>,
    /// The queue that it was taken from.
    pub queue: &'static str,
    /// Its key there.
    pub key: u64,
    /// When it first waited.
    pub enqueued: Time,
    /// When the die took it.
    pub start: Time,
    /// When the die was free again.
    pub end: Time,
    /// How often it moved while it waited.
    pub rekeys: u32,
    /// How often its operation sensed its pages again.
    pub retries: u32,
}

/// A program or an erase that makes way for reads, or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspension {
    /// The command that leads the operation.
    pub command: CommandName,
    /// What that is for.
    pub purpose: Purpose,
    /// Where.
    pub die: DieId,
    /// When the die took the operation.
    pub began: Time,
    /// When it begins to be suspended, or resumed.
    pub at: Time,
    /// When it has been: reads may begin, or the array goes on with it.
    pub until: Time,
    /// Whether it is resumed.
    pub resumed: bool,
}

/// A bus request, told when it gets the bus of its channel. The loop of the framework sends ahead:
/// the time on the bus may lie in the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusTransfer {
    /// The command that leads the operation.
    pub command: CommandName,
    /// What that is for.
    pub purpose: Purpose,
    /// The request. Its operation is the number of the die.
    pub request: BusRequest,
    /// The die.
    pub die: DieId,
    /// From when on the bus carries it.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// Of a status request, whether the answer is that the die is done.
    pub ready: Option<bool>,
}

/// An access to the buffer, told when it has a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAccess {
    /// The request that asked for it, by order of arrival from 0; none for a flush.
    pub request: Option<u64>,
    /// The page access, counted inside the request.
    pub page: u32,
    /// The unit.
    pub lpn: u32,
    /// The bank of its line; none where its line has gone.
    pub bank: Option<u32>,
    /// Whether it was put, not got.
    pub put: bool,
    /// From when on it had the port.
    pub start: Time,
    /// Until when.
    pub end: Time,
}

/// What a command set does for a while, as its latency account sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It waits for a slot of the command queue: of this die, where `queue.slots_scope` is `die`.
    Slot(Option<DieId>),
    /// It waits for the set of this number.
    Waits(u32, EdgeKind),
    /// A victim is being searched for.
    Firmware,
    /// It stands for the copies of a job.
    Collecting,
    /// It waits for a line of the write buffer.
    Line,
    /// It is in the write buffer, or waits for a port.
    Buffer,
    /// It is on the link to the host, or waits for it.
    Link,
    /// Its command waits for the die, in a queue or suspended.
    Die,
    /// Its command is on the die. In the two spans it waited there for the channel; with bus
    /// requests the lengths are exact and the places are not.
    Runs([(Time, Time); 2]),
}

/// A piece of the life of a command set, told when it is over. The pieces of a set follow one
/// another without a gap, from when it was made until it is over; none of them is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the set. A later set gets the number of one that is over.
    pub set: u32,
    /// Its current command.
    pub command: CommandName,
    /// The die of that.
    pub die: DieId,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// What the set did.
    pub doing: Doing,
    /// What its time was charged as.
    pub parts: Parts,
}

/// A command set is over. The latency of a request has the parts of its last set, and what the
/// answer takes on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetOver {
    /// The number of the set.
    pub set: u32,
    /// When.
    pub at: Time,
    /// The request that it belongs to, by order of arrival from 0; none for the device's own work.
    pub request: Option<u64>,
    /// The page access, counted inside the request.
    pub page: u32,
    /// The latency parts of the set. The time before the set was made has the parts of its request.
    pub parts: Parts,
    /// The die whose slot it gives back, if it has had one.
    pub slot: Option<DieId>,
    /// Whether its line of the write buffer can take another unit from now on.
    pub frees_line: bool,
}

/// A request is answered; work that it caused may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestAnswered {
    /// Order of arrival, from 0.
    pub order: u64,
    /// When.
    pub at: Time,
}

/// A die has the power for its next command, for which it stood in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerWaited {
    /// The die.
    pub die: DieId,
    /// Since when it stood in line.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// The die that has given power back last.
    pub giver: Option<DieId>,
}

/// A die takes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationBegan {
    /// When.
    pub at: Time,
    /// Where.
    pub die: DieId,
    /// The plane of the command that leads it.
    pub plane: PlaneId,
    /// The number of the set of that command.
    pub set: u32,
    /// That command.
    pub command: CommandName,
    /// What the array does.
    pub op: Op,
    /// What for.
    pub purpose: Purpose,
    /// The physical page, the first page of an erased block, or none for a never-written page.
    pub ppn: Option<u32>,
}

/// A channel is reserved for the command and the data of an operation. Devices whose channels
/// carry bus requests tell of these instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelTransfer {
    /// The channel.
    pub channel: ChannelId,
    /// The die.
    pub die: DieId,
    /// The number of the set that leads its operation.
    pub set: u32,
    /// The command that leads the operation.
    pub command: CommandName,
    /// What that is for.
    pub purpose: Purpose,
    /// From when on: that may lie in the future.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Whether data leave the die.
    pub out: bool,
}

/// How many blocks of all planes are free, told when an operation begins or a block is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeBlocks {
    /// When.
    pub at: Time,
    /// How many.
    pub blocks: u64,
}

/// Why a job of garbage collection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// The plane had few free blocks: at most `gc.soft_free_blocks`.
    FewBlocks,
    /// A program needed a free block and only the reserve was left.
    Needed,
    /// The spare space of a plane whose collection is paced was below its target
    /// ([`Settings::spare_target`](crate::config::Settings::spare_target)).
    Pace,
    /// No request had been outstanding for long enough.
    Idle,
    /// A block is erased less often than the others.
    Wear,
    /// Upkeep between phases asked for it.
    Upkeep,
    /// A block of the SLC cache is folded because no request had been outstanding for long enough.
    FoldIdle,
    /// The same because a write waited for room in the cache.
    FoldForWrite,
    /// The same because the plane was short of free blocks.
    FoldForSpace,
}

impl Trigger {
    /// Whether a block of the SLC cache is folded.
    pub const fn folds(self) -> bool {
        matches!(self, Self::FoldIdle | Self::FoldForWrite | Self::FoldForSpace)
    }
}

/// A job of garbage collection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobBegan {
    /// When.
    pub at: Time,
    /// Where.
    pub plane: PlaneId,
    /// The block that it cleans.
    pub victim: u32,
    /// How many valid units that has.
    pub valid: u32,
    /// Free blocks of the plane.
    pub free_blocks: u64,
    /// Why.
    pub trigger: Trigger,
    /// The request whose program took the space, by order of arrival from 0.
    pub request: Option<u64>,
}

/// A translation layer has planned merges: sets of merges of this plane's layer that are made from
/// now on belong to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeBegan {
    /// When.
    pub at: Time,
    /// Where.
    pub plane: PlaneId,
    /// Switch merges, partial merges, full merges and log blocks without a valid page.
    pub kinds: [u64; 4],
    /// The request whose write needed them, by order of arrival from 0.
    pub request: Option<u64>,
}

/// What the device does work of its own for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCause {
    /// The job under way on its plane.
    Job,
    /// Map pages with entries of data that a job has moved, or that are written back at the end.
    Map,
    /// The merges that were planned last for the layer of this plane.
    Merge(PlaneId),
    /// A unit of the write buffer is flushed.
    Flush(FlushTrigger),
    /// A zone is reset, finished, opened or closed.
    Zone,
    /// A unit is read ahead of a run of reads.
    Ahead,
}

/// Why a unit of the write buffer is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlushTrigger {
    /// A request asked for all that is dirty.
    Asked,
    /// It shares the program of a write that is answered when that is over.
    Beside,
    /// So many lines are dirty: `buffer.high_percent`.
    Watermark,
    /// Writes wait for more lines than flushes free.
    Awaited,
    /// Queued writes will need more lines than are free.
    Coming,
    /// It has just been written.
    Written,
    /// No request had been outstanding for long enough.
    Idle,
    /// The host policy says so.
    Policy,
    /// A unit that a read leaves takes its line.
    Displaced,
}

impl FlushTrigger {
    /// Whether a request asked for it.
    pub const fn is_asked(self) -> bool {
        matches!(self, Self::Asked | Self::Beside)
    }
}

/// The device makes a set for work of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnWork {
    /// When.
    pub at: Time,
    /// The number of the set.
    pub set: u32,
    /// The plane of its first command.
    pub plane: PlaneId,
    /// What it is for.
    pub cause: OwnCause,
    /// The request that it is charged to, by order of arrival from 0.
    pub request: Option<u64>,
}

/// What a physical unit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The logical unit of this number.
    Data(u32),
    /// The map page of this number.
    Map(u32),
}

/// A physical unit that is not erased when an observer begins to follow units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitAtStart {
    /// Its number.
    pub ppn: u32,
    /// Whether its block is never used: bad from the start, or worn out.
    pub bad: bool,
    /// Whose newest contents it holds; none where these are elsewhere by now.
    pub contents: Option<Contents>,
}

/// The program of a unit is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitProgrammed {
    /// When.
    pub at: Time,
    /// The physical unit.
    pub ppn: u32,
    /// What it holds.
    pub contents: Contents,
    /// The change that made these contents, as [`UnitChange`] counts them. None of a copy, which
    /// has the contents of the unit that was copied, and of a map page.
    pub version: Option<u64>,
    /// Whether these are the newest contents: a later change may have been committed before.
    pub current: bool,
    /// The unit that held the newest contents until now, and is stale from now on.
    pub old: Option<u32>,
    /// Of a copy, the unit that was copied.
    pub from: Option<u32>,
    /// What for.
    pub purpose: Purpose,
    /// The number of the set.
    pub set: u32,
    /// The request that it belongs to, by order of arrival from 0; none for the device's own work.
    pub request: Option<u64>,
}

/// A logical unit is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitTrimmed {
    /// When.
    pub at: Time,
    /// The logical unit.
    pub lpn: u32,
    /// The physical unit that is stale from now on; none where the unit was not on flash.
    pub ppn: Option<u32>,
    /// The request, by order of arrival from 0.
    pub request: Option<u64>,
}

/// A block has been erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockErased {
    /// When.
    pub at: Time,
    /// The block.
    pub block: u32,
    /// Whether it was its last erase.
    pub worn_out: bool,
    /// What for.
    pub purpose: Purpose,
    /// The number of the set.
    pub set: u32,
    /// The request that it belongs to, by order of arrival from 0; none for the device's own work.
    pub request: Option<u64>,
}

/// A phase of the run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseBegan {
    /// When.
    pub at: Time,
    /// Whether it counts in the report.
    pub measured: bool,
}

/// A request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestArrived {
    /// When.
    pub at: Time,
    /// Order of arrival, from 0.
    pub order: u64,
    /// The request.
    pub request: Request,
    /// Units that it touches.
    pub pages: u32,
    /// Whether what it writes outlives a loss of power when it is answered: there is no volatile
    /// write cache, it is written through, or it says so (FUA).
    pub durable: bool,
}

/// A request is about to change a unit: its place among the changes is known from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitChange {
    /// When.
    pub at: Time,
    /// The logical unit.
    pub lpn: u32,
    /// The number of the change. Of two changes of a unit, the later one has the greater number.
    pub version: u64,
    /// The request, by order of arrival from 0.
    pub request: u64,
    /// Whether it forgets the unit.
    pub trims: bool,
}

/// A unit is in the write buffer, and not on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitBuffered {
    /// When.
    pub at: Time,
    /// The logical unit.
    pub lpn: u32,
    /// The change that made its contents.
    pub version: u64,
    /// The request, by order of arrival from 0; none of a unit that was there before the run.
    pub request: Option<u64>,
}

/// A request that is over, with all work that it caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestDone {
    /// Order of arrival, from 0.
    pub order: u64,
    /// The request.
    pub request: Request,
    /// When it was answered.
    pub completion: Time,
    /// Page accesses.
    pub pages: u32,
    /// Flash operation time as a policy saw it, in nanoseconds.
    pub fot_ns: u64,
    /// From arrival to the first slot, in nanoseconds.
    pub queue_wait_ns: u64,
    /// Time of its own commands, in nanoseconds.
    pub own_ns: u64,
    /// What its latency is made of.
    pub parts: Parts,
    /// Its own commands and the garbage collection charged to it.
    pub work: Tally,
    /// Energy of that work, in picojoules.
    pub energy_pj: u64,
}

/// A request is answered: what is known of it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimed {
    /// Order of arrival, from 0.
    pub order: u64,
    /// The request.
    pub request: Request,
    /// When it was answered.
    pub completion: Time,
    /// Page accesses.
    pub pages: u32,
    /// What its latency is made of.
    pub parts: Parts,
}

/// Samples of the power meter, one behind the other: the energy of each is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerSamples {
    /// When the first begins, in nanoseconds of measured time: phases that are not measured leave
    /// no gap.
    pub start_ns: u64,
    /// How many there are.
    pub samples: u64,
    /// How long each is: a period, or what is left of measured time.
    pub span_ns: u64,
    /// Energy of each.
    pub energy_pj: u64,
}

/// What an observer collects, shared with whoever reads it during the run or behind it.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    /// A value to be shared.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// The value, to itself until what is returned goes. Nobody may hold it already.
    pub fn get(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the value and leaves an empty one.
    pub fn take(&self) -> T
    where
        T: Default,
    {
        std::mem::take(&mut *self.get())
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The events, and the method of an observer that is told of each: a row of this table is all that
/// a new event needs beside its type and its method.
macro_rules! events {
    ($($name:ident => $method:ident;)*) => {
        /// Something that happened.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Event<'a> {
            $($name(&'a $name),)*
        }

        $(impl<'a> From<&'a $name> for Event<'a> {
            fn from(event: &'a $name) -> Self {
                Self::$name(event)
            }
        })*

        impl Event<'_> {
            /// Tells an observer of it.
            pub(crate) fn tell(self, observer: &mut dyn Observer) {
                match self {
                    $(Self::$name(event) => observer.$method(event),)*
                }
            }
        }
    };
}

events! {
    Queued => queued;
    CommandDone => command_done;
    Suspension => suspended;
    BusTransfer => bus_request;
    BufferAccess => buffer_access;
    RequestDone => request_done;
    Piece => piece;
    SetOver => set_over;
    OperationBegan => operation_began;
    ChannelTransfer => transfer;
    FreeBlocks => free_blocks;
    JobBegan => job_began;
    MergeBegan => merge_began;
    RequestAnswered => request_answered;
    PowerWaited => power_waited;
    OwnWork => own_work;
    UnitProgrammed => unit_programmed;
    UnitTrimmed => unit_trimmed;
    BlockErased => block_erased;
    PhaseBegan => phase_began;
    RequestArrived => request_arrived;
    UnitChange => unit_change;
    UnitBuffered => unit_buffered;
    PowerSamples => power;
}

/// Watches a run. It goes with its device from thread to thread.
pub trait Observer: Send {
    /// A command waits, or moved.
    fn queued(&mut self, _event: &Queued) {}
    /// A command is over.
    fn command_done(&mut self, _event: &CommandDone) {}
    /// A program or an erase is suspended, or resumed.
    fn suspended(&mut self, _event: &Suspension) {}
    /// A channel carries a bus request.
    fn bus_request(&mut self, _event: &BusTransfer) {}
    /// An access to the buffer has got its time on a port.
    fn buffer_access(&mut self, _event: &BufferAccess) {}
    /// The power meter has samples. Those of an instant come after all that has begun before it is
    /// over.
    fn power(&mut self, _event: &PowerSamples) {}
    /// Whether it wants the events of the lives of command sets and of the device's own work, those
    /// from [`Self::piece`] on: most observers do not, and a run without them is faster.
    fn follows(&self) -> bool {
        false
    }
    /// A piece of the life of a set is over.
    fn piece(&mut self, _event: &Piece) {}
    /// A set is over.
    fn set_over(&mut self, _event: &SetOver) {}
    /// A request is answered.
    fn request_answered(&mut self, _event: &RequestAnswered) {}
    /// A die has the power that it stood in line for.
    fn power_waited(&mut self, _event: &PowerWaited) {}
    /// A die takes an operation.
    fn operation_began(&mut self, _event: &OperationBegan) {}
    /// A channel is reserved.
    fn transfer(&mut self, _event: &ChannelTransfer) {}
    /// Free blocks are counted.
    fn free_blocks(&mut self, _event: &FreeBlocks) {}
    /// A job of garbage collection begins.
    fn job_began(&mut self, _event: &JobBegan) {}
    /// Merges have been planned.
    fn merge_began(&mut self, _event: &MergeBegan) {}
    /// The device makes a set for work of its own.
    fn own_work(&mut self, _event: &OwnWork) {}
    /// Whether it wants to know what each physical unit holds: the events from
    /// [`Self::unit_at_start`] to [`Self::block_erased`]. Who follows contents does.
    fn follows_units(&self) -> bool {
        self.follows_contents()
    }
    /// A unit that is not erased, told when the device gets the observer.
    fn unit_at_start(&mut self, _event: &UnitAtStart) {}
    /// The program of a unit is over.
    fn unit_programmed(&mut self, _event: &UnitProgrammed) {}
    /// A logical unit is forgotten.
    fn unit_trimmed(&mut self, _event: &UnitTrimmed) {}
    /// A block has been erased.
    fn block_erased(&mut self, _event: &BlockErased) {}
    /// Whether it wants to know which contents of logical units are on flash, and which the host
    /// has an answer for: the events of units, those from [`Self::phase_began`] to
    /// [`Self::unit_buffered`], and [`Self::request_answered`].
    fn follows_contents(&self) -> bool {
        false
    }
    /// A phase begins.
    fn phase_began(&mut self, _event: &PhaseBegan) {}
    /// A request arrives.
    fn request_arrived(&mut self, _event: &RequestArrived) {}
    /// A request is about to change a unit.
    fn unit_change(&mut self, _event: &UnitChange) {}
    /// A unit is in the write buffer.
    fn unit_buffered(&mut self, _event: &UnitBuffered) {}
    /// A request is over, and so is the garbage collection charged to it.
    fn request_done(&mut self, _event: &RequestDone) {}
    /// Whether it wants [`Self::request_timed`] and nothing else. The device then goes on as fast
    /// as if nobody watched it, and tells this observer of nothing else.
    fn wants_times_alone(&self) -> bool {
        false
    }
    /// A request is answered.
    fn request_timed(&mut self, _event: &RequestTimed) {}
}

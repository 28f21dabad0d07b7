//! What a run tells those who watch it: one call an event, with plain data.

use crate::metrics::counters::Tally;
use crate::metrics::parts::Parts;
use flashyard_core::bus::request::BusRequest;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::Request;
use flashyard_core::units::{DieId, Time};

/// A command that waits in a queue, or moved inside it.
#[derive(Clone, Copy, Debug)]
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
#[derive(Clone, Copy, Debug)]
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

/// A request that is over, with all work that it caused.
#[derive(Clone, Copy, Debug)]
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

/// Watches a run.
pub trait Observer {
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
    /// A request is over, and so is the garbage collection charged to it.
    fn request_done(&mut self, _event: &RequestDone) {}
}

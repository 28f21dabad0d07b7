//! What flows lend to the translation layer for a piece of its work, what it answers, and what it
//! leaves to be done by them.
//!
//! The layer decides, makes the sets of its own work and says why. It cannot place commands in
//! queues, set timers or count, so it lists all that in the order in which it is to be done.

use super::base::Base;
use crate::handle::{RequestId, SetId};
use crate::metrics::counters::Padding;
use crate::observe::{OwnCause, Trigger};
use crate::sets::{Mode, OwnWork, Sets, Stage, Wait};
use flashyard_core::command::{Op, Purpose};
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn, Span, Time};

/// The request that work is charged to, and its order of arrival: where it is over by then, nobody
/// is charged.
pub(crate) type Charge = Option<(RequestId, u64)>;

/// A job of garbage collection that has just begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunJob {
    pub(crate) plane: PlaneId,
    pub(crate) victim: BlockId,
    /// Valid units of its victim.
    pub(crate) valid: u32,
    /// Free blocks of its plane.
    pub(crate) free_blocks: u64,
    /// At how many blocks the rule looked.
    pub(crate) searches: u64,
    /// Why it began.
    pub(crate) trigger: Trigger,
    pub(crate) charge: Charge,
}

/// Whose work erases a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eraser {
    /// A job of garbage collection.
    Job,
    /// A merge.
    Merge,
    /// The host, whose change has this number.
    Host(u64),
    /// The journal of a device with layers, which fills its blocks by turns.
    Journal,
    /// A reset of a zone.
    Zone,
}

/// A unit that has been copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// The logical unit; none for a map page.
    pub(crate) lpn: Option<Lpn>,
    pub(crate) from: Ppn,
    pub(crate) to: Ppn,
    /// Whether it counts: its source was still the newest.
    pub(crate) current: bool,
    /// Whether a job of garbage collection copied it, not a merge.
    pub(crate) of_job: bool,
    /// Where data of several handles are kept apart: whose data its block held, and whose open
    /// block it was copied to.
    pub(crate) row: Option<(u8, u8)>,
}

/// A block that has been erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erased {
    pub(crate) block: BlockId,
    /// Whether it was its last erase.
    pub(crate) worn_out: bool,
    pub(crate) by: Eraser,
    /// Whose data it held, where data of several handles are kept apart.
    pub(crate) row: Option<u8>,
}

/// What is to be done for the translation layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Todo {
    /// A set has been made, whose first command runs on this plane: it is counted and charged.
    Made { set: SetId, charge: Charge, plane: PlaneId, cause: OwnCause },
    /// A set goes on.
    GoOn(SetId),
    /// A set goes on, and so do those that waited for it.
    Open(SetId),
    /// A set has no command for now.
    Rest(SetId, Mode),
    /// From now on this command of a set waits.
    Wait(SetId, u8, Wait),
    /// A set waits for more than before, and hands its rank on to that.
    HandOn(SetId),
    /// The victim of the job of a plane is found after this time.
    Search(PlaneId, Span),
    /// The search that a set stands for is over after this time.
    Seek(SetId, Span),
    /// Programs of a plane can find no room any more.
    NoRoom(PlaneId),
    /// The layer has done this: it is counted, checked and told.
    Note(Deed),
}

/// What the translation layer has done, and others count, check and tell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    /// A job has begun.
    Began(BegunJob),
    /// A job that has not begun to copy is given up: its valid units, and whether it levelled wear.
    GivenUp(u32, bool),
    /// The layer of a plane has planned merges of these kinds.
    Merging { plane: PlaneId, kinds: [u64; 4], charge: Charge },
    /// A set has copied a unit.
    Copied(SetId, Copied),
    /// A program had nothing but units that stay empty: its first one, beside those that it lacked.
    Padded(Padding),
    /// The map entry of a unit has changed, in a cached line or not.
    EntryMoved(Lpn, bool),
    /// So many entries of moved units were in cached lines.
    EntriesCached(u64),
    /// A set has erased a block.
    Erased(SetId, Erased),
    /// The trim of a unit with this number outlives a loss of power.
    Kept(Lpn, u64),
}

/// What is lent to the translation layer.
pub(crate) struct Lent<'a> {
    pub(crate) now: Time,
    /// Whether the last request of the phase has been answered.
    pub(crate) ended: bool,
    pub(crate) base: &'a mut Base,
    pub(crate) sets: &'a mut Sets,
    pub(crate) todo: &'a mut Vec<Todo>,
}

impl Lent<'_> {
    /// Makes a set of the device's own work.
    #[inline]
    pub(super) fn own_set(
        &mut self,
        charge: Charge,
        cause: OwnCause,
        work: OwnWork,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        let set = self.sets.add_own(self.now, work, stages);
        self.todo.push(Todo::Made { set, charge, plane: stages[0].1, cause });
        set
    }

    /// The layer has done something that others count.
    #[inline]
    pub(super) fn note(&mut self, deed: Deed) {
        self.todo.push(Todo::Note(deed));
    }

    /// A set goes on.
    #[inline]
    pub(super) fn go_on(&mut self, set: SetId) {
        self.todo.push(Todo::GoOn(set));
    }

    /// The first command of a set begins only after a stage of another one is over.
    pub(super) fn wait(&mut self, set: SetId, source: SetId, stage: u8, kind: EdgeKind) {
        self.sets.connect(Wait { source, stage, kind }, set, 0);
    }
}

/// Pages that are written together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// How many they are.
    pub(crate) pages: u32,
    /// How many of them follow the one that is planned.
    pub(crate) left: u32,
    /// Whether that one begins to be flushed together with the one that was planned before it.
    pub(crate) joins: bool,
}

/// How the data of a write came to be programmed, which says to which placement handle they go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrote {
    /// A request has this placement identifier.
    Identified(u16),
    /// The write buffer flushes lines of a handle.
    Flushed(u8),
}

/// Why a program breaks a rule of NAND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NandRule {
    /// The page has been programmed since the last erase of its block.
    Programmed,
    /// Pages of a block are programmed one after the other, and this one is another's turn.
    Sequential {
        /// The page that may be programmed.
        next: u32,
    },
    /// Pages of a block are programmed in ascending order, and a later one has been.
    Ascending,
}

/// What a program that is about to start gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// A page.
    Page(Ppn),
    /// The first page of a block that was free.
    NewBlock(Ppn),
    /// Nothing: the plane has no room for it.
    Full,
    /// Nothing: it breaks a rule of NAND.
    Broken(NandRule),
}

/// What becomes of a program that has found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It waits for an erase.
    Awaited,
    /// It goes to another plane.
    Elsewhere(PlaneId),
    /// The plane has no block to collect.
    None,
    /// Garbage collection needs it to go on.
    NoReserve,
}

/// The array operation of a merge task that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRun {
    pub(crate) op: Op,
    pub(crate) began: Time,
    pub(crate) span: Span,
}

/// Commands of a merge task that were done in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiesDone {
    /// How many reads and how many programs, and their time in the array.
    pub(crate) ops: [u64; 2],
    pub(crate) array_ns: [u64; 2],
    /// What they were for.
    pub(crate) purposes: [(Op, Purpose); 2],
    /// Copies whose sources were no longer the newest.
    pub(crate) superseded: u64,
    /// The command that is under way then.
    pub(crate) now: CopyRun,
}

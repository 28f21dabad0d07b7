//! What a scheme decides in the life of a set, between phases, and while the device is idle.

use super::base::Base;
use super::lent::{Binding, Charge, CopiesDone, CopyRun, Lent, Room, Run, Wrote};
use super::plan::Plan;
use crate::handle::SetId;
use crate::parts::layer::MergeCounts;
use crate::saved::{Reader, RestoreError, Writer};
use crate::sets::Sets;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Lpn, PlaneId, Ppn, Span, Time};

/// What a scheme decides. What only some schemes have to do, the others leave out.
#[expect(unused_variables, reason = "only some schemes need what is left out")]
pub(super) trait Placement {
    /// Plans a write of a page that is being translated, and adds its program. What must be done
    /// before the write becomes work of its plane.
    fn plan_write(
        &mut self,
        plan: &mut Plan,
        lpn: Lpn,
        run: Run,
        charge: Charge,
        lent: &mut Lent<'_>,
    ) {
        unreachable!("only layers plan")
    }

    /// The set of such a write has been made.
    fn write_made(&mut self, set: SetId, plan: &Plan, charge: Charge, lent: &mut Lent<'_>) {}

    /// Plans the program of a change that has a set already: a flush, or a write that is put and
    /// programmed at once.
    fn plan_change(&mut self, set: SetId, run: Run, charge: Charge, lent: &mut Lent<'_>) {}

    /// The program of a request, or of none, has taken a block; with pacing it begins, and `owes`
    /// copies to the job of its plane.
    fn block_taken(&mut self, plane: PlaneId, charge: Charge, owes: bool, lent: &mut Lent<'_>) {}

    /// A program has found no room on its plane: it waits for the erase that garbage collection of
    /// the plane works towards, or goes to another plane where this one has more valid data than it
    /// can collect.
    fn seek_room(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) -> Room {
        Room::None
    }

    /// A copy has been programmed by a set, or padding.
    fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        unreachable!("nothing is copied")
    }

    /// The device has been idle for so long that a plane folds its SLC cache.
    fn begin_idle_fold(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {}

    /// A set has erased its block.
    fn erased(&mut self, set: SetId, lent: &mut Lent<'_>);

    /// A command of a merge task is over; returns whether the task goes on with another one.
    /// Otherwise it is over, and the next task of its plane begins, if there is one that may.
    fn goes_on(&mut self, set: SetId, lent: &mut Lent<'_>) -> bool {
        false
    }

    /// A gate opens: the tasks behind it to which their planes have come learn what they wait for.
    fn gate_opens(&mut self, gate: SetId, lent: &mut Lent<'_>) {}

    /// The victim of a plane's job has been found: its commands begin.
    fn search_over(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {}

    /// A plane may work because the device is idle.
    fn begin_idle_work(&mut self, plane: PlaneId, lent: &mut Lent<'_>) {}

    /// Begins to reclaim a block of a plane. Returns whether there is anything to do.
    fn reclaim(&mut self, plane: PlaneId, lent: &mut Lent<'_>) -> bool {
        false
    }

    /// Collects one victim of each plane to the end, if one gains; where asked for, only on planes
    /// that have fewer free blocks than when the first phase began.
    fn collect_all(&mut self, restores: bool, lent: &mut Lent<'_>) {}

    /// Plans a piece of work of each plane that nobody waits for. Returns whether there was any:
    /// not where planes are busy or have nothing left to do.
    fn merge_all(&mut self, lent: &mut Lent<'_>) -> bool {
        false
    }

    /// At the end of a phase jobs with pacing rest: each is given up, with its victim in the state
    /// that it is in, which the next job of its plane goes on with. With a map on flash, whose
    /// entries it has moved, it is brought to its end instead. Returns whether that is so of any.
    fn end_resting_jobs(&mut self, lent: &mut Lent<'_>) -> bool {
        false
    }

    /// A program of host data is made, for this plane or, where none is given, for the one that it
    /// goes to. Returns it.
    fn write_begins(
        &mut self,
        plane: Option<PlaneId>,
        lpn: Lpn,
        wrote: Wrote,
        base: &mut Base,
    ) -> PlaneId {
        plane.unwrap_or_else(|| base.plane_of_lpn(lpn))
    }

    /// The page of a program that is about to start.
    fn bind_program(&mut self, set: SetId, sets: &Sets, base: &mut Base) -> Binding;

    /// The program of a page is over, whatever becomes of its contents.
    fn programmed(&mut self, ppn: Ppn, base: &mut Base);

    /// The program of a write by the host is over. Its data counts unless a later change of the
    /// unit has been committed.
    fn write_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) -> (u64, bool);

    /// A trim of a unit is translated, and what it takes added to a plan. Behind a write buffer,
    /// earlier writes of the unit may not have been planned yet: a layer then learns of the trim
    /// when it is over.
    fn trim_translated(&mut self, plan: &mut Plan, lpn: Lpn, base: &mut Base) {
        base.map.uncover(lpn);
    }

    /// A trim is over, and no later change of its unit has been committed: the unit is forgotten.
    fn trim_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) {
        base.forget(set, sets);
    }

    /// A page that has just been planned is forgotten: it had been trimmed before.
    fn trim_planned(&mut self, lpn: Lpn, base: &mut Base) {}

    /// A die of a device with pacing takes a command: one of garbage collection, or one that
    /// garbage collection did not wait for, ends its turn.
    fn note_turn(&mut self, die: DieId, ends: bool) {}

    /// Goes on with the copies of a merge task until `limit`, whose command is under way, while
    /// nothing else can happen on the device: without an event and a queue for each command. None
    /// where there are none to go on with.
    fn copy_in_bulk(
        &mut self,
        (set, run, limit): (SetId, CopyRun, Time),
        sets: &mut Sets,
        array_time: impl Fn(Op, Ppn) -> Span,
        base: &mut Base,
    ) -> Option<CopiesDone> {
        None
    }

    /// A phase begins: earlier idle times and owed copies are forgotten, and the free blocks of the
    /// first phase remembered.
    fn begin_phase(&mut self, base: &mut Base) {
        base.begin_phase();
    }

    /// What has been done since the phase began is not measured.
    fn leave_out(&mut self) {}

    /// What has been planned so far is not told.
    fn leave_untold(&mut self, base: &mut Base) {}

    /// Restores what [`Self::save_planes`] saved.
    fn load_planes(&mut self, from: &mut Reader<'_>, base: &mut Base) -> Result<(), RestoreError>;

    /// Whether a job or a merge of a plane is under way.
    fn is_busy(&self, plane: PlaneId) -> bool {
        false
    }

    /// Whether a plane has work under way that another piece would have to wait for.
    fn is_at_work(&self, plane: PlaneId) -> bool {
        self.is_busy(plane)
    }

    /// Whether programs of a plane wait for garbage collection.
    fn is_held(&self, plane: PlaneId, sets: &Sets) -> bool {
        false
    }

    /// Whether reads wait for operations of a die while writes wait.
    fn holds_reads(&self) -> bool {
        false
    }

    /// Whether garbage collection of a plane has waited for as many commands as may go before it.
    fn is_due(&self, die: DieId, plane: PlaneId) -> bool {
        false
    }

    /// What layers did in measured phases.
    fn merges(&self) -> MergeCounts {
        MergeCounts::default()
    }

    /// Saves the state of the planes, or of what stands for them.
    fn save_planes(&self, to: &mut Writer<'_>);
}

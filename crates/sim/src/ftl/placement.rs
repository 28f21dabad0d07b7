//! What a scheme decides in the life of a set, between phases, and while the device is idle.

use super::base::Base;
use super::lent::{Binding, Lent};
use crate::handle::SetId;
use crate::saved::{Reader, RestoreError, Writer};
use crate::sets::Sets;
use flashyard_core::units::{Lpn, PlaneId, Ppn};

/// Who chooses the pages of writes: a page map, layers that plan, the host. Each is lent what all
/// of them work with; what none but one does is left out by the others.
pub(super) trait Placement {
    /// A program of host data is made, for this plane or, where none is given, for the one that it
    /// goes to. Returns it.
    fn write_begins(&mut self, base: &Base, plane: Option<PlaneId>, lpn: Lpn) -> PlaneId {
        plane.unwrap_or_else(|| base.plane_of_lpn(lpn))
    }

    /// The page of a program that is about to start.
    fn bind(&mut self, base: &mut Base, set: SetId, sets: &Sets) -> Binding;

    /// The program of a page is over, whatever becomes of its contents.
    fn programmed(&mut self, base: &mut Base, ppn: Ppn);

    /// The program of a write by the host is over. Its data counts unless a later change of the
    /// unit has been committed. Returns the number of the change, and whether it counts.
    fn write_over(&mut self, base: &mut Base, set: SetId, sets: &mut Sets) -> (u64, bool);

    /// A copy has been programmed by a set.
    fn copied(&mut self, _base: &mut Base, _set: SetId, _lent: &mut Lent<'_>) {
        unreachable!("nothing is copied");
    }

    /// A set has erased its block.
    fn erased(&mut self, base: &mut Base, set: SetId, lent: &mut Lent<'_>);

    /// A trim of a unit has been translated. Behind a write buffer, earlier writes of the unit may
    /// not have been planned yet: a layer then learns of the trim when it is committed.
    fn trim_translated(&mut self, _lpn: Lpn) {}

    /// A trim is over, and its unit forgotten.
    fn trim_over(&mut self, _set: SetId, _sets: &Sets) {}

    /// Whether a job or a merge of a plane is under way.
    fn is_busy(&self, _plane: PlaneId) -> bool {
        false
    }

    /// Whether a plane has work under way that another piece would have to wait for.
    fn is_at_work(&self, plane: PlaneId) -> bool {
        self.is_busy(plane)
    }

    /// A plane may work because the device is idle.
    fn work_idle(&mut self, _base: &mut Base, _plane: PlaneId, _lent: &mut Lent<'_>) {}

    /// Begins to reclaim a block of a plane. Returns whether there is anything to do.
    fn reclaim(&mut self, _base: &mut Base, _plane: PlaneId, _lent: &mut Lent<'_>) -> bool {
        false
    }

    /// A bit a page: whether it is not erased, where pages of a block are not filled in ascending
    /// order.
    fn marked_pages<'a>(&'a self, _base: &'a Base) -> Option<&'a [u64]> {
        None
    }

    /// A phase begins: what is owed from before it is forgotten.
    fn begin_phase(&mut self) {}

    /// Saves what no other part of the device has.
    fn save(&self, to: &mut Writer<'_>);

    /// Restores what [`Self::save`] saved.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError>;
}

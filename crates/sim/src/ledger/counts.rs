//! Counts the commands of an operation that is over.

use super::Ledger;
use crate::handle::SetId;
use crate::metrics::counters::{ArrayWork, Phase, Work};
use crate::observe::CommandName;
use crate::sets::{Operation, Place, Stage};
use flashyard_core::command::Op;
use flashyard_core::units::DieId;

impl Ledger<'_> {
    /// The command of a set, of this kind, is over with its operation: that is counted and charged.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn command_over(
        &mut self,
        (stage, set): (Stage, SetId),
        place: (DieId, Phase),
        operation: &Operation,
    ) {
        self.account_for((stage, set), place, operation);
        self.close_with((stage, set), operation);
    }

    /// Counts a set's share of an operation: the first set of a page stands for the page, the
    /// leader for the operation and its command.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(crate) fn account_for(
        &mut self,
        (stage, set): (Stage, SetId),
        (die, phase): (DieId, Phase),
        operation: &Operation,
    ) {
        let state = &self.sets[set];
        let (codewords, rider) = (state.page_codewords(), state.rider());
        if stage == Stage::Program {
            self.account.host_unit_programmed(state.stream());
        }
        if codewords > 0 {
            let leads = Some(set) == operation.leader();
            let transfer_ns = if self.flash.has_requests() {
                self.wire_share(set, die, leads)
            } else if leads && rider.is_none() {
                operation.channel_ns()
            } else {
                let command_ns = if leads { self.flash.command_ns() } else { 0 };
                command_ns + self.flash.channel_ns(stage, codewords, operation.slc())
            };
            self.count_page((stage, set), (operation, phase), (leads, transfer_ns));
        }
    }

    /// Counts the work on a page of an operation that is over; `leads` is whether it counts as one.
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    #[inline(always)]
    fn count_page(
        &mut self,
        (stage, set): (Stage, SetId),
        (operation, phase): (&Operation, Phase),
        (leads, transfer_ns): (bool, u64),
    ) {
        let state = &self.sets[set];
        let (op, purpose, charge) = (stage.op(), state.purpose_as(stage), state.charge());
        let arrays =
            Work::of_arrays(self.sets.geometry(), op, 1, operation.array(), operation.slc());
        let work = Work { ops: u64::from(leads), transfer_ns, ..arrays };
        let kind = ArrayWork::of(op, operation.slc());
        self.account.worked(phase, (kind, purpose), charge, &work);
        if operation.retries() > 0 {
            let again = work.times(operation.retries().into());
            self.account.worked(phase, (ArrayWork::Retry, purpose), charge, &again);
        }
    }

    /// Programs and erases under way are counted as if they had ended: they have taken pages, and
    /// most of their energy.
    pub(crate) fn count_under_way(&mut self, phase: Phase) {
        for die in (0..self.sets.geometry().dies()).map(DieId::new) {
            for place in [Place::Array, Place::Suspended] {
                let operation = *self.flash.operation(die, place);
                if operation.op() != Op::Read {
                    self.for_riders(operation.leader(), |ledger, set| {
                        let stage = ledger.sets.stage(set);
                        ledger.account_for((stage, set), (die, phase), &operation);
                    });
                }
            }
        }
    }

    /// Calls `visit` with every set that an operation serves.
    #[inline]
    pub(super) fn for_riders(&mut self, leader: Option<SetId>, visit: impl Fn(&mut Self, SetId)) {
        let mut next = leader;
        while let Some(set) = next {
            next = self.sets[set].rider();
            visit(self, set);
        }
    }

    /// What observers call the current command of a set.
    pub(crate) fn command_name(&self, set: SetId) -> CommandName {
        let (page, stage) = (self.sets[set].page(), self.sets.stage(set).name());
        CommandName { request: self.sets.order_of(set), page, stage }
    }
}

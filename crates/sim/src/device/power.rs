//! The power budget: at most so many dies, or so many milliwatts of them, have their arrays at work
//! at once.
//!
//! A die takes its share of power with a command and gives it back when the array is done; data may
//! still wait for the channel then. A suspended operation keeps its share, which its reads use. A
//! die whose next command finds too little power stands in line; whoever is first in line goes
//! first, and takes what its policy puts first when its turn comes. So nobody starves: everybody
//! ahead needs power that is given back, and no one passes. Further planes ride along only as far
//! as the power reaches.

use super::Device;
use flashyard_core::command::Op;
use flashyard_core::units::DieId;

impl Device {
    /// Whether a die has, or may take, the power of its next command; if not it stands in line.
    pub(super) fn has_power(&mut self, die: DieId, op: Op) -> bool {
        let now = self.now;
        let Some(budget) = &mut self.flash.budget else { return true };
        if budget.shares[die.index()].taken {
            return true;
        }
        let served = budget.served == Some(die);
        let turn = served || budget.line.is_empty();
        if turn && budget.dies > 0 && budget.need(op) <= budget.mw {
            return true;
        }
        budget.refused |= served;
        let share = &mut budget.shares[die.index()];
        if share.waits.is_none() {
            share.waits = Some(now);
            budget.line.push_back(die);
            self.account.totals.energy.power_waits += 1;
            self.relabel(die);
        }
        false
    }

    /// A die begins an operation that [`Self::has_power`] has let through.
    pub(super) fn take_power(&mut self, die: DieId, op: Op) {
        let Some(budget) = &mut self.flash.budget else { return };
        let need = budget.need(op);
        let used = budget.operation_mw[op as usize];
        let share = &mut budget.shares[die.index()];
        share.used_mw = used;
        if !std::mem::replace(&mut share.taken, true) {
            share.mw = need;
            budget.dies -= 1;
            budget.mw -= need;
        }
        if self.waits_for_power(die) {
            self.leave_line(die);
        }
    }

    /// Whether the operation that a die has just begun may cover one more plane.
    pub(super) fn has_power_for_plane(&self, die: DieId, op: Op) -> bool {
        let Some(budget) = &self.flash.budget else { return true };
        let share = &budget.shares[die.index()];
        let used = share.used_mw + budget.operation_mw[op as usize];
        used.saturating_sub(share.mw) <= budget.mw
    }

    /// It covers one more plane.
    pub(super) fn take_power_for_plane(&mut self, die: DieId, op: Op) {
        let Some(budget) = &mut self.flash.budget else { return };
        let share = &mut budget.shares[die.index()];
        share.used_mw += budget.operation_mw[op as usize];
        let more = share.used_mw.saturating_sub(share.mw);
        budget.mw -= more;
        share.mw += more;
    }

    /// The array of a die is done with its operation.
    pub(super) fn return_power(&mut self, die: DieId) {
        let suspended = self.flash.dies[die.index()].suspended.is_some();
        let Some(budget) = &mut self.flash.budget else { return };
        let share = &mut budget.shares[die.index()];
        share.used_mw = 0;
        if !suspended {
            budget.dies += 1;
            budget.mw += std::mem::take(&mut share.mw);
            share.taken = false;
        }
    }

    /// The dies in line take commands as far as the power reaches. Returns whether any has left the
    /// line.
    pub(super) fn serve_line(&mut self) -> bool {
        let mut left = false;
        while let Some(die) =
            self.flash.budget.as_ref().and_then(|budget| budget.line.front().copied())
        {
            self.set_served(Some(die));
            self.dispatch(die);
            self.set_served(None);
            let Some(budget) = &self.flash.budget else { break };
            if budget.refused || self.failed.is_some() {
                break;
            }
            // It has begun an operation, or has none to begin now.
            if budget.waits(die) {
                self.leave_line(die);
            }
            left = true;
        }
        left
    }

    /// Whether a die stands in line.
    pub(super) fn waits_for_power(&self, die: DieId) -> bool {
        self.flash.budget.as_ref().is_some_and(|budget| budget.waits(die))
    }

    fn set_served(&mut self, die: Option<DieId>) {
        if let Some(budget) = &mut self.flash.budget {
            budget.served = die;
            budget.refused &= die.is_none();
        }
    }

    /// The first in line leaves it.
    fn leave_line(&mut self, die: DieId) {
        let now = self.now;
        let Some(budget) = &mut self.flash.budget else { return };
        let first = budget.line.pop_front();
        assert_eq!(first, Some(die), "only the first in line is served");
        let since = budget.shares[die.index()].waits.take();
        let waited = now.since(since.expect("it stands in line"));
        self.account.totals.energy.power_waited_ns += waited.as_ns();
        self.relabel(die);
    }
}

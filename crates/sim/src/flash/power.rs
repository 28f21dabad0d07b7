//! The power budget: at most so many dies, or so many milliwatts of them, have their arrays at work
//! at once.
//!
//! A die takes its share of power with a command and gives it back when the array is done; data may
//! still wait for the channel then. A suspended operation keeps its share, which its reads use. A
//! die whose next command finds too little power waits. Dies get power in the order in which they
//! asked; a die chooses its command when its turn comes. So no die starves: every die ahead gives
//! its power back, and no die passes another. Further planes join a command only as far as the
//! power reaches.

use super::Flash;
use crate::config::Settings;
use flashyard_core::command::Op;
use flashyard_core::units::{DieId, Span, Time};
use std::collections::VecDeque;

/// The budget and who has it.
#[derive(Clone, Debug)]
pub(super) struct PowerBudget {
    /// Power of an operation on a plane.
    operation_mw: [u64; 3],
    /// Whether the share of an operation that may be suspended must do for a read.
    suspends: bool,
    /// What is left.
    dies: u64,
    mw: u64,
    shares: Vec<Share>,
    /// Dies in line, and the one that is served.
    line: VecDeque<DieId>,
    served: Option<DieId>,
    /// Whether the one that is served still found too little.
    refused: bool,
    /// The die that has given power back last.
    giver: Option<DieId>,
}

/// Whether a die may begin an operation.
pub(crate) enum Power {
    /// It has the power, or may take it.
    Granted,
    /// It stands in line since now.
    JoinsLine,
    /// It stands in line.
    InLine,
}

/// What a die has of the budget.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Whether it counts as one that is at work.
    taken: bool,
    /// Power that it may take, and takes.
    mw: u64,
    used_mw: u64,
    /// Since when it stands in line.
    waits: Option<Time>,
}

impl PowerBudget {
    /// The budget of a device, if it has one.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = &settings.keys;
        let limit = |value: u64| if value == 0 { u64::MAX } else { value };
        let (dies, mw) = (keys.energy.max_active_dies, keys.energy.budget_mw);
        if dies == 0 && mw == 0 {
            return None;
        }
        let all = settings.geometry.dies() as usize;
        let watched = mw > 0;
        Some(Box::new(Self {
            operation_mw: Op::ALL.map(|op| if watched { settings.operation_mw(op) } else { 0 }),
            suspends: keys.nand.program_suspends > 0 || keys.nand.erase_suspends > 0,
            dies: limit(dies),
            mw: limit(mw),
            shares: vec![Share::default(); all],
            line: VecDeque::with_capacity(all),
            served: None,
            refused: false,
            giver: None,
        }))
    }

    /// The share that the first plane of an operation needs.
    fn need(&self, op: Op) -> u64 {
        let own = self.operation_mw[op as usize];
        if self.suspends { own.max(self.operation_mw[Op::Read as usize]) } else { own }
    }

    /// Whether a die stands in line.
    fn waits(&self, die: DieId) -> bool {
        self.shares[die.index()].waits.is_some()
    }
}

impl Flash {
    /// Whether a die has, or may take, the power of its next command; if not it stands in line.
    #[inline]
    pub(crate) fn power_for(&mut self, die: DieId, op: Op, now: Time) -> Power {
        let Some(budget) = &mut self.budget else { return Power::Granted };
        if budget.shares[die.index()].taken {
            return Power::Granted;
        }
        let served = budget.served == Some(die);
        let turn = served || budget.line.is_empty();
        if turn && budget.dies > 0 && budget.need(op) <= budget.mw {
            return Power::Granted;
        }
        budget.refused |= served;
        let share = &mut budget.shares[die.index()];
        if share.waits.is_some() {
            return Power::InLine;
        }
        share.waits = Some(now);
        budget.line.push_back(die);
        self.relabel(die, now);
        Power::JoinsLine
    }

    /// A die begins an operation that [`Self::power_for`] has let through. Returns how long it
    /// stood in line.
    pub(crate) fn take_power(&mut self, die: DieId, op: Op, now: Time) -> Span {
        let Some(budget) = &mut self.budget else { return Span::ZERO };
        let need = budget.need(op);
        let used = budget.operation_mw[op as usize];
        let share = &mut budget.shares[die.index()];
        share.used_mw = used;
        if !std::mem::replace(&mut share.taken, true) {
            share.mw = need;
            budget.dies -= 1;
            budget.mw -= need;
        }
        self.leave_line(die, now)
    }

    /// Whether the operation that a die has just begun may cover one more plane.
    pub(crate) fn has_power_for_plane(&self, die: DieId, op: Op) -> bool {
        let Some(budget) = &self.budget else { return true };
        let share = &budget.shares[die.index()];
        let used = share.used_mw + budget.operation_mw[op as usize];
        used.saturating_sub(share.mw) <= budget.mw
    }

    /// The operation covers one more plane.
    pub(crate) fn take_power_for_plane(&mut self, die: DieId, op: Op) {
        let Some(budget) = &mut self.budget else { return };
        let share = &mut budget.shares[die.index()];
        share.used_mw += budget.operation_mw[op as usize];
        let more = share.used_mw.saturating_sub(share.mw);
        budget.mw -= more;
        share.mw += more;
    }

    /// The array of a die is done with its operation.
    pub(super) fn return_power(&mut self, die: DieId) {
        let suspended = self.dies[die.index()].suspended.serves();
        let Some(budget) = &mut self.budget else { return };
        let share = &mut budget.shares[die.index()];
        share.used_mw = 0;
        if !suspended {
            budget.dies += 1;
            budget.mw += std::mem::take(&mut share.mw);
            share.taken = false;
            budget.giver = Some(die);
        }
    }

    /// The first die in line, which is served from now on.
    pub(crate) fn serve_first(&mut self) -> Option<DieId> {
        let budget = self.budget.as_mut()?;
        let die = budget.line.front().copied()?;
        budget.served = Some(die);
        Some(die)
    }

    /// The die that was served has taken what it may. Returns whether it found enough power.
    pub(crate) fn end_service(&mut self) -> bool {
        let Some(budget) = &mut self.budget else { return false };
        budget.served = None;
        !std::mem::take(&mut budget.refused)
    }

    /// The die that has given power back last.
    pub(crate) fn power_giver(&self) -> Option<DieId> {
        self.budget.as_ref().and_then(|budget| budget.giver)
    }

    /// Whether a die stands in line.
    #[cold]
    pub(super) fn waits_for_power(&self, die: DieId) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.waits(die))
    }

    /// The first in line leaves it, if it is this die. Returns how long it stood there.
    pub(crate) fn leave_line(&mut self, die: DieId, now: Time) -> Span {
        let Some(budget) = &mut self.budget else { return Span::ZERO };
        if !budget.waits(die) {
            return Span::ZERO;
        }
        let first = budget.line.pop_front();
        assert_eq!(first, Some(die), "only the first in line is served");
        let since = budget.shares[die.index()].waits.take();
        self.relabel(die, now);
        now.since(since.expect("the die stands in line"))
    }
}

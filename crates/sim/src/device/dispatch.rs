//! Dispatch: dies that may take a command look at what waits for them.

use super::Device;
use crate::flash::Accepts;
use crate::handle::SetId;
use crate::sets::Stage;
use crate::waiting::bind::Bound;
use flashyard_core::command::Op;
use flashyard_core::units::DieId;

impl Device {
    /// Idle dies take commands, in ascending order.
    pub(super) fn dispatch_stirred(&mut self) {
        if let Some(dies) = self.flash.gate() {
            return self.dispatch_in_order(dies);
        }
        loop {
            while let Some(die) = self.queues.take_stirred() {
                self.dispatch(die);
            }
            // A die that is served may stir others even where it finds too little power itself.
            if !self.flash.limits_power() || (!self.serve_line() && !self.queues.has_stirred()) {
                break;
            }
        }
    }

    /// A die takes a command if it can, and looks at the one behind any that cannot run now.
    pub(super) fn dispatch(&mut self, die: DieId) {
        while self.failed.is_none() && self.dispatch_next(die) {}
    }

    /// A die takes the command that comes next if it can. Returns whether that goes elsewhere, so
    /// that another one comes next.
    fn dispatch_next(&mut self, die: DieId) -> bool {
        let accepts = self.flash.accepts(die);
        if matches!(accepts, Accepts::Nothing) {
            self.suspend_if_asked(die);
            return false;
        }
        let next = self.waiting().next_command(die);
        if matches!(accepts, Accepts::ReadsOfRequests)
            && !next.is_some_and(|set| self.waiting().is_read_of_request(set))
        {
            if self.flash.can_resume(die) {
                self.waiting().resume(die);
            }
            return false;
        }
        let Some(set) = next else { return false };
        // For the commonest kind all that depends on the kind is known when this is compiled.
        match self.sets.stage(set) {
            Stage::Read => self.dispatch_as(Stage::Read, set, die, accepts),
            stage => self.dispatch_as(stage, set, die, accepts),
        }
    }

    /// A die takes the command of a set, which comes next and is of this kind, if it can. Returns
    /// whether that goes elsewhere.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for each of its two callers")]
    fn dispatch_as(&mut self, stage: Stage, set: SetId, die: DieId, accepts: Accepts) -> bool {
        let op = stage.op();
        if (matches!(accepts, Accepts::Reads) && op != Op::Read)
            || (!self.short_road && op == Op::Program && self.host.holds_programs(self.now))
            || (self.flash.limits_power() && !self.waiting().has_power(die, op))
        {
            return false;
        }
        match self.bind(stage, set, die) {
            Bound::Page(ppn) => {
                self.waiting().take(set, die);
                if !self.short_road {
                    self.waiting().leaves_for_die(set, true);
                }
                self.start(stage, set, die, ppn);
                self.suspend_if_asked(die);
                false
            }
            Bound::NoRoom => {
                self.wait_for_room(set);
                true
            }
            Bound::Refused => false,
            Bound::Elsewhere(plane) => {
                self.waiting().follow(set, plane);
                true
            }
        }
    }

    /// The operation of a die makes way for a read where that may be.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn suspend_if_asked(&mut self, die: DieId) {
        if self.flash.suspends() && self.flash.array_works(die) && !self.flash.is_reading(die) {
            self.suspend_for_read(die);
        }
    }

    /// The dies in line for power take commands as far as it reaches. Returns whether any has left
    /// the line.
    fn serve_line(&mut self) -> bool {
        let mut left = false;
        while let Some(die) = self.flash.serve_first() {
            self.dispatch(die);
            if !self.flash.end_service() || self.failed.is_some() {
                break;
            }
            self.waiting().leave_line(die);
            left = true;
        }
        left
    }

    /// Dies take commands in the order of their arrival, so many dies together.
    #[cold]
    fn dispatch_in_order(&mut self, dies: u32) {
        let scopes = self.settings.geometry.dies() / dies;
        loop {
            if std::iter::from_fn(|| self.queues.take_stirred()).count() == 0 {
                return;
            }
            for scope in 0..scopes {
                while self.failed.is_none() && self.dispatch_oldest(scope, scopes) {}
            }
        }
    }

    /// The oldest command that comes next at any die of a scope starts, if its die accepts it.
    /// Returns whether another one comes next then.
    fn dispatch_oldest(&mut self, scope: u32, scopes: u32) -> bool {
        let Some(die) = self.waiting().oldest_of(scope, scopes) else { return false };
        let accepts = matches!(self.flash.accepts(die), Accepts::Anything);
        if accepts {
            self.dispatch_next(die);
        }
        accepts
    }
}

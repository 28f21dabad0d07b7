//! A loss of power: the device stops, and another one begins with what recovery finds.

use super::Device;
use crate::config::{InitialBuffer, InitialState};
use crate::cut::Cut;
use crate::ftl::Recovered;
use crate::metrics::counters::{ArrayWork, Phase};
use crate::recovery::{Found, Stopped};
use crate::sets::Place;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::units::{DieId, Time};

impl Device {
    /// Whether it says how it recovers from a loss of power.
    pub(crate) const fn can_be_cut(&self) -> bool {
        self.settings.keys.power.is_on()
    }

    /// Time goes on to an instant, and nothing happens before.
    pub(crate) fn pass_to(&mut self, now: Time) {
        if now > self.now {
            self.time_passes(now);
            self.now = now;
        }
    }

    /// The power fails now, with a phase under way, and is back at once. Returns the device that
    /// recovery leaves, whose requests wait until it is over.
    pub(crate) fn cut(mut self, measured: bool, seed: u64) -> (Self, Cut) {
        self.count_under_way();
        let durable = self.account.durable().expect("the device can be cut").clone();
        let stopped = Stopped {
            settings: &self.settings,
            now: self.now,
            ready: self.host.ready(),
            sets: &self.sets,
            flash: &self.flash,
            ftl: &self.ftl,
            buffer: self.buffer.as_deref(),
        };
        let found = stopped.recover(durable, seed);
        self.restart(measured, found)
    }

    /// Programs and erases under way are counted as if they had ended: they have taken pages, and
    /// most of their energy.
    fn count_under_way(&mut self) {
        let phase = self.host.phase();
        for die in (0..self.settings.geometry.dies()).map(DieId::new) {
            for place in [Place::Array, Place::Suspended] {
                let operation = *self.flash.operation(die, place);
                if operation.op() != Op::Read {
                    self.for_riders(operation.leader(), |device, set| {
                        device.ledger().account_for(set, (die, phase), &operation);
                    });
                }
            }
        }
    }

    /// The device that begins again.
    fn restart(mut self, measured: bool, found: Found) -> (Self, Cut) {
        let Found { cut, mut durable, image, trims, lines, bound, read } = found;
        let mut settings = self.settings.clone();
        settings.keys.state.initial = InitialState::Fresh;
        settings.keys.buffer.initial = InitialBuffer::Empty;
        let mut device = Self::with_policy(&settings, self.queues.policy().clone());
        device.settings = self.settings.clone();
        device.now = self.now;
        device.host.restore_arrived(self.host.arrived());
        device.sets.restore_number(self.sets.next_number());
        device.queues.skip_insertions(self.queues.next_insertion());
        device.flash.set_draws(self.flash.draws());
        device.flash.set_bus_marks(&self.flash.bus_marks());
        device.bit_errors = self.bit_errors;
        device.full_way = self.full_way;
        self.account.power_fails(self.now, self.ftl.batch_cleaned());
        for (slc, read) in [false, true].into_iter().zip(&read) {
            let kind = (ArrayWork::of(Op::Read, slc), Purpose::Recovery);
            self.account.worked(Phase::Post, kind, None, read);
        }
        let (owner, version) = (&durable.owner[..], &durable.version[..]);
        let recovered = Recovered { place: &image.place, bound: &bound, trims, owner, version };
        self.ftl.restart(&self.settings, measured, recovered);
        durable.restart();
        device.ftl = self.ftl;
        for line in &lines {
            let group = device.translation().group_of(line.lpn, line.stream);
            device.write_buffer_mut().restore(&line.dirtied(), group, None);
            durable.is_saved(line.lpn.get(), line.version);
        }
        device.account = self.account;
        device.account.restart(durable);
        device.host.recovers(self.now + cut.recovery);
        device.find_short_road();
        (device, cut)
    }
}

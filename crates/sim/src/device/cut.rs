//! A loss of power: the device stops, and another one begins with what recovery finds.

use super::Device;
use crate::config::{InitialBuffer, InitialState};
use crate::cut::Cut;
use crate::ftl::Recovered;
use crate::recovery::{Found, Stopped, Usage};
use flashyard_core::units::Time;

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

    /// The power fails now, with a phase under way that is measured or not, and that work of dies
    /// and channels, and is back at once. Returns the device that recovery leaves.
    pub(crate) fn cut(mut self, phase: (bool, [&Usage; 2]), seed: u64) -> (Self, Cut) {
        let of = self.host.phase();
        self.ledger().count_under_way(of);
        let durable = self.account.take_durable().expect("the device can be cut");
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
        self.restart(phase, found)
    }

    /// The device that begins again.
    fn restart(mut self, (measured, work): (bool, [&Usage; 2]), found: Found) -> (Self, Cut) {
        let Found { cut, mut durable, image, trims, lines, bound, saved_pages, took } = found;
        let mut settings = self.settings.clone();
        settings.keys.state.initial = InitialState::Fresh;
        settings.keys.buffer.initial = InitialBuffer::Empty;
        let mut device = Self::with_policy(&settings, self.queues.policy().clone());
        device.settings = self.settings.clone();
        device.now = self.now;
        device.sets.restore_number(self.sets.next_number());
        device.queues.skip_insertions(self.queues.next_insertion());
        device.flash.go_on_from(&self.flash);
        device.full_way = self.full_way;
        self.account.power_fails(self.now, self.ftl.batch_cleaned(), work, took);
        let (place, owner, version) = (&image.place, &durable.owner, &durable.version);
        let recovered = Recovered { place, bound: &bound, trims, saved_pages, owner, version };
        self.ftl.restart(&self.settings, measured, recovered);
        device.ftl = self.ftl;
        device.translation().restore_lines(&lines);
        for line in &lines {
            durable.is_saved(line.lpn.get(), line.version);
        }
        device.account = self.account;
        device.account.restart(durable);
        device.host.go_on_from(&self.host, self.now + cut.recovery);
        device.find_short_road();
        (device, cut)
    }
}

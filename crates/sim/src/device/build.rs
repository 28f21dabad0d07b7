//! Making a device: in its initial state, with what the write buffer holds before the run.

use super::{Device, SimError, Work};
use crate::account::Account;
use crate::buffer::{Buffer, Lines};
use crate::config::{InitialBuffer, InitialState, PartialWrite, Settings};
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::ftl::planned::Planned;
use crate::host::Host;
use crate::initial;
use crate::initial::progress::Building;
use crate::initial::random::Random;
use crate::parts::layer::Shape;
use crate::parts::log::AnyLayer;
use crate::parts::policy::{HostRule, Policy};
use crate::queues::Queues;
use crate::random::BitErrors;
use crate::sets::Sets;
use crate::waiting::Delays;
use flashyard_core::units::{Lpn, Time};

/// Lines that hold nothing.
fn untouched(lines: &Lines) -> u32 {
    let clean = lines.clean_lines().count();
    lines.free_lines() - u32::try_from(clean).expect("a part of the lines")
}

impl Device {
    /// A device in its initial state, with the command policy that its settings name.
    pub fn new(settings: &Settings) -> Self {
        Self::with_policy(settings, Policy::of(settings))
    }

    /// A device in its initial state, which takes seconds for a large one; `tell` hears now and
    /// then how far that is.
    pub fn new_telling(settings: &Settings, tell: &mut dyn FnMut(Building)) -> Self {
        let make = &mut |shape: &Shape| settings.keys.layer(shape);
        Self::with_parts(settings, Policy::of(settings), make, tell)
    }

    /// A device in its initial state, with this command policy.
    pub fn with_policy(settings: &Settings, policy: Policy) -> Self {
        let make = &mut |shape: &Shape| settings.keys.layer(shape);
        Self::with_parts(settings, policy, make, &mut |_| ())
    }

    /// A device in its initial state, with this command policy; `make` makes the translation layer
    /// of a plane, where there are any, and `tell` hears how far it is.
    fn with_parts(
        settings: &Settings,
        policy: Policy,
        make: &mut dyn FnMut(&Shape) -> Option<AnyLayer>,
        tell: &mut dyn FnMut(Building),
    ) -> Self {
        assert!(!settings.keys.is_disk(), "these are the settings of a disk");
        let mut device = Self::fresh(settings, policy, Planned::new(settings, make));
        let made = initial::device::make_telling(settings, &mut device.ftl, tell);
        device.account.initial_made(made);
        if settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            device.ftl.cover_written(settings.exported_units, settings.geometry.unit_sectors());
        }
        device.fill_buffer();
        device
    }

    /// A device that nothing was ever written to.
    fn fresh(settings: &Settings, policy: Policy, planned: Option<Box<Planned>>) -> Self {
        let host_policy = HostRule::of(&settings.keys);
        let by_pages = host_policy.by_pages();
        let buffer = Buffer::new(settings, by_pages);
        let reads_ahead = settings.keys.buffer.reads_ahead();
        let host = Host::new(settings, host_policy);
        let flash = Flash::new(settings);
        let (geometry, queue) = (&settings.geometry, &settings.keys.queue);
        Self {
            settings: settings.clone(),
            now: Time::ZERO,
            sets: Sets::new(
                geometry,
                queue,
                flash.nominal(),
                settings.gathers() || by_pages || reads_ahead,
            ),
            queues: Queues::new(settings, policy),
            flash,
            ftl: Ftl::new(settings, planned),
            short_road: false,
            admits_reads: false,
            full_way: false,
            has_zones: settings.zones.is_some(),
            buffer,
            host,
            account: Account::new(settings),
            follows_states: settings.keys.follows_states(),
            copies_in_bulk: false,
            bit_errors: match settings.keys.nand.bit_errors_ppb {
                0 => None,
                rate => Some(BitErrors::new(rate)),
            },
            delays: Delays::new(settings.geometry.dies()),
            work: Work::default(),
            failed: None,
        }
    }

    /// Adds a unit as a write would, that came before all others and that nobody is charged for.
    fn add_dirty(&mut self, lpn: Lpn) {
        let (sectors, group) =
            (self.write_buffer().unit_range(), self.translation().group_of(lpn, 0));
        let number = self.sets.take_number();
        if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            self.ftl.cover(lpn, u64::from(sectors.start)..u64::from(sectors.end));
        }
        self.write_buffer_mut().add_dirty(lpn, number, group);
    }

    /// Fills the buffer of a new device as its keys ask.
    fn fill_buffer(&mut self) {
        if self.buffer.is_none() {
            return;
        }
        let steady = self.settings.keys.state.initial == InitialState::Steady;
        match self.settings.keys.buffer.initial {
            InitialBuffer::Auto if steady => self.fill_at_random(),
            InitialBuffer::Auto | InitialBuffer::Empty => {}
            InitialBuffer::Dirty => {
                let exported = self.settings.exported_units;
                for lpn in exported - self.settings.buffer_units..exported {
                    self.add_dirty(Lpn::new(lpn));
                }
            }
        }
    }

    /// Makes different units dirty at random, at most half of those that have been written: all
    /// lines, as a load without idle time does, or until flushing is about to begin.
    fn fill_at_random(&mut self) {
        let state = self.settings.keys.state;
        let written = initial::device::share(self.settings.exported_units, state.fill_percent);
        let lines = self.settings.buffer_units;
        let high = self.settings.keys.buffer.high_percent;
        let count = if state.rested { initial::device::share(lines, high) } else { lines };
        let mut random = Random::new(state.seed, 4);
        let mut left = count.min(written / 2);
        while left > 0 {
            let lpn = Lpn::new(random.below(written));
            if self.write_buffer().lines().find(lpn).is_none() {
                self.add_dirty(lpn);
                left -= 1;
            }
        }
    }

    /// The units in the write buffer and whether flash lacks them: the dirty ones first, of each
    /// kind those first that were written or, as `buffer.recency` says, used longest ago.
    pub fn buffered_units(&self) -> Vec<(u64, bool)> {
        let contents = self.buffer.iter().flat_map(|buffer| buffer.contents());
        contents.map(|(lpn, _, dirty, _)| (u64::from(lpn.get()), dirty)).collect()
    }

    /// Fills the write buffer before the run: units, the bank of the line of each if it is not that
    /// of its number, and whether it is dirty; the least recently used one first. A clean unit
    /// holds what flash has.
    pub fn preload_buffer(&mut self, units: &[(u64, Option<u32>, bool)]) -> Result<(), SimError> {
        let wrong = |why: String| Err(SimError::InitialLines(why));
        let Some(buffer) = &self.buffer else {
            return wrong("initial units, but no write buffer; set buffer.bytes".to_string());
        };
        let (room, banks) = (untouched(buffer.lines()), buffer.lines().banks());
        if units.len() > room as usize {
            let count = units.len();
            let fix = if self.settings.keys.buffer.initial == InitialBuffer::Dirty {
                "set buffer.initial = \"empty\""
            } else {
                "raise buffer.bytes or give fewer"
            };
            return wrong(format!(
                "{count} initial units are more than the {room} free lines; {fix}"
            ));
        }
        let exported = u64::from(self.settings.exported_units);
        for &(number, bank, dirty) in units {
            let Some(lpn) = u32::try_from(number).ok().filter(|_| number < exported) else {
                let last = exported - 1;
                return wrong(format!("initial unit {number}: the last one is {last}"));
            };
            if let Some(bank) = bank.filter(|bank| *bank >= banks) {
                return wrong(format!(
                    "initial unit {number}: bank {bank} of {banks} (buffer.banks), counted from 0"
                ));
            }
            let lpn = Lpn::new(lpn);
            if self.write_buffer().lines().find(lpn).is_some() {
                return wrong(format!("initial unit {number} is in the write buffer already"));
            }
            if dirty {
                self.add_dirty(lpn);
            } else {
                self.write_buffer_mut().add_clean(lpn);
            }
            if let Some(bank) = bank {
                self.write_buffer_mut().move_to_bank(lpn, bank);
            }
        }
        self.account.adopt_buffer(self.buffer.iter().flat_map(|buffer| buffer.contents()));
        Ok(())
    }
}

//! Making a device: in its initial state, with what the write buffer holds before the run.

use super::{Device, SimError, Work};
use crate::account::Account;
use crate::buffer::Buffer;
use crate::config::Settings;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::ftl::planned::Planned;
use crate::host::Host;
use crate::initial;
use crate::initial::progress::Building;
use crate::parts::layer::Shape;
use crate::parts::log::AnyLayer;
use crate::parts::policy::{HostRule, Policy};
use crate::queues::Queues;
use crate::sets::Sets;
use crate::waiting::Delays;
use flashyard_core::units::Time;

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
        device.translation().fill_buffer();
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
            delays: Delays::new(settings.geometry.dies()),
            work: Work::default(),
            failed: None,
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
        self.translation().preload_buffer(units).map_err(SimError::InitialLines)
    }
}

//! Saving a drained device, and making one from what was saved.
//!
//! The continued run is the same, byte for byte, as that of the device that was saved: everything
//! that outlives a request is in the file, statistics included. Settings that shape it
//! (`settings/shape`) must agree; all others may differ, so that an experiment can branch: another
//! policy, another interface, other times.

use super::Device;
use crate::buffer::Buffer;
use crate::config::{InitialBuffer, InitialState, Settings};
use crate::ftl::planned::Planned;
use crate::ledger::time::ftl_figures;
use crate::parts::policy::Policy;
use crate::saved::{Reader, RestoreError, Saved, Writer};

/// The first bytes of a saved device.
const MAGIC: [u8; 8] = *b"FLASHYRD";

/// Raised when anything that is saved changes.
const VERSION: u32 = 22;

impl Device {
    /// Whether [`Self::save`] can save it: not where a user's own translation layer cannot be
    /// saved.
    pub fn can_be_saved(&self) -> bool {
        self.ftl.planned().is_none_or(Planned::can_be_saved)
    }

    /// Hands the state of the device to `sink`, piece by piece. Between phases a device is drained:
    /// nothing is under way.
    pub fn save(&self, sink: &mut dyn FnMut(&[u8])) {
        assert!(
            self.host.outstanding() == 0 && self.sets.live() == 0,
            "a device is saved when drained"
        );
        assert!(self.can_be_saved(), "the translation layer cannot be saved");
        let mut to = Writer::new(sink);
        to.bytes(&MAGIC);
        VERSION.save(&mut to);
        to.text(&self.settings.shape());
        self.rests_at().max(self.host.ready()).save(&mut to);
        [self.host.arrived(), self.sets.next_number(), self.queues.next_insertion()].save(&mut to);
        self.ftl.save_map(&mut to);
        Buffer::save(self.buffer.as_deref(), &mut to);
        self.ftl.save_planes(&mut to);
        self.flash.save(&mut to);
        self.host.save_sleep(&mut to);
        self.account.save(&mut to);
        to.finish();
    }

    /// The device that [`Self::save`] saved, with the command policy that its settings name.
    /// `source` fills a slice from its start and returns how many bytes it had; 0 is the end.
    pub fn restore(
        settings: &Settings,
        source: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Self, RestoreError> {
        Self::restore_with_policy(settings, Policy::of(settings), source)
    }

    /// The same with this command policy.
    pub fn restore_with_policy(
        settings: &Settings,
        policy: Policy,
        source: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Self, RestoreError> {
        let mut from = Reader::new(source);
        if from.array()? != MAGIC {
            return Err(RestoreError::NoSavedDevice);
        }
        let found = u32::from_le_bytes(from.array()?);
        if found != VERSION {
            return Err(RestoreError::Version { found, known: VERSION });
        }
        settings.agrees_with(&from.text()?)?;
        let mut fresh = settings.clone();
        fresh.keys.state.initial = InitialState::Fresh;
        fresh.keys.buffer.initial = InitialBuffer::Empty;
        let mut device = Self::with_policy(&fresh, policy);
        device.settings = settings.clone();
        device.load(&mut from)?;
        from.finish()?;
        Ok(device)
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.now.load(from)?;
        let mut counts = [0u64; 3];
        counts.load(from)?;
        self.host.restore_arrived(counts[0]);
        self.sets.restore_number(counts[1]);
        self.queues.skip_insertions(counts[2]);
        self.ftl.load_map(from)?;
        self.translation().load_buffer(from)?;
        self.ftl.load_planes(from)?;
        self.flash.load(from)?;
        self.host.load_sleep(from, self.now)?;
        self.account.load(from, &ftl_figures(&self.ftl))
    }
}

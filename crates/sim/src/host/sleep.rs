//! The sleep of the device: the way of a request to a device that sleeps begins when it is awake.

use super::Host;
use crate::saved::{Reader, RestoreError, Saved, Writer, save_option};
use crate::sleep::{Load, Sleep, Stretch};
use flashyard_core::units::Time;

impl Host {
    /// Whether the device ever sleeps.
    pub(crate) const fn may_sleep(&self) -> bool {
        self.sleep.is_some()
    }

    /// Somebody needs the device: returns from when on it is awake.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) -> Time {
        self.sleep.as_mut().map_or(now, |sleep| sleep.wake(now))
    }

    /// Time goes on to `to` while the device has this to do: a stretch of it, none where all has
    /// passed or the device never sleeps.
    pub(crate) fn doze(&mut self, to: Time, load: Load) -> Option<Stretch> {
        let sleep = self.sleep.as_mut()?;
        (!sleep.is_past(to)).then(|| sleep.pass(to, load))
    }

    pub(crate) fn save_sleep(&self, to: &mut Writer<'_>) {
        save_option(self.sleep.as_deref(), to);
    }

    /// Takes over the sleep of a device that was saved at `now`. One that did not sleep was awake
    /// until then.
    pub(crate) fn load_sleep(
        &mut self,
        from: &mut Reader<'_>,
        now: Time,
    ) -> Result<(), RestoreError> {
        let mut slept = false;
        slept.load(from)?;
        match (&mut self.sleep, slept) {
            (Some(sleep), true) => sleep.load(from)?,
            (Some(sleep), false) => sleep.stay_awake(now),
            (None, true) => Sleep::awake().load(from)?,
            (None, false) => {}
        }
        Ok(())
    }
}

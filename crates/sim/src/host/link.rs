//! The link to the host, and the sleep of the device, which keeps requests waiting on their way.

use super::nap::Nap;
use crate::config::{Duplex, Settings, Transfer};
use crate::saved::{Reader, RestoreError, Saved, Writer, save_option};
use crate::sleep::{Load, Sleep, Stretch};
use flashyard_core::request::SECTOR_BYTES;
use flashyard_core::units::{Span, Time};

/// Data that the link has begun to carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    /// Whether it goes back to the host.
    pub(crate) back: bool,
    pub(crate) bytes: u64,
    /// From when until when the link carries it.
    pub(crate) from: Time,
    pub(crate) until: Time,
}

/// The link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Whether crossing it takes time or energy, or may have to wait for the device or a thread of
    /// the host.
    exists: bool,
    /// From when on a device is there that has recovered from a loss of power.
    ready: Time,
    /// Whether the data of each page access crosses it by itself.
    by_pages: bool,
    /// Whether both directions carry at once.
    full: bool,
    ps_per_byte: u64,
    latency: Span,
    /// When it has nothing left to carry, to the device and back.
    free: [Time; 2],
    /// What it has begun to carry since the last look, where somebody looks.
    carried: Option<Carried>,
    noted: bool,
    /// The sleep of the device, and its naps.
    sleep: Option<Box<Sleep>>,
    nap: Option<Box<Nap>>,
}

impl Link {
    pub(super) fn new(settings: &Settings) -> Self {
        let (keys, energy) = (settings.keys.interface, settings.keys.energy.link_pj_per_byte);
        let takes_time = keys.link_ps_per_byte > 0 || keys.link_latency_ns > 0;
        let sleeps = settings.keys.sleeps() || settings.keys.power.is_on();
        Self {
            exists: takes_time || energy > 0 || sleeps || keys.delays(),
            ready: Time::ZERO,
            by_pages: keys.transfer != Transfer::Request
                && (keys.link_ps_per_byte > 0 || energy > 0),
            full: keys.duplex == Duplex::Full,
            ps_per_byte: keys.link_ps_per_byte,
            latency: Span::from_ns(keys.link_latency_ns),
            free: [Time::ZERO; 2],
            carried: None,
            noted: energy > 0,
            sleep: Sleep::new(settings.keys.sleep_levels()).map(Box::new),
            nap: Nap::new(&keys),
        }
    }

    /// Whether crossing it takes time or energy, or may have to wait for the device or a thread of
    /// the host.
    #[inline]
    pub(super) const fn exists(&self) -> bool {
        self.exists
    }

    /// Whether the data of each page access crosses it by itself.
    #[inline]
    pub(super) const fn by_pages(&self) -> bool {
        self.by_pages
    }

    /// Whether [`Self::take_carried`] ever has something.
    #[inline]
    pub(super) const fn is_noted(&self) -> bool {
        self.noted
    }

    /// What it has begun to carry since the last look, where its energy is counted.
    #[inline]
    pub(super) const fn take_carried(&mut self) -> Option<Carried> {
        if self.noted { self.carried.take() } else { None }
    }

    /// A request or an answer sets out at `now`, with the data of so many sectors. Returns when all
    /// of it has crossed.
    pub(super) fn cross(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let sectors = if self.by_pages { 0 } else { sectors };
        self.carry(back, sectors, now) + self.latency
    }

    /// Whether what comes over the link at `there` had nothing to wait for.
    #[inline]
    pub(super) fn is_unhindered(&self, there: Time, now: Time) -> bool {
        there == now + self.latency
    }

    /// How many nanoseconds the link carries so many bytes for.
    #[inline]
    fn time_of(&self, bytes: u64) -> u64 {
        let rate = self.ps_per_byte;
        if let Some(ps) = bytes.checked_mul(rate) {
            return ps.div_ceil(1_000);
        }
        let ps = u128::from(bytes) * u128::from(rate);
        u64::try_from(ps.div_ceil(1_000)).expect("sizes and rates are limited")
    }

    /// Takes the link for data from `now` on; returns when it has nothing left to carry.
    pub(super) fn carry(&mut self, back: bool, sectors: u32, now: Time) -> Time {
        let direction = usize::from(back && self.full);
        let bytes = u64::from(sectors) * u64::from(SECTOR_BYTES);
        let ns = self.time_of(bytes);
        let (mut from, mut sent) = (now, now);
        if ns > 0 {
            from = self.free[direction].max(now);
            sent = from + Span::from_ns(ns);
            self.free[direction] = sent;
        }
        if self.noted && sectors > 0 {
            self.carried = Some(Carried { back, bytes, from, until: sent });
        }
        sent
    }

    /// Whether the device ever sleeps.
    pub(super) const fn may_sleep(&self) -> bool {
        self.sleep.is_some()
    }

    /// Somebody needs the device: returns from when on it is awake.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) -> Time {
        self.sleep.as_mut().map_or(now, |sleep| sleep.wake(now)).max(self.ready)
    }

    /// The device recovers from a loss of power, and takes no request before an instant.
    pub(super) const fn recovers(&mut self, ready: Time) {
        self.ready = ready;
    }

    /// From when on the device is there.
    pub(super) const fn ready(&self) -> Time {
        self.ready
    }

    /// A phase begins.
    pub(super) fn begin(&mut self, start: Time) {
        if let Some(nap) = &mut self.nap {
            nap.begin(start);
        }
    }

    /// A request sets out for the device at `now`, which is awake from `awake` on unless it naps.
    /// Returns from when on it is awake.
    #[inline]
    pub(super) fn rouse(&mut self, now: Time, awake: Time) -> Time {
        self.nap.as_mut().map_or(awake, |nap| nap.enter(now).max(awake))
    }

    /// The answer of a request is with the host at an instant.
    #[inline]
    pub(super) fn answers(&mut self, there: Time) {
        if let Some(nap) = &mut self.nap {
            nap.leave(there);
        }
    }

    /// Time goes on to `to` while the device has this to do: a stretch of it, none where all has
    /// passed or the device never sleeps.
    pub(super) fn doze(&mut self, to: Time, load: Load) -> Option<Stretch> {
        let sleep = self.sleep.as_mut()?;
        (!sleep.is_past(to)).then(|| sleep.pass(to, load))
    }

    pub(super) fn save_sleep(&self, to: &mut Writer<'_>) {
        save_option(self.sleep.as_deref(), to);
    }

    /// Takes over the sleep of a device that was saved at `now`. One that did not sleep was awake
    /// until then.
    pub(super) fn load_sleep(
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

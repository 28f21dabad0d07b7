//! What phases ask of a device.

use super::{Device, RunError, SimError};
use crate::account::{Account, PhaseReport, Usage};
use crate::host::Host;
use crate::phases;
use crate::phases::{Machine, PhaseKeys};
use crate::report::Report;
use crate::stream::{Stream, StreamKeys};
use flashyard_core::request::Request;
use flashyard_core::units::Time;

/// Whether a phase is measured.
pub(crate) type Measured = bool;

impl Machine for Device {
    type Begun = Measured;

    #[inline]
    fn now(&self) -> Time {
        self.now
    }

    #[inline]
    fn host(&self) -> &Host {
        &self.host
    }

    #[inline]
    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    #[inline]
    fn account(&self) -> &Account {
        &self.account
    }

    fn capacity_sectors(&self) -> u64 {
        self.settings.capacity_sectors()
    }

    fn usage(&self) -> Usage {
        Usage {
            dies: self.flash.worked(self.now).collect(),
            channels: self.flash.carried(self.now).collect(),
        }
    }

    fn begin_phase(&mut self, keys: &PhaseKeys, streams: &[(String, StreamKeys)]) -> Measured {
        self.now = self.rests_at();
        if let Some(buffer) = &mut self.buffer {
            buffer.rest();
        }
        self.find_short_road();
        self.ftl.begin_phase();
        self.account.begin_phase(self.now, keys.measure, self.ftl.batch_cleaned(), streams);
        let stable = !keys.stable_percent.is_zero();
        self.host.begin(self.now, streams.iter().map(|(_, keys)| *keys), stable);
        self.queues.begin_phase(streams.iter().map(|(_, keys)| keys.weight));
        self.copies_in_bulk = self.buffer.is_none() && self.waiting().may_copy_in_bulk();
        if self.account.is_watched() {
            self.teller().phase_began(keys.measure);
        }
        keys.measure
    }

    fn end_phase(
        &mut self,
        measured: &Measured,
        why: &'static str,
        work: Option<(&Usage, &Usage)>,
    ) -> Result<PhaseReport, SimError> {
        if self.ftl.is_paced() {
            self.end_resting_jobs()?;
        }
        assert_eq!(self.sets.live(), 0, "sets are left over");
        let waits = self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting());
        assert!(!waits, "a unit still waits for a line");
        self.teller().see_accesses();
        self.ftl.end_phase(*measured);
        let (held, cleaned) = (self.host.held_ns(), self.ftl.batch_cleaned());
        Ok(self.account.end_phase(self.now, why, (held, cleaned), work))
    }

    #[inline]
    fn announce(&self, request: &Request) {
        let unit = u64::from(self.settings.geometry.unit_sectors());
        self.ftl.map().prefetch(request.first_sector / unit);
    }

    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError> {
        let order = self.host.arrived();
        SimError::check_arrival(request, order, self.settings.capacity_sectors())?;
        let (pages, outstanding) = (self.settings.pages_of(request), self.host.outstanding());
        let (handle, fetched) = self.host.open(request, lane, pages, self.now);
        self.account.arrived(request, order, pages, (lane, outstanding));
        if self.account.is_watched() {
            self.teller().request_arrived(handle);
        }
        if fetched {
            self.send(handle);
        }
        Ok(())
    }

    #[inline]
    fn fetch(&mut self) {
        while let Some(handle) = self.host.fetch(self.now) {
            self.send(handle);
        }
    }

    fn due(&mut self) -> Time {
        self.host.next_timer().min(self.flash.next_due())
    }

    #[inline]
    fn idle_due(&self) -> Time {
        self.ftl.idle_due()
    }

    #[inline]
    fn next(&mut self, others: Time, until: Time) -> Option<Time> {
        self.next_instant(others, until)
    }

    #[inline]
    fn begins(&mut self, now: Time) {
        self.begin_instant(now);
    }

    #[inline]
    fn ends(&mut self) -> Result<(), SimError> {
        self.end_instant()
    }
}

impl Device {
    /// Runs the whole workload, as one stream of pacing `open` in one phase. `next` gives requests
    /// in the order of their arrival times.
    pub fn run<E>(
        mut self,
        next: impl FnMut() -> Result<Option<Request>, E>,
    ) -> Result<Report, RunError<E>> {
        let keys = StreamKeys::default();
        let stream = Stream { name: "host".to_string(), keys, source: Box::new(next) };
        phases::run(&mut self, &PhaseKeys::default(), vec![stream])?;
        self.finish().map_err(RunError::Sim)
    }

    /// Runs a phase: until its limit or the end of all streams, then until every request is
    /// answered and every job of garbage collection is over. Requests of `streams[k]` carry the
    /// stream k; those of a stream that is alone keep their own. After an error the device cannot
    /// be used any more.
    pub fn run_phase<E>(
        &mut self,
        phase: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        phases::run(self, phase, streams)
    }

    /// Some phase of the run has several streams.
    pub(crate) const fn tell_streams_apart(&mut self) {
        self.account.tell_streams_apart();
    }

    /// Units that a placement handle can still take, if it has blocks of its own.
    pub(crate) fn handle_room(&self, handle: u8) -> Option<u64> {
        self.ftl.handle_room(handle)
    }

    /// A request comes because others were answered.
    pub(crate) fn waits_for_answers(&mut self) {
        self.account.waits_for_answers();
    }
}

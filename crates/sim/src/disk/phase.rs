//! What a phase asks of a disk.
//!
//! Order at one instant: the arm, the controller, timers, all arrivals by ascending stream; then
//! the controller and the arm turn to their next work.

use super::Disk;
use super::power::Spent;
use super::requests::sectors_of;
use crate::account::{Account, PhaseReport, Usage};
use crate::device::{PhaseKeys, RunError, SimError};
use crate::host::Host;
use crate::phases::{self, Machine};
use crate::stream::{Stream, StreamKeys};
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{Lpn, Time};

/// The energy and time of earlier measured phases, while a phase is not measured.
pub(crate) type Kept = Option<Spent>;

impl Machine for Disk {
    type Begun = Kept;

    fn now(&self) -> Time {
        self.now
    }

    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn account(&self) -> &Account {
        &self.account
    }

    fn capacity_sectors(&self) -> u64 {
        self.settings.capacity_sectors()
    }

    /// The work of the arm, in the place of that of dies.
    fn usage(&self) -> Usage {
        Usage { dies: vec![self.power.busy_ns], channels: vec![0] }
    }

    fn begin_phase(&mut self, keys: &PhaseKeys, streams: &[(String, StreamKeys)]) -> Kept {
        self.account.begin_phase(self.now, keys.measure, 0, streams);
        self.host.begin(self.now, streams.iter().map(|(_, keys)| *keys), false);
        (!keys.measure).then(|| std::mem::take(&mut self.power.spent))
    }

    fn end_phase(
        &mut self,
        begun: &Kept,
        why: &'static str,
        work: Option<(&Usage, &Usage)>,
    ) -> Result<PhaseReport, SimError> {
        assert!(self.cache.is_clean(), "writes are left in the cache");
        assert_eq!(self.cache.held, 0, "room of the write cache is lost");
        if let Some(checker) = &self.checker {
            checker.rest();
        }
        let mut report = self.account.end_phase(self.now, why, (self.host.held_ns(), 0), work);
        report.write_amplification = None;
        if let Some(kept) = *begun {
            self.power.spent = kept;
        }
        Ok(report)
    }

    fn announce(&self, _: &Request) {}

    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError> {
        let order = self.host.arrived();
        SimError::check_arrival(request, order, self.settings.capacity_sectors())?;
        let none = (Lpn::new(0), 0);
        self.account.arrived(request, order, none, (lane, self.host.outstanding()));
        if let Some(checker) = &mut self.checker {
            let (first, end) = sectors_of(request);
            match request.op {
                RequestOp::Read => checker.read_arrived(order, first, end),
                RequestOp::Flush => checker.flush_arrived(order),
                RequestOp::Write | RequestOp::Trim => {}
            }
        }
        let (handle, fetched) = self.host.open(request, lane, none, self.now);
        if fetched {
            self.send(handle);
        }
        Ok(())
    }

    fn fetch(&mut self) {
        while let Some(handle) = self.host.fetch(self.now) {
            self.send(handle);
        }
    }

    fn due(&mut self) -> Time {
        self.arm.due().min(self.controller.due()).min(self.host.next_timer())
    }

    fn idle_due(&self) -> Time {
        Time::MAX
    }

    fn next(&mut self, others: Time, until: Time) -> Option<Time> {
        let now = self.due().min(others);
        (now <= until && now < Time::MAX).then_some(now)
    }

    fn begins(&mut self, now: Time) {
        self.time_passes(now);
        if self.arm.due() <= now {
            self.arm_over();
        }
        if self.controller.due() <= now {
            self.controller_over();
        }
        self.timers_go_off();
    }

    fn ends(&mut self) -> Result<(), SimError> {
        self.controller_begins();
        self.arm_begins();
        Ok(())
    }
}

impl Disk {
    /// Runs a phase. Requests of `streams[k]` carry the stream k; those of a stream that is alone
    /// keep their own. After an error the disk cannot be used any more.
    pub fn run_phase<E>(
        &mut self,
        keys: &PhaseKeys,
        streams: Vec<Stream<'_, E>>,
    ) -> Result<PhaseReport, RunError<E>> {
        phases::run(self, keys, streams)
    }

    /// Some phase of the run has several streams.
    pub(crate) const fn tell_streams_apart(&mut self) {
        self.account.tell_streams_apart();
    }

    /// A request comes because others were answered.
    pub(crate) fn waits_for_answers(&mut self) {
        self.account.waits_for_answers();
    }
}

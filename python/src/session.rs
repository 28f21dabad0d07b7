//! Sessions: the caller owns the clock.

use crate::errors::{exception, failed, panicked};
use crate::outcome::{Outcome, text};
use crate::plan::Plan;
use crate::policies::holding;
use crate::requests::{Requests, operation, request};
use crate::table::{ArrowRows, Table, Texts};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use flashyard_core::units::Time;
use flashyard_run::logs::Rows;
use flashyard_run::plan::Plan as Planned;
use flashyard_run::table::{Cell, Field, Kind};
use flashyard_sim::device::SimError;
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::session::{
    Completion as Over, Outcome as Ended, Refused, Session as Simulated, Stop,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

mod python {
    pyo3::import_exception!(flashyard.errors, Refused);
}

/// Between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// How long a thread waits that another one keeps from the session.
const WAIT: Duration = Duration::from_micros(50);

/// Completions that are taken at a time, unless the first one is asked for.
const BATCH: NonZero<u32> = NonZero::new(1 << 10).expect("not 0");

/// A request that is over.
#[pyclass(frozen, eq, module = "flashyard._core")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion(Over);

#[pymethods]
impl Completion {
    const fn __hash__(&self) -> u64 {
        self.0.id
    }

    /// What `submit` returned for it.
    #[getter]
    const fn id(&self) -> u64 {
        self.0.id
    }

    /// When the host had the answer, in nanoseconds from the start.
    #[getter]
    const fn at_ns(&self) -> u64 {
        self.0.at.as_ns()
    }

    /// The time from its arrival on, in nanoseconds.
    #[getter]
    fn latency_ns(&self) -> u64 {
        self.0.parts.0.iter().sum()
    }

    /// What that time was spent on, in nanoseconds, by part; parts of no length are left out.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        for (part, ns) in Part::ALL.iter().zip(self.0.parts.0) {
            if ns > 0 {
                parts.set_item(part.name(), ns)?;
            }
        }
        Ok(parts)
    }

    /// Of an append to a zone the first byte that it has written.
    #[getter]
    const fn offset(&self) -> Option<u64> {
        match self.0.outcome {
            Ended::Appended(sector) => Some(sector * 512),
            Ended::Done | Ended::Failed(_) => None,
        }
    }

    /// Why it had no effect on a device with zones, as `zone_is_full`.
    #[getter]
    const fn error(&self) -> Option<&'static str> {
        match self.0.outcome {
            Ended::Failed(error) => Some(error.word()),
            Ended::Done | Ended::Appended(_) => None,
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "Completion(id={}, at_ns={}, latency_ns={})",
            self.id(),
            self.at_ns(),
            self.latency_ns()
        )
    }
}

/// The names of the parts of latencies, in the order of columns.
#[pyfunction]
pub(crate) fn parts() -> Vec<&'static str> {
    Part::ALL.iter().map(|part| part.name()).collect()
}

/// A device that the caller drives.
#[pyclass(frozen, module = "flashyard._core")]
pub(crate) struct Session {
    plan: Planned,
    /// None once it has ended or failed.
    simulated: Mutex<Option<Simulated>>,
    /// The thread in which time goes on.
    going: Mutex<Option<ThreadId>>,
    /// Completions that an interrupt kept from the caller.
    kept: Mutex<Vec<Over>>,
}

/// What a mutex holds; what holds it may have panicked, which the session itself hears of.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    fn new_of(plan: Planned, session: Simulated) -> Self {
        let simulated = Mutex::new(Some(session));
        Self { plan, simulated, going: Mutex::new(None), kept: Mutex::new(Vec::new()) }
    }

    /// The session, once no other thread has it. A thread that waits for it holds no lock of the
    /// interpreter, which a policy in Python needs.
    fn taken(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<Simulated>>> {
        loop {
            match self.simulated.try_lock() {
                Ok(session) => return Ok(session),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    if *locked(&self.going) == Some(std::thread::current().id()) {
                        return Err(failed("a policy cannot ask the session that asks it"));
                    }
                    py.detach(|| std::thread::sleep(WAIT));
                    py.check_signals()?;
                }
            }
        }
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulated) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut session = self.taken(py)?;
        of_session(&mut session, work)
    }

    /// The same for work that takes long: other threads of Python go on.
    fn away<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulated) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        self.apart(py, |slot| of_session(slot, work))
    }

    /// The same for work that takes the session out of its place, and puts one there.
    fn apart<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Simulated>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        // Whoever asks from inside of the work is told, and does not wait for its own end.
        drop(self.taken(py)?);
        py.detach(|| {
            let mut slot = locked(&self.simulated);
            *locked(&self.going) = Some(std::thread::current().id());
            let (found, interrupt) = holding(|| work(&mut slot));
            *locked(&self.going) = None;
            match (found, interrupt) {
                (Ok(_), Some(interrupt)) => Err(interrupt),
                (found, _) => found,
            }
        })
    }

    /// Lets time go on, and hands over what is over: all, or up to the first request.
    fn go_on(
        &self,
        py: Python<'_>,
        until: Time,
        first: bool,
        give: &mut (dyn FnMut(Over) + Send),
    ) -> PyResult<()> {
        // Where the first completion is asked for, time stops there.
        let stop = if first { Stop::AtCompletion } else { Stop::AtCompletions(BATCH) };
        let mut kept = std::mem::take(&mut *locked(&self.kept)).into_iter();
        for over in kept.by_ref() {
            give(over);
            if first {
                *locked(&self.kept) = kept.collect();
                return Ok(());
            }
        }
        let mut on = |session: &mut Simulated| {
            let start = Instant::now();
            loop {
                while let Some(over) = session.poll() {
                    give(over);
                    if first {
                        return Ok(true);
                    }
                }
                session.advance(until, stop).map_err(|error| failed(error.to_string()))?;
                if !session.has_completions() {
                    return Ok(true);
                }
                if start.elapsed() > LOOK {
                    return Ok(false);
                }
            }
        };
        while !self.away(py, &mut on)? {
            py.check_signals()?;
        }
        Ok(())
    }
}

/// Does work with a session that has not ended. After a panic what is left of it may be in any
/// state, so it has ended.
fn of_session<T>(
    slot: &mut Option<Simulated>,
    work: impl FnOnce(&mut Simulated) -> PyResult<T>,
) -> PyResult<T> {
    let session = slot.as_mut().ok_or_else(|| failed("the session has ended"))?;
    match catch_unwind(AssertUnwindSafe(|| work(session))) {
        Ok(found) => found,
        Err(panic) => {
            *slot = None;
            Err(panicked(panic))
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

fn refused(refused: &Refused) -> PyErr {
    let reason = match refused {
        Refused::Past { .. } => "past",
        Refused::Range(_) => "range",
        Refused::Order { .. } => "order",
        Refused::Full => "full",
        Refused::NoZones => "no_zones",
        Refused::Stream { .. } => "stream",
        Refused::Closed => "closed",
    };
    python::Refused::new_err((refused.to_string(), reason))
}

/// Until when: none as long as anything happens.
fn until(until_ns: Option<u64>) -> Time {
    until_ns.map_or(Time::MAX, Time::from_ns)
}

/// The columns of completions.
fn fields() -> Vec<Field> {
    let mut fields = vec![
        Field::new("id", Kind::Count, "", "what submit returned for the request"),
        Field::new("at_ns", Kind::Count, "ns", "completion, from the start"),
        Field::new("latency_ns", Kind::Count, "ns", "completion - arrival"),
    ];
    let part = Field::new("", Kind::Count, "ns", "time that the request waited for this");
    fields.extend(Part::ALL.iter().map(|of| part.clone().named(format!("part_{}_ns", of.name()))));
    fields.into_iter().map(Field::whole).collect()
}

#[pymethods]
impl Session {
    /// A session on the device of a plan that has no workload.
    #[new]
    fn new(py: Python<'_>, plan: &Plan, check: bool) -> PyResult<Self> {
        let made = crate::worker::away(py, None, |mut teller| {
            plan.planned.session_telling(check, &mut teller)
        })?;
        Ok(Self::new_of(plan.planned.clone(), made))
    }

    /// Submits a request; returns its identifier.
    #[pyo3(signature = (at_ns, op, offset, nbytes, stream, placement, flags))]
    #[expect(clippy::too_many_arguments, reason = "the Python half gives them by name")]
    fn submit(
        &self,
        py: Python<'_>,
        at_ns: u64,
        op: &str,
        offset: u64,
        nbytes: u64,
        stream: u64,
        placement: Option<u16>,
        flags: u64,
    ) -> PyResult<u64> {
        let values = [at_ns, offset, nbytes, stream, flags];
        let request = request(&|| "the request".to_string(), operation(op)?, values, placement)?;
        self.with(py, |session| session.submit(&request).map_err(|error| refused(&error)))
    }

    /// Submits requests up to the first that is refused; returns the identifier of the first one
    /// and how many were taken. Where none was, that is an exception.
    fn submit_all(&self, py: Python<'_>, requests: &Requests) -> PyResult<(u64, usize)> {
        let requests = Arc::clone(&requests.0);
        self.away(py, |session| {
            let mut first = None;
            for (taken, request) in requests.iter().enumerate() {
                match session.submit(request) {
                    Ok(id) => first = first.or(Some(id)),
                    Err(error) => {
                        let found = first.map(|first| (first, taken));
                        return found.ok_or_else(|| refused(&error));
                    }
                }
            }
            Ok((first.unwrap_or(0), requests.len()))
        })
    }

    /// A zone by its number: first byte, bytes that can be written, write pointer, state.
    fn zone(&self, py: Python<'_>, number: u32) -> PyResult<Option<(u64, u64, u64, &'static str)>> {
        self.with(py, |session| {
            Ok(session.zone(number).map(|zone| {
                let [offset, capacity, pointer] =
                    [zone.first_sector, zone.capacity, zone.write_pointer].map(|of| of * 512);
                (offset, capacity, pointer, zone.state.word())
            }))
        })
    }

    /// A placement handle by its number: bytes that its reclaim unit can still take, bytes of one,
    /// host, media and erased bytes.
    fn handle(&self, py: Python<'_>, number: u8) -> PyResult<Option<[u64; 5]>> {
        self.with(py, |session| {
            Ok(session.handle(number).map(|of| {
                [of.available_bytes, of.unit_bytes, of.host_bytes, of.media_bytes, of.erased_bytes]
            }))
        })
    }

    /// A time before which no request is over, in nanoseconds; `None` where nothing is pending.
    fn next_event(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |session| {
            if !locked(&self.kept).is_empty() {
                return Ok(Some(session.now().as_ns()));
            }
            Ok(session.next_event().map(Time::as_ns))
        })
    }

    /// Lets time go on, or up to the first request that is over; returns what is over.
    fn advance(
        &self,
        py: Python<'_>,
        until_ns: Option<u64>,
        first: bool,
    ) -> PyResult<Vec<Completion>> {
        let mut all = Vec::new();
        let done = self.go_on(py, until(until_ns), first, &mut |over| all.push(Completion(over)));
        if let Err(error) = done {
            self.keep(all.into_iter().map(|one| one.0).collect());
            return Err(error);
        }
        Ok(all)
    }

    /// The same as a table.
    fn advance_table(&self, py: Python<'_>, until_ns: Option<u64>) -> PyResult<Table> {
        let mut rows = ArrowRows::new(&fields(), Texts::Few);
        // Tables have no column for it.
        let (mut number, mut others) = (0, Vec::new());
        let done = self.go_on(py, until(until_ns), false, &mut |over: Over| {
            if over.outcome != Ended::Done {
                others.push((number, over.outcome));
            }
            number += 1;
            let first = [over.id, over.at.as_ns(), over.parts.0.iter().sum()];
            rows.row(first.into_iter().chain(over.parts.0).map(Cell::Count));
        });
        let table = rows.finish().map_err(failed)?;
        if let Err(error) = done {
            let mut all: Vec<Over> = table.batches.iter().flat_map(completions).collect();
            for (number, outcome) in others {
                all[number].outcome = outcome;
            }
            self.keep(all);
            return Err(error);
        }
        Ok(table)
    }

    /// The time of the session in nanoseconds.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| Ok(session.now().as_ns()))
    }

    /// Requests that were submitted and are not over.
    #[getter]
    fn outstanding(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| Ok(session.outstanding()))
    }

    /// Bytes that the host sees.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| Ok(session.capacity_sectors() * crate::requests::SECTOR))
    }

    /// What the device has done so far.
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.with(py, |session| Ok(session.figures()))?;
        let all = PyDict::new(py);
        all.set_item("read_bytes", found.read_bytes)?;
        all.set_item("written_bytes", found.written_bytes)?;
        all.set_item("programmed_bytes", found.programmed_bytes)?;
        all.set_item("erased_blocks", found.erased_blocks)?;
        all.set_item("operations_pj", found.operations_pj)?;
        all.set_item("write_amplification", found.write_amplification())?;
        Ok(all)
    }

    /// A copy with all that is under way, which goes on by itself.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let session = self.away(py, |session| Ok(session.fork()))?;
        let copy = Self::new_of(self.plan.clone(), session);
        copy.keep(locked(&self.kept).clone());
        Ok(copy)
    }

    /// The power fails and is back at once; what that has done. The session goes on.
    fn cut<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let able = self.with(py, |session| Ok(session.can_be_cut()))?;
        if !able {
            return Err(failed(SimError::NoCut.to_string()));
        }
        let mut over = std::mem::take(&mut *locked(&self.kept));
        let cut = self.apart(py, |slot| {
            let mut session = slot.take().ok_or_else(|| failed("the session has ended"))?;
            let cut = catch_unwind(AssertUnwindSafe(|| {
                session.end_instant()?;
                over.extend(std::iter::from_fn(|| session.poll()));
                session.cut(seed)
            }));
            let (drive, cut) = cut.map_err(panicked)?.map_err(|error| failed(error.to_string()))?;
            *slot = Some(Simulated::new(drive));
            Ok(cut)
        })?;
        let all = PyDict::new(py);
        all.set_item("completions", over.into_iter().map(Completion).collect::<Vec<_>>())?;
        all.set_item("at_ns", cut.at.as_ns())?;
        all.set_item("recovery_ns", cut.recovery.as_ns())?;
        let reads = PyDict::new(py);
        reads.set_item("checkpoint", cut.reads.checkpoint)?;
        reads.set_item("journal", cut.reads.journal)?;
        reads.set_item("dumped", cut.reads.dumped)?;
        reads.set_item("spare", cut.reads.spare)?;
        all.set_item("reads", reads)?;
        all.set_item("torn_units", cut.torn_units)?;
        all.set_item("torn_erases", cut.torn_erases)?;
        all.set_item("dumped_units", cut.dumped_units)?;
        all.set_item("energy_pj", cut.energy_pj)?;
        all.set_item("needed_pj", cut.needed_pj)?;
        let lost = PyList::empty(py);
        for one in &cut.lost {
            let row = PyDict::new(py);
            row.set_item("request", one.request)?;
            row.set_item("offset", one.first_sector * 512)?;
            row.set_item("nbytes", u64::from(one.sectors) * 512)?;
            row.set_item("how", one.how.word())?;
            row.set_item("promised", one.promised)?;
            lost.append(row)?;
        }
        all.set_item("lost", lost)?;
        Ok(all)
    }

    /// No request comes any more.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |session| {
            session.close();
            Ok(())
        })
    }

    /// Lets all that is under way end; what was found.
    fn finish(&self, py: Python<'_>) -> PyResult<Outcome> {
        self.close(py)?;
        self.go_on(py, Time::MAX, false, &mut |_| {})?;
        let session = self.taken(py)?.take();
        let session = session.ok_or_else(|| failed("the session has ended"))?;
        let report = py.detach(|| catch_unwind(AssertUnwindSafe(|| session.finish())));
        let report = report.map_err(panicked)?.map_err(|error| exception(&error.into()))?;
        let json = text(&self.plan.object_of_session(&report))?;
        Outcome::of_report(json, &report, None, None)
    }
}

impl Session {
    /// Completions for the next call, before all others.
    fn keep(&self, mut all: Vec<Over>) {
        let mut kept = locked(&self.kept);
        all.append(&mut kept);
        *kept = all;
    }
}

/// The completions of a batch of rows, which do not say how requests to zones have ended: as if
/// all were done.
fn completions(batch: &RecordBatch) -> impl Iterator<Item = Over> {
    let value = |column: usize, row: usize| {
        let values = batch.column(column).as_primitive::<Int64Type>();
        u64::try_from(values.value(row)).expect("counts are not negative")
    };
    (0..batch.num_rows()).map(move |row| Over {
        id: value(0, row),
        at: Time::from_ns(value(1, row)),
        parts: Parts(std::array::from_fn(|part| value(3 + part, row))),
        outcome: Ended::Done,
    })
}

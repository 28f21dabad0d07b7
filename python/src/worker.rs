//! Work without the interpreter's lock: other threads of Python go on, signals are heard, and
//! progress is told.

use crate::errors::{exception, panicked};
use anyhow::Result;
use flashyard_run::error::Stopped;
use flashyard_run::meter::{Listener, Runs};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Between two looks for signals: Ctrl-C ends a run within half a second.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes of the worker's stack.
const STACK: usize = 16 << 20;

/// What the worker and the waiting thread share.
#[derive(Debug, Default)]
pub(crate) struct Told {
    stop: AtomicBool,
    /// The share that is over, as bits of a float; those of NaN where it is not known.
    share: AtomicU64,
    requests: AtomicU64,
    stage: Mutex<String>,
    /// Runs that are over, and how many there are; none where there is one run.
    over: AtomicU64,
    runs: AtomicU64,
}

/// The worker's end.
#[derive(Clone, Debug)]
pub(crate) struct Teller(Arc<Told>);

impl Teller {
    /// There are so many runs.
    pub(crate) fn expect(&self, runs: usize) {
        self.0.runs.store(runs as u64, Ordering::Relaxed);
    }

    /// Work of so many steps.
    pub(crate) fn steps(&self, of: u64) -> Steps {
        Steps { teller: self.clone(), over: AtomicU64::new(0), of }
    }

    fn go_on(&self) {
        if self.0.stop.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }
}

impl Listener for Teller {
    fn stage(&mut self, label: &str) {
        *self.0.stage.lock().unwrap_or_else(PoisonError::into_inner) = label.to_string();
        self.0.share.store(f64::NAN.to_bits(), Ordering::Relaxed);
    }

    fn built(&mut self, done: u64, of: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = done as f64 / of.max(1) as f64;
        self.0.share.store(share.to_bits(), Ordering::Relaxed);
        self.go_on();
    }

    fn at(&mut self, share: Option<f64>, requests: u64) {
        self.0.share.store(share.unwrap_or(f64::NAN).to_bits(), Ordering::Relaxed);
        self.0.requests.store(requests, Ordering::Relaxed);
    }

    fn pulse(&mut self) {
        self.go_on();
    }
}

/// Steps of one piece of work.
#[derive(Debug)]
pub(crate) struct Steps {
    teller: Teller,
    over: AtomicU64,
    of: u64,
}

impl Steps {
    /// A step is over; the work ends here if the caller wants no more.
    pub(crate) fn step(&self) {
        let over = self.over.fetch_add(1, Ordering::Relaxed) + 1;
        self.teller.clone().built(over, self.of);
    }
}

/// A run among several: it hears of a stop, and counts when it is over.
struct One(Teller);

impl Listener for One {
    fn built(&mut self, _: u64, _: u64) {
        self.0.go_on();
    }

    fn pulse(&mut self) {
        self.0.go_on();
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.over.fetch_add(1, Ordering::Relaxed);
    }
}

impl Runs for Teller {
    fn begin(&self, _: usize) -> Box<dyn Listener> {
        Box::new(One(self.clone()))
    }

    fn skip(&self) {
        self.0.over.fetch_add(1, Ordering::Relaxed);
    }
}

/// Does the work in a thread of its own and waits for it. `progress` is called with the share that
/// is over or `None`, how many requests (of one run) or runs (of several), and what is done.
pub(crate) fn away<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(Teller) -> Result<T> + Send,
) -> PyResult<T> {
    let told = Arc::new(Told::default());
    told.share.store(f64::NAN.to_bits(), Ordering::Relaxed);
    let teller = Teller(Arc::clone(&told));
    let ended = (Mutex::new(false), Condvar::new());
    let mut found = None;
    let mut interrupted = None;
    std::thread::scope(|scope| {
        let run = || {
            found = Some(catch_unwind(AssertUnwindSafe(|| work(teller))));
            *ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            ended.1.notify_all();
        };
        let thread = std::thread::Builder::new().name("flashyard".to_string()).stack_size(STACK);
        if let Err(error) = thread.spawn_scoped(scope, run) {
            interrupted = Some(PyErr::from(error));
            return;
        }
        loop {
            let over = py.detach(|| {
                let over = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ended.1.wait_timeout_while(over, LOOK, |over| !*over);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            });
            if over {
                break;
            }
            if interrupted.is_none()
                && let Err(error) = look(py, &told, progress.as_ref())
            {
                told.stop.store(true, Ordering::Relaxed);
                interrupted = Some(error);
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    if let Some(progress) = &progress {
        tell(py, &told, progress)?;
    }
    match found.expect("the worker has ended") {
        Ok(found) => found.map_err(|error| exception(&error)),
        Err(panic) => Err(panicked(panic)),
    }
}

fn look(py: Python<'_>, told: &Told, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    progress.map_or(Ok(()), |progress| tell(py, told, progress))
}

fn tell(py: Python<'_>, told: &Told, progress: &Py<PyAny>) -> PyResult<()> {
    let runs = told.runs.load(Ordering::Relaxed);
    let over = told.over.load(Ordering::Relaxed);
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let (share, count) = if runs > 0 {
        (over as f64 / runs as f64, over)
    } else {
        let share = f64::from_bits(told.share.load(Ordering::Relaxed));
        (share, told.requests.load(Ordering::Relaxed))
    };
    let share = (!share.is_nan()).then_some(share);
    let stage = told.stage.lock().unwrap_or_else(PoisonError::into_inner).clone();
    progress.call1(py, (share, count, stage)).map(drop)
}

//! Policies in Python, for a first try: each decision calls into the interpreter.

use crate::errors::wrong;
use flashyard_core::command::StreamId;
use flashyard_core::host::{HostAnswer, HostPolicy, HostView};
use flashyard_core::key::NoKeys;
use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
use flashyard_core::units::{BlockId, Time};
use flashyard_run::error::Raised;
use flashyard_sim::own::{OwnParts, Parts as List};
use flashyard_sim::parts::blocks::FullBlocks;
use flashyard_sim::parts::victim::{Cleaning, Looks, VictimRule};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;

/// The name by which keys choose the policy in Python.
const NAME: &str = "python";

/// The names of queues in logs.
const QUEUES: [&str; 16] = [
    "P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14",
    "P15",
];

/// Policies in Python that a device knows by the name "python".
#[pyclass(frozen, module = "flashyard._core")]
#[derive(Debug)]
pub(crate) struct Parts(pub(crate) OwnParts);

#[pymethods]
impl Parts {
    /// Objects with the methods of `CommandPolicy`, `HostPolicy` and `VictimRule`.
    #[new]
    #[pyo3(signature = (command = None, host = None, victim = None))]
    fn new(
        py: Python<'_>,
        command: Option<Py<PyAny>>,
        host: Option<Py<PyAny>>,
        victim: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut parts = List::new();
        let about = "A policy in Python.";
        if let Some(object) = command {
            let queues: usize = object.getattr(py, "queues")?.extract(py)?;
            if !(1..=QUEUES.len()).contains(&queues) {
                return Err(wrong(format!("queues: {queues} is not from 1 to {}", QUEUES.len())));
            }
            let made = Commands { object: Arc::new(object), queues };
            parts = parts.command_policy(NAME, about, move |_: NoKeys| made.clone());
        }
        if let Some(object) = host {
            let given = object.getattr(py, "window")?;
            let window = given.extract(py).ok().filter(|window| *window > 0);
            let window =
                window.ok_or_else(|| wrong(format!("window: {given} is not from 1 on")))?;
            let made = Requests { object: Arc::new(object), window };
            parts = parts.host_policy(NAME, about, move |_: NoKeys| made.clone());
        }
        if let Some(object) = victim {
            let made = Victims(Arc::new(object));
            parts = parts.victim_rule(NAME, about, move |_: NoKeys| made.clone());
        }
        Ok(Self(parts.share()))
    }
}

/// Calls a method; its exception ends the run as it is.
fn call<T>(answer: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    Python::attach(answer).unwrap_or_else(|error| {
        let text = error.to_string();
        resume_unwind(Box::new(Raised { text, cause: Box::new(error) }))
    })
}

/// What becomes of a Ctrl-C that comes while a policy is asked.
enum Interrupt {
    /// It ends the run.
    Ends,
    /// It is kept: a session is at work on this thread.
    Kept(Option<PyErr>),
}

thread_local! {
    static INTERRUPT: RefCell<Interrupt> = const { RefCell::new(Interrupt::Ends) };
}

/// Does work in which policies may be asked. A Ctrl-C that comes to one is kept until the work is
/// over, and the policy is asked again: its answer must depend on nothing but the question.
pub(crate) fn holding<T>(work: impl FnOnce() -> T) -> (T, Option<PyErr>) {
    let outer = INTERRUPT.replace(Interrupt::Kept(None));
    let found = work();
    let Interrupt::Kept(interrupt) = INTERRUPT.replace(outer) else {
        return (found, None);
    };
    (found, interrupt)
}

/// Asks a policy. A second Ctrl-C in one piece of work ends it.
fn ask<'py>(
    py: Python<'py>,
    policy: &Py<PyAny>,
    method: &str,
    given: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Py<PyAny>> {
    let given = given.into_pyobject(py)?;
    loop {
        let error = match policy.call_method1(py, method, given.clone()) {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => error,
            answer => return answer,
        };
        let held = INTERRUPT.with_borrow_mut(|interrupt| match interrupt {
            Interrupt::Kept(free @ None) => {
                *free = Some(error.clone_ref(py));
                true
            }
            _ => false,
        });
        if !held {
            return Err(error);
        }
    }
}

/// A command that is about to wait for its die.
#[pyclass(frozen, module = "flashyard._core", get_all)]
#[derive(Debug)]
pub(crate) struct Command {
    /// What the array does: "read", "program" or "erase".
    op: &'static str,
    /// What it is done for.
    purpose: &'static str,
    /// The stream that it works for; `None` for the device's own work.
    stream: Option<u16>,
    /// How many commands of reads have been placed on its die since none waited there.
    reads_before: u64,
    /// The place of its request in the order of admission; `None` for the device's own work.
    order: Option<u64>,
    /// Whether its request is a read.
    is_read: bool,
    /// When its request reached the device, in nanoseconds from the start.
    arrival_ns: Option<u64>,
    /// The flash operation time of its request as far as that is translated, in nanoseconds.
    fot_ns: Option<u64>,
    /// Mapping units of its request.
    pages: u32,
}

#[derive(Clone, Debug)]
struct Commands {
    object: Arc<Py<PyAny>>,
    queues: usize,
}

impl CommandPolicy for Commands {
    fn queue_names(&self) -> &'static [&'static str] {
        &QUEUES[..self.queues]
    }

    fn place(&self, command: &CommandView<'_>, now: Time) -> Placement {
        let request = command.request;
        let seen = Command {
            op: command.op.name(),
            purpose: command.purpose.name(),
            stream: match command.stream {
                StreamId::Host(stream) => Some(stream),
                _ => None,
            },
            reads_before: command.reads_before,
            order: request.map(|request| request.order),
            is_read: request.is_some_and(|request| request.is_read),
            arrival_ns: request.map(|request| request.arrival.as_ns()),
            fot_ns: request.map(|request| request.fot.as_ns()),
            pages: request.map_or(0, |request| request.pages),
        };
        call(|py| {
            let answer = ask(py, &self.object, "place", (seen, now.as_ns()))?;
            let (queue, key): (usize, u64) = answer.extract(py)?;
            if queue >= self.queues {
                return Err(wrong(format!("place: queue {queue} of {}", self.queues)));
            }
            let queue = u8::try_from(queue).unwrap_or(0);
            Ok(Placement { queue, key, deadline: None })
        })
    }
}

/// A request that waits in the host queue.
#[pyclass(frozen, module = "flashyard._core", get_all)]
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Its place in the queue, 0 for the oldest.
    place: usize,
    /// "read", "write", "trim" or "flush".
    op: &'static str,
    /// First byte.
    offset: u64,
    /// Bytes.
    nbytes: u64,
    /// The stream that it belongs to.
    stream: u16,
    /// When it came into the queue, in nanoseconds from the start.
    entered_ns: u64,
    /// Whether it overlaps an earlier one that is not over, where one of the two is no read.
    conflicts: bool,
    /// Whether every die that it needs is idle.
    dies_idle: bool,
    /// Whether the write buffer holds all its pages.
    is_buffered: bool,
}

#[derive(Clone, Debug)]
struct Requests {
    object: Arc<Py<PyAny>>,
    /// How many of the oldest requests the policy is shown.
    window: usize,
}

impl HostPolicy for Requests {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        let count = view.waiting().min(self.window);
        if count == 0 {
            return HostAnswer::Wait;
        }
        let waiting: Vec<Waiting> = (0..count)
            .map(|place| {
                let request = view.request(place);
                Waiting {
                    place,
                    op: request.op.name(),
                    offset: request.first_sector * crate::requests::SECTOR,
                    nbytes: u64::from(request.sectors) * crate::requests::SECTOR,
                    stream: request.stream,
                    entered_ns: view.entered(place).as_ns(),
                    conflicts: view.conflicts(place),
                    dies_idle: view.dies_idle(place),
                    is_buffered: view.is_buffered(place),
                }
            })
            .collect();
        call(|py| {
            let answer = ask(py, &self.object, "pick", (waiting, view.now().as_ns()))?;
            match answer.extract::<Option<usize>>(py)? {
                None => Ok(HostAnswer::Wait),
                Some(place) if place < count => Ok(HostAnswer::Start(place)),
                Some(place) => Err(wrong(format!("pick: place {place} of {count} requests"))),
            }
        })
    }
}

/// A full block that gains from a collection.
#[pyclass(frozen, module = "flashyard._core", get_all)]
#[derive(Debug)]
pub(crate) struct FullBlock {
    /// Its number.
    block: u32,
    /// Its valid units.
    valid: u32,
    /// How often it was erased.
    erases: u32,
    /// How many units were written to its plane since it lost one or was filled.
    age: u64,
    /// How many blocks of its plane were filled after it.
    filled_after: u64,
}

#[derive(Clone, Debug)]
struct Victims(Arc<Py<PyAny>>);

impl VictimRule for Victims {
    fn looks(&self) -> Looks {
        Looks::AGE
    }

    fn victim(&self, full: &mut FullBlocks<'_>) -> Option<BlockId> {
        full.examine_all();
        let fewest = full.fewest()?;
        let mut blocks = Vec::new();
        for valid in full.valid_units(fewest)..full.gain_below() {
            let mut next = full.longest_with(valid);
            while let Some(block) = next {
                blocks.push(FullBlock {
                    block: block.get(),
                    valid,
                    erases: full.erases(block),
                    age: full.age(block),
                    filled_after: full.filled_after(block),
                });
                next = full.after(block);
            }
        }
        let known: Vec<u32> = blocks.iter().map(|block| block.block).collect();
        let units = full.block_units();
        call(|py| {
            let answer = ask(py, &self.0, "victim", (blocks, units))?;
            match answer.extract::<Option<u32>>(py)? {
                None => Ok(None),
                Some(block) if known.contains(&block) => Ok(Some(BlockId::new(block))),
                Some(block) => Err(wrong(format!("victim: block {block} is not among them"))),
            }
        })
    }

    /// Initial states are made with a model of greedy cleaning.
    fn cleaning(&self, _: u32) -> Cleaning {
        Cleaning::Greedy
    }
}

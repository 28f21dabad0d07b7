//! What goes wrong, as exceptions of the package.

use flashyard_run::error::{InputError, Raised, panic_text};
use pyo3::prelude::*;
use std::any::Any;

mod python {
    pyo3::import_exception!(flashyard.errors, ConfigError);
    pyo3::import_exception!(flashyard.errors, TraceError);
    pyo3::import_exception!(flashyard.errors, SimError);
}

/// The exception of an error.
pub(crate) fn exception(error: &anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    match error.chain().find_map(|cause| cause.downcast_ref::<InputError>()) {
        Some(input) if input.of_trace => python::TraceError::new_err(text),
        Some(input) => {
            let problems = input.problems.iter();
            let problems: Vec<(String, String)> =
                problems.map(|problem| (problem.place.clone(), problem.what.clone())).collect();
            python::ConfigError::new_err((text, problems))
        }
        None => python::SimError::new_err(text),
    }
}

/// An error of what the caller gave.
pub(crate) fn wrong(what: impl Into<String>) -> PyErr {
    python::ConfigError::new_err((what.into(), Vec::<(String, String)>::new()))
}

/// A failure of the simulation.
pub(crate) fn failed(what: impl Into<String>) -> PyErr {
    python::SimError::new_err(what.into())
}

/// The exception of a panic: that of a policy in Python, or a failure of the simulator.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic_text(&*panic);
    let cause = panic.downcast::<Raised>().ok().and_then(|raised| raised.cause.downcast().ok());
    cause.map_or_else(|| failed(text), |error: Box<PyErr>| *error)
}

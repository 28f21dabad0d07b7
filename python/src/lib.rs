//! The Rust half of the Python package `flashyard`: plain functions and classes, which the Python
//! half gives their final form. `python/flashyard/_core.pyi` lists them for type checkers.

mod columns;
mod errors;
mod fit;
mod outcome;
mod plan;
mod policies;
mod requests;
mod session;
mod sweep;
mod table;
mod worker;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// The Rust half of the package.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::outcome::Outcome;
    #[pymodule_export]
    use super::plan::{Plan, devices, figures, workloads};
    #[pymodule_export]
    use super::policies::{Command, FullBlock, Parts, Waiting};
    #[pymodule_export]
    use super::requests::Requests;
    #[pymodule_export]
    use super::session::{Completion, Session, parts};
    #[pymodule_export]
    use super::sweep::{Sweep, finished};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::{command, version};
}

/// The version of the simulator.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs the command `flashyard` with these arguments; returns its exit status. `code` is the path
/// of this module, `start` the words that start the command from a shell.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>, code: PathBuf, start: Vec<OsString>) -> u8 {
    py.detach(|| flashyard::command(arguments, flashyard::Inside { code, start }))
}

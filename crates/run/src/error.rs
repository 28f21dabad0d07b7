//! Errors of the user's input, and the text files that they are in.

use anyhow::Result;
use flashyard_sim::config::Problem;
use flashyard_workload::WorkloadError;
use std::any::Any;
use std::fmt;
use std::path::Path;

/// Input that cannot be used; the message names the place, the reason and the fix.
#[derive(Debug)]
pub struct InputError {
    text: String,
    /// The problems that the message lists, a line each. Empty where the message is one sentence.
    pub problems: Vec<Problem>,
    /// Whether it was found in the requests of a trace.
    pub of_trace: bool,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for InputError {}

/// A run that its listener has ended: the payload of a panic that is none. A
/// [`Listener`](crate::meter::Listener) ends its run by
/// `std::panic::resume_unwind(Box::new(Stopped))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run was stopped")
    }
}

impl std::error::Error for Stopped {}

/// An error of the user's input.
pub fn wrong(what: &str) -> anyhow::Error {
    InputError { text: what.to_string(), problems: Vec::new(), of_trace: false }.into()
}

/// Every problem of the user's input, a line each.
pub fn all_wrong(problems: Vec<Problem>) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    InputError { text: lines.join("\n"), problems, of_trace: false }.into()
}

/// A workload's error is one of input.
pub fn workload_error(error: &WorkloadError) -> anyhow::Error {
    InputError { text: error.to_string(), problems: Vec::new(), of_trace: true }.into()
}

/// Whether a name is that of a TOML file.
pub fn is_toml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The text of a file.
pub fn read_text(path: &str) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| wrong(&format!("{path}: cannot be read, {error}")))
}

/// The panic of a part of the user's: what it raised, and its text.
#[derive(Debug)]
pub struct Raised {
    /// What is said of it.
    pub text: String,
    /// What was raised.
    pub cause: Box<dyn Any + Send>,
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(raised) = panic.downcast_ref::<Raised>() {
        return raised.text.clone();
    }
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the simulator failed: {}", text.unwrap_or("no message"))
}

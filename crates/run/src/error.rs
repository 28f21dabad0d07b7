//! Errors of the user's input, and the text files that they are in.

use anyhow::Result;
use flashyard_workload::WorkloadError;
use std::path::Path;

/// Input that cannot be used; the message names the place, the reason and the fix.
#[derive(Debug)]
pub struct InputError(pub String);

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}

/// An error of the user's input.
pub fn wrong(what: &str) -> anyhow::Error {
    InputError(what.to_string()).into()
}

/// A workload's error is one of input.
pub fn workload_error(error: &WorkloadError) -> anyhow::Error {
    wrong(&error.to_string())
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

/// What a panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

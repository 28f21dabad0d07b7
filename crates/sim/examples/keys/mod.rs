//! The keys of a device from `section.key=value` strings, for the examples.

use flashyard_sim::config::{DeviceKeys, apply_setting};
use std::error::Error;

/// The defaults with these assignments, or what is wrong with the first one that cannot be.
pub(crate) fn of<S: AsRef<str>>(assignments: &[S]) -> Result<DeviceKeys, Box<dyn Error>> {
    let mut problems = Vec::new();
    let mut keys = DeviceKeys::default();
    for assignment in assignments {
        apply_setting("argument", assignment.as_ref(), &mut keys, &mut problems);
    }
    problems.first().map_or(Ok(keys), |problem| Err(problem.to_string().into()))
}

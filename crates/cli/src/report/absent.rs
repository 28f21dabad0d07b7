//! HTML in a build without templates: there is none.

use crate::features::REPORT;
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;

/// Says how to get a program that makes the page.
pub(super) fn of(_: &impl Serialize, _: &Value) -> Result<String> {
    bail!(REPORT.missing())
}

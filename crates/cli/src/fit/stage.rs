//! What is shown while a fit goes on.

use crate::progress::Progress;

/// A display of a stage of many pieces of work.
pub(super) fn stage(label: &str, unit: &'static str, of: u64) -> Box<dyn Fn() + Sync> {
    let progress = Progress::many(label, unit, of);
    Box::new(move || progress.step())
}

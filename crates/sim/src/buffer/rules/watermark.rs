//! Flushes from the upper watermark of dirty lines on, down to the lower one.

use super::interface::{BufferView, FlushRule};
use crate::config::BufferKeys;

#[derive(Clone, Debug)]
pub(crate) struct Watermark {
    /// Dirty lines at which flushing begins, and at which it ends.
    high: u32,
    low: u32,
    pub(super) is_draining: bool,
}

impl Watermark {
    /// The watermarks of a buffer of so many units.
    pub(super) fn new(keys: &BufferKeys, units: u32) -> Self {
        let share = |ppm: u64| u64::from(units) * ppm;
        let narrow = |lines: u64| u32::try_from(lines).expect("at most all lines");
        let high = narrow(share(keys.high_percent.ppm()).div_ceil(1_000_000)).max(1);
        let low = narrow(share(keys.low_percent.ppm()) / 1_000_000).min(high - 1);
        Self { high, low, is_draining: false }
    }
}

impl FlushRule for Watermark {
    fn wants(&mut self, view: &mut BufferView<'_>) -> bool {
        let dirty = view.lines.dirty();
        self.is_draining = dirty > self.low && (self.is_draining || dirty >= self.high);
        self.is_draining
    }
}

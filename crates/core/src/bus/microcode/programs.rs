//! The standard controller: its programs, and a machine that runs them.

use super::assemble::assemble;
use super::isa::Step;
use super::machine::Machine;
use super::timing::TimingSet;

/// The seven programs, as text.
pub const STANDARD: &str = include_str!("standard.asm");

/// Instructions of [`STANDARD`].
pub const STANDARD_STEPS: usize = 60;

/// A machine that owns the standard programs; they need no scratch memory.
pub type Controller = Machine<[Step; STANDARD_STEPS], [u32; 0]>;

impl Controller {
    /// A controller with the standard programs. Row addresses count pages, `pages_per_block` to a
    /// block.
    pub fn standard(timing: TimingSet, pages_per_block: u32) -> Self {
        let mut steps = [Step::UNUSED; STANDARD_STEPS];
        assemble(STANDARD, &mut steps).expect("tests assemble the standard programs");
        Self::new(steps, [], timing, pages_per_block)
    }
}

#[cfg(test)]
mod tests;

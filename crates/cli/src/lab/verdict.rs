//! Which criteria of a lab are met.

use crate::args::lab::Lab;
use crate::output::print;
use crate::output::text::line;
use anyhow::{Result, bail};

/// What a checker found.
pub(super) struct Verdict {
    lab: Lab,
    seed: u64,
    /// Whether each criterion is met, and what is said about it.
    criteria: Vec<(bool, String)>,
}

impl Verdict {
    pub(super) const fn new(lab: Lab, seed: u64) -> Self {
        Self { lab, seed, criteria: Vec::new() }
    }

    /// Adds a criterion; the hint is for whoever does not meet it.
    pub(super) fn add(&mut self, met: bool, said: &str, hint: &str) {
        let said =
            if met || hint.is_empty() { said.to_string() } else { format!("{said}. {hint}") };
        self.criteria.push((met, said));
    }

    /// Prints the figures and the criteria; an error if one of them is not met.
    pub(super) fn finish(self, figures: &str) -> Result<()> {
        let Self { lab, seed, criteria } = self;
        let mut text = format!("lab {}, seed {seed}\n\n{figures}\n", lab.name());
        for (met, said) in &criteria {
            text += &line(if *met { "met" } else { "not met" }, said);
            text.push('\n');
        }
        let missed = criteria.iter().filter(|(met, _)| !met).count();
        if missed == 0 {
            text += &format!("\nall {} criteria are met\n", criteria.len());
        }
        print(&text)?;
        if missed > 0 {
            bail!("lab {}: {missed} of {} criteria are not met", lab.name(), criteria.len());
        }
        Ok(())
    }
}

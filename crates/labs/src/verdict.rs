//! Which criteria of a lab are met.

use crate::lab::Lab;
use flashyard_run::units::Table;

/// What a checker found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The lab.
    pub lab: Lab,
    /// The variant.
    pub seed: u64,
    /// The figures that were compared; without columns where there are none.
    pub figures: Table,
    /// Whether each criterion is met, and what is said about it.
    pub criteria: Vec<(bool, String)>,
}

impl Verdict {
    pub(crate) fn new(lab: Lab, seed: u64) -> Self {
        Self { lab, seed, figures: Table::default(), criteria: Vec::new() }
    }

    /// Adds a criterion; the hint is for whoever does not meet it.
    pub(crate) fn add(&mut self, met: bool, said: &str, hint: &str) {
        let said =
            if met || hint.is_empty() { said.to_string() } else { format!("{said}. {hint}") };
        self.criteria.push((met, said));
    }

    pub(crate) fn with(self, figures: Table) -> Self {
        Self { figures, ..self }
    }

    /// How many criteria are not met.
    pub fn missed(&self) -> usize {
        self.criteria.iter().filter(|(met, _)| !met).count()
    }
}

//! The samples of a power meter.

use flashyard_sim::observe::{Observer, PowerSamples, Shared};

/// The samples of a run, one by one.
#[derive(Clone, Default)]
pub struct Samples(Shared<Vec<PowerSamples>>);

impl Observer for Samples {
    fn power(&mut self, event: &PowerSamples) {
        self.0.get().push(*event);
    }
}

impl Samples {
    /// How often samples were handed out.
    pub fn events(&self) -> usize {
        self.0.get().len()
    }

    /// The energy of each sample; they must lie side by side.
    pub fn energies(&self) -> Vec<u64> {
        let mut all = Vec::new();
        let mut end = 0;
        for run in self.0.get().iter() {
            assert_eq!(run.start_ns, end, "samples have no gap");
            end += run.samples * run.span_ns;
            all.extend(std::iter::repeat_n(run.energy_pj, usize::try_from(run.samples).unwrap()));
        }
        all
    }
}

//! Requests that are read, by anything but a run: how far their source is.

use super::{Part, Progress};
use flashyard_core::request::Request;
use flashyard_workload::{RequestSource, SourceStats, WorkloadError};

/// Requests between two times that it tells how far it is.
pub(crate) const STEP: u64 = 1 << 14;

/// A source that tells how far it has been read.
#[derive(Debug)]
pub(crate) struct Told<S> {
    source: S,
    part: Part,
    requests: u64,
}

impl<S: RequestSource> Told<S> {
    /// A source that is all of this work.
    pub(crate) fn new(source: S, progress: &Progress) -> Self {
        Self { source, part: progress.part(1.0), requests: 0 }
    }
}

impl<S: RequestSource> RequestSource for Told<S> {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = self.source.next_request()?;
        self.requests += 1;
        if self.requests.is_multiple_of(STEP) {
            let share = self.source.extent().map(flashyard_workload::Extent::share);
            self.part.at(share, self.requests);
        }
        Ok(request)
    }

    fn stats(&self) -> SourceStats {
        self.source.stats()
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_run::experiment::StreamPlan;

    /// Every generated workload that has an end comes to it, and never goes back.
    #[test]
    fn sources_know_how_far_they_are() {
        let names = ["movie", "random-write", "sequential-read", "websearch"];
        let mut known = 0;
        for name in names {
            let Some(mut plan) = StreamPlan::built_in(name) else { continue };
            plan.generator.requests = 500;
            plan.pattern.requests = 500;
            plan.mix.requests = 500;
            let mut source = plan.open(1, Some(1 << 22), None).unwrap();
            let mut last = 0.0;
            while source.next_request().unwrap().is_some() {
                let share = source.extent().expect("it has an end").share();
                assert!(share >= last && share <= 1.0, "{name}: {last} {share}");
                last = share;
            }
            assert!((last - 1.0).abs() < 1e-9, "{name}: {last}");
            known += 1;
        }
        assert!(known >= 2, "{known}");
    }
}

//! How requests to zones have ended, for whoever asks.

use crate::zones::Outcome;
use std::collections::VecDeque;

/// Outcomes that nobody has asked for, of requests that have one to tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes {
    /// By the place of the request in the order of arrival, ascending as far as requests are
    /// started in that order; nothing where nobody asks.
    kept: Option<VecDeque<(u64, Outcome)>>,
}

impl Outcomes {
    /// Outcomes are kept from now on, or no longer.
    pub(super) fn keep(&mut self, kept: bool) {
        self.kept = kept.then(VecDeque::new);
    }

    pub(super) fn add(&mut self, order: u64, outcome: Outcome) {
        if let Some(kept) = &mut self.kept {
            kept.push_back((order, outcome));
        }
    }

    /// The outcome of a request, which is then forgotten.
    pub(super) fn take(&mut self, order: u64) -> Outcome {
        let Some(kept) = &mut self.kept else { return Outcome::Done };
        let place = kept.iter().position(|(of, _)| *of == order);
        place.and_then(|place| kept.remove(place)).map_or(Outcome::Done, |(_, outcome)| outcome)
    }
}

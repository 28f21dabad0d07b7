//! The oldest request whose dies are all idle, so that a request for a busy die does not hold up
//! one behind it; where there is none, the oldest. Looks at the first `window` requests: O(window).
//!
//! Source: the idle-chip baseline that Bang et al. compare their cache- and read-aware scheduler
//! with, work-conserving form.

use super::{HostAnswer, HostPolicy, HostView};
use crate::key::Kind;

crate::keys! {
    /// Keys of `[host.idle]`.
    pub struct IdleKeys {
        /// How many of the oldest requests are looked at.
        window: u64 = 32 => {
            kind: Kind::count("requests", 1, 65_536),
            source: "Bang et al.: a request queue of 32 entries",
            flip: "1",
            with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
    }
}

impl HostPolicy for IdleKeys {
    fn pick(&self, view: &impl HostView) -> HostAnswer {
        let window = usize::try_from(self.window).unwrap_or(usize::MAX).min(view.waiting());
        if window == 0 {
            return HostAnswer::Wait;
        }
        let idle = (0..window).find(|&place| view.dies_idle(place));
        HostAnswer::Start(idle.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::views::Waiting;
    use super::*;

    #[test]
    fn the_oldest_request_with_idle_dies_starts_or_else_the_oldest() {
        let keys = IdleKeys::default();
        assert_eq!(keys.pick(&Waiting(&[false, true, true])), HostAnswer::Start(1));
        assert_eq!(keys.pick(&Waiting(&[false, false])), HostAnswer::Start(0));
        assert_eq!(keys.pick(&Waiting(&[])), HostAnswer::Wait);
        let narrow = IdleKeys { window: 1 };
        assert_eq!(narrow.pick(&Waiting(&[false, true])), HostAnswer::Start(0));
    }
}

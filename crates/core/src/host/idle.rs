//! The oldest request whose dies are all idle, so that a request for a busy die does not hold up
//! one behind it; where there is none, the oldest, or none. Looks at the first `window` requests:
//! O(window).
//!
//! Source: the idle-chip baseline that Bang et al. compare their cache- and read-aware scheduler
//! with. Their baseline does not know the buffer. They do not say whether it waits while no die is
//! idle. They also do not say whether it skips a request that has to wait for an earlier one, as
//! their own scheduler does: that is `skip_conflicts`, O(window^2).

use super::interface::{HostAnswer, HostPolicy, HostView};
use crate::key::Kind;

crate::keys! {
    /// Keys of `[host.idle]`.
    pub struct IdleKeys {
        /// How many of the oldest requests the policy looks at.
        window: u64 = 32 => {
            kind: Kind::count("requests", 1, 65_536),
            source: "Bang et al.: a request queue of 32 entries",
            flip: "1",
            with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// Whether all requests wait while the device works and no request finds its dies idle.
        strict: bool = false => {
            kind: Kind::Bool,
            source: "assumed: it starts what it can",
            flip: "true",
            with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2"],
        },
        /// Whether the policy passes over a request that overlaps an earlier one, queued or under
        /// way, unless both are reads. Otherwise the device starts the earlier one instead or, with
        /// `host.hold_conflicts`, starts nothing while that one is under way.
        skip_conflicts: bool = false => {
            kind: Kind::Bool,
            source: "assumed: Bang et al. have a rule of dependencies for their own scheduler alone",
            flip: "true",
            with: &["host.policy=idle", "geometry.channels=2", "geometry.ways=2", "queue.depth=2"],
        },
        /// Whether a page that the buffer serves needs an idle die, too.
        ignores_buffer: bool = false => {
            kind: Kind::Bool,
            source: "assumed: what the buffer serves needs no die",
            flip: "true",
            with: &[
                "map.store=resident", "buffer.bytes=262144", "host.policy=idle",
                "geometry.channels=2", "geometry.ways=2", "queue.depth=2",
            ],
        },
    }
}

impl HostPolicy for IdleKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        let window = usize::try_from(self.window).unwrap_or(usize::MAX).min(view.waiting());
        let is_idle = |&place: &usize| {
            if self.ignores_buffer { view.all_dies_idle(place) } else { view.dies_idle(place) }
        };
        let free = |place: &usize| !self.skip_conflicts || !view.conflicts(*place);
        let idle = (0..window).find(|place| is_idle(place) && free(place));
        // A device that rests need not become more idle: a unit may count as one of a busy die
        // because it has no die yet.
        let oldest = || if self.strict && !view.rests() { None } else { (0..window).find(free) };
        idle.or_else(oldest).map_or(HostAnswer::Wait, HostAnswer::Start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::Fake;
    use super::*;

    #[test]
    fn the_oldest_request_with_idle_dies_starts_or_else_the_oldest() {
        let keys = IdleKeys::default();
        let busy = Fake::default().read(1, 1).read(2, 2).read(4, 1).busy_dies(&[1, 3]);
        assert_eq!(keys.pick(&busy), HostAnswer::Start(2));
        assert_eq!(IdleKeys { window: 2, ..keys }.pick(&busy), HostAnswer::Start(0));
        assert_eq!(keys.pick(&busy.busy_dies(&[4])), HostAnswer::Start(0));
        assert_eq!(keys.pick(&Fake::default()), HostAnswer::Wait);
    }

    #[test]
    fn strict_waits_for_an_idle_die_while_something_is_under_way() {
        let keys = IdleKeys { strict: true, ..IdleKeys::default() };
        let view = Fake::default().read(1, 1).busy_dies(&[1]);
        assert_eq!(keys.pick(&view), HostAnswer::Start(0), "nothing will ever come");
        let view = view.elsewhere(9);
        assert_eq!(keys.pick(&view), HostAnswer::Wait);
        assert_eq!(IdleKeys::default().pick(&view), HostAnswer::Start(0));
        assert_eq!(keys.pick(&view.read(2, 1)), HostAnswer::Start(1));
        let view = Fake::default().read(1, 1).busy_dies(&[1]).flushes(9);
        assert_eq!(keys.pick(&view), HostAnswer::Wait, "a die becomes idle when a flush ends");
    }

    /// 1 is read; a write of it and a read behind that wait, a write of 2 does not.
    #[test]
    fn requests_that_conflict_are_passed_over_only_where_it_is_said() {
        let keys = IdleKeys::default();
        let skips = IdleKeys { skip_conflicts: true, ..keys };
        let view = Fake::default().elsewhere(1).write(1, 1).read(1, 1);
        assert_eq!(keys.pick(&view), HostAnswer::Start(0));
        assert_eq!(skips.pick(&view), HostAnswer::Wait, "both wait for the read of 1");
        let view = view.write(2, 1);
        assert_eq!(keys.pick(&view), HostAnswer::Start(0));
        assert_eq!(skips.pick(&view), HostAnswer::Start(2));
        let busy = view.busy_dies(&[2]);
        assert_eq!(skips.pick(&busy), HostAnswer::Start(2), "the oldest that waits for no other");
        let strict = IdleKeys { strict: true, ..skips };
        assert_eq!(strict.pick(&busy), HostAnswer::Wait);
    }

    #[test]
    fn dies_of_buffered_pages_count_where_the_buffer_is_ignored() {
        let keys = IdleKeys::default();
        let blind = IdleKeys { ignores_buffer: true, ..keys };
        let view = Fake::default().line(2, 0, true).read(1, 1).read(2, 1).read(3, 1);
        let view = view.busy_dies(&[1, 2]);
        assert_eq!(keys.pick(&view), HostAnswer::Start(1));
        assert_eq!(blind.pick(&view), HostAnswer::Start(2));
    }
}

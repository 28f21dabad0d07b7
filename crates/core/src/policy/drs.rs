//! DRS, scheduling by delay relations: as [fot](super::fot), but the place of a command follows
//! from the most pressing request that needs it: its own request, or any request that waits for it.
//!
//! Source: Lee et al., IEEE Access 2021, Algorithms 1 and 2. A set keeps the best rank of the
//! requests that wait for each of its stages, so a map eviction that a read waits for is served as
//! that read's work, and the set's later commands by their own request again. Generalised: every
//! kind of dependency edge counts, and a command that no request needs goes last. O(log n) a
//! command, and O(chain) a translation for handing ranks on.

use super::interface::{CommandPolicy, CommandView, DeadlineFrom, Placement, RequestView, by_rank};
use crate::command::Rank;
use crate::key::Kind;
use crate::units::{Span, Time};

crate::keys! {
    /// Keys of `[policy.drs]`.
    pub struct DrsKeys {
        /// Whether waiting commands move as soon as a more pressing request needs them.
        rekey: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al., IEEE Access 2021, is silent; without it most of the gain over FOT is lost",
            flip: "false",
            with: &["policy.command=drs"],
        },
        /// Longest wait of a command in RRQ; 0 for no limit.
        read_deadline_ms: Span = Span::from_ms(500) => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: 500 ms",
            flip: "1",
            with: &["policy.command=drs"],
        },
        /// Longest wait of a command in WRQ; 0 for no limit.
        write_deadline_ms: Span = Span::from_ms(5_000) => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: 5 s",
            flip: "1",
            with: &["policy.command=drs"],
        },
        /// The instant that limits count from.
        deadline_from: DeadlineFrom = DeadlineFrom::Insertion => {
            kind: Kind::Choice(DeadlineFrom::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "arrival",
            with: &["policy.command=drs", "policy.drs.write_deadline_ms=5"],
        },
    }
}

impl CommandPolicy for DrsKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["RRQ", "WRQ"]
    }

    fn inherits(&self) -> bool {
        true
    }

    #[inline]
    fn place(&self, command: &CommandView, now: Time) -> Placement {
        let request = command.request.as_ref();
        let own = request.map_or(Rank::NONE, RequestView::rank);
        let rank = own.min(command.inherited);
        let limits = [self.read_deadline_ms, self.write_deadline_ms];
        by_rank(rank, limits, self.deadline_from, request, now)
    }

    fn rekeys(&self) -> bool {
        self.rekey
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;
    use crate::units::Span;

    /// The worked example of the paper: the map eviction of a write (FOT 1520) that a read (880)
    /// waits for is placed as the read's work.
    #[test]
    fn a_command_is_placed_by_the_most_pressing_request_that_needs_it() {
        let keys = DrsKeys::default();
        let eviction = command(Op::Read, false, 1, 1_520);
        let own = keys.place(&eviction, Time::ZERO);
        assert_eq!((own.queue, own.key), (1, 1_520_000));
        let read = Rank { class: 0, fot: Span::from_us(880) };
        let needed = keys.place(&CommandView { inherited: read, ..eviction }, Time::ZERO);
        assert_eq!((needed.queue, needed.key), (0, 880_000));
        let slow = Rank { class: 1, fot: Span::from_us(9_000) };
        assert_eq!(keys.place(&CommandView { inherited: slow, ..eviction }, Time::ZERO), own);
    }

    #[test]
    fn a_command_that_no_request_needs_goes_last() {
        let idle = CommandView { request: None, ..command(Op::Read, true, 1, 60) };
        let place = DrsKeys::default().place(&idle, Time::ZERO);
        assert_eq!((place.queue, place.key), (1, u64::MAX));
    }
}

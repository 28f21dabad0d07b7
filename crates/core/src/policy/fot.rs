//! FOT: as [rrf](super::rrf), but the commands of the request with the shortest flash operation
//! time go first.
//!
//! Source: Lee et al., IEEE Access 2021. The flash operation time of a request is the sum of its
//! own commands and of the unfinished commands of others that it has to wait for; it is fixed once
//! the request has been translated. O(log n) a command.

use super::interface::{CommandPolicy, CommandView, DeadlineFrom, Placement, RequestView, by_rank};
use crate::command::Rank;
use crate::key::Kind;
use crate::units::{Span, Time};

crate::keys! {
    /// Keys of `[policy.fot]`.
    pub struct FotPolicyKeys {
        /// Longest wait of a command in RRQ; 0 for no limit.
        read_deadline_ms: Span = Span::from_ms(500) => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: 500 ms",
            flip: "1",
            with: &["policy.command=fot"],
        },
        /// Longest wait of a command in WRQ; 0 for no limit.
        write_deadline_ms: Span = Span::from_ms(5_000) => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: 5 s",
            flip: "1",
            with: &["policy.command=fot"],
        },
        /// The instant that limits count from.
        deadline_from: DeadlineFrom = DeadlineFrom::Insertion => {
            kind: Kind::Choice(DeadlineFrom::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "arrival",
            with: &["policy.command=fot", "policy.fot.write_deadline_ms=5"],
        },
    }
}

impl CommandPolicy for FotPolicyKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["RRQ", "WRQ"]
    }

    #[inline]
    fn place(&self, command: &CommandView, now: Time) -> Placement {
        let request = command.request.as_ref();
        let rank = request.map_or(Rank::NONE, RequestView::rank);
        let limits = [self.read_deadline_ms, self.write_deadline_ms];
        by_rank(rank, limits, self.deadline_from, request, now)
    }

    /// A stalled translation makes the FOT of a request grow while its first commands wait.
    fn rekeys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;

    #[test]
    fn short_requests_go_first_and_reads_before_writes() {
        let now = Time::from_us(50);
        let keys = FotPolicyKeys::default();
        let place = |is_read, fot| keys.place(&command(Op::Read, is_read, 1, fot), now);
        let order = |place: Placement| (place.queue, place.key);
        assert!(order(place(true, 60)) < order(place(true, 120)));
        assert!(order(place(true, 9_000)) < order(place(false, 60)));
        assert_eq!(place(true, 60).deadline, Some(Time::from_us(500_050)));
        assert_eq!(place(false, 60).deadline, Some(Time::from_us(5_000_050)));
    }
}

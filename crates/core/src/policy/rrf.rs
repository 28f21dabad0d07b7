//! RRF, read request first: all commands of a read, its map reads and programs included, go before
//! the commands of writes.
//!
//! Source: Lee et al., IEEE Access 2021. Writes do not starve: a command that has waited for
//! `write_deadline_ms` goes first. O(log n) a command.

use super::interface::{
    CommandPolicy, CommandView, DeadlineFrom, Placement, RequestView, by_class, due,
};
use crate::command::Rank;
use crate::key::Kind;
use crate::units::{Span, Time};

crate::choice! {
    /// The order inside RRQ and WRQ.
    pub enum RrfOrder {
        /// By insertion of the command.
        Insertion = "insertion",
        /// By arrival of the request.
        Arrival = "arrival",
    }
}

crate::keys! {
    /// Keys of `[policy.rrf]`.
    pub struct RrfKeys {
        /// Order inside each queue.
        order: RrfOrder = RrfOrder::Insertion => {
            kind: Kind::Choice(RrfOrder::WORDS),
            source: "Lee et al., IEEE Access 2021, does not decide it",
            flip: "arrival",
            with: &["policy.command=rrf"],
        },
        /// Longest wait of a command in RRQ; 0 for no limit.
        read_deadline_ms: Span = Span::ZERO => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: RRF has none",
            flip: "1",
            with: &["policy.command=rrf", "policy.rrf.write_deadline_ms=5"],
        },
        /// Longest wait of a command in WRQ; 0 for no limit.
        write_deadline_ms: Span = Span::from_ms(5_000) => {
            kind: Kind::millis(0, 1_000_000_000_000),
            source: "Lee et al., IEEE Access 2021: 5 s",
            flip: "1",
            with: &["policy.command=rrf"],
        },
        /// The instant that limits count from.
        deadline_from: DeadlineFrom = DeadlineFrom::Insertion => {
            kind: Kind::Choice(DeadlineFrom::WORDS),
            source: "Lee et al., IEEE Access 2021, is silent",
            flip: "arrival",
            with: &["policy.command=rrf", "policy.rrf.write_deadline_ms=5"],
        },
    }
}

impl CommandPolicy for RrfKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["RRQ", "WRQ"]
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, command: &CommandView, now: Time) -> Placement {
        let request = command.request.as_ref();
        let queue = by_class(request.map_or(Rank::NONE, RequestView::rank));
        let key = match (self.order, request) {
            (RrfOrder::Insertion, _) => 0,
            (RrfOrder::Arrival, request) => request.map_or(u64::MAX, |request| request.order),
        };
        let limit = [self.read_deadline_ms, self.write_deadline_ms][usize::from(queue)];
        Placement { queue, key, deadline: due(self.deadline_from, limit, request, now) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;

    #[test]
    fn all_commands_of_reads_go_before_those_of_writes() {
        let now = Time::from_us(50);
        let keys = RrfKeys::default();
        let of_read = keys.place(&command(Op::Program, true, 1, 60), now);
        let of_write = keys.place(&command(Op::Read, false, 1, 60), now);
        assert!(of_read.queue < of_write.queue);
        assert_eq!(of_read.deadline, None);
        assert_eq!(of_write.deadline, Some(Time::from_us(5_000_050)), "5 s after the insertion");
    }

    #[test]
    fn order_and_deadline_can_follow_the_arrival() {
        let keys = RrfKeys {
            order: RrfOrder::Arrival,
            deadline_from: DeadlineFrom::Arrival,
            ..RrfKeys::default()
        };
        let place = keys.place(&command(Op::Read, false, 1, 60), Time::from_us(50));
        assert_eq!((place.key, place.deadline), (3, Some(Time::from_us(5_000_010))));
    }
}

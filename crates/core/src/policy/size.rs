//! Size: as [rcf](super::rcf), but commands of small requests go first.
//!
//! Source: Lee et al., IEEE Access 2021. The paper does not say whether programs are sorted too;
//! its remarks on write latency hold only if they are, so that is the default. O(log n) a command.

use super::interface::{CommandPolicy, CommandView, Placement, by_op};
use crate::key::Kind;
use crate::units::Time;

crate::keys! {
    /// Keys of `[policy.size]`.
    pub struct SizeKeys {
        /// Whether programs are sorted by request size as reads are.
        sort_programs: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al., IEEE Access 2021, is silent; its remarks on write latency need it",
            flip: "false",
            with: &["policy.command=size"],
        },
    }
}

impl CommandPolicy for SizeKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["RCQ", "PCQ"]
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, command: &CommandView, _now: Time) -> Placement {
        let queue = by_op(command.op);
        let sorted = queue == 0 || self.sort_programs;
        let pages = command.request.map_or(u32::MAX, |request| request.pages);
        Placement::new(queue, if sorted { pages.into() } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;

    #[test]
    fn small_requests_go_first_and_programs_only_if_asked() {
        let place =
            |keys: SizeKeys, op, pages| keys.place(&command(op, true, pages, 60), Time::ZERO);
        let sorted = SizeKeys::default();
        assert!(place(sorted, Op::Read, 1).key < place(sorted, Op::Read, 8).key);
        assert!(place(sorted, Op::Program, 1).key < place(sorted, Op::Program, 8).key);
        let plain = SizeKeys { sort_programs: false };
        assert!(place(plain, Op::Read, 1).key < place(plain, Op::Read, 8).key);
        assert_eq!(place(plain, Op::Program, 1), place(plain, Op::Program, 8));
    }
}

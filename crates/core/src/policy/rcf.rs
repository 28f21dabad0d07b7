//! RCF, read command first: every read, of map pages too, goes before every program; each group is
//! served first in, first out. The baseline of the published comparison, and what is called
//! read-first elsewhere: garbage collection comes after the host, whatever its operation, unless
//! its plane is at its hard threshold. The same on any number of dies, each by itself.
//!
//! Source: Lee et al., IEEE Access 2021. Since only the current command of a set waits in a queue,
//! sets are served round robin. O(log n) a command.

use super::interface::{CommandPolicy, CommandView, Placement, by_op};
use crate::units::Time;

crate::keys! {
    /// The policy has no keys.
    pub struct RcfKeys {}
}

impl CommandPolicy for RcfKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["RCQ", "PCQ"]
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, command: &CommandView, _now: Time) -> Placement {
        Placement::new(by_op(command.op), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;

    /// The map read of a write is a read like any other.
    #[test]
    fn reads_go_before_programs_whoever_asked() {
        let place = |op, is_read| RcfKeys {}.place(&command(op, is_read, 4, 60), Time::ZERO);
        assert_eq!(place(Op::Read, false), place(Op::Read, true));
        assert_eq!(place(Op::Program, true), place(Op::Program, false));
        assert!(place(Op::Read, false).queue < place(Op::Program, true).queue);
    }
}

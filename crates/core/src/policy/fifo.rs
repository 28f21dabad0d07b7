//! First in, first out: the baseline of every comparison. O(log n) a command.

use super::interface::{CommandPolicy, CommandView, Placement};
use crate::units::Time;

crate::keys! {
    /// The policy has no keys.
    pub struct FifoKeys {}
}

impl CommandPolicy for FifoKeys {
    fn queue_names(&self) -> &'static [&'static str] {
        &["FIFO"]
    }

    fn reads_fot(&self) -> bool {
        false
    }

    #[inline]
    fn place(&self, _command: &CommandView, _now: Time) -> Placement {
        Placement::new(0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::views::command;
    use super::*;
    use crate::command::Op;

    #[test]
    fn all_commands_are_equal() {
        let now = Time::from_us(50);
        let read = FifoKeys {}.place(&command(Op::Read, true, 1, 60), now);
        let program = FifoKeys {}.place(&command(Op::Program, false, 9, 9_000), now);
        assert_eq!(read, program);
        assert_eq!(read.deadline, None);
    }
}

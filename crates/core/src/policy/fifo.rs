//! First in, first out: the baseline of every comparison. O(log n) a command.

use super::{CommandPolicy, CommandView, Placement};
use crate::units::Time;

crate::keys! {
    /// The policy has no keys.
    pub struct FifoKeys {}
}

impl CommandPolicy for FifoKeys {
    fn queue_names(&self) -> [&'static str; 2] {
        ["FIFO", "-"]
    }

    fn place(&self, _command: &CommandView, _now: Time) -> Placement {
        Placement::new(0, 0)
    }
}

//! The command policy of a run: a built-in one, dispatched statically, or a user's own.

use flashyard_core::policy::{AnyPolicy, CommandPolicy, CommandView, Placement};
use flashyard_core::units::Time;
use std::fmt;

/// A command policy.
pub enum Policy {
    /// One of the registry.
    BuiltIn(AnyPolicy),
    /// Any other.
    Own(Box<dyn CommandPolicy + Send>),
}

impl CommandPolicy for Policy {
    fn queue_names(&self) -> &'static [&'static str] {
        match self {
            Self::BuiltIn(policy) => policy.queue_names(),
            Self::Own(policy) => policy.queue_names(),
        }
    }

    fn place(&self, command: &CommandView, now: Time) -> Placement {
        match self {
            Self::BuiltIn(policy) => policy.place(command, now),
            Self::Own(policy) => policy.place(command, now),
        }
    }

    fn reads_fot(&self) -> bool {
        match self {
            Self::BuiltIn(policy) => policy.reads_fot(),
            Self::Own(policy) => policy.reads_fot(),
        }
    }

    fn queues_before_urgent_gc(&self) -> u8 {
        match self {
            Self::BuiltIn(policy) => policy.queues_before_urgent_gc(),
            Self::Own(policy) => policy.queues_before_urgent_gc(),
        }
    }

    fn inherits(&self) -> bool {
        match self {
            Self::BuiltIn(policy) => policy.inherits(),
            Self::Own(policy) => policy.inherits(),
        }
    }

    fn rekeys(&self) -> bool {
        match self {
            Self::BuiltIn(policy) => policy.rekeys(),
            Self::Own(policy) => policy.rekeys(),
        }
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(policy) => policy.fmt(f),
            Self::Own(policy) => write!(f, "Own({:?})", policy.queue_names()),
        }
    }
}

//! The command policy of a run: a built-in one, dispatched statically, or a user's own.

use crate::config::Settings;
use flashyard_core::policy::{AnyPolicy, CommandPolicy, CommandView, Placement, PolicyName};
use flashyard_core::units::Time;
use std::fmt;

/// A user's own command policy.
pub type OwnPolicy = Box<dyn CommandPolicy + Send>;

/// A command policy.
pub enum Policy {
    /// One of the registry.
    BuiltIn(AnyPolicy),
    /// Any other.
    Own(OwnPolicy),
}

impl Policy {
    /// The one that the settings name.
    pub fn of(settings: &Settings) -> Self {
        let keys = &settings.keys;
        match keys.policy.command {
            PolicyName::Own(number) => Self::Own(keys.own.command_policy(number)),
            name => Self::BuiltIn(keys.policies.policy(name)),
        }
    }
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

//! The policies of a run: built-in ones, dispatched statically, or a user's own.

use super::forward::forward;
use flashyard_core::bus::policy::{AnyBusPolicy, BusPolicy, ChannelView};
use flashyard_core::command::StreamId;
use flashyard_core::host::{AnyHostPolicy, HostAnswer, HostPolicy, HostView};
use flashyard_core::policy::{AnyPolicy, CommandEvent, CommandPolicy, CommandView, Placement};
use flashyard_core::units::Time;
use std::fmt;
use std::sync::Arc;

/// A user's own command policy.
pub type OwnPolicy = Arc<dyn CommandPolicy + Send + Sync>;

/// A host policy that is boxed.
pub(crate) trait BoxedHostPolicy {
    /// See [`HostPolicy::pick`].
    fn pick(&self, view: &dyn HostView) -> HostAnswer;
    /// See [`HostPolicy::by_pages`].
    fn by_pages(&self) -> bool;
    /// See [`HostPolicy::in_order`].
    fn in_order(&self) -> bool;
}

impl<P: HostPolicy> BoxedHostPolicy for P {
    fn pick(&self, view: &dyn HostView) -> HostAnswer {
        HostPolicy::pick(self, view)
    }
    fn by_pages(&self) -> bool {
        HostPolicy::by_pages(self)
    }
    fn in_order(&self) -> bool {
        HostPolicy::in_order(self)
    }
}

/// A user's own host policy.
pub(crate) type OwnHostPolicy = Arc<dyn BoxedHostPolicy + Send + Sync>;

/// The host policy of a run, and what it says of itself.
#[derive(Clone)]
pub(crate) struct HostRule {
    rule: Rule,
    by_pages: bool,
    in_order: bool,
    is_fifo: bool,
}

/// A host policy.
#[derive(Clone)]
enum Rule {
    /// One of the registry.
    BuiltIn(AnyHostPolicy),
    /// Any other.
    Own(OwnHostPolicy),
}

impl HostRule {
    /// One of the registry.
    pub(crate) fn built_in(policy: AnyHostPolicy) -> Self {
        let (by_pages, in_order) = (policy.by_pages(), policy.in_order());
        let is_fifo = matches!(policy, AnyHostPolicy::Fifo(_));
        Self { rule: Rule::BuiltIn(policy), by_pages, in_order, is_fifo }
    }

    /// A user's own.
    pub(crate) fn own(policy: OwnHostPolicy) -> Self {
        let (by_pages, in_order) = (policy.by_pages(), policy.in_order());
        Self { rule: Rule::Own(policy), by_pages, in_order, is_fifo: false }
    }

    /// See [`HostPolicy::pick`].
    pub(crate) fn pick(&self, view: &impl HostView) -> HostAnswer {
        match &self.rule {
            Rule::BuiltIn(policy) => policy.pick(view),
            Rule::Own(policy) => policy.pick(view),
        }
    }

    /// See [`HostPolicy::by_pages`].
    #[inline]
    pub(crate) const fn by_pages(&self) -> bool {
        self.by_pages
    }

    /// See [`HostPolicy::in_order`].
    #[inline]
    pub(crate) const fn in_order(&self) -> bool {
        self.in_order
    }

    /// Whether it is the built-in one that starts the oldest request and looks at nothing.
    #[inline]
    pub(crate) const fn is_fifo(&self) -> bool {
        self.is_fifo
    }
}

/// A command policy.
#[derive(Clone)]
pub enum Policy {
    /// One of the registry.
    BuiltIn(AnyPolicy),
    /// Any other.
    Own(OwnPolicy),
}

impl CommandPolicy for Policy {
    forward! {
        [BuiltIn Own]
        fn queue_names(&self) -> &'static [&'static str];
        fn place(&self, command: &CommandView<'_>, now: Time) -> Placement;
        fn reads_fot(&self) -> bool;
        fn queues_before_urgent_gc(&self) -> u8;
        fn inherits(&self) -> bool;
        fn rekeys(&self) -> bool;
        fn has_state(&self) -> bool;
        fn state_words(&self, dies: usize, streams: usize) -> usize;
        fn command_event(&self, state: &mut [u64], event: &CommandEvent);
        fn ranks_streams(&self) -> bool;
        fn stream_rank(&self, state: &[u64], stream: StreamId) -> u128;
    }
}

/// A user's own bus policy.
pub type OwnBusPolicy = Arc<dyn BusPolicy + Send + Sync>;

/// A bus policy.
#[derive(Clone)]
pub enum BusRule {
    /// One of the registry.
    BuiltIn(AnyBusPolicy),
    /// Any other.
    Own(OwnBusPolicy),
}

impl BusPolicy for BusRule {
    forward! {
        [BuiltIn Own]
        fn pick(&self, channel: &ChannelView<'_>) -> Option<usize>;
        fn gates_dispatch(&self) -> bool;
    }
}

impl fmt::Debug for BusRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(policy) => policy.fmt(f),
            Self::Own(_) => write!(f, "Own"),
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

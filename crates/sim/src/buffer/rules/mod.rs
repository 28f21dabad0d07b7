//! When the buffer is flushed although no request asks for it: one rule a file.

mod ahead;
mod at_once;
mod full;
mod interface;
mod watermark;

pub(super) use interface::BufferView;

use crate::config::{BufferKeys, Eviction};
use crate::observe::FlushTrigger;
use ahead::Ahead;
use at_once::AtOnce;
use full::Full;
use interface::FlushRule;
use watermark::Watermark;

/// The rule of a buffer.
#[derive(Clone, Debug)]
pub(super) enum AnyRule {
    Watermark(Watermark),
    Full(Full),
    Ahead(Ahead),
    AtOnce(AtOnce),
}

impl AnyRule {
    /// The rule for a buffer of so many units. A host policy by pages flushes itself; then only
    /// what it has started may need a line.
    pub(super) fn new(keys: &BufferKeys, units: u32, by_pages: bool) -> Self {
        match keys.eviction {
            _ if by_pages => Self::Full(Full),
            Eviction::Watermark => Self::Watermark(Watermark::new(keys, units)),
            Eviction::Full => Self::Full(Full),
            Eviction::Ahead => Self::Ahead(Ahead::new(units)),
            Eviction::AtOnce => Self::AtOnce(AtOnce),
        }
    }

    pub(super) fn wants(&mut self, view: &mut BufferView<'_>) -> bool {
        match self {
            Self::Watermark(rule) => rule.wants(view),
            Self::Full(rule) => rule.wants(view),
            Self::Ahead(rule) => rule.wants(view),
            Self::AtOnce(rule) => rule.wants(view),
        }
    }

    /// Why what the rule wants is flushed.
    pub(super) const fn trigger(&self) -> FlushTrigger {
        match self {
            Self::Watermark(_) => FlushTrigger::Watermark,
            Self::Full(_) => FlushTrigger::Awaited,
            Self::Ahead(_) => FlushTrigger::Coming,
            Self::AtOnce(_) => FlushTrigger::Written,
        }
    }

    /// Whether the rule flushes down to its lower watermark.
    pub(super) const fn is_draining(&self) -> bool {
        matches!(self, Self::Watermark(rule) if rule.is_draining)
    }

    /// Sets whether it does, if it has watermarks.
    pub(super) const fn set_draining(&mut self, draining: bool) {
        if let Self::Watermark(rule) = self {
            rule.is_draining = draining;
        }
    }
}

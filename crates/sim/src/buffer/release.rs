//! Lines that programs free, with `buffer.release_us`: they become usable one after another.
//!
//! The lines of a group that a program has freed are usable at even distances, as if their units
//! left the buffer over the time of the next program and not at once. Between two lines of a group
//! passes at least `release_us` / the units of a program.

use crate::config::{Allocation, Settings};
use flashyard_core::units::{Span, Time};

/// Lines that hold nothing that flash lacks and are not usable yet.
#[derive(Clone, Debug)]
pub(super) struct Release {
    /// Time between two lines of a group.
    step: Span,
    /// When the next line of each group is usable at the earliest.
    next: Vec<Time>,
    /// Lines that are not usable.
    pub(super) held: u32,
}

impl Release {
    /// Nothing is held; none where lines are usable at once.
    pub(super) fn new(settings: &Settings, groups: u32) -> Option<Box<Self>> {
        let (span, geometry) = (settings.keys.buffer.release_us, &settings.geometry);
        let planes = match settings.keys.ftl.allocation {
            Allocation::Static => 1,
            Allocation::Dynamic => geometry.all_planes(),
        };
        let units = u64::from(geometry.program_units()) * u64::from(planes);
        let step = Span::from_ns(span.as_ns() / units);
        let next = vec![Time::ZERO; groups as usize];
        (!step.is_zero()).then(|| Box::new(Self { step, next, held: 0 }))
    }

    /// A phase begins: all lines are usable.
    pub(super) fn begin(&mut self) {
        self.next.fill(Time::ZERO);
    }

    /// A program has freed a line of a group. Returns when it is usable, if it is not now.
    pub(super) fn hold(&mut self, group: u32, now: Time) -> Option<Time> {
        let next = &mut self.next[group as usize];
        let usable = now.max(*next);
        *next = usable + self.step;
        self.held += u32::from(usable > now);
        (usable > now).then_some(usable)
    }
}

//! Lines that programs free, where they do not become usable at once.
//!
//! With `buffer.release_us` the lines of a group that a program has freed are usable at even
//! distances, as if their units left the buffer over the time of the next program and not at once.
//! Between two lines of a group passes at least `release_us` / the units of a program.
//!
//! With `buffer.release_bytes` they become usable together, when so many are free or no program is
//! under way that frees more: as where the buffer is handed back page by page of all dies.

use crate::config::{Allocation, Settings};
use flashyard_core::units::{Span, Time};

/// Lines that hold nothing that flash lacks and are not usable yet.
#[derive(Clone, Debug)]
pub(super) struct Release {
    /// Time between two lines of a group.
    step: Span,
    /// Lines that become usable together; 0 where they do not.
    together: u32,
    /// When the next line of each group is usable at the earliest.
    next: Vec<Time>,
    /// Lines that are not usable.
    pub(super) held: u32,
}

impl Release {
    /// Nothing is held; none where lines are usable at once.
    pub(super) fn new(settings: &Settings, groups: u32) -> Option<Box<Self>> {
        let (keys, geometry) = (&settings.keys.buffer, &settings.geometry);
        let planes = match settings.keys.ftl.allocation {
            Allocation::Static => 1,
            Allocation::Dynamic => geometry.all_planes(),
        };
        let units = u64::from(geometry.program_units()) * u64::from(planes);
        let step = Span::from_ns(keys.release_us.as_ns() / units);
        let together = keys.release_bytes / u64::from(geometry.unit_bytes());
        let together = u32::try_from(together).expect("fewer than the lines");
        let next = vec![Time::ZERO; groups as usize];
        let later = together > 1 || !step.is_zero();
        later.then(|| Box::new(Self { step, together, next, held: 0 }))
    }

    /// A phase begins: all lines are usable.
    pub(super) fn begin(&mut self) {
        self.next.fill(Time::ZERO);
    }

    /// A program has freed a line of a group, and so many lines are on their way to flash. Returns
    /// when it is usable, if that is known and not now.
    pub(super) fn hold(&mut self, group: u32, freeing: u32, now: Time) -> Option<Time> {
        if self.together > 0 {
            self.held = if self.held + 1 < self.together { self.held + 1 } else { 0 };
            self.all_are_free(freeing);
            return None;
        }
        let next = &mut self.next[group as usize];
        let usable = now.max(*next);
        *next = usable + self.step;
        self.held += u32::from(usable > now);
        (usable > now).then_some(usable)
    }

    /// So many lines are on their way to flash: where there are none, those that wait for others
    /// become usable.
    pub(super) fn all_are_free(&mut self, freeing: u32) {
        if self.together > 0 && freeing == 0 {
            self.held = 0;
        }
    }
}

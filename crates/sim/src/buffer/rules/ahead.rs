//! Flushes when the writes in the host queue, and those that wait for a line already, need more
//! lines than are free or being freed.

use super::interface::{BufferView, FlushRule};
use flashyard_core::units::Lpn;

#[derive(Clone, Debug)]
pub(crate) struct Ahead(DemandCount);

impl Ahead {
    /// For a buffer of so many units.
    pub(super) fn new(units: u32) -> Self {
        Self(DemandCount::new(units))
    }
}

impl FlushRule for Ahead {
    fn wants(&mut self, view: &mut BufferView<'_>) -> bool {
        let coming = view.lines.free_lines() + view.lines.freeing();
        assert!(coming <= view.lines.units(), "each line comes once");
        let (lines, demand) = (view.lines, &mut self.0);
        demand.begin();
        let mut needed = view.waiting;
        while needed <= coming {
            let Some(lpn) = view.coming.next() else { return false };
            needed += u32::from(lines.find(lpn).is_none() && demand.is_new(lpn));
        }
        true
    }
}

/// The distinct units that writes in the host queue will need lines for.
#[derive(Clone, Debug)]
struct DemandCount {
    /// Units of this and of earlier looks, each with the number of its look.
    places: Vec<(u32, u32)>,
    look: u32,
}

impl DemandCount {
    /// Room for one unit more than `units`.
    fn new(units: u32) -> Self {
        Self { places: vec![(0, 0); 2 * (units as usize + 1).next_power_of_two()], look: 0 }
    }

    /// A new look begins, that has seen none.
    fn begin(&mut self) {
        self.look = self.look.wrapping_add(1);
        if self.look == 0 {
            self.places.fill((0, 0));
            self.look = 1;
        }
    }

    /// Whether a unit is seen for the first time in this look.
    fn is_new(&mut self, lpn: Lpn) -> bool {
        let mask = self.places.len() - 1;
        let mut at = lpn.scattered() as usize & mask;
        loop {
            match &mut self.places[at] {
                (known, look) if *look == self.look && *known == lpn.get() => return false,
                (_, look) if *look == self.look => at = (at + 1) & mask,
                place => {
                    *place = (lpn.get(), self.look);
                    return true;
                }
            }
        }
    }
}

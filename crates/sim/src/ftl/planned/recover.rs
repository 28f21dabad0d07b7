//! Layers that begin again after a loss of power, with what recovery has found on their pages.

use super::Planned;
use crate::ftl::page_map::PageMap;
use crate::ftl::restart::Recovered;
use crate::ftl::stale::StaleRef;
use crate::parts::layer::{FoundPage, TranslationLayer};
use flashyard_core::units::{Lpn, PlaneId, Ppn};

impl Planned {
    /// Nothing is planned or under way, pages whose program was are programmed, and each layer
    /// takes what was found on the pages of its plane.
    pub(in crate::ftl) fn recover(&mut self, found: &Recovered<'_>, map: &mut PageMap) {
        assert!(!self.spans(), "layers over all planes do not recover");
        for queue in &mut self.queues {
            queue.steps.clear();
            queue.tasks.clear();
        }
        self.tasks = 0;
        for sets in [&mut self.eraser, &mut self.filler, &mut self.writer] {
            sets.fill(StaleRef::NONE);
        }
        if let Some(orders) = &mut self.orders {
            orders.clear();
        }
        self.programs.fill(0);
        self.joined = None;
        for &ppn in found.bound {
            self.note_page(ppn, map);
        }
        for number in 0..self.layers.len() {
            let plane = PlaneId::from_index(number);
            let pages: Vec<_> = (0..self.layout.pages_of_layer())
                .map(|local| self.found_page(self.layout.ppn(plane, local), found))
                .collect();
            self.layers[number].recover(&pages);
        }
    }

    /// What was found on a page; none of an erased one.
    fn found_page(&self, ppn: Ppn, found: &Recovered<'_>) -> Option<FoundPage> {
        if !self.is_written(ppn) {
            return None;
        }
        let (owner, version) = (found.owner[ppn.index()], found.version[ppn.index()]);
        let lpn = owner.checked_sub(1).map(Lpn::new);
        let newest = lpn.is_some_and(|lpn| found.place[lpn.index()] == ppn.get() + 1);
        let holds = lpn.map(|lpn| (self.layout.local(lpn), version));
        Some(FoundPage { holds, newest })
    }
}

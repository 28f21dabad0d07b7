//! The map commands of a plan, and the place of a new set in the graph.

use super::Translation;
use crate::config::MapHazards;
use crate::ftl::line_cache::Lookup;
use crate::ftl::{Plan, map_write};
use crate::handle::SetId;
use crate::sets::Stage;
use flashyard_core::graph::EdgeKind;
use flashyard_core::units::Lpn;

impl Translation<'_> {
    /// Looks an entry up in the map cache, where there is one, and plans what that takes. Returns
    /// whether the cache can do it now.
    pub(super) fn plan_map(&mut self, plan: &mut Plan, lpn: Lpn) -> bool {
        let Some(lookup) = self.ftl.look_up(lpn) else { return true };
        match lookup {
            Lookup::Stall => {
                self.account.map_stalled();
                return false;
            }
            Lookup::Hit { line, fetch } => {
                self.account.map_hit();
                plan.map.line = line;
                if let Some(fetch) = fetch {
                    let stage = self.sets.stage_index(fetch, Stage::Fetch);
                    plan.wait(fetch, stage, EdgeKind::MapFetch);
                }
            }
            Lookup::Miss { victim } => self.plan_miss(plan, victim, lpn),
        }
        plan.lookup = Some(lookup);
        self.account.map_looked_up();
        true
    }

    /// Map commands of a miss: write the victim's map page back if it is dirty, fetch the line.
    fn plan_miss(&mut self, plan: &mut Plan, victim: u32, lpn: Lpn) {
        let miss = self.ftl.miss(victim, lpn);
        let order = self.settings.keys.map.hazards == MapHazards::Order;
        self.account.map_missed();
        plan.map.line = victim;
        if let Some(cleaner) = miss.cleaner {
            plan.wait(cleaner, map_write(self.sets, cleaner), EdgeKind::MapWriteback);
        }
        if let Some(evicted) = miss.evicted {
            self.account.map_evicted_dirty();
            plan.map.page = evicted.page;
            let plane = self.ftl.plane_of_map(evicted.page);
            self.plan_hazard(plan, evicted.writer, order);
            if evicted.reads {
                plan.push(Stage::EvictRead, plane);
            }
            plan.push(Stage::Writeback, plane);
        }
        if let Some(fetch) = miss.shared_fetch {
            plan.shared_fetch = Some(fetch);
            plan.wait(fetch, self.sets.stage_index(fetch, Stage::Fetch), EdgeKind::MapFetch);
        }
        if let Some((page, writer)) = miss.fetch {
            plan.fetches = true;
            self.plan_hazard(plan, writer, order);
            plan.push(Stage::Fetch, self.ftl.plane_of_map(page));
        }
    }

    /// A map operation that an unfinished write makes stale waits for it, or is counted.
    fn plan_hazard(&mut self, plan: &mut Plan, writer: Option<SetId>, order: bool) {
        let Some(writer) = writer else { return };
        if order {
            plan.wait(writer, map_write(self.sets, writer), EdgeKind::MapWriteback);
        } else {
            self.account.map_hazard_ignored();
        }
    }

    /// Enters a new set into the map cache, the index by LPN and the graph.
    #[inline(always)]
    pub(super) fn enlist(&mut self, set: SetId, plan: &Plan) {
        let (lpn, changes) = (self.sets[set].lpn(), self.sets[set].changes());
        if self.account.is_checked() {
            if let Some(order) = self.sets.order_of(set) {
                self.account.translated(order, lpn, changes);
            }
            if changes && plan.lookup.is_some() {
                self.account.entry_changed(lpn);
            }
        }
        if let Some(lookup) = plan.lookup {
            let fetch = if plan.fetches { Some(set) } else { plan.shared_fetch };
            self.ftl.translated(lookup, lpn, (set, fetch), changes);
        }
        for (stage, wait) in plan.waits.iter().map_while(|known| *known) {
            if stage < plan.count {
                self.sets.connect(wait, set, stage);
            }
        }
        self.sets.list_by_lpn(set);
        if changes {
            self.sets.list_change(set);
        }
    }
}

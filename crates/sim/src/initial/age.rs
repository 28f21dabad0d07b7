//! The state `aged`: random overwrites of a full device without timing, collected as the device
//! collects.
//!
//! Planes are independent of each other: a unit stays on its plane, and so does all that collection
//! moves. So writes are drawn a batch at a time and done plane by plane, each plane's in the order
//! in which they were drawn: the tables of a plane's blocks then stay in the processor's caches,
//! and the map, which is far larger, is asked for ahead of need. The state is the one that the
//! writes leave in the order of the draws.

use super::Pool;
use super::device::Pools;
use super::planned::aging_writes;
use super::progress::Meter;
use super::random::Random;
use crate::config::{GcStart, Settings};
use crate::ftl::page_map::{ByPlane, PageMap};
use crate::parts::blocks::Frontier;
use flashyard_core::units::{BlockId, PlaneId};

/// Written units for each write of a batch: its list then takes a thirty-second of what the map
/// takes, and a plane's entries are used several times before those of the next plane.
const UNITS_PER_WRITE: u64 = 16;

/// The least number of writes of a batch.
const LEAST_BATCH: u64 = 1 << 20;

/// The frontier that host data go to.
const HOST: Frontier = Frontier::HostData(0);

/// How many of these writes to a device with that many written units are a batch.
fn batch(writes: u64, units: u32) -> u64 {
    writes.min(LEAST_BATCH.max(u64::from(units) / UNITS_PER_WRITE))
}

/// Bytes of the lists of a batch.
pub(super) fn scratch_bytes(settings: &Settings) -> u64 {
    let units = settings.exported_units;
    let batch = batch(aging_writes(settings, units), units);
    4 * (batch + batch / 16)
}

impl Pools<'_> {
    /// Writes every unit in order.
    pub(super) fn fill(&self, map: &mut PageMap, meter: &mut Meter<'_>) {
        map.lay_in_order(HOST, self.filled, |units| meter.count(u64::from(units)));
    }

    /// Writes random units, without timing, and collects as the device does.
    pub(super) fn age(&self, map: &mut ByPlane<'_>, meter: &mut Meter<'_>) {
        let mut random = Random::new(self.seed, 3);
        let [hot, _] = self.writes();
        let pool = Pool::of_plane(self.settings);
        let mut begun = vec![None; self.count() as usize];
        let mut left = aging_writes(self.settings, self.filled);
        let most = batch(left, self.filled);
        let share = usize::try_from(most / u64::from(self.count())).unwrap_or(0);
        // A few more than its share, or the lists grow to twice what they need.
        let list = || Vec::with_capacity(share + share / 16);
        let mut of_planes: Vec<Vec<u32>> = (0..self.count()).map(|_| list()).collect();
        while left > 0 {
            let batch = left.min(most);
            left -= batch;
            for _ in 0..batch {
                let unit = self.draw(&mut random, hot);
                of_planes[self.of_lpn(unit) as usize].push(unit);
            }
            for (plane, units) in (0..).map(PlaneId::new).zip(&mut of_planes) {
                match pool.target {
                    Some(target) => {
                        self.write_paced(map, plane, units, target, &mut begun[plane.index()]);
                    }
                    None => self.write_all(map, plane, units, u64::from(pool.soft)),
                }
                meter.count(units.len() as u64);
                units.clear();
            }
        }
        let blocks = &mut map.map().blocks;
        begun.into_iter().flatten().for_each(|(victim, _)| blocks.set_aside(victim));
    }

    /// Writes units of a plane in order, with paced collection: after each one copies until the
    /// plane has `target` spare units, those of the victim that have been dealt with included, and
    /// room for the next one, or no full block has an invalid unit. `begun` is that victim, and its
    /// next unit.
    fn write_paced(
        &self,
        map: &mut ByPlane<'_>,
        plane: PlaneId,
        units: &[u32],
        target: u32,
        begun: &mut Option<(BlockId, u32)>,
    ) {
        let reserve = self.settings.keys.gc.reserve_blocks;
        for unit in units {
            map.put(self.settings, HOST, *unit);
            loop {
                let walked = begun.map_or(0, |(_, next)| next);
                let blocks = &mut map.map().blocks;
                let is_spared = blocks.spare_units(plane) + u64::from(walked) >= u64::from(target);
                // Spare units may all be in open blocks of copies.
                let has_room = blocks.has_open_block(plane, HOST)
                    || u64::from(blocks.free_blocks(plane)) > reserve;
                if is_spared && has_room {
                    break;
                }
                let Some((victim, next)) = *begun else {
                    let Some(victim) = blocks.victim(plane) else { break };
                    blocks.claim(victim);
                    *begun = Some((victim, 0));
                    continue;
                };
                let next = map.copy_next(self.settings, victim, next);
                *begun = next.map(|next| (victim, next));
                if begun.is_none() {
                    map.map().blocks.lay_erased(victim);
                }
            }
        }
    }

    /// Writes units of a plane in order.
    fn write_all(&self, map: &mut ByPlane<'_>, plane: PlaneId, units: &[u32], soft: u64) {
        let mut at = 0;
        while at < units.len() {
            // Inside an open block nothing is collected, and nothing becomes a victim.
            at += map.overwrite(plane, HOST, &units[at..]);
            if let Some(unit) = units.get(at) {
                self.write(map, plane, *unit, soft);
                at += 1;
            }
        }
    }

    /// Writes a unit, which may open a block or fill it.
    fn write(&self, map: &mut ByPlane<'_>, plane: PlaneId, unit: u32, soft: u64) {
        let gc = &self.settings.keys.gc;
        let opens = !map.map().blocks.has_open_block(plane, HOST);
        if gc.start == GcStart::Needed {
            self.collect(map, plane, gc.reserve_blocks, true);
        }
        map.put(self.settings, HOST, unit);
        if opens && gc.start == GcStart::Early {
            self.collect(map, plane, soft, false);
        }
    }

    /// Collects garbage until more than `short` blocks are free or no full block has an invalid
    /// unit; if `until_open`, at most until host data have an open block.
    fn collect(&self, map: &mut ByPlane<'_>, plane: PlaneId, short: u64, until_open: bool) {
        loop {
            let blocks = &mut map.map().blocks;
            let is_enough = until_open && blocks.has_open_block(plane, HOST);
            if u64::from(blocks.free_blocks(plane)) > short || is_enough {
                return;
            }
            let Some(victim) = blocks.victim(plane) else { return };
            blocks.claim(victim);
            map.clean(self.settings, plane, victim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, apply_setting};
    use crate::ftl::page_map::PageMap;
    use crate::initial::progress::Building;
    use crate::parts::victim::VictimKeys;
    use crate::saved::{Saved, Writer};
    use flashyard_core::units::Lpn;

    /// The same in the order of the draws and unit by unit.
    fn age_in_order(pools: &Pools<'_>, map: &mut PageMap) {
        let mut random = Random::new(pools.seed, 3);
        let [hot, _] = pools.writes();
        let Pool { soft, target, .. } = Pool::of_plane(pools.settings);
        let mut begun = vec![None; pools.count() as usize];
        for _ in 0..aging_writes(pools.settings, pools.filled) {
            let unit = pools.draw(&mut random, hot);
            let plane = PlaneId::new(pools.of_lpn(unit));
            let gc = &pools.settings.keys.gc;
            let opens = !map.blocks.has_open_block(plane, HOST);
            if gc.start == GcStart::Needed {
                collect_by_unit(map, plane, gc.reserve_blocks, true);
            }
            pools.put(map, Lpn::new(unit));
            if let Some(target) = target {
                keep_by_unit(map, plane, target, &mut begun[plane.index()]);
            } else if opens && gc.start == GcStart::Early {
                collect_by_unit(map, plane, u64::from(soft), false);
            }
        }
        begun.into_iter().flatten().for_each(|(victim, _)| map.blocks.set_aside(victim));
    }

    fn keep_by_unit(
        map: &mut PageMap,
        plane: PlaneId,
        target: u32,
        begun: &mut Option<(BlockId, u32)>,
    ) {
        let walked = |begun: &Option<(BlockId, u32)>| begun.map_or(0, |(_, next)| u64::from(next));
        while map.blocks.spare_units(plane) + walked(begun) < u64::from(target) {
            if begun.is_none() {
                let Some(victim) = map.blocks.victim(plane) else { return };
                map.blocks.claim(victim);
                *begun = Some((victim, 0));
            }
            let Some((victim, next)) = *begun else { return };
            *begun = map.next_valid(victim, next).map(|(unit, _, owner)| {
                map.lay_next(plane, map.blocks.copy_frontier(victim), owner);
                (victim, unit + 1)
            });
            if begun.is_none() {
                map.blocks.lay_erased(victim);
            }
        }
    }

    fn collect_by_unit(map: &mut PageMap, plane: PlaneId, short: u64, until_open: bool) {
        while u64::from(map.blocks.free_blocks(plane)) <= short {
            if until_open && map.blocks.has_open_block(plane, HOST) {
                return;
            }
            let Some(victim) = map.blocks.victim(plane) else { return };
            map.blocks.claim(victim);
            while let Some((_, _, owner)) = map.next_valid(victim, 0) {
                map.lay_next(plane, map.blocks.copy_frontier(victim), owner);
            }
            map.blocks.lay_erased(victim);
        }
    }

    fn settings(assignments: &[&str]) -> Settings {
        const SMALL: [&str; 10] = [
            "geometry.channels=3",
            "geometry.ways=2",
            "geometry.blocks_per_plane=64",
            "geometry.pages_per_block=30",
            "ftl.over_provisioning_percent=40",
            "gc.soft_free_blocks=6",
            "gc.hard_free_blocks=2",
            "gc.reserve_blocks=3",
            "state.initial=aged",
            "state.aged_percent=150",
        ];
        let mut keys = DeviceKeys::default();
        let mut problems = Vec::new();
        for assignment in SMALL.iter().chain(assignments) {
            apply_setting("--set", assignment, &mut keys, &mut problems);
        }
        assert!(problems.is_empty(), "{problems:?}");
        Settings::new(keys).expect("the device can exist")
    }

    fn bytes(map: &PageMap) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sink = |part: &[u8]| bytes.extend_from_slice(part);
        let mut writer = Writer::new(&mut sink);
        map.save(&mut writer);
        writer.finish();
        bytes
    }

    /// Where both ways agree in every byte of the map and of the blocks under every rule for
    /// victims, the order of the planes does not matter and neither do copies in bulk.
    #[track_caller]
    fn agree(assignments: &[&str]) {
        let settings = settings(assignments);
        let pools = Pools::new(&settings);
        let (mut fast, mut slow) = (PageMap::new(&settings), PageMap::new(&settings));
        let writes = aging_writes(&settings, pools.filled) + u64::from(pools.filled);
        let mut last = 0;
        let mut tell = |building: Building| last = building.done;
        let mut meter = Meter::new(writes, &mut tell);
        pools.fill(&mut fast, &mut meter);
        pools.put_map_pages(&mut fast);
        let mut by_plane = ByPlane::new(&mut fast, pools.filled);
        pools.age(&mut by_plane, &mut meter);
        by_plane.finish();
        assert_eq!(last, writes, "progress ends at the end");
        (0..pools.filled).for_each(|lpn| pools.put(&mut slow, Lpn::new(lpn)));
        pools.put_map_pages(&mut slow);
        age_in_order(&pools, &mut slow);
        fast.audit();
        assert!(fast.blocks.usable_erase_counts().any(|erases| erases > 0), "it collects");
        assert!(bytes(&fast) == bytes(&slow), "{assignments:?}");
    }

    #[test]
    fn plane_by_plane_is_the_order_of_the_draws() {
        for (rule, _, _) in VictimKeys::PARTS {
            let rule = format!("gc.policy={rule}");
            agree(&[&rule]);
            agree(&[&rule, "state.hot_writes_percent=80", "ftl.generations=0"]);
            agree(&[&rule, "gc.start=needed", "ftl.generations=3", "wear.dynamic=true"]);
        }
        agree(&["gc.pacing=spare", "state.hot_writes_percent=80"]);
        agree(&["gc.pacing=tokens", "geometry.planes=2", "nand.factory_bad_percent=3"]);
        agree(&["map.store=resident", "geometry.pages_per_block=64", "placement.handles=2"]);
        agree(&["geometry.planes=2", "nand.bits_per_cell=3", "nand.one_shot=true"]);
        agree(&["ftl.mapping_unit_bytes=512", "geometry.channels=1", "geometry.ways=1"]);
        agree(&["state.fill_percent=61", "geometry.planes=2", "ftl.mapping_unit_bytes=1024"]);
        agree(&["nand.factory_bad_percent=3", "wear.static_gap=4", "ftl.partial_write=bitmap"]);
    }
}

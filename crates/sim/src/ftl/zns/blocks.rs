//! Where zones are: each unit of a zone has its plane, by striping; each zone has open blocks of
//! its own there, which are free blocks of the plane until it takes them.

use crate::config::Settings;
use crate::parts::blocks::Blocks;
use crate::parts::log::zns::ZoneShape;
use crate::saved::saved;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, DieId, Lpn, PlaneId, Ppn};

/// The blocks of all zones.
#[derive(Clone, Debug)]
pub(crate) struct ZoneBlocks {
    shape: ZoneShape,
    geometry: Geometry,
    /// Units that one program fills: the units of a stripe.
    program_units: u32,
    /// The planes of each set of dies, in the order of striping, one set behind the other.
    planes: Vec<PlaneId>,
    /// The place of each plane in its set.
    places: Vec<u32>,
    /// Units that each zone has taken of each of its planes.
    taken: Vec<u32>,
    /// The blocks of each zone on each of its planes, plus one; 0 for none.
    blocks: Vec<u32>,
    /// Units that have been taken of each block since its erase.
    written: Vec<u32>,
}

saved!(ZoneBlocks {
    taken, blocks, written,
} skip { shape, geometry, program_units, planes, places });

impl ZoneBlocks {
    /// Those of a device with zones that nothing was ever written to.
    pub(in crate::ftl) fn new(settings: &Settings) -> Option<Box<Self>> {
        let shape = settings.zones?;
        let geometry = settings.geometry;
        let stripes: Vec<_> =
            (0..geometry.all_planes()).map(|stripe| geometry.plane_of_stripe(stripe)).collect();
        let mut dies: Vec<DieId> = Vec::new();
        for die in stripes.iter().map(|&plane| geometry.die_of_plane(plane)) {
            if !dies.contains(&die) {
                dies.push(die);
            }
        }
        let of_set = dies.len() / shape.sets as usize;
        let mut planes: Vec<PlaneId> = Vec::new();
        for set in dies.chunks(of_set) {
            planes.extend(stripes.iter().filter(|p| set.contains(&geometry.die_of_plane(**p))));
        }
        let mut places = vec![0; planes.len()];
        for (place, plane) in (0..).zip(&planes) {
            places[plane.index()] = place % shape.width;
        }
        let each = shape.count as usize * shape.width as usize;
        Some(Box::new(Self {
            shape,
            geometry,
            program_units: geometry.program_units(),
            planes,
            places,
            taken: vec![0; each],
            blocks: vec![0; each * shape.blocks as usize],
            written: vec![0; geometry.blocks() as usize],
        }))
    }

    /// Bytes that they take in the simulator's memory.
    pub(crate) fn bytes(shape: &ZoneShape, geometry: &Geometry) -> u64 {
        let each = u64::from(shape.count) * u64::from(shape.width);
        4 * (each * (1 + u64::from(shape.blocks)) + u64::from(geometry.blocks()))
    }

    /// The zone of a unit, and the place of the unit in it.
    pub(in crate::ftl) const fn zone_of(&self, lpn: Lpn) -> (u32, u32) {
        (lpn.get() / self.shape.size, lpn.get() % self.shape.size)
    }

    /// The first unit of a zone.
    pub(in crate::ftl) const fn first_of(&self, zone: u32) -> Lpn {
        Lpn::new(zone * self.shape.size)
    }

    /// The number of a zone among those of its set of dies, which tells apart the units of a plane.
    pub(in crate::ftl) const fn group_of(&self, lpn: Lpn) -> u32 {
        self.zone_of(lpn).0 / self.shape.sets
    }

    /// The plane of a unit.
    pub(in crate::ftl) fn plane_of(&self, lpn: Lpn) -> PlaneId {
        let (zone, unit) = self.zone_of(lpn);
        let stripe = unit / self.program_units + self.shift(zone);
        self.planes_of(zone)[(stripe % self.shape.width) as usize]
    }

    /// On which of its joined planes a unit lies that was never written, and the page of it there,
    /// counted through the blocks of the zone: as if the zone had been written.
    pub(in crate::ftl) fn joined_page_of(&self, lpn: Lpn) -> (u32, u32) {
        let (_, unit) = self.zone_of(lpn);
        let earlier = unit / self.program_units / self.shape.width * self.program_units;
        let page = (earlier + unit % self.program_units) / self.geometry.units_per_page;
        (page % self.geometry.joined, page / self.geometry.joined)
    }

    /// The place of the plane that the first stripe of a zone lies on. Zones that are written side
    /// by side would otherwise come to each plane at one time. Neighbours lie as far apart as the
    /// golden ratio lets them (Knuth, TAOCP 3, 6.4); what drives do is not known.
    fn shift(&self, zone: u32) -> u32 {
        let share = u64::from(zone.wrapping_mul(0x9E37_79B9)) * u64::from(self.shape.width);
        u32::try_from(share >> 32).expect("below the number of planes")
    }

    /// The planes of a zone, in the order of striping.
    pub(in crate::ftl) fn planes_of(&self, zone: u32) -> &[PlaneId] {
        let (set, width) = ((zone % self.shape.sets) as usize, self.shape.width as usize);
        &self.planes[set * width..(set + 1) * width]
    }

    /// Where the state of a zone on one of its planes is.
    fn index(&self, zone: u32, plane: PlaneId) -> usize {
        zone as usize * self.shape.width as usize + self.places[plane.index()] as usize
    }

    /// Where the block is that the next unit of a zone goes to on a plane.
    fn slot(&self, at: usize) -> usize {
        let block = self.taken[at] / self.geometry.units_per_block();
        at * self.shape.blocks as usize + block as usize
    }

    /// Takes the next unit of a zone on a plane, and a free block where it has none there. Returns
    /// the unit and whether a block was taken; `None` where no block is free.
    pub(in crate::ftl) fn take_unit(
        &mut self,
        zone: u32,
        plane: PlaneId,
        blocks: &mut Blocks,
    ) -> Option<(Ppn, bool)> {
        let at = self.index(zone, plane);
        assert!(self.left(zone, plane) > 0, "zone {zone} has taken its share of {plane:?}");
        let slot = self.slot(at);
        let opened = self.blocks[slot] == 0;
        if opened {
            self.blocks[slot] = blocks.take_free(plane)?.get() + 1;
        }
        let unit = self.taken[at] % self.geometry.units_per_block();
        self.taken[at] += 1;
        let block = BlockId::new(self.blocks[slot] - 1);
        self.written[block.index()] = unit + 1;
        Some((self.geometry.unit_of(block, unit), opened))
    }

    /// Leaves units of a zone on a plane empty, behind those of a program.
    pub(in crate::ftl) fn leave(&mut self, zone: u32, plane: PlaneId, units: u32) {
        if units > 0 {
            let at = self.index(zone, plane);
            let block = BlockId::new(self.blocks[self.slot(at)] - 1);
            self.taken[at] += units;
            self.written[block.index()] += units;
        }
    }

    /// The page, counted inside its block, that a zone programs next on a plane; `None` where it
    /// would take a block.
    pub(in crate::ftl) fn next_page(&self, zone: u32, plane: PlaneId) -> Option<u32> {
        let at = self.index(zone, plane);
        let unit = self.taken[at] % self.geometry.units_per_block();
        let left = self.taken[at] < self.shape.blocks * self.geometry.units_per_block();
        let has_block = left && self.blocks[self.slot(at)] != 0;
        has_block.then_some(unit / self.geometry.units_per_page)
    }

    /// Units of its share that a zone has not taken of a plane.
    pub(in crate::ftl) fn left(&self, zone: u32, plane: PlaneId) -> u32 {
        let at = self.index(zone, plane);
        let (width, program) = (self.shape.width, self.program_units);
        let programs = self.shape.capacity / program;
        let place = (self.places[plane.index()] + width - self.shift(zone)) % width;
        let share = programs / width + u32::from(place < programs % width);
        (share * program).saturating_sub(self.taken[at])
    }

    /// A zone is empty: it gives its blocks back, of which it may have taken any number.
    pub(in crate::ftl) fn give_back(&mut self, zone: u32, mut each: impl FnMut(PlaneId, BlockId)) {
        let blocks = self.shape.blocks as usize;
        for place in 0..self.shape.width as usize {
            let at = zone as usize * self.shape.width as usize + place;
            let plane = self.planes_of(zone)[place];
            self.taken[at] = 0;
            for slot in at * blocks..(at + 1) * blocks {
                if let Some(block) = std::mem::take(&mut self.blocks[slot]).checked_sub(1) {
                    each(plane, BlockId::new(block));
                }
            }
        }
    }

    /// Units that have been taken of a block since its erase.
    pub(in crate::ftl) fn written_units(&self, block: BlockId) -> u32 {
        self.written[block.index()]
    }

    /// A block has been erased.
    pub(in crate::ftl) fn erased(&mut self, block: BlockId) {
        self.written[block.index()] = 0;
    }
}

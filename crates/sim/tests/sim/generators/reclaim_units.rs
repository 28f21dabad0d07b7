//! Devices that are collected by superblocks (`placement.unit = "superblock"`), and what is written
//! to them.

use crate::common::Random;
use flashyard_core::quantity::Ppm;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::{
    Allocation, DeviceKeys, GcPacing, GcStart, InitialState, Isolation, MapStore, ReclaimUnit,
    Settings,
};
use flashyard_sim::parts::log::SchemeName;

/// The same device with superblocks, without what they do not go with.
pub fn with_superblocks(mut keys: DeviceKeys, random: &mut Random) -> DeviceKeys {
    keys.placement.unit = ReclaimUnit::Superblock;
    keys.ftl.scheme = SchemeName::Page;
    keys.placement.handles = random.pick(&[1, 1, 2, 3]);
    keys.placement.isolation = random.pick(&[Isolation::Initial, Isolation::Persistent]);
    keys.ftl.generations = 1;
    keys.ftl.allocation = Allocation::Dynamic;
    keys.map.store = MapStore::Resident;
    keys.gc.pacing = random.pick(&[GcPacing::None, GcPacing::Spare, GcPacing::Tokens]);
    keys.gc.soft_zone_blocks = 0;
    if keys.gc.pacing != GcPacing::None {
        keys.gc.start = GcStart::Early;
        keys.gc.preemptible = true;
        keys.gc.soft_zone_blocks = random.pick(&[0, 0, 3]);
        keys.gc.copies_per_program = random.pick(&[1, 4, 9]);
        keys.gc.reads_before_copy = random.pick(&[0, 1, 5]);
    }
    keys.gc.copyback = false;
    keys.slc = DeviceKeys::default().slc;
    // The log of a device that cannot be cut.
    let is_cut = keys.power != DeviceKeys::default().power;
    keys.map.log_bytes = if is_cut { 0 } else { random.pick(&[0, 0, 512, 1_000]) };
    keys.nand.factory_bad_percent = Ppm::from_ppm(random.pick(&[0, 0, 60_000]));
    keys.nand.endurance_cycles = random.pick(&[0, 0, 6, 40]);
    let states = [InitialState::Full, InitialState::Random, InitialState::Aged];
    let states = [&[InitialState::Fresh; 3], &states[..], &[InitialState::Steady; 2]];
    keys.state.initial = random.pick(&states.concat());
    keys.queue.die_depth = 0;
    keys.queue.slots_scope = DeviceKeys::default().queue.slots_scope;
    // Room for the open ones, and not much more.
    keys.geometry.blocks_per_plane = keys.gc.soft_free_blocks + random.pick(&[16, 24, 40]);
    keys.ftl.over_provisioning_percent = Ppm::from_ppm(random.pick(&[600_000, 900_000]));
    keys
}

/// Writes, some reads and trims, of up to 64 kB, until everything has been written so many times.
pub fn traffic(settings: &Settings, random: &mut Random, times: u64) -> Vec<Request> {
    let sectors = settings.capacity_sectors();
    let (mut written, mut us, mut requests) = (0, 0, Vec::new());
    while written < times * sectors && requests.len() < 30_000 {
        let length = 8 * (1 + random.below(16)).min(sectors / 8);
        let first = 8 * random.below((sectors - length) / 8 + 1);
        let op = match random.below(12) {
            0 => RequestOp::Trim,
            1 | 2 => RequestOp::Read,
            _ => RequestOp::Write,
        };
        written += if op == RequestOp::Write { length } else { 0 };
        us += random.pick(&[0, 0, 5, 300]);
        let length = u32::try_from(length).expect("64 kB");
        let placement = u16::try_from(random.below(4)).expect("below 4");
        let request = Request::new(op, first, length).at(Time::from_us(us));
        requests.push(request.placed((placement < 3).then_some(placement)));
    }
    requests
}

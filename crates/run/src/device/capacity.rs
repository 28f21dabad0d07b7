//! Scaling a device to a capacity.
//!
//! Blocks of a plane change first, down to 64 of them (or to the device's own number, where that is
//! less; to 128 where the device has no room to write with fewer) and up to twice the device's own
//! number. Beyond that the number of dies changes by factors of two: upwards chips of a channel up
//! to 8, dies of a chip up to 64, then channels; downwards dies of a chip, chips, then channels.
//! Blocks of a plane are then the fewest that hold the capacity. A device of fewer dies is another
//! device: rates are those of its dies.

use super::Description;
use flashyard_core::quantity::Ppm;
use flashyard_sim::config::{DeviceKeys, GeometryKeys, Settings};

/// Chips behind a channel, beyond which chips get more dies instead.
const MOST_WAYS: u64 = 8;

/// Blocks of a plane that a smaller capacity leaves. Assumed: enough for open blocks, reserves and
/// the spare space of a few percent beside them.
const FEWEST_BLOCKS: u64 = 64;

/// The ranges of these keys.
const MOST_DIES: u64 = 64;
const MOST_CHANNELS: u64 = 1_024;

/// Sectors of a disk that are a unit of 4 KiB, and their bytes.
const DISK_UNIT: (u64, u64) = (8, 4_096);

/// Scales a device to at least this many bytes that the host sees, and notes what it changes.
pub fn scale(
    keys: &mut DeviceKeys,
    bytes: u64,
    description: &mut Description,
) -> Result<(), String> {
    let before = keys.clone();
    if keys.is_disk() {
        keys.disk.sectors = bytes.div_ceil(DISK_UNIT.1) * DISK_UNIT.0;
    } else {
        fit(keys, &before, bytes)?;
    }
    let (old, new) = (before.geometry, keys.geometry);
    let mut changed = Vec::new();
    for (path, old, new) in [
        ("geometry.channels", old.channels, new.channels),
        ("geometry.ways", old.ways, new.ways),
        ("geometry.dies_per_way", old.dies_per_way, new.dies_per_way),
        ("geometry.blocks_per_plane", old.blocks_per_plane, new.blocks_per_plane),
        ("disk.sectors", before.disk.sectors, keys.disk.sectors),
    ] {
        if old != new {
            let place = format!("capacity {bytes} bytes");
            description.set(path, &place, &format!("{place}; {old} before"));
            changed.push(format!("{path} = {new} (was {old})"));
        }
    }
    let what = if changed.is_empty() { "nothing changes".to_string() } else { changed.join(", ") };
    if dies(&old) != dies(&new) {
        description.dies_before = Some(dies(&old));
    }
    let change = format!("capacity of at least {:.3} GB: {what}", bytes as f64 / 1e9);
    description.changes.push(change);
    Ok(())
}

/// Dies of a device.
pub const fn dies(geometry: &GeometryKeys) -> u64 {
    geometry.channels.saturating_mul(geometry.ways).saturating_mul(geometry.dies_per_way)
}

/// Planes of a device.
fn planes(geometry: &GeometryKeys) -> u128 {
    u128::from(dies(geometry)) * u128::from(geometry.planes)
}

/// Scales the flash array. Where a device with few blocks on each plane is impossible, and one with
/// half the dies and twice the blocks is not, it is that one.
fn fit(keys: &mut DeviceKeys, before: &DeviceKeys, bytes: u64) -> Result<(), String> {
    geometry(keys, bytes, FEWEST_BLOCKS)?;
    if Settings::new(keys.clone()).is_err() {
        let mut fewer_dies = before.clone();
        geometry(&mut fewer_dies, bytes, 2 * FEWEST_BLOCKS)?;
        if Settings::new(fewer_dies.clone()).is_ok() {
            *keys = fewer_dies;
        }
    }
    Ok(())
}

/// The same with at least so many blocks on a plane, as far as dies can be halved.
fn geometry(keys: &mut DeviceKeys, bytes: u64, fewest: u64) -> Result<(), String> {
    let unit = match keys.ftl.mapping_unit_bytes {
        0 => keys.geometry.page_bytes,
        unit => unit,
    };
    let spare = if keys.is_raw() { Ppm::ZERO } else { keys.ftl.over_provisioning_percent };
    let exported = u128::from(bytes.div_ceil(unit));
    // The device exports units x 10^6 / (10^6 + spare), rounded down.
    let units = (exported * (1_000_000 + u128::from(spare.ppm()))).div_ceil(1_000_000);
    let of_block = u128::from(keys.geometry.pages_per_block)
        * u128::from((keys.geometry.page_bytes / unit).max(1));
    let blocks = units.div_ceil(of_block);
    let own = u128::from(keys.geometry.blocks_per_plane);
    // Zones are whole blocks of planes.
    let of_zone = keys.is_zoned().then_some(u128::from(keys.schemes.zns.blocks));
    let of_plane = |geometry: &GeometryKeys| {
        let Some(of_zone) = of_zone else { return blocks.div_ceil(planes(geometry)) };
        let rows = exported.div_ceil(of_block * planes(geometry)).next_multiple_of(of_zone);
        (rows * (1_000_000 + u128::from(spare.ppm()))).div_ceil(1_000_000)
    };
    let geometry = &mut keys.geometry;
    while of_plane(geometry) > 2 * own {
        if geometry.ways * 2 <= MOST_WAYS {
            geometry.ways *= 2;
        } else if geometry.dies_per_way * 2 <= MOST_DIES {
            geometry.dies_per_way *= 2;
        } else if geometry.channels * 2 <= MOST_CHANNELS {
            geometry.channels *= 2;
        } else {
            break;
        }
    }
    while of_plane(geometry) < own.min(fewest.into()) {
        let counts = [&mut geometry.dies_per_way, &mut geometry.ways, &mut geometry.channels];
        let Some(even) = counts.into_iter().find(|count| **count > 1 && count.is_multiple_of(2))
        else {
            break;
        };
        *even /= 2;
    }
    let most = u128::from(u32::MAX);
    let fewest = of_plane(geometry);
    geometry.blocks_per_plane =
        u64::try_from(fewest).ok().filter(|_| fewest <= most).ok_or_else(|| {
            format!("capacity: {bytes} bytes need {fewest} blocks a plane, more than {most}")
        })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{read, size};
    use crate::presets::DEVICES;
    use flashyard_sim::config::Settings;

    fn preset(name: &str) -> DeviceKeys {
        let mut keys = DeviceKeys::default();
        read(name, &mut keys, &mut Vec::new()).unwrap();
        keys
    }

    fn scaled(name: &str, text: &str) -> Result<DeviceKeys, String> {
        let mut keys = preset(name);
        scale(&mut keys, size(text)?, &mut Description::default())?;
        Ok(keys)
    }

    /// A quarter to four times the capacity: it is held, and one block a plane fewer does not hold
    /// it.
    #[test]
    fn presets_hold_the_capacity_with_the_fewest_blocks() {
        for (name, _) in DEVICES {
            let own = Settings::new(preset(name)).unwrap().capacity_sectors() * 512;
            for wanted in [own / 4, own / 2, own, 2 * own] {
                let keys = scaled(name, &wanted.to_string()).unwrap();
                let Ok(settings) = Settings::new(keys.clone()) else { continue };
                assert!(settings.capacity_sectors() * 512 >= wanted, "{name} {wanted}");
                if keys.is_disk() {
                    continue;
                }
                let mut fewer = keys;
                fewer.geometry.blocks_per_plane -= 1;
                let smaller = Settings::new(fewer).unwrap().capacity_sectors() * 512;
                assert!(smaller < wanted, "{name} {wanted}");
            }
        }
    }

    #[test]
    fn blocks_change_first_and_then_dies_by_factors_of_two() {
        let shape = |keys: DeviceKeys| {
            let g = keys.geometry;
            [g.channels, g.ways, g.dies_per_way, g.blocks_per_plane]
        };
        // 1 TB of 4,096-byte units with 9.9 % spare: 43,682 blocks of 6,144 units on 32 planes.
        assert_eq!(shape(scaled("nvme-tlc", "1TB").unwrap()), [8, 2, 1, 1366 - 1]);
        let [channels, ways, dies, blocks] = shape(scaled("nvme-tlc", "4TB").unwrap());
        assert_eq!([channels, ways, dies], [8, 4, 1]);
        assert!((1_365..=2 * 1_365).contains(&blocks), "{blocks}");
        let [channels, ways, dies, blocks] = shape(scaled("nvme-tlc", "256GB").unwrap());
        assert_eq!([channels, ways, dies], [8, 2, 1]);
        // 11,179.6 blocks of 24 MiB hold 256 GB and 9.9 % spare; the drive has 32 planes.
        assert_eq!(blocks, 350);
        // 64 GB need 87.3 blocks on each of the drive's own 32 planes, 16 GB as many on 8 of them.
        assert_eq!(shape(scaled("nvme-tlc", "64GB").unwrap()), [8, 2, 1, 88]);
        assert_eq!(shape(scaled("nvme-tlc", "16GB").unwrap()), [4, 1, 1, 88]);
        // 12 GB need 524.04 blocks: 66 on each of 8 planes leave no room to write, 132 on 4 do.
        assert_eq!(shape(scaled("nvme-client", "12GB").unwrap()), [2, 1, 1, 132]);
    }

    #[test]
    fn a_disk_gets_whole_units() {
        assert_eq!(scaled("wd1600bekt", "1MB").unwrap().disk.sectors, 1960);
    }
}

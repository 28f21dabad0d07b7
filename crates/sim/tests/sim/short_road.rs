//! The short road: a device that nobody watches asks less at each step, and ends where a device
//! that takes the full way ends.

use crate::common::phases::named;
use crate::common::{every_seed, saved};
use crate::generators::devices::{Family, case};
use flashyard_core::request::Request;
use flashyard_core::units::Span;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::stream::StreamKeys;

/// The report, or why there is none, and the bytes of the device after its phase.
fn ends(settings: &Settings, requests: &[Request], full_way: bool) -> (String, Vec<u8>) {
    let mut device = Device::new(settings);
    if full_way {
        device.go_the_full_way();
    }
    let streams = vec![named("host", StreamKeys::default(), requests)];
    if let Err(error) = device.run_phase(&PhaseKeys::default(), streams) {
        return (format!("{error:?}"), Vec::new());
    }
    let bytes = if device.can_be_saved() { saved(&device) } else { Vec::new() };
    (format!("{:?}", device.finish()), bytes)
}

/// Random devices without what closes the short road to all commands: a power budget, a time series
/// and a power meter.
#[test]
fn the_short_road_ends_where_the_full_way_ends() {
    let families = [
        Family::Any,
        Family::Worn,
        Family::LogBlocks,
        Family::Firmware,
        Family::Superblocks,
        Family::Joined,
        Family::Mechanisms,
    ];
    let mut compared = 0;
    for (family, seed) in families
        .into_iter()
        .flat_map(|family| every_seed(7_000..7_020).map(move |seed| (family, seed)))
    {
        let (settings, requests) = case(family, seed);
        let mut keys = settings.keys;
        (keys.energy.budget_mw, keys.energy.max_active_dies) = (0, 0);
        (keys.metrics.bin_ms, keys.metrics.power_us) = (Span::ZERO, Span::ZERO);
        let Ok(settings) = Settings::new(keys) else { continue };
        let short = ends(&settings, &requests, false);
        assert!(
            short == ends(&settings, &requests, true),
            "{family:?} {seed}: {:#?}",
            settings.keys
        );
        compared += usize::from(!short.1.is_empty());
    }
    assert!(compared > 60, "{compared} devices were compared to the last byte");
}

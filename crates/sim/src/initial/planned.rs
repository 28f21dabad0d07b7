//! The initial states of devices whose pages are chosen by translation layers: writes that the
//! layers plan, done without timing.

use super::device::share;
use super::place::walk;
use super::progress::{Building, Meter};
use super::random::Random;
use crate::config::{InitialState, Settings};
use crate::ftl::page_map::PageMap;
use crate::ftl::planned::Planned;
use flashyard_core::units::Lpn;

/// Puts fresh layers and their map into the initial state of their settings; `tell` hears now and
/// then how far that is.
pub(super) fn make(
    settings: &Settings,
    layers: &mut Planned,
    map: &mut PageMap,
    tell: &mut dyn FnMut(Building),
) {
    let state = &settings.keys.state;
    let filled = share(settings.exported_units, state.fill_percent);
    let of = match state.initial {
        InitialState::Aged => aging_writes(settings, filled),
        _ => u64::from(filled),
    };
    if matches!(state.initial, InitialState::Full | InitialState::Aged) {
        layers.fill(settings, filled, map);
    }
    let meter = &mut Meter::new(of, tell);
    let mut write = |lpn| {
        layers.write_at_once(settings, Lpn::new(lpn), map);
        meter.count(1);
    };
    match state.initial {
        InitialState::Fresh | InitialState::Full => {}
        InitialState::Random => {
            walk(0..filled, settings.geometry.all_planes(), state.seed, write);
        }
        InitialState::Aged => age(settings, filled, &mut write),
        InitialState::Steady => unreachable!("the settings refuse it"),
    }
    layers.leave_out_all();
}

/// How many writes age a device of which this many pages are written.
pub(super) fn aging_writes(settings: &Settings, filled: u32) -> u64 {
    let count = u128::from(filled) * u128::from(settings.keys.state.aged_percent.ppm()) / 1_000_000;
    u64::try_from(count).expect("at most 1,000 times 32 bits")
}

/// Random writes, of hot and of other pages.
fn age(settings: &Settings, filled: u32, write: &mut impl FnMut(u32)) {
    let state = &settings.keys.state;
    let uniform = state.hot_units_percent == state.hot_writes_percent;
    let hot = if uniform { 0 } else { share(filled, state.hot_units_percent) };
    let hot_writes = state.hot_writes_percent.ppm() as f64 / 1e6;
    let mut random = Random::new(state.seed, 3);
    for _ in 0..aging_writes(settings, filled) {
        let is_hot = hot > 0 && (hot == filled || random.unit() < hot_writes);
        let lpn = if is_hot { random.below(hot) } else { hot + random.below(filled - hot) };
        write(lpn);
    }
}

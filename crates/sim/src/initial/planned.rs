//! The initial states of devices whose pages are chosen by translation layers: writes that the
//! layers plan, done without timing.

use super::device::share;
use super::place::walk;
use super::random::Random;
use crate::config::{InitialState, Settings};
use flashyard_core::units::Lpn;

/// Calls `fill` with how many logical pages are written in order, then `write` with each logical
/// page that is written behind them.
pub(crate) fn writes(settings: &Settings, fill: &mut dyn FnMut(u32), write: &mut dyn FnMut(Lpn)) {
    let state = &settings.keys.state;
    let filled = share(settings.exported_units, state.fill_percent);
    match state.initial {
        InitialState::Fresh => {}
        InitialState::Full => fill(filled),
        InitialState::Random => {
            let window = settings.geometry.all_planes();
            walk(0..filled, window, state.seed, |lpn| write(Lpn::new(lpn)));
        }
        InitialState::Aged => {
            fill(filled);
            age(settings, filled, write);
        }
        InitialState::Steady => unreachable!("the settings refuse it"),
    }
}

/// Random writes, of hot and of other pages.
fn age(settings: &Settings, filled: u32, write: &mut dyn FnMut(Lpn)) {
    let state = &settings.keys.state;
    let count = u128::from(filled) * u128::from(state.aged_percent) / 1_000_000;
    let uniform = state.hot_units_percent == state.hot_writes_percent;
    let hot = if uniform { 0 } else { share(filled, state.hot_units_percent) };
    let hot_writes = state.hot_writes_percent as f64 / 1e6;
    let mut random = Random::new(state.seed, 3);
    for _ in 0..count {
        let is_hot = hot > 0 && (hot == filled || random.unit() < hot_writes);
        let lpn = if is_hot { random.below(hot) } else { hot + random.below(filled - hot) };
        write(Lpn::new(lpn));
    }
}

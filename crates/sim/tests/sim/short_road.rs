//! The short road: a device that nobody watches asks less at each step, and ends where a device
//! that takes the full way ends.

use crate::common::phases::named;
use crate::common::{every_seed, saved};
use crate::generators::devices::{Family, case};
use flashyard_core::request::Request;
use flashyard_core::units::Span;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, PhaseKeys};
use flashyard_sim::observe::{Observer, RequestDone, RequestTimed, Shared};
use flashyard_sim::stream::StreamKeys;

/// Who looks at the device.
#[derive(Clone)]
enum Watched {
    /// Nobody.
    No,
    /// Nobody, but all take the full way.
    FullWay,
    /// One who takes down the times of answers, as events of the full way or as the only events.
    Times(Times),
}

#[derive(Clone)]
struct Times {
    alone: bool,
    told: Shared<Vec<RequestTimed>>,
}

impl Observer for Times {
    fn wants_times_alone(&self) -> bool {
        self.alone
    }
    fn request_timed(&mut self, event: &RequestTimed) {
        self.told.get().push(*event);
    }
    fn request_done(&mut self, event: &RequestDone) {
        let RequestDone { order, request, completion, pages, parts, .. } = *event;
        self.request_timed(&RequestTimed { order, request, completion, pages, parts });
    }
}

/// The report, or why there is none, and the bytes of the device after its phase.
fn ends(settings: &Settings, requests: &[Request], watched: Watched) -> (String, Vec<u8>) {
    let mut device = Device::new(settings);
    match watched {
        Watched::No => {}
        Watched::FullWay => device.go_the_full_way(),
        Watched::Times(times) => device.observe(Box::new(times)),
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
        Family::Packed,
    ];
    let (mut compared, mut timed) = (0, 0);
    for (family, seed) in families
        .into_iter()
        .flat_map(|family| every_seed(7_000..7_020).map(move |seed| (family, seed)))
    {
        let (settings, requests) = case(family, seed);
        let mut keys = settings.keys;
        (keys.energy.budget_mw, keys.energy.max_active_dies) = (0, 0);
        (keys.metrics.bin_ms, keys.metrics.power_us) = (Span::ZERO, Span::ZERO);
        let Ok(settings) = Settings::new(keys) else { continue };
        let short = ends(&settings, &requests, Watched::No);
        let case = || format!("{family:?} {seed}: {:#?}", settings.keys);
        assert!(short == ends(&settings, &requests, Watched::FullWay), "{}", case());
        // Those who want the times of answers and nothing else change nothing, and hear the same.
        let told = [true, false].map(|alone| {
            let times = Times { alone, told: Shared::new(Vec::new()) };
            let ends = ends(&settings, &requests, Watched::Times(times.clone()));
            assert!(!alone || ends == short, "{}", case());
            let mut told = times.told.take();
            told.sort_by_key(|event| event.order);
            told
        });
        // Where a run fails, some requests are answered and not over.
        assert!(told[0] == told[1] || !short.0.starts_with("Ok"), "{}", case());
        timed += told[0].len();
        compared += usize::from(!short.1.is_empty());
    }
    assert!(compared > 60, "{compared} devices were compared to the last byte");
    assert!(timed > 10_000, "{timed} answers were told");
}

//! Why the device works for itself, as the rooms that decide it say, on random devices.

use crate::common::{Random, seeds};
use crate::generators::devices::{Family, case};
use flashyard_core::request::Request;
use flashyard_core::units::{Span, Time};
use flashyard_sim::config::{Eviction, GcPacing, GcStart, GcTiming, Settings};
use flashyard_sim::device::Device;
use flashyard_sim::observe::{
    FlushTrigger, JobBegan, Observer, OwnCause, OwnWork, Queued, RequestDone, Shared, Trigger,
};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// What a run told of its own work.
#[derive(Debug, Default)]
struct Told {
    /// Requests whose commands have waited in a queue, and that are not over with all their work.
    under_way: BTreeSet<u64>,
    /// Those of each instant at which work began because the device was idle.
    beside: Vec<(Time, BTreeSet<u64>)>,
    jobs: Vec<JobBegan>,
    flushes: Vec<FlushTrigger>,
    /// When requests arrived and were answered.
    done: BTreeMap<u64, (Time, Time)>,
}

impl Told {
    fn began(&mut self, at: Time, idle: bool) {
        if idle {
            self.beside.push((at, self.under_way.clone()));
        }
    }
}

struct Listener(Shared<Told>);

impl Observer for Listener {
    fn follows(&self) -> bool {
        true
    }

    fn queued(&mut self, event: &Queued) {
        self.0.get().under_way.extend(event.command.request);
    }

    fn job_began(&mut self, event: &JobBegan) {
        let mut told = self.0.get();
        told.began(event.at, event.trigger == Trigger::Idle);
        told.jobs.push(*event);
    }

    fn own_work(&mut self, event: &OwnWork) {
        let OwnCause::Flush(trigger) = event.cause else { return };
        let mut told = self.0.get();
        told.began(event.at, trigger == FlushTrigger::Idle);
        told.flushes.push(trigger);
    }

    fn request_done(&mut self, event: &RequestDone) {
        let mut told = self.0.get();
        told.under_way.remove(&event.order);
        told.done.insert(event.order, (event.request.arrival, event.completion));
    }
}

/// Runs requests and returns what was told; nothing where the device runs out of room.
fn listen(settings: &Settings, requests: &[Request]) -> Told {
    let mut device = Device::new(settings);
    let told = Shared::new(Told::default());
    device.observe(Box::new(Listener(told.clone())));
    let mut requests = requests.iter().copied();
    let over = device.run(|| Ok::<_, Infallible>(requests.next())).is_ok();
    let told = told.take();
    if over { told } else { Told::default() }
}

/// Random devices that work in idle times, with pauses in their loads: none of their work is said
/// to have begun while they were idle unless no request was outstanding, and a trigger is told
/// only where the device has it.
#[test]
fn work_that_began_in_an_idle_time_began_while_no_request_was_outstanding() {
    let mut seen = BTreeMap::new();
    for seed in seeds(0..60) {
        let mut random = Random(seed);
        let family = random.pick(&[Family::Any, Family::Any, Family::Cached]);
        let (Settings { mut keys, .. }, mut requests) = case(family, seed);
        keys.gc.timing = GcTiming::Background;
        keys.gc.idle_us =
            random.pick(&[Span::ZERO, Span::ZERO, Span::from_us(50), Span::from_ms(1)]);
        if keys.buffer.bytes > 0 {
            keys.buffer.flush_when_idle = random.below(2) == 0;
            keys.buffer.eviction = random.pick(Eviction::ALL);
        }
        keys.gc.background_free_blocks = keys.gc.soft_free_blocks + random.below(3);
        let pause = random.pick(&[0, 300, 5_000]);
        for (number, request) in (0..).zip(&mut requests) {
            request.arrival = request.arrival + Span::from_us(number / 5 * pause);
        }
        let Ok(settings) = Settings::new(keys.clone()) else { continue };
        let told = listen(&settings, &requests);
        for &(at, ref beside) in &told.beside {
            // Requests that had a command before the work of this instant, and requests that came
            // before it.
            let had = beside.iter().map(|order| told.done[order]);
            let came = told.done.values().copied().filter(|span| span.0 < at);
            assert!(had.chain(came).all(|span| span.1 <= at), "seed {seed}: {at:?}");
        }
        for job in &told.jobs {
            *seen.entry(format!("{:?}", job.trigger)).or_insert(0) += 1;
            let (start, paced) = (keys.gc.start, keys.gc.pacing != GcPacing::None);
            let holds = match job.trigger {
                Trigger::Idle => true,
                Trigger::Pace => paced,
                Trigger::FewBlocks => !paced && job.free_blocks <= keys.gc.soft_free_blocks,
                Trigger::Needed => paced || start == GcStart::Needed,
                Trigger::Wear => keys.wear.static_gap > 0,
                Trigger::Upkeep => keys.gc.restore,
                Trigger::FoldIdle | Trigger::FoldForWrite | Trigger::FoldForSpace => false,
            };
            assert!(holds, "seed {seed}: {job:?} {:?}", keys.gc);
        }
        for trigger in &told.flushes {
            *seen.entry(format!("flush {trigger:?}")).or_insert(0) += 1;
        }
    }
    let missing: Vec<_> = ["Idle", "Pace", "FewBlocks", "Needed", "flush Idle"]
        .into_iter()
        .filter(|name| seen.get(*name).is_none_or(|count| *count < 10))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {seen:?}");
}

//! The block map of a report: every step by which the contents of physical pages changed, with the
//! reason. The script in the page replays the steps and puts them into words.

use flashyard_core::command::Purpose;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::{PlaneId, Time};
use flashyard_sim::config::Settings;
use flashyard_sim::observe::{
    BlockErased, Contents, JobBegan, MergeBegan, Observer, OwnCause, OwnWork, RequestDone, Shared,
    Trigger, UnitAtStart, UnitProgrammed, UnitTrimmed,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The most physical pages that a map shows. If a page has several mapping units, the units count.
const MOST_UNITS: u64 = 4_096;

/// The most steps that it keeps.
const MOST_STEPS: usize = 20_000;

/// No number, in a step.
const NONE: i64 = -1;

/// Kinds of steps: their first number.
const PROGRAM: i64 = 0;
const TRIM: i64 = 1;
const ERASE: i64 = 2;
const BEGIN: i64 = 3;

/// What is kept of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct BlockMap {
    blocks: u32,
    planes: u32,
    /// Units of a block, and what a unit is called.
    pages: u32,
    page: &'static str,
    rule: String,
    /// Words of the purposes by their numbers.
    purposes: Vec<&'static str>,
    /// Of each unit that is not erased at first: its number, its state (0 stale, 1 valid, 2 bad),
    /// and what it holds.
    start: Vec<[i64; 3]>,
    /// Jobs of garbage collection and merges.
    reasons: Vec<Value>,
    /// The steps: a kind, the time in nanoseconds, and what [`BlockMap::step`] is given.
    steps: Vec<Vec<i64>>,
    /// How many steps followed those that were kept.
    more: u64,
    /// Logical units with data at the end, as the requests of the host say.
    logical: usize,
    #[serde(skip)]
    written: BTreeSet<u64>,
    #[serde(skip)]
    unit_sectors: u64,
    /// The reason of the latest job and of the latest merges of each plane, and that of each set.
    #[serde(skip)]
    jobs: Vec<i64>,
    #[serde(skip)]
    merges: Vec<i64>,
    #[serde(skip)]
    causes: Vec<i64>,
}

/// A map that an observer fills and its owner reads.
pub(crate) type SharedMap = Shared<BlockMap>;

/// Fills a map.
#[derive(Debug)]
pub(crate) struct MapObserver(SharedMap);

impl BlockMap {
    /// The map of a device and the observer that fills it, or why there is none. `rule` is the word
    /// of `gc.policy`.
    pub(crate) fn new(settings: &Settings, rule: &str) -> Result<(MapObserver, SharedMap), String> {
        if settings.keys.is_disk() {
            return Err("a disk has no blocks".to_string());
        }
        let geometry = &settings.geometry;
        if geometry.units() > MOST_UNITS {
            return Err(format!(
                "the device has {} physical pages, and the map shows at most {MOST_UNITS}",
                geometry.units()
            ));
        }
        let planes = geometry.all_planes();
        let map = Self {
            blocks: geometry.blocks(),
            planes,
            pages: geometry.units_per_block(),
            page: if geometry.units_per_page == 1 { "page" } else { "unit" },
            rule: rule.trim_matches('"').to_string(),
            // What is read ahead changes no page.
            purposes: Purpose::ALL.map(Purpose::name)[..Purpose::ReadAhead as usize].to_vec(),
            start: Vec::new(),
            reasons: Vec::new(),
            steps: Vec::new(),
            more: 0,
            logical: 0,
            written: BTreeSet::new(),
            unit_sectors: u64::from(geometry.unit_sectors()),
            jobs: vec![NONE; planes as usize],
            merges: vec![NONE; planes as usize],
            causes: Vec::new(),
        };
        let map = Shared::new(map);
        Ok((MapObserver(map.clone()), map))
    }

    /// Adds a step. If there are too many, it only counts the step.
    fn step(&mut self, kind: i64, at: Time, rest: &[i64]) {
        if self.steps.len() == MOST_STEPS {
            self.more += 1;
            return;
        }
        let at = i64::try_from(at.as_ns()).unwrap_or(i64::MAX);
        self.steps.push([kind, at].iter().chain(rest).copied().collect());
    }

    /// Adds a reason and the step at which it begins.
    fn begins(&mut self, at: Time, reason: Value) -> i64 {
        if self.steps.len() == MOST_STEPS {
            self.more += 1;
            return NONE;
        }
        let place = i64::try_from(self.reasons.len()).unwrap_or(NONE);
        self.reasons.push(reason);
        self.step(BEGIN, at, &[place]);
        place
    }

    /// Why a set of the device's own work is there.
    fn cause(&self, set: u32, request: Option<u64>) -> i64 {
        match request {
            Some(_) => NONE,
            None => self.causes.get(set as usize).copied().unwrap_or(NONE),
        }
    }

    /// A request of the host changes which logical units have data.
    fn requested(&mut self, request: &Request) {
        let units = self.unit_sectors;
        let end = request.first_sector + u64::from(request.sectors);
        match request.op {
            RequestOp::Write => {
                self.written.extend(request.first_sector / units..end.div_ceil(units));
            }
            RequestOp::Trim => {
                // A unit is forgotten where the request covers it.
                for unit in request.first_sector.div_ceil(units)..end / units {
                    self.written.remove(&unit);
                }
            }
            RequestOp::Read | RequestOp::Flush => return,
        }
        self.logical = self.written.len();
    }
}

/// A number of a request, or [`NONE`].
fn order(request: Option<u64>) -> i64 {
    request.and_then(|order| i64::try_from(order).ok()).unwrap_or(NONE)
}

/// A number of a unit, or [`NONE`].
fn unit(ppn: Option<u32>) -> i64 {
    ppn.map_or(NONE, i64::from)
}

/// A logical unit as its number, a map page as -1 - its number.
fn contents(of: Contents) -> i64 {
    match of {
        Contents::Data(lpn) => lpn.into(),
        Contents::Map(page) => -1 - i64::from(page),
    }
}

/// Why a job began.
const fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::FewBlocks => "few",
        Trigger::Needed => "needed",
        Trigger::Pace => "pace",
        Trigger::Idle => "idle",
        Trigger::Wear => "wear",
        Trigger::Upkeep => "upkeep",
        Trigger::FoldIdle => "fold_idle",
        Trigger::FoldForWrite => "fold_for_write",
        Trigger::FoldForSpace => "fold_for_space",
    }
}

fn at_plane(of: &mut [i64], plane: PlaneId) -> &mut i64 {
    &mut of[plane.index()]
}

impl Observer for MapObserver {
    fn follows(&self) -> bool {
        true
    }

    fn follows_units(&self) -> bool {
        true
    }

    fn unit_at_start(&mut self, event: &UnitAtStart) {
        let mut map = self.0.get();
        let state = if event.bad { 2 } else { i64::from(event.contents.is_some()) };
        let held = event.contents.map_or(NONE, contents);
        map.start.push([event.ppn.into(), state, held]);
        if let Some(Contents::Data(lpn)) = event.contents {
            map.written.insert(lpn.into());
            map.logical = map.written.len();
        }
    }

    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        let mut map = self.0.get();
        let purpose = event.purpose as i64;
        let cause = map.cause(event.set, event.request);
        let rest = [
            event.ppn.into(),
            contents(event.contents),
            unit(event.old),
            unit(event.from),
            event.current.into(),
            purpose,
            order(event.request),
            cause,
        ];
        map.step(PROGRAM, event.at, &rest);
    }

    fn unit_trimmed(&mut self, event: &UnitTrimmed) {
        let Some(ppn) = event.ppn else { return };
        let rest = [ppn.into(), event.lpn.into(), order(event.request)];
        self.0.get().step(TRIM, event.at, &rest);
    }

    fn block_erased(&mut self, event: &BlockErased) {
        let mut map = self.0.get();
        let cause = map.cause(event.set, event.request);
        let purpose = event.purpose as i64;
        let rest =
            [event.block.into(), event.worn_out.into(), purpose, order(event.request), cause];
        map.step(ERASE, event.at, &rest);
    }

    fn job_began(&mut self, event: &JobBegan) {
        let mut map = self.0.get();
        let reason = json!({
            "kind": "job",
            "victim": event.victim,
            "valid": event.valid,
            "free": event.free_blocks,
            "trigger": trigger(event.trigger),
        });
        let place = map.begins(event.at, reason);
        *at_plane(&mut map.jobs, event.plane) = place;
    }

    fn merge_began(&mut self, event: &MergeBegan) {
        if event.kinds == [0; 4] {
            return;
        }
        let mut map = self.0.get();
        let place = map.begins(event.at, json!({"kind": "merge", "merges": event.kinds}));
        *at_plane(&mut map.merges, event.plane) = place;
    }

    fn own_work(&mut self, event: &OwnWork) {
        let mut map = self.0.get();
        let cause = match event.cause {
            OwnCause::Job => map.jobs[event.plane.index()],
            OwnCause::Merge(plane) => map.merges[plane.index()],
            OwnCause::Map | OwnCause::Flush(_) | OwnCause::Zone | OwnCause::Ahead => NONE,
        };
        let place = event.set as usize;
        let length = map.causes.len().max(place + 1);
        map.causes.resize(length, NONE);
        map.causes[place] = cause;
    }

    fn request_done(&mut self, event: &RequestDone) {
        self.0.get().requested(&event.request);
    }
}

//! The device: the only module that knows all parts.
//!
//! Life of a request: it arrives in the host queue; `admit` takes it, `translate` makes command
//! sets of it, one a page access, `delays` finds what they wait for, and they get slots; `issue`
//! places their commands in the queues of dies and starts them; `finish` completes them, commits
//! the map and wakes whoever waited; `collect` makes room; `explain` accounts for every nanosecond.
//!
//! `phase` is the run loop and `host` the way of a request to the device and back.
//!
//! Order at one instant: completions by ascending die, then timers, then all arrivals by ascending
//! stream, then one round of admission, then idle dies take commands in ascending order.

mod admit;
mod ahead;
mod allocate;
mod array;
mod buffer;
mod buffered_map;
mod channel;
mod collect;
mod delays;
mod drain;
mod energy;
mod error;
mod explain;
mod finish;
pub mod footprint;
mod gather;
mod hits;
mod host;
mod issue;
mod layered;
mod link;
mod memory;
mod merge;
mod pace;
mod pages;
mod phase;
mod power;
mod remap;
mod results;
mod save;
mod state;
mod timers;
mod translate;
mod upkeep;
mod usage;
mod view;

use crate::check::Checker;
use crate::config::{Acknowledge, InitialState, Settings};
use crate::ftl::layer::Shape;
use crate::ftl::log::AnyLayer;
use crate::ftl::map_cache::MapCache;
use crate::ftl::page_map::PageMap;
use crate::initial;
use crate::initial::progress::Building;
use crate::metrics::counters::{Phase, Tally};
use crate::metrics::series::Series;
use crate::observe::Observer;
use crate::policy::{HostRule, Policy};
use channel::Channel;
use collect::{Idle, Job};
pub use error::{LAST_ARRIVAL, RunError, SimError};
use flashyard_core::agenda::{Agenda, Slot};
use flashyard_core::geometry::Geometry;
use flashyard_core::graph::{Edge, Graph, NIL, Node};
use flashyard_core::heap::{ABSENT, Entry};
use flashyard_core::policy::CommandPolicy;
use flashyard_core::queue::{CommandQueue, DeadlineKey, Positions, ReadyKey};
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::{ChannelId, DieId, Lpn, MapPage, PlaneId, Span, Time};
use host::Host;
use layered::Layered;
pub(crate) use layered::shape as plane_shape;
pub use phase::{PhaseKeys, PhaseReport};
use results::Totals;
use state::{Operation, Pending, Ready, STAGE_KINDS, Set, Stage};
use std::collections::VecDeque;
use std::fmt;
pub use upkeep::Upkeep;
use usage::Usage;
pub use usage::{Share, Utilisation};

/// A die: its queues and what it is doing.
#[derive(Debug)]
struct Die {
    channel: ChannelId,
    host: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    gc: CommandQueue<Vec<Entry<ReadyKey>>, Vec<Entry<DeadlineKey>>>,
    /// Commands of reads that were put into `host` until now; stale where that is empty.
    reads_placed: u64,
    /// What the array does, what leaves from the page register, what is suspended.
    array: Operation,
    output: Operation,
    suspended: Operation,
    /// When the array and the register are due.
    array_due: Time,
    output_due: Time,
    /// Whether the array is on its way from the suspended operation.
    pausing: bool,
    /// What time is charged to, and since when.
    doing: Option<usize>,
    since: Time,
    /// Time spent reading, programming, erasing, collecting garbage, waiting for power.
    busy: [u64; explain::DIE_ACCOUNTS],
}

/// A plane: its garbage collection and what waits for it.
#[derive(Debug)]
struct Plane {
    job: Option<Job>,
    /// Moved data whose map entries are not cached.
    moved: Vec<remap::Moved>,
    /// The request whose program last took a free block, and its order.
    drawer: (u32, u64),
    /// Whether programs wait for the erase of the job, and how many erases gave a host write no
    /// room.
    programs_wait: bool,
    fruitless: u32,
    /// Whether the last job levelled wear.
    levelled: bool,
    /// Unfinished host programs, where allocation is dynamic.
    writes: u32,
    /// The oldest and newest queued command of each kind, where operations gather several.
    queued: [(u32, u32); STAGE_KINDS],
}

/// The simulated device.
pub struct Device {
    settings: Settings,
    policy: Policy,
    host_policy: HostRule,
    observers: Vec<Box<dyn Observer>>,
    checker: Option<Box<Checker>>,
    now: Time,
    map: PageMap,
    cache: Option<MapCache>,
    buffer: Option<Box<buffer::Staging>>,
    /// Where pages are chosen by translation layers.
    layered: Option<Box<Layered>>,
    dies: Vec<Die>,
    planes: Vec<Plane>,
    /// Whether one operation may serve several commands.
    gathers: bool,
    /// Whether programs or erases may be suspended.
    suspends: bool,
    /// Whether anybody reads flash operation times.
    counts_fot: bool,
    /// Garbage collection in idle times.
    idle: Idle,
    /// How garbage collection is spread over programs, where it is.
    pacing: Option<Box<pace::Pacing>>,
    /// Free blocks of each plane when the first phase began; [`u32::MAX`] before.
    free_at_start: Vec<u32>,
    /// Power of the DRAM, in microwatts.
    dram_uw: u64,
    /// Where dynamic allocation goes on.
    next_stripe: u32,
    /// Operations with a random time so far.
    operations: u64,
    /// The plane of each stripe of a round of striping.
    stripes: Vec<PlaneId>,
    channels: Vec<Channel>,
    /// Channels that choose at the end of this instant.
    choosing: Vec<ChannelId>,
    /// The next completion of each busy die.
    events: Events,
    /// Dies that may be able to take a command, a bit each.
    stirred: Vec<u64>,
    graph: Graph<Vec<Node>, Vec<Edge>>,
    sets: Vec<Set>,
    positions: Positions<Vec<u32>>,
    /// The first live set of each bucket of the index by LPN.
    lpn_index: Vec<u32>,
    pending: Vec<Pending>,
    /// The work of each request under way, where observers ask for it.
    works: Vec<Tally>,
    free_pending: u32,
    waiting_requests: VecDeque<u32>,
    /// The request that is being translated.
    translating: Option<u32>,
    started: pages::Started,
    hits: hits::Hits,
    unslotted: VecDeque<u32>,
    slots: u64,
    slots_of_die: Vec<u64>,
    /// The first and last of the live sets that change contents, in the order of translation.
    oldest_change: u32,
    latest_change: u32,
    outstanding: u64,
    exhausted: bool,
    arrived: u64,
    next_set: u64,
    next_insertion: u64,
    fot_by_die: Vec<Span>,
    /// Scratch lists; empty between uses.
    woken: Vec<u32>,
    ready: Ready,
    changed: Vec<u32>,
    new_sets: Vec<u32>,
    chain: Vec<u32>,
    done: Vec<u32>,
    failed: Option<SimError>,
    totals: Totals,
    host: Host,
    phases: Vec<PhaseReport>,
    series: Option<Box<Series>>,
    /// How much power arrays may take, where it is limited.
    budget: Option<Box<power::PowerBudget>>,
    /// Time that each channel has been reserved for.
    carried_ns: Vec<u64>,
    /// Work of measured time.
    measured: Usage,
    /// Whether it was made from a saved one.
    restored: bool,
    made: initial::device::Made,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("now", &self.now)
            .field("policy", &self.policy)
            .field("outstanding", &self.outstanding)
            .finish_non_exhaustive()
    }
}

/// When each die is due, its array or its page register, and behind them each channel.
type Events = Agenda<Vec<Slot>>;

impl Device {
    /// A device in its initial state, with the command policy that its settings name.
    pub fn new(settings: &Settings) -> Self {
        Self::with_policy(settings, Policy::of(settings))
    }

    /// A device in its initial state, which takes seconds for a large one; `tell` hears now and
    /// then how far that is.
    pub fn new_telling(settings: &Settings, tell: &mut dyn FnMut(Building)) -> Self {
        let make = &mut |shape: &Shape| settings.keys.layer(shape);
        Self::with_parts(settings, Policy::of(settings), make, tell)
    }

    /// A device in its initial state, with this command policy.
    pub fn with_policy(settings: &Settings, policy: Policy) -> Self {
        let make = &mut |shape: &Shape| settings.keys.layer(shape);
        Self::with_parts(settings, policy, make, &mut |_| ())
    }

    /// A device in its initial state, with this command policy; `make` makes the translation layer
    /// of a plane, where there are any, and `tell` hears how far it is.
    fn with_parts(
        settings: &Settings,
        policy: Policy,
        make: &mut dyn FnMut(&Shape) -> Option<AnyLayer>,
        tell: &mut dyn FnMut(Building),
    ) -> Self {
        let mut device = Self::fresh(settings, policy, Layered::new(settings, make));
        match &mut device.layered {
            Some(layered) => layered.make_initial(settings, &mut device.map, tell),
            None => {
                device.made = initial::device::make_telling(settings, &mut device.map, tell);
            }
        }
        device.fill_buffer();
        device
    }

    /// A device that nothing was ever written to.
    fn fresh(settings: &Settings, policy: Policy, layered: Option<Box<Layered>>) -> Self {
        let (keys, geometry) = (&settings.keys, settings.geometry);
        let (dies, host_policy) = (geometry.dies() as usize, HostRule::of(keys));
        Self {
            settings: *settings,
            counts_fot: policy.reads_fot(),
            policy,
            observers: Vec::new(),
            checker: None,
            now: Time::ZERO,
            map: PageMap::new(settings),
            cache: MapCache::new(settings),
            buffer: buffer::Staging::new(settings, host_policy.by_pages()),
            host_policy,
            dies: Die::all(&geometry),
            planes: (0..geometry.all_planes()).map(|_| Plane::new(&geometry)).collect(),
            gathers: geometry.program_units() > 1 || geometry.planes > 1,
            suspends: keys.nand.program_suspends > 0 || keys.nand.erase_suspends > 0,
            idle: Idle::new(settings),
            pacing: pace::Pacing::new(settings, layered.is_some()),
            layered,
            dram_uw: settings.dram_uw(),
            free_at_start: vec![u32::MAX; geometry.all_planes() as usize],
            next_stripe: 0,
            stripes: (0..geometry.all_planes()).map(|at| geometry.plane_of_stripe(at)).collect(),
            operations: 0,
            choosing: Vec::with_capacity(geometry.channels as usize),
            channels: Channel::all(&geometry),
            events: Agenda::new(vec![0; Events::slots(dies + geometry.channels as usize)]),
            stirred: vec![0; dies.div_ceil(64)],
            graph: Graph::new(Vec::new(), Vec::new()),
            sets: Vec::new(),
            positions: Positions { ready: Vec::new(), deadline: Vec::new() },
            lpn_index: vec![NIL; 1],
            pending: Vec::new(),
            works: Vec::new(),
            free_pending: NIL,
            waiting_requests: VecDeque::new(),
            translating: None,
            started: pages::Started::NONE,
            hits: hits::Hits::default(),
            unslotted: VecDeque::new(),
            slots: 0,
            slots_of_die: vec![0; dies],
            oldest_change: NIL,
            latest_change: NIL,
            outstanding: 0,
            exhausted: false,
            arrived: 0,
            next_set: 0,
            next_insertion: 0,
            fot_by_die: vec![Span::ZERO; dies],
            woken: Vec::new(),
            ready: Ready::default(),
            changed: Vec::new(),
            new_sets: Vec::new(),
            chain: Vec::new(),
            done: Vec::new(),
            failed: None,
            totals: Totals::new(keys.metrics.skip_requests),
            host: Host::new(keys.interface),
            phases: Vec::new(),
            series: (keys.metrics.bin_ms > 0).then(|| Box::new(Series::new(keys.metrics.bin_ms))),
            budget: power::PowerBudget::new(settings),
            carried_ns: vec![0; settings.geometry.channels as usize],
            measured: Usage::none(&settings.geometry),
            restored: false,
            made: initial::device::Made::default(),
        }
    }

    /// Calls `observer` for every event of the run.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
        self.counts_fot = true;
    }

    /// Checks every rule while the run goes on; a broken one is a panic. Costs time, and
    /// memory: 8 bytes a physical and 28 a logical page.
    pub fn check(&mut self) {
        let mut checker = Box::new(Checker::new(&self.settings));
        if self.restored || self.settings.keys.state.initial != InitialState::Fresh {
            checker.adopt(&self.map);
            if let Some(layered) = &self.layered {
                checker.adopt_pages(&layered.written);
            }
        }
        checker.adopt_buffer(self.buffer.iter().flat_map(|buffer| buffer.all_lines()));
        checker.adopt_bad_blocks(&self.map);
        self.checker = Some(checker);
    }

    /// Fills the map cache before the run: lines by their first LPN and whether they are dirty, the
    /// least recently used one first.
    pub fn preload_map(&mut self, lines: &[(u64, bool)]) -> Result<(), SimError> {
        let Some(cache) = &mut self.cache else {
            return Err(SimError::InitialLines("a resident map has no lines".to_string()));
        };
        let last = u64::from(self.settings.exported_units) - 1;
        if let Some((lpn, _)) = lines.iter().find(|(lpn, _)| *lpn > last) {
            let why = format!("initial line {lpn}: the last page of the device is {last}");
            return Err(SimError::InitialLines(why));
        }
        let narrow = |lpn| Lpn::new(u32::try_from(lpn).expect("below the device's pages"));
        let lines: Vec<_> = lines.iter().map(|&(lpn, dirty)| (narrow(lpn), dirty)).collect();
        cache.preload(&lines).map_err(SimError::InitialLines)
    }

    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError> {
        let order = self.arrived;
        if request.arrival > LAST_ARRIVAL {
            return Err(SimError::TooLate { order });
        }
        let capacity = self.settings.capacity_sectors();
        let fits = request.end_sector().is_some_and(|end| end <= capacity)
            && request.first_sector < capacity;
        if request.op != RequestOp::Flush && !fits {
            return Err(SimError::BeyondDevice {
                order,
                first_sector: request.first_sector,
                sectors: request.sectors,
                capacity,
            });
        }
        let (first, pages) = self.pages_of(request);
        let pending = Pending {
            request: *request,
            order,
            first,
            pages,
            translated: 0,
            next_page: 0,
            page: 0,
            unfinished: 0,
            charges: 0,
            answered: None,
            fot: Span::ZERO,
            first_slot: None,
            stalled_since: None,
            stalled_ns: 0,
            flush_since: None,
            flush_ns: 0,
            own: Span::ZERO,
            parts: crate::metrics::parts::Parts::default(),
            link: NIL,
        };
        self.arrived += 1;
        self.totals.arrival(&pending, self.outstanding);
        if let Some(checker) = &mut self.checker {
            checker.arrived(order, first, pages);
            if self.buffer.is_some() {
                let durable = self.settings.keys.buffer.acknowledge == Acknowledge::Program
                    || request.flags.has(Flags::FUA);
                checker.asks(order, request, durable);
            }
        }
        self.outstanding += 1;
        let handle = if self.free_pending == NIL {
            self.pending.push(pending);
            u32::try_from(self.pending.len() - 1).expect("fewer than 2^32 requests wait")
        } else {
            let handle = self.free_pending;
            self.free_pending = self.pending[handle as usize].link;
            self.pending[handle as usize] = pending;
            handle
        };
        if !self.observers.is_empty() {
            self.works.resize(self.pending.len(), Tally::default());
            self.works[handle as usize] = Tally::default();
        }
        self.submit(handle, lane);
        Ok(())
    }

    /// The pages that a request accesses. A trim forgets only pages that lie wholly inside it; a
    /// read or write of no sectors touches the page that it points at.
    fn pages_of(&self, request: &Request) -> (Lpn, u32) {
        let unit = u64::from(self.settings.geometry.unit_sectors());
        let start = request.first_sector;
        let end = start + u64::from(request.sectors);
        let (first, last) = match request.op {
            RequestOp::Flush => (0, 0),
            RequestOp::Trim if !request.flags.has(Flags::ZEROES) => {
                (start.div_ceil(unit), end / unit)
            }
            RequestOp::Read | RequestOp::Write | RequestOp::Trim => {
                (start / unit, end.div_ceil(unit).max(start / unit + 1))
            }
        };
        let narrow = |number: u64| u32::try_from(number).expect("checked against the capacity");
        let pages = narrow(last.saturating_sub(first));
        (Lpn::new(if pages == 0 { 0 } else { narrow(first) }), pages)
    }

    /// The plane that static striping gives to a logical unit.
    fn plane_of_lpn(&self, lpn: Lpn) -> PlaneId {
        let stripe = lpn.get() / self.settings.geometry.units_per_page;
        self.stripes[stripe as usize % self.stripes.len()]
    }

    /// The plane of a map page: the one that striping gives to its number.
    const fn plane_of_map(&self, page: MapPage) -> PlaneId {
        self.settings.geometry.plane_of_stripe(page.get())
    }

    const fn phase(&self) -> Phase {
        match (self.outstanding, self.exhausted) {
            (0, true) => Phase::Post,
            (0, false) => Phase::Idle,
            _ => Phase::Foreground,
        }
    }

    /// The current command of a set.
    fn stage(&self, set: u32) -> Stage {
        self.sets[set as usize].stages[self.graph.node(set).stage as usize].0
    }

    /// The plane of the current command of a set.
    fn current_plane(&self, set: u32) -> PlaneId {
        self.sets[set as usize].stages[self.graph.node(set).stage as usize].1
    }

    /// The die of the current command of a set.
    fn current_die(&self, set: u32) -> DieId {
        self.settings.geometry.die_of_plane(self.current_plane(set))
    }

    /// Adds a set with these commands to the graph.
    fn new_set(&mut self, state: Set, stages: &[(Stage, PlaneId)]) -> u32 {
        let number = self.next_set;
        self.next_set += 1;
        self.numbered_set(number, state, stages)
    }

    /// The same with this place in the order of changes, instead of the next one.
    fn numbered_set(&mut self, number: u64, state: Set, stages: &[(Stage, PlaneId)]) -> u32 {
        let mut spans = [Span::ZERO; flashyard_core::graph::STAGES];
        let mut state = state;
        for (place, &(stage, plane)) in stages.iter().enumerate() {
            spans[place] = self.span_of(stage);
            state.stages[place] = (stage, plane);
        }
        if !self.graph.has_node() {
            self.grow_sets();
        }
        let set = self.graph.insert(number, state.request, &spans[..stages.len()]);
        self.sets[set as usize] = state;
        set
    }

    /// The nominal duration of a command: array and channel, without waiting, on a page of the
    /// first type, one unit of a read.
    fn span_of(&self, stage: Stage) -> Span {
        if matches!(stage, Stage::Barrier | Stage::Buffer | Stage::Link) {
            return Span::ZERO;
        }
        let data = match stage {
            Stage::Fetch => self.channel_ns(stage, 1),
            _ => self.data_ns(stage.op(), 1),
        };
        let channel = self.settings.keys.channel.command_ns + data;
        self.array_time(stage.op(), None) + Span::from_ns(channel)
    }

    /// Whether garbage collection goes first: a plane is that short of free blocks, or a job that
    /// may not be interrupted has begun; never with pacing.
    fn is_urgent(&self, plane: PlaneId) -> bool {
        let gc = &self.settings.keys.gc;
        if self.pacing.is_some() {
            return false;
        }
        u64::from(self.map.blocks.free_blocks(plane)) <= gc.hard_free_blocks
            || (!gc.preemptible
                && (self.planes[plane.index()].job.is_some()
                    || self.layered.as_ref().is_some_and(|layered| layered.is_busy(plane))))
    }

    /// Doubles the memory for sets. Happens until the deepest queue of a run has been seen.
    fn grow_sets(&mut self) {
        let count = (2 * self.sets.len()).max(64);
        self.sets.resize(count, Set::VACANT);
        self.positions.ready.resize(count, ABSENT);
        self.positions.deadline.resize(count, ABSENT);
        let (nodes, edges) = self.graph.storage_mut();
        nodes.resize(count, Node::VACANT);
        edges.resize(edges.len().max(2 * count), Edge::VACANT);
        for list in [
            &mut self.chain,
            &mut self.ready.sets,
            &mut self.woken,
            &mut self.changed,
            &mut self.done,
        ] {
            list.reserve(count);
        }
        self.unslotted.reserve(count);
        self.new_sets.reserve(count);
        self.lpn_index.clear();
        self.lpn_index.resize(count.next_power_of_two(), NIL);
        for set in 0..count / 2 {
            if self.sets[set].listed {
                self.list_by_lpn(u32::try_from(set).expect("handles have 32 bits"));
            }
        }
    }

    /// Lets `target` start `stage` only after `wait` is over.
    fn connect(&mut self, wait: flashyard_core::graph::Wait, target: u32, stage: u8) {
        if !self.graph.has_edge() {
            let edges = self.graph.storage_mut().1;
            let count = (2 * edges.len()).max(64);
            edges.resize(count, Edge::VACANT);
        }
        self.graph.connect(wait, target, stage);
    }

    fn stir(&mut self, die: DieId) {
        self.stirred[die.index() / 64] |= 1 << (die.index() % 64);
    }

    /// The bucket of the index of live sets by LPN; there are as many as sets.
    fn bucket_of(&self, lpn: Lpn) -> usize {
        lpn.scattered() as usize & (self.lpn_index.len() - 1)
    }
}

impl Die {
    fn all(geometry: &Geometry) -> Vec<Self> {
        (0..geometry.dies()).map(|die| Self::new(geometry.channel_of(DieId::new(die)))).collect()
    }

    fn new(channel: ChannelId) -> Self {
        Self {
            channel,
            host: CommandQueue::new(Vec::new(), Vec::new()),
            gc: CommandQueue::new(Vec::new(), Vec::new()),
            reads_placed: 0,
            array: Operation::NONE,
            output: Operation::NONE,
            suspended: Operation::NONE,
            array_due: Time::MAX,
            output_due: Time::MAX,
            pausing: false,
            doing: None,
            since: Time::ZERO,
            busy: [0; explain::DIE_ACCOUNTS],
        }
    }

    /// Whether it does nothing and nothing waits for it.
    fn is_idle(&self) -> bool {
        let works = self.array.is_some() || self.output.is_some() || self.pausing;
        !works && self.host.is_empty() && self.gc.is_empty()
    }

    /// Commands of reads that were put into `host` since it was empty.
    const fn reads_placed(&self) -> u64 {
        if self.host.is_empty() { 0 } else { self.reads_placed }
    }
}

impl Plane {
    fn new(geometry: &Geometry) -> Self {
        Self {
            job: None,
            moved: Vec::with_capacity(geometry.units_per_block() as usize),
            drawer: (NIL, 0),
            programs_wait: false,
            fruitless: 0,
            levelled: false,
            writes: 0,
            queued: [(NIL, NIL); STAGE_KINDS],
        }
    }
}

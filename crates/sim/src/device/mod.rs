//! The device: the only module that knows all parts.
//!
//! Life of a request: it arrives in the host queue; `admit` takes it, `translate` makes command
//! sets of it, one a page access, `delays` finds what they wait for, and they get slots; `issue`
//! places their commands in the queues of dies and starts them; `finish` completes them, commits
//! the map and wakes whoever waited; `own` makes room; `explain` accounts for every nanosecond.
//!
//! `step` is one instant of the event loop, `phase` the loop, and `host` the way of a request to
//! the device and back.

mod admit;
mod allocate;
mod array;
mod buffer;
mod buffer_contents;
mod bus;
mod delays;
mod explain;
mod finish;
mod flush;
pub mod footprint;
mod gather;
mod host;
mod issue;
mod link;
mod own;
mod pages;
mod phase;
mod results;
mod save;
mod step;
mod tell;
mod tell_units;
mod translate;
mod upkeep;
mod view;

use crate::account::Account;
pub use crate::account::{PhaseReport, Share, Utilisation};
use crate::buffer::Buffer;
use crate::check::Checker;
use crate::config::{Acknowledge, InitialState, MapStore, PartialWrite, ReadAllocate, Settings};
pub use crate::error::{LAST_ARRIVAL, RunError, SimError};
use crate::flash::Flash;
use crate::ftl::planned::Planned;
use crate::ftl::{Ftl, Todo};
use crate::handle::{RequestId, SetId};
use crate::host::Host;
use crate::initial::{self, progress::Building};
use crate::metrics::counters::Phase;
use crate::observe::Observer;
use crate::parts::layer::Shape;
use crate::parts::log::AnyLayer;
use crate::parts::policy::{HostRule, Policy};
use crate::queues::Queues;
use crate::random::BitErrors;
use crate::sets::{Set, Sets, Stage};
use delays::Split;
use flashyard_core::request::{Flags, Request};
use flashyard_core::units::{DieId, PlaneId, Span, Time};
pub use phase::PhaseKeys;
pub(crate) use phase::{Driving, Running};
use std::fmt;
pub use upkeep::Upkeep;

/// The simulated device.
#[derive(Clone)]
pub struct Device {
    settings: Settings,
    now: Time,
    sets: Sets,
    queues: Queues,
    flash: Flash,
    ftl: Ftl,
    buffer: Option<Box<Buffer>>,
    host: Host,
    account: Account,
    /// Whether one operation may serve several commands.
    gathers: bool,
    /// Whether commands take the short road, where nobody watches and the device has nothing that
    /// its steps leave out; whether page accesses that read may be admitted on it; whether nothing
    /// may take it.
    short_road: bool,
    admits_reads: bool,
    full_way: bool,
    /// Whether the device sleeps, or takes power for work of its own.
    follows_states: bool,
    /// Whether copies of log blocks may be done in bulk, as things are in this phase.
    copies_in_bulk: bool,
    /// Which bits that host reads take from flash are wrong, if any.
    bit_errors: Option<BitErrors>,
    split: Split,
    work: Work,
    failed: Option<SimError>,
}

/// What flows keep for themselves. Lists of sets and of dies are empty between uses.
#[derive(Clone, Default)]
struct Work {
    /// Whether an access has ended since the ready list was drained; otherwise whoever added sets
    /// to that wakes them.
    ready_is_due: bool,
    /// The flash operation time of the request that is being translated, by die.
    fot_by_die: Vec<Span>,
    /// Sets whose command an operation has served.
    done: Vec<SetId>,
    /// Sets that have lost a wait.
    woken: Vec<SetId>,
    /// New sets of a request.
    added: Vec<SetId>,
    /// Sets that have inherited a rank.
    changed: Vec<SetId>,
    /// Sets that wait for one another in a row.
    chain: Vec<SetId>,
    /// Bus requests under way, where there is a time series.
    transfers: Vec<(Time, Time)>,
    /// Flushes that begin together.
    together: Vec<SetId>,
    /// Flushes that have begun and that a translation layer has not planned yet.
    unplanned: Vec<SetId>,
    /// What rooms have left to be done, the next one first.
    todo: Vec<Todo>,
}

impl Work {
    /// Makes room for so many sets.
    fn grow(&mut self, sets: usize) {
        let Self { done, woken, added, changed, chain, .. } = self;
        for list in [done, woken, added, changed, chain] {
            list.reserve(sets);
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("now", &self.now)
            .field("policy", self.queues.policy())
            .field("outstanding", &self.host.outstanding())
            .finish_non_exhaustive()
    }
}

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
        assert!(!settings.keys.is_disk(), "these are the settings of a disk");
        let mut device = Self::fresh(settings, policy, Planned::new(settings, make));
        let made = initial::device::make_telling(settings, &mut device.ftl, tell);
        device.account.initial_made(made);
        if settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            device.ftl.cover_written(settings.exported_units, settings.geometry.unit_sectors());
        }
        device.fill_buffer();
        device
    }

    /// A device that nothing was ever written to.
    fn fresh(settings: &Settings, policy: Policy, planned: Option<Box<Planned>>) -> Self {
        let host_policy = HostRule::of(&settings.keys);
        let by_pages = host_policy.by_pages();
        let gathers = settings.geometry.program_units() > 1
            || settings.geometry.planes * settings.geometry.joined > 1;
        let buffer = Buffer::new(settings, by_pages);
        let host = Host::new(settings, host_policy);
        let flash = Flash::new(settings);
        let (geometry, queue) = (&settings.geometry, &settings.keys.queue);
        Self {
            settings: settings.clone(),
            now: Time::ZERO,
            sets: Sets::new(geometry, queue, flash.nominal(), gathers || by_pages),
            queues: Queues::new(settings, policy),
            flash,
            ftl: Ftl::new(settings, planned),
            short_road: false,
            admits_reads: false,
            full_way: false,
            buffer,
            host,
            account: Account::new(settings),
            gathers,
            follows_states: settings.keys.follows_states(),
            copies_in_bulk: false,
            bit_errors: match settings.keys.nand.bit_errors_ppb {
                0 => None,
                rate => Some(BitErrors::new(rate)),
            },
            split: Split::default(),
            work: Work {
                fot_by_die: vec![Span::ZERO; settings.geometry.dies() as usize],
                ..Work::default()
            },
            failed: None,
        }
    }

    /// Calls `observer` for every event of the run.
    pub fn observe(&mut self, mut observer: Box<dyn Observer>) {
        if observer.follows_units() {
            self.tell_units(observer.as_mut());
        }
        if observer.follows() {
            self.flash.note_transfers();
            self.ftl.leave_untold();
        }
        self.account.observe(observer);
        self.queues.count_fot();
        self.flash.note_requests();
        self.find_short_road();
    }

    /// Checks every rule while the run goes on; a broken one is a panic. Costs time, and
    /// memory: 16 bytes a physical and 28 a logical page; where the rest of a unit is kept, about
    /// 8 bytes more for each sector of a unit whose sectors were written apart.
    pub fn check(&mut self) {
        self.flash.note_transfers();
        let mut checker = Checker::new(&self.settings);
        let blocks = self.ftl.blocks();
        if self.account.is_restored() || self.settings.keys.state.initial != InitialState::Fresh {
            checker.adopt(|lpn| self.ftl.locate(lpn), |block| blocks.written_units(block));
            checker.adopt_sectors(|lpn, sector| self.ftl.is_covered(lpn, sector));
            if let Some(pages) = self.ftl.marked_pages() {
                checker.adopt_pages(pages);
            }
        }
        checker.adopt_buffer(self.buffer.iter().flat_map(|buffer| buffer.contents()));
        checker.adopt_bad_blocks(|block| blocks.is_bad(block));
        self.account.check_with(checker);
        self.find_short_road();
    }

    /// Opens the short road, where nobody watches and the device has nothing that its steps leave
    /// out. What takes it leaves what it would leave on the full way.
    pub(super) fn find_short_road(&mut self) {
        self.short_road = !self.full_way
            && !self.account.is_watched()
            && self.bit_errors.is_none()
            && self.settings.keys.buffer.read_allocate == ReadAllocate::Never
            && !(self.queues.has_state() || self.host.limits_dies())
            && !(self.flash.has_requests() || self.flash.limits_power());
        self.admits_reads = self.short_road
            && self.settings.keys.map.store == MapStore::Resident
            && !self.host.carries_pages();
    }

    /// Nothing takes the short road from now on: for those who compare it with the full way.
    pub fn go_the_full_way(&mut self) {
        self.full_way = true;
        self.find_short_road();
    }

    /// Fills the map cache before the run: lines by their first LPN and whether they are dirty, the
    /// least recently used one first.
    pub fn preload_map(&mut self, lines: &[(u64, bool)]) -> Result<(), SimError> {
        self.ftl.preload_map(lines).map_err(SimError::InitialLines)
    }

    fn arrive(&mut self, request: &Request, lane: usize) -> Result<(), SimError> {
        let order = self.host.arrived();
        SimError::check_arrival(request, order, self.settings.capacity_sectors())?;
        let (first, pages) = self.settings.pages_of(request);
        self.account.arrived(request, order, (first, pages), self.host.outstanding());
        if self.account.is_checked() && self.buffer.is_some() {
            let programmed = self.settings.keys.buffer.acknowledge == Acknowledge::Program;
            self.account.asks(order, request, programmed || request.flags.has(Flags::FUA));
        }
        if self.account.is_checked() && self.host.notes_carried() {
            let by_pages = self.host.carries_pages();
            let bytes = self.settings.bytes_to_carry(request, (first, pages), by_pages);
            self.account.must_carry(order, bytes);
        }
        let handle = self.host.open(request, first, pages);
        self.account.request_opened(handle);
        if self.host.submit(handle, lane, self.now) {
            self.send(handle);
        }
        Ok(())
    }

    const fn phase(&self) -> Phase {
        match (self.host.outstanding(), self.host.is_exhausted()) {
            (0, true) => Phase::Post,
            (0, false) => Phase::Idle,
            _ => Phase::Foreground,
        }
    }

    /// The die of the current command of a set.
    fn current_die(&self, set: SetId) -> DieId {
        self.settings.geometry.die_of_plane(self.sets.plane(set))
    }

    /// Adds a set with these commands.
    fn new_set(&mut self, state: &Set, stages: &[(Stage, PlaneId)]) -> SetId {
        let number = self.sets.take_number();
        self.numbered_set(number, state, stages)
    }

    /// The same with this place in the order of changes, instead of the next one.
    fn numbered_set(&mut self, number: u64, state: &Set, stages: &[(Stage, PlaneId)]) -> SetId {
        self.set_of(number, state.request, state, stages)
    }

    /// The same for a request, or for none.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each access; a call costs as much")]
    fn set_of(
        &mut self,
        number: u64,
        owner: Option<RequestId>,
        state: &Set,
        stages: &[(Stage, PlaneId)],
    ) -> SetId {
        if self.sets.make_room() {
            self.follow_sets();
        }
        self.sets.insert(self.now, number, owner, state, stages)
    }

    /// Lists that have a place for each set get as many as there is memory for.
    #[inline]
    fn follow_sets(&mut self) {
        let sets = self.sets.capacity();
        if self.queues.capacity() < sets {
            self.queues.grow(sets);
            self.work.grow(sets);
            self.split.grow(sets);
        }
    }
}

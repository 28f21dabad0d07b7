//! The device: the only module that knows all parts.
//!
//! Life of a request: it arrives in the host queue (`host`); `admit` takes it, `pages` makes
//! command sets of it, one a page access, and they get slots; `live` lets their commands wait for
//! dies; `dispatch` lets dies take them; `finish` ends them, commits the map and wakes whoever
//! waited; `complete` answers the request.
//!
//! Files call each other from the top of this list to its bottom, never back:
//!
//! - `results`, `save`, `cut`, `build`, `phase`: a device is made, runs phases, is saved, cut and
//!   reported.
//! - `upkeep`: work between phases.
//! - `step`: one instant.
//! - `host`, `array`: what is due at an instant, timers and dies.
//! - `finish`, `dispatch`: operations end, and dies take commands. `dispatch` calls `start` and
//!   `bind`, which put an operation together, and `suspend`.
//! - `admit`, `pages`, `drain`: what is started of requests, and of the write buffer.
//! - `live`: a set goes on, and what lets others go on.
//! - `complete`, `link`: what a step does in a few rooms.

mod admit;
mod array;
mod bind;
mod build;
mod complete;
mod cut;
mod dispatch;
mod drain;
mod finish;
mod host;
mod link;
mod live;
mod pages;
mod phase;
mod results;
mod save;
mod start;
mod step;
mod suspend;
mod upkeep;

use crate::account::Account;
pub use crate::account::{PhaseReport, Share, Utilisation};
use crate::buffer::Buffer;
use crate::config::{MapStore, ReadAllocate, Settings};
pub use crate::error::{LAST_ARRIVAL, RunError, SimError};
use crate::flash::Flash;
use crate::ftl::{Ftl, Todo, Zoned};
use crate::handle::SetId;
use crate::host::Host;
use crate::ledger::{Ledger, Teller};
use crate::observe::Observer;
pub use crate::phases::PhaseKeys;
use crate::queues::Queues;
use crate::sets::Sets;
use crate::translation::Translation;
use crate::translation::put::Unplanned;
use crate::view::View;
use crate::waiting::{Delays, Waiting};
use crate::zones::ZoneReport;
use flashyard_core::units::Time;
pub(crate) use phase::Measured;
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
    /// Whether commands take the short road (see [`Self::find_short_road`]), and page accesses that
    /// read are admitted on it; whether nothing may take it.
    short_road: bool,
    admits_reads: bool,
    full_way: bool,
    /// Whether requests change the states of zones when they are started.
    has_zones: bool,
    /// Whether the device sleeps, or takes power for work of its own.
    follows_states: bool,
    /// Whether copies of log blocks may be done in bulk, as things are in this phase.
    copies_in_bulk: bool,
    delays: Delays,
    work: Work,
    failed: Option<SimError>,
}

/// What flows keep for themselves. Lists of sets and of dies are empty between uses.
#[derive(Clone, Default)]
struct Work {
    /// Whether an access has ended since the ready list was drained; otherwise whoever added sets
    /// to that wakes them.
    ready_is_due: bool,
    /// Sets whose command an operation has served.
    done: Vec<SetId>,
    /// Sets that have lost a wait.
    woken: Vec<SetId>,
    /// Flushes that begin together.
    together: Vec<SetId>,
    /// Flushes that have begun and that a translation layer has not planned yet.
    unplanned: Vec<Unplanned>,
    /// What rooms have left to be done, the next one first.
    todo: Vec<Todo>,
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
    /// Calls `observer` for every event of the run.
    pub fn observe(&mut self, mut observer: Box<dyn Observer>) {
        self.teller().tell_contents(observer.as_mut());
        if observer.follows() {
            self.flash.note_transfers();
            self.ftl.leave_untold();
        }
        self.account.observe(observer);
        if self.account.is_watched() {
            self.queues.count_fot();
            self.flash.note_requests();
        }
        self.find_short_road();
    }

    /// Checks every rule while the run goes on; a broken one is a panic. Costs time, and memory for
    /// what is touched: 16 bytes a physical and 28 a logical page, 8 a sector that is kept apart.
    pub fn check(&mut self) {
        self.flash.note_transfers();
        self.teller().check();
        self.find_short_road();
    }

    /// Opens the short road, where nobody watches and the device has nothing that its steps leave
    /// out. What takes it leaves what it would leave on the full way.
    fn find_short_road(&mut self) {
        let keys = &self.settings.keys;
        let held_back = self.host.limits_dies() || keys.firmware.stalls_programs();
        self.short_road = !(self.full_way || self.account.is_watched() || held_back)
            && keys.buffer.read_allocate == ReadAllocate::Never
            && !self.queues.has_state()
            && self.flash.is_plain();
        self.admits_reads = self.short_road
            && !keys.firmware.commands_reads()
            && !keys.buffer.reads_ahead()
            && keys.map.store == MapStore::Resident
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

    /// The zones, where there are any.
    pub(crate) fn zones(&mut self) -> Option<&mut Zoned> {
        self.ftl.zones()
    }

    /// A zone by its number.
    pub(crate) fn zone(&self, zone: u32) -> Option<ZoneReport> {
        self.ftl.seen_zones()?.report(zone)
    }

    /// What a host policy sees.
    fn view(&self) -> View<'_> {
        View {
            now: self.now,
            settings: &self.settings,
            sets: &self.sets,
            queues: &self.queues,
            flash: &self.flash,
            ftl: &self.ftl,
            buffer: self.buffer.as_deref(),
            host: &self.host,
        }
    }

    /// What is lent to the ledger.
    #[inline]
    fn ledger(&mut self) -> Ledger<'_> {
        Ledger {
            now: self.now,
            sets: &mut self.sets,
            flash: &self.flash,
            account: &mut self.account,
        }
    }

    /// What is lent for a translation.
    #[inline]
    fn translation(&mut self) -> Translation<'_> {
        let Self { now, settings, sets, ftl, buffer, host, account, work, .. } = self;
        let (buffer, todo) = (buffer.as_deref_mut(), &mut work.todo);
        Translation { now: *now, settings, sets, ftl, buffer, host, account, todo }
    }

    /// What is lent for commands that wait.
    #[inline]
    fn waiting(&mut self) -> Waiting<'_> {
        let Self { now, settings, sets, queues, flash, ftl, host, account, delays, .. } = self;
        Waiting { now: *now, settings, sets, queues, flash, ftl, host, account, delays }
    }

    /// What is lent to those who tell observers.
    #[inline]
    fn teller(&mut self) -> Teller<'_> {
        let Self { now, settings, sets, flash, account, queues, ftl, buffer, host, .. } = self;
        let ledger = Ledger { now: *now, sets, flash, account };
        Teller { ledger, settings, queues, ftl, buffer: buffer.as_deref(), host }
    }

    /// Measured time goes on to `now`, and nothing changes before.
    #[inline]
    fn time_passes(&mut self, now: Time) {
        if self.follows_states || self.host.outstanding() == 0 || self.account.records_power() {
            self.account_for_time(now);
        }
    }

    #[inline(never)]
    fn account_for_time(&mut self, now: Time) {
        let states = self.follows_states;
        self.teller().time_passes(now, states);
    }

    /// When a drained device rests: what reads have left in the buffer may still be put.
    fn rests_at(&self) -> Time {
        self.buffer.as_ref().map_or(self.now, |buffer| buffer.ports().rest().max(self.now))
    }

    /// Makes memory for one more set, if there is none.
    #[inline]
    fn make_room(&mut self) {
        if self.sets.make_room() {
            self.follow_sets();
        }
    }

    /// Lists that have a place for each set get as many as there is memory for.
    #[inline]
    fn follow_sets(&mut self) {
        let sets = self.sets.capacity();
        if self.queues.capacity() < sets {
            self.queues.grow(sets);
            self.work.done.reserve(sets);
            self.work.woken.reserve(sets);
            self.delays.grow(sets);
        }
    }

    fn write_buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("there is a buffer")
    }

    fn write_buffer_mut(&mut self) -> &mut Buffer {
        self.buffer.as_mut().expect("there is a buffer")
    }

    /// Calls `visit` with every set that an operation serves.
    #[inline]
    fn for_riders(&mut self, leader: Option<SetId>, mut visit: impl FnMut(&mut Self, SetId)) {
        let mut next = leader;
        while let Some(set) = next {
            next = self.sets[set].rider();
            visit(self, set);
        }
    }
}

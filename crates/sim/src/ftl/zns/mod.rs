//! Zones: a unit is written at the write pointer of its zone, and a zone is reset as a whole.
//!
//! The state of a zone changes when the device starts a request (`zone`): from then on the request
//! is a write at a known place, an action that takes its time, or one that ends with an error. A
//! zone has blocks of its own (`blocks`), which it takes from the free ones of each plane when it
//! is written and gives back when it is reset: they are erased then, and nobody waits for that but
//! a write that finds no free block. So nothing is ever copied.
//!
//! A finish programs what is left of its zone with nothing (padding), one program unit after the
//! other on each plane.

mod blocks;
mod outcome;
mod zone;

use super::base::Base;
use super::lent::{Binding, Charge, Deed, Erased, Eraser, Lent, Room, Todo};
use super::placement::Placement;
use crate::config::Settings;
use crate::handle::SetId;
use crate::metrics::counters::Padding;
use crate::observe::OwnCause;
use crate::parts::blocks::Frontier;
use crate::parts::log::zns::{ZnsKeys, ZoneShape};
use crate::saved::{Reader, RestoreError, Saved, Writer};
use crate::sets::{Mode, OwnWork, Sets, Stage, Wait};
use crate::zones::{Outcome, ZoneCounts, ZoneError, ZoneReport, ZoneState, ZoneView, ZonesReport};
pub(crate) use blocks::ZoneBlocks;
use flashyard_core::command::Purpose;
use flashyard_core::graph::EdgeKind;
use flashyard_core::request::{Flags, Request, RequestOp, ZoneAction};
use flashyard_core::units::{Lpn, PlaneId, Ppn, Span};
use outcome::Outcomes;
use std::ops::Range;
use zone::{Limits, Zones};

/// An action that the device has started and that is not over.
#[derive(Clone, Debug)]
struct Act {
    /// The place of its request in the order of arrival.
    order: u64,
    action: ZoneAction,
    /// The zones, one behind the other, and what each was before.
    first: u32,
    before: Vec<ZoneView>,
    /// The set that the request waits with, when it has begun, and the gate that it waits for,
    /// until that opens.
    set: Option<SetId>,
    gate: Option<SetId>,
    /// Programs of padding under way.
    pads: u32,
    charge: Charge,
}

impl Act {
    /// Whether it fills a zone with nothing.
    fn fills(&self) -> bool {
        self.action == ZoneAction::Finish && self.before[0].state != ZoneState::Full
    }
}

/// What a device with zones knows of them.
#[derive(Clone, Debug)]
pub(crate) struct Zoned {
    shape: ZoneShape,
    keys: ZnsKeys,
    unit_sectors: u64,
    zones: Zones,
    acts: Vec<Act>,
    /// Erases under way.
    erasers: Vec<SetId>,
    outcomes: Outcomes,
    /// What was done to zones in measured phases and the current one, and that when it began.
    counts: ZoneCounts,
    before: ZoneCounts,
}

/// A request that is started and is another one from now on, the first unit that it touches and how
/// many.
pub(crate) type Restated = (Request, Lpn, u32);

impl Zoned {
    /// Where the settings ask for zones.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let shape = settings.zones?;
        let (open, active) = settings.keys.schemes.zns.limits(&shape);
        Some(Self {
            shape,
            keys: settings.keys.schemes.zns,
            unit_sectors: settings.geometry.unit_sectors().into(),
            zones: Zones::new(shape.count, shape.capacity, Limits { open, active }),
            acts: Vec::new(),
            erasers: Vec::new(),
            outcomes: Outcomes::default(),
            counts: ZoneCounts::default(),
            before: ZoneCounts::default(),
        })
    }

    /// The device starts a request with this place in the order of arrival: the states of zones
    /// change. Returns what it is from now on, if that is another request, and the zones that it
    /// resets: the first unit of each and the first one that was not written. One that has no
    /// effect touches nothing, as actions and trims do anyway.
    pub(crate) fn start(
        &mut self,
        request: &Request,
        order: u64,
    ) -> (Option<Restated>, Vec<Range<Lpn>>) {
        let unit = self.unit_sectors;
        let (first, sectors) = (request.first_sector, u64::from(request.sectors));
        let zone = |sector: u64| narrow(sector / (unit * u64::from(self.shape.size)));
        let mut resets = Vec::new();
        let done = match request.op {
            RequestOp::Flush => Ok(None),
            RequestOp::Read => {
                let last = zone(first + sectors.max(1) - 1);
                let read = (zone(first)..=last).try_for_each(|zone| self.zones.read(zone));
                read.map(|()| None)
            }
            RequestOp::Write if sectors == 0 => Err(ZoneError::InvalidField),
            RequestOp::Write => self.write(request, order, zone(first)),
            RequestOp::Trim => self.start_trim(request, order, zone(first)).map(|written| {
                resets = written;
                None
            }),
        };
        self.counts.closed_for_others += self.zones.take_evicted();
        let restated = done.unwrap_or_else(|error| {
            self.counts.failed(error);
            self.outcomes.add(order, Outcome::Failed(error));
            Some((*request, Lpn::new(0), 0))
        });
        (restated, resets)
    }

    /// A write, or an append.
    fn write(
        &mut self,
        request: &Request,
        order: u64,
        zone: u32,
    ) -> Result<Option<Restated>, ZoneError> {
        let (unit, sectors) = (self.unit_sectors, u64::from(request.sectors));
        let first = request.first_sector;
        if !first.is_multiple_of(unit) || !sectors.is_multiple_of(unit) {
            return Err(ZoneError::InvalidField);
        }
        let units = narrow(sectors / unit);
        let place = narrow(first / unit) - zone * self.shape.size;
        if request.appends() {
            if place > 0 {
                return Err(ZoneError::InvalidField);
            }
            let place = self.zones.append(zone, units)?;
            let lpn = Lpn::new(zone * self.shape.size + place);
            let now = request.over(u64::from(lpn.get()) * unit, request.sectors);
            self.counts.appends += 1;
            self.outcomes.add(order, Outcome::Appended(now.first_sector));
            return Ok(Some((now, lpn, units)));
        }
        self.zones.write(zone, place, units)?;
        Ok(None)
    }

    /// An action on a zone, or a trim: zones that it covers up to their capacity are reset. Returns
    /// what was written of the zones that are reset.
    fn start_trim(
        &mut self,
        request: &Request,
        order: u64,
        zone: u32,
    ) -> Result<Vec<Range<Lpn>>, ZoneError> {
        let size = self.unit_sectors * u64::from(self.shape.size);
        let start = request.first_sector;
        let (action, zones) = match request.zone_action() {
            Some(_) if !start.is_multiple_of(size) => return Err(ZoneError::InvalidField),
            Some(action) => (action, zone..zone + 1),
            None if request.flags.has(Flags::ZEROES) => return Err(ZoneError::InvalidField),
            None => {
                let end = start + u64::from(request.sectors);
                let writable = self.unit_sectors * u64::from(self.shape.capacity);
                // What lies behind the capacity of the last one need not be covered.
                let last = narrow((end + size - writable) / size);
                (ZoneAction::Reset, narrow(start.div_ceil(size))..last.min(self.shape.count))
            }
        };
        let (first, mut before, mut resets) = (zones.start, Vec::new(), Vec::new());
        for zone in zones {
            let view = self.zones.view(zone);
            if let Err(error) = self.zones.act(zone, action) {
                // A trim ends at the first zone that cannot be reset.
                if before.is_empty() {
                    return Err(error);
                }
                break;
            }
            before.push(view);
            if action == ZoneAction::Reset {
                let first = zone * self.shape.size;
                resets.push(Lpn::new(first)..Lpn::new(first + view.written));
            }
        }
        self.counts.acted(action, before.len() as u64);
        if !before.is_empty() {
            self.acts.push(Act {
                order,
                action,
                first,
                before,
                set: None,
                gate: None,
                pads: 0,
                charge: None,
            });
        }
        Ok(resets)
    }

    /// Whether a request is an action that has not begun.
    pub(crate) fn acts(&self, order: u64) -> bool {
        self.acts.iter().any(|act| act.order == order && act.set.is_none())
    }

    /// The units of an action that has not begun and waits until what was written before has come
    /// to an end: all of the zones that it resets or finishes, whether it finishes them, and
    /// whether it waits for another finish. None where it need not wait.
    pub(crate) fn settles(&self, order: u64) -> Option<(Range<Lpn>, bool, bool)> {
        let act = self.acts.iter().find(|act| act.order == order)?;
        let finishes = act.fills();
        let end = act.first + narrow(act.before.len() as u64);
        let lpn = |zone| Lpn::new(zone * self.shape.size);
        (finishes || act.action == ZoneAction::Reset).then(|| {
            let units = lpn(act.first)..lpn(end);
            let waits = self.is_finishing(&units);
            (units, finishes, waits)
        })
    }

    /// Whether a zone with some of these units is being finished.
    fn is_finishing(&self, units: &Range<Lpn>) -> bool {
        let begun = |act: &&Act| act.fills() && act.set.is_some();
        let mut finished = self.acts.iter().filter(begun);
        finished.any(|act| units.contains(&Lpn::new(act.first * self.shape.size)))
    }

    /// How long an action takes beside what it programs.
    fn time_of(&self, act: &Act) -> Span {
        let of = |before: &ZoneView| match act.action {
            ZoneAction::Open | ZoneAction::Close => self.keys.manage_us,
            ZoneAction::Finish => self.keys.finish_us,
            ZoneAction::Reset => {
                let units = self.keys.reset_unit_ns.saturating_mul(before.written.into());
                let unfinished = before.written > 1 && before.state != ZoneState::Full;
                let more = if unfinished { self.keys.reset_unfinished_us } else { Span::ZERO };
                self.keys.reset_us + Span::from_ns(units) + more
            }
        };
        act.before.iter().map(of).fold(Span::ZERO, |sum, one| sum + one)
    }

    /// The action of a request begins, which waits with `set`: a gate opens when its time is over
    /// and, of a finish, when what was written before is on flash.
    pub(super) fn begin(&mut self, set: SetId, charge: Charge, lent: &mut Lent<'_>) {
        let order = lent.sets.order_of(set);
        let at = self.acts.iter().position(|act| Some(act.order) == order).expect("it was started");
        let (span, plane) = (self.time_of(&self.acts[at]), PlaneId::new(0));
        let stages = [(Stage::Barrier, plane)];
        let gate = lent.own_set(charge, OwnCause::Zone, OwnWork::Gate, &stages);
        lent.wait(set, gate, 0, EdgeKind::Order);
        let act = &mut self.acts[at];
        (act.set, act.gate, act.charge) = (Some(set), Some(gate), charge);
        let (first, count, action) = (act.first, narrow(act.before.len() as u64), act.action);
        match action {
            ZoneAction::Reset => {
                for zone in first..first + count {
                    self.empty(zone, charge, lent);
                }
            }
            ZoneAction::Finish => {
                let zones = lent.base.zones.as_ref().expect("there are zones");
                let range = zones.first_of(first)..zones.first_of(first + count);
                let changes: Vec<SetId> = lent.sets.changes_in(&range).collect();
                for change in changes {
                    let stage = lent.sets.last_stage(change);
                    lent.wait(gate, change, stage, EdgeKind::Flush);
                }
            }
            ZoneAction::Open | ZoneAction::Close => {}
        }
        lent.todo.push(Todo::Rest(gate, Mode::Firmware));
        lent.todo.push(Todo::Seek(gate, span));
    }

    /// A zone is empty and gives its blocks back, which are erased.
    fn empty(&mut self, zone: u32, charge: Charge, lent: &mut Lent<'_>) {
        let mut blocks = Vec::new();
        let zones = lent.base.zones.as_mut().expect("there are zones");
        zones.give_back(zone, |plane, block| blocks.push((plane, block)));
        for (plane, block) in blocks {
            let work = OwnWork::Erase { purpose: Purpose::Host };
            let stages = [(Stage::HostErase, plane)];
            let eraser = lent.own_set(charge, OwnCause::Zone, work, &stages);
            lent.sets.bind(eraser, lent.base.geometry.unit_of(block, 0));
            self.erasers.push(eraser);
            lent.go_on(eraser);
        }
    }

    /// Fills the next program unit of a zone on a plane with nothing, if any is left: the action
    /// that finishes it waits for that.
    fn pad(&mut self, at: usize, plane: PlaneId, lent: &mut Lent<'_>) {
        let act = &mut self.acts[at];
        let zone = act.first;
        if lent.base.zones.as_ref().expect("there are zones").left(zone, plane) == 0 {
            return;
        }
        act.pads += 1;
        let (work, stages) = (OwnWork::Pad { zone }, [(Stage::PadProgram, plane)]);
        let pad = lent.own_set(act.charge, OwnCause::Zone, work, &stages);
        let set = act.set.expect("it has begun");
        lent.wait(set, pad, 0, EdgeKind::Order);
        lent.go_on(pad);
    }

    /// A finish is over with its last program.
    fn end_if_full(&mut self, at: usize) {
        if self.acts[at].pads == 0 {
            self.acts.swap_remove(at);
        }
    }

    /// A zone, if there is one of this number.
    pub(crate) fn report(&self, zone: u32) -> Option<ZoneReport> {
        if zone >= self.shape.count {
            return None;
        }
        let ZoneView { state, written, .. } = self.zones.view(zone);
        let first_sector = u64::from(zone) * u64::from(self.shape.size) * self.unit_sectors;
        let sectors = |units: u32| u64::from(units) * self.unit_sectors;
        let write_pointer = first_sector + sectors(written);
        let capacity = sectors(self.shape.capacity);
        Some(ZoneReport { first_sector, capacity, write_pointer, state })
    }

    /// What was done to zones in measured phases, and how many are open and active; with units of
    /// so many bytes.
    pub(crate) fn zones_report(&self, unit_bytes: u64) -> ZonesReport {
        self.counts.report(unit_bytes, self.shape.count, self.zones.in_use())
    }

    /// A zone fails: it can be read, or not even that. Returns whether there is one of this number.
    pub(crate) fn fail(&mut self, zone: u32, readable: bool) -> bool {
        let exists = zone < self.shape.count;
        if exists {
            self.zones.fail(zone, readable);
        }
        exists
    }

    /// How requests end is kept from now on, or no longer.
    pub(crate) fn keep_outcomes(&mut self, kept: bool) {
        self.outcomes.keep(kept);
    }

    /// How a request has ended that is not as any other.
    pub(crate) fn take_outcome(&mut self, order: u64) -> Outcome {
        self.outcomes.take(order)
    }

    /// The first units of a fresh device have been written, so many of each zone as it has, as far
    /// as they fill programs.
    pub(crate) fn fill(&mut self, units: u32, base: &mut Base) {
        let units = units - units % base.geometry.program_units();
        let (full, rest) = (units / self.shape.capacity, units % self.shape.capacity);
        self.zones.fill(full, rest);
        for unit in 0..units {
            let (zone, place) = (unit / self.shape.capacity, unit % self.shape.capacity);
            let lpn = Lpn::new(zone * self.shape.size + place);
            let plane = base.plane_of_lpn(lpn);
            let taken = base.take_unit(plane, Frontier::Zone(zone));
            let (ppn, _) = taken.expect("the settings leave room for every zone");
            base.map.commit(super::page_map::Owner::Data(lpn), ppn);
        }
    }

    /// Units that can be written in all.
    pub(crate) const fn all_units(&self) -> u32 {
        self.shape.count * self.shape.capacity
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("checked against the capacity")
}

impl Placement for Zoned {
    fn seek_room(&mut self, set: SetId, _: Charge, lent: &mut Lent<'_>) -> Room {
        let plane = lent.sets.plane(set);
        let eraser = self.erasers.iter().find(|eraser| lent.sets.plane(**eraser) == plane);
        let Some(&eraser) = eraser else { return Room::None };
        let wait = Wait { source: eraser, stage: 0, kind: EdgeKind::Room };
        lent.todo.push(Todo::Wait(set, lent.sets.commands_over(set), wait));
        Room::Awaited
    }

    /// A program unit of padding is there.
    fn copied(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let (state, plane) = (&lent.sets[set], lent.sets.plane(set));
        let zone = state.padded_zone();
        let cause = Padding::of(state.purpose(), state.is_asked());
        lent.note(Deed::Padded(cause));
        self.counts.padded_units += u64::from(lent.base.geometry.program_units());
        let pads = |act: &Act| act.fills() && act.first == zone;
        let at = self.acts.iter().position(|act| pads(act) && act.set.is_some());
        let at = at.expect("a zone is finished");
        self.acts[at].pads -= 1;
        self.pad(at, plane, lent);
        self.end_if_full(at);
    }

    fn erased(&mut self, set: SetId, lent: &mut Lent<'_>) {
        let ppn = lent.sets[set].ppn().expect("an erase has a block");
        let block = lent.base.geometry.block_of(ppn);
        self.erasers.retain(|eraser| *eraser != set);
        lent.base.zones.as_mut().expect("there are zones").erased(block);
        lent.base.map.blocks.erased(block);
        let erased = Erased { block, worn_out: false, by: Eraser::Zone, row: None };
        lent.note(Deed::Erased(set, erased));
    }

    /// The time of an action is over and, of a finish, what was written before is on flash.
    fn gate_opens(&mut self, gate: SetId, lent: &mut Lent<'_>) {
        let at = self.acts.iter().position(|act| act.gate == Some(gate));
        let at = at.expect("an action has this gate");
        self.acts[at].gate = None;
        if self.acts[at].fills() {
            let zones = lent.base.zones.as_ref().expect("there are zones");
            let planes = zones.planes_of(self.acts[at].first).to_vec();
            for plane in planes {
                self.pad(at, plane, lent);
            }
            self.end_if_full(at);
        } else {
            self.acts.swap_remove(at);
        }
    }

    fn bind_program(&mut self, set: SetId, sets: &Sets, base: &mut Base) -> Binding {
        let (plane, frontier) = (sets.plane(set), base.frontier(set, sets));
        match base.take_unit(plane, frontier) {
            Some((ppn, _)) => Binding::Page(ppn),
            None => Binding::Full,
        }
    }

    fn programmed(&mut self, _: Ppn, _: &mut Base) {}

    fn write_over(&mut self, set: SetId, sets: &mut Sets, base: &mut Base) -> (u64, bool) {
        base.commit_write(set, sets)
    }

    fn begin_phase(&mut self, base: &mut Base) {
        base.begin_phase();
        self.before = self.counts;
    }

    fn leave_out(&mut self) {
        self.counts = self.before;
    }

    fn save_planes(&self, to: &mut Writer<'_>) {
        self.zones.save(to);
        self.counts.save(to);
    }

    fn load_planes(&mut self, from: &mut Reader<'_>, _: &mut Base) -> Result<(), RestoreError> {
        self.zones.load(from)?;
        self.counts.load(from)
    }
}

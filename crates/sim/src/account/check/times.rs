//! The checker's account of array times: how long the array of each die has worked on its
//! operation, without the time in which that was suspended.

use super::Checker;
use crate::config::{NandKeys, Precision, RetryKeys, Settings, SlcKeys};
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Lpn, PlaneId, Ppn, Span, Time};

/// An operation in the array of a die.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// When the array began or resumed the operation. It lies in the future while command and data
    /// are on the channel, or while the die wakes.
    since: Time,
    /// How long it worked before.
    done: Span,
    /// How long it works at least and at most.
    least: Span,
    most: Span,
    /// The first plane that it senses (of joined ones with its place among them), whether it
    /// senses others, and the least time of its pages if it does.
    plane: Option<(PlaneId, u32)>,
    several: bool,
    beside: Span,
    suspensions: u32,
    /// What is left of waking for the last time, of one that was suspended again meanwhile.
    wakes: Span,
}

impl Work {
    const fn begun(now: Time) -> Self {
        let none = Span::ZERO;
        Self {
            since: now,
            done: none,
            least: none,
            most: none,
            plane: None,
            several: false,
            beside: none,
            suspensions: 0,
            wakes: none,
        }
    }

    fn worked(&self, now: Time) -> Span {
        self.done + now.since(self.since.min(now))
    }
}

#[derive(Clone, Copy, Debug)]
struct Die {
    array: Work,
    suspended: Work,
    /// From when on reads may begin while an operation is suspended.
    is_suspended_at: Time,
}

/// What array times follow from, and what each die does.
#[derive(Clone, Debug)]
pub(super) struct TimeAccount {
    geometry: Geometry,
    keys: NandKeys,
    retry: RetryKeys,
    slc: SlcKeys,
    /// From the first unit of a zone to that of the next, where there are zones.
    zone_units: Option<u32>,
    /// Whether the end of commands and data on the channel is told, with which the array begins.
    knows_starts: bool,
    dies: Vec<Die>,
}

impl TimeAccount {
    pub(super) fn new(settings: &Settings) -> Self {
        let none = Work::begun(Time::ZERO);
        let die = Die { array: none, suspended: none, is_suspended_at: Time::ZERO };
        Self {
            geometry: settings.geometry,
            keys: settings.keys.nand,
            retry: settings.keys.retry,
            slc: settings.keys.slc,
            zone_units: settings.zones.map(|zones| zones.size),
            knows_starts: settings.keys.bus.precision == Precision::Phases,
            dies: vec![die; settings.geometry.dies() as usize],
        }
    }

    /// The typical time of an operation on a page or block, and the greatest time of its kind.
    fn typical(&self, op: Op, ppn: Option<Ppn>) -> (Span, Span) {
        let keys = &self.keys;
        let page = ppn.map_or(0, |ppn| self.geometry.joined_page(ppn).1);
        let of_type = |times: [Span; 4]| {
            let place = u64::from(page) % keys.bits_per_cell.max(1);
            times[usize::try_from(place).unwrap_or(0)].or(times[0])
        };
        match op {
            Op::Read => (
                of_type([keys.read_us, keys.read_2_us, keys.read_3_us, keys.read_4_us]),
                keys.read_max_us,
            ),
            Op::Program if keys.one_shot => (keys.program_us, keys.program_max_us),
            Op::Program => {
                let (second, third) = (keys.program_2_us, keys.program_3_us);
                (of_type([keys.program_us, second, third, keys.program_4_us]), keys.program_max_us)
            }
            Op::Erase => (keys.erase_us, keys.erase_max_us),
        }
    }

    /// The least and the greatest time that a run may have for an operation on a page or block.
    fn bounds(&self, op: Op, ppn: Option<Ppn>) -> (Span, Span) {
        let (keys, (typical, longest)) = (&self.keys, self.typical(op, ppn));
        // A read of a part of a page may take less.
        let least = match keys.part_of(typical) {
            part if !part.is_zero() && op == Op::Read => part.min(typical),
            _ => typical,
        };
        // Some reads end early.
        let least = if op == Op::Read { keys.shortened(least) } else { least };
        let most = self.most(typical).max(longest);
        (least, if op == Op::Read && ppn.is_some() { most + self.retries(most) } else { most })
    }

    /// The greatest time of one that typically takes so long.
    fn most(&self, typical: Span) -> Span {
        typical + Span::from_ns(self.keys.spread_percent.of(typical.as_ns()))
    }

    /// A read senses a page of this plane; from the second plane on each of its pages takes the
    /// time of pages of several planes, unless what is needed of them is held.
    fn sensed(&mut self, die: DieId, plane: PlaneId, ppn: Option<Ppn>, lpn: Option<Lpn>) {
        let (typical, longest) = self.typical(Op::Read, ppn);
        let geometry = &self.geometry;
        let plane = match (ppn, lpn) {
            (Some(ppn), _) => (geometry.plane_of(ppn), geometry.joined_page(ppn).0),
            (None, Some(lpn)) => match self.zone_units {
                None => (plane, geometry.joined_page_of_lpn(lpn).0),
                Some(size) => (plane, lpn.get() % size / geometry.units_per_page % geometry.joined),
            },
            (None, None) => (plane, 0),
        };
        let work = &mut self.dies[die.index()].array;
        work.beside = work.beside.max(self.keys.beside_of(typical));
        work.several |= *work.plane.get_or_insert(plane) != plane;
        if work.several && work.beside > Span::ZERO {
            let beside = work.beside;
            let most = self.most(beside).max(longest);
            let most = most + self.retries(most);
            let work = &mut self.dies[die.index()].array;
            work.most = work.most.max(most);
            if self.keys.read_early_percent.is_zero() {
                work.least = work.least.max(beside);
            }
        }
    }

    /// The same on blocks with one bit a cell, where the greatest time is as many times the typical
    /// one as on others.
    fn slc_bounds(&self, op: Op) -> (Span, Span) {
        let (keys, slc) = (&self.keys, &self.slc);
        let (typical, usual, most) = match op {
            Op::Read => (slc.read_us, keys.read_us, keys.read_max_us),
            Op::Program => (slc.program_us, keys.program_us, keys.program_max_us),
            Op::Erase => (slc.erase_us.or(keys.erase_us), keys.erase_us, keys.erase_max_us),
        };
        let spread = keys.spread_percent.of(typical.as_ns());
        let tail = u128::from(typical.as_ns()) * u128::from(most.as_ns());
        let tail = tail.div_ceil(u128::from(usual.as_ns().max(1)));
        let tail = Span::from_ns(u64::try_from(tail).expect("times have 33 bits"));
        let least = if op == Op::Read { keys.shortened(typical) } else { typical };
        (least, (typical + Span::from_ns(spread)).max(tail))
    }

    /// The longest time in which a page is sensed again that takes so long.
    fn retries(&self, sense: Span) -> Span {
        let senses = if self.retry.is_on() { self.retry.most } else { 0 };
        Span::from_ns(senses * (self.retry.step_us + sense).as_ns())
    }

    pub(super) fn started(&mut self, now: Time, die: DieId, is_suspended: bool) {
        let state = &mut self.dies[die.index()];
        let early = is_suspended && now < state.is_suspended_at;
        assert!(!early, "{die:?} reads before its operation has been suspended");
        state.array = Work::begun(now);
    }

    /// The operation in the array works on this page or block, among others, of which a host read
    /// wants a unit.
    pub(super) fn touched(
        &mut self,
        (die, plane): (DieId, PlaneId),
        (op, slc): (Op, bool),
        ppn: Option<Ppn>,
        lpn: Option<Lpn>,
    ) {
        let (least, most) = if slc { self.slc_bounds(op) } else { self.bounds(op, ppn) };
        let work = &mut self.dies[die.index()].array;
        (work.least, work.most) = (work.least.max(least), work.most.max(most));
        if op == Op::Read && !slc {
            self.sensed(die, plane, ppn, lpn);
        }
    }

    /// Its command and data have come over the channel by then.
    pub(super) fn carried_in(&mut self, die: DieId, until: Time) {
        // Of bus requests, status too comes by here.
        if self.knows_starts {
            self.dies[die.index()].array.since = until;
        }
    }

    pub(super) fn array_over(&self, now: Time, die: DieId) {
        let work = &self.dies[die.index()].array;
        let (worked, knows) = (work.worked(now), self.knows_starts);
        let right = worked >= work.least && (worked <= work.most || !knows);
        assert!(
            right,
            "the array of {die:?} has worked for {worked:?}: {:?} to {:?}",
            work.least, work.most
        );
    }

    pub(super) fn suspended(&mut self, now: Time, die: DieId, op: Op, goes_on: bool) {
        let keys = &self.keys;
        let state = &mut self.dies[die.index()];
        if goes_on {
            let wakes = keys.resume_us + state.suspended.wakes;
            state.array = Work { since: now + wakes, ..state.suspended };
            return;
        }
        let work = state.array;
        let limit = if op == Op::Erase { keys.erase_suspends } else { keys.program_suspends };
        let suspensions = work.suspensions + 1;
        assert!(u64::from(suspensions) <= limit, "{die:?} suspends for the {suspensions}th time");
        if work.least == work.most && self.knows_starts && !keys.pulse_us.is_zero() {
            let left = (work.most.as_ns() + work.since.as_ns())
                .saturating_sub(work.done.as_ns() + now.as_ns());
            assert!(left.is_multiple_of(keys.pulse_us.as_ns()), "{die:?} suspends within a pulse");
        }
        let wakes = work.since.since(now.min(work.since));
        state.suspended = Work { done: work.worked(now), suspensions, wakes, ..work };
        state.is_suspended_at = now + keys.suspend_us;
    }
}

impl Checker {
    /// The array of a die is done; what it has sensed may still wait for the page register.
    pub fn array_over(&mut self, now: Time, die: DieId) {
        self.times.array_over(now, die);
        self.drawing[die.index()] = self.suspended[die.index()].is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKeys;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use flashyard_core::units::ChannelId;

    const DIE: DieId = DieId::new(0);

    /// A checker of a device with two types of pages, and one that has seen a program of the
    /// second type begin at 100 us, behind its data.
    fn programming() -> Checker {
        let mut keys = DeviceKeys::default();
        keys.nand.bits_per_cell = 2;
        keys.nand.program_us = Span::from_us(200);
        keys.nand.program_2_us = Span::from_us(900);
        (keys.nand.suspend_us, keys.nand.resume_us) = (Span::from_us(20), Span::from_us(30));
        keys.nand.program_suspends = 1;
        let settings = Settings::new(keys).expect("a device");
        let mut checker = Checker::new(&settings);
        let page = settings.geometry.units_per_page;
        checker.next_unit[0] = page;
        checker.started(Time::ZERO, DIE, Op::Program);
        let span = (Time::ZERO, Time::from_us(100));
        checker.transferred(ChannelId::new(0), DIE, span, false);
        checker.touched(PlaneId::new(0), (Op::Program, false), Some(Ppn::new(page)), None);
        checker
    }

    fn ends(checker: &mut Checker, us: u64) -> bool {
        catch_unwind(AssertUnwindSafe(|| checker.array_over(Time::from_us(us), DIE))).is_ok()
    }

    #[test]
    fn a_program_takes_the_time_of_its_page_behind_its_data() {
        for (us, right) in [(999, false), (1_000, true), (1_001, false), (300, false)] {
            assert_eq!(ends(&mut programming(), us), right, "{us} us");
        }
    }

    /// Suspended after 400 us of its work, resumed at 700: 30 us to resume, 500 us of work.
    #[test]
    fn a_suspended_program_works_on_after_it_is_resumed() {
        for (us, right) in [(1_000, false), (1_200, false), (1_230, true), (1_250, false)] {
            let mut checker = programming();
            checker.suspended(Time::from_us(500), DIE, false);
            checker.started(Time::from_us(520), DIE, Op::Read);
            checker.array[0] = None;
            checker.suspended(Time::from_us(700), DIE, true);
            assert_eq!(ends(&mut checker, us), right, "{us} us");
        }
    }

    #[test]
    fn reads_begin_when_the_program_is_suspended_and_that_happens_once() {
        let mut checker = programming();
        checker.suspended(Time::from_us(500), DIE, false);
        let early = AssertUnwindSafe(|| checker.started(Time::from_us(519), DIE, Op::Read));
        assert!(catch_unwind(early).is_err());
        let mut checker = programming();
        checker.suspended(Time::from_us(500), DIE, false);
        checker.suspended(Time::from_us(600), DIE, true);
        let again = AssertUnwindSafe(|| checker.suspended(Time::from_us(700), DIE, false));
        assert!(catch_unwind(again).is_err());
    }
}

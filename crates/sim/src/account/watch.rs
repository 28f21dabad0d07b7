//! Those who look at single events of a run: the checker, the time series, observers.

use super::Account;
use super::durable::Durable;
use super::timeline::FtlFigures;
use crate::check::Checker;
use crate::handle::{RequestId, SetId};
use crate::metrics::answer::Answer;
use crate::metrics::counters::Tally;
use crate::metrics::meter::Meter;
use crate::metrics::parts::Parts;
use crate::metrics::series::Series;
use crate::observe::{Event, Observer, RequestTimed};
use crate::random::TurnedBits;
use crate::saved::{Reader, RestoreError, Saved, Writer, save_option};
use flashyard_core::command::Op;
use flashyard_core::request::Request;
use flashyard_core::units::{BlockId, ChannelId, DieId, Lpn, MapPage, PlaneId, Ppn, Time};
use std::collections::BTreeSet;
use std::ops::Range;

/// A page access of a host request: the request by order of arrival, and the page in it.
type Access = (u64, u32);

/// The watchers of a run: checker and observers.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) checker: Option<Checker>,
    pub(super) observers: Vec<Box<dyn Observer>>,
    /// Observers that want the times of answers and nothing else. Those do not make a run watched.
    pub(super) timed: Vec<Box<dyn Observer>>,
    /// Whether any of them follows command sets.
    pub(super) follows: bool,
    /// Whether any of them follows physical units, and the contents of logical ones.
    pub(super) follows_units: bool,
    pub(super) follows_contents: bool,
    /// What a loss of power would leave, where the device can be cut.
    pub(super) durable: Option<Box<Durable>>,
    pub(super) series: Option<Series>,
    pub(super) meter: Option<Meter>,
    /// The work of each request under way and the energy of its data on the link, where there are
    /// observers.
    pub(super) works: Vec<(Tally, u64)>,
    /// What goes into the time series and the power meter by and by.
    pub(super) pending: Pending,
}

/// Energy that the time series and the power meter get when the time that it spans has passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// Array time of the suspended operation of each die that is recorded already.
    pub(super) suspended: Vec<u64>,
    /// Data on the link: from when until when, and energy in picojoules.
    pub(super) link: Vec<(Time, Time, u128)>,
    /// Bus requests under way: from when until when.
    pub(super) bus: Vec<(Time, Time)>,
}

/// A copy has no observers: each of them watches one run.
impl Clone for Watch {
    fn clone(&self) -> Self {
        Self {
            checker: self.checker.clone(),
            observers: Vec::new(),
            timed: Vec::new(),
            follows: false,
            follows_units: false,
            follows_contents: false,
            durable: self.durable.clone(),
            series: self.series.clone(),
            meter: self.meter.clone(),
            works: self.works.clone(),
            pending: self.pending.clone(),
        }
        .following()
    }
}

impl Watch {
    /// The same, told what a loss of power would leave where somebody wants to know it.
    pub(super) fn following(mut self) -> Self {
        self.follows_units |= self.durable.is_some();
        self.follows_contents |= self.durable.is_some();
        self
    }

    /// Whether there is anybody from the start.
    pub(super) const fn is_needed(&self) -> bool {
        self.records_power() || self.durable.is_some()
    }

    pub(super) const fn records_power(&self) -> bool {
        self.series.is_some() || self.meter.is_some()
    }
}

/// Methods that tell the checker of an event, if a checker is on. The method of the same name in
/// the checker documents the event.
macro_rules! checked {
    ($($name:ident($($value:ident: $of:ty),*);)*) => {
        impl Account {
            $(
                #[inline]
                pub(crate) fn $name(&mut self, $($value: $of),*) {
                    if let Some(checker) = self.checker() {
                        checker.$name($($value),*);
                    }
                }
            )*
        }
    };
}

checked! {
    adopt_buffer(lines: impl Iterator<Item = (Lpn, Option<u64>, bool, Range<u16>)>);
    asks(order: u64, request: &Request, durable: bool);
    must_carry(order: u64, bytes: u64);
    carried(order: u64, bytes: u64);
    dozes(dozes: bool);
    entered(order: u64);
    translated(order: u64, lpn: Lpn, changes: bool);
    entry_changed(lpn: Lpn);
    map_page_read(set: SetId, page: MapPage);
    map_page_begun(set: SetId, page: MapPage, entries: &[Lpn]);
    map_page_written(set: SetId);
    started(now: Time, die: DieId, op: Op);
    touched(plane: PlaneId, op: (Op, bool), ppn: Option<Ppn>, read: Option<(Lpn, Access)>);
    array_over(now: Time, die: DieId);
    released(die: DieId);
    suspended(now: Time, die: DieId, goes_on: bool);
    transferred(channel: ChannelId, die: DieId, span: (Time, Time), out: bool);
    old_read(lpn: Lpn, number: u64);
    rest_read(lpn: Lpn, number: u64);
    flush_begins(lpn: Lpn, number: u64);
    over(now: Time, die: DieId, op: Op, register: bool);
    read_over(order: u64, page: u32, errors: Option<TurnedBits>);
    programmed(order: Option<u64>, ppn: Ppn, lpn: Lpn, number: u64);
    trimmed(order: u64, lpn: Lpn, number: u64);
    copied(from: Ppn, to: Ppn, data: Option<Lpn>);
    erased(block: BlockId);
    worn_out(block: BlockId);
    buffered(order: u64, lpn: Lpn, number: u64, evicted: Option<Lpn>);
    put_over(lpn: Lpn, number: u64);
    unbuffered(lpn: Lpn);
    buffer_read(access: Access, lpn: Lpn, number: u64, held: bool);
    allocated_read(access: Access, lpn: Lpn);
    allocated(access: Access, lpn: Lpn, evicted: Option<Lpn>);
    fill_waits(access: Access, lpn: Lpn);
    filled(lpn: Lpn, evicted: Option<Lpn>);
    fill_dropped(lpn: Lpn);
    ahead_begins(lpn: Lpn, evicted: Option<Lpn>);
    ahead_awaited(access: Access, lpn: Lpn);
    ahead_ends(lpn: Lpn, stays: Option<Ppn>);
}

impl Account {
    /// Tells every observer of an event.
    pub(crate) fn tell<'a>(&mut self, event: impl Into<Event<'a>>) {
        if let Some(watch) = &mut self.watch {
            let event = event.into();
            if let Some(durable) = &mut watch.durable {
                event.tell(durable.as_mut());
            }
            watch.observers.iter_mut().for_each(|observer| event.tell(observer.as_mut()));
        }
    }
}

impl Account {
    /// Calls `observer` for every event from now on.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        let watch = self.watch.get_or_insert_default();
        if observer.wants_times_alone() {
            return watch.timed.push(observer);
        }
        watch.follows |= observer.follows();
        watch.follows_units |= observer.follows_units();
        watch.follows_contents |= observer.follows_contents();
        watch.observers.push(observer);
    }

    /// What a loss of power leaves, where the device can be cut.
    pub(crate) fn take_durable(&mut self) -> Option<Durable> {
        self.watch.as_mut()?.durable.take().map(|durable| *durable)
    }

    /// Changes of units whose contents a loss of power can leave.
    pub(crate) fn changes(&self) -> BTreeSet<(u32, u64)> {
        let durable = self.watch.as_ref().and_then(|watch| watch.durable.as_deref());
        durable.map_or_else(BTreeSet::new, Durable::known)
    }

    /// A trim outlives a loss of power from now on.
    pub(crate) fn trim_kept(&mut self, lpn: Lpn, number: u64) {
        if let Some(durable) = self.watch.as_mut().and_then(|watch| watch.durable.as_mut()) {
            durable.trim_kept(lpn.get(), number);
        }
    }

    /// What a loss of power would leave, where the device can be cut and nothing is known of it.
    pub(crate) fn take_new_durable(&mut self) -> Option<Box<Durable>> {
        self.watch.as_mut()?.durable.take_if(|durable| !durable.follows)
    }

    /// What a loss of power would leave is known from now on.
    pub(crate) fn follow_durable(&mut self, mut durable: Box<Durable>) {
        durable.follows = true;
        self.watch.get_or_insert_default().durable = Some(durable);
    }

    /// The power is back: this is left.
    pub(crate) fn restart(&mut self, durable: Durable) {
        self.leave_watch();
        self.own_work = 0;
        self.restored = true;
        let mut watch = self.watch.take().unwrap_or_default();
        watch.pending.bus.clear();
        watch.durable = Some(Box::new(durable));
        self.watch = Some(Box::new(watch.following()));
    }

    /// Tells those who want the times of answers that a request is answered.
    /// The arguments lie in registers: to hand the answer on as a whole would write it to memory
    /// for each request, also where nobody watches.
    #[cold]
    pub(super) fn tell_times(
        &mut self,
        (order, pages): (u64, u32),
        request: &Request,
        parts: &Parts,
        completion: Time,
    ) {
        let Some(watch) = self.watch.as_mut().filter(|watch| !watch.timed.is_empty()) else {
            return;
        };
        let (request, parts) = (*request, *parts);
        let event = RequestTimed { order, request, completion, pages, parts };
        watch.timed.iter_mut().for_each(|observer| observer.request_timed(&event));
    }

    /// Nobody looks at single events any more but who began with the device.
    fn leave_watch(&mut self) {
        let left = self.watch.take().map(|watch| Watch { checker: None, ..(*watch).clone() });
        self.watch = left.filter(Watch::is_needed).map(Box::new);
    }

    /// Lets `checker` check every event from now on.
    pub(crate) fn check_with(&mut self, checker: Checker) {
        self.watch.get_or_insert_default().checker = Some(checker);
    }

    /// The checker, which checks no event any more.
    pub(crate) fn take_checker(&mut self) -> Option<Checker> {
        self.watch.as_mut()?.checker.take()
    }

    /// Whether anybody looks at single events.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| {
            watch.checker.is_some() || watch.is_needed() || !watch.observers.is_empty()
        })
    }

    /// Whether there are observers.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| !watch.observers.is_empty())
    }

    /// Whether an observer follows command sets.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.follows)
    }

    /// Whether an observer follows physical units.
    #[inline]
    pub(crate) fn follows_units(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.follows_units)
    }

    /// Whether an observer follows the contents of logical units.
    #[inline]
    pub(crate) fn follows_contents(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.follows_contents)
    }

    /// Whether there is a checker.
    #[inline]
    pub(crate) fn is_checked(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.checker.is_some())
    }

    /// Whether there is a time series or a power meter.
    #[inline]
    pub(crate) fn records_power(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.records_power())
    }

    /// A request has arrived and is known by this handle.
    #[inline]
    pub(crate) fn request_opened(&mut self, handle: RequestId) {
        if let Some(watch) = &mut self.watch
            && !watch.observers.is_empty()
        {
            let place = handle.index();
            let none = (Tally::default(), 0);
            watch.works.resize(watch.works.len().max(place + 1), none);
            watch.works[place] = none;
        }
    }

    /// An answered request is over with all work that was charged to it, which observers are told.
    #[cold]
    pub(crate) fn request_over(&mut self, handle: RequestId, answer: &Answer<'_>, at: Time) {
        if self.is_observed() {
            let work = self.work_of(handle);
            self.tell(&answer.done(at, work));
        }
    }

    /// All work that was charged to a request, where there are observers, and its energy in
    /// picojoules.
    fn work_of(&self, handle: RequestId) -> (Tally, u64) {
        let watch = self.watch.as_ref().expect("works are kept for observers");
        let (work, link_pj) = watch.works[handle.index()];
        let energy = work.energy_pj(&self.config.energy) + u128::from(link_pj);
        (work, u64::try_from(energy).unwrap_or(u64::MAX))
    }

    #[inline]
    pub(super) fn checker(&mut self) -> Option<&mut Checker> {
        self.watch.as_mut()?.checker.as_mut()
    }

    pub(super) fn series(&mut self) -> Option<&mut Series> {
        self.watch.as_mut()?.series.as_mut()
    }

    pub(super) fn meter(&mut self) -> Option<&mut Meter> {
        self.watch.as_mut()?.meter.as_mut()
    }

    pub(super) fn take_series(&mut self) -> Option<Series> {
        self.watch.as_mut()?.series.take()
    }

    pub(super) fn take_meter(&mut self) -> Option<Meter> {
        self.watch.as_mut()?.meter.take()
    }

    pub(super) fn set_series(&mut self, series: Option<Series>) {
        if let Some(watch) = &mut self.watch {
            watch.series = series;
        }
    }

    pub(super) fn set_meter(&mut self, meter: Option<Meter>) {
        if let Some(watch) = &mut self.watch {
            watch.meter = meter;
        }
    }

    pub(super) fn save_series(&self, to: &mut Writer<'_>) {
        let watch = self.watch.as_ref();
        save_option(watch.and_then(|watch| watch.series.as_ref()), to);
        save_option(watch.and_then(|watch| watch.meter.as_ref()), to);
    }

    pub(super) fn load_series(
        &mut self,
        from: &mut Reader<'_>,
        ftl: &FtlFigures,
    ) -> Result<(), RestoreError> {
        let mut has_series = false;
        has_series.load(from)?;
        let wanted = self.take_series();
        if has_series {
            // Where none is asked for any more, what there was is read and dropped.
            let mut series = Series::new(1);
            series.load(from)?;
            self.set_series(wanted.map(|_| series));
        } else if let Some(mut series) = wanted {
            series.count_from(&self.counts(ftl));
            self.set_series(Some(series));
        }
        self.load_meter(from, ftl)
    }

    fn load_meter(&mut self, from: &mut Reader<'_>, ftl: &FtlFigures) -> Result<(), RestoreError> {
        let (mut has_meter, mut saved) = (false, Meter::new(1));
        has_meter.load(from)?;
        if has_meter {
            saved.load(from)?;
        }
        if let Some(mut meter) = self.take_meter() {
            if has_meter && saved.period_ns() == meter.period_ns() {
                meter = saved;
            } else {
                meter.from_now_on(self.accesses_pj(&ftl.merges));
            }
            self.set_meter(Some(meter));
        }
        Ok(())
    }
}

//! Watches a run and knows at each instant what a loss of power would lose.
//!
//! Three versions of a logical unit matter: the newest one that the host has an answer for, the
//! newest one whose program is over, and those that were promised to outlive a loss of power. A
//! version is the number of the change that made it.

use super::found::{Broken, Cut, Cuts, Rule};
use super::grid::Grid;
use flashyard_core::request::{Flags, Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_sim::config::Settings;
use flashyard_sim::observe::{
    BlockErased, Contents, Observer, PhaseBegan, RequestAnswered, RequestArrived, Shared,
    UnitAtStart, UnitBuffered, UnitChange, UnitProgrammed, UnitTrimmed,
};
use std::collections::{BTreeMap, BTreeSet};

/// Broken promises that are named.
const NAMED: usize = 10;

/// An answer: when, and how many came before.
type Answer = (Time, u64);

/// A change of a unit that is not on flash, or was not when it was looked at last.
#[derive(Clone, Copy, Debug)]
struct Change {
    version: u64,
    /// Its request by order of arrival; none of a change that was made before the run.
    request: Option<u64>,
    trims: bool,
    /// Whether its answer says that it is kept.
    durable: bool,
    answered: Option<Answer>,
}

/// What a cut would do to a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Loss {
    /// Nothing that the host would notice.
    #[default]
    Nothing,
    /// It would lose writes that were answered, this one first.
    Write(Answer),
    /// A trim that was answered would be undone.
    Trim,
}

/// A unit with changes that are not on flash.
#[derive(Clone, Debug, Default)]
struct Unit {
    /// The changes in their order.
    changes: Vec<Change>,
    loss: Loss,
    is_broken: bool,
}

/// A write, trim or flush that is not answered, or not wholly on flash.
#[derive(Clone, Copy, Debug)]
struct Asked {
    request: Request,
    durable: bool,
    pages: u32,
    /// Units of it that are on flash in its version or a newer one.
    kept: u32,
    is_answered: bool,
    /// Answers that came before it, if it is a barrier.
    before: Option<u64>,
}

impl Asked {
    /// Whether a part of it would survive and a part would not.
    fn is_torn(&self) -> bool {
        self.request.op == RequestOp::Write && 0 < self.kept && self.kept < self.pages
    }
}

/// The durable image of a device, and what the host was told.
#[derive(Debug, Default)]
pub(super) struct Image {
    unit_sectors: u64,
    block_units: u32,
    /// Whether the write buffer outlives a loss of power.
    keeps_buffer: bool,
    /// Of each logical unit, the newest version on flash and the unit that holds it, plus one each;
    /// 0 is what was there before the run, and no unit.
    version: Vec<u64>,
    place: Vec<u32>,
    /// Of each physical unit, what it holds: the logical unit and the version, plus one each.
    owner: Vec<u32>,
    stored: Vec<u64>,
    units: BTreeMap<u32, Unit>,
    requests: BTreeMap<u64, Asked>,
    /// Units that would lose a write, by the first answer that would be lost.
    lost: BTreeSet<(Answer, u32)>,
    /// The newest trim of each unit that has been committed since the last flush.
    trimmed: BTreeMap<u32, u64>,
    /// Units whose only durable contents were erased.
    erased: BTreeSet<u32>,
    undone: u32,
    torn: u32,
    broken: u32,
    answers: u64,
    /// So many answers, and what they are for, were covered by a flush that was answered.
    flushed: u64,
    named: Vec<Broken>,
}

/// Takes a time that only grows, and makes the cuts that it passes.
#[derive(Debug)]
pub(super) struct Watch {
    image: Image,
    grid: Grid,
    /// Cuts that are wanted.
    wanted: usize,
    made: Vec<(u64, Cut)>,
    /// Whether time is measured; measured time before it was last begun, and when that was.
    measured: bool,
    before: u64,
    since: Time,
    last: Time,
}

impl Watch {
    pub(super) fn new(settings: &Settings, wanted: usize, seed: u64) -> Self {
        let geometry = &settings.geometry;
        let logical = settings.exported_units as usize;
        let physical = geometry.blocks() as usize * geometry.units_per_block() as usize;
        let buffer = &settings.keys.buffer;
        let image = Image {
            unit_sectors: geometry.unit_sectors().into(),
            block_units: geometry.units_per_block(),
            keeps_buffer: buffer.bytes > 0 && !buffer.volatile,
            version: vec![0; logical],
            place: vec![0; logical],
            owner: vec![0; physical],
            stored: vec![0; physical],
            // What was answered before the run comes before all answers.
            answers: 1,
            ..Image::default()
        };
        Self {
            image,
            grid: Grid::new(seed),
            wanted,
            made: Vec::new(),
            measured: false,
            before: 0,
            since: Time::ZERO,
            last: Time::ZERO,
        }
    }

    /// Time has come to an instant: makes the cuts before it.
    fn reach(&mut self, at: Time) -> &mut Image {
        self.last = self.last.max(at);
        while self.measured && self.before + self.last.since(self.since).as_ns() > self.grid.next()
        {
            let (place, image) = (self.grid.next(), &self.image);
            let at = Time::from_ns(self.since.as_ns() + (place - self.before));
            self.made.push((place, image.cut(at)));
            self.grid.pass();
            if self.made.len() >= 2 * self.wanted {
                self.grid.widen();
                self.made.retain(|(place, _)| self.grid.keeps(*place));
            }
        }
        &mut self.image
    }

    fn phase_begins(&mut self, event: &PhaseBegan) {
        self.reach(event.at);
        if self.measured {
            self.before += event.at.since(self.since).as_ns();
        }
        (self.measured, self.since) = (event.measured, event.at);
    }

    /// The cuts that are wanted, in the order of time; fewer if measured time has not as many
    /// nanoseconds.
    pub(super) fn finish(&mut self) -> Cuts {
        let mut made = std::mem::take(&mut self.made);
        if made.len() > self.wanted {
            made.sort_unstable_by_key(|(place, _)| self.grid.rank(*place));
            made.truncate(self.wanted);
            made.sort_unstable_by_key(|(place, _)| *place);
        }
        let cuts = made.into_iter().map(|(_, cut)| cut).collect();
        let unit_bytes = self.image.unit_sectors * 512;
        Cuts { cuts, unit_bytes, broken: std::mem::take(&mut self.image.named) }
    }
}

impl Image {
    /// What a cut would lose now.
    fn cut(&self, at: Time) -> Cut {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Cut {
            at,
            units: count(self.lost.len()),
            oldest_ns: self.lost.first().map_or(0, |((since, _), _)| at.since(*since).as_ns()),
            torn: self.torn,
            trims: self.undone,
            broken: self.broken + count(self.erased.len()),
        }
    }

    /// Whether the answer of a change says that it is kept, or a flush has said so since.
    fn is_promised(&self, change: &Change) -> Option<Rule> {
        let (_, number) = change.answered?;
        if change.durable {
            return Some(Rule::Durable);
        }
        (number < self.flushed).then_some(Rule::Flush)
    }

    /// Looks at a unit again, whose changes are other ones or have another meaning.
    fn look(&mut self, at: Time, lpn: u32) {
        let Some(unit) = self.units.get(&lpn) else { return };
        let answered = || unit.changes.iter().filter(|change| change.answered.is_some());
        let loss = match answered().next_back() {
            None => Loss::Nothing,
            Some(change) if change.trims => {
                if self.place[lpn as usize] == 0 {
                    Loss::Nothing
                } else {
                    Loss::Trim
                }
            }
            Some(_) => {
                let first =
                    answered().find(|change| !change.trims).and_then(|first| first.answered);
                first.map_or(Loss::Nothing, Loss::Write)
            }
        };
        let promised = answered().find_map(|change| Some((*change, self.is_promised(change)?)));
        let promised = promised.filter(|_| loss != Loss::Nothing);
        let unit = self.units.get_mut(&lpn).expect("it was there");
        let before = std::mem::replace(&mut unit.loss, loss);
        let was_broken = std::mem::replace(&mut unit.is_broken, promised.is_some());
        self.count(lpn, before, loss);
        self.broken = self.broken + u32::from(promised.is_some()) - u32::from(was_broken);
        if let Some((change, rule)) = promised.filter(|_| !was_broken) {
            self.name(Broken {
                at,
                request: change.request,
                unit: lpn,
                version: change.version,
                rule,
            });
        }
        if self.units[&lpn].changes.is_empty() {
            self.units.remove(&lpn);
        }
    }

    /// What a cut would do to a unit is not what it was.
    fn count(&mut self, lpn: u32, before: Loss, after: Loss) {
        match before {
            Loss::Nothing => {}
            Loss::Write(answer) => {
                self.lost.remove(&(answer, lpn));
            }
            Loss::Trim => self.undone -= 1,
        }
        match after {
            Loss::Nothing => {}
            Loss::Write(answer) => {
                self.lost.insert((answer, lpn));
            }
            Loss::Trim => self.undone += 1,
        }
    }

    fn name(&mut self, broken: Broken) {
        if self.named.len() < NAMED {
            self.named.push(broken);
        }
    }

    /// A version of a unit outlives a loss of power from now on, and what came before need not.
    fn keep(&mut self, at: Time, lpn: u32, version: u64) {
        let newest = &mut self.version[lpn as usize];
        if version < *newest {
            return;
        }
        *newest = version + 1;
        self.erased.remove(&lpn);
        if self.trimmed.get(&lpn).is_some_and(|trim| *trim <= version) {
            self.trimmed.remove(&lpn);
        }
        let Some(unit) = self.units.get_mut(&lpn) else { return };
        let kept = unit.changes.partition_point(|change| change.version <= version);
        let kept: Vec<Change> = unit.changes.drain(..kept).collect();
        for order in kept.iter().filter_map(|change| change.request) {
            self.unit_kept(order);
        }
        self.look(at, lpn);
    }

    /// A unit of a request is on flash.
    fn unit_kept(&mut self, order: u64) {
        let Some(asked) = self.requests.get_mut(&order) else { return };
        let before = asked.is_torn();
        asked.kept += 1;
        let asked = *asked;
        self.torn = self.torn + u32::from(asked.is_torn()) - u32::from(before);
        self.forget(order, &asked);
    }

    /// Forgets a request that is answered and wholly on flash.
    fn forget(&mut self, order: u64, asked: &Asked) {
        let kept = asked.kept == asked.pages || asked.request.op == RequestOp::Flush;
        if asked.is_answered && kept {
            self.requests.remove(&order);
        }
    }

    fn arrives(&mut self, event: &RequestArrived) {
        let RequestArrived { order, request, pages, durable, .. } = *event;
        if request.op == RequestOp::Read {
            return;
        }
        let barrier = request.op == RequestOp::Flush || request.flags.has(Flags::PREFLUSH);
        let before = barrier.then_some(self.answers);
        let asked = Asked { request, durable, pages, kept: 0, is_answered: false, before };
        self.requests.insert(order, asked);
    }

    fn changes(&mut self, event: &UnitChange) {
        let UnitChange { lpn, version, request, trims, .. } = *event;
        let durable = !trims && self.requests.get(&request).is_some_and(|asked| asked.durable);
        let (request, answered) = (Some(request), None);
        let change = Change { version, request, trims, durable, answered };
        let changes = &mut self.units.entry(lpn).or_default().changes;
        let place = changes.partition_point(|other| other.version < version);
        changes.insert(place, change);
    }

    fn buffered(&mut self, event: &UnitBuffered) {
        let UnitBuffered { at, lpn, version, request } = *event;
        if request.is_none() {
            let answered = Some((at, 0));
            let change = Change { version, request, trims: false, durable: false, answered };
            self.units.entry(lpn).or_default().changes.push(change);
            self.look(at, lpn);
        }
        if self.keeps_buffer {
            // The newest contents are not on flash, and what is there does not come back.
            if version >= self.version[lpn as usize] {
                self.place[lpn as usize] = 0;
            }
            self.keep(at, lpn, version);
        }
    }

    fn answered(&mut self, event: &RequestAnswered) {
        let RequestAnswered { at, order } = *event;
        let Some(asked) = self.requests.get_mut(&order) else { return };
        asked.is_answered = true;
        let asked = *asked;
        let answer = (at, self.answers);
        self.answers += 1;
        if let Some(before) = asked.before {
            self.flush_over(at, before);
        }
        let first = asked.request.first_sector / self.unit_sectors;
        let last = (asked.request.first_sector + u64::from(asked.request.sectors))
            .div_ceil(self.unit_sectors)
            .max(first);
        for lpn in first..last {
            let lpn = u32::try_from(lpn).expect("a unit of the device");
            let Some(unit) = self.units.get_mut(&lpn) else { continue };
            let change = unit.changes.iter_mut().find(|change| change.request == Some(order));
            let Some(change) = change else { continue };
            change.answered = Some(answer);
            let (trims, version) = (change.trims, change.version);
            if trims && unit.changes.len() == 1 && self.place[lpn as usize] == 0 {
                // There is nothing that could come back.
                self.keep(at, lpn, version);
            } else {
                self.look(at, lpn);
            }
        }
        self.forget(order, &asked);
    }

    /// A flush is answered before whose arrival so many answers were given.
    fn flush_over(&mut self, at: Time, before: u64) {
        for (lpn, version) in std::mem::take(&mut self.trimmed) {
            if version >= self.version[lpn as usize] {
                self.place[lpn as usize] = 0;
            }
            self.keep(at, lpn, version);
        }
        self.flushed = self.flushed.max(before);
        let covered = self.lost.iter().filter(|((_, number), _)| *number < before);
        let covered: Vec<u32> = covered.map(|(_, lpn)| *lpn).collect();
        for lpn in covered {
            self.look(at, lpn);
        }
    }

    fn at_start(&mut self, event: &UnitAtStart) {
        if let Some(Contents::Data(lpn)) = event.contents {
            self.place[lpn as usize] = event.ppn + 1;
            self.owner[event.ppn as usize] = lpn + 1;
        }
    }

    fn programmed(&mut self, event: &UnitProgrammed) {
        let UnitProgrammed { at, ppn, contents, version, from, .. } = *event;
        let Contents::Data(lpn) = contents else { return };
        let copied = from.map_or(0, |from| self.stored[from as usize]);
        let stored = version.map_or(copied, |version| version + 1);
        self.owner[ppn as usize] = lpn + 1;
        self.stored[ppn as usize] = stored;
        let newest = self.version[lpn as usize];
        let place = &mut self.place[lpn as usize];
        let moves = from.is_some_and(|from| *place == from + 1);
        if moves || (version.is_some() && stored >= newest) {
            *place = ppn + 1;
            self.look(at, lpn);
        }
        if let Some(version) = version {
            self.keep(at, lpn, version);
        }
    }

    fn trimmed(&mut self, event: &UnitTrimmed) {
        let Some(unit) = self.units.get(&event.lpn) else { return };
        let trim =
            unit.changes.iter().find(|change| change.trims && change.request == event.request);
        let Some(version) = trim.map(|trim| trim.version) else { return };
        if self.keeps_buffer {
            self.place[event.lpn as usize] = 0;
            return self.keep(event.at, event.lpn, version);
        }
        let newest = self.trimmed.entry(event.lpn).or_insert(version);
        *newest = version.max(*newest);
    }

    fn block_erased(&mut self, event: &BlockErased) {
        let first = event.block * self.block_units;
        for ppn in first..first + self.block_units {
            let Some(lpn) = std::mem::take(&mut self.owner[ppn as usize]).checked_sub(1) else {
                continue;
            };
            self.stored[ppn as usize] = 0;
            if self.place[lpn as usize] != ppn + 1 {
                continue;
            }
            self.place[lpn as usize] = 0;
            if let Some(version) = self.trimmed.remove(&lpn) {
                self.keep(event.at, lpn, version);
            } else {
                self.erased.insert(lpn);
                let version = self.version[lpn as usize].saturating_sub(1);
                let (at, request, rule) = (event.at, None, Rule::Erased);
                self.name(Broken { at, request, unit: lpn, version, rule });
            }
        }
    }
}

/// The observer.
#[derive(Debug)]
pub(super) struct Watcher(pub(super) Shared<Watch>);

impl Observer for Watcher {
    fn follows_contents(&self) -> bool {
        true
    }

    fn unit_at_start(&mut self, event: &UnitAtStart) {
        self.0.get().image.at_start(event);
    }

    fn phase_began(&mut self, event: &PhaseBegan) {
        self.0.get().phase_begins(event);
    }

    fn request_arrived(&mut self, event: &RequestArrived) {
        self.0.get().reach(event.at).arrives(event);
    }

    fn unit_change(&mut self, event: &UnitChange) {
        self.0.get().reach(event.at).changes(event);
    }

    fn unit_buffered(&mut self, event: &UnitBuffered) {
        self.0.get().reach(event.at).buffered(event);
    }

    fn request_answered(&mut self, event: &RequestAnswered) {
        self.0.get().reach(event.at).answered(event);
    }

    fn unit_programmed(&mut self, event: &UnitProgrammed) {
        self.0.get().reach(event.at).programmed(event);
    }

    fn unit_trimmed(&mut self, event: &UnitTrimmed) {
        self.0.get().reach(event.at).trimmed(event);
    }

    fn block_erased(&mut self, event: &BlockErased) {
        self.0.get().reach(event.at).block_erased(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_core::command::Purpose;
    use flashyard_sim::config::DeviceKeys;

    /// A watch of a device with a volatile buffer, over 100 ns of measured time.
    fn watch() -> Watch {
        let mut keys = DeviceKeys::default();
        keys.buffer.bytes = 1 << 20;
        let mut watch = Watch::new(&Settings::new(keys).expect("a device"), 100, 1);
        watch.phase_begins(&PhaseBegan { at: Time::ZERO, measured: true });
        watch
    }

    fn arrive(watch: &mut Watch, order: u64, request: Request, durable: bool) {
        let (at, pages) = (Time::ZERO, u32::from(request.sectors > 0));
        watch.image.arrives(&RequestArrived { at, order, request, pages, durable });
        if request.sectors > 0 {
            let (lpn, version, trims) = (0, 10 + order, request.op == RequestOp::Trim);
            watch.image.changes(&UnitChange { at, lpn, version, request: order, trims });
        }
    }

    fn answer(watch: &mut Watch, order: u64, at: u64) {
        let at = Time::from_ns(at);
        watch.reach(at).answered(&RequestAnswered { at, order });
    }

    fn program(watch: &mut Watch, order: u64, ppn: u32, at: u64) {
        let (contents, version) = (Contents::Data(0), Some(10 + order));
        let (at, current, old, from) = (Time::from_ns(at), true, None, None);
        let (purpose, set, request) = (Purpose::Host, 0, Some(order));
        let event = UnitProgrammed {
            at,
            ppn,
            contents,
            version,
            current,
            old,
            from,
            purpose,
            set,
            request,
        };
        watch.reach(at).programmed(&event);
    }

    fn erase(watch: &mut Watch, at: u64) {
        let (at, block, worn_out, purpose) = (Time::from_ns(at), 0, false, Purpose::Gc);
        let event = BlockErased { at, block, worn_out, purpose, set: 0, request: None };
        watch.reach(at).block_erased(&event);
    }

    fn write() -> Request {
        Request::new(RequestOp::Write, 0, 8)
    }

    /// The promises that are broken, and the cuts that break one, of which there are 100.
    fn broken(mut watch: Watch) -> (Vec<Rule>, u64) {
        watch.reach(Time::from_ns(100));
        let cuts = watch.finish();
        let rules = cuts.broken.iter().map(|broken| broken.rule).collect();
        (rules, cuts.losses().breaking)
    }

    /// The change that a promise names is lost from its answer until it is on flash.
    #[test]
    fn faults_of_a_device_are_found() {
        let mut ignores_fua = watch();
        arrive(&mut ignores_fua, 0, write(), true);
        answer(&mut ignores_fua, 0, 20);
        program(&mut ignores_fua, 0, 3, 50);
        assert_eq!(broken(ignores_fua), (vec![Rule::Durable], 30));

        let mut ignores_flush = watch();
        arrive(&mut ignores_flush, 0, write(), false);
        answer(&mut ignores_flush, 0, 20);
        arrive(&mut ignores_flush, 1, Request::new(RequestOp::Flush, 0, 0), false);
        answer(&mut ignores_flush, 1, 30);
        program(&mut ignores_flush, 0, 3, 50);
        assert_eq!(broken(ignores_flush), (vec![Rule::Flush], 20));

        let mut erases_early = watch();
        arrive(&mut erases_early, 0, write(), false);
        program(&mut erases_early, 0, 3, 10);
        answer(&mut erases_early, 0, 20);
        arrive(&mut erases_early, 1, write(), false);
        erase(&mut erases_early, 60);
        program(&mut erases_early, 1, 70, 90);
        assert_eq!(broken(erases_early), (vec![Rule::Erased], 30));
    }

    /// A flush promises nothing of what was answered behind its arrival.
    #[test]
    fn sound_orders_break_nothing() {
        let mut sound = watch();
        arrive(&mut sound, 0, write(), true);
        program(&mut sound, 0, 3, 10);
        answer(&mut sound, 0, 20);
        arrive(&mut sound, 1, Request::new(RequestOp::Flush, 0, 0), false);
        arrive(&mut sound, 2, write(), false);
        answer(&mut sound, 2, 25);
        answer(&mut sound, 1, 30);
        arrive(&mut sound, 3, Request::new(RequestOp::Trim, 0, 8), false);
        answer(&mut sound, 3, 60);
        let trim = UnitTrimmed { at: Time::from_ns(60), lpn: 0, ppn: Some(3), request: Some(3) };
        sound.image.trimmed(&trim);
        erase(&mut sound, 80);
        sound.reach(Time::from_ns(100));
        let cuts = sound.finish();
        assert!(cuts.broken.is_empty(), "{:?}", cuts.broken);
        let count = |of: fn(&Cut) -> u32| cuts.cuts.iter().filter(|cut| of(cut) > 0).count();
        assert_eq!((count(|cut| cut.units), count(|cut| cut.trims)), (35, 20));
    }
}

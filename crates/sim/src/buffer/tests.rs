//! The lines against a plain list of units.

use super::*;
use crate::config::Replacement;
use crate::handle::LineId;
use flashyard_core::units::Lpn;

/// A unit of the model: what goes first comes first in the list that holds it.
#[derive(Clone, Debug, PartialEq)]
struct Unit {
    lpn: u32,
    group: u32,
    dirty: bool,
    used: bool,
    /// Programs under way, by the group that each began with.
    flights: Vec<u32>,
}

struct Model {
    replacement: Replacement,
    frees: bool,
    in_order: bool,
    units: Vec<Unit>,
    /// Flights of units that were removed, in all lines.
    ghosts: Vec<(LineId, u32)>,
}

impl Model {
    fn find(&self, lpn: u32) -> Option<usize> {
        self.units.iter().position(|unit| unit.lpn == lpn)
    }

    fn last(&mut self, at: usize) -> &mut Unit {
        let unit = self.units.remove(at);
        self.units.push(unit);
        self.units.last_mut().unwrap()
    }

    /// A program of a line is over; `lpn` is its unit if that is still there.
    fn land(&mut self, line: LineId, group: u32, lpn: Option<u32>) {
        let Some(lpn) = lpn else {
            let ghost = self.ghosts.iter().position(|ghost| *ghost == (line, group));
            self.ghosts.remove(ghost.unwrap());
            return;
        };
        let at = self.find(lpn).unwrap();
        let flights = &mut self.units[at].flights;
        let flight = flights.iter().position(|flight| *flight == group);
        flights.remove(flight.unwrap());
        if !flights.is_empty() || self.units[at].dirty {
            return;
        }
        if self.frees {
            self.units.remove(at);
        } else {
            self.last(at);
        }
    }

    /// A unit was used: by a read, or by a write, which makes it dirty in its group.
    fn used(&mut self, at: usize, written: Option<u32>) {
        let unit = &mut self.units[at];
        unit.used = true;
        let listed = unit.dirty || unit.flights.is_empty();
        let moves = written.is_some_and(|group| !unit.dirty || unit.group != group);
        if let Some(group) = written {
            (unit.dirty, unit.group) = (true, group);
        }
        if moves || (self.replacement == Replacement::Lru && listed) {
            self.last(at);
        }
    }

    /// The unit of a kind that goes first: a clock sends those that were used to the end.
    fn front(&mut self, member: impl Fn(&Unit) -> bool) -> Option<u32> {
        loop {
            let at = self.units.iter().position(&member)?;
            if self.replacement != Replacement::Clock || !std::mem::take(&mut self.units[at].used) {
                return Some(self.units[at].lpn);
            }
            self.last(at);
        }
    }

    /// Units without a program under way, or dirty all the same, in the order in which they would
    /// give way one after the other.
    fn listed(&self) -> Vec<&Unit> {
        let passes: &[_] = match self.replacement {
            Replacement::Clock => &[Some(false), Some(true)],
            Replacement::Lru | Replacement::Fifo => &[None],
        };
        let pass = |used: &Option<bool>| {
            let used = *used;
            let listed = self.units.iter().filter(|unit| unit.dirty || unit.flights.is_empty());
            listed.filter(move |unit| used.is_none_or(|used| unit.used == used))
        };
        passes.iter().flat_map(pass).collect()
    }

    fn order(&self) -> Vec<u32> {
        self.listed().iter().map(|unit| unit.lpn).collect()
    }

    /// Dirty units in the order in which they would be flushed one after the other.
    fn flush_order(&self) -> Vec<u32> {
        self.listed().iter().filter(|unit| unit.dirty).map(|unit| unit.lpn).collect()
    }

    fn dirty(&self, group: Option<u32>) -> Vec<u32> {
        let member = |unit: &&Unit| unit.dirty && group.is_none_or(|group| unit.group == group);
        self.units.iter().filter(member).map(|unit| unit.lpn).collect()
    }

    fn clean(&self) -> Vec<u32> {
        let clean = self.units.iter().filter(|unit| !unit.dirty && unit.flights.is_empty());
        clean.map(|unit| unit.lpn).collect()
    }
}

fn lpns<'a>(lines: impl Iterator<Item = &'a Line>) -> Vec<u32> {
    lines.map(|line| line.lpn.get()).collect()
}

fn compare(lines: &mut Lines, model: &mut Model, groups: u32, whole: usize, window: usize) {
    let order = std::iter::successors(lines.first_dirty(), |line| lines.next_dirty(*line));
    let order: Vec<_> = order.map(|line| lines[line].lpn.get()).collect();
    assert_eq!(order, model.flush_order());
    let order = std::iter::successors(lines.first_to_go(), |line| lines.next_to_go(*line));
    let order: Vec<_> = order.map(|line| lines[line].lpn.get()).collect();
    assert_eq!(order, if model.in_order { model.order() } else { model.flush_order() });
    let kept = lines.clean_lines().filter(|line| lines.is_kept(lines.find(line.lpn).unwrap()));
    assert_eq!(kept.count(), if model.in_order { model.clean().len() } else { 0 });
    assert_eq!(lpns(lines.dirty_lines()), model.dirty(None));
    assert_eq!(lpns(lines.clean_lines()), model.clean());
    assert_eq!(lines.dirty() as usize, model.dirty(None).len());
    let held = model.units.len() + model.ghosts.iter().map(|ghost| ghost.0).max_lines();
    let room = held < lines.units() as usize || !model.clean().is_empty();
    assert_eq!(lines.has_room(), room);
    let empty = held < lines.units() as usize;
    assert_eq!(lines.room().is_some(), if model.in_order { empty } else { room });
    let free = lines.units() as usize - held + model.clean().len();
    assert_eq!(lines.free_lines() as usize, free);
    let clean = if model.in_order { 0 } else { model.clean().len() };
    assert_eq!(lines.free_in_order() as usize, lines.units() as usize - held + clean);
    for group in 0..groups {
        let oldest = lines.oldest_of(group).map(|line| lines[line].lpn.get());
        assert_eq!(oldest, model.front(|unit| unit.dirty && unit.group == group));
    }
    let under_way = |group: u32| {
        let units = model.units.iter().flat_map(|unit| &unit.flights);
        units.chain(model.ghosts.iter().map(|ghost| &ghost.1)).filter(|g| **g == group).count()
    };
    let lands = model.units.iter().filter(|unit| !unit.dirty && unit.flights.len() == 1).count();
    let ghosts = || model.ghosts.iter().map(|ghost| ghost.0);
    let alone = ghosts().filter(|line| ghosts().filter(|ghost| ghost == line).count() == 1);
    let freeing = lands + alone.count();
    assert_eq!(lines.freeing() as usize, freeing);
    let ready = |group: u32| model.dirty(Some(group)).len() >= whole && under_way(group) < window;
    // What no hand has passed yet is where the list begins.
    let mut moved = Model { units: model.units.clone(), ghosts: Vec::new(), ..*model };
    let oldest =
        moved.front(|unit| unit.dirty).map(|lpn| moved.units[moved.find(lpn).unwrap()].group);
    let turn = lines.turn;
    let next = (0..groups).map(|step| (turn + step) % groups).find(|&group| ready(group));
    let expected = oldest.and_then(|group| if ready(group) { Some(group) } else { next });
    assert_eq!(lines.pick(), expected);
    for group in 0..groups {
        let next = (1..=groups).map(|step| (group + step) % groups).find(|&group| ready(group));
        assert_eq!(lines.next_ready(group), next);
    }
    model.units = moved.units;
}

/// Distinct lines that removed units still hold.
trait MaxLines {
    fn max_lines(self) -> usize;
}

impl<I: Iterator<Item = LineId>> MaxLines for I {
    fn max_lines(self) -> usize {
        self.collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// Random changes of small buffers, from one group to more than a word of bits.
#[test]
fn lines_agree_with_a_plain_list() {
    for &replacement in Replacement::ALL {
        for (seed, groups, whole, window) in
            [(1, 1, 1, 2), (2, 3, 2, 3), (3, 70, 1, 1), (4, 2, 4, 8)]
        {
            agree(replacement, seed, groups, whole, window);
        }
    }
}

/// Adds a unit, dirty or clean, in the place that a look tells.
fn insert(lines: &mut Lines, model: &mut Model, (lpn, group): (u32, u32), clean: bool) {
    let (room, new) = (lines.room(), Lpn::new(lpn));
    let (line, evicted) = if clean { lines.insert_clean(new) } else { lines.insert(new) };
    let told = room.is_none_or(|bank| bank == lines[line].bank());
    assert!(told && (room.is_some() || model.in_order), "a look tells the bank");
    assert_eq!(lines[line].bank(), line.get() % 5, "a physical line stays in its bank");
    if let Some(evicted) = evicted {
        let first = model.front(|unit| !unit.dirty && unit.flights.is_empty());
        assert_eq!(Some(evicted.get()), first);
        model.units.remove(model.find(evicted.get()).unwrap());
    }
    if !clean {
        lines.mark_dirty(line, group);
    }
    model.units.push(Unit { lpn, group, dirty: !clean, used: false, flights: Vec::new() });
}

fn agree(replacement: Replacement, seed: u64, groups: u32, whole: u32, window: u32) {
    let (frees, in_order) = (seed == 2, seed.is_multiple_of(2));
    let lines = Lines::new(12, groups, whole, window);
    let mut lines = lines.ruled(replacement, 5, (frees, in_order));
    let mut model = Model { replacement, frees, in_order, units: Vec::new(), ghosts: Vec::new() };
    let mut allocated = 0;
    // By unit or, of removed ones, by line: what is under way.
    let mut flying: Vec<(LineId, u32, Option<u32>)> = Vec::new();
    let mut random = seed;
    let mut below = |bound: usize| {
        random = u64::wrapping_mul(random, 6_364_136_223_846_793_005).wrapping_add(99);
        usize::try_from(random >> 33).unwrap() % bound
    };
    for _ in 0..12_000 {
        let lpn = u32::try_from(below(30)).unwrap();
        let group = u32::try_from(below(groups as usize)).unwrap();
        let found = model.find(lpn);
        assert_eq!(lines.find(Lpn::new(lpn)).is_some(), found.is_some());
        match (below(7), lines.find(Lpn::new(lpn))) {
            (0 | 1, Some(line)) => {
                lines.mark_dirty(line, group);
                model.used(found.unwrap(), Some(group));
            }
            (action @ (0 | 1 | 6), None) if lines.has_room() => {
                insert(&mut lines, &mut model, (lpn, group), action == 6);
                allocated += u32::from(action == 6);
            }
            (2, Some(line)) => {
                lines.touch(line);
                model.used(found.unwrap(), None);
            }
            (3, Some(line)) if lines[line].is_dirty() => {
                lines.begin_flush(line, lines[line].group());
                let unit = &mut model.units[found.unwrap()];
                unit.dirty = false;
                unit.flights.push(unit.group);
                flying.push((line, unit.group, Some(lpn)));
            }
            (4, Some(line)) if below(4) == 0 => {
                lines.remove(line);
                let unit = model.units.remove(found.unwrap());
                model.ghosts.extend(unit.flights.iter().map(|group| (line, *group)));
                let mine = flying.iter_mut().filter(|flight| flight.0 == line);
                mine.for_each(|flight| flight.2 = None);
            }
            (5, _) if !flying.is_empty() => {
                let (line, group, lpn) = flying.remove(below(flying.len()));
                let freed = lines.end_flush(line, group);
                model.land(line, group, lpn);
                let gone = lpn.filter(|lpn| model.find(*lpn).is_none());
                assert_eq!(freed.map(Lpn::get), gone);
            }
            _ => {}
        }
        compare(&mut lines, &mut model, groups, whole as usize, window as usize);
    }
    assert!(allocated > 100, "{allocated} clean units came");
}

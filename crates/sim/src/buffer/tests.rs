//! The lines against a plain list of units.

use super::*;

/// A unit of the model: most recently used last in the list that holds it.
#[derive(Clone, Debug, PartialEq)]
struct Unit {
    lpn: u32,
    group: u32,
    dirty: bool,
    /// Programs under way, by the group that each began with.
    flights: Vec<u32>,
}

#[derive(Default)]
struct Model {
    units: Vec<Unit>,
    /// Flights of units that were removed, in all lines.
    ghosts: Vec<(u32, u32)>,
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
    fn land(&mut self, line: u32, group: u32, lpn: Option<u32>) {
        let Some(lpn) = lpn else {
            let ghost = self.ghosts.iter().position(|ghost| *ghost == (line, group));
            self.ghosts.remove(ghost.unwrap());
            return;
        };
        let at = self.find(lpn).unwrap();
        let flights = &mut self.units[at].flights;
        let flight = flights.iter().position(|flight| *flight == group);
        flights.remove(flight.unwrap());
        if flights.is_empty() && !self.units[at].dirty {
            self.last(at);
        }
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

fn compare(lines: &mut Lines, model: &Model, groups: u32, whole: usize, window: usize) {
    assert_eq!(lpns(lines.dirty_lines()), model.dirty(None));
    assert_eq!(lpns(lines.clean_lines()), model.clean());
    assert_eq!(lines.dirty() as usize, model.dirty(None).len());
    let held = model.units.len() + model.ghosts.iter().map(|ghost| ghost.0).max_lines();
    let room = held < lines.units() as usize || !model.clean().is_empty();
    assert_eq!(lines.has_room(), room);
    let under_way = |group: u32| {
        let units = model.units.iter().flat_map(|unit| &unit.flights);
        units.chain(model.ghosts.iter().map(|ghost| &ghost.1)).filter(|g| **g == group).count()
    };
    let ready = |group: u32| model.dirty(Some(group)).len() >= whole && under_way(group) < window;
    for group in 0..groups {
        let oldest = lines.oldest_of(group).map(|line| lines.line(line).lpn.get());
        assert_eq!(oldest, model.dirty(Some(group)).first().copied());
    }
    let oldest = model.units.iter().find(|unit| unit.dirty).map(|unit| unit.group);
    let turn = lines.turn;
    let next = (0..groups).map(|step| (turn + step) % groups).find(|&group| ready(group));
    let expected = oldest.and_then(|group| if ready(group) { Some(group) } else { next });
    assert_eq!(lines.pick(), expected);
}

/// Distinct lines that removed units still hold.
trait MaxLines {
    fn max_lines(self) -> usize;
}

impl<I: Iterator<Item = u32>> MaxLines for I {
    fn max_lines(self) -> usize {
        self.collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// Random changes of small buffers, from one group to more than a word of bits.
#[test]
fn lines_agree_with_a_plain_list() {
    for (seed, groups, whole, window) in [(1, 1, 1, 2), (2, 3, 2, 3), (3, 70, 1, 1), (4, 2, 4, 8)] {
        let mut lines = Lines::new(12, groups, whole, window);
        let mut model = Model::default();
        // By unit or, of removed ones, by line: what is under way.
        let mut flying: Vec<(u32, u32, Option<u32>)> = Vec::new();
        let mut random = seed;
        let mut below = |bound: usize| {
            random = u64::wrapping_mul(random, 6_364_136_223_846_793_005).wrapping_add(99);
            usize::try_from(random >> 33).unwrap() % bound
        };
        for _ in 0..20_000 {
            let lpn = u32::try_from(below(30)).unwrap();
            let group = u32::try_from(below(groups as usize)).unwrap();
            let found = model.find(lpn);
            assert_eq!(lines.find(Lpn::new(lpn)).is_some(), found.is_some());
            match (below(6), lines.find(Lpn::new(lpn))) {
                (0 | 1, Some(line)) => {
                    lines.soil(line, group);
                    let unit = model.last(found.unwrap());
                    (unit.dirty, unit.group) = (true, group);
                }
                (0 | 1, None) if lines.has_room() => {
                    let (line, evicted) = lines.insert(Lpn::new(lpn));
                    if let Some(evicted) = evicted {
                        assert_eq!(Some(&evicted.get()), model.clean().first());
                        model.units.remove(model.find(evicted.get()).unwrap());
                    }
                    lines.soil(line, group);
                    model.units.push(Unit { lpn, group, dirty: true, flights: Vec::new() });
                }
                (2, Some(line)) => {
                    lines.touch(line);
                    let unit = &model.units[found.unwrap()];
                    if unit.dirty || unit.flights.is_empty() {
                        model.last(found.unwrap());
                    }
                }
                (3, Some(line)) if lines.line(line).is_dirty() => {
                    lines.take_off(line, lines.line(line).group());
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
                    lines.land(line, group);
                    model.land(line, group, lpn);
                }
                _ => {}
            }
            compare(&mut lines, &model, groups, whole as usize, window as usize);
        }
    }
}

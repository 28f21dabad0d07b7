//! Ports and banks of the buffer: who has them when, and how much of the time of gets passes beside
//! a put.
//!
//! Accesses are served in the order in which they ask: each begins when its port and its bank have
//! nothing left to do. What a port carries is a row of spans that do not overlap, so the time that
//! the two rows have in common is found by walking both once.

use crate::handle::LineId;
use crate::observe::BufferAccess;
use crate::sets::Set;
use flashyard_core::units::{Span, Time};
use std::collections::VecDeque;

/// What is done to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It is read out of its line.
    Get,
    /// It is written into its line.
    Put,
}

/// One access of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The line; none where its unit has left the buffer.
    pub line: Option<LineId>,
    /// Its bank.
    pub bank: u32,
    /// Whether a request asked for it, not a flush.
    pub host: bool,
    /// When it begins.
    pub from: Time,
    /// When it is over.
    pub until: Time,
}

/// When an access has its port and its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Time in which a get and a put are at work at once, that was not known before.
    pub hidden: Span,
}

impl Reservation {
    /// What observers are told of it: whose unit is put or got, in a bank if a line is known.
    #[cold]
    pub(crate) fn told(&self, set: &Set, put: bool, bank: Option<u32>) -> BufferAccess {
        let origin = set.origin();
        BufferAccess {
            request: origin.map(|origin| origin.order),
            page: origin.map_or(0, |origin| origin.page),
            lpn: set.lpn().get(),
            bank,
            put,
            start: self.from,
            end: self.until,
        }
    }
}

/// The ports of a buffer and its banks.
#[derive(Clone, Debug)]
pub struct Ports {
    shared: bool,
    /// When each port has nothing left to carry, that of gets first.
    free: [Time; 2],
    /// When each bank is free.
    banks: Vec<Time>,
    /// What is not over, by direction.
    carried: [VecDeque<Access>; 2],
    /// When the last access of each line is over, by direction; of lines that had one.
    ends: [Vec<Time>; 2],
    /// Spans that an access of the other direction may still overlap, by direction.
    open: [VecDeque<(Time, Time)>; 2],
}

impl Ports {
    /// One port for both directions, or one each, and so many banks.
    pub fn new(shared: bool, banks: u32) -> Self {
        Self {
            shared,
            free: [Time::ZERO; 2],
            banks: vec![Time::ZERO; banks as usize],
            carried: [VecDeque::new(), VecDeque::new()],
            ends: [Vec::new(), Vec::new()],
            open: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// Takes the port and the bank for `span`, from `now` on as soon as both are free.
    pub fn reserve(
        &mut self,
        direction: Direction,
        bank: u32,
        span: Span,
        line: Option<LineId>,
        host: bool,
        now: Time,
    ) -> Reservation {
        let port = if self.shared { 0 } else { direction as usize };
        let from = self.free[port].max(self.banks[bank as usize]).max(now);
        let until = from + span;
        self.free[port] = until;
        self.banks[bank as usize] = until;
        for open in &mut self.open {
            while open.front().is_some_and(|(_, end)| *end <= now) {
                open.pop_front();
            }
        }
        let carried = &mut self.carried[direction as usize];
        while carried.front().is_some_and(|access| access.until <= now) {
            carried.pop_front();
        }
        if span > Span::ZERO {
            carried.push_back(Access { line, bank, host, from, until });
            self.note_end(direction, line, until);
        }
        let hidden = if self.shared { Span::ZERO } else { self.overlap(direction, from, until) };
        Reservation { from, until, hidden }
    }

    /// An access of a line, if it has one, is over then, and later than those before.
    fn note_end(&mut self, direction: Direction, line: Option<LineId>, until: Time) {
        let Some(line) = line else { return };
        let ends = &mut self.ends[direction as usize];
        if ends.len() <= line.index() {
            ends.resize(line.index() + 1, Time::ZERO);
        }
        ends[line.index()] = until;
    }

    /// The time of an access that passes beside known ones of the other direction. Later ones of
    /// its direction begin when it is over, so whatever ends before that is forgotten.
    fn overlap(&mut self, direction: Direction, from: Time, until: Time) -> Span {
        let mut sum = Span::ZERO;
        let others = &mut self.open[1 - direction as usize];
        for &(start, end) in others.iter() {
            if start >= until {
                break;
            }
            let (start, end) = (start.max(from), end.min(until));
            if start < end {
                sum += end.since(start);
            }
        }
        while others.front().is_some_and(|(_, end)| *end <= until) {
            others.pop_front();
        }
        // Later ones of the other direction begin when its last known one is over.
        if until > self.free[1 - direction as usize] && until > from {
            self.open[direction as usize].push_back((from, until));
        }
        sum
    }

    /// When both have nothing left to carry.
    pub fn rest(&self) -> Time {
        self.free[0].max(self.free[1])
    }

    /// What the port of a direction carries now, or else carries next.
    pub fn carries(&self, direction: Direction, now: Time) -> Option<&Access> {
        self.carried[direction as usize].iter().find(|access| access.until > now)
    }

    /// Whether an access of a line in this direction is not over.
    pub fn uses(&self, direction: Direction, line: LineId, now: Time) -> bool {
        self.ends[direction as usize].get(line.index()).is_some_and(|end| *end > now)
    }

    #[cfg(test)]
    fn remembered(&self) -> usize {
        self.open.iter().map(VecDeque::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Get, Put};

    fn ns(ns: u64) -> Span {
        Span::from_ns(ns)
    }

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// A put of 30 ns, then gets of 10 ns: in another bank beside it, in its bank behind it.
    #[test]
    fn a_get_passes_beside_a_put_in_another_bank_only() {
        for (shared, bank, from, hidden) in
            [(false, 1, 5, 10), (false, 0, 30, 0), (true, 1, 30, 0), (true, 0, 30, 0)]
        {
            let mut ports = Ports::new(shared, 2);
            let put = ports.reserve(Put, 0, ns(30), LineId::from_raw(7), true, at(0));
            assert_eq!((put.from, put.until, put.hidden), (at(0), at(30), ns(0)));
            let get = ports.reserve(Get, bank, ns(10), LineId::from_raw(8), true, at(5));
            assert_eq!((get.from, get.until, get.hidden), (at(from), at(from + 10), ns(hidden)));
        }
    }

    #[test]
    fn what_is_carried_is_shown_until_it_is_over() {
        let mut ports = Ports::new(false, 4);
        ports.reserve(Put, 0, ns(30), LineId::from_raw(7), true, at(0));
        ports.reserve(Put, 1, ns(30), LineId::from_raw(8), false, at(0));
        let line = |ports: &Ports, now| ports.carries(Put, at(now)).and_then(|access| access.line);
        assert_eq!(line(&ports, 29), LineId::from_raw(7));
        assert_eq!(line(&ports, 30), LineId::from_raw(8));
        assert_eq!(line(&ports, 60), None);
        assert_eq!(ports.carries(Get, at(0)), None);
        assert!(ports.uses(Put, LineId::new(8), at(0)) && !ports.uses(Put, LineId::new(7), at(30)));
        assert!(!ports.uses(Get, LineId::new(8), at(0)));
    }

    /// Random accesses against a list of all: no two of a port or bank at once, each as soon as it
    /// can, and the hidden time by comparing every get with every put.
    #[test]
    fn random_accesses_agree_with_a_list_of_all() {
        for seed in 0..20 {
            let mut random = seed;
            let mut below = |bound: u64| {
                random = u64::wrapping_mul(random, 6_364_136_223_846_793_005).wrapping_add(99);
                (random >> 33) % bound
            };
            let (shared, banks) = (below(4) == 0, 1 + u32::try_from(below(5)).unwrap());
            let mut ports = Ports::new(shared, banks);
            let mut all: Vec<(Direction, u32, Time, Time)> = Vec::new();
            let (mut now, mut hidden, mut ends) = (0, Span::ZERO, 0);
            for _ in 0..600 {
                now += below(4) * below(30);
                let direction = if below(2) == 0 { Get } else { Put };
                let bank = u32::try_from(below(u64::from(banks))).unwrap();
                let span = below(3) * below(40);
                let busy = all
                    .iter()
                    .filter(|(other, theirs, ..)| shared || *other == direction || *theirs == bank);
                let free = busy.map(|(.., until)| until.as_ns()).max().unwrap_or(0);
                let granted =
                    ports.reserve(direction, bank, ns(span), LineId::from_raw(0), true, at(now));
                assert_eq!(granted.from, at(free.max(now)));
                assert_eq!(granted.until, granted.from + ns(span));
                hidden += granted.hidden;
                ends = ends.max(granted.until.as_ns());
                all.push((direction, bank, granted.from, granted.until));
            }
            let of = |wanted| all.iter().filter(move |(direction, ..)| *direction == wanted);
            let mut expected = Span::ZERO;
            for (_, _, from, until) in of(Get) {
                for (_, _, start, end) in of(Put) {
                    let (start, end) = (start.max(from), end.min(until));
                    if start < end {
                        expected += end.since(*start);
                    }
                }
            }
            assert_eq!(hidden, expected, "seed {seed}");
            let last = ports.reserve(Get, 0, ns(1), LineId::from_raw(0), true, at(ends + 1));
            ports.reserve(Put, 0, ns(1), LineId::from_raw(0), true, last.until);
            assert!(ports.remembered() <= 2, "what has passed is forgotten");
        }
    }
}

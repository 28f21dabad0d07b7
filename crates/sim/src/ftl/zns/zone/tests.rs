//! The zones beside a model that is written from the tables of the specification: each zone as a
//! state and a number of blocks, every limit counted anew from all zones.

use super::*;
use crate::random::{STEP, mix};
use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};

const CAPACITY: u32 = 6;

/// What a request asks of a zone.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Write(u32, u32),
    Append(u32),
    Read,
    Act(ZoneAction),
    Fail(bool),
}

/// A zone of the model: its state, its blocks, whether it was finished, and since which request it
/// is open.
#[derive(Clone, Copy, Debug)]
struct Plain {
    state: ZoneState,
    blocks: u32,
    finished: bool,
    since: usize,
}

struct Model {
    zones: Vec<Plain>,
    open: usize,
    active: usize,
    closed_for_others: u64,
}

impl Model {
    fn new(count: u32, open: usize, active: usize) -> Self {
        let zone = Plain { state: Empty, blocks: 0, finished: false, since: 0 };
        Self { zones: vec![zone; count as usize], open, active, closed_for_others: 0 }
    }

    fn count(&self, states: &[ZoneState]) -> usize {
        self.zones.iter().filter(|zone| states.contains(&zone.state)).count()
    }

    /// Section 2.1.1.4: the resources that opening a zone takes.
    fn take_resources(&mut self, zone: usize) -> Result<(), ZoneError> {
        let own = self.zones[zone].state;
        let active = self.count(&[ImplicitlyOpen, ExplicitlyOpen, Closed]);
        let open = self.count(&[ImplicitlyOpen, ExplicitlyOpen]);
        if own == Empty && active == self.active {
            return Err(ZoneError::TooManyActive);
        }
        if (own == Empty || own == Closed) && open == self.open {
            let zones = self.zones.iter_mut().filter(|zone| zone.state == ImplicitlyOpen);
            let longest = zones.min_by_key(|zone| zone.since);
            longest.ok_or(ZoneError::TooManyOpen)?.state = Closed;
            self.closed_for_others += 1;
        }
        Ok(())
    }

    fn ask(&mut self, zone: usize, ask: Ask, time: usize) -> Result<Option<u32>, ZoneError> {
        let before = self.zones[zone];
        let (at, blocks) = match ask {
            Ask::Write(at, blocks) => (at, blocks),
            Ask::Append(blocks) => (before.blocks, blocks),
            Ask::Read => {
                return if before.state == Offline { Err(ZoneError::Offline) } else { Ok(None) };
            }
            Ask::Fail(readable) => {
                self.zones[zone].state = if readable { ReadOnly } else { Offline };
                return Ok(None);
            }
            Ask::Act(action) => return self.act(zone, action, time).map(|()| None),
        };
        match before.state {
            Offline => return Err(ZoneError::Offline),
            ReadOnly => return Err(ZoneError::ReadOnly),
            Full => return Err(ZoneError::Full),
            Empty | ImplicitlyOpen | ExplicitlyOpen | Closed => {}
        }
        if at + blocks > CAPACITY {
            return Err(ZoneError::Boundary);
        }
        if at != before.blocks {
            return Err(ZoneError::InvalidWrite);
        }
        self.take_resources(zone)?;
        let own = &mut self.zones[zone];
        if own.state == Empty || own.state == Closed {
            (own.state, own.since) = (ImplicitlyOpen, time);
        }
        own.blocks += blocks;
        if own.blocks == CAPACITY {
            own.state = Full;
        }
        Ok(Some(at))
    }

    /// Figure 8: the transitions that a host asks for.
    fn act(&mut self, zone: usize, action: ZoneAction, time: usize) -> Result<(), ZoneError> {
        let state = self.zones[zone].state;
        let next = match (action, state) {
            (_, ReadOnly | Offline)
            | (ZoneAction::Open, Full)
            | (ZoneAction::Close, Empty | Full) => return Err(ZoneError::InvalidTransition),
            (ZoneAction::Reset, _) => Empty,
            (ZoneAction::Finish, _) => Full,
            (ZoneAction::Open, _) => {
                self.take_resources(zone)?;
                ExplicitlyOpen
            }
            (ZoneAction::Close, _) => Closed,
        };
        let own = &mut self.zones[zone];
        if action == ZoneAction::Open && matches!(state, Empty | Closed) {
            own.since = time;
        }
        own.finished = match action {
            ZoneAction::Reset => false,
            ZoneAction::Finish => own.finished || state != Full,
            ZoneAction::Open | ZoneAction::Close => own.finished,
        };
        if action == ZoneAction::Reset {
            own.blocks = 0;
        }
        own.state = next;
        Ok(())
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self.0.wrapping_add(STEP);
        u32::try_from(mix(self.0) % u64::from(most)).unwrap()
    }
}

fn ask(random: &mut Random, written: u32) -> Ask {
    let units = 1 + random.below(3);
    match random.below(40) {
        0..12 => Ask::Write(written, units),
        12..14 => Ask::Write(random.below(CAPACITY + 1), units),
        14..20 => Ask::Append(units),
        20..22 => Ask::Read,
        22..27 => Ask::Act(ZoneAction::Open),
        27..31 => Ask::Act(ZoneAction::Close),
        31..34 => Ask::Act(ZoneAction::Finish),
        34 if random.below(8) == 0 => Ask::Fail(random.below(2) == 0),
        _ => Ask::Act(ZoneAction::Reset),
    }
}

fn do_it(zones: &mut Zones, zone: u32, ask: Ask) -> Result<Option<u32>, ZoneError> {
    match ask {
        Ask::Write(first, units) => zones.write(zone, first, units).map(|()| Some(first)),
        Ask::Append(units) => zones.append(zone, units).map(Some),
        Ask::Read => zones.read(zone).map(|()| None),
        Ask::Act(action) => zones.act(zone, action).map(|()| None),
        Ask::Fail(readable) => {
            zones.fail(zone, readable);
            Ok(None)
        }
    }
}

#[test]
fn random_sequences_agree_with_the_tables() {
    let mut random = Random(1);
    let mut errors = [0_u32; ZoneError::COUNT];
    let mut seen = [0_u32; 7];
    for sequence in 0..100_000 {
        let count = 2 + random.below(4);
        let open = 1 + random.below(count);
        let active = open + random.below(2);
        let mut zones = Zones::new(count, CAPACITY, Limits { open, active });
        let mut model = Model::new(count, open as usize, active as usize);
        for time in 0..24 {
            let zone = random.below(count);
            let asked = ask(&mut random, zones.view(zone).written);
            let wanted = model.ask(zone as usize, asked, time);
            let done = do_it(&mut zones, zone, asked);
            assert_eq!(done, wanted, "sequence {sequence}, request {time}: {asked:?} of {zone}");
            if let Err(error) = done {
                errors[error as usize] += 1;
            }
            for (zone, plain) in (0..).zip(&model.zones) {
                let ZoneView { state, written, finished } = zones.view(zone);
                let known = (state, written, finished);
                assert_eq!(known, (plain.state, plain.blocks, plain.finished), "{sequence} {time}");
                seen[state as usize] += 1;
            }
            let opened = model.count(&[ImplicitlyOpen, ExplicitlyOpen]);
            let used = (opened, opened + model.count(&[Closed]));
            let (open, active) = zones.in_use();
            assert_eq!((open as usize, active as usize), used);
            assert_eq!(zones.take_evicted(), std::mem::take(&mut model.closed_for_others));
        }
    }
    // Every error but those of fields, which are not the zones' own, and every state has come.
    let fields = ZoneError::InvalidField as usize;
    assert!((0..errors.len()).all(|error| (error == fields) == (errors[error] == 0)), "{errors:?}");
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn filled_zones_are_those_that_a_host_has_written() {
    let limits = Limits { open: 1, active: 2 };
    let mut written = Zones::new(4, CAPACITY, limits);
    for zone in 0..2 {
        written.append(zone, CAPACITY).unwrap();
    }
    written.append(2, 4).unwrap();
    written.act(2, ZoneAction::Close).unwrap();
    let mut filled = Zones::new(4, CAPACITY, limits);
    filled.fill(2, 4);
    let views = |zones: &Zones| (0..4).map(|zone| zones.view(zone)).collect::<Vec<_>>();
    assert_eq!(views(&filled), views(&written));
    assert_eq!(filled.in_use(), written.in_use());
}

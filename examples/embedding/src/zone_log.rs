//! A log on a drive with zones: objects are appended, and the device says where each one is. When
//! few zones are empty, the log copies what is live in the zone with the least of it, and resets
//! that zone: the drive itself copies nothing.

use anyhow::Context;
use flashyard_core::request::{Request, RequestOp, ZoneAction};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Outcome, Session, Stop};

/// Sectors of an object: 128 KiB.
pub(crate) const OBJECT: u32 = 256;
/// Zones that are kept empty for copies.
const KEPT: usize = 2;

/// The log, and the device under it.
pub(crate) struct Log {
    session: Session,
    /// First sectors of the zones, and objects that one holds.
    zones: Vec<u64>,
    per_zone: usize,
    /// Where each object is, and which objects were written to each zone, in order.
    places: Vec<u64>,
    written: Vec<Vec<usize>>,
    /// The zone that is being written for each class of objects, and the class of an object.
    open: Vec<usize>,
    class_of: fn(usize, usize) -> usize,
    copies: u64,
}

impl Log {
    /// An empty log of so many objects; those of different classes never share a zone. `class_of`
    /// says which of `classes` an object of so many belongs to.
    pub(crate) fn new(
        session: Session,
        objects: usize,
        (classes, class_of): (usize, fn(usize, usize) -> usize),
    ) -> anyhow::Result<Self> {
        let zones: Vec<_> = (0..).map_while(|zone| session.zone(zone)).collect();
        let capacity = zones.first().context("the device has no zones")?.capacity;
        Ok(Self {
            session,
            per_zone: usize::try_from(capacity / u64::from(OBJECT))?,
            written: vec![Vec::new(); zones.len()],
            zones: zones.iter().map(|zone| zone.first_sector).collect(),
            places: vec![u64::MAX; objects],
            open: (0..classes).collect(),
            class_of,
            copies: 0,
        })
    }

    /// How often the log has written an object that nobody asked it to write.
    pub(crate) const fn copies(&self) -> u64 {
        self.copies
    }

    /// The device under it.
    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// Does a request to its end.
    fn does(&mut self, request: Request) -> anyhow::Result<Outcome> {
        self.session.submit(&request.at(self.session.now()))?;
        self.session.advance(Time::MAX, Stop::AtCompletion)?;
        Ok(self.session.poll().context("it is over")?.outcome)
    }

    /// Appends an object to the zone that is being written, or to the next empty one.
    fn append(&mut self, object: usize) -> anyhow::Result<()> {
        let class = (self.class_of)(object, self.places.len());
        if self.written[self.open[class]].len() == self.per_zone {
            let is_free =
                |zone: &usize| self.written[*zone].is_empty() && !self.open.contains(zone);
            let empty = (0..self.zones.len()).find(is_free);
            self.open[class] = empty.context("no zone is empty")?;
        }
        let open = self.open[class];
        let outcome = self.does(Request::append(self.zones[open], OBJECT))?;
        let Outcome::Appended(place) = outcome else { anyhow::bail!("it ends as {outcome:?}") };
        self.places[object] = place;
        self.written[open].push(object);
        Ok(())
    }

    /// Objects of a zone whose newest contents are there.
    fn live(&self, zone: usize) -> Vec<usize> {
        let here = self.zones[zone]..self.zones[zone] + (self.per_zone * OBJECT as usize) as u64;
        let is_live = |object: &usize| here.contains(&self.places[*object]);
        let mut live: Vec<usize> = self.written[zone].iter().copied().filter(is_live).collect();
        live.sort_unstable();
        live.dedup();
        live
    }

    /// Writes an object, and makes room before where few zones are empty.
    pub(crate) fn write(&mut self, object: usize) -> anyhow::Result<()> {
        while self.written.iter().filter(|zone| zone.is_empty()).count() <= KEPT {
            let full = (0..self.zones.len())
                .filter(|zone| !self.open.contains(zone))
                .filter(|&zone| self.written[zone].len() == self.per_zone);
            let victim = full.min_by_key(|&zone| self.live(zone).len());
            let victim = victim.context("no zone is full")?;
            for object in self.live(victim) {
                self.does(Request::new(RequestOp::Read, self.places[object], OBJECT))?;
                self.append(object)?;
                self.copies += 1;
            }
            self.does(Request::zone(ZoneAction::Reset, self.zones[victim]))?;
            self.written[victim].clear();
        }
        self.append(object)
    }
}

/// All objects are alike.
pub(crate) const ONE_CLASS: (usize, fn(usize, usize) -> usize) = (1, |_, _| 0);

/// One of so many objects, all over the log.
pub(crate) fn drawn(number: usize, objects: usize) -> usize {
    let mut bits = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let drawn = (bits ^ (bits >> 27)) % objects as u64;
    usize::try_from(drawn).expect("below their number")
}

/// A drive of 32 zones of 8 MiB, and a log that has 70 % of it, rewritten twice at random.
pub(crate) fn main() -> anyhow::Result<String> {
    let set = ["geometry.pages_per_block=12", "geometry.blocks_per_plane=33", "ftl.zns.max_open=2"];
    let set = set.map(|setting| ("", setting.to_string()));
    let session = Plan::of_device(OwnParts::default(), "zn540-zns", &set)?.session(false)?;
    let mut log = Log::new(session, 0, ONE_CLASS)?;
    let objects = log.zones.len() * log.per_zone * 7 / 10;
    log.places = vec![u64::MAX; objects];
    let rewrites = 2 * objects;
    for number in 0..objects + rewrites {
        let at = if number < objects { number } else { drawn(number, objects) };
        log.write(at)?;
    }
    let written = (objects + rewrites) as f64;
    let amplification = (written + log.copies as f64) / written;
    let seconds = log.session.now().as_ns() as f64 / 1e9;
    let report = log.session.finish()?;
    let drive = report.flash.write_amplification.context("it was written")?;
    Ok(format!(
        "zone log: the log writes {amplification:.2} times, the drive {drive:.2} times of that, \
         {:.0} objects a second",
        written / seconds
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under the checker every object is where the device said, and zones hold what was appended.
    #[test]
    fn zones_hold_what_was_appended() {
        let set = ["geometry.pages_per_block=6", "geometry.blocks_per_plane=11"];
        let set = set.map(|setting| ("", setting.to_string()));
        let plan = Plan::of_device(OwnParts::default(), "zn540-zns", &set).unwrap();
        let mut log = Log::new(plan.session(true).unwrap(), 180, ONE_CLASS).unwrap();
        for number in 0..900 {
            log.write(if number < 180 { number } else { drawn(number, 180) }).unwrap();
        }
        assert!(log.copies > 0);
        let live: usize = (0..log.zones.len()).map(|zone| log.live(zone).len()).sum();
        assert_eq!(live, 180);
        for (zone, written) in (0..).zip(&log.written) {
            let found = log.session.zone(zone).unwrap();
            let sectors = found.write_pointer - found.first_sector;
            assert_eq!(sectors, written.len() as u64 * u64::from(OBJECT));
        }
        let zones = log.session.finish().unwrap().zones.unwrap();
        assert!(zones.errors.is_empty() && zones.appends == 900 + log.copies);
    }
}

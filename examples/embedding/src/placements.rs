//! The same rewrites of objects on one drive in four ways: as a conventional drive, with two
//! placement handles, and with zones under a log and under two logs. A fifth of the objects gets
//! four fifths of the rewrites; what the host knows of that is all that differs.

use crate::zone_log::{Log, OBJECT, ONE_CLASS, drawn};
use anyhow::Context;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};

/// The conventional drive exports 1 / 1.45 of its blocks; the log uses as much of its zones.
const EXPORTS: &str = "ftl.over_provisioning_percent=45";
/// Rewrites of each object, on average; the test sees the difference after fewer.
const REWRITES: usize = if cfg!(test) { 2 } else { 6 };

/// The first fifth of the objects is hot.
fn class(object: usize, objects: usize) -> usize {
    usize::from(object < objects / 5)
}

/// The object that is written: each once, then four times of five a hot one.
fn written(number: usize, objects: usize) -> usize {
    if number < objects {
        return number;
    }
    let hot = objects / 5;
    if drawn(2 * number, 5) > 0 {
        drawn(2 * number + 1, hot)
    } else {
        hot + drawn(2 * number + 1, objects - hot)
    }
}

/// What a way of writing costs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Bytes on flash for a byte of an object.
    amplification: f64,
    /// Objects a second, one at a time.
    rate: f64,
}

fn cost(session: Session, asked: usize, copies: u64) -> anyhow::Result<Cost> {
    let seconds = session.now().as_ns() as f64 / 1e9;
    let drive = session.finish()?.flash.write_amplification.context("it was written")?;
    let log = (asked as f64 + copies as f64) / asked as f64;
    Ok(Cost { amplification: log * drive, rate: asked as f64 / seconds })
}

fn session(device: &str, set: &[&str]) -> anyhow::Result<Session> {
    let small = ["geometry.pages_per_block=24", "geometry.blocks_per_plane=66"];
    let set = small.iter().chain(set).map(|setting| ("", (*setting).to_string()));
    Plan::of_device(OwnParts::default(), device, &set.collect::<Vec<_>>())?.session(false)
}

/// On zones, with a log for each class.
fn on_zones(objects: usize, classes: (usize, fn(usize, usize) -> usize)) -> anyhow::Result<Cost> {
    let mut log = Log::new(session("zn540-zns", &["ftl.zns.max_open=4"])?, objects, classes)?;
    let asked = objects * (1 + REWRITES);
    for number in 0..asked {
        log.write(written(number, objects))?;
    }
    let copies = log.copies();
    cost(log.into_session(), asked, copies)
}

/// In place, on a drive that exports just these objects and collects its own garbage.
fn in_place(objects: usize, set: &[&str]) -> anyhow::Result<Cost> {
    let mut session = session("zn540", &[&[EXPORTS], set].concat())?;
    let asked = objects * (1 + REWRITES);
    for number in 0..asked {
        let object = written(number, objects);
        let first = object as u64 * u64::from(OBJECT);
        let handle = u16::try_from(class(object, objects))?;
        let request = Request::new(RequestOp::Write, first, OBJECT).placed(Some(handle));
        session.submit(&request.at(session.now()))?;
        session.advance(Time::MAX, Stop::AtCompletion)?;
        session.poll().context("it is over")?;
    }
    cost(session, asked, 0)
}

/// The four ways, on as much flash for as many objects.
fn all() -> anyhow::Result<[(&'static str, Cost); 4]> {
    let exported = session("zn540", &[EXPORTS])?.capacity_sectors();
    let objects = usize::try_from(exported / u64::from(OBJECT))?;
    let handles = ["placement.handles=2", "placement.isolation=persistent"];
    Ok([
        ("conventional", in_place(objects, &[])?),
        ("two handles", in_place(objects, &handles)?),
        ("zones, one log", on_zones(objects, ONE_CLASS)?),
        ("zones, two logs", on_zones(objects, (2, class))?),
    ])
}

pub(crate) fn main() -> anyhow::Result<String> {
    let said = all()?.map(|(name, Cost { amplification, rate })| {
        format!("{name}: {amplification:.2} times, {rate:.0} objects a second")
    });
    Ok(format!("placements: {}", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects that die together cost less where they lie together, whoever puts them there.
    #[test]
    fn what_the_host_knows_of_its_objects_pays() {
        let [conventional, handles, log, logs] = all().unwrap().map(|(_, cost)| cost.amplification);
        assert!(handles < 0.95 * conventional, "{handles} {conventional}");
        assert!(logs < 0.95 * log, "{logs} {log}");
        assert!([conventional, handles, log, logs].iter().all(|cost| *cost > 1.0));
    }
}

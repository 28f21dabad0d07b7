//! Read-while-write in order (RIS): pages in the order of arrival, but the next page access may
//! start while the former runs where one is a get from the buffer, the other a put into it, and
//! their banks differ. Nothing else overlaps: a flush belongs to the write that needs its line.
//!
//! Source: the second baseline of the study of read-while-write scheduling (ROS) for a PRAM
//! buffer. What flash may do beside the ports, the study does not say. Three keys say it, which
//! `ros` has too: there they are on by default, here they are off. The default is a reading of the
//! study: with flushes beside puts RIS gains more than the study reports for it.

use super::interface::{HostAnswer, HostPolicy, HostView, UnderWay};
use super::is::{Needs, first_page, is_quiet, line_outside, needs, serve_alone, unit};
use crate::key::Kind;
use crate::request::RequestOp;

crate::keys! {
    /// Keys of `[host.ris]`.
    pub struct RisKeys {
        /// Whether the flush that the oldest write needs may begin beside a put in another bank.
        overlap_flushes: bool = false => {
            kind: Kind::Bool,
            source: "assumed: with it RIS would have more effect than the study of ROS reports",
            flip: "true",
            with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.ports=read_and_write",
                "buffer.banks=4", "buffer.write_ns=100000", "buffer.read_ns=15000",
                "buffer.eviction=full", "buffer.flush_reads=true", "buffer.after_flush=free",
                "host.policy=ris", "interface.fetch_depth=32",
            ],
        },
        /// Whether the oldest request may read flash beside a put.
        overlap_reads: bool = false => {
            kind: Kind::Bool,
            source: "assumed: the study of ROS is silent; nothing of flash overlaps under RIS",
            flip: "true",
            with: &[
                "map.store=resident", "buffer.bytes=262144", "buffer.ports=read_and_write",
                "buffer.banks=4", "buffer.write_ns=100000", "buffer.read_ns=15000",
                "buffer.eviction=full", "buffer.flush_reads=true", "buffer.after_flush=free",
                "host.policy=ris", "interface.fetch_depth=32",
            ],
        },
        /// Whether later requests start while a flush is under way. The oldest write waits for the
        /// flush of its line in any case, so this matters only where others begin flushes, as reads
        /// do with `buffer.read_allocate` "displace".
        overlap_programs: bool = false => {
            kind: Kind::Bool,
            source: "assumed: the study of ROS is silent; nothing of flash overlaps under RIS",
            flip: "true",
            with: &[
                "map.store=resident", "state.initial=full", "geometry.blocks_per_plane=2300",
                "buffer.bytes=262144", "buffer.ports=read_and_write", "buffer.banks=4",
                "buffer.write_ns=100000", "buffer.read_ns=15000", "buffer.eviction=full",
                "buffer.flush_reads=true", "buffer.after_flush=free",
                "buffer.read_allocate=displace", "host.policy=ris", "interface.fetch_depth=32",
            ],
        },
    }
}

impl HostPolicy for RisKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if is_quiet(view) {
            return serve_alone(view);
        }
        let beside = Beside {
            flushes: self.overlap_flushes,
            reads: self.overlap_reads,
            programs: self.overlap_programs,
        };
        serve_beside(view, beside)
    }

    fn by_pages(&self) -> bool {
        true
    }
}

/// What may overlap, besides a get and a put.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The flush that the oldest write needs may begin beside a put.
    pub(super) flushes: bool,
    /// The oldest request may read flash beside a put.
    pub(super) reads: bool,
    /// The order goes on while a flush is under way.
    pub(super) programs: bool,
}

/// The oldest request goes on beside what is under way. A flush that is under way keeps another
/// one back, whatever may overlap.
pub(super) fn serve_beside(view: &(impl HostView + ?Sized), beside: Beside) -> HostAnswer {
    if barrier_may_start(view, beside) {
        return HostAnswer::Start(0);
    }
    if view.flushes() > 0 && !beside.programs {
        return HostAnswer::Wait;
    }
    let Some(page) = first_page(view) else { return HostAnswer::Wait };
    let under_way = view.under_way();
    let start = match needs(view, 0, page) {
        Needs::Get(bank) => may_get(view, bank),
        Needs::Put(bank) => may_put(view, bank),
        Needs::Flash => {
            // Also of units that reads leave in the buffer, which are no accesses.
            let puts = under_way.puts > 0 || view.putting().is_some();
            let others = under_way.gets + under_way.others > 0;
            let may = !others && (beside.reads || !puts);
            may && if view.has_buffer() { may_read(view, page) } else { view.flushes() == 0 }
        }
        Needs::Line if view.flushes() == 0 => return give_way(view, beside),
        Needs::Line | Needs::Time => false,
    };
    if start { HostAnswer::StartPage { place: 0, page } } else { HostAnswer::Wait }
}

/// Whether the oldest request is a flush, or has a preflush, and that waits for nothing: every
/// access before it is over, and what the buffer holds need not be on flash. A flush has nothing of
/// its own to do; a write with a preflush waits for the flush of a line as others do.
fn barrier_may_start(view: &(impl HostView + ?Sized), beside: Beside) -> bool {
    let is_busy = view.under_way() != UnderWay::default();
    if !view.keeps_writes() || view.waiting() == 0 || is_busy {
        return false;
    }
    let request = view.request(0);
    let alone = view.flushes() == 0 || beside.programs;
    request.op == RequestOp::Flush || (request.is_barrier() && alone)
}

/// Whether a get may start beside what is under way. A put that has not reached its port may come
/// to any bank.
fn may_get(view: &(impl HostView + ?Sized), bank: u32) -> bool {
    let under_way = view.under_way();
    let beside = view.putting().map_or(under_way.puts == 0, |put| put.bank != bank);
    beside && view.getting().is_none() && under_way.gets == 0 && under_way.others == 0
}

/// Whether a put may start beside what is under way. A get that holds no port is past its own.
fn may_put(view: &(impl HostView + ?Sized), bank: u32) -> bool {
    let under_way = view.under_way();
    let beside = view.getting().is_none_or(|get| get.bank != bank);
    beside && view.putting().is_none() && under_way.puts == 0 && under_way.others == 0
}

/// Whether flash may be read beside what is under way: what a flush has got, or gets, comes first.
fn may_read(view: &(impl HostView + ?Sized), page: u32) -> bool {
    view.getting().is_none() && view.die_idle(unit(view, 0, page))
}

/// A line gives way to the oldest request: the first one where that is clean and the put may start,
/// or else the first one in another bank than that of a put, which is flushed beside it.
fn give_way(view: &(impl HostView + ?Sized), beside: Beside) -> HostAnswer {
    match line_outside(view, None, |_| true) {
        Some(line) if !line.dirty && may_put(view, line.bank) => HostAnswer::Flush(line.line),
        _ if beside.flushes => flush_beside(view),
        _ => HostAnswer::Wait,
    }
}

/// Flushes a line for the oldest request beside a put, the first one in another bank.
fn flush_beside(view: &(impl HostView + ?Sized)) -> HostAnswer {
    let under_way = view.under_way();
    let put = view.putting();
    if under_way.others > 0 || view.getting().is_some() || (under_way.puts > 0 && put.is_none()) {
        return HostAnswer::Wait;
    }
    let line = line_outside(view, put.map(|put| put.bank), |_| true);
    line.map_or(HostAnswer::Wait, |line| HostAnswer::Flush(line.line))
}

#[cfg(test)]
mod tests {
    use super::super::ros::RosKeys;
    use super::super::tests::fake::Fake;
    use super::super::tests::{assert_figure, random_machines};
    use super::*;

    #[test]
    fn the_published_example_takes_17() {
        let events = [
            ("W1", 0, 3, 0),
            ("W2", 3, 6, 1),
            ("R3", 3, 4, 2),
            ("R4", 6, 7, 1),
            ("R5", 7, 8, 2),
            ("F3", 8, 9, 2),
            ("P3", 9, 14, 2),
            ("W6", 14, 17, 2),
        ];
        assert_figure(&RisKeys::default(), &events, (1, 4));
    }

    /// Requests go in order and take the lines that they take under `is`, so none is later.
    #[test]
    fn random_requests_are_served_no_later_than_one_by_one() {
        for mut machine in random_machines(300) {
            let serial = machine.time_in_order();
            let mut with_flushes = machine.clone();
            machine.run(&RisKeys::default());
            assert!(machine.now <= serial);
            with_flushes.run(&RisKeys { overlap_flushes: true, ..RisKeys::default() });
        }
    }

    /// By hand: W6 needs a line and begins its flush behind W1, in another bank.
    #[test]
    fn flushes_overlap_puts_only_where_it_is_said() {
        let lines = Fake { dies: 1, ..Fake::default() }.line(4, 0, true).line(3, 1, true);
        let machine = lines.line(1, 0, true).write(1, 1).write(6, 1);
        for (overlap_flushes, victim, total) in [(false, "F4", 12), (true, "F3", 9)] {
            let mut machine = machine.clone();
            machine.run(&RisKeys { overlap_flushes, ..RisKeys::default() });
            assert_eq!((machine.now, machine.names()[1]), (total, victim));
        }
    }

    #[test]
    fn nothing_overlaps_an_access_of_flash() {
        let view = Fake::default().line(3, 0, true).elsewhere(9);
        let ris = RisKeys { overlap_flushes: true, ..RisKeys::default() };
        let ros = RosKeys { pairing: true, ..RosKeys::default() };
        for busy in [view.clone().read(3, 1), view.clone().write(3, 1), view.write(6, 1)] {
            assert_eq!(ris.pick(&busy), HostAnswer::Wait);
            assert_eq!(ros.pick(&busy), HostAnswer::Wait);
        }
    }

    /// What is published of the two differs in hoisted reads and early flushes alone. The rest is
    /// three keys: with the same ones both do the same, event by event.
    #[test]
    fn without_hoisting_and_early_flushes_ros_is_ris_with_the_same_keys() {
        for choice in 0..8_u32 {
            let has = |bit: u32| choice >> bit & 1 == 1;
            let (overlap_flushes, overlap_reads, overlap_programs) = (has(0), has(1), has(2));
            let ris = RisKeys { overlap_flushes, overlap_reads, overlap_programs };
            let ros = RosKeys {
                hoist: false,
                early_flush: false,
                overlap_flushes,
                overlap_reads,
                overlap_programs,
                ..RosKeys::default()
            };
            for mut machine in random_machines(100) {
                let mut other = machine.clone();
                machine.run(&ris);
                other.run(&ros);
                assert_eq!(machine.events, other.events);
            }
        }
    }

    /// By hand: W1 is put from 0 to 3. The read of 9 takes flash from 0 to 7 beside it, or from 3.
    #[test]
    fn a_read_of_flash_begins_beside_a_put_only_where_it_is_said() {
        let machine = Fake::default().line(1, 0, true).write(1, 1).read(9, 1);
        for (overlap_reads, total) in [(false, 10), (true, 7)] {
            let mut ris = machine.clone();
            ris.run(&RisKeys { overlap_reads, ..RisKeys::default() });
            let mut ros = machine.clone();
            ros.run(&RosKeys { overlap_reads, ..RosKeys::default() });
            assert_eq!((ris.now, ros.now), (total, total));
        }
    }

    /// By hand: while W1 is put, from 0 to 3, line 3 is got for W6 from 0 to 1 and programmed from
    /// 1 to 6. W4 is put from 3 to 6 beside that, or behind it from 6 to 9; then W6.
    #[test]
    fn the_order_goes_on_beside_an_early_flush_only_where_it_is_said() {
        let lines = Fake { dies: 1, ..Fake::default() }.line(3, 1, true).line(4, 2, true);
        let machine = lines.line(1, 0, true).write(1, 1).write(4, 1).write(6, 1);
        for (overlap_programs, put, total) in [(true, 3, 9), (false, 6, 12)] {
            let mut machine = machine.clone();
            machine.run(&RosKeys { overlap_programs, ..RosKeys::default() });
            let start = |name: &str| machine.events.iter().find(|e| e.0 == name).map(|e| e.1);
            assert_eq!((start("F3"), start("W4")), (Some(0), Some(put)));
            assert_eq!(machine.now, total);
        }
    }

    /// A flush request waits for the program of unit 3. If the buffer keeps its contents without
    /// power, the request waits for accesses alone. The same holds for a write with a preflush, if
    /// other requests may overlap the program.
    #[test]
    fn a_flush_waits_for_programs_only_where_the_buffer_is_volatile() {
        let mut view = Fake::default().line(3, 0, true).line(4, 1, true);
        view.obey(HostAnswer::Flush(0));
        let keeps = |view: Fake| Fake { keeps: true, ..view };
        let starts = |view: &Fake| {
            let picks = [RisKeys::default().pick(view), RosKeys::default().pick(view)];
            picks.map(|pick| pick == HostAnswer::Start(0))
        };
        assert_eq!(starts(&view.clone().flush()), [false, false]);
        assert_eq!(starts(&keeps(view.clone()).flush()), [true, true]);
        assert_eq!(starts(&keeps(view.clone()).elsewhere(9).flush()), [false, false]);
        assert_eq!(starts(&keeps(view.clone()).write(4, 1).preflush()), [false, true]);
        assert_eq!(starts(&view.write(4, 1).preflush()), [false, false]);
    }

    /// While 3 is programmed, a read of 4 waits here, and does not in `ros`.
    #[test]
    fn nothing_overlaps_a_flush() {
        let mut view = Fake::default().line(3, 0, true).line(4, 1, true);
        view.obey(HostAnswer::Flush(0));
        view.now = view.get;
        view.complete();
        let view = view.read(4, 1);
        let overlaps = RisKeys { overlap_flushes: true, ..RisKeys::default() };
        assert_eq!(overlaps.pick(&view), HostAnswer::Wait);
        let start = HostAnswer::StartPage { place: 0, page: 0 };
        assert_eq!(RosKeys::default().pick(&view), start);
    }
}

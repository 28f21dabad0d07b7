//! Read-while-write in order (RIS): pages in the order of arrival, but the next page access may
//! start while the former runs where one is a get from the buffer, the other a put into it, and
//! their banks differ. Nothing else overlaps: a flush belongs to the write that needs its line.
//!
//! Source: the second baseline of the study of read-while-write scheduling (ROS) for a PRAM
//! buffer. Whether the get of a flush may overlap a put, it does not say; with it RIS gains more
//! than the study reports.

use super::is::{Needs, first_page, is_quiet, line_outside, needs, serve_alone, unit};
use super::{HostAnswer, HostPolicy, HostView};
use crate::key::Kind;

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
    }
}

impl HostPolicy for RisKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if is_quiet(view) {
            return serve_alone(view);
        }
        let beside = Beside { flushes: self.overlap_flushes, misses: false };
        if view.flushes() > 0 { HostAnswer::Wait } else { serve_beside(view, beside) }
    }

    fn by_pages(&self) -> bool {
        true
    }
}

/// What may begin beside a put, besides gets.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// The flush that the oldest write needs.
    pub(super) flushes: bool,
    /// A read of the oldest request that the buffer does not serve.
    pub(super) misses: bool,
}

/// The oldest request goes on beside what is under way. Flushes are not looked at, but that one is
/// under way already keeps another one back.
pub(super) fn serve_beside(view: &(impl HostView + ?Sized), beside: Beside) -> HostAnswer {
    let Some(page) = first_page(view) else { return HostAnswer::Wait };
    let under_way = view.under_way();
    let start = match needs(view, 0, page) {
        Needs::Get(bank) => may_get(view, bank),
        Needs::Put(bank) => may_put(view, bank),
        Needs::Flash => {
            let puts = if beside.misses { 0 } else { under_way.puts };
            let all = under_way.gets + puts + under_way.others;
            all == 0 && if view.has_buffer() { may_read(view, page) } else { view.flushes() == 0 }
        }
        Needs::Line if beside.flushes && view.flushes() == 0 => return flush_beside(view),
        Needs::Line | Needs::Time => false,
    };
    if start { HostAnswer::StartPage { place: 0, page } } else { HostAnswer::Wait }
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
            with_flushes.run(&RisKeys { overlap_flushes: true });
        }
    }

    /// By hand: W6 needs a line and begins its flush behind W1, in another bank.
    #[test]
    fn flushes_overlap_puts_only_where_it_is_said() {
        let lines = Fake { dies: 1, ..Fake::default() }.line(4, 0, true).line(3, 1, true);
        let machine = lines.line(1, 0, true).write(1, 1).write(6, 1);
        for (overlap_flushes, victim, total) in [(false, "F4", 12), (true, "F3", 9)] {
            let mut machine = machine.clone();
            machine.run(&RisKeys { overlap_flushes });
            assert_eq!((machine.now, machine.names()[1]), (total, victim));
        }
    }

    #[test]
    fn nothing_overlaps_an_access_of_flash() {
        let view = Fake::default().line(3, 0, true).elsewhere(9);
        let ris = RisKeys { overlap_flushes: true };
        let ros = RosKeys { pairing: true, ..RosKeys::default() };
        for busy in [view.clone().read(3, 1), view.clone().write(3, 1), view.write(6, 1)] {
            assert_eq!(ris.pick(&busy), HostAnswer::Wait);
            assert_eq!(ros.pick(&busy), HostAnswer::Wait);
        }
    }

    /// While 3 is programmed, a read of 4 waits here, and does not in `ros`.
    #[test]
    fn nothing_overlaps_a_flush() {
        let mut view = Fake::default().line(3, 0, true).line(4, 1, true);
        view.obey(HostAnswer::Flush(0));
        view.now = view.get;
        view.complete();
        let view = view.read(4, 1);
        assert_eq!(RisKeys { overlap_flushes: true }.pick(&view), HostAnswer::Wait);
        let start = HostAnswer::StartPage { place: 0, page: 0 };
        assert_eq!(RosKeys::default().pick(&view), start);
    }
}

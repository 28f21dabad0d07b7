//! Read-while-write out of order (ROS): the order of `ris`, but the oldest request may begin the
//! flush that it needs, or a read that the buffer does not serve (its die idle, and no get under
//! way), beside a put; and while a put of the host runs and no get does, gets that end before it
//! hide behind it:
//!
//! 1. hoisted reads: a page that any queued request reads and the buffer holds;
//! 2. else early flushes: where the queued writes need more lines than are free or being flushed,
//!    the line that is first to be flushed, that no queued request asks for and whose die is idle.
//!
//! Neither gets from the bank that is put into. A put is delayed by none of this.
//!
//! Source: the study of read-while-write scheduling (ROS) for a PRAM buffer of a NAND flash device.
//! It leaves open, and these are assumed: which of the reads goes first, that each page hides by
//! itself, that a line in the busy bank or of a busy die is passed over (256 lines are looked at),
//! and what says that lines will be short. That the base order begins flushes and reads of flash
//! beside puts and goes on beside programs is not published either. `overlap_flushes`,
//! `overlap_reads` and `overlap_programs` switch each of the three off; without them, hoisted reads
//! and early flushes the order is that of `ris`.
//!
//! A pick looks at each page of the first `window` requests; lines needed are only counted until
//! they are too many.

use super::interface::{HostAnswer, HostPolicy, HostView, LARGEST_WINDOW, LineView, PortView};
use super::is::{Needs, is_quiet, line_outside, needs, serve_alone, starts_whole, unit};
use super::ris::{Beside, serve_beside};
use crate::key::Kind;
use crate::request::RequestOp;
use crate::units::{Lpn, Span};
use core::cmp::Reverse;

crate::choice! {
    /// Which of the reads that fit behind a put is got first.
    pub enum HoistOrder {
        /// The oldest.
        Oldest = "oldest",
        /// The one that came last.
        Newest = "newest",
    }
}

/// A buffer with two ports before a map in memory.
const WITH: &[&str] = &[
    "map.store=resident",
    "buffer.bytes=262144",
    "buffer.ports=read_and_write",
    "buffer.banks=4",
    "buffer.write_ns=100000",
    "buffer.read_ns=15000",
    "buffer.eviction=full",
    "buffer.flush_reads=true",
    "buffer.after_flush=free",
    "host.policy=ros",
    "interface.fetch_depth=32",
];

crate::keys! {
    /// Keys of `[host.ros]`.
    pub struct RosKeys {
        /// How many of the oldest requests the policy looks at.
        window: u64 = 32 => {
            kind: Kind::count("requests", 1, LARGEST_WINDOW as u64),
            source: "the study of ROS: native command queuing of 32 requests",
            flip: "1",
            with: WITH,
        },
        /// Whether gets of queued reads run beside puts.
        hoist: bool = true => {
            kind: Kind::Bool, source: "the study of ROS", flip: "false", with: WITH,
        },
        /// Whether flushes begin before a write asks for the line.
        early_flush: bool = true => {
            kind: Kind::Bool, source: "the study of ROS", flip: "false", with: WITH,
        },
        /// Which of the reads that fit beside a put is got first.
        hoist_order: HoistOrder = HoistOrder::Oldest => {
            kind: Kind::Choice(HoistOrder::WORDS),
            source: "assumed: the study of ROS can be read either way",
            flip: "newest",
            with: WITH,
        },
        /// Whether the flush that the oldest write needs may begin beside a put in another bank.
        overlap_flushes: bool = true => {
            kind: Kind::Bool,
            source: "assumed: the study of ROS says it of early flushes only",
            flip: "false",
            with: WITH,
        },
        /// Whether the oldest request may read flash beside a put.
        overlap_reads: bool = true => {
            kind: Kind::Bool, source: "assumed: the study of ROS is silent", flip: "false",
            with: WITH,
        },
        /// Whether later requests start while a flush is under way: puts and gets beside the
        /// program of an early flush, and reads of flash on other dies.
        overlap_programs: bool = true => {
            kind: Kind::Bool,
            source: "assumed: the study of ROS is silent; without it an early flush holds others up",
            flip: "false",
            with: WITH,
        },
        /// Whether the oldest queued write that fits starts beside the get of the oldest request.
        pairing: bool = false => {
            kind: Kind::Bool, source: "assumed: the study of ROS is silent", flip: "true",
            with: WITH,
        },
        /// Early flushes keep this many lines free or in flight. 0: as many as queued writes need.
        watermark_lines: u64 = 0 => {
            kind: Kind::count("lines", 0, 1 << 32),
            source: "assumed: the study of ROS flushes before a line is requested",
            flip: "16",
            with: WITH,
        },
    }
}

impl HostPolicy for RosKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if is_quiet(view) {
            return serve_alone(view);
        }
        let beside = Beside {
            flushes: self.overlap_flushes,
            reads: self.overlap_reads,
            programs: self.overlap_programs,
        };
        let answer = serve_beside(view, beside);
        if answer != HostAnswer::Wait || !view.has_buffer() {
            return answer;
        }
        match (view.putting(), view.getting()) {
            (Some(put), None) if put.host && view.get_span() <= put.left => {
                let hoisted = self.hoist.then(|| self.hoisted(view, put)).flatten();
                hoisted.or_else(|| self.early(view, put)).unwrap_or(HostAnswer::Wait)
            }
            (None, Some(get)) if self.pairing && get.host && get.left > Span::ZERO => {
                self.paired(view, get).unwrap_or(HostAnswer::Wait)
            }
            _ => HostAnswer::Wait,
        }
    }

    fn by_pages(&self) -> bool {
        true
    }
}

impl RosKeys {
    /// How many requests are looked at.
    fn window(&self, view: &(impl HostView + ?Sized)) -> usize {
        usize::try_from(self.window).unwrap_or(usize::MAX).min(view.waiting())
    }

    /// A page of a queued read that hides behind the put: of the oldest request that has one, or of
    /// the newest.
    fn hoisted(&self, view: &(impl HostView + ?Sized), put: PortView) -> Option<HostAnswer> {
        let window = self.window(view);
        let hits = (0..).map_while(|nth| view.buffered_read(nth));
        let hits = hits.take_while(|hit| hit.0 < window);
        let mut fit = hits.filter(|&(place, page)| {
            let gets = matches!(needs(view, place, page), Needs::Get(bank) if bank != put.bank);
            gets && !starts_whole(view, place)
        });
        let found = match self.hoist_order {
            HoistOrder::Oldest => fit.next(),
            // The first of its pages.
            HoistOrder::Newest => fit.max_by_key(|&(place, page)| (place, Reverse(page))),
        };
        found.map(|(place, page)| HostAnswer::StartPage { place, page })
    }

    /// A flush whose get hides behind the put, or a clean line that gives way without one.
    fn early(&self, view: &(impl HostView + ?Sized), put: PortView) -> Option<HostAnswer> {
        let coming = u64::from(view.free_lines()) + u64::from(view.flushes());
        let short = match self.watermark_lines {
            0 => self.early_flush && needs_lines(view, self.window(view), coming),
            lines => self.early_flush && coming < lines,
        };
        let fits = |line: &LineView| {
            view.write_die_idle(line.lpn) && !is_asked_for(view, self.window(view), line.lpn)
        };
        let line = if short { line_outside(view, Some(put.bank), fits) } else { None };
        line.map(|line| HostAnswer::Flush(line.line))
    }

    /// The oldest page of a queued write that may be put beside the get.
    fn paired(&self, view: &(impl HostView + ?Sized), get: PortView) -> Option<HostAnswer> {
        let under_way = view.under_way();
        if under_way.puts > 0 || under_way.others > 0 {
            return None;
        }
        (0..self.window(view)).find_map(|place| {
            if view.request(place).op != RequestOp::Write || starts_whole(view, place) {
                return None;
            }
            let page = pages(view, place).find(|&page| match needs(view, place, page) {
                Needs::Put(bank) => bank != get.bank,
                _ => false,
            });
            page.map(|page| HostAnswer::StartPage { place, page })
        })
    }
}

/// The page accesses of a request that have not been started.
fn pages(view: &(impl HostView + ?Sized), place: usize) -> impl Iterator<Item = u32> {
    core::iter::successors(view.next_page(place, 0), move |page| view.next_page(place, page + 1))
}

/// The number of a unit in a request, where its page access has not been started.
fn page_of(view: &(impl HostView + ?Sized), place: usize, lpn: Lpn) -> Option<u32> {
    let page = lpn.get().checked_sub(view.first_page(place).get())?;
    let inside = page < view.pages(place);
    if inside { view.next_page(place, page).filter(|&next| next == page) } else { None }
}

/// Whether one of the first requests accesses a unit.
fn is_asked_for(view: &(impl HostView + ?Sized), window: usize, lpn: Lpn) -> bool {
    (0..window).any(|place| page_of(view, place, lpn).is_some())
}

/// Whether the writes among the first requests need more than so many lines.
fn needs_lines(view: &(impl HostView + ?Sized), window: usize, lines: u64) -> bool {
    let writes = |place: &usize| view.request(*place).op == RequestOp::Write;
    let places = || (0..window).filter(writes);
    let most: u64 = places().map(|place| u64::from(view.pages(place))).sum();
    if most <= lines {
        return false;
    }
    let mut needed = 0;
    for place in places() {
        let earlier = || places().take_while(|&earlier| earlier < place);
        let meets = earlier().any(|it| have_a_unit_in_common(view, it, place));
        for page in pages(view, place) {
            let lpn = unit(view, place, page);
            let counted = || meets && earlier().any(|it| page_of(view, it, lpn).is_some());
            if takes_line(view, lpn) && !counted() {
                needed += 1;
                if needed > lines {
                    return true;
                }
            }
        }
    }
    false
}

/// Whether two requests access a unit in common.
fn have_a_unit_in_common(view: &(impl HostView + ?Sized), one: usize, other: usize) -> bool {
    let [(first, end), (from, to)] = [one, other].map(|place| {
        let first = u64::from(view.first_page(place).get());
        (first, first + u64::from(view.pages(place)))
    });
    first < to && from < end
}

/// Whether a write of a unit takes a line that counts as free. That is so if the unit has no line,
/// or a clean line that is idle and counts as free.
fn takes_line(view: &(impl HostView + ?Sized), lpn: Lpn) -> bool {
    let is_free = |line: LineView| !line.dirty && !line.writing && !line.flushing;
    view.line_of(lpn).is_none_or(|line| !view.keeps_clean() && is_free(line))
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::Fake;
    use super::super::tests::{assert_figure, figure, random_machines};
    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    const ROS: [(&str, u64, u64, u32); 8] = [
        ("W1", 0, 3, 0),
        ("R3", 0, 1, 2),
        ("R4", 1, 2, 1),
        ("R5", 2, 3, 2),
        ("W2", 3, 6, 1),
        ("F3", 3, 4, 2),
        ("P3", 4, 9, 2),
        ("W6", 9, 12, 2),
    ];

    #[test]
    fn the_published_example_takes_12() {
        assert_figure(&RosKeys::default(), &ROS, (4, 4));
    }

    #[test]
    fn hoisting_the_newest_first_takes_12_too() {
        let mut events = ROS;
        (events[1].0, events[3].0) = ("R5", "R3");
        let newest = RosKeys { hoist_order: HoistOrder::Newest, ..RosKeys::default() };
        assert_figure(&newest, &events, (4, 4));
    }

    /// By hand. Without hoisting R3 goes beside W2 from 3 to 4, and only then nobody asks for 3,
    /// so that the early flush takes it: F3 4-5, P3 5-10, W6 10-13; R4 and R5 follow W2. Without
    /// early flushes W6 is the oldest at 3 and begins its own. Without both it is that only at 8.
    #[test]
    fn each_half_of_it_alone() {
        for (hoist, early_flush, total, hidden) in
            [(true, true, 12, 4), (true, false, 12, 4), (false, true, 13, 2), (false, false, 17, 1)]
        {
            let mut machine = figure();
            machine.run(&RosKeys { hoist, early_flush, ..RosKeys::default() });
            assert_eq!((machine.now, machine.hidden()), (total, (hidden, 4)));
        }
    }

    /// By hand: W1 needs no port that the gets of 3, 4 and 5 need.
    #[test]
    fn a_later_write_pairs_with_the_get_of_the_oldest_read() {
        let lines = || Fake::default().line(3, 0, true).line(4, 0, true).line(5, 0, true);
        let mut machine = lines().line(1, 1, true).read(3, 3).write(1, 1);
        let mut paired = machine.clone();
        machine.run(&RosKeys::default());
        assert_eq!((machine.now, machine.hidden()), (5, (1, 3)));
        paired.run(&RosKeys { pairing: true, ..RosKeys::default() });
        assert_eq!((paired.now, paired.hidden()), (3, (3, 3)));
        assert_eq!(paired.names(), ["R3", "W1", "R4", "R5"]);
    }

    /// By hand: 3 is flushed behind W1 because no line is free; while it is programmed, from 1 to
    /// 6, it is read, and a write of it waits; that one hides the next flush.
    #[test]
    fn a_watermark_flushes_without_need_and_a_flushing_line_is_read_but_not_written() {
        let start = Fake::default().line(3, 0, true).line(1, 1, true).write(1, 1);
        let mut machine = start.later(2, RequestOp::Read, 3).later(2, RequestOp::Write, 3);
        let mut by_need = machine.clone();
        machine.run(&RosKeys { watermark_lines: 1, ..RosKeys::default() });
        let expected =
            [("W1", 0), ("F3", 0), ("P3", 1), ("R3", 2), ("W3", 6), ("F1", 6), ("P1", 7)];
        let events: Vec<_> = machine.events.iter().map(|e| (e.0.as_str(), e.1)).collect();
        assert_eq!(events, expected);
        by_need.run(&RosKeys::default());
        assert_eq!(by_need.names(), ["W1", "R3", "W3"]);
    }

    /// 3 is in the bank that is put into, 4 is asked for, the die of 5 is busy: 7 is flushed.
    #[test]
    fn an_early_flush_passes_over_lines_that_do_not_fit() {
        let lines = Fake::default().line(3, 0, true).line(4, 1, true).line(5, 1, true);
        let mut view = lines.line(7, 1, true).line(1, 0, true).line(8, 1, true);
        view = view.busy_dies(&[5]).write(1, 1).write(1, 1).write(6, 1).write(4, 1);
        view.obey(HostAnswer::StartPage { place: 0, page: 0 });
        let ros = RosKeys::default();
        assert_eq!(ros.pick(&view), HostAnswer::Flush(3));
        let slow = Fake { get: 4, ..view.clone() };
        assert_eq!(ros.pick(&slow), HostAnswer::Wait, "it would not be hidden");
        let mut own = view.clone().elsewhere(20);
        assert_eq!(ros.pick(&own), HostAnswer::Flush(3));
        own.works[0].id = None;
        assert_eq!(ros.pick(&own), HostAnswer::Wait, "it is not the host's put");
        let none = RosKeys { early_flush: false, ..ros };
        assert_eq!(none.pick(&view), HostAnswer::Wait);
        view.obey(HostAnswer::Flush(3));
        view.now += 1;
        view.complete();
        assert_eq!(ros.pick(&view), HostAnswer::Wait, "one line is enough for 6");
    }

    /// By hand: beside the put of 1, line 3 is got from 0 to 1 to be flushed.
    #[test]
    fn a_read_from_flash_begins_beside_a_put_but_not_beside_the_get_of_a_flush() {
        let mut view = Fake::default().line(3, 0, true).line(1, 1, true).write(1, 1).read(9, 1);
        let first = HostAnswer::StartPage { place: 0, page: 0 };
        view.obey(first);
        assert_eq!(RosKeys::default().pick(&view), first);
        view.obey(HostAnswer::Flush(0));
        assert_eq!(RosKeys::default().pick(&view), HostAnswer::Wait);
        view.now += 1;
        view.complete();
        assert_eq!(RosKeys::default().pick(&view), first);
        let busy = view.busy_dies(&[9]);
        assert_eq!(RosKeys::default().pick(&busy), HostAnswer::Wait, "nor while its die is busy");
    }

    #[test]
    fn whole_requests_are_neither_hoisted_nor_paired() {
        let all = RosKeys { pairing: true, ..RosKeys::default() };
        let lines = || Fake::default().line(3, 0, true).line(4, 1, true);
        let first = HostAnswer::StartPage { place: 0, page: 0 };
        let mut put = lines().write(3, 1).flush().read(4, 1);
        put.obey(first);
        assert_eq!(all.pick(&put), HostAnswer::StartPage { place: 1, page: 0 });
        assert_eq!(all.pick(&put.preflush()), HostAnswer::Wait);
        let mut get = lines().read(3, 1).flush().write(4, 1);
        get.obey(first);
        assert_eq!(all.pick(&get), HostAnswer::StartPage { place: 1, page: 0 });
        assert_eq!(all.pick(&get.clone().elsewhere(9)), HostAnswer::Wait);
        // A get that is over cannot hide behind a put; else a request might never be alone.
        let over = Fake { now: get.now + get.get, ..get.clone() };
        assert_eq!(all.pick(&over), HostAnswer::Wait);
        assert_eq!(all.pick(&get.preflush()), HostAnswer::Wait);
    }

    /// Behind W1, a get of 3 hides, and the flush of it that W6 needs.
    #[test]
    fn requests_behind_the_window_are_not_looked_at() {
        let lines = Fake::default().line(3, 0, true).line(4, 1, true).line(1, 1, true);
        let put = lines.write(1, 1);
        let with = |window| RosKeys { window, ..RosKeys::default() };
        let picks = |mut view: Fake| {
            view.obey(HostAnswer::StartPage { place: 0, page: 0 });
            (with(1).pick(&view), with(2).pick(&view))
        };
        let hoisted = HostAnswer::StartPage { place: 1, page: 0 };
        assert_eq!(picks(put.clone().flush().read(3, 1)), (HostAnswer::Wait, hoisted));
        let flushed = HostAnswer::Flush(0);
        assert_eq!(picks(put.flush().write(6, 1)), (HostAnswer::Wait, flushed));
    }

    #[test]
    fn only_pages_that_have_not_been_started_are_asked_for() {
        let mut view = Fake::default().line(3, 0, true).read(2, 3);
        view.obey(HostAnswer::StartPage { place: 0, page: 1 });
        let asked = [1, 2, 3, 4, 5].map(|lpn| is_asked_for(&view, 1, Lpn::new(lpn)));
        assert_eq!(asked, [false, true, false, true, false]);
    }

    #[test]
    fn lines_needed_are_the_distinct_units_without_one() {
        for machine in random_machines(200) {
            let mut view = Fake { depth: usize::MAX, now: u64::MAX, ..machine };
            view.let_in();
            let writes = view.waiting.iter().filter(|asked| asked.op == RequestOp::Write);
            let units = writes.flat_map(|asked| (asked.first..).take(asked.started.len()));
            let full = view.lines[0].lpn.is_some();
            let held = if full { view.lines.len() } else { 0 };
            let missing: BTreeSet<_> = units.filter(|&unit| unit as usize >= held).collect();
            let missing = missing.len() as u64;
            let needs = |lines| needs_lines(&view, view.waiting.len(), lines);
            assert!(missing == 0 || needs(missing - 1));
            assert!(!needs(missing));
        }
    }

    #[test]
    fn random_requests_are_served_in_order_under_every_setting() {
        for choice in 0..256_u64 {
            let has = |bit: u64| choice >> bit & 1 == 1;
            let policy = RosKeys {
                hoist: has(0),
                early_flush: has(1),
                hoist_order: if has(2) { HoistOrder::Oldest } else { HoistOrder::Newest },
                pairing: has(3),
                watermark_lines: if has(4) { 2 } else { 0 },
                window: if choice % 3 == 0 { 2 } else { 32 },
                overlap_flushes: has(5),
                overlap_reads: has(6),
                overlap_programs: has(7),
            };
            for mut machine in random_machines(20) {
                machine.run(&policy);
            }
        }
    }
}

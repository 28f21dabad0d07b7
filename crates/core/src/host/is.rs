//! In-order scheduling (IS): one page access at a time in the order of arrival, the flush that it
//! needs included.
//!
//! Source: the baseline of the study of read-while-write scheduling (ROS) for a PRAM buffer.

use super::interface::{HostAnswer, HostPolicy, HostView, LineView, UnderWay};
use crate::request::RequestOp;
use crate::units::Lpn;

crate::keys! {
    /// The policy has no keys.
    pub struct IsKeys {}
}

impl HostPolicy for IsKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if is_quiet(view) { serve_alone(view) } else { HostAnswer::Wait }
    }

    fn by_pages(&self) -> bool {
        true
    }
}

/// Lines that are looked at for one to flush (assumed): bounds the work of a pick.
pub(super) const LOOK: usize = 256;

/// What a page access needs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Its unit is got from a line in this bank.
    Get(u32),
    /// Its unit is put into a line in this bank.
    Put(u32),
    /// A line is flushed for it.
    Line,
    /// The buffer does not serve it.
    Flash,
    /// Something under way has to end.
    Time,
}

/// Whether nothing that a policy starts is under way.
pub(super) fn is_quiet(view: &(impl HostView + ?Sized)) -> bool {
    view.under_way() == UnderWay::default()
        && view.flushes() == 0
        && view.putting().is_none()
        && view.getting().is_none()
}

/// Whether a request starts as a whole, when it is the oldest and nothing is under way.
pub(super) fn starts_whole(view: &(impl HostView + ?Sized), place: usize) -> bool {
    view.request(place).starts_whole()
}

/// The next page access of the oldest request, where it does not start as a whole.
pub(super) fn first_page(view: &(impl HostView + ?Sized)) -> Option<u32> {
    if view.waiting() == 0 || starts_whole(view, 0) { None } else { view.next_page(0, 0) }
}

/// The unit of a page access.
pub(super) fn unit(view: &(impl HostView + ?Sized), place: usize, page: u32) -> Lpn {
    Lpn::new(view.first_page(place).get() + page)
}

/// What a page access needs first.
pub(super) fn needs(view: &(impl HostView + ?Sized), place: usize, page: u32) -> Needs {
    if view.page_conflicts(place, page) {
        return Needs::Time;
    }
    if !view.has_buffer() {
        return Needs::Flash;
    }
    let writes = view.request(place).op == RequestOp::Write;
    match view.line_of(unit(view, place, page)) {
        Some(line) if line.writing || (writes && (line.busy || line.flushing)) => Needs::Time,
        Some(line) if writes => Needs::Put(line.bank),
        // A part of the unit may not do.
        Some(_) if !view.is_page_buffered(place, page) => Needs::Flash,
        Some(line) => Needs::Get(line.bank),
        None if writes => view.room().map_or(Needs::Line, Needs::Put),
        None => Needs::Flash,
    }
}

/// The oldest request goes on while nothing else is under way.
pub(super) fn serve_alone(view: &(impl HostView + ?Sized)) -> HostAnswer {
    if view.waiting() == 0 {
        return HostAnswer::Wait;
    }
    let Some(page) = first_page(view) else { return HostAnswer::Start(0) };
    let line = match needs(view, 0, page) {
        Needs::Line => line_outside(view, None, |_| true),
        _ => None,
    };
    line.map_or(HostAnswer::StartPage { place: 0, page }, |line| HostAnswer::Flush(line.line))
}

/// The first line to flush, or to free, that is not in a busy bank and is fit otherwise.
pub(super) fn line_outside(
    view: &(impl HostView + ?Sized),
    bank: Option<u32>,
    fits: impl Fn(&LineView) -> bool,
) -> Option<LineView> {
    let lines = core::iter::successors(view.oldest_line(), |line| view.next_line(line.line));
    let flushable = |line: &LineView| !line.busy && !line.flushing;
    lines.take(LOOK).find(|line| flushable(line) && bank != Some(line.bank) && fits(line))
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::Fake;
    use super::super::tests::{assert_figure, random_machines};
    use super::*;

    #[test]
    fn the_published_example_takes_18() {
        let events = [
            ("W1", 0, 3, 0),
            ("W2", 3, 6, 1),
            ("R3", 6, 7, 2),
            ("R4", 7, 8, 1),
            ("R5", 8, 9, 2),
            ("F3", 9, 10, 2),
            ("P3", 10, 15, 2),
            ("W6", 15, 18, 2),
        ];
        assert_figure(&IsKeys {}, &events, (0, 4));
    }

    #[test]
    fn random_requests_take_the_sum_of_their_times() {
        for mut machine in random_machines(300) {
            let expected = machine.time_in_order();
            machine.run(&IsKeys {});
            assert_eq!(machine.now, expected);
        }
    }

    #[test]
    fn without_a_buffer_pages_go_one_by_one() {
        let mut machine = Fake::default().write(7, 2).read(8, 1).flush();
        machine.run(&IsKeys {});
        let names = machine.names();
        assert_eq!(names, ["w7", "w8", "r8", "flush"]);
        assert_eq!(machine.now, 3 * machine.nand);
    }

    #[test]
    fn a_read_of_what_a_line_lacks_needs_flash() {
        let lines = || Fake::default().line(3, 2, true);
        let parts = |view: Fake| Fake { parts: std::vec![3], ..view };
        assert_eq!(needs(&lines().read(3, 1), 0, 0), Needs::Get(2));
        assert_eq!(needs(&parts(lines().read(3, 1)), 0, 0), Needs::Flash);
        assert_eq!(needs(&parts(lines().write(3, 1)), 0, 0), Needs::Put(2));
    }

    #[test]
    fn a_request_with_a_preflush_starts_whole_when_nothing_is_under_way() {
        let view = Fake::default().write(3, 2).preflush().line(3, 0, true);
        assert_eq!(IsKeys {}.pick(&view), HostAnswer::Start(0));
        assert_eq!(IsKeys {}.pick(&view.elsewhere(9)), HostAnswer::Wait);
    }
}

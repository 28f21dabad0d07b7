//! What a host policy sees, and what it answers.

use crate::request::Request;
use crate::units::{Lpn, Span, Time};

/// A unit in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineView {
    /// The number of the line.
    pub line: u32,
    /// The unit that it holds.
    pub lpn: Lpn,
    /// The bank that it is in.
    pub bank: u32,
    /// Whether flash lacks its contents and nobody programs them.
    pub dirty: bool,
    /// Whether a port puts it or gets it.
    pub busy: bool,
    /// Whether a port puts it.
    pub writing: bool,
    /// Whether a flush of its contents is under way.
    pub flushing: bool,
}

/// What a port of the buffer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortView {
    /// The line.
    pub line: u32,
    /// The bank of the line.
    pub bank: u32,
    /// Time until it is over.
    pub left: Span,
    /// Whether a request asked for it, not a flush.
    pub host: bool,
}

/// Page accesses that have been started and are not over, by where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// Got from the buffer.
    pub gets: u32,
    /// Put into the buffer.
    pub puts: u32,
    /// Anywhere else: on flash, or waiting for a line.
    pub others: u32,
}

/// The most requests of the queue that a policy looks at for one out of order.
pub const LARGEST_WINDOW: usize = 256;

/// What a host policy may look at. A look costs no time and moves nothing.
pub trait HostView {
    /// The present.
    fn now(&self) -> Time;
    /// How many requests wait, the oldest at place 0. One of which only some pages have been
    /// started waits on.
    fn waiting(&self) -> usize;
    /// The request at a place.
    fn request(&self, place: usize) -> Request;
    /// When it came into the queue.
    fn entered(&self, place: usize) -> Time;
    /// The slot of the queue that it is in; the lowest free one is taken.
    fn slot(&self, place: usize) -> u32;
    /// The first page that it accesses.
    fn first_page(&self, place: usize) -> Lpn;
    /// How many pages it accesses; none for a flush.
    fn pages(&self, place: usize) -> u32;
    /// The first page access of the request, from number `from` on, that has not been started.
    fn next_page(&self, place: usize, from: u32) -> Option<u32>;
    /// Whether the request overlaps an earlier one that waits, or one that has been started and is
    /// not answered, where one of the two is not a read.
    fn conflicts(&self, place: usize) -> bool;
    /// Whether an earlier access of the same page, by another request, waits or is under way, where
    /// one of the two is not a read.
    fn page_conflicts(&self, place: usize, page: u32) -> bool;
    /// Page accesses under way.
    fn under_way(&self) -> UnderWay;
    /// Whether no page access is under way, and no die works or has a command that waits for it.
    fn rests(&self) -> bool;
    /// Whether every die that the request needs is idle: those of pages that the buffer does not
    /// serve.
    fn dies_idle(&self, place: usize) -> bool;
    /// Whether the dies of all its pages are idle, whatever the buffer holds.
    fn all_dies_idle(&self, place: usize) -> bool;
    /// Whether the die is idle that a unit is read from.
    fn die_idle(&self, lpn: Lpn) -> bool;
    /// Whether a die is idle that a unit may be written to.
    fn write_die_idle(&self, lpn: Lpn) -> bool;
    /// Whether there is a buffer.
    fn has_buffer(&self) -> bool;
    /// Whether there is one that outlives a loss of power: a flush or a preflush then waits for
    /// puts alone, not for flash.
    fn keeps_writes(&self) -> bool;
    /// Whether the buffer holds every page of a request: of a read, all that it reads of them.
    fn is_buffered(&self, place: usize) -> bool;
    /// Whether the buffer holds a page of a request: of a read, all that it reads of it.
    fn is_page_buffered(&self, place: usize, page: u32) -> bool;
    /// The line of a unit.
    fn line_of(&self, lpn: Lpn) -> Option<LineView>;
    /// The bank of the line that the next new unit takes; none where every line is needed.
    fn room(&self) -> Option<u32>;
    /// Lines that new units can take before a flush: they hold nothing that flash lacks.
    fn free_lines(&self) -> u32;
    /// Lines that the end of a program frees: being flushed, and not written again meanwhile.
    fn flushes(&self) -> u32;
    /// Whether a clean line keeps its unit until [`HostAnswer::Flush`] frees it in its turn.
    /// Otherwise it counts as free, and a new unit may take its place.
    fn keeps_clean(&self) -> bool;
    /// The dirty line that is flushed first by the rule of the buffer, or a clean one before it if
    /// those keep their units; none while as many program units are under way as may be.
    fn oldest_line(&self) -> Option<LineView>;
    /// The line after another one.
    fn next_line(&self, line: u32) -> Option<LineView>;
    /// The place of the request and the number of the page access: of the page accesses of waiting
    /// reads that have not been started and whose unit has a line, the one after `nth` others, in
    /// the order of the queue and of pages. Shown to policies by pages, of the first
    /// [`LARGEST_WINDOW`] requests.
    fn buffered_read(&self, nth: usize) -> Option<(usize, u32)>;
    /// What is being put, and for how long still.
    fn putting(&self) -> Option<PortView>;
    /// What is being got, and for how long still.
    fn getting(&self) -> Option<PortView>;
    /// How long a unit takes that is got.
    fn get_span(&self) -> Span;
}

/// What the device shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// Start the request at this place, with all its pages.
    Start(usize),
    /// Start one page access of the request at this place.
    StartPage {
        /// The place of the request.
        place: usize,
        /// The number of the page access in it.
        page: u32,
    },
    /// Begin to flush this dirty line, unless as many program units are under way as may be. A
    /// clean line that keeps its unit and rests is free at once.
    Flush(u32),
    /// Nothing until something changes.
    Wait,
}

/// Picks requests.
///
/// `pick` MUST NOT answer [`HostAnswer::Wait`] for ever while requests wait and every die is idle.
/// An answer that cannot be, such as a page that has been started or a line that cannot be flushed,
/// ends the run with a panic that names it.
pub trait HostPolicy {
    /// Called when the device can start something, until the answer is [`HostAnswer::Wait`].
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer;
    /// Whether the policy starts single pages and flushes lines itself; the buffer then flushes by
    /// itself only what a request asks for.
    fn by_pages(&self) -> bool {
        false
    }
    /// Whether it always answers the oldest request.
    fn in_order(&self) -> bool {
        false
    }
}

//! A line of the write buffer.

use super::link::Link;
use crate::handle::{LineId, RequestId};
use crate::saved::{Reader, RestoreError, Saved, Writer};
use flashyard_core::units::Lpn;

/// Whether what a line holds was read ahead of a run of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    No,
    /// No request has read it so far.
    Unread,
    Read,
}

/// A unit in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The unit.
    pub lpn: Lpn,
    /// The place of its contents in the order of changes.
    pub version: u64,
    /// Who wrote them: the handle of the request, and its order of arrival.
    pub writer: Option<(RequestId, u64)>,
    /// The stream of that request.
    pub stream: u8,
    /// The sectors that it holds.
    pub from: u16,
    /// One past the last of them.
    pub until: u16,
    /// Programs of its contents under way.
    pub(super) flushes: u32,
    pub(super) dirty: bool,
    /// Whether it was used since the clock hand last passed it.
    pub(super) used: bool,
    /// Whether it holds what was read from flash, not what was written.
    pub(super) of_flash: bool,
    /// Of one that holds what was read from flash: whether that was read ahead.
    pub(super) ahead: Ahead,
    /// The bank of the physical line, whatever it holds.
    pub(super) bank: u32,
    /// Whether it only waits for its programs to end.
    pub(super) dropped: bool,
    /// Of one whose unit is being read ahead, the set that does it.
    pub(super) group: u32,
    /// When it became dirty or clean or, where that counts, was used last: later ones have more.
    pub(super) since: u64,
    pub(super) links: [Link; 2],
    pub(super) next_of_bucket: Option<LineId>,
}

impl Line {
    /// A line of no unit.
    pub(crate) const VACANT: Self = Self {
        lpn: Lpn::new(0),
        version: 0,
        writer: None,
        stream: 0,
        from: 0,
        until: 0,
        flushes: 0,
        dirty: false,
        used: false,
        of_flash: false,
        ahead: Ahead::No,
        bank: 0,
        dropped: false,
        group: 0,
        since: 0,
        links: [Link::NONE; 2],
        next_of_bucket: None,
    };

    /// Whether flash lacks its contents and nobody programs them.
    pub const fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Whether programs of its contents are under way.
    pub const fn is_flushing(&self) -> bool {
        self.flushes > 0
    }

    pub(super) const fn is_freeing(&self) -> bool {
        self.flushes == 1 && !self.dirty
    }

    /// Whether it holds what a read has found on flash.
    pub const fn is_of_flash(&self) -> bool {
        self.of_flash
    }

    /// The same contents, which flash lacks.
    pub(crate) const fn dirtied(&self) -> Self {
        Self { dirty: true, flushes: 0, dropped: false, ..*self }
    }

    /// The bank that it is in.
    pub const fn bank(&self) -> u32 {
        self.bank
    }

    /// The group of lines that it is programmed with.
    pub const fn group(&self) -> u32 {
        self.group
    }
}

impl Saved for Line {
    fn save(&self, to: &mut Writer<'_>) {
        self.lpn.get().save(to);
        self.version.save(to);
        [u32::from(self.from), u32::from(self.until)].save(to);
        let ahead = if self.of_flash { self.ahead } else { Ahead::No };
        let (ahead, read) = (ahead != Ahead::No, ahead == Ahead::Read);
        let marks = [self.dirty, self.used, self.of_flash, ahead, read];
        let marks = (0..).zip(marks).map(|(bit, mark)| u8::from(mark) << bit).sum::<u8>();
        [self.stream, marks].save(to);
        self.bank.save(to);
        self.since.save(to);
    }
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let (mut lpn, mut range, mut marks) = (0u32, [0u32; 2], [0u8; 2]);
        lpn.load(from)?;
        self.version.load(from)?;
        range.load(from)?;
        marks.load(from)?;
        let narrow = |sector: u32| u16::try_from(sector).map_err(|_| RestoreError::Corrupt);
        self.lpn = Lpn::new(lpn);
        (self.from, self.until) = (narrow(range[0])?, narrow(range[1])?);
        let has = |bit: u8| marks[1] & (1 << bit) != 0;
        (self.stream, self.dirty) = (marks[0], has(0));
        (self.used, self.of_flash) = (has(1), has(2));
        self.ahead = match (has(3), has(4)) {
            (false, _) => Ahead::No,
            (true, false) => Ahead::Unread,
            (true, true) => Ahead::Read,
        };
        self.bank.load(from)?;
        self.since.load(from)
    }
}

//! Units that are read ahead of runs of reads: their lines, from when a set begins to read them.

use super::line::Ahead;
use super::{Buffer, Line};
use crate::handle::{LineId, SetId};
use flashyard_core::units::Lpn;
use std::ops::Range;

impl Line {
    /// Whether it holds what was read ahead, or is about to.
    pub(crate) fn was_read_ahead(&self) -> bool {
        self.of_flash && self.ahead != Ahead::No
    }

    /// The set that reads its unit ahead, until it has come.
    pub(crate) fn coming(&self) -> Option<SetId> {
        (self.of_flash && self.from == self.until).then(|| SetId::new(self.group))
    }
}

/// What the buffer does for reading ahead.
impl Buffer {
    /// A read of these sectors is started on a device that reads ahead. Returns whether more is to
    /// be read ahead than before.
    pub(crate) fn follow(&mut self, sectors: &Range<u64>) -> bool {
        self.runs.as_mut().is_some_and(|runs| runs.follow(sectors))
    }

    /// A phase begins: no run is followed.
    pub(super) fn forget_runs(&mut self) {
        if let Some(runs) = &mut self.runs {
            runs.forget();
        }
    }

    /// The next unit that shall be read ahead and that the buffer does not hold. None either where
    /// no line is free or clean, or writes wait for lines: what was wanted is then not read.
    pub(crate) fn next_ahead(&mut self) -> Option<Lpn> {
        let room = self.waiting.is_empty() && self.has_room();
        let runs = self.runs.as_mut()?;
        if !room {
            runs.wanted.clear();
        }
        while let Some(wanted) = runs.wanted.front_mut() {
            let Some(unit) = wanted.next() else {
                runs.wanted.pop_front();
                continue;
            };
            let lpn = Lpn::from_index(usize::try_from(unit).expect("units have 32 bits"));
            if self.lines.find(lpn).is_none() {
                return Some(lpn);
            }
        }
        None
    }

    /// The set with this number begins to read a unit ahead, which gets a line. Returns the unit
    /// that made way.
    pub(crate) fn begin_ahead(&mut self, lpn: Lpn, set: SetId, number: u64) -> Option<Lpn> {
        self.changes();
        let (line, evicted) = self.lines.insert(lpn);
        let state = &mut self.lines[line];
        (state.of_flash, state.ahead) = (true, Ahead::Unread);
        (state.group, state.version) = (set.get(), number);
        evicted
    }

    /// A set with this number has read a unit ahead: its line has it, if it waits for this one.
    pub(crate) fn end_ahead(&mut self, lpn: Lpn, set: SetId, number: u64) -> Option<LineId> {
        self.changes();
        let line = self.lines.find(lpn)?;
        let state = &self.lines[line];
        if state.coming() != Some(set) || state.version != number {
            return None;
        }
        self.fill(line);
        self.lines[line].version = 0;
        self.lines.add_clean(line);
        Some(line)
    }

    /// A read gets a unit that was read ahead, or is being. Returns whether it is the first one.
    pub(crate) fn use_ahead(&mut self, line: LineId) -> bool {
        std::mem::replace(&mut self.lines[line].ahead, Ahead::Read) == Ahead::Unread
    }
}

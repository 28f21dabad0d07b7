//! How the lines are saved and restored.

use super::link::ALL;
use super::{Line, Lines};
use crate::handle::LineId;

impl Lines {
    /// Lines from one on, as they are in their list.
    pub(super) fn numbers_from(&self, first: Option<LineId>) -> impl Iterator<Item = LineId> {
        std::iter::successors(first, |line| self.slab[line.index()].links[ALL].next)
    }

    /// Dirty lines, then clean ones, by number, each as they are in their list.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = LineId> {
        self.numbers_from(self.dirty.first).chain(self.numbers_from(self.clean.first))
    }

    /// Lines that hold nothing but once did, with their banks, the next to be taken first.
    pub(crate) fn free_list(&self) -> Vec<u32> {
        let free = self.numbers_from(self.free.first);
        free.flat_map(|line| [line.get(), self.slab[line.index()].bank]).collect()
    }

    /// Lays an empty buffer out as the saved one was: so many physical lines, of which these hold
    /// nothing. Returns whether that makes sense.
    pub(crate) fn lay_out(&mut self, count: u32, free: &[u32]) -> bool {
        self.slab.resize(count as usize, Line::VACANT);
        for pair in free.chunks(2) {
            let &[line, bank] = pair else { return false };
            let Some(state) = self.slab.get_mut(line as usize) else { return false };
            state.bank = bank;
            self.release(LineId::new(line));
        }
        true
    }

    /// Adds a line that was saved, behind those before; as the physical line `at` if that is known.
    pub(crate) fn restore(&mut self, line: &Line, group: u32, at: Option<LineId>) {
        let new = match at {
            None => self.insert(line.lpn).0,
            Some(at) => {
                let bucket = self.bucket_of(line.lpn);
                let next_of_bucket = self.buckets[bucket].replace(at);
                let state = Line { lpn: line.lpn, bank: line.bank, next_of_bucket, ..Line::VACANT };
                self.slab[at.index()] = state;
                at
            }
        };
        let state = &mut self.slab[new.index()];
        (state.version, state.stream) = (line.version, line.stream);
        (state.from, state.until) = (line.from, line.until);
        if line.dirty {
            self.mark_dirty(new, group);
        } else {
            self.push(new, ALL);
        }
        let state = &mut self.slab[new.index()];
        (state.used, state.of_flash, state.ahead) = (line.used, line.of_flash, line.ahead);
        state.since = line.since;
        self.moments = self.moments.max(line.since);
    }
}

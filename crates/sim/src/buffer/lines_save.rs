//! How the lines are saved and restored.

use super::order::{ALL, List, some};
use super::{Line, Lines};

impl Lines {
    /// Dirty lines, then clean ones, by number, each as they are in their list.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let of = |list: &List| {
            let next = |line: &u32| some(self.slab[*line as usize].links[ALL].next);
            std::iter::successors(some(list.first), next)
        };
        of(&self.dirty).chain(of(&self.clean))
    }

    /// Lines that hold nothing but once did, with their banks, the next to be taken first.
    pub(crate) fn free_list(&self) -> Vec<u32> {
        let next = |line: &u32| some(self.slab[*line as usize].links[ALL].next);
        let free = std::iter::successors(some(self.free.first), next);
        free.flat_map(|line| [line, self.slab[line as usize].bank]).collect()
    }

    /// Lays an empty buffer out as the saved one was: so many physical lines, of which these hold
    /// nothing. Returns whether that makes sense.
    pub(crate) fn lay_out(&mut self, count: u32, free: &[u32]) -> bool {
        self.slab.resize(count as usize, Line::VACANT);
        for pair in free.chunks(2) {
            let &[line, bank] = pair else { return false };
            let Some(state) = self.slab.get_mut(line as usize) else { return false };
            state.bank = bank;
            self.release(line);
        }
        true
    }

    /// Adds a line that was saved, behind those before; as the physical line `at` if that is known.
    pub(crate) fn restore(&mut self, line: &Line, group: u32, at: Option<u32>) {
        let new = match at {
            None => self.insert(line.lpn).0,
            Some(at) => {
                let bucket = self.bucket_of(line.lpn);
                let next_of_bucket = std::mem::replace(&mut self.buckets[bucket], at + 1);
                let state = Line { lpn: line.lpn, bank: line.bank, next_of_bucket, ..Line::VACANT };
                self.slab[at as usize] = state;
                at
            }
        };
        let state = &mut self.slab[new as usize];
        (state.version, state.stream) = (line.version, line.stream);
        (state.from, state.until) = (line.from, line.until);
        if line.dirty {
            self.mark_dirty(new, group);
        } else {
            self.push(new, ALL);
        }
        let state = &mut self.slab[new as usize];
        (state.used, state.of_flash) = (line.used, line.of_flash);
        state.since = line.since;
        self.moments = self.moments.max(line.since);
    }
}

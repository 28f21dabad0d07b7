//! How the buffer is saved and restored.

use super::{Buffer, Line};
use crate::handle::LineId;
use crate::saved::{Reader, RestoreError, Saved, Writer};

/// What is saved of a buffer before its lines.
#[derive(Debug)]
pub(crate) struct Saving {
    /// Dirty lines, which come first, and clean ones.
    pub(crate) dirty: u64,
    pub(crate) clean: u64,
    draining: u64,
    turn: u64,
    units: u64,
    banks: u64,
    /// Physical lines that held something, and those of them that hold nothing, with their banks.
    pub(crate) touched: u32,
    free: Vec<u32>,
}

impl Saving {
    /// Reads it.
    pub(crate) fn load(from: &mut Reader<'_>) -> Result<Self, RestoreError> {
        let (mut counts, mut physical) = ([0u64; 6], [0u32; 2]);
        counts.load(from)?;
        physical.load(from)?;
        let [touched, free_count] = physical;
        if free_count > touched {
            return Err(RestoreError::Corrupt);
        }
        let mut free = vec![0u32; 2 * free_count as usize];
        free.iter_mut().try_for_each(|number| number.load(from))?;
        let [dirty, clean, draining, turn, units, banks] = counts;
        Ok(Self { dirty, clean, draining, turn, units, banks, touched, free })
    }
}

impl Buffer {
    /// Saves dirty and clean lines, each the least recently used one first. A device without a
    /// buffer holds none.
    pub(crate) fn save(buffer: Option<&Self>, to: &mut Writer<'_>) {
        let Some(Self { lines, rule, .. }) = buffer else {
            [0u64; 6].save(to);
            return [0u32; 2].save(to);
        };
        let counts = [lines.dirty_lines().count(), lines.clean_lines().count()];
        [counts[0] as u64, counts[1] as u64].save(to);
        [u64::from(rule.is_draining()), u64::from(lines.turn)].save(to);
        [u64::from(lines.units()), u64::from(lines.banks())].save(to);
        let free = lines.free_list();
        [lines.touched(), u32::try_from(free.len() / 2).expect("a part of the lines")].save(to);
        for number in free {
            number.save(to);
        }
        for number in lines.numbers() {
            number.get().save(to);
            lines[number].save(to);
        }
    }

    /// Lays an empty buffer out as the saved one was, if that has the same size and as many banks.
    /// Returns whether it has: each unit then gets its old line.
    pub(crate) fn lay_out(&mut self, saved: &Saving) -> Result<bool, RestoreError> {
        let (units, banks) = (u64::from(self.lines.units()), u64::from(self.lines.banks()));
        let same = saved.units == units && saved.banks == banks;
        let fits = u64::from(saved.touched) <= units;
        if same && !(fits && self.lines.lay_out(saved.touched, &saved.free)) {
            return Err(RestoreError::Corrupt);
        }
        self.changes();
        self.rule.set_draining(saved.draining == 1);
        self.lines.turn = u32::try_from(saved.turn).map_err(|_| RestoreError::Corrupt)?;
        Ok(same)
    }

    /// Adds a line that was saved, behind those before; as the physical line `at` if that is known.
    pub(crate) fn restore(&mut self, line: &Line, group: u32, at: Option<LineId>) {
        self.changes();
        self.lines.restore(line, group, at);
    }
}

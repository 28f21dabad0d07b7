//! What the write buffer holds before a run: as the keys ask, as it is given, or as it was saved.

use super::Translation;
use crate::buffer::{Line, Lines, Saving};
use crate::config::{InitialBuffer, InitialState, PartialWrite};
use crate::handle::LineId;
use crate::initial::device::share;
use crate::initial::random::Random;
use crate::saved::{Reader, RestoreError, Saved};
use flashyard_core::units::Lpn;

/// Lines that hold nothing.
fn untouched(lines: &Lines) -> u32 {
    let clean = lines.clean_lines().count();
    lines.free_lines() - u32::try_from(clean).expect("a part of the lines")
}

impl Translation<'_> {
    /// Adds a unit as a write would, that came before all others and that nobody is charged for.
    fn add_dirty(&mut self, lpn: Lpn) {
        let (sectors, group) = (self.buffer().unit_range(), self.group_of(lpn, 0));
        let number = self.sets.take_number();
        if self.settings.keys.ftl.partial_write == PartialWrite::Bitmap {
            self.ftl.cover(lpn, u64::from(sectors.start)..u64::from(sectors.end));
        }
        self.buffer_mut().add_dirty(lpn, number, group);
    }

    /// Fills the buffer of a new device as its keys ask.
    pub(crate) fn fill_buffer(&mut self) {
        if self.buffer.is_none() {
            return;
        }
        let steady = self.settings.keys.state.initial == InitialState::Steady;
        match self.settings.keys.buffer.initial {
            InitialBuffer::Auto if steady => self.fill_at_random(),
            InitialBuffer::Auto | InitialBuffer::Empty => {}
            InitialBuffer::Dirty => {
                let exported = self.settings.exported_units;
                for lpn in exported - self.settings.buffer_units..exported {
                    self.add_dirty(Lpn::new(lpn));
                }
            }
        }
    }

    /// Makes different units dirty at random, at most half of those that have been written: all
    /// lines, as a load without idle time does, or until flushing is about to begin.
    fn fill_at_random(&mut self) {
        let state = self.settings.keys.state;
        let written = share(self.settings.exported_units, state.fill_percent);
        let lines = self.settings.buffer_units;
        let high = self.settings.keys.buffer.high_percent;
        let count = if state.rested { share(lines, high) } else { lines };
        let mut random = Random::new(state.seed, 4);
        let mut left = count.min(written / 2);
        while left > 0 {
            let lpn = Lpn::new(random.below(written));
            if self.buffer().lines().find(lpn).is_none() {
                self.add_dirty(lpn);
                left -= 1;
            }
        }
    }

    /// Fills the buffer with units: the bank of the line of each if it is not that of its number,
    /// and whether it is dirty; the least recently used one first. A clean unit holds what flash
    /// has.
    pub(crate) fn preload_buffer(
        &mut self,
        units: &[(u64, Option<u32>, bool)],
    ) -> Result<(), String> {
        let wrong = |why: String| Err(why);
        let Some(buffer) = &self.buffer else {
            return wrong("initial units, but no write buffer; set buffer.bytes".to_string());
        };
        let (room, banks) = (untouched(buffer.lines()), buffer.lines().banks());
        if units.len() > room as usize {
            let count = units.len();
            let fix = if self.settings.keys.buffer.initial == InitialBuffer::Dirty {
                "set buffer.initial = \"empty\""
            } else {
                "raise buffer.bytes or give fewer"
            };
            return wrong(format!(
                "{count} initial units are more than the {room} free lines; {fix}"
            ));
        }
        let exported = u64::from(self.settings.exported_units);
        for &(number, bank, dirty) in units {
            let Some(lpn) = u32::try_from(number).ok().filter(|_| number < exported) else {
                let last = exported - 1;
                return wrong(format!("initial unit {number}: the last one is {last}"));
            };
            if let Some(bank) = bank.filter(|bank| *bank >= banks) {
                return wrong(format!(
                    "initial unit {number}: bank {bank} of {banks} (buffer.banks), counted from 0"
                ));
            }
            let lpn = Lpn::new(lpn);
            if self.buffer().lines().find(lpn).is_some() {
                return wrong(format!("initial unit {number} is in the write buffer already"));
            }
            if dirty {
                self.add_dirty(lpn);
            } else {
                self.buffer_mut().add_clean(lpn);
            }
            if let Some(bank) = bank {
                self.buffer_mut().move_to_bank(lpn, bank);
            }
        }
        self.account.adopt_buffer(self.buffer.iter().flat_map(|buffer| buffer.contents()));
        Ok(())
    }

    /// Takes over a buffer that was saved. It may have another size, if all dirty lines fit; of the
    /// clean ones those that go last stay. With the same size and as many banks each unit gets its
    /// old line.
    pub(crate) fn load_buffer(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let saved = Saving::load(from)?;
        let (dirty, clean, touched) = (saved.dirty, saved.clean, saved.touched);
        let units = u64::from(self.settings.buffer_units);
        let same = match &mut self.buffer {
            Some(buffer) => buffer.lay_out(&saved)?,
            None => false,
        };
        if dirty > units {
            return Err(RestoreError::Settings {
                saved: format!("{dirty} dirty units in its write buffer"),
                wanted: format!("a write buffer of {units} (buffer.bytes)"),
            });
        }
        let dropped = clean.saturating_sub(units - dirty);
        for at in 0..dirty.saturating_add(clean) {
            let (mut number, mut line) = (0u32, Line::VACANT);
            number.load(from)?;
            line.load(from)?;
            if line.is_dirty() != (at < dirty)
                || line.lpn.get() >= self.settings.exported_units
                || number >= touched
            {
                return Err(RestoreError::Corrupt);
            }
            let kept = at < dirty || at >= dirty + dropped;
            if kept && self.buffer.is_some() {
                self.restore_line(&line, same.then(|| LineId::new(number)));
            }
        }
        Ok(())
    }

    /// Lines that a capacitor has saved are dirty again.
    pub(crate) fn restore_lines(&mut self, lines: &[Line]) {
        for line in lines {
            self.restore_line(&line.dirtied(), None);
        }
    }

    fn restore_line(&mut self, line: &Line, at: Option<LineId>) {
        let group = self.group_of(line.lpn, line.stream);
        self.buffer_mut().restore(line, group, at);
    }
}

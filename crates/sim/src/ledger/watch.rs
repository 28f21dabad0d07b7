//! Those who begin to watch a device that holds something already.

use super::Teller;
use crate::check::Checker;
use crate::config::InitialState;
use crate::observe::{Observer, PhaseBegan, UnitBuffered};

impl Teller<'_> {
    /// Tells an observer what it follows of what the device holds.
    pub(crate) fn tell_contents(&self, observer: &mut dyn Observer) {
        if observer.follows_units() {
            self.tell_units(observer);
        }
        if observer.follows_contents() {
            self.tell_dirty_lines(observer);
        }
    }

    /// Tells an observer of the units that are in the write buffer and not on flash.
    fn tell_dirty_lines(&self, observer: &mut dyn Observer) {
        let lines = self.buffer.iter().flat_map(|buffer| buffer.contents());
        for (lpn, version, _, _) in lines.filter(|(_, _, dirty, _)| *dirty) {
            let version = version.expect("a dirty line holds a change");
            let (at, lpn) = (self.ledger.now, lpn.get());
            observer.unit_buffered(&UnitBuffered { at, lpn, version, request: None });
        }
    }

    /// A phase begins, which is measured or not. Where the device can be cut, what it holds is
    /// known from now on.
    #[cold]
    pub(crate) fn phase_began(&mut self, measured: bool) {
        if !self.ledger.account.follows_contents() {
            return;
        }
        if let Some(mut durable) = self.ledger.account.take_new_durable() {
            self.tell_units(durable.as_mut());
            self.tell_dirty_lines(durable.as_mut());
            self.ledger.account.follow_durable(durable);
        }
        self.ledger.account.tell(&PhaseBegan { at: self.ledger.now, measured });
    }

    /// A checker checks every event from now on.
    pub(crate) fn check(&mut self) {
        let mut checker = Checker::new(self.settings);
        let (ftl, blocks) = (self.ftl, self.ftl.blocks());
        let fresh = self.settings.keys.state.initial == InitialState::Fresh;
        if self.ledger.account.is_restored() || !fresh {
            checker.adopt(|lpn| ftl.locate(lpn), |block| ftl.written_units(block));
            checker.adopt_sectors(|lpn, sector| ftl.is_covered(lpn, sector));
            checker.adopt_cells(|block| blocks.is_slc(block));
            if let Some(pages) = ftl.marked_pages() {
                checker.adopt_pages(pages);
            }
        }
        checker.adopt_buffer(self.buffer.iter().flat_map(|buffer| buffer.contents()));
        checker.adopt_bad_blocks(|block| blocks.is_bad(block));
        self.ledger.account.check_with(checker);
    }
}

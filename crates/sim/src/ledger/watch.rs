//! Those who begin to watch a device that holds something already, and what checker and report see
//! of it when the run is over.

use super::Teller;
use super::time::ftl_figures;
use crate::account::EndState;
use crate::buffer::Buffer;
use crate::check::Checker;
use crate::config::InitialState;
use crate::initial;
use crate::observe::{Observer, PhaseBegan, UnitBuffered};
use crate::parts::memory::Footprint;
use crate::report::{BusReport, Wear};

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

    /// The checker, if there is one, looks at all that the device holds.
    pub(crate) fn end_check(&mut self) {
        let Some(checker) = self.ledger.account.take_checker() else { return };
        let map = self.ftl.map();
        map.audit();
        checker.finish(|lpn| map.lookup(lpn), |units| map.are_unmapped(units));
        if let Some(is_dirty) = self.ftl.dirty_entries() {
            checker.finish_map(is_dirty);
        }
    }

    /// What the report has of other rooms.
    pub(crate) fn end_state(&self) -> EndState {
        let (settings, ftl) = (self.settings, self.ftl);
        let lines = self.buffer.map(Buffer::lines);
        let bus_report =
            |[status_requests, busy_answers]: [u64; 2]| BusReport { status_requests, busy_answers };
        EndState {
            ftl: ftl_figures(ftl),
            wear: Wear::of_device(ftl.blocks(), settings),
            footprint: Footprint::of(settings),
            cleaned: ftl.batch_cleaned(),
            buffer_units: lines.map_or(0, |lines| lines.units().into()),
            dirty_units: lines.map_or(0, |lines| lines.dirty().into()),
            effective_over_provisioning: ftl
                .is_page_map()
                .then(|| initial::effective_over_provisioning(settings)),
            bus: self.ledger.flash.status_requests().map(bus_report),
            slc: settings.slc.map(|_| ftl.blocks().cached_data()),
            energy: None,
            zones: ftl
                .seen_zones()
                .map(|zones| zones.zones_report(settings.geometry.unit_bytes().into())),
        }
    }
}

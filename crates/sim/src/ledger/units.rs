//! What observers are told that follow physical units: what each holds at first, and every change.

use super::Teller;
use crate::ftl::page_map::Owner;
use crate::ftl::{Copied, Erased};
use crate::handle::SetId;
use crate::observe::{
    BlockErased, Contents, Observer, UnitAtStart, UnitBuffered, UnitChange, UnitProgrammed,
    UnitTrimmed,
};
use flashyard_core::units::{BlockId, Ppn};

impl Teller<'_> {
    /// Tells an observer of all units that are not erased, in ascending order.
    pub(super) fn tell_units(&self, observer: &mut dyn Observer) {
        let geometry = self.ledger.sets.geometry();
        let (map, blocks) = (self.ftl.map(), self.ftl.blocks());
        // A layer, or the host, fills blocks in any order; a page map in ascending order.
        let marked = self.ftl.marked_pages();
        let is_marked = |ppn: Ppn| {
            let word = marked.map_or(0, |marked| marked[ppn.index() / 64]);
            word & (1 << (ppn.index() % 64)) != 0
        };
        for block in (0..geometry.blocks()).map(BlockId::new) {
            let (bad, written) = (blocks.is_bad(block), self.ftl.written_units(block));
            for unit in 0..geometry.units_per_block() {
                let ppn = geometry.unit_of(block, unit);
                let used = if marked.is_some() { is_marked(ppn) } else { unit < written };
                if used || bad {
                    let contents = map.owner(ppn).map(contents);
                    observer.unit_at_start(&UnitAtStart { ppn: ppn.get(), bad, contents });
                }
            }
        }
    }

    /// The data of a write are on flash, and are about to be committed.
    #[cold]
    pub(crate) fn tell_written(&mut self, set: SetId) {
        if !self.ledger.account.follows_units() {
            return;
        }
        let state = &self.ledger.sets[set];
        let current = !state.is_superseded();
        let old = if current { self.ftl.locate(state.lpn()) } else { None };
        let (ppn, lpn) = (state.ppn().expect("a program has a page"), state.lpn());
        let version = Some(self.ledger.sets.number(set));
        self.tell_unit(set, ppn, (Contents::Data(lpn.get()), version), (current, old, None));
    }

    /// They have been committed as the change `number`.
    #[cold]
    pub(crate) fn programmed(&mut self, set: SetId, number: u64) {
        let (state, order) = (&self.ledger.sets[set], self.ledger.sets.order_of(set));
        let ppn = state.ppn().expect("a program has a page");
        self.ledger.account.programmed(order, ppn, state.lpn(), number);
    }

    /// A map page is on flash, and is about to be committed.
    #[cold]
    pub(crate) fn map_page_written(&mut self, set: SetId) {
        if self.ledger.account.follows_units() {
            let state = &self.ledger.sets[set];
            let (page, ppn) = (state.map_page(), state.ppn().expect("has a page"));
            let old = self.ftl.locate_map(page);
            self.tell_unit(set, ppn, (Contents::Map(page.get()), None), (true, old, None));
        }
        self.ledger.account.map_page_written(set);
    }

    /// A unit has been copied.
    #[cold]
    pub(super) fn tell_copied(&mut self, set: SetId, copy: &Copied) {
        self.ledger.account.copied(copy.from, copy.to, copy.lpn);
        if !self.ledger.account.follows_units() {
            return;
        }
        let of_map = || Contents::Map(self.ledger.sets[set].map_page().get());
        let contents = copy.lpn.map_or_else(of_map, |lpn| Contents::Data(lpn.get()));
        let old = copy.current.then_some(copy.from);
        self.tell_unit(set, copy.to, (contents, None), (copy.current, old, Some(copy.from)));
    }

    /// A unit has been programmed, with these contents of that version; the last argument is
    /// whether it counts, which unit is stale from now on, and the source of a copy.
    fn tell_unit(
        &mut self,
        set: SetId,
        ppn: Ppn,
        (contents, version): (Contents, Option<u64>),
        (current, old, from): (bool, Option<Ppn>, Option<Ppn>),
    ) {
        let state = &self.ledger.sets[set];
        let event = UnitProgrammed {
            at: self.ledger.now,
            ppn: ppn.get(),
            contents,
            version,
            current,
            old: old.filter(|old| *old != ppn).map(Ppn::get),
            from: from.map(Ppn::get),
            purpose: state.purpose(),
            set: set.get(),
            request: self.ledger.sets.order_of(set),
        };
        self.ledger.account.tell(&event);
    }

    /// A request is about to change a unit.
    #[cold]
    pub(crate) fn tell_change(&mut self, set: SetId) {
        let state = &self.ledger.sets[set];
        if !(self.ledger.account.follows_contents() && state.changes()) {
            return;
        }
        let Some(request) = self.ledger.sets.order_of(set) else { return };
        let event = UnitChange {
            at: self.ledger.now,
            lpn: state.lpn().get(),
            version: self.ledger.sets.number(set),
            request,
            trims: state.trims(),
        };
        self.ledger.account.tell(&event);
    }

    /// A set has put a unit into the write buffer, or got one out of it.
    #[cold]
    pub(crate) fn access_over(&mut self, set: SetId) {
        let (state, version) = (&self.ledger.sets[set], self.ledger.sets.number(set));
        let (account, lpn) = (&mut *self.ledger.account, state.lpn());
        if state.writes() {
            account.put_over(lpn, version);
            // Where a trim has come before, it has put nothing.
            if account.follows_contents() && !state.is_superseded() {
                let (at, request) = (self.ledger.now, self.ledger.sets.order_of(set));
                account.tell(&UnitBuffered { at, lpn: lpn.get(), version, request });
            }
        } else if let Some(read) = state.origin() {
            account.read_over(read.order, read.page, None);
        }
    }

    /// A logical unit is about to be forgotten, unless a later change of it has been committed.
    #[cold]
    pub(crate) fn trimmed(&mut self, set: SetId) {
        let (sets, account) = (&*self.ledger.sets, &mut *self.ledger.account);
        let (lpn, order) = (sets[set].lpn(), sets.order_of(set).expect("the host's"));
        account.trimmed(order, lpn, sets.number(set));
        if account.follows_units() && !sets[set].is_superseded() {
            let (at, ppn) = (self.ledger.now, self.ftl.locate(lpn).map(Ppn::get));
            account.tell(&UnitTrimmed { at, lpn: lpn.get(), ppn, request: Some(order) });
        }
    }

    /// A block has been erased.
    #[cold]
    pub(super) fn tell_erased(&mut self, set: SetId, erased: Erased) {
        let state = &self.ledger.sets[set];
        let event = BlockErased {
            at: self.ledger.now,
            block: erased.block.get(),
            worn_out: erased.worn_out,
            purpose: state.purpose(),
            set: set.get(),
            request: self.ledger.sets.order_of(set),
        };
        self.ledger.account.tell(&event);
    }
}

/// What the map says that a unit holds.
const fn contents(owner: Owner) -> Contents {
    match owner {
        Owner::Data(lpn) => Contents::Data(lpn.get()),
        Owner::Map(page) => Contents::Map(page.get()),
    }
}

//! Operations that keep the rules of NAND, in the order in which they are drawn.
//!
//! Each die has one open block, which programs fill page by page. When it is full, the next program
//! opens one of the erased blocks, any with equal chance. A read names any page that has been
//! programmed and not erased since, an erase any full block. Where a die cannot do the drawn kind,
//! it does another one: a program in place of a read of an empty die and of an erase without a full
//! block, and an erase in place of a program without an erased block.

use super::place::{Draws, below};
use flashyard_core::request::RequestOp;

/// The blocks of a die, by their state.
#[derive(Clone, Debug, Default)]
struct Die {
    erased: Vec<u32>,
    /// Blocks whose every page has been programmed here.
    full: Vec<u32>,
    /// Blocks of which nothing is known: they are erased before use, and never read.
    unknown: Vec<u32>,
    /// The block that programs fill, and how many of its pages they have.
    open: Option<(u32, u32)>,
}

/// The state of all blocks, and what could not be done.
#[derive(Clone, Debug)]
pub(super) struct Append {
    dies: Vec<Die>,
    pages: u32,
    /// Operations that were replaced, by the kind that was drawn.
    reads: u64,
    programs: u64,
    erases: u64,
}

impl Append {
    /// So many dies with so many blocks of `pages` pages.
    pub(super) fn new(dies: u32, blocks: u32, pages: u32, erased: bool) -> Self {
        let all: Vec<u32> = (0..blocks).collect();
        let die = if erased {
            Die { erased: all, ..Die::default() }
        } else {
            Die { unknown: all, ..Die::default() }
        };
        Self { dies: vec![die; dies as usize], pages, reads: 0, programs: 0, erases: 0 }
    }

    /// The operation that a die does where `op` was drawn: its kind, block and page.
    pub(super) fn next(
        &mut self,
        op: RequestOp,
        die: u32,
        draws: &mut Draws,
    ) -> (RequestOp, u32, u32) {
        let state = &mut self.dies[die as usize];
        let programmed = state.programmed(self.pages);
        let erasable = state.full.len() + state.unknown.len();
        let programmable = state.open.is_some() || !state.erased.is_empty();
        let op = match op {
            RequestOp::Read if programmed == 0 => {
                self.reads += 1;
                RequestOp::Write
            }
            RequestOp::Trim if erasable == 0 => {
                self.erases += 1;
                RequestOp::Write
            }
            op => op,
        };
        match op {
            RequestOp::Read => {
                let (block, page) = state.nth(draws.pages.below(programmed), self.pages);
                (op, block, page)
            }
            RequestOp::Write if programmable => {
                let (block, page) = state.append(self.pages, draws);
                (op, block, page)
            }
            RequestOp::Write | RequestOp::Trim | RequestOp::Flush => {
                self.programs += u64::from(op == RequestOp::Write);
                (RequestOp::Trim, state.erase(draws), 0)
            }
        }
    }

    /// What was done in place of what had been drawn, a sentence for each kind.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |count: u64, one: &str, many: &str, why: &str| {
            let what = if count == 1 { one } else { many };
            (count > 0).then(|| format!("{count} {what} {why}"))
        };
        let notes = [
            note(self.reads, "read became a program:", "reads became programs:", NOTHING_TO_READ),
            note(self.programs, "program became an erase:", "programs became erases:", NO_ROOM),
            note(self.erases, "erase became a program:", "erases became programs:", NONE_FULL),
        ];
        notes.into_iter().flatten().collect()
    }
}

const NOTHING_TO_READ: &str = "nothing was programmed on the die";
const NO_ROOM: &str = "no block of the die was erased";
const NONE_FULL: &str = "no block of the die was full";

impl Die {
    /// Pages that have been programmed.
    fn programmed(&self, pages: u32) -> u64 {
        let open = self.open.map_or(0, |(_, used)| used);
        self.full.len() as u64 * u64::from(pages) + u64::from(open)
    }

    /// The place of a programmed page, by its number.
    fn nth(&self, number: u64, pages: u32) -> (u32, u32) {
        let split = |number: u64| usize::try_from(number).expect("pages of a die");
        let (at, page) = (number / u64::from(pages), number % u64::from(pages));
        let open = || self.open.expect("it has the other pages").0;
        let block = self.full.get(split(at)).copied().unwrap_or_else(open);
        (block, u32::try_from(page).expect("a page of a block"))
    }

    /// The next page of the open block, which an erased one becomes where there is none.
    fn append(&mut self, pages: u32, draws: &mut Draws) -> (u32, u32) {
        let (block, page) = self.open.unwrap_or_else(|| {
            let at = draws.blocks.below(self.erased.len() as u64);
            (self.erased.swap_remove(usize::try_from(at).expect("an index")), 0)
        });
        self.open = (page + 1 < pages).then_some((block, page + 1));
        if self.open.is_none() {
            self.full.push(block);
        }
        (block, page)
    }

    /// Takes a full block, or one of which nothing is known, which is then erased.
    fn erase(&mut self, draws: &mut Draws) -> u32 {
        let all = self.full.len() + self.unknown.len();
        let bound = u32::try_from(all).expect("blocks fit 32 bits");
        let at = below(&mut draws.blocks, bound) as usize;
        let block = match at.checked_sub(self.full.len()) {
            None => self.full.swap_remove(at),
            Some(at) => self.unknown.swap_remove(at),
        };
        self.erased.push(block);
        block
    }
}

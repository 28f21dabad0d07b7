//! What every log-block scheme shares: the map of blocks, the newest copy of each page, free
//! blocks, merges.
//!
//! A page is valid if the map of newest copies points at it, so log pages and data pages need no
//! maps of their own. Every step is O(1) but merges and erases, which are O(pages of a block) like
//! the work on flash that they stand for. Where pages of a block must be programmed upwards, a page
//! that lies below the last programmed one of its data block goes to a log block, and a log block
//! is completed by copies only behind its last page.
//!
//! Where a program holds several pages, the host's pages go to the same one as long as their writes
//! join. What it then lacks stays empty, so what comes later goes to a log block too, and a log
//! block is completed only where its programs lack nothing.

use super::interface::NONE;
use crate::parts::layer::{MergeCounts, PageWrite, Plan, ProgramOrder, Shape, Step};
use crate::saved::{Reader, RestoreError, Saved, Writer, saved};
use std::collections::VecDeque;

/// The owner of a page that was being programmed when the power failed: it is programmed, and
/// cannot be read.
pub(super) const TORN: u32 = u32::MAX - 1;

/// Shared state of the log-block schemes.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) pages_per_block: u32,
    program_pages: u32,
    logical_blocks: u32,
    /// Whether pages of a block are programmed upwards.
    upwards: bool,
    /// Logical block to its data block.
    pub(super) data: Vec<u32>,
    /// Logical page to its newest copy.
    pub(super) newest: Vec<u32>,
    /// Physical page to the logical page programmed there, [`NONE`] while it is erased, [`TORN`] if
    /// it cannot be read.
    pub(super) owner: Vec<u32>,
    /// Programmed pages of each block, the place behind its last one, its valid pages.
    pub(super) used: Vec<u32>,
    pub(super) end: Vec<u32>,
    pub(super) valid: Vec<u32>,
    /// Blocks to take, the one erased first at the front. Those that a loss of power has left with
    /// pages, none of which is valid, are erased when they are taken.
    pub(super) free: VecDeque<u32>,
    /// Blocks that a loss of power has left with valid pages, and that are neither data blocks nor
    /// log blocks: what is in them is merged before the next write is planned.
    pub(super) strays: VecDeque<u32>,
    pub(super) groups: Option<Groups>,
    pub(super) counts: MergeCounts,
    /// The page behind the last one of the host, while the next one may be programmed with that;
    /// else [`NONE`].
    pub(super) open: u32,
}

/// How many distinct logical blocks have valid pages in a tracked block, kept in O(1) a page: the
/// first page of each logical block in it, the leader, counts the valid ones.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) leader: Vec<u32>,
    pub(super) members: Vec<u32>,
    pub(super) distinct: Vec<u32>,
}

saved!(Groups { leader, members, distinct });

impl Saved for Engine {
    fn save(&self, to: &mut Writer<'_>) {
        let Self { data, newest, owner, used, end, valid, .. } = self;
        for table in [data, newest, owner, used, end, valid] {
            table.save(to);
        }
        self.free.save(to);
        self.strays.save(to);
        if let Some(groups) = &self.groups {
            groups.save(to);
        }
        self.counts.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let Self { data, newest, owner, used, end, valid, .. } = self;
        for table in [data, newest, owner, used, end, valid] {
            table.load(from)?;
        }
        self.free.load(from)?;
        self.strays.load(from)?;
        if let Some(groups) = &mut self.groups {
            groups.load(from)?;
        }
        self.counts.load(from)
    }
}

impl Engine {
    /// Nothing is written; free blocks are in ascending order.
    pub(super) fn new(shape: &Shape) -> Self {
        let blocks = shape.blocks as usize;
        let logical_blocks = shape.logical_blocks();
        assert!(shape.blocks > logical_blocks, "no spare block");
        let pages = blocks * shape.pages_per_block as usize;
        Self {
            pages_per_block: shape.pages_per_block,
            program_pages: shape.program_pages,
            logical_blocks,
            upwards: shape.order != ProgramOrder::Any,
            data: vec![NONE; logical_blocks as usize],
            newest: vec![NONE; (logical_blocks * shape.pages_per_block) as usize],
            owner: vec![NONE; pages],
            used: vec![0; blocks],
            end: vec![0; blocks],
            valid: vec![0; blocks],
            free: (0..shape.blocks).collect(),
            strays: VecDeque::new(),
            groups: None,
            counts: MergeCounts::default(),
            open: NONE,
        }
    }

    /// Keeps [`Self::distinct`] of blocks that are filled by [`Self::append_tracked`].
    pub(super) fn track(mut self) -> Self {
        let (pages, blocks) = (self.owner.len(), self.used.len());
        let (leader, members) = (vec![NONE; pages], vec![0; pages]);
        self.groups = Some(Groups { leader, members, distinct: vec![0; blocks] });
        self
    }

    /// The pages below `pages` have been written in order to the blocks from 0 on.
    pub(super) fn fill(&mut self, pages: u32) {
        assert_eq!(self.free.len(), self.used.len(), "a layer is filled before it is used");
        for lpn in 0..pages {
            let (lbn, offset) = self.split(lpn);
            if offset == 0 {
                self.data[lbn as usize] = self.next_free();
            }
            let ppn = self.page(self.data[lbn as usize], offset);
            self.put(lpn, ppn);
        }
    }

    pub(super) const fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Logical and physical blocks.
    pub(super) fn blocks(&self) -> (u32, u32) {
        (self.logical_blocks, u32::try_from(self.used.len()).expect("blocks have 32 bits"))
    }

    /// The newest copy of a page.
    pub(super) fn place(&self, lpn: u32) -> Option<u32> {
        let ppn = self.newest[lpn as usize];
        (ppn != NONE).then_some(ppn)
    }

    /// Whether the newest copy of a page lies outside its data block.
    pub(super) fn in_log(&self, lpn: u32) -> bool {
        let ppn = self.newest[lpn as usize];
        ppn != NONE && self.block_of(ppn) != self.data[self.block_of(lpn) as usize]
    }

    /// The block of a page, logical or physical.
    pub(super) const fn block_of(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    /// The page at an offset of a block, logical or physical.
    pub(super) const fn page(&self, block: u32, offset: u32) -> u32 {
        block * self.pages_per_block + offset
    }

    /// Block and offset of a logical page.
    pub(super) const fn split(&self, lpn: u32) -> (u32, u32) {
        (lpn / self.pages_per_block, lpn % self.pages_per_block)
    }

    /// Valid pages of a block.
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.valid[block as usize]
    }

    /// Whether a block that is filled page by page has no room left.
    pub(super) fn is_full(&self, block: u32) -> bool {
        self.next_offset(block) == self.pages_per_block
    }

    /// The offset of the next page that the host may program in a block that is filled page by
    /// page: of the program that is being filled, or of the next one.
    fn next_offset(&self, block: u32) -> u32 {
        let end = self.end[block as usize];
        let goes_on = self.program_pages == 1 || self.page(block, end) == self.open;
        if goes_on { end } else { end.next_multiple_of(self.program_pages) }
    }

    /// Whether the host may program a page: nothing of its program has been, but for what is
    /// programmed with it.
    pub(super) fn is_free(&self, ppn: u32) -> bool {
        if self.owner[ppn as usize] != NONE {
            return false;
        }
        let program = ppn / self.program_pages;
        let joins = self.open != NONE && self.open / self.program_pages == program;
        joins || !self.is_begun(program)
    }

    /// Whether any page of a program has been programmed.
    fn is_begun(&self, program: u32) -> bool {
        let first = (program * self.program_pages) as usize;
        self.owner[first..first + self.program_pages as usize].iter().any(|owner| *owner != NONE)
    }

    /// Distinct logical blocks with valid pages in a block filled by [`Self::append_tracked`].
    pub(super) fn distinct(&self, block: u32) -> u32 {
        self.groups.as_ref().map_or(0, |groups| groups.distinct[block as usize])
    }

    /// Takes the block that has been free longest, and erases it if a loss of power has left pages
    /// in it.
    pub(super) fn take_free(&mut self, plan: &mut Plan) -> u32 {
        let block = self.next_free();
        if self.used[block as usize] > 0 {
            self.clear(block);
            self.step(Step::Erase { block }, plan);
        }
        block
    }

    fn next_free(&mut self) -> u32 {
        self.free.pop_front().expect("a scheme with log blocks keeps a spare block")
    }

    /// The newest copy of `lpn` is at `ppn`, which was free.
    fn put(&mut self, lpn: u32, ppn: u32) {
        self.forget(lpn);
        let (block, offset) = self.split(ppn);
        self.take_page(lpn, ppn, block, offset);
    }

    fn take_page(&mut self, lpn: u32, ppn: u32, block: u32, offset: u32) {
        assert!(self.owner[ppn as usize] == NONE, "page {ppn} is programmed twice");
        self.owner[ppn as usize] = lpn;
        self.newest[lpn as usize] = ppn;
        self.used[block as usize] += 1;
        self.valid[block as usize] += 1;
        let end = &mut self.end[block as usize];
        *end = (*end).max(offset + 1);
    }

    /// Adds work of the layer, behind which no page of the host joins those before it.
    fn step(&mut self, step: Step, plan: &mut Plan) {
        self.open = NONE;
        plan.steps.push(step);
    }

    /// The host's page goes to a free page.
    pub(super) fn program(&mut self, lpn: u32, ppn: u32, plan: &mut Plan) {
        self.put(lpn, ppn);
        self.open = if (ppn + 1).is_multiple_of(self.program_pages) { NONE } else { ppn + 1 };
        plan.steps.push(Step::Host { to: ppn });
    }

    /// The host's page goes to the next page of a log block.
    pub(super) fn append(&mut self, lpn: u32, block: u32, plan: &mut Plan) -> u32 {
        let ppn = self.page(block, self.next_offset(block));
        self.program(lpn, ppn, plan);
        ppn
    }

    /// As [`Self::append`], and keeps [`Self::distinct`]. `leaders` holds the last leader of each
    /// logical block; an entry counts only if its page lies in this block and holds that block.
    pub(super) fn append_tracked(
        &mut self,
        lpn: u32,
        block: u32,
        leaders: &mut [u32],
        plan: &mut Plan,
    ) {
        let ppn = self.append(lpn, block, plan);
        self.join_group(lpn, ppn, leaders);
    }

    /// The page at `ppn` counts for its logical block.
    pub(super) fn join_group(&mut self, lpn: u32, ppn: u32, leaders: &mut [u32]) {
        let (lbn, block) = (self.block_of(lpn), self.block_of(ppn));
        let known = leaders[lbn as usize];
        let reuse = known != NONE
            && self.block_of(known) == block
            && self.owner[known as usize] != NONE
            && self.block_of(self.owner[known as usize]) == lbn;
        let leader = if reuse { known } else { ppn };
        leaders[lbn as usize] = leader;
        let groups = self.groups.as_mut().expect("groups are tracked");
        groups.leader[ppn as usize] = leader;
        let members = &mut groups.members[leader as usize];
        groups.distinct[block as usize] += u32::from(*members == 0);
        *members += 1;
    }

    /// The newest copy of a page is no longer valid; the page then has none.
    pub(super) fn forget(&mut self, lpn: u32) {
        let ppn = self.newest[lpn as usize];
        if ppn != NONE {
            self.newest[lpn as usize] = NONE;
            self.invalidate(ppn, self.block_of(ppn));
        }
    }

    fn invalidate(&mut self, ppn: u32, block: u32) {
        self.valid[block as usize] -= 1;
        let Some(groups) = &mut self.groups else { return };
        let leader = groups.leader[ppn as usize];
        if leader != NONE {
            let members = &mut groups.members[leader as usize];
            *members -= 1;
            groups.distinct[block as usize] -= u32::from(*members == 0);
        }
    }

    /// Erases a block without valid pages and puts it at the end of the free list.
    pub(super) fn erase(&mut self, block: u32, plan: &mut Plan) {
        self.clear(block);
        self.free.push_back(block);
        self.step(Step::Erase { block }, plan);
    }

    /// Nothing is programmed in a block without valid pages any more.
    fn clear(&mut self, block: u32) {
        assert_eq!(self.valid(block), 0, "block {block} still holds valid pages");
        let first = self.page(block, 0) as usize;
        let pages = first..first + self.pages_per_block as usize;
        self.owner[pages.clone()].fill(NONE);
        if let Some(groups) = &mut self.groups {
            groups.leader[pages].fill(NONE);
        }
        self.used[block as usize] = 0;
        self.end[block as usize] = 0;
    }

    /// The host's page goes to its place in its data block if that may be programmed. What recovery
    /// has left over is merged first.
    pub(super) fn write_in_place(&mut self, write: PageWrite, plan: &mut Plan) -> bool {
        let lpn = write.lpn;
        if !write.joins {
            self.open = NONE;
        }
        self.merge_strays(plan);
        let (lbn, offset) = self.split(lpn);
        if self.data[lbn as usize] == NONE {
            self.data[lbn as usize] = self.take_free(plan);
        }
        let block = self.data[lbn as usize];
        let ppn = self.page(block, offset);
        let free = self.is_free(ppn) && !(self.upwards && offset < self.end[block as usize]);
        if free {
            self.program(lpn, ppn, plan);
        }
        free
    }

    /// Copies the newest copy of a page, if there is one elsewhere, to the same offset of `block`.
    pub(super) fn copy(&mut self, lbn: u32, offset: u32, block: u32, plan: &mut Plan) -> bool {
        let lpn = self.page(lbn, offset);
        let from = self.newest[lpn as usize];
        if from == NONE {
            return false;
        }
        let old = self.block_of(from);
        if old == block {
            return false;
        }
        let to = self.page(block, offset);
        self.invalidate(from, old);
        self.take_page(lpn, to, block, offset);
        self.step(Step::Copy { lpn, from, to }, plan);
        true
    }

    /// Copies the newest copies of some offsets; returns how many there were.
    pub(super) fn copy_all(
        &mut self,
        lbn: u32,
        offsets: std::ops::Range<u32>,
        block: u32,
        plan: &mut Plan,
    ) -> u32 {
        offsets.map(|offset| u32::from(self.copy(lbn, offset, block, plan))).sum()
    }

    /// Makes `block` the data block of `lbn` and erases the old one.
    pub(super) fn replace_data(&mut self, lbn: u32, block: u32, plan: &mut Plan) {
        let old = std::mem::replace(&mut self.data[lbn as usize], block);
        if old != NONE {
            self.erase(old, plan);
        }
    }

    /// Full merge of one data block: gathers all newest copies into a free block.
    pub(super) fn merge_full(&mut self, lbn: u32, plan: &mut Plan) {
        let block = self.take_free(plan);
        self.copy_all(lbn, 0..self.pages_per_block, block, plan);
        self.replace_data(lbn, block, plan);
        self.counts.full += 1;
    }

    /// Merges a log block that belongs to one data block: switch or partial merge if all its pages
    /// are valid and at their own offset, else full merge and erase.
    pub(super) fn merge_owned(&mut self, lbn: u32, log: u32, plan: &mut Plan) {
        if !self.is_in_place(lbn, log) || !self.can_complete(lbn, log) {
            self.merge_full(lbn, plan);
            self.erase(log, plan);
            return;
        }
        let copies = self.copy_all(lbn, 0..self.pages_per_block, log, plan);
        self.replace_data(lbn, log, plan);
        if copies == 0 {
            self.counts.switch += 1;
        } else {
            self.counts.partial += 1;
        }
    }

    /// Merges every logical block with a valid page in a shared log block, in page order, and
    /// erases it; `merged` is told each logical block.
    pub(super) fn merge_shared(
        &mut self,
        log: u32,
        plan: &mut Plan,
        mut merged: impl FnMut(&mut Self, u32, &mut Plan),
    ) {
        if self.valid(log) == 0 {
            self.counts.dead += 1;
        }
        for offset in 0..self.pages_per_block {
            if self.valid(log) == 0 {
                break;
            }
            let ppn = self.page(log, offset);
            let lpn = self.owner[ppn as usize];
            if self.newest.get(lpn as usize) == Some(&ppn) {
                let lbn = self.block_of(lpn);
                self.merge_full(lbn, plan);
                merged(self, lbn, plan);
            }
        }
        self.erase(log, plan);
    }

    /// Whether all programmed pages of a log block are valid and at their own offset of `lbn`.
    fn is_in_place(&self, lbn: u32, log: u32) -> bool {
        self.used[log as usize] == self.valid(log)
            && (0..self.pages_per_block).all(|offset| {
                let lpn = self.owner[self.page(log, offset) as usize];
                lpn == NONE || lpn == self.page(lbn, offset)
            })
    }

    /// Whether what a log block lacks may be copied into it.
    fn can_complete(&self, lbn: u32, log: u32) -> bool {
        let end = match (self.upwards, self.program_pages) {
            (true, _) => self.end[log as usize],
            (false, 1) => 0,
            (false, _) => self.pages_per_block,
        };
        let behind = end.next_multiple_of(self.program_pages);
        (0..behind).all(|offset| {
            let ppn = self.newest[self.page(lbn, offset) as usize];
            let lacks = self.upwards || self.is_begun(self.page(log, offset) / self.program_pages);
            !lacks || ppn == NONE || self.block_of(ppn) == log
        })
    }
}

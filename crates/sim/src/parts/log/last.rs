//! LAST: sequential log blocks for large requests, hot and cold shared ones for the rest
//! (Lee et al., 2008).
//!
//! A sequential victim is found in O(1): blocks are linked in the order of use, full and valid ones
//! apart. What a search in that order looks at, up to the first of those, is counted in a walk. A
//! shared victim is a scan of the shared blocks, O(1) each, once a block filled: O(shared blocks /
//! pages of a block) a page. The published scheme also moves the border between the areas; here it
//! is fixed.

pub use super::last_keys::{LastKeys, LastVictim};

use super::engine::Engine;
use super::found::Other;
use super::interface::{NONE, Scheme, check_log, engine_bytes, log_blocks};
use super::last_shared::{COLD, HOT, Shared};
use super::list::BlockList;
use crate::parts::layer::{PageWrite, Plan, Shape, TranslationLayer};

impl LastKeys {
    /// Sequential and shared log blocks.
    fn areas(&self, shape: &Shape) -> (u32, u32) {
        let all = log_blocks(self.log_blocks, shape);
        let share = u64::from(all) * 8 / 100;
        let sequential = match self.sequential_blocks {
            0 => u32::try_from(share).expect("a share").max(1),
            blocks => u32::try_from(blocks).expect("the key's range fits 32 bits"),
        };
        (sequential, all.saturating_sub(sequential))
    }
}

impl Scheme for LastKeys {
    type Layer = Last;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        check_log("last", self.log_blocks, 2, shape)?;
        let (sequential, shared) = self.areas(shape);
        if shared == 0 {
            return Err(format!(
                "ftl.last.sequential_blocks: {sequential} are all of the {} log blocks; small writes \
                 need one",
                log_blocks(self.log_blocks, shape)
            ));
        }
        if self.hot_blocks >= u64::from(shared) {
            return Err(format!(
                "ftl.last.hot_blocks: {} leave cold pages none of the {shared} shared log blocks",
                self.hot_blocks
            ));
        }
        Ok(())
    }

    with_log_blocks!(shared_log);

    /// It also counts logical blocks in log blocks and remembers when pages were written.
    fn layer_bytes(&self, shape: &Shape) -> u64 {
        let (blocks, pages) = (u64::from(shape.blocks), u64::from(shape.pages_per_block));
        engine_bytes(shape) + 8 * (blocks * pages + u64::from(shape.pages))
    }

    fn layer(&self, shape: &Shape) -> Last {
        let (sequential, shared) = self.areas(shape);
        let engine = Engine::new(shape).track();
        let threshold = self.threshold_bytes.div_ceil(u64::from(shape.page_bytes));
        Last {
            threshold_pages: u32::try_from(threshold).unwrap_or(u32::MAX),
            sequential: Sequential::new(engine.blocks(), sequential),
            shared: Shared::new(self, shape, shared),
            engine,
        }
    }
}

/// LAST of a plane.
#[derive(Clone, Debug)]
pub struct Last {
    engine: Engine,
    threshold_pages: u32,
    sequential: Sequential,
    shared: Shared,
}

/// Sequential log blocks: one owner each, pages at their own offset.
#[derive(Clone, Debug)]
struct Sequential {
    most: u32,
    /// Logical block to its sequential block, and back.
    block: Vec<u32>,
    lbn: Vec<u32>,
    /// First offset not yet passed in a sequential block.
    next: Vec<u32>,
    /// Least recently written first.
    order: BlockList,
    /// Blocks filled with valid pages, same order; a block that lost one leaves when met.
    complete: BlockList,
}

crate::saved::saved!(Sequential { block, lbn, next, order, complete } skip { most });
crate::saved::saved!(Last { engine, sequential, shared } skip { threshold_pages });

impl Sequential {
    fn new((logical, physical): (u32, u32), most: u32) -> Self {
        Self {
            most,
            block: vec![NONE; logical as usize],
            lbn: vec![NONE; physical as usize],
            next: vec![0; physical as usize],
            order: BlockList::new(physical),
            complete: BlockList::new(physical),
        }
    }

    /// There are none.
    fn forget(&mut self) {
        for table in [&mut self.block, &mut self.lbn] {
            table.fill(NONE);
        }
        self.next.fill(0);
        self.order.clear();
        self.complete.clear();
    }

    /// Whether `lbn` may have one.
    fn has_room(&self, lbn: u32) -> bool {
        self.order.len() < self.most && self.block[lbn as usize] == NONE
    }

    /// A block is that of `lbn`, filled up to an offset.
    fn enter(&mut self, lbn: u32, block: u32, next: u32) {
        self.block[lbn as usize] = block;
        self.lbn[block as usize] = lbn;
        self.next[block as usize] = next;
        self.order.push(block);
    }

    /// Forgets the block of `lbn` and returns it.
    fn release(&mut self, lbn: u32) -> Option<u32> {
        let block = std::mem::replace(&mut self.block[lbn as usize], NONE);
        if block == NONE {
            return None;
        }
        self.lbn[block as usize] = NONE;
        self.order.remove(block);
        self.complete.remove(block);
        Some(block)
    }

    /// The first block in order of use whose pages are all valid, else the first one.
    fn victim(&mut self, engine: &Engine) -> Option<u32> {
        while let Some(block) = self.complete.first() {
            if engine.valid(block) == engine.pages_per_block() {
                return Some(block);
            }
            self.complete.remove(block);
        }
        self.order.first()
    }

    /// Blocks that a search for the victim looks at in the order of use: up to the first whose
    /// pages are all valid, or all of them.
    fn looks(&mut self, engine: &Engine) -> u64 {
        let victim = self.victim(engine).filter(|_| self.complete.len() > 0);
        u64::from(victim.map_or(self.order.len(), |block| self.order.place(block) + 1))
    }
}

impl Last {
    /// Log blocks that a loss of power has left: of each logical block one in whose pages are at
    /// their own offsets is sequential, and the others are shared, the oldest ones first. Which
    /// pages are hot is not known any more: shared blocks are cold as long as there may be such.
    fn adopt(&mut self, others: &[Other]) {
        self.sequential.forget();
        self.shared.forget();
        for other in others {
            let end = self.engine.end[other.block as usize];
            let own = other.lbn.filter(|_| other.in_place);
            if let Some(lbn) = own.filter(|lbn| self.sequential.has_room(*lbn)) {
                self.sequential.enter(lbn, other.block, end);
                if self.engine.valid(other.block) == self.engine.pages_per_block() {
                    self.sequential.complete.push(other.block);
                }
            } else if let Some(kind) = self.shared.kind_with_room() {
                self.shared.blocks[kind].push(other.block);
                self.engine.track_found(other.block, &mut self.shared.leaders[kind]);
            } else {
                self.engine.strays.push_back(other.block);
            }
        }
    }

    /// Merges the sequential block of `lbn`.
    fn merge_sequential(&mut self, lbn: u32, plan: &mut Plan) {
        let block = self.sequential.release(lbn).expect("the owner has a sequential block");
        self.engine.merge_owned(lbn, block, plan);
    }

    /// Merges the sequential block that has to go first; `false`: there is none.
    fn merge_sequential_victim(&mut self, plan: &mut Plan) -> bool {
        let Some(block) = self.sequential.victim(&self.engine) else { return false };
        self.merge_sequential(self.sequential.lbn[block as usize], plan);
        true
    }

    /// Writes a page of a large request.
    fn write_sequential(&mut self, lpn: u32, plan: &mut Plan) {
        let (lbn, offset) = self.engine.split(lpn);
        let mut block = self.sequential.block[lbn as usize];
        if block != NONE
            && (offset < self.sequential.next[block as usize]
                || !self.engine.is_free(self.engine.page(block, offset)))
        {
            self.merge_sequential(lbn, plan);
            block = NONE;
        }
        if block == NONE {
            if self.sequential.order.len() == self.sequential.most {
                self.engine.counts.searches += self.sequential.looks(&self.engine);
                self.merge_sequential_victim(plan);
            }
            block = self.engine.take_free(plan);
            self.sequential.enter(lbn, block, 0);
        }
        self.engine.program(lpn, self.engine.page(block, offset), plan);
        self.sequential.next[block as usize] = offset + 1;
        self.sequential.order.touch(block);
        if self.engine.valid(block) == self.engine.pages_per_block() {
            self.sequential.complete.push(block);
        }
    }

    /// Writes a page of a small request.
    fn write_shared(&mut self, lpn: u32, plan: &mut Plan) {
        let kind = self.shared.classify(lpn, &self.engine);
        let open = self.shared.blocks[kind].last().copied();
        let block = match open.filter(|&block| !self.engine.is_full(block)) {
            Some(block) => block,
            None => self.open_shared(kind, plan),
        };
        self.engine.append_tracked(lpn, block, &mut self.shared.leaders[kind], plan);
    }

    /// A fresh active block.
    fn open_shared(&mut self, kind: usize, plan: &mut Plan) -> u32 {
        if self.shared.is_full(kind) {
            let mut looked = 0;
            let (list, at) = self.shared.victim(kind, &self.engine, &mut looked);
            self.engine.counts.searches += looked;
            self.merge_shared(list, at, plan);
        }
        let block = self.engine.take_free(plan);
        self.shared.blocks[kind].push(block);
        block
    }

    /// Merges the logical blocks with pages in one shared block and erases it.
    fn merge_shared(&mut self, kind: usize, at: usize, plan: &mut Plan) {
        let victim = self.shared.blocks[kind].remove(at);
        let sequential = &mut self.sequential;
        self.engine.merge_shared(victim, plan, |engine, lbn, plan| {
            if let Some(block) = sequential.release(lbn) {
                engine.erase(block, plan);
            }
        });
    }
}

impl TranslationLayer for Last {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        if self.engine.write_in_place(page, plan) {
            return;
        }
        if page.request_pages >= self.threshold_pages {
            self.write_sequential(page.lpn, plan);
        } else {
            self.write_shared(page.lpn, plan);
        }
    }

    fn idle(&mut self, plan: &mut Plan) -> bool {
        if self.merge_sequential_victim(plan) {
            return true;
        }
        let kind = [HOT, COLD].into_iter().find(|&kind| !self.shared.blocks[kind].is_empty());
        if let Some(kind) = kind {
            self.merge_shared(kind, 0, plan);
        }
        kind.is_some()
    }

    fn clean_log_blocks(&self) -> Option<u32> {
        Some(self.sequential.most - self.sequential.order.len() + self.shared.clean())
    }

    by_engine!();
}

//! FAST: one sequential log block and others that all data blocks share, in a ring
//! (Lee et al., 2007).
//!
//! A victim is the oldest shared block, O(1); its merge gathers every logical block with a valid
//! page in it.

use super::engine::Engine;
use super::found::Other;
use super::interface::{Scheme, check_log, log_blocks};
use crate::parts::layer::{PageWrite, Plan, Shape, TranslationLayer};
use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};
use std::collections::VecDeque;

choice! {
    /// What a write does that does not continue the run of its block's sequential log block.
    pub enum BrokenRun {
        /// That block is merged, and the page goes to a shared log block.
        Merge = "merge",
        /// That block stays, and the page goes to a shared log block.
        Keep = "keep",
        /// That block is merged, and the page begins another one at its own place.
        Reopen = "reopen",
    }
}

keys! {
    /// Keys of `[ftl.fast]`.
    pub struct FastKeys {
        /// Log blocks of a plane, the sequential one included; 0: all spare blocks but two.
        log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "Park et al. 2011: 5 % of the capacity, what is spare",
            flip: "3", with: &["@log", "ftl.scheme=fast"],
        },
        /// Whether one log block is kept for runs of writes that begin at page 0 of a block.
        /// Otherwise every overwrite goes to the shared log blocks.
        sequential_log: bool = true => {
            kind: Kind::Bool,
            source: "Lee et al. 2007",
            flip: "false", with: &["@log", "ftl.scheme=fast"],
        },
        /// What happens to a write that does not continue the run of the sequential log block.
        broken_run: BrokenRun = BrokenRun::Merge => {
            kind: Kind::Choice(BrokenRun::WORDS),
            source: "assumed: later implementations of Lee et al. 2007; reopen is nearer to its own text",
            flip: "keep", with: &["@log", "ftl.scheme=fast"],
        },
    }
}

impl Scheme for FastKeys {
    type Layer = Fast;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        check_log("fast", self.log_blocks, 1 + u32::from(self.sequential_log), shape)
    }

    with_log_blocks!(shared_log);

    fn layer(&self, shape: &Shape) -> Fast {
        let blocks = log_blocks(self.log_blocks, shape) as usize;
        let shared = blocks - usize::from(self.sequential_log);
        Fast {
            engine: Engine::new(shape),
            sequential_log: self.sequential_log,
            broken_run: self.broken_run,
            most: shared,
            sequential: None,
            shared: VecDeque::with_capacity(shared + 1),
        }
    }
}

/// The sequential log block: pages at their own offset, `next` is the first not yet passed.
#[derive(Clone, Copy, Debug, Default)]
struct Sequential {
    lbn: u32,
    block: u32,
    next: u32,
}

/// FAST of a plane.
#[derive(Clone, Debug)]
pub struct Fast {
    engine: Engine,
    sequential_log: bool,
    broken_run: BrokenRun,
    /// The most shared log blocks.
    most: usize,
    sequential: Option<Sequential>,
    /// Shared log blocks, oldest first; the last one takes the writes.
    shared: VecDeque<u32>,
}

crate::saved::saved!(Sequential { lbn, block, next });
crate::saved::saved!(Fast { engine, sequential, shared } skip { sequential_log, broken_run, most });

impl Fast {
    /// Log blocks that a loss of power has left: one in whose pages are at their own offsets is
    /// the sequential one, and the others are shared, the oldest ones first.
    fn adopt(&mut self, others: &[Other]) {
        self.sequential = None;
        self.shared.clear();
        for other in others {
            let own = other.lbn.filter(|_| other.in_place && self.sequential_log);
            if let Some(lbn) = own.filter(|_| self.sequential.is_none()) {
                let next = self.engine.end[other.block as usize];
                self.sequential = Some(Sequential { lbn, block: other.block, next });
            } else if self.shared.len() < self.most {
                self.shared.push_back(other.block);
            } else {
                self.engine.strays.push_back(other.block);
            }
        }
    }

    /// Merges the sequential block if there is one.
    fn merge_sequential(&mut self, plan: &mut Plan) {
        if let Some(open) = self.sequential.take() {
            self.engine.merge_owned(open.lbn, open.block, plan);
        }
    }

    /// Opens a sequential block with the page at `offset`.
    fn open_sequential(&mut self, lbn: u32, offset: u32, plan: &mut Plan) {
        self.merge_sequential(plan);
        let block = self.engine.take_free(plan);
        self.append_sequential(Sequential { lbn, block, next: offset }, plan);
    }

    /// Programs the next page of the sequential block.
    fn append_sequential(&mut self, open: Sequential, plan: &mut Plan) {
        let (lpn, ppn) =
            (self.engine.page(open.lbn, open.next), self.engine.page(open.block, open.next));
        self.sequential = Some(Sequential { next: open.next + 1, ..open });
        self.engine.program(lpn, ppn, plan);
    }

    /// Merges the data blocks with pages in the oldest shared block and erases it.
    fn reclaim(&mut self, plan: &mut Plan) {
        let victim = self.shared.pop_front().expect("shared log blocks are in use");
        self.engine.counts.searches += 1;
        let sequential = &mut self.sequential;
        self.engine.merge_shared(victim, plan, |engine, lbn, plan| {
            if let Some(open) = sequential.take_if(|open| open.lbn == lbn) {
                engine.erase(open.block, plan);
            }
        });
    }

    /// Logs a page in the shared blocks.
    fn append_shared(&mut self, lpn: u32, plan: &mut Plan) {
        let open = self.shared.back().copied().filter(|&block| !self.engine.is_full(block));
        let block = open.unwrap_or_else(|| {
            if self.shared.len() == self.most {
                self.reclaim(plan);
            }
            let block = self.engine.take_free(plan);
            self.shared.push_back(block);
            block
        });
        self.engine.append(lpn, block, plan);
    }
}

impl TranslationLayer for Fast {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        if self.engine.write_in_place(page, plan) {
            return;
        }
        if !self.sequential_log {
            return self.append_shared(page.lpn, plan);
        }
        let (lbn, offset) = self.engine.split(page.lpn);
        if offset == 0 {
            return self.open_sequential(lbn, 0, plan);
        }
        if let Some(open) = self.sequential.filter(|open| open.lbn == lbn) {
            if open.next == offset && self.engine.is_free(self.engine.page(open.block, offset)) {
                return self.append_sequential(open, plan);
            }
            match self.broken_run {
                BrokenRun::Merge => self.merge_sequential(plan),
                BrokenRun::Keep => {}
                BrokenRun::Reopen => return self.open_sequential(lbn, offset, plan),
            }
        }
        self.append_shared(page.lpn, plan);
    }

    fn idle(&mut self, plan: &mut Plan) -> bool {
        if self.sequential.is_some() {
            self.merge_sequential(plan);
            return true;
        }
        let work = !self.shared.is_empty();
        if work {
            self.reclaim(plan);
        }
        work
    }

    fn clean_log_blocks(&self) -> Option<u32> {
        let own = u32::from(self.sequential_log && self.sequential.is_none());
        let shared = u32::try_from(self.most - self.shared.len()).expect("blocks have 32 bits");
        Some(own + shared)
    }

    by_engine!();
}

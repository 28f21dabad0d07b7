//! BAST: every log block belongs to one data block (Kim et al., 2002).
//!
//! A victim costs O(1): log blocks are linked in the order of their last append, or of their
//! allocation; a merge costs O(pages of a block).

use super::engine::Engine;
use super::found::Other;
use super::interface::{NONE, Scheme, check_log, log_blocks};
use super::list::BlockList;
use crate::parts::layer::{PageWrite, Plan, Shape, TranslationLayer};
use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// Which log block is merged when all are in use.
    pub enum BastVictim {
        /// The one whose last append is longest ago.
        Lru = "lru",
        /// The one taken first.
        Fifo = "fifo",
    }
}

keys! {
    /// Keys of `[ftl.bast]`.
    pub struct BastKeys {
        /// Log blocks of a plane; 0: all spare blocks but two.
        log_blocks: u64 = 0 => {
            kind: Kind::count("blocks", 0, 1 << 24),
            source: "Park et al. 2011: 5 % of the capacity, what is spare",
            flip: "2", with: &["@log", "ftl.scheme=bast"],
        },
        /// Which log block is merged when all are in use.
        victim: BastVictim = BastVictim::Lru => {
            kind: Kind::Choice(BastVictim::WORDS),
            source: "assumed: the least recently appended one",
            flip: "fifo", with: &["@log", "ftl.scheme=bast"],
        },
    }
}

impl Scheme for BastKeys {
    type Layer = Bast;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        check_log("bast", self.log_blocks, 1, shape)
    }

    with_log_blocks!(owned_log);

    fn layer(&self, shape: &Shape) -> Bast {
        let engine = Engine::new(shape);
        let (logical, physical) = engine.blocks();
        Bast {
            engine,
            log_blocks: log_blocks(self.log_blocks, shape),
            victim: self.victim,
            log: vec![NONE; logical as usize],
            log_owner: vec![NONE; physical as usize],
            order: BlockList::new(physical),
        }
    }
}

/// BAST of a plane.
#[derive(Clone, Debug)]
pub struct Bast {
    engine: Engine,
    log_blocks: u32,
    victim: BastVictim,
    /// Logical block to its log block, and back.
    log: Vec<u32>,
    log_owner: Vec<u32>,
    /// Log blocks, the next victim first.
    order: BlockList,
}

crate::saved::saved!(Bast { engine, log, log_owner, order } skip { log_blocks, victim });

impl Bast {
    /// Log blocks that a loss of power has left, in the order of their last append or of their
    /// first one.
    fn adopt(&mut self, others: &[Other]) {
        let mut others = others.to_vec();
        self.log.fill(NONE);
        self.log_owner.fill(NONE);
        self.order.clear();
        if self.victim == BastVictim::Lru {
            others.sort_by_key(|other| (other.latest, other.block));
        }
        for other in others {
            let has_room = self.order.len() < self.log_blocks;
            match other.lbn.filter(|lbn| has_room && self.log[*lbn as usize] == NONE) {
                Some(lbn) => self.own_log(lbn, other.block),
                None => self.engine.strays.push_back(other.block),
            }
        }
    }

    /// A block is the log block of `lbn`.
    fn own_log(&mut self, lbn: u32, block: u32) {
        self.log[lbn as usize] = block;
        self.log_owner[block as usize] = lbn;
        self.order.push(block);
    }

    /// Merges one log block.
    fn merge(&mut self, block: u32, plan: &mut Plan) {
        let lbn = std::mem::replace(&mut self.log_owner[block as usize], NONE);
        self.order.remove(block);
        self.log[lbn as usize] = NONE;
        self.engine.merge_owned(lbn, block, plan);
    }

    /// The log block of `lbn` with room, after whatever merge that needs.
    fn open_log(&mut self, lbn: u32, plan: &mut Plan) -> u32 {
        let own = self.log[lbn as usize];
        if own != NONE && !self.engine.is_full(own) {
            return own;
        }
        if own != NONE {
            self.merge(own, plan);
        } else if self.order.len() == self.log_blocks {
            self.engine.counts.searches += 1;
            let oldest = self.order.first().expect("log blocks are in use");
            self.merge(oldest, plan);
        }
        let block = self.engine.take_free(plan);
        self.own_log(lbn, block);
        block
    }
}

impl TranslationLayer for Bast {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        if self.engine.write_in_place(page, plan) {
            return;
        }
        let block = self.open_log(self.engine.block_of(page.lpn), plan);
        self.engine.append(page.lpn, block, plan);
        if self.victim == BastVictim::Lru {
            self.order.touch(block);
        }
    }

    fn idle(&mut self, plan: &mut Plan) -> bool {
        let Some(block) = self.order.first() else { return false };
        self.merge(block, plan);
        true
    }

    fn clean_log_blocks(&self) -> Option<u32> {
        Some(self.log_blocks - self.order.len())
    }

    by_engine!();
}

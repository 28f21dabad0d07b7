//! Block mapping, the baseline.
//!
//! A page lies at its own offset of its data block; an overwrite rewrites the block: lower pages
//! are copied, the page is programmed, higher pages are copied, the old block is erased. With
//! `coalesce` the pages of one request in one block share a rewrite. O(pages of a block) an
//! overwrite.

use super::engine::Engine;
use super::found::Other;
use super::interface::{Scheme, spare};
use crate::parts::layer::{PageWrite, Plan, Shape, TranslationLayer};
use crate::parts::memory::{Extent, TableCost};
use flashyard_core::key::Kind;

flashyard_core::keys! {
    /// Keys of `[ftl.block]`.
    pub struct BlockKeys {
        /// Whether the pages of one request in one block share one rewrite.
        coalesce: bool = false => {
            kind: Kind::Bool,
            source: "assumed: page by page, the plain scheme",
            flip: "true", with: &["@log", "ftl.scheme=block"],
        },
    }
}

impl Scheme for BlockKeys {
    type Layer = Block;

    fn check(&self, shape: &Shape) -> Result<(), String> {
        match spare(shape) {
            0 => Err("ftl.scheme: a rewrite of a block needs a spare one on each plane; raise \
                     ftl.over_provisioning_percent"
                .to_string()),
            _ => Ok(()),
        }
    }

    fn skips_pages(&self) -> bool {
        true
    }

    fn tables(&self, extent: &Extent) -> Option<TableCost> {
        Some(TableCost::block_table(extent))
    }

    /// A rewrite that is half done is done again into a second one.
    fn spare_to_recover(&self) -> Option<u32> {
        Some(2)
    }

    fn layer(&self, shape: &Shape) -> Block {
        Block { engine: Engine::new(shape), coalesce: self.coalesce, rewrite: None }
    }
}

/// A rewrite that waits for further pages of its request.
#[derive(Clone, Copy, Debug, Default)]
struct Rewrite {
    lbn: u32,
    block: u32,
    /// The first offset that has not been dealt with.
    next: u32,
}

/// Block mapping of a plane.
#[derive(Clone, Debug)]
pub struct Block {
    engine: Engine,
    coalesce: bool,
    rewrite: Option<Rewrite>,
}

crate::saved::saved!(Rewrite { lbn, block, next });
crate::saved::saved!(Block { engine, rewrite } skip { coalesce });

impl Block {
    /// Two blocks with pages of one logical block are a rewrite that was half done.
    fn adopt(&mut self, others: &[Other]) {
        self.rewrite = None;
        self.engine.strays.extend(others.iter().map(|other| other.block));
    }

    /// Writes a page of a rewrite, which ends unless the next page of the request belongs to it.
    fn rewrite(&mut self, page: PageWrite, plan: &mut Plan) {
        let (lbn, offset) = self.engine.split(page.lpn);
        let open = self.rewrite.take();
        let (block, next) = match open {
            Some(open) => (open.block, open.next),
            None => (self.engine.take_free(plan), 0),
        };
        debug_assert!(open.is_none_or(|open| open.lbn == lbn), "pages of a request are in order");
        self.engine.copy_all(lbn, next..offset, block, plan);
        self.engine.program(page.lpn, self.engine.page(block, offset), plan);
        let end = self.engine.pages_per_block();
        if self.coalesce && page.more > 0 && offset + 1 < end {
            self.rewrite = Some(Rewrite { lbn, block, next: offset + 1 });
            return;
        }
        self.engine.copy_all(lbn, offset + 1..end, block, plan);
        self.engine.replace_data(lbn, block, plan);
        self.engine.counts.full += 1;
    }
}

impl TranslationLayer for Block {
    fn write(&mut self, page: PageWrite, plan: &mut Plan) {
        if self.rewrite.is_some() || !self.engine.write_in_place(page, plan) {
            self.rewrite(page, plan);
        }
    }

    by_engine!();
}

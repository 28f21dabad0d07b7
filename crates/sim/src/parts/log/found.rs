//! The tables of a layer after a loss of power, from what was found on its pages.
//!
//! Of each logical block, the block in which all newest pages are its own and at their own offsets
//! is the data block; of several the one with the oldest contents. All other blocks with newest
//! pages are log blocks again, as far as the layer can use them as such, or strays. A block without
//! a newest page is free, and erased before it is used. O(pages).

use super::engine::{Engine, TORN};
use super::interface::NONE;
use crate::parts::layer::{FoundPage, Plan};

/// A block with newest pages that is no data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Other {
    pub(super) block: u32,
    /// The logical block that its newest pages belong to; none where they belong to several.
    pub(super) lbn: Option<u32>,
    /// Whether they are at their own offsets as well.
    pub(super) in_place: bool,
    /// The oldest and the newest version in it.
    pub(super) oldest: u64,
    pub(super) latest: u64,
}

impl Engine {
    /// The tables are made anew. Returns the blocks that are neither data blocks nor free, those
    /// with the oldest contents first.
    pub(super) fn recover(&mut self, pages: &[Option<FoundPage>]) -> Vec<Other> {
        self.forget_all();
        for (ppn, page) in (0u32..).zip(pages) {
            if let Some(page) = page {
                self.find(ppn, page);
            }
        }
        let (_, blocks) = self.blocks();
        let mut others: Vec<Other> =
            (0..blocks).filter_map(|block| self.describe(block, pages)).collect();
        others.sort_by_key(|other| (other.oldest, other.block));
        others.retain(|other| {
            let own = other.lbn.filter(|_| other.in_place);
            let data = own.map(|lbn| &mut self.data[lbn as usize]).filter(|data| **data == NONE);
            data.map(|data| *data = other.block).is_none()
        });
        let (erased, left): (Vec<u32>, Vec<u32>) = (0..blocks)
            .filter(|block| self.valid(*block) == 0)
            .partition(|block| self.used[*block as usize] == 0);
        self.free.extend(erased.into_iter().chain(left));
        others
    }

    /// Merges what is in the strays, and erases them.
    pub(super) fn merge_strays(&mut self, plan: &mut Plan) {
        while let Some(block) = self.strays.pop_front() {
            self.merge_shared(block, plan, |_, _, _| ());
        }
    }

    /// Nothing is known.
    fn forget_all(&mut self) {
        for table in [&mut self.data, &mut self.newest, &mut self.owner] {
            table.fill(NONE);
        }
        for table in [&mut self.used, &mut self.end, &mut self.valid] {
            table.fill(0);
        }
        self.free.clear();
        self.strays.clear();
        self.open = NONE;
        if let Some(groups) = &mut self.groups {
            groups.leader.fill(NONE);
            groups.members.fill(0);
            groups.distinct.fill(0);
        }
    }

    /// A page is programmed.
    fn find(&mut self, ppn: u32, page: &FoundPage) {
        let (block, offset) = self.split(ppn);
        let lpn = page.holds.map(|(lpn, _)| lpn);
        self.owner[ppn as usize] = lpn.unwrap_or(TORN);
        self.used[block as usize] += 1;
        self.end[block as usize] = offset + 1;
        if let Some(lpn) = lpn.filter(|_| page.newest) {
            self.newest[lpn as usize] = ppn;
            self.valid[block as usize] += 1;
        }
    }

    /// What a block with newest pages is; none of another one.
    fn describe(&self, block: u32, pages: &[Option<FoundPage>]) -> Option<Other> {
        let mut found: Option<Other> = None;
        for offset in 0..self.pages_per_block() {
            let ppn = self.page(block, offset);
            let Some(FoundPage { holds: Some((lpn, version)), newest }) = pages[ppn as usize]
            else {
                continue;
            };
            if !newest {
                continue;
            }
            let (lbn, own) = self.split(lpn);
            let in_place = own == offset;
            let other = found.get_or_insert(Other {
                block,
                lbn: Some(lbn),
                in_place,
                oldest: version,
                latest: version,
            });
            other.lbn = other.lbn.filter(|known| *known == lbn);
            other.in_place &= in_place;
            other.oldest = other.oldest.min(version);
            other.latest = other.latest.max(version);
        }
        found
    }

    /// The newest pages of a block that was filled by [`Self::append_tracked`] count for
    /// [`Self::distinct`], with its list of leaders.
    pub(super) fn track_found(&mut self, block: u32, leaders: &mut [u32]) {
        for offset in 0..self.pages_per_block() {
            let ppn = self.page(block, offset);
            let lpn = self.owner[ppn as usize];
            if self.newest.get(lpn as usize) == Some(&ppn) {
                self.join_group(lpn, ppn, leaders);
            }
        }
    }
}

//! A doubly linked list of block numbers in two flat arrays: every operation but `place` is O(1).

use super::interface::NONE;

/// An ordered set of blocks, oldest first.
#[derive(Clone, Debug)]
pub(super) struct BlockList {
    prev: Vec<u32>,
    next: Vec<u32>,
    linked: Vec<bool>,
    head: u32,
    tail: u32,
    len: u32,
}

crate::saved::saved!(BlockList { prev, next, linked, head, tail, len });

impl BlockList {
    /// An empty list for block numbers below `blocks`.
    pub(super) fn new(blocks: u32) -> Self {
        let count = blocks as usize;
        Self {
            prev: vec![NONE; count],
            next: vec![NONE; count],
            linked: vec![false; count],
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    /// Takes all blocks out.
    pub(super) fn clear(&mut self) {
        *self = Self::new(u32::try_from(self.linked.len()).expect("blocks have 32 bits"));
    }

    /// Number of blocks in the list.
    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// The oldest block.
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// How many older blocks a block of the list has.
    pub(super) fn place(&self, block: u32) -> u32 {
        let (mut place, mut at) = (0, self.head);
        while at != block {
            (place, at) = (place + 1, self.next[at as usize]);
        }
        place
    }

    /// Adds a block as the youngest.
    pub(super) fn push(&mut self, block: u32) {
        let place = block as usize;
        assert!(!self.linked[place], "block {block} is listed twice");
        self.linked[place] = true;
        self.prev[place] = self.tail;
        self.next[place] = NONE;
        match self.tail {
            NONE => self.head = block,
            tail => self.next[tail as usize] = block,
        }
        self.tail = block;
        self.len += 1;
    }

    /// Takes a block out if it is in the list.
    pub(super) fn remove(&mut self, block: u32) {
        if !std::mem::take(&mut self.linked[block as usize]) {
            return;
        }
        let (prev, next) = (self.prev[block as usize], self.next[block as usize]);
        match prev {
            NONE => self.head = next,
            prev => self.next[prev as usize] = next,
        }
        match next {
            NONE => self.tail = prev,
            next => self.prev[next as usize] = prev,
        }
        self.len -= 1;
    }

    /// Makes a block of the list the youngest.
    pub(super) fn touch(&mut self, block: u32) {
        if self.tail != block {
            self.remove(block);
            self.push(block);
        }
    }
}

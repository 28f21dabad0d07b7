//! Doubly linked lists of numbered things, in flat arrays: every step is O(1).

/// The neighbours of things that are each in one list at most. A thing is named by its number plus
/// one, and 0 is none, so that things in no list are zeros.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    next: Vec<u32>,
    prev: Vec<u32>,
}

crate::saved::saved!(Links { next, prev });

/// The names of the first and of the last thing of a list.
pub(crate) type Ends<'a> = [&'a mut u32; 2];

impl Links {
    /// Of so many things, all in no list.
    pub(crate) fn new(count: usize) -> Self {
        Self { next: vec![0; count], prev: vec![0; count] }
    }

    /// The thing behind another one in its list.
    pub(crate) fn after(&self, number: u32) -> Option<u32> {
        self.next[number as usize].checked_sub(1)
    }

    /// Puts a thing at the end of a list.
    #[inline]
    pub(crate) fn push(&mut self, number: u32, [first, last]: Ends<'_>) {
        let before = std::mem::replace(last, number + 1);
        self.prev[number as usize] = before;
        self.next[number as usize] = 0;
        match before {
            0 => *first = number + 1,
            before => self.next[before as usize - 1] = number + 1,
        }
    }

    /// Takes a thing out of its list.
    #[inline]
    pub(crate) fn remove(&mut self, number: u32, [first, last]: Ends<'_>) {
        let (prev, next) = (self.prev[number as usize], self.next[number as usize]);
        match prev {
            0 => *first = next,
            prev => self.next[prev as usize - 1] = next,
        }
        match next {
            0 => *last = prev,
            next => self.prev[next as usize - 1] = prev,
        }
    }
}

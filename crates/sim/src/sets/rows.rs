//! Rows of sets each of which waits for the one before: they share one account of their wait, so
//! that a set that joins a long row, or leaves it, need not look at the others.
//!
//! What a set spends its time on while it waits is what the set waited for spends its time on. In a
//! row that is the same for all of them: what the **head** spends its time on, a set that waits for
//! none of the row. A row sums that up; a member takes the sum when it joins, and the difference
//! when it leaves. When the head is done the first member becomes the head, and the sum goes on
//! from its account.

use super::Sets;
use super::track::{ACCOUNTS, OTHER, OWN};
use crate::handle::SetId;

/// A row.
#[derive(Clone, Copy, Debug)]
struct Row {
    head: SetId,
    /// The account of the head when it became the head, and the sum by then.
    head_base: [u64; ACCOUNTS],
    sum: [u64; ACCOUNTS],
    /// The last member.
    last: SetId,
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    list: Vec<Row>,
    free: Vec<u32>,
    /// A list of sets for a walk along waits; empty between walks.
    walk: Vec<SetId>,
}

impl Rows {
    /// Makes room for so many sets.
    pub(super) fn reserve(&mut self, sets: usize) {
        self.walk.reserve(sets);
    }

    fn add(&mut self, row: Row) -> u32 {
        if let Some(place) = self.free.pop() {
            self.list[place as usize] = row;
            return place;
        }
        self.list.push(row);
        u32::try_from(self.list.len() - 1).expect("fewer rows than sets")
    }
}

impl Sets {
    /// An empty list of sets, for a walk along what they wait for.
    pub(crate) fn begin_walk(&mut self) -> Vec<SetId> {
        std::mem::take(&mut self.rows.walk)
    }

    /// The walk is over, and its list empty.
    pub(crate) fn end_walk(&mut self, list: Vec<SetId>) {
        self.rows.walk = list;
    }

    /// The head of the row that a set is a member of, if it is one.
    #[inline]
    pub(crate) fn head_of(&self, set: SetId) -> Option<SetId> {
        self.track(set).row.map(|row| self.rows.list[row as usize].head)
    }

    /// The sum of the row of a member, whose head has this account.
    pub(crate) fn sum_of_row(&self, member: SetId, head: &[u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        self.sum_of(self.track(member).row.expect("it is a member"), head)
    }

    fn sum_of(&self, row: u32, head: &[u64; ACCOUNTS]) -> [u64; ACCOUNTS] {
        let Row { head_base, mut sum, .. } = self.rows.list[row as usize];
        for ((sum, now), base) in sum.iter_mut().zip(head).zip(&head_base) {
            *sum += now - base;
        }
        sum[OTHER] += std::mem::take(&mut sum[OWN]);
        sum
    }

    /// Whether a set that waits for `source` may be a member of its row, or of a row behind it: the
    /// two belong to different requests, and nobody is behind either in a row yet.
    #[inline]
    pub(crate) fn may_join(&self, set: SetId, source: SetId) -> bool {
        let request = self[set].request();
        let differ = request.is_none() || self[source].request() != request;
        let behind = |set: SetId| self.track(set).behind;
        differ && behind(source).is_none() && behind(set).is_none()
    }

    /// A set joins the row of which `source` is the last member, or begins one of which `source` is
    /// the head; its base is the sum of the row. `account` is that of the head.
    pub(crate) fn join_row(&mut self, set: SetId, source: SetId, account: &[u64; ACCOUNTS]) {
        let row = self.track(source).row.unwrap_or_else(|| {
            let sum = [0; ACCOUNTS];
            self.rows.add(Row { head: source, head_base: *account, sum, last: source })
        });
        let base = self.sum_of(row, account);
        self.rows.list[row as usize].last = set;
        self.track_mut(source).behind = Some(set);
        let track = self.track_mut(set);
        (track.row, track.base) = (Some(row), base);
    }

    /// A member leaves its row, whose head has this account; by now it has been charged. It is the
    /// head of those behind it.
    #[cold]
    pub(crate) fn leave_row(&mut self, set: SetId, account: &[u64; ACCOUNTS]) {
        let row = self.track_mut(set).row.take().expect("it is a member");
        let (before, behind) = (self.track(set).source, self.track(set).behind);
        let before = before.expect("a member waits for a set");
        let sum = self.sum_of(row, account);
        let Row { head, last, .. } = self.rows.list[row as usize];
        self.track_mut(before).behind = None;
        let rest = Row { head: set, head_base: self.track(set).spent, sum, last };
        match (before == head, behind) {
            (true, None) => self.rows.free.push(row),
            (true, Some(_)) => self.rows.list[row as usize] = rest,
            (false, None) => self.rows.list[row as usize].last = before,
            (false, Some(_)) => {
                self.rows.list[row as usize].last = before;
                let row = self.rows.add(rest);
                let mut next = behind;
                while let Some(member) = next {
                    self.track_mut(member).row = Some(row);
                    next = self.track(member).behind;
                }
            }
        }
    }
}

//! The checker's account of the write buffer: what it holds, and what must be on flash when.

use super::{Asked, CHUNK, Checker, is_untouched};
use crate::buffer::Line;
use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Lpn;
use std::collections::BTreeMap;

/// What is known of the write buffer.
#[derive(Debug, Default)]
pub(super) struct BufferAccount {
    /// The version of each unit in the buffer.
    held: BTreeMap<Lpn, u64>,
    /// What reads on their way got from it, by request and page.
    pub(super) reading: BTreeMap<(u64, u32), u64>,
}

impl Checker {
    /// Takes over what a buffer holds before the run. Contents of clean lines are those on flash.
    pub fn adopt_buffer<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) {
        self.buffer.held.clear();
        for line in lines {
            let newest = &mut self.newest[line.lpn.index()];
            if !line.is_dirty() && !line.is_of_flash() {
                *newest = line.version + 1;
                if let Some(unit) = self.place[line.lpn.index()].checked_sub(1) {
                    self.contents[unit as usize] = *newest;
                }
            }
            let held = if line.is_of_flash() { *newest } else { line.version + 1 };
            self.buffer.held.insert(line.lpn, held);
        }
    }

    /// What a request that has arrived asks of the buffer; `durable` is whether its changes are on
    /// flash when it is answered.
    pub fn asks(&mut self, order: u64, request: &Request, durable: bool) {
        let barrier = request.is_barrier();
        let known = |lpn: &Lpn| self.acknowledged[lpn.index()];
        let held = self.buffer.held.keys().take(if barrier { usize::MAX } else { 0 });
        let held = held.filter(|lpn| known(lpn) > self.newest[lpn.index()]);
        let volatile = held.map(|lpn| (*lpn, known(lpn))).collect();
        let asked = self.asked.get_mut(&order).expect("it has arrived");
        asked.durable = durable && request.op == RequestOp::Write;
        asked.volatile = volatile;
    }

    /// The first page access of a request has been translated.
    pub(super) fn starts(&mut self, order: u64) {
        let asked = self.asked.get_mut(&order).expect("it has arrived");
        let volatile = std::mem::take(&mut asked.volatile);
        self.are_on_flash(order, &volatile);
    }

    /// A request is answered.
    pub(super) fn is_on_flash(&self, order: u64, asked: &Asked) {
        self.are_on_flash(order, &asked.volatile);
        if asked.durable {
            self.are_on_flash(order, &asked.changed);
        }
    }

    fn are_on_flash(&self, order: u64, changes: &[(Lpn, u64)]) {
        for &(lpn, version) in changes {
            let newest = self.newest[lpn.index()];
            assert!(newest >= version, "request {order}: {version} of {lpn:?} is not on flash");
        }
    }

    /// A write has put its unit into the buffer, in place of `evicted` if that is one.
    pub fn buffered(&mut self, order: u64, lpn: Lpn, number: u64, evicted: Option<Lpn>) {
        if let Some(evicted) = evicted {
            self.unbuffered(evicted);
        }
        let old = self.buffer.held.insert(lpn, number + 1);
        assert!(old < Some(number + 1), "{number} of {lpn:?} replaces newer contents, {old:?}");
        self.note(order, lpn, number + 1);
    }

    /// What a read has found on flash stays in the buffer, in place of `evicted` if that is one: it
    /// must still be what flash holds.
    pub fn allocated(&mut self, access: (u64, u32), lpn: Lpn, evicted: Option<Lpn>) {
        if let Some(evicted) = evicted {
            self.unbuffered(evicted);
        }
        let version = self.reading[&access].version;
        let newest = self.newest[lpn.index()];
        assert_eq!(newest, version, "{lpn:?} is in the buffer as it was, not as it is");
        let old = self.buffer.held.insert(lpn, newest);
        assert_eq!(old, None, "{lpn:?} is in the buffer");
    }

    /// The buffer forgets a unit: it was trimmed, or flash has it.
    pub fn unbuffered(&mut self, lpn: Lpn) {
        let version = self.buffer.held.remove(&lpn).expect("it was there");
        assert!(self.newest[lpn.index()] >= version, "version {version} of {lpn:?} was lost");
    }

    /// A read gets what an earlier one has found on flash, where nothing newer is.
    pub fn allocated_read(&mut self, access: (u64, u32), lpn: Lpn) {
        let newest = self.newest[lpn.index()];
        assert_eq!(self.buffer.held.get(&lpn), Some(&newest), "{lpn:?} in the buffer is stale");
        self.buffer.reading.insert(access, newest);
    }

    /// A read gets a version of a unit from the buffer, where it is `held` unless its write is
    /// about to put it there.
    pub fn buffer_read(&mut self, access: (u64, u32), lpn: Lpn, number: u64, held: bool) {
        if held {
            assert_eq!(self.buffer.held.get(&lpn), Some(&(number + 1)), "{lpn:?} in the buffer");
        }
        self.buffer.reading.insert(access, number + 1);
    }

    /// The run is over: what was acknowledged is on flash or in the buffer.
    pub(super) fn keeps_acknowledged(&self) {
        for (chunk, versions) in self.acknowledged.chunks(CHUNK).enumerate() {
            if is_untouched(versions) {
                continue;
            }
            for (index, &known) in (chunk * CHUNK..).zip(versions) {
                let held = self.buffer.held.get(&Lpn::from_index(index)).copied().unwrap_or(0);
                assert!(self.newest[index].max(held) >= known, "unit {index} lost version {known}");
            }
        }
    }
}

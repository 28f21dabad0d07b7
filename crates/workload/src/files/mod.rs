//! Requests of a file system: files that are written, updated, read, created and deleted, on a
//! layout in place (`ext2`) or on a log (`log`).
//!
//! A stage begins in the state that the stages before it leave: that is computed without requests,
//! from the keys and the seed. So stages can be phases of an experiment, and threads that read can
//! be streams of their own. Each part has its own stream of random numbers
//! ([`SplitMix64::stream`](crate::random::SplitMix64::stream); purposes 1 sizes of files, 2 places
//! of updates, 3 files of stage `mail`). There is no page cache: what is read comes from the
//! device. Requests carry no times; in a closed loop of depth 1 each is issued when the one before
//! is answered, as a thread does that waits for its calls.

mod builtin;
mod ext2;
mod keys;
mod log;
mod piece;
mod stages;
mod system;

use flashyard_core::request::Request;
use std::collections::VecDeque;
use std::sync::Arc;

pub use self::builtin::{BUILT_IN_FILES, BuiltInFiles};
pub use self::keys::{FilesKeys, Layout, Stage};

use self::piece::{BLOCK_KIB, BLOCK_SECTORS, Piece};
use self::stages::Work;
use self::system::System;
use crate::error::WorkloadError;
use crate::{RequestSource, SourceStats};

/// The requests of a stage.
#[derive(Debug)]
pub struct Files {
    work: Work,
    /// Of the file system, while it changes.
    system: Option<Box<System>>,
    pieces: Vec<Piece>,
    queue: VecDeque<Piece>,
    /// Blocks of the largest request.
    largest: u32,
    notes: Vec<String>,
    stats: SourceStats,
}

impl Files {
    /// The requests of these keys and this seed on a device of `capacity_sectors` (none: as many as
    /// the files need); several threads take turns.
    pub fn new(
        keys: &FilesKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let mut threads = Self::threads(keys, seed, capacity_sectors)?;
        let first = threads.remove(0);
        if threads.is_empty() {
            return Ok(first);
        }
        let others = threads.into_iter().map(|thread| (thread.work, thread.queue));
        let all = std::iter::once((first.work, VecDeque::new())).chain(others);
        let works = all.map(|(work, _)| work).collect();
        Ok(Self { work: Work::ByTurns { works, next: 0 }, ..first })
    }

    /// The same as a source for each thread.
    pub fn threads(
        keys: &FilesKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Vec<Self>, WorkloadError> {
        check(keys)?;
        let system = stages::before(keys, seed, capacity_sectors)?;
        let notes = system.notes(keys);
        let largest = u32::try_from(keys.request_kib / BLOCK_KIB).expect("the range of the key");
        let source = |work, system| Self {
            work,
            system,
            pieces: Vec::new(),
            queue: VecDeque::new(),
            largest,
            notes: notes.clone(),
            stats: SourceStats { clock_epochs: 1, ..SourceStats::default() },
        };
        if keys.stage == Stage::Read {
            let extents = Arc::new(system.into_extents());
            let step = usize::try_from(keys.threads).expect("the range of the key");
            let work = |next| Work::Read { extents: Arc::clone(&extents), next, step };
            return Ok((0..step).map(|thread| source(work(thread), None)).collect());
        }
        let work = Work::new(keys, seed);
        Ok(vec![source(work, Some(Box::new(system)))])
    }

    /// Makes the next operation into pieces; `false` at the end.
    fn fill(&mut self) -> Result<bool, WorkloadError> {
        while self.queue.is_empty() {
            if !self.work.next(self.system.as_deref_mut(), &mut self.pieces)? {
                return Ok(false);
            }
            self.queue.extend(self.pieces.drain(..));
        }
        Ok(true)
    }
}

impl RequestSource for Files {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        if !self.fill()? {
            return Ok(None);
        }
        let piece = self.queue.front_mut().expect("it was filled");
        let blocks = piece.blocks.min(self.largest);
        let request = Request::new(
            piece.op,
            u64::from(piece.first) * u64::from(BLOCK_SECTORS),
            blocks * BLOCK_SECTORS,
        );
        piece.first += blocks;
        piece.blocks -= blocks;
        if piece.blocks == 0 {
            self.queue.pop_front();
        }
        self.stats.requests += 1;
        Ok(Some(request))
    }

    fn stats(&self) -> SourceStats {
        self.stats
    }

    fn extent(&self) -> Option<crate::Extent> {
        Some(self.work.extent())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if let Some(cleaned) = self.system.as_ref().and_then(|system| system.cleaned()) {
            notes.push(format!("the cleaner of the log has emptied {cleaned} segments"));
        }
        notes
    }
}

/// Sizes that are no whole blocks, or contradict one another.
fn check(keys: &FilesKeys) -> Result<(), WorkloadError> {
    let sizes = [
        ("files.mean_kib", keys.mean_kib),
        ("files.min_kib", keys.min_kib),
        ("files.max_kib", keys.max_kib),
        ("files.io_kib", keys.io_kib),
        ("files.request_kib", keys.request_kib),
        ("files.batch_kib", keys.batch_kib),
        ("files.segment_kib", keys.segment_kib),
    ];
    let wrong =
        |key, what: String, fix: &str| Err(WorkloadError::Key { key, what, fix: fix.to_owned() });
    if let Some((key, size)) = sizes.iter().find(|(_, size)| !size.is_multiple_of(BLOCK_KIB)) {
        return wrong(key, format!("{size} KiB are no whole blocks"), "set it to a multiple of 4");
    }
    let FilesKeys { min_kib, max_kib, mean_kib, .. } = *keys;
    if min_kib > max_kib {
        let what = format!("{max_kib} is below files.min_kib = {min_kib}");
        return wrong("files.max_kib", what, "raise it");
    }
    if !(min_kib..=max_kib).contains(&mean_kib) {
        let what = format!("{mean_kib} is not from {min_kib} to {max_kib}, the sizes of files");
        return wrong("files.mean_kib", what, "set it to a size between these");
    }
    if keys.threads > 1 && keys.stage != Stage::Read {
        let what = format!("{} threads would change one file system", keys.threads);
        return wrong("files.threads", what, "set it to 1, or files.stage = \"read\"");
    }
    Ok(())
}

#[cfg(test)]
mod tests;

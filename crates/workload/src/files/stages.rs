//! What the host does with files, stage by stage.

use super::keys::{FilesKeys, Stage};
use super::piece::{BLOCK_KIB, Extent, Piece};
use super::system::System;
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use std::sync::Arc;

/// The work of a stage, an operation at a time.
#[derive(Debug)]
pub(super) enum Work {
    /// Files from `next` on are written.
    Write { next: u32, files: u32 },
    /// A part of `io` blocks of each file in turn is overwritten.
    Update { next: u64, files: u32, all: u64, io: u32, random: SplitMix64 },
    /// Every `step`th file from `next` on is read.
    Read { extents: Arc<Vec<Vec<Extent>>>, next: usize, step: usize },
    /// Several that take turns.
    ByTurns { works: Vec<Self>, next: usize },
    /// Create, append; read, append; read; delete.
    Mail(Box<Mail>),
}

/// The state of stage `mail`.
#[derive(Debug)]
pub(super) struct Mail {
    loops: u64,
    left: u64,
    step: u32,
    io: u32,
    fsync: bool,
    /// Files that there are, and the number that is free.
    live: Vec<u32>,
    free: u32,
    random: SplitMix64,
}

/// The file system in the state in which the stage of the keys begins.
pub(super) fn before(
    keys: &FilesKeys,
    seed: u64,
    capacity_sectors: Option<u64>,
) -> Result<System, WorkloadError> {
    let mut system = System::new(keys, seed, capacity_sectors)?;
    let earlier: &[Stage] = match keys.stage {
        Stage::Write => &[],
        Stage::Update | Stage::Mail => &[Stage::Write],
        Stage::Read => &[Stage::Write, Stage::Update],
    };
    for &stage in earlier {
        let mut work = Work::new(&FilesKeys { stage, ..*keys }, seed);
        let mut pieces = Vec::new();
        while work.next(Some(&mut system), &mut pieces)? {
            pieces.clear();
        }
    }
    Ok(system)
}

impl Work {
    pub(super) fn new(keys: &FilesKeys, seed: u64) -> Self {
        let files = u32::try_from(keys.files).expect("the range of the key");
        let io = u32::try_from(keys.io_kib / BLOCK_KIB).expect("the range of the key");
        match keys.stage {
            Stage::Write => Self::Write { next: 0, files },
            Stage::Update => {
                let all = keys.updates * keys.files;
                Self::Update { next: 0, files, all, io, random: SplitMix64::stream(seed, 2) }
            }
            Stage::Read => Self::ByTurns { works: Vec::new(), next: 0 },
            Stage::Mail => Self::Mail(Box::new(Mail {
                loops: keys.loops,
                left: keys.loops,
                step: 0,
                io,
                fsync: keys.fsync,
                live: (0..files).collect(),
                free: files,
                random: SplitMix64::stream(seed, 3),
            })),
        }
    }

    /// Adds what the next operation does; `false` where there is none.
    pub(super) fn next(
        &mut self,
        system: Option<&mut System>,
        out: &mut Vec<Piece>,
    ) -> Result<bool, WorkloadError> {
        match self {
            Self::Read { extents, next, step } => {
                let Some(file) = extents.get(*next) else { return Ok(false) };
                out.extend(file.iter().copied().map(Piece::read));
                *next += *step;
                Ok(true)
            }
            Self::ByTurns { works, next } => {
                for _ in 0..works.len() {
                    let place = *next % works.len();
                    *next += 1;
                    if works[place].next(None, out)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            changing => {
                let system = system.expect("a stage that changes files has a system");
                changing.change(system, out)
            }
        }
    }

    /// How many files, updates or loops are done. Stages that take turns count as the first of
    /// them, since all are about equally far.
    pub(super) fn extent(&self) -> crate::Extent {
        let (done, of) = match self {
            Self::Write { next, files } => ((*next).into(), (*files).into()),
            Self::Update { next, all, .. } => (*next, *all),
            Self::Read { extents, next, .. } => (*next as u64, extents.len() as u64),
            Self::ByTurns { works, .. } => {
                return works.first().map_or_else(crate::Extent::default, Self::extent);
            }
            Self::Mail(mail) => (mail.loops - mail.left, mail.loops),
        };
        crate::Extent { done, of }
    }

    fn change(&mut self, system: &mut System, out: &mut Vec<Piece>) -> Result<bool, WorkloadError> {
        match self {
            Self::Write { next, files } => {
                if next > files {
                    return Ok(false);
                }
                if next == files {
                    system.sync(out)?;
                } else {
                    system.create(*next);
                    system.append(*next, system.first_size(*next), out)?;
                }
                *next += 1;
            }
            Self::Update { next, files, all, io, random } => {
                if *next > *all {
                    return Ok(false);
                }
                if *next == *all {
                    system.sync(out)?;
                } else {
                    let file = u32::try_from(*next % u64::from(*files)).expect("files fit");
                    let size = system.size(file);
                    let slots = size.div_ceil(*io);
                    let slot = u32::try_from(random.below(slots.into())).expect("below 32 bits");
                    let first = slot * *io;
                    system.write(file, first, (*io).min(size - first), out)?;
                }
                *next += 1;
            }
            Self::Mail(mail) => return mail.next(system, out),
            Self::Read { .. } | Self::ByTurns { .. } => unreachable!("reading changes nothing"),
        }
        Ok(true)
    }
}

impl Mail {
    fn next(&mut self, system: &mut System, out: &mut Vec<Piece>) -> Result<bool, WorkloadError> {
        if self.left == 0 {
            return Ok(false);
        }
        match self.step {
            0 => {
                let file = self.free;
                system.create(file);
                self.append(file, system, out)?;
                self.live.push(file);
            }
            1 => {
                let file = self.live[self.random.below_usize(self.live.len())];
                system.read(file, out);
                self.append(file, system, out)?;
            }
            2 => {
                let file = self.live[self.random.below_usize(self.live.len())];
                system.read(file, out);
            }
            _ => {
                let place = self.random.below_usize(self.live.len());
                self.free = self.live.swap_remove(place);
                system.delete(self.free);
                self.left -= 1;
            }
        }
        self.step = (self.step + 1) % 4;
        Ok(true)
    }

    /// Appends to a file and waits until that is durable.
    fn append(
        &self,
        file: u32,
        system: &mut System,
        out: &mut Vec<Piece>,
    ) -> Result<(), WorkloadError> {
        system.append(file, self.io, out)?;
        if self.fsync {
            system.sync(out)?;
            Piece::FLUSH.add_to(out);
        }
        Ok(())
    }
}

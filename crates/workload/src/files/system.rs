//! A file system: files, their blocks, and the layout that places them.

use super::ext2::Ext2;
use super::keys::{FilesKeys, Layout};
use super::log::{Log, NOWHERE};
use super::piece::{BLOCK_KIB, BLOCK_SECTORS, Extent, Piece, extents_of};
use crate::error::WorkloadError;
use crate::random::SplitMix64;
use crate::words::counted;

/// What places files.
#[derive(Clone, Debug)]
enum Places {
    Ext2(Ext2),
    Log(Box<Log>),
}

/// Files by number, and behind them the directory of a log.
#[derive(Clone, Debug)]
pub(super) struct System {
    places: Places,
    /// The block of each block of a file; those of a log that are not appended yet are nowhere.
    files: Vec<Vec<u32>>,
    /// Blocks of files at first.
    sizes: Vec<u32>,
    /// Blocks that were written and not synchronised, and how many may be.
    collected: u64,
    batch: u64,
}

/// Files beside those that are there at first: the one that stage `mail` creates before it deletes
/// another.
const SPARE: u32 = 1;

/// Blocks of a size.
fn blocks(kib: u64) -> u32 {
    u32::try_from(kib / BLOCK_KIB).expect("the range of the keys")
}

/// Sizes of files in blocks.
fn sizes(keys: &FilesKeys, seed: u64) -> Vec<u32> {
    let mut random = SplitMix64::stream(seed, 1);
    let range = keys.min_kib..=keys.max_kib;
    let size = |_| {
        if keys.min_kib == keys.max_kib {
            return blocks(keys.min_kib);
        }
        loop {
            let kib = random.exponential() * keys.mean_kib as f64;
            // Below 37 times the greatest mean.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited")]
            let kib = (kib / BLOCK_KIB as f64).round() as u64 * BLOCK_KIB;
            if range.contains(&kib) {
                return blocks(kib);
            }
        }
    };
    (0..keys.files).map(size).collect()
}

impl System {
    /// The files of these keys, none of which is written, on a device of so many sectors.
    pub(super) fn new(
        keys: &FilesKeys,
        seed: u64,
        capacity_sectors: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        let sizes = sizes(keys, seed);
        let all: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        Self::empty(keys, sizes, area(keys, all, capacity_sectors)?)
    }

    /// No file in so many blocks.
    fn empty(keys: &FilesKeys, sizes: Vec<u32>, area: u32) -> Result<Self, WorkloadError> {
        let count = u32::try_from(keys.files).expect("the range of the key") + SPARE;
        let places = match keys.layout {
            Layout::Ext2 => Ext2::new(area, count).map(Places::Ext2),
            Layout::Log => {
                let segment = blocks(keys.segment_kib);
                let log = Log::new(
                    area,
                    count,
                    segment,
                    keys.clean_percent.ppm(),
                    keys.checkpoint_writes,
                );
                log.map(|log| Places::Log(Box::new(log)))
            }
        };
        let places = places.ok_or_else(full)?;
        Ok(Self {
            places,
            files: vec![Vec::new(); count as usize + 1],
            sizes,
            collected: 0,
            batch: keys.batch_kib / BLOCK_KIB,
        })
    }

    /// Blocks of a file at first.
    pub(super) fn first_size(&self, file: u32) -> u32 {
        self.sizes[file as usize]
    }

    /// Blocks of a file.
    pub(super) fn size(&self, file: u32) -> u32 {
        u32::try_from(self.files[file as usize].len()).expect("files are limited")
    }

    /// A file gets a name and an inode.
    pub(super) fn create(&mut self, file: u32) {
        match &mut self.places {
            Places::Ext2(ext2) => ext2.touch_name(file),
            Places::Log(log) => log.touch_name(file, &mut self.files),
        }
    }

    /// A file loses them and its blocks.
    pub(super) fn delete(&mut self, file: u32) {
        let blocks = std::mem::take(&mut self.files[file as usize]);
        match &mut self.places {
            Places::Ext2(ext2) => {
                ext2.give_back(&blocks);
                ext2.touch_name(file);
            }
            Places::Log(log) => {
                log.delete(file, &blocks);
                log.touch_name(file, &mut self.files);
            }
        }
    }

    /// So many blocks are written behind the end of a file.
    pub(super) fn append(
        &mut self,
        file: u32,
        count: u32,
        out: &mut Vec<Piece>,
    ) -> Result<(), WorkloadError> {
        let size = self.size(file);
        if let Places::Ext2(ext2) = &mut self.places {
            let blocks = &mut self.files[file as usize];
            let goal = blocks.last().map(|last| last + 1);
            let new = ext2.allocate(file, goal, count).ok_or_else(full)?;
            blocks.extend(new);
        } else {
            self.files[file as usize].extend((0..count).map(|_| NOWHERE));
        }
        self.write(file, size, count, out)
    }

    /// Blocks of a file are written.
    pub(super) fn write(
        &mut self,
        file: u32,
        first: u32,
        count: u32,
        out: &mut Vec<Piece>,
    ) -> Result<(), WorkloadError> {
        match &mut self.places {
            Places::Ext2(ext2) => {
                let range = first as usize..(first + count) as usize;
                for &block in &self.files[file as usize][range] {
                    Piece::write(block).add_to(out);
                }
                ext2.touch_inode(file);
                self.collected += u64::from(count);
            }
            Places::Log(log) => {
                (first..first + count).for_each(|index| log.write(file, index));
                self.collected = log.pending() as u64;
            }
        }
        if self.collected >= self.batch { self.sync(out) } else { Ok(()) }
    }

    /// All that was written reaches the device.
    pub(super) fn sync(&mut self, out: &mut Vec<Piece>) -> Result<(), WorkloadError> {
        self.collected = 0;
        match &mut self.places {
            Places::Ext2(ext2) => {
                ext2.take_dirty(out);
                Ok(())
            }
            Places::Log(log) => log.sync(&mut self.files, out).ok_or_else(full),
        }
    }

    /// A file is read from its start to its end.
    pub(super) fn read(&self, file: u32, out: &mut Vec<Piece>) {
        for extent in extents_of(&self.files[file as usize]) {
            if extent.0 != NOWHERE {
                Piece::read(extent).add_to(out);
            }
        }
    }

    /// The pieces of each file of the host.
    pub(super) fn into_extents(self) -> Vec<Vec<Extent>> {
        let files = self.files.iter().take(self.sizes.len());
        files.map(|blocks| extents_of(blocks).collect()).collect()
    }

    /// Segments that the cleaner of a log has emptied, where it has any.
    pub(super) fn cleaned(&self) -> Option<u64> {
        match &self.places {
            Places::Log(log) if log.cleaned > 0 => Some(log.cleaned),
            _ => None,
        }
    }

    /// What a reader should know of the state in which the stage begins.
    pub(super) fn notes(&self, keys: &FilesKeys) -> Vec<String> {
        let files = self.files.iter().take(self.sizes.len()).filter(|blocks| !blocks.is_empty());
        let (mut count, mut extents, mut all) = (0u64, 0, 0);
        for blocks in files {
            count += 1;
            extents += extents_of(blocks).count();
            all += blocks.len();
        }
        if count == 0 {
            return Vec::new();
        }
        let mean = extents as f64 / count as f64;
        let mib = all as f64 * BLOCK_KIB as f64 / 1_024.0;
        let stage = keys.stage.word();
        vec![format!(
            "stage {stage} begins with {} of {mib:.0} MiB in all, {mean:.1} extents each",
            counted(count, "file")
        )]
    }
}

/// Blocks of the area of the file system.
fn area(keys: &FilesKeys, files: u64, capacity: Option<u64>) -> Result<u32, WorkloadError> {
    let device = capacity.map_or(u64::MAX, |sectors| sectors / u64::from(BLOCK_SECTORS));
    // Room for groups, segments and what is created.
    let wanted = (4 * files).max(2_048) + 2_048;
    let area = match keys.area_mib {
        0 => wanted.min(device),
        mib => mib << 8,
    };
    let wrong = |what: String, fix: &str| {
        Err(WorkloadError::Key { key: "files.area_mib", what, fix: fix.to_owned() })
    };
    if area > device {
        let what = format!("the device has only {} MiB", device >> 8);
        return wrong(what, "lower it, or take a larger device");
    }
    if area < files + files / 8 {
        let (area, files, all) = (area >> 8, files >> 8, (files + files / 8).div_ceil(256));
        let what = format!(
            "{area} MiB have no room for files of {files} MiB, which take {all} MiB with an eighth \
             left free"
        );
        return wrong(what, "lower files.files or the sizes of files, or take a larger device");
    }
    u32::try_from(area).or_else(|_| {
        wrong(format!("{} MiB are more blocks than 32 bits count", area >> 8), "lower it")
    })
}

/// The file system has no room left.
fn full() -> WorkloadError {
    WorkloadError::Key {
        key: "files.area_mib",
        what: "the file system has no room left".to_owned(),
        fix: "raise it, or lower files.files or files.mean_kib".to_owned(),
    }
}

//! The journal of a sweep: a line for each run that is finished. It is written at once, so that a
//! program that is stopped loses nothing, and it is on the disk within 0.1 s and a sync.
//!
//! Shards of a sweep have a journal each, in one folder. Whoever opens one of them reads all, and
//! writes its own.
//!
//! A line names its run by a hash of all that decides its result: settings, workload, seed,
//! preparation, and the program itself. So a run of an edited sweep is taken over if nothing
//! changed that it depends on. A line that was not written to its end is cut off.
//!
//! Each line begins with a checksum over the header and itself. A line whose checksum is wrong
//! counts for nothing, wherever it stands: its run is done again.

use super::flush::Flusher;
use super::plan::Name;
use super::shard::Shard;
use crate::error::wrong;
use crate::figure::Figure;
use crate::hash;
use crate::headline;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the name of a journal ends in.
pub const END: &str = ".journal";

/// Raised when a line changes its meaning.
const FORMAT: u32 = 3;

/// The first line.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Header {
    journal: String,
    format: u32,
    /// The names of the figures of a line.
    figures: Vec<String>,
    /// Those of a stream.
    of_streams: Vec<String>,
}

impl Header {
    fn new() -> Self {
        let figures = headline::ALL.iter().map(|headline| headline.name.clone()).collect();
        let of_streams = headline::of_streams().map(|headline| headline.name.clone()).collect();
        Self { journal: "flashyard sweep".to_string(), format: FORMAT, figures, of_streams }
    }
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// By headline.
    pub values: Vec<Option<f64>>,
    /// The figures that streams have, by stream, if there are several.
    pub streams: BTreeMap<String, Vec<Option<f64>>>,
    /// Warnings of the verdict: what is wrong, and by how much, which may be empty.
    pub warnings: Vec<(String, String)>,
    /// SHA-256 over the requests.
    pub workload: String,
    /// The reason of a failure. A run that failed has nothing else.
    pub failed: Option<String>,
}

impl Found {
    /// A figure of the run, if it is defined. Of a stream that the run does not have it is not.
    pub fn figure(&self, figure: &Figure) -> Option<f64> {
        let values = match figure.stream() {
            None => &self.values,
            Some(stream) => self.streams.get(stream)?,
        };
        values.get(figure.place()).copied().flatten()
    }
}

/// A run as a line has it. Figures are texts: those come back bit by bit.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    run: String,
    values: Vec<Option<String>>,
    streams: BTreeMap<String, Vec<Option<String>>>,
    warnings: Vec<(String, String)>,
    workload: String,
    failed: Option<String>,
}

impl Line {
    fn new(run: &Name, found: &Found) -> Self {
        let streams = found.streams.iter();
        Self {
            run: hash::hex(run),
            values: texts(&found.values),
            streams: streams.map(|(name, values)| (name.clone(), texts(values))).collect(),
            warnings: found.warnings.clone(),
            workload: found.workload.clone(),
            failed: found.failed.clone(),
        }
    }

    fn found(self) -> Option<(Name, Found)> {
        let values = numbers(self.values)?;
        let streams = self.streams.into_iter();
        let streams = streams.map(|(name, texts)| Some((name, numbers(texts)?)));
        let streams = streams.collect::<Option<_>>()?;
        let Self { run, warnings, workload, failed, .. } = self;
        let mut name = Name::default();
        for (place, byte) in name.iter_mut().enumerate() {
            *byte = u8::from_str_radix(run.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some((name, Found { values, streams, warnings, workload, failed }))
    }
}

fn texts(values: &[Option<f64>]) -> Vec<Option<String>> {
    values.iter().map(|value| value.map(|value| value.to_string())).collect()
}

/// The values that texts stand for, if all of them do.
fn numbers(texts: Vec<Option<String>>) -> Option<Vec<Option<f64>>> {
    let number = |text: Option<String>| text.map_or(Some(None), |text| text.parse().ok().map(Some));
    texts.into_iter().map(number).collect()
}

/// Letters of the checksum of a line, and the space behind it.
const CHECKSUM: usize = 16;

/// A line with its checksum: the first 64 bits of SHA-256 over the header and the line.
fn checked(header: &str, line: &str) -> String {
    let hash = Sha256::new().chain_update(header).chain_update(line).finalize();
    format!("{} {line}\n", &hash::hex(&hash)[..CHECKSUM])
}

/// What the checksum of a whole line is right for.
fn verified<'a>(header: &str, line: &'a [u8]) -> Option<&'a str> {
    let line = std::str::from_utf8(line).ok()?;
    let text = line.get(CHECKSUM + 1..)?.strip_suffix('\n')?;
    (checked(header, text) == line).then_some(text)
}

/// Where the journal of a sweep is.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder whose journals are read, if the sweep has one; all names that end in [`END`] are
    /// journals.
    folder: Option<PathBuf>,
    /// The journal that is written.
    file: PathBuf,
    /// Whether it is told which journals of the folder others write meanwhile. Shards expect that.
    tells_busy: bool,
}

impl Place {
    /// A journal alone.
    pub const fn file(file: PathBuf) -> Self {
        Self { folder: None, file, tells_busy: false }
    }

    /// The journal of a sweep of this name, or of a shard of it, in a folder of journals. The
    /// folder is made when the journal is opened.
    pub fn folder(folder: &Path, name: &str, shard: Option<Shard>) -> Self {
        let shard_name = shard.map_or_else(String::new, Shard::file_name);
        let file = folder.join(format!("{name}{shard_name}{END}"));
        Self { folder: Some(folder.to_path_buf()), file, tells_busy: shard.is_none() }
    }

    /// The journal that is written.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The journals of the folder that are only read, by name. Without a folder there are none.
    fn others(&self) -> Result<Vec<PathBuf>> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let say = || format!("{}: the folder of journals cannot be read", folder.display());
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(say)?,
        };
        let mut others = Vec::new();
        for entry in entries {
            let path = entry.with_context(say)?.path();
            let is_journal = path.as_os_str().to_string_lossy().ends_with(END);
            if is_journal && path != self.file {
                others.push(path);
            }
        }
        others.sort();
        Ok(others)
    }
}

/// The runs that are finished, and the file to which further ones are added.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<(Arc<File>, Flusher)>,
    /// The first line, without its end.
    header: String,
    found: BTreeMap<Name, Found>,
    remarks: Vec<String>,
}

impl Journal {
    /// Opens the journal at a place, or makes it. No other process may write it meanwhile. Other
    /// journals of its folder are read as they are now; they may be written meanwhile.
    ///
    /// Errors: the journal is in use, is none of this version, or cannot be read or written.
    pub fn open(place: &Place) -> Result<Self> {
        let path = place.path();
        let say = || format!("{}: the journal cannot be written", path.display());
        if let Some(folder) = &place.folder {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).with_context(say)?;
        if !is_ours_alone(&file) {
            let what = "another sweep is writing it; wait for its end, or name another journal \
                        (--out, --journal or --shard)";
            return Err(wrong(&format!("{}: {what}", path.display())));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(say)?;
        let mut journal = Self::empty(path)?;
        let whole = journal.take(path, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).with_context(say)?;
        }
        file.seek(SeekFrom::End(0)).with_context(say)?;
        journal.take_others(place)?;
        let file = Arc::new(file);
        let flusher = Flusher::new(Arc::clone(&file)).with_context(say)?;
        journal.file = Some((file, flusher));
        if whole == 0 {
            journal.write("")?;
        }
        Ok(journal)
    }

    /// What the journals at a place have, without touching them.
    ///
    /// Errors: one of them is none of this version, or cannot be read.
    pub fn look(place: &Place) -> Result<Self> {
        let path = place.path();
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes.with_context(|| format!("{}", path.display()))?,
        };
        let mut journal = Self::empty(path)?;
        journal.take(path, &bytes)?;
        journal.take_others(place)?;
        Ok(journal)
    }

    /// A journal without runs, which is written nowhere.
    fn empty(path: &Path) -> Result<Self> {
        let header = serde_json::to_string(&Header::new())?;
        let (found, remarks) = (BTreeMap::new(), Vec::new());
        Ok(Self { path: path.to_path_buf(), file: None, header, found, remarks })
    }

    /// Takes over the runs of a journal that are not known yet. Returns the length of its whole
    /// lines in bytes.
    fn take(&mut self, path: &Path, bytes: &[u8]) -> Result<usize> {
        let Contents { found, whole, damaged } = read(path, bytes)?;
        self.remarks.extend(damaged);
        for (run, one) in found {
            self.found.entry(run).or_insert(one);
        }
        Ok(whole)
    }

    fn take_others(&mut self, place: &Place) -> Result<()> {
        let mut busy = Vec::new();
        for path in place.others()? {
            let say = || format!("{}: the journal cannot be read", path.display());
            let mut file = File::open(&path).with_context(say)?;
            if place.tells_busy && is_written(&file) {
                busy.push(path.display().to_string());
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).with_context(say)?;
            self.take(&path, &bytes)?;
        }
        if let Some(first) = busy.first() {
            let more = match busy.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.remarks.push(format!(
                "note: {first}{more}: still being written; runs that are added from now on are \
                 done here, too"
            ));
        }
        Ok(())
    }

    /// What is to be known of the journals that were read, a sentence each: lines that are damaged
    /// and so count for nothing, journals that other processes write.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the results of a run, if it is finished.
    pub fn found(&self, run: &Name) -> Option<&Found> {
        self.found.get(run)
    }

    /// The names of all runs that are finished.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.found.keys()
    }

    /// Whether it has no run at all.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds a run. It is on the disk 0.1 s and a sync later.
    ///
    /// Errors: those of the file system, of this line or of an earlier sync.
    pub fn add(&mut self, run: &Name, found: Found) -> Result<()> {
        let line = serde_json::to_string(&Line::new(run, &found))?;
        self.write(&line)?;
        self.found.insert(*run, found);
        Ok(())
    }

    /// Brings all runs to the disk; none is added any more. Dropping a journal does the same, but
    /// tells of no error.
    pub fn finish(&mut self) -> Result<()> {
        let Some((_, mut flusher)) = self.file.take() else { return Ok(()) };
        flusher.finish().with_context(|| self.not_written())?;
        Ok(())
    }

    /// Adds a line, or the header in place of an empty one.
    fn write(&mut self, line: &str) -> Result<()> {
        let Some((file, flusher)) = &self.file else { return Ok(()) };
        let line = match line {
            "" => format!("{}\n", self.header),
            line => checked(&self.header, line),
        };
        let written = (&**file).write_all(line.as_bytes()).and_then(|()| flusher.wrote());
        written.with_context(|| self.not_written())
    }

    fn not_written(&self) -> String {
        format!("{}: the journal cannot be written", self.path.display())
    }
}

/// Whether the lock of a journal could be had. A file system without locks is used without.
fn is_ours_alone(file: &File) -> bool {
    // Whoever asks whether it is written holds its lock for an instant.
    const TRIES: u32 = 20;
    (0..TRIES).any(|again| {
        std::thread::sleep(Duration::from_millis(10) * again.min(1));
        !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    })
}

/// Whether another process writes a journal.
fn is_written(file: &File) -> bool {
    let locked = file.try_lock_shared();
    // Without a lock there is nothing to give back.
    let _ = file.unlock();
    matches!(locked, Err(TryLockError::WouldBlock))
}

/// What the bytes of a journal say.
struct Contents {
    found: BTreeMap<Name, Found>,
    /// How many of the bytes are whole lines, right or damaged.
    whole: usize,
    /// Which lines are damaged, as a remark.
    damaged: Option<String>,
}

fn read(path: &Path, bytes: &[u8]) -> Result<Contents> {
    let header = serde_json::to_string(&Header::new())?;
    let first = format!("{header}\n");
    // Stopped while the first line was written.
    if first.as_bytes().starts_with(bytes) && bytes.len() < first.len() {
        return Ok(Contents { found: BTreeMap::new(), whole: 0, damaged: None });
    }
    let (mut found, mut damaged) = (BTreeMap::new(), Vec::new());
    let mut whole = 0;
    let mut is_ours = false;
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let is_first = number == 1 && line == first.as_bytes();
        let read = || serde_json::from_str::<Line>(verified(&header, line)?).ok()?.found();
        if is_first {
            is_ours = true;
        } else if let Some((run, one)) = read() {
            is_ours = true;
            found.insert(run, one);
        } else if line.ends_with(b"\n") {
            damaged.push(number.to_string());
        } else {
            break;
        }
        whole += line.len();
    }
    if !is_ours {
        return Err(wrong(&format!(
            "{}: it is no journal of this version of flashyard; remove it, or name another \
             --out or --journal",
            path.display()
        )));
    }
    let damaged = (!damaged.is_empty()).then(|| {
        let lines = damaged.join(", ");
        format!("{}: damaged in line {lines}; runs of such lines are done again", path.display())
    });
    Ok(Contents { found, whole, damaged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const RUNS: [Name; 3] = [[1; 32], [0xa2; 32], [255; 32]];

    fn open(path: &Path) -> Result<Journal> {
        Journal::open(&Place::file(path.to_path_buf()))
    }

    fn found(value: f64) -> Found {
        let values = vec![Some(value), None];
        let streams = [("a".to_string(), vec![None, Some(value / 3.0)])].into();
        let warnings = vec![("a\nb".to_string(), "1 %".to_string())];
        Found { values, streams, warnings, ..Found::default() }
    }

    /// Cut off after any number of bytes, a journal has the lines that are whole, and goes on.
    #[test]
    fn a_journal_that_was_cut_off_anywhere_goes_on() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("j");
        let values = [0.1 + 0.2, 1e300, 5e-324];
        let mut journal = open(&path).unwrap();
        for (run, value) in RUNS.iter().zip(values) {
            journal.add(run, found(value)).unwrap();
        }
        drop(journal);
        let all = std::fs::read(&path).unwrap();
        let header = all.iter().position(|byte| *byte == b'\n').unwrap();
        for length in (0..=all.len()).filter(|length| *length > header - 2 || length % 97 == 0) {
            std::fs::write(&path, &all[..length]).unwrap();
            let mut journal = open(&path).unwrap();
            let lines = all[..length].split(|byte| *byte == b'\n').count() - 1;
            assert_eq!(journal.found.len(), lines.saturating_sub(1), "{length}");
            for (run, value) in RUNS.iter().zip(values) {
                if journal.found(run).is_none() {
                    journal.add(run, found(value)).unwrap();
                }
                assert_eq!(journal.found(run), Some(&found(value)));
            }
            drop(journal);
            assert!(std::fs::read(&path).unwrap() == all, "{length}");
        }
    }

    /// Any byte of a journal may be another one: what is found is what was written, or is not found
    /// and done again. Lines behind a damaged one count.
    #[test]
    fn a_damaged_line_costs_its_own_run_alone() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("j");
        let mut journal = open(&path).unwrap();
        for run in &RUNS {
            journal.add(run, found(2.5)).unwrap();
        }
        drop(journal);
        let all = std::fs::read(&path).unwrap();
        for at in 0..all.len() {
            for other in [all[at] ^ 1, b'0', b' ', b'\n'] {
                if other == all[at] {
                    continue;
                }
                let mut bytes = all.clone();
                bytes[at] = other;
                let Contents { found: read, damaged, .. } = read(&path, &bytes).unwrap();
                assert!(read.values().all(|one| *one == found(2.5)), "{at} {other}");
                // A line end that is another byte joins two lines.
                let lost = if at + 1 < all.len() && all[at] == b'\n' { 2 } else { 1 };
                assert!(read.len() >= RUNS.len() - lost, "{at} {other}");
                let is_cut = at + 1 == all.len();
                assert!(is_cut || damaged.is_some(), "{at} {other}");
            }
        }
    }

    #[test]
    fn other_files_and_journals_in_use_are_refused() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("j");
        std::fs::write(&path, "something else\n").unwrap();
        assert!(open(&path).unwrap_err().to_string().contains("it is no journal"));
        assert!(Journal::look(&Place::file(path.clone())).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"something else\n");
        let path = folder.path().join("k");
        let first = open(&path).unwrap();
        let second = open(&path).unwrap_err().to_string();
        assert!(first.is_empty() && second.contains("another sweep is writing it"), "{second}");
        assert!(Journal::look(&Place::file(folder.path().join("none"))).unwrap().is_empty());
    }

    /// Each shard writes its own journal and knows what all others have finished, whoever wrote it:
    /// a line that was not written to its end is nothing to others, and is cut off by its owner.
    #[test]
    fn journals_of_a_folder_are_read_by_all_and_written_by_one() {
        let folder = TempDir::new().unwrap();
        let dir = folder.path().join("new/runs");
        let shard = |number| Place::folder(&dir, "s", Some(Shard::new(number, 2).unwrap()));
        let whole = Place::folder(&dir, "s", None);
        assert!(Journal::look(&whole).unwrap().is_empty());
        let (mut one, mut two) =
            (Journal::open(&shard(1)).unwrap(), Journal::open(&shard(2)).unwrap());
        one.add(&RUNS[0], found(1.0)).unwrap();
        two.add(&RUNS[1], found(2.0)).unwrap();
        assert!(Journal::open(&shard(1)).is_err());
        let seen = Journal::open(&whole).unwrap();
        let note = format!("note: {} and 1 more: still being", shard(1).path().display());
        assert!(seen.remarks().len() == 1 && seen.remarks()[0].starts_with(&note), "{seen:?}");
        for (run, value) in RUNS.iter().zip([Some(1.0), Some(2.0), None]) {
            assert_eq!(seen.found(run), value.map(found).as_ref());
        }
        two.finish().unwrap();
        drop((one, two, seen));
        let mut torn = std::fs::read(shard(1).path()).unwrap();
        torn.truncate(torn.len() - 9);
        std::fs::write(shard(1).path(), &torn).unwrap();
        let seen = Journal::open(&shard(2)).unwrap();
        assert!(seen.found(&RUNS[0]).is_none() && seen.found(&RUNS[1]).is_some());
        assert!(seen.remarks().is_empty(), "{seen:?}");
        assert!(std::fs::read(shard(1).path()).unwrap() == torn, "it belongs to another one");
        let mut one = Journal::open(&shard(1)).unwrap();
        one.add(&RUNS[0], found(1.0)).unwrap();
        drop(one);
        assert_eq!(Journal::look(&whole).unwrap().found.len(), 2);
    }

    #[test]
    fn a_file_of_a_folder_that_is_no_journal_is_named() {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("x.journal"), "something else\n").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "something else\n").unwrap();
        let error = Journal::open(&Place::folder(folder.path(), "s", None)).unwrap_err();
        assert!(error.to_string().contains("x.journal: it is no journal of this"), "{error}");
    }
}

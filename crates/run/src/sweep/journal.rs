//! The journal of a sweep: a line for each run that is finished. It is written at once, so that a
//! program that is stopped loses nothing, and it is on the disk within 200 ms.
//!
//! A line names its run by a hash of all that decides its result: settings, workload, seed,
//! preparation, and the program itself. So a run of an edited sweep is taken over if nothing
//! changed that it depends on. A line that was not written to its end is cut off.
//!
//! Each line begins with a checksum over the header and itself. A line whose checksum is wrong
//! counts for nothing, wherever it stands: its run is done again.

use super::plan::Name;
use crate::error::wrong;
use crate::hash;
use crate::headline;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a line may not be on the disk yet: syncing each would take longer than short runs do.
const SYNC: Duration = Duration::from_millis(200);

/// Raised when a line changes its meaning.
const FORMAT: u32 = 2;

/// The first line.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Header {
    journal: String,
    format: u32,
    /// The names of the figures of a line.
    figures: Vec<String>,
}

impl Header {
    fn new() -> Self {
        let figures = headline::ALL.iter().map(|headline| headline.name.clone()).collect();
        Self { journal: "flashyard sweep".to_string(), format: FORMAT, figures }
    }
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// By headline.
    pub values: Vec<Option<f64>>,
    /// Warnings of the verdict.
    pub warnings: Vec<String>,
    /// SHA-256 over the requests.
    pub workload: String,
    /// The reason of a failure. A run that failed has nothing else.
    pub failed: Option<String>,
}

/// A run as a line has it. Figures are texts: those come back bit by bit.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    run: String,
    values: Vec<Option<String>>,
    warnings: Vec<String>,
    workload: String,
    failed: Option<String>,
}

impl Line {
    fn new(run: &Name, found: &Found) -> Self {
        let values = found.values.iter().map(|value| value.map(|value| value.to_string()));
        Self {
            run: hash::hex(run),
            values: values.collect(),
            warnings: found.warnings.clone(),
            workload: found.workload.clone(),
            failed: found.failed.clone(),
        }
    }

    fn found(self) -> Option<(Name, Found)> {
        let number = |value: Option<String>| match value {
            None => Some(None),
            Some(text) => text.parse().ok().map(Some),
        };
        let values = self.values.into_iter().map(number).collect::<Option<Vec<_>>>()?;
        let Self { run, warnings, workload, failed, .. } = self;
        let mut name = Name::default();
        for (place, byte) in name.iter_mut().enumerate() {
            *byte = u8::from_str_radix(run.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some((name, Found { values, warnings, workload, failed }))
    }
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

/// The runs that are finished, and the file to which further ones are added.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    /// The first line, without its end.
    header: String,
    /// When it was last brought to the disk.
    synced: Option<Instant>,
    found: BTreeMap<Name, Found>,
    damaged: Option<String>,
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What cannot be brought to the disk now is done again.
        let _ = self.file.as_ref().map(File::sync_data);
    }
}

impl Journal {
    /// Opens the journal at `path`, or makes it. No other process may use it meanwhile.
    pub fn open(path: &Path) -> Result<Self> {
        let say = || format!("{}: the journal cannot be written", path.display());
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).with_context(say)?;
        // A file system without locks is used without.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let what = "another sweep is writing it; wait for its end, or name another --out";
            return Err(wrong(&format!("{}: {what}", path.display())));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(say)?;
        let Contents { found, whole, damaged } = read(path, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).with_context(say)?;
        }
        file.seek(SeekFrom::End(0)).with_context(say)?;
        let header = serde_json::to_string(&Header::new())?;
        let mut journal = Self {
            path: path.to_path_buf(),
            file: Some(file),
            header,
            synced: None,
            found,
            damaged,
        };
        if whole == 0 {
            journal.write("")?;
        }
        Ok(journal)
    }

    /// What the journal at `path` has, without touching it.
    pub fn look(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes.with_context(|| format!("{}", path.display()))?,
        };
        let Contents { found, damaged, .. } = read(path, &bytes)?;
        let header = serde_json::to_string(&Header::new())?;
        Ok(Self { path: path.to_path_buf(), file: None, header, synced: None, found, damaged })
    }

    /// Which of its lines are damaged and so count for nothing, as a sentence.
    pub fn damaged(&self) -> Option<&str> {
        self.damaged.as_deref()
    }

    /// Returns the results of a run, if it is finished.
    pub fn found(&self, run: &Name) -> Option<&Found> {
        self.found.get(run)
    }

    /// Whether it has no run at all.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds a run.
    pub fn add(&mut self, run: &Name, found: Found) -> Result<()> {
        let line = serde_json::to_string(&Line::new(run, &found))?;
        self.write(&line)?;
        self.found.insert(*run, found);
        Ok(())
    }

    /// Adds a line, or the header in place of an empty one.
    fn write(&mut self, line: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = match line {
            "" => format!("{}\n", self.header),
            line => checked(&self.header, line),
        };
        let mut written = file.write_all(line.as_bytes());
        if self.synced.is_none_or(|synced| synced.elapsed() > SYNC) {
            written = written.and_then(|()| file.sync_data());
            self.synced = Some(Instant::now());
        }
        written.with_context(|| format!("{}: the journal cannot be written", self.path.display()))
    }
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
            "{}: it is no journal of this version of flashyard; remove it, or name another --out",
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

    fn found(value: f64) -> Found {
        let values = vec![Some(value), None];
        Found { values, warnings: vec!["a\nb".into()], ..Found::default() }
    }

    /// Cut off after any number of bytes, a journal has the lines that are whole, and goes on.
    #[test]
    fn a_journal_that_was_cut_off_anywhere_goes_on() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("j");
        let values = [0.1 + 0.2, 1e300, 5e-324];
        let mut journal = Journal::open(&path).unwrap();
        for (run, value) in RUNS.iter().zip(values) {
            journal.add(run, found(value)).unwrap();
        }
        drop(journal);
        let all = std::fs::read(&path).unwrap();
        let header = all.iter().position(|byte| *byte == b'\n').unwrap();
        for length in (0..=all.len()).filter(|length| *length > header - 2 || length % 97 == 0) {
            std::fs::write(&path, &all[..length]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
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
        let mut journal = Journal::open(&path).unwrap();
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
        assert!(Journal::open(&path).unwrap_err().to_string().contains("it is no journal"));
        assert!(Journal::look(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"something else\n");
        let path = folder.path().join("k");
        let first = Journal::open(&path).unwrap();
        let second = Journal::open(&path).unwrap_err().to_string();
        assert!(first.is_empty() && second.contains("another sweep is writing it"), "{second}");
        assert!(Journal::look(&folder.path().join("none")).unwrap().is_empty());
    }
}

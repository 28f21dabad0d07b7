//! The journal of a sweep: a line for each run that is finished, on disk before the next counts.
//!
//! A line names its run by a hash of all that decides its result: settings, workload, seed,
//! preparation, and the program itself. So a run of an edited sweep is taken over where nothing
//! changed that it depends on, and only there. A line that was not written to its end is cut off.

use crate::error::wrong;
use crate::points::headline;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Raised when a line changes its meaning.
const FORMAT: u32 = 1;

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
pub(crate) struct Found {
    /// By headline.
    pub(crate) values: Vec<Option<f64>>,
    /// Warnings of the verdict.
    pub(crate) warnings: Vec<String>,
    /// SHA-256 over the requests.
    pub(crate) workload: String,
    /// Why it failed, if it did: then there is nothing else.
    pub(crate) failed: Option<String>,
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
    fn new(run: &str, found: &Found) -> Self {
        let values = found.values.iter().map(|value| value.map(|value| value.to_string()));
        Self {
            run: run.to_string(),
            values: values.collect(),
            warnings: found.warnings.clone(),
            workload: found.workload.clone(),
            failed: found.failed.clone(),
        }
    }

    fn found(self) -> Option<(String, Found)> {
        let number = |value: Option<String>| match value {
            None => Some(None),
            Some(text) => text.parse().ok().map(Some),
        };
        let values = self.values.into_iter().map(number).collect::<Option<Vec<_>>>()?;
        let Self { run, warnings, workload, failed, .. } = self;
        Some((run, Found { values, warnings, workload, failed }))
    }
}

/// The runs that are finished, and the file to which further ones are added.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Option<File>,
    found: BTreeMap<String, Found>,
}

impl Journal {
    /// The journal at `path`, made where there is none. Nobody else may use it meanwhile.
    pub(crate) fn open(path: &Path) -> Result<Self> {
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
        let (found, whole) = read(path, &bytes)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).with_context(say)?;
        }
        file.seek(SeekFrom::End(0)).with_context(say)?;
        let mut journal = Self { path: path.to_path_buf(), file: Some(file), found };
        if whole == 0 {
            journal.write(&serde_json::to_string(&Header::new())?)?;
        }
        Ok(journal)
    }

    /// What the journal at `path` has, without touching it.
    pub(crate) fn look(path: &Path) -> Result<Self> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            bytes => bytes.with_context(|| format!("{}", path.display()))?,
        };
        let (found, _) = read(path, &bytes)?;
        Ok(Self { path: path.to_path_buf(), file: None, found })
    }

    /// What a run found, if it is finished.
    pub(crate) fn found(&self, run: &str) -> Option<&Found> {
        self.found.get(run)
    }

    /// Whether it has no run at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds a run; it is on disk when this returns.
    pub(crate) fn add(&mut self, run: &str, found: Found) -> Result<()> {
        let line = serde_json::to_string(&Line::new(run, &found))?;
        self.write(&line)?;
        self.found.insert(run.to_string(), found);
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.write_all(format!("{line}\n").as_bytes());
        let written = written.and_then(|()| file.sync_data());
        written.with_context(|| format!("{}: the journal cannot be written", self.path.display()))
    }
}

/// The runs in the bytes of a journal, and how many of the bytes are whole lines.
fn read(path: &Path, bytes: &[u8]) -> Result<(BTreeMap<String, Found>, usize)> {
    let mut found = BTreeMap::new();
    let mut whole = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let is_first = whole == 0;
        if is_first {
            let expected = serde_json::to_string(&Header::new())? + "\n";
            if line != expected.as_bytes() {
                // Stopped while its first line was written.
                if expected.as_bytes().starts_with(line) {
                    return Ok((found, 0));
                }
                return Err(wrong(&format!(
                    "{}: it is no journal of this version of flashyard; remove it, or name another \
                     --out",
                    path.display()
                )));
            }
        } else {
            let parsed = line.last().filter(|last| **last == b'\n');
            let parsed = parsed.and_then(|_| serde_json::from_slice::<Line>(line).ok());
            let Some((run, one)) = parsed.and_then(Line::found) else { break };
            found.insert(run, one);
        }
        whole += line.len();
    }
    Ok((found, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

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
        for (run, value) in ["a", "b", "c"].iter().zip(values) {
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
            for (run, value) in ["a", "b", "c"].iter().zip(values) {
                if journal.found(run).is_none() {
                    journal.add(run, found(value)).unwrap();
                }
                assert_eq!(journal.found(run), Some(&found(value)));
            }
            drop(journal);
            assert!(std::fs::read(&path).unwrap() == all, "{length}");
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

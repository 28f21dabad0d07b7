//! Logs: a CSV row an event, which an observer writes and the owner of the log finishes.

use super::WholeFile;
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

/// A log that an observer writes and its owner finishes.
pub(crate) type SharedLog = Rc<RefCell<Log>>;

/// A file of rows.
#[derive(Debug)]
pub(crate) struct Log {
    what: &'static str,
    file: Option<WholeFile>,
    error: Option<std::io::Error>,
}

impl Log {
    /// A log into `file`; `what` is its name in messages.
    pub(super) fn shared(what: &'static str, mut file: WholeFile, header: &str) -> SharedLog {
        let error = writeln!(file, "{header}").err();
        Rc::new(RefCell::new(Self { what, file: Some(file), error }))
    }

    /// Writes a row, unless one could not be written before.
    pub(super) fn row(&mut self, write: impl FnOnce(&mut WholeFile) -> std::io::Result<()>) {
        if let (None, Some(file)) = (&self.error, &mut self.file) {
            self.error = write(file).err();
        }
    }

    /// Gives the file its name, or says why it could not be written.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(error) = self.error.take() {
            let what = format!("{} cannot be written", self.what);
            return Err(anyhow::Error::new(error).context(what));
        }
        self.file.take().map_or(Ok(()), WholeFile::finish)
    }
}

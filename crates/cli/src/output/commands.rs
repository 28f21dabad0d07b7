//! The command log: a CSV row a command, and one for each suspension and resumption.

use super::WholeFile;
use flashyard_sim::observe::{CommandDone, CommandName, Observer, Suspension};
use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

/// The columns; times in nanoseconds, empty where there is nothing to say.
const HEADER: &str =
    "request,page,stage,op,purpose,die,ppn,queue,key,enqueue_ns,start_ns,end_ns,rekeys";

/// A log that an observer writes and its owner finishes.
pub(crate) type SharedLog = Rc<RefCell<CommandLog>>;

/// Writes a row for every command.
#[derive(Debug)]
pub(crate) struct CommandLog {
    file: Option<WholeFile>,
    error: Option<std::io::Error>,
}

impl CommandLog {
    /// A log into `file`.
    pub(crate) fn new(mut file: WholeFile) -> Self {
        let error = writeln!(file, "{HEADER}").err();
        Self { file: Some(file), error }
    }

    /// Gives the file its name, or says why it could not be written.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(anyhow::Error::new(error).context("the command log cannot be written"));
        }
        self.file.take().map_or(Ok(()), WholeFile::finish)
    }

    /// A row for a suspension or a resumption: those have no place, queue, key and re-keys.
    fn write_suspension(&mut self, event: &Suspension) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write_name(file, &event.command)?;
        writeln!(
            file,
            ",{},{},{},{},,,,,{},{},",
            event.command.stage,
            if event.resumed { "resume" } else { "suspend" },
            event.purpose.name(),
            event.die.get(),
            event.at.as_ns(),
            event.until.as_ns()
        )
    }

    fn write(&mut self, done: &CommandDone) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write_name(file, &done.command)?;
        write!(
            file,
            ",{},{},{},{},",
            done.command.stage,
            done.op.name(),
            done.purpose.name(),
            done.die.get()
        )?;
        if let Some(ppn) = done.ppn {
            write!(file, "{ppn}")?;
        }
        writeln!(
            file,
            ",{},{},{},{},{},{}",
            done.queue,
            done.key,
            done.enqueued.as_ns(),
            done.start.as_ns(),
            done.end.as_ns(),
            done.rekeys
        )
    }
}

/// The request and the page of a command; nothing for the device's own work.
fn write_name(file: &mut WholeFile, command: &CommandName) -> std::io::Result<()> {
    match command.request {
        Some(request) => write!(file, "{request},{}", command.page),
        None => write!(file, ","),
    }
}

/// The observer's end of a log.
#[derive(Debug)]
pub(crate) struct CommandLogger(pub(crate) SharedLog);

impl Observer for CommandLogger {
    fn command_done(&mut self, event: &CommandDone) {
        let mut log = self.0.borrow_mut();
        if log.error.is_none() {
            log.error = log.write(event).err();
        }
    }

    fn suspended(&mut self, event: &Suspension) {
        let mut log = self.0.borrow_mut();
        if log.error.is_none() {
            log.error = log.write_suspension(event).err();
        }
    }
}

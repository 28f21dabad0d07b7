//! The command log: a CSV row a command, and one for each suspension, resumption and poll.

use super::WholeFile;
use super::log::{Log, SharedLog};
use flashyard_sim::observe::{BusTransfer, CommandDone, CommandName, Observer, Suspension};
use std::io::Write;
use std::rc::Rc;

/// The columns; times in nanoseconds, empty where there is nothing to say.
const HEADER: &str =
    "request,page,stage,op,purpose,die,ppn,queue,key,enqueue_ns,start_ns,end_ns,rekeys";

/// Writes a row for every command.
#[derive(Debug)]
pub(crate) struct CommandLogger(SharedLog);

impl CommandLogger {
    /// A log into `file`, and its owner's end.
    pub(crate) fn new(file: WholeFile) -> (Self, SharedLog) {
        let log = Log::shared("the command log", file, HEADER);
        (Self(Rc::clone(&log)), log)
    }
}

/// A row for a suspension or a resumption: those have no place, queue, key and re-keys.
fn write_suspension(file: &mut WholeFile, event: &Suspension) -> std::io::Result<()> {
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

/// A row for a status request that asks a die whether it is done: the same columns.
fn write_poll(file: &mut WholeFile, event: &BusTransfer) -> std::io::Result<()> {
    write_name(file, &event.command)?;
    writeln!(
        file,
        ",{},poll,{},{},,,,,{},{},",
        event.command.stage,
        event.purpose.name(),
        event.die.get(),
        event.start.as_ns(),
        event.end.as_ns()
    )
}

fn write_command(file: &mut WholeFile, done: &CommandDone) -> std::io::Result<()> {
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

/// The request and the page of a command; nothing for the device's own work.
pub(super) fn write_name(file: &mut WholeFile, command: &CommandName) -> std::io::Result<()> {
    match command.request {
        Some(request) => write!(file, "{request},{}", command.page),
        None => write!(file, ","),
    }
}

impl Observer for CommandLogger {
    fn command_done(&mut self, event: &CommandDone) {
        self.0.borrow_mut().row(|file| write_command(file, event));
    }

    fn bus_request(&mut self, event: &BusTransfer) {
        if event.ready.is_some() {
            self.0.borrow_mut().row(|file| write_poll(file, event));
        }
    }

    fn suspended(&mut self, event: &Suspension) {
        self.0.borrow_mut().row(|file| write_suspension(file, event));
    }
}

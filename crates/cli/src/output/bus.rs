//! The log of bus requests: a CSV row a request.

use super::WholeFile;
use super::commands::write_name;
use super::log::{Log, SharedLog};
use flashyard_sim::observe::{BusTransfer, Observer};
use std::io::Write;
use std::rc::Rc;

/// The columns; times in nanoseconds, empty where there is nothing to say. `answer` is that of a
/// status request.
const HEADER: &str = "request,page,stage,purpose,kind,channel,chip,die,block,block_page,plane,\
                      offset,bytes,start_ns,end_ns,answer";

/// Writes a row for every bus request.
#[derive(Debug)]
pub(crate) struct BusLogger(SharedLog);

impl BusLogger {
    /// A log into `file`, and its owner's end.
    pub(crate) fn new(file: WholeFile) -> (Self, SharedLog) {
        let log = Log::shared("the log of bus requests", file, HEADER);
        (Self(Rc::clone(&log)), log)
    }
}

impl Observer for BusLogger {
    fn bus_request(&mut self, event: &BusTransfer) {
        self.0.borrow_mut().row(|file| write(file, event));
    }
}

fn write(file: &mut WholeFile, event: &BusTransfer) -> std::io::Result<()> {
    let request = &event.request;
    write_name(file, &event.command)?;
    write!(
        file,
        ",{},{},{},{},{},{},{},{},{},",
        event.command.stage,
        event.purpose.name(),
        request.kind.name(),
        request.channel,
        request.chip,
        event.die.get(),
        request.block,
        request.page,
        request.plane
    )?;
    if request.bytes > 0 {
        write!(file, "{},{}", request.offset, request.bytes)?;
    } else {
        write!(file, ",")?;
    }
    let answer = match event.ready {
        None => "",
        Some(true) => "ready",
        Some(false) => "busy",
    };
    writeln!(file, ",{},{},{answer}", event.start.as_ns(), event.end.as_ns())
}

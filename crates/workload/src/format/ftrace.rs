//! `ftrace`: block events in the text of the kernel's tracer: the files `trace` and `trace_pipe`,
//! and `trace-cmd report`.
//!
//! Source: `include/trace/events/block.h` for what events print, `print_trace_line` and
//! `trace_print_context` of `kernel/trace` for what stands before them, Documentation/trace/ftrace.
//! A line is `task-pid [cpu] flags seconds: event: details`; the flags and `(tgid)` before the CPU
//! may be missing. Details of the events that are requests are
//!
//! * `block_bio_queue`: `major,minor rwbs sector + sectors [process]`, the event `queue`;
//! * `block_rq_issue`: `major,minor rwbs bytes (command) sector + sectors priority [process]`, the
//!   event `issue`; older kernels print no priority;
//! * `block_rq_complete`: the same without bytes, with the error in place of the process, the event
//!   `complete`.
//!
//! These are Q, D and C of `blkparse`, and the letters mean the same. Requests without sectors that
//! are no flushes (commands passed through) are passed over, and so are all other events, comments
//! and lines of stacks. A line that says that events were lost is refused: what is missing there
//! is unknown.
//!
//! Times are decimal seconds of a clock that counts time. The clocks `counter` and `x86-tsc` print
//! whole numbers, which are refused, as is the option `latency-format`.

use super::fields::{seconds, sector_count_or_none, whole};
use super::kernel::{
    Asked, EVENTS, Origin, Reader, Requests, Rows, SPLITS, Step, column, device_number, is_device,
    process, rwbs,
};
use super::{Event, Format, FormatInfo, Parsed, ReaderOptions, RowError};
use crate::error::quoted;
use crate::number::{decimal, split_blanks};

/// The registry entry.
pub(super) const INFO: FormatInfo = FormatInfo {
    name: "ftrace",
    doc: "block events of Linux's ftrace, trace_pipe or trace-cmd report",
    columns: COLUMNS,
    example: "# tracer: nop\n\
              #\n\
              #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
              \x20             dd-4011    [001] ..... 81.250100: block_bio_queue: 8,0 WS 2048 + 16 \
              [dd]\n\
              \x20             dd-4011    [001] ..... 81.250103: block_plug: [dd]\n\
              \x20             dd-4011    [001] d..1. 81.250130: block_rq_issue: 8,0 WS 8192 () \
              2048 + 16 be,0,4 [dd]\n\
              \x20         <idle>-0       [000] d.h1. 81.250900: block_rq_complete: 8,0 WS () 2048 \
              + 16 be,0,4 [0]\n\
              \x20    kworker/1:2-77      [001] ..... 81.251000: block_bio_queue: 8,0 R 64 + 8 \
              [kworker/1:2]\n",
    recognises,
    events: &EVENTS,
    splits: SPLITS,
    tick_ns: 0,
    reader,
    writer: None,
};

const COLUMNS: &str = "task-pid, [CPU], flags, time s:, event:, device, RWBS, sector + sectors \
                       [process] between blanks";

/// What an event of this name says.
fn step(event: &[u8]) -> Step {
    match event {
        b"block_bio_queue" => Step::Of(Event::Queue),
        b"block_rq_issue" => Step::Of(Event::Issue),
        b"block_rq_complete" => Step::Of(Event::Complete),
        b"block_rq_requeue" => Step::GivenBack,
        _ => Step::Other,
    }
}

/// What stands before the details of an event.
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    pid: &'a [u8],
    cpu: &'a [u8],
    time: &'a [u8],
    event: &'a [u8],
}

/// The number of the process in what stands before the CPU: `task-pid`, perhaps with `(tgid)`.
fn pid(before: &[u8]) -> Option<&[u8]> {
    let text = before.trim_ascii_end();
    let text = match text.strip_suffix(b")") {
        Some(group) => group[..memchr::memrchr(b'(', group)?].trim_ascii_end(),
        None => text,
    };
    let pid = &text[memchr::memrchr(b'-', text)? + 1..];
    (!pid.is_empty() && pid.iter().all(u8::is_ascii_digit)).then_some(pid)
}

/// The number in `[003]`, without zeros in front.
fn cpu(text: &[u8]) -> Option<&[u8]> {
    let number = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let zeros = number.iter().take_while(|&&byte| byte == b'0').count();
    digits.then(|| &number[zeros.min(number.len() - 1)..])
}

/// The parts of a line, and what follows the event; `None` where it has not the shape of one.
fn split(line: &[u8]) -> Option<(Head<'_>, &[u8])> {
    let mut rest = line;
    // Names of tasks may hold blanks and brackets: the CPU is the first one that follows a number.
    let (pid, cpu) = loop {
        let text = column(&mut rest);
        if text.is_empty() {
            return None;
        }
        let before = &line[..line.len() - rest.len() - text.len()];
        if let Some(found) = cpu(text).and_then(|cpu| Some((pid(before)?, cpu))) {
            break found;
        }
    };
    let mut time = column(&mut rest);
    if !time.ends_with(b":") {
        time = column(&mut rest);
    }
    let event = column(&mut rest).strip_suffix(b":")?;
    Some((Head { pid, cpu, time: time.strip_suffix(b":")?, event }, rest))
}

/// Whether a line is a comment as the tracer writes it.
fn is_comment(line: &[u8]) -> bool {
    let starts = [&b"# tracer:"[..], b"# entries-in-buffer", b"#  ", b"##### CPU"];
    line == b"#" || starts.iter().any(|start| line.starts_with(start))
}

/// Whether a line says what `trace-cmd report` prints of the machine. One of many CPUs has a line
/// for each CPU without events, before the first event.
fn is_of_machine(text: &[u8]) -> bool {
    text.starts_with(b"cpus=")
        || text.starts_with(b"version = ")
        || (text.starts_with(b"CPU ") && text.ends_with(b" is empty"))
}

/// Whether a line is of a stack: a function, or the title, which may stand behind task and time.
fn is_of_stack(text: &[u8]) -> bool {
    let titles = [&b"<stack trace>"[..], b"<user stack trace>"];
    text.starts_with(b"=> ")
        || titles.iter().filter_map(|title| text.strip_suffix(*title)).any(|before| {
            let before = before.trim_ascii_end();
            before.is_empty() || before.ends_with(b":")
        })
}

/// Lines between the events that say nothing of requests.
fn is_beside(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.starts_with(b"#") || is_of_stack(text) || is_of_machine(text)
}

fn recognises(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    is_comment(line.trim_ascii_end())
        || is_of_stack(text)
        || is_of_machine(text)
        || split(line).is_some_and(|(head, _)| {
            decimal(head.time, 9).is_ok() && head.time.contains(&b'.') && !head.event.is_empty()
        })
}

#[derive(Debug)]
struct Ftrace;

fn reader(options: &ReaderOptions<'_>) -> Box<dyn Format> {
    Box::new(Reader::new(Ftrace, options))
}

/// Why a line that is no event is refused.
fn refusal(line: &[u8]) -> RowError {
    let text = line.trim_ascii();
    let lost = memchr::memmem::find(text, b"EVENTS").is_some();
    if text.starts_with(b"CPU:") && lost {
        let fix = "record with a larger buffer_size_kb; or leave the line out, and with it what \
                   was lost, by trace.bad_rows = \"skip\"";
        let what = format!("events were lost here, {}", quoted(text));
        return RowError { what, fix: fix.to_owned() };
    }
    let what = match split_blanks::<1>(line).1 {
        found @ 0..6 => format!("{found} columns instead of 6 or more, {}", quoted(text)),
        _ => format!("no time: and event: behind a task and its [CPU], {}", quoted(text)),
    };
    RowError { what, fix: format!("an event is {COLUMNS}") }
}

/// The time of an event, in nanoseconds.
fn time_ns(text: &[u8]) -> Result<u64, RowError> {
    if text.contains(&b'.') {
        return seconds("time", text);
    }
    let fix = "times are decimal seconds: record with trace_clock set to local, global, mono or \
               boot, and without latency-format";
    let what = format!("time has no decimal point, {}", quoted(text));
    Err(RowError { what, fix: fix.to_owned() })
}

/// Takes the command between brackets off the front of `rest`; it may hold blanks.
fn command(rest: &mut &[u8]) -> Result<(), RowError> {
    let text = rest.trim_ascii_start();
    let end = memchr::memchr(b')', text).filter(|_| text.starts_with(b"("));
    let end = end.ok_or_else(|| RowError {
        what: format!("there is no (command), {}", quoted(text)),
        fix: "an event of a request has its command between round brackets, or ()".to_owned(),
    })?;
    *rest = &text[end + 1..];
    Ok(())
}

/// Sector and sectors at the front of `rest`; no address where there are no sectors.
fn range(rest: &mut &[u8]) -> Result<(u64, u32), RowError> {
    let sector = column(rest);
    let plus = column(rest);
    if plus != b"+" {
        let what = format!("there is no + behind the sector, {}", quoted(plus));
        return Err(RowError { what, fix: format!("an event is {COLUMNS}") });
    }
    match sector_count_or_none("sectors", column(rest))? {
        // Kernels give the address of such requests as 0 or as the largest number.
        0 => Ok((0, 0)),
        sectors => Ok((whole("sector", sector)?, sectors)),
    }
}

/// The device of an event and what it asks for, from its details; `None` where it is no request.
fn asked(event: Event, mut rest: &[u8]) -> Result<Option<(&[u8], Asked)>, RowError> {
    let device = column(&mut rest);
    if !is_device(device) {
        let fix = "a device is major,minor, as in 8,0".to_owned();
        return Err(RowError { what: format!("no device, {}", quoted(device)), fix });
    }
    let letters = rwbs(column(&mut rest))?;
    if event == Event::Issue {
        whole("bytes", column(&mut rest))?;
    }
    if event != Event::Queue {
        command(&mut rest)?;
    }
    let (first_sector, sectors) = range(&mut rest)?;
    let asked = match letters.on_sectors() {
        Some(op) if sectors > 0 => Some(Asked { op, flags: letters.flags, first_sector, sectors }),
        _ => letters.is_flush().then_some(Asked::FLUSH),
    };
    Ok(asked.map(|asked| (device, asked)))
}

impl Rows for Ftrace {
    fn read(&mut self, line: &[u8], requests: &mut Requests) -> Result<Parsed, RowError> {
        let Some((head, rest)) = split(line) else {
            return if is_beside(line) { Ok(Parsed::Other) } else { Err(refusal(line)) };
        };
        let step = step(head.event);
        // What is given back prints the details of a completion.
        requests.look(step, || {
            let (device, asked) = asked(Event::Complete, rest).ok()??;
            Some((device_number(device), asked))
        });
        let Step::Of(event) = step else { return Ok(Parsed::Other) };
        if !requests.is_chosen(step) {
            return Ok(Parsed::Other);
        }
        let process = process(rest)?;
        let found = asked(event, rest)?;
        let time_ns = time_ns(head.time)?;
        let Some((device, asked)) = found else { return Ok(Parsed::Other) };
        let Head { pid, cpu, .. } = head;
        let origin = Origin { device, cpu, pid, process };
        requests.request(time_ns, (device_number(device), asked), origin)
    }
}

#[cfg(test)]
mod tests;

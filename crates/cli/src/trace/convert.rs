//! `flashyard trace convert`: any workload as a trace file.

use super::inputs::{check_settings, load as load_one, refuse_raw};
use crate::args::TraceConvertArgs;
use crate::output::{WholeFile, names, note, print, remark};
use crate::progress::source::STEP;
use crate::progress::{Part, Progress};
use anyhow::Result;
use flashyard_core::request::Request;
use flashyard_run::error::{workload_error, wrong};
use flashyard_run::experiment::Source;
use flashyard_run::plan::{DEFAULT_SEED, Plan};
use flashyard_run::presets::DEFAULT_DEVICE;
use flashyard_sim::config::nearest;
use flashyard_sim::own::OwnParts;
use flashyard_sim::stream::Pacing;
use flashyard_workload::format::FormatInfo;
use flashyard_workload::format::write::TraceWriter;
use flashyard_workload::merge::Merge;
use flashyard_workload::pack::{Packer, Packing};
use flashyard_workload::random::stream_seed;
use flashyard_workload::{Extent, RequestSource};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The end of the names of binary traces.
const BINARY_EXTENSION: &str = "fyt";

/// Bytes that are written at a time.
const BLOCK_BYTES: usize = 1 << 16;

/// Runs `flashyard trace convert`.
pub(crate) fn convert(args: &TraceConvertArgs, own: &OwnParts) -> Result<()> {
    let (workloads, out) = match &args.names[..] {
        [workloads @ .., out] if !workloads.is_empty() => (workloads, out.as_str()),
        names => {
            let names = names.join(" ");
            return Err(wrong(&format!("{names}: a workload and a file to write are needed")));
        }
    };
    let (packing, stem) = if out == "-" { (Packing::Plain, out) } else { Packing::of(out) };
    let name = if out == "-" { "standard output" } else { out };
    let described = args.to.as_deref().and_then(|to| TraceWriter::described(name, to, args.lossy));
    let writer = match described {
        Some(writer) => writer,
        None => TraceWriter::new(name, format_of(args.to.as_deref(), out, stem)?, args.lossy),
    };
    let mut writer = writer.map_err(|error| workload_error(&error))?;
    let progress = Progress::one(name);
    let work = Work::open(args, own, workloads, out)?;
    let written = if out == "-" {
        let sink = Counted { sink: std::io::stdout().lock(), bytes: 0 };
        match write(work, &mut writer, Packer::new(packing, sink), progress.part(1.0)) {
            Err(error) if is_broken_pipe(&error) => return Ok(()),
            written => written?.1,
        }
    } else {
        let sink = Counted { sink: WholeFile::create(Path::new(out))?, bytes: 0 };
        let packer = Packer::new(packing, sink);
        let (mut sink, written) = write(work, &mut writer, packer, progress.part(1.0))?;
        if packing == Packing::Plain {
            sink.sink.overwrite_start(&writer.header())?;
        }
        sink.sink.finish()?;
        written
    };
    drop(progress);
    let (requests, bytes) = (writer.requests(), written.bytes);
    let mut text = format!("{name}: {requests} requests as {}, {bytes} bytes", writer.format());
    match writer.losses().left_out() {
        0 => {}
        left_out => text += &format!("; {left_out} requests left out"),
    }
    written.notes.iter().for_each(note);
    for note in writer.notes() {
        remark(&format!("lost: {note}"));
    }
    if out == "-" {
        remark(&text);
        return Ok(());
    }
    print(&text)
}

/// The format that is asked for, or that the name of the file says.
fn format_of(to: Option<&str>, out: &str, stem: &str) -> Result<&'static FormatInfo> {
    let list = || FormatInfo::writable().collect::<Vec<_>>().join(", ");
    if let Some(to) = to {
        return FormatInfo::from_name(to).ok_or_else(|| {
            let near = nearest(to, FormatInfo::writable());
            let near = if near.is_empty() { format!("; there are {}", list()) } else { near };
            wrong(&format!("--to {to}: there is no such format{near}"))
        });
    }
    let extension = Path::new(stem).extension().and_then(|extension| extension.to_str());
    let named = match extension {
        Some(BINARY_EXTENSION) => FormatInfo::from_name("flashyard"),
        Some(extension) => FormatInfo::from_name(extension),
        None => None,
    };
    named.ok_or_else(|| {
        wrong(&format!("{out}: its name does not say the format; add --to with one of {}", list()))
    })
}

/// What is written.
struct Work {
    inputs: Vec<Plan>,
    requests: Requests,
}

enum Requests {
    /// Of one workload: the streams of a trace stay as they are, those of a file have its order.
    One(Source),
    /// Of several, a stream each.
    Several(Merge<Source>),
}

impl Requests {
    fn source(&self) -> &dyn RequestSource {
        match self {
            Self::One(source) => source,
            Self::Several(merge) => merge,
        }
    }
}

impl Work {
    fn open(
        args: &TraceConvertArgs,
        own: &OwnParts,
        workloads: &[String],
        out: &str,
    ) -> Result<Self> {
        let inputs = load(args, own, workloads, out)?;
        let open = |inputs: &Plan| {
            let capacity = match args.device {
                Some(_) => Some(inputs.settings()?.capacity_sectors()),
                None => None,
            };
            inputs.open(capacity)
        };
        let requests = if let [only] = &inputs[..] {
            Requests::One(open(only)?)
        } else {
            let name = |inputs: &Plan| {
                let name = Path::new(inputs.workload_name()).file_name();
                name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            };
            let sources = inputs.iter().map(|inputs| Ok((name(inputs), open(inputs)?)));
            let merge = Merge::new(sources.collect::<Result<_>>()?);
            Requests::Several(merge.map_err(|error| workload_error(&error))?)
        };
        Ok(Self { inputs, requests })
    }

    fn next_request(&mut self) -> Result<Option<Request>> {
        let next = match &mut self.requests {
            Requests::One(source) => source.next_request(),
            Requests::Several(merge) => merge.next_request(),
        };
        next.map_err(|error| workload_error(&error))
    }

    /// The names of the streams, once all has been read.
    fn stream_names(&self) -> Vec<String> {
        match &self.requests {
            Requests::One(Source::Trace(trace)) => trace.stream_names(),
            Requests::One(Source::Merged(merge)) => merge.names(),
            Requests::One(_) => Vec::new(),
            Requests::Several(merge) => merge.names(),
        }
    }

    /// What has been left out or changed, and what a trace cannot say of these workloads.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.requests.source().notes();
        if let Requests::One(Source::Trace(trace)) = &self.requests
            && trace.may_have_more_names()
        {
            notes.push(
                "names of streams, if any, stand at the end of the trace, which was not read"
                    .to_string(),
            );
        }
        for inputs in &self.inputs {
            let stream = inputs.experiment().only_stream();
            let pacing = stream.map_or(Pacing::Open, |stream| stream.keys.pacing);
            if pacing != Pacing::Open {
                let (name, word) = (inputs.workload_name(), pacing.word());
                notes.push(format!(
                    "{name}: a run issues its requests in its own time, stream.pacing = \"{word}\"; \
                     the trace has the arrivals of its source, and no pacing"
                ));
            }
        }
        notes
    }
}

/// The workloads that are named, each with its seed.
fn load(
    args: &TraceConvertArgs,
    own: &OwnParts,
    workloads: &[String],
    out: &str,
) -> Result<Vec<Plan>> {
    check_settings(&args.set)?;
    let device = args.device.as_deref().unwrap_or(DEFAULT_DEVICE);
    let mut all = Vec::new();
    let mut number = 0;
    for workload in workloads {
        let mut inputs = load_one(own, device, workload, &args.set)?;
        let given = args.device.iter().chain([workload]);
        names::check(&names::read_by(&inputs, given), [Path::new(out)])?;
        if args.device.is_none() {
            refuse_raw(&inputs)?;
        }
        inputs.set_seed(stream_seed(args.seed.unwrap_or(DEFAULT_SEED), number));
        let experiment = inputs.experiment();
        let streams = experiment.main_stream().map_or(experiment.streams().count(), |_| 1);
        number += streams as u64;
        all.push(inputs);
    }
    let streams = || all.iter().flat_map(|inputs| inputs.experiment().streams());
    if streams().filter(|stream| stream.is_standard_input()).count() > 1 {
        return Err(wrong("-: standard input can be read only once: save it to a file"));
    }
    if args.seed.is_some() && !all.iter().any(|inputs| inputs.experiment().has_seed()) {
        return Err(wrong("--seed: a trace has no seed; it is for generated workloads"));
    }
    Ok(all)
}

/// What has been written.
struct Written {
    bytes: u64,
    notes: Vec<String>,
}

/// Writes all of a workload.
fn write<W: Write>(
    mut work: Work,
    writer: &mut TraceWriter,
    mut packer: Packer<Counted<W>>,
    mut part: Part,
) -> Result<(Counted<W>, Written)> {
    let failed =
        |error: std::io::Error| anyhow::Error::new(error).context("the trace cannot be written");
    let mut block = Vec::with_capacity(2 * BLOCK_BYTES);
    let mut requests = 0_u64;
    while let Some(request) = work.next_request()? {
        requests += 1;
        if requests.is_multiple_of(STEP) {
            part.at(work.requests.source().extent().map(Extent::share), requests);
        }
        writer.push(&request, &mut block).map_err(|error| workload_error(&error))?;
        if block.len() >= BLOCK_BYTES {
            packer.write_all(&block).map_err(failed)?;
            block.clear();
        }
    }
    let names = work.stream_names();
    writer.finish(&names, &mut block).map_err(|error| workload_error(&error))?;
    packer.write_all(&block).map_err(failed)?;
    let mut sink = packer.finish().map_err(failed)?;
    sink.flush().map_err(failed)?;
    let written = Written { bytes: sink.bytes, notes: work.notes() };
    Ok((sink, written))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Counts bytes on their way.
struct Counted<W> {
    sink: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.sink.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

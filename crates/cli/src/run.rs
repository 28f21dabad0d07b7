//! `flashyard run`: one simulation.

use crate::args::RunArgs;
use crate::inputs::{Inputs, Source, workload_error, wrong};
use crate::output::commands::{CommandLog, CommandLogger};
use crate::output::json::{self, Provenance};
use crate::output::parquet::{RequestLog, RequestLogger};
use crate::output::{WholeFile, print, remark, table};
use anyhow::{Context, Result};
use flashyard_core::request::Request;
use flashyard_sim::config::Settings;
use flashyard_sim::device::{Device, RunError};
use flashyard_sim::observe::Observer;
use flashyard_sim::report::Report;
use flashyard_workload::{RequestSource, WorkloadError};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// Requests between two updates of the progress display.
const PROGRESS_STEP: u64 = 1 << 16;

/// What a simulation found.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) provenance: Provenance,
}

/// Runs `flashyard run`.
pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let inputs = Inputs::new(&args.input, &[])?;
    let settings = inputs.settings()?;
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    let mut command_log = None;
    let mut request_log = None;
    if let Some(path) = &args.commands {
        let log = Rc::new(RefCell::new(CommandLog::new(WholeFile::create(path)?)));
        observers.push(Box::new(CommandLogger(Rc::clone(&log))));
        command_log = Some(log);
    }
    if let Some(dir) = &args.out {
        let file = WholeFile::create(&dir.join("requests.parquet"))?;
        let log = Rc::new(RefCell::new(RequestLog::new(file)?));
        observers.push(Box::new(RequestLogger(Rc::clone(&log))));
        request_log = Some(log);
    }
    let start = Instant::now();
    let outcome = simulate(&inputs, &settings, args.input.check, observers, true)?;
    let seconds = start.elapsed().as_secs_f64();
    let object = json::object(&inputs, &outcome.provenance, &outcome.report);
    let mut text = serde_json::to_string_pretty(&object).context("the results as JSON")?;
    text.push('\n');
    let mut summary = None;
    if let Some(dir) = &args.out {
        let mut file = WholeFile::create(&dir.join("summary.json"))?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        summary = Some(file);
    }
    if let Some(log) = request_log {
        log.borrow_mut().finish()?;
    }
    if let Some(log) = command_log {
        log.borrow_mut().finish()?;
    }
    summary.map_or(Ok(()), WholeFile::finish)?;
    if let Some(folder) = folder {
        folder.keep();
    }
    if args.json {
        print(&text)?;
    } else {
        print(&table::summary(&inputs.device_name, inputs.workload_name(), &outcome.report))?;
    }
    let requests = outcome.report.workload.requests;
    remark(&format!(
        "{requests} requests in {seconds:.3} s: {:.0} a second",
        requests as f64 / seconds.max(1e-9)
    ));
    Ok(())
}

/// A folder for results that disappears again, where it was made here and nothing came of it.
struct Folder<'a> {
    made: Option<&'a Path>,
}

impl<'a> Folder<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let made = (!path.exists()).then_some(path);
        std::fs::create_dir_all(path).with_context(|| format!("{}", path.display()))?;
        Ok(Self { made })
    }

    fn keep(mut self) {
        self.made = None;
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.made {
            // Refused where the folder is not empty, which is as well.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// One simulation of resolved inputs. With `show`, a progress display on a terminal.
pub(crate) fn simulate(
    inputs: &Inputs,
    settings: &Settings,
    check: bool,
    observers: Vec<Box<dyn Observer>>,
    show: bool,
) -> Result<Outcome> {
    let mut device = Device::new(settings);
    if check {
        device.check();
    }
    if !inputs.map_lines.is_empty() {
        device.preload_map(&inputs.map_lines).map_err(|error| wrong(&error.to_string()))?;
    }
    for observer in observers {
        device.observe(observer);
    }
    let mut source = Hashed {
        source: inputs.open(Some(settings.capacity_sectors()))?,
        hash: Sha256::new(),
        progress: (show && std::io::stderr().is_terminal()).then(spinner),
        count: 0,
    };
    let report = device.run(|| source.next());
    if let Some(progress) = &source.progress {
        progress.finish_and_clear();
    }
    let mut report = report.map_err(|error| match error {
        RunError::Workload(error) => workload_error(&error),
        RunError::Sim(error) => match error {
            flashyard_sim::device::SimError::BeyondDevice { .. } => {
                wrong(&format!("{error}; set trace.fold = \"modulo\" to fold addresses into it"))
            }
            error => anyhow::Error::new(error),
        },
    })?;
    report.verdict.folded_requests = source.source.stats().folded;
    let provenance = Provenance {
        command: std::env::args_os()
            .skip(1)
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        seed: inputs.seed(),
        workload_sha256: json::hex(&source.hash.finalize()),
    };
    Ok(Outcome { report, provenance })
}

/// A source that is hashed as it is read, and shown.
struct Hashed {
    source: Source,
    hash: Sha256,
    progress: Option<indicatif::ProgressBar>,
    count: u64,
}

impl Hashed {
    fn next(&mut self) -> Result<Option<Request>, WorkloadError> {
        let request = self.source.next_request()?;
        if let Some(request) = &request {
            let mut bytes = [0; 24];
            bytes[..8].copy_from_slice(&request.arrival.as_ns().to_le_bytes());
            bytes[8..16].copy_from_slice(&request.first_sector.to_le_bytes());
            bytes[16..20].copy_from_slice(&request.sectors.to_le_bytes());
            bytes[20..22].copy_from_slice(&request.stream.to_le_bytes());
            bytes[22] = request.op as u8;
            bytes[23] = request.flags.bits();
            self.hash.update(bytes);
            self.count += 1;
            if let Some(progress) =
                self.progress.as_ref().filter(|_| self.count.is_multiple_of(PROGRESS_STEP))
            {
                progress.set_position(self.count);
            }
        }
        Ok(request)
    }
}

fn spinner() -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{spinner} {pos} requests, {per_sec}")
        .expect("the template is valid");
    indicatif::ProgressBar::new_spinner().with_style(style)
}

//! `flashyard fit` and `flashyard board`: device files from measurements of real drives.

mod board;
mod show;
mod stage;

use crate::args::fit::{FitArgs, FitCommand};
use crate::output::{WholeFile, names, print, remark};
use crate::progress::Progress;
use anyhow::Result;
use board::board;
use flashyard_run::error::{is_toml, wrong};
use flashyard_run::fit::choose::{Chosen, choose};
use flashyard_run::fit::device_file;
use flashyard_run::fit::identify::{Known, identify};
use flashyard_run::fit::model::Model;
use flashyard_run::fit::search::Parameter;
use flashyard_run::fit::{Fitted, fit};
use flashyard_run::plan::DeviceFrom;
use flashyard_sim::own::OwnParts;
use stage::stage;
use std::path::Path;

/// Runs `flashyard fit` or `flashyard board`.
pub(crate) fn run(command: &FitCommand, own: &OwnParts) -> Result<()> {
    match command {
        FitCommand::Fit(args) => one(args, own),
        FitCommand::Board(args) => board(args, own),
    }
}

/// Runs `flashyard fit`.
fn one(args: &FitArgs, own: &OwnParts) -> Result<()> {
    let out = args.out.as_ref().map(|path| path.to_string_lossy());
    if let Some(out) = out.as_ref().filter(|out| !is_toml(out)) {
        return Err(wrong(&format!("--out {out}: a device file's name ends in .toml")));
    }
    let device = DeviceFrom::Named(&args.device);
    let read = [&args.measurements, &args.device].map(Path::new);
    names::check(&read, args.out.as_deref())?;
    let zoned = Model::has_zones(own, device)?;
    let Chosen { training, held_out, notes } =
        choose(&args.measurements, args.drive.as_deref(), &args.hold_out, zoned, "--")?;
    for note in &notes {
        remark(note);
    }
    let asked = args.search.asked(20_000, 1_200);
    let model = Model::new(own.clone(), device, &asked, &training)?;
    let fitted = fit(&model, &training, &held_out, &asked, "fitting", &stage)?;
    for note in &fitted.notes {
        remark(note);
    }
    let progress = Progress::one("slopes of the keys");
    let known = identify(&model, &training, &fitted.keys, &fitted.point)?;
    drop(progress);
    let text = if args.search.json {
        show::json(args, &training, &held_out, &fitted, &known)?
    } else {
        show::text(args, &training, &held_out, &fitted, &known)
    };
    if let Some(path) = &args.out {
        let whence = Path::new(&args.measurements).file_name();
        let whence = whence.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let whence =
            args.drive.as_ref().map_or(whence.clone(), |drive| format!("{whence}, {drive}"));
        let (set, settings) = (&args.search.set, &fitted.settings);
        let bands = bands(&fitted, &known);
        let of_one_core = fitted.keys.of_one_core();
        let text = device_file::text(&args.device, set, settings, &of_one_core, &bands, &whence)?;
        WholeFile::of(path, &text)?.finish()?;
        remark(&format!("{}: written", path.display()));
    }
    print(&text)
}

/// The keys of which the cells say little or nothing.
fn bands(fitted: &Fitted, known: &Known) -> Vec<device_file::Band> {
    let parameters = fitted.keys.parameters.iter().zip(&fitted.point).zip(&known.bands);
    let hardly = parameters
        .filter_map(|((parameter, &value), band)| band.map(|likely| (parameter, value, likely)));
    let untold = fitted.keys.untold.iter().map(|one| (&one.parameter, one.value, one.likely));
    let band = |(parameter, value, (low, high)): (&Parameter, u64, (u64, u64))| {
        let likely = parameter.between(low, high);
        (parameter.key.clone(), parameter.show(value), likely)
    };
    hardly.chain(untold).map(band).collect()
}

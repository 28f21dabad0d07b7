//! `flashyard fit` and `flashyard board`: device files from measurements of real drives.

mod board;
mod show;
mod stage;

use crate::args::fit::{FitArgs, FitCommand};
use crate::output::{WholeFile, print, remark};
use crate::progress::Progress;
use anyhow::Result;
use board::board;
use flashyard_run::error::{is_toml, wrong};
use flashyard_run::fit::choose::choose;
use flashyard_run::fit::device_file;
use flashyard_run::fit::fit;
use flashyard_run::fit::identify::identify;
use flashyard_run::fit::model::Model;
use flashyard_run::plan::DeviceFrom;
use flashyard_sim::own::OwnParts;
use stage::stage;

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
    let (training, held_out) =
        choose(&args.measurements, args.drive.as_deref(), &args.hold_out, "--")?;
    let asked = args.search.asked();
    let model = Model::new(own.clone(), DeviceFrom::Named(&args.device), &asked, &training)?;
    let fitted = fit(&model, &training, &held_out, &asked, "fitting", &stage)?;
    fitted.notes.iter().for_each(|note| remark(note));
    let progress = Progress::one("slopes of the keys");
    let known = identify(&model, &training, &fitted.keys, &fitted.point)?;
    drop(progress);
    let text = if args.search.json {
        show::json(args, &training, &held_out, &fitted, &known)?
    } else {
        show::text(args, &training, &held_out, &fitted, &known)
    };
    if let Some(path) = &args.out {
        let whence = std::path::Path::new(&args.measurements).file_name();
        let whence = whence.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let whence =
            args.drive.as_ref().map_or(whence.clone(), |drive| format!("{whence}, {drive}"));
        let text = device_file::text(&args.device, &args.search.set, &fitted.settings, &whence)?;
        WholeFile::of(path, &text)?.finish()?;
        remark(&format!("{}: written", path.display()));
    }
    print(&text)
}

//! `flashyard board`: how near devices come to measured drives.
//!
//! Devices with names run the cells of their drives as they are. Beside that each cell of a drive
//! is held out once: a device is fitted to the other cells, and run on this one. A cell that lies
//! between others is told apart from one beyond them, where the fit has to guess what no cell
//! shows.

mod drives;
mod page;
mod plot;

use super::show::{cells_table, json_set};
use super::stage::stage;
use crate::args::command_line;
use crate::args::fit::BoardArgs;
use crate::output::table::{render, table};
use crate::output::{WholeFile, print, print_json, remark};
use anyhow::Result;
use drives::{Drive, Named};
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_run::error::wrong;
use flashyard_run::fit::model::Model;
use flashyard_run::fit::search_keys;
use flashyard_run::plan::DeviceFrom;
use flashyard_sim::own::OwnParts;
use page::Modelled;
use serde_json::{Value, json};
use std::path::Path;

/// Sets of runs of a search, and requests of a run of it, unless the user says otherwise.
const EVALUATIONS: usize = 200;
const REQUESTS: u64 = 8_000;

/// Requests of the runs that are compared with a drive: p99 of reads that wait at depth 64 varies
/// by 5 % from seed to seed, with a tenth of them by 15 %.
const COMPARED: u64 = 40_000;

/// Runs `flashyard board`.
pub(super) fn board(args: &BoardArgs, own: &OwnParts) -> Result<()> {
    let drives = drives::of_directory(args.against.as_ref().unwrap_or(&args.directory))?;
    let devices = devices(args, own, &drives)?;
    let mut fits = Vec::new();
    if args.against.is_none() {
        let zoned = Model::has_zones(own, DeviceFrom::Named(&args.device))?;
        let (able, others) = drives.iter().partition::<Vec<_>, _>(|drive| drive.zoned == zoned);
        for drive in others {
            let has = if zoned { "has zones" } else { "has no zones" };
            remark(&format!("{}: not fitted to, since {} {has}", drive.name, args.device));
        }
        for drive in able {
            fits.push(held_out(args, own, drive)?);
        }
    }
    if let Some(folder) = &args.out {
        write(folder, &devices, &fits)?;
    }
    if args.search.json {
        let drives: Vec<Value> = fits.iter().map(json_fits).collect();
        let devices: Vec<Value> = devices.iter().map(json_device).collect::<Result<_>>()?;
        return print_json(&json!({
            "schema_version": SCHEMA_VERSION,
            "drives": drives,
            "devices": devices,
        }));
    }
    let mut text = String::new();
    for one in devices.iter().chain(&fits) {
        let who = one.device.as_deref().unwrap_or("each cell held out once");
        let cells = cells_table(&one.drive.cells, &one.figures);
        text += &format!("{}, {who}\n{cells}", one.drive.name);
        for said in one.findings()? {
            text += &format!("- {said}\n");
        }
        text += "\n";
    }
    let mut add = |title: &str, header: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            let mut shown = table(header);
            shown.add_rows(rows);
            text += &format!("{title}\n{}\n", render(&shown));
        }
    };
    add("Median errors of devices", &page::DEVICES, page::of_devices(&devices));
    add("Median errors of held-out cells", &page::FITS, page::of_fits(&fits));
    print(text.trim_end_matches('\n'))
}

/// Devices on the cells of the drives that they stand for: all that were held against some drive,
/// or the one that the user names. Drives that no device stands for have none, but with
/// `--against` all of them.
fn devices<'a>(args: &BoardArgs, own: &OwnParts, drives: &'a [Drive]) -> Result<Vec<Modelled<'a>>> {
    let named = match &args.named {
        Some(name) => vec![Named::of(own, name)?],
        None => drives::named(own)?,
    };
    let asked = args.search.asked(COMPARED, EVALUATIONS);
    let mut found = Vec::new();
    for drive in drives {
        let devices = match args.against {
            Some(_) => drive.devices(&named),
            None => drive.own_device(&named).into_iter().collect(),
        };
        for device in devices {
            let from = DeviceFrom::Named(&device);
            let model = Model::new(own.clone(), from, &asked, &drive.cells)?;
            let label = format!("{device} on cells of {}", drive.name);
            let done = stage(&label, "cells", drive.cells.len() as u64);
            let is_own = drive.own_device(&named).is_some();
            let figures = model.figures_of_device(&drive.cells, &*done)?;
            drop(done);
            let (device, between) = (Some(device), Vec::new());
            found.push(Modelled { drive, device, is_own, figures, between });
        }
    }
    Ok(found)
}

/// Each cell of a drive as a fit to the others has it.
fn held_out<'a>(args: &BoardArgs, own: &OwnParts, drive: &'a Drive) -> Result<Modelled<'a>> {
    let (name, cells) = (&drive.name, &drive.cells);
    let asked = args.search.asked(REQUESTS, EVALUATIONS);
    let model = Model::new(own.clone(), DeviceFrom::Named(&args.device), &asked, cells)?;
    let mut compared = model.clone();
    compared.requests = args.search.asked(COMPARED, EVALUATIONS).requests;
    if cells.len() < 2 {
        return Err(wrong(&format!(
            "{}: a drive of one cell leaves none to fit to",
            cells[0].place
        )));
    }
    let (mut figures, mut between) = (Vec::new(), Vec::new());
    for held_out in 0..cells.len() {
        let of = format!("cell {} of {}", held_out + 1, cells.len());
        remark(&format!("{name}: {of} held out"));
        let mut training = cells.clone();
        let test = training.remove(held_out);
        between.push(test.is_between(&training)?);
        let (keys, point, _) = search_keys(&model, &training, &asked, &of, &stage)?;
        figures.extend(compared.figures(&[test], &keys.settings(&point))?);
    }
    Ok(Modelled { drive, device: None, is_own: false, figures, between })
}

/// Writes the page and a plot for each drive that a device stands for.
fn write(folder: &Path, devices: &[Modelled<'_>], fits: &[Modelled<'_>]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|error| wrong(&format!("--out {}: {error}", folder.display())))?;
    let page = folder.join("BOARD.md");
    WholeFile::of(&page, &page::page(devices, fits, &command_line())?)?.finish()?;
    for one in devices {
        let device = one.device.as_deref().unwrap_or_default();
        let title = format!("{} and {device}: latency over requests outstanding", one.drive.name);
        let plot = plot::svg(&title, &one.drive.cells, &one.figures);
        WholeFile::of(&folder.join(one.plot_name()), &plot)?.finish()?;
    }
    remark(&format!("{}: written", page.display()));
    Ok(())
}

fn json_fits(one: &Modelled<'_>) -> Value {
    let mut object = json_set(&one.drive.cells, &one.figures);
    object["drive"] = Value::from(one.drive.name.clone());
    object["between"] = Value::from(one.between.clone());
    object
}

fn json_device(one: &Modelled<'_>) -> Result<Value> {
    let mut object = json_set(&one.drive.cells, &one.figures);
    object["drive"] = Value::from(one.drive.name.clone());
    object["device"] = Value::from(one.device.clone());
    object["findings"] = Value::from(one.findings()?);
    Ok(object)
}

//! `flashyard reproduce`: published systems, our results beside theirs. `flashyard_studies` runs
//! and judges them; `text` shows what it found, and `page` makes a page with plots of it.

mod page;
mod text;

use crate::args::{ALL, ReproduceArgs};
use crate::output::{print, print_json, remark, table};
use crate::progress;
use anyhow::Result;
use flashyard_run::error::{InputError, read_text, wrong};
use flashyard_sim::own::OwnParts;
use flashyard_studies::{Asked, STUDIES, reproduce, twins};

/// Runs `flashyard reproduce`.
pub(crate) fn run(args: &ReproduceArgs, own: &OwnParts) -> Result<()> {
    if args.replicas == Some(1) {
        return Err(wrong("--replicas 1: noise needs two at least; 0 measures none"));
    }
    if args.study == ALL {
        if args.json || args.out.is_some() || args.twins.is_some() {
            return Err(wrong("all studies have no --json, --out and --twins; take one study"));
        }
        for (name, text) in STUDIES {
            // What a study lacks, traces for one, does not keep the others from running.
            match one(name, text, args, own) {
                Err(error) if error.is::<InputError>() => {
                    print(&format!("{name}: left out: {error}\n"))?;
                }
                result => result?,
            }
        }
        return Ok(());
    }
    let built_in = STUDIES.iter().find(|(name, _)| *name == args.study);
    let text = match built_in {
        Some((_, text)) => (*text).to_string(),
        None => read_text(&args.study)?,
    };
    one(&args.study, &text, args, own)
}

/// Runs a study and prints it.
fn one(name: &str, text: &str, args: &ReproduceArgs, own: &OwnParts) -> Result<()> {
    let asked = asked(args);
    if let Some(count) = args.twins {
        let twins = twins(name, text, &asked, own, count.into(), &progress::watch)?;
        if args.json {
            return print_json(&twins.object);
        }
        return print(&format!("{}\n{}", table::shown(&twins.table), twins.note));
    }
    let results = reproduce(name, text, &asked, own, &progress::watch)?;
    remark(&results.remark);
    if let Some(folder) = &args.out {
        page::of(&results).write_alone(folder, "reproduce", &results.object)?;
    }
    if args.json {
        return print_json(&results.object);
    }
    print(&if args.short { text::short(&results) } else { text::full(&results) })
}

fn asked(args: &ReproduceArgs) -> Asked {
    Asked {
        traces: args.traces.clone(),
        device: args.device.clone(),
        set: args.set.clone(),
        requests: args.requests,
        replicas: args.replicas.map(usize::from),
        short: args.short,
        check: args.check,
        is_one_of_many: args.study == ALL,
    }
}

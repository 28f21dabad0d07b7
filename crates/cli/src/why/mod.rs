//! `flashyard why`: what slow requests waited for.

mod show;

use crate::args::{WhyArgs, WhyClass};
use crate::output::{note, print};
use crate::progress::Progress;
use anyhow::Result;
use flashyard_core::request::RequestOp;
use flashyard_run::error::wrong;
use flashyard_run::plan::Bases;
use flashyard_run::points::axis::{self, Axis, Setting};
use flashyard_run::points::{self, refuse_standard_input};
use flashyard_run::why::follow::Choice;
use flashyard_run::why::{self, Explanation, Question, data};
use flashyard_sim::own::OwnParts;

/// What was asked for.
fn question(args: &WhyArgs) -> Question {
    let choice = match (args.request, args.slowest) {
        (Some(order), _) => Choice::Request(order),
        (None, Some(most)) => Choice::Slowest(most),
        (None, None) => Choice::Above(args.above),
    };
    let class = match args.class {
        WhyClass::Read => Some(RequestOp::Read),
        WhyClass::Write => Some(RequestOp::Write),
        WhyClass::Trim => Some(RequestOp::Trim),
        WhyClass::Flush => Some(RequestOp::Flush),
        WhyClass::All => None,
    };
    Question { choice, class, by_stream: args.by.is_some() }
}

/// Runs `flashyard why`.
pub(crate) fn run(args: &WhyArgs, own: &OwnParts) -> Result<()> {
    let found = question(args);
    let Some(vary) = &args.vary else {
        let sides = explain(args, own, &found, &[])?;
        if args.json {
            return print(&data::one(&found, &sides)?);
        }
        let text = sides.iter().map(|side| headed(side, &show::one(&found, side)));
        return print(&text.collect::<Vec<_>>().join("\n"));
    };
    let points = two_points(vary)?;
    let settings = points.each_ref().map(|point| axis::label(point));
    let [first, second] = points.each_ref().map(|point| explain(args, own, &found, point));
    let sides: Vec<[Explanation; 2]> = first?.into_iter().zip(second?).map(Into::into).collect();
    if args.json {
        return print(&data::two(&found, &sides, &settings)?);
    }
    let text = sides.iter().map(|two| headed(&two[0], &show::two(&found, two, &settings)));
    print(&text.collect::<Vec<_>>().join("\n"))
}

/// A text about a side, behind the name of its stream.
fn headed(side: &Explanation, text: &str) -> String {
    side.stream.as_ref().map_or_else(String::new, |stream| format!("stream {stream}\n")) + text
}

/// The two points of `--vary`.
fn two_points(vary: &str) -> Result<[Vec<Setting>; 2]> {
    let points = axis::combinations("--vary", &[Axis::parse("--vary", vary)?])?;
    <[Vec<Setting>; 2]>::try_from(points).map_err(|points| {
        wrong(&format!(
            "--vary {vary}: why compares two values, and there are {}; KEY=A,B is needed, such as \
             nand.program_suspends=1,4, or use compare",
            points.len()
        ))
    })
}

/// Runs the workload twice and explains the chosen requests.
fn explain(
    args: &WhyArgs,
    own: &OwnParts,
    found: &Question,
    point: &[Setting],
) -> Result<Vec<Explanation>> {
    let inputs =
        points::inputs(&Bases::new(own.clone()), &args.input.selection(), "--vary", point)?;
    refuse_standard_input("why", &inputs)?;
    let settings = inputs.settings()?;
    inputs.notes().for_each(note);
    if let Some(what) = inputs.need(&settings, args.input.check).check()? {
        note(what);
    }
    let progress = Progress::many("", "runs", 2);
    why::explain(&inputs, &settings, found, args.input.check, &progress)
}

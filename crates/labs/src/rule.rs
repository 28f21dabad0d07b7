//! The lab gc-rule: a rule for victims, beside the built-in ones.

use crate::lab::{Check, Lab};
use crate::runs::{self, amplification};
use crate::template::{Written, fill, mixed, state_seed};
use crate::verdict::Verdict;
use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_run::meter::Watch;
use flashyard_run::plan::Plan;
use flashyard_run::units::Table;
use flashyard_sim::own::OwnParts;
use flashyard_sim::parts::victim::VictimKeys;
use flashyard_sim::report::Report;

const DEVICE: &str = include_str!("../labs/gc-rule/device.toml");
const SKEWED: &str = include_str!("../labs/gc-rule/skewed.toml");
const UNIFORM: &str = include_str!("../labs/gc-rule/uniform.toml");

/// The most write amplification under skewed writes, as a multiple of greedy's.
const SKEWED_BAR: f64 = 0.77;
/// The same under uniform writes, where greedy is the best of the built-in rules or close to it.
const UNIFORM_BAR: f64 = 1.10;
/// The most erases of a block under skewed writes, as a multiple of the mean.
const WEAR_BAR: f64 = 2.1;

/// Share of the writes that goes to the hot part, in percent.
const HOT_WRITES: u64 = 90;

/// What the others are compared with.
const GREEDY: &str = "greedy";

/// The device and the workload of a seed: with skewed writes, or with uniform ones.
fn task(seed: u64, skewed: bool) -> (String, String) {
    let hot = 10 + seed % 3;
    let hot_writes = if skewed { HOT_WRITES } else { hot };
    let values = [
        ("seed", seed.to_string()),
        ("spare", (18 + 2 * (mixed(seed) % 4)).to_string()),
        ("state_seed", state_seed(seed).to_string()),
        ("hot", hot.to_string()),
        ("hot_writes", hot_writes.to_string()),
    ];
    (fill(DEVICE, &values), fill(if skewed { SKEWED } else { UNIFORM }, &values))
}

/// What `lab start` writes, and what comes next.
pub(crate) fn files(seed: u64) -> (Vec<Written>, String) {
    let ((skewed_device, skewed), (uniform_device, uniform)) =
        (task(seed, true), task(seed, false));
    let files = vec![
        ("Cargo.toml", include_str!("../labs/gc-rule/crate.toml").to_string()),
        ("src/main.rs", include_str!("../labs/gc-rule/main.rs").to_string()),
        ("skewed-device.toml", skewed_device),
        ("skewed.toml", skewed),
        ("uniform-device.toml", uniform_device),
        ("uniform.toml", uniform),
    ];
    let next = format!(
        "Write the path of your checkout into Cargo.toml, change the rule in\nsrc/main.rs, and \
         check it there with\n    cargo run -- lab check gc-rule mine --seed {seed}\n"
    );
    (files, next)
}

/// The run of a rule.
fn inputs(own: &OwnParts, seed: u64, skewed: bool, rule: &str, set: &[String]) -> Result<Plan> {
    let (device, workload) = task(seed, skewed);
    let names = if skewed {
        ["skewed-device.toml", "skewed.toml"]
    } else {
        ["uniform-device.toml", "uniform.toml"]
    };
    let rule = [("RULE", format!("gc.policy={rule}"))].into_iter();
    let set: Vec<_> = rule.chain(set.iter().map(|one| ("--set", one.clone()))).collect();
    let mut inputs = Plan::of_texts(own.clone(), (names[0], &device), (names[1], &workload), &set)?;
    inputs.set_seed(seed);
    Ok(inputs)
}

/// The figures of a rule: skewed, then uniform.
struct Figures {
    amplification: [f64; 2],
    /// Erases of the most erased block under skewed writes, as a multiple of the mean.
    wear: f64,
}

impl Figures {
    fn of([skewed, uniform]: [&Report; 2]) -> Self {
        let wear = f64::from(skewed.wear.erases_max) / skewed.wear.erases_mean;
        Self { amplification: [skewed, uniform].map(amplification), wear }
    }
}

/// Judges a rule.
pub(crate) fn check(check: &Check<'_>, own: &OwnParts, watch: Watch<'_>) -> Result<Verdict> {
    let (name, seed) = (check.answer, check.seed.unwrap_or(1));
    let keys = format!("gc.{name}.");
    if let Some(other) = check.set.iter().find(|set| !set.trim_start().starts_with(&keys)) {
        return Err(wrong(&format!(
            "--set {other}: it is no key of the rule; the lab sets all others, {keys}KEY=VALUE may \
             be set"
        )));
    }
    let built_in: Vec<&str> = VictimKeys::PARTS.iter().map(|(name, ..)| *name).collect();
    let is_own = !built_in.contains(&name);
    let pair = |rule: &str, set: &[String]| -> Result<[Plan; 2]> {
        Ok([inputs(own, seed, true, rule, set)?, inputs(own, seed, false, rule, set)?])
    };
    // A wrong name or key ends the check before anything runs.
    let mine = pair(name, check.set)?;
    let mut others = Vec::new();
    for rule in &built_in {
        others.extend(pair(rule, &[])?);
    }
    // One after the other: a run must not begin with what another one has built.
    let (first, second) =
        (runs::all(mine.clone().into(), true, watch)?, runs::all(mine.into(), true, watch)?);
    let others = runs::all(others, false, watch)?.into_iter().collect::<Result<Vec<Report>>>()?;
    let others = others.chunks(2).map(|two| Figures::of([&two[0], &two[1]]));
    let others: Vec<(&str, Figures)> = built_in.iter().copied().zip(others).collect();
    judge(name, is_own, seed, [first, second], &others)
}

/// The verdict about the runs of a rule.
fn judge(
    name: &str,
    is_own: bool,
    seed: u64,
    [first, second]: [Vec<Result<Report>>; 2],
    others: &[(&str, Figures)],
) -> Result<Verdict> {
    let mut verdict = Verdict::new(Lab::GcRule, seed);
    let hint = "Built-in rules are there to compare with";
    verdict.add(is_own, &format!("{name} is a rule of your own"), hint);
    let failed = first.iter().chain(&second).find_map(|one| one.as_ref().err());
    let said = match failed {
        None => "the runs end with every rule of the device checked".to_string(),
        Some(error) => format!("a run fails: {error:#}"),
    };
    verdict.add(failed.is_none(), &said, "A victim must gain: see docs/ADDING_A_POLICY.md");
    let reports = |found: Vec<Result<Report>>| found.into_iter().collect::<Result<Vec<_>>>().ok();
    let (Some(first), Some(second)) = (reports(first), reports(second)) else {
        return Ok(verdict.with(shown(None, others)));
    };
    let same = same(&first, &second)?;
    let hint = "The rule must depend on its arguments and keys alone";
    verdict.add(same, "a second run has the same results", hint);
    let mine = Figures::of([&first[0], &first[1]]);
    bars(&mut verdict, &mine, others);
    Ok(verdict.with(shown(Some((name, &mine)), others)))
}

/// Whether both runs of the rule found the same.
fn same(first: &[Report], second: &[Report]) -> Result<bool> {
    for (first, second) in first.iter().zip(second) {
        if serde_json::to_value(first)? != serde_json::to_value(second)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The criteria about figures.
fn bars(verdict: &mut Verdict, mine: &Figures, others: &[(&str, Figures)]) {
    let greedy = others.iter().find(|(name, _)| *name == GREEDY).map(|(_, figures)| figures);
    let greedy = greedy.map_or([f64::NAN; 2], |figures| figures.amplification);
    let ratio = mine.amplification[0] / greedy[0];
    verdict.add(
        ratio <= SKEWED_BAR,
        &format!(
            "skewed writes: write amplification is {ratio:.3} of greedy's, at most {SKEWED_BAR} is \
             asked"
        ),
        "A page of a hot block dies soon without being copied; a cold block gives its space for \
         long",
    );
    let ratio = mine.amplification[1] / greedy[1];
    verdict.add(
        ratio <= UNIFORM_BAR,
        &format!(
            "uniform writes: write amplification is {ratio:.3} of greedy's, at most \
             {UNIFORM_BAR:.2} is asked"
        ),
        "Where all pages are alike, age says nothing that valid pages do not",
    );
    verdict.add(
        mine.wear <= WEAR_BAR,
        &format!(
            "skewed writes: the most erased block has {:.2} times the mean erases, at most \
             {WEAR_BAR:.1} are asked",
            mine.wear
        ),
        "Blocks that are never cleaned keep their erases, and others have them instead",
    );
}

/// The figures of all rules.
fn shown(mine: Option<(&str, &Figures)>, others: &[(&str, Figures)]) -> Table {
    let mut table = Table::new(&["write amplification", "skewed", "uniform", "max/mean erases"]);
    let others = others.iter().map(|(name, figures)| (*name, figures));
    let is_mine = |name: &str| mine.is_some_and(|(mine, _)| mine == name);
    let others: Vec<_> = others.filter(|(name, _)| !is_mine(name)).collect();
    for (name, Figures { amplification: [skewed, uniform], wear }) in mine.into_iter().chain(others)
    {
        let name = if is_mine(name) { format!("{name} (yours)") } else { name.to_string() };
        table.add([name, format!("{skewed:.3}"), format!("{uniform:.3}"), format!("{wear:.2}")]);
    }
    table
}

//! Experiment files name what exists; the rule of verdicts, with figures made up for it.

use crate::asked::Asked;
use crate::device::settings_of;
use crate::eval::{Evaluator, Figures, Scope};
use crate::expr::{Context, Expr};
use crate::judge::{Judged, Outcome};
use crate::list::STUDIES;
use crate::metrics::{self, METRICS};
use crate::runs::RunKey;
use crate::sample::{Sample, Spread};
use crate::schema::{By, Catalogue, Experiment};
use crate::statements::{self, Verdict};
use crate::study::Study;
use crate::tables;
use crate::tokens::Printed;
use crate::twins;
use flashyard_sim::own::OwnParts;
use serde_json::json;
use std::path::PathBuf;

fn asked(traces: Option<PathBuf>) -> Asked {
    Asked { traces, ..Asked::default() }
}

fn study(text: &str) -> Study {
    Study::new("test", text, &asked(None), &OwnParts::default()).expect("a study")
}

/// Every run is of a device that exists, and every expression names what exists; with and without
/// recorded traces.
#[test]
fn the_experiment_files_describe_studies_that_can_be_made() {
    let folder = tempfile::TempDir::new().unwrap();
    for trace in &Catalogue::built_in().unwrap().trace {
        std::fs::write(folder.path().join(&trace.file), "").unwrap();
    }
    for (name, text) in STUDIES {
        for traces in [None, Some(folder.path().to_path_buf())] {
            let wants_traces = traces.is_some();
            let study = Study::new(name, text, &asked(traces), &OwnParts::default());
            if ["framework", "drives", "fdp", "zns", "power"].contains(name) && wants_traces {
                assert!(study.unwrap_err().to_string().contains("no recorded workloads"));
                continue;
            }
            let study = study.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let file = &study.experiment;
            for (rows, published) in [(&file.published, true), (&file.asked, false)] {
                statements::Compiled::all(&study, rows)
                    .unwrap_or_else(|error| panic!("{name}: {error:?}"));
                for statement in rows.iter().flat_map(|row| &row.statement) {
                    assert_eq!(statement.form.is_some(), published, "{name}: {statement:?}");
                }
            }
            let tables = tables::Compiled::all(&study);
            let tables = tables.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(tables.iter().all(|table| table.columns() > 0));
            for (grid, row) in study.names.grids.iter().enumerate() {
                for point in 0..row.points.len() {
                    for &subject in &row.subjects {
                        let (device, settings) = study.settings(grid, point, subject);
                        settings_of(&study.devices[device].keys, &settings)
                            .unwrap_or_else(|error| panic!("{name}, {}: {error:?}", row.name));
                    }
                }
            }
            assert_eq!(study.missing, [""; 0], "{name}: the catalogue lacks a trace");
        }
    }
}

/// Two subjects, four workloads, and a sweep of six points.
const MADE_UP: &str = r#"
title = "t"
source = "s"
notes = "n"
replicas = 3
[[device]]
name = "d"
preset = "drs"
[[subject]]
name = "new"
[[subject]]
name = "old"
[[group]]
name = "g"
[[group.workload]]
name = "W1"
built_in = "movie"
published = { read_kib = "1.0" }
[[group.workload]]
name = "W2"
built_in = "movie"
[[group.workload]]
name = "W3"
built_in = "movie"
[[group.workload]]
name = "W4"
built_in = "movie"
[[grid]]
name = "one"
device = "d"
[[grid]]
name = "sweep"
device = "d"
key = "queue.depth"
values = [1, 2, 3, 4, 5, 6]
"#;

/// Figures by subject, workload and point.
struct MadeUp<F>(F);

impl<F: Fn(RunKey) -> Option<Sample>> Figures for MadeUp<F> {
    fn figure(&self, key: RunKey, metric: usize) -> Option<Sample> {
        assert_eq!(METRICS[metric].name, "read");
        (self.0)(key)
    }
    fn of_workload(&self, _: usize, _: usize) -> Option<Sample> {
        Some(Sample::exact(1.04))
    }
    fn published(&self, _: usize, _: usize) -> Option<Printed> {
        Some(Printed { value: 1.0, half: 0.05, percent: false })
    }
    fn known(&self, _: usize) -> f64 {
        0.0
    }
    fn example(&self, _: usize) -> bool {
        true
    }
}

/// A figure with replicas a little around it.
fn around(base: f64, noise: f64) -> Sample {
    let replicas = vec![base - noise, base, base + noise];
    Sample { base, spread: Spread::Replicas(replicas), of: None }
}

fn overloaded(base: f64) -> Sample {
    Sample { base, spread: Spread::Overloaded, of: None }
}

/// Judges an expression about a grid.
fn judge(grid: &str, text: &str, figures: impl Fn(RunKey) -> Sample) -> Judged {
    judge_some(grid, text, |key| Some(figures(key)))
}

/// The same where not every figure exists.
fn judge_some(grid: &str, text: &str, figures: impl Fn(RunKey) -> Option<Sample>) -> Judged {
    let study = study(MADE_UP);
    let grid = study.grid(grid).unwrap();
    let expr = Expr::claim(text, &study.names, Context::of(&study.names, grid));
    let expr = expr.unwrap_or_else(|error| panic!("{error:?}"));
    let workloads = vec![0, 1, 2, 3];
    let scope = Scope { grid, point: 0, subject: None, workload: None, workloads };
    evaluator(&study, &MadeUp(figures), &[(&expr, &scope)]).judge(&expr, &scope)
}

/// What evaluates a statement of these expressions.
fn evaluator<'a, F: Figures>(
    study: &'a Study,
    figures: &'a F,
    all: &[(&Expr, &Scope)],
) -> Evaluator<'a, F> {
    Evaluator::new(&study.names, figures).of_all(all.iter().copied())
}

/// The ratio of the new subject over the old one in each workload, with this noise.
#[track_caller]
fn check_ratios(text: &str, ratios: [f64; 4], noise: f64, expected: Outcome) {
    let figures = |key: RunKey| match key.subject {
        0 => around(ratios[key.workload], noise),
        _ => around(1.0, 0.0),
    };
    let judged = judge("one", text, figures);
    assert_eq!(judged.outcome, expected, "{text}: {judged:?}");
}

/// Three replicas have a confidence interval of 4.303 x deviation / sqrt(3), which is 2.48 x the
/// noise here.
#[test]
fn a_difference_counts_only_above_the_noise() {
    let faster = "mean(read(new/old)) < 1";
    check_ratios(faster, [0.9; 4], 0.039, Outcome::Yes);
    check_ratios(faster, [0.9; 4], 0.042, Outcome::NotShown);
    check_ratios(faster, [1.1; 4], 0.039, Outcome::No);
    check_ratios(faster, [1.0; 4], 0.0, Outcome::Nothing);
    check_ratios("mean(read(new/old)) > 1", [1.1; 4], 0.039, Outcome::Yes);
    // Noise that both have is none: the replicas are compared one by one.
    let figures = |key: RunKey| around(if key.subject == 0 { 0.9 } else { 1.0 }, 0.5);
    assert_eq!(judge("one", "all(read(new) < read(old))", figures).outcome, Outcome::Yes);
}

/// Judges a ratio whose run itself found something else than its replicas, which lie around a mean
/// with a confidence interval so far to either side.
fn of_replicas(text: &str, base: f64, mean: f64, half: f64) -> Judged {
    let figures = |key: RunKey| match key.subject {
        0 => Sample { base, ..around(mean, half * 3f64.sqrt() / 4.303) },
        _ => around(1.0, 0.0),
    };
    judge("one", text, figures)
}

/// Nothing holds beside a figure that says otherwise.
#[test]
fn replicas_alone_make_nothing_true() {
    let faster = "mean(read(new/old)) < 1";
    assert_eq!(of_replicas(faster, 0.99, 0.9, 0.02).outcome, Outcome::Yes);
    let judged = of_replicas(faster, 1.01, 0.9, 0.02);
    assert_eq!(judged.outcome, Outcome::NotShown);
    assert_eq!(judged.reason.as_deref(), Some("in replicas, but not in the run itself"));
    let published = "mean(read(new/old)) - 1 ~ -10%";
    assert_eq!(of_replicas(published, 0.905, 0.9, 0.01).outcome, Outcome::Yes);
    assert_eq!(of_replicas(published, 0.99, 0.9, 0.01).outcome, Outcome::NotShown);
    assert_eq!(of_replicas(published, 0.9, 0.95, 0.01).outcome, Outcome::NotShown);
    let same = "near(mean(read(new)), mean(read(old)))";
    assert_eq!(of_replicas(same, 1.04, 1.0, 0.02).outcome, Outcome::Yes);
    assert_eq!(of_replicas(same, 1.06, 1.0, 0.02).outcome, Outcome::NotShown);
}

#[test]
fn statements_on_workloads_hold_in_part() {
    let all = "all(read(new) < read(old))";
    check_ratios(all, [0.9; 4], 0.01, Outcome::Yes);
    check_ratios(all, [0.9, 0.9, 0.9, 1.1], 0.01, Outcome::Partly);
    check_ratios(all, [1.0, 1.0, 1.1, 1.1], 0.01, Outcome::No);
    let most = "most(read(new) < read(old))";
    check_ratios(most, [0.9, 0.9, 0.9, 1.1], 0.01, Outcome::Yes);
    check_ratios(most, [0.9, 0.9, 1.1, 1.1], 0.01, Outcome::No);
    check_ratios("any(read(new) < read(old))", [0.9, 1.1, 1.1, 1.1], 0.01, Outcome::Yes);
    check_ratios("any(read(new) < read(old))", [1.1; 4], 0.01, Outcome::No);
    check_ratios("on('W1', read(new) < read(old))", [0.9, 1.1, 1.1, 1.1], 0.01, Outcome::Yes);
    check_ratios(
        "without('W1', all(read(new) < read(old)))",
        [1.1, 0.9, 0.9, 0.9],
        0.01,
        Outcome::Yes,
    );
    // A sentence of two comparisons has no parts.
    let both = "mean(read(new/old)) < 1 and on('W4', read(new) < read(old))";
    check_ratios(both, [0.5, 0.5, 0.5, 1.1], 0.01, Outcome::No);
    let one = "mean(read(new/old)) < 1 or on('W4', read(new) < read(old))";
    check_ratios(one, [0.5, 0.5, 0.5, 1.1], 0.01, Outcome::Yes);
}

/// Precision makes no number wrong, and noise makes none right.
#[test]
fn a_published_number_is_matched_within_a_tenth() {
    let change = |published: &str| format!("mean(read(new/old)) - 1 ~ {published}");
    let faster = change("-30%");
    // -29 % beside -30 %, each replica -28.9 %.
    assert_eq!(of_replicas(&faster, 0.71, 0.711, 0.0).outcome, Outcome::Yes);
    // -13 % [-25, -6] beside -19 %, and 29.8 % [2.3, 84] beside 51 %.
    let judged = of_replicas(&change("-19%"), 0.87, 0.845, 0.095);
    assert_eq!(judged.outcome, Outcome::NotShown, "{judged:?}");
    let judged = of_replicas(&change("51%"), 1.298, 1.4315, 0.4085);
    assert_eq!(judged.outcome, Outcome::NotShown, "{judged:?}");
    // As wide, but around the number: noise makes no match.
    assert_eq!(of_replicas(&faster, 0.7, 0.7, 0.04).outcome, Outcome::NotShown);
    assert_eq!(of_replicas(&faster, 0.7, 0.7, 0.037).outcome, Outcome::Yes);
    // As wide, but all of it elsewhere.
    assert_eq!(of_replicas(&faster, 0.9, 0.9, 0.04).outcome, Outcome::No);
    // A match of -30 % lies from -33 to -27 %.
    check_ratios(&faster, [0.68; 4], 0.0, Outcome::Yes);
    check_ratios(&faster, [0.66; 4], 0.0, Outcome::No);
    check_ratios(&faster, [0.74; 4], 0.0, Outcome::No);
    check_ratios(&faster, [1.3; 4], 0.0, Outcome::No);
    check_ratios(&faster, [1.0; 4], 0.0, Outcome::Nothing);
    // 2 % is printed without decimals: half a digit is more than a tenth, and a match above it.
    let slower = change("2%");
    check_ratios(&slower, [1.0; 4], 0.0, Outcome::Nothing);
    check_ratios(&slower, [1.0; 4], 0.01, Outcome::NotShown);
    check_ratios(&slower, [1.015; 4], 0.0, Outcome::Yes);
    check_ratios(&slower, [1.026; 4], 0.0, Outcome::No);
    // No run makes these vary: they are as printed, or not.
    check_ratios("on('W1', read_kib ~ published(read_kib))", [1.0; 4], 0.0, Outcome::Yes);
    check_ratios("on('W1', read_kib ~ printed(2, 1))", [1.0; 4], 0.0, Outcome::No);
}

/// Reads are 3, 6, ... 18 % faster over a sweep of what the publication leaves open.
#[test]
fn a_number_inside_the_range_of_open_choices_is_open() {
    let study = study(MADE_UP);
    let (one, sweep) = (study.grid("one").unwrap(), study.grid("sweep").unwrap());
    let figures = MadeUp(|key: RunKey| {
        let change = if key.grid == sweep { 0.03 * (key.point as f64 + 1.0) } else { 0.05 };
        Some(around(if key.subject == 0 { 1.0 - change } else { 1.0 }, 0.0))
    });
    let workloads = vec![0, 1, 2, 3];
    let scope = Scope { grid: one, point: 0, subject: None, workload: None, workloads };
    let of = |text: &str, grids: &[usize]| {
        let expr = Expr::claim(text, &study.names, Context::of(&study.names, one)).unwrap();
        let evaluator = evaluator(&study, &figures, &[(&expr, &scope)]);
        evaluator.with_choices(evaluator.judge(&expr, &scope), &expr, &scope, grids)
    };
    let published = "mean(read(new/old)) - 1 ~ -12%";
    assert_eq!(of(published, &[]).outcome, Outcome::No);
    let judged = of(published, &[sweep]);
    assert_eq!(judged.outcome, Outcome::Open);
    assert!(judged.reason.unwrap().ends_with("over the open choices -0.180 to -0.030"));
    assert_eq!(of("mean(read(new/old)) - 1 ~ -30%", &[sweep]).outcome, Outcome::No);
    assert_eq!(of("mean(read(new/old)) - 1 ~ -5%", &[sweep]).outcome, Outcome::Yes);
}

#[test]
fn sameness_has_to_be_shown() {
    let same = "near(mean(read(new)), mean(read(old)))";
    check_ratios(same, [1.0; 4], 0.0, Outcome::Yes);
    check_ratios(same, [1.03; 4], 0.005, Outcome::Yes);
    check_ratios(same, [0.97; 4], 0.005, Outcome::Yes);
    check_ratios(same, [1.03; 4], 0.01, Outcome::NotShown);
    check_ratios(same, [1.1; 4], 0.0, Outcome::No);
}

#[test]
fn a_run_whose_queue_grows_is_never_a_match() {
    let with = |ratio: f64| {
        move |key: RunKey| match (key.subject, key.workload) {
            (0, 3) => overloaded(ratio),
            (0, _) => around(0.9, 0.01),
            _ => around(1.0, 0.0),
        }
    };
    let of = |text: &str, ratio: f64| judge("one", text, with(ratio));
    assert_eq!(of("on('W4', read(new) < read(old))", 0.5).outcome, Outcome::NotJudged);
    assert_eq!(of("on('W4', read(new) < read(old))", 1.5).outcome, Outcome::No);
    assert_eq!(of("on('W4', read(new) - read(old) ~ -50%)", 0.5).outcome, Outcome::NotJudged);
    assert_eq!(of("on('W4', near(read(new), read(old)))", 1.0).outcome, Outcome::NotJudged);
    let all = of("all(read(new) < read(old))", 0.5);
    assert_eq!(all.outcome, Outcome::Partly);
    assert_eq!(all.reason.as_deref(), Some("3 of 4; not W4 (its queue grows)"));
    // Means leave it out, and say so.
    assert_eq!(of("mean(read(new/old)) < 0.95", 50.0).outcome, Outcome::Yes);
    let study = study(MADE_UP);
    let figures = MadeUp(|key| Some(with(50.0)(key)));
    let expr = Expr::number("mean(read(new/old))", &study.names, Context::of(&study.names, 0));
    let expr = expr.unwrap();
    let workloads = vec![0, 1, 2, 3];
    let scope = Scope { grid: 0, point: 0, subject: None, workload: None, workloads };
    let evaluator = evaluator(&study, &figures, &[(&expr, &scope)]);
    let mean = evaluator.number(&expr, &scope).unwrap();
    assert!((mean.base - 0.9).abs() < 1e-12);
    assert_eq!(evaluator.left_out.take().into_iter().collect::<Vec<_>>(), [3]);
}

/// The new subject is faster everywhere, and far slower on W4 than elsewhere; the queue of the old
/// one grows there.
fn old_is_overloaded_on_w4(key: RunKey) -> Sample {
    match (key.subject, key.workload) {
        (0, 3) => around(40.0, 0.1),
        (0, _) => around(0.9, 0.01),
        (_, 3) => overloaded(50.0),
        _ => around(1.0, 0.01),
    }
}

/// A statement compares nothing of a workload that one of its means leaves out.
#[test]
fn means_of_a_statement_go_over_the_same_workloads() {
    let of = |text: &str| judge("one", text, old_is_overloaded_on_w4).outcome;
    assert_eq!(of("mean(read(new)) < mean(read(old))"), Outcome::Yes);
    assert_eq!(of("mean(read(old)) < mean(read(new))"), Outcome::No);
    assert_eq!(of("mean(read(new)) - mean(read(old)) ~ -10%"), Outcome::Yes);
    assert_eq!(of("max(read(new)) < 1"), Outcome::No);
    assert_eq!(of("max(read(new)) < 1 and mean(read(old)) > 0.9"), Outcome::Yes);
    // One that goes over the workload alone keeps it.
    assert_eq!(of("mean(read(old)) > 0.9 and on('W4', mean(read(new))) > 39"), Outcome::Yes);
    // No workload is left: nothing is left out, and nothing holds.
    let none_left = |key: RunKey| match (key.subject, key.workload) {
        (0, 0 | 1) | (1, 2 | 3) => overloaded(1.0),
        (0, _) => around(0.5, 0.0),
        _ => around(9.0, 0.0),
    };
    let judged = judge("one", "mean(read(new)) < mean(read(old))", none_left);
    assert_eq!(judged.outcome, Outcome::NotJudged);
    // All points of a trend, too: it rises on W1 to W3, and W4 is overloaded at the last point.
    let rising = |key: RunKey| match (key.point, key.workload) {
        (5, 3) => overloaded(100.0),
        (_, 3) => around(100.0, 0.0),
        (point, _) => around(point as f64, 0.0),
    };
    assert_eq!(judge("sweep", "rises(mean(read(new)))", rising).outcome, Outcome::Yes);
}

/// All points of the open choices go over the same workloads, and a statement says which they lack.
#[test]
fn open_choices_go_over_the_same_workloads() {
    let study = study(MADE_UP);
    let (one, sweep) = (study.grid("one").unwrap(), study.grid("sweep").unwrap());
    let figures = MadeUp(|key: RunKey| {
        Some(match (key.grid == sweep, key.point, key.workload) {
            (true, 5, 3) => overloaded(9.0),
            (true, point, 0..=2) => around(1.0 + 0.1 * point as f64, 0.0),
            (_, _, 3) => around(9.0, 0.0),
            _ => around(1.0, 0.0),
        })
    });
    let workloads = vec![0, 1, 2, 3];
    let scope = Scope { grid: one, point: 0, subject: None, workload: None, workloads };
    let expr = Expr::claim("mean(read(new)) ~ 2", &study.names, Context::of(&study.names, one));
    let expr = expr.unwrap();
    let evaluator = evaluator(&study, &figures, &[(&expr, &scope)]);
    let judged = evaluator.judge(&expr, &scope);
    let judged = evaluator.with_choices(judged, &expr, &scope, &[sweep]);
    let reason = judged.reason.unwrap();
    let range = "over the open choices 1.000 to 1.500, all without W4";
    assert!(reason.ends_with(range), "{reason}");
    assert!(evaluator.left_out.take().is_empty());
}

/// The row of means without marks goes over the same workloads in all columns; one of nothing but
/// marks has none.
#[test]
fn a_row_with_a_mark_is_left_out_of_all_columns() {
    let table = r#"
[[table]]
title = "t"
grid = "one"
rows = "workloads"
column = [{ title = "new", cell = "read(new)" }, { title = "old", cell = "read(old)" }]
"#;
    let study = study(&format!("{MADE_UP}{table}"));
    let feet = |figures: fn(RunKey) -> Sample| {
        let figures = MadeUp(|key| Some(figures(key)));
        let filled = tables::Compiled::all(&study).unwrap()[0].filled(&study, &figures);
        let rows = filled[0].rows.iter().skip(4);
        let value = |cell: &Option<tables::Cell>| cell.map(|cell| cell.value);
        let rows = rows.map(|(name, cells)| (name.clone(), cells.iter().map(value).collect()));
        rows.collect::<Vec<(String, Vec<Option<f64>>)>>()
    };
    let rows = feet(old_is_overloaded_on_w4);
    assert_eq!(rows[0], ("mean of g".to_string(), vec![Some(42.7 / 4.0), Some(53.0 / 4.0)]));
    assert_eq!(rows[1], ("  without *".to_string(), vec![Some(2.7 / 3.0), Some(1.0)]));
    let rows = feet(|key| if key.subject == 0 { around(1.0, 0.0) } else { overloaded(9.0) });
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["mean of g", "  median"]);
    let rows = feet(|key| match (key.subject, key.workload) {
        (0, 1..) => around(1.0, 0.0),
        _ => overloaded(9.0),
    });
    assert_eq!(rows[1], ("  without *".to_string(), vec![Some(1.0), None]));
}

/// A statement about whole workloads is not judged by the first requests of them, nor are its
/// numbers.
#[test]
fn short_runs_do_not_judge_what_is_about_whole_workloads() {
    let stated = r#"
[short]
requests = 10
[[asked]]
about = "a"
grid = "one"
whole = WHOLE
[[asked.statement]]
says = "as fast"
holds = "mean(read(new)) ~ 1"
"#;
    let verdicts = |whole: &str, asked: &Asked| {
        let text = format!("{MADE_UP}{}", stated.replace("WHOLE", whole));
        let study = Study::new("test", &text, asked, &OwnParts::default()).unwrap();
        let rows = &study.experiment.asked;
        let statement = &statements::Compiled::all(&study, rows).unwrap()[0];
        let answer = statement.judge(&study, &MadeUp(|_| Some(around(1.0, 0.0))), false);
        (answer.verdict.word(), answer.numbers[0].verdict, answer.found)
    };
    let whole = asked(None);
    let short = Asked { short: true, ..asked(None) };
    let few = Asked { requests: Some(10), ..asked(None) };
    for (key, asked) in [("true", &whole), ("false", &short), ("false", &few)] {
        assert_eq!(verdicts(key, asked), ("holds", "holds", String::new()));
    }
    for asked in [&short, &few] {
        let (verdict, number, found) = verdicts("true", asked);
        assert_eq!((verdict, number), ("not judged", "not judged"));
        assert!(found.contains("--short or --requests ends them sooner"), "{found}");
    }
}

#[test]
fn what_was_not_run_or_replicated_is_not_judged() {
    let none = |_: RunKey| None;
    assert_eq!(judge_some("one", "mean(read(new/old)) < 1", none).outcome, Outcome::NotJudged);
    assert_eq!(judge_some("one", "all(read(new) < read(old))", none).outcome, Outcome::NotJudged);
    let once = |key: RunKey| {
        let base = if key.subject == 0 { 0.5 } else { 1.0 };
        Sample { base, spread: Spread::Unknown, of: None }
    };
    assert_eq!(judge("one", "mean(read(new/old)) < 1", once).outcome, Outcome::NotJudged);
}

/// Of fifteen pairs of six points thirteen more have to go one way than the other for a trend:
/// chance brings that about in 1.7 %, eleven in 5.6 %.
#[test]
fn a_trend_is_one_by_the_test_of_mann_and_kendall() {
    let of = |text: &str, values: [f64; 6], noise: f64| {
        let figures = |key: RunKey| around(values[key.point], noise);
        judge("sweep", text, figures).outcome
    };
    let rises = "rises(mean(read(new)))";
    let steady = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(of(rises, steady, 0.0), Outcome::Yes);
    assert_eq!(of(rises, [1.0, 3.0, 2.0, 4.0, 5.0, 6.0], 0.0), Outcome::Yes);
    assert_eq!(of(rises, [1.0, 3.0, 2.0, 4.0, 6.0, 5.0], 0.0), Outcome::NotShown);
    assert_eq!(of(rises, [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 0.0), Outcome::No);
    assert_eq!(of("falls(mean(read(new)))", [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 0.0), Outcome::Yes);
    let none = "trendless(mean(read(new)))";
    assert_eq!(of(none, [1.0, 6.0, 2.0, 5.0, 3.0, 4.0], 0.0), Outcome::Yes);
    assert_eq!(of(none, steady, 0.0), Outcome::No);
    // Nothing goes either way: that shows nothing.
    assert_eq!(of(none, [1.0; 6], 0.0), Outcome::NotShown);
    let reason = judge("sweep", rises, |key| around(steady[key.point], 0.0)).reason;
    let expected = "of 15 pairs of points 15 rise and 0 fall above the noise; so many more one \
                    way than the other are chance in 0.3 %";
    assert_eq!(reason.as_deref(), Some(expected));
}

#[test]
fn verdicts_have_their_words() {
    let word = |outcome, by| Verdict::of(outcome, by).word();
    assert_eq!(word(Outcome::Yes, None), "holds");
    assert_eq!(word(Outcome::Partly, None), "in part");
    assert_eq!(word(Outcome::No, None), "does not hold");
    assert_eq!(word(Outcome::NotShown, None), "not shown");
    assert_eq!(word(Outcome::Nothing, None), "nothing happened");
    assert_eq!(word(Outcome::Open, None), "open");
    assert_eq!(word(Outcome::NotJudged, None), "not judged");
    assert_eq!(word(Outcome::Yes, Some(By::Definition)), "by definition");
    assert_eq!(word(Outcome::Yes, Some(By::Calibration)), "by calibration");
    // What was to hold in any case and does not plainly does not hold.
    assert_eq!(word(Outcome::No, Some(By::Definition)), "does not hold");
}

/// A statement can name what a sweep has a column for; the study's own figures come first.
#[test]
fn columns_of_sweeps_are_figures() {
    let study = study(MADE_UP);
    let context = Context::of(&study.names, study.grid("one").unwrap());
    let claim = |text: &str| Expr::claim(text, &study.names, context);
    assert!(claim("mean(read.p999_us(new/old)) < 1").is_ok());
    assert!(claim("all(gc_pages_copied(new) < gc_pages_copied(old))").is_ok());
    let error = claim("mean(read.p999_ms(new)) < 1").unwrap_err().to_string();
    assert!(error.contains("did you mean read.p999_us?"), "{error}");
    for (place, name) in metrics::names().enumerate() {
        let found = metrics::place(name);
        assert!(found == Some(place) || found < Some(METRICS.len()), "{name}");
    }
}

/// What a cell holds is in the unit that its column is printed in: 14,333 ns are 14.3 us.
#[test]
fn cells_are_in_the_unit_of_their_column() {
    let column = |(title, form): (&str, &str)| {
        format!("{{ title = '{title}', cell = 'mean(read(new))', as = '{form}' }}")
    };
    let forms = [("mean us", "us1"), ("mean", "ms"), ("uJ", "microjoules"), ("share", "percent")];
    let columns = forms.map(column).join(", ");
    let table = "[[table]]\ntitle = 'w'\ngrid = 'one'\nrows = 'points'";
    let study = study(&format!("{MADE_UP}{table}\ncolumn = [{columns}]\n"));
    let tables = tables::Compiled::all(&study).expect("tables");
    let filled = tables[0].filled(&study, &MadeUp(|_| Some(around(14_333.975, 0.0))));
    let object = filled[0].object();
    assert_eq!(object["units"], json!(["us", "ms", "uJ", null]));
    let values = json!([14.333_975, 0.014_333_975, 0.014_333_975, 14_333.975]);
    assert_eq!(object["rows"][0]["values"], values);
    let texts = [0, 1, 2, 3].map(|column| filled[0].cell(0, column));
    assert_eq!(texts, ["14.3", "0.014", "0", "1433398 %"]);
}

/// The help of `--twins` names the studies whose requests have no times of their own.
#[test]
fn twins_stand_in_for_requests_with_times_of_their_own() {
    for (name, text) in STUDIES {
        let study = Study::new(name, text, &asked(None), &OwnParts::default()).expect("a study");
        let refused = twins::refuse(&study, &study.names.grids[0].workloads).is_err();
        let named = ["framework", "drives", "fdp", "zns", "power"].contains(name);
        assert_eq!(refused, named, "{name}");
    }
}

#[test]
fn replicas_without_end_are_refused() {
    for (from, to, what) in [
        ("replicas = 3", "replicas = 999_999_999_999", "replicas: more than 10000"),
        (
            "[[device]]",
            "[short]\nreplicas = 10_001\n[[device]]",
            "[short]: replicas: more than 10000",
        ),
    ] {
        let error = Experiment::parse(&MADE_UP.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn expressions_are_refused_with_what_is_wrong() {
    let study = study(MADE_UP);
    let refused = |text: &str, what: &str| {
        let context = |grid: &str| Context::of(&study.names, study.grid(grid).unwrap());
        let grid = if text.starts_with("at") || text.contains('@') { "sweep" } else { "one" };
        let error = Expr::claim(text, &study.names, context(grid)).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    };
    refused("mean(read(new/odl)) < 1", "odl: no subject of this name; did you mean old?");
    refused("mean(raed(new)) < 1", "raed: no function, and no figure of a run; did you mean read?");
    refused(
        "read(new) < 1",
        "read is of one workload: put mean(...), all(...) or on(...) around it",
    );
    refused("on('W9', read(new) < 1)", "W9: no workload and no group of this name");
    refused("at('7', mean(read(new))) < 1", "7: no point of this name");
    refused("mean(read(new@1)) < read(new)", "read is of one workload");
    refused("mean(read(new@1)) < mean(read(new))", "grid sweep has several points: name one");
    refused("mean(read(new))", "it is a number; a comparison is wanted");
    refused("mean(read(new)) ~ mean(read(old))", "~ wants a published number on its right");
    refused("mean(read(new)) < 1 and 2", "part 2 is a number");
    refused("mean(read(new) < 1) < 1", "a number is wanted");
    refused("mean(read(new) < 1", "a number is wanted");
    refused("mean(read(new) < 1 1", "is wanted");
    refused("rises(mean(read(new)))", "a trend wants a grid of several points");
    refused("gain < 1", "gain: neither a definition nor a figure of a workload");
    refused("all(read(new)) < 1", "want comparisons");
    let nested = "more than 64 signs, brackets and functions stand in one another";
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        format!("{open}1{close} < 2")
    };
    refused(&format!("{}1{} < 2", "(".repeat(70), ")".repeat(70)), nested);
    refused(&format!("{}1 < 2", "-".repeat(70)), nested);
    let long = "more than 1000 words, numbers and signs";
    refused(&deep("(", ")"), long);
    refused(&deep("1+", ""), long);
}

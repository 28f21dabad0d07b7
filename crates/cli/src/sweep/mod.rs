//! `flashyard sweep`: every point of a grid or a list, or the value of a key that meets a goal.
//!
//! `job` is what is asked for, `results` makes the table, `show` prints, `report` makes the page,
//! `shards` ends a part of the runs or hands them over.

mod job;
mod report;
mod results;
mod shards;
mod show;

use crate::args::{self, SweepArgs};
use crate::columns::summary;
use crate::interrupt;
use crate::output::{note, print, remark, text::hanging};
use crate::progress::Progress;
use anyhow::{Result, anyhow};
use flashyard_run::error::wrong;
use flashyard_run::points::axis::{Setting, label};
use flashyard_run::sweep::Runner;
use flashyard_run::sweep::file::{Goal, Sweep};
use flashyard_run::sweep::goal::{End, Search, Tried};
use flashyard_run::sweep::journal::{END, Journal, Place};
use flashyard_run::sweep::plan::{Asked, Name, Planned, Planner};
use flashyard_sim::own::OwnParts;
use job::{Job, stem};
use results::Row;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs `flashyard sweep`.
pub(crate) fn run(args: &SweepArgs, own: &OwnParts) -> Result<()> {
    let sweep = &Sweep::read(&args.file)?;
    let shard = args.shards.shard().map_err(|what| wrong(&format!("--shard auto: {what}")))?;
    if sweep.goal.is_some() && (shard.is_some() || args.shards.slurm.is_some()) {
        let what = "a goal has no shards, since each step of its search needs the one before; \
                    leave --shard and --slurm out";
        return Err(wrong(&format!("{}: {what}", args.file)));
    }
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.file));
    if shard.is_none() {
        results::check_names(args, &out)?;
    }
    let program = args::program()?;
    let asked = Asked {
        place: args.file.clone(),
        set: args.set.clone(),
        check: args.check,
        memory_mib: args.memory,
        microcode: args.microcode.clone(),
        program: Some(program),
        given: Vec::new(),
    };
    let mut planner = Planner::new(sweep, &asked, own.clone())?;
    let place = match &args.shards.journal {
        Some(folder) => Place::folder(folder, &stem(&args.file), shard),
        None => Place::file(with_end(&out, END)),
    };
    let job = Job { sweep, args, out, place, shard };
    match &sweep.goal {
        None => grid(&job, &mut planner),
        Some(goal) => search(&job, goal, &mut planner),
    }
}

/// The name of the sweep file, in the current folder.
fn default_out(file: &str) -> PathBuf {
    let name = Path::new(file).file_stem().unwrap_or_default();
    with_end(Path::new(name), ".parquet")
}

/// A path with something behind it.
fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

fn grid(job: &Job<'_>, planner: &mut Planner<'_>) -> Result<()> {
    let planned = job.sweep.points.iter().map(|point| planner.plan(point));
    let planned = planned.collect::<Result<Vec<_>>>()?;
    if let Some(why) = planned.first().and_then(|first| first.runs.as_ref().err())
        && planned.iter().all(|point| point.runs.is_err())
    {
        return Err(wrong(&format!("no point can run: {why}")));
    }
    say_what_is_unused(planner);
    if let Some(tasks) = job.args.shards.slurm {
        let runs = planned.iter().map(|point| point.names().len()).sum();
        return shards::slurm(job, tasks, runs);
    }
    if job.args.dry_run {
        return list(job, planned.iter());
    }
    let mut runner = match all_done(job, &planned)? {
        Some(runner) => runner,
        None => open(job)?,
    };
    let runs = say_what_is_known(&runner, job.shard.is_some(), planned.iter());
    let progress = Progress::many("", "runs", runs);
    runner.run(planner, &planned.iter().collect::<Vec<_>>(), &progress)?;
    runner.finish()?;
    drop(progress);
    if let Some(shard) = job.shard {
        return shards::finish(job, shard, &runner, planner, &planned);
    }
    let rows: Vec<Row<'_>> =
        (1..).zip(&planned).map(|(number, point)| row(&runner, planner, number, point)).collect();
    finish(job, planner, &rows, "")
}

/// The points, and how much of each is done, if anything is. Of a shard, only its runs count.
fn list<'a>(job: &Job<'_>, planned: impl Iterator<Item = &'a Planned>) -> Result<()> {
    let journal = Journal::look(&job.place)?;
    journal.remarks().iter().for_each(|what| remark(what));
    let is_asked = |name: &&Name| job.shard.is_none_or(|shard| shard.has(name));
    let mut text = String::new();
    let (mut points, mut all, mut known) = (0, 0, 0);
    for (number, point) in (1..).zip(planned) {
        let names: Vec<&Name> = point.names().iter().filter(is_asked).collect();
        let done = names.iter().filter(|name| journal.found(name).is_some()).count();
        (all, known) = (all + names.len(), known + done);
        let found = match &point.runs {
            Err(why) => format!(": impossible: {why}"),
            Ok(_) if done > 0 => format!(" ({done} of {} runs)", names.len()),
            Ok(_) => String::new(),
        };
        // A shard has nothing of most points.
        if job.shard.is_none() || !names.is_empty() {
            points += 1;
            text += &hanging(&format!("{number:>5}  "), &format!("{}{found}", label(&point.point)));
        }
    }
    let of = job.shard.map_or_else(String::new, |shard| format!(" of shard {shard}"));
    print(&format!("{text}{points} points, {known} of {all} runs{of} done\n"))
}

/// The runs of a table of journals in a folder, if none is missing. Then nothing is written there:
/// whoever makes the table need not own the folder.
fn all_done(job: &Job<'_>, planned: &[Planned]) -> Result<Option<Runner>> {
    if job.shard.is_some() || job.args.shards.journal.is_none() {
        return Ok(None);
    }
    let runner = Runner::look(&job.place, job.args.check)?;
    let is_done = planned.iter().all(|point| runner.has(point));
    if is_done {
        runner.journal().remarks().iter().for_each(|what| remark(what));
    }
    Ok(is_done.then_some(runner))
}

/// Opens the journal. If the program is stopped, it says where finished runs are kept.
fn open(job: &Job<'_>) -> Result<Runner> {
    let runner = Runner::open(&job.place, job.args.check, job.shard)?;
    runner.journal().remarks().iter().for_each(|what| remark(what));
    interrupt::keeps(format!(
        "finished runs are kept in {}; run the same command to go on",
        job.place.path().display()
    ));
    Ok(runner)
}

/// Says which settings change nothing in any point.
fn say_what_is_unused(planner: &Planner<'_>) {
    planner.unused().iter().for_each(note);
}

/// Says how many runs need not be done again, and returns how many there are.
fn say_what_is_known<'a>(
    runner: &Runner,
    is_shard: bool,
    planned: impl Iterator<Item = &'a Planned>,
) -> u64 {
    let (mut runs, mut known) = (0, 0);
    for name in planned.flat_map(Planned::names).filter(|name| runner.is_asked(name)) {
        runs += 1;
        known += u64::from(runner.journal().found(name).is_some());
    }
    if known > 0 {
        remark(&format!("{known} of {runs} runs were done before"));
    } else if !runner.journal().is_empty() && !is_shard {
        remark("the journal has no run of these settings, workloads and program; all are done");
    }
    runs
}

/// The row of a point whose runs are all done.
fn row<'a>(
    runner: &'a Runner,
    planner: &Planner<'_>,
    number: usize,
    planned: &'a Planned,
) -> Row<'a> {
    let mut found = Vec::new();
    for (place, name) in planned.names().iter().enumerate() {
        let runs = planned.runs.as_ref().expect("it has names");
        let one = runner.found(name).expect("all runs are done");
        found.push((planner.seed(runs, place), one));
    }
    Row { number, planned, found, goal: None }
}

/// A goal: all searches take a step at a time, so that they use all processors.
fn search(job: &Job<'_>, goal: &Goal, planner: &mut Planner<'_>) -> Result<()> {
    let sweep = job.sweep;
    let mut searches = vec![Search::default(); sweep.points.len()];
    let mut planned: BTreeMap<(usize, u64), Planned> = BTreeMap::new();
    let first = plan_next(sweep, goal, &searches, planner)?;
    say_what_is_unused(planner);
    if job.args.dry_run {
        return list(job, first.values());
    }
    let most = Search::most(goal) * (searches.len() * sweep.seeds.len()) as u64;
    let mut runner = open(job)?;
    let progress = Progress::many("", "runs at most", most);
    let mut next = first;
    while !next.is_empty() {
        runner.run(planner, &next.values().collect::<Vec<_>>(), &progress)?;
        for (&(place, number), point) in &next {
            let row = row(&runner, planner, 0, point);
            let (value, half) = summary(&row.figure(&goal.metric));
            searches[place].tried.insert(number, Tried { value, half });
        }
        planned.append(&mut next);
        next = plan_next(sweep, goal, &searches, planner)?;
    }
    runner.finish()?;
    let mut rows = Vec::new();
    for ((place, number), point) in &planned {
        let mut row = row(&runner, planner, rows.len() + 1, point);
        let end = searches[*place].end(goal);
        let answer = matches!(end, End::Between { answer, .. } | End::Everywhere(answer)
            if answer == *number);
        row.goal = Some((goal.holds(searches[*place].tried[number].value), answer));
        rows.push(row);
    }
    let found = sweep.points.iter().zip(&searches);
    let found: Vec<String> = found.map(|(point, search)| show::goal(goal, point, search)).collect();
    drop(progress);
    finish(job, planner, &rows, &found.join("\n"))
}

/// The points that searches try next, by search and number of the value.
fn plan_next(
    sweep: &Sweep,
    goal: &Goal,
    searches: &[Search],
    planner: &mut Planner<'_>,
) -> Result<BTreeMap<(usize, u64), Planned>> {
    let mut next = BTreeMap::new();
    for (place, search) in searches.iter().enumerate() {
        let End::Try(numbers) = search.end(goal) else { continue };
        for number in numbers {
            let setting: Setting = (goal.key.clone(), goal.value(number));
            let point = [&sweep.points[place][..], &[setting]].concat();
            next.insert((place, number), planner.plan(&point)?);
        }
    }
    Ok(next)
}

/// Writes the files, prints the tables, and reports what failed.
fn finish(job: &Job<'_>, planner: &Planner<'_>, rows: &[Row<'_>], goal: &str) -> Result<()> {
    let Job { sweep, args, out, .. } = job;
    let names = results::write(rows, planner, sweep, args, out)?;
    let mut text = show::points(sweep, planner, rows);
    if !goal.is_empty() {
        text += &format!("\n{goal}");
    }
    if let Some(folder) = &args.report {
        report::write(folder, job, planner, rows)?;
    }
    print(&text)?;
    for what in show::missing(sweep, rows) {
        remark(&what);
    }
    remark(&format!("written: {}", names.join(", ")));
    let failed: Vec<_> = rows.iter().filter_map(|row| Some((row, row.failed()?))).collect();
    for (row, why) in &failed {
        let settings = label(&row.planned.point);
        let colon = if settings.is_empty() { "" } else { ": " };
        remark(&format!("point {}: {settings}{colon}{why}", row.number));
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(anyhow!("{count} of {} points failed", rows.len())),
    }
}

//! What a sweep file says. docs/SWEEPS.md describes it.

use crate::error::{read_text, wrong};
use crate::figure::Figure;
use crate::points::axis::{Axis, Decimal, Point, combinations, setting, twice};
use anyhow::Result;
use flashyard_sim::config::line_of_item;
use serde::Deserialize;

/// A sweep file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What the sweep is.
    #[serde(default)]
    pub title: String,
    /// The device, if points do not name one.
    pub device: Option<String>,
    /// The workload, if points do not name one.
    pub workload: Option<String>,
    /// Settings of all points.
    #[serde(default)]
    pub set: Vec<String>,
    /// Axes, as `--vary` has them.
    #[serde(default)]
    vary: Vec<String>,
    /// Points of a list.
    #[serde(default)]
    point: Vec<Listed>,
    /// The first seed.
    /// Its seed.
    #[serde(default = "one")]
    pub seed: u64,
    seeds: Option<Seeds>,
    /// The figure by which the table names the best point.
    #[serde(default = "rank")]
    pub rank: String,
    /// The figures of the table.
    #[serde(default)]
    pub columns: Vec<String>,
    /// What each device runs first.
    pub prepare: Option<Prepare>,
    goal: Option<GoalText>,
}

const fn one() -> u64 {
    1
}

fn rank() -> String {
    "all.p999_us".to_string()
}

/// A point of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    device: Option<String>,
    workload: Option<String>,
    #[serde(default)]
    set: Vec<String>,
}

/// How many seeds, or which.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Seeds {
    Count(u64),
    Listed(Vec<u64>),
}

/// What every device runs before its workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    /// What is run.
    pub workload: String,
    /// Settings of this workload.
    #[serde(default)]
    pub set: Vec<String>,
    /// Its seed.
    #[serde(default = "one")]
    pub seed: u64,
}

/// A goal as the file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GoalText {
    key: String,
    range: [toml::Value; 2],
    metric: String,
    below: Option<f64>,
    above: Option<f64>,
    #[serde(default)]
    find: Find,
    resolution: Option<toml::Value>,
}

/// Which value of the key is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Find {
    /// The least.
    #[default]
    Least,
    /// The most.
    Most,
}

/// A goal.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The key that is searched.
    pub key: String,
    /// The first value, and the distance of values, in units of so many digits.
    first: i64,
    step: i64,
    digits: u32,
    /// Values are numbered from 0 to this.
    pub last: u64,
    /// The figure.
    pub metric: Figure,
    /// What the figure is held against.
    pub limit: f64,
    /// Whether it is to be below that.
    pub below: bool,
    /// Which value of the key is looked for.
    pub find: Find,
}

impl Goal {
    /// The value of this number.
    pub fn value(&self, number: u64) -> String {
        let number = self.first + self.step * i64::try_from(number).expect("below the last");
        Decimal { number, digits: self.digits }.to_string()
    }

    /// Whether a figure meets it; one that is not defined does not.
    pub fn holds(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| if self.below { value < self.limit } else { value > self.limit })
    }

    /// The goal in words.
    pub fn words(&self) -> String {
        let relation = if self.below { "<" } else { ">" };
        format!("{} {relation} {}", self.metric.name(), self.limit)
    }

    fn of(text: &GoalText) -> Result<Self, String> {
        let metric = Figure::parse(&text.metric)?;
        let (limit, below) = match (text.below, text.above) {
            (Some(limit), None) => (limit, true),
            (None, Some(limit)) => (limit, false),
            _ => return Err("one of below and above is needed".to_string()),
        };
        if !limit.is_finite() {
            let name = if below { "below" } else { "above" };
            return Err(format!("{name}: {limit} is no limit; a finite number is needed"));
        }
        let number = |name: &str, value: &toml::Value| {
            let text = match value {
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::String(text) => text.clone(),
                other => format!("a value of type {}", other.type_str()),
            };
            Decimal::parse(&text).ok_or_else(|| format!("{name}: {text} is not a number"))
        };
        let [low, high] = [number("range", &text.range[0])?, number("range", &text.range[1])?];
        let step = match &text.resolution {
            Some(step) => number("resolution", step)?,
            None if low.digits + high.digits == 0 => Decimal { number: 1, digits: 0 },
            None => return Err("resolution: a range of decimals needs one".to_string()),
        };
        let digits = low.digits.max(high.digits).max(step.digits);
        let scaled = [low, high, step].map(|one| one.scaled(digits));
        let [Some(first), Some(high), Some(step)] = scaled else {
            return Err("range: too many digits".to_string());
        };
        if step <= 0 || first >= high {
            return Err("range: it must go up, by a resolution above 0".to_string());
        }
        let last = (high - first) / step;
        if last == 0 {
            return Err("resolution: it is more than the range".to_string());
        }
        if (high - first) % step != 0 {
            let end = Decimal { number: first + last * step, digits };
            return Err(format!(
                "resolution: its steps do not come to the end of the range; end it at {end}, or \
                 set another resolution"
            ));
        }
        let last = u64::try_from(last).expect("the range goes up");
        let (key, find) = (text.key.clone(), text.find);
        Ok(Self { key, first, step, digits, last, metric, limit, below, find })
    }
}

/// A sweep file that was checked, but for its settings.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What the file says.
    pub file: File,
    /// What the file itself says.
    pub text: String,
    /// Returns the points of the grid and of the list. Without any there is one point, which sets
    /// nothing.
    pub points: Vec<Point>,
    /// The seeds of each point.
    pub seeds: Vec<u64>,
    /// The figure by which points are ranked.
    pub rank: Figure,
    /// Further figures of the printed table.
    pub columns: Vec<Figure>,
    /// The goal in place of a grid.
    pub goal: Option<Goal>,
}

impl Sweep {
    /// Reads a file.
    pub fn read(path: &str) -> Result<Self> {
        Self::parse(path, &read_text(path)?)
    }

    /// The sweep of a text, for tests.
    #[cfg(test)]
    pub fn of_text(text: &str) -> Self {
        Self::parse("s.toml", text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The sweep of a file's text; `path` is what messages call it.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = line_of_item(text, error.span());
            wrong(&format!("{path}:{line}: {}; docs/SWEEPS.md has all keys", error.message()))
        })?;
        let fail = |place: &str, what: String| {
            let line = text.lines().position(|line| line.trim_start().starts_with(place));
            let line = line.map_or_else(String::new, |line| format!(":{}", line + 1));
            wrong(&format!("{path}{line}: {place}: {what}"))
        };
        let option = format!("{path}: vary");
        let listed = file.point.iter().map(Listed::point).collect::<Result<Vec<_>, _>>();
        let listed = listed.map_err(|what| fail("[[point]]", what))?;
        let mut axes = if listed.is_empty() { Vec::new() } else { vec![Axis(listed)] };
        for vary in &file.vary {
            axes.push(Axis::parse(&option, vary)?);
        }
        let points = combinations(&option, &axes)?;
        let seeds = seeds(&file).map_err(|what| fail("seeds", what))?;
        let varied = |key: &str| points.iter().flatten().any(|(known, _)| known == key);
        if varied("seed") {
            let what = "seed cannot be varied here; use the key seeds of the file".to_string();
            return Err(fail("vary", what));
        }
        for (name, given) in [("device", &file.device), ("workload", &file.workload)] {
            if given.is_some() && varied(name) {
                return Err(fail(name, "points name it, too; name it only once".to_string()));
            }
        }
        let rank = Figure::parse(&file.rank).map_err(|what| fail("rank", what))?;
        let columns = file.columns.iter().map(|name| Figure::parse(name)).collect::<Result<_, _>>();
        let columns = columns.map_err(|what| fail("columns", what))?;
        let goal = file.goal.as_ref().map(Goal::of).transpose();
        let goal = goal.map_err(|what| fail("[goal]", what))?;
        if let Some(goal) = goal.as_ref().filter(|goal| varied(&goal.key)) {
            let what = format!("{} is varied, too; leave one of the two out", goal.key);
            return Err(fail("[goal]", what));
        }
        Ok(Self { file, text: text.to_string(), points, seeds, rank, columns, goal })
    }
}

impl Listed {
    fn point(&self) -> Result<Point, String> {
        let mut point = Point::new();
        for (name, value) in [("device", &self.device), ("workload", &self.workload)] {
            point.extend(value.iter().map(|value| (name.to_string(), value.clone())));
        }
        for text in &self.set {
            point.push(setting(text)?);
        }
        match twice(&point) {
            Some(key) => Err(format!("{key} is set twice")),
            None if point.is_empty() => Err("it sets nothing".to_string()),
            None => Ok(point),
        }
    }
}

fn seeds(file: &File) -> Result<Vec<u64>, String> {
    /// Seeds of a point, at most.
    const MOST: u64 = 10_000;
    let seeds: Vec<u64> = match &file.seeds {
        None => vec![file.seed],
        Some(Seeds::Count(count)) if (1..=MOST).contains(count) => {
            let last = file.seed.checked_add(count - 1).ok_or("seed is too large")?;
            (file.seed..=last).collect()
        }
        Some(Seeds::Count(count)) => return Err(format!("{count} is not from 1 to {MOST}")),
        Some(Seeds::Listed(seeds)) => seeds.clone(),
    };
    let again = (0..seeds.len()).find(|&place| seeds[..place].contains(&seeds[place]));
    match again {
        Some(place) => Err(format!("{} is there twice", seeds[place])),
        None if seeds.is_empty() => Err("the list is empty".to_string()),
        None => Ok(seeds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, message: &str) {
        let error = Sweep::parse("s.toml", text).expect_err(text).to_string();
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn a_list_and_a_grid_are_combined() {
        let text = "vary = [\"queue.depth=1,2\"]\nseeds = 3\nseed = 7\n\
                    [[point]]\nset = [\"map.store=cmt\"]\n[[point]]\ndevice = \"ros\"\n";
        let sweep = Sweep::parse("s.toml", text).unwrap();
        let points: Vec<_> =
            sweep.points.iter().map(|point| crate::points::axis::label(point)).collect();
        assert_eq!(
            points,
            [
                "map.store=cmt queue.depth=1",
                "map.store=cmt queue.depth=2",
                "device=ros queue.depth=1",
                "device=ros queue.depth=2",
            ]
        );
        assert_eq!(sweep.seeds, [7, 8, 9]);
    }

    #[test]
    fn wrong_files_are_refused_with_the_place() {
        refused("title = \"\"\nvari = []\n", "s.toml:2: unknown field `vari`");
        refused("vary = [\"a.b\"]\n", "s.toml: vary a.b: KEY=A,B,C is needed");
        refused("vary = [\"a.b=1\", \"a.b=2\"]\n", "s.toml: vary: a.b is varied twice");
        refused("seeds = [3, 3]\n", "s.toml:1: seeds: 3 is there twice");
        refused("seeds = 0\n", "s.toml:1: seeds: 0 is not from 1 to 10000");
        refused(
            "rank = \"al.p99_us\"\n",
            "s.toml:1: rank: al.p99_us is no figure; did you mean all.p99_us?",
        );
        refused(
            "rank = \"iops\"\ncolumns = [\"stream.a.b.write.p99us\"]\n",
            "s.toml:2: columns: stream.a.b.write.p99us is no figure of a stream \
             (stream.NAME.FIGURE); did you mean stream.a.b.write.p99_us?",
        );
        refused("[[point]]\n", "s.toml:1: [[point]]: it sets nothing");
        let goal = |rest: &str| format!("[goal]\nkey = \"a.b\"\nmetric = \"wa\"\n{rest}");
        refused(&goal("range = [1, 9]\n"), "s.toml:1: [goal]: one of below and above is needed");
        refused(&goal("range = [9, 1]\nbelow = 1\n"), "s.toml:1: [goal]: range: it must go up");
        refused(&goal("range = [1, 9]\nbelow = nan\n"), "s.toml:1: [goal]: below: NaN is no limit");
        refused(&goal("range = [1, 9]\nabove = -inf\n"), "s.toml:1: [goal]: above: -inf is no");
        refused(&goal("range = [0.5, 1]\nbelow = 1\n"), "s.toml:1: [goal]: resolution: a range");
    }

    #[test]
    fn values_of_a_goal_are_exact() {
        let text = "[goal]\nkey = \"a.b\"\nrange = [0.5, 1.1]\nresolution = 0.1\nmetric = \"wa\"\n\
                    above = 2\n";
        let goal = Sweep::parse("s.toml", text).unwrap().goal.unwrap();
        assert_eq!((goal.last, goal.value(0), goal.value(6)), (6, "0.5".into(), "1.1".into()));
        assert!(goal.holds(Some(2.5)) && !goal.holds(Some(2.0)) && !goal.holds(None));
        assert_eq!(goal.words(), "wa > 2");
    }
}

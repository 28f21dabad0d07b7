//! Shards: the parts of a sweep that processes or machines run side by side.
//!
//! Which shard a run falls to follows from its name alone. The name is a hash, so shards have about
//! equally many runs, and a sweep file that was edited moves no run that it still has.

use super::plan::Name;
use std::fmt::{Display, Formatter, Result as FmtResult};

/// A shard of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to the count.
    number: u32,
    count: u32,
}

/// How a batch system numbers the tasks of a job array: what it is called, and its variables. A
/// task is the first one plus a multiple of the step.
struct Array {
    system: &'static str,
    task: &'static str,
    first: &'static str,
    /// How many there are, or the last one.
    end: End,
    step: &'static str,
}

enum End {
    Count(&'static str),
    Last(&'static str),
}

impl End {
    const fn name(&self) -> &'static str {
        match *self {
            Self::Count(name) | Self::Last(name) => name,
        }
    }
}

/// The systems that tell a task its place among all of them: Slurm (sbatch(1), "output environment
/// variables") and Grid Engine (qsub(1), "-t").
const ARRAYS: [Array; 2] = [
    Array {
        system: "Slurm",
        task: "SLURM_ARRAY_TASK_ID",
        first: "SLURM_ARRAY_TASK_MIN",
        end: End::Count("SLURM_ARRAY_TASK_COUNT"),
        step: "SLURM_ARRAY_TASK_STEP",
    },
    Array {
        system: "Grid Engine",
        task: "SGE_TASK_ID",
        first: "SGE_TASK_FIRST",
        end: End::Last("SGE_TASK_LAST"),
        step: "SGE_TASK_STEPSIZE",
    },
];

/// Variables of systems that tell a task its number and not how many there are: PBS Professional,
/// Torque, LSF.
const NUMBERS: [&str; 3] = ["PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX"];

impl Shard {
    /// Shards of a sweep, at most.
    pub const MOST: u32 = 1_000_000;

    /// Shard `number` of `count`; the first one is 1. The error says what is allowed.
    pub fn new(number: u32, count: u32) -> Result<Self, String> {
        if !(1..=Self::MOST).contains(&count) {
            let most = Self::MOST;
            return Err(format!("{count} shards: there may be from 1 to {most}"));
        }
        if !(1..=count).contains(&number) {
            return Err(format!(
                "shard {number} of {count}: shards are numbered from 1 to {count}"
            ));
        }
        Ok(Self { number, count })
    }

    /// The shard of a text `I/N`, such as `3/64`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, count)| {
            Some((number.trim().parse().ok()?, count.trim().parse().ok()?))
        });
        let (number, count) =
            parts.ok_or("I/N is needed, such as 3/64, or auto in a job array of Slurm")?;
        Self::new(number, count)
    }

    /// The shard of a task of a job array, from the variables that its batch system sets: as many
    /// shards as the array has tasks. `variable` looks a variable of the environment up.
    ///
    /// Errors: there is no array, a variable is missing, or the tasks are not evenly numbered.
    pub fn auto(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let set = |name: &str| variable(name).filter(|text| !text.is_empty());
        // Grid Engine calls the task of a job without an array "undefined".
        let is_task = |name: &str| set(name).is_some_and(|text| text != "undefined");
        if let Some(array) = ARRAYS.iter().find(|array| is_task(array.task)) {
            return Self::of_array(array, set);
        }
        if let Some(name) = NUMBERS.iter().find(|name| is_task(name)) {
            return Err(format!(
                "{name} says which task this is, but nothing says of how many; name them: --shard \
                 \"${name}/N\" for tasks 1 to N"
            ));
        }
        let names = ARRAYS.iter().map(|array| format!("{} ({})", array.task, array.system));
        let names: Vec<_> = names.collect();
        Err(format!(
            "this is no task of a job array: none of {} is set; name the shard: --shard I/N",
            names.join(", ")
        ))
    }

    fn of_array(array: &Array, set: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str, text: &str| {
            text.parse::<u32>().map_err(|_| format!("{name}={text}: it is no whole number"))
        };
        let needed = |name: &str| match set(name) {
            Some(text) => number(name, &text),
            None => Err(format!(
                "{} is set, but {name} is not; {} sets both in a job array, or name the shard: \
                 --shard I/N",
                array.task, array.system
            )),
        };
        let (task, first, end) =
            (needed(array.task)?, needed(array.first)?, needed(array.end.name())?);
        let step = set(array.step).map_or(Ok(1), |text| number(array.step, &text))?.max(1);
        let count = match array.end {
            End::Count(_) => Some(end),
            End::Last(_) => end.checked_sub(first).map(|distance| distance / step + 1),
        };
        let place = task.checked_sub(first).filter(|distance| distance % step == 0);
        let place = place.map(|distance| distance / step);
        let shard = place.zip(count).filter(|(place, count)| place < count);
        let Some((place, count)) = shard else {
            return Err(format!(
                "{}={task}, {}={first}, {}={end}: tasks in even steps from the first one are \
                 needed, such as 1-64; or name the shard: --shard I/N",
                array.task,
                array.first,
                array.end.name()
            ));
        };
        Self::new(place + 1, count)
    }

    /// Whether a run falls to it.
    pub fn has(self, run: &Name) -> bool {
        let first = run.first_chunk().expect("a name is longer than a number");
        u64::from_be_bytes(*first) % u64::from(self.count) == u64::from(self.number - 1)
    }

    /// What the name of its journal has behind that of the sweep: `.3-of-64`.
    pub fn file_name(self) -> String {
        format!(".{}-of-{}", self.number, self.count)
    }
}

/// As [`Shard::parse`] reads it.
impl Display for Shard {
    fn fmt(&self, to: &mut Formatter<'_>) -> FmtResult {
        write!(to, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn each_run_falls_to_one_shard_and_shards_are_even() {
        let names = (0..6_400u32).map(|run| Sha256::digest(run.to_le_bytes()).into());
        let names: Vec<Name> = names.collect();
        let mut all = 0;
        for number in 1..=64 {
            let shard = Shard::new(number, 64).unwrap();
            let count = names.iter().filter(|name| shard.has(name)).count();
            // The mean is 100 and the deviation 10.
            assert!((55..=145).contains(&count), "{shard}: {count}");
            all += count;
        }
        assert_eq!(all, names.len());
        let whole = Shard::new(1, 1).unwrap();
        assert!(names.iter().all(|name| whole.has(name)));
    }

    #[test]
    fn texts_are_shards_or_say_what_is_wrong() {
        assert_eq!(Shard::parse("3/64"), Shard::new(3, 64));
        assert_eq!(Shard::parse("3/64").unwrap().to_string(), "3/64");
        assert_eq!(Shard::parse("3/64").unwrap().file_name(), ".3-of-64");
        for (text, message) in [
            ("3", "I/N is needed"),
            ("a/3", "I/N is needed"),
            ("-1/3", "I/N is needed"),
            ("0/3", "shard 0 of 3: shards are numbered from 1 to 3"),
            ("4/3", "shard 4 of 3: shards are numbered from 1 to 3"),
            ("1/0", "0 shards: there may be from 1"),
            ("1/1000001", "1000001 shards: "),
        ] {
            let error = Shard::parse(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    fn auto(variables: &[(&str, &str)]) -> Result<Shard, String> {
        Shard::auto(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_string())
        })
    }

    #[test]
    fn a_task_of_an_array_is_a_shard() {
        let slurm = |task, first, count, step| {
            auto(&[
                ("SLURM_ARRAY_TASK_ID", task),
                ("SLURM_ARRAY_TASK_MIN", first),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_STEP", step),
            ])
        };
        assert_eq!(slurm("3", "1", "64", "1"), Shard::new(3, 64));
        assert_eq!(slurm("0", "0", "4", ""), Shard::new(1, 4));
        // --array=0-15:4 has the tasks 0, 4, 8 and 12.
        assert_eq!(slurm("12", "0", "4", "4"), Shard::new(4, 4));
        // --array=1,5,9-11 says nothing of its gaps.
        let error = slurm("9", "1", "5", "1").unwrap_err();
        assert!(error.contains("in even steps"), "{error}");
        assert!(slurm("x", "1", "5", "1").unwrap_err().starts_with("SLURM_ARRAY_TASK_ID=x: it is"));
        let grid = [
            ("SGE_TASK_ID", "7"),
            ("SGE_TASK_FIRST", "1"),
            ("SGE_TASK_LAST", "10"),
            ("SGE_TASK_STEPSIZE", "3"),
        ];
        assert_eq!(auto(&grid), Shard::new(3, 4));
    }

    #[test]
    fn what_is_no_array_says_what_is_missing() {
        let check = |variables: &[(&str, &str)], message: &str| {
            let error = auto(variables).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        };
        let none = "this is no task of a job array: none of SLURM_ARRAY_TASK_ID (Slurm), ";
        check(&[], none);
        check(&[("SGE_TASK_ID", "undefined")], none);
        check(
            &[("SLURM_ARRAY_TASK_ID", "3")],
            "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not; Slurm sets both",
        );
        check(&[("PBS_ARRAY_INDEX", "3")], "PBS_ARRAY_INDEX says which task this is, but nothing");
        check(&[("LSB_JOBINDEX", "3")], "LSB_JOBINDEX says which task this is");
    }
}

//! Worked examples of fair queueing: schedules of streams on chips.

use crate::tally::{Tally, entries};
use anyhow::{Context, Result, ensure};
use flashyard_core::bus::fair::{FairQueueing, Share, VirtualTime};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// What there is to serve, in the order of the file.
struct Job {
    arrival: u64,
    stream: usize,
    chip: usize,
    cost: u64,
}

/// One example: jobs, and streams with their weights. Streams are numbered by their names.
struct Example {
    jobs: Vec<Job>,
    streams: Vec<String>,
    weights: Vec<u32>,
    chips: usize,
    /// Every cost is counted so many times, so that virtual times are whole numbers. It divides by
    /// every weight.
    scale: u64,
}

/// Runs every example.
pub(super) fn run(value: &Value, tally: &mut Tally) -> Result<()> {
    for (name, example) in entries(value)? {
        tally.part(name, |tally| run_one(example, tally));
    }
    Ok(())
}

fn run_one(value: &Value, tally: &mut Tally) -> Result<()> {
    let example = Example::of(value)?;
    for (name, expected) in entries(value)? {
        let found = match name.as_str() {
            "weights" | "chips" => continue,
            _ if name.starts_with("jobs") => continue,
            "fifo" => example.serve(false),
            "schedule" | "textbook_SFQ" | "SFQ" => example.serve(true),
            _ => {
                tally.unknown(name, expected);
                continue;
            }
        };
        tally.runs += 1;
        tally.same(name, expected, &found.into());
    }
    Ok(())
}

impl Example {
    /// The columns of the jobs are in the name of their list: `jobs(arr,stream,chip,cost)`.
    fn of(value: &Value) -> Result<Self> {
        let jobs = entries(value)?.find(|(name, _)| name.starts_with("jobs("));
        let (name, jobs) = jobs.context("there are no `jobs(...)`")?;
        let columns = name.trim_start_matches("jobs(").trim_end_matches(')');
        let columns: Vec<&str> = columns.split(',').map(str::trim).collect();
        for column in &columns {
            let is_known = ["arr", "stream", "chip", "cost"].contains(column);
            ensure!(is_known, "column {column} of the jobs is unknown");
        }
        let jobs = jobs.as_array().context("the jobs are no list")?;
        let cell = |row: &'_ Value, name: &str| {
            let place = columns.iter().position(|column| *column == name)?;
            row.get(place).cloned()
        };
        let weights = value.get("weights").map(entries).transpose()?.into_iter().flatten();
        let weights: Map<String, Value> =
            weights.map(|(name, weight)| (name.clone(), weight.clone())).collect();
        let named =
            jobs.iter().map(|row| cell(row, "stream").as_ref().map_or_else(String::new, word));
        let mut streams: Vec<String> = named.chain(weights.keys().cloned()).collect();
        streams.sort();
        streams.dedup();
        let whole = |value: Option<Value>, what: &str| {
            value.as_ref().and_then(Value::as_u64).with_context(|| format!("{what} is not whole"))
        };
        let weights = streams.iter().map(|name| match weights.get(name) {
            Some(weight) => Ok(u32::try_from(whole(Some(weight.clone()), "a weight")?)?),
            None => Ok(1),
        });
        let weights = weights.collect::<Result<Vec<u32>>>()?;
        ensure!(!weights.contains(&0), "a weight is 0");
        let scale = weights.iter().fold(1, |scale, weight| {
            let weight = u64::from(*weight);
            scale / divisor(scale, weight) * weight
        });
        let jobs = jobs.iter().map(|row| {
            let stream = cell(row, "stream").as_ref().map_or_else(String::new, word);
            let chip = cell(row, "chip").as_ref().map_or_else(|| "0".to_owned(), word);
            let chip = chip.trim_start_matches("chip").parse();
            Ok(Job {
                arrival: whole(cell(row, "arr"), "arr")?,
                stream: streams.binary_search(&stream).unwrap_or_default(),
                chip: chip.with_context(|| format!("the chip of {row}"))?,
                cost: whole(cell(row, "cost"), "cost")?,
            })
        });
        let jobs = jobs.collect::<Result<Vec<Job>>>()?;
        let chips = jobs.iter().map(|job| job.chip + 1).max().unwrap_or(1);
        Ok(Self { jobs, streams, weights, chips, scale })
    }

    /// Serves the jobs, fairly or in the order of arrival at each chip. At equal times what is over
    /// comes first, then what arrives, then what starts. Returns a row for each start.
    fn serve(&self, is_fair: bool) -> Vec<Value> {
        let mut shares: Vec<Share> =
            self.weights.iter().map(|weight| Share::new(*weight)).collect();
        let mut fair = FairQueueing::new(&mut shares[..]);
        let streams = self.streams.len();
        let mut queues = vec![VecDeque::new(); self.chips * streams];
        let mut arrivals: Vec<usize> = (0..self.jobs.len()).collect();
        arrivals.sort_by_key(|job| self.jobs[*job].arrival);
        let mut arrivals = VecDeque::from(arrivals);
        let (mut now, mut ends, mut rows) = (0, vec![None; self.chips], Vec::new());
        loop {
            for end in &mut ends {
                if end.is_some_and(|end| end <= now) {
                    *end = None;
                    fair.completed();
                }
            }
            while let Some(&number) = arrivals.front()
                && self.jobs[number].arrival <= now
            {
                let Job { chip, stream, .. } = self.jobs[number];
                queues[chip * streams + stream].push_back(number);
                fair.arrived(stream);
                arrivals.pop_front();
            }
            for (chip, end) in ends.iter_mut().enumerate().filter(|(_, end)| end.is_none()) {
                let queues = &mut queues[chip * streams..][..streams];
                let waiting = (0..streams).filter(|stream| !queues[*stream].is_empty());
                let picked = if is_fair {
                    fair.pick(waiting)
                } else {
                    let oldest = |stream: &usize| {
                        queues[*stream].front().map(|job| (self.jobs[*job].arrival, *job))
                    };
                    waiting.min_by_key(oldest)
                };
                let Some(stream) = picked else { continue };
                let Some(number) = queues[stream].pop_front() else { continue };
                let job = &self.jobs[number];
                *end = Some(now + job.cost);
                let tag = fair.started(stream, job.cost * self.scale);
                rows.push(self.row(number, now, tag, &fair));
            }
            let next = arrivals.front().map(|job| self.jobs[*job].arrival);
            match ends.iter().flatten().copied().chain(next).min() {
                Some(next) => now = next,
                None => return rows,
            }
        }
    }

    /// What is known of a job that has just been started.
    fn row(
        &self,
        number: usize,
        now: u64,
        tag: VirtualTime,
        fair: &FairQueueing<&mut [Share]>,
    ) -> Value {
        let job = &self.jobs[number];
        let times = self.streams.iter().enumerate();
        let times =
            times.map(|(at, name)| (name.clone(), self.fraction(fair.virtual_time(at)).into()));
        json!({
            "op": format!("{}{number}", self.streams[job.stream]),
            "chip": job.chip,
            "arr": job.arrival,
            "cost": job.cost,
            "S": self.fraction(tag),
            "F": self.fraction(fair.virtual_time(job.stream)),
            "start": now,
            "end": now + job.cost,
            "VT": times.collect::<Map<String, Value>>(),
            "V": self.fraction(fair.system_time()),
        })
    }

    /// A virtual time as a fraction in its lowest terms: `7` or `5/2`.
    fn fraction(&self, time: VirtualTime) -> String {
        let counted = time.as_ns();
        let divisor =
            divisor(u64::try_from(counted % u128::from(self.scale)).unwrap_or(1), self.scale);
        let (whole, below) = (counted / u128::from(divisor), self.scale / divisor);
        if below == 1 { whole.to_string() } else { format!("{whole}/{below}") }
    }
}

/// A name without its quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The greatest common divisor.
const fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(file: &Value) -> Result<(usize, usize)> {
        let mut tally = Tally::default();
        run(file, &mut tally)?;
        tally.end()
    }

    /// Two chips, weights 2 and 1. B has work for chip 1 alone.
    #[test]
    fn streams_share_two_chips_by_their_weights() {
        let jobs = json!([[0, "A", 0, 3], [0, "A", 1, 3], [0, "B", 1, 4], [2, "A", 0, 1]]);
        let row = |op: &str, chip: u64, start: u64, end: u64, tags: [&str; 3]| {
            let [start_tag, finish, system] = tags;
            json!({"op": op, "chip": chip, "start": start, "end": end, "S": start_tag, "F": finish,
                "V": system})
        };
        let schedule = json!([
            row("A0", 0, 0, 3, ["0", "3/2", "0"]),
            row("B2", 1, 0, 4, ["0", "4", "0"]),
            row("A3", 0, 3, 4, ["3/2", "2", "3/2"]),
            row("A1", 1, 4, 7, ["2", "7/2", "2"]),
        ]);
        let weights = json!({"A": 2, "B": 1});
        let mut file = json!({"two": {"jobs(arr,stream,chip,cost)": jobs, "weights": weights, "schedule": schedule}});
        assert_eq!(checked(&file).expect("it is right"), (1, 4 * 7));
        file["two"]["schedule"][3]["S"] = "5/2".into();
        file["two"]["wfq"] = json!([]);
        let error = format!("{:#}", checked(&file).expect_err("it is wrong"));
        let wrong = "two: schedule[3].S: expected \"5/2\", found \"2\"\n  two: wfq is unknown";
        assert!(error.ends_with(wrong), "{error}");
    }

    #[test]
    fn without_fairness_each_chip_serves_in_the_order_of_arrival() {
        let jobs = json!([[0, "A", 5], [1, "B", 2], [0, "A", 5]]);
        let fifo = json!([
            {"op": "A0", "start": 0, "end": 5},
            {"op": "A2", "start": 5, "end": 10},
            {"op": "B1", "start": 10, "end": 12},
        ]);
        checked(&json!({"one": {"jobs(arr,stream,cost)": jobs, "fifo": fifo}}))
            .expect("it is right");
    }
}

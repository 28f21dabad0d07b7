//! Cells from the JSON that `fio --output-format=json` writes: a cell for each job or group of
//! jobs.

use super::cell::{Cell, Class, Figure, What};
use crate::error::wrong;
use anyhow::Result;
use serde_json::Value;

/// Percentiles by their names in the JSON.
const PERCENTILES: [(&str, What); 3] =
    [("50.000000", What::P50), ("99.000000", What::P99), ("99.900000", What::P999)];

/// Engines that have one request outstanding, whatever `iodepth` says.
const ONE_AT_A_TIME: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// The engine of a job that names none.
const USUAL_ENGINE: &str = "psync";

/// Options that change the workload to one that no cell has.
const OTHERS: [&str; 9] = [
    "bssplit",
    "bsrange",
    "blocksize_range",
    "percentage_random",
    "random_distribution",
    "thinktime",
    "rate",
    "fsync",
    "fdatasync",
];

/// A drive took the rate that was asked for if it answered this share of it.
const TAKEN: f64 = 0.9;

/// Rate x latency over the depth below which the depth is doubted, and above. Assumed: the thread
/// of a host that has no time left answers late, but not half of its requests.
const DOUBTED: [f64; 2] = [0.5, 1.5];

/// The cells of a file. `notes` gets what is doubtful of them, a sentence each.
pub(super) fn cells(path: &str, text: &str, notes: &mut Vec<String>) -> Result<Vec<Cell>> {
    // fio may print remarks before the object.
    let start = text.find('{').unwrap_or(0);
    let root: Value =
        serde_json::from_str(&text[start..]).map_err(|error| wrong(&format!("{path}: {error}")))?;
    let jobs = root["jobs"].as_array();
    let jobs =
        jobs.ok_or_else(|| wrong(&format!("{path}: it has no \"jobs\", as fio's JSON has")))?;
    let (mut cells, mut at) = (Vec::new(), 0);
    while at < jobs.len() {
        let name = jobs[at]["jobname"].as_str().map_or_else(|| at.to_string(), str::to_string);
        let place = format!("{path}: job {name}");
        let options = Options { place, global: &root["global options"], own: &jobs[at] };
        let entries = options.entries()?;
        let of_job = jobs[at..].iter().take(entries);
        let of_job = of_job.take_while(|job| job["jobname"] == jobs[at]["jobname"]);
        let of_job: Vec<&Value> = of_job.collect();
        if of_job.len() < entries {
            let what = format!("{} of the {entries} entries of its processes", of_job.len());
            return Err(options.problem(&format!("it has {what}; run fio with group_reporting")));
        }
        cells.push(options.cell(&of_job, notes)?);
        at += entries;
    }
    Ok(cells)
}

/// The options of a job.
struct Options<'a> {
    place: String,
    global: &'a Value,
    own: &'a Value,
}

impl Options<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.own["job options"][key].as_str().or_else(|| self.global[key].as_str())
    }

    fn problem(&self, what: &str) -> anyhow::Error {
        wrong(&format!("{}: {what}", self.place))
    }

    /// A count; 1 where no option gives it.
    fn count(&self, key: &str) -> Result<u64> {
        let Some(text) = self.get(key) else { return Ok(1) };
        let count = text.parse().ok().filter(|count| (1..=1 << 20).contains(count));
        count.ok_or_else(|| self.problem(&format!("{key}: \"{text}\" is not a count")))
    }

    /// How many entries the JSON has for the job: one for each of its processes, unless they are
    /// reported as a group.
    fn entries(&self) -> Result<usize> {
        let is_group = self.get("group_reporting").is_some_and(|is| is != "0");
        let entries = if is_group { 1 } else { self.count("numjobs")? };
        Ok(usize::try_from(entries).unwrap_or(usize::MAX))
    }

    /// Requests outstanding.
    fn depth(&self) -> Result<u64> {
        let engine = self.get("ioengine").unwrap_or(USUAL_ENGINE);
        let own = if ONE_AT_A_TIME.contains(&engine) { 1 } else { self.count("iodepth")? };
        Ok(own * self.count("numjobs")?)
    }

    /// The rates of reads and writes that are asked for, of all processes.
    fn rates(&self) -> Result<Option<[f64; 2]>> {
        let Some(text) = self.get("rate_iops") else { return Ok(None) };
        let jobs = self.count("numjobs")? as f64;
        let parts: Vec<Option<f64>> =
            text.split(',').map(|part| part.trim().parse().ok()).collect();
        match parts[..] {
            [Some(both)] => Ok(Some([both * jobs; 2])),
            [Some(reads), Some(writes), ..] => Ok(Some([reads * jobs, writes * jobs])),
            _ => Err(self.problem(&format!("rate_iops: \"{text}\" is not a number, or two"))),
        }
    }

    /// The cell that the entries of its processes make.
    fn cell(&self, entries: &[&Value], notes: &mut Vec<String>) -> Result<Cell> {
        for key in OTHERS {
            let is_other = |text: &&str| !["0", "random", "random:0"].contains(text);
            if let Some(text) = self.get(key).filter(is_other) {
                return Err(self.problem(&format!("{key}={text}: no run is like this")));
            }
        }
        let pattern = self.get("rw").or_else(|| self.get("readwrite")).unwrap_or("read");
        let bytes = self.get("bs").or_else(|| self.get("blocksize")).unwrap_or("4k");
        let bytes = size(bytes)
            .ok_or_else(|| self.problem(&format!("bs: \"{bytes}\" is not one size, such as 4k")))?;
        let mut measured = Vec::new();
        for class in [Class::Read, Class::Write] {
            let of_class: Vec<&Value> = entries.iter().map(|job| &job[class.word()]).collect();
            measured.extend(figures(&of_class, class));
        }
        let ran = vec![
            ("pattern".to_string(), pattern.to_string()),
            ("block_bytes".to_string(), bytes.to_string()),
        ];
        let mut cell = Cell { place: self.place.clone(), drive: String::new(), ran, measured };
        let [reads, writes] = [Class::Read, Class::Write]
            .map(|class| cell.value(class, What::PerSecond).unwrap_or(0.0));
        let mut share = match self.get("rwmixread") {
            Some(share) => Some(share.to_string()),
            None => self.get("rwmixwrite").map(|share| {
                share.parse().map_or(share.to_string(), |share: f64| (100.0 - share).to_string())
            }),
        };
        let is_mixed = pattern == "randrw";
        let asked = self.rates()?.map(|[of_reads, of_writes]| match (is_mixed, writes > 0.0) {
            (true, _) => (of_reads + of_writes, of_reads / (of_reads + of_writes)),
            (false, true) => (of_writes, 0.0),
            (false, false) => (of_reads, 1.0),
        });
        // A rate is a limit: a drive that does not take it has the whole depth outstanding.
        let taken = asked.filter(|(rate, _)| reads + writes >= TAKEN * rate);
        if let Some((rate, of_reads)) = taken {
            cell.ran.push(("rate_per_s".to_string(), rate.to_string()));
            if self.get("rate_process") != Some("poisson") {
                cell.ran.push(("pattern.arrival".to_string(), "constant".to_string()));
            }
            share = Some((100.0 * of_reads).to_string());
        } else {
            let depth = self.depth()?;
            cell.ran.push(("queue_depth".to_string(), depth.to_string()));
            let mean = |class| cell.value(class, What::Mean).unwrap_or(0.0);
            let outstanding = (reads * mean(Class::Read) + writes * mean(Class::Write)) / 1e6;
            let [least, most] = DOUBTED.map(|share| share * depth as f64);
            if outstanding > 0.0 && !(least..=most).contains(&outstanding) {
                notes.push(format!(
                    "{}: rate x mean latency are {outstanding:.1} requests outstanding, not the \
                     {depth} of its options",
                    self.place
                ));
            }
        }
        let share = share.filter(|_| is_mixed);
        cell.ran.extend(share.map(|share| ("read_percent".to_string(), share)));
        cell.check()?;
        Ok(cell)
    }
}

/// Returns the measured figures of a class, if it has requests: those of one entry, or of the
/// processes of a job together, which have no percentiles.
fn figures(entries: &[&Value], class: Class) -> Vec<(Figure, f64)> {
    let rate = |found: &Value| found["iops"].as_f64().unwrap_or(0.0);
    let rates: f64 = entries.iter().map(|found| rate(found)).sum();
    let mut all = Vec::new();
    let mut add = |what, value: Option<f64>| {
        all.extend(value.filter(|value| *value > 0.0).map(|value| (Figure { class, what }, value)));
    };
    if rates == 0.0 {
        return all;
    }
    add(What::PerSecond, Some(rates));
    let means = entries.iter().filter(|found| rate(found) > 0.0).map(|found| {
        let mean = latencies(found).find_map(|lat| lat["mean"].as_f64().filter(|ns| *ns > 0.0));
        mean.map(|ns| ns * rate(found))
    });
    add(What::Mean, means.sum::<Option<f64>>().map(|sum| sum / rates / 1e3));
    if let [found] = entries {
        for (name, what) in PERCENTILES {
            let value = latencies(found).find_map(|lat| lat["percentile"][name].as_f64());
            add(what, value.map(|ns| ns / 1e3));
        }
    }
    all
}

/// Latencies from submission to completion where fio says so; percentiles are of `clat` by default.
fn latencies(found: &Value) -> impl Iterator<Item = &Value> {
    ["lat_ns", "clat_ns"].into_iter().map(|name| &found[name])
}

/// Bytes of a size as fio writes it: `4k`, `1m`, `4096`, `16KiB`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "" | "b" => 1,
        "k" | "kib" | "kb" => 1 << 10,
        "m" | "mib" | "mb" => 1 << 20,
        "g" | "gib" | "gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_fio() {
        assert_eq!(size("4k"), Some(4_096));
        assert_eq!(size("4096"), Some(4_096));
        assert_eq!(size("1MiB"), Some(1 << 20));
        assert_eq!(size("4k,8k"), None);
    }

    /// The cells of jobs with options, each with so many reads and writes a second and their means
    /// in us, and what is doubtful of them.
    fn read(jobs: &[(&str, [[f64; 2]; 2])]) -> Result<(Vec<Cell>, Vec<String>)> {
        let entry = |(options, [reads, writes]): &(&str, [[f64; 2]; 2])| {
            let options = options.split(' ').map(|one| one.split_once('=').unwrap());
            let options: Vec<String> =
                options.map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
            let of = |[rate, us]: &[f64; 2]| {
                format!(
                    "{{\"iops\": {rate}, \"lat_ns\": {{\"mean\": {}}},
                      \"clat_ns\": {{\"mean\": 1, \"percentile\": {{\"99.000000\": 5000}}}}}}",
                    us * 1e3
                )
            };
            format!(
                "{{\"jobname\": \"a\", \"job options\": {{{}}}, \"read\": {}, \"write\": {}}}",
                options.join(", "),
                of(reads),
                of(writes)
            )
        };
        let jobs: Vec<String> = jobs.iter().map(entry).collect();
        let mut notes = Vec::new();
        let text = format!("fio: a remark\n{{\"jobs\": [{}]}}", jobs.join(", "));
        let cells = cells("x.json", &text, &mut notes)?;
        Ok((cells, notes))
    }

    fn label(options: &str, rates: [[f64; 2]; 2]) -> String {
        let (cells, notes) = read(&[(options, rates)]).unwrap();
        assert_eq!(notes, Vec::<String>::new(), "{options}");
        cells[0].label()
    }

    const NONE: [f64; 2] = [0.0, 0.0];

    #[test]
    fn a_job_is_a_cell() {
        let text = r#"{"global options": {"bs": "16k", "ioengine": "io_uring"},
             "jobs": [{"jobname": "a",
               "job options": {"rw": "randread", "iodepth": "4", "numjobs": "2", "group_reporting": "1"},
               "read": {"iops": 53346.5, "lat_ns": {"mean": 149200.0},
                        "clat_ns": {"mean": 1.0, "percentile": {"50.000000": 132100, "99.000000": 346100}}},
               "write": {"iops": 0, "lat_ns": {"mean": 0}}}]}"#;
        let mut notes = Vec::new();
        let cells = cells("x.json", text, &mut notes).unwrap();
        assert_eq!((cells.len(), notes.len()), (1, 0));
        assert_eq!(cells[0].label(), "pattern=randread block_bytes=16384 queue_depth=8");
        let reads: Vec<_> =
            cells[0].measured.iter().map(|(figure, value)| (figure.name(), *value)).collect();
        let expected = [
            ("read per_s", 53_346.5),
            ("read mean", 149.2),
            ("read p50", 132.1),
            ("read p99", 346.1),
        ];
        assert_eq!(reads, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn processes_that_are_reported_apart_are_one_cell() {
        let job = "rw=randread ioengine=libaio iodepth=4 numjobs=2";
        let (cells, _) =
            read(&[(job, [[30e3, 100.0], NONE]), (job, [[10e3, 300.0], NONE])]).unwrap();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].label(), "pattern=randread block_bytes=4096 queue_depth=8");
        assert_eq!(cells[0].value(Class::Read, What::PerSecond), Some(40e3));
        assert_eq!(cells[0].value(Class::Read, What::Mean), Some(150.0));
        assert_eq!(cells[0].value(Class::Read, What::P99), None);
        assert!(read(&[(job, [[30e3, 100.0], NONE])]).is_err(), "one of two entries");
    }

    #[test]
    fn a_depth_is_that_of_the_engine_and_is_doubted_by_littles_law() {
        let fast = [[15_600.0, 64.0], NONE];
        let job = "rw=randread iodepth=32 ioengine";
        assert_eq!(
            label(&format!("{job}=psync"), fast),
            "pattern=randread block_bytes=4096 queue_depth=1"
        );
        let (_, notes) = read(&[(&format!("{job}=io_uring"), fast)]).unwrap();
        assert!(notes[0].contains("1.0 requests outstanding, not the 32"), "{notes:?}");
    }

    #[test]
    fn a_rate_is_of_a_process_and_a_direction_and_a_limit() {
        let job = "ioengine=libaio iodepth=4 numjobs=2 group_reporting=1 rate_iops";
        let rest = "block_bytes=4096 rate_per_s";
        assert_eq!(
            label(&format!("rw=randread {job}=10000"), [[20e3, 80.0], NONE]),
            format!("pattern=randread {rest}=20000 pattern.arrival=constant")
        );
        assert_eq!(
            label(
                &format!("rw=randrw rate_process=poisson {job}=9000,3000"),
                [[18e3, 80.0], [6e3, 9.0]]
            ),
            format!("pattern=randrw {rest}=24000 read_percent=75")
        );
        assert_eq!(
            label(&format!("rw=randread {job}=900000"), [[60e3, 133.0], NONE]),
            "pattern=randread block_bytes=4096 queue_depth=8"
        );
    }

    #[test]
    fn shares_of_writes_are_shares_of_reads() {
        let rates = [[9e3, 80.0], [1e3, 280.0]];
        assert_eq!(
            label("rw=randrw rwmixwrite=10", rates),
            "pattern=randrw block_bytes=4096 queue_depth=1 read_percent=90"
        );
    }

    #[test]
    fn what_no_run_is_like_is_refused() {
        let fast = [[15_600.0, 64.0], NONE];
        for job in
            ["rw=randread:8", "rw=rw", "rw=randread bssplit=4k/10:128k/90", "rw=randread bs=4k,8k"]
        {
            assert!(read(&[(job, fast)]).is_err(), "{job}");
        }
        assert!(read(&[("rw=randread", [NONE, NONE])]).is_err(), "no requests");
        let mut notes = Vec::new();
        assert!(cells("x.json", "{}", &mut notes).is_err());
        assert!(cells("x.json", "no", &mut notes).is_err());
    }
}

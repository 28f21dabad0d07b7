//! A flow of MQSim as a stream: a pattern of requests, or a trace.

use crate::facts::Facts;
use crate::found::Fate::{Changed, Idle, Missing, Taken};
use crate::found::{FRACTION, Found, Outcome, decimal, quoted, thousandths, whole};
use crate::table::Becomes::{Always, By, Same};
use crate::table::Kind::{Text, Truth, Whole, Word};
use crate::table::{
    Key, Value, changed, idle, key, missing, optional, read, taken, taken_as, words, wrong,
};
use crate::xml::{Entry, Group};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Keys of every flow.
const FLOW: &[Key<Flow>] = &[
    key(
        "Priority_Class",
        Word(&["HIGH", "URGENT", "MEDIUM", "LOW"]),
        By(|flow, _| {
            if flow.facts.has_priorities {
                missing("flows have no classes; see stream.weight")
            } else {
                idle("only PRIORITY_OUT_OF_ORDER looks at it")
            }
        }),
    ),
    key(
        "Device_Level_Data_Caching_Mode",
        Word(&["WRITE_CACHE", "TURNED_OFF", "READ_CACHE", "WRITE_READ_CACHE"]),
        By(caching),
    ),
    key(IDS[0], Text, By(|flow, ids| of_planes(flow, ids, 0))),
    key(IDS[1], Text, By(|flow, ids| of_planes(flow, ids, 1))),
    key(IDS[2], Text, By(|flow, ids| of_planes(flow, ids, 2))),
    key(IDS[3], Text, By(|flow, ids| of_planes(flow, ids, 3))),
    key(
        "Initial_Occupancy_Percentage",
        Whole(0, 100),
        By(|flow, _| {
            if flow.facts.is_preconditioned {
                changed(&[], "state.fill_percent of the device is the mean of the flows")
            } else {
                idle("Enabled_Preconditioning is false")
            }
        }),
    ),
];

/// Keys of generated flows.
const SYNTHETIC: &[Key<Flow>] = &[
    key("Working_Set_Percentage", Whole(0, LARGEST), By(|flow, set| flow.range(set.whole))),
    key(
        "Synthetic_Generator_Type",
        Word(&["QUEUE_DEPTH", "BANDWIDTH", "ARRIVAL_RATE"]),
        By(pacing),
    ),
    key("Read_Percentage", Whole(0, 100), Same("pattern.read_percent")),
    words(
        "Address_Distribution",
        &[
            (
                "STREAMING",
                Changed,
                &[("pattern.access", "\"sequential\"")],
                "it starts at the start of its range, in MQSim at any place",
            ),
            ("RANDOM_UNIFORM", Taken, UNIFORM, ""),
            ("RANDOM_HOTCOLD", Taken, HOT_COLD, ""),
            ("UNIFORM_RANDOM", Taken, UNIFORM, ""),
            ("HOTCOLD_RANDOM", Taken, HOT_COLD, ""),
        ],
    ),
    key("Percentage_of_Hot_Region", Whole(0, 100), By(hot_region)),
    key("Generated_Aligned_Addresses", Truth, By(|flow, _| flow.aligned())),
    key(
        "Address_Alignment_Unit",
        Whole(1, 1 << 21),
        By(
            |flow, _| {
                if flow.is_aligned() { flow.aligned() } else { idle("addresses are not aligned") }
            },
        ),
    ),
    words(
        "Request_Size_Distribution",
        &[
            ("FIXED", Taken, &[], ""),
            (
                "NORMAL",
                Changed,
                &[("pattern.sizes", "\"uniform\"")],
                "all sizes have equal chance; see Variance_Request_Size for how far they go",
            ),
        ],
    ),
    key("Average_Request_Size", Whole(1, 1 << 21), By(|flow, _| size(flow))),
    key(
        "Variance_Request_Size",
        Whole(0, 1 << 21),
        By(|flow, _| {
            if flow.is_normal() {
                changed(&[], flow.said_deviation())
            } else {
                idle("sizes are fixed")
            }
        }),
    ),
    key("Seed", Whole(0, u64::MAX), Always(Missing, "--seed gives each stream a seed of its own")),
    key(
        "Average_No_of_Reqs_in_Queue",
        Whole(1, 65_536),
        By(|flow, depth| {
            if flow.is_by_rate() {
                idle("requests come by Bandwidth")
            } else {
                taken(&[("stream.depth", depth.whole.to_string())])
            }
        }),
    ),
    optional(
        "Bandwidth",
        Whole(0, u64::MAX),
        By(|flow, _| {
            if flow.is_by_rate() {
                taken_as("it gives pattern.rate_per_s")
            } else {
                idle("requests come by queue depth")
            }
        }),
    ),
    key("Stop_Time", Whole(0, 4_611_686_018_427_387_904), By(stop_time)),
    key("Total_Requests_To_Generate", Whole(0, 1_000_000_000_000), By(total)),
    optional("Intensity", Text, Always(Idle, "MQSim's last version reads Bandwidth in its place")),
];

/// Keys of flows from traces.
const TRACE: &[Key<Flow>] = &[
    key("File_Path", Text, By(path)),
    key("Percentage_To_Be_Executed", Whole(1, LARGEST), By(share)),
    key("Relay_Count", Whole(1, LARGEST), Same("trace.repeat")),
    key(
        "Time_Unit",
        Word(&["NANOSECOND", "PICOSECOND", "MICROSECOND"]),
        Always(Idle, "it reads all times as nanoseconds, and so does ssdsim"),
    ),
];

/// A name that MQSim's files have and its last version does not read.
const OF_OLD_FILES: &[Key<Flow>] =
    &[optional("Type", Text, Always(Idle, "the name of the element says it"))];

/// The lists of ids that say which planes a flow uses.
pub(crate) const IDS: [&str; 4] = ["Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"];

const UNIFORM: &[(&str, &str)] = &[("pattern.access", "\"uniform\"")];

const HOT_COLD: &[(&str, &str)] =
    &[("pattern.access", "\"hot_cold\""), ("pattern.scatter", "false")];

const LARGEST: u64 = u32::MAX as u64;

/// Where traces of flows are looked for, and where the workload file will stand.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// The file of the flows.
    pub(crate) file: String,
    pub(crate) folder: PathBuf,
    /// Where the workload file will stand.
    pub(crate) out: PathBuf,
}

/// A flow with the facts that its keys depend on.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) group: Group,
    pub(crate) facts: Facts,
    pub(crate) trace: Trace,
    /// Start and length of its addresses in percent of the device.
    pub(crate) range: (f64, f64),
    /// Time after which the scenario ends, in nanoseconds; 0: none.
    pub(crate) stop: u64,
}

impl Flow {
    /// Reads all keys.
    pub(crate) fn read(&self, is_trace: bool, found: &mut Found) {
        let has = |name: &str| self.group.entries.iter().any(|entry| entry.name == name);
        if is_trace {
            // MQSim moves addresses behind the end of a flow's range into it.
            let keys = [("trace.format", quoted("ssdsim")), ("trace.fold", quoted("modulo"))];
            found.set(&self.itself("MQSim's traces"), &keys);
        } else if !has("Working_Set_Percentage") {
            found.set(&self.itself("Channel_IDs to Plane_IDs"), &self.range(100).keys);
        }
        let own = if is_trace { TRACE } else { SYNTHETIC };
        read(&self.group, &[FLOW, own, OF_OLD_FILES], &[], self, found);
        if is_trace && !has("File_Path") {
            let what = "File_Path is missing: where is the trace?";
            found.problems.push(format!("{}: {}: {what}", self.group.place, self.group.name));
        }
    }

    /// An entry for keys that follow from the flow itself.
    fn itself(&self, name: &str) -> Entry {
        let (name, place) = (name.to_string(), self.group.place.clone());
        Entry { name, value: String::new(), place, line: 0, is_default: false }
    }

    fn is_normal(&self) -> bool {
        self.group.is("Request_Size_Distribution", "NORMAL")
    }

    fn is_by_rate(&self) -> bool {
        let kind = "Synthetic_Generator_Type";
        self.group.is(kind, "BANDWIDTH") || self.group.is(kind, "ARRIVAL_RATE")
    }

    fn is_aligned(&self) -> bool {
        self.group.is("Generated_Aligned_Addresses", "true")
    }

    /// The least and the greatest size in sectors.
    fn sizes(&self) -> (u64, u64) {
        let mean = self.group.get::<u64>("Average_Request_Size").unwrap_or(1).clamp(1, 1 << 21);
        let room = self.steps(mean) * self.alignment();
        (mean - room, mean + room)
    }

    /// How many steps sizes go down and up from their mean. Normal sizes become uniform ones, an
    /// alignment apart. With k steps to each side their standard deviation is sqrt(k (k + 1) / 3)
    /// steps: of those k that leave a sector, this is the one nearest to the deviation of the file.
    fn steps(&self, mean: u64) -> u64 {
        if !self.is_normal() {
            return 0;
        }
        let deviation = self.group.get::<u64>("Variance_Request_Size").unwrap_or(0).min(1 << 21);
        let step = self.alignment();
        let steps = deviation as f64 / step as f64;
        let wanted = ((12.0 * steps * steps + 1.0).sqrt() - 1.0) / 2.0;
        whole(wanted.round()).min((mean - 1) / step)
    }

    /// What becomes of the deviation of normal sizes.
    fn said_deviation(&self) -> String {
        let step = self.alignment();
        let (least, greatest) = self.sizes();
        let count = ((greatest - least) / 2 / step) as f64;
        let deviation = decimal((count * (count + 1.0) / 3.0).sqrt() * step as f64, 1);
        let apart = match step {
            1 => "a sector apart".to_string(),
            _ => format!("{step} sectors apart, as addresses are"),
        };
        format!(
            "MQSim uses it as the standard deviation, which is {deviation} sectors here: sizes are \
             {apart}, and go as far below their mean as above"
        )
    }

    /// Sectors whose multiples requests start at.
    fn alignment(&self) -> u64 {
        let unit = self.group.get::<u64>("Address_Alignment_Unit").unwrap_or(1).clamp(1, 1 << 21);
        if self.is_aligned() { unit } else { 1 }
    }

    fn aligned(&self) -> Outcome {
        taken(&[("pattern.align_kib", kib(self.alignment()))])
    }

    /// The addresses of the flow: a share of its range in percent. What is no percentage is all of
    /// it in MQSim.
    fn range(&self, set: u64) -> Outcome {
        let set = if (1..=100).contains(&set) { set } else { 100 };
        let (start, length) = self.range;
        let length = ("pattern.range_percent", percent(length * set as f64 / 100.0));
        if start > 0.0 {
            taken(&[("pattern.start_percent", percent(start)), length])
        } else {
            taken(&[length])
        }
    }

    /// The path of the trace from the workload file, and where it is.
    fn path(&self) -> (String, Option<PathBuf>) {
        let named = self.group.get::<String>("File_Path").unwrap_or_default().replace('\\', "/");
        let name = Path::new(&named);
        let places = [name.to_path_buf(), self.trace.folder.join(name)];
        let there = places.into_iter().find(|path| path.is_file());
        let is_near = |there: &PathBuf| {
            let real = std::fs::canonicalize(there).ok();
            real.is_some() && real == std::fs::canonicalize(self.trace.out.join(name)).ok()
        };
        let written = match &there {
            Some(there) if !is_near(there) => {
                let real = std::fs::canonicalize(there).unwrap_or_else(|_| there.clone());
                real.to_string_lossy().into_owned()
            }
            _ => named,
        };
        (written, there)
    }
}

fn caching(flow: &Flow, mode: &Value<'_>) -> Outcome {
    match mode.word {
        "WRITE_CACHE" => taken_as("the device has a write buffer"),
        "TURNED_OFF" if !flow.facts.flows.write_cache => taken_as("the device has no write buffer"),
        "TURNED_OFF" => changed(&[], "another flow needs the write buffer"),
        "READ_CACHE" => missing("data that is read is not cached"),
        _ => changed(&[], "a write buffer; data that is read is not cached"),
    }
}

/// A list of ids, by its place among the lists.
fn of_planes(flow: &Flow, list: &Value<'_>, place: usize) -> Outcome {
    if flow.facts.is_sata {
        return idle("with SATA a flow uses all planes");
    }
    let is_all = |ids: Vec<u64>| ids.len() as u64 == flow.facts.shape[place];
    if ids(list.entry).is_some_and(is_all) {
        taken_as("all that there are")
    } else if flow.group.name.ends_with("Trace_Based") {
        missing("flows use all planes, and traces all addresses")
    } else {
        changed(&[], "the flow uses all planes; its share of the addresses is kept")
    }
}

/// Whether requests come by queue depth or by rate.
fn pacing(flow: &Flow, kind: &Value<'_>) -> Outcome {
    if kind.word == "QUEUE_DEPTH" {
        return taken(&[("stream.pacing", quoted("closed"))]);
    }
    let bandwidth = flow.group.get::<u64>("Bandwidth").unwrap_or(0);
    let size = flow.group.get::<u64>("Average_Request_Size").unwrap_or(1).max(1);
    // MQSim divides in whole numbers.
    let per_s = bandwidth / 512 / size;
    if per_s == 0 || per_s > 1_000_000_000 {
        return wrong("Bandwidth must be at least one request of Average_Request_Size a second");
    }
    let rate = 1e9 / (1_000_000_000 / per_s) as f64;
    taken(&[
        ("stream.pacing", quoted("open")),
        ("pattern.arrival", quoted("poisson")),
        ("pattern.rate_per_s", decimal(rate, 6)),
    ])
}

fn size(flow: &Flow) -> Outcome {
    let (least, greatest) = flow.sizes();
    let mut keys = vec![("pattern.size_kib", kib(least))];
    keys.extend((greatest > least).then(|| ("pattern.max_size_kib", kib(greatest))));
    taken(&keys)
}

fn stop_time(flow: &Flow, stop: &Value<'_>) -> Outcome {
    if stop.whole == flow.stop && stop.whole > 0 {
        taken_as(format!("phase.time_ms = {}", decimal(stop.whole as f64 / 1e6, 6)))
    } else if stop.whole > 0 {
        changed(&[], "the phase ends with the flow that stops last")
    } else if flow.stop > 0 {
        changed(&[], "the Stop_Time of another flow ends the phase")
    } else {
        taken_as("Total_Requests_To_Generate counts")
    }
}

fn total(flow: &Flow, total: &Value<'_>) -> Outcome {
    let requests = |count: u64| vec![("pattern.requests", count.to_string())];
    if flow.group.get::<u64>("Stop_Time").unwrap_or(0) > 0 {
        Outcome { keys: requests(0), ..idle("Stop_Time counts") }
    } else if total.whole == 0 {
        wrong("there are no requests; set it or Stop_Time")
    } else {
        taken(&requests(total.whole))
    }
}

fn hot_region(flow: &Flow, hot: &Value<'_>) -> Outcome {
    let is = |word| flow.group.is("Address_Distribution", word);
    if !is("RANDOM_HOTCOLD") && !is("HOTCOLD_RANDOM") {
        return idle("addresses are not hot and cold");
    }
    taken(&[
        ("pattern.hot_units_percent", hot.whole.to_string()),
        ("pattern.hot_accesses_percent", (100 - hot.whole.min(100)).to_string()),
    ])
}

fn path(flow: &Flow, named: &Value<'_>) -> Outcome {
    let (written, there) = flow.path();
    let keys = [("trace.path", quoted(&written))];
    if there.is_none() {
        changed(&keys, "there is no such file; put it there")
    } else if written == named.entry.value {
        taken(&keys)
    } else {
        changed(&keys, "as seen from the workload file")
    }
}

/// The share of the trace that is run.
fn share(flow: &Flow, percent: &Value<'_>) -> Outcome {
    if flow.group.get::<u64>("Relay_Count").is_some_and(|count| count != 1) {
        return idle("Relay_Count is not 1");
    }
    if percent.whole >= 100 {
        return taken_as("");
    }
    let file = flow.path().1.and_then(|path| std::fs::File::open(path).ok());
    let Some(file) = file else {
        return missing("the trace is not there to be counted; set trace.request_limit");
    };
    let lines = std::io::BufReader::new(file).split(b'\n').map_while(Result::ok);
    let count = lines.filter(|line| !line.trim_ascii().is_empty()).count() as u64;
    let limit = (count * percent.whole / 100).max(1).to_string();
    changed(&[("trace.request_limit", limit)], format!("the trace has {count} lines"))
}

/// The numbers of a list of ids.
pub(crate) fn ids(entry: &Entry) -> Option<Vec<u64>> {
    let mut ids: Vec<u64> =
        entry.value.split(',').map(|id| id.trim().parse().ok()).collect::<Option<_>>()?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// Percent, rounded down to what a key can hold.
fn percent(number: f64) -> String {
    let parts = whole((number + 1e-9) * 10_000.0).max(1);
    decimal(parts as f64 / 10_000.0, FRACTION)
}

/// Sectors as KiB.
fn kib(sectors: u64) -> String {
    thousandths(sectors.saturating_mul(500))
}

//! A flow of MQSim as a stream: a pattern of requests, or a trace.

use super::facts::Facts;
use super::found::{FRACTION, Found, decimal, quoted, thousandths, whole};
use super::xml::{Entry, Group};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Keys of every flow.
pub(super) const FLOW: [&str; 7] = [
    "Priority_Class",
    "Device_Level_Data_Caching_Mode",
    "Channel_IDs",
    "Chip_IDs",
    "Die_IDs",
    "Plane_IDs",
    "Initial_Occupancy_Percentage",
];

const SYNTHETIC: [&str; 15] = [
    "Working_Set_Percentage",
    "Synthetic_Generator_Type",
    "Read_Percentage",
    "Address_Distribution",
    "Percentage_of_Hot_Region",
    "Generated_Aligned_Addresses",
    "Address_Alignment_Unit",
    "Request_Size_Distribution",
    "Average_Request_Size",
    "Variance_Request_Size",
    "Seed",
    "Average_No_of_Reqs_in_Queue",
    "Bandwidth",
    "Stop_Time",
    "Total_Requests_To_Generate",
];

const TRACE: [&str; 4] = ["File_Path", "Percentage_To_Be_Executed", "Relay_Count", "Time_Unit"];

/// The lists of ids that say which planes a flow uses.
pub(super) const IDS: [&str; 4] = ["Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"];

/// Names that MQSim's files have and its last version does not read.
const OPTIONAL: [&str; 2] = ["Intensity", "Type"];

const LARGEST: u64 = u32::MAX as u64;

/// Where traces of flows are looked for, and where the workload file will stand.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    /// The file of the flows.
    pub(super) file: String,
    pub(super) folder: PathBuf,
    /// Where the workload file will stand.
    pub(super) out: PathBuf,
}

/// A flow, and what its keys depend on.
#[derive(Clone, Debug)]
pub(super) struct Flow<'a> {
    pub(super) group: &'a Group,
    pub(super) facts: &'a Facts,
    pub(super) trace: &'a Trace,
    /// Start and length of its addresses in percent of the device.
    pub(super) range: (f64, f64),
    /// Time after which the scenario ends, in nanoseconds; 0: none.
    pub(super) stop: u64,
}

impl Flow<'_> {
    /// Reads all keys.
    pub(super) fn read(&self, is_trace: bool, found: &mut Found) {
        let own = if is_trace { &TRACE[..] } else { &SYNTHETIC[..] };
        let names = [&FLOW[..], own].concat();
        let entries = &self.group.entries;
        let absent: Vec<&str> = names.iter().copied().filter(|name| *name != "Bandwidth").collect();
        found.check(self.group, &absent, &[]);
        if is_trace {
            // MQSim moves addresses behind the end of a flow's range into it.
            self.trace_settings(found);
        } else if !entries.iter().any(|entry| entry.name == "Working_Set_Percentage") {
            self.set_range(None, 100, found);
        }
        for entry in entries {
            let is_known = self.common(entry, is_trace, found)
                || (is_trace && self.of_trace(entry, found))
                || (!is_trace && (self.requests(entry, found) || self.addresses(entry, found)));
            if !is_known {
                found.unknown(entry, self.group, &[&names[..], &OPTIONAL].concat());
            }
        }
        if is_trace && !entries.iter().any(|entry| entry.name == "File_Path") {
            let what = "File_Path is missing: where is the trace?";
            found.problems.push(format!("{}: {}: {what}", self.group.place, self.group.name));
        }
    }

    fn common(&self, entry: &Entry, is_trace: bool, found: &mut Found) -> bool {
        match entry.name.as_str() {
            "Priority_Class" => {
                found.word(entry, &["HIGH", "URGENT", "MEDIUM", "LOW"]);
                if self.facts.has_priorities {
                    found.missing(entry, "flows have no classes; see stream.weight");
                } else {
                    found.idle(entry, &[], "only PRIORITY_OUT_OF_ORDER looks at it");
                }
            }
            "Device_Level_Data_Caching_Mode" => self.caching(entry, found),
            _ if is_ids(entry) => {
                if is_all(entry, self.facts) {
                    found.taken_as(entry, "all that there are");
                } else if is_trace {
                    found.missing(entry, "flows use all planes, and traces all addresses");
                } else {
                    let why = "the flow uses all planes; its share of the addresses is kept";
                    found.changed(entry, &[], why);
                }
            }
            "Initial_Occupancy_Percentage" => {
                found.whole(entry, 0, 100);
                if self.facts.is_preconditioned {
                    let why = "state.fill_percent of the device is the mean of the flows";
                    found.changed(entry, &[], why);
                } else {
                    found.idle(entry, &[], "Enabled_Preconditioning is false");
                }
            }
            "Type" => found.idle(entry, &[], "the name of the element says it"),
            _ => return false,
        }
        true
    }

    fn caching(&self, entry: &Entry, found: &mut Found) {
        let words = ["WRITE_CACHE", "TURNED_OFF", "READ_CACHE", "WRITE_READ_CACHE"];
        let word = found.word(entry, &words);
        let has_buffer = self.facts.flows.write_cache;
        match word {
            "WRITE_CACHE" => found.taken_as(entry, "the device has a write buffer"),
            "TURNED_OFF" if !has_buffer => found.taken_as(entry, "the device has no write buffer"),
            "TURNED_OFF" => found.changed(entry, &[], "another flow needs the write buffer"),
            "READ_CACHE" => found.missing(entry, "data that is read is not cached"),
            _ => found.changed(entry, &[], "a write buffer; data that is read is not cached"),
        }
    }

    /// Keys that say how many requests there are, of what kind and size, and when.
    fn requests(&self, entry: &Entry, found: &mut Found) -> bool {
        match entry.name.as_str() {
            "Synthetic_Generator_Type" => {
                self.pacing(entry, found);
            }
            "Average_No_of_Reqs_in_Queue" => {
                let depth = found.whole(entry, 1, 65_536).to_string();
                if self.is_by_rate() {
                    found.idle(entry, &[], "requests come by Bandwidth");
                } else {
                    found.taken(entry, &[("stream.depth", depth)]);
                }
            }
            "Bandwidth" => {
                found.whole(entry, 0, u64::MAX);
                if self.is_by_rate() {
                    found.taken_as(entry, "it gives pattern.rate_per_s");
                } else {
                    found.idle(entry, &[], "requests come by queue depth");
                }
            }
            "Intensity" => {
                found.idle(entry, &[], "MQSim's last version reads Bandwidth in its place");
            }
            "Read_Percentage" => {
                let percent = found.whole(entry, 0, 100).to_string();
                found.taken(entry, &[("pattern.read_percent", percent)]);
            }
            "Request_Size_Distribution" => {
                if found.word(entry, &["FIXED", "NORMAL"]) == "FIXED" {
                    found.taken_as(entry, "");
                } else {
                    let why = "sizes have this mean and deviation, all with equal chance";
                    found.changed(entry, &[("pattern.sizes", quoted("uniform"))], why);
                }
            }
            "Average_Request_Size" => {
                found.whole(entry, 1, 1 << 21);
                let (least, greatest) = self.sizes();
                let mut keys = vec![("pattern.size_kib", kib(least))];
                keys.extend((greatest > least).then(|| ("pattern.max_size_kib", kib(greatest))));
                found.taken(entry, &keys);
            }
            "Variance_Request_Size" => {
                found.whole(entry, 0, 1 << 21);
                if self.is_normal() {
                    let why = "MQSim uses it as the standard deviation; see Average_Request_Size";
                    found.changed(entry, &[], why);
                } else {
                    found.idle(entry, &[], "sizes are fixed");
                }
            }
            "Seed" => {
                found.whole(entry, 0, u64::MAX);
                found.missing(entry, "--seed gives each stream a seed of its own");
            }
            "Stop_Time" => self.stop_time(entry, found),
            "Total_Requests_To_Generate" => self.total(entry, found),
            _ => return false,
        }
        true
    }

    fn is_normal(&self) -> bool {
        self.group.is("Request_Size_Distribution", "NORMAL")
    }

    fn is_by_rate(&self) -> bool {
        let kind = "Synthetic_Generator_Type";
        self.group.is(kind, "BANDWIDTH") || self.group.is(kind, "ARRIVAL_RATE")
    }

    /// Whether requests come by queue depth or by rate.
    fn pacing(&self, entry: &Entry, found: &mut Found) {
        let words = ["QUEUE_DEPTH", "BANDWIDTH", "ARRIVAL_RATE"];
        if found.word(entry, &words) == "QUEUE_DEPTH" {
            found.taken(entry, &[("stream.pacing", quoted("closed"))]);
            return;
        }
        let bandwidth = self.group.get::<u64>("Bandwidth").unwrap_or(0);
        let size = self.group.get::<u64>("Average_Request_Size").unwrap_or(1).max(1);
        // MQSim divides in whole numbers.
        let per_s = bandwidth / 512 / size;
        if per_s == 0 || per_s > 1_000_000_000 {
            let what = "Bandwidth must be at least one request of Average_Request_Size a second";
            found.problem(entry, what);
            return;
        }
        let rate = 1e9 / (1_000_000_000 / per_s) as f64;
        let keys = [
            ("stream.pacing", quoted("open")),
            ("pattern.arrival", quoted("poisson")),
            ("pattern.rate_per_s", decimal(rate, 6)),
        ];
        found.taken(entry, &keys);
    }

    /// The least and the greatest size in sectors. Normal sizes become uniform ones of nearly the
    /// same mean and standard deviation.
    fn sizes(&self) -> (u64, u64) {
        let mean = self.group.get::<u64>("Average_Request_Size").unwrap_or(1).clamp(1, 1 << 21);
        let deviation = self.group.get::<u64>("Variance_Request_Size").unwrap_or(0).min(1 << 21);
        if !self.is_normal() {
            return (mean, mean);
        }
        let step = self.alignment();
        let room = whole(3_f64.sqrt() * deviation as f64).min(mean - 1) / step * step;
        (mean - room, mean + room)
    }

    /// Sectors whose multiples requests start at.
    fn alignment(&self) -> u64 {
        let unit = self.group.get::<u64>("Address_Alignment_Unit").unwrap_or(1).clamp(1, 1 << 21);
        if self.group.is("Generated_Aligned_Addresses", "true") { unit } else { 1 }
    }

    fn stop_time(&self, entry: &Entry, found: &mut Found) {
        let stop = found.whole(entry, 0, 4_611_686_018_427_387_904);
        if stop == self.stop && stop > 0 {
            let ms = decimal(stop as f64 / 1e6, 6);
            found.taken_as(entry, &format!("phase.time_ms = {ms}"));
        } else if stop > 0 {
            found.changed(entry, &[], "the phase ends with the flow that stops last");
        } else if self.stop > 0 {
            found.changed(entry, &[], "the Stop_Time of another flow ends the phase");
        } else {
            found.taken_as(entry, "Total_Requests_To_Generate counts");
        }
    }

    fn total(&self, entry: &Entry, found: &mut Found) {
        let total = found.whole(entry, 0, 1_000_000_000_000);
        let no_end = ("pattern.requests", "0".to_string());
        if self.group.get::<u64>("Stop_Time").unwrap_or(0) > 0 {
            found.idle(entry, &[no_end], "Stop_Time counts");
        } else if total == 0 {
            found.problem(entry, "there are no requests; set it or Stop_Time");
        } else {
            found.taken(entry, &[("pattern.requests", total.to_string())]);
        }
    }

    /// Keys that say where requests lie.
    fn addresses(&self, entry: &Entry, found: &mut Found) -> bool {
        let is_hot = self.group.is("Address_Distribution", "RANDOM_HOTCOLD")
            || self.group.is("Address_Distribution", "HOTCOLD_RANDOM");
        match entry.name.as_str() {
            "Working_Set_Percentage" => {
                let set = found.whole(entry, 0, LARGEST);
                // What is no percentage is all of it in MQSim.
                let set = if (1..=100).contains(&set) { set } else { 100 };
                self.set_range(Some(entry), set, found);
            }
            "Address_Distribution" => {
                let words = [
                    "STREAMING",
                    "RANDOM_UNIFORM",
                    "RANDOM_HOTCOLD",
                    "UNIFORM_RANDOM",
                    "HOTCOLD_RANDOM",
                ];
                let key = |access| [("pattern.access", quoted(access))];
                match found.word(entry, &words) {
                    "STREAMING" => {
                        let why = "it starts at the start of its range, in MQSim at any place";
                        found.changed(entry, &key("sequential"), why);
                    }
                    "RANDOM_UNIFORM" | "UNIFORM_RANDOM" => found.taken(entry, &key("uniform")),
                    _ => {
                        let mut keys = key("hot_cold").to_vec();
                        keys.push(("pattern.scatter", "false".to_string()));
                        found.taken(entry, &keys);
                    }
                }
            }
            "Percentage_of_Hot_Region" => {
                let hot = found.whole(entry, 0, 100);
                if is_hot {
                    let keys = [
                        ("pattern.hot_units_percent", hot.to_string()),
                        ("pattern.hot_accesses_percent", (100 - hot.min(100)).to_string()),
                    ];
                    found.taken(entry, &keys);
                } else {
                    found.idle(entry, &[], "addresses are not hot and cold");
                }
            }
            "Generated_Aligned_Addresses" => {
                found.truth(entry);
                found.taken(entry, &[("pattern.align_kib", kib(self.alignment()))]);
            }
            "Address_Alignment_Unit" => {
                found.whole(entry, 1, 1 << 21);
                if self.group.is("Generated_Aligned_Addresses", "true") {
                    found.taken(entry, &[("pattern.align_kib", kib(self.alignment()))]);
                } else {
                    found.idle(entry, &[], "addresses are not aligned");
                }
            }
            _ => return false,
        }
        true
    }

    /// The addresses of the flow: a share of its range.
    fn set_range(&self, entry: Option<&Entry>, set: u64, found: &mut Found) {
        let (start, length) = self.range;
        let length = length * set as f64 / 100.0;
        let mut keys = vec![("pattern.range_percent", percent(length))];
        if start > 0.0 {
            keys.insert(0, ("pattern.start_percent", percent(start)));
        }
        let own = Entry {
            name: "Channel_IDs to Plane_IDs".to_string(),
            value: String::new(),
            place: self.group.place.clone(),
            line: 0,
        };
        match entry {
            Some(entry) => found.taken(entry, &keys),
            None => found.set(&own, &keys),
        }
    }

    /// What holds for every trace of MQSim's.
    fn trace_settings(&self, found: &mut Found) {
        let own = Entry {
            name: "MQSim's traces".to_string(),
            value: String::new(),
            place: self.group.place.clone(),
            line: 0,
        };
        let keys = [("trace.format", quoted("ssdsim")), ("trace.fold", quoted("modulo"))];
        found.set(&own, &keys);
    }

    fn of_trace(&self, entry: &Entry, found: &mut Found) -> bool {
        match entry.name.as_str() {
            "File_Path" => {
                let (written, there) = self.path();
                let keys = [("trace.path", quoted(&written))];
                if there.is_none() {
                    found.changed(entry, &keys, "there is no such file; put it there");
                } else if written == entry.value {
                    found.taken(entry, &keys);
                } else {
                    found.changed(entry, &keys, "as seen from the workload file");
                }
            }
            "Percentage_To_Be_Executed" => self.share(entry, found),
            "Relay_Count" => {
                let count = found.whole(entry, 1, LARGEST);
                found.taken(entry, &[("trace.repeat", count.to_string())]);
            }
            "Time_Unit" => {
                found.word(entry, &["NANOSECOND", "PICOSECOND", "MICROSECOND"]);
                found.idle(entry, &[], "it reads all times as nanoseconds, and so does ssdsim");
            }
            _ => return false,
        }
        true
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

    /// The share of the trace that is run.
    fn share(&self, entry: &Entry, found: &mut Found) {
        let percent = found.whole(entry, 1, LARGEST);
        if self.group.get::<u64>("Relay_Count").is_some_and(|count| count != 1) {
            found.idle(entry, &[], "Relay_Count is not 1");
            return;
        }
        if percent >= 100 {
            found.taken_as(entry, "");
            return;
        }
        let file = self.path().1.and_then(|path| std::fs::File::open(path).ok());
        let Some(file) = file else {
            found.missing(entry, "the trace is not there to be counted; set trace.request_limit");
            return;
        };
        let lines = std::io::BufReader::new(file).split(b'\n').map_while(Result::ok);
        let count = lines.filter(|line| !line.trim_ascii().is_empty()).count() as u64;
        let limit = (count * percent / 100).max(1).to_string();
        let why = format!("the trace has {count} lines");
        found.changed(entry, &[("trace.request_limit", limit)], &why);
    }
}

/// The numbers of a list of ids.
pub(super) fn ids(entry: &Entry) -> Option<Vec<u64>> {
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

/// Whether a flow has all the ids of the device.
fn is_all(entry: &Entry, facts: &Facts) -> bool {
    let count = IDS.iter().position(|name| *name == entry.name).map_or(0, |at| facts.shape[at]);
    ids(entry).is_some_and(|ids| ids.len() as u64 == count)
}

/// Whether an entry is a list of ids.
fn is_ids(entry: &Entry) -> bool {
    IDS.contains(&entry.name.as_str()) && FLOW.contains(&entry.name.as_str())
}

//! `flashyard schema`: what commands print is what their schemas say, and what differs from it in
//! one place is refused. The validator here knows the words of JSON Schema that these schemas use,
//! and fails at any other; `cargo xtask schema` asks one that knows them all.

use crate::support::{Folder, TRACE};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A schema that a command prints.
pub(crate) struct Schema(Value);

impl Schema {
    /// The schema of what a command prints.
    #[track_caller]
    pub(crate) fn of(name: &str) -> Self {
        Self(Folder::new().run(&["schema", name]).json())
    }

    pub(crate) fn allows(&self, value: &Value) -> bool {
        self.fault(&self.0, value, "").is_none()
    }

    /// Fails with the first place that the schema does not allow.
    #[track_caller]
    pub(crate) fn check(&self, what: &str, value: &Value) {
        if let Some(fault) = self.fault(&self.0, value, "") {
            panic!("{what}: change crates/cli/schema or the output: {fault}");
        }
    }

    /// The first place that a schema does not allow, with the word that refuses it.
    fn fault(&self, schema: &Value, value: &Value, path: &str) -> Option<String> {
        let words = schema.as_object().expect("a schema is an object");
        let refused = words.iter().find_map(|(word, says)| match word.as_str() {
            "properties" | "items" => None,
            "anyOf" => {
                let mut faults: Vec<String> = Vec::new();
                for one in says.as_array().expect("a list") {
                    faults.push(self.fault(one, value, path)?);
                }
                Some(faults.join(", or "))
            }
            "$ref" => {
                let place = says.as_str().and_then(|name| name.strip_prefix('#'));
                let to = self.0.pointer(place.expect("a place of this schema"));
                self.fault(to.expect("a definition"), value, path)
            }
            "additionalProperties" if says.is_object() => {
                let fields = value.as_object()?;
                let fault = |(name, field)| self.fault(says, field, &format!("{path}/{name}"));
                fields.iter().find_map(fault)
            }
            _ => (!holds(word, says, words, value)).then(|| format!("{path}: {word} {says}")),
        });
        refused.or_else(|| self.below(words, value, path))
    }

    /// The first such place in the members of an object or a list.
    fn below(&self, words: &Map<String, Value>, value: &Value, path: &str) -> Option<String> {
        let inside = |schema: &Value, value: &Value, name: &dyn std::fmt::Display| {
            self.fault(schema, value, &format!("{path}/{name}"))
        };
        match value {
            Value::Object(fields) => {
                let known = words.get("properties")?;
                fields.iter().find_map(|(name, field)| inside(known.get(name)?, field, name))
            }
            Value::Array(list) => {
                let items = words.get("items")?;
                list.iter().enumerate().find_map(|(place, item)| inside(items, item, &place))
            }
            _ => None,
        }
    }
}

/// Whether a value is what a word of a schema, beside others, says of it.
fn holds(word: &str, says: &Value, words: &Map<String, Value>, value: &Value) -> bool {
    let texts = |value: &Value| -> Vec<String> {
        let list = value.as_array().expect("a list").iter();
        list.map(|text| text.as_str().expect("a text").to_string()).collect()
    };
    match word {
        "type" if says.is_array() => texts(says).iter().any(|one| is_a(one, value)),
        "type" => is_a(says.as_str().expect("a type"), value),
        "enum" => says.as_array().expect("a list").contains(value),
        "const" => says == value,
        "minimum" => value.as_f64().is_none_or(|found| Some(found) >= says.as_f64()),
        "maximum" => value.as_f64().is_none_or(|found| Some(found) <= says.as_f64()),
        "maxItems" => value.as_array().is_none_or(|all| all.len() as u64 <= says.as_u64().unwrap()),
        "maxProperties" => {
            value.as_object().is_none_or(|all| all.len() as u64 <= says.as_u64().unwrap())
        }
        "required" => value
            .as_object()
            .is_none_or(|all| texts(says).iter().all(|name| all.contains_key(name))),
        "additionalProperties" => {
            assert_eq!(*says, false, "true says nothing");
            let known = words["properties"].as_object().expect("fields");
            value.as_object().is_none_or(|all| all.keys().all(|name| known.contains_key(name)))
        }
        "pattern" => {
            assert_eq!(says, "^[0-9a-f]{64}$");
            let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            value.as_str().is_none_or(|text| text.len() == 64 && text.bytes().all(is_digit))
        }
        "$schema" | "$id" | "$defs" | "title" | "description" | "x-unit" => true,
        _ => panic!("{word} is no word that this validator knows"),
    }
}

/// Whether a value is of a type of JSON Schema.
fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64(),
        _ => panic!("{kind} is no type"),
    }
}

/// Two streams, in closed loops, behind a phase that is not measured.
const STREAMS: &str = "\
[[phase]]\nname = \"fill\"\nmeasure = false\n\
[[phase.stream]]\nname = \"all\"\npattern.requests = 20\n\
[[phase]]\nname = \"both\"\n\
[[phase.stream]]\nname = \"slow\"\nrate_limit_mb_per_s = 2\npattern.requests = 50\n\
[[phase.stream]]\nname = \"free\"\npattern.requests = 80\n";

/// Runs that differ in what they print: arguments behind `run`, and what must be there.
const RUNS: [(&str, &str); 14] = [
    ("drs radiowb", "/waits_ns/read"),
    ("small-full radiowb", "/verdict/warnings"),
    ("t.txt", "/workload/changes"),
    ("toy", "/gc/jobs"),
    ("small-full radiowb --set retry.chance_percent=50", "/latency_parts_ns/read/retry"),
    (
        "nvme-tlc mixed-70-30 --capacity 8GB --set state.initial=steady --set pattern.requests=2000",
        "/verdict/warnings",
    ),
    ("ros radiowb --set metrics.bin_ms=1000", "/series/bins/0"),
    ("ftl-study radiowb --ftl fast", "/gc/merges/full"),
    ("framework raw-1-256-128 --set raw.requests=300", "/bus/status_requests"),
    ("wd1600bekt radiowb --set sleep.after_us=1000000", "/power/sleep/wakes"),
    ("drs streams.toml --set metrics.bin_ms=5", "/streams/slow/bin_bytes"),
    ("drs radiowb --set metrics.power_us=100000 --set nand.bit_errors_ppb=1000", "/power/meter"),
    ("wd1600bekt files.toml", "/workload/settings/layout"),
    ("drs twin.toml", "/workload/settings"),
];

fn folder() -> Folder {
    let folder = Folder::with("t.txt", TRACE);
    folder.write("streams.toml", STREAMS);
    folder.write("files.toml", "[files]\nstage = \"write\"\nfiles = 20\n");
    folder.run(&["trace", "fit", "t.txt", "-o", "twin.toml"]).text();
    folder
}

fn run(folder: &Folder, args: &str) -> Value {
    let args: Vec<&str> = args.split(' ').collect();
    folder.run(&[&["run", "--json"], &args[..]].concat()).json()
}

#[test]
fn every_schema_is_one_and_has_no_name_of_a_host() {
    let folder = Folder::new();
    let help = folder.run(&["schema", "--help"]).text();
    let names = help.split("[possible values: ").nth(1).and_then(|rest| rest.split(']').next());
    let names: Vec<&str> = names.expect("the names").split([',', '\n', ' ']).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    for name in names {
        let schema = folder.run(&["schema", name]).json();
        assert_eq!(schema["$id"], format!("urn:flashyard:{name}:1"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(!Schema(schema).allows(&json!("a text")), "{name}");
    }
}

#[test]
fn runs_print_what_the_schema_says() {
    let (folder, schema) = (folder(), Schema::of("run"));
    for (args, there) in RUNS {
        let object = run(&folder, args);
        assert!(object.pointer(there).is_some(), "{args}: no {there}");
        schema.check(args, &object);
    }
}

#[test]
fn comparisons_print_what_the_schema_says() {
    let (folder, schema) = (folder(), Schema::of("compare"));
    for args in [
        &["compare", "drs", "t.txt", "--vary", "policy.command=fifo,drs", "--json"][..],
        &["compare", "drs", "radiowb", "--vary", "queue.depth=1,8", "--seeds", "2", "--json"],
    ] {
        let objects = folder.run(args).json();
        assert!(objects.as_array().is_some_and(|list| list.len() > 1), "{args:?}");
        schema.check(&args.join(" "), &objects);
    }
}

#[test]
fn explanations_print_what_the_schema_says() {
    let (folder, schema) = (folder(), Schema::of("why"));
    for args in [
        "drs radiowb",
        "drs radiowb --slowest 3 --class read",
        "small-full radiowb --request 5",
        "toy",
        "small-full radiowb --vary queue.depth=1,8",
        "ftl-study radiowb --ftl fast",
        "wd1600bekt t.txt",
    ] {
        let mut words: Vec<&str> = args.split(' ').collect();
        if args.contains("radiowb") {
            words.extend(["--set", "generator.requests=1000"]);
        }
        let object = folder.run(&[&["why", "--json"], &words[..]].concat()).json();
        schema.check(args, &object);
    }
}

#[test]
fn statistics_and_lists_print_what_the_schemas_say() {
    let folder = folder();
    for (name, args) in [
        ("trace-info", "trace info t.txt --json"),
        ("trace-info", "trace info radiowb --json"),
        ("trace-info", "trace info t.txt --compare radiowb --json"),
        ("list", "list --json"),
        ("list", "list devices --json"),
        ("list", "list keys --json"),
        ("list", "list keys gc --json"),
        ("list", "list ftls --json"),
        ("list", "list ftls nvme-tlc --json"),
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        Schema::of(name).check(args, &folder.run(&words).json());
    }
}

/// The places of all members of objects and of lists; of a list only its first ones.
fn places(value: &Value, path: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}/{name}");
                places(value, &path, all);
                all.push(path);
            }
        }
        Value::Array(list) => {
            for (place, value) in list.iter().take(1).enumerate() {
                let path = format!("{path}/{place}");
                places(value, &path, all);
                all.push(path);
            }
        }
        _ => {}
    }
}

/// Bus requests, streams, a series, a power meter: a run that prints more than others.
const MOST: &str = "drs streams.toml --set bus.precision=requests --set channel.ps_per_byte=10000 \
                    --set channel.command_ns=300 --set metrics.bin_ms=5 \
                    --set metrics.power_us=1000";

/// What a run may leave out.
fn is_optional(place: &str) -> bool {
    ["/bus", "/power/meter", "/streams/free", "/streams/slow"].contains(&place)
        || place.ends_with("/status")
}

/// Every field of a run is taken out, replaced by something else, and got a neighbour of another
/// name: the schema refuses each. Of the settings of the device, whose schema is made from their
/// table, one section stands for all.
#[test]
fn a_run_with_one_change_is_refused() {
    let (folder, schema) = (folder(), Schema::of("run"));
    let object = run(&folder, MOST);
    let (mut all, mut accepted) = (Vec::new(), String::new());
    places(&object, "", &mut all);
    all.retain(|place| {
        let setting = place.strip_prefix("/device/").is_some_and(|rest| rest.contains('/'));
        !setting || place.starts_with("/device/nand/")
    });
    assert!(all.len() > 400, "{} places", all.len());
    assert!(all.iter().any(|place| place.ends_with("/status")), "{all:?}");
    let mut surprised = BTreeSet::new();
    for place in all {
        let mut changed = object.clone();
        let value = changed.pointer_mut(&place).expect("the place is there");
        let is_more = value.is_number() || value.is_object() || value.is_array();
        *value = if is_more { json!("7") } else { json!([]) };
        if schema.allows(&changed) {
            writeln!(accepted, "{place} of another type").unwrap();
        }
        let (outer, name) = place.rsplit_once('/').expect("a path");
        let mut changed = object.clone();
        let Some(fields) = changed.pointer_mut(outer).and_then(Value::as_object_mut) else {
            continue;
        };
        fields.remove(name);
        if schema.allows(&changed) != is_optional(&place) {
            writeln!(accepted, "without {place}").unwrap();
        }
        let mut changed = object.clone();
        changed.pointer_mut(outer).expect("an object")["surprise"] = json!(1);
        if surprised.insert(outer.to_string()) && schema.allows(&changed) {
            writeln!(accepted, "{outer} with a surprise").unwrap();
        }
    }
    assert!(accepted.is_empty(), "accepted:\n{accepted}");
}

#[test]
fn settings_out_of_their_range_are_refused() {
    let (folder, schema) = (folder(), Schema::of("run"));
    let object = run(&folder, "drs t.txt");
    for (place, value) in [
        ("/device/geometry/channels", json!(0)),
        ("/device/geometry/channels", json!(1.5)),
        ("/device/nand/read_us", json!(-1)),
        ("/device/policy/command", json!("soonest")),
        ("/device/state/initial", json!(1)),
        ("/workload/settings/time_scale", json!(-1)),
        ("/workload/plan/0/streams/0/origin", json!("nowhere")),
        ("/provenance/device_sha256", json!("abc")),
        ("/schema_version", json!(2)),
        ("/verdict/initial_state", json!("new")),
    ] {
        let mut changed = object.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        assert!(!schema.allows(&changed), "{place}");
    }
    schema.check("unchanged", &object);
}

/// A policy of the user's own would be a word of its key; the words here are the built-in ones.
#[test]
fn choices_and_ranges_are_those_of_the_keys() {
    let folder = Folder::new();
    let schema = folder.run(&["schema", "run"]).json();
    let keys = folder.run(&["list", "keys", "--json"]).json();
    let mut checked = 0;
    for key in keys["keys"].as_array().expect("a list") {
        let text = |field: &str| key[field].as_str().expect("a text");
        let section = text("section");
        let name = text("key").strip_prefix(&format!("{section}.")).expect("in its section");
        let sections = ["flash_device", "disk"]
            .map(|kind| &schema["$defs"][kind]["properties"][section]["properties"][name]);
        for found in sections.into_iter().filter(|found| !found.is_null()) {
            checked += 1;
            assert_eq!(found["description"], text("doc"), "{section}.{name}");
            if let Some(words) = key["words"].as_array().filter(|_| found.get("enum").is_some()) {
                assert_eq!(found["enum"].as_array(), Some(words), "{section}.{name}");
            }
            // Of a list its members have a unit and a range.
            let found = if found["type"] == "array" { &found["items"] } else { found };
            if let Some(unit) = key["unit"].as_str() {
                assert_eq!(found["x-unit"], unit, "{section}.{name}");
                for (word, field) in [("minimum", "min"), ("maximum", "max")] {
                    let listed: f64 = text(field).parse().expect("a number");
                    assert_eq!(found[word].as_f64(), Some(listed), "{section}.{name}");
                }
            }
        }
    }
    assert!(checked > 150, "{checked} keys");
}

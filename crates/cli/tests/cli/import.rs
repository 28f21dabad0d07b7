//! `import mqsim`: MQSim's files become files that run, every key is accounted for, and what is
//! wrong is told with file and line.

use crate::support::{Folder, Ran, int, repository_file};
use serde_json::Value;
use std::collections::BTreeSet;

fn device() -> String {
    repository_file("crates/cli/tests/mqsim/device.xml")
}

fn workload() -> String {
    repository_file("crates/cli/tests/mqsim/workload.xml")
}

/// The file with another value in every element of this name.
fn with(text: &str, name: &str, value: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    assert!(text.contains(&open), "{name}");
    let parts = text.split(&open).enumerate().map(|(index, part)| match index {
        0 => part.to_string(),
        _ => format!("{open}{value}{close}{}", part.split_once(&close).unwrap().1),
    });
    parts.collect()
}

/// MQSim's device with 16 dies of 64 small blocks a plane, and a cached map that is smaller, too.
fn small_device() -> String {
    let changes = [
        ("Flash_Channel_Count", "2"),
        ("Chip_No_Per_Channel", "2"),
        ("Block_No_Per_Plane", "64"),
        ("Page_No_Per_Block", "64"),
        ("CMT_Capacity", "65536"),
        ("GC_Exec_Threshold", "0.03"),
        ("Overprovisioning_Ratio", "0.3"),
    ];
    changes.iter().fold(device(), |text, (name, value)| with(&text, name, value))
}

/// Names of all elements that have a value.
fn names(xml: &str) -> BTreeSet<&str> {
    let rows = xml.lines().filter(|line| line.contains("</") && !line.trim().starts_with("</"));
    rows.map(|line| line.trim().trim_start_matches('<').split_once('>').unwrap().0).collect()
}

/// Keys of two devices that differ, section.key.
fn differing(one: &Value, other: &Value, path: &str, found: &mut BTreeSet<String>) {
    let Some(keys) = one.as_object() else {
        if one != other {
            found.insert(path.to_string());
        }
        return;
    };
    assert!(other.as_object().unwrap().keys().eq(keys.keys()), "{path}");
    for (key, value) in keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        differing(value, &other[key], &path, found);
    }
}

#[test]
fn the_default_device_is_the_preset_but_for_what_its_page_explains() {
    let folder = Folder::with("ssdconfig.xml", device());
    let said = folder.run(&["import", "mqsim", "ssdconfig.xml"]).text();
    assert!(said.starts_with("ssdconfig.toml: written\n"), "{said}");
    let run = |device: &str| {
        let few = ["random-read", "--set", "pattern.requests=20", "--json"];
        folder.run(&[&["run", device], &few[..]].concat()).json()
    };
    let (preset, imported) = (run("mqsim-default"), run("ssdconfig.toml"));
    let mut found = BTreeSet::new();
    differing(&preset["device"], &imported["device"], "", &mut found);
    let expected = [
        "buffer.access_ns",
        "buffer.bytes",
        "buffer.high_percent",
        "buffer.low_percent",
        "buffer.ps_per_byte",
        "gc.policy",
        "gc.preemptible",
        "map.cache_bytes",
        "map.cached_entry_bytes",
        "map.entry_bytes",
        "map.fetch_bytes",
        "map.protected_percent",
        "map.share_fetches",
        "map.store",
        "wear.dynamic",
        "wear.static_gap",
    ];
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, expected);
    let page = repository_file("docs/MQSIM.md");
    let (_, section) = page.split_once("## Coming from MQSim").expect("the section is there");
    for key in expected {
        assert!(section.contains(&format!("`{key}")), "{key} is not explained");
    }
}

#[test]
fn every_scenario_runs_and_every_key_is_listed() {
    let folder = Folder::with("ssd.xml", with(&small_device(), "Enabled_Preconditioning", "true"));
    folder.write("in/work.xml", workload());
    let row = |row| format!("{} 0 {} 8 {}\n", row * 1_000_000, row * 1_000, row % 2);
    let rows = (0..10).map(row).collect::<Vec<String>>().concat();
    folder.write("in/traces/small.trace", rows);
    let said = folder.run(&["import", "mqsim", "in/work.xml", "ssd.xml", "-o", "made"]).text();
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    for name in names(&device()).into_iter().chain(names(&workload())) {
        assert!(said.contains(&format!("  {name} = ")), "{name} is not in {said}");
    }
    for heading in ["Taken as they are", "Changed", "Without effect in MQSim", "Not modelled"] {
        assert!(said.contains(heading), "{said}");
    }
    let run = |workload: &str| {
        let named = format!("made/{workload}.toml");
        assert!(said.contains(&format!("    flashyard run made/ssd.toml {named}\n")), "{said}");
        folder.run(&["run", "made/ssd.toml", &named, "--check", "--json"]).json()
    };
    let flows = run("work-1");
    assert_eq!(int(&flows, "workload.requests"), 500);
    assert_eq!(flows["device"]["state"]["initial"], "aged");
    assert_eq!(int(&flows, "device.state.fill_percent"), 60);
    assert_eq!(int(&flows, "device.interface.queue_depth"), 512);
    assert_eq!(int(&flows, "device.interface.fetch_depth"), 0);
    let requests = |stream: &str| int(&flows["streams"][stream], "latency_ns.all.count");
    assert_eq!((requests("flow-1"), requests("flow-2")), (300, 200));
    // The second flow shares one of two channels, so a quarter of the addresses is its own.
    let text = String::from_utf8(folder.read("made/work-1.toml")).unwrap();
    for line in [
        "range_percent = 37.5 # Working_Set_Percentage",
        "start_percent = 75 # Working_Set_Percentage",
        "range_percent = 25 # Working_Set_Percentage",
        // 16 MiB/s in requests of 16 KiB.
        "rate_per_s = 1024.000524 # Synthetic_Generator_Type",
        "hot_units_percent = 20 # Percentage_of_Hot_Region",
        "hot_accesses_percent = 80 # Percentage_of_Hot_Region",
        // 32 sectors with a deviation of 8: from 32 - 13 to 32 + 13.
        "size_kib = 9.5 # Average_Request_Size",
        "max_size_kib = 22.5 # Average_Request_Size",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let until = run("work-2");
    assert!(int(&until, "workload.requests") > 100);
    assert_eq!(int(&run("work-3"), "workload.requests"), 5);
}

#[test]
fn devices_that_differ_keep_what_mqsim_does_with_the_difference() {
    let folder = Folder::new();
    let made = |changes: &[(&str, &str)]| {
        let text = changes.iter().fold(device(), |text, (name, to)| with(&text, name, to));
        folder.write("d.xml", text);
        folder.run(&["import", "mqsim", "d.xml"]).text();
        String::from_utf8(folder.read("d.toml")).unwrap()
    };
    let text = made(&[("Flash_Technology", "TLC"), ("Page_Read_Latency_MSB", "90000")]);
    assert!(text.contains("read_3_us = 90 #") && !text.contains("read_2_us"), "{text}");
    assert!(text.contains("pages_per_block = 255 #"), "{text}");
    let text = made(&[("Channel_Transfer_Rate", "300"), ("Flash_Channel_Width", "2")]);
    assert!(text.contains("ps_per_byte = 1500 #"), "{text}");
    let text = made(&[("HostInterface_Type", "SATA"), ("IO_Queue_Depth", "32")]);
    assert!(text.contains("fetch_depth = 32 #") && text.contains("link_latency_ns = 400000 #"));
    let text = made(&[("Ideal_Mapping_Table", "true")]);
    assert!(text.contains("store = \"resident\" #") && !text.contains("cache_bytes"), "{text}");
    // Without cached writes there is no buffer.
    folder.write("w.xml", with(&workload(), "Device_Level_Data_Caching_Mode", "TURNED_OFF"));
    folder.write("d.xml", small_device());
    folder.run(&["import", "mqsim", "d.xml", "w.xml"]).text();
    let text = String::from_utf8(folder.read("d.toml")).unwrap();
    assert!(!text.contains("[buffer]"), "{text}");
}

/// The file of a workload that is imported beside this device, and what is said of its keys.
fn imported(device: &str, workload: &str) -> (String, String) {
    let folder = Folder::with("d.xml", device);
    folder.write("w.xml", workload);
    let said = folder.run(&["import", "mqsim", "d.xml", "w.xml"]).text();
    (String::from_utf8(folder.read("w-1.toml")).unwrap(), said)
}

/// A text without its line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The workload with its flows on all of these chips.
fn on(channels: &str, chips: &str) -> String {
    with(&with(&workload(), "Channel_IDs", channels), "Chip_IDs", chips)
}

#[track_caller]
fn has_ranges(text: &str, first: &str, second: (&str, &str)) {
    for line in [
        format!("range_percent = {first} # Working_Set_Percentage"),
        format!("start_percent = {} # Working_Set_Percentage", second.0),
        format!("range_percent = {} # Working_Set_Percentage", second.1),
    ] {
        assert!(text.contains(&line), "no {line} in {text}");
    }
}

#[test]
fn a_flow_has_the_addresses_of_its_own_planes() {
    // Two flows on one of eight channels have a sixteenth of the device each. The first uses half
    // of its part.
    let (text, said) = imported(&device(), &on("0", "0,1,2,3"));
    has_ranges(&text, "3.125", ("6.25", "6.25"));
    let said = words(&said);
    assert!(said.contains("Channel_IDs = 0 (2 more): the flow uses all planes"), "{said}");
}

#[test]
fn flows_of_sata_use_all_planes_and_one_map_cache() {
    let sata = with(&device(), "HostInterface_Type", "SATA");
    // The lists need not even fit the device.
    let (text, said) = imported(&sata, &on("9", "0"));
    has_ranges(&text, "25", ("50", "50"));
    let said = words(&said);
    let idle = said.split_once("Without effect in MQSim (w.xml").expect("it is there").1;
    assert!(idle.contains("Channel_IDs = 9 (3 more): with SATA a flow uses all planes"), "{said}");
    assert!(said.contains("CMT_Sharing_Mode = SHARED: with SATA all flows share one"), "{said}");
}

#[test]
fn the_deviation_of_sizes_is_the_nearest_that_aligned_sizes_have() {
    let text = with(&workload(), "Variance_Request_Size", "8");
    let (text, said) =
        imported(&small_device(), &with(&text, "Generated_Aligned_Addresses", "true"));
    // 16, 32 and 48 sectors; without the sizes beside the mean the deviation would be 0.
    assert!(text.contains("size_kib = 8 #") && text.contains("max_size_kib = 24 #"), "{text}");
    let expected =
        "deviation, which is 13.1 sectors here: sizes are 16 sectors apart, as addresses";
    assert!(words(&said).contains(expected), "{said}");
}

/// The file without an element, wherever it stands.
fn without(text: &str, name: &str) -> String {
    let has = |line: &&str| !line.contains(&format!("<{name}>"));
    text.lines().filter(has).collect::<Vec<_>>().join("\n")
}

#[test]
fn keys_that_a_file_lacks_have_the_values_of_mqsims_source() {
    let folder = Folder::new();
    let made = |text: &str| {
        folder.write("d.xml", text);
        let said = folder.run(&["import", "mqsim", "d.xml"]).text();
        (String::from_utf8(folder.read("d.toml")).unwrap(), said)
    };
    // What is written does not depend on whether the file says it, but for the comments.
    let keys = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" #").next().unwrap_or("").to_string()).collect()
    };
    for (name, value) in [
        ("CMT_Capacity", "2097152"),
        ("Data_Cache_Capacity", "536870912"),
        ("Ideal_Mapping_Table", "false"),
        ("Data_Cache_DRAM_Data_Rate", "800"),
        ("Preemptible_GC_Enabled", "true"),
        ("IO_Queue_Depth", "1024"),
        ("Enabled_Preconditioning", "true"),
        ("PCIe_Lane_Bandwidth", "0.4"),
    ] {
        let (said, _) = made(&with(&device(), name, value));
        let (absent, list) = made(&without(&device(), name));
        let sorted = |text: &str| keys(text).into_iter().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&absent), sorted(&said), "{name}");
        let listed = format!("Not in d.xml, and so as MQSim's source has them:\n       {name} = ");
        assert!(list.contains(&listed), "{list}");
    }
    // A file without any key is MQSim's device when it has no file, and runs.
    let (text, _) = made("<Execution_Parameter_Set/>");
    for line in [
        "store = \"cmt\" # Ideal_Mapping_Table by default",
        "cache_bytes = 2097152 # CMT_Capacity by default",
        "ps_per_byte = 78 # Data_Cache_DRAM_Data_Rate by default, Data_Cache_DRAM_Data_Busrt_Size",
        "link_ps_per_byte = 625 # PCIe_Lane_Bandwidth by default, PCIe_Lane_Count by default",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
}

/// What a refused import says; it writes nothing.
#[track_caller]
fn refused(text: &str, expected: &str) {
    let folder = Folder::with("x.xml", text);
    let Ran { status, stdout, stderr } = folder.run(&["import", "mqsim", "x.xml", "-o", "made"]);
    assert_eq!((status, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(stderr.contains(expected), "{expected}: {stderr}");
    assert_eq!(folder.files().len(), 1, "{:?}", folder.files().keys());
}

#[test]
fn wrong_files_are_refused_with_file_and_line() {
    let device = device();
    let set = |name, value| with(&device, name, value);
    let channels = "<Flash_Channel_Count>";
    refused(&device.replace("</Host_Parameter_Set>", ""), "x.xml:70: it is no well-formed");
    refused(
        &device.replace("Seed>", "Sead>"),
        "x.xml:11: Sead: MQSim has no such key in Device_Parameter_Set; did you mean Seed?",
    );
    refused(&set("Page_Capacity", "8k"), "x.xml:66: Page_Capacity: 8k: a whole number is needed");
    refused(&set("Flash_Technology", "QLX"), "it is none of SLC, MLC, TLC");
    refused(&set("Ideal_Mapping_Table", "no"), "no: true or false is needed");
    refused(&set("Seed", ""), "x.xml:11: Seed: it has no value");
    refused(&set("Page_Capacity", "8193"), "x.xml:66 Page_Capacity");
    refused(&set("Plane_No_Per_Die", "99"), "geometry.planes");
    let twice = device.replace(channels, &format!("<Seed>1</Seed>{channels}"));
    refused(&twice, "Seed: it stands on line 11 already");
    refused("<Other/>", "x.xml:1: <Other>: MQSim reads <Execution_Parameter_Set>");
    let nested = format!("{}{}", "<Other>".repeat(30_000), "</Other>".repeat(30_000));
    refused(&nested, "x.xml:1: Other: MQSim's elements are at most 4 deep; take it out");
    let flows = workload();
    let set = |name, value| with(&flows, name, value);
    refused(&set("Total_Requests_To_Generate", "0"), "there are no requests; set it or Stop_Time");
    refused(&set("Channel_IDs", "0,8"), "0,8: the device has 0 to 7");
    refused(&set("Bandwidth", "100"), "Bandwidth must be at least one request");
    refused("<MQSim_IO_Scenarios/>", "x.xml:1: there is no IO_Scenario in it");
    // Two mistakes are told at once.
    let two = with(&with(&flows, "Read_Percentage", "101"), "Relay_Count", "many");
    let folder = Folder::with("x.xml", two);
    let said = folder.run(&["import", "mqsim", "x.xml"]).stderr;
    assert!(said.contains("101: it is not in 0..100") && said.contains("Relay_Count: many"));
}

#[test]
fn a_file_of_mqsim_that_is_to_be_run_leads_to_the_command() {
    let folder = Folder::with("ssd.xml", device());
    folder.write("work.xml", workload());
    for (args, file) in [
        (&["run", "ssd.xml"][..], "ssd.xml"),
        (&["run", "ssd.xml", "work.xml"], "ssd.xml"),
        (&["run", "mqsim-default", "work.xml"], "work.xml"),
        (&["show", "ssd.xml"], "ssd.xml"),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        let command = format!("`flashyard import mqsim {file}`");
        assert!(ran.stderr.contains(&command), "{args:?}: {}", ran.stderr);
    }
}

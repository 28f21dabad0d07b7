//! Names that are no presets and no workloads, and what is meant by them.

use crate::error::wrong;
use crate::presets::{self, built_in_names};
use anyhow::Result;
use flashyard_sim::config::nearest;
use std::io::Read;

/// Words for devices, and the presets that they lead to.
const DEVICES: &[(&[&str], &str)] = &[
    (&["ssd", "nvme", "tlc", "client", "consumer", "m2", "970", "pcie", "modern"], "nvme-tlc"),
    (&["enterprise", "datacenter", "server", "data-center"], "nvme-enterprise"),
    (&["qlc"], "nvme-qlc"),
    (&["slc"], "drive-slc"),
    (&["mlc", "sata", "sata-ssd"], "sata-mlc"),
    (&["emmc", "mmc", "embedded"], "emmc-5.1"),
    (&["ufs", "phone", "mobile", "smartphone"], "ufs-3.1"),
    (&["disk", "hdd", "harddisk", "hard-disk"], "wd1600bekt"),
    (&["mqsim"], "mqsim-default"),
    (&["open-channel", "raw"], "framework"),
    (&["dftl", "fast", "bast", "last"], "ftl-study"),
    (&["small", "tiny"], "small-full"),
];

/// Words for workloads, and the built-in ones that they lead to.
const WORKLOADS: &[(&[&str], &str)] = &[
    (&["randread", "rand-read", "read", "reads"], "random-read"),
    (&["randwrite", "rand-write", "write", "writes"], "random-write"),
    (&["seqread", "seq-read"], "sequential-read"),
    (&["seqwrite", "seq-write"], "sequential-write"),
    (&["randrw", "rw", "mixed", "mix"], "mixed-70-30"),
    (&["database", "tpcc", "tpc-c"], "oltp"),
    (&["varmail", "mail", "filebench"], "varmail-ext2"),
    (&["raw"], "raw-1-256-128"),
];

/// A hint at what is meant by `name` among words and known names.
fn hint<'a>(
    name: &str,
    words: &[(&[&str], &'static str)],
    known: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let word = name.to_ascii_lowercase().replace('_', "-");
    let meant = words.iter().find(|(words, _)| words.contains(&word.as_str()));
    if let Some((_, meant)) = meant {
        return Some(format!("; did you mean {meant}?"));
    }
    let near = nearest(name, known);
    (!near.is_empty()).then_some(near)
}

/// Names of the presets.
fn presets() -> impl Iterator<Item = &'static str> {
    presets::DEVICES.iter().map(|(name, _)| *name)
}

/// That there is no device of this name, and what may be meant.
pub fn no_device(name: &str) -> String {
    let hint = hint(name, DEVICES, presets());
    let hint = hint.unwrap_or_else(|| "; `flashyard list devices` shows the presets".to_string());
    format!("{name}: no such device preset or file{hint}")
}

/// The same of a workload.
pub fn no_workload(name: &str) -> String {
    let hint = hint(name, WORKLOADS, built_in_names());
    let lists = "; `flashyard list workloads` shows the built-in ones";
    format!("{name}: no such workload or file{}", hint.unwrap_or_else(|| lists.to_string()))
}

/// The same of either.
pub fn no_device_or_workload(name: &str) -> String {
    let words: Vec<(&[&str], &str)> = DEVICES.iter().chain(WORKLOADS).copied().collect();
    let hint = hint(name, &words, presets().chain(built_in_names()));
    let lists = "; `flashyard list devices` and `flashyard list workloads` show the names";
    format!("{name}: no such device, workload or file{}", hint.unwrap_or_else(|| lists.to_string()))
}

/// The outermost elements of MQSim's files, each with its meaning.
const OF_MQSIM: [(&str, &str); 3] = [
    ("<Execution_Parameter_Set", "the configuration of a device of MQSim"),
    ("<MQSim_IO_Scenarios", "workloads of MQSim"),
    ("<MQSim_Results", "results of MQSim"),
];

/// Refuses a file of MQSim's, and says how to convert it.
pub fn refuse_mqsim(name: &str) -> Result<()> {
    let is_xml = std::path::Path::new(name).extension();
    if !is_xml.is_some_and(|extension| extension.eq_ignore_ascii_case("xml")) {
        return Ok(());
    }
    let mut start = Vec::new();
    let Ok(file) = std::fs::File::open(name) else { return Ok(()) };
    if file.take(65_536).read_to_end(&mut start).is_err() {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&start);
    let Some((element, what)) = OF_MQSIM.iter().find(|(element, _)| start.contains(element)) else {
        return Ok(());
    };
    if *element == "<MQSim_Results" {
        return Err(wrong(&format!("{name}: it has {what}; name a device, a workload or a trace")));
    }
    let how = format!("`flashyard import mqsim {name}` makes a file of it that can be run");
    Err(wrong(&format!("{name}: it has {what}; {how} (docs/MQSIM.md)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_names_that_exist_and_are_no_names_themselves() {
        let devices: Vec<&str> = presets().collect();
        let workloads: Vec<&str> = built_in_names().collect();
        for (words, meant, known) in DEVICES
            .iter()
            .map(|(words, meant)| (words, meant, &devices))
            .chain(WORKLOADS.iter().map(|(words, meant)| (words, meant, &workloads)))
        {
            assert!(known.contains(meant), "{meant}");
            for word in *words {
                assert!(!known.contains(word), "{word} is a name");
            }
        }
        assert_eq!(no_device("TLC"), "TLC: no such device preset or file; did you mean nvme-tlc?");
        assert!(no_workload("randread").ends_with("; did you mean random-read?"));
        assert!(no_device_or_workload("zzzz").contains("list workloads` show the names"));
    }
}

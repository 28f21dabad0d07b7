//! What words of the field that no key knows mean here.

/// Keys, and words that others use for their values with the value or setting that is meant.
const MEANINGS: &[(&str, &[(&str, &str)])] = &[
    (
        "policy.command",
        &[
            ("read_first", "rcf"),
            ("reads_first", "rcf"),
            ("read_priority", "rcf"),
            ("noop", "fifo"),
            ("none", "fifo"),
            ("fcfs", "fifo"),
            ("in_order", "fifo"),
            ("sjf", "size"),
            ("shortest_first", "size"),
            ("smallest_first", "size"),
            ("edf", "deadline"),
            ("mq_deadline", "deadline"),
        ],
    ),
    (
        "host.policy",
        &[
            ("noop", "fifo"),
            ("none", "fifo"),
            ("fcfs", "fifo"),
            ("in_order", "fifo"),
            ("cache_aware", "cache-read-aware"),
            ("read_aware", "cache-read-aware"),
        ],
    ),
    (
        "gc.policy",
        &[
            ("cb", "cost_benefit"),
            ("cat", "cost_benefit"),
            ("cagc", "cost_benefit"),
            ("rosenblum", "cost_benefit"),
            ("lru", "fifo"),
            ("fcfs", "fifo"),
            ("oldest", "fifo"),
            ("round_robin", "fifo"),
            ("min_valid", "greedy"),
            ("max_invalid", "greedy"),
            ("least_valid", "greedy"),
            ("randomized_greedy", "rga"),
            ("windowed_greedy", "window"),
        ],
    ),
    ("gc.timing", &[("idle", "background"), ("foreground", "on_demand"), ("lazy", "on_demand")]),
    ("gc.start", &[("lazy", "needed"), ("on_demand", "needed"), ("eager", "early")]),
    (
        "map.store",
        &[
            ("dftl", "cmt"),
            ("demand", "cmt"),
            ("cached", "cmt"),
            ("sram", "cmt"),
            ("dram", "resident"),
            ("full", "resident"),
            ("all", "resident"),
            ("ideal", "resident"),
        ],
    ),
    (
        "ftl.scheme",
        &[
            ("dftl", "page with map.store = cmt"),
            ("page_level", "page"),
            ("block_level", "block"),
            ("hybrid", "bast, fast or last"),
            ("raw", "none"),
            ("physical", "none"),
            ("open_channel", "none"),
        ],
    ),
    (
        "buffer.eviction",
        &[
            ("lru", "buffer.replacement = lru"),
            ("fifo", "buffer.replacement = fifo"),
            ("clock", "buffer.replacement = clock"),
            ("write_through", "at_once"),
            ("lazy", "full"),
            ("on_demand", "full"),
        ],
    ),
    ("buffer.replacement", &[("second_chance", "clock"), ("fcfs", "fifo")]),
    (
        "state.initial",
        &[
            ("empty", "fresh"),
            ("new", "fresh"),
            ("clean", "fresh"),
            ("erased", "fresh"),
            ("filled", "full"),
            ("sequential", "full"),
            ("used", "aged"),
            ("dirty", "aged"),
            ("preconditioned", "steady"),
        ],
    ),
    ("trace.fold", &[("wrap", "modulo"), ("reflect", "mirror"), ("remap", "renumber")]),
    ("trace.time_order", &[("ignore", "sort"), ("strict", "error")]),
];

/// What is meant by `word` as the value of the key at `path`. Case and the choice of `-` or `_` do
/// not count.
pub(super) fn of(path: &str, word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    let (_, words) = MEANINGS.iter().find(|(key, _)| *key == path)?;
    words.iter().find(|(said, _)| *said == word).map(|&(_, meant)| meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, Sections, apply_setting};
    use flashyard_core::key::Kind;

    fn words<'a>(device: &'a DeviceKeys, path: &str) -> Option<Vec<&'a str>> {
        let (section, name) = path.rsplit_once('.')?;
        let (_, keys, _) = device.sections().into_iter().find(|(known, ..)| known == section)?;
        match keys.find(name)?.kind {
            Kind::Choice(words) => Some(words.iter().collect()),
            _ => None,
        }
    }

    #[test]
    fn every_meaning_is_a_value_and_no_value_has_another_meaning() {
        let device = DeviceKeys::default();
        for (path, meanings) in MEANINGS.iter().filter(|(path, _)| !path.starts_with("trace.")) {
            let words = words(&device, path).unwrap_or_else(|| panic!("{path} is a key of words"));
            for (said, meant) in *meanings {
                assert!(!words.contains(said), "{path}: {said} is a value");
                let names = |text: &str| words.iter().any(|word| text.contains(word));
                let setting = meant.split_once(" = ").is_some_and(|(path, word)| {
                    self::words(&device, path).is_some_and(|words| words.contains(&word))
                });
                assert!(setting || names(meant), "{path}: {said} leads to {meant}");
            }
        }
    }

    #[test]
    fn words_lead_to_what_they_mean_and_others_to_what_is_spelt_alike() {
        let check = |setting: &str, hint: &str| {
            let mut problems = Vec::new();
            apply_setting("--set", setting, &mut DeviceKeys::default(), &mut problems);
            let found = problems[0].to_string();
            assert!(found.ends_with(hint), "{found}");
            assert_eq!(found.matches("did you mean").count(), 1, "{found}");
        };
        check("policy.command=read_first", "; did you mean rcf?");
        check("policy.command=MQ-deadline", "; did you mean deadline?");
        check("policy.command=\"noop\"", "; did you mean fifo?");
        check("policy.command=deadlin", "; did you mean deadline?");
        check("buffer.eviction=lru", "; did you mean buffer.replacement = lru?");
        check("ftl.scheme=dftl", "; did you mean page with map.store = cmt?");
    }
}

//! The study on a small device with short workloads.

use super::claims::{self, Verdict, lengthened};
use super::object::object;
use super::study::{Base, Study};
use super::{FILE, Results, simulate_all};
use crate::args::{self, ReproduceArgs};
use flashyard_core::policy::{CommandPolicy, CommandView, Placement};
use flashyard_core::units::Time;
use flashyard_sim::own::{OwnParts, Parts};
use serde_json::Value;

/// Documentation of the JSON.
const DOCS: &str = include_str!("../../../../../docs/JSON.md");

fn args(set: &[&str]) -> ReproduceArgs {
    ReproduceArgs {
        study: args::Study::Energy,
        traces: None,
        device: None,
        set: set.iter().map(ToString::to_string).collect(),
        requests: None,
        twins: None,
        check: true,
        json: true,
    }
}

/// A tenth of the device, five cases of 40 requests, three windows.
fn small(args: &ReproduceArgs) -> (Results, Base) {
    let mut study = Study::parse(FILE).unwrap();
    study.requests = Some(40);
    let names = ["olapc-f50", "oltpc-fresh", "oltp", "oltpc", "olap"];
    study.case.retain(|case| names.contains(&case.name.as_str()));
    study.window.share_percent = vec![0.0, 1.0, 100.0];
    let base = study.device(args, OwnParts::default()).unwrap();
    (simulate_all(study, &base, args).unwrap(), base)
}

const SMALL: &str = "geometry.blocks_per_plane=860";

fn number(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or_else(|| panic!("{name} is no count in {object}"))
}

/// Every field is documented; the parts of each run add up to its energy.
#[test]
fn the_study_as_json_has_its_fields_and_energies_that_add_up() {
    let set = [SMALL, "energy.standby_mw=1", "energy.controller_idle_mw=2", "energy.search_pj=3"];
    let args = args(&set);
    let (results, base) = small(&args);
    let claims = claims::judge(&results);
    let study = object(&results, &claims, &args, &base.name);
    let runs = study["energy"].as_array().unwrap();
    assert_eq!(runs.len(), 6 + 4 + 4 + 6 + 4);
    let mut fields: Vec<&String> = study.as_object().unwrap().keys().collect();
    for list in ["energy", "window", "tables", "published", "errata"] {
        fields.extend(study[list][0].as_object().unwrap().keys());
    }
    for (run, row) in runs.iter().zip(&results.rows) {
        let energy = run["energy_pj"].as_object().unwrap();
        fields.extend(energy.keys());
        let parts = energy.iter().filter(|(name, _)| !["total", "post"].contains(&name.as_str()));
        let parts: u64 = parts.map(|(_, part)| part.as_u64().unwrap()).sum();
        assert_eq!(parts, number(&run["energy_pj"], "total"), "{run}");
        let taken = &row.report.energy_pj.by_resource;
        let other: u64 = ["standby", "controller", "search"].map(|name| taken[name]).iter().sum();
        assert!(taken["standby"] > 0 && taken["controller"] > 0);
        assert_eq!(number(&run["energy_pj"], "other"), other, "{run}");
        assert!(number(&run["energy_pj"], "post") <= parts);
    }
    for field in fields {
        assert!(DOCS.contains(&format!("`{field}`")), "docs/JSON.md does not name {field}");
    }
    assert_eq!(study["window"].as_array().unwrap().len(), 3);
    // Twelve statements, two of them once for each of three layers.
    let published = study["published"].as_array().unwrap();
    assert_eq!(published.len(), 10 + 2 * 3);
    let verdict = |statement: &str| {
        let found =
            published.iter().find(|claim| claim["statement"].as_str().unwrap().contains(statement));
        found.unwrap()["holds"].as_str().unwrap()
    };
    assert_eq!(verdict("do not require merge"), "by definition");
    assert_eq!(verdict("768 KB"), "by definition");
    assert_eq!(verdict("one hundred times"), "no");
}

/// Energies made up, in the order page, DFTL, FAST, of every OLTP case of a fresh device.
#[test]
fn the_order_of_layers_is_judged_by_their_energies() {
    let (mut results, _) = small(&args(&[SMALL]));
    let mut judge = |totals: [u64; 3]| {
        for row in results.rows.iter_mut().filter(|row| row.case == "oltpc-fresh") {
            let place = ["page", "dftl", "fast"].iter().position(|ftl| *ftl == row.ftl);
            let Some(place) = place else { continue };
            // More than all operations take.
            row.report.energy_pj.total = totals[place] * 1_000_000_000_000_000;
        }
        claims::order(&results, "fresh")
    };
    let (found, verdict) = judge([10, 14, 22]);
    assert_eq!(verdict, Verdict::Yes);
    assert!(
        found.starts_with("oltpc-fresh 1 : 1.40 : 2.20; not judged: olapc-f50 1 : "),
        "{found}"
    );
    for wrong in [[10, 9, 22], [10, 15, 40], [10, 14, 21]] {
        assert_eq!(judge(wrong).1, Verdict::No, "{wrong:?}");
    }
}

/// A response counts as longer than the least one of the narrower windows.
#[test]
fn a_step_that_lengthens_the_response_is_found() {
    assert_eq!(lengthened(&[1.0, 0.7, 0.709, 0.6]), [0; 0]);
    assert_eq!(lengthened(&[1.0, 0.7, 0.6, 0.605, 0.62, 0.5]), [4]);
    assert_eq!(lengthened(&[0.5, 0.3, 0.4, 1.0]), [2, 3]);
}

/// One of the traces is there: it runs, the others are named.
#[test]
fn traces_that_are_missing_are_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let study = Study::parse(FILE).unwrap();
    let base = study.device(&args(&[SMALL]), OwnParts::default()).unwrap();
    assert!(study.load(&base, folder.path()).is_err());
    let trace = "0 0 0 8 0\n1000000 0 64 8 1\n";
    std::fs::write(folder.path().join("ssdsim_example_fin1_10k.ascii"), trace).unwrap();
    let (read, missing) = study.load(&base, folder.path()).unwrap();
    assert_eq!((read.len(), read[0].0.requests.len(), missing.len()), (1, 2, 8));
    assert!(missing.contains(&"log121_Movie.txt".to_string()));
}

flashyard_core::keys! {
    /// First in, first out; no keys.
    struct Turn {}
}

impl CommandPolicy for Turn {
    fn queue_names(&self) -> &'static [&'static str] {
        &["ALL"]
    }
    fn place(&self, _: &CommandView, _: Time) -> Placement {
        Placement { queue: 0, key: 0, deadline: None }
    }
}

/// A device file that names a policy of the user's own: workloads are made for it too.
#[test]
fn workloads_are_made_for_devices_with_own_parts() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("own.toml");
    let text = include_str!("../../../../../devices/ftl-study.toml");
    let own = text.replace("command = \"fifo\"", "command = \"turn\"");
    assert_ne!(own, text);
    std::fs::write(&file, own).unwrap();
    std::fs::write(folder.path().join("log121_Movie.txt"), "0 0 0 8 0\n").unwrap();
    let mut study = Study::parse(FILE).unwrap();
    study.requests = Some(40);
    let args = ReproduceArgs { device: Some(file.display().to_string()), ..args(&[SMALL]) };
    let parts = Parts::new().command_policy("turn", "In turn.", |keys: Turn| keys).keep();
    let base = study.device(&args, parts).unwrap();
    assert_eq!(study.generate(&base, &study.case[0]).unwrap().requests.len(), 40);
    assert_eq!(study.load(&base, folder.path()).unwrap().0.len(), 1);
}

//! `flashyard trace fit`, the workload files that it writes, and the ones that are shipped.

use crate::schema::Schema;
use crate::support::{Folder, TRACE};
use serde_json::Value;
use std::path::PathBuf;

/// The policies, in the order of the columns below.
const POLICIES: [&str; 5] = ["rcf", "size", "rrf", "fot", "drs"];

/// Mean read latency over that of RCF, of the recorded Nexus 5 traces on the device `drs`: made by
/// a reference program written from the paper (Lee et al., IEEE Access 2021); `flashyard reproduce
/// drs --traces DIR` shows the same.
const TRACES: [(&str, [f64; 5]); 8] = [
    ("movie", [1.000, 0.856, 1.011, 0.854, 0.821]),
    ("youtube", [1.000, 0.776, 0.999, 0.790, 0.773]),
    ("booting", [1.000, 0.906, 0.958, 0.975, 0.887]),
    ("facebook", [1.000, 0.914, 0.873, 0.780, 0.709]),
    ("angrybird", [1.000, 0.909, 0.925, 0.874, 0.859]),
    ("radio", [1.000, 1.064, 0.902, 0.746, 0.744]),
    ("radiomsg", [1.000, 0.847, 0.979, 0.826, 0.820]),
    ("radiowb", [1.000, 0.561, 0.681, 0.486, 0.448]),
];

/// Pairs that the twins rank the other way round: workload, the policy that is faster on the trace,
/// and the one that is faster on the twins.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("booting", "fot", "rcf"),
    ("facebook", "rrf", "size"),
    ("radiowb", "size", "rcf"),
    ("radiowb", "size", "rrf"),
];

/// Pairs that differ on the trace (the first one is faster) and are ties on the twins.
const TIED: &[(&str, &str, &str)] = &[
    ("booting", "rrf", "rcf"),
    ("booting", "drs", "size"),
    ("facebook", "rrf", "rcf"),
    ("angrybird", "size", "rcf"),
];

/// Latencies closer than this are a tie, which agrees with either order.
const TIE: f64 = 0.02;

fn shipped(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("workloads/nexus5");
    root.join(format!("{name}.toml")).to_string_lossy().into_owned()
}

/// Medians over three twins of the mean read latency of each policy over RCF's.
fn ratios(folder: &Folder, name: &str) -> Vec<f64> {
    let file = shipped(name);
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); POLICIES.len()];
    for seed in ["1", "2", "3"] {
        let vary = format!("policy.command={}", POLICIES.join(","));
        let runs = folder
            .run(&["compare", "drs", &file, "--vary", &vary, "--seed", seed, "--json"])
            .json();
        let mean = |run: &Value| run["latency_ns"]["read"]["mean"].as_f64().unwrap();
        let means: Vec<f64> = runs.as_array().unwrap().iter().map(mean).collect();
        all.iter_mut().zip(&means).for_each(|(all, found)| all.push(found / means[0]));
    }
    for ratios in &mut all {
        ratios.sort_by(f64::total_cmp);
    }
    all.iter().map(|ratios| ratios[1]).collect()
}

#[test]
fn twins_rank_the_policies_as_their_traces_do() {
    let folder = Folder::new();
    let (mut found, mut tied) = (Vec::new(), Vec::new());
    for (name, trace) in TRACES {
        let twins = ratios(&folder, name);
        for (a, faster_there) in POLICIES.into_iter().enumerate() {
            for (b, faster_here) in POLICIES.into_iter().enumerate() {
                let faster = |of: &[f64], a: usize, b: usize| of[a] * (1.0 + TIE) <= of[b];
                if faster(&trace, a, b) && faster(&twins, b, a) {
                    found.push((name, faster_there, faster_here));
                } else if faster(&trace, a, b) && !faster(&twins, a, b) {
                    tied.push((name, faster_there, faster_here));
                }
            }
        }
        let lowest = twins.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(twins[4] < lowest * (1.0 + TIE), "{name}: drs is not among the fastest: {twins:?}");
        // What docs/WORKLOADS.md says.
        assert!((twins[4] - trace[4]).abs() < 0.08, "{name}: drs {} and {}", trace[4], twins[4]);
    }
    assert_eq!(found, EXCEPTIONS);
    // Twins on which all policies are alike would have no exceptions.
    assert_eq!(tied, TIED);
}

#[test]
fn shipped_twins_have_the_published_figures_of_their_traces() {
    // Zhou et al., IISWC 2015: requests of the files; writes in percent.
    let published = [
        ("movie", 4_781, 5.40),
        ("youtube", 2_080, 97.50),
        ("booting", 18_417, 33.07),
        ("facebook", 3_897, 74.42),
        ("angrybird", 3_215, 84.51),
        ("radio", 5_820, 98.68),
        ("radiomsg", 11_101, 98.15),
        ("radiowb", 11_997, 72.02),
    ];
    let folder = Folder::new();
    for (name, requests, writes) in published {
        let info = folder.run(&["trace", "info", &shipped(name), "--json"]).json();
        assert_eq!(info["requests"], requests, "{name}");
        let found = info["write_percent"].as_f64().unwrap();
        assert!((found - writes).abs() < 0.02, "{name}: {found}");
        let bytes = std::fs::metadata(shipped(name)).unwrap().len();
        assert!(bytes < 40_000, "{name}: {bytes} bytes");
    }
}

#[test]
fn a_fitted_file_can_be_run_and_fitted_again() {
    let folder = Folder::with("t.txt", TRACE);
    let args = ["trace", "fit", "t.txt", "-o", "twin.toml", "--json"];
    let fit = folder.run(&args).json();
    assert_eq!(fit["bytes"], folder.read("twin.toml").len());
    let figure = |name: &str| {
        let figures = fit["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["name"] == name).unwrap().clone()
    };
    let reads = figure("reads");
    assert_eq!((&reads["trace"], &reads["twin"]), (&3.0.into(), &3.0.into()));
    assert_eq!(reads["difference"], 0.0);
    let run = folder.run(&["run", "twin.toml", "--json"]).json();
    assert_eq!((&run["workload"]["reads"], &run["workload"]["writes"]), (&3.into(), &2.into()));
    assert_eq!(run["workload"]["last_ns"], 9_000_000);
    // The same trace and version write the same bytes.
    let before = folder.read("twin.toml");
    folder.run(&args).json();
    assert_eq!(folder.read("twin.toml"), before);
    let table = folder.run(&["trace", "fit", "twin.toml", "-o", "second.toml"]).text();
    assert!(table.contains("difference"), "{table}");
}

#[test]
fn twins_of_one_request_and_of_flushes_alone_can_be_run() {
    let folder = Folder::with("one.ascii", "7 0 64 8 1\n");
    folder.write("mixed.toml", "[pattern]\nrequests = 20\nread_percent = 0\nflush_every = 1\n");
    folder.run(&["trace", "convert", "mixed.toml", "mixed.fyt"]).text();
    folder.write("flushes.toml", "[trace]\npath = \"mixed.fyt\"\nkeep_ops = \"flushes\"\n");
    for (of, name, count) in [("one.ascii", "reads", 1), ("flushes.toml", "flushes", 10)] {
        folder.run(&["trace", "fit", of, "-o", "twin.toml"]).text();
        let info = folder.run(&["trace", "info", "twin.toml", "--json"]).json();
        assert_eq!((&info["requests"], &info[name]), (&count.into(), &count.into()), "{of}");
    }
}

#[test]
fn a_profile_can_be_one_of_several_streams_and_be_changed() {
    let folder = Folder::with("t.txt", TRACE);
    folder.run(&["trace", "fit", "t.txt", "-o", "twin.toml"]).text();
    folder.write("long.toml", "[profile]\npath = \"twin.toml\"\nrequests = 50\n");
    let run = folder.run(&["run", "long.toml", "--json"]).json();
    assert_eq!(run["workload"]["requests"], 50);
    folder.write(
        "two.toml",
        "[[stream]]\nname = \"a\"\n[stream.profile]\npath = \"twin.toml\"\n\
         [[stream]]\nname = \"b\"\n[stream.pattern]\nrequests = 3\n",
    );
    let run = folder.run(&["run", "two.toml", "--json"]).json();
    assert_eq!(run["workload"]["requests"], 8);
}

#[test]
fn wrong_profiles_and_wrong_fits_are_refused() {
    let folder = Folder::with("t.txt", TRACE);
    folder.run(&["trace", "fit", "t.txt", "-o", "twin.toml"]).text();
    let good = String::from_utf8(folder.read("twin.toml")).unwrap();
    let refused = |args: &[&str], expected: &str| {
        let ran = folder.run(args);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    };
    folder.write("bad.toml", good.replace("version = 1", "version = 7"));
    refused(&["run", "bad.toml"], "bad.toml: profile.fitted: version: 7, but this program knows 1");
    let line = good.lines().position(|line| line.starts_with("first = ")).unwrap() + 1;
    folder.write("bad.toml", good.replace("first = ", "first = -"));
    refused(&["run", "bad.toml"], &format!("bad.toml:{line}: profile.fitted: "));
    folder.write("bad.toml", good.replace("first = ", "frist = 0\nfirst = "));
    refused(&["run", "bad.toml"], "unknown field `frist`");
    folder.write("bad.toml", "[profile]\nrequests = 5\n");
    refused(&["run", "bad.toml"], "[profile]: it needs path = \"FILE\"");
    folder.write("bad.toml", "[profile]\npath = \"none.toml\"\n");
    refused(&["run", "bad.toml"], "none.toml: cannot be read");
    folder.write("bad.toml", format!("{good}\n[generator]\n"));
    refused(&["run", "bad.toml"], "exclude each other");
    refused(&["trace", "fit", "t.txt", "-o", "twin.txt"], "--out twin.txt: a workload file's name");
    refused(&["trace", "fit", "twin.toml", "-o", "twin.toml"], "twin.toml: it is read, too");
    // Addresses that no profile can hold: nothing is written.
    let far = format!("0 0 {} 8 0\n1000 0 8 8 1\n", 1_u64 << 60);
    folder.write("far.ascii", far);
    let far = ["trace", "fit", "far.ascii", "-o", "e.toml"];
    refused(&far, "far.ascii: addresses up to sector 1152921504606849024 cannot be fitted");
    assert!(!folder.path("e.toml").exists());
    folder.write("empty.txt", "");
    let ran = folder.run(&["trace", "fit", "empty.txt", "-o", "e.toml"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(!folder.path("e.toml").exists());
    assert_eq!(folder.read("twin.toml"), good.as_bytes());
}

#[test]
fn reproduce_sets_twins_beside_their_workloads() {
    let folder = Folder::new();
    let args = ["reproduce", "drs", "--twins", "1", "--json"];
    let found = folder.run(&args).json();
    let rows = found["read_mean_over_first"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert_eq!((&row["trace"]["rcf"], &row["twins"]["rcf"]), (&1.0.into(), &1.0.into()));
    }
    let ran = folder.run(&["reproduce", "drs", "--twins", "0"]);
    assert_eq!(ran.status, Some(2), "{ran:?}");
}

#[test]
fn fits_and_twins_print_what_their_schemas_say() {
    let folder = Folder::with("t.txt", TRACE);
    for (name, args) in [
        ("trace-fit", &["trace", "fit", "t.txt", "-o", "twin.toml", "--json"][..]),
        ("twins", &["reproduce", "drs", "--twins", "1", "--json"]),
    ] {
        let (schema, mut found) = (Schema::of(name), folder.run(args).json());
        schema.check(name, &found);
        found["seed of the day"] = 1.into();
        assert!(!schema.allows(&found), "{name}");
    }
}

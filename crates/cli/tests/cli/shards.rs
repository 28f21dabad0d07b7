//! `flashyard sweep --shard`: shards that run side by side give the table of one unbroken run, byte
//! for byte, whatever was killed meanwhile; what a shard has to do depends on no other run; the
//! script for Slurm does what it says.

use crate::support::{Folder, finish};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Twelve runs of some tens of milliseconds each.
const GRID: &str = "device = \"small-full\"\nworkload = \"random-write\"\n\
    set = [\"pattern.requests=8000\", \"stream.depth=4\"]\n\
    vary = [\"ftl.over_provisioning_percent=20..40:10\", \"gc.policy=greedy | gc.policy=fifo\"]\n\
    seeds = 2\n";

const FILES: [&str; 3] = ["s.parquet", "s.csv", "r.csv"];
const TABLES: [&str; 6] = ["sweep", "s.toml", "--csv", "s.csv", "--runs", "r.csv"];

/// One process runs all.
fn unbroken(text: &str) -> (Folder, String) {
    let folder = Folder::with("s.toml", text);
    let printed = folder.run(&TABLES).text();
    (folder, printed)
}

/// The table from the journals in `runs` is that of one process; so many of the runs were there.
#[track_caller]
fn is_the_unbroken_one(folder: &Folder, whole: &(Folder, String), known: usize, of: usize) {
    let ran = folder.run(&[&TABLES[..], &["--journal", "runs"]].concat());
    let first = format!("{known} of {of} runs were done before\n");
    assert!(ran.stderr.starts_with(&first), "{first}: {ran:?}");
    assert_eq!(ran.text(), whole.1);
    for name in FILES {
        assert!(folder.read(name) == whole.0.read(name), "{name}");
    }
}

fn start(folder: &Folder, shard: &str) -> Child {
    let mut command = folder.command(&["sweep", "s.toml", "--journal", "runs", "--shard", shard]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("RAYON_NUM_THREADS", "1").spawn().expect("the command starts")
}

/// Lines of a journal behind its first one that were written to their ends.
fn finished(folder: &Folder, name: &str) -> usize {
    let text = std::fs::read(folder.path(&format!("runs/{name}.journal"))).unwrap_or_default();
    text.split(|byte| *byte == b'\n').count().saturating_sub(2)
}

#[test]
fn shards_at_once_give_the_bytes_of_one_unbroken_run() {
    let whole = unbroken(GRID);
    let folder = Folder::with("s.toml", GRID);
    let shards = ["1/3", "2/3", "3/3"].map(|shard| start(&folder, shard));
    for mut shard in shards {
        assert!(shard.wait().unwrap().success());
    }
    let counts = [1, 2, 3].map(|shard| finished(&folder, &format!("s.{shard}-of-3")));
    assert_eq!(counts.iter().sum::<usize>(), 12, "each run is in one shard: {counts:?}");
    assert!(!folder.path("s.parquet").exists(), "a shard writes no table");
    is_the_unbroken_one(&folder, &whole, 12, 12);
    assert!(!folder.path("runs/s.journal").exists(), "nothing was missing");
}

/// What is missing is run with the table, and kept beside the shards.
#[test]
fn a_table_runs_what_no_shard_has() {
    let whole = unbroken(GRID);
    let folder = Folder::with("s.toml", GRID);
    // The program is in the names of runs, so a shard may have none of so few.
    let run = |shard: &str| {
        let said = folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", shard]).text();
        let known = finished(&folder, &format!("s.{}", shard.replace('/', "-of-")));
        let done = format!("shard {shard} of s.toml: {known} runs are done and kept in runs\n");
        assert_eq!(said, done);
        known
    };
    let known = ["1/3", "2/3", "3/3"].into_iter().map(run).find(|known| *known > 0);
    let known = known.expect("a shard has runs");
    is_the_unbroken_one(&folder, &whole, known, 12);
    assert_eq!(finished(&folder, "s"), 12 - known);
    // Another number of shards moves runs to other shards, and does none again.
    let again = folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", "1/1"]);
    assert!(again.stderr.starts_with("12 of 12 runs were done"), "{again:?}");
    assert_eq!(finished(&folder, "s.1-of-1"), 0);
}

/// A folder with a shard that was killed when so many of its runs were finished; `None` if it came
/// to its end before the signal.
fn killed(shard: &str, name: &str, wanted: usize) -> Option<Folder> {
    let folder = Folder::with("s.toml", GRID);
    let mut child = start(&folder, shard);
    let since = Instant::now();
    while finished(&folder, name) < wanted && child.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < Duration::from_secs(300), "it does not get on");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    (!child.wait().unwrap().success()).then_some(folder)
}

#[test]
fn a_shard_that_is_killed_goes_on_where_it_was() {
    let whole = unbroken(GRID);
    // A busy machine may hold the signal back until the shard is done, and a shard may have no more
    // runs than that: then another one is tried.
    let mut tries = [("1", "2"), ("2", "1")].into_iter().cycle().take(20);
    let found = tries.find_map(|(shard, other)| {
        let name = format!("s.{shard}-of-2");
        let folder = killed(&format!("{shard}/2"), &name, 2)?;
        goes_on(&folder, shard, &name).then_some((folder, other))
    });
    let (folder, rest) = found.expect("it is killed before its end");
    let rest = format!("{rest}/2");
    folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", &rest]).text();
    is_the_unbroken_one(&folder, &whole, 12, 12);
}

/// Starts a shard again that was killed; returns whether any run of it was left.
fn goes_on(folder: &Folder, shard: &str, name: &str) -> bool {
    let journal = format!("runs/{name}.journal");
    // A line that was not written to its end, in the journal of a shard that is not started again,
    // and in that of the one that is.
    let mut other = folder.read(&journal);
    let before = finished(folder, name);
    other.extend(b"0123456789abcdef {\"run\":\"12");
    folder.write(&journal, &other);
    folder.write("runs/lost.journal", &other[..other.len() - 40]);
    let shard = format!("{shard}/2");
    let ran = folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", &shard]);
    assert!(ran.stderr.starts_with(&format!("{before} of ")), "{ran:?}");
    let of = finished(folder, name);
    assert!(ran.stdout.contains(&format!(": {of} runs are done")), "{ran:?}");
    of > before
}

/// A shard of an edited file has the same of the runs that the file still has.
#[test]
fn an_edited_file_moves_no_run_to_another_shard() {
    let folder = Folder::with("s.toml", GRID);
    for shard in ["1/3", "2/3", "3/3"] {
        folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", shard]).text();
    }
    // Before, between and behind the points that there were, and with another order of axes.
    let edited = "vary = [\"gc.policy=fifo | gc.policy=greedy\", \
                  \"ftl.over_provisioning_percent=15,20..40:5,50\"]\nseeds = 3\n";
    let first = GRID.split("vary").next().unwrap();
    folder.write("s.toml", format!("{first}{edited}"));
    for shard in [1, 2, 3] {
        let known = finished(&folder, &format!("s.{shard}-of-3"));
        let shard = format!("{shard}/3");
        let args = ["sweep", "s.toml", "--journal", "runs", "--shard", &shard, "--dry-run"];
        let listed = folder.run(&args).text();
        let last = listed.lines().last().unwrap();
        assert!(last.contains(&format!(" {known} of ")), "{listed}");
        assert!(last.ends_with(&format!(" runs of shard {shard} done")), "{listed}");
        folder.run(&args[..6]).text();
        assert!(finished(&folder, &format!("s.{}-of-3", &shard[..1])) > known);
    }
    is_the_unbroken_one(&folder, &unbroken(&format!("{first}{edited}")), 42, 42);
}

#[test]
fn a_task_of_an_array_does_its_shard() {
    let folder = Folder::with("s.toml", GRID);
    let auto = |variables: &[(&str, &str)]| {
        let args = ["sweep", "s.toml", "--journal", "runs", "--shard", "auto"];
        let mut command = folder.command(&args);
        for name in ["SLURM_ARRAY_TASK_ID", "SGE_TASK_ID", "PBS_ARRAY_INDEX", "LSB_JOBINDEX"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).stdin(Stdio::null());
        finish(&mut command, None)
    };
    let task = ("SLURM_ARRAY_TASK_ID", "6");
    let all = [task, ("SLURM_ARRAY_TASK_MIN", "5"), ("SLURM_ARRAY_TASK_COUNT", "3")];
    assert!(auto(&all).text().starts_with("shard 2/3 of s.toml: "));
    for (variables, message) in [
        (&all[..2], "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not"),
        (&[][..], "error: --shard auto: this is no task of a job array: none of SLURM_ARRAY_TASK"),
        (&[("PBS_ARRAY_INDEX", "3")][..], "name them: --shard \"$PBS_ARRAY_INDEX/N\""),
    ] {
        let ran = auto(variables);
        assert!(ran.status == Some(2) && ran.stderr.contains(message), "{message}: {ran:?}");
    }
}

/// A point that fails is the failure of its shard, and of the table.
#[test]
fn failures_are_named_by_their_shard_and_by_the_table() {
    let folder = Folder::with("bad.txt", "0 0 0 8 1\n9 0 0 8 1\n1 0 0 8 1\n");
    folder.write("good.txt", "0 0 0 8 1\n9 0 0 8 1\n");
    folder.write("s.toml", "device = \"small-full\"\nvary = [\"workload=good.txt,bad.txt\"]\n");
    let shards = ["1/2", "2/2"]
        .map(|shard| folder.run(&["sweep", "s.toml", "--journal", "runs", "--shard", shard]));
    let failed: Vec<_> = shards.iter().filter(|ran| ran.status == Some(1)).collect();
    assert_eq!(failed.len(), 1, "{shards:?}");
    let said = "point 2: workload=bad.txt: bad.txt:3: time steps back";
    assert!(failed[0].stderr.contains(said), "{failed:?}");
    let table = folder.run(&["sweep", "s.toml", "--journal", "runs"]);
    assert_eq!(table.status, Some(1));
    assert!(table.stderr.ends_with("error: 1 of 2 points failed\n"), "{table:?}");
}

#[test]
fn wrong_shards_are_refused_before_anything_runs() {
    let folder = Folder::with("s.toml", GRID);
    let goal = "device = \"small-full\"\nworkload = \"random-write\"\n[goal]\n\
                key = \"ftl.over_provisioning_percent\"\nrange = [20, 28]\nmetric = \"wa\"\n\
                below = 2\n";
    folder.write("g.toml", goal);
    folder.write("foreign/x.journal", "mine\n");
    folder.write("file", "");
    let before = folder.files();
    let check = |args: &[&str], status: i32, message: &str| {
        let ran = folder.run(&[&["sweep"], args].concat());
        assert_eq!(ran.status, Some(status), "{ran:?}");
        assert!(ran.stderr.contains(message), "{message}: {ran:?}");
    };
    check(&["s.toml", "--shard", "1/3"], 2, "--journal <DIR>");
    check(&["s.toml", "--slurm"], 2, "--journal <DIR>");
    let with = |more: &[&'static str]| [&["s.toml", "--journal", "runs"], more].concat();
    check(&with(&["--shard", "4/3"]), 2, "shard 4 of 3: shards are numbered from 1 to 3");
    check(&with(&["--shard", "0/3"]), 2, "shard 0 of 3");
    check(&with(&["--shard", "third"]), 2, "I/N is needed, such as 3/64, or auto");
    check(&with(&["--shard", "1/3", "--csv", "s.csv"]), 2, "cannot be used with '--csv <FILE>'");
    check(&with(&["--shard", "1/3", "--slurm"]), 2, "cannot be used with");
    check(&with(&["--slurm=0"]), 2, "a number of tasks from 1 to 1000000 is needed");
    let shard_of_goal = ["g.toml", "--journal", "runs", "--shard", "1/3"];
    check(&shard_of_goal, 2, "g.toml: a goal has no shards");
    check(&["s.toml", "--journal", "file", "--shard", "1/3"], 1, "file: the folder cannot be made");
    assert!(folder.files() == before, "nothing is written");
    let foreign = "x.journal: it is no journal of this version";
    check(&["s.toml", "--journal", "foreign", "--shard", "1/3"], 2, foreign);
}

/// A goal goes on from a folder of journals, too.
#[test]
fn a_goal_is_kept_in_a_folder_of_journals() {
    let text = "device = \"small-full\"\nworkload = \"random-write\"\n\
                set = [\"pattern.requests=2000\"]\n[goal]\n\
                key = \"ftl.over_provisioning_percent\"\nrange = [20, 24]\nmetric = \"wa\"\n\
                below = 2.8\n";
    let whole = unbroken(text);
    let folder = Folder::with("s.toml", text);
    folder.run(&["sweep", "s.toml", "--journal", "runs"]).text();
    let again = folder.run(&[&TABLES[..], &["--journal", "runs"]].concat());
    assert_eq!(again.text(), whole.1);
    for name in FILES {
        assert!(folder.read(name) == whole.0.read(name), "{name}");
    }
}

/// The script, with a stand-in for `sbatch` that runs every task at once.
#[cfg(unix)]
#[test]
fn the_script_for_slurm_runs_the_sweep() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    const SBATCH: &str = "#!/bin/sh\n\
        script=$(cat)\n\
        echo \"$@\" >> \"$CALLS\"\n\
        case \"$*\" in\n\
        *--array=1-5*) for task in 1 2 3 4 5; do\n\
        SLURM_ARRAY_TASK_ID=$task sh -c \"$script\" > /dev/null || exit; done\n\
        echo '42;east' ;;\n\
        *) sh -c \"$script\" ;;\n\
        esac\n";
    let whole = unbroken(GRID);
    let folder = Folder::with("it's here/s.toml", GRID);
    folder.write("bin/sbatch", SBATCH);
    let sbatch = folder.path("bin/sbatch");
    std::fs::set_permissions(&sbatch, PermissionsExt::from_mode(0o755)).unwrap();
    let tables = ["--csv", "s.csv", "--runs", "r.csv"];
    let args = [&["sweep", "s.toml", "--journal", "my runs", "--slurm=5"][..], &tables].concat();
    let here = folder.path("it's here");
    let script = finish(folder.command(&args).current_dir(&here), None).text();
    assert!(!here.join("my runs").exists(), "nothing is run");
    folder.write("go.sh", &script);
    let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["go.sh", "--mem=8G"]).current_dir(folder.path(""));
    command.env("PATH", path).env("CALLS", folder.path("calls")).stdin(Stdio::null());
    let ran = finish(&mut command, None);
    assert!(ran.stderr.contains("12 of 12 runs were done before\n"), "{ran:?}");
    assert_eq!(ran.text(), whole.1);
    for name in FILES {
        assert!(folder.read(&format!("it's here/{name}")) == whole.0.read(name), "{name}");
    }
    let calls = String::from_utf8(folder.read("calls")).unwrap();
    let expected = "--parsable --job-name=s --array=1-5 --mem=8G\n\
                    --job-name=s --dependency=afterany:42 --mem=8G\n";
    assert_eq!(calls, expected);
}

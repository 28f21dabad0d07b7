//! Running the command in a folder of its own.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Requests of the format `ssdsim`: time ns, device, first sector, sectors, 0 write or 1 read.
pub(crate) const TRACE: &str = "\
0 0 0 64 0\n\
50000 0 1024 8 1\n\
1200000 0 0 16 1\n\
1200000 1 4096 24 0\n\
9000000 0 65536 8 1\n";

/// What a run of the command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed; it must have ended well.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.stdout
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).expect("--json prints JSON")
    }
}

/// A temporary folder that the command runs in: files are named without a path.
#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    /// A folder that holds one file.
    pub(crate) fn with(name: &str, contents: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, contents);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("inside the folder")).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Every file below the folder with its contents.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.0.path(), &mut files);
        files
    }

    /// The command, set up to run here.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashyard"));
        command.args(args).current_dir(self.0.path()).env_remove("RUST_BACKTRACE");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args).stdin(Stdio::null()), None)
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        finish(self.command(args).stdin(Stdio::piped()), Some(input))
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command, input: Option<&[u8]>) -> Ran {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the command starts");
    if let Some(input) = input {
        // A command that refuses its input may close the pipe early. Its output is tested, so a
        // failed write is no error here.
        let _ = child.stdin.take().expect("piped").write_all(input);
    }
    let output = child.wait_with_output().expect("the command ends");
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("remarks are UTF-8"),
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
}

/// A run without what differs between two commands for the same work.
pub(crate) fn without_command(mut run: Value) -> Value {
    let removed = run["provenance"].as_object_mut().unwrap().remove("command");
    assert!(removed.is_some(), "the command is in the provenance");
    run
}

/// The same, and without the names of the workload and of what its streams are made from.
pub(crate) fn without_names(run: Value) -> Value {
    let mut run = without_command(run);
    let removed = run["workload"].as_object_mut().unwrap().remove("name");
    assert!(removed.is_some(), "the workload has a name");
    for phase in run["workload"]["plan"].as_array_mut().expect("a list of phases") {
        for stream in phase["streams"].as_array_mut().expect("a list of streams") {
            assert!(stream.as_object_mut().unwrap().remove("from").is_some());
        }
    }
    run
}

/// The integer at a path with dots.
#[track_caller]
pub(crate) fn int(value: &Value, path: &str) -> u64 {
    let found = path.split('.').fold(value, |value, name| &value[name]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is {found}, not a whole number"))
}

/// The sum of the integers of an object.
#[track_caller]
pub(crate) fn sum(value: &Value) -> u64 {
    value.as_object().expect("an object").values().map(|value| value.as_u64().unwrap()).sum()
}

/// Whether two numbers are the same but for what reading decimal digits may lose.
pub(crate) fn is_near(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() <= 1e-12 * expected.abs())
}

/// A file of the repository.
pub(crate) fn repository_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A number and its unit as a table shows them, in the unit without a prefix.
pub(crate) fn quantity(cells: &[&str]) -> f64 {
    let [number, unit] = cells else { panic!("a number and a unit: {cells:?}") };
    let scale = match (unit.len(), unit.chars().next()) {
        (1, _) => 1.0,
        (_, Some('n')) => 1e-9,
        (_, Some('u')) => 1e-6,
        (_, Some('m')) => 1e-3,
        (_, Some('k')) => 1e3,
        (_, Some('M')) => 1e6,
        (_, Some('G')) => 1e9,
        _ => 1.0,
    };
    number.replace(',', "").parse::<f64>().expect("a number") * scale
}

/// What a summary says beside a name, in one line.
#[track_caller]
pub(crate) fn said(text: &str, name: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&format!("{name} ")));
    let first = lines.next().unwrap_or_else(|| panic!("no {name} in {text}"));
    let more = lines.take_while(|line| line.starts_with("   "));
    let words = std::iter::once(&first[name.len()..]).chain(more);
    words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

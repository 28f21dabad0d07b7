//! `cargo xtask release`: the command, its code laid out by a profile of itself.
//!
//! The command is built with counters in it, runs short workloads that together pass through the
//! paths that long runs spend their time in, and is built again by what was counted. Results do not
//! depend on it: the same requests give the same bytes.

use anyhow::{Result, ensure};
use flashyard_measure::tools;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// What runs are counted: reads, writes in steady state, a write buffer with and without a host
/// policy of its own, and a study with every command policy, caches of the map and queue depths.
const RUNS: [&str; 6] = [
    "run mqsim-default random-read --set stream.depth=256 --set pattern.requests=200000",
    "run mqsim-default sequential-read --set pattern.requests=10000",
    "run embedded-2x2 random-write --set state.initial=steady --set map.store=resident \
     --set pattern.requests=50000",
    "run nvme-tlc mixed-70-30 --set pattern.requests=50000",
    "run ros random-write --set pattern.requests=20000",
    "reproduce drs --requests 100 --replicas 0",
];

/// Builds, counts and builds again; says where the command is.
pub(crate) fn run(root: &Path) -> Result<String> {
    let sh = tools::shell(root)?;
    let (sysroot, host) = (tools::rustc(&sh, &["--print", "sysroot"])?, tools::host(&sh)?);
    let name = format!("llvm-profdata{}", std::env::consts::EXE_SUFFIX);
    let profdata = PathBuf::from(sysroot).join("lib/rustlib").join(&host).join("bin").join(name);
    ensure!(
        profdata.is_file(),
        "{} is missing; rustup component add llvm-tools installs it",
        profdata.display()
    );
    let target = tools::target(root).join("pgo");
    let (profiles, profile) = (target.join("profiles"), target.join("flashyard.profdata"));
    let build = Build { sh: &sh, target: &target, host: &host };
    let command = build.run("-Cprofile-generate", &profiles)?;
    // What building left there, and earlier runs of another build.
    sh.remove_path(&profiles)?;
    for arguments in RUNS {
        crate::log(&format!("release: {arguments}"));
        let run = cmd!(sh, "{command}").args(arguments.split_whitespace());
        let run = run.quiet().ignore_stdout().ignore_stderr();
        run.env_remove("LLVM_PROFILE_FILE").run()?;
    }
    cmd!(sh, "{profdata} merge -o {profile} {profiles}").quiet().run()?;
    let command = build.run("-Cprofile-use", &profile)?;
    let place = target.join(command.file_name().expect("a program has a name"));
    sh.copy_file(&command, &place)?;
    Ok(format!("release: {}", place.display()))
}

/// How the command is built.
struct Build<'a> {
    sh: &'a Shell,
    target: &'a Path,
    host: &'a str,
}

impl Build<'_> {
    /// Builds the command with `flag=file`, besides the flags that are set; returns its place. With
    /// `--target` build scripts and macros are left alone.
    fn run(&self, flag: &str, file: &Path) -> Result<PathBuf> {
        crate::log(&format!("release: building with {flag}"));
        let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default().replace(' ', "\u{1f}");
        if !flags.is_empty() {
            flags.push('\u{1f}');
        }
        let mut flags = OsString::from(flags);
        flags.push(format!("{flag}="));
        flags.push(file);
        let (sh, cargo, Self { host, target, .. }) = (self.sh, tools::cargo(), self);
        cmd!(sh, "{cargo} build --release --package flashyard --target {host}")
            // Across crates, each in one piece.
            .args(["--config", "profile.release.lto=\"fat\""])
            .args(["--config", "profile.release.codegen-units=1"])
            .args(["--config", "profile.release.package.flashyard.opt-level=3"])
            .arg("--target-dir")
            .arg(target)
            .env("CARGO_ENCODED_RUSTFLAGS", flags)
            .quiet()
            .run()?;
        let name = format!("flashyard{}", std::env::consts::EXE_SUFFIX);
        Ok(self.target.join(self.host).join("release").join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A preset or a built-in workload that is gone would fail after minutes of building.
    #[test]
    fn the_runs_name_presets() {
        for run in RUNS {
            let words: Vec<&str> = run.split_whitespace().collect();
            let folder =
                if words[0] == "run" { "crates/run/devices" } else { "crates/studies/experiments" };
            let file = crate::root().join(folder).join(format!("{}.toml", words[1]));
            assert!(file.is_file(), "{run}: {}", file.display());
        }
    }
}

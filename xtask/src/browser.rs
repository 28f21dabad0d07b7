//! `cargo xtask browser`: reports of several commands, opened in a real browser.
//!
//! `xtask/browser` has the script and the list of its packages, which npm installs into the target
//! directory. The browser is the one that CHROME names, or comes with the packages.

use anyhow::{Context, Result, bail};
use flashyard_measure::tools;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The reports: a name, and the command that the folder of the report is added to.
const REPORTS: [(&str, &str); 13] = [
    ("page-map", "run small-full random-write --set pattern.requests=3000"),
    ("toy", "run toy"),
    (
        "toy-map-pages",
        "run toy --ftl dftl --set gc.reserve_blocks=4 --set gc.soft_free_blocks=5 \
         --set gc.hard_free_blocks=4 --set ftl.over_provisioning_percent=150 \
         --set map.cache_bytes=16",
    ),
    ("toy-merges", "run toy --ftl bast --set pattern.trim_percent=5"),
    ("map-cache", "run drs facebook"),
    ("buffer", "run cache-aware mixed-70-30 --set pattern.requests=1000"),
    ("many-dies", "run nvme-tlc mixed-70-30 --set pattern.requests=3000"),
    ("disk", "run wd1600bekt random-read --set pattern.requests=300"),
    (
        "compare",
        "compare small-full random-write --set pattern.requests=1000 --vary queue.depth=1,16 \
         --vary gc.policy=greedy,fifo",
    ),
    (
        "compare-one",
        "compare small-full random-read --set pattern.requests=2000 --vary queue.depth=1,2,4,8,16,32",
    ),
    ("reproduce", "reproduce framework --requests 500 --replicas 2"),
    ("sweep", "sweep crates/cli/sweeps/over-provisioning.toml"),
    ("sweep-goal", "sweep crates/cli/sweeps/least-spare-space.toml"),
];

/// Why the check cannot be made here.
struct Missing(String);

/// Makes the reports and checks them.
pub(crate) fn run(root: &Path) -> Result<String> {
    match check(root)? {
        Ok(summary) => Ok(summary),
        Err(Missing(why)) => bail!("browser: {why}"),
    }
}

/// The same; where it cannot be made, it is skipped with a line that says why.
pub(crate) fn run_where_possible(root: &Path) -> Result<()> {
    match check(root)? {
        Ok(summary) => crate::log(&summary),
        Err(Missing(why)) => crate::log(&format!("ci: browser skipped: {why}")),
    }
    Ok(())
}

fn check(root: &Path) -> Result<std::result::Result<String, Missing>> {
    let sh = tools::shell(root)?;
    for program in ["node", "npm"] {
        if cmd!(sh, "{program} --version").quiet().ignore_stdout().run().is_err() {
            return Ok(Err(Missing(format!("{program} is not installed"))));
        }
    }
    let folder = tools::target(root).join("browser");
    if let Err(error) = install(&sh, root, &folder) {
        return Ok(Err(Missing(format!("{error:#}"))));
    }
    let reports = &reports(&sh, root, &folder)?;
    let node = cmd!(sh, "node xtask/browser/check.mjs {reports...}").env("PACKAGES", &folder);
    node.quiet().run().context("a report is not as it should be in a browser")?;
    Ok(Ok(format!("browser: {} reports are as they should be", reports.len())))
}

/// Installs the packages, unless those of the lock file are there.
fn install(sh: &Shell, root: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let lock = "package-lock.json";
    let wanted = read(&root.join("xtask/browser").join(lock))?;
    let done = folder.join("installed.json");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    std::fs::write(folder.join(lock), &wanted)?;
    std::fs::write(folder.join("package.json"), read(&root.join("xtask/browser/package.json"))?)?;
    let _in_folder = sh.push_dir(folder);
    let npm = cmd!(sh, "npm ci --no-audit --no-fund").quiet().ignore_stdout();
    npm.run().context("its packages cannot be installed")?;
    std::fs::write(&done, wanted)?;
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}

/// Builds the command and lets it write the reports.
fn reports(sh: &Shell, root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let program = crate::flashyard(sh, root)?;
    let report = |(name, command): &(&str, &str)| {
        let out = folder.join("reports").join(name);
        let run = cmd!(sh, "{program}").args(command.split_whitespace()).quiet().ignore_stdout();
        let run = if command.starts_with("sweep ") {
            // Its --out is the table; the report of points that were run before is written anew.
            sh.create_dir(&out)?;
            run.arg("--out").arg(out.join("points.parquet")).arg("--report").arg(&out)
        } else {
            run.arg("--out").arg(&out)
        };
        run.ignore_stderr().run()?;
        Ok(out.join("report.html"))
    };
    REPORTS.iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lock file holds exact versions, and names no server.
    #[test]
    fn the_packages_are_locked() {
        let folder = crate::root().join("xtask/browser");
        let [list, lock] = ["package.json", "package-lock.json"].map(|name| {
            serde_json::from_str::<serde_json::Value>(&read(&folder.join(name)).unwrap()).unwrap()
        });
        let wanted = list["dependencies"].as_object().expect("dependencies");
        for (name, version) in wanted {
            assert_eq!(lock["packages"][format!("node_modules/{name}")]["version"], *version);
        }
        assert!(wanted.len() == 2 && !lock.to_string().contains("\"resolved\""));
    }
}

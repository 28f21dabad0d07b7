//! `cargo xtask python`: the Python package, installed into an environment of its own in the target
//! directory, and its tests.
//!
//! The package is built with the profile of the other tests, so that it shares their code.

use anyhow::{Context, Result, bail, ensure};
use flashyard_measure::tools;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// Says whether this Python can run the package and has environments.
const FITS: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// Prints what the tests need: the extra `test` of the package.
const NEEDS: &str = "import sys, tomllib; \
                     project = tomllib.load(open(sys.argv[1], 'rb'))['project']; \
                     print('\\n'.join(project['optional-dependencies']['test']))";

/// Half of the tests by their time: those of what is written about the package and of programs
/// beside it. They have a process of their own, since Ctrl-C does not reach tests that run side by
/// side in one.
const APART: [&str; 4] = ["test_dask.py", "test_docs.py", "test_notebooks.py", "test_types.py"];

/// Installs the package and runs its tests.
pub(crate) fn run(root: &Path) -> Result<String> {
    let sh = tools::shell(root)?;
    let Some(python) = environment(&sh, root)? else {
        bail!("python: no Python 3.10 or later with the module venv is installed");
    };
    let target = tools::target(root);
    // Without `--locked` maturin would write Cargo.lock anew where it is not up to date.
    let _target = sh.push_env("CARGO_TARGET_DIR", &target);
    let _profile = sh.push_env("MATURIN_PEP517_ARGS", "--profile dev --locked");
    let install = cmd!(sh, "{python} -m pip install --quiet ./python[test]");
    install.quiet().run().context("the package cannot be installed")?;
    let tests = sh.read_dir(root.join("python/tests"))?;
    let tests = tests.into_iter().filter(|file| file.extension().is_some_and(|end| end == "py"));
    let is_apart = |file: &PathBuf| APART.iter().any(|name| file.ends_with(name));
    let (apart, others): (Vec<_>, Vec<_>) = tests.partition(is_apart);
    crate::ci::beside(|| test(root, &python, &others), || test(root, &python, &apart))?;
    Ok("python: the package is installed and its tests pass".to_owned())
}

/// Runs files of tests in a process of their own; what it prints comes at its end.
fn test(root: &Path, python: &Path, files: &[PathBuf]) -> Result<()> {
    let sh = tools::shell(root)?;
    // From elsewhere, so that the installed package is tested and not its sources.
    sh.change_dir(tools::target(root));
    let config = root.join("python/pyproject.toml");
    let command = cmd!(sh, "{python} -m pytest -c {config} -p no:cacheprovider {files...}");
    let output = command.quiet().ignore_status().output()?;
    crate::log(String::from_utf8_lossy(&output.stdout).trim_end());
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the tests of the Python package: {said}");
    Ok(())
}

/// The same where there is a Python and the packages that the tests need can be had; skipped with a
/// line that says why where not.
pub(crate) fn run_where_possible(root: &Path) -> Result<()> {
    if prepare(root)? {
        run(root).map(|summary| crate::log(&summary))
    } else {
        crate::log("ci: python skipped: no Python 3.10 or later, or no packages for its tests");
        Ok(())
    }
}

/// Installs what the tests need, which takes the network and not the processor; returns whether
/// that was possible.
pub(crate) fn prepare(root: &Path) -> Result<bool> {
    let sh = tools::shell(root)?;
    let Some(python) = environment(&sh, root)? else { return Ok(false) };
    let manifest = root.join("python/pyproject.toml");
    // The module tomllib came with Python 3.11; before it, the package's installation does this.
    let Ok(needs) = cmd!(sh, "{python} -c {NEEDS} {manifest}").quiet().ignore_stderr().read()
    else {
        return Ok(true);
    };
    let install = cmd!(sh, "{python} -m pip install --quiet").args(needs.lines());
    Ok(install.quiet().run().is_ok())
}

/// The Python of the environment, which is made where it is missing; none where there is no Python
/// that fits.
fn environment(sh: &Shell, root: &Path) -> Result<Option<PathBuf>> {
    let folder = tools::target(root).join("python");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let fits = cmd!(sh, "python3 -c {FITS}").quiet().ignore_stderr().run().is_ok();
        if !fits {
            return Ok(None);
        }
        cmd!(sh, "python3 -m venv {folder}").quiet().run()?;
    }
    Ok(Some(python))
}

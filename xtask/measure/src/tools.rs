//! The programs that tasks run, and where they leave files.

use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// A target without an operating system; `flashyard-core` is checked, and the C library built, for
/// it where it is installed.
pub const BARE_METAL: &str = "thumbv7em-none-eabihf";

/// Builds the C library for such a target.
pub const LIBRARY: &str = "rustc --release --package flashyard-firmware --lib \
    --crate-type staticlib --no-default-features --features panic-handler";

/// A shell in the repository at `root`.
pub fn shell(root: &Path) -> Result<Shell> {
    let sh = Shell::new()?;
    sh.change_dir(root);
    Ok(sh)
}

/// The cargo that runs this task.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What the compiler says to these arguments.
pub fn rustc(sh: &Shell, arguments: &[&str]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(cmd!(sh, "{rustc} {arguments...}").quiet().read()?)
}

/// The target that the compiler runs on.
pub fn host(sh: &Shell) -> Result<String> {
    let text = rustc(sh, &["-vV"])?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// The target directory of the repository at `root`.
pub fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| root.join("target"), |path| root.join(path))
}

/// Whether the toolchain has the libraries of a target.
pub fn is_installed(sh: &Shell, target: &str) -> bool {
    let folder = rustc(sh, &["--print", "target-libdir", "--target", target]);
    folder.is_ok_and(|folder| Path::new(&folder).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_does_not_exist_is_not_installed() {
        assert!(!is_installed(&Shell::new().unwrap(), "no-such-target"));
    }
}

//! Tells the command its version: `0.2.0 (abcdef123 2026-11-23)` with the commit and its date where
//! it is built for release from its git repository, the plain version elsewhere. A development
//! build has the plain version, so that a commit does not build the command anew.

use std::io::Write;
use std::path::Path;
use std::process::Command;

fn main() -> std::io::Result<()> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (version, folder) = (variable("CARGO_PKG_VERSION"), variable("CARGO_MANIFEST_DIR"));
    let folder = Path::new(&folder);
    let mut lines = vec!["cargo::rerun-if-changed=build.rs".to_string()];
    let commit = if variable("PROFILE") == "release" { commit(folder, &mut lines) } else { None };
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    lines.push(format!("cargo::rustc-env=FLASHYARD_VERSION={version}{commit}"));
    writeln!(std::io::stdout(), "{}", lines.join("\n"))
}

/// The first nine digits of the commit and its date, of the repository that this crate is part of:
/// sources that were unpacked below somebody else's repository have no commit.
fn commit(folder: &Path, lines: &mut Vec<String>) -> Option<String> {
    let root = git(folder, &["rev-parse", "--show-toplevel"])?;
    let ours = Path::new(&root).join("crates/cli").canonicalize().ok()?;
    if ours != folder.canonicalize().ok()? {
        return None;
    }
    // The log of HEAD grows with each commit and checkout; a repository without it has the others.
    for name in ["logs/HEAD", "HEAD", "packed-refs"] {
        let path = folder.join(git(folder, &["rev-parse", "--git-path", name])?);
        if path.exists() {
            lines.push(format!("cargo::rerun-if-changed={}", path.display()));
        }
    }
    git(folder, &["log", "-1", "--abbrev=9", "--date=short", "--format=%h %cd"])
}

/// What git prints.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_string())
}

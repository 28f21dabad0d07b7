//! Names of files to write: none of them is read, too, and no two of them are one file.

use anyhow::Result;
use flashyard_run::error::wrong;
use flashyard_run::experiment::{Origin, StreamPlan};
use flashyard_run::plan::Plan;
use flashyard_run::presets;
use std::path::{Path, PathBuf};

/// The files that a run of these inputs may read, with those among the names that it was given.
pub(crate) fn read_by<'a>(
    inputs: &'a Plan,
    given: impl IntoIterator<Item = &'a String>,
) -> Vec<&'a Path> {
    let is_built_in =
        |name: &str| presets::device(name).is_some() || StreamPlan::built_in(name).is_some();
    let given = given.into_iter().map(String::as_str).filter(|name| !is_built_in(name));
    let streams = inputs.experiment().streams();
    let origins = streams.filter_map(|stream| match &stream.origin {
        Origin::Trace { path, .. } | Origin::Raw(Some(path)) => Some(path.as_str()),
        _ => None,
    });
    given.chain(origins).map(Path::new).collect()
}

/// Refuses files to write that are read as well, or that another result is written to. What is no
/// file, such as `/dev/stdout`, may take several.
pub(crate) fn check<'a>(read: &[&Path], written: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let read: Vec<_> = read.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut others = Vec::new();
    for path in written {
        let Some(file) = file(path) else { continue };
        let what = if read.contains(&file) {
            "it is read, too; write to another file"
        } else if others.contains(&file) {
            "another result is written to this file; choose a different one"
        } else {
            others.push(file);
            continue;
        };
        return Err(wrong(&format!("{}: {what}", path.display())));
    }
    Ok(())
}

/// The file that a path leads to or will lead to, if it is one.
fn file(path: &Path) -> Option<PathBuf> {
    if let Ok(whole) = path.canonicalize() {
        return whole.is_file().then_some(whole);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // A folder that is yet to be made has its own name.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    Some(whole.join(path.file_name()?))
}

//! The files of a lab, written for a seed.

use super::template::Written;
use super::{rule, spare, tail};
use crate::args::lab::{Lab, StartArgs};
use crate::output::unfinished::Folder;
use crate::output::{WholeFile, print};
use anyhow::{Context, Result};
use flashyard_run::error::wrong;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Writes the files of a lab; none takes the place of another.
pub(super) fn start(args: &StartArgs) -> Result<()> {
    let StartArgs { lab, seed, out } = args;
    let (files, next) = match lab {
        Lab::GcRule => rule::files(*seed),
        Lab::SlowTail => tail::files(*seed),
        Lab::SpareSpace => spare::files(*seed),
    };
    let out = out.clone().unwrap_or_else(|| PathBuf::from(lab.name()));
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| out.join(name)).collect();
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(wrong(&format!(
            "{}: it is there, and may hold work of yours; name another directory with --out",
            path.display()
        )));
    }
    let folder = Folder::create(&out).with_context(|| format!("{}", out.display()))?;
    let source = files.iter().any(|(name, _)| name.contains('/')).then(|| out.join("src"));
    let source = source.map(|path| Folder::create(&path)).transpose();
    let source = source.with_context(|| format!("{}", out.display()))?;
    let write = |(path, (_, text)): (&PathBuf, &Written)| WholeFile::of(path, text);
    let whole = paths.iter().zip(&files).map(write).collect::<Result<Vec<_>>>()?;
    whole.into_iter().try_for_each(WholeFile::finish)?;
    [Some(folder), source].into_iter().flatten().for_each(Folder::keep);
    let mut text = String::new();
    for path in &paths {
        let _ = writeln!(text, "{}: written", path.display());
    }
    print(&format!("{text}\n{next}"))
}

//! `flashyard man`: what a reader of manuals needs to know of the command line, made from its
//! definition.

use crate::args::{Cli, ManArgs};
use crate::output::{WholeFile, print};
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_mangen::Man;
use std::io::Write;
use std::path::Path;

/// Prints the manual page of the command, or writes a page for each of its commands.
pub(crate) fn man(args: &ManArgs) -> Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match &args.dir {
        None => print(&String::from_utf8(page(&command)?.1).context("the page is no text")?),
        Some(folder) => {
            let mut pages = Vec::new();
            collect(&command, &mut pages)?;
            std::fs::create_dir_all(folder)
                .with_context(|| format!("{}: cannot be created", folder.display()))?;
            pages.iter().try_for_each(|(name, roff)| write(&folder.join(name), roff))
        }
    }
}

/// The page of a command, then those of its commands.
fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    pages.push(page(command)?);
    command.get_subcommands().try_for_each(|below| collect(below, pages))
}

/// The name of a file and its page. The page has no date and no commit, so that it changes only
/// with the command line.
fn page(command: &clap::Command) -> Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    let page = Man::new(command.clone().version(env!("CARGO_PKG_VERSION"))).title(name.clone());
    let file = page.get_filename();
    let mut roff = Vec::new();
    page.render(&mut roff).with_context(|| format!("{name}: no page"))?;
    Ok((file, roff))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes).with_context(|| format!("{}: cannot be written", path.display()))?;
    file.finish()
}

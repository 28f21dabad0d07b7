//! Completions of the command line: the script that a shell sources, and the answers to its
//! questions. The script starts the command again, which knows presets, workloads, keys and their
//! words, those of own parts too.

mod bash;
mod script;
mod values;
mod zsh;

use crate::args::Cli;
use crate::output::print;
use anyhow::{Context, Result};
use bash::Bash;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::ArgValueCompleter;
use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell};
use flashyard_sim::own::OwnParts;
use std::ffi::OsString;
use std::path::Path;
use values::{Keys, Values};
use zsh::Zsh;

/// The variable of the environment that holds the shell which asks.
const VARIABLE: &str = "FLASHYARD_COMPLETE";

/// The name of the program in scripts.
const NAME: &str = "flashyard";

/// Prints the script of a shell.
pub(crate) fn script(shell: Shell) -> Result<()> {
    let name = shell.to_string();
    let shell = named(&name).with_context(|| format!("{name}: no script for this shell"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    print(&String::from_utf8(script).context("the script is no text")?)
}

/// The shell that asks for candidates, if one does.
pub(crate) fn asking() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty())
}

/// Answers a shell. Its words stand behind `--`, the name of the program first.
pub(crate) fn answer(shell: &OsString, arguments: &[OsString], own: &OwnParts) -> Result<()> {
    let shell = shell.to_string_lossy();
    let shell = named(&shell).with_context(|| format!("{VARIABLE}={shell}: no such shell"))?;
    let words = arguments.iter().skip_while(|word| *word != "--").skip(1);
    let words: Vec<OsString> = words.cloned().collect();
    anyhow::ensure!(!words.is_empty(), "{VARIABLE} is set, and there is nothing to complete");
    let folder = std::env::current_dir().ok();
    let mut found = Vec::new();
    shell.write_complete(&mut command(own), words, folder.as_deref(), &mut found)?;
    if found.is_empty() {
        return Ok(());
    }
    print(&String::from_utf8(found).context("the candidates are no text")?)
}

fn named(shell: &str) -> Option<&'static dyn EnvCompleter> {
    let known: [&dyn EnvCompleter; 5] = [&Bash, &Zsh, &Fish, &Elvish, &Powershell];
    let name = Path::new(shell).file_stem()?.to_str()?;
    known.into_iter().find(|one| one.is(name))
}

/// The command line, each of whose arguments knows its values.
fn command(own: &OwnParts) -> Command {
    below(Cli::command(), &[], own)
}

/// A command, and those in it. `path` has the names of the commands that it is in.
fn below(command: Command, path: &[&str], own: &OwnParts) -> Command {
    let chooses = command.get_arguments().any(|arg| arg.get_id() == "workload");
    let command = command.mut_args(|arg| {
        let values = of(path, &arg, chooses);
        let own = own.clone();
        match values {
            None => arg,
            Some(values) => arg.add(ArgValueCompleter::new(move |current: &std::ffi::OsStr| {
                values.matching(current, &own)
            })),
        }
    });
    command.mut_subcommands(|inner| {
        let name = inner.get_name().to_string();
        let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
        below(inner, &path, own)
    })
}

/// What an argument of a command takes; none: what the command line itself says, or a number. In a
/// command that `chooses` a workload as well, a device may be left out.
fn of(path: &[&str], arg: &Arg, chooses: bool) -> Option<Values> {
    let first = path.first().copied().unwrap_or("");
    let keys = match first {
        "trace" => Keys::OfWorkloads,
        "list" | "reproduce" | "fit" | "board" => Keys::OfDevices,
        _ => Keys::All,
    };
    let id = arg.get_id().as_str();
    Some(match arg.get_value_names()?.first()?.as_str() {
        "KEY=VALUE" | "KEY=LOW..HIGH" => Values::Setting { keys, several: false },
        "KEY=A,B,C" | "KEY=A,B" => Values::Setting { keys, several: true },
        "DEVICE" if chooses && arg.is_positional() => Values::DeviceOrWorkload,
        "DEVICE" => Values::Device,
        "WORKLOAD" | "WORKLOAD... OUT" | "OTHER" => Values::Workload,
        "WORD or DEVICE" => Values::SectionOrDevice,
        "NAME" if id == "ftl" => Values::Layer,
        "NAME" if first == "show" => Values::DeviceOrWorkload,
        "STUDY" => Values::Study,
        "FORMAT" => Values::Format,
        "DIR" | "DIRECTORY" => Values::Folder,
        "FILE" | "FILES" | "NEW" | "MEASUREMENTS" | "ANSWER" => Values::File,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashyard_sim::own::Parts;

    /// Values that are numbers, and the names of value lists that clap has itself.
    const NOTHING: &[&str] =
        &["SIZE", "N", "I/N", "FROM..TO", "PERCENTILE", "ID", "COLUMN=ENTRY", "NAME", "COMMAND"];

    fn check(command: &Command, path: &[&str]) {
        let chooses = command.get_arguments().any(|arg| arg.get_id() == "workload");
        for arg in command.get_arguments() {
            let takes = arg.get_num_args().is_some_and(|range| range.takes_values());
            let Some(names) = arg.get_value_names().filter(|_| takes) else { continue };
            let has_words = !arg.get_possible_values().is_empty();
            let is_known = of(path, arg, chooses).is_some() || has_words;
            let is_number = NOTHING.contains(&names[0].as_str());
            assert!(is_known || is_number, "{path:?} {}: {names:?}", arg.get_id());
        }
        for inner in command.get_subcommands() {
            check(inner, &[path, &[inner.get_name()]].concat());
        }
    }

    /// An argument with a new kind of value is put on one of the two lists.
    #[test]
    fn what_each_argument_takes_is_known() {
        let mut command = command(&Parts::new().share());
        command.build();
        check(&command, &[]);
    }

    #[test]
    fn a_shell_is_known_by_its_path() {
        for shell in ["bash", "/usr/bin/zsh", "fish", "elvish", "powershell", "pwsh.exe"] {
            assert!(named(shell).is_some(), "{shell}");
        }
        assert!(named("csh").is_none() && named("").is_none());
    }
}

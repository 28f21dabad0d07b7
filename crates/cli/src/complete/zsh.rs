//! Completions in zsh: the candidates are the library's, the script leaves out the blank behind a
//! candidate that goes on.

use super::script::write_script;
use clap::Command;
use clap_complete::env::{EnvCompleter, Zsh as Library};
use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

/// zsh.
#[derive(Debug)]
pub(super) struct Zsh;

/// Asks the command for candidates, `name:about` each.
const SCRIPT: &str = r#"#compdef BIN
_NAME() {
    local -a found=("${(@f)$(VARIABLE=zsh _CLAP_IFS=$'\n' \
        _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) COMPLETER -- "${words[@]}" 2>/dev/null)}")
    local -a whole=() begun=()
    local line
    for line in $found; do
        if [[ "${line%%:*}" == *[=./] ]]; then begun+=("$line"); else whole+=("$line"); fi
    done
    (( $#begun )) && _describe -V 'values' begun -S ''
    (( $#whole )) && _describe -V 'values' whole
}
if [[ "$funcstack[1]" == _NAME ]]; then _NAME "$@"; else compdef _NAME BIN; fi
"#;

impl EnvCompleter for Zsh {
    fn name(&self) -> &'static str {
        "zsh"
    }

    fn is(&self, name: &str) -> bool {
        name == "zsh"
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        bin: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        write_script(SCRIPT, [variable, name, bin, completer], script)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        found: &mut dyn Write,
    ) -> Result<(), Error> {
        Library.write_complete(command, words, folder, found)
    }
}

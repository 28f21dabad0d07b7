//! The scripts that are ours.

use std::io::{Result, Write};

/// Writes a script of ours with these names in their places.
pub(super) fn write_script(
    script: &str,
    [variable, name, bin, completer]: [&str; 4],
    to: &mut dyn Write,
) -> Result<()> {
    let text = script.replace("VARIABLE", variable).replace("COMPLETER", completer);
    write!(to, "{}", text.replace("NAME", name).replace("BIN", bin))
}

//! The `flashyard` command with two parts more: `own-parts run --set policy.command=short-first`.

mod rested;
mod short_first;

use flashyard::sim::own::Parts;
use rested::Rested;
use short_first::ShortFirst;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parts = Parts::new()
        .command_policy("short-first", "Small requests first.", |keys: ShortFirst| keys)
        .victim_rule("rested", "The fewest valid units of blocks at rest.", |keys: Rested| keys);
    flashyard::main_with(parts)
}

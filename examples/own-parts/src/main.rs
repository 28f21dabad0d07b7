//! The `flashyard` command with four parts more: `own-parts run --set policy.command=short-first`.

mod reads_first;
mod rested;
mod ring;
mod short_first;

use flashyard::sim::own::Parts;
use reads_first::ReadsFirst;
use rested::Rested;
use ring::RingKeys;
use short_first::ShortFirst;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parts = Parts::new()
        .command_policy("short-first", "Small requests first.", |keys: ShortFirst| keys)
        .host_policy("reads-first", "Reads before writes.", |keys: ReadsFirst| keys)
        .victim_rule("rested", "The fewest valid units of blocks at rest.", |keys: Rested| keys)
        .scheme("ring", "The pages of a plane in a ring.", |keys: RingKeys| keys);
    flashyard::main_with(parts)
}

//! The `flashyard` command with six parts more: `own-parts run --set policy.command=short-first`.

mod read_data_first;
mod reads_first;
mod rested;
mod ring;
mod sectors;
mod short_first;

use flashyard::sim::own::Parts;
use read_data_first::ReadDataFirst;
use reads_first::ReadsFirst;
use rested::Rested;
use ring::RingKeys;
use sectors::SectorKeys;
use short_first::ShortFirst;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parts = Parts::new()
        .command_policy("short-first", "Small requests first.", |keys: ShortFirst| keys)
        .host_policy("reads-first", "Reads before writes.", |keys: ReadsFirst| keys)
        .bus_policy("read-data-first", "Data of reads.", |keys: ReadDataFirst| keys)
        .victim_rule("rested", "The fewest valid units of blocks at rest.", |keys: Rested| keys)
        .scheme("ring", "The pages of a plane in a ring.", |keys: RingKeys| keys)
        .scheme("sectors", "Flash pages, and a log of their parts.", |keys: SectorKeys| keys);
    flashyard::main_with(parts)
}

//! Flashyard inside other programs. Each file stands alone and may be copied:
//!
//! - `closed_loop`: a closed loop by hand over a drive by name;
//! - `placements`: the same rewrites on a conventional drive, with handles, and with zones;
//! - `transfers`: the transfer model of a simulator of LLM serving, with a drive behind it;
//! - `test_disk`: the simulated disk of a runtime for deterministic tests, with data and crashes;
//! - `two_clocks`: co-simulation with a host that has a clock of its own;
//! - `zone_log`: a log on a drive with zones, which resets the emptiest.
//!
//! `cargo run -p embedding` runs them all.

mod closed_loop;
mod placements;
mod test_disk;
mod transfers;
mod two_clocks;
mod zone_log;

use std::io::{Write, stdout};

fn main() -> anyhow::Result<()> {
    let lines = [
        closed_loop::main()?,
        transfers::main()?,
        test_disk::main()?,
        two_clocks::main()?,
        zone_log::main()?,
        placements::main()?,
    ];
    writeln!(stdout(), "{}", lines.join("\n"))?;
    Ok(())
}

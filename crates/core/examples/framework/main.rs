//! The tables of the flash request scheduling framework: throughput of a hardware and of a software
//! scheduler, the order of data, fair queueing.
//!
//! ```text
//! cargo run --release -p flashyard-core --example framework
//! ```
//!
//! One channel of 100 MB/s, four chips, typical array times, 16 operations waiting for a chip; 30
//! simulated seconds of which the first tenth is left out, three seeds. The costs of the software
//! scheduler are fitted to the published worst point, 97.4 % with reads in the majority and
//! arrivals every 100 to 200 us; all other figures follow.

mod bench;

use bench::{HARDWARE, RANGES, SOFTWARE, case_study, rate};
use flashyard_core::bus::policy::framework::DataOrder;
use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "erases:programs:reads  arrivals (us)  hardware MB/s  software %")?;
    for mix in [[1, 256, 128], [1, 256, 512]] {
        for range in RANGES {
            let hardware = rate(HARDWARE, mix, range, DataOrder::RoundRobin);
            let software = rate(SOFTWARE, mix, range, DataOrder::RoundRobin);
            let [erases, programs, reads] = mix;
            let mix = format!("{erases}:{programs}:{reads}");
            let range = format!("{}-{}", range.0 / 1_000, range.1 / 1_000);
            let (rate, share) = (decimal(hardware), software * 1_000 / hardware);
            writeln!(out, "{mix:<21}  {range:<13}  {rate:>13}  {:>6}.{}", share / 10, share % 10)?;
        }
    }
    writeln!(out, "\nwhich chip moves data next (1:256:512, 100-200 us)  MB/s")?;
    for order in [DataOrder::LowestChip, DataOrder::RoundRobin, DataOrder::Oldest] {
        let rate = decimal(rate(HARDWARE, [1, 256, 512], RANGES[0], order));
        writeln!(out, "{:<49}  {rate}", format!("{order:?}"))?;
    }
    writeln!(out, "\ntwo streams, A bursts in the middle third           MB/s of A, of B")?;
    let ranges = [(800_000, 1_200_000), (800_000, 1_200_000), (100_000, 200_000)];
    for (name, is_fair) in [("one queue a chip", false), ("fair queueing", true)] {
        let [a, b] = case_study(ranges, is_fair).map(|rates| rates.map(decimal).join("/"));
        writeln!(out, "{name:<49}  {a}, {b}")?;
    }
    Ok(())
}

/// Kilobytes as megabytes.
fn decimal(kilobytes: u64) -> String {
    let tens = (kilobytes + 5) / 10;
    format!("{}.{:02}", tens / 100, tens % 100)
}

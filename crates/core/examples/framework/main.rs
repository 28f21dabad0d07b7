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
//! arrivals every 100 to 200 us; all other figures follow. Beside it is this scheduler, with the
//! instructions that `cargo xtask scheduler` counts and one instruction a cycle, which is assumed.

mod bench;

use bench::{Costs, HARDWARE, RANGES, SOFTWARE, case_study, rate};
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
    write_measured(&mut out)?;
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

/// The scheduler in software with the costs of the reference, and this one on processors of several
/// clocks, where the channel is saturated.
fn write_measured(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "\nscheduler in software (100-200 us)  ns: loop, receive, send, respond  \
         1:256:128 %  1:256:512 %"
    )?;
    let mixes = [[1, 256, 128], [1, 256, 512]];
    let shares = |costs| {
        mixes.map(|mix| {
            let rate = |costs| rate(costs, mix, RANGES[0], DataOrder::RoundRobin);
            let permille = rate(costs) * 1_000 / rate(HARDWARE);
            format!("{}.{}", permille / 10, permille % 10)
        })
    };
    let measured = [50, 100, 200, 400, 1_000].map(|mhz| (Some(mhz), Costs::measured(mhz)));
    for (mhz, costs) in [(None, SOFTWARE)].into_iter().chain(measured) {
        let name = mhz.map_or_else(
            || "costs of the reference".to_owned(),
            |mhz| format!("measured, {mhz} MHz"),
        );
        let ns = costs.all().map(|ns| ns.to_string()).join(", ");
        let [programs, reads] = shares(costs);
        writeln!(out, "{name:<34}  {ns:<33}  {programs:>11}  {reads:>11}")?;
    }
    Ok(())
}

/// Kilobytes as megabytes.
fn decimal(kilobytes: u64) -> String {
    let tens = (kilobytes + 5) / 10;
    format!("{}.{:02}", tens / 100, tens % 100)
}

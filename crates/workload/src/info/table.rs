//! The statistics as text.

use std::fmt::Write;

use super::Info;
use crate::error::readable_ns;

impl Info {
    /// A table of two columns, a line a figure; `-` where a figure is not defined.
    pub fn table(&self) -> String {
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
        row("requests", self.requests.to_string());
        row("reads", self.reads.to_string());
        row("writes", self.writes.to_string());
        row("trims", self.trims.to_string());
        row("flushes", self.flushes.to_string());
        row("writes, %", figure(self.write_percent, 3));
        row("mean read, KiB", figure(self.read_kib_mean, 2));
        row("mean write, KiB", figure(self.write_kib_mean, 2));
        row("bytes read", self.read_bytes.to_string());
        row("bytes written", self.write_bytes.to_string());
        row("first arrival, ns", self.first_ns.to_string());
        row("last arrival, ns", self.last_ns.to_string());
        row("duration", readable_ns(self.duration_ns));
        row("requests/s", figure(self.requests_per_s, 3));
        let mean = self.interarrival_ns_mean.map(|ns| ns / 1e3);
        row("mean time between arrivals, us", figure(mean, 1));
        row("its coefficient of variation", figure(self.interarrival_cv, 2));
        for dispersion in self.dispersion {
            let name = format!("dispersion in {}", readable_ns(dispersion.window_ns));
            row(&name, figure(dispersion.index, 2));
        }
        row("sequential, %", figure(self.sequential_percent, 1));
        row("footprint, 4 KiB pages", self.footprint_pages.to_string());
        row("footprint, MiB", format!("{:.1}", self.footprint_mib));
        let highest = self.highest_sector.map_or_else(|| "-".to_owned(), |s| s.to_string());
        row("highest sector", highest);
        row("streams", self.streams.to_string());
        row("folded", self.folded.to_string());
        row("steps back in time", self.steps_back.to_string());
        row("longest step back", readable_ns(self.max_back_ns));
        row("runs of the clock", self.clock_epochs.to_string());
        render(&rows)
    }
}

fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

fn render(rows: &[(String, String)]) -> String {
    let left = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let right = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name:left$}  {value:>right$}").expect("writing to a string cannot fail");
        text
    })
}

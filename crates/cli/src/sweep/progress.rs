//! How far a sweep is: a bar on a terminal, else a line now and then.

use crate::output::remark;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two lines where standard error is no terminal.
const QUIET: Duration = Duration::from_secs(60);

/// The display of a sweep.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    start: Instant,
    said: Instant,
    done: u64,
    of: u64,
}

impl Progress {
    /// A display of so many runs.
    pub(crate) fn new(of: u64) -> Self {
        let bar = || {
            let template = "{wide_bar} {pos} of {len} runs, {elapsed}, about {eta} left";
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            let bar = ProgressBar::new(of).with_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        };
        let bar = (of > 0 && std::io::stderr().is_terminal()).then(bar);
        let now = Instant::now();
        Self { bar, start: now, said: now, done: 0, of }
    }

    /// One run more is finished.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            return bar.inc(1);
        }
        if self.said.elapsed() >= QUIET && self.done < self.of {
            self.said = Instant::now();
            let passed = self.start.elapsed();
            let left = passed.mul_f64((self.of - self.done) as f64 / self.done as f64);
            let (done, of) = (self.done, self.of);
            let (passed, left) = (HumanDuration(passed), HumanDuration(left));
            remark(&format!("{done} of {of} runs, {passed}, about {left} left"));
        }
    }

    /// Takes the display away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! How far long work is, and about how much time is left: a line that changes on a terminal, else
//! a line a minute.
//!
//! Work is one piece (a run, a trace that is read) or many (the runs of a comparison). `text` says
//! it in words, `source` counts the requests that are read.

pub(crate) mod source;
mod text;

use crate::output::remark;
use flashyard_run::meter::{Listener, Runs};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use text::Shown;

/// The time between two lines if standard error is no terminal.
const QUIET: Duration = Duration::from_secs(60);

/// Time between two pictures on a terminal.
const TICK: Duration = Duration::from_millis(200);

/// What has been done.
#[derive(Debug)]
struct State {
    label: String,
    /// The name of the pieces. It is empty if the work is one piece.
    unit: &'static str,
    /// How many pieces are done, and how many there are.
    done: u64,
    of: u64,
    /// The weight of all, of what is done, and of what was done before the start.
    weight: f64,
    now: f64,
    before: f64,
    /// Whether `now` tells how far the work is.
    known: bool,
    requests: u64,
    start: Instant,
}

impl State {
    fn text(&self, width: usize) -> String {
        let share = (self.known && self.weight > 0.0).then(|| (self.now / self.weight).min(1.0));
        let taken = self.start.elapsed();
        let pace = (self.now - self.before) / (self.weight - self.before);
        let left = share.filter(|_| pace > 0.0).map(|_| taken.mul_f64((1.0 / pace - 1.0).max(0.0)));
        let Self { unit, done, of, requests, .. } = *self;
        Shown { label: &self.label, unit, done, of, requests, share, taken, left }.text(width)
    }
}

/// The work as all who do it share it.
#[derive(Clone, Debug)]
struct Work(Arc<Mutex<State>>);

impl Work {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The display of some work. It goes away when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    work: Work,
    bar: Option<ProgressBar>,
    /// The lengths of the pieces. If there are none, every piece has length 1.
    weights: Vec<f64>,
    /// Prints lines if there is no terminal.
    _ticker: Option<Ticker>,
}

impl Progress {
    /// Work of one piece. The label stands in front of each line, unless it is empty.
    pub(crate) fn one(label: &str) -> Self {
        Self::new(label, "", 1, 1.0)
    }

    /// Work of so many pieces of equal length. `unit` is the name of the pieces.
    pub(crate) fn many(label: &str, unit: &'static str, of: u64) -> Self {
        Self::new(label, unit, of, of as f64)
    }

    /// Work of pieces of these lengths.
    pub(crate) fn weighted(label: &str, unit: &'static str, weights: Vec<f64>) -> Self {
        let all = weights.iter().sum();
        let mut progress = Self::new(label, unit, weights.len() as u64, all);
        progress.weights = weights;
        progress
    }

    fn new(label: &str, unit: &'static str, of: u64, weight: f64) -> Self {
        let state = State {
            label: label.to_string(),
            unit,
            done: 0,
            of,
            weight,
            now: 0.0,
            before: 0.0,
            known: !unit.is_empty(),
            requests: 0,
            start: Instant::now(),
        };
        let work = Work(Arc::new(Mutex::new(state)));
        let told = work.clone();
        if std::io::stderr().is_terminal() {
            let bar = bar(told);
            return Self { work, bar: Some(bar), weights: Vec::new(), _ticker: None };
        }
        let ticker = Ticker::start(QUIET, move || {
            let text = told.state().text(0);
            remark(&text);
        });
        Self { work, bar: None, weights: Vec::new(), _ticker: ticker }
    }

    /// A piece of this length.
    pub(crate) fn part(&self, weight: f64) -> Part {
        Part { work: self.work.clone(), weight, told: 0.0, requests: 0 }
    }

    /// A piece of equal length is done.
    pub(crate) fn step(&self) {
        drop(self.part(1.0));
    }
}

/// Shows work that a library does.
pub(crate) fn watch(label: &str, unit: &'static str, weights: Vec<f64>) -> Box<dyn Runs> {
    Box::new(Progress::weighted(label, unit, weights))
}

impl Runs for Progress {
    fn begin(&self, place: usize) -> Box<dyn Listener> {
        Box::new(self.part(self.weights.get(place).copied().unwrap_or(1.0)))
    }

    /// A piece of equal length was done before: it says nothing about the time that is left.
    fn skip(&self) {
        self.work.state().before += 1.0;
        self.step();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A line on a terminal.
fn bar(work: Work) -> ProgressBar {
    let text = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = out.write_str(&work.state().text(text::GAUGE));
    };
    let style = ProgressStyle::with_template("{spinner} {text}").expect("the template is valid");
    let bar = ProgressBar::new_spinner().with_style(style.with_key("text", text));
    bar.enable_steady_tick(TICK);
    bar
}

/// A piece of some work, which tells how far it is. Dropped, it is done.
#[derive(Debug)]
pub(crate) struct Part {
    work: Work,
    weight: f64,
    /// What has been told: the share of the piece, and requests.
    told: f64,
    requests: u64,
}

impl Part {
    /// Tells how far the piece is, if this is known, and how many requests it has taken.
    pub(crate) fn at(&mut self, share: Option<f64>, requests: u64) {
        let mut state = self.work.state();
        if let Some(share) = share {
            // Never back, whatever the estimate.
            let share = share.clamp(self.told, 1.0);
            state.now += (share - self.told) * self.weight;
            state.known = true;
            self.told = share;
        } else if state.unit.is_empty() {
            state.known = false;
        }
        state.requests += requests.saturating_sub(self.requests);
        self.requests = self.requests.max(requests);
    }
}

impl Listener for Part {
    /// What is done now, of work of one piece: its time counts from here. Pieces of other work say
    /// no more than their share.
    fn stage(&mut self, label: &str) {
        let mut state = self.work.state();
        if state.unit.is_empty() {
            label.clone_into(&mut state.label);
            (state.now, state.known, state.requests) = (0.0, false, 0);
            state.start = Instant::now();
            (self.told, self.requests) = (0.0, 0);
        }
    }

    /// So much of a device has been built. Pieces of other work do not say so: nobody knows what
    /// share of a run that is.
    fn built(&mut self, done: u64, of: u64) {
        let is_alone = self.work.state().unit.is_empty();
        if of > 0 && is_alone {
            self.at(Some(done as f64 / of as f64), 0);
        }
    }

    fn at(&mut self, share: Option<f64>, requests: u64) {
        Self::at(self, share, requests);
    }
}

/// The piece is done, well or not.
impl Drop for Part {
    fn drop(&mut self) {
        self.at(Some(1.0), self.requests);
        self.work.state().done += 1;
    }
}

/// A thread that speaks again and again until it is dropped.
#[derive(Debug)]
struct Ticker {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `say` once each time `every` has passed. Returns none if the system has no thread for
    /// it.
    fn start(every: Duration, mut say: impl FnMut() + Send + 'static) -> Option<Self> {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = Arc::clone(&ended);
        let speak = move || {
            let (lock, condition) = &*shared;
            let mut ended = lock.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let waited = condition.wait_timeout_while(ended, every, |ended| !*ended);
                ended = waited.unwrap_or_else(PoisonError::into_inner).0;
                if *ended {
                    return;
                }
                say();
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_string()).spawn(speak).ok()?;
        Some(Self { ended, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn now(progress: &Progress) -> (u64, f64) {
        let state = progress.work.state();
        (state.done, state.now)
    }

    #[test]
    fn pieces_add_up_to_the_whole_and_never_go_back() {
        let progress = Progress::weighted("", "runs", vec![3.0, 1.0]);
        let (mut long, mut short) = (progress.part(3.0), progress.part(1.0));
        long.at(Some(0.5), 10);
        long.at(Some(0.25), 10);
        short.at(None, 5);
        assert_eq!(now(&progress), (0, 1.5));
        drop(long);
        assert_eq!(now(&progress), (1, 3.0));
        short.at(Some(7.0), 6);
        drop(short);
        assert_eq!(now(&progress), (2, 4.0));
        assert_eq!(progress.work.state().requests, 16);
    }

    #[test]
    fn what_was_done_before_says_nothing_about_the_time_that_is_left() {
        let progress = Progress::many("", "runs", 12);
        (0..10).for_each(|_| progress.skip());
        let text = |progress: &Progress| {
            progress.work.state().start =
                Instant::now().checked_sub(Duration::from_secs(600)).unwrap();
            progress.work.state().text(0)
        };
        assert_eq!(text(&progress), "10 of 12 runs");
        progress.step();
        assert_eq!(text(&progress), "11 of 12 runs, 10 min left");
    }

    #[test]
    fn a_stage_starts_from_nothing_and_a_share_that_is_not_known_is_not_said() {
        let progress = Progress::one("");
        let mut part = progress.part(1.0);
        part.stage("building the device");
        part.at(Some(0.5), 0);
        let text = progress.work.state().text(0);
        assert!(text.starts_with("building the device: 50 %, ") && text.ends_with(" s left"));
        part.stage("");
        part.at(None, 1_234_567);
        let text = progress.work.state().text(0);
        assert!(text.starts_with("1,234,567 requests, ") && text.ends_with(" s so far"), "{text}");
    }

    #[test]
    fn a_ticker_speaks_until_it_is_dropped() {
        let (said, heard) = mpsc::channel();
        let start = Instant::now();
        let every = Duration::from_millis(20);
        let ticker = Ticker::start(every, move || said.send(()).unwrap()).unwrap();
        heard.recv().unwrap();
        heard.recv().unwrap();
        assert!(start.elapsed() >= 2 * every);
        drop(ticker);
        let more = heard.try_iter().count() as f64;
        assert!(more <= start.elapsed().as_secs_f64() / every.as_secs_f64());
        assert!(heard.recv().is_err(), "nobody is left to speak");
    }
}

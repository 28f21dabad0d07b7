//! Brings a growing file to the disk without making its writer wait.
//!
//! A sync takes milliseconds, as long as a short run does. So a thread of its own does it, at most
//! ten times a second however many lines come, and within 0.1 s of a line however few come.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The time from one sync to the next one, at least.
const PAUSE: Duration = Duration::from_millis(100);

/// What the writer and the thread share.
#[derive(Debug, Default)]
struct State {
    /// Whether something was written since the last sync.
    is_dirty: AtomicBool,
    /// Syncs so far.
    syncs: AtomicU64,
    /// The error of a sync that the writer has not heard of yet.
    failed: Mutex<Option<io::Error>>,
}

impl State {
    /// Syncs what was written, if anything was.
    fn sync(&self, file: &File) {
        // A line that comes during the sync sets it again.
        if self.is_dirty.swap(false, Ordering::AcqRel) {
            self.syncs.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = file.sync_data() {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }

    /// The error of a sync, once.
    fn result(&self) -> io::Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// Syncs a file from a thread of its own, until it is dropped.
#[derive(Debug)]
pub(super) struct Flusher {
    state: Arc<State>,
    /// Closed to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts to sync a file. The error is that of a system that has no more threads.
    pub(super) fn new(file: Arc<File>) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let (stop, stopped) = channel();
        let shared = Arc::clone(&state);
        let thread = Builder::new().name("journal".to_string());
        let thread = thread.spawn(move || keep_syncing(&shared, &file, &stopped))?;
        Ok(Self { state, stop: Some(stop), thread: Some(thread) })
    }

    /// Takes note that something was written. The error is that of an earlier sync.
    pub(super) fn wrote(&self) -> io::Result<()> {
        self.state.is_dirty.store(true, Ordering::Release);
        self.state.result()
    }

    /// Ends the thread with a last sync, and returns how many there were. The error is that of a
    /// sync.
    pub(super) fn finish(&mut self) -> io::Result<u64> {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("syncing does not panic");
        }
        self.state.result()?;
        Ok(self.state.syncs.load(Ordering::Relaxed))
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        // What cannot be brought to the disk now is done again.
        let _ = self.finish();
    }
}

fn keep_syncing(state: &State, file: &File, stopped: &Receiver<()>) {
    while matches!(stopped.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout)) {
        state.sync(file);
    }
    state.sync(file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    /// Thousands of lines a second are brought to the disk at most ten times a second, and once
    /// more at the end.
    #[test]
    fn syncs_are_at_most_ten_a_second_and_one_at_the_end() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut flusher = Flusher::new(Arc::clone(&file)).unwrap();
        let (since, mut lines) = (Instant::now(), 0);
        while since.elapsed() < Duration::from_millis(550) {
            (&*file).write_all(b"line\n").unwrap();
            flusher.wrote().unwrap();
            lines += 1;
        }
        let syncs = flusher.finish().unwrap();
        let most = since.elapsed().as_millis() / PAUSE.as_millis() + 1;
        assert!(lines > 100 && syncs >= 1 && u128::from(syncs) <= most, "{syncs} of {most}");
        assert_eq!(flusher.finish().unwrap(), syncs, "nothing is left to sync");
    }

    /// A line that no other follows does not wait for the next one.
    #[test]
    fn a_single_line_is_synced_though_none_follows() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let flusher = Flusher::new(file).unwrap();
        flusher.wrote().unwrap();
        let since = Instant::now();
        while flusher.state.syncs.load(Ordering::Relaxed) == 0 {
            assert!(since.elapsed() < Duration::from_secs(60), "it is not synced");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

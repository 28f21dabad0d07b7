//! Runs side by side, as many as there are processors and as fit in memory.

use crate::memory::Room;
use std::sync::{Condvar, Mutex, PoisonError};

/// What the workers share.
struct Shared<D> {
    /// The next job.
    next: usize,
    running: usize,
    /// Bytes of the devices that are running.
    used: u64,
    /// Takes what was found; no more once it has said that that is enough.
    done: D,
    stopped: bool,
}

/// Runs jobs in order, each as soon as its bytes fit beside those that run; one fits always when it
/// is alone. `done` takes what was found, one at a time, and returns whether to go on.
pub fn run<T: Sync, R>(
    jobs: &[T],
    room: Room,
    bytes: impl Fn(&T) -> u64 + Sync,
    run: impl Fn(&T) -> R + Sync,
    done: impl FnMut(usize, R) -> bool + Send,
) {
    let threads = if room.alone { 1 } else { rayon::current_num_threads() }.min(jobs.len());
    let shared = Shared { next: 0, running: 0, used: 0, done, stopped: false };
    let (shared, ended) = (Mutex::new(shared), Condvar::new());
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = || {
        let mut state = lock();
        while let Some(job) = jobs.get(state.next).filter(|_| !state.stopped) {
            let need = bytes(job);
            if state.running > 0 && !room.has(state.used, need) {
                state = ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let place = state.next;
            (state.next, state.running) = (place + 1, state.running + 1);
            state.used = state.used.saturating_add(need);
            drop(state);
            let found = run(job);
            state = lock();
            state.running -= 1;
            state.used -= need.min(state.used);
            state.stopped |= !(state.done)(place, found);
            ended.notify_all();
        }
    };
    if threads <= 1 {
        return worker();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// However many threads there are, no more bytes are in use than there is room for, and every
    /// job is run once.
    #[test]
    fn jobs_keep_to_the_room() {
        let (used, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let jobs: Vec<u64> = (0..40).map(|number| 1 + number % 4).collect();
        let mut found = vec![0; jobs.len()];
        let room = Room { bytes: Some(5), alone: false };
        let one = |bytes: &u64| {
            let now = used.fetch_add(*bytes, Ordering::SeqCst) + bytes;
            most.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
            used.fetch_sub(*bytes, Ordering::SeqCst);
            *bytes
        };
        run(
            &jobs,
            room,
            |bytes| *bytes,
            one,
            |place, bytes| {
                found[place] += bytes;
                true
            },
        );
        assert_eq!(found, jobs);
        assert!(most.into_inner() <= 5);
    }

    #[test]
    fn a_job_that_is_too_large_runs_alone_and_done_can_stop_the_rest() {
        let mut count = 0;
        let room = Room { bytes: Some(5), alone: false };
        run(
            &[9, 9, 9],
            room,
            |bytes| *bytes,
            |_| (),
            |_, ()| {
                count += 1;
                count < 2
            },
        );
        assert_eq!(count, 2);
    }
}

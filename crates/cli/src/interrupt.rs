//! Signals that stop the program: what is unfinished is removed first.
//!
//! SIGINT (Ctrl-C), SIGTERM and SIGHUP end the program with status 130, 143 or 129, at once and
//! whatever it does. A signal that the program was started with as one to ignore (`nohup`, jobs in
//! the background of a script) stays ignored. A second signal ends it without removing anything.

use std::sync::OnceLock;

#[cfg(unix)]
pub(crate) use unix::watch;

/// The text about results that stay.
static KEPT: OnceLock<String> = OnceLock::new();

/// Says what stays when the program is stopped.
pub(crate) fn keeps(what: String) {
    let _ = KEPT.set(what);
}

/// Other systems end the program in their own way.
#[cfg(not(unix))]
pub(crate) fn watch() {}

#[cfg(unix)]
mod unix {
    use crate::output::{remark, unfinished};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::{flag, low_level};
    use std::io::IsTerminal;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// The signals and what they are called.
    const SIGNALS: [(i32, &str); 3] =
        [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

    /// Starts to watch for signals. If this fails, a signal ends the program at once and leaves
    /// unfinished files.
    pub(crate) fn watch() {
        let ignored = ignored();
        let wanted = SIGNALS.map(|(signal, _)| signal);
        let wanted = wanted.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let wanted: Vec<i32> = wanted.collect();
        let second = Arc::new(AtomicBool::new(false));
        for &signal in &wanted {
            // In this order: the first signal only sets the flag.
            let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&second));
            let _ = flag::register(signal, Arc::clone(&second));
        }
        let Ok(mut signals) = Signals::new(&wanted) else { return };
        let wait = move || {
            if let Some(signal) = signals.forever().next() {
                stop(signal);
            }
        };
        let _ = std::thread::Builder::new().name("signals".to_string()).spawn(wait);
    }

    /// Removes what is unfinished and ends the program.
    fn stop(signal: i32) {
        unfinished::remove_all(|| {
            let name = SIGNALS.iter().find(|(known, _)| *known == signal);
            let name = name.map_or("a signal", |(_, name)| name);
            // Behind what the terminal echoes, and a progress display.
            let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
            let kept = super::KEPT.get().map_or("unfinished results were removed", String::as_str);
            remark(&format!("{line}error: stopped by {name}; {kept}"));
            low_level::exit(128 + signal);
        });
    }

    /// Returns the signals that are ignored as bits, the lowest for signal 1. If the system does
    /// not tell, no bit is set.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

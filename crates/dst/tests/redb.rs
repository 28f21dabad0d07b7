//! A database on drives that are sound and on drives that are not.

#[path = "../examples/redb.rs"]
#[expect(dead_code, reason = "an example has a main")]
mod example;

use example::{cases, run};

/// A database that waits for its flushes loses nothing that it has committed on a sound drive, nor
/// on one with shorn writes, which its checksums find. A few seeds find a program that does not
/// wait, a drive that ignores it, and one that takes back what it has written; and find it again.
#[test]
fn a_database_keeps_what_it_commits() {
    let cases = cases();
    for case in &cases[..2] {
        for seed in 0..30 {
            let found = run(case, 7 * seed);
            assert!(found.is_whole(), "{}, seed {}: {found:?}", case.0, 7 * seed);
        }
    }
    for case in &cases[2..] {
        let seed = (0..120).find(|seed| !run(case, *seed).is_whole());
        let seed = seed.unwrap_or_else(|| panic!("{}: no seed finds it", case.0));
        assert_eq!(run(case, seed), run(case, seed), "it replays");
    }
}

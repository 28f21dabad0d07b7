//! A database on drives that are sound and on drives that are not.

#[path = "../examples/redb.rs"]
#[expect(dead_code, reason = "an example has a main")]
mod example;

use example::{cases, run};

/// On a sound drive a database that waits for its flushes loses nothing that it has committed; a
/// few seeds find a program that does not wait and a drive that ignores it, and find it again.
#[test]
fn a_database_keeps_what_it_commits() {
    let cases = cases();
    for seed in 0..24 {
        let found = run(&cases[0], seed);
        assert!(found.is_whole(), "seed {seed}: {found:?}");
    }
    for case in &cases[1..] {
        let seed = (0..120).find(|seed| !run(case, *seed).is_whole());
        let seed = seed.unwrap_or_else(|| panic!("{}: no seed finds it", case.0));
        assert_eq!(run(case, seed), run(case, seed), "it replays");
    }
}

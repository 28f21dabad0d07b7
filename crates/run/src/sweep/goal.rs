//! A goal in place of a grid: the least or the most value of a key at which a figure is below or
//! above a limit, found by bisection.

use super::file::{Find, Goal};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What was found at a value: the figure, half of its confidence interval, and why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// The figure.
    pub value: Option<f64>,
    /// Half of its 95 % confidence interval.
    pub half: Option<f64>,
}

/// The search at one point.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// By the number of the value.
    pub tried: BTreeMap<u64, Tried>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// These values are to be tried next: the second may be the same as the first.
    Try([u64; 2]),
    /// This is the value, and the one beside it does not meet the goal.
    Between {
        /// The number of the value.
        answer: u64,
        /// That of the one beside it.
        beside: u64,
    },
    /// The goal is met at both ends: this is the one that is looked for.
    Everywhere(u64),
    /// It is not met at the end where it should be easiest.
    Nowhere(u64),
    /// It is not met there, but at the other end: the figure goes the other way than `find` says.
    Reversed(u64),
}

impl Search {
    /// Where the search is.
    pub fn end(&self, goal: &Goal) -> End {
        let (wanted, easy) = match goal.find {
            Find::Least => (0, goal.last),
            Find::Most => (goal.last, 0),
        };
        let holds = |number: u64| self.tried.get(&number).map(|one| goal.holds(one.value));
        let (Some(at_wanted), Some(at_easy)) = (holds(wanted), holds(easy)) else {
            return End::Try([0, goal.last]);
        };
        if !at_easy {
            return if at_wanted { End::Reversed(easy) } else { End::Nowhere(easy) };
        }
        if at_wanted {
            return End::Everywhere(wanted);
        }
        let (mut bad, mut good) = (wanted, easy);
        while bad.abs_diff(good) > 1 {
            let middle = bad.midpoint(good);
            match holds(middle) {
                None => return End::Try([middle; 2]),
                Some(true) => good = middle,
                Some(false) => bad = middle,
            }
        }
        End::Between { answer: good, beside: bad }
    }

    /// The first two neighbours among the values that were tried between which the figure goes the
    /// other way than between two others.
    pub fn turns(&self, goal: &Goal) -> Option<(u64, u64)> {
        // With the value of the key the figure comes nearer to the goal, or the other way round.
        let expected = if goal.below == (goal.find == Find::Most) {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        let all: Vec<(u64, f64)> =
            self.tried.iter().filter_map(|(&number, one)| Some((number, one.value?))).collect();
        let goes = |way: Ordering| {
            all.windows(2).find(|pair| pair[0].1.partial_cmp(&pair[1].1) == Some(way))
        };
        let wrong = goes(expected.reverse()).filter(|_| goes(expected).is_some())?;
        Some((wrong[0].0, wrong[1].0))
    }

    /// Runs of a search at most: both ends, and the bisection.
    pub fn most(goal: &Goal) -> u64 {
        2 + u64::from(u64::BITS - (goal.last - 1).leading_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::Sweep;
    use super::super::journal::Found;
    use super::*;
    use crate::headline;

    fn goal(find: &str, limit: &str) -> Goal {
        let text = format!(
            "[goal]\nkey = \"a.b\"\nrange = [5, 50]\nmetric = \"wa\"\nfind = \"{find}\"\n{limit}\n"
        );
        Sweep::of_text(&text).goal.unwrap()
    }

    /// Searches; returns the end and how many values were tried.
    fn search(goal: &Goal, figure: impl Fn(u64) -> f64) -> (End, Search) {
        let mut search = Search::default();
        loop {
            match search.end(goal) {
                End::Try(values) => {
                    for number in values {
                        let value = Some(figure(number));
                        search.tried.insert(number, Tried { value, half: None });
                    }
                }
                end => return (end, search),
            }
        }
    }

    /// Every limit of a figure that falls or rises with the key: the answer is that of trying all.
    #[test]
    fn bisection_finds_what_trying_all_finds() {
        for limit in 0..48 {
            let below = goal("least", &format!("below = {}.5", limit - 1));
            let falling = |number: u64| 45.0 - number as f64;
            let (end, found) = search(&below, falling);
            let all = (0..=below.last).find(|&number| below.holds(Some(falling(number))));
            match all {
                None => assert_eq!(end, End::Nowhere(45)),
                Some(0) => assert_eq!(end, End::Everywhere(0)),
                Some(answer) => assert_eq!(end, End::Between { answer, beside: answer - 1 }),
            }
            assert!(found.tried.len() as u64 <= Search::most(&below), "{}", found.tried.len());
            assert_eq!(found.turns(&below), None);
            let most = goal("most", &format!("below = {}.5", limit - 1));
            let (end, _) = search(&most, |number| number as f64);
            let all = (0..=most.last).rev().find(|&number| most.holds(Some(number as f64)));
            match all {
                None => assert_eq!(end, End::Nowhere(0)),
                Some(45) => assert_eq!(end, End::Everywhere(45)),
                Some(answer) => assert_eq!(end, End::Between { answer, beside: answer + 1 }),
            }
        }
    }

    /// The figure of the stream decides, not that of all streams or of another one. A run without
    /// the stream does not meet a goal, whichever way it goes.
    #[test]
    fn a_goal_is_held_against_the_figure_of_its_stream() {
        let goal = |limit: &str| {
            let text = format!(
                "[goal]\nkey = \"a.b\"\nrange = [5, 50]\nmetric = \"stream.a.b.read.p99_us\"\n{limit}\n"
            );
            Sweep::of_text(&text).goal.unwrap()
        };
        let (below, above) = (goal("below = 500"), goal("above = 500"));
        assert_eq!(below.words(), "stream.a.b.read.p99_us < 500");
        let values = |name: &str, value: f64| {
            headline::of_streams().map(|one| (one.name == name).then_some(value)).collect()
        };
        let all = headline::ALL.iter().map(|one| (one.name == "read.p99_us").then_some(900.0));
        let streams = [
            ("a.b".to_string(), values("read.p99_us", 300.0)),
            ("b".to_string(), values("read.p99_us", 700.0)),
            ("a".to_string(), values("iops", 700.0)),
        ];
        let mut found =
            Found { values: all.collect(), streams: streams.into(), ..Found::default() };
        let holds =
            |found: &Found| [&below, &above].map(|goal| goal.holds(found.figure(&goal.metric)));
        assert_eq!(found.figure(&below.metric), Some(300.0));
        assert_eq!(holds(&found), [true, false]);
        found.streams.insert("a.b".to_string(), values("read.p99_us", 700.0));
        assert_eq!(holds(&found), [false, true]);
        found.streams.remove("a.b");
        assert_eq!(holds(&found), [false, false]);
        let failed = Found { failed: Some("why".to_string()), ..Found::default() };
        assert_eq!(holds(&failed), [false, false]);
    }

    #[test]
    fn a_figure_that_turns_back_is_noticed() {
        let goal = goal("least", "below = 10");
        let (_, found) =
            search(&goal, |number| if number == 22 { 99.0 } else { 45.0 - number as f64 });
        assert_eq!(found.turns(&goal), Some((0, 22)));
    }

    /// A figure that goes one way has no other answers, whichever way that is; where it goes the
    /// other way than the goal says, the search knows.
    #[test]
    fn a_figure_that_goes_the_other_way_is_no_turn() {
        for limit in [10, 100] {
            let goal = goal("least", &format!("below = {limit}"));
            let (end, found) = search(&goal, |number| number as f64);
            assert_eq!(end, if limit == 100 { End::Everywhere(0) } else { End::Reversed(45) });
            assert_eq!(found.turns(&goal), None);
        }
    }
}

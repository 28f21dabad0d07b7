//! Whether a run drifted: sums at even distances, from which its first and last third are read.

/// Marks that are kept; where they run out, every second one goes and the distance doubles. So 24
/// remain at least, and a third is met within a twenty-fourth of the run.
const MARKS: usize = 48;

/// Sums since the start of measured time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Bytes that flash programmed.
    pub programmed: u128,
    /// Bytes that the host wrote.
    pub written: u64,
    /// Of the requests whose latency counts, in nanoseconds.
    pub latency_ns: u128,
    /// Those requests.
    pub answered: u64,
}

crate::saved::saved!(Sums { programmed, written, latency_ns, answered });

/// What a third of a run did.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Third {
    /// Bytes programmed for all purposes / bytes the host wrote.
    pub write_amplification: Option<f64>,
    /// Mean latency of the requests that were answered in it.
    pub latency_mean_ns: Option<f64>,
}

/// The sums after each so many answers.
#[derive(Clone, Copy, Debug)]
pub struct Drift {
    answered: u64,
    next: u64,
    every: u64,
    kept: usize,
    marks: [Sums; MARKS],
}

crate::saved::saved!(Drift { answered, next, every, kept, marks });

impl Default for Drift {
    fn default() -> Self {
        Self { answered: 0, next: 1, every: 1, kept: 0, marks: [Sums::default(); MARKS] }
    }
}

impl Drift {
    /// A request is answered; whether its sums are to be marked.
    #[inline]
    pub const fn answered(&mut self) -> bool {
        self.answered += 1;
        self.answered == self.next
    }

    /// The sums after the request that was answered last.
    #[cold]
    pub fn mark(&mut self, sums: Sums) {
        if self.kept == MARKS {
            for place in 0..MARKS / 2 {
                self.marks[place] = self.marks[2 * place + 1];
            }
            self.kept = MARKS / 2;
            self.every *= 2;
        }
        self.next = self.answered + self.every;
        // The first mark behind a thinning may stand between two of the new distances.
        if self.answered.is_multiple_of(self.every) {
            self.marks[self.kept] = sums;
            self.kept += 1;
        } else {
            self.next = self.answered.next_multiple_of(self.every);
        }
    }

    /// The first and the last third of a run that ends with these sums; none of a run of fewer
    /// requests than thirds can be told of.
    pub fn thirds(&self, end: Sums) -> Option<[Third; 2]> {
        let marks = |share: u64| {
            let place = (self.answered * share / 3).checked_div(self.every)?.checked_sub(1)?;
            self.marks[..self.kept].get(usize::try_from(place).ok()?).copied()
        };
        let between = |from: Sums, to: Sums| {
            let (written, answered) = (to.written - from.written, to.answered - from.answered);
            let (programmed, ns) =
                (to.programmed - from.programmed, to.latency_ns - from.latency_ns);
            Third {
                write_amplification: (written > 0).then(|| programmed as f64 / written as f64),
                latency_mean_ns: (answered > 0).then(|| ns as f64 / answered as f64),
            }
        };
        Some([between(Sums::default(), marks(1)?), between(marks(2)?, end)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After `n` answers the host has written n bytes, and flash n^2: the thirds of N are N / 3 and
    /// 5 N / 3.
    #[test]
    fn thirds_are_those_of_a_plain_sum() {
        for count in [3, 10, 48, 49, 97, 1_000, 123_457] {
            let mut drift = Drift::default();
            let sums = |n: u64| Sums {
                programmed: u128::from(n * n),
                written: n,
                latency_ns: u128::from(2 * n),
                answered: n,
            };
            for n in 1..=count {
                if drift.answered() {
                    drift.mark(sums(n));
                }
            }
            let [first, last] = drift.thirds(sums(count)).unwrap();
            let near = |found: Option<f64>, expected: f64| {
                // A mark may lie before the third by one distance.
                (found.unwrap() - expected).abs() <= count as f64 / 20.0 + 1.0
            };
            let third = count as f64 / 3.0;
            assert!(near(first.write_amplification, third), "{count}: {first:?}");
            assert!(near(last.write_amplification, 5.0 * third), "{count}: {last:?}");
            assert_eq!(first.latency_mean_ns, Some(2.0));
        }
        assert!(Drift::default().thirds(Sums::default()).is_none());
    }
}

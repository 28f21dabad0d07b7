//! A figure as an expression sees it: of the run itself, and of its replicas.

use flashyard_run::stats::Interval;

/// A figure of a run, or one computed from figures of runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Of the run without replicas: what tables show.
    pub(crate) base: f64,
    pub(crate) spread: Spread,
    /// The workload that it is of, where it was chosen as the smallest or largest one.
    pub(crate) of: Option<usize>,
}

/// What is known about the noise of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spread {
    /// No run makes it vary: a constant, a property of the workload, a formula.
    Exact,
    /// The same figure of each replica.
    Replicas(Vec<f64>),
    /// Not known: there are no replicas.
    Unknown,
    /// The queue of a run grew, so the figure depends on the length of the workload.
    Overloaded,
}

impl Sample {
    pub(crate) const fn exact(value: f64) -> Self {
        Self { base: value, spread: Spread::Exact, of: None }
    }

    pub(crate) const fn is_overloaded(&self) -> bool {
        matches!(self.spread, Spread::Overloaded)
    }

    /// What a function makes of several figures: of the runs, and replica by replica. It is not
    /// exact, nor judged, where one of them is not.
    pub(crate) fn combine(of: &[Self], function: impl Fn(&[f64]) -> f64) -> Self {
        let bases: Vec<f64> = of.iter().map(|sample| sample.base).collect();
        let base = function(&bases);
        let has = |wanted: fn(&Spread) -> bool| of.iter().any(|sample| wanted(&sample.spread));
        let spread = if has(|spread| matches!(spread, Spread::Overloaded)) {
            Spread::Overloaded
        } else if has(|spread| matches!(spread, Spread::Unknown)) {
            Spread::Unknown
        } else {
            let counts = of.iter().filter_map(|sample| match &sample.spread {
                Spread::Replicas(values) => Some(values.len()),
                _ => None,
            });
            counts.min().map_or(Spread::Exact, |count| {
                let one = |replica: usize| -> f64 {
                    let row: Vec<f64> = of.iter().map(|one| one.of_replica(replica)).collect();
                    function(&row)
                };
                Spread::Replicas((0..count).map(one).collect())
            })
        };
        Self { base, spread, of: None }
    }

    fn of_replica(&self, replica: usize) -> f64 {
        match &self.spread {
            Spread::Replicas(values) => values[replica],
            _ => self.base,
        }
    }

    /// The confidence interval of the figure; of one that is exact the figure itself.
    pub(crate) fn interval(&self) -> Option<Interval> {
        match &self.spread {
            Spread::Exact => Some(Interval { low: self.base, high: self.base }),
            Spread::Replicas(values) => Interval::of_mean(values),
            Spread::Unknown | Spread::Overloaded => None,
        }
    }

    /// Where the figure of one more run would lie.
    pub(crate) fn of_one_more(&self) -> Option<Interval> {
        match &self.spread {
            Spread::Replicas(values) => Interval::of_one_more(values),
            _ => self.interval(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(base: f64, replicas: &[f64]) -> Sample {
        Sample { base, spread: Spread::Replicas(replicas.to_vec()), of: None }
    }

    fn sum(of: &[Sample]) -> Sample {
        Sample::combine(of, |values| values.iter().sum())
    }

    #[test]
    fn figures_are_combined_replica_by_replica() {
        let two = sum(&[sample(1.0, &[2.0, 3.0]), sample(10.0, &[20.0, 30.0])]);
        assert_eq!(two, sample(11.0, &[22.0, 33.0]));
        assert_eq!(sum(&[two, Sample::exact(0.5)]), sample(11.5, &[22.5, 33.5]));
        assert_eq!(sum(&[Sample::exact(1.0), Sample::exact(2.0)]), Sample::exact(3.0));
    }

    #[test]
    fn what_is_overloaded_or_not_replicated_stays_so() {
        let of = |spread| Sample { base: 1.0, spread, of: None };
        let overloaded = sum(&[of(Spread::Unknown), of(Spread::Overloaded)]);
        assert!(overloaded.is_overloaded() && overloaded.interval().is_none());
        let unknown = sum(&[of(Spread::Unknown), sample(1.0, &[1.0, 2.0])]);
        assert_eq!(unknown.spread, Spread::Unknown);
    }
}

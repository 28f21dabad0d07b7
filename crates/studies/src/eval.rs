//! What expressions come to, over the runs of a study.

use crate::expr::{Aggregate, Expr, Operator, RunOf};
use crate::names::Names;
use crate::runs::RunKey;
use crate::sample::{Sample, Spread};
use crate::tokens::Printed;
use flashyard_run::stats::{mean, median};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Where figures come from.
pub(crate) trait Figures {
    /// Returns a figure of a run, if the run exists and the figure is defined.
    fn figure(&self, key: RunKey, metric: usize) -> Option<Sample>;
    /// A figure of a workload.
    fn of_workload(&self, workload: usize, metric: usize) -> Option<Sample>;
    /// A published figure of a workload.
    fn published(&self, workload: usize, metric: usize) -> Option<Printed>;
    /// A number by formula.
    fn known(&self, number: usize) -> f64;
    /// Whether a worked example comes out.
    fn example(&self, number: usize) -> bool;
}

/// What is chosen while an expression is evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) grid: usize,
    pub(crate) point: usize,
    pub(crate) subject: Option<usize>,
    pub(crate) workload: Option<usize>,
    /// What means and quantifiers go over.
    pub(crate) workloads: Vec<usize>,
}

/// Evaluates expressions.
pub(crate) struct Evaluator<'a, F> {
    pub(crate) names: &'a Names,
    pub(crate) figures: &'a F,
    /// Workloads that no mean goes over, unless it has no others.
    pub(crate) dropped: BTreeSet<usize>,
    /// Those whose queue grew in a mean that has others.
    overloaded: RefCell<BTreeSet<usize>>,
    /// Those that a mean left out.
    pub(crate) left_out: RefCell<BTreeSet<usize>>,
}

impl<'a, F: Figures> Evaluator<'a, F> {
    /// One whose means go over all workloads.
    pub(crate) const fn new(names: &'a Names, figures: &'a F) -> Self {
        Self {
            names,
            figures,
            dropped: BTreeSet::new(),
            overloaded: RefCell::new(BTreeSet::new()),
            left_out: RefCell::new(BTreeSet::new()),
        }
    }

    /// One for expressions whose figures stand beside one another: a workload whose queue grows in
    /// one mean is left out of all, and so is what this one leaves out. So all means go over the
    /// same workloads.
    pub(crate) fn of_all<'e>(&self, all: impl Iterator<Item = (&'e Expr, &'e Scope)>) -> Self {
        let first = Self::new(self.names, self.figures);
        for (expr, scope) in all {
            first.evaluate(expr, scope);
        }
        let dropped = &self.dropped | &*first.overloaded.borrow();
        Self { dropped, ..Self::new(self.names, self.figures) }
    }

    /// Looks at all figures of an expression.
    pub(crate) fn evaluate(&self, expr: &Expr, scope: &Scope) {
        self.judge(expr, scope);
        self.number(expr, scope);
    }

    /// Returns the value of a number, if all figures in it are defined.
    pub(crate) fn number(&self, expr: &Expr, scope: &Scope) -> Option<Sample> {
        match expr {
            Expr::Number(printed) => Some(Sample::exact(printed.value)),
            Expr::Published(metric) => {
                let printed = self.figures.published(scope.workload?, *metric)?;
                Some(Sample::exact(printed.value))
            }
            Expr::Figure { metric, of, over } => {
                let of = self.of_run(*of, *metric, scope)?;
                match over {
                    None => Some(of),
                    Some(over) => {
                        let over = self.of_run(*over, *metric, scope)?;
                        arithmetic(Operator::Divide, of, over)
                    }
                }
            }
            Expr::OfWorkload(metric) => self.figures.of_workload(scope.workload?, *metric),
            Expr::Known(number) => Some(Sample::exact(self.figures.known(*number))),
            Expr::Over(aggregate, of) => self.aggregate(*aggregate, of, scope),
            Expr::On(workloads, of) => self.number(of, &on(workloads, scope)),
            Expr::Without(workloads, of) => self.number(of, &without(workloads, scope)),
            Expr::At(point, of) => self.number(of, &Scope { point: *point, ..scope.clone() }),
            Expr::In(grid, of) => self.number(of, &self.in_grid(*grid, scope)),
            Expr::Negative(of) => {
                let of = self.number(of, scope)?;
                Some(Sample::combine(&[of], |values| -values[0]))
            }
            Expr::Arithmetic(operator, left, right) => {
                arithmetic(*operator, self.number(left, scope)?, self.number(right, scope)?)
            }
            Expr::Compare(..)
            | Expr::Workloads(..)
            | Expr::Points(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Example(_) => None,
        }
    }

    fn of_run(&self, run: RunOf, metric: usize, scope: &Scope) -> Option<Sample> {
        let key = RunKey {
            grid: scope.grid,
            point: run.point.unwrap_or(scope.point),
            subject: run.subject.or(scope.subject)?,
            workload: scope.workload?,
        };
        self.figures.figure(key, metric)
    }

    fn aggregate(&self, aggregate: Aggregate, of: &Expr, scope: &Scope) -> Option<Sample> {
        let value = |&workload: &usize| {
            let scope = Scope { workload: Some(workload), ..scope.clone() };
            self.number(of, &scope).map(|sample| (workload, sample))
        };
        let all: Vec<(usize, Sample)> = scope.workloads.iter().filter_map(value).collect();
        let overloaded = all.iter().filter(|(_, sample)| sample.is_overloaded());
        let overloaded: Vec<usize> = overloaded.map(|(workload, _)| *workload).collect();
        if overloaded.len() < all.len() {
            self.overloaded.borrow_mut().extend(overloaded);
        }
        let (dropped, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(workload, _)| self.dropped.contains(workload));
        let used = if kept.is_empty() {
            dropped
        } else {
            self.left_out.borrow_mut().extend(dropped.iter().map(|(workload, _)| *workload));
            kept
        };
        let samples: Vec<Sample> = used.iter().map(|(_, sample)| sample.clone()).collect();
        if samples.is_empty() {
            return None;
        }
        let mut sample = Sample::combine(&samples, |values| match aggregate {
            Aggregate::Mean => mean(values),
            Aggregate::Median => median(values),
            Aggregate::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Aggregate::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Aggregate::Sum => values.iter().sum(),
        });
        if matches!(aggregate, Aggregate::Min | Aggregate::Max) {
            let extreme = used.iter().find(|(_, one)| one.base.to_bits() == sample.base.to_bits());
            sample.of = extreme.map(|(workload, _)| *workload);
        }
        Some(sample)
    }

    /// The same scope in another grid: the workloads that are there too.
    pub(crate) fn in_grid(&self, grid: usize, scope: &Scope) -> Scope {
        let row = &self.names.grids[grid];
        let known = scope.workloads.iter().copied();
        let workloads = known.filter(|workload| row.workloads.contains(workload)).collect();
        Scope { grid, point: 0, workloads, ..scope.clone() }
    }
}

/// The scope on those of some workloads that are in it. Where one is named, it is chosen; means go
/// over several.
pub(crate) fn on(workloads: &[usize], scope: &Scope) -> Scope {
    let known = scope.workloads.iter().copied().filter(|one| workloads.contains(one));
    let known: Vec<usize> = known.collect();
    let workload = if workloads.len() == 1 { known.first().copied() } else { scope.workload };
    Scope { workload, workloads: known, ..scope.clone() }
}

/// The scope without some workloads.
pub(crate) fn without(workloads: &[usize], scope: &Scope) -> Scope {
    let rest = scope.workloads.iter().copied().filter(|one| !workloads.contains(one));
    Scope { workloads: rest.collect(), ..scope.clone() }
}

/// Combines two numbers. A division by 0 gives none.
fn arithmetic(operator: Operator, left: Sample, right: Sample) -> Option<Sample> {
    let of = left.of.or(right.of);
    let mut sample = Sample::combine(&[left, right], |values| match operator {
        Operator::Add => values[0] + values[1],
        Operator::Subtract => values[0] - values[1],
        Operator::Multiply => values[0] * values[1],
        Operator::Divide => values[0] / values[1],
    });
    sample.of = of;
    sample.base.is_finite().then_some(sample)
}

/// Names the runs that an expression needs replicas of: all it looks at but those whose queue
/// grows, which are not judged; and the workloads.
pub(crate) struct Recorder<'a, F> {
    figures: &'a F,
    runs: RefCell<BTreeSet<RunKey>>,
    workloads: RefCell<BTreeSet<usize>>,
}

impl<'a, F> Recorder<'a, F> {
    pub(crate) const fn new(figures: &'a F) -> Self {
        let runs = RefCell::new(BTreeSet::new());
        Self { figures, runs, workloads: RefCell::new(BTreeSet::new()) }
    }

    /// The runs and the workloads.
    pub(crate) fn wanted(self) -> (BTreeSet<RunKey>, BTreeSet<usize>) {
        (self.runs.into_inner(), self.workloads.into_inner())
    }
}

impl<F: Figures> Figures for Recorder<'_, F> {
    fn figure(&self, key: RunKey, metric: usize) -> Option<Sample> {
        let sample = self.figures.figure(key, metric)?;
        if !sample.is_overloaded() && sample.spread != Spread::Exact {
            self.runs.borrow_mut().insert(key);
        }
        Some(sample)
    }

    fn of_workload(&self, workload: usize, metric: usize) -> Option<Sample> {
        self.workloads.borrow_mut().insert(workload);
        self.figures.of_workload(workload, metric)
    }

    fn published(&self, workload: usize, metric: usize) -> Option<Printed> {
        self.figures.published(workload, metric)
    }

    fn known(&self, number: usize) -> f64 {
        self.figures.known(number)
    }

    fn example(&self, number: usize) -> bool {
        self.figures.example(number)
    }
}

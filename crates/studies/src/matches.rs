//! The published numbers that statements compare figures with: each figure beside its number.

use crate::eval::{Evaluator, Figures, Scope, on, without};
use crate::expr::{Expr, Relation};
use crate::judge::Judged;
use crate::sample::Sample;
use serde_json::{Value, json};

/// A figure beside the published number that it should match.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    workload: Option<usize>,
    found: Option<f64>,
    one_more: Option<[f64; 2]>,
    published: f64,
    half: f64,
    percent: bool,
    pub(crate) judged: Judged,
}

/// The same with names and a verdict.
#[derive(Clone, Debug)]
pub struct Number {
    /// What the part of the statement says; empty of the whole statement.
    pub says: String,
    /// The workload, where it is a figure of one.
    pub workload: Option<String>,
    /// The figure, if it is defined.
    pub found: Option<f64>,
    /// Where one more run would lie.
    pub one_more: Option<[f64; 2]>,
    /// What is published.
    pub published: f64,
    /// Half of the last digit that is printed.
    pub half: f64,
    /// Whether the number is printed in percent.
    pub percent: bool,
    /// The word of the verdict.
    pub verdict: &'static str,
}

impl Match {
    pub(crate) fn number(self, says: &str, workloads: &[String], verdict: &'static str) -> Number {
        let Self { workload, found, one_more, published, half, percent, .. } = self;
        let workload = workload.map(|place| workloads[place].clone());
        Number {
            says: says.to_string(),
            workload,
            found,
            one_more,
            published,
            half,
            percent,
            verdict,
        }
    }
}

impl Number {
    /// The number as data.
    pub(crate) fn object(&self) -> Value {
        json!({
            "says": self.says,
            "workload": self.workload,
            "found": self.found,
            "one_more": self.one_more,
            "published": self.published,
            "half_digit": self.half,
            "percent": self.percent,
            "verdict": self.verdict,
        })
    }
}

impl<F: Figures> Evaluator<'_, F> {
    /// All comparisons with published numbers in an expression.
    pub(crate) fn matches(&self, expr: &Expr, scope: &Scope) -> Vec<Match> {
        match expr {
            Expr::Compare(Relation::Matches, left, right) => {
                self.one_match(expr, left, right, scope).into_iter().collect()
            }
            Expr::Workloads(_, of) => {
                let of_one = |&workload: &usize| {
                    let own = Scope { workload: Some(workload), ..scope.clone() };
                    self.matches(of, &own)
                };
                scope.workloads.iter().flat_map(of_one).collect()
            }
            Expr::And(all) | Expr::Or(all) => {
                all.iter().flat_map(|expr| self.matches(expr, scope)).collect()
            }
            Expr::On(workloads, of) => self.matches(of, &on(workloads, scope)),
            Expr::Without(workloads, of) => self.matches(of, &without(workloads, scope)),
            Expr::At(point, of) => self.matches(of, &Scope { point: *point, ..scope.clone() }),
            Expr::In(grid, of) => self.matches(of, &self.in_grid(*grid, scope)),
            _ => Vec::new(),
        }
    }

    fn one_match(&self, all: &Expr, left: &Expr, right: &Expr, scope: &Scope) -> Option<Match> {
        let published = self.number(right, scope)?.base;
        let found = self.number(left, scope);
        let range = found.as_ref().and_then(Sample::of_one_more);
        Some(Match {
            workload: scope.workload,
            found: found.map(|sample| sample.base).filter(|value| value.is_finite()),
            one_more: range.map(|range| [range.low, range.high]),
            published,
            half: self.half(right, scope),
            percent: self.is_percent(right, scope),
            judged: self.judge(all, scope),
        })
    }

    /// Whether a published number is printed in percent.
    fn is_percent(&self, published: &Expr, scope: &Scope) -> bool {
        match published {
            Expr::Number(printed) => printed.percent,
            Expr::Negative(of) => self.is_percent(of, scope),
            Expr::Published(metric) => {
                let printed = scope.workload.and_then(|one| self.figures.published(one, *metric));
                printed.is_some_and(|printed| printed.percent)
            }
            _ => false,
        }
    }
}

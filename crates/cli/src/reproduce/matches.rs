//! The published numbers that statements compare figures with: each figure beside its number.

use super::eval::{Evaluator, Figures, Scope, on, without};
use super::expr::{Expr, Relation};
use super::judge::Judged;
use super::sample::Sample;
use serde_json::{Value, json};

/// A figure beside the published number that it should match.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// The workload, where it is a figure of one.
    pub(crate) workload: Option<usize>,
    pub(crate) found: Option<f64>,
    /// Where one more run would lie.
    pub(crate) one_more: Option<[f64; 2]>,
    pub(crate) published: f64,
    /// Half of the last digit that is printed.
    pub(crate) half: f64,
    /// Whether the number is printed in percent.
    pub(crate) percent: bool,
    pub(crate) judged: Judged,
}

impl Match {
    /// The same as data.
    pub(crate) fn object(&self, says: &str, workloads: &[String], verdict: &str) -> Value {
        json!({
            "says": says,
            "workload": self.workload.map(|place| &workloads[place]),
            "found": self.found,
            "one_more": self.one_more,
            "published": self.published,
            "half_digit": self.half,
            "percent": self.percent,
            "verdict": verdict,
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

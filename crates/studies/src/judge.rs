//! Whether a comparison holds: the one rule of all studies. docs/STUDIES.md states it.

use crate::eval::{Evaluator, Figures, Scope, on, without};
use crate::expr::{Expr, Quantifier, Relation, Trend};
use crate::sample::{Sample, Spread};
use flashyard_run::stats::Interval;
use std::collections::BTreeSet;

/// How far two figures may be apart and still be called the same: a ratio of 1.05 either way. The
/// whole confidence interval has to lie within.
pub(crate) const MARGIN: f64 = 1.05;

/// How far a figure may be from a published number and still be called its match, as a share of the
/// number: what a publication does not say of its runs moves figures by as much. Our choice.
pub(crate) const TOLERANCE: f64 = 0.1;

/// The widest confidence interval that shows something of a published number, as a share of the
/// number. Our choice.
pub(crate) const WIDEST: f64 = 0.25;

/// The outcome of one comparison or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Yes,
    /// Of several that make it up some hold.
    Partly,
    No,
    /// The noise is too large to say.
    NotShown,
    /// What is compared does not differ at all.
    Nothing,
    /// What the publication leaves open decides it.
    Open,
    NotJudged,
}

impl Outcome {
    /// Whether more runs, or the choices of the publication, could still make it hold.
    const fn is_undecided(self) -> bool {
        matches!(self, Self::NotShown | Self::Open | Self::NotJudged)
    }
}

/// An outcome, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    /// Why it is not a plain yes.
    pub(crate) reason: Option<String>,
}

impl Judged {
    const YES: Self = Self { outcome: Outcome::Yes, reason: None };

    fn no(reason: &str) -> Self {
        Self { outcome: Outcome::No, reason: Some(reason.to_string()) }
    }

    fn not_shown(reason: &str) -> Self {
        Self { outcome: Outcome::NotShown, reason: Some(reason.to_string()) }
    }

    fn nothing() -> Self {
        Self { outcome: Outcome::Nothing, reason: Some("no difference".to_string()) }
    }

    pub(crate) fn not_judged(reason: &str) -> Self {
        Self { outcome: Outcome::NotJudged, reason: Some(reason.to_string()) }
    }
}

const NOISE: &str = "no difference above the noise";
const CONTRARY: &str = "the other way round";
/// Moved arrivals are another workload than the one whose figure is printed.
const RUN_ITSELF: &str = "in replicas, but not in the run itself";
const OVERLOADED: &str = "its queue grows";
const UNDEFINED: &str = "not available";
const NO_REPLICAS: &str = "no replicas";

/// A figure over what a publication leaves open.
struct Choices {
    range: Interval,
    /// What matches the published number.
    wanted: Interval,
    /// Workloads that the range leaves out, and the statement does not.
    without: BTreeSet<usize>,
}

impl<F: Figures> Evaluator<'_, F> {
    /// Whether something holds.
    pub(crate) fn judge(&self, expr: &Expr, scope: &Scope) -> Judged {
        match expr {
            Expr::Compare(relation, left, right) => self.compare(*relation, (left, right), scope),
            Expr::Workloads(quantifier, of) => self.quantified(*quantifier, of, scope),
            Expr::Points(trend, of) => self.trend(*trend, of, scope),
            Expr::And(all) => both(all.iter().map(|expr| self.judge(expr, scope)).collect()),
            Expr::Or(all) => either(all.iter().map(|expr| self.judge(expr, scope)).collect()),
            Expr::Example(number) if self.figures.example(*number) => Judged::YES,
            Expr::Example(_) => Judged::no("the example comes out otherwise"),
            Expr::On(workloads, of) => self.judge(of, &on(workloads, scope)),
            Expr::Without(workloads, of) => self.judge(of, &without(workloads, scope)),
            Expr::At(point, of) => self.judge(of, &Scope { point: *point, ..scope.clone() }),
            Expr::In(grid, of) => self.judge(of, &self.in_grid(*grid, scope)),
            _ => Judged::not_judged(UNDEFINED),
        }
    }

    fn compare(&self, relation: Relation, of: (&Expr, &Expr), scope: &Scope) -> Judged {
        let (left, right) = (self.number(of.0, scope), self.number(of.1, scope));
        let (Some(left), Some(right)) = (left, right) else {
            return Judged::not_judged(UNDEFINED);
        };
        match relation {
            Relation::Less => is_above_zero(&minus(&right, &left)),
            Relation::Greater => is_above_zero(&minus(&left, &right)),
            Relation::Equal => is_zero(&minus(&left, &right)),
            Relation::Near => is_near(&left, &right),
            Relation::Matches => matches(&left, right.base, self.half(of.1, scope)),
        }
    }

    /// Half of the last digit of a published number.
    pub(crate) fn half(&self, published: &Expr, scope: &Scope) -> f64 {
        match published {
            Expr::Number(printed) => printed.half,
            Expr::Negative(of) => self.half(of, scope),
            Expr::Published(metric) => {
                let printed = scope.workload.and_then(|one| self.figures.published(one, *metric));
                printed.map_or(0.0, |printed| printed.half)
            }
            _ => 0.0,
        }
    }

    /// A published number that our figure misses, where the publication leaves choices open: it
    /// is judged against the range of the figure over the points of the grids that hold the
    /// choices, and the range is told. All else stays as it was judged.
    pub(crate) fn with_choices(
        &self,
        judged: Judged,
        expr: &Expr,
        scope: &Scope,
        grids: &[usize],
    ) -> Judged {
        let found = self.over_choices(expr, scope, grids).filter(|_| !grids.is_empty());
        let Some(Choices { range, wanted, without }) = found else { return judged };
        let mut text = format!("over the open choices {:.3} to {:.3}", range.low, range.high);
        if !without.is_empty() {
            let names = without.iter().map(|place| self.names.workloads[*place].as_str());
            text += &format!(", all without {}", names.collect::<Vec<_>>().join(", "));
        }
        let is_open = judged.outcome == Outcome::No && range.meets(&wanted);
        let outcome = if is_open { Outcome::Open } else { judged.outcome };
        let reason = judged.reason.map_or_else(|| text.clone(), |why| format!("{why}; {text}"));
        Judged { outcome, reason: Some(reason) }
    }

    /// The range of a figure over the points of grids and where it is judged, and what matches the
    /// published number that it is compared with. Its means go over the same workloads everywhere.
    fn over_choices(&self, expr: &Expr, scope: &Scope, grids: &[usize]) -> Option<Choices> {
        match expr {
            Expr::On(workloads, of) => self.over_choices(of, &on(workloads, scope), grids),
            Expr::Without(workloads, of) => {
                self.over_choices(of, &without(workloads, scope), grids)
            }
            Expr::Compare(Relation::Matches, left, right) => {
                let at = |&grid: &usize| {
                    let inside = self.in_grid(grid, scope);
                    let points = 0..self.names.grids[grid].points.len();
                    points.map(move |point| Scope { point, ..inside.clone() })
                };
                let scopes = [scope.clone()].into_iter().chain(grids.iter().flat_map(at));
                let scopes: Vec<Scope> = scopes.collect();
                let common = self.of_all(scopes.iter().map(|scope| (&**left, scope)));
                let values = scopes.iter().filter_map(|scope| common.number(left, scope));
                let values = values.filter(|sample| !sample.is_overloaded());
                let values: Vec<f64> = values.map(|sample| sample.base).collect();
                let low = values.iter().copied().reduce(f64::min)?;
                let high = values.iter().copied().reduce(f64::max)?;
                let published = self.number(right, scope)?.base;
                let give = self.half(right, scope).max(TOLERANCE * published.abs());
                let wanted = Interval { low: published - give, high: published + give };
                let without = &*common.left_out.borrow() - &self.dropped;
                Some(Choices { range: Interval { low, high }, wanted, without })
            }
            _ => None,
        }
    }

    fn quantified(&self, quantifier: Quantifier, of: &Expr, scope: &Scope) -> Judged {
        let mut all = Vec::new();
        for &workload in &scope.workloads {
            let own = Scope { workload: Some(workload), ..scope.clone() };
            let judged = self.judge(of, &own);
            if judged.reason.as_deref() != Some(UNDEFINED) {
                all.push((workload, judged));
            }
        }
        let count = |outcome| all.iter().filter(|(_, judged)| judged.outcome == outcome).count();
        let yes = count(Outcome::Yes);
        let open = all.iter().filter(|(_, judged)| judged.outcome.is_undecided()).count();
        let outcomes: Vec<Outcome> = all.iter().map(|(_, one)| one.outcome).collect();
        if all.is_empty() {
            return Judged::not_judged(UNDEFINED);
        }
        let outcome = match quantifier {
            Quantifier::All => of_all(&outcomes),
            Quantifier::Most if 2 * yes > all.len() => Outcome::Yes,
            Quantifier::Any if yes > 0 => Outcome::Yes,
            _ if outcomes.iter().all(|one| *one == Outcome::Nothing) => Outcome::Nothing,
            Quantifier::Most if 2 * (yes + open) <= all.len() => Outcome::No,
            Quantifier::Any if open == 0 => Outcome::No,
            Quantifier::Most | Quantifier::Any if outcomes.contains(&Outcome::NotShown) => {
                Outcome::NotShown
            }
            Quantifier::Most | Quantifier::Any => Outcome::NotJudged,
        };
        let mut text = format!("{yes} of {}", all.len());
        let others = all.iter().filter(|(_, judged)| judged.outcome != Outcome::Yes);
        let others: Vec<String> =
            others.map(|(workload, judged)| self.named(*workload, judged)).collect();
        if !others.is_empty() && others.len() < 6 {
            text += &format!("; not {}", others.join(", "));
        }
        Judged { outcome, reason: Some(text) }
    }

    fn named(&self, workload: usize, judged: &Judged) -> String {
        let name = &self.names.workloads[workload];
        judged.reason.as_ref().map_or_else(|| name.clone(), |why| format!("{name} ({why})"))
    }

    /// A trend by the test of Mann and Kendall: of all pairs of points, those where the later one
    /// is larger above the noise, less those where it is smaller, are more than chance brings about
    /// in one of twenty cases.
    fn trend(&self, trend: Trend, of: &Expr, scope: &Scope) -> Judged {
        let points = &self.names.grids[scope.grid].points;
        let value = |point: usize| self.number(of, &Scope { point, ..scope.clone() });
        let values: Option<Vec<Sample>> = (0..points.len()).map(value).collect();
        let Some(values) = values else { return Judged::not_judged(UNDEFINED) };
        let (mut up, mut down) = (0, 0);
        for later in 1..values.len() {
            for earlier in 0..later {
                let step = |difference: &Sample| is_above_zero(difference);
                let rise = step(&minus(&values[later], &values[earlier]));
                let fall = step(&minus(&values[earlier], &values[later]));
                let open = [&rise, &fall].into_iter().find(|one| one.outcome == Outcome::NotJudged);
                if let Some(open) = open {
                    return open.clone();
                }
                up += usize::from(rise.outcome == Outcome::Yes);
                down += usize::from(fall.outcome == Outcome::Yes);
            }
        }
        let chance = chance_of(values.len(), up.abs_diff(down));
        let text = format!(
            "of {} pairs of points {up} rise and {down} fall above the noise; so many more one way than \
             the other are chance in {:.1} %",
            values.len() * (values.len() - 1) / 2,
            100.0 * chance
        );
        let is_trend = chance < CHANCE;
        let outcome = match trend {
            Trend::Rises if is_trend && up > down => Outcome::Yes,
            Trend::Falls if is_trend && down > up => Outcome::Yes,
            Trend::None if is_trend => Outcome::No,
            // Without a step either way nothing shows that there is no trend.
            Trend::None if up > 0 && down > 0 => Outcome::Yes,
            Trend::None => Outcome::NotShown,
            Trend::Rises | Trend::Falls if values.iter().all(|one| *one == values[0]) => {
                Outcome::Nothing
            }
            Trend::Rises | Trend::Falls if is_trend => Outcome::No,
            Trend::Rises if up >= down => Outcome::NotShown,
            Trend::Falls if down >= up => Outcome::NotShown,
            Trend::Rises | Trend::Falls => Outcome::No,
        };
        Judged { outcome, reason: Some(text) }
    }
}

/// A trend is one that chance brings about more rarely than this.
const CHANCE: f64 = 0.05;

/// How likely values in random order have at least so many more pairs one way than the other:
/// the exact distribution of Kendall's S.
fn chance_of(values: usize, surplus: usize) -> f64 {
    // How many orders have so many pairs that fall, value by value.
    let mut orders = vec![1.0];
    for value in 2..=values {
        let mut next = vec![0.0; orders.len() + value - 1];
        for (falling, count) in orders.iter().enumerate() {
            (0..value).for_each(|more| next[falling + more] += count / value as f64);
        }
        orders = next;
    }
    let pairs = orders.len() - 1;
    let is_as_far = |falling: usize| (pairs - falling).abs_diff(falling) >= surplus;
    orders.iter().enumerate().filter(|(place, _)| is_as_far(*place)).map(|(_, share)| share).sum()
}

fn minus(left: &Sample, right: &Sample) -> Sample {
    Sample::combine(&[left.clone(), right.clone()], |values| values[0] - values[1])
}

/// Whether a difference is above the noise, and above 0. Of an overloaded run it may be found not
/// to be, never that it is.
fn is_above_zero(difference: &Sample) -> Judged {
    let base = difference.base;
    match &difference.spread {
        _ if !base.is_finite() => Judged::not_judged(UNDEFINED),
        Spread::Exact if base > 0.0 => Judged::YES,
        Spread::Exact if base < 0.0 => Judged::no(CONTRARY),
        Spread::Exact => Judged::nothing(),
        Spread::Overloaded if base > 0.0 => Judged::not_judged(OVERLOADED),
        Spread::Overloaded => Judged::no(&format!("{CONTRARY}, and {OVERLOADED}")),
        Spread::Unknown => Judged::not_judged(NO_REPLICAS),
        Spread::Replicas(values) => match Interval::of_mean(values) {
            None => Judged::not_judged(NO_REPLICAS),
            Some(interval) if interval.is_above_zero() && base > 0.0 => Judged::YES,
            Some(interval) if interval.is_above_zero() => Judged::not_shown(RUN_ITSELF),
            Some(interval) if interval.is_below_zero() => Judged::no(CONTRARY),
            Some(interval) if interval.low.to_bits() == interval.high.to_bits() => {
                Judged::nothing()
            }
            Some(_) => Judged::not_shown(NOISE),
        },
    }
}

/// Whether two figures are equal, in each replica.
fn is_zero(difference: &Sample) -> Judged {
    let all_zero = difference.base == 0.0
        && match &difference.spread {
            Spread::Replicas(values) => values.iter().all(|value| *value == 0.0),
            _ => true,
        };
    if difference.is_overloaded() && all_zero {
        return Judged::not_judged(OVERLOADED);
    }
    if all_zero { Judged::YES } else { Judged::no("they differ") }
}

/// Whether two figures are the same: the confidence interval of their ratio lies within the margin.
fn is_near(left: &Sample, right: &Sample) -> Judged {
    if left == right {
        return if left.is_overloaded() { Judged::not_judged(OVERLOADED) } else { Judged::YES };
    }
    let ratio = Sample::combine(&[left.clone(), right.clone()], |values| values[0] / values[1]);
    let within = |value: f64| value > 1.0 / MARGIN && value < MARGIN;
    if ratio.is_overloaded() {
        let near = within(ratio.base);
        return if near { Judged::not_judged(OVERLOADED) } else { Judged::no("they differ") };
    }
    let Some(interval) = ratio.interval() else { return Judged::not_judged(NO_REPLICAS) };
    if within(interval.low) && within(interval.high) && within(ratio.base) {
        Judged::YES
    } else if within(interval.low) && within(interval.high) {
        Judged::not_shown(RUN_ITSELF)
    } else if interval.high < 1.0 / MARGIN || interval.low > MARGIN {
        Judged::no("they differ")
    } else {
        Judged::not_shown("the interval of their ratio leaves 1/1.05 to 1.05")
    }
}

/// Whether a figure matches a published number. One that no run makes vary has to be the number as
/// it is printed, give or take half of its last digit. One of runs has to be within a tenth of the
/// number, too; it does not match where its whole confidence interval lies elsewhere, and nothing
/// is shown where the interval is wider than a quarter of the number.
fn matches(found: &Sample, published: f64, half: f64) -> Judged {
    // Digits of decimals are no multiples of powers of two.
    let half = half * (1.0 + 1e-9);
    let exact = found.spread == Spread::Exact;
    let give = if exact { half } else { half.max(TOLERANCE * published.abs()) };
    let wanted = Interval { low: published - give, high: published + give };
    let of_base = Interval { low: found.base, high: found.base };
    let is_met = wanted.meets(&of_base);
    if found.is_overloaded() {
        return if is_met { Judged::not_judged(OVERLOADED) } else { Judged::no(OVERLOADED) };
    }
    let Some(interval) = found.interval() else {
        return Judged::not_judged(NO_REPLICAS);
    };
    let stays = found.base == 0.0 && interval.low == 0.0 && interval.high == 0.0;
    let width = interval.high - interval.low;
    if stays && !is_met {
        Judged::nothing()
    } else if exact && !is_met {
        let digits = if half < 0.1 { 3 } else { 2 };
        Judged::no(&format!("{:.digits$}, published {published}", found.base))
    } else if !is_met && !wanted.meets(&interval) {
        let [low, high] = [wanted.low, wanted.high];
        Judged::no(&format!("a match lies from {low:.3} to {high:.3}"))
    } else if width > WIDEST * published.abs() && width > 2.0 * half {
        Judged::not_shown(&format!("the interval is {width:.3} wide"))
    } else if !wanted.meets(&interval) {
        Judged::not_shown("in the run itself, but not in replicas")
    } else if !is_met {
        Judged::not_shown(RUN_ITSELF)
    } else {
        Judged::YES
    }
}

/// The outcome of a statement that is made of several comparisons.
pub(crate) fn of_all(all: &[Outcome]) -> Outcome {
    let has = |outcome| all.contains(&outcome);
    if all.iter().all(|outcome| *outcome == Outcome::Yes) {
        Outcome::Yes
    } else if has(Outcome::Yes) || has(Outcome::Partly) {
        Outcome::Partly
    } else {
        let order = [Outcome::No, Outcome::Nothing, Outcome::NotShown, Outcome::Open];
        order.into_iter().find(|outcome| has(*outcome)).unwrap_or(Outcome::NotJudged)
    }
}

/// All of a sentence hold.
fn both(all: Vec<Judged>) -> Judged {
    let reasons = all.iter().filter_map(|one| one.reason.clone());
    let reasons: Vec<String> = reasons.collect();
    let has = |outcome| all.iter().any(|one| one.outcome == outcome);
    let order = [
        Outcome::No,
        Outcome::Nothing,
        Outcome::NotShown,
        Outcome::Open,
        Outcome::NotJudged,
        Outcome::Partly,
    ];
    let outcome = order.into_iter().find(|outcome| has(*outcome)).unwrap_or(Outcome::Yes);
    let reason = match outcome {
        Outcome::Yes if reasons.is_empty() => None,
        Outcome::Yes => Some(reasons.join("; ")),
        _ => all.into_iter().find(|one| one.outcome == outcome).and_then(|one| one.reason),
    };
    Judged { outcome, reason }
}

/// One of a sentence holds.
fn either(all: Vec<Judged>) -> Judged {
    let order = [
        Outcome::Yes,
        Outcome::Partly,
        Outcome::Open,
        Outcome::NotShown,
        Outcome::NotJudged,
        Outcome::Nothing,
        Outcome::No,
    ];
    let rank = |one: &Judged| order.iter().position(|outcome| *outcome == one.outcome);
    all.into_iter().min_by_key(rank).unwrap_or(Judged::YES)
}

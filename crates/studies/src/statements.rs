//! Statements of publications, and what a study asks itself, beside what the runs show.

use crate::eval::{Evaluator, Figures, Scope};
use crate::expr::{Context, Expr};
use crate::judge::{Judged, Outcome, of_all};
use crate::matches::{Match, Number};
use crate::sample::Spread;
use crate::schema::{By, Form, Statement, StatementForm, Statements};
use crate::show;
use crate::study::Study;
use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde_json::{Value, json};

/// What is said of a statement; [`Verdict::word`] says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their words are in one table below")]
pub enum Verdict {
    Yes,
    No,
    InPart,
    ByDefinition,
    ByCalibration,
    NotShown,
    Nothing,
    Open,
    NotJudged,
}

impl Verdict {
    /// All of them with their words, in the order in which they are counted.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Yes, "holds"),
        (Self::InPart, "in part"),
        (Self::No, "does not hold"),
        (Self::NotShown, "not shown"),
        (Self::Nothing, "nothing happened"),
        (Self::Open, "open"),
        (Self::ByDefinition, "by definition"),
        (Self::ByCalibration, "by calibration"),
        (Self::NotJudged, "not judged"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(verdict, _)| *verdict == self);
        found.expect("all are listed").1
    }

    /// That of an outcome, which something else than the truth of the statement may have brought
    /// about.
    pub(crate) const fn of(outcome: Outcome, by: Option<By>) -> Self {
        match (outcome, by) {
            (Outcome::Yes, Some(By::Definition)) => Self::ByDefinition,
            (Outcome::Yes, Some(By::Calibration)) => Self::ByCalibration,
            (Outcome::Yes, None) => Self::Yes,
            (Outcome::Partly, _) => Self::InPart,
            (Outcome::No, _) => Self::No,
            (Outcome::NotShown, _) => Self::NotShown,
            (Outcome::Nothing, _) => Self::Nothing,
            (Outcome::Open, _) => Self::Open,
            (Outcome::NotJudged, _) => Self::NotJudged,
        }
    }
}

/// The names of all statements checked, ready to be judged.
#[derive(Debug)]
pub(crate) struct Compiled {
    row: Statement,
    about: String,
    /// Why it is judged there.
    setting: Option<String>,
    /// Where it is judged.
    scope: Scope,
    /// Grids that hold what the publication leaves open.
    open: Vec<usize>,
    /// Why its runs do not show what it is about.
    unjudged: Option<&'static str>,
    /// The workloads that it is judged on are recorded ones.
    real: bool,
    /// Recorded, generated, or which of them is which.
    kind: String,
    on: String,
    parts: Vec<Claim>,
    found: Vec<Piece>,
}

/// What a part says, empty of the whole, and what decides it.
type Claim = (String, Expr);

/// A piece of the text of what was found.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value { text: String, expr: Expr, form: Form },
}

/// A statement, judged.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it holds.
    pub verdict: Verdict,
    /// What it is about: a figure, a table, a section.
    pub about: String,
    /// What it is about, and where it is judged.
    pub heading: String,
    /// The statement: in quotation marks where these are the words of the publication.
    pub text: String,
    /// What the runs show.
    pub found: String,
    /// The parts of it that are judged on their own.
    pub parts: Vec<Part>,
    /// The published numbers in it.
    pub numbers: Vec<Number>,
    pub(crate) object: Value,
}

/// A part of a statement, judged.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it says.
    pub says: String,
    /// The word of its verdict.
    pub verdict: &'static str,
    /// Why it does not plainly hold.
    pub reason: Option<String>,
}

impl Part {
    fn of((says, judged): &(String, Judged)) -> Option<Self> {
        let verdict = Verdict::of(judged.outcome, None).word();
        let (says, reason) = (says.clone(), judged.reason.clone());
        (!says.is_empty()).then_some(Self { says, verdict, reason })
    }

    /// All of it as a sentence.
    pub fn text(&self) -> String {
        let why = self.reason.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        format!("{}: {}{why}", self.verdict, self.says)
    }
}

impl Compiled {
    /// Reads the expressions of statements; an error names what does not exist.
    pub(crate) fn all(study: &Study, rows: &[Statements]) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for row in rows {
            let grid = study.grid(&row.grid)?;
            let mut context = Context::of(&study.names, grid);
            let mut point = 0;
            if let Some(name) = &row.point {
                let points = &study.names.grids[grid].points;
                point = crate::expr::place_of(name, points, "point")?;
                context.point = true;
            }
            let wanted = study.groups_in(grid, &row.groups)?;
            let first = if row.groups.is_empty() { None } else { wanted.first() };
            let workloads = match first {
                Some(group) => group.workloads.clone(),
                None if row.groups.is_empty() => study.names.grids[grid].workloads.clone(),
                None => Vec::new(),
            };
            let is_real = |place: &&usize| study.sources[**place].is_real();
            let recorded: Vec<usize> = workloads.iter().filter(is_real).copied().collect();
            let real = recorded.len() == workloads.len();
            let kind = match &recorded[..] {
                _ if real => "recorded".to_string(),
                [] => "generated".to_string(),
                some if some.len() > 4 => {
                    format!("{} recorded, {} generated", some.len(), workloads.len() - some.len())
                }
                some => {
                    let names = some.iter().map(|place| study.names.workloads[*place].as_str());
                    format!(
                        "{} recorded, the others generated",
                        names.collect::<Vec<_>>().join(", ")
                    )
                }
            };
            let on = first.map_or_else(String::new, |group| group.name.clone());
            let scope = Scope { grid, point, subject: None, workload: None, workloads };
            let open = row.open.iter().map(|name| study.grid(name));
            let open = open.collect::<Result<Vec<usize>>>()?;
            let unjudged = (row.whole && study.is_shortened).then_some(SHORTENED);
            for statement in &row.statement {
                let place = statement.says.as_ref().or(statement.quote.as_ref());
                let place = format!("{}: {}", row.about, place.map_or("?", String::as_str));
                let one = Self::one(study, statement, context).context(place)?;
                let (parts, found) = one;
                let (about, setting) = (row.about.clone(), row.setting.clone());
                let (scope, on, row) = (scope.clone(), on.clone(), statement.clone());
                let (kind, open) = (kind.clone(), open.clone());
                all.push(Self {
                    row,
                    about,
                    setting,
                    scope,
                    open,
                    unjudged,
                    real,
                    kind,
                    on,
                    parts,
                    found,
                });
            }
        }
        Ok(all)
    }

    fn one(study: &Study, row: &Statement, context: Context) -> Result<(Vec<Claim>, Vec<Piece>)> {
        ensure!(row.quote.is_some() != row.says.is_some(), "it needs either quote or says");
        ensure!(row.quote.is_none() || row.place.is_some(), "a quotation needs its place");
        let mut parts = Vec::new();
        if let Some(text) = &row.holds {
            ensure!(row.part.is_empty(), "it has both holds and parts");
            parts.push((String::new(), Expr::claim(text, &study.names, context)?));
        }
        for part in &row.part {
            let expr = Expr::claim(&part.holds, &study.names, context);
            parts.push((part.says.clone(), expr.with_context(|| part.says.clone())?));
        }
        ensure!(!parts.is_empty() || row.why.is_some(), "nothing decides it, and no why says why");
        ensure!(row.by.is_none() || row.why.is_some(), "by wants a why");
        Ok((parts, pieces(study, &row.found, context)?))
    }

    /// Judges it with the figures of the runs; `is_cut` is whether runs that last for a time ended
    /// sooner, after a number of requests.
    pub(crate) fn judge<F: Figures>(&self, study: &Study, figures: &F, is_cut: bool) -> Answer {
        let evaluator = Evaluator::new(&study.names, figures).of_all(self.expressions());
        let unjudged = if is_cut { Some(CUT) } else { self.unjudged };
        let as_judged = |judged: Judged, expr: &Expr| match unjudged {
            Some(reason) => Judged::not_judged(reason),
            None => evaluator.with_choices(judged, expr, &self.scope, &self.open),
        };
        let judge = |(says, expr): &Claim| {
            (says.clone(), as_judged(evaluator.judge(expr, &self.scope), expr))
        };
        let parts: Vec<(String, Judged)> = self.parts.iter().map(judge).collect();
        let outcomes: Vec<Outcome> = parts.iter().map(|(_, judged)| judged.outcome).collect();
        let outcome = if parts.is_empty() { Outcome::NotJudged } else { of_all(&outcomes) };
        let by = if self.real { self.row.by } else { self.row.by.or(self.row.by_generated) };
        let verdict = Verdict::of(outcome, by);
        let mut values = Vec::new();
        let mut found = self.pieces(study, &evaluator, &mut values);
        let add = |text: &mut String, more: &str| {
            let gap = if text.is_empty() { "" } else { "; " };
            *text += &format!("{gap}{more}");
        };
        if let [(_, judged)] = &parts[..]
            && let Some(reason) = &judged.reason
        {
            add(&mut found, reason);
        }
        let left_out = evaluator.left_out.borrow();
        if !left_out.is_empty() {
            let names = left_out.iter().map(|place| study.names.workloads[*place].as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            add(&mut found, &format!("without {names}, whose queue grows"));
        }
        if let Some(why) = &self.row.why {
            add(&mut found, why);
        }
        drop(left_out);
        let workloads = &study.names.workloads;
        let numbers = self.parts.iter().flat_map(|(says, expr)| {
            let as_judged = &as_judged;
            let of = move |one: Match| {
                let judged = as_judged(one.judged.clone(), expr);
                one.number(says, workloads, Verdict::of(judged.outcome, by).word())
            };
            evaluator.matches(expr, &self.scope).into_iter().map(of)
        });
        let numbers: Vec<Number> = numbers.collect();
        let parts: Vec<Part> = parts.iter().filter_map(Part::of).collect();
        let mut object = self.object(study, verdict, &found, &parts, &values);
        object["numbers"] = numbers.iter().map(Number::object).collect();
        let (about, heading, text) = (self.about.clone(), self.heading(), self.text());
        Answer { verdict, about, heading, text, found, parts, numbers, object }
    }

    fn pieces<F: Figures>(
        &self,
        study: &Study,
        evaluator: &Evaluator<'_, F>,
        values: &mut Vec<Value>,
    ) -> String {
        let mut found = String::new();
        for piece in &self.found {
            match piece {
                Piece::Text(text) => found += text,
                Piece::Value { text, expr, form } => {
                    let Some(sample) = evaluator.number(expr, &self.scope) else {
                        found += "-";
                        values.push(json!({"expression": text, "value": null}));
                        continue;
                    };
                    found += &show::value(sample.base, *form);
                    let interval = sample.interval();
                    match (&sample.spread, interval) {
                        (Spread::Overloaded, _) => found += "*",
                        (Spread::Replicas(_), Some(range)) if range.low < range.high => {
                            let [low, high] =
                                [range.low, range.high].map(|end| show::value(end, *form));
                            found += &format!(" [{low}, {high}]");
                        }
                        _ => {}
                    }
                    if let Some(workload) = sample.of {
                        found += &format!(" in {}", study.names.workloads[workload]);
                    }
                    let one = sample.of_one_more();
                    values.push(json!({
                        "expression": text, "value": sample.base,
                        "interval": interval.map(|range| [range.low, range.high]),
                        "one_more": one.map(|range| [range.low, range.high]),
                        "overloaded": sample.is_overloaded(),
                    }));
                }
            }
        }
        found
    }

    /// What the statements are about, and where they are judged.
    fn heading(&self) -> String {
        let kind = &self.kind;
        let on = match self.on.as_str() {
            "" => format!("{kind} workloads"),
            group => format!("{group}, {kind}"),
        };
        let why = self.setting.as_ref().map_or_else(String::new, |why| format!("; {why}"));
        format!("{} (judged on {on}{why})", self.about)
    }

    /// The statement: in quotation marks where these are the words of the publication.
    fn text(&self) -> String {
        match (&self.row.quote, &self.row.says) {
            (Some(quote), _) => {
                format!("\"{quote}\" ({})", self.row.place.as_deref().unwrap_or(&self.about))
            }
            (None, Some(says)) => says.clone(),
            (None, None) => String::new(),
        }
    }

    fn object(
        &self,
        study: &Study,
        verdict: Verdict,
        found: &str,
        parts: &[Part],
        values: &[Value],
    ) -> Value {
        let grid = &study.names.grids[self.scope.grid];
        let parts = parts.iter().map(|Part { says, verdict, reason }| {
            json!({"says": says, "verdict": verdict, "reason": reason})
        });
        let names = self.scope.workloads.iter().map(|place| &study.names.workloads[*place]);
        json!({
            "about": self.about,
            "quote": self.row.quote,
            "place": self.row.place,
            "says": self.row.says,
            "form": self.row.form.map(form_name),
            "verdict": verdict.word(),
            "found": found,
            "parts": parts.collect::<Vec<_>>(),
            "values": values,
            "grid": grid.name,
            "group": self.on,
            "workloads": names.collect::<Vec<_>>(),
            "recorded": self.real,
        })
    }

    /// Whether its runs show what it is about, so that their noise counts.
    pub(crate) const fn is_judged(&self) -> bool {
        self.unjudged.is_none()
    }

    /// All that decides it or is printed as found, and where it is judged.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = (&Expr, &Scope)> {
        let values = self.found.iter().filter_map(|piece| match piece {
            Piece::Value { expr, .. } => Some(expr),
            Piece::Text(_) => None,
        });
        let parts = self.parts.iter().map(|(_, expr)| expr);
        parts.chain(values).map(|expr| (expr, &self.scope))
    }
}

const fn form_name(form: StatementForm) -> &'static str {
    match form {
        StatementForm::Number => "number",
        StatementForm::Words => "words",
        StatementForm::Figure => "figure",
    }
}

/// The pieces of `text {expression | form}`.
fn pieces(study: &Study, text: &str, context: Context) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inside, behind)) = after.split_once('}') else {
            bail!("{text}: a brace lacks the second one");
        };
        let (expression, form) = inside.rsplit_once('|').unwrap_or((inside, "ratio"));
        let word = StrDeserializer::<WordError>::new(form.trim());
        let form = Form::deserialize(word).map_err(|error| anyhow::anyhow!("{text}: {error}"))?;
        let expr = Expr::number(expression.trim(), &study.names, context)?;
        pieces.push(Piece::Text(before.to_string()));
        pieces.push(Piece::Value { text: expression.trim().to_string(), expr, form });
        rest = behind;
    }
    pieces.push(Piece::Text(rest.to_string()));
    Ok(pieces)
}

/// Why nothing is judged of runs that `--requests` has cut.
const CUT: &str = "--requests ends the runs before the time that they are about";

/// Why statements about whole workloads are not judged by shorter ones.
const SHORTENED: &str = "it is about whole workloads, and --short or --requests ends them sooner";

/// How many statements got which verdict.
pub fn counts(answers: &[Answer]) -> String {
    let of = |(verdict, word): (Verdict, &str)| {
        let count = answers.iter().filter(|answer| answer.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    Verdict::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

//! Expressions of experiment files: what decides a statement, what a cell of a table shows.
//! docs/STUDIES.md describes the language.

use crate::metrics::{self, WORKLOAD_METRICS};
use crate::names::{Grid, Names};
use crate::tokens::{Printed, Token, Tokens};
use anyhow::{Result, bail};
use flashyard_sim::config::nearest;

/// Which run of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunOf {
    /// A subject; none for that of the row or column of a table, `it`.
    pub(crate) subject: Option<usize>,
    /// A point of the grid; none for the one that is looked at.
    pub(crate) point: Option<usize>,
}

/// What becomes one number out of those of several workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Mean,
    Median,
    Min,
    Max,
    Sum,
}

/// Arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The first is smaller.
    Less,
    /// The first is larger.
    Greater,
    /// The first, which was found, matches the second, which was published.
    Matches,
    /// They are the same up to the margin.
    Near,
    /// They are equal.
    Equal,
}

/// For how many workloads something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    All,
    Most,
    Any,
}

/// How a figure goes over the points of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trend {
    Rises,
    Falls,
    /// Neither.
    None,
}

/// An expression whose names are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Number(Printed),
    /// The published figure of the workload at hand.
    Published(usize),
    /// A figure of a run, or its ratio to that of another run.
    Figure {
        metric: usize,
        of: RunOf,
        over: Option<RunOf>,
    },
    OfWorkload(usize),
    /// A number that the study computes by a formula.
    Known(usize),
    Over(Aggregate, Box<Expr>),
    /// On these workloads alone.
    On(Vec<usize>, Box<Expr>),
    /// Without these workloads.
    Without(Vec<usize>, Box<Expr>),
    At(usize, Box<Expr>),
    In(usize, Box<Expr>),
    Negative(Box<Expr>),
    Arithmetic(Operator, Box<Expr>, Box<Expr>),
    Compare(Relation, Box<Expr>, Box<Expr>),
    Workloads(Quantifier, Box<Expr>),
    Points(Trend, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Whether a worked example comes out as it says.
    Example(usize),
}

/// What an expression stands in: what is chosen already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) grid: usize,
    /// A point of the grid is chosen.
    pub(crate) point: bool,
    pub(crate) workload: bool,
    /// A subject is chosen: `it`.
    pub(crate) it: bool,
}

impl Context {
    /// That of a statement about a grid.
    pub(crate) fn of(names: &Names, grid: usize) -> Self {
        Self { grid, point: names.grids[grid].points.len() == 1, workload: false, it: false }
    }
}

impl Expr {
    /// A number.
    pub(crate) fn number(text: &str, names: &Names, context: Context) -> Result<Self> {
        let expr = Self::parse(text, names, context)?;
        if expr.is_claim() {
            bail!("{text}: it says whether something holds; a number is wanted");
        }
        Ok(expr)
    }

    /// Something that holds or not.
    pub(crate) fn claim(text: &str, names: &Names, context: Context) -> Result<Self> {
        let expr = Self::parse(text, names, context)?;
        if !expr.is_claim() {
            bail!("{text}: it is a number; a comparison is wanted");
        }
        Ok(expr)
    }

    fn parse(text: &str, names: &Names, context: Context) -> Result<Self> {
        let tokens = Tokens::new(text)?;
        let mut parser = Parser { tokens, names, context, depth: 0, nested: 0 };
        let expr = parser.either()?;
        parser.tokens.end()?;
        Ok(expr)
    }

    const fn is_claim(&self) -> bool {
        match self {
            Self::Compare(..)
            | Self::Workloads(..)
            | Self::Points(..)
            | Self::And(_)
            | Self::Or(_)
            | Self::Example(_) => true,
            Self::On(_, of) | Self::Without(_, of) | Self::At(_, of) | Self::In(_, of) => {
                of.is_claim()
            }
            _ => false,
        }
    }
}

/// How deep definitions may use one another.
const DEEPEST: usize = 8;

/// How many signs, brackets and functions may stand in one another.
const MOST_NESTED: usize = 64;

struct Parser<'a> {
    tokens: Tokens<'a>,
    names: &'a Names,
    context: Context,
    /// Definitions that are being read.
    depth: usize,
    /// Signs, brackets and functions that are being read, also those around a definition.
    nested: usize,
}

impl Parser<'_> {
    fn either(&mut self) -> Result<Expr> {
        let mut all = vec![self.both()?];
        while self.tokens.takes_word("or") {
            all.push(self.both()?);
        }
        self.join(all, Expr::Or)
    }

    fn both(&mut self) -> Result<Expr> {
        let mut all = vec![self.comparison()?];
        while self.tokens.takes_word("and") {
            all.push(self.comparison()?);
        }
        self.join(all, Expr::And)
    }

    fn join(&self, mut all: Vec<Expr>, join: fn(Vec<Expr>) -> Expr) -> Result<Expr> {
        if all.len() == 1 {
            return Ok(all.remove(0));
        }
        if let Some(number) = all.iter().position(|expr| !expr.is_claim()) {
            bail!("{}: part {} is a number, no comparison", self.tokens.text(), number + 1);
        }
        Ok(join(all))
    }

    /// `a < b < c` says both.
    fn comparison(&mut self) -> Result<Expr> {
        let mut left = self.sum()?;
        let mut all = Vec::new();
        loop {
            let relation = match self.tokens.peek() {
                Some(Token::Sign('<')) => Relation::Less,
                Some(Token::Sign('>')) => Relation::Greater,
                Some(Token::Sign('~')) => Relation::Matches,
                Some(Token::Sign('=')) => Relation::Equal,
                _ => break,
            };
            self.tokens.next();
            let right = self.sum()?;
            all.push(self.compare(relation, left, right.clone())?);
            left = right;
        }
        if all.is_empty() { Ok(left) } else { self.join(all, Expr::And) }
    }

    fn compare(&self, relation: Relation, left: Expr, right: Expr) -> Result<Expr> {
        let text = self.tokens.text();
        if left.is_claim() || right.is_claim() {
            bail!("{text}: only numbers can be compared");
        }
        let is_printed = |expr: &Expr| match expr {
            Expr::Number(_) | Expr::Published(_) => true,
            Expr::Negative(of) => matches!(**of, Expr::Number(_)),
            _ => false,
        };
        if relation == Relation::Matches && !is_printed(&right) {
            bail!("{text}: ~ wants a published number on its right");
        }
        Ok(Expr::Compare(relation, Box::new(left), Box::new(right)))
    }

    fn sum(&mut self) -> Result<Expr> {
        let mut left = self.product()?;
        loop {
            let operator = match self.tokens.peek() {
                Some(Token::Sign('+')) => Operator::Add,
                Some(Token::Sign('-')) => Operator::Subtract,
                _ => return Ok(left),
            };
            self.tokens.next();
            let right = self.product()?;
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(right));
        }
    }

    fn product(&mut self) -> Result<Expr> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.tokens.peek() {
                Some(Token::Sign('*')) => Operator::Multiply,
                Some(Token::Sign('/')) => Operator::Divide,
                _ => return Ok(left),
            };
            self.tokens.next();
            let right = self.signed()?;
            left = Expr::Arithmetic(operator, Box::new(left), Box::new(right));
        }
    }

    /// A number, a name, a function or a bracket, or one of these with a sign. Whatever stands in
    /// something else goes through here.
    fn signed(&mut self) -> Result<Expr> {
        if self.nested == MOST_NESTED {
            bail!("more than {MOST_NESTED} signs, brackets and functions stand in one another");
        }
        self.nested += 1;
        let expr = self.part();
        self.nested -= 1;
        expr
    }

    fn part(&mut self) -> Result<Expr> {
        if self.tokens.takes('-') {
            return Ok(Expr::Negative(Box::new(self.signed()?)));
        }
        match self.tokens.next() {
            Some(Token::Number(printed, _)) => Ok(Expr::Number(printed)),
            Some(Token::Sign('(')) => {
                let inside = self.either()?;
                self.tokens.expect(')')?;
                Ok(inside)
            }
            Some(Token::Word(word)) => self.word(word),
            other => bail!("{}: {other:?} is no expression", self.tokens.text()),
        }
    }

    fn word(&mut self, word: &str) -> Result<Expr> {
        if !self.tokens.takes('(') {
            return self.name(word);
        }
        let expr = match word {
            "mean" => self.over(Aggregate::Mean)?,
            "median" => self.over(Aggregate::Median)?,
            "min" => self.over(Aggregate::Min)?,
            "max" => self.over(Aggregate::Max)?,
            "sum" => self.over(Aggregate::Sum)?,
            "all" => self.quantified(Quantifier::All)?,
            "most" => self.quantified(Quantifier::Most)?,
            "any" => self.quantified(Quantifier::Any)?,
            "rises" => self.trend(Trend::Rises)?,
            "falls" => self.trend(Trend::Falls)?,
            "trendless" => self.trend(Trend::None)?,
            "on" => self.some_workloads(true)?,
            "without" => self.some_workloads(false)?,
            "at" => self.at()?,
            "in" => self.in_grid()?,
            "near" => {
                let left = self.sum()?;
                self.tokens.expect(',')?;
                let right = self.sum()?;
                self.compare(Relation::Near, left, right)?
            }
            "printed" => self.printed()?,
            "published" => {
                let name = self.tokens.name()?;
                let found = WORKLOAD_METRICS.iter().position(|metric| metric.name == name);
                let Some(metric) = found else {
                    bail!("{name} is no figure of a workload");
                };
                self.needs_workload(&name)?;
                Expr::Published(metric)
            }
            "known" => {
                let name = self.tokens.name()?;
                Expr::Known(place_of(&name, &self.names.known, "number by formula")?)
            }
            "example" => {
                let name = self.tokens.name()?;
                Expr::Example(place_of(&name, &self.names.examples, "worked example")?)
            }
            _ => self.figure(word)?,
        };
        self.tokens.expect(')')?;
        Ok(expr)
    }

    /// A figure of the workload, or a definition of the experiment file.
    fn name(&mut self, word: &str) -> Result<Expr> {
        if let Some(text) = self.names.define.get(word) {
            if self.depth == DEEPEST {
                bail!("{word}: its definition uses itself, or too many others");
            }
            let tokens = Tokens::new(text)?;
            let depth = self.depth + 1;
            let (names, context, nested) = (self.names, self.context, self.nested);
            let mut inner = Parser { tokens, names, context, depth, nested };
            let expr = inner.either()?;
            inner.tokens.end()?;
            return Ok(expr);
        }
        let Some(metric) = WORKLOAD_METRICS.iter().position(|metric| metric.name == word) else {
            let known = WORKLOAD_METRICS.iter().map(|metric| metric.name);
            bail!(
                "{word}: neither a definition nor a figure of a workload{}",
                nearest(word, known)
            );
        };
        self.needs_workload(word)?;
        Ok(Expr::OfWorkload(metric))
    }

    fn needs_workload(&self, what: &str) -> Result<()> {
        if !self.context.workload {
            bail!(
                "{}: {what} is of one workload: put mean(...), all(...) or on(...) around it",
                self.tokens.text()
            );
        }
        Ok(())
    }

    fn over(&mut self, aggregate: Aggregate) -> Result<Expr> {
        let of = self.inside(|context| context.workload = true)?;
        self.only_number(&of)?;
        Ok(Expr::Over(aggregate, Box::new(of)))
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Result<Expr> {
        let of = self.inside(|context| context.workload = true)?;
        if !of.is_claim() {
            bail!("{}: all, most and any want comparisons", self.tokens.text());
        }
        Ok(Expr::Workloads(quantifier, Box::new(of)))
    }

    fn trend(&mut self, trend: Trend) -> Result<Expr> {
        let of = self.inside(|context| context.point = true)?;
        self.only_number(&of)?;
        if self.grid().points.len() < 2 {
            bail!("{}: a trend wants a grid of several points", self.tokens.text());
        }
        Ok(Expr::Points(trend, Box::new(of)))
    }

    fn only_number(&self, of: &Expr) -> Result<()> {
        if of.is_claim() {
            bail!("{}: a number is wanted", self.tokens.text());
        }
        Ok(())
    }

    /// What stands in brackets, with something chosen in it.
    fn inside(&mut self, choose: impl FnOnce(&mut Context)) -> Result<Expr> {
        let before = self.context;
        choose(&mut self.context);
        let expr = self.either();
        self.context = before;
        expr
    }

    /// `on('Movie', ...)`, `without('Web', 'Movie', ...)`: names of workloads or groups first.
    fn some_workloads(&mut self, is_on: bool) -> Result<Expr> {
        let mut workloads = Vec::new();
        let mut single = true;
        while let Some(Token::Quoted(name)) = self.tokens.peek() {
            let name = name.to_string();
            self.tokens.next();
            let (found, is_group) = self.names.workloads_of(&name)?;
            single &= !is_group;
            workloads.extend(found);
            self.tokens.expect(',')?;
        }
        if workloads.is_empty() {
            bail!("{}: names of workloads are wanted, in quotes", self.tokens.text());
        }
        let chosen = single && workloads.len() == 1 && is_on;
        let of = self.inside(|context| context.workload |= chosen)?;
        let of = Box::new(of);
        Ok(if is_on { Expr::On(workloads, of) } else { Expr::Without(workloads, of) })
    }

    fn at(&mut self) -> Result<Expr> {
        let name = self.tokens.name()?;
        let point = place_of(&name, &self.grid().points, "point")?;
        self.tokens.expect(',')?;
        let of = self.inside(|context| context.point = true)?;
        Ok(Expr::At(point, Box::new(of)))
    }

    fn in_grid(&mut self) -> Result<Expr> {
        let name = self.tokens.name()?;
        let names: Vec<String> = self.names.grids.iter().map(|grid| grid.name.clone()).collect();
        let grid = place_of(&name, &names, "grid")?;
        self.tokens.expect(',')?;
        let point = self.names.grids[grid].points.len() == 1;
        let of = self.inside(|context| (context.grid, context.point) = (grid, point))?;
        Ok(Expr::In(grid, Box::new(of)))
    }

    /// `printed(27.5, 0.5)`: a number of a table whose numbers go in steps of 0.5.
    fn printed(&mut self) -> Result<Expr> {
        let Some(Token::Number(number, _)) = self.tokens.next() else {
            bail!("{}: printed(number, step)", self.tokens.text());
        };
        self.tokens.expect(',')?;
        let Some(Token::Number(step, _)) = self.tokens.next() else {
            bail!("{}: printed(number, step)", self.tokens.text());
        };
        Ok(Expr::Number(Printed { half: step.value / 2.0, ..number }))
    }

    fn grid(&self) -> &Grid {
        &self.names.grids[self.context.grid]
    }

    /// `read(drs)`, `read(drs/rcf)`, `read(drs@512/drs@1)`.
    fn figure(&mut self, word: &str) -> Result<Expr> {
        let Some(metric) = metrics::place(word) else {
            let near = nearest(word, metrics::names());
            bail!("{word}: no function, and no figure of a run{near}");
        };
        self.needs_workload(word)?;
        let of = self.run_of()?;
        let over = if self.tokens.takes('/') { Some(self.run_of()?) } else { None };
        Ok(Expr::Figure { metric, of, over })
    }

    fn run_of(&mut self) -> Result<RunOf> {
        let name = self.tokens.name()?;
        let subject = if name == "it" && self.context.it {
            None
        } else {
            let subject = place_of(&name, &self.names.subjects, "subject")?;
            if !self.grid().subjects.contains(&subject) {
                bail!("{name}: grid {} does not run it", self.grid().name);
            }
            Some(subject)
        };
        let point = if self.tokens.takes('@') {
            let name = self.tokens.name()?;
            Some(place_of(&name, &self.grid().points, "point")?)
        } else if self.context.point {
            None
        } else {
            bail!(
                "{}: grid {} has several points: name one, as in {name}@{}",
                self.tokens.text(),
                self.grid().name,
                self.grid().points[0]
            );
        };
        Ok(RunOf { subject, point })
    }
}

/// The place of a name in a list.
pub(crate) fn place_of(name: &str, list: &[String], what: &str) -> Result<usize> {
    let found = list.iter().position(|known| known == name);
    let Some(place) = found else {
        let known = nearest(name, list.iter().map(String::as_str));
        bail!("{name}: no {what} of this name{known}");
    };
    Ok(place)
}

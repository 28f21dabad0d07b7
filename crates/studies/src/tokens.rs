//! The words, numbers and signs of an expression.

use anyhow::{Result, bail};

/// A printed number, and half of its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed {
    pub(crate) value: f64,
    pub(crate) half: f64,
    /// Whether it is written in percent.
    pub(crate) percent: bool,
}

/// A piece of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A number, and how it is written.
    Number(Printed, &'a str),
    Word(&'a str),
    /// A name in single quotes.
    Quoted(&'a str),
    Sign(char),
}

/// The most pieces of an expression. A long sum is as deep as it is long, once it is read.
const MOST_TOKENS: usize = 1_000;

/// An expression in pieces, read from the front.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    all: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self> {
        let mut all = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                'a'..='z' | 'A'..='Z' | '_' => {
                    let length = length_of(rest, |c| c.is_ascii_alphanumeric() || "_.".contains(c));
                    (Token::Word(&rest[..length]), length)
                }
                '0'..='9' => {
                    let length = length_of(rest, |c| c.is_ascii_digit() || c == '.' || c == '_');
                    let percent = rest[length..].starts_with('%');
                    let written = &rest[..length];
                    let length = length + usize::from(percent);
                    (Token::Number(printed(written, percent)?, written), length)
                }
                '\'' => {
                    let Some(length) = rest[1..].find('\'') else {
                        bail!("{text}: a name lacks its second quote");
                    };
                    (Token::Quoted(&rest[1..=length]), length + 2)
                }
                '(' | ')' | ',' | '+' | '-' | '*' | '/' | '<' | '>' | '~' | '=' | '@' => {
                    (Token::Sign(first), 1)
                }
                _ => bail!("{text}: {first} has no meaning here"),
            };
            if all.len() == MOST_TOKENS {
                bail!("an expression has more than {MOST_TOKENS} words, numbers and signs");
            }
            all.push(token);
            rest = rest[length..].trim_start();
        }
        Ok(Self { text, all, next: 0 })
    }

    /// The whole expression.
    pub(crate) const fn text(&self) -> &'a str {
        self.text
    }

    pub(crate) fn peek(&self) -> Option<Token<'a>> {
        self.all.get(self.next).copied()
    }

    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Takes this sign if it comes next.
    pub(crate) fn takes(&mut self, sign: char) -> bool {
        let comes = self.peek() == Some(Token::Sign(sign));
        self.next += usize::from(comes);
        comes
    }

    /// Takes this word if it comes next.
    pub(crate) fn takes_word(&mut self, word: &str) -> bool {
        let comes = self.peek() == Some(Token::Word(word));
        self.next += usize::from(comes);
        comes
    }

    pub(crate) fn expect(&mut self, sign: char) -> Result<()> {
        if !self.takes(sign) {
            let found = self.peek();
            bail!("{}: {sign} is wanted, not {found:?}", self.text);
        }
        Ok(())
    }

    /// A name: a word, a number as it is written, or anything in quotes.
    pub(crate) fn name(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::Word(name) | Token::Quoted(name) | Token::Number(_, name)) => {
                Ok(name.to_string())
            }
            other => bail!("{}: a name is wanted, not {other:?}", self.text),
        }
    }

    pub(crate) fn end(&self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(token) => bail!("{}: {token:?} is too much", self.text),
        }
    }
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Reads a printed number.
pub(crate) fn printed(text: &str, percent: bool) -> Result<Printed> {
    let digits = text.replace('_', "");
    let Ok(value) = digits.parse::<f64>() else { bail!("{text} is no number") };
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let places = i32::try_from(after).unwrap_or(i32::MAX);
    let unit = if percent { 0.01 } else { 1.0 };
    Ok(Printed { value: value * unit, half: 0.5 * unit * 10f64.powi(-places), percent })
}

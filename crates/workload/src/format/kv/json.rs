//! The members of an object of JSON on one line, without allocation. Values are handed out as they
//! are written; those of strings without their quotes, escapes left in.

use crate::error::quoted;

/// Whether a line begins as an object does.
pub(super) fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{")
}

/// A name and a value.
type Pair<'a> = (&'a [u8], Value<'a>);

/// What a member holds, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub(super) text: &'a [u8],
    /// Whether it stood between quotes.
    pub(super) is_string: bool,
}

impl Value<'_> {
    /// Whether it says that there is nothing.
    pub(super) fn is_null(self) -> bool {
        self.text == b"null" && !self.is_string
    }
}

/// The members of the object on a line. Nothing follows an error.
pub(super) fn members(line: &[u8]) -> Members<'_> {
    Members { rest: line.trim_ascii(), place: Place::Start }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Inside,
    End,
}

/// See [`members`].
#[derive(Debug)]
pub(super) struct Members<'a> {
    rest: &'a [u8],
    place: Place,
}

impl<'a> Members<'a> {
    fn next_member(&mut self) -> Result<Option<Pair<'a>>, String> {
        if self.place == Place::Start {
            self.skip(b'{')?;
        } else if self.peek() == Some(b',') {
            self.skip(b',')?;
        } else {
            self.skip(b'}')?;
            return self.end();
        }
        if self.place == Place::Start && self.peek() == Some(b'}') {
            self.skip(b'}')?;
            return self.end();
        }
        self.place = Place::Inside;
        let name = self.string()?;
        self.skip(b':')?;
        let is_string = self.peek() == Some(b'"');
        Ok(Some((name, Value { text: self.value()?, is_string })))
    }

    fn end(&mut self) -> Result<Option<Pair<'a>>, String> {
        self.place = Place::End;
        if self.rest.is_empty() {
            return Ok(None);
        }
        Err(format!("something follows the object, {}", quoted(self.rest)))
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    fn skip(&mut self, byte: u8) -> Result<(), String> {
        if self.peek() == Some(byte) {
            self.rest = &self.rest[1..];
            return Ok(());
        }
        Err(self.wanted(char::from(byte)))
    }

    fn wanted(&self, what: char) -> String {
        format!("no {what} where one belongs, {}", quoted(self.rest))
    }

    /// What stands between the quotes of a string.
    fn string(&mut self) -> Result<&'a [u8], String> {
        self.skip(b'"')?;
        let mut escaped = false;
        for (at, &byte) in self.rest.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    let (text, rest) = self.rest.split_at(at);
                    self.rest = &rest[1..];
                    return Ok(text);
                }
                _ => {}
            }
        }
        Err(self.wanted('"'))
    }

    /// A value: a string, a list or an object as a whole, or a word up to what ends it.
    fn value(&mut self) -> Result<&'a [u8], String> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'[' | b'{') => self.nested(),
            _ => {
                let ends = |byte: &u8| b",}] \t".contains(byte);
                let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                if word.is_empty() {
                    return Err(format!("no value where one belongs, {}", quoted(self.rest)));
                }
                self.rest = rest;
                Ok(word)
            }
        }
    }

    /// A list or an object, which is passed over.
    fn nested(&mut self) -> Result<&'a [u8], String> {
        let start = self.rest;
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                None => return Err(self.wanted(']')),
                Some(b'"') => {
                    self.string()?;
                    continue;
                }
                Some(b'[' | b'{') => depth += 1,
                Some(b']' | b'}') => depth -= 1,
                Some(_) => {}
            }
            self.rest = &self.rest[1..];
            if depth == 0 {
                return Ok(&start[..start.len() - self.rest.len()]);
            }
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Pair<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.place == Place::End {
            return None;
        }
        let member = self.next_member().transpose();
        if matches!(member, Some(Err(_))) {
            self.place = Place::End;
        }
        member
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(String, String)>, String> {
        let text = |text: &[u8]| String::from_utf8(text.to_vec()).unwrap();
        members(line.as_bytes())
            .map(|member| member.map(|(name, value)| (text(name), text(value.text))))
            .collect()
    }

    #[test]
    fn members_are_handed_out_as_they_are_written() {
        let pairs = |pairs: &[(&str, &str)]| {
            Ok(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>())
        };
        assert_eq!(read("{}"), pairs(&[]));
        assert_eq!(read(" { \"a\" : 1.5 , \"b\":\"x y\" } "), pairs(&[("a", "1.5"), ("b", "x y")]));
        assert_eq!(
            read(r#"{"k":"a\"},\\","n":null}"#),
            pairs(&[("k", r#"a\"},\\"#), ("n", "null")])
        );
        let nested = r#"{"l":[1,{"x":"]"}],"o":{"p":[]},"e":2}"#;
        let expected = [("l", r#"[1,{"x":"]"}]"#), ("o", r#"{"p":[]}"#), ("e", "2")];
        assert_eq!(read(nested), pairs(&expected));
    }

    #[test]
    fn null_is_no_string() {
        let line = br#"{"a":null,"b":"null","c":0}"#;
        let nulls: Vec<_> = members(line).map(|member| member.unwrap().1.is_null()).collect();
        assert_eq!(nulls, [true, false, false]);
    }

    #[test]
    fn what_is_no_object_is_named() {
        for (line, what) in [
            ("", "no { where one belongs, \"\""),
            ("[1]", "no { where one belongs"),
            ("{1:2}", "no \" where one belongs, \"1:2}\""),
            (r#"{"a" 1}"#, "no : where one belongs"),
            (r#"{"a":}"#, "no value where one belongs"),
            (r#"{"a":1"#, "no } where one belongs, \"\""),
            (r#"{"a":1 "b":2}"#, "no } where one belongs"),
            (r#"{"a":"x}"#, "no \" where one belongs"),
            (r#"{"a":[1,2}"#, "no } where one belongs"),
            (r#"{"a":[1"#, "no ] where one belongs"),
            (r#"{"a":1} 2"#, "something follows the object, \" 2\""),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.starts_with(what), "{line}: {error}");
        }
    }
}

//! The tokens of a file of Rust, and what can be read from them: paths, functions, names of items.
//!
//! Tokens are enough, and code in macros and in definitions of macros has them as well: a syntax
//! tree would leave that code out.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A token. Groups are flat: a token opens one and another closes it.
#[derive(Debug)]
pub(crate) struct Token {
    /// `::` is one token; literals have no text, and lifetimes are left out.
    pub(crate) text: String,
    /// Counted from 0.
    pub(crate) line: usize,
    /// Where the token is that closes the group which this one opens; otherwise its own place.
    pub(crate) end: usize,
    /// How many groups it is in.
    depth: usize,
}

/// The tokens of a file.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) tokens: Vec<Token>,
    /// The modules that only tests have.
    pub(crate) test_modules: Vec<String>,
}

impl Code {
    /// All tokens of a file; none of what is not Rust.
    pub(crate) fn new(text: &str) -> Self {
        let mut tokens = Vec::new();
        flatten(text.parse().unwrap_or_default(), 0, &mut tokens);
        Self { tokens, test_modules: Vec::new() }
    }

    /// The tokens of a file; those of items that only tests have are blank.
    pub(crate) fn without_tests(text: &str) -> Self {
        let mut code = Self::new(text);
        while let Some(start) = code.find(&["#", "[", "cfg", "(", "test", ")", "]"]) {
            let end = code.item_end(start);
            if let Some(at) = (start..end).find(|at| code.text(*at) == "mod")
                && code.text(end) == ";"
            {
                code.test_modules.push(code.text(at + 1).to_owned());
            }
            for token in code.tokens.iter_mut().take(end + 1).skip(start) {
                token.text.clear();
            }
        }
        code
    }

    /// The text of a token; nothing behind the last one.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    pub(crate) fn is_name(&self, at: usize) -> bool {
        self.text(at).starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
    }

    fn find(&self, texts: &[&str]) -> Option<usize> {
        self.tokens.windows(texts.len()).position(|window| window.iter().map(|t| &t.text).eq(texts))
    }

    /// Where the item ends whose attributes begin at a token.
    fn item_end(&self, mut at: usize) -> usize {
        while self.text(at) == "#" {
            at = self.tokens[at + 1].end + 1;
        }
        while at < self.tokens.len() && ![";", ",", "{"].contains(&self.text(at)) {
            at = self.tokens[at].end + 1;
        }
        self.tokens.get(at).map_or(at, |token| token.end)
    }

    /// Where the body of the function ends whose head holds a token, or the head of one without.
    fn body_end(&self, head: usize) -> Option<&Token> {
        let mut at = head;
        loop {
            let token =
                self.tokens.get(at).filter(|token| token.depth >= self.tokens[head].depth)?;
            match &*token.text {
                "{" | ";" => return self.tokens.get(token.end),
                _ => at = token.end + 1,
            }
        }
    }

    /// The functions of the file.
    pub(crate) fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        let starts =
            (0..self.tokens.len()).filter(|at| self.text(*at) == "fn" && self.is_name(at + 1));
        starts.filter_map(|at| {
            let (index, end) = (self.tokens[at].line, self.body_end(at)?);
            Some(Function { name: self.text(at + 1), index, lines: end.line - index + 1 })
        })
    }

    /// The names of what is defined in the file.
    pub(crate) fn defined(&self) -> impl Iterator<Item = &str> {
        const KINDS: [&str; 8] =
            ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        let starts = (1..self.tokens.len()).filter(|at| KINDS.contains(&self.text(at - 1)));
        starts.filter(|at| self.is_name(*at)).map(|at| self.text(at))
    }

    /// The macros of the file that are published at the root of the crate.
    pub(crate) fn published_macros(&self) -> impl Iterator<Item = &str> {
        let texts = ["macro_export", "]", "macro_rules", "!"];
        let windows = self.tokens.windows(texts.len() + 1);
        let found = windows
            .filter(move |tokens| texts.iter().zip(*tokens).all(|(t, token)| token.text == **t));
        found.map(|tokens| tokens[4].text.as_str())
    }

    /// The paths of several names, and every `use`; a group in braces as its parts.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        let (mut at, mut inner_end) = (0, 0);
        while at < self.tokens.len() {
            let start = at;
            at += 1;
            if self.text(start) == "mod"
                && self.text(at + 1) == "{"
                && self.tokens[start].depth == 0
            {
                inner_end = self.tokens[at + 1].end;
            }
            let before = start.checked_sub(1).map_or("", |at| self.text(at));
            let is_variable = before == "$" && self.text(start) != "crate";
            let is_use = before == "use";
            let is_continued = [".", "::"].contains(&before) || is_variable;
            if is_continued || !self.is_name(start) || !is_use && self.text(at) != "::" {
                continue;
            }
            let from = found.len();
            at = self.read_tree(start, &[], &mut found);
            for path in &mut found[from..] {
                path.is_outer = is_use && self.tokens[start].depth == 0;
                path.is_inner = start < inner_end;
                path.alias = path.alias.take().filter(|_| is_use);
            }
        }
        found.retain(|path| path.names.len() > 1 || path.alias.as_deref() == Some("*"));
        found
    }

    /// Reads a path or a group of paths, as `use` has them; returns where the next token is.
    fn read_tree(&self, mut at: usize, prefix: &[String], found: &mut Vec<Path>) -> usize {
        let mut names = prefix.to_vec();
        let mut alias = None;
        let mut index = self.tokens[at].line;
        while self.is_name(at) {
            index = self.tokens[at].line;
            // `{self}` is what stands before the group.
            if self.text(at) != "self" || names.is_empty() {
                names.push(self.text(at).to_owned());
            }
            at += 1;
            if self.text(at) != "::" {
                break;
            }
            at += 1;
        }
        if self.text(at) == "{" && self.text(at - 1) == "::" {
            let end = self.tokens[at].end;
            at += 1;
            while at < end {
                at = self.read_tree(at, &names, found).max(at + 1);
                at += usize::from(self.text(at) == ",");
            }
            return end + 1;
        }
        if self.text(at) == "*" && self.text(at - 1) == "::" {
            (index, alias) = (self.tokens[at].line, Some("*".to_owned()));
            at += 1;
        } else if self.text(at) == "as" {
            alias = Some(self.text(at + 1).to_owned());
            at += 2;
        }
        let alias = alias.or_else(|| names.last().cloned());
        found.push(Path { index, names, alias, is_outer: false, is_inner: false });
        at
    }
}

/// Adds the tokens of a stream.
fn flatten(stream: TokenStream, depth: usize, tokens: &mut Vec<Token>) {
    let push = |tokens: &mut Vec<Token>, text: &str, span: Span| {
        let (line, end) = (span.start().line - 1, tokens.len());
        tokens.push(Token { text: text.to_owned(), line, end, depth });
    };
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                let start = tokens.len();
                push(tokens, open, group.span_open());
                flatten(group.stream(), depth + 1, tokens);
                tokens[start].end = tokens.len();
                push(tokens, close, group.span_close());
            }
            TokenTree::Punct(mark) if mark.as_char() == '\'' => drop(trees.next()),
            TokenTree::Punct(mark) => {
                let is_colon =
                    |tree: &TokenTree| matches!(tree, TokenTree::Punct(p) if p.as_char() == ':');
                if mark.as_char() == ':' && trees.next_if(is_colon).is_some() {
                    push(tokens, "::", mark.span());
                } else {
                    push(tokens, &mark.to_string(), mark.span());
                }
            }
            TokenTree::Ident(name) => push(tokens, &name.to_string(), name.span()),
            TokenTree::Literal(literal) => push(tokens, "", literal.span()),
        }
    }
}

/// A path that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// The line, counted from 0.
    pub(crate) index: usize,
    /// The names between the colons, `crate`, `self` and `super` among them.
    pub(crate) names: Vec<String>,
    /// Under which name a `use` has it; `*` for all that a module or a type has.
    pub(crate) alias: Option<String>,
    /// Whether it is a `use` of the file itself, and not of a function or a module of it.
    pub(crate) is_outer: bool,
    /// Whether it stands in a module of the file: `super` is then the file.
    pub(crate) is_inner: bool,
}

/// A function, from the line with its name to the line that closes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) index: usize,
    pub(crate) lines: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_quotes_and_tests_are_no_code() {
        let text = "a(\"x // \\\" y::z\", 'b', '\"', 'c); // d\n/* e\n*/ f::<'g>(r#\"h \"\n\"#);\n\
                    #[cfg(test)]\nuse a::b;\n#[cfg(test)]\n#[path = \"x\"]\nmod j;\nk";
        let code = Code::without_tests(text);
        let shown: Vec<_> = code.tokens.iter().filter(|token| !token.text.is_empty()).collect();
        let texts: Vec<&str> = shown.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(texts.concat(), "a(,,,);f::<>();k");
        assert_eq!(shown.last().map(|token| token.line), Some(9));
        assert_eq!(code.test_modules, ["j"]);
    }

    #[test]
    fn paths_are_read_in_and_out_of_groups() {
        let text = "pub use a::{\n    b::{self, c},\n    d as e,\n    f::*,\n};\n\
                    fn f() {\n    use super::g;\n    x.h::<u8>(i::<u8>(crate::j::k(self::l)));\n}\n";
        let found = Code::new(text).paths();
        let shown = found.iter().map(|path| {
            let alias = path.alias.as_deref().unwrap_or("-");
            format!("{} {} {alias} {}", path.index, path.names.join("::"), path.is_outer)
        });
        let expected = [
            "1 a::b b true",
            "1 a::b::c c true",
            "2 a::d e true",
            "3 a::f * true",
            "6 super::g g false",
            "7 crate::j::k - false",
            "7 self::l - false",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    /// Heads of several lines, bodies of none, braces in strings, functions in functions.
    #[test]
    fn functions_are_measured_from_head_to_brace() {
        let text = "fn one() {}\nimpl X {\n    pub(crate) const fn two<T>(\n        x: T,\n    )\n    \
                    where\n        T: Y,\n    {\n        fn three() {\n            \"}\"\n        }\n    \
                    }\n    fn four(\n    ) -> u8;\n}\nlet f: fn(u8) = x.map(fn_of);\n// A fn for all.\n";
        let code = Code::new(text);
        let found: Vec<_> = code.functions().map(|f| (f.name, f.index, f.lines)).collect();
        assert_eq!(found, [("one", 0, 1), ("two", 2, 10), ("three", 8, 3), ("four", 12, 2)]);
    }
}

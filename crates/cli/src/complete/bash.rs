//! Completions in bash, which splits words at `=` and `:`. The engine gets them whole again, and
//! bash the part of a candidate behind the last split.

use super::script::write_script;
use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;
use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

/// bash from 3.2 on.
#[derive(Debug)]
pub(super) struct Bash;

/// Asks the command for candidates, a line each. No blank follows a candidate that goes on. What
/// the shell would take as its own is escaped as the word begins: bash hands over the word without
/// its open quote, and puts the candidate behind that.
const SCRIPT: &str = r#"_NAME() {
    local line open=${COMP_WORDS[COMP_CWORD]:0:1}
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $open == \' ]]; then
            line=${line//\'/\'\\\'\'}
        elif [[ $open == \" ]]; then
            [[ $line == *[\\\"\$\`]* ]] && line=$(printf %s "$line" | sed 's/[\\"$`]/\\&/g')
        elif [[ $line == *[$' \t\'"$`\\&;()<>*?[]|!']* ]]; then
            printf -v line %q "$line"
        fi
        COMPREPLY+=("$line")
    done < <(VARIABLE=bash _NAME_index="$COMP_CWORD" _NAME_word="$2" _NAME_at="${COMP_LINE:0:COMP_POINT}" \
        COMPLETER -- "${COMP_WORDS[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[=./] ]]; then
        compopt +o nospace 2>/dev/null
    fi
}
complete -o nospace -o nosort -F _NAME BIN 2>/dev/null || complete -o nospace -F _NAME BIN
"#;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        bin: &str,
        completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        write_script(SCRIPT, [variable, name, bin, completer], script)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        found: &mut dyn Write,
    ) -> Result<(), Error> {
        let given = |name: &str| std::env::var(name).unwrap_or_default();
        let place = given("_flashyard_index").parse().unwrap_or(words.len() - 1);
        let words: Vec<String> =
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let line = given("_flashyard_at");
        let Joined { words, split } = join(&words, place, &given("_flashyard_word"), &line);
        let place = words.len() - 1;
        let words = words.into_iter().map(OsString::from).collect();
        for candidate in complete(command, words, place, folder)? {
            let text = candidate.get_value().to_string_lossy();
            if let Some(rest) = text.strip_prefix(&*split) {
                writeln!(found, "{rest}")?;
            }
        }
        Ok(())
    }
}

/// Words as they were typed, up to the one that is completed, which is the last.
#[derive(Debug, PartialEq, Eq)]
struct Joined {
    words: Vec<String>,
    /// What of the last one bash holds for other words.
    split: String,
}

/// Joins what bash has split. `place` is the number of the word with the cursor, and `current` its
/// text before the cursor; `line` is the line up to there.
fn join(words: &[String], place: usize, current: &str, line: &str) -> Joined {
    let is_split = |word: &str| !word.is_empty() && word.chars().all(|c| "=:".contains(c));
    let (mut all, mut goes_on) = (Vec::<String>::new(), false);
    for word in words.iter().take(place) {
        let joins = (goes_on || is_split(word)) && all.len() > 1;
        match all.last_mut().filter(|_| joins) {
            Some(last) => last.push_str(word),
            None => all.push(word.clone()),
        }
        goes_on = is_split(word);
    }
    // Where the cursor is behind `=`, that is the word with the cursor, and its text is empty.
    let sign = words.get(place).filter(|word| is_split(word)).map_or("", String::as_str);
    let is_apart = line.ends_with(char::is_whitespace);
    let joins = (goes_on || !sign.is_empty()) && !is_apart && all.len() > 1;
    let split = all.pop_if(|_| joins).unwrap_or_default() + if is_apart { "" } else { sign };
    let current = if is_split(current) { "" } else { current };
    all.push(plain(&format!("{split}{current}")));
    Joined { words: all, split: plain(&split) }
}

/// A word without the quotes of the shell.
fn plain(word: &str) -> String {
    let (mut text, mut letters) = (String::new(), word.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next()),
            '"' | '\'' => {}
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], current: &str, expected: &[&str], split: &str) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        let line = if words.last().is_some_and(|word| word == " ") { "x " } else { "x" };
        let found = join(&words, words.len() - 1, current, line);
        assert_eq!(found, Joined { words: expected, split: split.to_string() });
    }

    #[test]
    fn words_that_bash_splits_are_whole_again() {
        check(&["f", "ru"], "ru", &["f", "ru"], "");
        check(&["f", "run", "--set", "gc.po"], "gc.po", &["f", "run", "--set", "gc.po"], "");
        let whole = ["f", "run", "--set", "gc.policy="];
        check(&["f", "run", "--set", "gc.policy", "="], "", &whole, "gc.policy=");
        check(&["f", "run", "--set", "gc.policy", "=", ""], "", &whole, "gc.policy=");
        let whole = ["f", "run", "--set", "gc.policy=gr"];
        check(&["f", "run", "--set", "gc.policy", "=", "gr"], "gr", &whole, "gc.policy=");
        let whole = ["f", "--set", "a.b=10..30:5", "--set=gc.p"];
        let words = ["f", "--set", "a.b", "=", "10..30", ":", "5", "--set", "=", "gc.p"];
        check(&words, "gc.p", &whole, "--set=");
        check(&["f", "my\\ fi"], "my\\ fi", &["f", "my fi"], "");
    }

    /// Behind a blank a new word begins.
    #[test]
    fn a_blank_ends_a_setting() {
        let words = ["f", "--set", "a.b", "=", " "];
        check(&words, "", &["f", "--set", "a.b=", ""], "");
    }
}

//! The documents: each page is in the table of contents, links lead somewhere, commands run and
//! print what the page shows.

use crate::support::{Folder, finish, repository_file};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Pages whose commands are run, one after another in one folder. What they need beside what their
/// own commands write is in `prepare`.
const RUN: [&str; 5] = [
    "README.md",
    "docs/TUTORIAL.md",
    "docs/REPRODUCED.md",
    "docs/LEARNING.md",
    "docs/WORKLOADS.md",
];

/// In front of a block of commands that the tests do not run, with the reason behind it.
const NOT_RUN: &str = "<!-- not run by the tests: ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page of docs/ and of docs/labs/ by the name of its file.
fn pages() -> BTreeSet<String> {
    let of = |folder: &str| {
        let path = root().join("docs").join(folder);
        let entries = std::fs::read_dir(path).expect("the folder is there");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            format!("{folder}{}", entry.expect("an entry").file_name().into_string().unwrap())
        };
        entries.map(name).collect::<Vec<String>>()
    };
    let is_page = |name: &String| {
        let end = Path::new(name).extension();
        end.is_some_and(|end| end == "md") && name != "SUMMARY.md"
    };
    of("").into_iter().chain(of("labs/")).filter(is_page).collect()
}

/// The lines of a page that are prose: not those of indented or fenced blocks.
fn prose(text: &str) -> Vec<&str> {
    let (mut fenced, mut kept) = (false, Vec::new());
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        if !fence && !fenced && !line.starts_with("    ") {
            kept.push(line);
        }
        fenced ^= fence;
    }
    kept
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let joined = prose(text).join("\n");
    let targets = joined.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(ToString::to_string).collect()
}

/// The anchor that a heading gets: lower case, blanks as hyphens, without other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let heads = prose(text).into_iter().filter(|line| line.starts_with('#'));
    heads.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let mut listed = links(&repository_file("docs/SUMMARY.md"));
    listed.sort();
    let pages: Vec<String> = pages().into_iter().collect();
    assert_eq!(listed, pages, "docs/SUMMARY.md names each page of docs/ once, and no other file");
}

#[test]
fn links_of_the_documents_lead_to_a_file_and_a_heading() {
    let mut checked = 0;
    let files = pages().into_iter().map(|name| format!("docs/{name}"));
    for page in files.chain(["README.md".to_string(), "CONTRIBUTING.md".to_string()]) {
        let text = repository_file(&page);
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                root().join(&page)
            } else {
                root().join(&page).parent().expect("a folder").join(file)
            };
            assert!(target.exists(), "{page}: the link {link} leads to no file");
            if !place.is_empty() {
                let known = anchors(&std::fs::read_to_string(&target).expect("a page"));
                assert!(known.contains(place), "{page}: the link {link} leads to no heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} links");
}

/// A block of a page.
enum Block {
    /// Lines of a shell, and whether they are run.
    Shell(Vec<String>, bool),
    /// A file to write: its name and text.
    File(String, String),
    /// What the last command of the block before prints: lines in order, others between them.
    Output(Vec<String>),
}

/// The blocks of a page: indented ones are a shell's, fences are files (their first line is `#`
/// and the name), output (`text`), a shell's (`sh`) or parts of files.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut shell, mut run) = (Vec::new(), Vec::new(), true);
    let mut lines = text.lines().chain([""]).peekable();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("    ") {
            shell.push(command.to_string());
            continue;
        }
        if !shell.is_empty() {
            blocks.push(Block::Shell(std::mem::take(&mut shell), run));
        }
        if let Some(kind) = line.strip_prefix("```") {
            let inside: Vec<String> =
                lines.by_ref().take_while(|line| *line != "```").map(str::to_string).collect();
            let name = inside.first().and_then(|line| line.strip_prefix("# "));
            let is_file = |name: &&str| name.contains('.') && !name.contains(' ');
            match (name.filter(is_file), kind) {
                (Some(name), _) => {
                    blocks.push(Block::File(name.to_string(), inside.join("\n") + "\n"));
                }
                (None, "sh") => blocks.push(Block::Shell(inside, run)),
                (None, "text") => blocks.push(Block::Output(inside)),
                (None, "toml" | "python") => {}
                (None, kind) => panic!("a block of {kind}"),
            }
        }
        // The marker holds up to the next line of prose.
        if !line.is_empty() {
            run = !line.starts_with(NOT_RUN);
        }
    }
    blocks
}

/// The commands of a shell's lines: continued lines joined, comments and other programs left out.
fn commands(lines: &[String]) -> Vec<Vec<String>> {
    let joined = lines.join("\n").replace("\\\n", " ");
    let own = joined.lines().filter_map(|line| line.trim().strip_prefix("flashyard "));
    own.map(words).collect()
}

/// The words of a command; quotes hold words together, a comment ends it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), None);
    for c in line.chars().chain([' ']) {
        match (quoted, c) {
            (Some(quote), _) if c == quote => quoted = None,
            (None, '"' | '\'') => quoted = Some(c),
            (None, ' ') => {
                if word == "#" {
                    break;
                }
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(c),
        }
    }
    words
}

/// Fails if a line that a page shows is not printed, or not behind the lines shown before it.
fn compare(page: &str, command: &[String], shown: &[String], printed: &str) {
    let mut printed_lines = printed.lines();
    for line in shown.iter().filter(|line| !line.is_empty() && *line != "...") {
        assert!(
            printed_lines.any(|printed| printed.trim_end() == line.trim_end()),
            "{page}: {command:?} does not print, in this place:\n{line}\nbut:\n{printed}"
        );
    }
}

/// Runs the commands of a page.
fn check(page: &str) -> usize {
    let folder = Folder::new();
    let sweep = "crates/cli/sweeps/over-provisioning.toml";
    folder.write(sweep, repository_file(sweep));
    let (mut last, mut count): (Option<(Vec<String>, String)>, usize) = (None, 0);
    // The README shows no figures of its commands, which therefore need not run as long here.
    let fewer: &[&str] =
        if page == "README.md" { &["--set", "pattern.requests=50000"] } else { &[] };
    for block in blocks(&repository_file(page)) {
        match block {
            Block::File(name, text) => folder.write(&name, text),
            Block::Shell(lines, true) => {
                for command in commands(&lines) {
                    let redirect = command.iter().position(|word| word == ">");
                    let end = redirect.unwrap_or(command.len());
                    let mut args: Vec<&str> = command[..end].iter().map(String::as_str).collect();
                    if args.contains(&"mixed-70-30") {
                        args.extend(fewer);
                    }
                    let ran = folder.run(&args);
                    assert_eq!(ran.status, Some(0), "{page}: {command:?}: {}", ran.stderr);
                    if redirect.is_some() {
                        folder.write(&command[end + 1], &ran.stdout);
                    }
                    last = Some((command, ran.stdout));
                    count += 1;
                }
            }
            Block::Shell(..) => last = None,
            Block::Output(shown) => {
                if let Some((command, printed)) = &last {
                    compare(page, command, &shown, printed);
                }
            }
        }
    }
    count
}

#[test]
fn commands_of_pages_run_and_print_what_they_show() {
    let counts = RUN.map(check);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// An option or a command that a page names is one that the command line knows: with `--help` at
/// its end a command is parsed and not run.
#[test]
fn commands_of_every_page_are_known_to_the_command_line() {
    let folder = Folder::new();
    let mut count = 0;
    for name in pages() {
        let text = repository_file(&format!("docs/{name}"));
        let lines: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("    ").map(str::to_string)).collect();
        for command in commands(&lines) {
            let end = command.iter().position(|word| [">", "|"].contains(&word.as_str()));
            let end = end.unwrap_or(command.len());
            // A description of the options of a command.
            if command.iter().any(|word| word.starts_with('[')) {
                continue;
            }
            // A word in capitals stands for options that the page lists, unless an option takes it.
            let stands_for = |at: usize| {
                let capitals = command[at].chars().all(|c| c.is_ascii_uppercase());
                capitals && command[at].len() > 1 && !(at > 0 && command[at - 1].starts_with('-'))
            };
            let kept = (0..end).filter(|at| !stands_for(*at));
            let mut args: Vec<&str> = kept.map(|at| command[at].as_str()).collect();
            args.push("--help");
            let ran = folder.run(&args);
            assert_eq!(ran.status, Some(0), "docs/{name}: {command:?}: {}", ran.stderr);
            count += 1;
        }
    }
    assert!(count > 50, "{count} commands");
}

/// Every command of the command line.
const COMMANDS: [&str; 15] = [
    "run",
    "compare",
    "why",
    "sweep",
    "reproduce",
    "trace",
    "fit",
    "board",
    "import",
    "lab",
    "list",
    "show",
    "schema",
    "completions",
    "man",
];

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&["completions", shell]).text();
        assert!(script.contains("FLASHYARD_COMPLETE"), "{shell}: {script}");
        let words = ["--", "flashyard", ""];
        let mut asked = folder.command(&words);
        asked.env("FLASHYARD_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "1");
        let found = finish(&mut asked, None).text();
        for command in COMMANDS {
            assert!(found.contains(command), "{shell}: {command}: {found}");
        }
    }
    let page = folder.run(&["man"]).text();
    folder.run(&["man", "pages"]).text();
    assert_eq!(String::from_utf8(folder.read("pages/flashyard.1")).unwrap(), page);
    for command in COMMANDS {
        assert!(page.contains(&format!("flashyard\\-{command}(1)")), "{command}: {page}");
        let name = format!("pages/flashyard-{command}.1");
        let below = String::from_utf8(folder.read(&name)).expect("text");
        assert!(below.contains(".SH SYNOPSIS"), "{name}: {below}");
    }
    assert_eq!(
        folder.files().len(),
        COMMANDS.len() + 1 + 3 + 4,
        "trace has three commands, lab four"
    );
    let help = folder.run(&["--help"]).text();
    let listed = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let listed: BTreeSet<&str> = listed.filter(|w| w.chars().all(char::is_lowercase)).collect();
    let missing: Vec<_> = listed
        .into_iter()
        .filter(|word| !word.is_empty() && *word != "help" && !COMMANDS.contains(word))
        .collect();
    assert!(missing.is_empty(), "COMMANDS leaves out {missing:?}");
}

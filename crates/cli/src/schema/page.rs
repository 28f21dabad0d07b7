//! The tables of docs/JSON.md and docs/WHY.md, made from the contract.

use super::contract::{Contract, Object, Type};
use std::collections::BTreeSet;

/// The pages with tables of fields.
const PAGES: [&str; 2] = ["JSON.md", "WHY.md"];

/// Stands in the line before the table of an object.
const MARK: &str = "<!-- the fields of ";

/// The table of an object.
fn table(object: &Object) -> String {
    let mut text = format!("| field of `{}` | type | what it is |\n|---|---|---|\n", object.name);
    for field in &object.fields {
        let names = listed(&field.names, ", ");
        let optional = if field.optional { "optional " } else { "" };
        let unit = field.unit.as_ref().map_or_else(String::new, |unit| format!(" ({unit})"));
        let kind = words(&field.kind);
        text += &format!("| {names} | {optional}{kind}{unit} | {} |\n", field.what);
    }
    text
}

/// A type in words.
fn words(kind: &Type) -> String {
    match kind {
        Type::Integer => "integer".to_string(),
        Type::Number => "number".to_string(),
        Type::Text => "text".to_string(),
        Type::Boolean => "boolean".to_string(),
        Type::Sha256 => "64 hexadecimal digits".to_string(),
        Type::Version => format!("integer, {}", super::SCHEMA_VERSION),
        Type::OneOf(all) => listed(all, " or "),
        Type::Named(name) => format!("`{name}`"),
        Type::Made(name) if name == "device" => "settings by section".to_string(),
        Type::Made(name) if name == "figures" => "number or null, by name".to_string(),
        Type::Made(_) => "settings".to_string(),
        Type::List(inside) => format!("list of {}", words(inside)),
        Type::Inline(groups) => {
            let groups = groups.iter().map(|(names, kind)| {
                let names = listed(names, ", ");
                format!("{names}: {}", words(kind))
            });
            format!("object of {}", groups.collect::<Vec<_>>().join("; "))
        }
        Type::Map(inside) => format!("object of any names: {}", words(inside)),
        Type::Either(all) => all.iter().map(words).collect::<Vec<_>>().join(", or "),
        Type::OrNull(inside) => {
            let is_made_of = matches!(**inside, Type::List(_) | Type::Inline(_) | Type::Map(_));
            format!("{}{} or null", words(inside), if is_made_of { "," } else { "" })
        }
    }
}

/// Names as code.
fn listed(names: &[String], between: &str) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(between)
}

/// A page with the tables of the contract behind its marks; the objects that it shows are added.
fn renewed(page: &str, contract: &Contract, shown: &mut Vec<String>) -> String {
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text += line;
        text.push('\n');
        let Some(name) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        text.push('\n');
        text += &table(contract.object(name));
        shown.push(name.to_string());
        while lines.next_if(|line| line.is_empty() || line.starts_with('|')).is_some() {}
        if lines.peek().is_some() {
            text.push('\n');
        }
    }
    text
}

#[test]
fn tables_of_fields_are_those_of_the_contract() {
    let contract = Contract::new();
    let mut shown = Vec::new();
    for name in PAGES {
        let file = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(&file).expect("the page is there");
        let renewed = renewed(&page, &contract, &mut shown);
        if std::env::var_os("FLASHYARD_UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, renewed).expect("the page is written");
        } else {
            let differs = page.lines().zip(renewed.lines()).find(|(old, new)| old != new);
            assert!(
                page == renewed,
                "docs/{name} is not what crates/cli/schema says; cargo xtask golden --update \
                 writes its tables anew: {differs:?}"
            );
        }
    }
    let all: BTreeSet<&str> = contract.0.iter().map(|object| object.name.as_str()).collect();
    let set: BTreeSet<&str> = shown.iter().map(String::as_str).collect();
    assert_eq!(all.difference(&set).collect::<Vec<_>>(), [&""; 0], "objects without a table");
    assert_eq!(shown.len(), all.len(), "tables that are there twice: {shown:?}");
}

#[test]
fn types_are_words() {
    let check = |text: &str, expected: &str| {
        assert_eq!(words(&Type::parse("here", text)), expected);
    };
    check("integer?", "integer or null");
    check(
        "[{a b: number?, c: [Bin]}]",
        "list of object of `a`, `b`: number or null; `c`: list of `Bin`",
    );
    check("[number]?", "list of number, or null");
    check("one of a/b?", "`a` or `b` or null");
    check("Why | [Why]", "`Why`, or list of `Why`");
}

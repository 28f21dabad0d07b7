//! `flashyard schema`: the contract of `--json` as JSON Schema, for programs that read it.

mod contract;
mod keys;
#[cfg(test)]
mod page;

use crate::args::Printed;
use crate::output::print_json;
use crate::output::text::without_links;
use anyhow::Result;
use contract::{Contract, Field, Type};
use flashyard_run::contract::SCHEMA_VERSION;
use flashyard_sim::own::OwnParts;
use keys::closed;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Of the JSON Schema that is printed.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

impl Printed {
    /// The command, the name of its schema, and what it prints, as the contract writes types.
    const fn row(self) -> [&'static str; 3] {
        match self {
            Self::Run => ["run --json", "run", "Run"],
            Self::Compare => ["compare --json", "compare", "[Run]"],
            Self::Why => ["why --json", "why", "Why | [Why]"],
            Self::Reproduce => ["reproduce --json", "reproduce", "Study"],
            Self::Twins => ["reproduce --twins --json", "twins", "Twins"],
            Self::TraceInfo => ["trace info --json", "trace-info", "Info | Infos"],
            Self::TraceFit => ["trace fit --json", "trace-fit", "Fitted"],
            Self::Fit => ["fit --json", "fit", "FittedDevice"],
            Self::Board => ["board --json", "board", "Board"],
            Self::List => ["list --json", "list", "Names | Keys | Layers"],
        }
    }
}

/// Runs `flashyard schema`.
pub(crate) fn run(printed: Printed, own: &OwnParts) -> Result<()> {
    print_json(&schema(printed, own))
}

/// The schema of what a command prints.
fn schema(printed: Printed, own: &OwnParts) -> Value {
    let contract = Contract::new();
    let [command, name, kind] = printed.row();
    let kind = Type::parse("here", kind);
    let mut object = of(&kind);
    object["$schema"] = DRAFT.into();
    object["$id"] = format!("urn:flashyard:{name}:{SCHEMA_VERSION}").into();
    object["title"] = format!("flashyard {command}").into();
    object["description"] = format!(
        "What version {} prints. A later version with the same number of the contract, \
         {SCHEMA_VERSION}, may print more fields. Units are in x-unit.",
        env!("CARGO_PKG_VERSION")
    )
    .into();
    object["$defs"] = definitions(&contract, &kind, own);
    object
}

/// All objects that a type leads to.
fn definitions(contract: &Contract, kind: &Type, own: &OwnParts) -> Value {
    let mut open: Vec<&str> = kind.names();
    let mut made = BTreeSet::new();
    let mut all = Map::new();
    while let Some(name) = open.pop() {
        if all.contains_key(name) {
            continue;
        }
        let object = contract.object(name);
        for field in &object.fields {
            open.extend(field.kind.names());
            made.extend(tables(&field.kind));
        }
        all.insert(name.to_string(), definition(&object.title, &object.fields));
    }
    for name in made {
        all.extend(keys::definitions(name, own));
    }
    all.into()
}

/// The tables of keys and figures that a type names.
fn tables(kind: &Type) -> Vec<&str> {
    match kind {
        Type::Made(name) => vec![name],
        Type::List(inside) | Type::Map(inside) | Type::OrNull(inside) => tables(inside),
        _ => Vec::new(),
    }
}

/// An object of exactly these fields.
fn definition(title: &str, fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        for name in &field.names {
            let mut property = of(&field.kind);
            property["description"] = without_links(&field.what).into();
            if let Some(unit) = &field.unit {
                property["x-unit"] = unit.as_str().into();
            }
            properties.insert(name.clone(), property);
            if !field.optional {
                required.push(name.as_str());
            }
        }
    }
    let mut object = closed(&properties, &required);
    object["title"] = title.into();
    object
}

/// The schema of a type.
fn of(kind: &Type) -> Value {
    match kind {
        Type::Integer => json!({"type": "integer", "minimum": 0}),
        Type::Number => json!({"type": "number"}),
        Type::Text => json!({"type": "string"}),
        Type::Boolean => json!({"type": "boolean"}),
        Type::Sha256 => json!({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
        Type::Version => json!({"const": SCHEMA_VERSION}),
        Type::OneOf(words) => json!({"enum": words}),
        Type::Named(name) | Type::Made(name) => json!({"$ref": format!("#/$defs/{name}")}),
        Type::List(inside) => json!({"type": "array", "items": of(inside)}),
        Type::Map(inside) => json!({"type": "object", "additionalProperties": of(inside)}),
        Type::Inline(groups) => {
            let all = groups.iter().flat_map(|(names, kind)| names.iter().map(move |n| (n, kind)));
            let required: Vec<&str> = all.clone().map(|(name, _)| name.as_str()).collect();
            closed(&all.map(|(name, kind)| (name.clone(), of(kind))).collect(), &required)
        }
        Type::Either(all) => json!({"anyOf": all.iter().map(of).collect::<Vec<_>>()}),
        Type::OrNull(inside) => match of(inside) {
            // The short form where there is one.
            Value::Object(mut simple) if simple.get("type").is_some_and(Value::is_string) => {
                simple["type"] = json!([simple["type"], "null"]);
                simple.into()
            }
            other => json!({"anyOf": [other, {"type": "null"}]}),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_null_has_the_short_form_where_there_is_one() {
        let of = |text: &str| of(&Type::parse("here", text));
        assert_eq!(of("integer?"), json!({"type": ["integer", "null"], "minimum": 0}));
        let reference = json!({"$ref": "#/$defs/Series"});
        assert_eq!(of("Series?"), json!({"anyOf": [reference, {"type": "null"}]}));
        assert_eq!(of("one of a/b"), json!({"enum": ["a", "b"]}));
    }
}

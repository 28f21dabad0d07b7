//! `flashyard-validator SCHEMA FILE...`: fails where a file is not what the schema says, or where
//! one whose values were replaced would be, too.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Of the values of a document one in so many is replaced.
const STEP: usize = 7;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    match run(&files) {
        Ok(changed) => say(&format!("{} documents, {changed} changed ones", files.len() - 1), 0),
        Err(what) => say(&what, 1),
    }
}

fn say(what: &str, status: u8) -> ExitCode {
    let said = writeln!(std::io::stdout(), "{what}");
    said.map_or(ExitCode::FAILURE, |()| ExitCode::from(status))
}

/// Checks all files; returns how many changed documents were refused.
fn run(files: &[String]) -> Result<usize, String> {
    let (schema, files) = files.split_first().ok_or("name a schema and files")?;
    let schema = read(schema)?;
    let id = schema["$id"].as_str().ok_or("the schema has no $id")?.to_owned();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(&id, schema).map_err(|error| error.to_string())?;
    let index = compiler.compile(&id, &mut schemas);
    let index = index.map_err(|error| format!("{id}: {error:#}"))?;
    let mut changed = 0;
    for file in files {
        let value = read(file)?;
        if let Err(error) = schemas.validate(&value, index) {
            let text = error.to_string();
            let lines: Vec<&str> = text.lines().take(20).collect();
            return Err(format!("{file}: {}", lines.join("\n")));
        }
        changed += check_changed(&schemas, index, file, &value)?;
    }
    Ok(changed)
}

fn read(file: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))
}

/// A value of another type is refused wherever it stands, and so is a field that nobody knows.
fn check_changed(
    schemas: &Schemas,
    index: SchemaIndex,
    file: &str,
    value: &Value,
) -> Result<usize, String> {
    let mut all = vec![String::new()];
    places(value, "", &mut all);
    let mut count = 0;
    for place in all.iter().step_by(STEP) {
        let mut changed = value.clone();
        let found = changed.pointer_mut(place).ok_or("a place is gone")?;
        let is_more = found.is_number() || found.is_object() || found.is_array();
        // An empty list may stand where null does.
        *found = if is_more { json!("7") } else { json!([[["7"]]]) };
        if schemas.validate(&changed, index).is_ok() {
            return Err(format!("{file}: {place} may be of another type"));
        }
        count += 1;
    }
    let mut changed = value.clone();
    if let Some(fields) = changed.as_object_mut() {
        fields.insert("surprise".to_owned(), json!(1));
        if schemas.validate(&changed, index).is_ok() {
            return Err(format!("{file}: it may have any field"));
        }
        count += 1;
    }
    Ok(count)
}

/// The places of all values; of a list only its first ones.
fn places(value: &Value, path: &str, all: &mut Vec<String>) {
    let mut add = |name: &str, value: &Value| {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        places(value, &path, all);
        all.push(path);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| add(name, value)),
        Value::Array(list) => list.iter().take(1).for_each(|value| add("0", value)),
        _ => {}
    }
}

//! Descriptors as TOML files.

use toml_edit::{Array, Document, Item};

use super::fault::Fault;
use super::grammar::{Draft, TICK_FIX};
use super::layout::Layout;
use crate::error::WorkloadError;

/// The keys of a descriptor file.
const KEYS: &str =
    "name, title, source, notes, delimiter, header, base, tick_us, detect, columns and example";

/// The largest descriptor file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the descriptor file at `path`.
pub(super) fn read(path: &str) -> Result<Layout, WorkloadError> {
    let failed = |what: String| {
        let fix = "trace.format names a format, a descriptor file or a descriptor".to_owned();
        WorkloadError::File { file: path.to_owned(), what, fix }
    };
    let bytes = std::fs::metadata(path).map_err(|error| failed(format!("cannot be read, {error}")));
    let bytes = bytes?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(failed(format!("the file is too large for a descriptor, {bytes} bytes")));
    }
    let text = std::fs::read_to_string(path);
    parse(path, &text.map_err(|error| failed(format!("cannot be read, {error}")))?)
}

/// Reads the text of a descriptor file.
pub(super) fn parse(file: &str, text: &str) -> Result<Layout, WorkloadError> {
    let row = |offset: Option<usize>, fault: Fault| {
        let before = offset.and_then(|offset| text.get(..offset)).unwrap_or("");
        let line = 1 + before.matches('\n').count() as u64;
        WorkloadError::Row { file: file.to_owned(), line, what: fault.what, fix: fault.fix }
    };
    let document = Document::parse(text).map_err(|error| {
        let what = error.message().trim().replace('\n', ", ");
        let fix = "a descriptor is a TOML file".to_owned();
        row(error.span().map(|span| span.start), Fault { what, fix })
    })?;
    let stem = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let mut draft = Draft::new(stem.strip_suffix(".toml").unwrap_or(stem));
    for (key, item) in document.as_table() {
        let start = item.span().map(|span| span.start);
        if key == "columns" {
            let columns = item.as_array().ok_or_else(|| row(start, columns_fault()))?;
            take_columns(&mut draft, columns).map_err(|(at, fault)| row(at.or(start), fault))?;
        } else {
            take(&mut draft, key, item).map_err(|fault| row(start, fault))?;
        }
    }
    draft.finish().map_err(|Fault { what, fix }| WorkloadError::File {
        file: file.to_owned(),
        what,
        fix,
    })
}

fn columns_fault() -> Fault {
    let fix = "write columns = [\"time:s\", \"op:R/W\", \"offset:B\", \"size:B\"]";
    Fault::new("columns: a list of strings is needed", fix)
}

fn take_columns(draft: &mut Draft, columns: &Array) -> Result<(), (Option<usize>, Fault)> {
    for value in columns {
        let start = value.span().map(|span| span.start);
        let text = value.as_str().ok_or_else(|| (start, columns_fault()))?;
        draft.column(text).map_err(|fault| (start, fault))?;
    }
    Ok(())
}

fn take(draft: &mut Draft, key: &str, item: &Item) -> Result<(), Fault> {
    let string = || {
        let fix = "write it between quotes";
        item.as_str().ok_or_else(|| Fault::new(format!("{key}: a string is needed"), fix))
    };
    let number = || item.as_integer().and_then(|number| u64::try_from(number).ok());
    match key {
        "name" => string()?.clone_into(&mut draft.name),
        "title" => string()?.clone_into(&mut draft.title),
        "example" => string()?.clone_into(&mut draft.example),
        "source" | "notes" => {
            string()?;
        }
        "delimiter" => draft.delimiter(string()?)?,
        "header" => match (item.as_str(), number()) {
            (Some(text), _) => draft.header_text(text)?,
            (_, Some(lines)) => draft.header_lines(lines)?,
            _ => {
                let fix = "give the number of lines, or the text of the line";
                return Err(Fault::new("header: a string or a whole number is needed", fix));
            }
        },
        "base" => {
            let fix = "give the address of the first byte in units of the offset";
            let base = number().ok_or_else(|| Fault::new("base: a whole number is needed", fix));
            draft.base(base?);
        }
        "tick_us" => {
            let fault = || Fault::new("tick_us: a whole number is needed", TICK_FIX);
            draft.tick_us(number().ok_or_else(fault)?)?;
        }
        "detect" => {
            let fault = || Fault::new("detect: true or false is needed", "set one of them");
            draft.detect = item.as_bool().ok_or_else(fault)?;
        }
        _ => {
            let fix = format!("the keys of a descriptor are {KEYS}");
            return Err(Fault::new(format!("{key}: unknown key"), fix));
        }
    }
    Ok(())
}

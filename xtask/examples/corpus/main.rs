//! Writes the inputs that the fuzz targets start from, always the same: `corpus DIR` makes a folder
//! below DIR for each target, anew.

use anyhow::{Context, Result, ensure};
use flashyard_workload::format::write::TraceWriter;
use flashyard_workload::input::Input;
use flashyard_workload::trace::{Event, Trace, TraceKeys, TraceOptions};
use flashyard_workload::{FORMATS, FormatInfo, RequestSource};
use std::fs;
use std::path::{Path, PathBuf};

/// Makes the inputs that a target starts from, in the repository at a path.
type Inputs = fn(&Path) -> Result<Vec<Vec<u8>>>;

/// The targets, with the inputs that each starts from.
const TARGETS: &[(&str, Inputs)] =
    &[("trace_reader", traces), ("trace_descriptor", descriptors), ("device_config", devices)];

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).context("name a folder")?;
    for (name, inputs) in TARGETS {
        write_corpus(&folder.join(name), &inputs(&root())?)?;
    }
    Ok(())
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every format's example: by detection, and by name with every event and column of streams. The
/// choices in front are those of `fuzz_targets/trace_reader.rs`.
fn traces(_: &Path) -> Result<Vec<Vec<u8>>> {
    let event = TraceKeys::KEYS.iter().position(|key| key.name == "event");
    let order = TraceKeys::KEYS.iter().position(|key| key.name == "time_order");
    let event = u8::try_from(event.context("there is a key event")?)?;
    let order = u8::try_from(order.context("there is a key time_order")?)?;
    let formats = FormatInfo::all().count();
    let mut inputs = Vec::new();
    for (at, format) in FormatInfo::all().enumerate() {
        let example = example(format)?;
        let mut input = |at: usize, split: usize, word: u8| -> Result<()> {
            let (at, split) = (u8::try_from(at)?, u8::try_from(split)?);
            let choices = [at, split, 0, event, word, order, 1, order, 1, order, 1];
            inputs.push([&choices[..], &example].concat());
            Ok(())
        };
        input(formats, 0, 0)?;
        for split in 0..format.splits.len() + 2 {
            for word in 0..u8::try_from(Event::ALL.len())? {
                input(at, split, word)?;
            }
        }
    }
    Ok(inputs)
}

/// The example of a format; one that is not text has none, so it is that of another format.
fn example(format: &FormatInfo) -> Result<Vec<u8>> {
    if !format.example.is_empty() {
        return Ok(format.example.as_bytes().to_vec());
    }
    let text = FORMATS.last().context("there is a format of text")?.example.as_bytes();
    let (keys, options) = (TraceKeys::default(), TraceOptions::default());
    let mut trace = Trace::open(Input::memory("example", text), &keys, &options)?;
    let mut writer = TraceWriter::new("example", format, false)?;
    let mut bytes = Vec::new();
    while let Some(request) = trace.next_request()? {
        writer.push(&request, &mut bytes)?;
    }
    writer.finish(&["a stream".to_owned()], &mut bytes)?;
    Ok(bytes)
}

/// The descriptors that the documentation shows, each with the example of its format.
fn descriptors(root: &Path) -> Result<Vec<Vec<u8>>> {
    let document = fs::read_to_string(root.join("docs/TRACES.md")).context("no docs/TRACES.md")?;
    let shown = FormatInfo::all().filter_map(|format| {
        let start = format!("| `{}` | `", format.name);
        let line = document.lines().find_map(|line| line.strip_prefix(&start))?;
        let descriptor = line.strip_suffix("` |")?;
        Some(format!("{descriptor}\n{}", format.example).into_bytes())
    });
    let inputs: Vec<Vec<u8>> = shown.collect();
    ensure!(!inputs.is_empty(), "docs/TRACES.md shows no descriptor");
    Ok(inputs)
}

/// Every preset.
fn devices(root: &Path) -> Result<Vec<Vec<u8>>> {
    let folder = root.join("crates/run/devices");
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            inputs.push(fs::read(&path)?);
        }
    }
    inputs.sort();
    Ok(inputs)
}

fn write_corpus(folder: &Path, inputs: &[Vec<u8>]) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (at, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("{at:04}")), input)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_and_preset_is_a_start() {
        let root = root();
        let traces = traces(&root).unwrap();
        for format in FormatInfo::all() {
            let example = example(format).unwrap();
            let named = traces.iter().filter(|input| input[11..] == example).count();
            assert_eq!(named, 4 * (format.splits.len() + 2) + 1, "{}", format.name);
        }
        let presets = fs::read_dir(root.join("crates/run/devices")).unwrap().count();
        assert_eq!(devices(&root).unwrap().len(), presets);
    }
}

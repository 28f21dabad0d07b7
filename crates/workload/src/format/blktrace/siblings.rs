//! The files of the other CPUs that lie beside a file of blktrace.

use std::path::Path;

use crate::error::WorkloadError;
use crate::words::{counted, either};

/// What stands between the name of a trace and the number of a CPU.
const MIDDLE: &str = ".blktrace.";

/// The trace and the CPU in the name of a file, such as `sda.blktrace.3.gz`.
fn parts(name: &str) -> Option<(&str, u32)> {
    let plain = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let (trace, cpu) = plain.rsplit_once(MIDDLE)?;
    Some((trace, cpu.parse().ok()?))
}

/// Refuses the file of one CPU where files of others that are not empty lie beside it: it does not
/// hold their requests.
pub(crate) fn check_siblings(path: &Path) -> Result<(), WorkloadError> {
    let Some((trace, cpu)) = path.file_name().and_then(|name| parts(name.to_str()?)) else {
        return Ok(());
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A folder that cannot be listed hides its files: the one that was named is read.
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    let mut others: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let (other, number) = parts(&name)?;
            let counts = other == trace && number != cpu && entry.metadata().ok()?.len() > 0;
            counts.then_some((number, name))
        })
        .collect();
    others.sort();
    let Some((_, first)) = others.first() else { return Ok(()) };
    let count = others.len() as u64;
    Err(WorkloadError::File {
        file: path.display().to_string(),
        what: format!(
            "it holds the requests of CPU {cpu} only, and {} of other CPUs {} beside it, the first \
             is {first}",
            counted(count, "file"),
            either(count, "lies", "lie")
        ),
        fix: format!(
            "merge them: blkparse -i {trace} -d {trace}.bin -O; or move the file to a folder of \
             its own to use it alone"
        ),
    })
}

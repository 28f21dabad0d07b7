//! Files of saved devices.

use super::WholeFile;
use anyhow::{Context, Result};
use flashyard_sim::device::Device;
use std::io::Write;
use std::path::Path;

/// Writes a drained device into a file at `path`, whose name it has yet to get.
pub(crate) fn save(path: &Path, device: &Device) -> Result<WholeFile> {
    let mut file = WholeFile::create(path)?;
    let mut written = Ok(());
    device.save(&mut |bytes| {
        if written.is_ok() {
            written = file.write_all(bytes);
        }
    });
    written.with_context(|| format!("{}: cannot be written", path.display()))?;
    Ok(file)
}

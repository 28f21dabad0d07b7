//! Saved devices: files that hold all that outlives a request.

use super::{WholeFile, json};
use crate::error::wrong;
use anyhow::{Context, Result};
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
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

/// The device in the file at `path`, and the file's SHA-256.
pub(crate) fn restore(path: &Path, settings: &Settings) -> Result<(Device, String)> {
    let place = path.display();
    let cannot = |error: std::io::Error| wrong(&format!("{place}: cannot be read, {error}"));
    let mut file = File::open(path).map_err(cannot)?;
    let mut hash = Sha256::new();
    let mut failed = None;
    let device = Device::restore(settings, &mut |bytes| match read(&mut file, bytes) {
        Ok(count) => {
            hash.update(&bytes[..count]);
            count
        }
        Err(error) => {
            failed = Some(error);
            0
        }
    });
    if let Some(error) = failed {
        return Err(cannot(error));
    }
    let device = device.map_err(|error| wrong(&format!("{place}: {error}")))?;
    Ok((device, json::hex(&hash.finalize())))
}

/// Reads until `bytes` are full or the file ends; returns how many there were.
fn read(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < bytes.len() {
        match file.read(&mut bytes[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

//! Built devices, in memory or in a file, from which runs start.

use crate::error::wrong;
use crate::hash;
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A built device in memory, as a file would have it.
pub struct Image(Vec<u8>);

impl Image {
    /// The image of a drained device.
    pub fn of(device: &Device) -> Self {
        let mut bytes = Vec::new();
        device.save(&mut |piece| bytes.extend_from_slice(piece));
        bytes.shrink_to_fit();
        Self(bytes)
    }

    /// The device.
    pub fn restore(&self, settings: &Settings) -> Result<Device> {
        let mut rest = &self.0[..];
        let device = Device::restore(settings, &mut |bytes| {
            let count = bytes.len().min(rest.len());
            let (piece, after) = rest.split_at(count);
            bytes[..count].copy_from_slice(piece);
            rest = after;
            count
        });
        device.map_err(|error| wrong(&error.to_string()))
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} bytes)", self.0.len())
    }
}

/// The device in the file at `path`, and the file's SHA-256.
pub fn restore(path: &Path, settings: &Settings) -> Result<(Device, String)> {
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
    Ok((device, hash::hex(&hash.finalize())))
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

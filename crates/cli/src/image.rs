//! Built devices in memory, from which several runs start.

use crate::error::wrong;
use anyhow::Result;
use flashyard_sim::config::Settings;
use flashyard_sim::device::Device;

/// A built device in memory, as a file would have it.
pub(crate) struct Image(Vec<u8>);

impl Image {
    /// The image of a drained device.
    pub(crate) fn of(device: &Device) -> Self {
        let mut bytes = Vec::new();
        device.save(&mut |piece| bytes.extend_from_slice(piece));
        bytes.shrink_to_fit();
        Self(bytes)
    }

    /// The device.
    pub(crate) fn restore(&self, settings: &Settings) -> Result<Device> {
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

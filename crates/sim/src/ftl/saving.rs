//! What of the translation layer is in a saved device.

use super::base::Base;
use crate::saved::{Reader, RestoreError, Saved, Writer};

impl Base {
    /// Saves the map and its cache.
    pub(crate) fn save_map(&self, to: &mut Writer<'_>) {
        self.free_at_start.save(to);
        self.map.save(to);
        if let Some(cache) = &self.cache {
            cache.save(to);
        }
        if let Some(ring) = &self.ring {
            ring.save(to);
        }
        if let Some(zones) = &self.zones {
            zones.save(to);
        }
    }

    /// Restores what [`Self::save_map`] saved.
    pub(crate) fn load_map(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.free_at_start.load(from)?;
        self.map.load(from)?;
        self.map.touch_all();
        self.map.blocks.restored();
        if let Some(cache) = &mut self.cache {
            cache.load(from)?;
        }
        if let Some(ring) = &mut self.ring {
            ring.load(from)?;
        }
        match &mut self.zones {
            Some(zones) => zones.load(from),
            None => Ok(()),
        }
    }
}

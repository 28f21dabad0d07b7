//! What of the translation layer is in a saved device.

use super::placement::Placement;
use super::{Ftl, Scheme, either};
use crate::saved::{Reader, RestoreError, Saved, Writer};

impl Ftl {
    /// Saves the map and its cache.
    pub(crate) fn save_map(&self, to: &mut Writer<'_>) {
        self.base.free_at_start.save(to);
        self.base.map.save(to);
        if let Some(cache) = &self.base.cache {
            cache.save(to);
        }
    }

    /// Restores what [`Self::save_map`] saved.
    pub(crate) fn load_map(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.base.free_at_start.load(from)?;
        self.base.map.load(from)?;
        self.base.map.blocks.restored();
        match &mut self.base.cache {
            Some(cache) => cache.load(from),
            None => Ok(()),
        }
    }

    /// Saves the state of the planes, and where dynamic allocation goes on.
    pub(crate) fn save_planes(&self, to: &mut Writer<'_>) {
        either!(&self.scheme, own => own.save(to));
    }

    /// Restores what [`Self::save_planes`] saved.
    pub(crate) fn load_planes(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        either!(&mut self.scheme, own => own.load(from))
    }
}

//! What of the translation layer is in a saved device.

use super::{Ftl, Scheme};
use crate::saved::{Reader, RestoreError, Saved, Writer};

impl Ftl {
    /// Saves the map and its cache.
    pub(crate) fn save_map(&self, to: &mut Writer<'_>) {
        self.free_at_start.save(to);
        self.map.save(to);
        if let Some(cache) = &self.cache {
            cache.save(to);
        }
    }

    /// Restores what [`Self::save_map`] saved.
    pub(crate) fn load_map(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        self.free_at_start.load(from)?;
        self.map.load(from)?;
        self.map.blocks.restored();
        match &mut self.cache {
            Some(cache) => cache.load(from),
            None => Ok(()),
        }
    }

    /// Saves the state of the planes, and where dynamic allocation goes on.
    pub(crate) fn save_planes(&self, to: &mut Writer<'_>) {
        let page = match &self.scheme {
            Scheme::Page(page) => page,
            Scheme::Planned(planned) => return planned.save(to),
            Scheme::Raw(raw) => return raw.next.save(to),
        };
        page.planes.save(to);
        u64::from(page.next_stripe).save(to);
    }

    /// Restores what [`Self::save_planes`] saved.
    pub(crate) fn load_planes(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        let page = match &mut self.scheme {
            Scheme::Page(page) => page,
            Scheme::Planned(planned) => return planned.load(from),
            Scheme::Raw(raw) => return raw.next.load(from),
        };
        page.planes.load(from)?;
        let mut stripe = 0u64;
        stripe.load(from)?;
        page.next_stripe = u32::try_from(stripe).map_err(|_| RestoreError::Corrupt)?;
        Ok(())
    }
}

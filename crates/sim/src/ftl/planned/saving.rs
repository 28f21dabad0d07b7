//! What of the layers that plan is in a saved device. Nothing that they planned is under way then.

use super::Planned;
use crate::parts::layer::TranslationLayer;
use crate::saved::{Reader, RestoreError, Saved, Writer, load_bytes, save_bytes};

impl Planned {
    /// Whether every layer can be saved.
    pub(crate) fn can_be_saved(&self) -> bool {
        self.layers.iter().all(|layer| layer.save().is_some())
    }

    pub(super) fn save_layers(&self, to: &mut Writer<'_>) {
        for layer in &self.layers {
            save_bytes(&layer.save().expect("the layer can be saved"), to);
        }
        self.used.save(to);
        self.written.save(to);
        self.unmeasured.save(to);
    }

    pub(super) fn load_layers(&mut self, from: &mut Reader<'_>) -> Result<(), RestoreError> {
        for layer in &mut self.layers {
            if !layer.restore(&load_bytes(from)?) {
                return Err(RestoreError::Corrupt);
            }
        }
        self.used.load(from)?;
        self.written.load(from)?;
        self.unmeasured.load(from)
    }
}

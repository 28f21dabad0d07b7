//! What a scheme that plans is; what several schemes say of their log blocks.

use crate::parts::layer::{OwnLayer, Shape, TranslationLayer};
use crate::parts::memory::{Extent, TableCost};

/// No page or no block.
pub(super) const NONE: u32 = u32::MAX;

/// A scheme that plans, by its keys.
pub trait Scheme {
    /// What manages a plane. A device can be copied, and each of its layers with it.
    type Layer: TranslationLayer + Clone
    where
        Self: Sized;

    /// Why it cannot manage a plane of this shape.
    fn check(&self, shape: &Shape) -> Result<(), String>;

    /// What manages a plane of this shape.
    fn layer(&self, shape: &Shape) -> Self::Layer
    where
        Self: Sized;

    /// Whether it programs pages of a block and leaves out earlier ones. It MUST say so: devices
    /// whose pages are programmed one after the other (`nand.program_order = "sequential"`) then
    /// refuse it.
    fn skips_pages(&self) -> bool {
        false
    }

    /// Whether it knows programs that hold several pages ([`Shape::program_pages`]). Devices whose
    /// flash pages hold several mapping units refuse the others.
    fn packs_pages(&self) -> bool {
        false
    }

    /// Spare blocks of a plane that it needs to recover from a loss of power
    /// ([`TranslationLayer::recover`]); `None` where it does not recover, so that such a device
    /// cannot be cut.
    fn spare_to_recover(&self) -> Option<u32> {
        None
    }

    /// Blocks of a plane of this shape that are log blocks; their pages are in
    /// [`Extent::log_pages`], and nothing else depends on them.
    fn log_blocks(&self, _shape: &Shape) -> u32 {
        0
    }

    /// What its tables take on a device, in all; `None` where that is not said: reports then show
    /// tables of no bytes and no accesses, and energy counts none.
    fn tables(&self, _extent: &Extent) -> Option<TableCost> {
        None
    }

    /// Bytes of the simulator's memory that a layer of this shape takes; by default a map of 4
    /// bytes an entry in both directions, and 14 numbers of 4 bytes a block.
    fn layer_bytes(&self, shape: &Shape) -> u64 {
        engine_bytes(shape)
    }
}

/// Both directions of the map; what is free, used and valid of a block, and lists of blocks.
pub(super) fn engine_bytes(shape: &Shape) -> u64 {
    let (blocks, pages) = (u64::from(shape.blocks), u64::from(shape.pages_per_block));
    4 * (blocks * pages + u64::from(shape.pages) + 14 * blocks)
}

/// A scheme whose layers are boxed.
pub(crate) trait BoxedScheme: Scheme {
    /// See [`Scheme::layer`].
    fn boxed_layer(&self, shape: &Shape) -> Box<dyn OwnLayer>;
}

impl<S: Scheme<Layer: 'static>> BoxedScheme for S {
    fn boxed_layer(&self, shape: &Shape) -> Box<dyn OwnLayer> {
        Box::new(self.layer(shape))
    }
}

/// Blocks of a plane that no logical pages fill.
pub(crate) const fn spare(shape: &Shape) -> u32 {
    shape.blocks.saturating_sub(shape.logical_blocks())
}

/// Log blocks of a plane; `asked` is what the key says.
pub(super) fn log_blocks(asked: u64, shape: &Shape) -> u32 {
    match asked {
        0 => spare(shape).saturating_sub(2),
        asked => u32::try_from(asked).expect("the key's range fits 32 bits"),
    }
}

/// A scheme needs this many log blocks at least, and two more spare ones to merge into.
pub(super) fn check_log(scheme: &str, asked: u64, least: u32, shape: &Shape) -> Result<(), String> {
    let (blocks, spare) = (log_blocks(asked, shape), spare(shape));
    if blocks < least {
        let key = if asked == 0 { "geometry.blocks_per_plane" } else { "ftl.log_blocks" };
        let key = key.replace("ftl.", &format!("ftl.{scheme}."));
        return Err(format!(
            "{key}: {scheme} needs {least} log blocks a plane and 2 spare ones, and {blocks} of {spare} \
             spare blocks are log blocks; raise ftl.over_provisioning_percent"
        ));
    }
    if blocks > spare.saturating_sub(2) {
        return Err(format!(
            "ftl.{scheme}.log_blocks: {blocks} and 2 to merge into are more than the {spare} spare \
             blocks of a plane; raise ftl.over_provisioning_percent"
        ));
    }
    Ok(())
}

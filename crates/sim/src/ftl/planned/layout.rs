//! Where the pages and blocks of layers are: each layer has a plane, or one has all of them.

use crate::config::Settings;
use crate::parts::layer::{LogSpan, Shape, share_of_layer};
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{BlockId, Lpn, PlaneId, Ppn};

/// The numbers of layers and those of the device.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    geometry: Geometry,
    /// Whether one layer has all planes of a device with several.
    spans: bool,
    /// The stripe of each plane, and the plane of each stripe.
    stripes: Vec<u32>,
    planes: Vec<PlaneId>,
    /// How many layers there are, and how many planes each has.
    layers: u32,
    width: u32,
    /// Blocks of a plane that layers have.
    blocks: u32,
}

impl Layout {
    pub(super) fn new(settings: &Settings) -> Self {
        let geometry = settings.geometry;
        let count = geometry.all_planes();
        let planes: Vec<_> = (0..count).map(|stripe| geometry.plane_of_stripe(stripe)).collect();
        let mut stripes = vec![0; count as usize];
        for (stripe, plane) in (0..).zip(&planes) {
            stripes[plane.index()] = stripe;
        }
        let span = settings.keys.ftl.log_span;
        let layers = span.layers(&geometry);
        let spans = span == LogSpan::Superblock && count > 1;
        let blocks = geometry.blocks_per_plane - settings.keys.layer_journal_blocks();
        Self { geometry, spans, stripes, planes, layers, width: count / layers, blocks }
    }

    /// The shapes of all layers: with one for each plane, by plane.
    pub(super) fn shapes(&self, settings: &Settings) -> impl Iterator<Item = Shape> {
        let (order, span) = (settings.keys.nand.program_order, settings.keys.ftl.log_span);
        let of = move |stripe: u32| {
            Shape::of_layer(&self.geometry, order, settings.exported_units, (span, stripe))
                .without(settings.keys.layer_journal_blocks())
        };
        let of_layers = self.stripes.iter().take(self.layers as usize);
        of_layers.map(move |&stripe| if self.spans { of(0) } else { of(stripe) })
    }

    /// Whether one layer has several planes.
    pub(super) const fn spans(&self) -> bool {
        self.spans
    }

    /// Whether a physical page lies in a block that layers have.
    pub(super) const fn is_of_layer(&self, ppn: Ppn) -> bool {
        let block = self.geometry.block_of(ppn).get();
        block % self.geometry.blocks_per_plane < self.blocks
    }

    /// Physical pages of a layer with one plane.
    pub(super) const fn pages_of_layer(&self) -> u32 {
        self.blocks * self.geometry.units_per_block()
    }

    /// The layer of a plane.
    #[inline]
    pub(super) fn layer(&self, plane: PlaneId) -> usize {
        if self.spans { 0 } else { plane.index() }
    }

    /// Pages of a block of a layer.
    pub(super) const fn pages_per_block(&self) -> u32 {
        self.geometry.units_per_block() * self.width
    }

    /// How many of the logical pages below `pages` a layer has.
    pub(super) fn share(&self, layer: usize, pages: u32) -> u32 {
        let stripe = if self.spans { 0 } else { self.stripes[layer] };
        share_of_layer(&self.geometry, pages, self.layers, stripe)
    }

    /// How many of the `left` logical pages behind a page its layer has.
    pub(super) fn follow(&self, lpn: Lpn, left: u32) -> u32 {
        let (layer, next) = (self.layer(self.geometry.plane_of_lpn(lpn)), lpn.get() + 1);
        if left == 0 { 0 } else { self.share(layer, next + left) - self.share(layer, next) }
    }

    /// The number of a logical page in its layer.
    #[inline]
    pub(super) const fn local(&self, lpn: Lpn) -> u32 {
        let (run, at) = self.split_stripe(lpn.get());
        run / self.layers * self.geometry.stripe_units() + at
    }

    /// Which run of consecutive pages of a stripe a page is in, and its place there.
    #[inline]
    const fn split_stripe(&self, number: u32) -> (u32, u32) {
        let run = self.geometry.stripe_units();
        // A division costs more than the question.
        if run == 1 { (number, 0) } else { (number / run, number % run) }
    }

    /// The logical page of the layer of a plane.
    #[inline]
    pub(super) fn lpn(&self, plane: PlaneId, local: u32) -> Lpn {
        let stripe = if self.spans { 0 } else { self.stripes[plane.index()] };
        let (run, at) = self.split_stripe(local);
        Lpn::new((run * self.layers + stripe) * self.geometry.stripe_units() + at)
    }

    /// The physical page of the layer of a plane.
    #[inline]
    pub(super) fn ppn(&self, plane: PlaneId, local: u32) -> Ppn {
        let pages_per_plane = self.geometry.blocks_per_plane * self.geometry.units_per_block();
        if !self.spans {
            return Ppn::new(plane.get() * pages_per_plane + local);
        }
        // Programs of a superblock go round the planes.
        let of_program = self.geometry.program_units();
        let (program, at) = (local / of_program, local % of_program);
        let (row, stripe) = (program / self.width, program % self.width);
        let plane = self.planes[stripe as usize];
        Ppn::new(plane.get() * pages_per_plane + row * of_program + at)
    }

    /// The blocks of a block of the layer of a plane, in the order of planes.
    pub(super) fn blocks(
        &self,
        plane: PlaneId,
        local: u32,
    ) -> impl Iterator<Item = BlockId> + use<> {
        let first = if self.spans { 0 } else { plane.get() };
        let blocks_per_plane = self.geometry.blocks_per_plane;
        (first..first + self.width).map(move |plane| BlockId::new(plane * blocks_per_plane + local))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DeviceKeys, apply_setting};

    fn layout(keys: &[&str]) -> (Layout, Geometry) {
        let mut device = DeviceKeys::default();
        let mut problems = Vec::new();
        let base = [
            "geometry.channels=2",
            "geometry.ways=1",
            "geometry.planes=2",
            "geometry.blocks_per_plane=16",
            "geometry.pages_per_block=4",
            "map.store=resident",
            "nand.program_order=any",
            "ftl.scheme=bast",
            "ftl.over_provisioning_percent=60",
        ];
        for key in base.iter().chain(keys) {
            apply_setting("--set", key, &mut device, &mut problems);
        }
        assert!(problems.is_empty(), "{problems:?}");
        let settings = Settings::new(device).unwrap_or_else(|error| panic!("{error}"));
        (Layout::new(&settings), settings.geometry)
    }

    /// Every page and every block of the device belongs to one page and one block of a layer.
    #[test]
    fn layers_share_out_all_pages_and_blocks() {
        for span in ["plane", "superblock"] {
            for order in ["cwdp", "pdwc"] {
                let keys = [format!("ftl.log_span={span}"), format!("ftl.stripe_order={order}")];
                let (layout, geometry) = layout(&[&keys[0], &keys[1]]);
                let layers = if layout.spans() { 1 } else { geometry.all_planes() };
                let per_layer = 4 * 64 / layers;
                let mut seen = vec![0; 4 * 64];
                let mut blocks = vec![0; 4 * 16];
                for plane in (0..layers).map(PlaneId::new) {
                    for local in 0..per_layer {
                        let ppn = layout.ppn(plane, local);
                        seen[ppn.index()] += 1;
                        let block = local / layout.pages_per_block();
                        let mut own = layout.blocks(plane, block);
                        assert!(own.any(|own| own == geometry.block_of(ppn)), "{ppn:?}");
                    }
                    for block in 0..16 {
                        layout.blocks(plane, block).for_each(|own| blocks[own.index()] += 1);
                    }
                    for local in 0..20 {
                        let lpn = layout.lpn(plane, local);
                        assert_eq!(layout.local(lpn), local);
                        assert_eq!(layout.layer(geometry.plane_of_lpn(lpn)), plane.index());
                    }
                }
                assert!(seen.iter().chain(&blocks).all(|&count| count == 1), "{span} {order}");
            }
        }
    }

    /// In a superblock a logical page at its own offset is on the plane that striping gives to it.
    #[test]
    fn data_superblocks_keep_the_striping() {
        let (layout, geometry) = layout(&["ftl.log_span=superblock", "ftl.stripe_order=pdwc"]);
        for local in 0..128 {
            let ppn = layout.ppn(PlaneId::new(0), local);
            assert_eq!(geometry.plane_of(ppn), geometry.plane_of_lpn(Lpn::new(local)));
        }
    }
}

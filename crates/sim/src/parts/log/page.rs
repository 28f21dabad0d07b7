//! The page map: the device's own, in `ftl/page_map.rs` and `parts/blocks.rs`. What it caches is
//! `[map]`, how it collects garbage `[gc]`.

flashyard_core::keys! {
    /// The scheme has no keys of its own.
    pub struct PageKeys {}
}

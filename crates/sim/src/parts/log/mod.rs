//! Mapping schemes: the one page map, whose pages are chosen when they are programmed, and those
//! that plan. One file each.
//!
//! To add a scheme, write a file beside these and name it in the `registry!` below.

/// What every layer with an `engine` leaves to it.
macro_rules! by_engine {
    () => {
        fn trim(&mut self, lpn: u32) {
            self.engine.forget(lpn);
        }

        fn place(&self, lpn: u32) -> Option<u32> {
            self.engine.place(lpn)
        }

        fn recover(&mut self, pages: &[Option<$crate::parts::layer::FoundPage>]) {
            let others = self.engine.recover(pages);
            self.adopt(&others);
        }

        fn counts(&self) -> $crate::parts::layer::MergeCounts {
            self.engine.counts
        }

        fn fill(&mut self, pages: u32) {
            self.engine.fill(pages);
        }

        fn purpose(&self) -> flashyard_core::command::Purpose {
            flashyard_core::command::Purpose::Merge
        }

        fn save(&self) -> Option<Vec<u8>> {
            Some($crate::saved::to_bytes(self))
        }

        fn restore(&mut self, state: &[u8]) -> bool {
            $crate::saved::from_bytes(self, state).is_ok()
        }
    };
}

/// What every scheme with log blocks says of them. Its log table is one of [`Extent`]'s.
///
/// [`Extent`]: crate::parts::memory::Extent
macro_rules! with_log_blocks {
    ($table:ident) => {
        fn skips_pages(&self) -> bool {
            true
        }

        fn packs_pages(&self) -> bool {
            true
        }

        fn log_blocks(&self, shape: &Shape) -> u32 {
            log_blocks(self.log_blocks, shape)
        }

        /// What is half merged has been merged into one of the two that are no log blocks.
        fn spare_to_recover(&self) -> Option<u32> {
            Some(3)
        }

        fn tables(
            &self,
            extent: &$crate::parts::memory::Extent,
        ) -> Option<$crate::parts::memory::TableCost> {
            Some($crate::parts::memory::TableCost::with_log(extent, extent.$table()))
        }
    };
}

mod engine;
mod found;
mod interface;
mod last_keys;
mod last_shared;
mod list;

pub use interface::Scheme;
pub(crate) use interface::{BoxedScheme, spare};

use crate::parts::forward::forward;
use crate::parts::layer::{
    FoundPage, MergeCounts, OwnLayer, PageWrite, Plan, Shape, TranslationLayer,
};
use flashyard_core::command::Purpose;
use flashyard_core::key::Keys;

/// Does something with every scheme that plans of the registry.
pub trait SchemeVisitor {
    /// One of them, by the type of its keys, and its name.
    fn visit<P: Scheme<Layer: 'static> + Keys + 'static>(&mut self, name: &'static str);
}

/// The registry: one line a scheme. Whatever lists schemes or their keys is derived from it.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        pub mod none;
        pub mod page;
        pub mod zns;
        $(pub mod $module;)+

        flashyard_core::parts! {
            SchemeName AnyScheme SchemeKeys {
                /// One map of pages; full blocks are cleaned by garbage collection.
                Page(page::PageKeys) = "page",
                /// No map: host addresses are physical, and a trim erases blocks.
                None(none::NoneKeys) = "none",
                /// Zones: the host writes each in order and resets it as a whole; the device
                /// collects no garbage.
                Zns(zns::ZnsKeys) = "zns",
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        /// Shows every scheme that plans to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl SchemeVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        /// The names of the schemes that plan: all but the page map, none and zones.
        pub const PLANNING: &[&str] = &[$($name),+];

        impl AnyScheme {
            /// The scheme, where it plans.
            pub(crate) fn boxed(self) -> Option<Box<dyn BoxedScheme>> {
                match self {
                    Self::Page(_) | Self::None(_) | Self::Zns(_) => None,
                    $(Self::$variant(keys) => Some(Box::new(keys)),)+
                }
            }

            /// What manages a plane of this shape, where the scheme plans.
            pub fn layer(&self, shape: &Shape) -> Option<AnyLayer> {
                match self {
                    Self::Page(_) | Self::None(_) | Self::Zns(_) => None,
                    $(Self::$variant(keys) => {
                        Some(AnyLayer::$variant(Scheme::layer(keys, shape)))
                    })+
                }
            }
        }

        /// What manages a plane: a built-in layer, dispatched statically, or a user's own.
        #[derive(Clone, Debug)]
        #[expect(clippy::large_enum_variant, reason = "there is one a plane")]
        pub enum AnyLayer {
            $($(#[doc = $doc])+ $variant(<$module::$keys as Scheme>::Layer),)+
            /// Any other.
            Own(Box<dyn OwnLayer>),
        }

        impl TranslationLayer for AnyLayer {
            forward! {
                [$($variant)+ Own]
                fn write(&mut self, page: PageWrite, plan: &mut Plan);
                fn trim(&mut self, lpn: u32);
                fn idle(&mut self, plan: &mut Plan) -> bool;
                fn clean_log_blocks(&self) -> Option<u32>;
                fn place(&self, lpn: u32) -> Option<u32>;
                fn recover(&mut self, pages: &[Option<FoundPage>]);
                fn counts(&self) -> MergeCounts;
                fn fill(&mut self, pages: u32);
                fn purpose(&self) -> Purpose;
                fn save(&self) -> Option<Vec<u8>>;
                fn restore(&mut self, state: &[u8]) -> bool;
            }
        }
    };
}

registry! {
    /// Block mapping; an overwrite rewrites the whole block.
    Block(block::BlockKeys) = "block",
    /// Block mapping; overwrites go to log blocks, each of which belongs to one block (BAST).
    Bast(bast::BastKeys) = "bast",
    /// Block mapping with one log block for sequential writes and others that all blocks share
    /// (FAST).
    Fast(fast::FastKeys) = "fast",
    /// Block mapping with log blocks for sequential writes and shared ones for hot and cold pages
    /// (LAST).
    Last(last::LastKeys) = "last",
}

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

mod engine;
mod last_shared;
mod list;

use crate::parts::layer::{MergeCounts, OwnLayer, PageWrite, Plan, Shape, TranslationLayer};
use crate::parts::memory::{Extent, TableCost};
use flashyard_core::command::Purpose;
use flashyard_core::key::Keys;

/// No page or no block.
const NONE: u32 = u32::MAX;

/// A scheme that plans, by its keys.
pub trait Scheme {
    /// What manages a plane. A device can be copied, and each of its layers with it.
    type Layer: TranslationLayer + Clone;

    /// Why it cannot manage a plane of this shape.
    fn check(&self, shape: &Shape) -> Result<(), String>;

    /// What manages a plane of this shape.
    fn layer(&self, shape: &Shape) -> Self::Layer;

    /// Whether it programs pages of a block and leaves out earlier ones. It MUST say so: devices
    /// whose pages are programmed one after the other (`nand.program_order = "sequential"`) then
    /// refuse it.
    fn skips_pages(&self) -> bool {
        false
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
fn engine_bytes(shape: &Shape) -> u64 {
    let (blocks, pages) = (u64::from(shape.blocks), u64::from(shape.pages_per_block));
    4 * (blocks * pages + u64::from(shape.pages) + 14 * blocks)
}

/// A scheme whose layers are boxed.
pub(crate) trait BoxedScheme {
    /// See [`Scheme::check`].
    fn check(&self, shape: &Shape) -> Result<(), String>;
    /// See [`Scheme::layer`].
    fn layer(&self, shape: &Shape) -> Box<dyn OwnLayer>;
    /// See [`Scheme::skips_pages`].
    fn skips_pages(&self) -> bool;
    /// See [`Scheme::log_blocks`].
    fn log_blocks(&self, shape: &Shape) -> u32;
    /// See [`Scheme::tables`].
    fn tables(&self, extent: &Extent) -> Option<TableCost>;
    /// See [`Scheme::layer_bytes`].
    fn layer_bytes(&self, shape: &Shape) -> u64;
}

impl<S: Scheme<Layer: 'static>> BoxedScheme for S {
    fn check(&self, shape: &Shape) -> Result<(), String> {
        Scheme::check(self, shape)
    }

    fn layer(&self, shape: &Shape) -> Box<dyn OwnLayer> {
        Box::new(Scheme::layer(self, shape))
    }

    fn skips_pages(&self) -> bool {
        Scheme::skips_pages(self)
    }

    fn log_blocks(&self, shape: &Shape) -> u32 {
        Scheme::log_blocks(self, shape)
    }

    fn tables(&self, extent: &Extent) -> Option<TableCost> {
        Scheme::tables(self, extent)
    }

    fn layer_bytes(&self, shape: &Shape) -> u64 {
        Scheme::layer_bytes(self, shape)
    }
}

/// Blocks of a plane that no logical pages fill.
const fn spare(shape: &Shape) -> u32 {
    shape.blocks.saturating_sub(shape.logical_blocks())
}

/// Log blocks of a plane; `asked` is what the key says.
fn log_blocks(asked: u64, shape: &Shape) -> u32 {
    match asked {
        0 => spare(shape).saturating_sub(2),
        asked => u32::try_from(asked).expect("the key's range fits 32 bits"),
    }
}

/// A scheme needs this many log blocks at least, and two more spare ones to merge into.
fn check_log(scheme: &str, asked: u64, least: u32, shape: &Shape) -> Result<(), String> {
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
        $(pub mod $module;)+

        flashyard_core::parts! {
            SchemeName AnyScheme SchemeKeys {
                /// One map of pages; full blocks are cleaned by garbage collection.
                Page(page::PageKeys) = "page",
                /// No map: host addresses are physical, and a trim erases blocks.
                None(none::NoneKeys) = "none",
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }

        /// Shows every scheme that plans to a visitor, in the order of the registry.
        pub fn visit_all(visitor: &mut impl SchemeVisitor) {
            $(visitor.visit::<$module::$keys>($name);)+
        }

        /// The names of the schemes that plan: all but the page map and none.
        pub const PLANNING: &[&str] = &[$($name),+];

        impl AnyScheme {
            /// The scheme, where it plans.
            pub(crate) fn boxed(self) -> Option<Box<dyn BoxedScheme>> {
                match self {
                    Self::Page(_) | Self::None(_) => None,
                    $(Self::$variant(keys) => Some(Box::new(keys)),)+
                }
            }

            /// What manages a plane of this shape, where the scheme plans.
            pub fn layer(&self, shape: &Shape) -> Option<AnyLayer> {
                match self {
                    Self::Page(_) | Self::None(_) => None,
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
            fn write(&mut self, page: PageWrite, plan: &mut Plan) {
                match self {
                    $(Self::$variant(layer) => layer.write(page, plan),)+
                    Self::Own(layer) => layer.write(page, plan),
                }
            }
            fn trim(&mut self, lpn: u32) {
                match self {
                    $(Self::$variant(layer) => layer.trim(lpn),)+
                    Self::Own(layer) => layer.trim(lpn),
                }
            }
            fn idle(&mut self, plan: &mut Plan) -> bool {
                match self {
                    $(Self::$variant(layer) => layer.idle(plan),)+
                    Self::Own(layer) => layer.idle(plan),
                }
            }
            fn clean_log_blocks(&self) -> Option<u32> {
                match self {
                    $(Self::$variant(layer) => layer.clean_log_blocks(),)+
                    Self::Own(layer) => layer.clean_log_blocks(),
                }
            }
            fn place(&self, lpn: u32) -> Option<u32> {
                match self {
                    $(Self::$variant(layer) => layer.place(lpn),)+
                    Self::Own(layer) => layer.place(lpn),
                }
            }
            fn counts(&self) -> MergeCounts {
                match self {
                    $(Self::$variant(layer) => layer.counts(),)+
                    Self::Own(layer) => layer.counts(),
                }
            }
            fn fill(&mut self, pages: u32) {
                match self {
                    $(Self::$variant(layer) => layer.fill(pages),)+
                    Self::Own(layer) => layer.fill(pages),
                }
            }
            fn purpose(&self) -> Purpose {
                match self {
                    $(Self::$variant(layer) => layer.purpose(),)+
                    Self::Own(layer) => layer.purpose(),
                }
            }
            fn save(&self) -> Option<Vec<u8>> {
                match self {
                    $(Self::$variant(layer) => layer.save(),)+
                    Self::Own(layer) => layer.save(),
                }
            }
            fn restore(&mut self, state: &[u8]) -> bool {
                match self {
                    $(Self::$variant(layer) => layer.restore(state),)+
                    Self::Own(layer) => layer.restore(state),
                }
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

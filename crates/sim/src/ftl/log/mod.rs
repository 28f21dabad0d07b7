//! Mapping schemes: the one page map, whose pages are chosen when they are programmed, and those
//! that plan. One file each.
//!
//! To add a scheme, write a file beside these and name it in the `registry!` below.

/// The registry: one line a scheme. Whatever lists schemes or their keys is derived from it.
macro_rules! registry {
    ($($(#[doc = $doc:literal])+ $variant:ident($module:ident::$keys:ident) = $name:literal,)+) => {
        pub mod page;
        $(pub mod $module;)+

        flashyard_core::parts! {
            SchemeName AnyScheme SchemeKeys {
                /// One map of pages; full blocks are cleaned by garbage collection.
                Page(page::PageKeys) = "page",
                $($(#[doc = $doc])+ $variant($module::$keys) = $name,)+
            }
        }
    };
}

registry! {
    /// A map of blocks; an overwrite rewrites its block.
    Block(block::BlockKeys) = "block",
    /// A map of blocks; overwrites go to log blocks, each of one block (BAST).
    Bast(bast::BastKeys) = "bast",
    /// The same with one log block for sequential writes and others that all blocks share (FAST).
    Fast(fast::FastKeys) = "fast",
    /// The same with several for sequential writes and shared ones for hot and cold pages (LAST).
    Last(last::LastKeys) = "last",
}

//! Block mapping.

use flashyard_core::key::Kind;

flashyard_core::keys! {
    /// Keys of `[ftl.block]`.
    pub struct BlockKeys {
        /// Whether the pages of one request in one block share one rewrite.
        coalesce: bool = false => {
            kind: Kind::Bool,
            source: "assumed: page by page, the plain scheme",
            flip: "true", with: &["@log", "ftl.scheme=block"],
        },
    }
}

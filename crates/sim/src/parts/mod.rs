//! Parts that a device file names: policies, victim rules, translation layers; and what these work
//! on, blocks and tables. A part knows its own keys and no others. The room that holds it owns its
//! state.

pub mod blocks;
pub(crate) mod forward;
pub mod layer;
pub(crate) mod links;
pub mod log;
pub mod memory;
pub mod policy;
pub mod victim;

//! The flash translation layer: where pages are, which blocks are free, which one is cleaned next,
//! what of the map is cached.

pub mod blocks;
pub mod cmt;
pub mod layer;
pub mod line_cache;
pub mod log;
pub mod map_cache;
pub mod memory;
pub mod page_map;
pub mod victim;

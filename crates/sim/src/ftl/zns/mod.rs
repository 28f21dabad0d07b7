//! Zones.

pub mod zone;

//! Devices and requests that several programs draw: the tests here and `cargo xtask fingerprint`.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    reason = "a plain interface of which each program uses a part"
)]

pub mod devices;
pub mod hosts;
pub mod keys;
pub mod programs;
pub mod reclaim_units;

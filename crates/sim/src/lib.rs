//! The simulator of flash storage devices, from the host queue to the array operation.
//!
//! ```
//! use flashyard_core::request::{Request, RequestOp};
//! use flashyard_core::units::Time;
//! use flashyard_sim::config::{DeviceKeys, Settings};
//! use flashyard_sim::device::Device;
//!
//! let settings = Settings::new(DeviceKeys::default()).unwrap();
//! let mut requests = (0..10u64).map(|number| {
//!     Request::new(RequestOp::Write, number * 8, 8).at(Time::from_us(number * 100))
//! });
//! let mut device = Device::new(&settings);
//! device.check();
//! let report = device.run(|| Ok::<_, std::convert::Infallible>(requests.next())).unwrap();
//! assert_eq!(report.latency_ns["write"].count, 10);
//! ```
//!
//! No I/O, no clock, no threads, no globals: a run depends on its settings and its requests alone.

mod account;
mod ahead;
pub mod buffer;
pub mod config;
pub mod cut;
pub mod device;
pub mod disk;
pub mod drive;
mod error;
mod flash;
pub mod footprint;
pub mod ftl;
pub mod handle;
mod host;
pub mod initial;
mod ledger;
pub mod metrics;
pub mod observe;
pub mod own;
pub mod parts;
mod phases;
mod queues;
mod random;
mod recovery;
pub mod saved;
pub mod session;
mod sets;
mod settings;
mod sleep;
pub mod stream;
mod translation;
mod view;
mod waiting;
pub mod zones;

pub use account::{check, report};

/// The example of the guide, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ADDING_A_POLICY.md")]
#[derive(Debug)]
pub struct AddingAPolicy;

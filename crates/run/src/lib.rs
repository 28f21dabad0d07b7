//! Devices and workloads by name, runs of them, and their results: what the command `flashyard`
//! does, for programs. Nothing here reads the command line or writes to a screen.
//!
//! ```
//! use flashyard_run::plan::Plan;
//! use flashyard_run::simulate::Options;
//! use flashyard_sim::own::OwnParts;
//!
//! let set = [("", "pattern.requests=1000".to_string())];
//! let plan = Plan::load(OwnParts::default(), "embedded-2x2", "random-read", &set)?;
//! let outcome = plan.run(Options::default())?;
//! assert_eq!(outcome.report.latency_ns["read"].count, 1_000);
//! let figures: std::collections::BTreeMap<_, _> = outcome.figures().collect();
//! assert!(figures["read.p99_us"] > figures["read.p50_us"]);
//! assert_eq!(outcome.object(&plan)["workload"]["name"], "random-read");
//! # anyhow::Ok(())
//! ```
//!
//! A [session](flashyard_sim::session::Session) on a device by name, which the caller drives:
//!
//! ```
//! use flashyard_core::request::{Request, RequestOp};
//! use flashyard_core::units::Time;
//! use flashyard_run::plan::Plan;
//! use flashyard_sim::own::OwnParts;
//! use flashyard_sim::session::Stop;
//!
//! let plan = Plan::of_device(OwnParts::default(), "embedded-2x2", &[])?;
//! let mut session = plan.session(false)?;
//! session.submit(&Request::new(RequestOp::Read, 0, 8))?;
//! let at = session.advance(Time::MAX, Stop::AtCompletion)?;
//! assert_eq!(session.poll().map(|over| over.at), Some(at));
//! let report = session.finish()?;
//! assert_eq!(plan.object_of_session(&report)["workload"]["requests"], 1);
//! # anyhow::Ok(())
//! ```

pub mod contract;
pub mod cuts;
pub mod device;
pub mod error;
pub mod experiment;
pub mod figure;
#[cfg(feature = "fit")]
pub mod fit;
pub mod hash;
pub mod headline;
pub mod image;
pub mod lanes;
pub mod logs;
pub mod memory;
pub mod meter;
pub mod microcode;
mod outside;
pub mod plan;
pub mod points;
pub mod presets;
pub mod profile;
pub mod shown;
pub mod simulate;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod text;
pub mod units;
pub mod unused;
pub mod verdict;
pub mod why;
pub mod workload_file;

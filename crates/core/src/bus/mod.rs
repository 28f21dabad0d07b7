//! The bus level.

pub mod channel;
pub mod request;
pub mod scheduler;

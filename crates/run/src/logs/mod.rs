//! Logs: a row an event of a run. Whoever wants one gives what takes its rows, and gets the
//! observer that writes them.

mod bus;
mod commands;
mod power;
mod requests;
mod rows;
pub mod series;

pub use bus::bus;
pub use commands::commands;
pub use power::power;
pub use requests::requests;
pub use rows::{Log, Rows};

//! The write buffer.

mod line;
mod lines;
mod lines_save;
mod order;
pub mod ports;
pub(crate) mod staging;
#[cfg(test)]
mod tests;

pub use line::Line;
pub use lines::Lines;

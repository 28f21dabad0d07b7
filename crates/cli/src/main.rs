//! Flashyard.
fn main() {}

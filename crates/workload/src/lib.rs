//! Flashyard.

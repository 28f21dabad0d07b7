//! What is wrong with a descriptor.

/// What is wrong with a descriptor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) fix: String,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

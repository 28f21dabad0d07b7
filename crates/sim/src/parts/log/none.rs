//! No translation: host addresses are physical. What that means is in `ftl/raw.rs`.

use flashyard_core::key::Kind;
use flashyard_core::{choice, keys};

choice! {
    /// Which operations a device without translation takes.
    pub enum RawOrder {
        /// Any operation takes its time, whatever the state of its page. The contents of a page are
        /// those of the last program. A read of a page without contents senses it.
        Ignored = "ignored",
        /// A page is programmed once after an erase, in the order of `nand.program_order`. The
        /// first program that breaks this ends the run. A read of a page without contents is as
        /// `nand.unmapped_read` says.
        Checked = "checked",
    }
}

keys! {
    /// Keys of `[ftl.none]`.
    pub struct NoneKeys {
        /// Whether operations must keep the rules of NAND: with "ignored" any page can be
        /// programmed at any time, as in a model of times alone; with "checked" a program of a page
        /// that is not erased, or out of the order of `nand.program_order`, ends the run.
        order: RawOrder = RawOrder::Ignored => {
            kind: Kind::Choice(RawOrder::WORDS),
            source: "Kim, Lee and Min: the framework is timed with random pages of random blocks",
            flip: "checked", with: &["@raw", "nand.unmapped_read=zero"],
        },
    }
}

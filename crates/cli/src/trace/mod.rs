//! `flashyard trace`: one module a subcommand.

mod convert;
mod info;

pub(crate) use convert::convert;
pub(crate) use info::info;

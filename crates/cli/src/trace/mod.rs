//! `flashyard trace`: one module a subcommand.

mod convert;
mod fit;
mod info;

pub(crate) use convert::convert;
pub(crate) use fit::fit;
pub(crate) use info::info;

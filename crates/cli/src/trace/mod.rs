//! `flashyard trace`: one module a subcommand; `inputs` is what they share.

mod convert;
mod fit;
mod info;
mod inputs;

pub(crate) use convert::convert;
pub(crate) use fit::fit;
pub(crate) use info::info;

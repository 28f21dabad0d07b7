//! `flashyard trace`: one module a subcommand.

mod info;

pub(crate) use info::info;

//! The ledger: charges every instant of a set's life, counts its commands and tells observers of
//! them.
//!
//! It holds nothing. The device lends it the rooms that know what a set spends its time on: the
//! sets with their accounts, the dies that they wait for, and the account that sums up. Who tells
//! observers is lent the queues and the translation layer as well.

mod counts;
mod explain;
mod tell;
mod units;

use crate::account::Account;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::queues::Queues;
use crate::sets::Sets;
use flashyard_core::units::Time;

/// What is lent to the ledger.
pub(crate) struct Ledger<'a> {
    pub(crate) now: Time,
    pub(crate) sets: &'a mut Sets,
    pub(crate) flash: &'a Flash,
    pub(crate) account: &'a mut Account,
}

/// What is lent to those who tell observers.
pub(crate) struct Teller<'a> {
    pub(crate) ledger: Ledger<'a>,
    pub(crate) queues: &'a Queues,
    pub(crate) ftl: &'a Ftl,
}

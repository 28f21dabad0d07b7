//! The ledger: charges every instant of a set's life, counts its commands and tells observers of
//! them.
//!
//! It holds nothing. The device lends it the rooms that know what a set spends its time on: the
//! sets with their accounts, the dies that they wait for, and the account that sums up. Who tells
//! observers is lent the others as well: it also counts what the translation layer has done, and
//! accounts for time that passes without an event.

mod counts;
mod deeds;
mod explain;
mod requests;
mod tell;
pub(crate) mod time;
mod units;
mod watch;

use crate::account::Account;
use crate::buffer::Buffer;
use crate::config::Settings;
use crate::flash::Flash;
use crate::ftl::Ftl;
use crate::host::Host;
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
    pub(crate) settings: &'a Settings,
    pub(crate) queues: &'a Queues,
    pub(crate) ftl: &'a Ftl,
    pub(crate) buffer: Option<&'a Buffer>,
    pub(crate) host: &'a mut Host,
}

impl Teller<'_> {
    /// The same, for what seldom has to be told: only that has it in memory.
    #[inline]
    fn lend(&mut self) -> Teller<'_> {
        let Self { ledger, settings, queues, ftl, buffer, host } = self;
        let Ledger { now, sets, flash, account } = ledger;
        let ledger = Ledger { now: *now, sets, flash, account };
        Teller { ledger, settings, queues, ftl, buffer: *buffer, host }
    }
}

//! What the checker and observers are told of requests.

use super::Teller;
use crate::config::Acknowledge;
use crate::handle::RequestId;
use crate::observe::{RequestAnswered, RequestArrived};
use flashyard_core::request::Flags;

impl Teller<'_> {
    /// A request has arrived: this is to be expected of it.
    #[cold]
    pub(crate) fn request_arrived(&mut self, handle: RequestId) {
        let (settings, pending) = (self.settings, &self.host[handle]);
        let (order, request, pages) = (pending.order(), *pending.request(), pending.pages());
        let account = &mut *self.ledger.account;
        if account.follows_contents() {
            let durable = settings.answers_durably(request.flags);
            account.tell(&RequestArrived { at: self.ledger.now, order, request, pages, durable });
        }
        if account.is_checked() && self.buffer.is_some() {
            let programmed = settings.keys.buffer.acknowledge == Acknowledge::Program;
            account.asks(order, &request, programmed || request.flags.has(Flags::FUA));
        }
        if account.is_checked() && self.host.notes_carried() {
            let (pages, by_pages) = ((pending.first(), pages), self.host.carries_pages());
            account.must_carry(order, settings.bytes_to_carry(&request, pages, by_pages));
        }
        account.request_opened(handle);
    }

    /// A request is answered.
    #[cold]
    pub(crate) fn tell_answered(&mut self, handle: RequestId) {
        let account = &mut *self.ledger.account;
        if account.is_followed() || account.follows_contents() {
            let order = self.host[handle].order();
            account.tell(&RequestAnswered { order, at: self.ledger.now });
        }
    }
}

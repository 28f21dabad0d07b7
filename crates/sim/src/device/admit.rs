//! Admission: from the host queue to command sets with slots.
//!
//! Source of the order: Lee et al., IEEE Access 2021, with the free choices as keys of `[queue]`.
//! A request is translated as a whole, so that its flash operation time (FOT) is known; its sets
//! take slots in page order; no later request is translated before all of them have one.

use super::Device;
use crate::buffer::barrier_waits;
use crate::config::Admission;
use crate::handle::{LineId, RequestId};
use crate::host::Turn;
use crate::observe::FlushTrigger;
use flashyard_core::host::HostAnswer;
use flashyard_core::request::Flags;

/// What is started next.
enum Picked {
    /// A request, all of it.
    Request(RequestId),
    /// A page access or a flush, which has begun.
    Page,
    Nothing,
}

impl Device {
    /// Translates requests and gives slots until something is short.
    #[inline]
    pub(super) fn admit(&mut self) {
        if self.buffer.is_some() {
            return self.admit_beside_buffer();
        }
        if self.may_admit() {
            self.admit_requests();
        }
    }

    /// The same on a device with a write buffer.
    #[inline]
    fn admit_beside_buffer(&mut self) {
        if self.buffer_acts() {
            return self.admit_with_buffer();
        }
        if self.may_admit() || !self.host.policy().is_fifo() {
            self.admit_requests();
            // A write may have made a line dirty, or wait for one.
            if self.buffer_acts() {
                self.follow_admission();
            }
        }
    }

    /// Whether a request or a set waits for admission.
    #[inline]
    fn may_admit(&self) -> bool {
        self.host.has_requests() || self.sets.has_slotless()
    }

    /// Whether there may be something to do for the write buffer: something has changed since it
    /// was looked at and, where no host policy decides about lines, it does not rest.
    #[inline]
    fn buffer_acts(&mut self) -> bool {
        let may_rest = self.host.policy().is_fifo();
        self.buffer.as_mut().is_some_and(|buffer| !buffer.rests(may_rest))
    }

    /// As [`Self::admit`], where the buffer has something to do as well.
    fn admit_with_buffer(&mut self) {
        if self.write_buffer_mut().stalled_before() {
            self.drain_buffer();
        }
        self.grant_lines();
        self.serve_fills();
        // A host policy may want a flush.
        if self.may_admit() || !self.host.policy().is_fifo() {
            self.admit_requests();
        }
        self.follow_admission();
    }

    /// What admission has made possible for the buffer, and that for admission.
    fn follow_admission(&mut self) {
        // A trim may have freed a line, and a write its slot.
        while self.grant_lines() {
            self.admit_requests();
        }
        // A policy by pages has seen the dies before these flushes.
        while self.drain_buffer() && !self.host.policy().in_order() {
            self.admit_requests();
        }
        if self.buffer.as_ref().is_some_and(|buffer| buffer.is_stalled()) {
            self.give_slots(true);
        }
    }

    fn admit_requests(&mut self) {
        loop {
            if self.sets.has_slotless() {
                self.give_slots(false);
            }
            if !self.sets.may_admit() {
                return;
            }
            let handle = match self.pick_request() {
                Picked::Request(handle) => handle,
                Picked::Page => continue,
                Picked::Nothing => return,
            };
            if self.admits_reads && self.admit_plain(handle) {
                self.host.end_translation();
            } else if !self.admit_request(handle) {
                return;
            }
        }
    }

    /// Translates a request that is not plain as far as that goes. Returns whether it goes on.
    #[inline(never)]
    fn admit_request(&mut self, handle: RequestId) -> bool {
        if !self.may_start(handle) {
            return false;
        }
        if self.host[handle].pages() == 0 {
            let acts = !self.has_zones || self.may_act_on_zone(handle);
            if acts {
                self.host.end_translation();
                self.start_without_pages(handle);
            }
            return acts;
        }
        let translated = self.translate(handle);
        let ends = self.host[handle].is_translated();
        if ends {
            self.host.end_translation();
        }
        ends || translated > 0
    }

    /// Translates the pages of a read, gives them slots and lets their commands wait for dies, as
    /// long as they are plain: they ask neither a map cache nor the buffer, wait for no change, and
    /// no other page changes their rank. Returns whether all of them are.
    fn admit_plain(&mut self, handle: RequestId) -> bool {
        self.waiting().reads_plainly(handle)
            && (0..self.host[handle].pages()).all(|page| self.admit_plain_page(handle, page))
    }

    fn admit_plain_page(&mut self, handle: RequestId, page: u32) -> bool {
        if let Some(buffer) = &self.buffer
            && buffer.lines().find(self.host[handle].lpn_of(page)).is_some()
        {
            return false;
        }
        self.make_room();
        let buffered = self.buffer.is_some();
        self.waiting().admit_read(handle, page, buffered)
    }

    /// The request to go on with, or what the host policy starts next.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    fn pick_request(&mut self) -> Picked {
        match self.host.next_turn() {
            Turn::Begun(handle) => Picked::Request(handle),
            Turn::Oldest(handle) => self.start_request(handle),
            Turn::Pick => self.pick_by_view(),
            Turn::Nothing => Picked::Nothing,
        }
    }

    /// The same where the host policy has to be asked.
    #[inline(never)]
    fn pick_by_view(&mut self) -> Picked {
        if self.host.policy().by_pages() {
            self.translation().follow_buffer();
        } else if self.buffer.is_some() && !self.host.policy().in_order() {
            // A policy that looks at dies sees those that are busy for a write that was started.
            self.drain_buffer();
        }
        let begun = match self.view().ask() {
            HostAnswer::Wait => {
                self.translation().note_line_wait();
                false
            }
            HostAnswer::Flush(line) => self.flush_for_policy(LineId::new(line)),
            HostAnswer::StartPage { place, page } => self.start_page(place, page),
            HostAnswer::Start(place) => {
                let taken = self.host.take_picked(place, || self.account.pick_replaced());
                return taken.map_or(Picked::Nothing, |handle| self.start_request(handle));
            }
        };
        if begun { Picked::Page } else { Picked::Nothing }
    }

    /// A request that has left the queue is started, all of it.
    #[expect(clippy::inline_always, reason = "once a request; a call costs as much")]
    #[inline(always)]
    fn start_request(&mut self, handle: RequestId) -> Picked {
        if self.has_zones {
            self.translation().start_in_zone(handle);
        }
        self.waiting().begin_request(handle);
        if self.host.translate(handle, self.now) {
            Picked::Request(handle)
        } else {
            Picked::Nothing
        }
    }

    /// Whether the translation of a request may begin, or go on.
    fn may_start(&mut self, handle: RequestId) -> bool {
        let (now, keeps) = (self.now, self.settings.keeps_writes());
        let request = &self.host[handle];
        if !keeps && request.request().is_barrier() && !request.awaits_flush() {
            let stalls = !self.flush_all() && self.host[handle].translated() == 0;
            if self.host[handle].stall(stalls, now) {
                return false;
            }
        }
        let request = &self.host[handle];
        if request.translated() == 0 && request.request().flags.has(Flags::PREFLUSH) {
            let waits = barrier_waits(&self.sets, keeps) || self.journal_waits();
            if self.host[handle].await_flush(waits, now) {
                return false;
            }
        }
        self.waiting().has_slots(handle)
    }

    /// Whether a write that asks for a flush before it has to wait for the journal, which is
    /// written then.
    fn journal_waits(&mut self) -> bool {
        self.ftl.is_journaled() && !self.let_ftl(|_, lent| lent.save_owed(u64::MAX)).is_empty()
    }

    /// A flush becomes a set without commands that waits for every live change; a trim of no whole
    /// page is over at once.
    fn start_without_pages(&mut self, handle: RequestId) {
        if self.host[handle].is_flush() && !self.settings.keeps_writes() {
            self.flush_all();
        }
        self.make_room();
        let (barrier, acts) = self.translation().make_barrier(handle);
        if acts {
            let charge = self.host.charge_of(Some(handle));
            self.let_ftl(|ftl, lent| ftl.act(barrier, charge, lent));
        }
        self.waiting().rank_barrier(handle, barrier);
        self.activate(barrier);
        self.wake_passed();
    }

    /// Whether an action on zones may begin. What it waits for in the buffer is flushed.
    fn may_act_on_zone(&mut self, handle: RequestId) -> bool {
        let Some(groups) = self.translation().flushes_of_act(handle) else { return false };
        for group in groups {
            self.flush_lines(None, group, None, FlushTrigger::Asked);
        }
        true
    }

    /// Translates pages of a request until it is done, as many as may begin together are, or the
    /// map cache stalls. Returns how many.
    #[expect(clippy::inline_always, reason = "once a request, with large arguments")]
    #[inline(always)]
    fn translate(&mut self, handle: RequestId) -> u32 {
        let by_page = self.settings.keys.queue.admission == Admission::Page;
        let (mut translated, limit) = (0, if by_page { 1 } else { u32::MAX });
        while translated < limit && !self.host[handle].is_translated() {
            let page = self.host[handle].translated();
            if !self.translate_page(handle, page) {
                break;
            }
            translated += 1;
        }
        if translated > 0 && self.queues.looks_at_waits() {
            self.waiting().rank_new(handle, translated);
        }
        translated
    }

    /// Gives slots to translated sets in order, as long as there are any; `all` is whether each
    /// gets one, because flushes may need what its map commands hold while slots wait for them.
    fn give_slots(&mut self, all: bool) {
        while let Some(set) = self.waiting().end_slot_wait(all) {
            self.activate(set);
            self.wake_passed();
        }
    }
}

//! A hash of 64 bits that is the same in every build, and an observer that hashes what it is told.

use flashyard_core::bus::request::BusRequest;
use flashyard_core::command::{Op, Purpose};
use flashyard_core::request::Request;
use flashyard_sim::metrics::counters::{Tally, Work};
use flashyard_sim::metrics::parts::{Part, Parts};
use flashyard_sim::observe::{
    BufferAccess, BusTransfer, CommandDone, CommandName, Observer, PowerSamples, Queued,
    RequestDone, Shared, Suspension,
};
use std::fmt;

/// A hash of words in order. Each step is one-to-one in the word and in the state before, so that
/// runs that differ in one word never have the same hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hash(u64);

impl Hash {
    /// The hash of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut hash = Self::default();
        hash.text(text);
        hash
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn words<const N: usize>(&mut self, words: [u64; N]) {
        for word in words {
            self.word(word);
        }
    }

    fn maybe(&mut self, word: Option<u64>) {
        self.words([u64::from(word.is_some()), word.unwrap_or(0)]);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for part in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(bytes));
        }
    }

    fn command(&mut self, command: &CommandName) {
        let CommandName { request, page, stage } = *command;
        self.maybe(request);
        self.word(page.into());
        self.text(stage);
    }

    fn request(&mut self, request: &Request) {
        let Request { arrival, first_sector, sectors, stream, op, flags, .. } = *request;
        self.words([arrival.as_ns(), first_sector, sectors.into(), stream.into(), op as u64]);
        self.text(&format!("{flags:?}"));
    }

    fn parts(&mut self, parts: &Parts) {
        // As in reports, parts that few devices have are there or not.
        let is_shown = |part: &Part| !part.is_rare() || parts.get(*part) > 0;
        for part in Part::ALL.into_iter().filter(is_shown) {
            self.word(parts.get(part));
        }
    }

    fn tally(&mut self, tally: &Tally) {
        for purpose in Purpose::ALL {
            let Work { ops, pages, array_ns, .. } = tally.retries(purpose);
            if ops > 0 {
                self.words([ops, pages, array_ns]);
            }
        }
        for op in Op::ALL {
            for purpose in Purpose::ALL {
                let Work { ops, pages, array_ns, transfer_ns } = tally.get(op, purpose);
                if purpose == Purpose::ReadAhead && ops == 0 {
                    continue;
                }
                self.words([ops, pages, array_ns, transfer_ns]);
            }
        }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Hashes every field of every event, in the order in which they are told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Shared<Hash>);

impl Events {
    /// The hash so far.
    pub(crate) fn hash(&self) -> Hash {
        *self.0.get()
    }

    /// Hashes an event of a kind.
    fn event(&self, kind: u64, fields: impl FnOnce(&mut Hash)) {
        let mut hash = self.0.get();
        hash.word(kind);
        fields(&mut hash);
    }
}

impl Observer for Events {
    fn queued(&mut self, event: &Queued) {
        let Queued { at, moved, ref command, queue, key } = *event;
        self.event(1, |hash| {
            hash.words([at.as_ns(), moved.into(), key]);
            hash.command(command);
            hash.text(queue);
        });
    }

    fn command_done(&mut self, event: &CommandDone) {
        let CommandDone {
            ref command,
            op,
            purpose,
            lpn,
            die,
            ppn,
            queue,
            key,
            enqueued,
            start,
            end,
            rekeys,
            retries,
        } = *event;
        self.event(2, |hash| {
            hash.command(command);
            hash.words([op as u64, purpose as u64, die.index() as u64, key, rekeys.into()]);
            hash.maybe(lpn.map(u64::from));
            hash.maybe(ppn.map(u64::from));
            hash.text(queue);
            hash.words([enqueued.as_ns(), start.as_ns(), end.as_ns()]);
            if retries > 0 {
                hash.word(retries.into());
            }
        });
    }

    fn suspended(&mut self, event: &Suspension) {
        let Suspension { ref command, purpose, die, at, until, resumed, began: _ } = *event;
        self.event(3, |hash| {
            hash.command(command);
            hash.words([purpose as u64, die.index() as u64, at.as_ns(), until.as_ns()]);
            hash.word(resumed.into());
        });
    }

    fn bus_request(&mut self, event: &BusTransfer) {
        let BusTransfer { ref command, purpose, request, die, start, end, ready } = *event;
        self.event(6, |hash| {
            hash.command(command);
            hash.text(purpose.name());
            let BusRequest {
                stream, kind, channel, chip, block, page, plane, offset, bytes, ..
            } = request;
            hash.words([stream.into(), kind as u64, die.get().into()]);
            hash.words([channel, chip, block, page, plane, offset, bytes].map(u64::from));
            hash.words([start.as_ns(), end.as_ns()]);
            hash.maybe(ready.map(u64::from));
        });
    }

    fn buffer_access(&mut self, event: &BufferAccess) {
        let BufferAccess { request, page, lpn, bank, put, start, end } = *event;
        self.event(4, |hash| {
            hash.maybe(request);
            hash.maybe(bank.map(u64::from));
            hash.words([page.into(), lpn.into(), put.into(), start.as_ns(), end.as_ns()]);
        });
    }

    fn power(&mut self, event: &PowerSamples) {
        let PowerSamples { start_ns, samples, span_ns, energy_pj } = *event;
        self.event(7, |hash| hash.words([start_ns, samples, span_ns, energy_pj]));
    }

    fn request_done(&mut self, event: &RequestDone) {
        let RequestDone {
            order,
            ref request,
            completion,
            pages,
            fot_ns,
            queue_wait_ns,
            own_ns,
            ref parts,
            ref work,
            energy_pj,
        } = *event;
        self.event(5, |hash| {
            hash.request(request);
            hash.words([order, completion.as_ns(), pages.into(), fot_ns]);
            hash.words([queue_wait_ns, own_ns, energy_pj]);
            hash.parts(parts);
            hash.tally(work);
        });
    }
}

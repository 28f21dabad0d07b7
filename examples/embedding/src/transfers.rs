//! The transfer model of a simulator of LLM serving: blocks of KV cache go to a drive and come
//! back. Where such simulators divide bytes by a bandwidth, here a simulated drive says when a
//! transfer is over, with its queues, garbage collection and tails.

use flashyard_core::request::{Request, RequestOp};
use flashyard_core::units::Time;
use flashyard_run::plan::Plan;
use flashyard_sim::own::OwnParts;
use flashyard_sim::session::{Session, Stop};
use std::collections::BTreeMap;

/// Sectors of a request at most: 128 KiB.
const CHUNK: u64 = 256;

/// A transfer.
pub(crate) type TransferId = u64;

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Cache leaves the accelerator.
    Offload,
    /// Cache comes back.
    Reload,
}

/// Transfers over a simulated drive. A copy goes its own way from here.
#[derive(Debug)]
pub(crate) struct TransferModel {
    drive: Session,
    /// The transfer of each request that is under way, and how many each transfer waits for.
    of_request: BTreeMap<u64, TransferId>,
    left: BTreeMap<TransferId, u64>,
    next: TransferId,
}

impl Clone for TransferModel {
    fn clone(&self) -> Self {
        let Self { of_request, left, next, .. } = self;
        let (of_request, left) = (of_request.clone(), left.clone());
        Self { drive: self.drive.fork(), of_request, left, next: *next }
    }
}

impl TransferModel {
    /// Transfers over a drive by name.
    pub(crate) fn new(drive: &str, settings: &[&str]) -> anyhow::Result<Self> {
        let set: Vec<_> = settings.iter().map(|setting| ("", (*setting).to_string())).collect();
        let drive = Plan::of_device(OwnParts::default(), drive, &set)?.session(false)?;
        Ok(Self { drive, of_request: BTreeMap::new(), left: BTreeMap::new(), next: 0 })
    }

    /// Begins a transfer of so many bytes, at most those behind `offset`. Transfers begin in the
    /// order of time, and not before the time up to which the model has advanced.
    pub(crate) fn start_transfer(
        &mut self,
        now: Time,
        direction: Direction,
        offset: u64,
        bytes: u64,
    ) -> anyhow::Result<TransferId> {
        let op = match direction {
            Direction::Offload => RequestOp::Write,
            Direction::Reload => RequestOp::Read,
        };
        let (id, end) = (self.next, (offset + bytes).div_ceil(512));
        self.next += 1;
        let mut first = offset / 512;
        while first < end {
            let sectors = CHUNK.min(end - first);
            let request = Request::new(op, first, u32::try_from(sectors)?).at(now);
            self.of_request.insert(self.drive.submit(&request)?, id);
            *self.left.entry(id).or_default() += 1;
            first += sectors;
        }
        Ok(id)
    }

    /// Lets time go on; the transfers that are over by then, with when, in that order.
    pub(crate) fn advance_to(&mut self, now: Time) -> anyhow::Result<Vec<(TransferId, Time)>> {
        let mut over = Vec::new();
        self.drive.advance(now, Stop::At)?;
        while let Some(request) = self.drive.poll() {
            let id = self.of_request.remove(&request.id).expect("it was submitted");
            let left = self.left.get_mut(&id).expect("it is under way");
            *left -= 1;
            if *left == 0 {
                self.left.remove(&id);
                over.push((id, request.at));
            }
        }
        Ok(over)
    }

    /// A time before which no transfer is over: to be asked anew after each call, as a drive knows
    /// when it is done only when it gets there. None where nothing is under way.
    pub(crate) fn earliest_finish(&mut self) -> Option<Time> {
        self.drive.next_event().filter(|_| !self.left.is_empty())
    }

    /// When the next transfer will be over if no other begins: a copy finds out.
    pub(crate) fn finish_if_alone(&self) -> anyhow::Result<Option<Time>> {
        let mut copy = self.clone();
        while let Some(next) = copy.earliest_finish() {
            if let Some((_, at)) = copy.advance_to(next)?.first() {
                return Ok(Some(*at));
            }
        }
        Ok(None)
    }
}

/// Offloads a hundred blocks of 2 MiB, then brings one back: alone, and behind fifty more that
/// leave.
pub(crate) fn main() -> anyhow::Result<String> {
    const BLOCK: u64 = 2 << 20;
    let mut model = TransferModel::new("nvme-tlc", &["capacity=64GB", "state.initial=steady"])?;
    for block in 0..100 {
        model.start_transfer(Time::ZERO, Direction::Offload, block * BLOCK, BLOCK)?;
    }
    let mut now = Time::ZERO;
    while let Some(next) = model.earliest_finish() {
        now = next;
        model.advance_to(now)?;
    }
    let mut quiet = model.clone();
    quiet.start_transfer(now, Direction::Reload, 0, BLOCK)?;
    let alone = quiet.finish_if_alone()?.expect("it is under way");
    for block in 100..150 {
        model.start_transfer(now, Direction::Offload, block * BLOCK, BLOCK)?;
    }
    let reload = model.start_transfer(now, Direction::Reload, 0, BLOCK)?;
    let mut beside = None;
    while let Some(next) = model.earliest_finish().filter(|_| beside.is_none()) {
        let over = model.advance_to(next)?;
        beside = over.into_iter().find(|(id, _)| *id == reload).map(|(_, at)| at);
    }
    let us = |at: Time| at.since(now).as_ns() / 1_000;
    let beside = beside.expect("it was over");
    Ok(format!(
        "transfers: a block comes back in {} us alone, in {} behind others",
        us(alone),
        us(beside)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_end_in_order_and_copies_go_their_own_way() {
        let mut model = TransferModel::new("embedded-2x2", &[]).unwrap();
        assert_eq!(model.earliest_finish(), None);
        let long = model.start_transfer(Time::ZERO, Direction::Offload, 0, 1 << 20).unwrap();
        let short = model.start_transfer(Time::ZERO, Direction::Reload, 8 << 20, 4_096).unwrap();
        let alone = model.finish_if_alone().unwrap();
        let mut copy = model.clone();
        let finish = |model: &mut TransferModel| {
            let mut all = Vec::new();
            while let Some(next) = model.earliest_finish() {
                let over = model.advance_to(next).unwrap();
                assert!(over.iter().all(|(_, at)| *at == next), "none is over before");
                all.extend(over);
            }
            all
        };
        let ends = finish(&mut model);
        let ids: Vec<_> = ends.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids.len(), 2);
        assert!(ids.contains(&long) && ids.contains(&short));
        assert_eq!(alone, Some(ends[0].1));
        assert_eq!(finish(&mut copy), ends);
    }
}

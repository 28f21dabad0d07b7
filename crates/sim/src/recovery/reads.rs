//! How long the reads of a recovery take, on all dies and channels.
//!
//! Each die reads its pages one after the other: command on the channel, the array, the data on the
//! channel. A channel serves its dies in the order in which they ask for it. Between two kinds of
//! reads all dies wait, because the first say what the next are.

use crate::flash::Flash;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Ppn, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reads of a recovery so far: their time in arrays and on channels in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Took {
    pub(super) reads: u64,
    pub(super) array_ns: u64,
    pub(super) transfer_ns: u64,
}

/// Reads pages of each die from an instant on, with so much time on the channel for the data of
/// each. Returns when the last read is over, and adds up what they took.
pub(super) fn read_all(
    flash: &Flash,
    geometry: &Geometry,
    pages: &[Vec<Ppn>],
    data_ns: u64,
    (from, took): (Time, &mut Took),
) -> Time {
    let mut last = from;
    let per_channel = geometry.dies() as usize / geometry.channels as usize;
    for channel in 0..geometry.channels {
        // What a die asks for: when, which die, and whether data leave it.
        let mut asks = BinaryHeap::new();
        let mut next = vec![0; per_channel];
        let of_channel = |die: &u32| geometry.channel_of(DieId::new(*die)).get() == channel;
        let dies: Vec<u32> = (0..geometry.dies()).filter(of_channel).collect();
        for (place, &die) in dies.iter().enumerate() {
            if !pages[die as usize].is_empty() {
                asks.push(Reverse((from, place, false)));
            }
        }
        let mut free = from;
        while let Some(Reverse((at, place, leaves))) = asks.pop() {
            let begins = at.max(free);
            let die_pages = &pages[dies[place] as usize];
            if leaves {
                free = begins + Span::from_ns(data_ns);
                last = last.max(free);
                if next[place] < die_pages.len() {
                    asks.push(Reverse((free, place, false)));
                }
                continue;
            }
            let array = flash.array_time(Op::Read, Some(die_pages[next[place]]), false);
            next[place] += 1;
            free = begins + Span::from_ns(flash.command_ns());
            asks.push(Reverse((free + array, place, true)));
            took.reads += 1;
            took.array_ns += array.as_ns();
            took.transfer_ns += flash.command_ns() + data_ns;
        }
    }
    last
}

//! How long the reads of a recovery take, on all dies and channels.
//!
//! Each die reads its pages one after the other: command on the channel, the array, the data on the
//! channel. A channel serves its dies in the order in which they ask for it. Between two kinds of
//! reads all dies wait, because the first say what the next are.

use crate::account::recovered::Took;
use crate::flash::Flash;
use crate::metrics::counters::Work;
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{DieId, Ppn, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is read of pages: for so long on the channel, and which have one bit a cell.
pub(super) struct Kind<'a> {
    pub(super) data_ns: u64,
    pub(super) is_slc: &'a dyn Fn(Ppn) -> bool,
}

/// Reads pages of each die from an instant on. Returns when the last read is over, and adds up what
/// they took.
pub(super) fn read_all(
    flash: &Flash,
    geometry: &Geometry,
    pages: &[Vec<Ppn>],
    kind: &Kind<'_>,
    (from, took): (Time, &mut Took),
) -> Time {
    let mut last = from;
    let per_channel = geometry.dies() as usize / geometry.channels as usize;
    for channel in 0..geometry.channels {
        // What a die asks for: when, which die, and whether data leave it.
        let mut asks = BinaryHeap::new();
        let (mut next, mut begun) = (vec![0; per_channel], vec![from; per_channel]);
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
                free = begins + Span::from_ns(kind.data_ns);
                last = last.max(free);
                took.usage.dies[dies[place] as usize] += free.since(begun[place]).as_ns();
                if next[place] < die_pages.len() {
                    asks.push(Reverse((free, place, false)));
                }
                continue;
            }
            let page = die_pages[next[place]];
            let slc = (kind.is_slc)(page);
            let array = flash.array_time(Op::Read, Some(page), slc);
            next[place] += 1;
            begun[place] = begins;
            free = begins + Span::from_ns(flash.command_ns());
            asks.push(Reverse((free + array, place, true)));
            let transfer_ns = flash.command_ns() + kind.data_ns;
            took.usage.channels[channel as usize] += transfer_ns;
            let array_ns = array.as_ns();
            took.reads[usize::from(slc)].add(&Work { ops: 1, pages: 1, array_ns, transfer_ns });
        }
    }
    last
}

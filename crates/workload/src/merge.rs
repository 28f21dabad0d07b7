//! Several sources as one: by time, each a stream of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashyard_core::request::Request;
use flashyard_core::units::Time;

use crate::{Extent, RequestSource, SourceStats, WorkloadError};

/// The requests of several sources in order of arrival; of equal arrivals those of the earlier
/// source come first. The requests of source number n are of stream n, whatever they were of.
#[derive(Debug)]
pub struct Merge<S> {
    sources: Vec<(String, S)>,
    /// The next request of each source.
    heads: Vec<Option<Request>>,
    /// The sources that have one, by arrival and number.
    order: BinaryHeap<Reverse<(Time, u16)>>,
}

impl<S: RequestSource> Merge<S> {
    /// Merges sources, each with its name. There are at most 65536.
    pub fn new(sources: Vec<(String, S)>) -> Result<Self, WorkloadError> {
        let count = sources.len();
        if count > 1 << 16 {
            return Err(WorkloadError::File {
                file: sources[1 << 16].0.clone(),
                what: format!("there are too many workloads to merge, {count}"),
                fix: "streams end at 65535: merge fewer".to_owned(),
            });
        }
        let heads = vec![None; count];
        let mut merge = Self { sources, heads, order: BinaryHeap::with_capacity(count) };
        for number in 0..count {
            merge.read(u16::try_from(number).expect("there are at most 65536"))?;
        }
        Ok(merge)
    }

    /// The names of the sources, which are those of the streams.
    pub fn names(&self) -> Vec<String> {
        self.sources.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Reads the next request of a source.
    fn read(&mut self, number: u16) -> Result<(), WorkloadError> {
        let place = usize::from(number);
        let next = self.sources[place].1.next_request()?;
        self.heads[place] = next.map(|request| request.of_stream(number));
        if let Some(request) = next {
            self.order.push(Reverse((request.arrival, number)));
        }
        Ok(())
    }
}

impl<S: RequestSource> RequestSource for Merge<S> {
    fn next_request(&mut self) -> Result<Option<Request>, WorkloadError> {
        let Some(Reverse((_, number))) = self.order.pop() else { return Ok(None) };
        let request = self.heads[usize::from(number)].take();
        self.read(number)?;
        Ok(request)
    }

    /// How far the sources are on average, in parts of 2^32 of each; their units differ.
    fn extent(&self) -> Option<Extent> {
        const WHOLE: u64 = 1 << 32;
        let mut sum = Extent::default();
        for (_, source) in &self.sources {
            let one = source.extent()?;
            let (done, of) = (u128::from(one.done.min(one.of)), u128::from(one.of.max(1)));
            let done = if one.of == 0 {
                WHOLE
            } else {
                u64::try_from(done * u128::from(WHOLE) / of).ok()?
            };
            sum = Extent { done: sum.done + done, of: sum.of + WHOLE };
        }
        Some(sum)
    }

    fn stats(&self) -> SourceStats {
        let add = |sum: SourceStats, (_, source): &(String, S)| sum.plus(&source.stats());
        self.sources.iter().fold(SourceStats::default(), add)
    }

    fn notes(&self) -> Vec<String> {
        let of = |(name, source): &(String, S)| -> Vec<String> {
            source.notes().into_iter().map(|note| format!("{name}: {note}")).collect()
        };
        self.sources.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::random::SplitMix64;
    use crate::trace::{Trace, TraceKeys, TraceOptions};

    fn trace(times: &[u64]) -> Trace {
        let row = |(sector, time): (usize, &u64)| format!("{time} 5 {sector} 8 1\n");
        let text = times.iter().enumerate().map(row).collect::<String>();
        let keys = TraceKeys { rebase: false, ..TraceKeys::default() };
        Trace::open(Input::memory("t", text.into_bytes()), &keys, &TraceOptions::default()).unwrap()
    }

    fn merged(times: &[Vec<u64>]) -> Vec<(u64, u16, u64)> {
        let sources = times.iter().map(|times| ("t".to_owned(), trace(times))).collect();
        let mut merge = Merge::new(sources).unwrap();
        let mut out = Vec::new();
        while let Some(request) = merge.next_request().unwrap() {
            out.push((request.arrival.as_ns(), request.stream, request.first_sector));
        }
        let count: usize = times.iter().map(Vec::len).sum();
        assert_eq!(merge.stats().requests, count as u64);
        out
    }

    #[test]
    fn of_equal_arrivals_the_earlier_source_comes_first() {
        let times = [vec![5, 5, 9], vec![0, 5], vec![5]];
        let expected = [(0, 1, 0), (5, 0, 0), (5, 0, 1), (5, 1, 1), (5, 2, 0), (9, 0, 2)];
        assert_eq!(merged(&times), expected);
    }

    #[test]
    fn a_merge_is_a_stable_sort_of_all() {
        let mut random = SplitMix64::new(11);
        let times: Vec<Vec<u64>> = (0..40)
            .map(|_| {
                let mut times: Vec<u64> =
                    (0..=random.below(60)).map(|_| random.below(99)).collect();
                times.sort_unstable();
                times
            })
            .collect();
        let mut expected = Vec::new();
        for (stream, times) in times.iter().enumerate() {
            for (sector, &time) in times.iter().enumerate() {
                expected.push((time, u16::try_from(stream).unwrap(), sector as u64));
            }
        }
        expected.sort_by_key(|&(time, ..)| time);
        assert_eq!(merged(&times), expected);
    }
}

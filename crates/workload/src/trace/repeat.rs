//! A trace that is repeated: each repetition begins at the time of the last request of the one
//! before, as MQSim's `Relay_Count` has it. Chunks keep their numbers from one to the next.

use super::{TraceKeys, TraceOptions};
use crate::error::WorkloadError;
use crate::input::Input;
use crate::{Extent, SourceStats};

/// What is needed to read a trace again.
#[derive(Debug)]
pub(super) struct Repeat {
    pub(super) input: Input,
    pub(super) options: TraceOptions,
    /// Repetitions that are over, and those that are still to come.
    pub(super) done: u64,
    pub(super) left: u64,
    /// Whether this pass has given a request. If a pass gives none, neither does another.
    pub(super) gives: bool,
    /// How much later than on the clock of the trace requests arrive.
    pub(super) shift_ns: u64,
    /// What the repetitions that are over have counted.
    pub(super) before: SourceStats,
}

impl Repeat {
    /// None where the keys ask for one pass.
    pub(super) fn new(
        input: Input,
        keys: &TraceKeys,
        options: &TraceOptions,
    ) -> Result<Option<Box<Self>>, WorkloadError> {
        let left = keys.repeat - 1;
        if left == 0 {
            return Ok(None);
        }
        if !input.is_rereadable() {
            return Err(WorkloadError::File {
                file: input.name().to_owned(),
                what:
                    "trace.repeat reads the trace several times, and this input can be read only \
                       once"
                        .to_owned(),
                fix: "save it to a file first".to_owned(),
            });
        }
        let (options, before) = (options.clone(), SourceStats::default());
        Ok(Some(Box::new(Self {
            input,
            options,
            done: 0,
            left,
            gives: false,
            shift_ns: 0,
            before,
        })))
    }

    /// How far the whole is, of how far one pass is.
    pub(super) const fn extent(&self, pass: Extent) -> Extent {
        let all = self.done + 1 + self.left;
        let of = pass.of.saturating_mul(all);
        Extent { done: self.done.saturating_mul(pass.of).saturating_add(pass.done), of }
    }

    /// All that was counted, with what this pass has.
    pub(super) fn stats(&self, pass: &SourceStats) -> SourceStats {
        self.before.plus(pass)
    }

    /// What was done, as a sentence.
    pub(super) fn note(&self) -> String {
        format!("the trace ran {} times", self.done + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestSource;
    use crate::trace::{Fold, Trace};
    use flashyard_core::request::Request;
    use flashyard_core::units::Time;

    const ROWS: &str = "0 0 0 8 1\n5 1 5000 8 0\n30 0 7000 8 1\n";

    fn read(keys: &TraceKeys, only: Option<u16>) -> (Vec<Request>, SourceStats) {
        let options = TraceOptions { capacity_sectors: Some(600), ..TraceOptions::default() };
        let mut trace = Trace::open(Input::memory("t", ROWS.as_bytes()), keys, &options).unwrap();
        if let Some(number) = only {
            trace.keep_stream(number);
        }
        let mut all = Vec::new();
        while let Some(request) = trace.next_request().unwrap() {
            all.push(request);
        }
        (all, trace.stats())
    }

    #[test]
    fn a_pass_follows_the_other_and_finds_its_chunks_where_they_were() {
        let once = TraceKeys { fold: Fold::Modulo, ..TraceKeys::default() };
        let (single, counted) = read(&once, None);
        let (all, stats) = read(&TraceKeys { repeat: 3, ..once }, None);
        assert_eq!(all.len(), 3 * single.len());
        let span = single.last().unwrap().arrival.as_ns();
        for (place, request) in all.iter().enumerate() {
            let (pass, row) = (place / single.len(), single[place % single.len()]);
            let ns = row.arrival.as_ns() + pass as u64 * span;
            assert_eq!(*request, row.at(Time::from_ns(ns)));
        }
        assert_eq!((stats.requests, stats.folded), (9, 3 * counted.folded));
        // A stream keeps the distances of the whole trace.
        let (stream, _) = read(&TraceKeys { repeat: 2, ..once }, Some(1));
        let ns: Vec<u64> = stream.iter().map(|request| request.arrival.as_ns()).collect();
        assert_eq!(ns, [ns[0], ns[0] + span]);
    }

    /// A thousand million passes of nothing end at once.
    #[test]
    fn a_trace_without_requests_of_a_stream_is_read_once() {
        let fold = Fold::Modulo;
        let keys = TraceKeys { repeat: 1_000_000_000, fold, ..TraceKeys::default() };
        assert_eq!(read(&keys, Some(9)).0, []);
    }

    #[test]
    fn what_can_be_read_once_is_not_repeated() {
        let keys = TraceKeys { repeat: 2, ..TraceKeys::default() };
        let input = Input::reader("r", Box::new(ROWS.as_bytes()));
        let error = Trace::open(input, &keys, &TraceOptions::default()).unwrap_err().to_string();
        assert!(error.contains("trace.repeat reads the trace several times"), "{error}");
    }
}

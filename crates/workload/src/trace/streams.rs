//! The streams of a trace that is split: one of a run for each value of a column.

use super::{Trace, TraceKeys, TraceOptions};
use crate::RequestSource;
use crate::error::WorkloadError;
use crate::input::Input;

/// Streams that a trace is split into, at most.
pub const STREAMS_MAX: usize = 256;

/// A stream of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStream {
    /// Its number in the requests of the trace.
    pub number: u16,
    /// The value of the column that makes the streams: letters, digits, `-`, `_` and `.` as they
    /// are, any other character as `_`. Of two equal names, the second one ends in its number.
    pub name: String,
    /// Its requests.
    pub requests: u64,
}

/// Reads a trace once to find its streams, by ascending number: those that have requests after all
/// transforms. `open` it once more for each and [`keep`](Trace::keep_stream) its requests.
pub fn find_streams(
    mut input: Input,
    keys: &TraceKeys,
    options: &TraceOptions,
) -> Result<Vec<TraceStream>, WorkloadError> {
    if !input.is_rereadable() {
        return Err(WorkloadError::File {
            file: input.name().to_owned(),
            what: "trace.split reads the trace once for each stream, and this input can be read \
                   only once"
                .to_owned(),
            fix: "save it to a file first".to_owned(),
        });
    }
    let file = input.name().to_owned();
    let mut trace = Trace::open_input(&mut input, keys, options)?;
    let mut counts = vec![0_u64; usize::from(u16::MAX) + 1];
    while let Some(request) = trace.next_request()? {
        counts[usize::from(request.stream)] += 1;
    }
    let found = counts.iter().filter(|&&requests| requests > 0).count();
    if found > STREAMS_MAX {
        return Err(WorkloadError::File {
            file,
            what: format!("trace.split makes more than {STREAMS_MAX} streams, {found}"),
            fix: "choose another column, or keep fewer of them with trace.first_stream and \
                  trace.last_stream"
                .to_owned(),
        });
    }
    let counted = (0..=u16::MAX).zip(counts).filter(|&(_, requests)| requests > 0);
    Ok(named(counted, &trace.stream_names()))
}

/// Streams by number and count, under the values that they stand for, if any.
fn named(counted: impl Iterator<Item = (u16, u64)>, values: &[String]) -> Vec<TraceStream> {
    let mut streams: Vec<TraceStream> = Vec::new();
    for (number, requests) in counted {
        let value = values.get(usize::from(number)).map(|value| word(value));
        let mut name = value.unwrap_or_else(|| number.to_string());
        while streams.iter().any(|other| other.name == name) {
            name = format!("{name}-{number}");
        }
        streams.push(TraceStream { number, name, requests });
    }
    streams
}

/// A value as a name.
fn word(value: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = value.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_differ() {
        let values = ["web,0", "", "a b", "a_b", "a_b-3", "x.Y-1"].map(str::to_owned);
        let streams = named([0, 1, 2, 3, 4, 5, 9].into_iter().map(|number| (number, 7)), &values);
        let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
        assert_eq!(names, ["web_0", "_", "a_b", "a_b-3", "a_b-3-4", "x.Y-1", "9"]);
        assert_eq!((streams[6].number, streams[6].requests), (9, 7));
    }
}

//! Every writer against its reader.

use super::*;
use crate::RequestSource;
use crate::input::Input;
use crate::random::SplitMix64;
use crate::trace::{Trace, TraceKeys, TraceOptions};
use flashyard_core::request::Flags;
use flashyard_core::units::Span;
use flashyard_core::units::Time;

fn writable() -> impl Iterator<Item = &'static FormatInfo> {
    FormatInfo::all().filter(|format| format.writer.is_some())
}

/// Any requests at all, in order of time, addresses up to the very end.
fn any_requests(seed: u64, count: usize) -> Vec<Request> {
    let mut random = SplitMix64::new(seed);
    let mut now_ns = random.below(1 << 40);
    let mut next = || {
        let (time_bits, stream_bits) = (1 + random.below(40), random.below(17));
        now_ns += random.below(1 << time_bits);
        let op = RequestOp::ALL[random.below_usize(4)];
        let least = u64::from(op != RequestOp::Flush);
        let sectors = u32::try_from(least + random.below(u64::from(u32::MAX))).unwrap();
        let room = (u64::MAX - u64::from(sectors)) >> random.below(60);
        Request::new(
            op,
            random.below(room),
            if random.below(2) == 0 { sectors } else { sectors % 64 + 1 },
        )
        .at(Time::from_ns(now_ns))
        .of_stream(u16::try_from(random.below(1 << stream_bits)).unwrap())
        .with(Flags::from_bits(u8::try_from(random.below(8)).unwrap()).unwrap())
    };
    (0..count).map(|_| next()).collect()
}

/// What is left of `requests` in a format that holds this much, computed from the table alone.
fn degraded(requests: &[Request], holds: &Holds) -> (Vec<Request>, Losses) {
    let mut losses = Losses::default();
    let mut streams: Vec<u16> = Vec::new();
    let mut kept = Vec::new();
    for &request in requests {
        if !holds.ops.contains(&request.op) {
            losses.ops[RequestOp::ALL.iter().position(|&op| op == request.op).unwrap()] += 1;
            continue;
        }
        let has_range = request.op != RequestOp::Flush || holds.flush_ranges;
        if has_range
            && u128::from(request.first_sector) + u128::from(request.sectors)
                > u128::from(holds.end_sector)
        {
            losses.addresses += 1;
            continue;
        }
        let ns = request.arrival.as_ns();
        let rounded = ns - ns % holds.time_unit_ns;
        let stream = match holds.streams {
            Streams::None => 0,
            Streams::Numbers => request.stream,
            Streams::Appearance => {
                let place = streams.iter().position(|&stream| stream == request.stream);
                let place = place.unwrap_or_else(|| {
                    streams.push(request.stream);
                    streams.len() - 1
                });
                u16::try_from(place).unwrap()
            }
        };
        let flags = Flags::from_bits(request.flags.bits() & holds.flags.bits()).unwrap();
        let mut request = request;
        if request.op == RequestOp::Flush && !holds.flush_ranges {
            losses.flush_ranges += u64::from(request.first_sector > 0 || request.sectors > 0);
            (request.first_sector, request.sectors) = (0, 0);
        }
        losses.times += u64::from(rounded != ns);
        losses.streams += u64::from(stream != request.stream);
        losses.flags += u64::from(flags != request.flags);
        kept.push(request.at(Time::from_ns(rounded)).of_stream(stream).with(flags));
    }
    (kept, losses)
}

fn write(format: &FormatInfo, requests: &[Request], names: &[String]) -> (Vec<u8>, TraceWriter) {
    let mut writer = TraceWriter::new("out", format, true).unwrap();
    let mut out = Vec::new();
    for request in requests {
        writer.push(request, &mut out).unwrap();
    }
    writer.finish(names, &mut out).unwrap();
    (out, writer)
}

fn read(format: &FormatInfo, bytes: &[u8]) -> (Vec<Request>, Vec<String>) {
    let options = TraceOptions { format: Some(format.name.to_owned()), ..Default::default() };
    let keys = TraceKeys { rebase: false, tick_us: Span::from_ns(1), ..TraceKeys::default() };
    let mut trace = Trace::open(Input::memory("t", bytes), &keys, &options).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().unwrap() {
        requests.push(request);
    }
    (requests, trace.stream_names())
}

#[test]
fn what_is_written_is_read_back_but_for_the_stated_losses() {
    for format in writable() {
        for seed in 0..4 {
            let requests = any_requests(seed, 3_000);
            let (bytes, writer) = write(format, &requests, &[]);
            let (expected, losses) = degraded(&requests, &writer.holds);
            assert!(expected.len() > 500, "{} holds too little to tell", format.name);
            assert_eq!(read(format, &bytes).0, expected, "{}", format.name);
            assert_eq!(*writer.losses(), losses, "{}", format.name);
            assert_eq!(writer.requests(), expected.len() as u64);
            assert_eq!(losses.left_out(), (requests.len() - expected.len()) as u64);
            let again = write(format, &expected, &[]);
            assert_eq!(read(format, &again.0).0, expected, "{}: written twice", format.name);
            assert_eq!(*again.1.losses(), Losses::default(), "{}", format.name);
        }
    }
}

#[test]
fn every_format_holds_what_an_example_of_any_other_holds() {
    for from in super::super::FORMATS.iter() {
        let (requests, names) = read_rebased(from, from.example.as_bytes());
        for to in writable() {
            let (bytes, writer) = write(to, &requests, &names);
            let (expected, losses) = degraded(&requests, &writer.holds);
            let lacks = requests.iter().filter(|request| !writer.holds.ops.contains(&request.op));
            assert_eq!(losses.left_out(), lacks.count() as u64, "{} to {}", from.name, to.name);
            assert_eq!(read(to, &bytes).0, expected, "{} to {}", from.name, to.name);
        }
    }
}

fn read_rebased(format: &FormatInfo, bytes: &[u8]) -> (Vec<Request>, Vec<String>) {
    let keys = TraceKeys { tick_us: Span::from_ns(1), ..TraceKeys::default() };
    let options = TraceOptions { format: Some(format.name.to_owned()), ..Default::default() };
    let mut trace = Trace::open(Input::memory("t", bytes), &keys, &options).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = trace.next_request().unwrap() {
        requests.push(request);
    }
    (requests, trace.stream_names())
}

/// Writes nothing, and holds reads up to sector 1000.
#[derive(Debug)]
struct Near;

impl Writer for Near {
    fn holds(&self) -> Holds {
        let ops = &[RequestOp::Read];
        Holds { ops, end_sector: 1_000, time_unit_ns: 1_000, ..Holds::READS_AND_WRITES }
    }

    fn row(&mut self, _: &Request, _: &mut Vec<u8>) {}
}

#[test]
fn what_does_not_fit_is_named() {
    let near = FormatInfo {
        name: "near",
        writer: Some(|| Box::new(Near)),
        ..*FormatInfo::from_name("spc").unwrap()
    };
    let trim = Request::new(RequestOp::Trim, 800, 8).at(Time::from_ns(77));
    let refused = |request: &Request| {
        let mut writer = TraceWriter::new("out", &near, false).unwrap();
        writer.push(request, &mut Vec::new()).unwrap_err().to_string()
    };
    let fix = "choose another format, or leave such requests out with --lossy";
    assert_eq!(
        refused(&trim),
        format!(
            "out: request 1 does not fit, a trim of 8 sectors from sector 800 at 77 ns: the format \
             near has no trims; {fix}"
        )
    );
    let far = Request::new(RequestOp::Read, 0, 0).at(trim.arrival).over(993, trim.sectors);
    assert_eq!(
        refused(&far),
        format!(
            "out: request 1 does not fit, a read of 8 sectors from sector 993 at 77 ns: the format \
             near has addresses up to sector 1000; {fix}"
        )
    );
    let mut writer = TraceWriter::new("out", &near, true).unwrap();
    writer.push(&trim, &mut Vec::new()).unwrap();
    writer.push(&far, &mut Vec::new()).unwrap();
    assert_eq!(
        writer.finish(&[], &mut Vec::new()).unwrap_err().to_string(),
        "out: none of 2 requests fit the format near: nothing is left to write; give another \
         workload or format"
    );
    writer.push(&far.over(992, far.sectors), &mut Vec::new()).unwrap();
    assert_eq!(
        writer.notes(),
        [
            "the times of 1 request were rounded down to 1000 ns",
            "1 request was left out: near has no trims",
            "1 request was left out: addresses of near end at sector 1000",
        ]
    );
}

#[test]
fn names_of_streams_are_kept_where_there_is_room() {
    let requests = any_requests(9, 10);
    let names = ["web,0".to_owned(), String::new(), "\u{e9}".repeat(40_000)];
    let format = FormatInfo::from_name("flashyard").unwrap();
    let (bytes, writer) = write(format, &requests, &names);
    let cut = "\u{e9}".repeat(32_767);
    assert_eq!(read(format, &bytes).1, ["web,0", "", &cut]);
    assert_eq!(writer.notes(), [""; 0]);
    let (_, writer) = write(FormatInfo::from_name("spc").unwrap(), &requests, &names);
    assert_eq!(writer.losses().names, 3);
    assert!(writer.notes().contains(&"the names of 3 streams are lost: spc has none".to_owned()));
}

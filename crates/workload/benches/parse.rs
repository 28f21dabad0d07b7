//! Throughput of the trace readers and writers, in MB/s, and of the generator.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flashyard_core::request::Request;
use flashyard_workload::format::write::TraceWriter;
use flashyard_workload::generator::{BUILT_IN, Generator, GeneratorKeys};
use flashyard_workload::input::Input;
use flashyard_workload::trace::{TimeOrder, Trace, TraceKeys, TraceOptions};
use flashyard_workload::{FormatInfo, Info, RequestSource};

/// Rows of the traces that are read.
const ROWS: u64 = 100_000;

fn main() {
    divan::main();
}

/// A trace of [`ROWS`] rows of this format.
fn text(format: &str) -> Vec<u8> {
    let row = |n: u64| {
        let (sector, op) = (n * 7_919 % 60_000_000 * 8, n % 3 / 2);
        let (s, ns) = (1_398_403_999 + n / 1_000, n % 1_000 * 1_000_000);
        match format {
            "biotracer" => format!(
                "{sector}\t\t88\t\t45056\t\t{op}\t\t{s}.{ns:09}\t\t{s}.{ns:09}\t\t{s}.{ns:09}\
                 \t\t{s}.{ns:09}\n"
            ),
            "blkparse" => {
                let (rwbs, us) = (if op == 1 { "WS" } else { "R" }, n % 1_000_000);
                format!(
                    "  8,16   5 {n:8} {:5}.{us:06}402 18615  Q {rwbs:>3} {sector} + 256 [java]\n",
                    n / 1_000_000
                )
            }
            "disksim" => format!("{n}.{:03} 0 {sector} 8 {op}\n", n % 1_000),
            "fio" if n == 0 => "fio version 3 iolog\n".to_owned(),
            "fio" => {
                let op = if op == 1 { "write" } else { "read" };
                format!("{} /dev/sdb{} {op} {} 4096\n", n * 10, n % 2, sector * 512)
            }
            "msr" => {
                let op = if op == 1 { "Write" } else { "Read" };
                let ticks = 128_166_385_295_514_663 + n * 10_000;
                format!("{ticks},hm,{},{op},{},4096,2833\n", n % 2, sector * 512)
            }
            "spc" => format!(
                "{},{sector},3584,{},{s}.{ns:09}\n",
                n % 24,
                if op == 1 { "W" } else { "r" }
            ),
            "ssdsim" => format!("{} {} {sector} 8 {op}\n", n * 1_000_000, n % 24),
            "tencent" => format!("{s},{sector},8,{op},{}\n", n % 24),
            "heimdall" => {
                format!("{}.{:03} 0 {} 4096 {op}\n", n / 50, n % 50 * 20, sector * 512)
            }
            _ => panic!("a new format needs a row here: {format}"),
        }
    };
    (0..ROWS).flat_map(|n| row(n).into_bytes()).collect()
}

fn drain(mut source: impl RequestSource) -> u64 {
    let mut sum = 0_u64;
    while let Some(request) = source.next_request().expect("the trace is right") {
        sum = sum.wrapping_add(request.first_sector);
    }
    sum
}

fn open(text: Vec<u8>, keys: &TraceKeys) -> Trace {
    Trace::open(Input::memory("bench", text), keys, &TraceOptions::default())
        .expect("the trace is right")
}

#[divan::bench(args = [
    "biotracer", "blkparse", "disksim", "fio", "heimdall", "msr", "spc", "ssdsim", "tencent",
])]
fn parse(bencher: Bencher<'_, '_>, format: &str) {
    let text = text(format);
    let bytes = BytesCount::of_slice(&text);
    bencher
        .counter(bytes)
        .with_inputs(|| open(text.clone(), &TraceKeys::default()))
        .bench_values(drain);
}

/// The requests of a trace.
fn requests() -> Vec<Request> {
    let mut trace = open(text("ssdsim"), &TraceKeys::default());
    std::iter::from_fn(|| trace.next_request().expect("the trace is right")).collect()
}

/// These requests as this format has them.
fn converted(requests: &[Request], format: &str) -> Vec<u8> {
    let format = FormatInfo::from_name(format).expect("the format is known");
    let mut writer = TraceWriter::new("bench", format, false).expect("it can be written");
    let mut out = Vec::new();
    for request in requests {
        writer.push(request, &mut out).expect("every format has reads and writes");
    }
    writer.finish(&[], &mut out).expect("there are requests");
    out
}

/// The bar is 1 GB/s.
#[divan::bench]
fn read_binary(bencher: Bencher<'_, '_>) {
    let bytes = converted(&requests(), "flashyard");
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .with_inputs(|| open(bytes.clone(), &TraceKeys::default()))
        .bench_values(drain);
}

#[divan::bench(args = ["flashyard", "biotracer", "msr", "spc", "ssdsim"])]
fn write(bencher: Bencher<'_, '_>, format: &str) {
    let requests = requests();
    let bytes = BytesCount::of_slice(&converted(&requests, format));
    bencher.counter(bytes).bench(|| converted(&requests, format));
}

#[divan::bench]
fn parse_and_sort(bencher: Bencher<'_, '_>) {
    let text = text("ssdsim");
    let keys = TraceKeys { time_order: TimeOrder::Sort, ..TraceKeys::default() };
    let bytes = BytesCount::of_slice(&text);
    bencher.counter(bytes).with_inputs(|| open(text.clone(), &keys)).bench_values(drain);
}

#[divan::bench]
fn generate(bencher: Bencher<'_, '_>) {
    let keys = GeneratorKeys { requests: ROWS, ..BUILT_IN[0].keys };
    bencher
        .counter(ItemsCount::new(ROWS))
        .bench(|| drain(Generator::new(&keys, 0, None).expect("the keys fit")));
}

/// Every page again and again: each access has a re-use distance.
#[divan::bench]
fn info_reuse(bencher: Bencher<'_, '_>) {
    let row = |n: u64| format!("{} 0 {} 8 {}\n", n * 1_000, n * 7_919 % 20_011 * 8, n % 2);
    let text: Vec<u8> = (0..ROWS).flat_map(|n| row(n).into_bytes()).collect();
    bencher
        .counter(ItemsCount::new(ROWS))
        .with_inputs(|| open(text.clone(), &TraceKeys::default()))
        .bench_values(|mut trace| Info::collect(&mut trace).expect("the trace is right"));
}

#[divan::bench]
fn info(bencher: Bencher<'_, '_>) {
    let text = text("ssdsim");
    bencher
        .counter(ItemsCount::new(ROWS))
        .with_inputs(|| open(text.clone(), &TraceKeys::default()))
        .bench_values(|mut trace| Info::collect(&mut trace).expect("the trace is right"));
}

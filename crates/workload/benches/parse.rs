//! Throughput of the trace readers, in MB/s of text, and of the generator.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use flashyard_workload::generator::{BUILT_IN, Generator, GeneratorKeys};
use flashyard_workload::input::Input;
use flashyard_workload::trace::{TimeOrder, Trace, TraceKeys, TraceOptions};
use flashyard_workload::{Info, RequestSource};

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

#[divan::bench(args = ["biotracer", "heimdall", "msr", "spc", "ssdsim", "tencent"])]
fn parse(bencher: Bencher<'_, '_>, format: &str) {
    let text = text(format);
    let bytes = BytesCount::of_slice(&text);
    bencher
        .counter(bytes)
        .with_inputs(|| open(text.clone(), &TraceKeys::default()))
        .bench_values(drain);
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

#[divan::bench]
fn info(bencher: Bencher<'_, '_>) {
    let text = text("ssdsim");
    bencher
        .counter(ItemsCount::new(ROWS))
        .with_inputs(|| open(text.clone(), &TraceKeys::default()))
        .bench_values(|mut trace| Info::collect(&mut trace).expect("the trace is right"));
}

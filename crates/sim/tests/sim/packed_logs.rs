//! Translation layers whose programs hold several mapping units: what layers may do with a program,
//! an example worked out by hand, and reads of a page whose units lie in several places. Random
//! devices are in `random_devices`.

use crate::common::phases::{Bench, named, pacing};
use crate::common::{Random, flush, record, request, seeds, settings, try_settings, write};
use flashyard_core::request::{Request, RequestOp};
use flashyard_sim::config::Settings;
use flashyard_sim::device::Upkeep;
use flashyard_sim::parts::layer::{PageWrite, Plan, ProgramOrder, Shape, Step, TranslationLayer};
use flashyard_sim::parts::log::Scheme;
use flashyard_sim::parts::log::bast::BastKeys;
use flashyard_sim::parts::log::fast::{BrokenRun, FastKeys};
use flashyard_sim::parts::log::last::LastKeys;
use flashyard_sim::stream::Pacing;

/// What flash of one plane holds while a layer writes to it, and the rules that it breaks.
struct Flash {
    shape: Shape,
    /// The logical page on each physical page, and where the newest copy of each is.
    owner: Vec<Option<u32>>,
    place: Vec<Option<u32>>,
    /// The last program of each block, from its start, plus one.
    begun: Vec<u32>,
    /// The program of the step before, and whether it copied.
    open: Option<(u32, bool)>,
}

impl Flash {
    fn new(shape: Shape) -> Self {
        let pages = (shape.blocks * shape.pages_per_block) as usize;
        Self {
            shape,
            owner: vec![None; pages],
            place: vec![None; shape.pages as usize],
            begun: vec![0; shape.blocks as usize],
            open: None,
        }
    }

    /// A page is programmed: in the program of the step before, where that was of the same kind and
    /// may be joined, or in one of which nothing is.
    fn program(&mut self, lpn: u32, to: u32, copies: bool) {
        let pages = self.shape.program_pages;
        let (program, block) = (to / pages, to / self.shape.pages_per_block);
        if self.open != Some((program, copies)) {
            let mut beside = program * pages..(program + 1) * pages;
            assert!(beside.all(|page| self.owner[page as usize].is_none()), "twice: {to}");
            let number = to % self.shape.pages_per_block / pages + 1;
            let begun = &mut self.begun[block as usize];
            let upwards = self.shape.order != ProgramOrder::Any;
            assert!(!upwards || number > *begun, "downwards: {to}");
            *begun = (*begun).max(number);
        }
        assert!(self.owner[to as usize].is_none(), "a page is programmed twice: {to}");
        self.owner[to as usize] = Some(lpn);
        self.place[lpn as usize] = Some(to);
        self.open = Some((program, copies));
    }

    /// Does what a layer has planned for a write of this page, or for an idle time.
    fn carry_out(&mut self, write: Option<PageWrite>, plan: &Plan) {
        if !write.is_some_and(|write| write.joins) {
            self.open = None;
        }
        for &step in &plan.steps {
            match step {
                Step::Host { to } => {
                    let write = write.expect("only a write programs a page of the host");
                    self.program(write.lpn, to, false);
                }
                Step::Copy { lpn, from, to } => {
                    assert_eq!(self.place[lpn as usize], Some(from), "the newest copy is copied");
                    self.program(lpn, to, true);
                }
                Step::Erase { block } => {
                    let pages = self.shape.pages_per_block;
                    let block_of = |page: u32| page / pages == block;
                    let lost = self.place.iter().flatten().any(|place| block_of(*place));
                    assert!(!lost, "block {block} holds newest copies");
                    let first = (block * pages) as usize;
                    self.owner[first..first + pages as usize].fill(None);
                    self.begun[block as usize] = 0;
                    self.open = None;
                }
            }
        }
    }
}

/// Random writes, some of which join, trims and idle times of a layer. Returns its programs of the
/// host's pages, and those pages.
fn write_to(mut layer: impl TranslationLayer, shape: Shape, random: &mut Random) -> (u64, u64) {
    let mut flash = Flash::new(shape);
    let mut plan = Plan::default();
    let (mut programs, mut pages) = (0, 0);
    let small = |number: u64| u32::try_from(number).expect("few pages");
    let reach = random.pick(&[shape.pages, shape.pages, shape.pages / 4]);
    for _ in 0..300 {
        let mut lpns: Vec<u32> = match random.below(3) {
            0 => {
                let first = small(random.below(reach.into()));
                let until = first + 1 + small(random.below(2 * u64::from(shape.program_pages)));
                (first..until.min(shape.pages)).collect()
            }
            _ => (0..=random.below(shape.program_pages.into()))
                .map(|_| small(random.below(reach.into())))
                .collect(),
        };
        lpns.sort_unstable();
        lpns.dedup();
        for (place, &lpn) in lpns.iter().enumerate() {
            let joins = place % shape.program_pages as usize > 0;
            let request_pages = small(lpns.len() as u64);
            let write = PageWrite { lpn, request_pages, more: 0, joins };
            plan.steps.clear();
            layer.write(write, &mut plan);
            let before = flash.open.filter(|_| joins);
            flash.carry_out(Some(write), &plan);
            pages += 1;
            programs += u64::from(plan.steps.len() > 1 || flash.open != before);
        }
        for _ in 0..random.below(3) / 2 {
            let lpn = small(random.below(reach.into()));
            layer.trim(lpn);
            flash.place[lpn as usize] = None;
        }
        if random.below(40) == 0 {
            plan.steps.clear();
            layer.idle(&mut plan);
            flash.carry_out(None, &plan);
        }
        for lpn in 0..shape.pages {
            assert_eq!(layer.place(lpn), flash.place[lpn as usize], "where {lpn} is");
        }
    }
    (programs, pages)
}

/// No layer programs a page twice, adds to a program that is over, programs downwards where that
/// counts, copies what is old or erases what is newest, whatever joins.
#[test]
fn layers_fill_each_program_at_once() {
    let (mut programs, mut pages) = (0, 0);
    for seed in seeds(0..600) {
        let mut random = Random(seed);
        let program_pages = random.pick(&[1, 2, 3, 4, 12]);
        let shape = Shape {
            pages_per_block: program_pages * random.pick(&[2, 4, 6]),
            pages: 0,
            blocks: 14 + u32::try_from(random.below(8)).expect("few"),
            page_bytes: 4_096,
            program_pages,
            order: random.pick(&[ProgramOrder::Any, ProgramOrder::Ascending]),
        };
        let pages_left = random.below(u64::from(shape.pages_per_block));
        let left = u32::try_from(pages_left).expect("of a block");
        let shape = Shape { pages: 8 * shape.pages_per_block - left, ..shape };
        let done = match seed % 3 {
            0 => write_to(BastKeys::default().layer(&shape), shape, &mut random),
            1 => {
                let broken_run = random.pick(BrokenRun::ALL);
                let sequential_log = random.below(3) > 0;
                let keys = FastKeys { broken_run, sequential_log, ..FastKeys::default() };
                write_to(keys.layer(&shape), shape, &mut random)
            }
            _ => {
                let threshold_bytes = random.pick(&[4_096, 16_384, 65_536]);
                let keys = LastKeys { threshold_bytes, ..LastKeys::default() };
                write_to(keys.layer(&shape), shape, &mut random)
            }
        };
        (programs, pages) = (programs + done.0, pages + done.1);
    }
    assert!(10 * programs < 8 * pages, "{programs} programs hold {pages} pages");
}

/// A full plane of four logical blocks, of four flash pages of four units, under FAST with one log
/// block, whose buffer a flush empties.
fn device(keys: &[&str]) -> Settings {
    let base = [
        "geometry.blocks_per_plane=8",
        "geometry.pages_per_block=4",
        "geometry.page_bytes=16384",
        "ftl.over_provisioning_percent=100",
        "ftl.mapping_unit_bytes=4096",
        "ftl.scheme=fast",
        "ftl.fast.log_blocks=1",
        "ftl.fast.sequential_log=false",
        "nand.program_order=any",
        "map.store=resident",
        "state.initial=full",
        "policy.command=fifo",
        "buffer.bytes=65536",
        "buffer.volatile=true",
        "buffer.after_flush=free",
        "channel.ps_per_byte=1000",
    ];
    settings(&[&base, keys].concat())
}

/// Writes of unit `at` of the first page of each of the four blocks, and a flush.
fn one_of_each(at: u64) -> impl Iterator<Item = Request> {
    let start = at * 100_000;
    (0..4).map(move |block| write(start, 16 * block + at)).chain([flush(start + 1)])
}

/// By hand. Four flushes of four units fill the four pages of the log block. Its merge gathers each
/// block: the units of its first page lie on four pages of the log, so that page takes four reads,
/// each of the others one; four programs; and the data block is erased, and at the end the log
/// block. A page takes 16,384 bytes of the channel, a unit 4,096.
#[test]
fn a_merge_gathers_a_page_from_as_many_places_as_its_units_have() {
    let mut bench = Bench::new(&device(&[]));
    let requests: Vec<_> = (0..4).flat_map(one_of_each).collect();
    bench.run(vec![named("s", pacing(Pacing::Open, 1), &requests)]);
    bench.device.upkeep(Upkeep::Merge).unwrap();
    let report = bench.finish();
    let (reads, programs) = (&report.flash.pages["reads"], &report.flash.pages["programs"]);
    assert_eq!([programs["host"], programs["merge"]], [4, 16]);
    assert_eq!([reads["host"], reads["merge"]], [0, 4 * (4 + 3)]);
    assert_eq!(report.flash.array_ops["erases"]["merge"], 4 + 1);
    assert_eq!(report.flash.padded_units, 0);
    let merges = &report.gc.merges;
    assert_eq!([merges.switch, merges.partial, merges.full, merges.dead], [0, 0, 4, 0]);
}

/// Units of a page that were written at four times lie in four programs, and a read of the page
/// takes four reads; when they are merged, or were flushed together, one.
#[test]
fn a_page_is_read_in_as_many_places_as_its_units_lie() {
    let page = |at_us| request(at_us, RequestOp::Read, 16, 4);
    let apart = (0..4).flat_map(|at| [write(at * 100_000, 16 + at), flush(at * 100_000 + 1)]);
    let together = (0..4).map(|at| write(0, 16 + at)).chain([flush(1)]);
    let reads = |requests: Vec<Request>, keys: &[&str]| {
        let settings = device(keys);
        let (report, run) = record(&settings, &[], &requests);
        let last = run.requests.last().expect("the read");
        let of_host = report.flash.pages["reads"]["host"];
        (of_host, last.completion.since(last.request.arrival).as_ns())
    };
    let read_ns = settings(&["nand.read_us=60"]).keys.nand.read_us.as_ns();
    let unit_ns = 4_096;
    let (count, latency) = reads(apart.clone().chain([page(1_000_000)]).collect(), &[]);
    assert_eq!((count, latency), (4, 4 * (read_ns + unit_ns)));
    let (count, latency) = reads(together.chain([page(1_000_000)]).collect(), &[]);
    assert_eq!((count, latency), (1, read_ns + 4 * unit_ns));
    // The pause before the read is idle, and long enough for the merge.
    let idle = ["gc.timing=background", "gc.idle_us=1000"];
    let (count, latency) = reads(apart.chain([page(1_000_000)]).collect(), &idle);
    assert_eq!((count, latency), (1, read_ns + 4 * unit_ns));
}

/// Units that are flushed together share a program in whatever order they were written and are got
/// out of the buffer; those that wait for their own programs have one each.
#[test]
fn what_is_flushed_together_is_one_program() {
    let programs = |keys: &[&str], first: [u64; 4]| {
        let writes = first.iter().map(|&lpn| write(0, lpn)).chain([flush(1)]);
        let (report, _) = record(&device(keys), &[], &writes.collect::<Vec<_>>());
        (report.flash.pages["programs"]["host"], report.flash.padded_units)
    };
    for order in [[0, 16, 32, 48], [48, 16, 32, 0], [16, 48, 0, 32]] {
        for reads in ["buffer.flush_reads=false", "buffer.flush_reads=true"] {
            assert_eq!(programs(&[reads], order), (1, 0), "{reads} {order:?}");
        }
        assert_eq!(programs(&["buffer.acknowledge=program"], order), (4, 12), "{order:?}");
    }
}

/// Without a buffer nothing fills a program, and a layer that rewrites blocks does not know how.
#[test]
fn programs_of_several_units_need_a_buffer_and_a_layer_that_fills_them() {
    for (keys, why) in [
        (["ftl.scheme=fast", "buffer.bytes=0"], "only a write buffer fills programs"),
        (["ftl.scheme=block", "buffer.bytes=65536"], "its layer does not fill programs"),
    ] {
        let base = ["map.store=resident", "nand.program_order=any", "geometry.page_bytes=16384"];
        let unit = ["ftl.mapping_unit_bytes=4096"];
        let refused = try_settings(&[&base[..], &unit, &keys].concat()).expect_err("refused");
        assert!(refused.contains(why), "{refused}");
    }
}

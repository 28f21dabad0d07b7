//! The time series: what happened in each bin of measured time, in bounded memory. When more bins
//! are needed than there may be, pairs are joined and the width doubles.

use super::exact::{Exact, add, picojoules, spread};
use crate::saved::saved;
use flashyard_core::request::{RequestOp, SECTOR_BYTES};
use flashyard_core::units::Time;
use serde::Serialize;

/// The most bins of a series.
pub const BINS: usize = 4_096;

/// Operation counts since the start, and the free blocks of the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages programmed for the host.
    pub host_programs: u64,
    /// Pages programmed by garbage collection, map pages included.
    pub gc_programs: u64,
    /// Pages programmed by folding.
    pub fold_programs: u64,
    /// Pages programmed for all purposes.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Free blocks of all dies.
    pub free_blocks: u64,
    /// Energy of accesses to memory and of searches, in picojoules.
    pub accesses_pj: u128,
}

impl Counts {
    /// Adds what has been counted since `base`, and takes over the free blocks of the moment.
    fn go_on(&mut self, now: &Self, base: &Self) {
        self.host_programs += now.host_programs - base.host_programs;
        self.gc_programs += now.gc_programs - base.gc_programs;
        self.fold_programs += now.fold_programs - base.fold_programs;
        self.programs += now.programs - base.programs;
        self.erases += now.erases - base.erases;
        self.accesses_pj += now.accesses_pj - base.accesses_pj;
        self.free_blocks = now.free_blocks;
    }
}

/// Sums of one bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    requests: [u64; 4],
    sectors: [u64; 4],
    latency_ns: [u128; 4],
    latency_max: [u64; 4],
    /// Integral of the outstanding requests over time.
    outstanding_ns: u128,
    /// Energy of arrays, channels and background.
    energy: Exact,
    counts: Counts,
}

impl Bin {
    fn join(&mut self, later: &Self) {
        for class in 0..4 {
            self.requests[class] += later.requests[class];
            self.sectors[class] += later.sectors[class];
            self.latency_ns[class] += later.latency_ns[class];
            self.latency_max[class] = self.latency_max[class].max(later.latency_max[class]);
        }
        self.outstanding_ns += later.outstanding_ns;
        add(&mut self.energy, later.energy);
        self.counts.go_on(&later.counts, &Counts::default());
    }
}

/// A sum by bin: of a stream, the sectors of its reads and writes that were answered; of a
/// placement handle, what [`OfHandle`] says. Nothing has happened in bins behind the last one.
#[derive(Clone, Debug, Default)]
struct Sums(Vec<u64>);

/// What is summed up by placement handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfHandle {
    /// Sectors of writes that arrived.
    HostSectors,
    /// Units that were programmed: for the host, and copies.
    MediaUnits,
}

impl OfHandle {
    /// How many there are.
    const COUNT: usize = 2;
}

saved!(Sums {} lists { 0 });
saved!(Counts {
    host_programs,
    gc_programs,
    fold_programs,
    programs,
    erases,
    free_blocks,
    accesses_pj
});
saved!(Bin { requests, sectors, latency_ns, latency_max, outstanding_ns, energy, counts });

/// A time series under way. Its time is measured time: phases that are not measured leave no gap.
#[derive(Clone, Debug)]
pub struct Series {
    width: u64,
    /// The last one is open.
    bins: Vec<Bin>,
    /// Of each of several streams, and all of [`OfHandle`] of each of several placement handles.
    streams: Vec<Sums>,
    handles: Vec<Sums>,
    /// Measured time that is accounted for.
    elapsed: u64,
    /// When the current phase began, and what had elapsed by then.
    start: Time,
    before: u64,
    /// Counts when the open bin began.
    base: Counts,
}

// The phase is over; the next one sets `start` and `before`.
saved!(Series { width, elapsed, base } lists { bins, streams, handles } skip { start, before });

impl Series {
    /// A series of bins of `width_ns`.
    pub fn new(width_ns: u64) -> Self {
        let mut bins = Vec::with_capacity(BINS);
        bins.push(Bin::default());
        Self {
            width: width_ns.max(1),
            bins,
            streams: Vec::new(),
            handles: Vec::new(),
            elapsed: 0,
            start: Time::ZERO,
            before: 0,
            base: Counts::default(),
        }
    }

    /// What was counted before the series began is not in it.
    pub fn count_from(&mut self, counts: &Counts) {
        self.base = *counts;
    }

    /// A measured phase begins.
    pub fn begin(&mut self, now: Time) {
        self.start = now;
        self.before = self.elapsed;
    }

    /// Time goes on to `now`; until then as many requests were outstanding, the background took
    /// this power, and `counts` still holds.
    pub fn advance(
        &mut self,
        now: Time,
        outstanding: u64,
        power_uw: Exact,
        counts: impl FnOnce() -> Counts,
    ) {
        let to = self.before + now.since(self.start).as_ns();
        if to >= self.end_of_bin() {
            let counts = counts();
            while to / self.width >= BINS as u64 {
                self.halve();
            }
            while to >= self.end_of_bin() {
                self.spend(self.end_of_bin(), outstanding, power_uw);
                self.close(&counts);
                self.bins.push(Bin::default());
            }
        }
        self.spend(to, outstanding, power_uw);
    }

    /// An energy that was taken evenly between two instants, by now both past: each bin gets its
    /// share by time, and together they get all of it.
    pub fn took(&mut self, from: Time, until: Time, pj: u128) {
        let place = |time: Time| self.before + time.since(self.start).as_ns();
        spread((place(from), place(until)), self.width, pj, |bin, share| {
            let bin = usize::try_from(bin).expect("a bin of the past");
            add(&mut self.bins[bin].energy, [share, 0, 0]);
        });
    }

    /// A request is answered.
    pub fn answered(&mut self, op: RequestOp, sectors: u32, latency_ns: u64) {
        let (bin, class) = (self.bins.last_mut().expect("a bin is open"), op as usize);
        bin.requests[class] += 1;
        bin.sectors[class] += u64::from(sectors);
        bin.latency_ns[class] += u128::from(latency_ns);
        bin.latency_max[class] = bin.latency_max[class].max(latency_ns);
    }

    /// The request that was answered is one of the stream of this number, where there are several.
    pub fn stream_answered(&mut self, stream: usize, op: RequestOp, sectors: u32) {
        if !matches!(op, RequestOp::Read | RequestOp::Write) {
            return;
        }
        add_to(&mut self.streams, stream, self.bins.len(), u64::from(sectors));
    }

    /// Bytes of the reads and writes of a stream that were answered, by bin.
    pub fn stream_bytes(&self, stream: usize) -> Vec<u64> {
        self.by_bin(&self.streams, stream, u64::from(SECTOR_BYTES))
    }

    /// Something that is summed up has happened to a placement handle.
    #[cold]
    pub fn placed(&mut self, handle: u8, what: OfHandle, amount: u64) {
        let place = usize::from(handle) * OfHandle::COUNT + what as usize;
        add_to(&mut self.handles, place, self.bins.len(), amount);
    }

    /// What is summed up of a placement handle, times a factor, by bin.
    pub fn placed_by_bin(&self, handle: usize, what: OfHandle, factor: u64) -> Vec<u64> {
        self.by_bin(&self.handles, handle * OfHandle::COUNT + what as usize, factor)
    }

    fn by_bin(&self, list: &[Sums], place: usize, factor: u64) -> Vec<u64> {
        let bins = list.get(place).map_or(&[][..], |sums| &sums.0);
        let bins = bins.iter().map(|sum| sum * factor);
        bins.chain(std::iter::repeat(0)).take(self.bins.len()).collect()
    }

    /// Integral of the outstanding requests over all measured time, in request-nanoseconds.
    pub fn outstanding_ns(&self) -> u128 {
        self.bins.iter().map(|bin| bin.outstanding_ns).sum()
    }

    /// The series as plain data; `unit_bytes` are programmed at once. `folds` is whether it shows
    /// what folding programmed.
    pub fn report(mut self, counts: &Counts, unit_bytes: u64, folds: bool) -> SeriesReport {
        self.close(counts);
        let last = self.bins.len() - 1;
        let rest = self.elapsed - last as u64 * self.width;
        // Rounded down as of the end of each bin, so that what is lost is less than a picojoule.
        let (mut energy, mut pj) = ([0; 3], 0);
        let bins = self.bins.iter().enumerate().map(|(place, bin)| {
            let width = if place == last { rest } else { self.width };
            add(&mut energy, bin.energy);
            let before = std::mem::replace(&mut pj, picojoules(energy));
            let energy_pj = pj - before + bin.counts.accesses_pj;
            BinReport::of(bin, width, unit_bytes, energy_pj)
        });
        let mut report = SeriesReport { bin_ns: self.width, bins: bins.collect() };
        if folds {
            report.show_folds(self.bins.iter().map(|bin| bin.counts.fold_programs));
        }
        report
    }

    fn end_of_bin(&self) -> u64 {
        self.bins.len() as u64 * self.width
    }

    fn spend(&mut self, to: u64, outstanding: u64, power_uw: Exact) {
        let bin = self.bins.last_mut().expect("a bin is open");
        let ns = u128::from(to - self.elapsed);
        bin.outstanding_ns += u128::from(outstanding) * ns;
        add(&mut bin.energy, power_uw.map(|uw| uw.saturating_mul(ns)));
        self.elapsed = to;
    }

    /// The open bin gets what was counted since it began.
    fn close(&mut self, counts: &Counts) {
        let base = std::mem::replace(&mut self.base, *counts);
        self.bins.last_mut().expect("a bin is open").counts.go_on(counts, &base);
    }

    fn halve(&mut self) {
        self.width *= 2;
        let count = self.bins.len();
        for place in 0..count.div_ceil(2) {
            let mut bin = self.bins[2 * place];
            if let Some(later) = self.bins.get(2 * place + 1) {
                bin.join(later);
            }
            self.bins[place] = bin;
        }
        self.bins.truncate(count.div_ceil(2));
        for Sums(bins) in self.streams.iter_mut().chain(&mut self.handles) {
            let count = bins.len();
            for place in 0..count.div_ceil(2) {
                bins[place] = bins[2 * place] + bins.get(2 * place + 1).copied().unwrap_or(0);
            }
            bins.truncate(count.div_ceil(2));
        }
    }
}

/// Adds to the open bin, the last of so many, of one of the sums.
fn add_to(list: &mut Vec<Sums>, place: usize, open: usize, amount: u64) {
    if list.len() <= place {
        list.resize_with(place + 1, || Sums(Vec::with_capacity(BINS)));
    }
    let bins = &mut list[place].0;
    bins.resize(open, 0);
    *bins.last_mut().expect("a bin is open") += amount;
}

/// A time series over measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesReport {
    /// Width of a bin; the last one may be cut short.
    pub bin_ns: u64,
    /// The bins, without gaps.
    pub bins: Vec<BinReport>,
}

impl SeriesReport {
    /// Shows what folding programmed in each bin.
    fn show_folds(&mut self, folds: impl Iterator<Item = u64>) {
        for (bin, folds) in self.bins.iter_mut().zip(folds) {
            bin.fold_programs = Some(folds);
        }
    }
}

/// What happened in one bin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinReport {
    /// Reads that were answered.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub write_bytes: u64,
    /// Mean latency of the requests that were answered.
    pub latency_mean_ns: Option<f64>,
    /// Their greatest latency.
    pub latency_max_ns: Option<u64>,
    /// Mean latency of the reads that were answered.
    pub read_latency_mean_ns: Option<f64>,
    /// Their greatest latency.
    pub read_latency_max_ns: Option<u64>,
    /// Mean latency of the writes that were answered.
    pub write_latency_mean_ns: Option<f64>,
    /// Their greatest latency.
    pub write_latency_max_ns: Option<u64>,
    /// Mean of the outstanding requests over time.
    pub outstanding_mean: Option<f64>,
    /// The same as an integral, in request-nanoseconds.
    #[serde(skip)]
    pub outstanding_ns: u128,
    /// Pages programmed for the host.
    pub host_programs: u64,
    /// Pages programmed by garbage collection, map pages included.
    pub gc_programs: u64,
    /// Pages programmed by folding, of devices with an SLC cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold_programs: Option<u64>,
    /// Bytes programmed for all purposes / bytes of the writes.
    pub write_amplification: Option<f64>,
    /// Blocks erased.
    pub erases: u64,
    /// Free blocks of all dies at the end.
    pub free_blocks: u64,
    /// Energy that was taken, operations that span bins by time.
    pub energy_pj: u64,
    /// Mean power.
    pub mean_mw: Option<f64>,
}

impl BinReport {
    fn of(bin: &Bin, width: u64, unit_bytes: u64, energy_pj: u128) -> Self {
        let all = [RequestOp::Read, RequestOp::Write, RequestOp::Trim, RequestOp::Flush];
        let count = |ops: &[RequestOp]| ops.iter().map(|op| bin.requests[*op as usize]).sum();
        let mean = |ops: &[RequestOp]| {
            let ns: u128 = ops.iter().map(|op| bin.latency_ns[*op as usize]).sum();
            Some(count(ops)).filter(|count| *count > 0).map(|count: u64| ns as f64 / count as f64)
        };
        let most = |ops: &[RequestOp]| {
            let answered = ops.iter().filter(|op| bin.requests[**op as usize] > 0);
            answered.map(|op| bin.latency_max[*op as usize]).max()
        };
        let (read, write) = (&[RequestOp::Read], &[RequestOp::Write]);
        let bytes = |op: RequestOp| bin.sectors[op as usize] * u64::from(SECTOR_BYTES);
        let written = bytes(RequestOp::Write);
        let programmed = (bin.counts.programs * unit_bytes) as f64;
        Self {
            reads: bin.requests[RequestOp::Read as usize],
            writes: bin.requests[RequestOp::Write as usize],
            trims: bin.requests[RequestOp::Trim as usize],
            flushes: bin.requests[RequestOp::Flush as usize],
            read_bytes: bytes(RequestOp::Read),
            write_bytes: written,
            latency_mean_ns: mean(&all),
            latency_max_ns: most(&all),
            read_latency_mean_ns: mean(read),
            read_latency_max_ns: most(read),
            write_latency_mean_ns: mean(write),
            write_latency_max_ns: most(write),
            outstanding_mean: (width > 0).then(|| bin.outstanding_ns as f64 / width as f64),
            outstanding_ns: bin.outstanding_ns,
            host_programs: bin.counts.host_programs,
            gc_programs: bin.counts.gc_programs,
            fold_programs: None,
            write_amplification: (written > 0).then(|| programmed / written as f64),
            erases: bin.counts.erases,
            free_blocks: bin.counts.free_blocks,
            energy_pj: u64::try_from(energy_pj).unwrap_or(u64::MAX),
            mean_mw: (width > 0).then(|| energy_pj as f64 / width as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::exact::MIB_BITS;

    /// One request an interval of 10, outstanding for 4 of them, one program and one free block
    /// less each; by any width the bins add up to the same sums.
    #[test]
    fn bins_add_up_whatever_their_width() {
        for width in [1, 7, 10, 1_000, 1 << 40] {
            let mut series = Series::new(width);
            let counts = |done: u64| Counts {
                host_programs: done,
                programs: 2 * done,
                free_blocks: 100_000 - done,
                ..Counts::default()
            };
            series.begin(Time::from_ns(500));
            for number in 0..10_000 {
                let arrival = 500 + number * 10;
                series.advance(Time::from_ns(arrival), 0, [1_500, 0, 0], || counts(number));
                series.advance(Time::from_ns(arrival + 4), 1, [1_500, 0, 0], || counts(number));
                series.answered(RequestOp::Write, 8, 4 + number % 3);
                if number % 4 == 0 {
                    series.stream_answered(1, RequestOp::Write, 8);
                    series.placed(2, OfHandle::MediaUnits, 3);
                }
            }
            // Operations of 1,000,003 and 7 pJ over parts of it, and of 5 pJ that takes no time.
            series.took(Time::from_ns(513), Time::from_ns(90_001), 1_000_003);
            series.took(Time::from_ns(100_000), Time::from_ns(100_001), 7);
            series.took(Time::from_ns(600), Time::from_ns(600), 5);
            assert_eq!(series.outstanding_ns(), 40_000);
            let streams = [0, 1, 2].map(|stream| series.stream_bytes(stream));
            let sums = streams.each_ref().map(|bins| bins.iter().sum::<u64>());
            assert_eq!(sums, [0, 2_500 * 4_096, 0]);
            let media = [1, 2].map(|handle| series.placed_by_bin(handle, OfHandle::MediaUnits, 10));
            let sums = media.each_ref().map(|bins| bins.iter().sum::<u64>());
            assert_eq!(sums, [0, 2_500 * 3 * 10]);
            assert!(media.iter().all(|bins| bins.len() == streams[0].len()));
            let report = series.report(&counts(10_000), 4_096, false);
            let doublings = (report.bin_ns / width).ilog2();
            assert_eq!(report.bin_ns, width << doublings);
            assert!(streams.iter().all(|bins| bins.len() == report.bins.len()));
            let mut bins = report.bins.iter().zip(&streams[1]);
            assert!(bins.all(|(bin, bytes)| *bytes <= bin.write_bytes));
            let needed = 99_994 / report.bin_ns + 1;
            assert_eq!(report.bins.len() as u64, needed);
            assert!(needed <= BINS as u64 && (doublings == 0 || needed > BINS as u64 / 2));
            let sum = |field: fn(&BinReport) -> u64| report.bins.iter().map(field).sum::<u64>();
            assert_eq!(sum(|bin| bin.writes), 10_000);
            assert_eq!(sum(|bin| bin.write_bytes), 10_000 * 4_096);
            assert_eq!(sum(|bin| bin.host_programs), 10_000);
            // 1.5 mW over 99,994 ns, and the operations.
            assert_eq!(sum(|bin| bin.energy_pj), 149_991 + 1_000_015);
            assert_eq!(report.bins.last().unwrap().free_blocks, 90_000);
            assert_eq!(report.bins.iter().filter_map(|bin| bin.latency_max_ns).max(), Some(6));
        }
    }

    /// 10 ns a bin: 100 pJ over [5, 25), 30 over [10, 20), and 2 mW all the time.
    #[test]
    fn energy_is_split_by_time() {
        let mut series = Series::new(10);
        series.begin(Time::from_ns(100));
        series.advance(Time::from_ns(130), 0, [2_000, 0, 0], Counts::default);
        series.took(Time::from_ns(105), Time::from_ns(125), 100);
        series.took(Time::from_ns(110), Time::from_ns(120), 30);
        let report = series.report(&Counts { accesses_pj: 4, ..Counts::default() }, 1, false);
        let energy: Vec<_> = report.bins.iter().map(|bin| bin.energy_pj).collect();
        assert_eq!(energy, [25 + 20, 50 + 30 + 20, 25 + 20, 4]);
        assert_eq!(report.bins[1].mean_mw, Some(10.0));
    }

    /// 10 ns a bin: 140 fJ of each kind a bin, and all are rounded down by themselves.
    #[test]
    fn each_kind_of_energy_is_rounded_by_itself() {
        let mut series = Series::new(10);
        series.begin(Time::ZERO);
        series.advance(
            Time::from_ns(125),
            0,
            [14, 14 << MIB_BITS, 14 << MIB_BITS],
            Counts::default,
        );
        let report = series.report(&Counts::default(), 1, false);
        // 1,750 fJ of each kind; a picojoule of each is full when 72 ns have passed.
        let energy: Vec<_> = report.bins.iter().map(|bin| bin.energy_pj).collect();
        assert_eq!(energy, [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0]);
    }

    /// 10 ns a bin: outstanding 2 over [0, 15), 1 over [15, 40).
    #[test]
    fn a_long_step_is_spread_over_its_bins() {
        let mut series = Series::new(10);
        series.begin(Time::ZERO);
        series.advance(Time::from_ns(15), 2, [0; 3], Counts::default);
        series.advance(Time::from_ns(40), 1, [0; 3], Counts::default);
        series.answered(RequestOp::Read, 1, 40);
        let report = series.report(&Counts::default(), 1, false);
        let outstanding: Vec<_> = report.bins.iter().map(|bin| bin.outstanding_ns).collect();
        assert_eq!(outstanding, [20, 15, 10, 10, 0]);
        assert_eq!(report.bins[1].outstanding_mean, Some(1.5));
        assert_eq!((report.bins[4].reads, report.bins[4].outstanding_mean), (1, None));
    }
}

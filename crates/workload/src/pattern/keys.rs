//! The keys of `[pattern]`.

use flashyard_core::key::Kind;
use flashyard_core::quantity::{Bytes, Micro, Milli, Ppm, Sectors};
use flashyard_core::request::ZoneAction;
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// Where requests lie.
    pub enum Access {
        /// Every place alike.
        Uniform = "uniform",
        /// Each request where the one before ended; after the end of the range, from its start.
        Sequential = "sequential",
        /// The place of rank k with a chance proportional to 1 / k^exponent.
        Zipf = "zipf",
        /// As fio's `random_distribution=zipf`: nearly the same chances; scattered ranks share
        /// places, so that a third of the places has no access.
        FioZipf = "fio_zipf",
        /// Some of the places get more than their share of the accesses.
        HotCold = "hot_cold",
        /// Each request a fixed distance behind the one before.
        Strided = "strided",
        /// A share of the accesses goes to the rest of the places: 80 % to 20 %; of these, 80 % to
        /// 20 % of those; and so on.
        SelfSimilar = "self_similar",
        /// Uniform in each of three zones, which lie behind each other and get shares of the
        /// accesses.
        Zoned = "zoned",
    }
}

choice! {
    /// What requests do to whole zones.
    pub enum Action {
        /// Nothing: they read, write and trim.
        None = "none",
        /// They reset them.
        Reset = "reset",
        /// They finish them.
        Finish = "finish",
        /// They open them explicitly.
        Open = "open",
        /// They close them.
        Close = "close",
    }
}

impl Action {
    /// What is done, if anything is.
    pub(super) const fn asked(self) -> Option<ZoneAction> {
        match self {
            Self::None => None,
            Self::Reset => Some(ZoneAction::Reset),
            Self::Finish => Some(ZoneAction::Finish),
            Self::Open => Some(ZoneAction::Open),
            Self::Close => Some(ZoneAction::Close),
        }
    }
}

choice! {
    /// How sizes are distributed between the least and the greatest.
    pub enum SizeRule {
        /// Every size alike.
        Uniform = "uniform",
        /// The least and the greatest one only.
        Two = "two",
        /// Each size as many times rarer than the one before.
        Geometric = "geometric",
        /// A bounded Pareto distribution: a power law.
        Pareto = "pareto",
    }
}

choice! {
    /// When requests arrive.
    pub enum Arrival {
        /// All at time 0: for closed loops.
        None = "none",
        /// At equal distances.
        Constant = "constant",
        /// At exponentially distributed distances.
        Poisson = "poisson",
        /// As `poisson`, at a rate that changes between two values at random (a Markov-modulated
        /// Poisson process of two states).
        Mmpp = "mmpp",
        /// In bursts at equal distances, with silence between the bursts.
        OnOff = "on_off",
        /// At distances with a heavy tail (Pareto).
        Pareto = "pareto",
    }
}

const DEVICE_BENCHMARK: &str = "assumed: what device benchmarks do";

/// Few requests, so that the tests of the keys are quick.
const FEW: &[&str] = &["pattern.requests=500"];
const FEW_MIXED: &[&str] = &["pattern.requests=500", "pattern.read_percent=50"];
const FEW_ZIPF: &[&str] = &["pattern.requests=500", "pattern.access=zipf"];
const FEW_HOT: &[&str] = &["pattern.requests=500", "pattern.access=hot_cold"];
const FEW_SKEWED: &[&str] = &["pattern.requests=500", "pattern.access=self_similar"];
const FEW_ZONED: &[&str] = &["pattern.requests=500", "pattern.access=zoned"];
const IN_ZONES: &[&str] = &[
    "pattern.requests=500",
    "pattern.access=sequential",
    "pattern.read_percent=0",
    "pattern.zones=1",
    "ftl.scheme=zns",
    "map.store=resident",
];
const FEW_STRIDED: &[&str] = &["pattern.requests=500", "pattern.access=strided"];
const FEW_POISSON: &[&str] =
    &["pattern.requests=500", "pattern.arrival=poisson", "stream.pacing=open"];

const FEW_MMPP: &[&str] = &["pattern.requests=2000", "pattern.arrival=mmpp", "stream.pacing=open"];
const FEW_SIZES: &[&str] = &["pattern.requests=500", "pattern.max_size_kib=64"];
const FEW_TWO: &[&str] = &["pattern.requests=500", "pattern.max_size_kib=64", "pattern.sizes=two"];
const FEW_GEOMETRIC: &[&str] =
    &["pattern.requests=500", "pattern.max_size_kib=64", "pattern.sizes=geometric"];
const FEW_WRITES: &[&str] =
    &["pattern.requests=500", "pattern.read_percent=50", "pattern.max_size_kib=64"];
const FEW_TWO_WRITES: &[&str] = &[
    "pattern.requests=500",
    "pattern.read_percent=50",
    "pattern.max_size_kib=64",
    "pattern.sizes=two",
];
const FEW_GEOMETRIC_WRITES: &[&str] = &[
    "pattern.requests=500",
    "pattern.read_percent=50",
    "pattern.max_size_kib=64",
    "pattern.sizes=geometric",
];

/// A size or distance, written in KiB and stored in sectors, up to 1 GiB.
const fn kib(min_sectors: u64) -> Kind {
    Kind::Number { unit: "KiB", scale: 2, min: min_sectors, max: 1 << 21 }
}

/// A mean size, written in KiB and stored in bytes.
const fn mean_kib(min_bytes: u64) -> Kind {
    Kind::Number { unit: "KiB", scale: 1_024, min: min_bytes, max: 1 << 30 }
}

/// A rate in requests a second, stored in a million seconds.
const RATE: Kind =
    Kind::Number { unit: "requests/s", scale: 1_000_000, min: 1, max: 1_000_000_000_000_000 };

/// The mean time in a state, 1 us to 11 days.
const STAY: Kind = Kind::millis(1_000, 1_000_000_000_000_000);

keys! {
    /// Keys of `[pattern]`.
    pub struct PatternKeys {
        /// How many requests there are, flushes included. 0: no limit; the phase then needs one.
        requests: u64 = 1_000_000 => {
            kind: Kind::count("requests", 0, 1_000_000_000_000),
            source: "assumed: a second of a fast device", flip: "501", with: FEW,
        },
        /// Data after which there are no more requests: of reads, writes and trims, in whole
        /// requests. `requests` is a limit as well. 0: no limit.
        total_mib: u64 = 0 => {
            kind: Kind::count("MiB", 0, 1 << 40), source: DEVICE_BENCHMARK, flip: "1", with: FEW,
        },
        /// Where requests lie. A place is a multiple of align_kib in the range from which the
        /// largest request still fits.
        access: Access = Access::Uniform => {
            kind: Kind::Choice(Access::WORDS), source: DEVICE_BENCHMARK,
            flip: "sequential", with: FEW,
        },
        /// Share of reads among all requests but flushes. Requests that neither read nor trim are
        /// writes.
        read_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK, flip: "50", with: FEW,
        },
        /// Share of trims.
        trim_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "20", with: FEW_MIXED,
        },
        /// Number of writes after which a flush follows. 0: there are no flushes.
        flush_every: u64 = 0 => {
            kind: Kind::count("writes", 0, 1_000_000_000_000), source: DEVICE_BENCHMARK,
            flip: "3", with: FEW_MIXED,
        },
        /// Every so many writes one asks that it is kept when it is answered (FUA). 0: none does.
        fua_every: u64 = 0 => {
            kind: Kind::count("writes", 0, 1_000_000_000_000), source: DEVICE_BENCHMARK,
            flip: "3", with: FEW_MIXED,
        },
        /// Share of the requests that start at the first place behind the request before, whatever
        /// its operation. The others follow access.
        sequential_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK, flip: "50", with: FEW,
        },
        /// Size of a request, or the least size if max_size_kib is set.
        size_kib: Sectors = Sectors::from_kib(4) => {
            kind: kib(1), source: DEVICE_BENCHMARK, flip: "16", with: FEW,
        },
        /// The greatest size: sizes are size_kib plus a multiple of align_kib, distributed as sizes
        /// says. 0: every request has size_kib.
        max_size_kib: Sectors = Sectors::ZERO => {
            kind: kib(0), source: DEVICE_BENCHMARK, flip: "64", with: FEW,
        },
        /// How sizes are distributed from size_kib to max_size_kib.
        sizes: SizeRule = SizeRule::Uniform => {
            kind: Kind::Choice(SizeRule::WORDS), source: DEVICE_BENCHMARK,
            flip: "two", with: FEW_SIZES,
        },
        /// `sizes = "two"`: share of the requests that have max_size_kib.
        large_percent: Ppm = Ppm::from_percent(10) => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "50", with: FEW_TWO,
        },
        /// `sizes = "geometric"` and `"pareto"`: the mean size.
        mean_kib: Bytes = Bytes::from_kib(16) => {
            kind: mean_kib(512), source: DEVICE_BENCHMARK, flip: "24", with: FEW_GEOMETRIC,
        },
        /// Least size of writes; size_kib is then for reads and trims only. 0: as size_kib.
        write_size_kib: Sectors = Sectors::ZERO => {
            kind: kib(0), source: DEVICE_BENCHMARK, flip: "16", with: FEW_WRITES,
        },
        /// The greatest size of writes. 0: as max_size_kib.
        write_max_size_kib: Sectors = Sectors::ZERO => {
            kind: kib(0), source: DEVICE_BENCHMARK, flip: "32", with: FEW_WRITES,
        },
        /// Share of the writes that have the greatest size of writes. 0: as large_percent.
        write_large_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "60", with: FEW_TWO_WRITES,
        },
        /// The mean size of writes. 0: as mean_kib.
        write_mean_kib: Bytes = Bytes::ZERO => {
            kind: mean_kib(0), source: DEVICE_BENCHMARK, flip: "32", with: FEW_GEOMETRIC_WRITES,
        },
        /// Requests start at multiples of this. The start of the range is one of them. 0: of the
        /// least size of a request, as fio's `blockalign`.
        align_kib: Sectors = Sectors::ZERO => {
            kind: kib(0), source: DEVICE_BENCHMARK, flip: "16", with: FEW,
        },
        /// Where the range of addresses starts, in percent of the device's capacity.
        start_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "50", with: &["pattern.requests=500", "pattern.range_percent=50"],
        },
        /// How long the range is, in percent of the device's capacity.
        range_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(1, 1_000_000), source: DEVICE_BENCHMARK, flip: "1", with: FEW,
        },
        /// On a device with zones (`ftl.scheme = "zns"`): the range is so many zones from
        /// first_zone on, in place of start_percent and range_percent. 0: it is as those say.
        zones: u64 = 0 => {
            kind: Kind::count("zones", 0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "2", with: IN_ZONES,
        },
        /// The zone, counted from 0, that the range begins with where zones says how long it is.
        first_zone: u64 = 0 => {
            kind: Kind::count("zones", 0, 1_000_000), source: DEVICE_BENCHMARK,
            flip: "3", with: IN_ZONES,
        },
        /// On a device with zones: writes are appends to the zone that their address lies in.
        append: bool = false => {
            kind: Kind::Bool, source: DEVICE_BENCHMARK, flip: "true", with: IN_ZONES,
        },
        /// On a device with zones: requests do this to the zones of the range, one zone after the
        /// other, and nothing else.
        zone_action: Action = Action::None => {
            kind: Kind::Choice(Action::WORDS), source: DEVICE_BENCHMARK,
            flip: "finish", with: IN_ZONES,
        },
        /// `access = "zipf"` and `"fio_zipf"`: the exponent.
        zipf_exponent: Milli = Milli::from_thousandths(990) => {
            kind: Kind::Number { unit: "", scale: 1_000, min: 1, max: 10_000 },
            source: "Cooper et al., SoCC 2010 (YCSB): 0.99", flip: "0.5", with: FEW_ZIPF,
        },
        /// `access = "zipf"` and `"fio_zipf"`: how many ranks the distribution has. With more ranks
        /// than places, neighbours in rank share a place: a small range then has the skew of a
        /// large one. 0: as many as places.
        zipf_ranks: u64 = 0 => {
            kind: Kind::count("ranks", 0, 1 << 40), source: DEVICE_BENCHMARK,
            flip: "1000000", with: FEW_ZIPF,
        },
        /// `access = "hot_cold"`: share of the places that are hot.
        hot_units_percent: Ppm = Ppm::from_percent(20) => {
            kind: Kind::percent(0, 1_000_000),
            source: "Rosenblum, Ousterhout, TOCS 1992, use 10 % for 90 %; 20 % for 80 % is assumed",
            flip: "10", with: FEW_HOT,
        },
        /// `access = "hot_cold"`: share of the accesses that go to hot places.
        hot_accesses_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(0, 1_000_000),
            source: "as hot_units_percent", flip: "90", with: FEW_HOT,
        },
        /// `access = "self_similar"`: with 80, 80 % of the accesses go to 20 % of the places, and
        /// so on among these.
        skew_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(500_000, 999_999),
            source: "Gray et al., SIGMOD 1994: 80-20", flip: "95", with: FEW_SKEWED,
        },
        /// `access = "zipf"`, `"fio_zipf"`, `"hot_cold"` and `"self_similar"`: popular places are
        /// scattered over the range; otherwise they lie at its start, the most popular one first.
        scatter: bool = true => {
            kind: Kind::Bool, source: "assumed: popularity knows nothing of addresses",
            flip: "false", with: FEW_HOT,
        },
        /// `access = "zoned"`: how much of the range the first zone takes.
        zone_1_percent: Ppm = Ppm::from_percent(20) => {
            kind: Kind::percent(0, 1_000_000),
            source: "WARP, FAST 2026: fio's zoned distribution 80/20:10/20:10/60",
            flip: "10", with: FEW_ZONED,
        },
        /// `access = "zoned"`: share of the accesses that go to the first zone.
        zone_1_accesses_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(0, 1_000_000), source: "as zone_1_percent", flip: "50",
            with: FEW_ZONED,
        },
        /// `access = "zoned"`: how much of the range the second zone takes. The third zone has the
        /// rest of the range, and of the accesses.
        zone_2_percent: Ppm = Ppm::from_percent(20) => {
            kind: Kind::percent(0, 1_000_000), source: "as zone_1_percent", flip: "60",
            with: FEW_ZONED,
        },
        /// `access = "zoned"`: share of the accesses that go to the second zone.
        zone_2_accesses_percent: Ppm = Ppm::from_percent(10) => {
            kind: Kind::percent(0, 1_000_000), source: "as zone_1_percent", flip: "20",
            with: FEW_ZONED,
        },
        /// `access = "strided"`: distance from the start of a request to the start of the next,
        /// rounded up to a multiple of align_kib. Each lap over the range starts align_kib later
        /// than the lap before. Requests of `sequential_percent` lie between, and do not count.
        stride_kib: Sectors = Sectors::from_kib(64) => {
            kind: kib(1), source: DEVICE_BENCHMARK, flip: "256", with: FEW_STRIDED,
        },
        /// When requests arrive. With `none` all arrive at time 0, for streams that are not paced
        /// by time.
        arrival: Arrival = Arrival::None => {
            kind: Kind::Choice(Arrival::WORDS), source: DEVICE_BENCHMARK,
            flip: "constant", with: &["pattern.requests=500", "stream.pacing=open"],
        },
        /// The mean rate; with `arrival = "mmpp"` that between bursts. `on_off` does not use it.
        rate_per_s: Micro = Micro::from_millionths(10_000_000_000) => {
            kind: RATE, source: DEVICE_BENCHMARK, flip: "20000", with: FEW_POISSON,
        },
        /// `arrival = "mmpp"` and `"on_off"`: the rate in a burst.
        burst_rate_per_s: Micro = Micro::from_millionths(100_000_000_000) => {
            kind: RATE, source: DEVICE_BENCHMARK, flip: "50000", with: FEW_MMPP,
        },
        /// `arrival = "mmpp"` and `"on_off"`: mean time between bursts, which is exponentially
        /// distributed.
        calm_ms: Span = Span::from_ms(20) => {
            kind: STAY, source: DEVICE_BENCHMARK, flip: "5", with: FEW_MMPP,
        },
        /// `arrival = "mmpp"` and `"on_off"`: mean length of a burst, which is exponentially
        /// distributed.
        burst_ms: Span = Span::from_ms(2) => {
            kind: STAY, source: DEVICE_BENCHMARK, flip: "1", with: FEW_MMPP,
        },
        /// `arrival = "pareto"`: the exponent of the tail, above 1. Distances have no finite
        /// variance up to 2.
        tail_shape: Milli = Milli::from_thousandths(1_500) => {
            kind: Kind::Number { unit: "", scale: 1_000, min: 1_010, max: 100_000 },
            source: DEVICE_BENCHMARK, flip: "3",
            with: &["pattern.requests=500", "pattern.arrival=pareto", "stream.pacing=open"],
        },
    }
}

impl PatternKeys {
    /// The key whose present value does not use another key, if that is so.
    pub fn unused_by(&self, key: &str) -> Option<&'static str> {
        let access = |uses: &[Access]| ("access", uses.contains(&self.access));
        let sizes = |uses: &[SizeRule]| ("sizes", uses.contains(&self.sizes));
        let arrival = |uses: &[Arrival]| ("arrival", uses.contains(&self.arrival));
        let (other, is_used) = match key {
            "zipf_exponent" | "zipf_ranks" => access(&[Access::Zipf, Access::FioZipf]),
            "hot_units_percent" | "hot_accesses_percent" => access(&[Access::HotCold]),
            "skew_percent" => access(&[Access::SelfSimilar]),
            "scatter" => {
                access(&[Access::Zipf, Access::FioZipf, Access::HotCold, Access::SelfSimilar])
            }
            "zone_1_percent"
            | "zone_1_accesses_percent"
            | "zone_2_percent"
            | "zone_2_accesses_percent" => access(&[Access::Zoned]),
            "stride_kib" => access(&[Access::Strided]),
            "large_percent" | "write_large_percent" => sizes(&[SizeRule::Two]),
            "mean_kib" | "write_mean_kib" => sizes(&[SizeRule::Geometric, SizeRule::Pareto]),
            "rate_per_s" => {
                let without = matches!(self.arrival, Arrival::None | Arrival::OnOff);
                ("arrival", !without)
            }
            "burst_rate_per_s" | "calm_ms" | "burst_ms" => {
                arrival(&[Arrival::Mmpp, Arrival::OnOff])
            }
            "tail_shape" => arrival(&[Arrival::Pareto]),
            "write_size_kib" | "write_max_size_kib" | "flush_every" | "fua_every" => {
                ("read_percent", self.read_percent != Ppm::ALL)
            }
            "first_zone" => ("zones", self.zones > 0),
            _ => return None,
        };
        (!is_used).then_some(other)
    }
}

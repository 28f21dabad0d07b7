//! The keys of `[mix]`.

use flashyard_core::key::Kind;
use flashyard_core::quantity::{Ppm, Sectors};
use flashyard_core::units::Span;
use flashyard_core::{choice, keys};

choice! {
    /// Where requests lie that do not continue.
    pub enum MixPlaces {
        /// At any unit alike.
        Uniform = "uniform",
        /// Self-similar, the most popular units at the start of the footprint.
        Clustered = "clustered",
        /// Self-similar, popular units all over the footprint.
        Scattered = "scattered",
    }
}

const OLTP: &str = "Park et al., 2011, table 2: OLTP";
const OLTP_SIZES: &str = "assumed: 4 and 8 KiB with the mean of OLTP in Park et al., 2011, table 2";

const FEW: &[&str] = &["mix.requests=200"];
const FEW_CLUSTERED: &[&str] = &["mix.requests=200", "mix.places=clustered"];
const FEW_MIXED: &[&str] = &["mix.requests=200", "mix.write_percent=50"];

const SHARE: Kind = Kind::percent(0, 1_000_000);

/// A size, written in KiB and stored in sectors, up to 1 GiB.
const SIZE: Kind = Kind::Number { unit: "KiB", scale: 2, min: 1, max: 1 << 21 };

keys! {
    /// Keys of `[mix]`.
    pub struct MixKeys {
        /// How many requests there are.
        requests: u64 = 322_787 => {
            kind: Kind::count("requests", 1, 1_000_000_000_000),
            source: "Park et al., 2011, table 2: OLTP lasts 11.97 h", flip: "201", with: FEW,
        },
        /// Mean time from a request to the next; times are exponentially distributed.
        interarrival_ms: Span = Span::from_us(133_500) => {
            kind: Kind::millis(1, 1_000_000_000_000_000), source: OLTP, flip: "1", with: FEW,
        },
        /// Share of writes; the rest are reads.
        write_percent: Ppm = Ppm::from_percent(91) => {
            kind: SHARE, source: OLTP, flip: "50", with: FEW,
        },
        /// The smaller size of reads.
        read_small_kib: Sectors = Sectors::from_kib(4) => {
            kind: SIZE, source: OLTP_SIZES, flip: "2", with: FEW_MIXED,
        },
        /// The larger size of reads.
        read_large_kib: Sectors = Sectors::from_kib(8) => {
            kind: SIZE, source: OLTP_SIZES, flip: "32", with: FEW_MIXED,
        },
        /// Share of the reads that have the larger size.
        read_large_percent: Ppm = Ppm::from_ppm(95_000) => {
            kind: SHARE, source: OLTP_SIZES, flip: "50", with: FEW_MIXED,
        },
        /// The smaller size of writes.
        write_small_kib: Sectors = Sectors::from_kib(4) => {
            kind: SIZE, source: OLTP_SIZES, flip: "2", with: FEW,
        },
        /// The larger size of writes.
        write_large_kib: Sectors = Sectors::from_kib(8) => {
            kind: SIZE, source: OLTP_SIZES, flip: "32", with: FEW,
        },
        /// Share of the writes that have the larger size.
        write_large_percent: Ppm = Ppm::from_ppm(95_000) => {
            kind: SHARE, source: OLTP_SIZES, flip: "50", with: FEW,
        },
        /// Share of the requests that start where the request before ended.
        sequential_percent: Ppm = Ppm::from_percent(2) => {
            kind: SHARE, source: OLTP, flip: "50", with: FEW,
        },
        /// Where the other requests start.
        places: MixPlaces = MixPlaces::Uniform => {
            kind: Kind::Choice(MixPlaces::WORDS),
            source: "assumed: nothing is published about it", flip: "clustered", with: FEW,
        },
        /// `places = "clustered"` and `"scattered"`: with 80, 80 % of these requests go to 20 % of
        /// the units, and so on among these.
        skew_percent: Ppm = Ppm::from_percent(80) => {
            kind: Kind::percent(500_000, 999_999),
            source: "Gray et al., SIGMOD 1994: 80-20", flip: "95", with: FEW_CLUSTERED,
        },
        /// The part of the device that is used, from its start.
        footprint_percent: Ppm = Ppm::ALL => {
            kind: Kind::percent(1, 1_000_000),
            source: "assumed: all of it", flip: "10", with: FEW,
        },
        /// Requests that do not continue the request before start at multiples of this.
        unit_kib: Sectors = Sectors::from_kib(4) => {
            kind: SIZE, source: "assumed: a page of a file system", flip: "16", with: FEW,
        },
    }
}

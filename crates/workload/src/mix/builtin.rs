//! The built-in mixes: rows of data, with what was published about each.
//!
//! `oltp` and `olap` follow Park, Kim, Urgaonkar, Lee, Seo, 2011, table 2. Their two sizes are
//! assumed such that the published mean comes out; where requests lie is not published, so there
//! are three of each: uniform, and self-similar 80-20 at the start of the device or all over it.
//!
//! `fin1`, `fin2`, `gen1`, `gen2`, `gen3` and `ftp` follow the table of traces of Bang et al.:
//! share of reads and mean sizes. All else about them is assumed:
//!
//! * Sizes are the two powers of two around the mean.
//! * Locality, called highest in fin1 and gen1 and low in fin2, is 90-10 clustered in these two,
//!   uniform in fin2, and 80-20 scattered in the others. None of them is sequential.
//! * The rate loads the device of that study by about a half, one request at a time: 4 channels
//!   with 4 chips each, pages of 4 KiB, tR 25 us, tPROG 200 us, 123 us for a page on its channel,
//!   13.65 us on the link. With n pages a read takes `tR + 123 ceil(n / 4) + 13.65 n`, and a write,
//!   which evicts as much from a full buffer, `tPROG ceil(n / 16) + 123 ceil(n / 4) + 13.65 n`; the
//!   mean time between requests is twice the mean of these.
//!
//! `web` has the 98 % reads of the workload Web in the study of read-while-write scheduling (ROS)
//! for a PRAM buffer. Assumed: reads of 8 and 32 KiB with a mean of 15, near those of the web
//! search traces of the Storage Performance Council, writes of 8 KiB, uniform places, and a rate
//! that keeps one channel half busy with 130 us for each page of 4 KiB.

use super::keys::{MixKeys, MixPlaces};
use flashyard_core::quantity::{Ppm, Sectors};
use flashyard_core::units::Span;

/// A built-in mix.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInMix {
    /// What a user calls it.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// The parameters.
    pub keys: MixKeys,
    /// What was published about it.
    pub published: PublishedMix,
}

/// Published figures of a workload; none where nothing is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedMix {
    /// Share of reads in percent.
    pub read_percent: f64,
    /// Mean size of all requests in KiB.
    pub kib: Option<f64>,
    /// Mean size of a read in KiB.
    pub read_kib: Option<f64>,
    /// Mean size of a write in KiB.
    pub write_kib: Option<f64>,
    /// Share of the requests that do not continue the one before, in percent.
    pub random_percent: Option<f64>,
    /// Mean time between requests in milliseconds.
    pub interarrival_ms: Option<f64>,
    /// How long it lasts, in hours.
    pub hours: Option<f64>,
}

impl BuiltInMix {
    /// The built-in mix of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BUILT_IN_MIXES.iter().find(|built_in| built_in.name == name)
    }
}

const PARK: &str = "Park, Kim, Urgaonkar, Lee, Seo, 2011, table 2; sizes and places assumed";
const BANG: &str = "Bang et al., table of traces: share of reads and mean sizes; all else assumed";
const ROS: &str = "the study of read-while-write scheduling (ROS): 98 % reads; all else assumed";

const NOTHING: PublishedMix = PublishedMix {
    read_percent: 0.0,
    kib: None,
    read_kib: None,
    write_kib: None,
    random_percent: None,
    interarrival_ms: None,
    hours: None,
};

const OLTP: MixKeys = MixKeys {
    requests: 322_787,
    interarrival_ms: Span::from_us(133_500),
    write_percent: Ppm::from_percent(91),
    read_small_kib: Sectors::from_kib(4),
    read_large_kib: Sectors::from_kib(8),
    read_large_percent: Ppm::from_ppm(95_000),
    write_small_kib: Sectors::from_kib(4),
    write_large_kib: Sectors::from_kib(8),
    write_large_percent: Ppm::from_ppm(95_000),
    sequential_percent: Ppm::from_percent(2),
    places: MixPlaces::Uniform,
    skew_percent: Ppm::from_percent(80),
    footprint_percent: Ppm::ALL,
    unit_kib: Sectors::from_kib(4),
};

const OLTP_PUBLISHED: PublishedMix = PublishedMix {
    read_percent: 9.0,
    kib: Some(4.38),
    random_percent: Some(98.0),
    interarrival_ms: Some(133.5),
    hours: Some(11.97),
    ..NOTHING
};

const OLAP: MixKeys = MixKeys {
    requests: 238_133,
    interarrival_ms: Span::from_us(155_560),
    write_percent: Ppm::from_percent(5),
    read_small_kib: Sectors::from_kib(8),
    read_large_kib: Sectors::from_kib(16),
    read_large_percent: Ppm::from_ppm(602_500),
    write_small_kib: Sectors::from_kib(8),
    write_large_kib: Sectors::from_kib(16),
    write_large_percent: Ppm::from_ppm(602_500),
    sequential_percent: Ppm::from_percent(18),
    ..OLTP
};

const OLAP_PUBLISHED: PublishedMix = PublishedMix {
    read_percent: 95.0,
    kib: Some(12.82),
    random_percent: Some(82.0),
    interarrival_ms: Some(155.56),
    hours: Some(10.29),
    ..NOTHING
};

const INTERFACE: MixKeys = MixKeys { requests: 100_000, sequential_percent: Ppm::ZERO, ..OLTP };

/// What Bang et al. publish of a trace.
const fn bang(read_percent: f64, read_kib: f64, write_kib: f64) -> PublishedMix {
    PublishedMix { read_percent, read_kib: Some(read_kib), write_kib: Some(write_kib), ..NOTHING }
}

/// Every built-in mix, in the order of `flashyard list workloads`. Stored units: sizes in sectors,
/// times in nanoseconds, shares in parts per million.
pub const BUILT_IN_MIXES: &[BuiltInMix] = &[
    BuiltInMix {
        name: "oltp",
        title: "online transactions: small random writes, uniform",
        source: PARK,
        keys: OLTP,
        published: OLTP_PUBLISHED,
    },
    BuiltInMix {
        name: "oltp-clustered",
        title: "online transactions, 80 % of them to the first fifth of the device",
        source: PARK,
        keys: MixKeys { places: MixPlaces::Clustered, ..OLTP },
        published: OLTP_PUBLISHED,
    },
    BuiltInMix {
        name: "oltp-scattered",
        title: "online transactions, 80 % of them to a fifth of the device",
        source: PARK,
        keys: MixKeys { places: MixPlaces::Scattered, ..OLTP },
        published: OLTP_PUBLISHED,
    },
    BuiltInMix {
        name: "olap",
        title: "online analysis: random reads, uniform",
        source: PARK,
        keys: OLAP,
        published: OLAP_PUBLISHED,
    },
    BuiltInMix {
        name: "olap-clustered",
        title: "online analysis, 80 % of it in the first fifth of the device",
        source: PARK,
        keys: MixKeys { places: MixPlaces::Clustered, ..OLAP },
        published: OLAP_PUBLISHED,
    },
    BuiltInMix {
        name: "olap-scattered",
        title: "online analysis, 80 % of it in a fifth of the device",
        source: PARK,
        keys: MixKeys { places: MixPlaces::Scattered, ..OLAP },
        published: OLAP_PUBLISHED,
    },
    BuiltInMix {
        name: "fin1",
        title: "financial transactions, writing: 41 % reads, high locality",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(540),
            write_percent: Ppm::from_ppm(592_000),
            read_large_percent: Ppm::from_ppm(525_000),
            write_large_percent: Ppm::from_percent(23),
            places: MixPlaces::Clustered,
            skew_percent: Ppm::from_percent(90),
            ..INTERFACE
        },
        published: bang(40.8, 6.1, 4.92),
    },
    BuiltInMix {
        name: "fin2",
        title: "financial transactions, reading: 83 % reads, low locality",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(380),
            write_percent: Ppm::from_ppm(167_000),
            read_small_kib: Sectors::from_kib(2),
            read_large_kib: Sectors::from_kib(4),
            read_large_percent: Ppm::from_percent(22),
            write_large_percent: Ppm::from_ppm(245_000),
            ..INTERFACE
        },
        published: bang(83.3, 2.44, 4.98),
    },
    BuiltInMix {
        name: "gen1",
        title: "general use, first trace: 86 % reads, high locality",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(460),
            write_percent: Ppm::from_ppm(145_000),
            read_small_kib: Sectors::from_kib(16),
            read_large_kib: Sectors::from_kib(32),
            read_large_percent: Ppm::from_ppm(30_625),
            write_small_kib: Sectors::from_kib(8),
            write_large_kib: Sectors::from_kib(16),
            write_large_percent: Ppm::from_ppm(461_250),
            places: MixPlaces::Clustered,
            skew_percent: Ppm::from_percent(90),
            ..INTERFACE
        },
        published: bang(85.5, 16.49, 11.69),
    },
    BuiltInMix {
        name: "gen2",
        title: "general use, second trace: 54 % reads, which are long",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(1_400),
            write_percent: Ppm::from_ppm(463_000),
            read_small_kib: Sectors::from_kib(64),
            read_large_kib: Sectors::from_kib(128),
            read_large_percent: Ppm::from_ppm(382_188),
            write_small_kib: Sectors::from_kib(8),
            write_large_kib: Sectors::from_kib(16),
            write_large_percent: Ppm::from_ppm(22_500),
            places: MixPlaces::Scattered,
            ..INTERFACE
        },
        published: bang(53.7, 88.46, 8.18),
    },
    BuiltInMix {
        name: "gen3",
        title: "general use, third trace: 21 % reads",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(660),
            write_percent: Ppm::from_ppm(786_000),
            read_small_kib: Sectors::from_kib(8),
            read_large_kib: Sectors::from_kib(16),
            read_large_percent: Ppm::from_percent(83),
            write_small_kib: Sectors::from_kib(8),
            write_large_kib: Sectors::from_kib(16),
            write_large_percent: Ppm::from_ppm(583_750),
            places: MixPlaces::Scattered,
            ..INTERFACE
        },
        published: bang(21.4, 14.64, 12.67),
    },
    BuiltInMix {
        name: "ftp",
        title: "file transfer: 38 % reads, very long writes",
        source: BANG,
        keys: MixKeys {
            interarrival_ms: Span::from_us(7_500),
            write_percent: Ppm::from_ppm(618_000),
            read_small_kib: Sectors::from_kib(8),
            read_large_kib: Sectors::from_kib(16),
            read_large_percent: Ppm::from_percent(62),
            write_small_kib: Sectors::from_kib(256),
            write_large_kib: Sectors::from_kib(512),
            write_large_percent: Ppm::from_ppm(637_188),
            places: MixPlaces::Scattered,
            ..INTERFACE
        },
        published: bang(38.2, 12.96, 419.12),
    },
    BuiltInMix {
        name: "web",
        title: "web search: 98 % reads, uniform",
        source: ROS,
        keys: MixKeys {
            interarrival_ms: Span::from_ms(1),
            write_percent: Ppm::from_percent(2),
            read_small_kib: Sectors::from_kib(8),
            read_large_kib: Sectors::from_kib(32),
            read_large_percent: Ppm::from_ppm(291_667),
            write_small_kib: Sectors::from_kib(8),
            write_large_kib: Sectors::from_kib(8),
            write_large_percent: Ppm::ZERO,
            ..INTERFACE
        },
        published: PublishedMix { read_percent: 98.0, ..NOTHING },
    },
];

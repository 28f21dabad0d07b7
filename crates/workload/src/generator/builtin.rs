//! The built-in workloads: rows of parameters of the one generator.
//!
//! Sources. Requests, rate, mean sizes and share of writes: the characteristics that Lee et al.
//! (IEEE Access 2021) publish for eight Nexus 5 traces of Zhou et al. (IISWC 2015), the number of
//! requests being that of the trace. All other parameters were measured on the same traces.
//!
//! Pace: after a write of 5 to 16 pages the next request comes later than after one of one page, by
//! 200 to 540 us for each page more (means of gaps below 20 ms); all rows have 350 us, booting 57
//! us measured on its scaled clock. For reads of 17 pages and more it is near 50 us, in movie and
//! booting about nothing.
//!
//! Time: what the pace leaves of a gap is a gap in a burst below 5 ms, a short pause below 100 ms
//! and a long one from there. Sizes of bursts are fitted to the bursts that start with the commoner
//! operation. Two kinds of bursts, of which one in ten is long, have the mean and the variance of
//! these sizes. If the variance is below a geometric one (movie, radiomsg), there is one kind of
//! burst, whose mean is the one that the average request sees.
//!
//! Operations: `op_keep` and `short_pause_keep` are `(p - q) / (1 - q)` where p is the share of
//! neighbours with the same operation in a burst or over a short pause, and q what it would be by
//! chance. The growth puts the mean write as late among the requests as it is in the trace; below
//! 0.1 it is left out.
//!
//! Sizes: the largest write is such that the sizes have the coefficient of variation of the trace,
//! or the trace's largest where that is less (booting: 2 MiB, so that its mean does not hang on two
//! or three requests). `write_long_last` puts as many of the largest 64th of the writes before long
//! pauses as the trace has there.
//!
//! Places: a request is sequential if it starts at the end of one of the last eight of its
//! operation, and reuses a place if it starts where an earlier one did. The skew gives the busiest
//! MiB the share of requests that it has in the trace, and the footprint is such that about nine
//! tenths of the pages that the trace touches are touched (seven tenths of the writes of booting,
//! of which a few are larger than any here).
//!
//! Not modelled: that the first third of booting has six tenths of its requests, and the last third
//! six tenths of what it writes; that reads come in longer bursts than writes, and long bursts have
//! shorter writes; and that a single burst meets the largest write of radio (11 MiB), to which its
//! mean write latency owes most.

use super::GeneratorKeys;
use flashyard_core::quantity::{Bytes, Micro, Milli, Ppm};
use flashyard_core::units::Span;

/// A built-in workload.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// What a user calls it.
    pub name: &'static str,
    /// What the user of the phone was doing.
    pub title: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// The parameters.
    pub keys: GeneratorKeys,
    /// What was published about the trace.
    pub published: Published,
    /// What was measured on the trace itself.
    pub measured: Measured,
}

/// Characteristics of a trace as published by Lee et al., IEEE Access 2021, table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Mean size of a read in KiB.
    pub read_kib: f64,
    /// Mean size of a write in KiB.
    pub write_kib: f64,
    /// Share of writes in percent.
    pub write_percent: f64,
    /// Requests a second.
    pub requests_per_s: f64,
}

/// The same and more, measured on a trace sorted by its generate time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The file in the repository CASL-SDSU/SmartphoneIOTraces.
    pub file: &'static str,
    /// Mean size of a read in KiB.
    pub read_kib: f64,
    /// Mean size of a write in KiB.
    pub write_kib: f64,
    /// Share of writes in percent.
    pub write_percent: f64,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Index of dispersion of counts in windows of 10 ms, 100 ms and 1 s.
    pub dispersion: [f64; 3],
}

impl BuiltIn {
    /// The workload of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|built_in| built_in.name == name)
    }
}

const SOURCE: &str = "generated after the characteristics in Lee et al., IEEE Access 2021, table 1, \
                      and the traces of Zhou et al., IISWC 2015";

/// The built-in workloads, in the order of the publication. Stored units: rates in millionths,
/// times in nanoseconds, shares in parts per million, mean sizes in bytes, bursts and skew in
/// thousandths.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "movie",
        title: "watching a movie",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 4_781,
            requests_per_s: Micro::from_millionths(4_790_000),
            write_percent: Ppm::from_ppm(54_000),
            write_growth: Milli::ZERO,
            op_keep_percent: Ppm::from_ppm(974_000),
            short_pause_keep_percent: Ppm::from_ppm(86_000),
            burst_requests: Milli::from_thousandths(3_260),
            long_burst_percent: Ppm::ZERO,
            long_burst_requests: Milli::from_thousandths(1_000),
            gap_us: Span::from_us(172),
            read_pace_us: Span::from_us(10),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(142_000),
            short_pause_ms: Span::from_us(12_400),
            read_kib: Bytes::from_bytes(28_160),
            read_single_percent: Ppm::from_percent(7),
            read_max_kib: 128,
            write_kib: Bytes::from_kib(17),
            write_single_percent: Ppm::from_percent(65),
            write_max_kib: 512,
            write_long_last_percent: Ppm::ZERO,
            read_sequential_percent: Ppm::from_percent(18),
            write_sequential_percent: Ppm::from_percent(42),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(49),
            read_footprint_mib: 700,
            write_footprint_mib: 20,
            region_skew: Milli::from_thousandths(1_200),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 27.5,
            write_kib: 17.0,
            write_percent: 5.4,
            requests_per_s: 4.79,
        },
        measured: Measured {
            file: "log121_Movie.txt",
            read_kib: 27.86,
            write_kib: 17.06,
            write_percent: 5.396,
            requests_per_s: 4.793,
            dispersion: [5.17, 6.51, 5.19],
        },
    },
    BuiltIn {
        name: "youtube",
        title: "watching videos on YouTube",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 2_080,
            requests_per_s: Micro::from_millionths(440_000),
            write_percent: Ppm::from_ppm(975_000),
            write_growth: Milli::ZERO,
            op_keep_percent: Ppm::from_ppm(929_000),
            short_pause_keep_percent: Ppm::from_ppm(815_000),
            burst_requests: Milli::from_thousandths(1_230),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(5_700),
            gap_us: Span::from_us(2_030),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(273_000),
            short_pause_ms: Span::from_us(19_900),
            read_kib: Bytes::from_bytes(19_968),
            read_single_percent: Ppm::from_percent(33),
            read_max_kib: 128,
            write_kib: Bytes::from_bytes(13_824),
            write_single_percent: Ppm::from_percent(51),
            write_max_kib: 900,
            write_long_last_percent: Ppm::ZERO,
            read_sequential_percent: Ppm::from_ppm(57_000),
            write_sequential_percent: Ppm::from_ppm(753_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(65),
            read_footprint_mib: 18,
            write_footprint_mib: 110,
            region_skew: Milli::from_thousandths(2_000),
            span_mib: 25_600,
        },
        published: Published {
            read_kib: 19.5,
            write_kib: 13.5,
            write_percent: 97.5,
            requests_per_s: 0.44,
        },
        measured: Measured {
            file: "log152_YouTube.txt",
            read_kib: 19.54,
            write_kib: 13.7,
            write_percent: 97.5,
            requests_per_s: 0.443,
            dispersion: [2.04, 4.77, 9.14],
        },
    },
    BuiltIn {
        name: "booting",
        title: "booting the phone; its three runs of the clock joined and scaled to 40 s",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 18_417,
            requests_per_s: Micro::from_millionths(460_400_000),
            write_percent: Ppm::from_ppm(330_700),
            write_growth: Milli::from_thousandths(1_410),
            op_keep_percent: Ppm::from_ppm(814_000),
            short_pause_keep_percent: Ppm::from_ppm(614_000),
            burst_requests: Milli::from_thousandths(7_170),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(246_300),
            gap_us: Span::from_us(545),
            read_pace_us: Span::ZERO,
            write_pace_us: Span::from_us(57),
            short_pause_percent: Ppm::from_ppm(898_000),
            short_pause_ms: Span::from_us(16_200),
            read_kib: Bytes::from_kib(61),
            read_single_percent: Ppm::from_percent(27),
            read_max_kib: 128,
            write_kib: Bytes::from_bytes(38_400),
            write_single_percent: Ppm::from_percent(64),
            write_max_kib: 2_048,
            write_long_last_percent: Ppm::from_percent(46),
            read_sequential_percent: Ppm::from_ppm(412_000),
            write_sequential_percent: Ppm::from_ppm(348_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(78),
            read_footprint_mib: 4_600,
            write_footprint_mib: 600,
            region_skew: Milli::from_thousandths(1_600),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 61.0,
            write_kib: 37.5,
            write_percent: 33.07,
            requests_per_s: 460.4,
        },
        measured: Measured {
            file: "log176_Booting.txt",
            read_kib: 61.15,
            write_kib: 37.53,
            write_percent: 33.067,
            requests_per_s: 460.425,
            dispersion: [14.2, 96.68, 618.48],
        },
    },
    BuiltIn {
        name: "facebook",
        title: "using Facebook",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 3_897,
            requests_per_s: Micro::from_millionths(3_500_000),
            write_percent: Ppm::from_ppm(744_200),
            write_growth: Milli::ZERO,
            op_keep_percent: Ppm::from_ppm(959_000),
            short_pause_keep_percent: Ppm::from_ppm(761_000),
            burst_requests: Milli::from_thousandths(3_610),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(12_400),
            gap_us: Span::from_us(813),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(383_000),
            short_pause_ms: Span::from_us(21_500),
            read_kib: Bytes::from_bytes(29_184),
            read_single_percent: Ppm::from_percent(39),
            read_max_kib: 128,
            write_kib: Bytes::from_bytes(24_064),
            write_single_percent: Ppm::from_percent(55),
            write_max_kib: 1_640,
            write_long_last_percent: Ppm::from_percent(16),
            read_sequential_percent: Ppm::from_ppm(94_000),
            write_sequential_percent: Ppm::from_ppm(417_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(67),
            read_footprint_mib: 170,
            write_footprint_mib: 120,
            region_skew: Milli::from_thousandths(1_500),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 28.5,
            write_kib: 23.5,
            write_percent: 74.42,
            requests_per_s: 3.5,
        },
        measured: Measured {
            file: "log191_facebook.txt",
            read_kib: 28.63,
            write_kib: 23.83,
            write_percent: 74.416,
            requests_per_s: 3.505,
            dispersion: [4.88, 15.64, 34.38],
        },
    },
    BuiltIn {
        name: "angrybird",
        title: "playing Angry Birds",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 3_215,
            requests_per_s: Micro::from_millionths(1_590_000),
            write_percent: Ppm::from_ppm(845_100),
            write_growth: Milli::from_thousandths(180),
            op_keep_percent: Ppm::from_ppm(955_000),
            short_pause_keep_percent: Ppm::from_ppm(859_000),
            burst_requests: Milli::from_thousandths(2_420),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(6_900),
            gap_us: Span::from_us(1_170),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(393_000),
            short_pause_ms: Span::from_us(22_600),
            read_kib: Bytes::from_kib(51),
            read_single_percent: Ppm::from_percent(20),
            read_max_kib: 128,
            write_kib: Bytes::from_kib(25),
            write_single_percent: Ppm::from_percent(51),
            write_max_kib: 2_900,
            write_long_last_percent: Ppm::from_percent(2),
            read_sequential_percent: Ppm::from_ppm(449_000),
            write_sequential_percent: Ppm::from_ppm(571_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(61),
            read_footprint_mib: 180,
            write_footprint_mib: 240,
            region_skew: Milli::from_thousandths(1_900),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 51.0,
            write_kib: 25.0,
            write_percent: 84.51,
            requests_per_s: 1.59,
        },
        measured: Measured {
            file: "log171_angrybird.txt",
            read_kib: 51.11,
            write_kib: 25.57,
            write_percent: 84.51,
            requests_per_s: 1.59,
            dispersion: [3.11, 9.1, 21.12],
        },
    },
    BuiltIn {
        name: "radio",
        title: "listening to the radio",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 5_820,
            requests_per_s: Micro::from_millionths(1_310_000),
            write_percent: Ppm::from_ppm(986_800),
            write_growth: Milli::ZERO,
            op_keep_percent: Ppm::from_percent(80),
            short_pause_keep_percent: Ppm::from_ppm(596_000),
            burst_requests: Milli::from_thousandths(2_090),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(5_600),
            gap_us: Span::from_us(1_123),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_percent(28),
            short_pause_ms: Span::from_us(14_100),
            read_kib: Bytes::from_kib(36),
            read_single_percent: Ppm::from_percent(44),
            read_max_kib: 128,
            write_kib: Bytes::from_bytes(19_968),
            write_single_percent: Ppm::from_percent(47),
            write_max_kib: 11_168,
            write_long_last_percent: Ppm::ZERO,
            read_sequential_percent: Ppm::from_ppm(104_000),
            write_sequential_percent: Ppm::from_ppm(525_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(60),
            read_footprint_mib: 25,
            write_footprint_mib: 500,
            region_skew: Milli::from_thousandths(1_900),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 36.0,
            write_kib: 19.5,
            write_percent: 98.68,
            requests_per_s: 1.31,
        },
        measured: Measured {
            file: "log132_radio.txt",
            read_kib: 36.26,
            write_kib: 19.8,
            write_percent: 98.677,
            requests_per_s: 1.307,
            dispersion: [2.97, 6.44, 12.33],
        },
    },
    BuiltIn {
        name: "radiomsg",
        title: "listening to the radio while sending messages",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 11_101,
            requests_per_s: Micro::from_millionths(16_820_000),
            write_percent: Ppm::from_ppm(981_500),
            write_growth: Milli::ZERO,
            op_keep_percent: Ppm::from_ppm(923_000),
            short_pause_keep_percent: Ppm::from_percent(35),
            burst_requests: Milli::from_thousandths(6_230),
            long_burst_percent: Ppm::ZERO,
            long_burst_requests: Milli::from_thousandths(1_000),
            gap_us: Span::from_us(928),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(657_000),
            short_pause_ms: Span::from_us(23_600),
            read_kib: Bytes::from_bytes(17_920),
            read_single_percent: Ppm::from_percent(43),
            read_max_kib: 128,
            write_kib: Bytes::from_kib(13),
            write_single_percent: Ppm::from_percent(54),
            write_max_kib: 192,
            write_long_last_percent: Ppm::from_percent(51),
            read_sequential_percent: Ppm::from_ppm(176_000),
            write_sequential_percent: Ppm::from_ppm(491_000),
            read_reuse_percent: Ppm::ZERO,
            write_reuse_percent: Ppm::from_percent(84),
            read_footprint_mib: 140,
            write_footprint_mib: 930,
            region_skew: Milli::from_thousandths(2_400),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 17.5,
            write_kib: 13.0,
            write_percent: 98.15,
            requests_per_s: 16.82,
        },
        measured: Measured {
            file: "log240_RadioMessage.txt",
            read_kib: 17.97,
            write_kib: 13.58,
            write_percent: 98.153,
            requests_per_s: 16.836,
            dispersion: [4.19, 16.94, 61.26],
        },
    },
    BuiltIn {
        name: "radiowb",
        title: "listening to the radio while browsing the web",
        source: SOURCE,
        keys: GeneratorKeys {
            requests: 11_997,
            requests_per_s: Micro::from_millionths(9_780_000),
            write_percent: Ppm::from_ppm(720_200),
            write_growth: Milli::from_thousandths(180),
            op_keep_percent: Ppm::from_ppm(934_000),
            short_pause_keep_percent: Ppm::from_ppm(682_000),
            burst_requests: Milli::from_thousandths(3_560),
            long_burst_percent: Ppm::from_percent(10),
            long_burst_requests: Milli::from_thousandths(15_600),
            gap_us: Span::from_us(824),
            read_pace_us: Span::from_us(50),
            write_pace_us: Span::from_us(350),
            short_pause_percent: Ppm::from_ppm(628_000),
            short_pause_ms: Span::from_us(21_600),
            read_kib: Bytes::from_kib(29),
            read_single_percent: Ppm::from_percent(36),
            read_max_kib: 128,
            write_kib: Bytes::from_bytes(19_968),
            write_single_percent: Ppm::from_percent(57),
            write_max_kib: 1_050,
            write_long_last_percent: Ppm::from_percent(25),
            read_sequential_percent: Ppm::from_ppm(84_000),
            write_sequential_percent: Ppm::from_ppm(488_000),
            read_reuse_percent: Ppm::from_percent(1),
            write_reuse_percent: Ppm::from_percent(69),
            read_footprint_mib: 580,
            write_footprint_mib: 250,
            region_skew: Milli::from_thousandths(1_500),
            span_mib: 28_800,
        },
        published: Published {
            read_kib: 29.0,
            write_kib: 19.5,
            write_percent: 72.02,
            requests_per_s: 9.78,
        },
        measured: Measured {
            file: "log250_RadioWebBrowse.txt",
            read_kib: 29.22,
            write_kib: 19.94,
            write_percent: 72.01,
            requests_per_s: 9.773,
            dispersion: [5.53, 24.54, 109.79],
        },
    },
];

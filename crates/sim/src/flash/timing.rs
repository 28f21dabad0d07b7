//! How long commands take: in the array, by page type, and on the channel.

use crate::config::{NandKeys, Settings};
use crate::random::{STEP, mix};
use crate::sets::{STAGE_KINDS, Stage};
use flashyard_core::command::Op;
use flashyard_core::geometry::Geometry;
use flashyard_core::units::{Ppn, Span};

/// The times of a device's commands, from its keys.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    geometry: Geometry,
    /// Types of pages that take different times; 1 for none.
    page_types: u64,
    /// Time in the array by type of page.
    read: [Span; 4],
    program: [Span; 4],
    /// Time to sense a part of a page by its type, and how many bytes that is; 0 bytes where parts
    /// take as long as pages.
    part: [Span; 4],
    pub(super) part_bytes: u32,
    /// Least time to sense a page beside pages of other planes, by its type; nothing where that
    /// takes no longer.
    pub(super) beside: Option<[Span; 4]>,
    erase: Span,
    /// Command and address on the channel.
    pub(super) command_ns: u64,
    /// Codewords of a mapping unit and their bytes.
    pub(super) codewords: u32,
    codeword_bytes: u32,
    /// Data of a read on the channel, by the codewords wanted of a page, and data of a program.
    read_ns: Vec<u64>,
    program_ns: u64,
    /// Whether copies stay on their die; the part of a map page that a fetch carries.
    copyback: bool,
    /// Whether some commands that are no erases move no data over the channel.
    leaves_out: bool,
    fetch_ns: Option<u64>,
    fetch_bytes: u32,
    /// How much longer than typical an operation may take, in parts of a million.
    spread_ppm: u64,
    /// The longest time of a read, a program and an erase, where times have a tail up to it; else
    /// nothing.
    longest: [Span; 3],
    /// Whether any of these times is random.
    is_random: bool,
    /// Operations with a random time so far, and what sets their random numbers apart.
    pub(super) operations: u64,
    seed: u64,
    /// Nominal duration of each kind of command: array and channel, without waiting, on a page of
    /// the first type, one unit of a read. Nothing for the buffer, the link and a barrier.
    pub(super) nominal: [Span; STAGE_KINDS],
}

impl Timing {
    /// The times that the keys give.
    pub(super) fn new(settings: &Settings) -> Self {
        let (nand, geometry) = (&settings.keys.nand, settings.geometry);
        let types = |first: Span, others: [Span; 3]| {
            let [second, third, fourth] = others.map(|span| span.or(first));
            [first, second, third, fourth]
        };
        let read = types(nand.read_us, [nand.read_2_us, nand.read_3_us, nand.read_4_us]);
        let programs = [nand.program_2_us, nand.program_3_us, nand.program_4_us];
        let unit = u64::from(geometry.unit_bytes());
        let codewords = settings.codewords_of_unit();
        let codeword_bytes = geometry.unit_bytes() / codewords;
        let data_ns =
            |bytes: u32, count: u32| settings.transfer_ns(u64::from(bytes) * u64::from(count));
        let of_page = geometry.units_per_page * codewords;
        let fetched = settings.keys.map.fetch_bytes;
        let mut timing = Self {
            geometry,
            page_types: nand.bits_per_cell.max(1),
            read,
            part: read.map(|whole| nand.part_of(whole)),
            part_bytes: part_bytes(nand),
            beside: (!nand.multi_plane_read_us.is_zero())
                .then(|| read.map(|alone| nand.beside_of(alone))),
            program: types(nand.program_us, if nand.one_shot { [Span::ZERO; 3] } else { programs }),
            erase: nand.erase_us,
            command_ns: settings.keys.channel.command_ns,
            codewords,
            codeword_bytes,
            read_ns: (0..=of_page).map(|count| data_ns(codeword_bytes, count)).collect(),
            program_ns: data_ns(geometry.unit_bytes(), geometry.program_units()),
            copyback: settings.keys.gc.copyback,
            leaves_out: settings.keys.gc.copyback || settings.zones.is_some(),
            fetch_ns: (fetched > 0).then(|| settings.transfer_ns(fetched.min(unit))),
            fetch_bytes: u32::try_from(fetched.min(unit)).expect("at most a unit"),
            spread_ppm: nand.spread_percent.ppm(),
            longest: [nand.read_max_us, nand.program_max_us, nand.erase_max_us],
            is_random: nand.has_random_times(),
            operations: 0,
            seed: 0,
            nominal: [Span::ZERO; STAGE_KINDS],
        };
        for stage in Stage::COMMANDS {
            let data = match stage {
                Stage::Fetch => timing.channel_ns(stage, codewords),
                _ => timing.data_ns(stage.op(), codewords),
            };
            let array = timing.nominal_array(stage);
            timing.nominal[stage as usize] = array + Span::from_ns(timing.command_ns + data);
        }
        timing
    }

    /// The times of blocks that are used with one bit a cell: those of a chip that has one, whose
    /// greatest times are as many times its typical ones.
    pub(super) fn of_slc(settings: &Settings) -> Option<Box<Self>> {
        settings.slc?;
        let slc = settings.keys.slc;
        let mut settings = settings.clone();
        let nand = &mut settings.keys.nand;
        let erase = slc.erase_us.or(nand.erase_us);
        let longest = |most: Span, typical: Span, own: Span| {
            let ns = u128::from(most.as_ns()) * u128::from(own.as_ns());
            let ns = ns.checked_div(typical.as_ns().into()).unwrap_or(0);
            Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
        };
        nand.read_max_us = longest(nand.read_max_us, nand.read_us, slc.read_us);
        nand.program_max_us = longest(nand.program_max_us, nand.program_us, slc.program_us);
        nand.erase_max_us = longest(nand.erase_max_us, nand.erase_us, erase);
        (nand.bits_per_cell, nand.one_shot) = (1, false);
        (nand.read_us, nand.program_us, nand.erase_us) = (slc.read_us, slc.program_us, erase);
        (nand.read_part_us, nand.multi_plane_read_us) = (Span::ZERO, Span::ZERO);
        settings.geometry.program_pages = settings.geometry.joined;
        let mut timing = Self::new(&settings);
        timing.seed = SLC_SEED;
        Some(Box::new(timing))
    }

    /// Nominal durations take their time on the channel from here, by operation and bytes.
    pub(super) fn set_channel_times(&mut self, mut alone: impl FnMut(Op, u32) -> u64) {
        for stage in Stage::COMMANDS {
            let channel_ns = alone(stage.op(), self.channel_bytes(stage, self.codewords));
            let array = self.nominal_array(stage);
            self.nominal[stage as usize] = array + Span::from_ns(channel_ns);
        }
    }

    /// How long the array works on a page; `None` is one that was never written.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn array(&self, op: Op, ppn: Option<Ppn>) -> Span {
        let at = if op == Op::Erase { 0 } else { self.page_type(ppn) };
        match op {
            Op::Read => self.read[at],
            Op::Program => self.program[at],
            Op::Erase => self.erase,
        }
    }

    /// The type of a page, counted from 0.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    fn page_type(&self, ppn: Option<Ppn>) -> usize {
        let page_type = match ppn {
            Some(ppn) if self.page_types > 1 => {
                u64::from(self.geometry.joined_page(ppn).1) % self.page_types
            }
            _ => 0,
        };
        usize::try_from(page_type).unwrap_or(0).min(3)
    }

    /// How long the array works on a page of which a read needs so many codewords, if that is a
    /// part.
    fn part(&self, stage: Stage, ppn: Option<Ppn>, codewords: u32) -> Option<Span> {
        let bytes = match self.fetch_bytes {
            bytes if bytes > 0 && stage == Stage::Fetch => bytes,
            _ => codewords * self.codeword_bytes,
        };
        (bytes <= self.part_bytes).then(|| self.part[self.page_type(ppn)])
    }

    /// How long the array works on a page that a read needs so many codewords of, as the only page
    /// that it senses or `beside` others.
    pub(super) fn sensed(
        &self,
        stage: Stage,
        ppn: Option<Ppn>,
        codewords: u32,
        beside: bool,
    ) -> Span {
        let alone = self.part(stage, ppn, codewords);
        let alone = alone.unwrap_or_else(|| self.array(Op::Read, ppn));
        match &self.beside {
            Some(least) if beside => alone.max(least[self.page_type(ppn)]),
            _ => alone,
        }
    }

    /// The typical time in the array of a command on a page of the first type, one unit of a read.
    fn nominal_array(&self, stage: Stage) -> Span {
        let op = stage.op();
        let part = if op == Op::Read { self.part(stage, None, self.codewords) } else { None };
        part.unwrap_or_else(|| self.array(op, None))
    }

    /// Nanoseconds that a page of an operation takes the channel for: none of a copy that stays on
    /// its die, a part of a fetched map page.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a step of each command; a call costs as much")]
    pub(super) fn channel_ns(&self, stage: Stage, codewords: u32) -> u64 {
        match self.fetch_ns {
            Some(ns) if stage == Stage::Fetch => ns,
            _ if self.leaves_out && self.moves_nothing(stage) => 0,
            _ => self.data_ns(stage.op(), codewords),
        }
    }

    /// Bytes that a page of an operation moves over the channel, as [`Self::channel_ns`] counts
    /// their time.
    pub(super) fn channel_bytes(&self, stage: Stage, codewords: u32) -> u32 {
        if self.fetch_bytes > 0 && stage == Stage::Fetch {
            return self.fetch_bytes;
        }
        match stage.op() {
            _ if self.leaves_out && self.moves_nothing(stage) => 0,
            Op::Read => codewords * self.codeword_bytes,
            Op::Program => self.geometry.program_units() * self.geometry.unit_bytes(),
            Op::Erase => 0,
        }
    }

    /// Whether a command moves no data: a copy inside a die, or padding.
    fn moves_nothing(&self, stage: Stage) -> bool {
        stage == Stage::PadProgram || (self.copyback && stage.is_copy())
    }

    /// Nanoseconds of a page's data on the channel: all of a program, the wanted codewords of a
    /// read.
    #[inline]
    fn data_ns(&self, op: Op, codewords: u32) -> u64 {
        match op {
            Op::Read => self.read_ns[codewords as usize],
            Op::Program => self.program_ns,
            Op::Erase => 0,
        }
    }

    /// The time of the next operation: the typical one and a tail, of at most `nand.spread_percent`
    /// or up to the greatest time.
    #[inline]
    pub(super) fn random(&mut self, op: Op, typical: Span) -> Span {
        if !self.is_random {
            return typical;
        }
        if self.spread_ppm > 0 { self.spread(typical) } else { self.tailed(op, typical) }
    }

    /// An exponentially distributed tail, whose mean is a tenth of the way to the greatest time and
    /// which ends there.
    #[inline(never)]
    fn tailed(&mut self, op: Op, typical: Span) -> Span {
        let longest = self.longest[op as usize];
        if longest.is_zero() {
            return typical;
        }
        self.operations += 1;
        let bits = mix(TAIL_SEED ^ self.seed ^ self.operations.wrapping_mul(STEP)) >> 12;
        // In the open interval from 0 to 1, exact.
        let unit = (bits as f64 + 0.5) / (1_u64 << 52) as f64;
        let most = longest.as_ns().saturating_sub(typical.as_ns());
        let extra = -libm::log(unit) * (most as f64 / 10.0);
        typical + Span::from_ns(whole(extra).min(most))
    }

    #[inline(never)]
    fn spread(&mut self, typical: Span) -> Span {
        self.operations += 1;
        let unit = u128::from(mix(self.seed ^ self.operations.wrapping_mul(STEP)) >> 32);
        let square = (unit * unit) >> 32;
        let fourth = (square * square) >> 32;
        let longest = u128::from(typical.as_ns()) * u128::from(self.spread_ppm) / 1_000_000;
        let extra = u64::try_from((longest * fourth) >> 32).expect("below the longest");
        typical + Span::from_ns(extra)
    }
}

/// Bytes of a page that are a part of it; 0 where parts take as long as pages.
fn part_bytes(nand: &NandKeys) -> u32 {
    let bytes = if nand.read_part_us.is_zero() { 0 } else { nand.read_part_bytes };
    u32::try_from(bytes).expect("the key's range fits 32 bits")
}

/// What sets the random numbers of tails apart from those of `nand.spread_percent`.
const TAIL_SEED: u64 = 0xA076_1D64_78BD_642F;

/// What sets those of blocks with one bit a cell apart from others.
const SLC_SEED: u64 = 0x2545_F491_4F6C_DD1D;

/// A time in nanoseconds, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "neither negative nor longer than 37 times four seconds"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}

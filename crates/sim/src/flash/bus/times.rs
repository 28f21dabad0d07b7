//! How long bus requests take: by the keys of the channel, or by microprograms.

use crate::config::{BusTiming, Settings};
use crate::own::OwnSequencer;
use flashyard_core::bus::channel::{FixedTimes, Sequencer};
use flashyard_core::bus::microcode::programs::Controller;
use flashyard_core::bus::microcode::timing::TimingSet;
use flashyard_core::bus::request::{BusClass, BusKind, BusRequest, Operation, Served};
use flashyard_core::command::Op;
use flashyard_core::units::Span;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The times of a device's requests. A request of a kind takes as long as any other of the same
/// bytes.
#[derive(Clone)]
pub(super) struct BusTimes {
    /// Asked once for each kind and size, and shared by copies of a device.
    source: OwnSequencer,
    /// Of requests other than data.
    short: [Span; BusKind::ALL.len()],
    /// Of data, by kind and bytes, as they were asked for.
    data: Vec<(BusKind, u32, Span)>,
    pub(super) are_zero: bool,
}

impl fmt::Debug for BusTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusTimes").field("short", &self.short).finish_non_exhaustive()
    }
}

/// The standard programs. Tests run them, so that no fault is left.
struct Standard(Controller);

impl Sequencer for Standard {
    fn duration(&mut self, request: &BusRequest) -> Span {
        self.0.duration(request.kind, request.bytes).expect("tests run the standard programs")
    }
}

/// The times that the keys of the channel give.
fn by_keys(settings: &Settings) -> FixedTimes {
    let keys = &settings.keys;
    let (command, status) =
        (Span::from_ns(keys.channel.command_ns), Span::from_ns(keys.bus.status_ns));
    let kinds = BusKind::ALL.map(|kind| match kind {
        BusKind::EraseActivate | BusKind::ProgramProlog | BusKind::ReadActivate => command,
        BusKind::Status => status,
        BusKind::DataIn | BusKind::ProgramActivate | BusKind::DataOut => Span::ZERO,
    });
    FixedTimes { kinds, ps_per_byte: keys.channel.ps_per_byte }
}

impl BusTimes {
    pub(super) fn new(settings: &Settings) -> Self {
        let pages = settings.geometry.pages_per_block;
        let standard = |set| Arc::new(Mutex::new(Standard(Controller::standard(set, pages))));
        let source: OwnSequencer = match settings.keys.bus.timing {
            BusTiming::Keys => Arc::new(Mutex::new(by_keys(settings))),
            BusTiming::Framework => standard(TimingSet::FRAMEWORK),
            BusTiming::Sdr50 => standard(TimingSet::SDR_50),
            BusTiming::NvDdr200 => standard(TimingSet::NV_DDR_200),
            BusTiming::Own(number) => settings.keys.own.sequencer(number),
        };
        let mut times = Self { source, short: [Span::ZERO; 7], data: Vec::new(), are_zero: false };
        for kind in BusKind::ALL {
            if kind.class() != BusClass::Data {
                times.short[kind.index()] = times.ask(kind, 0);
            }
        }
        let unit = settings.geometry.unit_bytes();
        times.are_zero = times.short.iter().all(|span| *span == Span::ZERO)
            && [BusKind::DataIn, BusKind::DataOut]
                .into_iter()
                .all(|kind| times.ask(kind, unit) == Span::ZERO);
        times
    }

    fn ask(&mut self, kind: BusKind, bytes: u32) -> Span {
        let (operation, stream, channel, chip, block, page, plane, offset) =
            (0, 0, 0, 0, 0, 0, 0, 0);
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.duration(&BusRequest {
            operation,
            stream,
            kind,
            channel,
            chip,
            block,
            page,
            plane,
            offset,
            bytes,
        })
    }

    /// The time of a request that moves so many bytes.
    #[inline]
    pub(super) fn of(&mut self, kind: BusKind, bytes: u32) -> Span {
        if kind.class() != BusClass::Data {
            return self.short[kind.index()];
        }
        let known = self.data.iter().find(|known| (known.0, known.1) == (kind, bytes));
        if let Some(known) = known {
            return known.2;
        }
        let span = self.ask(kind, bytes);
        self.data.push((kind, bytes, span));
        span
    }

    /// Nanoseconds of an operation on the bus: up to the request that starts its array, and of its
    /// data behind that.
    pub(super) fn of_operation(&mut self, operation: &Operation) -> (u64, u64) {
        let (mut lead, mut out) = (Span::ZERO, Span::ZERO);
        let mut served = Served::new(*operation);
        while let Some(kind) = served.next() {
            let span = self.of(kind, served.request(kind, 0).bytes);
            if !served.is_started() {
                lead += span;
            } else if kind == BusKind::DataOut {
                out += span;
            }
            served.sent();
        }
        debug_assert!(operation.op == Op::Read || out == Span::ZERO, "only reads give data");
        (lead.as_ns(), out.as_ns())
    }

    /// Nanoseconds that an operation which has its channel to itself takes on the bus.
    pub(super) fn alone(&mut self, operation: &Operation) -> u64 {
        let (lead, out) = self.of_operation(operation);
        let status = Served::new(*operation).asks_status();
        lead + out + if status { self.short[BusKind::Status.index()].as_ns() } else { 0 }
    }
}

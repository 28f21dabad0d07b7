//! The life of the write buffer: puts and gets, waits for a line, flushes.
//!
//! A page access of the host begins with [`Stage::Buffer`] where the buffer serves it. A write puts
//! its unit there as soon as a line is free, in the order of slots; answered from the buffer it is
//! over then, else its own program follows. A flush is a set of the device's own: it carries the
//! contents of a line as of its start and, in the order of changes, the number of the write that
//! they came from, so every rule for changes holds for it. Flushes of a group of lines begin
//! together, so that their programs fill a program unit.

use crate::buffer::ports::Ports;
use crate::buffer::{Line, Lines};
use crate::config::{AfterFlush, Allocation, BufferKeys, Eviction, PortKind, Settings};
use flashyard_core::graph::Wait;
use flashyard_core::units::{Lpn, Span, Time};
use std::collections::VecDeque;

/// Program units that a plane may have under way from the buffer: one in the array and one that
/// waits for it.
pub(crate) const WINDOW: u32 = 2;

/// The write buffer of a device.
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) keys: BufferKeys,
    pub(crate) lines: Lines,
    pub(crate) ports: Ports,
    /// Time of a unit on its port, got and put.
    pub(crate) spans: [Span; 2],
    /// Writes that wait for a line.
    pub(crate) waiting: VecDeque<u32>,
    /// Units that reads leave and that wait for one.
    pub(crate) fills: VecDeque<Fill>,
    /// Dirty lines at which flushing begins, and at which it ends.
    pub(crate) high: u32,
    pub(crate) low: u32,
    pub(crate) draining: bool,
    /// Whether a flush could not begin because of the map cache since the flusher last tried.
    pub(crate) stalled: bool,
    /// Whether one could not before that.
    pub(crate) tries_again: bool,
    /// Program units under way that no request has asked for.
    pub(crate) flushes: u64,
    /// Requests that had come when the device became idle, and when that was.
    pub(crate) quiet: (u64, Time),
    /// Whether a look at that is due.
    pub(crate) looks: bool,
    pub(crate) wanted: Wanted,
    /// Flushes that begin together, and map commands that they wait for; empty between uses.
    pub(crate) together: Vec<u32>,
    pub(crate) map_waits: Vec<(u32, Wait)>,
}

impl Staging {
    /// The buffer that the settings ask for.
    pub(crate) fn new(settings: &Settings, by_pages: bool) -> Option<Box<Self>> {
        let (keys, geometry) = (settings.keys.buffer, &settings.geometry);
        let units = settings.buffer_units;
        if units == 0 {
            return None;
        }
        let share = |ppm: u64| u64::from(units) * ppm;
        let narrow = |lines: u64| u32::try_from(lines).expect("at most all lines");
        let high = narrow(share(keys.high_percent).div_ceil(1_000_000)).max(1);
        let streams = u32::from(settings.frontiers.streams);
        let whole = geometry.program_units();
        let (groups, window) = match settings.keys.ftl.allocation {
            Allocation::Static => (geometry.all_planes() * streams, WINDOW * whole),
            Allocation::Dynamic => (streams, WINDOW * whole * geometry.all_planes()),
        };
        let window = if keys.flush_width == 0 { window } else { u32::MAX };
        let ready = if keys.eviction == Eviction::AtOnce { 1 } else { whole };
        let banks = u32::try_from(keys.banks).expect("the key's range fits 32 bits");
        let frees = keys.after_flush == AfterFlush::Free;
        let bytes = u64::from(geometry.unit_bytes());
        let unit_ns = (bytes * keys.ps_per_byte).div_ceil(1_000);
        let lines = Lines::new(units, groups, ready, window);
        let mut lines = lines.ruled(keys.replacement, banks, frees);
        lines.notes_changes = by_pages;
        Some(Box::new(Self {
            keys,
            lines,
            ports: Ports::new(keys.ports == PortKind::Shared, banks),
            spans: [keys.read_ns, keys.write_ns].map(|ns| Span::from_ns(unit_ns + ns)),
            waiting: VecDeque::new(),
            fills: VecDeque::new(),
            flushes: 0,
            quiet: (u64::MAX, Time::ZERO),
            looks: false,
            wanted: Wanted::new(if keys.eviction == Eviction::Ahead { units } else { 0 }),
            high,
            low: narrow(share(keys.low_percent) / 1_000_000).min(high - 1),
            draining: false,
            stalled: false,
            tries_again: false,
            together: Vec::new(),
            map_waits: Vec::new(),
        }))
    }

    /// Every line that it holds.
    pub(crate) fn all_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.dirty_lines().chain(self.lines.clean_lines())
    }
}

/// What has come of flushes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begun {
    /// Whether any began.
    pub(crate) any: bool,
    /// Whether that of the line asked for did.
    pub(crate) head: bool,
    /// Whether the map cache held one back.
    pub(crate) stalled: bool,
}

/// The distinct units that writes in the host queue will need lines for.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Units of this and of earlier looks, each with the number of its look.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) look: u32,
}

impl Wanted {
    /// Room for one unit more than `units`.
    pub(crate) fn new(units: u32) -> Self {
        let places = if units == 0 { 0 } else { 2 * (units as usize + 1).next_power_of_two() };
        Self { places: vec![(0, 0); places], look: 0 }
    }

    /// A new look begins, that has seen none.
    pub(crate) fn begin(&mut self) {
        self.look = self.look.wrapping_add(1);
        if self.look == 0 {
            self.places.fill((0, 0));
            self.look = 1;
        }
    }

    /// Whether a unit is seen for the first time in this look.
    pub(crate) fn is_new(&mut self, lpn: Lpn) -> bool {
        let mask = self.places.len() - 1;
        let mut at = lpn.scattered() as usize & mask;
        loop {
            match &mut self.places[at] {
                (known, look) if *look == self.look && *known == lpn.get() => return false,
                (_, look) if *look == self.look => at = (at + 1) & mask,
                place => {
                    *place = (lpn.get(), self.look);
                    return true;
                }
            }
        }
    }
}

/// A unit that a read has found on flash and that waits for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) lpn: Lpn,
    /// The unit whose line it gets when its flush is over; none until that has begun.
    pub(crate) displaces: Option<Lpn>,
}

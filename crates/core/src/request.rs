//! What the host sends.

use crate::units::Time;

/// Bytes of a sector, the unit of host addresses.
pub const SECTOR_BYTES: u32 = 512;

/// Arrivals end at 2^62 ns (146 years), so that no time of a simulation can overflow.
pub const LAST_ARRIVAL: Time = Time::from_ns(1 << 62);

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestOp {
    /// Return the newest contents.
    Read,
    /// Replace the contents.
    Write,
    /// Forget the contents of every mapping unit that lies wholly inside the range.
    Trim,
    /// Complete when every write admitted earlier has been committed.
    Flush,
}

impl RequestOp {
    /// Every operation, in the order in which reports list them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Flush];

    /// The word reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Flush => "flush",
        }
    }
}

/// Modifiers of a request, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No modifier.
    pub const NONE: Self = Self(0);
    /// Force unit access: acknowledge a write only when it is on flash.
    pub const FUA: Self = Self(1);
    /// Flush every earlier write before this request starts.
    pub const PREFLUSH: Self = Self(2);

    /// Of a trim: write zeroes. Units that lie wholly inside the range are forgotten, parts of
    /// units are written.
    pub const ZEROES: Self = Self(4);

    /// Of a write, on a device with zones: an append. The request names the first sector of a zone;
    /// the device writes at the write pointer of that zone and returns where that was.
    pub const APPEND: Self = Self(8);
    /// Of a trim, on a device with zones: reset the zone that begins at the first sector.
    pub const ZONE_RESET: Self = Self(16);
    /// The same: finish the zone. It is full then.
    pub const ZONE_FINISH: Self = Self(32);
    /// The same: open the zone explicitly.
    pub const ZONE_OPEN: Self = Self(64);
    /// The same: close the zone.
    pub const ZONE_CLOSE: Self = Self(128);

    /// Every modifier.
    pub const ALL: Self = Self(255);

    /// The modifiers of these bits; `None` where more than one of them is for zones.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        let for_zones = bits & !(Self::FUA.0 | Self::PREFLUSH.0 | Self::ZEROES.0);
        if for_zones.count_ones() <= 1 { Some(Self(bits)) } else { None }
    }

    /// The bits as a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a request does to a zone as a whole (NVM Express Zoned Namespace Command Set).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZoneAction {
    /// Forget its contents: it is empty then.
    Reset,
    /// Write no more into it: it is full then.
    Finish,
    /// Open it explicitly, so that the device does not close it of itself.
    Open,
    /// Give its open resource back.
    Close,
}

impl ZoneAction {
    /// Every action, in the order in which reports list them.
    pub const ALL: [Self; 4] = [Self::Reset, Self::Finish, Self::Open, Self::Close];

    /// The modifier that asks for it.
    pub const fn flag(self) -> Flags {
        match self {
            Self::Reset => Flags::ZONE_RESET,
            Self::Finish => Flags::ZONE_FINISH,
            Self::Open => Flags::ZONE_OPEN,
            Self::Close => Flags::ZONE_CLOSE,
        }
    }
}

/// One request of the host. [`Self::new`] and its siblings make it; more fields may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// When it reaches the device.
    pub arrival: Time,
    /// First sector (512 B).
    pub first_sector: u64,
    /// Length in sectors; 0 only for a flush.
    pub sectors: u32,
    /// Which of the host's request streams it belongs to.
    pub stream: u16,
    /// Its placement identifier: writes of one share blocks, as far as the device keeps them apart
    /// (`placement.handles`). None: the stream stands for it.
    pub placement: Option<u16>,
    /// What it asks for.
    pub op: RequestOp,
    /// Its modifiers.
    pub flags: Flags,
}

const _: () = assert!(size_of::<Request>() <= 32, "requests stay small: queues hold thousands");

impl Request {
    /// A request for so many sectors of 512 bytes from the first one on. It arrives at the start of
    /// the run, belongs to stream 0, and has neither a hint nor a modifier.
    ///
    /// ```
    /// use flashyard_core::request::{Flags, Request, RequestOp};
    /// use flashyard_core::units::Time;
    ///
    /// let write = Request::new(RequestOp::Write, 80, 8).at(Time::from_us(5)).with(Flags::FUA);
    /// assert_eq!((write.end_sector(), write.stream), (Some(88), 0));
    /// ```
    pub const fn new(op: RequestOp, first_sector: u64, sectors: u32) -> Self {
        let (arrival, stream, flags) = (Time::ZERO, 0, Flags::NONE);
        Self { arrival, first_sector, sectors, stream, placement: None, op, flags }
    }

    /// The same at another time.
    #[must_use]
    pub const fn at(self, arrival: Time) -> Self {
        Self { arrival, ..self }
    }

    /// The same for other sectors.
    #[must_use]
    pub const fn over(self, first_sector: u64, sectors: u32) -> Self {
        Self { first_sector, sectors, ..self }
    }

    /// The same of another stream.
    #[must_use]
    pub const fn of_stream(self, stream: u16) -> Self {
        Self { stream, ..self }
    }

    /// The same with another hint, or none.
    #[must_use]
    pub const fn placed(self, placement: Option<u16>) -> Self {
        Self { placement, ..self }
    }

    /// The same with these modifiers in place of its own.
    #[must_use]
    pub const fn with(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// The number that says which other data its data go with.
    pub fn place(&self) -> u16 {
        self.placement.unwrap_or(self.stream)
    }

    /// The first sector behind the request; `None` where that does not fit.
    pub fn end_sector(&self) -> Option<u64> {
        self.first_sector.checked_add(u64::from(self.sectors))
    }

    /// A request for an action on the zone that begins at a sector.
    ///
    /// ```
    /// use flashyard_core::request::{Request, ZoneAction};
    ///
    /// let reset = Request::zone(ZoneAction::Reset, 2048);
    /// assert_eq!(reset.zone_action(), Some(ZoneAction::Reset));
    /// ```
    pub const fn zone(action: ZoneAction, first_sector: u64) -> Self {
        Self::new(RequestOp::Trim, first_sector, 0).with(action.flag())
    }

    /// The same for an append of so many sectors to the zone that begins at a sector.
    pub const fn append(first_sector: u64, sectors: u32) -> Self {
        Self::new(RequestOp::Write, first_sector, sectors).with(Flags::APPEND)
    }

    /// Whether it is an append to a zone.
    pub fn appends(&self) -> bool {
        self.op == RequestOp::Write && self.flags.has(Flags::APPEND)
    }

    /// What it does to a zone as a whole, if it does anything; of several modifiers the first one
    /// of [`ZoneAction::ALL`] counts.
    pub fn zone_action(&self) -> Option<ZoneAction> {
        let asked = |action: &ZoneAction| self.flags.has(action.flag());
        ZoneAction::ALL.into_iter().find(asked).filter(|_| self.op == RequestOp::Trim)
    }

    /// Whether only a device with zones understands it.
    pub fn needs_zones(&self) -> bool {
        self.appends() || self.zone_action().is_some()
    }

    /// Whether it must not overtake earlier changes.
    pub fn is_barrier(&self) -> bool {
        self.op == RequestOp::Flush || self.flags.has(Flags::PREFLUSH)
    }

    /// Whether a host policy that starts single pages starts it as a whole.
    pub fn starts_whole(&self) -> bool {
        self.op == RequestOp::Trim || self.is_barrier()
    }
}

//! Time and the newtype identifiers. All integers; no arithmetic between kinds.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in simulated time: integer nanoseconds since the start of the run (584 years fit).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of simulated time in integer nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// The point `us` microseconds after the start.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The time between `earlier` and `self`; panics where `earlier` is the later one.
    #[inline]
    pub fn since(self, earlier: Self) -> Span {
        assert!(self.0 >= earlier.0, "time runs backwards: {self:?} is before {earlier:?}");
        Span(self.0 - earlier.0)
    }

    /// `self + span`, or [`Time::MAX`] where that does not fit.
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Length in nanoseconds.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Whether it is no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Itself, or `other` if it is no time at all.
    #[must_use]
    #[inline]
    pub const fn or(self, other: Self) -> Self {
        if self.is_zero() { other } else { self }
    }
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Debug for Time {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl fmt::Debug for Span {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The identifier with this number.
            #[inline]
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// The identifier of a slot of a slice; panics above `u32::MAX`.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("identifiers are 32 bits wide"))
            }

            /// Its number.
            #[inline]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// Its number, to index a slice with.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A logical page number: counts mapping units of the exported address space.
    Lpn
}

impl Lpn {
    /// The number with its bits spread, for tables of a power of two places (golden ratio hashing).
    #[inline]
    pub const fn scattered(self) -> u32 {
        self.get().wrapping_mul(0x9E37_79B1).rotate_left(16)
    }
}

id! {
    /// A physical page number: counts mapping units of the flash array, all planes in a row.
    Ppn
}
id! {
    /// An erase block, counted over all dies in a row.
    BlockId
}
id! {
    /// A die: the unit that is busy during tR, tPROG and tBERS.
    DieId
}
id! {
    /// A plane, counted over all dies in a row: it has its own blocks and page register.
    PlaneId
}
id! {
    /// A channel: carries one thing at a time for the dies behind it.
    ChannelId
}
id! {
    /// A map page (VPN): the mapping entries of a run of consecutive LPNs.
    MapPage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_subtract_to_spans() {
        assert_eq!(Time::from_us(3) - Time::from_ns(500), Span::from_ns(2_500));
        assert_eq!(Time::MAX.saturating_add(Span::from_ms(1)), Time::MAX);
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn negative_spans_are_refused() {
        let _ = Time::ZERO.since(Time::from_ns(1));
    }
}

//! What keys hold besides times: shares, sizes and numbers with digits behind the point. A field
//! whose name ends in a unit of the file (`fill_percent`, `size_kib`) has one of these types, so
//! that nobody takes what is stored for what is written.

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident $new:ident $get:ident $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);

            #[doc = concat!("So many ", $what, ".")]
            pub const fn $new(count: u64) -> Self {
                Self(count)
            }

            #[doc = concat!("How many ", $what, " it is.")]
            pub const fn $get(self) -> u64 {
                self.0
            }

            /// Whether it is nothing.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }
    };
}

quantity! {
    /// A share, in parts per million.
    Ppm from_ppm ppm "parts per million"
}

impl Ppm {
    /// The whole.
    pub const ALL: Self = Self(1_000_000);

    /// So many hundredths.
    pub const fn from_percent(percent: u64) -> Self {
        Self(percent * 10_000)
    }

    /// This share of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.0) / 1_000_000;
        u64::try_from(share).expect("a share is no more than 64 bits")
    }

    /// This share of `whole`, rounded up.
    pub fn of_up(self, whole: u64) -> u64 {
        let share = (u128::from(whole) * u128::from(self.0)).div_ceil(1_000_000);
        u64::try_from(share).expect("a share is no more than 64 bits")
    }
}

quantity! {
    /// A size in bytes.
    Bytes from_bytes bytes "bytes"
}

impl Bytes {
    /// So many kibibytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib << 10)
    }
}

quantity! {
    /// A size in sectors of 512 bytes.
    Sectors from_sectors sectors "sectors"
}

impl Sectors {
    /// So many kibibytes.
    pub const fn from_kib(kib: u64) -> Self {
        Self(kib * 2)
    }
}

quantity! {
    /// A number with three digits behind the point.
    Milli from_thousandths thousandths "thousandths"
}

quantity! {
    /// A number with six digits behind the point.
    Micro from_millionths millionths "millionths"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_and_never_overflows() {
        assert_eq!(Ppm::from_percent(7).of(1_000), 70);
        assert_eq!((Ppm::from_ppm(333_333).of(3), Ppm::from_ppm(333_333).of_up(3)), (0, 1));
        assert_eq!(Ppm::ALL.of(u64::MAX), u64::MAX);
    }

    #[test]
    fn kibibytes_are_1024_bytes_and_two_sectors() {
        assert_eq!(Bytes::from_kib(3).bytes(), 3_072);
        assert_eq!(Sectors::from_kib(3).sectors(), 6);
    }
}

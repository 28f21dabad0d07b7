//! Splitmix64 (Steele, Lea and Flood, OOPSLA 2014): the one source of pseudo-random numbers.

/// What the state grows by from number to number.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number that belongs to a state.
pub(crate) const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

//! The random numbers of the generator: `splitmix64`.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with
//! the constants of Vigna's public-domain `splitmix64.c`. 64 bits of state, every seed is good.
//! Integers only, so that the stream is the same on every machine; the conversions to floats are
//! exact.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An independent stream of the same seed, for another purpose.
    pub const fn stream(seed: u64, purpose: u64) -> Self {
        let mut mixer = Self::new(seed ^ purpose.wrapping_mul(0xd134_2543_de82_ef95));
        Self::new(mixer.next_u64())
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `bound`, by one draw (multiply and shift: the bias is below
    /// `bound` / 2^64). 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).expect("the high half of a product of 64-bit numbers")
    }

    /// An index below `bound`.
    pub(crate) fn below_usize(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).expect("below a usize")
    }

    /// Whether an event of this probability (parts per million) happens, by one draw.
    pub fn happens(&mut self, parts_per_million: u64) -> bool {
        self.below(1_000_000) < parts_per_million
    }

    /// A number in the open interval (0, 1): a multiple of 2^-52 plus 2^-53, exact.
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 52) as f64;
        ((self.next_u64() >> 12) as f64 + 0.5) * STEP
    }

    /// An exponentially distributed number of mean 1, by one draw; at most 36.8.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }
}

/// A hash of a number: every bit of it depends on every bit of the number.
pub(crate) const fn mixed(number: u64) -> u64 {
    SplitMix64::new(number).next_u64()
}

/// The seed of stream number `index` of a run: that of the run for the first one, so that a
/// workload alone is the same as the first of several.
pub const fn stream_seed(seed: u64, index: u64) -> u64 {
    // Purposes inside a stream are small numbers; these are not.
    if index == 0 { seed } else { SplitMix64::stream(seed, index << 32).next_u64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_test_vectors_come_out() {
        let mut random = SplitMix64::new(0);
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!([random.next_u64(), random.next_u64(), random.next_u64()], expected);
    }

    #[test]
    fn every_stream_of_a_run_has_a_seed_of_its_own() {
        assert_eq!(stream_seed(7, 0), 7);
        let mut seeds: Vec<u64> =
            (0..100).flat_map(|seed| (0..100).map(move |index| stream_seed(seed, index))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 10_000);
    }

    #[test]
    fn bounds_are_kept() {
        let mut random = SplitMix64::new(7);
        assert!((0..1_000).all(|_| random.below(3) < 3));
        assert!((0..1_000).all(|_| (0.0..1.0).contains(&random.unit())));
        assert!((0..1_000).all(|_| !random.happens(0)));
        assert!((0..1_000).all(|_| random.happens(1_000_000)));
        assert!((0..1_000).all(|_| (0.0..=36.8).contains(&random.exponential())));
    }
}

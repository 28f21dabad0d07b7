//! Where requests lie. Draws of stream 5: one where `sequential_percent` is above 0 (does it
//! continue?), whatever comes of it. Draws of stream 4, none for a request that continues: uniform,
//! `self_similar` and `fio_zipf` one; zipf one a try; `hot_cold` two (hot? then which place), and
//! so zoned; sequential and strided none.

use super::fio_zipf::FioZipf;
use super::keys::{Access, PatternKeys};
use super::self_similar::SelfSimilar;
use super::sizes::Sizes;
use super::zipf::Zipf;
use crate::random::SplitMix64;

/// The places of a range and the way through them.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The first sector of the range.
    start: u64,
    /// Sectors from one place to the next.
    align: u64,
    /// Places: multiples of `align` at which the largest request still fits.
    count: u64,
    walk: Walk,
    random: SplitMix64,
    /// Parts per million of the requests that continue, and the place behind the request before.
    continue_ppm: u64,
    behind: Option<u64>,
    continue_random: SplitMix64,
}

/// How the next place is found; distances in places.
#[derive(Clone, Debug)]
enum Walk {
    Uniform,
    Sequential { next: u64 },
    Zipf { zipf: Zipf, group: u64, scatter: Scatter },
    FioZipf { zipf: FioZipf, group: u64, scatters: bool },
    HotCold { hot: u64, hot_ppm: u64, scatter: Scatter },
    Strided { next: u64, lap: u64, stride: u64 },
    SelfSimilar { skew: SelfSimilar, scatter: Scatter },
    Zoned { zones: [Zone; 3] },
}

/// Places from one on, and the accesses that go to this zone or to one before it, in parts per
/// million.
#[derive(Clone, Copy, Debug)]
struct Zone {
    first: u64,
    count: u64,
    until_ppm: u64,
}

/// The zones of so many places. One without a place leaves its accesses to the next.
fn zones(keys: &PatternKeys, count: u64) -> [Zone; 3] {
    let share = |ppm: u64| {
        let places = u128::from(count) * u128::from(ppm.min(1_000_000)) / 1_000_000;
        u64::try_from(places).expect("a share of the places")
    };
    let (first, second) = (keys.zone_1_percent.ppm(), keys.zone_2_percent.ppm());
    let (until, next) = (keys.zone_1_accesses_percent.ppm(), keys.zone_2_accesses_percent.ppm());
    let ends = [share(first), share(first + second), count];
    let of = |zone: usize, until_ppm: u64| {
        let first = if zone == 0 { 0 } else { ends[zone - 1] };
        Zone { first, count: ends[zone] - first, until_ppm }
    };
    [of(0, until), of(1, until + next), of(2, u64::MAX)]
}

impl Places {
    /// Places for requests of these sizes in the `length` sectors from `start`; `None` where none
    /// fits.
    pub(super) fn new(
        keys: &PatternKeys,
        start: u64,
        length: u64,
        sizes: &Sizes,
        [random, continue_random]: [SplitMix64; 2],
    ) -> Option<Self> {
        let align = sizes.align();
        let count = length.checked_sub(sizes.largest())? / align + 1;
        let scatter = if keys.scatter { Scatter::new(count) } else { Scatter::none(count) };
        let exponent = keys.zipf_exponent.thousandths() as f64 / 1e3;
        let ranks = if keys.zipf_ranks == 0 { count } else { keys.zipf_ranks };
        // Ranks that share a place.
        let group = ranks.div_ceil(count);
        let walk = match keys.access {
            Access::Uniform => Walk::Uniform,
            Access::Sequential => Walk::Sequential { next: 0 },
            Access::Zipf => Walk::Zipf { zipf: Zipf::new(ranks, exponent), group, scatter },
            Access::FioZipf => {
                let zipf = FioZipf::new(ranks, exponent);
                Walk::FioZipf { zipf, group, scatters: keys.scatter }
            }
            Access::HotCold => {
                let hot = u128::from(count) * u128::from(keys.hot_units_percent.ppm()) / 1_000_000;
                let hot = u64::try_from(hot).expect("a share of the places");
                Walk::HotCold { hot, hot_ppm: keys.hot_accesses_percent.ppm(), scatter }
            }
            Access::Strided => {
                Walk::Strided { next: 0, lap: 0, stride: keys.stride_kib.sectors().div_ceil(align) }
            }
            Access::SelfSimilar => {
                Walk::SelfSimilar { skew: SelfSimilar::new(keys.skew_percent.ppm()), scatter }
            }
            Access::Zoned => Walk::Zoned { zones: zones(keys, count) },
        };
        let continue_ppm = keys.sequential_percent;
        let behind = None;
        Some(Self {
            start,
            align,
            count,
            walk,
            random,
            continue_ppm: continue_ppm.ppm(),
            behind,
            continue_random,
        })
    }

    /// How many places there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The first sector of a request of `sectors`.
    #[inline]
    pub(super) fn draw(&mut self, sectors: u64) -> u64 {
        let place = if self.continue_ppm == 0 {
            self.walk(sectors)
        } else {
            let continues = self.continue_random.happens(self.continue_ppm);
            let behind = self.behind.filter(|behind| continues && *behind < self.count);
            let place = behind.unwrap_or_else(|| self.walk(sectors));
            self.behind = Some(place + sectors.div_ceil(self.align));
            place
        };
        self.start + place * self.align
    }

    /// The next place by the rule.
    #[inline]
    fn walk(&mut self, sectors: u64) -> u64 {
        let count = self.count;
        match &mut self.walk {
            Walk::Uniform => self.random.below(count),
            Walk::Zipf { zipf, group, scatter } => {
                scatter.place(zipf.draw(&mut self.random) / *group)
            }
            Walk::FioZipf { zipf, group, scatters } => {
                let rank = zipf.draw(&mut self.random) / *group;
                if *scatters { FioZipf::place(rank, count) } else { rank }
            }
            Walk::SelfSimilar { skew, scatter } => {
                scatter.place(skew.rank(self.random.unit(), count))
            }
            Walk::HotCold { hot, hot_ppm, scatter } => {
                let is_hot = self.random.happens(*hot_ppm);
                let (first, last) = match (is_hot, *hot) {
                    (true, 1..) => (0, *hot),
                    (false, hot) if hot < count => (hot, count),
                    // One kind only: it gets everything.
                    _ => (0, count),
                };
                scatter.place(first + self.random.below(last - first))
            }
            Walk::Zoned { zones } => {
                let drawn = self.random.below(1_000_000);
                let zone = zones.iter().find(|zone| drawn < zone.until_ppm && zone.count > 0);
                // The third zone may have no place.
                let all = Zone { first: 0, count, until_ppm: 0 };
                let Zone { first, count, .. } = *zone.unwrap_or(&all);
                first + self.random.below(count)
            }
            Walk::Sequential { next } => {
                let place = if *next < count { *next } else { 0 };
                *next = place + sectors.div_ceil(self.align);
                place
            }
            Walk::Strided { next, lap, stride } => {
                if *next >= count {
                    *lap = (*lap + 1) % (*stride).min(count);
                    *next = *lap;
                }
                let place = *next;
                *next = place + *stride;
                place
            }
        }
    }
}

/// A permutation of the places that lays neighbours far apart: multiplication by a number near the
/// golden section of their count and without a common divisor with it.
#[derive(Clone, Copy, Debug)]
struct Scatter {
    factor: u64,
    count: u64,
}

impl Scatter {
    /// Leaves every place where it is.
    const fn none(count: u64) -> Self {
        Self { factor: 1, count }
    }

    fn new(count: u64) -> Self {
        // 2^64 / golden ratio, as a fraction of 2^64.
        let near = (u128::from(count) * 0x9e37_79b9_7f4a_7c15) >> 64;
        let mut factor = u64::try_from(near).expect("below count").max(1);
        while common_divisor(factor, count) != 1 {
            factor += 1;
        }
        Self { factor, count }
    }

    fn place(self, rank: u64) -> u64 {
        if let Some(product) = rank.checked_mul(self.factor) {
            return product % self.count;
        }
        let product = u128::from(rank) * u128::from(self.factor);
        u64::try_from(product % u128::from(self.count)).expect("below count")
    }
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_a_permutation_that_parts_neighbours() {
        for count in [1, 2, 3, 4, 5, 12, 97, 1_000, 1 << 12] {
            let scatter = Scatter::new(count);
            let mut places: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < count / 4);
            assert_eq!(near.count(), 0, "{count}");
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn scattering_goes_beyond_64_bits() {
        let count = (1 << 40) + 7;
        let scatter = Scatter::new(count);
        let expected = u128::from(count - 1) * u128::from(scatter.factor) % u128::from(count);
        assert_eq!(u128::from(scatter.place(count - 1)), expected);
        // The last rank and the second add up to a multiple of the count: -f and f.
        assert_eq!(scatter.place(count - 1) + scatter.place(1), count);
    }

    #[test]
    fn common_divisors_are_the_greatest() {
        assert_eq!(
            [common_divisor(12, 18), common_divisor(7, 1), common_divisor(35, 64)],
            [6, 1, 1]
        );
    }
}

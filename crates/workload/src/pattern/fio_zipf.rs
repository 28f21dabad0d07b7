//! Ranks as `random_distribution=zipf` of fio draws them.
//!
//! Source: fio, `lib/zipf.c`, by the method of Gray, Sundaresan, Englert, Baclawski, Weinberger,
//! "Quickly generating billion-record synthetic databases", SIGMOD 1994: the first two ranks have
//! their chances, all others come from one power of a uniform number. fio sums at most 10 million
//! terms of the zeta function, and multiplies the rank by a constant to scatter it, so that several
//! ranks may share a place and others have none: how many depends on the number of places. A power
//! of two has a rank for each place; the tests have other shares.

use super::self_similar::rank;
use crate::random::SplitMix64;

/// Terms of the zeta function that fio sums at most.
const MOST_TERMS: u64 = 10_000_000;
/// Terms that are summed one by one; the others follow from the formula of Euler and Maclaurin.
const TERMS: u64 = 1_000;
/// What fio multiplies a rank by, modulo 2^64: about 2^64 / golden ratio squared.
const FACTOR: u64 = 0x61c8_8646_80b5_83eb;

/// A Zipf distribution by fio's definition.
#[derive(Clone, Copy, Debug)]
pub(super) struct FioZipf {
    ranks: u64,
    /// The zeta function of the ranks, and the part of it of the first two.
    zeta: f64,
    zeta_2: f64,
    /// The power, and what it is taken of: 1 + eta (u - 1).
    alpha: f64,
    eta: f64,
}

impl FioZipf {
    /// Ranks 0 to `ranks` - 1, which is at least 1; an exponent of 1 is taken as 1.000001, since
    /// the method divides by its distance from 1.
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let exponent = if (exponent - 1.0).abs() < 1e-6 { 1.000_001 } else { exponent };
        let zeta = zeta(ranks.min(MOST_TERMS), exponent);
        let zeta_2 = 1.0 + libm::pow(0.5, exponent);
        let rest = 1.0 - libm::pow(2.0 / ranks as f64, 1.0 - exponent);
        Self {
            ranks,
            zeta,
            zeta_2,
            alpha: 1.0 / (1.0 - exponent),
            eta: rest / (1.0 - zeta_2 / zeta),
        }
    }

    /// A rank from 0; one draw.
    pub(super) fn draw(&self, random: &mut SplitMix64) -> u64 {
        let u = random.unit();
        let area = u * self.zeta;
        if area < 1.0 || self.ranks == 1 {
            0
        } else if area < self.zeta_2 || self.ranks == 2 {
            1
        } else {
            rank(libm::pow(1.0 + self.eta * (u - 1.0), self.alpha), self.ranks)
        }
    }

    /// The place of a rank among so many, scattered.
    pub(super) const fn place(rank: u64, count: u64) -> u64 {
        rank.wrapping_mul(FACTOR) % count
    }
}

/// The sum of k^-s for k from 1 to n.
fn zeta(n: u64, s: f64) -> f64 {
    let term = |k: f64| libm::pow(k, -s);
    let head: f64 = (1..=n.min(TERMS)).map(|k| term(k as f64)).sum();
    if n <= TERMS {
        return head;
    }
    let (from, to) = (TERMS as f64, n as f64);
    let integral = |x: f64| libm::pow(x, 1.0 - s) / (1.0 - s);
    let slope = |x: f64| -s * libm::pow(x, -s - 1.0);
    head + integral(to) - integral(from)
        + (term(to) - term(from)) / 2.0
        + (slope(to) - slope(from)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_the_sum_of_its_terms() {
        for s in [0.2, 0.99, 1.2, 2.2] {
            let sum: f64 = (1..=200_000_u32).map(|k| f64::from(k).powf(-s)).sum();
            assert!((zeta(200_000, s) / sum - 1.0).abs() < 1e-12, "{s}");
        }
    }

    #[test]
    fn the_first_two_ranks_have_their_chances_and_the_others_nearly() {
        let (mut random, draws, ranks) = (SplitMix64::new(1), 400_000, 1_000);
        for exponent in [0.8, 1.2, 2.2] {
            let zipf = FioZipf::new(ranks, exponent);
            let mut counts = vec![0_u32; 1_000];
            for _ in 0..draws {
                counts[usize::try_from(zipf.draw(&mut random)).expect("a rank")] += 1;
            }
            let share = |count: u32| f64::from(count) / f64::from(draws);
            let chance = |k: f64| k.powf(-exponent) / zeta(ranks, exponent);
            // Four deviations of a share of `draws`; at most a half.
            let noise = 4.0 * 0.5 / f64::from(draws).sqrt();
            assert!((share(counts[0]) - chance(1.0)).abs() < noise, "{exponent}");
            assert!((share(counts[1]) - chance(2.0)).abs() < noise, "{exponent}");
            // The ranks behind: 1 + eta (u - 1) = (rank / n)^(1 - exponent) at the edge of a rank.
            for edge in [10_u32, 100, 500] {
                let part = (f64::from(edge) / ranks as f64).powf(1.0 - exponent);
                let below = 1.0 + (part - 1.0) / zipf.eta;
                let found = share(counts[..edge as usize].iter().sum());
                assert!((found - below).abs() < noise, "{exponent}, {edge}: {found} {below}");
            }
        }
    }

    /// The shares that docs/WORKLOADS.md tells.
    #[test]
    fn the_number_of_places_decides_how_many_have_no_rank() {
        let empty_permille = |count: u32| {
            let mut has_rank = vec![false; count as usize];
            for rank in 0..count {
                let place = FioZipf::place(rank.into(), count.into());
                has_rank[usize::try_from(place).expect("a place")] = true;
            }
            let empty = has_rank.iter().filter(|has| !**has).count();
            (1_000 * empty + count as usize / 2) / count as usize
        };
        let found = [1 << 10, 1 << 17, 1_000, 412_876, 412_877].map(empty_permille);
        assert_eq!(found, [0, 0, 692, 107, 485]);
    }

    #[test]
    fn scattered_ranks_are_products_modulo_two_to_the_64th() {
        // 7,046,029,254,386,353,131 and three times as much, less 2^64.
        assert_eq!(FioZipf::place(1, 100), 31);
        assert_eq!(FioZipf::place(3, 1_000), 777);
    }
}

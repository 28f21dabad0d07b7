//! Read retry: a page that cannot be decoded is sensed again, with other read levels.
//!
//! Sources: Park et al., "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry", ASPLOS
//! 2021, describe one sense after the other with adjusted read levels until the page is decoded; Ye
//! et al., "Achieving Near-Zero Read Retry for 3D NAND Flash Memory", ASPLOS 2024, that there are
//! more of them the more cycles a block has. The distribution of their number is assumed. An
//! operation on several pages senses all of them again, as often as the one needs that is decoded
//! last, and each sense takes as long as the first. Draws are counted, so they do not depend on
//! time.
//!
//! Deviations: how long the data have been stored and the type of the page do not matter, and the
//! data of a sense that cannot be decoded cross no channel (`retry.step_us` stands for their time).

use crate::config::Settings;
use crate::random::{STEP, mix};
use crate::sets::Stage;
use flashyard_core::units::Span;

/// Which pages are sensed again, and how often.
#[derive(Clone, Debug)]
pub(super) struct Retry {
    /// Rows of cycles and a chance in parts per million, by rising cycles.
    rows: Vec<(u64, u64)>,
    /// The chance that a further sense is followed by another, in parts per million.
    again_ppm: u64,
    most: u32,
    /// Time before each further sense.
    pub(super) step: Span,
    cycles_before: u64,
    /// Whether copies leave their die, and so are decoded.
    decodes_copies: bool,
    /// What sets these draws apart from others, and how many there were.
    seed: u64,
    pub(super) drawn: u64,
}

impl Retry {
    /// What the keys say; none where no page is ever sensed again.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let keys = &settings.keys.retry;
        keys.is_on().then(|| {
            Box::new(Self {
                rows: keys.rows().collect(),
                again_ppm: keys.again_percent.ppm(),
                most: u32::try_from(keys.most).expect("the key's range fits 32 bits"),
                step: keys.step_us,
                cycles_before: keys.cycles_before,
                decodes_copies: !settings.keys.gc.copyback,
                seed: mix(RETRY_SEED ^ keys.seed.wrapping_mul(STEP)),
                drawn: 0,
            })
        })
    }

    /// How often a page is sensed again of a block that has been erased so often in this run.
    pub(super) fn senses(&mut self, stage: Stage, erases: u32) -> u32 {
        if stage.is_copy() && !self.decodes_copies {
            return 0;
        }
        let mut senses = 0;
        let mut ppm = self.chance_ppm(self.cycles_before + u64::from(erases));
        while senses < self.most && self.happens(ppm) {
            senses += 1;
            ppm = self.again_ppm;
        }
        senses
    }

    /// The chance at an age in parts per million: interpolated between two rows, rounded down
    /// towards the earlier one; beyond the last row as there.
    fn chance_ppm(&self, cycles: u64) -> u64 {
        let next = self.rows.partition_point(|row| row.0 <= cycles);
        let (from, first) = self.rows[next - 1];
        let Some(&(until, last)) = self.rows.get(next) else { return first };
        // Cycles are below 2^31 and chances below 2^20.
        let change = first.abs_diff(last) * (cycles - from) / (until - from);
        if last > first { first + change } else { first - change }
    }

    /// Whether the next draw is below a chance.
    fn happens(&mut self, ppm: u64) -> bool {
        self.drawn += 1;
        let number = mix(self.seed ^ self.drawn.wrapping_mul(STEP));
        (u128::from(number) * 1_000_000) >> 64 < u128::from(ppm)
    }
}

/// What sets the random numbers of read retry apart from others.
const RETRY_SEED: u64 = 0x52D4_3C90_91E7_6A3B;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DeviceKeys;
    use flashyard_core::quantity::Ppm;

    fn retry(change: impl FnOnce(&mut DeviceKeys)) -> Retry {
        let mut keys = DeviceKeys::default();
        keys.retry.chance_percent = Ppm::from_percent(10);
        change(&mut keys);
        *Retry::new(&Settings::new(keys).expect("a device")).expect("pages are sensed again")
    }

    #[test]
    fn chances_are_interpolated_between_rows_and_stay_beyond_the_last() {
        let table = retry(|keys| {
            keys.retry.age_2_cycles = 100;
            keys.retry.chance_2_percent = Ppm::from_percent(30);
            keys.retry.age_3_cycles = 200;
            keys.retry.chance_3_percent = Ppm::from_percent(20);
        });
        let chances = [(0, 100_000), (1, 102_000), (99, 298_000), (100, 300_000), (150, 250_000)];
        for (cycles, ppm) in chances.into_iter().chain([(200, 200_000), (1 << 31, 200_000)]) {
            assert_eq!(table.chance_ppm(cycles), ppm, "{cycles} cycles");
        }
    }

    /// P(n = k) = p q^(k - 1) (1 - q), and the rest at the limit: within five deviations.
    #[test]
    fn numbers_of_senses_are_geometric_up_to_the_limit() {
        let mut retry = retry(|keys| {
            keys.retry.again_percent = Ppm::from_percent(60);
            keys.retry.most = 4;
        });
        let (count, mut found) = (1_000_000, [0_u32; 5]);
        for _ in 0..count {
            found[retry.senses(Stage::Read, 0) as usize] += 1;
        }
        let expected = [0.9, 0.04, 0.024, 0.0144, 0.0216];
        for (senses, (found, share)) in found.into_iter().zip(expected).enumerate() {
            let (mean, variance) = (1e6 * share, 1e6 * share * (1.0 - share));
            let off = f64::from(found) - mean;
            assert!(off.abs() < 5.0 * f64::sqrt(variance), "{senses}: {found}, not {mean}");
        }
    }

    #[test]
    fn certain_and_impossible_draws_are_so() {
        let mut always = retry(|keys| {
            keys.retry.chance_percent = Ppm::ALL;
            keys.retry.again_percent = Ppm::ALL;
            keys.retry.most = 3;
        });
        let mut once = retry(|keys| {
            keys.retry.chance_percent = Ppm::ALL;
            keys.retry.again_percent = Ppm::ZERO;
        });
        for _ in 0..10_000 {
            assert_eq!([&mut always, &mut once].map(|retry| retry.senses(Stage::Read, 7)), [3, 1]);
        }
    }

    /// What stays on its die is decoded by nobody.
    #[test]
    fn copies_are_sensed_again_where_they_leave_their_die() {
        for copyback in [false, true] {
            let mut retry = retry(|keys| {
                keys.retry.chance_percent = Ppm::ALL;
                keys.gc.copyback = copyback;
            });
            assert_eq!(retry.senses(Stage::CopyRead, 0) > 0, !copyback);
            assert!(retry.senses(Stage::Read, 0) > 0);
        }
    }
}

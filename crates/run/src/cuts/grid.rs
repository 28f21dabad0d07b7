//! Instants of cuts: random ones, spread evenly over a time whose end nobody knows yet.
//!
//! Time is divided into cells of equal width, with a cut in each. When there are too many, pairs
//! of cells become one, whose cut is that of either of the two, with equal chances: so a cut is
//! equally likely at each nanosecond of its cell, whatever its width.

/// The next number of a generator (splitmix64).
const fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where cuts are, of which at most so many are kept at a time.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    seed: u64,
    /// A cell is 2 to this power nanoseconds wide.
    level: u32,
    /// The instant of the next cut.
    next: u64,
}

impl Grid {
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed, level: 0, next: 0 }
    }

    /// The instant of the next cut, in nanoseconds.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// That cut has been made.
    pub(super) const fn pass(&mut self) {
        self.next = self.instant((self.next >> self.level) + 1);
    }

    /// Pairs of cells become one: from now on a cut that was made counts if [`Self::keeps`] it.
    pub(super) const fn widen(&mut self) {
        let pending = self.next;
        self.level += 1;
        self.next = self.instant(pending >> self.level);
        if self.next < pending {
            // The first half of the cell has the cut, and it has been made.
            self.pass();
        }
    }

    /// Whether a cell has its cut at this instant.
    pub(super) const fn keeps(&self, instant: u64) -> bool {
        self.instant(instant >> self.level) == instant
    }

    /// The instant of the cut of a cell: from level to level, one of its halves is chosen.
    const fn instant(&self, cell: u64) -> u64 {
        let (mut cell, mut level) = (cell, self.level);
        while level > 0 {
            let chosen = mix(mix(self.seed ^ ((level as u64) << 56)) ^ cell) & 1;
            cell = 2 * cell + chosen;
            level -= 1;
        }
        cell
    }

    /// A number that chooses among cuts of the same width.
    pub(super) const fn rank(&self, instant: u64) -> u64 {
        mix(mix(!self.seed) ^ instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All cuts up to an instant, at most so many.
    fn cuts(seed: u64, until: u64, most: usize) -> (Vec<u64>, u64) {
        let (mut grid, mut made) = (Grid::new(seed), Vec::new());
        while grid.next() < until {
            made.push(grid.next());
            grid.pass();
            if made.len() == most {
                grid.widen();
                made.retain(|&instant| grid.keeps(instant));
            }
        }
        (made, 1 << grid.level)
    }

    #[test]
    fn each_cell_has_one_cut_whatever_happened_before() {
        for (seed, until, most) in [(1, 1_000, 64), (2, 100_000, 64), (3, 5_000, 10_000)] {
            let (made, width) = cuts(seed, until, most);
            let mut grid = Grid::new(seed);
            (0..width.trailing_zeros()).for_each(|_| grid.level += 1);
            let wanted = (0..until.div_ceil(width)).map(|cell| grid.instant(cell));
            assert_eq!(made, wanted.filter(|&instant| instant < until).collect::<Vec<_>>());
            assert!(made.len() < most && (width == 1 || 2 * made.len() >= most - 2), "{width}");
        }
    }

    /// Of many seeds, each instant of a cell is chosen equally often: chi-squared with 15 degrees
    /// of freedom is below 37.7 in 999 of 1,000 samples.
    #[test]
    fn a_cut_is_anywhere_in_its_cell() {
        let mut counts = [0_u32; 16];
        for seed in 0..16_000 {
            let grid = Grid { seed, level: 4, next: 0 };
            counts[usize::try_from(grid.instant(5) - 80).expect("in its cell")] += 1;
        }
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi < 37.7, "{chi}: {counts:?}");
    }
}

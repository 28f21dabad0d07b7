//! Read retry: the section `[retry]`. Pages that cannot be decoded are sensed again.

use flashyard_core::key::Kind;
use flashyard_core::keys;
use flashyard_core::quantity::Ppm;
use flashyard_core::units::Span;

keys! {
    /// Keys of `[retry]`. A table of up to four rows gives the chance that a page cannot be decoded
    /// by the program and erase cycles of its block: the first row is of 0 cycles, between two rows
    /// the chance is interpolated, and beyond the last one it stays.
    pub struct RetryKeys {
        /// Chance that a page of a block without a cycle cannot be decoded when it is sensed first,
        /// so that it is sensed again. If all four chances are 0, no page is.
        chance_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: every page is decoded at once",
            flip: "50", with: &["@full"],
        },
        /// Cycles of the second row; 0: there is none.
        age_2_cycles: u64 = 0 => {
            kind: Kind::count("cycles", 0, 1 << 30),
            source: "assumed: no second row",
            flip: "500",
            with: &["@full", "retry.chance_2_percent=90", "retry.age_2_cycles=1000", "retry.cycles_before=400"],
        },
        /// Chance of the second row.
        chance_2_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: every page is decoded at once",
            flip: "50",
            with: &["@full", "retry.age_2_cycles=1000", "retry.cycles_before=1000"],
        },
        /// Cycles of the third row; 0: there is none.
        age_3_cycles: u64 = 0 => {
            kind: Kind::count("cycles", 0, 1 << 30),
            source: "assumed: no third row",
            flip: "3000",
            with: &[
                "@full", "retry.age_2_cycles=1000", "retry.age_3_cycles=2000",
                "retry.chance_3_percent=90", "retry.cycles_before=1500",
            ],
        },
        /// Chance of the third row.
        chance_3_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: every page is decoded at once",
            flip: "50",
            with: &[
                "@full", "retry.age_2_cycles=1000", "retry.age_3_cycles=2000",
                "retry.cycles_before=2000",
            ],
        },
        /// Cycles of the fourth row; 0: there is none.
        age_4_cycles: u64 = 0 => {
            kind: Kind::count("cycles", 0, 1 << 30),
            source: "assumed: no fourth row",
            flip: "4000",
            with: &[
                "@full", "retry.age_2_cycles=1000", "retry.age_3_cycles=2000",
                "retry.age_4_cycles=3000", "retry.chance_4_percent=90", "retry.cycles_before=2500",
            ],
        },
        /// Chance of the fourth row.
        chance_4_percent: Ppm = Ppm::ZERO => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: every page is decoded at once",
            flip: "50",
            with: &[
                "@full", "retry.age_2_cycles=1000", "retry.age_3_cycles=2000",
                "retry.age_4_cycles=3000", "retry.cycles_before=3000",
            ],
        },
        /// Cycles that every block had before the run, which the erases of the run are added to.
        cycles_before: u64 = 0 => {
            kind: Kind::count("cycles", 0, 1 << 30),
            source: "assumed: a new device",
            flip: "1000",
            with: &["@full", "retry.age_2_cycles=1000", "retry.chance_2_percent=50"],
        },
        /// Chance that a page which is sensed again cannot be decoded then either, and is sensed
        /// once more. A page that is not decoded at once needs 1 / (1 - this) further senses on
        /// average, without the limit `most`.
        again_percent: Ppm = Ppm::from_percent(50) => {
            kind: Kind::percent(0, 1_000_000),
            source: "assumed: two further senses on average; Ye et al., ASPLOS 2024: over three at 3,000 cycles",
            flip: "90", with: &["@full", "retry.chance_percent=50"],
        },
        /// Greatest number of senses after the first one. The last of them decodes the page.
        most: u64 = 10 => {
            kind: Kind::count("senses", 1, 1_000),
            source: "assumed",
            flip: "1", with: &["@full", "retry.chance_percent=50"],
        },
        /// Time of the die before each sense after the first one, in which the controller finds the
        /// page undecodable and shifts the read levels of the chip. Where channels carry data, it
        /// stands for what crosses the channel too. It takes no energy of the array.
        step_us: Span = Span::from_us(1) => {
            kind: Kind::micros(0, 4_000_000_000),
            source: "assumed: a command that sets a feature of the chip",
            flip: "20", with: &["@full", "retry.chance_percent=50"],
        },
        /// Seed of the draws.
        seed: u64 = 1 => {
            kind: Kind::count("seed", 0, 1 << 32),
            source: "assumed",
            flip: "2", with: &["@full", "retry.chance_percent=50"],
        },
    }
}

impl RetryKeys {
    /// The rows of the table that there are: cycles and the chance in parts per million.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let others = [
            (self.age_2_cycles, self.chance_2_percent),
            (self.age_3_cycles, self.chance_3_percent),
            (self.age_4_cycles, self.chance_4_percent),
        ];
        let others = others.into_iter().filter(|(cycles, _)| *cycles > 0);
        let all = std::iter::once((0, self.chance_percent)).chain(others);
        all.map(|(cycles, chance)| (cycles, chance.ppm()))
    }

    /// Whether pages are ever sensed again.
    pub fn is_on(&self) -> bool {
        self.rows().any(|(_, ppm)| ppm > 0)
    }
}

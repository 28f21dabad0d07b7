//! The labs as they are listed, and an answer to one.

/// The exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lab {
    /// `gc-rule`.
    GcRule,
    /// `slow-tail`.
    SlowTail,
    /// `spare-space`.
    SpareSpace,
}

/// A lab as it is listed.
struct Row {
    lab: Lab,
    number: &'static str,
    name: &'static str,
    task: &'static str,
    /// As Markdown; `docs/labs` has the same.
    sheet: &'static str,
}

const ROWS: [Row; 3] = [
    Row {
        lab: Lab::GcRule,
        number: "1",
        name: "gc-rule",
        task: "Write a rule for victims of garbage collection",
        sheet: include_str!("../labs/gc-rule.md"),
    },
    Row {
        lab: Lab::SlowTail,
        number: "2",
        name: "slow-tail",
        task: "Find why the tail of reads is slow",
        sheet: include_str!("../labs/slow-tail.md"),
    },
    Row {
        lab: Lab::SpareSpace,
        number: "3",
        name: "spare-space",
        task: "Choose over-provisioning",
        sheet: include_str!("../labs/spare-space.md"),
    },
];

impl Lab {
    /// All labs in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.lab)
    }

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Its number, from 1 on.
    pub const fn number(self) -> &'static str {
        self.row().number
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// What is to be done, in a few words.
    pub const fn task(self) -> &'static str {
        self.row().task
    }

    /// Its sheet as Markdown.
    pub const fn sheet(self) -> &'static str {
        self.row().sheet
    }
}

/// An answer to a lab.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The lab.
    pub lab: Lab,
    /// Of `gc-rule` the name of the rule, of the others the file with the answers.
    pub answer: &'a str,
    /// The variant; none for that of the file, or 1.
    pub seed: Option<u64>,
    /// Settings of keys of the rule, for `gc-rule` alone.
    pub set: &'a [String],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_labs_are_in_their_order() {
        assert!(Lab::all().all(|lab| lab.row().lab == lab));
    }
}

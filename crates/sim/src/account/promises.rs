//! Which changes of each unit were promised to outlive a loss of power: by their answers, or by a
//! flush that arrived behind these.

use std::collections::BTreeMap;

/// An answer that promises nothing by itself.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Its place among all answers.
    answer: u64,
    trims: bool,
}

/// What the host was promised of each unit, whether a page holds it by now or not.
#[derive(Clone, Debug)]
pub(super) struct Promises {
    /// Whether all that is answered is to be kept: nothing else is noted then.
    keeps_all: bool,
    /// The number of the newest change of each unit that was promised, plus one, and whether it
    /// is a trim.
    number: Vec<u64>,
    trims: Vec<bool>,
    /// Newer answers, by unit and number of the change: of each unit the newest one, and those
    /// which a flush under way covers.
    told: BTreeMap<(u32, u64), Told>,
    /// Answers before the arrival of the last flush, answered or not.
    asked: u64,
}

impl Promises {
    /// Those of a device of so many units.
    pub(super) fn new(units: usize, keeps_all: bool) -> Self {
        let noted = if keeps_all { 0 } else { units };
        let (number, trims) = (vec![0; noted], vec![false; noted]);
        Self { keeps_all, number, trims, told: BTreeMap::new(), asked: 0 }
    }

    /// A flush arrives behind so many answers.
    pub(super) const fn flush_arrives(&mut self, before: u64) {
        self.asked = before;
    }

    /// A flush is answered that arrived behind so many answers: what these told is promised.
    pub(super) fn flush_over(&mut self, before: u64) {
        let mut told = std::mem::take(&mut self.told);
        told.retain(|&(lpn, number), told| {
            let is_promised = told.answer <= before;
            if is_promised {
                self.promise((lpn, number), told.trims);
            }
            !is_promised
        });
        self.told = told;
    }

    /// The answer with this place tells of a change, and says that it is kept (`durable`) or not.
    pub(super) fn tell(
        &mut self,
        (lpn, number): (u32, u64),
        (answer, durable): (u64, bool),
        trims: bool,
    ) {
        if self.keeps_all {
            return;
        }
        if durable {
            return self.promise((lpn, number), trims);
        }
        // Older changes that no flush under way covers will be covered with this one.
        while let Some((&key, told)) = self.told.range((lpn, 0)..(lpn, number)).next_back()
            && told.answer > self.asked
        {
            self.told.remove(&key);
        }
        self.told.insert((lpn, number), Told { answer, trims });
    }

    /// The power was off, and each unit has this change now, plus one, 0 of none, which trims or
    /// not. Nothing is newer: what was told of it is void. What is there the host reads, and the
    /// next flush covers it, as if the answer with this place had told of it.
    pub(super) fn restart(&mut self, kept: impl Iterator<Item = (u64, bool)>, answer: u64) {
        self.told.clear();
        let promised = self.number.iter_mut().zip(&mut self.trims);
        for ((lpn, (number, trims)), kept) in (0u32..).zip(promised).zip(kept) {
            if *number >= kept.0 {
                (*number, *trims) = kept;
            } else {
                self.told.insert((lpn, kept.0 - 1), Told { answer, trims: kept.1 });
            }
        }
    }

    fn promise(&mut self, (lpn, number): (u32, u64), trims: bool) {
        let newest = &mut self.number[lpn as usize];
        if *newest <= number {
            (*newest, self.trims[lpn as usize]) = (number + 1, trims);
        }
    }

    /// Whether all that is answered is to be kept.
    pub(super) const fn are_of_all(&self) -> bool {
        self.keeps_all
    }

    /// Whether something newer of a unit was promised than the change that it has now, with a
    /// number plus one, 0 of none; it `holds` contents or nothing, as a trim has it.
    pub(super) fn wants_newer(&self, lpn: u32, kept: u64, holds: bool) -> bool {
        let newest = self.number.get(lpn as usize).is_some_and(|newest| *newest > kept);
        newest && (holds || !self.trims[lpn as usize])
    }
}

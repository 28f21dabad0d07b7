//! Tracks beside one another for what overlaps: slices of one track must not.

use flashyard_core::units::Time;

/// The tracks of a group, and until when each is in use.
#[derive(Debug, Default)]
pub(super) struct Lanes(Vec<(u64, Time)>);

impl Lanes {
    /// The first track that is free from an instant on; `open` makes the track of a number. Slices
    /// come in the order in which they begin.
    pub(super) fn place(
        &mut self,
        from: Time,
        until: Time,
        open: impl FnOnce(usize) -> u64,
    ) -> u64 {
        if let Some(lane) = self.0.iter_mut().find(|lane| lane.1 <= from) {
            lane.1 = until;
            return lane.0;
        }
        let track = open(self.0.len());
        self.0.push((track, until));
        track
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_gets_another_track() {
        let mut lanes = Lanes::default();
        let mut place = |from, until| {
            lanes.place(Time::from_ns(from), Time::from_ns(until), |lane| lane as u64)
        };
        assert_eq!([place(0, 10), place(5, 7), place(7, 9), place(8, 20)], [0, 1, 1, 2]);
        assert_eq!([place(10, 11), place(10, 30), place(11, 12)], [0, 1, 0]);
    }
}

//! What a bus policy sees, and what it answers.

use crate::bus::request::{BusClass, BusKind};
use crate::units::Time;

/// What a bus policy sees of an operation whose next request can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The place of the operation in the order in which lanes took operations, from 0.
    pub number: u64,
    /// The stream that asked for it.
    pub stream: u16,
    /// When the operation was handed over.
    pub since: Time,
    /// The request to send.
    pub kind: BusKind,
    /// Whether its array has been started.
    pub started: bool,
    /// The place of the request in the order in which requests could be sent.
    pub wanted: u64,
}

/// What a bus policy knows of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView<'a> {
    /// By lane: the operation that it serves, where its next request can be sent now.
    pub candidates: &'a [Option<Candidate>],
    /// Operations whose array has been started.
    pub started: u64,
    /// Operations that are complete.
    pub completed: u64,
    /// The lane that moved data last.
    pub last_data: usize,
}

impl ChannelView<'_> {
    /// The lane with the least `order` among those that `fits` allows, the lowest one among equals.
    pub fn least<K: Ord>(
        &self,
        fits: impl Fn(&Candidate) -> bool,
        order: impl Fn(usize, &Candidate) -> K,
    ) -> Option<usize> {
        let lanes = self.candidates.iter().enumerate();
        let lanes = lanes.filter_map(|(lane, candidate)| {
            candidate.filter(&fits).map(|candidate| (order(lane, &candidate), lane))
        });
        lanes.min().map(|(_, lane)| lane)
    }

    /// The lane to serve among those that `fits` allows: activations and status requests go before
    /// data, and the lowest lane first among equals.
    pub fn first(&self, fits: impl Fn(&Candidate) -> bool) -> Option<usize> {
        self.least(fits, |_, candidate| candidate.kind.class().rank())
    }
}

/// Chooses which lane gets the bus.
///
/// Every answer MUST depend on the view and the settings alone.
pub trait BusPolicy {
    /// The lane whose request is sent now, one of the candidates; none to leave the bus idle until
    /// something changes.
    fn pick(&self, channel: &ChannelView<'_>) -> Option<usize>;

    /// Whether operations enter lanes in the order of their arrival, over all chips: a free lane
    /// stays idle while an older operation waits for a busy lane.
    fn gates_dispatch(&self) -> bool {
        false
    }
}

/// Short requests before data.
pub(super) const fn is_data(candidate: &Candidate) -> bool {
    matches!(candidate.kind.class(), BusClass::Data)
}

//! First in, first out.

use super::interface::{HostAnswer, HostPolicy, HostView};

crate::keys! {
    /// The policy has no keys.
    pub struct FifoKeys {}
}

impl HostPolicy for FifoKeys {
    fn pick(&self, view: &(impl HostView + ?Sized)) -> HostAnswer {
        if view.waiting() == 0 { HostAnswer::Wait } else { HostAnswer::Start(0) }
    }

    fn in_order(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fake::Fake;
    use super::*;

    #[test]
    fn the_oldest_request_starts() {
        let fifo = FifoKeys {};
        assert!(fifo.in_order() && !fifo.by_pages());
        assert_eq!(fifo.pick(&Fake::default().read(5, 1).read(6, 1)), HostAnswer::Start(0));
        assert_eq!(fifo.pick(&Fake::default()), HostAnswer::Wait);
    }
}

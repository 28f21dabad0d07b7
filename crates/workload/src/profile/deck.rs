//! Counts that are dealt like a shuffled pack of cards.
//!
//! A pack has as many cards of a kind as the trace had. Cards are drawn without being put back, so
//! that a whole pack has the mean of the trace exactly, however few cards it has; then it is
//! gathered and shuffled anew.

use crate::random::SplitMix64;

/// A pack of cards of several kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Deck {
    /// Pairs of what stands on a card and how many there are.
    cards: Vec<[u64; 2]>,
    left: Vec<u64>,
    total: u64,
}

impl Deck {
    /// A pack of these cards: pairs of what stands on a card and how many there are.
    pub(super) fn new(cards: Vec<[u64; 2]>) -> Self {
        Self { left: vec![0; cards.len()], total: 0, cards }
    }

    /// Adds cards to a pack that was not dealt from.
    pub(super) fn add(&mut self, card: [u64; 2]) {
        self.cards.push(card);
        self.left.push(0);
    }

    /// What stands on the next card, by one draw; `None` and no draw if there are no cards at all.
    pub(super) fn deal(&mut self, random: &mut SplitMix64) -> Option<u64> {
        if self.total == 0 {
            for (left, card) in self.left.iter_mut().zip(&self.cards) {
                *left = card[1];
                self.total += card[1];
            }
            if self.total == 0 {
                return None;
            }
        }
        let kind = pick(&self.left, random.below(self.total))?;
        self.left[kind] -= 1;
        self.total -= 1;
        Some(self.cards[kind][0])
    }
}

/// The kind that the card of this number belongs to, where the cards lie in the order of kinds.
fn pick(counts: &[u64], mut number: u64) -> Option<usize> {
    for (kind, &count) in counts.iter().enumerate() {
        if number < count {
            return Some(kind);
        }
        number -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pack_holds_exactly_its_cards() {
        let mut random = SplitMix64::new(3);
        let cards = vec![[7, 5], [9, 0], [2, 1], [0, 20]];
        let mut deck = Deck::new(cards.clone());
        for _ in 0..3 {
            let dealt: Vec<u64> = (0..26).map(|_| deck.deal(&mut random).unwrap()).collect();
            for &[label, count] in &cards {
                assert_eq!(dealt.iter().filter(|&&card| card == label).count() as u64, count);
            }
        }
    }

    #[test]
    fn an_empty_pack_deals_nothing() {
        let mut random = SplitMix64::new(3);
        assert_eq!(Deck::new(Vec::new()).deal(&mut random), None);
        assert_eq!(Deck::new(vec![[4, 0]]).deal(&mut random), None);
    }
}

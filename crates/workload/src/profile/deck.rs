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
        self.deal_if(random, |_| true)
    }

    /// As [`Self::deal`], but draws a card that `suits` as long as one is left, and otherwise any
    /// card.
    pub(super) fn deal_if(
        &mut self,
        random: &mut SplitMix64,
        suits: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        if self.total == 0 {
            for (left, card) in self.left.iter_mut().zip(&self.cards) {
                *left = card[1];
                self.total += card[1];
            }
        }
        let suitable = |kind: usize| suits(self.cards[kind][0]);
        let kinds = 0..self.cards.len();
        let wanted: u64 = kinds.clone().filter(|&kind| suitable(kind)).map(|k| self.left[k]).sum();
        let total = if wanted > 0 { wanted } else { self.total };
        if total == 0 {
            return None;
        }
        let mut number = random.below(total);
        let mut dealt = None;
        for kind in kinds.filter(|&kind| wanted == 0 || suitable(kind)) {
            if number < self.left[kind] {
                dealt = Some(kind);
                break;
            }
            number -= self.left[kind];
        }
        let kind = dealt?;
        self.left[kind] -= 1;
        self.total -= 1;
        Some(self.cards[kind][0])
    }
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
    fn suitable_cards_come_first() {
        let mut random = SplitMix64::new(3);
        let mut deck = Deck::new(vec![[1, 4], [2, 3], [3, 2]]);
        let dealt: Vec<u64> =
            (0..9).map(|_| deck.deal_if(&mut random, |card| card != 1).unwrap()).collect();
        assert!(dealt[..5].iter().all(|&card| card != 1));
        assert_eq!(dealt[5..], [1; 4]);
    }

    #[test]
    fn an_empty_pack_deals_nothing() {
        let mut random = SplitMix64::new(3);
        assert_eq!(Deck::new(Vec::new()).deal(&mut random), None);
        assert_eq!(Deck::new(vec![[4, 0]]).deal(&mut random), None);
    }
}

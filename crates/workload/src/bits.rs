//! Bits of a bitmap.

/// The words that hold the bits from `first` to `last`, each with the mask of these bits in it.
#[inline]
pub(crate) fn masks(first: u64, last: u64) -> impl Iterator<Item = (usize, u64)> {
    (first / 64..=last / 64).map(move |word| {
        let low = if word == first / 64 { first % 64 } else { 0 };
        let high = if word == last / 64 { last % 64 } else { 63 };
        let mask = (u64::MAX >> (63 - high)) & (u64::MAX << low);
        (usize::try_from(word).expect("a bitmap fits the memory"), mask)
    })
}

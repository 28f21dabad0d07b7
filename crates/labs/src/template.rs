//! Templates of the files of a lab, and what they are filled with.

/// A file: its name and its text.
pub type Written = (&'static str, String);

/// A template with values in the place of their names in braces.
pub(crate) fn fill(template: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(template.to_string(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

/// A number that changes in all its bits with the seed (splitmix64; Steele et al., OOPSLA 2014).
pub(crate) const fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of a device's state, which has fewer bits.
pub(crate) const fn state_seed(seed: u64) -> u64 {
    mixed(seed) >> 32
}

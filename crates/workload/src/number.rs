//! Numbers and columns of text rows, without allocation and without floats.

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// There is nothing.
    Empty,
    /// It starts with a minus sign.
    Negative,
    /// It holds something else than digits.
    NotANumber,
    /// It does not fit.
    TooLarge,
}

impl NumberError {
    /// The end of a sentence that starts with the name of the column.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "is empty",
            Self::Negative => "is negative",
            Self::NotANumber => "is not a number",
            Self::TooLarge => "is too large",
        }
    }
}

/// A whole number that fits 64 bits.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Result<u64, NumberError> {
    quick(text).map_or_else(|| careful(text), Ok)
}

/// Up to 19 digits and nothing else, which always fit; eight at a time.
#[inline]
fn quick(text: &[u8]) -> Option<u64> {
    let (chunks, rest) = text.as_chunks::<8>();
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut value = 0_u64;
    for chunk in chunks {
        value = value * 100_000_000 + eight_digits(u64::from_le_bytes(*chunk))?;
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// The number of eight digits, the first one in the lowest byte. Neighbours are put together: two
/// digits, then two pairs, then two fours.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    const TENS: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // Digits are 0x30 to 0x39: six more do not change the upper half of the byte.
    let upper = (word & TENS) | ((word.wrapping_add(0x0606_0606_0606_0606) & TENS) >> 4);
    if upper != 0x3333_3333_3333_3333 {
        return None;
    }
    let pairs = (word & !TENS).wrapping_mul(10 * 256 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul((100 << 16) + 1) >> 16 & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul((10_000 << 32) + 1) >> 32)
}

#[cold]
fn careful(text: &[u8]) -> Result<u64, NumberError> {
    match text {
        [] => return Err(NumberError::Empty),
        [b'-', rest @ ..] if !rest.is_empty() => {
            integer(rest)?;
            return Err(NumberError::Negative);
        }
        _ => {}
    }
    let mut value = 0_u64;
    let mut fits = true;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NumberError::NotANumber);
        }
        let next = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit)));
        fits &= next.is_some();
        value = next.unwrap_or(0);
    }
    if fits { Ok(value) } else { Err(NumberError::TooLarge) }
}

/// A decimal number of a unit that is `10^digits` of the wanted small units: `decimal(b"1.5", 9)`
/// turns 1.5 s into 1,500,000,000 ns. Digits beyond the small unit round down. No exponents.
pub(crate) fn decimal(text: &[u8], digits: u32) -> Result<u64, NumberError> {
    if let Some(whole) = quick(text) {
        return scaled(whole, digits);
    }
    let Some(dot) = text.iter().position(|&byte| byte == b'.') else {
        return scaled(integer(text)?, digits);
    };
    let (whole, fraction) = (&text[..dot], &text[dot + 1..]);
    if whole.is_empty() || fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::NotANumber);
    }
    let kept = &fraction[..fraction.len().min(digits as usize)];
    let missing = digits - u32::try_from(kept.len()).expect("at most `digits` of them");
    let small = if kept.is_empty() { 0 } else { scaled(integer(kept)?, missing)? };
    scaled(integer(whole)?, digits)?.checked_add(small).ok_or(NumberError::TooLarge)
}

/// As [`decimal`], of a number that may end in an exponent: `scientific(b"2.5e-3", 9)` turns 2.5 ms
/// into 2,500,000 ns. Exact, as the point is moved and nothing is computed with fractions.
pub(crate) fn scientific(text: &[u8], digits: u32) -> Result<u64, NumberError> {
    let Some(at) = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'e')) else {
        return decimal(text, digits);
    };
    let (mantissa, exponent) = (&text[..at], &text[at + 1..]);
    // Refuses what is no number; the exponent of a negative one does not matter.
    match decimal(mantissa, 0) {
        Err(NumberError::TooLarge) if mantissa.starts_with(b"-") => {
            return Err(NumberError::Negative);
        }
        Ok(_) | Err(NumberError::TooLarge) => {}
        Err(NumberError::Empty) => return Err(NumberError::NotANumber),
        Err(other) => return Err(other),
    }
    let (back, power) = match exponent {
        [b'-', power @ ..] => (true, power),
        [b'+', power @ ..] | power => (false, power),
    };
    if power.is_empty() || !power.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::NotANumber);
    }
    // Exponents that do not fit are as good as the largest.
    let power = integer(power).unwrap_or(u64::MAX);
    let whole = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    // How many digits stand before the point once it has moved.
    let places = whole as u64 + u64::from(digits);
    let kept = if back { places.saturating_sub(power) } else { places.saturating_add(power) };
    let mut figures = mantissa.iter().filter(|&&byte| byte != b'.');
    let (mut value, mut place) = (0_u64, 0);
    while place < kept {
        let figure = figures.next();
        if value == 0 && figure.is_none() {
            return Ok(0);
        }
        let figure = figure.map_or(0, |byte| u64::from(byte - b'0'));
        let next = value.checked_mul(10).and_then(|tens| tens.checked_add(figure));
        value = next.ok_or(NumberError::TooLarge)?;
        place += 1;
    }
    Ok(value)
}

fn scaled(value: u64, digits: u32) -> Result<u64, NumberError> {
    value.checked_mul(10_u64.pow(digits)).ok_or(NumberError::TooLarge)
}

/// The columns of a row between runs of blanks and tabs: up to `N` of them, and how many there are.
pub(crate) fn split_blanks<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut columns: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    for column in line.split(|&byte| byte == b'\t' || byte == b' ') {
        if !column.is_empty() {
            if let Some(slot) = columns.get_mut(count) {
                *slot = column;
            }
            count += 1;
        }
    }
    (columns, count)
}

/// The columns of a row between commas, without blanks around them: up to `N`, and how many.
pub(crate) fn split_commas<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut columns: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    for column in line.split(|&byte| byte == b',') {
        if let Some(slot) = columns.get_mut(count) {
            *slot = column.trim_ascii();
        }
        count += 1;
    }
    (columns, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_checked() {
        assert_eq!(integer(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(integer(b"18446744073709551616"), Err(NumberError::TooLarge));
        assert_eq!(integer(b"99999999999999999999x"), Err(NumberError::NotANumber));
        assert_eq!(integer(b"-8"), Err(NumberError::Negative));
        assert_eq!(integer(b"-"), Err(NumberError::NotANumber));
        assert_eq!(integer(b"+8"), Err(NumberError::NotANumber));
        assert_eq!(integer(b""), Err(NumberError::Empty));
    }

    #[test]
    fn numbers_of_any_length_are_read_as_the_standard_library_reads_them() {
        let mut random = crate::random::SplitMix64::new(5);
        for _ in 0..50_000 {
            let length = 1 + random.below_usize(21);
            let mut text: Vec<u8> =
                (0..length).map(|_| b'0' + u8::try_from(random.below(10)).unwrap()).collect();
            if random.below(2) == 0 {
                let at = random.below_usize(length);
                text[at] = u8::try_from(random.below(256)).unwrap();
            }
            let digits = text.iter().all(u8::is_ascii_digit);
            let expected = std::str::from_utf8(&text).ok().filter(|_| digits);
            let expected = expected.and_then(|text| text.parse::<u64>().ok());
            assert_eq!(integer(&text).ok(), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(b"1398403999.646690157", 9), Ok(1_398_403_999_646_690_157));
        assert_eq!(decimal(b"1.740780627", 9), Ok(1_740_780_627));
        assert_eq!(decimal(b"7", 9), Ok(7_000_000_000));
        assert_eq!(decimal(b"0.05", 9), Ok(50_000_000));
        assert_eq!(decimal(b"0.0000000019", 9), Ok(1), "digits below 1 ns round down");
        assert_eq!(decimal(b"2.9", 0), Ok(2));
        assert_eq!(decimal(b"18446744073.709551615", 9), Ok(u64::MAX));
        assert_eq!(decimal(b"18446744073.709551616", 9), Err(NumberError::TooLarge));
    }

    #[test]
    fn half_written_decimals_are_refused() {
        for text in [&b"1."[..], b".5", b"1.2.3", b"1e9", b"1.-5", b"nan"] {
            assert_eq!(decimal(text, 9), Err(NumberError::NotANumber), "{}", text.escape_ascii());
        }
        assert_eq!(decimal(b"-0.5", 9), Err(NumberError::Negative));
    }

    #[test]
    fn exponents_move_the_point() {
        for (text, expected) in [
            (&b"1e-05"[..], 10_000),
            (b"1E-5", 10_000),
            (b"2.5e3", 2_500_000_000_000),
            (b"2.5e+3", 2_500_000_000_000),
            (b"1.7325839991234567e9", 1_732_583_999_123_456_700),
            (b"1234.5e-2", 12_345_000_000),
            (b"0.00012e1", 1_200_000),
            (b"18446744073709551615e-9", u64::MAX),
            (b"0.018446744073709551615e12", u64::MAX),
            (b"184467440737095516150000e-13", u64::MAX),
            (b"1.9e-9", 1),
            (b"9e-10", 0),
            (b"9e-99999999999999999999", 0),
            (b"0e99999999999999999999", 0),
            (b"0.0e30", 0),
            (b"1.5", 1_500_000_000),
        ] {
            assert_eq!(scientific(text, 9), Ok(expected), "{}", text.escape_ascii());
        }
        assert_eq!(scientific(b"2.5e3", 0), Ok(2_500));
        for text in [&b"1e11"[..], b"18446744073.709551616e0", b"1e99999999999999999999"] {
            assert_eq!(scientific(text, 9), Err(NumberError::TooLarge), "{}", text.escape_ascii());
        }
        for text in [&b"e5"[..], b"1e", b"1e-", b"1e+-5", b"1.e5", b".5e1", b"1e2e3", b"1e2.0"] {
            let found = scientific(text, 9);
            assert_eq!(found, Err(NumberError::NotANumber), "{}", text.escape_ascii());
        }
        assert_eq!(scientific(b"-1e-5", 9), Err(NumberError::Negative));
        assert_eq!(scientific(b"-99999999999999999999.5e-9", 9), Err(NumberError::Negative));
    }

    #[test]
    fn exponents_and_points_agree() {
        let mut random = crate::random::SplitMix64::new(8);
        for _ in 0..20_000 {
            let bits = random.below(40);
            let mantissa = random.below(1 << bits);
            let power = random.below_usize(12);
            let text = format!("{mantissa:0width$}", width = power + 1);
            let (whole, fraction) = text.split_at(text.len() - power);
            let plain = if power == 0 { text.clone() } else { format!("{whole}.{fraction}") };
            let expected = decimal(plain.as_bytes(), 9);
            assert_eq!(scientific(format!("{mantissa}e-{power}").as_bytes(), 9), expected);
            assert_eq!(scientific(format!("{plain}E0").as_bytes(), 9), expected, "{plain}");
        }
    }

    #[test]
    fn columns_are_counted_beyond_the_wanted_ones() {
        assert_eq!(split_blanks::<2>(b"\ta \t\tb  c "), ([&b"a"[..], b"b"], 3));
        assert_eq!(split_commas::<3>(b" a,,c"), ([&b"a"[..], b"", b"c"], 3));
        assert_eq!(split_commas::<1>(b"").1, 1);
    }
}

//! Operations as traces write them: words, a bit of a number, or the letters of the kernel.

use flashyard_core::request::{Flags, RequestOp};

use super::fault::Fault;
use crate::error::quoted;
use crate::number::integer;

/// How a column says what a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpCodes {
    /// Words in upper or lower case.
    Words(Vec<(Vec<u8>, RequestOp)>),
    /// A whole number: this bit is set for `set`, a read or a write, and clear for the other.
    Bit {
        /// The bit, from 0.
        bit: u32,
        /// What it means.
        set: RequestOp,
    },
    /// The letters of the kernel's trace points, as in `FWS` or `RA`.
    Kernel,
}

/// The operations of words, in their order.
const ORDER: [RequestOp; 4] =
    [RequestOp::Read, RequestOp::Write, RequestOp::Trim, RequestOp::Flush];

impl OpCodes {
    /// Reads `R/W`, `1/0`, `R|RA/W|WS/D/F`, `bit0=write` or `rwbs`.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        if text == "rwbs" {
            return Ok(Self::Kernel);
        }
        if let Some((bit, word)) = text.strip_prefix("bit").and_then(|rest| rest.split_once('=')) {
            let bit = bit.parse().ok().filter(|bit| *bit < 64);
            let set = match word {
                "read" => Some(RequestOp::Read),
                "write" => Some(RequestOp::Write),
                _ => None,
            };
            return match (bit, set) {
                (Some(bit), Some(set)) => Ok(Self::Bit { bit, set }),
                _ => Err(wrong(text)),
            };
        }
        let groups: Vec<&str> = text.split('/').collect();
        if !(2..=ORDER.len()).contains(&groups.len()) {
            return Err(wrong(text));
        }
        let mut words: Vec<(Vec<u8>, RequestOp)> = Vec::new();
        for (group, op) in groups.iter().zip(ORDER) {
            for word in group.split('|').filter(|word| !word.is_empty()) {
                if words.iter().any(|(known, _)| known.eq_ignore_ascii_case(word.as_bytes())) {
                    let what = format!("op has a word twice, {}", quoted(word.as_bytes()));
                    return Err(Fault::new(what, "give each operation its own words"));
                }
                words.push((word.as_bytes().to_vec(), op));
            }
        }
        if words.is_empty() { Err(wrong(text)) } else { Ok(Self::Words(words)) }
    }

    /// What a column asks for; `None` where it is none of the operations.
    pub(super) fn decode(&self, text: &[u8]) -> Option<(RequestOp, Flags)> {
        match self {
            Self::Words(words) => {
                let word = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text))?;
                Some((word.1, Flags::NONE))
            }
            Self::Bit { bit, set } => {
                let is_set = integer(text).ok()? >> bit & 1 == 1;
                let read = is_set == (*set == RequestOp::Read);
                Some((if read { RequestOp::Read } else { RequestOp::Write }, Flags::NONE))
            }
            Self::Kernel => kernel(text),
        }
    }

    /// The operations for a message.
    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Words(words) => {
                let shown = |(word, op): &(Vec<u8>, RequestOp)| {
                    format!("{} ({})", word.escape_ascii(), op.name())
                };
                words.iter().map(shown).collect::<Vec<_>>().join(", ")
            }
            Self::Bit { bit, set } => {
                let other = if *set == RequestOp::Read { "write" } else { "read" };
                format!("whole numbers: bit {bit} set ({}) or clear ({other})", set.name())
            }
            Self::Kernel => "R, W, D (trim), F (flush) and letters behind them".to_owned(),
        }
    }
}

fn wrong(text: &str) -> Fault {
    Fault::new(
        format!("op has no such form, {}", quoted(text.as_bytes())),
        "write the words as read/write/trim/flush, as in R/W, 1/0 or R|RA/W|WS/D/F, a bit as in \
         bit0=write, or rwbs",
    )
}

/// The letters of the kernel's trace points (`blk_fill_rwbs`): an F in front of a write or a flush
/// is a preflush; then the operation; an F behind it is FUA; a Z behind a W or D writes zeroes; E
/// (secure), A (read ahead), S (synchronous), M (metadata), V, U and B change nothing here.
fn kernel(text: &[u8]) -> Option<(RequestOp, Flags)> {
    let (preflush, rest) = match text {
        [b'F', b'W' | b'F', ..] => (Flags::PREFLUSH, &text[1..]),
        _ => (Flags::NONE, text),
    };
    let (&letter, behind) = rest.split_first()?;
    let mut op = match letter {
        b'R' => RequestOp::Read,
        b'W' => RequestOp::Write,
        b'D' => RequestOp::Trim,
        b'F' => RequestOp::Flush,
        _ => return None,
    };
    // A flush may say twice that it is one.
    let mut flags = if op == RequestOp::Flush { Flags::NONE } else { preflush };
    for modifier in behind {
        match modifier {
            b'F' if op == RequestOp::Write => flags = flags.with(Flags::FUA),
            b'Z' if matches!(op, RequestOp::Write | RequestOp::Trim) => {
                op = RequestOp::Trim;
                flags = flags.with(Flags::ZEROES);
            }
            b'F' | b'E' | b'A' | b'S' | b'M' | b'V' | b'U' | b'B' => {}
            _ => return None,
        }
    }
    Some((op, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(form: &str, text: &str) -> Option<(RequestOp, Flags)> {
        OpCodes::parse(form).unwrap().decode(text.as_bytes())
    }

    fn op(form: &str, text: &str) -> Option<RequestOp> {
        decode(form, text).map(|(op, _)| op)
    }

    #[test]
    fn words_may_have_several_forms_in_any_case() {
        let form = "R|RA/W|WS/D/F";
        assert_eq!(op(form, "ra"), Some(RequestOp::Read));
        assert_eq!(op(form, "WS"), Some(RequestOp::Write));
        assert_eq!(op(form, "d"), Some(RequestOp::Trim));
        assert_eq!(op(form, "F"), Some(RequestOp::Flush));
        assert_eq!(op(form, "RS"), None);
        assert_eq!(op(form, ""), None);
        assert_eq!(op("1/0", "0"), Some(RequestOp::Write));
        assert_eq!(op("/W", "W"), Some(RequestOp::Write), "a trace of writes alone");
        assert_eq!(op("R/W//F", "F"), Some(RequestOp::Flush));
    }

    #[test]
    fn a_bit_of_a_number_is_read_or_write() {
        assert_eq!(op("bit0=write", "5"), Some(RequestOp::Write));
        assert_eq!(op("bit0=write", "4"), Some(RequestOp::Read));
        assert_eq!(op("bit0=read", "5"), Some(RequestOp::Read));
        assert_eq!(op("bit2=read", "3"), Some(RequestOp::Write));
        assert_eq!(op("bit63=read", "9223372036854775808"), Some(RequestOp::Read));
        assert_eq!(op("bit0=read", "x"), None);
    }

    #[test]
    fn letters_of_the_kernel_are_read() {
        assert_eq!(decode("rwbs", "RA"), Some((RequestOp::Read, Flags::NONE)));
        assert_eq!(decode("rwbs", "WFSM"), Some((RequestOp::Write, Flags::FUA)));
        assert_eq!(decode("rwbs", "FWS"), Some((RequestOp::Write, Flags::PREFLUSH)));
        let both = Flags::PREFLUSH.with(Flags::FUA);
        assert_eq!(decode("rwbs", "FWFS"), Some((RequestOp::Write, both)));
        assert_eq!(decode("rwbs", "FF"), Some((RequestOp::Flush, Flags::NONE)));
        assert_eq!(decode("rwbs", "F"), Some((RequestOp::Flush, Flags::NONE)));
        assert_eq!(decode("rwbs", "DE"), Some((RequestOp::Trim, Flags::NONE)));
        assert_eq!(decode("rwbs", "WZS"), Some((RequestOp::Trim, Flags::ZEROES)));
        assert_eq!(decode("rwbs", "N"), None);
        assert_eq!(decode("rwbs", "RQ"), None);
    }

    #[test]
    fn forms_that_say_nothing_are_refused() {
        for form in ["", "R", "/", "R/W/D/F/X", "bit64=read", "bit0=trim", "bit=read", "bitx=read"]
        {
            assert!(OpCodes::parse(form).is_err(), "{form}");
        }
        assert_eq!(OpCodes::parse("R/r").unwrap_err().what, "op has a word twice, \"r\"");
    }
}

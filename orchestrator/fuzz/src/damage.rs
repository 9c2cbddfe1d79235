//! Damage that is done to an input.

use proptest::{collection::vec, prelude::*, sample::Index};

/// Damage to a range of bytes in an input.
#[derive(Clone, Debug)]
pub enum Damage {
    /// Replaces up to 40 bytes with one of the fixed replacements in `PARTS`.
    Replace(Index, Index, &'static [u8]),
    /// Flips one bit of one byte.
    Flip(Index, u8),
    /// Cuts off the input's end.
    Cut(Index),
    /// Repeats up to 40 bytes, up to 200 times.
    Repeat(Index, Index, u8),
    /// Replaces up to 40 bytes with the same number of bytes from another corpus member.
    Splice(Index, Index, Index, Index),
}

impl Damage {
    /// Applies this damage to `input`; a splice takes its bytes from `corpus`.
    pub fn apply(&self, input: &mut Vec<u8>, corpus: &[&[u8]]) {
        match self {
            Self::Replace(start, length, part) => {
                let at = stretch(input, start, length);
                input.splice(at, part.iter().copied());
            }
            Self::Flip(at, bit) => {
                let at = at.index(input.len().max(1));
                input
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|byte| *byte ^= 1 << bit);
            }
            Self::Cut(at) => input.truncate(at.index(input.len() + 1)),
            Self::Repeat(start, length, times) => {
                let at = stretch(input, start, length);
                let again = input[at.clone()].repeat(usize::from(*times));
                input.splice(at.end..at.end, again);
            }
            Self::Splice(start, length, other, other_start) => {
                let other = other.get(corpus);
                let part = other[stretch(other, other_start, length)].to_vec();
                let at = stretch(input, start, length);
                input.splice(at, part);
            }
        }
    }
}

/// Returns the range of up to 40 bytes that two indices choose.
fn stretch(bytes: &[u8], start: &Index, length: &Index) -> std::ops::Range<usize> {
    let start = start.index(bytes.len() + 1);
    start..(start + length.index(41)).min(bytes.len())
}

/// Returns a strategy for one to four damages of any kind.
pub fn any() -> impl Strategy<Value = Vec<Damage>> {
    let index = any_index;
    let damage = prop_oneof![
        4 => (index(), index(), prop::sample::select(PARTS))
            .prop_map(|(start, length, part)| Damage::Replace(start, length, part)),
        2 => (index(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        1 => index().prop_map(Damage::Cut),
        1 => (index(), index(), 1..=200_u8)
            .prop_map(|(start, length, times)| Damage::Repeat(start, length, times)),
        1 => (index(), index(), index(), index())
            .prop_map(|(start, length, other, at)| Damage::Splice(start, length, other, at)),
    ];
    vec(damage, 1..=4)
}

fn any_index() -> impl Strategy<Value = Index> {
    proptest::arbitrary::any::<Index>()
}

/// Replacements: characters with a meaning in a format, and numbers at the limits of their types.
const PARTS: &[&[u8]] = &[
    b"",
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\x1b[31m",
    b",",
    b";",
    b":",
    b": ",
    b"|",
    b"#",
    b"- ",
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[]",
    b"{}",
    b"&a ",
    b"*a",
    b"!x ",
    b"---\n",
    b"null",
    b"true",
    b"NaN",
    b"0",
    b"-1",
    b"1e999",
    b"1/0",
    b"0x",
    b"255",
    b"256",
    b"65536",
    b"4294967296",
    b"9007199254740993",
    b"18446744073709551615",
    b"99999999999999999999",
    b"-9223372036854775808",
    b"0.0000000000000000000001",
    b"5 ms",
    b"200 Gbit",
    b"9 MB",
    b"dc1",
    b"dc8/h1",
    b"lcmp",
    b"ecmp",
    b"policy",
    b"../../",
    b"/",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_damage_applies_to_any_input() {
        proptest!(|(input in vec(0..=255_u8, 0..5), damages in any())| {
            let corpus: &[&[u8]] = &[b"", b"other"];
            let mut damaged = input;
            damages.iter().for_each(|damage| damage.apply(&mut damaged, corpus));
            prop_assert!(damaged.len() <= 1 << 16, "{}", damaged.len());
        });
    }
}

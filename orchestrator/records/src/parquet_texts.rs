//! Columns of texts of a Parquet file whose pages refer to a dictionary.
//!
//! The general reader of the format makes a value of its own for each row, and each would be checked to be
//! UTF-8. A column of a table has few texts, so here the dictionary is checked once and rows refer to it.

use parquet::{
    basic::Encoding,
    column::page::{Page, PageReader},
};

use crate::columns::Texts;

/// Returns the texts of a column of `rows` rows, which may lack a value if it `is_optional`; `None` if the
/// pages are encoded in another way or damaged, which the general reader tells.
pub fn read(pages: Box<dyn PageReader>, rows: usize, is_optional: bool) -> Option<Texts> {
    let mut texts = Texts::default();
    let mut read = 0;
    for page in pages {
        match page.ok()? {
            Page::DictionaryPage {
                buf, num_values, ..
            } => keep(&mut texts, &buf, num_values)?,
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: Encoding::RLE,
                ..
            } => {
                let is_dictionary = matches!(
                    encoding,
                    Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY
                );
                let count = usize::try_from(num_values).ok()?;
                read += count;
                append(&mut texts, &buf, (count, is_optional), is_dictionary)?;
            }
            Page::DataPage { .. } | Page::DataPageV2 { .. } => return None,
        }
    }
    (read == rows).then_some(texts)
}

/// Keeps the texts of a dictionary: each with its length before it.
fn keep(texts: &mut Texts, mut bytes: &[u8], count: u32) -> Option<()> {
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (text, rest) = rest.split_at_checked(length)?;
        texts.keep(std::str::from_utf8(text).ok()?);
        bytes = rest;
    }
    Some(())
}

/// Appends the rows of a page: whether each has a value, if it may lack one, and the positions of the values
/// in the dictionary.
fn append(
    texts: &mut Texts,
    mut bytes: &[u8],
    (count, is_optional): (usize, bool),
    is_dictionary: bool,
) -> Option<()> {
    let mut levels = Vec::new();
    if is_optional {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (encoded, rest) = rest.split_at_checked(length)?;
        levels = unpacked(encoded, 1, count)?;
        bytes = rest;
    }
    let present = match is_optional {
        true => levels.iter().filter(|&&level| level == 1).count(),
        false => count,
    };
    let mut positions = match present {
        0 => Vec::new(),
        _ if !is_dictionary => return None,
        _ => {
            let (&width, encoded) = bytes.split_first()?;
            unpacked(encoded, u32::from(width), present)?
        }
    }
    .into_iter();
    let mut rows = (0..count).map(|row| match levels.get(row) {
        Some(0) => None,
        _ => positions.next(),
    });
    rows.all(|position| texts.push_kept(position)).then_some(())
}

/// Returns `count` numbers of `width` bits from runs of equal numbers and runs of packed ones, in the
/// format's hybrid encoding.
fn unpacked(mut bytes: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
    let mask = u64::from(u32::MAX.checked_shr(32u32.checked_sub(width)?).unwrap_or(0));
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let (header, rest) = variable_length(bytes)?;
        let left = count - numbers.len();
        let length = usize::try_from(header >> 1).ok()?;
        if header & 1 == 0 {
            let (value, rest) = rest.split_at_checked(usize::try_from(width.div_ceil(8)).ok()?)?;
            let value = value
                .iter()
                .rev()
                .fold(0, |sum, &byte| sum << 8 | u32::from(byte));
            numbers.extend(std::iter::repeat_n(value, length.min(left)));
            bytes = rest;
        } else {
            let size = length.checked_mul(usize::try_from(width).ok()?)?;
            let (packed, rest) = rest.split_at_checked(size)?;
            let (mut bits, mut known, mut packed) = (0, 0, packed.iter());
            for _ in 0..length.saturating_mul(8).min(left) {
                while known < width {
                    bits |= u64::from(*packed.next()?) << known;
                    known += 8;
                }
                numbers.push(u32::try_from(bits & mask).ok()?);
                bits >>= width;
                known -= width;
            }
            bytes = rest;
        }
        if length == 0 {
            return None;
        }
    }
    Some(numbers)
}

/// Returns a number of seven bits a byte, the lowest first, and the bytes after it.
fn variable_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, &byte) in bytes.iter().enumerate().take(5) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's description: 0 to 7 in three bits.
    #[test]
    fn packed_numbers_and_runs_are_those_of_the_format() {
        let packed = [0b0000_0011, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(unpacked(&packed, 3, 8), Some((0..8).collect()));
        assert_eq!(unpacked(&packed, 3, 5), Some((0..5).collect()));
        let runs = [6, 5, 4, 1];
        assert_eq!(unpacked(&runs, 3, 5), Some(vec![5, 5, 5, 1, 1]));
        assert_eq!(
            unpacked(&[0xd0, 0x0f, 0x34, 0x12], 13, 1_000),
            Some(vec![0x1234; 1_000])
        );
        assert_eq!(unpacked(&[6], 0, 3), Some(vec![0; 3]));
    }

    #[test]
    fn damaged_numbers_are_none() {
        for (bytes, width, count) in [
            (&[][..], 3, 1),
            (&[3, 1], 3, 8),
            (&[6], 3, 1),
            (&[0, 0], 3, 1),
            (&[0xff; 6], 3, 1),
            (&[6, 1], 40, 1),
        ] {
            assert_eq!(unpacked(bytes, width, count), None, "{bytes:?}");
        }
    }
}

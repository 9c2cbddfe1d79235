//! Pages of a Parquet file, whose headers are checked before the decoder uses them.
//!
//! The decoder allocates as much memory as a header announces, for the bytes of a page or the values of a dictionary.
//! So a file of a kilobyte could make it allocate gigabytes. A header is a Thrift structure in the compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>) with the fields of
//! `PageHeader` (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>). Headers that
//! our own writer never produces are refused.

use std::{
    fs::File,
    io::{self, BufReader, Read},
};

use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

use crate::columns::BATCH_ROWS;

/// Open Parquet file, as a source of pages for the decoder.
pub struct Pages {
    file: File,
    bytes: u64,
}

impl Pages {
    /// Returns the pages of the open file `file`.
    pub fn of(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Pages {
    type T = BufReader<File>;

    /// Returns a reader of the file from offset `start` on, where a page begins, after checking that page's header.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Header::read(&mut self.file.get_read(start)?)?.check(self.bytes)?;
        self.file.get_read(start)
    }

    /// Returns `length` bytes of the file from offset `start` on.
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.saturating_add(length as u64);
        if end <= self.bytes {
            self.file.get_bytes(start, length)
        } else {
            Err(refused("a page extends beyond the end of the file"))
        }
    }
}

/// Sizes that the header of a page announces.
#[derive(Debug, Default, Eq, PartialEq)]
struct Header {
    /// Size of the page when uncompressed, in bytes.
    unpacked: u64,
    /// Size of the page in the file, in bytes.
    packed: u64,
    /// Number of values in the page or, in a dictionary page, in the dictionary.
    values: u64,
}

impl Header {
    /// Parses the header of a page.
    fn read(input: &mut impl Read) -> Result<Self, ParquetError> {
        let mut header = Self::default();
        let mut fields = Fields::of(input);
        while let Some(field) = fields.next()? {
            match field {
                (PAGE_TYPE | CHECKSUM, INTEGER) => drop(fields.integer()?),
                (UNPACKED, INTEGER) => header.unpacked = fields.count()?,
                (PACKED, INTEGER) => header.packed = fields.count()?,
                (page @ (DATA_PAGE | DICTIONARY_PAGE), STRUCTURE) => {
                    header.values = values(fields.input, page)?;
                }
                _ => {
                    return Err(refused(
                        "a page's header has a field that lcmp-lab never writes",
                    ));
                }
            }
        }
        Ok(header)
    }

    /// Checks the announced sizes against the file's size, `bytes`.
    fn check(&self, bytes: u64) -> Result<(), ParquetError> {
        let expanded = self.packed.saturating_mul(MAX_EXPANSION);
        let is_possible =
            self.packed <= bytes && self.unpacked <= expanded && self.values <= BATCH_ROWS as u64;
        if is_possible {
            Ok(())
        } else {
            Err(refused(&format!(
                "a page of {} bytes announces {} uncompressed bytes and {} values, more than it can have",
                self.packed, self.unpacked, self.values
            )))
        }
    }
}

/// Parses the header's field `page`, a `DataPageHeader` or `DictionaryPageHeader`, and returns its number of values.
fn values<R: Read>(input: &mut R, page: u8) -> Result<u64, ParquetError> {
    let mut values = 0;
    let mut fields = Fields::of(input);
    while let Some(field) = fields.next()? {
        match (page, field) {
            (_, (VALUES, INTEGER)) => values = fields.count()?,
            (_, (ENCODING, INTEGER)) => check_encoding(fields.count()?)?,
            (DATA_PAGE, (OF_DEFINITIONS | OF_REPETITIONS, INTEGER)) => drop(fields.integer()?),
            (DATA_PAGE, (STATISTICS, STRUCTURE)) => skip(fields.input)?,
            (DICTIONARY_PAGE, (IS_SORTED, TRUE | FALSE)) => {}
            _ => {
                return Err(refused(
                    "a page's header has a field that lcmp-lab never writes",
                ));
            }
        }
    }
    Ok(values)
}

/// Refuses encodings whose data contain sizes of their own, which the check of the header does not cover.
fn check_encoding(encoding: u64) -> Result<(), ParquetError> {
    match encoding {
        PLAIN | PLAIN_DICTIONARY | RLE_DICTIONARY => Ok(()),
        _ => Err(refused("a page has an encoding that lcmp-lab never writes")),
    }
}

/// Skips a Thrift structure that consists of numbers, texts and booleans.
fn skip<R: Read>(input: &mut R) -> Result<(), ParquetError> {
    let mut fields = Fields::of(input);
    while let Some((_, kind)) = fields.next()? {
        match kind {
            TRUE | FALSE => {}
            INTEGER | LONG => drop(fields.integer()?),
            BINARY => {
                let length = fields.varint()?;
                let skipped = io::copy(&mut fields.input.take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(refused("a page's header is cut off"));
                }
            }
            _ => {
                return Err(refused(
                    "a page's statistics have a field that lcmp-lab never writes",
                ));
            }
        }
    }
    Ok(())
}

/// Iterator over the fields of a structure in Thrift's compact protocol.
struct Fields<'a, R> {
    input: &'a mut R,
    last: u8,
}

impl<'a, R: Read> Fields<'a, R> {
    const fn of(input: &'a mut R) -> Self {
        Self { input, last: 0 }
    }

    /// Returns id and type of the next field; `None` after the last one. Ids must increase, so that no field occurs
    /// twice.
    fn next(&mut self) -> Result<Option<(u8, u8)>, ParquetError> {
        let byte = self.byte()?;
        if byte == STOP {
            return Ok(None);
        }
        let delta = byte >> 4;
        let kind = byte & 0x0f;
        if delta == 0 || kind == STOP {
            return Err(refused("a page's header has its fields out of order"));
        }
        self.last = self.last.saturating_add(delta);
        Ok(Some((self.last, kind)))
    }

    /// Parses a number that must not be negative.
    fn count(&mut self) -> Result<u64, ParquetError> {
        let number = self.integer()?;
        u64::try_from(number).map_err(|_| refused("a page has a negative size"))
    }

    /// Parses a zigzag-encoded number.
    fn integer(&mut self) -> Result<i64, ParquetError> {
        let bits = self.varint()?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }

    fn varint(&mut self) -> Result<u64, ParquetError> {
        let mut bits = 0;
        for shift in (0..MAX_BITS).step_by(7) {
            let byte = self.byte()?;
            bits |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(bits);
            }
        }
        Err(refused("a number in a page's header is too long"))
    }

    fn byte(&mut self) -> Result<u8, ParquetError> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}

fn refused(problem: &str) -> ParquetError {
    ParquetError::General(problem.to_owned())
}

/// Maximum number of bits in a header's number. With seven bits per byte, an `i64` takes up to 70 bits, but no number
/// that occurs needs more than 63.
const MAX_BITS: u32 = 63;

/// Maximum ratio of a page's uncompressed size to its size in the file: a Snappy copy element of three bytes expands to
/// at most 64 bytes (<https://github.com/google/snappy/blob/main/format_description.txt>).
const MAX_EXPANSION: u64 = 22;

// Field types of the compact protocol.
const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const INTEGER: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const STRUCTURE: u8 = 12;

// Field ids of `PageHeader`.
const PAGE_TYPE: u8 = 1;
const UNPACKED: u8 = 2;
const PACKED: u8 = 3;
const CHECKSUM: u8 = 4;
const DATA_PAGE: u8 = 5;
const DICTIONARY_PAGE: u8 = 7;

// Field ids of `DataPageHeader` and `DictionaryPageHeader`.
const VALUES: u8 = 1;
const ENCODING: u8 = 2;
const OF_DEFINITIONS: u8 = 3;
const OF_REPETITIONS: u8 = 4;
const STATISTICS: u8 = 5;
const IS_SORTED: u8 = 3;

// Encodings of values in a page.
const PLAIN: u64 = 0;
const PLAIN_DICTIONARY: u64 = 2;
const RLE_DICTIONARY: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Header of a data page: 20 bytes uncompressed, 15 bytes in the file, 10 values, plain values, run-length-encoded
    /// levels. Zigzag encoding doubles positive numbers.
    const DATA: [u8; 17] = [
        0x15, 0, 0x15, 40, 0x15, 30, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0,
    ];

    fn checked(header: &[u8]) -> Result<Header, String> {
        let header = Header::read(&mut &*header).map_err(|error| error.to_string())?;
        header.check(1_000).map_err(|error| error.to_string())?;
        Ok(header)
    }

    /// Statistics with a text of three bytes, a number and a boolean are skipped; the byte after them stays unread.
    #[test]
    fn a_structure_is_skipped_as_a_whole_or_refused() {
        let whole = [0x18, 3, b'a', b'b', b'c', 0x16, 40, 0x11, STOP, 99];
        let mut input = &whole[..];
        skip(&mut input).expect("it is whole");
        assert_eq!(input, [99]);
        for length in [1, 2, 4] {
            assert!(skip(&mut &whole[..length]).is_err(), "{length}");
        }
        let words = skip(&mut &whole[..4]).unwrap_err().to_string();
        assert!(words.contains("a page's header is cut off"), "{words}");
    }

    #[test]
    fn a_header_announces_what_the_page_can_have() {
        let expected = Header {
            unpacked: 20,
            packed: 15,
            values: 10,
        };
        assert_eq!(checked(&DATA), Ok(expected));
        for (at, bytes, words) in [
            // 2,048 uncompressed bytes from 15 bytes.
            (3, &[0x80, 0x20][..], "more than it can have"),
            // 2,048 bytes in a file with 1,000 bytes.
            (5, &[0x80, 0x20], "more than it can have"),
            // 2^17 values in one page.
            (8, &[0x80, 0x80, 0x10], "more than it can have"),
            (8, &[1], "negative size"),
            // An encoding with lengths for which the decoder would allocate memory.
            (10, &[12], "an encoding that lcmp-lab never writes"),
            // A second number of values, with an explicit field id.
            (9, &[0x05, 2, 0xff, 0x7f], "out of order"),
            (0, &[0x16], "a field that lcmp-lab never writes"),
            (3, &[0xff; 12], "is too long"),
        ] {
            let mut header = DATA.to_vec();
            header.splice(at..=at, bytes.iter().copied());
            let refused = checked(&header).expect_err(words);
            assert!(refused.contains(words), "{refused}");
        }
        assert!(checked(&DATA[..9]).is_err(), "it is cut off");
    }
}

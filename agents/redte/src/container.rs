//! Checksummed text files of a JSON header and floats.
//!
//! ```text
//! title
//! header, JSON on one line
//! floats, f32, little-endian, in base64, 57 bytes a line
//! sha256 and the hash of all lines above, in hexadecimal
//! ```
//!
//! The format is text, so that a weight file is read, kept and bundled like every other file that a scenario names.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::fingerprint::hex;

/// Reason why a file is not readable.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    #[error("it does not start with `{title}`")]
    OtherFile { title: &'static str },
    #[error("it is truncated or damaged: its checksum does not match")]
    Damaged,
    #[error("its format is {found}, and this program reads format {readable}")]
    Format { found: u64, readable: u32 },
    #[error("its header is not valid: {0}")]
    Header(serde_json::Error),
}

/// Returns the text of a file. The header must have a field `format`.
///
/// # Panics
/// If the header is not plain data.
#[must_use]
pub fn encode(title: &'static str, header: &impl Serialize, floats: &[f32]) -> String {
    let header = serde_json::to_string(header).expect("the header is plain data");
    let bytes: Vec<u8> = floats.iter().flat_map(|it| it.to_le_bytes()).collect();
    let mut text = format!("{title}\n{header}\n");
    for line in bytes.chunks(BYTES_PER_LINE) {
        STANDARD.encode_string(line, &mut text);
        text.push('\n');
    }
    let hash = hex(&Sha256::digest(&text));
    let _ = writeln!(text, "{HASH}{hash}");
    text
}

/// Returns the hash in the last line of a file; `None` if there is none.
#[must_use]
pub fn hash(text: &str) -> Option<&str> {
    text.lines().last()?.strip_prefix(HASH)
}

/// Returns the header and the floats of a file.
///
/// # Errors
/// If the file has another title or format, is truncated or damaged, or has a header with other fields.
pub fn decode<H: DeserializeOwned>(
    title: &'static str,
    format: u32,
    text: &str,
) -> Result<(H, Vec<f32>), ContainerError> {
    if text.lines().next() != Some(title) {
        return Err(ContainerError::OtherFile { title });
    }
    let (body, last) = text
        .strip_suffix('\n')
        .and_then(|text| text.rsplit_once('\n'))
        .ok_or(ContainerError::Damaged)?;
    // The hash covers the newline before its own line.
    let hash = hex(&Sha256::digest(&text[..=body.len()]));
    if last.strip_prefix(HASH) != Some(hash.as_str()) {
        return Err(ContainerError::Damaged);
    }
    let mut lines = body.lines().skip(1);
    let header = lines.next().ok_or(ContainerError::Damaged)?;
    let found = format_of(header)?;
    if found != u64::from(format) {
        let readable = format;
        return Err(ContainerError::Format { found, readable });
    }
    let header = serde_json::from_str(header).map_err(ContainerError::Header)?;
    let mut bytes = Vec::new();
    for line in lines {
        let decoded = STANDARD.decode_vec(line, &mut bytes);
        decoded.map_err(|_| ContainerError::Damaged)?;
    }
    let (floats, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(ContainerError::Damaged);
    }
    let floats = floats.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Ok((header, floats.collect()))
}

/// Returns the format of a header, whose other fields may be unknown.
fn format_of(header: &str) -> Result<u64, ContainerError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    let format: Format = serde_json::from_str(header).map_err(ContainerError::Header)?;
    Ok(format.format)
}

/// Start of the last line.
const HASH: &str = "sha256 ";

/// Number of bytes in a line of base64, which then has 76 characters (RFC 2045).
const BYTES_PER_LINE: usize = 57;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Header = BTreeMap<String, u32>;

    fn file(format: u32) -> String {
        let header = Header::from([("format".to_owned(), format), ("seed".to_owned(), 7)]);
        encode("a test", &header, &[1.5; 20])
    }

    fn read(text: &str) -> Result<(Header, Vec<f32>), String> {
        decode("a test", 2, text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let (header, floats) = read(&file(2)).unwrap();
        assert_eq!(header["seed"], 7);
        assert_eq!(floats, [1.5; 20]);
    }

    #[test]
    fn every_truncated_or_changed_file_is_refused() {
        let text = file(2);
        for length in 0..text.len() {
            assert!(read(&text[..length]).is_err(), "{length}");
        }
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            let error = read(&String::from_utf8(changed).unwrap()).unwrap_err();
            let expected = if at < 7 { "does not start" } else { "damaged" };
            assert!(error.contains(expected), "{at}: {error}");
        }
    }

    #[test]
    fn other_formats_are_refused() {
        for found in [1, 3] {
            let expected = format!("its format is {found}, and this program reads format 2");
            assert_eq!(read(&file(found)), Err(expected));
        }
    }

    /// `printf 'a test\n{"format":2}\nAADAPw==\n' | sha256sum`, where `AADAPw==` is 1.5.
    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let header = Header::from([("format".to_owned(), 2)]);
        let text = encode("a test", &header, &[1.5]);
        let expected = "27d183a06e7cf44384d98ad801ae643ed8dc48c2ac248d295abf7b7742415fbd";
        assert_eq!(hash(&text), Some(expected));
    }
}

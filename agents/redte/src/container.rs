//! Checksummed files of a JSON header and floats.
//!
//! ```text
//! title line, ends with a newline
//! length of the header in bytes, u32, little-endian
//! header, JSON
//! floats, f32, little-endian
//! SHA-256 over all of the above
//! ```

use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// Reason why a file is not readable.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    #[error("it does not start with `{title}`")]
    OtherFile { title: &'static str },
    #[error("it is truncated or damaged: its checksum does not match")]
    Damaged,
    #[error("its format is {found}, and this program reads format {readable} (hint: {hint})")]
    Format {
        found: u64,
        readable: u32,
        hint: &'static str,
    },
    #[error("its header is not valid")]
    Header(#[source] serde_json::Error),
}

/// Returns the file's bytes. The header must have a field `format`.
///
/// # Panics
/// If the header is not plain data, or takes 4 GiB.
#[must_use]
pub fn encode(title: &'static str, header: &impl Serialize, floats: &[f32]) -> Vec<u8> {
    let header = serde_json::to_vec(header).expect("the header is plain data");
    let length = u32::try_from(header.len()).expect("a header is short");
    let mut bytes = format!("{title}\n").into_bytes();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header);
    bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

/// Returns the header and the floats of a file.
///
/// # Errors
/// If the file has another title or format, is truncated or damaged, or has a header with other fields.
pub fn decode<H: DeserializeOwned>(
    title: &'static str,
    format: u32,
    bytes: &[u8],
) -> Result<(H, Vec<f32>), ContainerError> {
    let is_title = |line: &[u8]| line.strip_suffix(b"\n") == Some(title.as_bytes());
    let start = bytes.get(..=title.len());
    if !start.is_some_and(is_title) {
        return Err(ContainerError::OtherFile { title });
    }
    let (text, digest) = bytes
        .split_last_chunk::<DIGEST>()
        .ok_or(ContainerError::Damaged)?;
    if Sha256::digest(text)[..] != digest[..] {
        return Err(ContainerError::Damaged);
    }
    let (header, rest) = text
        .get(title.len() + 1..)
        .and_then(|rest| rest.split_first_chunk())
        .and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(length)
        })
        .ok_or(ContainerError::Damaged)?;
    let found = format_of(header)?;
    if found != u64::from(format) {
        let hint = if found > u64::from(format) {
            "a newer version of this program wrote it"
        } else {
            "train again"
        };
        return Err(ContainerError::Format {
            found,
            readable: format,
            hint,
        });
    }
    let header = serde_json::from_slice(header).map_err(ContainerError::Header)?;
    let (floats, rest) = rest.as_chunks();
    if !rest.is_empty() {
        return Err(ContainerError::Damaged);
    }
    let floats = floats.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Ok((header, floats.collect()))
}

/// Returns the format of a header, whose other fields may be unknown.
fn format_of(header: &[u8]) -> Result<u64, ContainerError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: u64,
    }
    let format: Format = serde_json::from_slice(header).map_err(ContainerError::Header)?;
    Ok(format.format)
}

/// Length of a SHA-256 in bytes.
const DIGEST: usize = 32;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Header = BTreeMap<String, u32>;

    fn file(format: u32) -> Vec<u8> {
        let header = Header::from([("format".to_owned(), format), ("seed".to_owned(), 7)]);
        encode("a test", &header, &[1.5, -2.0])
    }

    fn read(bytes: &[u8]) -> Result<(Header, Vec<f32>), String> {
        decode("a test", 2, bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let (header, floats) = read(&file(2)).unwrap();
        assert_eq!(header["seed"], 7);
        assert_eq!(floats, [1.5, -2.0]);
    }

    #[test]
    fn every_truncated_or_changed_file_is_refused() {
        let bytes = file(2);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let error = read(&changed).unwrap_err();
            let expected = if at < 7 { "does not start" } else { "damaged" };
            assert!(error.contains(expected), "{at}: {error}");
        }
    }

    #[test]
    fn other_formats_are_refused_with_the_reason() {
        let newer = read(&file(3)).unwrap_err();
        assert!(newer.contains("a newer version of this program"), "{newer}");
        let older = read(&file(1)).unwrap_err();
        assert!(
            older.contains("format is 1") && older.contains("train again"),
            "{older}"
        );
    }
}

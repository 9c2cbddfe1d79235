//! Reader that limits the number of bytes per record.

use std::io::{self, Read};

/// Reader that fails if more bytes than its bound are read before the next renewal. A parser that renews the reader
/// before each record never holds more of a record than the bound and its own buffer.
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    max: u64,
    left: u64,
}

impl<R> Bounded<R> {
    /// Returns a reader around `inner` that allows `max` bytes until it is renewed.
    pub const fn new(inner: R, max: u64) -> Self {
        Self {
            inner,
            max,
            left: max,
        }
    }

    /// Allows the full number of bytes again, counted from the current position.
    pub const fn renew(&mut self) {
        self.left = self.max;
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowed = usize::try_from(self.left).unwrap_or(usize::MAX);
        if allowed == 0 && !buffer.is_empty() {
            // A file that ends exactly at the bound is not an error.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("it has more than the allowed {} bytes", self.max),
                )),
            };
        }
        let end = buffer.len().min(allowed);
        let count = self.inner.read(&mut buffer[..end])?;
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_up_to_the_bound_and_not_beyond() {
        let mut text = String::new();
        let mut whole = Bounded::new(&b"12345"[..], 5);
        assert_eq!(whole.read_to_string(&mut text).unwrap(), 5);
        let error = Bounded::new(&b"123456"[..], 5).read_to_string(&mut text);
        let message = error.unwrap_err().to_string();
        assert_eq!(message, "it has more than the allowed 5 bytes");
        let mut renewed = Bounded::new(&b"12345678"[..], 5);
        let mut four = [0; 4];
        for expected in [b"1234", b"5678"] {
            renewed.read_exact(&mut four).unwrap();
            assert_eq!(&four, expected);
            renewed.renew();
        }
    }
}

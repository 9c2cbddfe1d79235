//! Amounts of data.

use crate::parse::{Grammar, quantity};

const GRAMMAR: Grammar = Grammar {
    quantity: "size",
    base: "B",
    example: "30 MB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ],
    aliases: &[
        ("KB", 1_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

quantity! {
    /// Amount of data in bytes. `kB` is 1,000 bytes and `KiB` 1,024.
    Bytes
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("1 kB".parse(), Ok(Bytes::new(1_000)));
        assert_eq!("1 KiB".parse(), Ok(Bytes::new(1_024)));
        assert_eq!("3 MB".parse(), Ok(Bytes::new(3_000_000)));
        assert_eq!("3 MiB".parse(), Ok(Bytes::new(3_145_728)));
        assert_eq!("3 GB".parse(), Ok(Bytes::new(3_000_000_000)));
        assert_eq!("3 GiB".parse(), Ok(Bytes::new(3_221_225_472)));
        assert_eq!("3 TB".parse(), Ok(Bytes::new(3_000_000_000_000)));
        assert_eq!("2 TiB".parse(), Ok(Bytes::new(2_199_023_255_552)));
        assert_eq!("2 MiB".parse(), Ok(Bytes::new(2_097_152)));
        assert_eq!(Bytes::new(1_024).to_string(), "1024 B");
    }

    #[test]
    fn a_part_of_a_byte_is_refused() {
        let error = "1.0005 kB".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`1.0005 kB` is not a whole number of B (hint: use fewer decimals)"
        );
    }
}

//! Outputs of the artifact's runs: `fct_….txt`, and the average utilisation of links.

use std::net::Ipv4Addr;

use lab_policy::FlowTuple;
use lab_units::{Bytes, Nanos};

use crate::{error::ArtifactError, rows::Rows};

/// Row of a finished flow in an FCT file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FctRow {
    /// Addresses and ports, which identify the flow.
    pub flow: FlowTuple,
    /// Size of the flow.
    pub size: Bytes,
    /// Start time on the artifact's clock.
    pub start: Nanos,
    /// FCT, measured until the last ACK has returned.
    pub fct: Nanos,
    /// FCT of the flow in an otherwise empty network.
    pub standalone: Nanos,
}

/// Parses `text`, the contents of `file`, which has eight columns, and one row per flow in the order of completion.
pub fn parse_fct(file: &str, text: &str) -> Result<Vec<FctRow>, ArtifactError> {
    let rows = Rows::new(file, text).map(|row| {
        row.has(8, FCT_COLUMNS)?;
        let address = |at, what| {
            row.value(at, what, "an address of eight hexadecimal digits", |text| {
                let bits = u32::from_str_radix(text, 16)
                    .ok()
                    .filter(|_| text.len() == 8);
                bits.map(Ipv4Addr::from_bits)
            })
        };
        Ok(FctRow {
            flow: FlowTuple {
                src: address(0, "the source")?,
                dst: address(1, "the destination")?,
                sport: row.number(2, "the source port")?,
                dport: row.number(3, "the destination port")?,
            },
            size: Bytes::new(row.number(4, "the size")?),
            start: Nanos::new(row.number(5, "the start")?),
            fct: Nanos::new(row.number(6, "the FCT")?),
            standalone: Nanos::new(row.number(7, "the standalone FCT")?),
        })
    });
    rows.collect()
}

const FCT_COLUMNS: &str = "8: source, destination, two ports, size, start, FCT, standalone FCT";

/// Average utilisation of a link under several policies.
#[derive(Clone, Debug, PartialEq)]
pub struct UtilisationRow {
    /// DCI switches at the link's ends, by the artifact's node numbers.
    pub between: [u32; 2],
    /// Utilisation in percent, in the order of the file's policy columns.
    pub percent: Vec<f64>,
}

/// Parses `text`, the contents of `file`: a heading with `Link` and the policies, then one row per link. Returns the
/// policies and the rows.
pub fn parse_utilisation(
    file: &str,
    text: &str,
) -> Result<(Vec<String>, Vec<UtilisationRow>), ArtifactError> {
    let mut rows = Rows::separated(file, text, &[',']);
    let head = rows.expect("the heading")?;
    let policies: Vec<String> = head
        .fields
        .iter()
        .skip(1)
        .map(|&name| name.to_owned())
        .collect();
    let links = rows
        .map(|row| {
            row.has(policies.len() + 1, "as many as the heading")?;
            let between = row.value(0, "the link", "two numbers like `176-177`", |text| {
                let (a, b) = text.split_once('-')?;
                Some([a.parse().ok()?, b.parse().ok()?])
            })?;
            let percent = (1..=policies.len()).map(|at| row.number(at, "the average"));
            Ok(UtilisationRow {
                between,
                percent: percent.collect::<Result<_, _>>()?,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok((policies, links))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_published_output() {
        let text = "0b000f01 0b007801 10000 100 9909 2001604570 20496978 20016324 \n";
        let rows = parse_fct("fct_dcqcn.txt", text).unwrap();
        assert_eq!(rows[0].flow.src, crate::ids::address(15));
        assert_eq!(rows[0].flow.dst, crate::ids::address(120));
        assert_eq!((rows[0].flow.sport, rows[0].flow.dport), (10_000, 100));
        assert_eq!(rows[0].size, Bytes::new(9_909));
        assert_eq!(rows[0].standalone, Nanos::new(20_016_324));
    }

    #[test]
    fn an_invalid_row_is_an_error_with_file_and_line() {
        let error = |text| parse_fct("f.txt", text).unwrap_err().to_string();
        assert_eq!(
            error("\n0b000f01 0b007801 10000\n"),
            "f.txt:2: the row has 3 fields; it must have 8: source, destination, two ports, size, \
             start, FCT, standalone FCT"
        );
        assert_eq!(
            error("0b000f01 dc8 10000 100 9909 1 2 3"),
            "f.txt:1: the destination `dc8` is not an address of eight hexadecimal digits"
        );
    }

    #[test]
    fn averages_of_links() {
        let text = "Link,ECMP,Ours\n176-177,6.85,11.8\n176-178,5.6,0.0\n";
        let (policies, links) = parse_utilisation("u.csv", text).unwrap();
        assert_eq!(policies, ["ECMP", "Ours"]);
        assert_eq!(links[1].between, [176, 178]);
        assert_eq!(links[1].percent, [5.6, 0.0]);
    }
}

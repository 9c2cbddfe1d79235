//! CSV of the numbers that a figure shows.

use std::fmt::Display;

/// CSV table that grows row by row.
pub struct Numbers(String);

impl Numbers {
    /// Returns a table that has only the row of column heads.
    pub fn new<const N: usize>(heads: [&str; N]) -> Self {
        let mut table = Self(String::new());
        table.row(heads.each_ref().map(|head| head as &dyn Display));
        table
    }

    /// Adds a row of cells.
    pub fn row<const N: usize>(&mut self, cells: [&dyn Display; N]) {
        let cells = cells.map(|cell| field(&cell.to_string()));
        self.0 += &cells.join(",");
        self.0.push('\n');
    }

    /// Returns the table as CSV text.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// Returns the text of a cell, quoted if CSV requires that.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut table = Numbers::new(["policy", "p50"]);
        table.row([&"a, \"b\"", &1.5]);
        assert_eq!(table.into_text(), "policy,p50\n\"a, \"\"b\"\"\",1.5\n");
    }
}

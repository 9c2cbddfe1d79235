//! Text of a plan, as `plan.json` has it.

use std::io::{self, BufWriter, Write};

use crate::model::Plan;

/// Bytes that are collected before they are written.
const CHUNK: usize = 1 << 16;

impl Plan {
    /// Writes the plan as indented JSON, followed by a line feed. The text is never in memory as a whole, because a
    /// plan with a million flows has hundreds of megabytes.
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn write_text(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut chunks = BufWriter::with_capacity(CHUNK, to);
        serde_json::to_writer_pretty(&mut chunks, self)?;
        chunks.write_all(b"\n")?;
        chunks.flush()
    }
}

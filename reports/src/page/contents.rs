//! Contents of the page.

use crate::{figures::Captioned, run::Run, summary::Summary};

/// Contents of the page.
pub struct Page<'a> {
    /// The records.
    pub run: &'a Run,
    /// The results.
    pub summary: &'a Summary,
    /// The figures.
    pub figures: &'a [Captioned],
}

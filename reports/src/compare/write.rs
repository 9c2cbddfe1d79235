//! Files of a comparison.

use std::path::{Path, PathBuf};

use lab_records::draft;

use super::{Comparison, PAGE_FILE, figures, page};
use crate::{
    error::{ReportError, write_failed},
    report::write_files,
};

/// Files of a written comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// The page.
    pub html: PathBuf,
    /// The figures, each as SVG and PNG.
    pub figures: Vec<PathBuf>,
}

impl Comparison {
    /// Writes the page and figures into `dir`, which is created.
    ///
    /// # Errors
    /// If a file cannot be drawn or written.
    pub fn write(&self, dir: &Path) -> Result<Written, ReportError> {
        draft::make_dir(dir).map_err(write_failed(dir))?;
        let figures = figures::draw(self, dir)?;
        let files = write_files(&figures, dir)?;
        let html = dir.join(PAGE_FILE);
        let text = page::page(self, &figures);
        draft::replace(&html, text.as_bytes()).map_err(write_failed(&html))?;
        Ok(Written {
            html,
            figures: files,
        })
    }
}

//! A run directory to its report.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lab_records::directory::{FIGURES_DIR, REPORT_FILE};

use crate::{
    error::ReportError,
    figures::draw_figures,
    page::{Page, page},
    run::Run,
    summary::Summary,
};

/// A written report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The page.
    pub html: PathBuf,
    /// The figures, each as SVG and PNG.
    pub figures: Vec<PathBuf>,
    /// The results.
    pub summary: Summary,
}

/// Writes the report of the run directory at `run` into it.
///
/// # Errors
/// If the records cannot be read or the report cannot be written.
pub fn render(run: &Path) -> Result<Report, ReportError> {
    let run = Run::read(run)?;
    let summary = Summary::new(&run)?;

    let figures_dir = run.dir.join(FIGURES_DIR);
    fs::create_dir_all(&figures_dir).map_err(write_failed(&figures_dir))?;
    let figures = draw_figures(&run, &figures_dir)?;
    let mut files = Vec::new();
    for figure in &figures {
        let name = figure.image.name;
        let svg = figures_dir.join(format!("{name}.svg"));
        let text = figure.image.standalone(&figure.title);
        fs::write(&svg, text).map_err(write_failed(&svg))?;
        files.extend([svg, figures_dir.join(format!("{name}.png"))]);
    }

    let html = run.dir.join(REPORT_FILE);
    let text = page(&Page {
        run: &run,
        summary: &summary,
        figures: &figures,
    })?;
    fs::write(&html, text).map_err(write_failed(&html))?;
    Ok(Report {
        html,
        figures: files,
        summary,
    })
}

fn write_failed(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |source| ReportError::Write { path, source }
}

//! The learning curve of a training, as a figure.

use std::path::{Path, PathBuf};

use crate::{
    error::ReportError,
    figure::{Learning, render},
    figures::Captioned,
    report::write_files,
};

/// Draws the figure `learning-curve` into `dir` as PNG and SVG, with its numbers as CSV, and returns the files. `curve`
/// has the steps and scores of the trained `policy`, and `levels` the scores of other policies.
///
/// # Errors
/// If a file cannot be drawn or written.
pub fn draw_learning(
    policy: &str,
    curve: Vec<(f64, f64)>,
    levels: Vec<(String, f64)>,
    dir: &Path,
) -> Result<Vec<PathBuf>, ReportError> {
    let figure = Learning {
        policy: policy.to_owned(),
        curve,
        levels,
    };
    let captioned = Captioned {
        title: "Scores during the training".into(),
        caption: None,
        image: render(&figure, dir)?,
    };
    write_files(&[captioned], dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_score_is_a_row_of_the_figures_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let curve = vec![(0.0, 1.2), (10.0, 1.1)];
        let levels = vec![("ecmp".to_owned(), 1.2), ("wcmp".to_owned(), 1.15)];
        let files = draw_learning("redte", curve, levels, dir.path()).unwrap();
        assert!(files.iter().all(|file| file.is_file()), "{files:?}");
        let csv = std::fs::read_to_string(dir.path().join("learning-curve.csv")).unwrap();
        assert_eq!(
            csv,
            "policy,step,score\nredte,0,1.2\nredte,10,1.1\necmp,,1.2\nwcmp,,1.15\n"
        );
    }
}

//! What a report says.

use std::fs;

use crate::synthetic::Synthetic;

#[test]
fn the_testbed_is_reported() {
    let dir = Synthetic::testbed(44).write("testbed");
    let report = lab_reports::render(&dir).expect("a report");
    assert_eq!(report.figures.len(), 10);
    assert!(fs::metadata(&report.html).expect("a page").len() > 1_000);
}

//! Test that `README.md` names every column and figure, in order.

use lab_records::{
    DecisionRow, FlowRow, LinkRow, PathRow, PfcRow, PortRow, QueueRow, RateRow, Row, SplitRow,
    StoryRow, SwitchRow,
};

const README: &str = include_str!("../../README.md");

/// Returns the names in backquotes in the first column of the table below `heading`.
pub fn first_cells(heading: &str) -> Vec<&'static str> {
    let (_, section) = README.split_once(heading).expect("the heading");
    let lines = section
        .lines()
        .skip(1)
        .skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).expect("a cell"));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

fn assert_explained<R: Row>() {
    let columns: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
    let explained = first_cells(&format!("### `{}`", R::FILE));
    assert_eq!(explained, columns, "{}", R::FILE);
}

#[test]
fn every_column_of_every_table_is_explained() {
    assert_explained::<FlowRow>();
    assert_explained::<PathRow>();
    assert_explained::<LinkRow>();
    assert_explained::<QueueRow>();
    assert_explained::<DecisionRow>();
    assert_explained::<SplitRow>();
    assert_explained::<SwitchRow>();
    assert_explained::<PortRow>();
    assert_explained::<RateRow>();
    assert_explained::<PfcRow>();
    assert_explained::<StoryRow>();
}

//! The scenarios that come with the lab.

use lab_scenario::{files, parse};

#[test]
fn the_papers_testbed_means_what_it_should() {
    let text = include_bytes!("../../../scenarios/8dc.yaml");
    let scenario = parse("scenarios/8dc.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(files(&scenario), ["workloads/bulk.csv"]);
    insta::assert_json_snapshot!(scenario);
}

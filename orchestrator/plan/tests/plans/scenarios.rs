//! Tests with the plans of all scenarios that come with the lab.

use std::fs;

use lab_plan::{Plan, render_table};

#[test]
fn every_scenarios_plan_as_a_table() {
    let mut names: Vec<String> = fs::read_dir(crate::common::scenarios())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    assert!(names.contains(&"8dc.yaml".to_owned()), "{names:?}");
    for name in names {
        let plan = crate::common::plan(&crate::common::scenario_text(&name));
        let table = render_table(&plan);
        let long = table.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{name}");
        insta::assert_snapshot!(name, table);
    }
}

/// A guest and the process that owns it exchange the plan as JSON.
#[test]
fn every_scenarios_plan_survives_its_file() {
    for (name, text) in crate::common::every_scenario() {
        let plan = crate::common::plan(&text);
        let file = serde_json::to_string_pretty(&plan).unwrap();
        assert!(
            serde_json::from_str::<Plan>(&file).unwrap() == plan,
            "{name}"
        );
    }
}

/// The serialised form of a plan is a contract with the programs that read plans. LCMP's parameters are left out,
/// because they follow their declarations.
#[test]
fn the_smoke_scenarios_plan_as_json() {
    let plan = crate::common::plan(&crate::common::scenario_text("smoke.yaml"));
    let json = serde_json::to_string_pretty(&plan).unwrap();
    let (before, parameters) = json.split_once("\"preset\": \"paper\"").unwrap();
    let after = &parameters[parameters.find('}').unwrap()..];
    insta::assert_snapshot!(format!("{before}…{after}"));
}

//! Tests of the JSON Schema: the committed file equals the generated one and accepts the lab's scenarios.

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};

mod validator;

use validator::violations;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn instance(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn scenario(name: &str) -> Value {
    instance(&fs::read_to_string(folder().join(name)).unwrap())
}

#[test]
fn the_committed_schema_and_reference_are_those_of_the_code() {
    for (name, current) in [
        (
            "scenario.schema.json",
            format!("{:#}\n", lab_scenario::schema()),
        ),
        ("parameters.md", lab_scenario::reference()),
    ] {
        let path = folder().join(name);
        if env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &current).unwrap();
        }
        let hint = "(hint: UPDATE_SCHEMA=1 cargo test -p lab-scenario)";
        let is_current = fs::read_to_string(&path).is_ok_and(|committed| committed == current);
        assert!(is_current, "{name} is stale {hint}");
    }
}

#[test]
fn the_labs_scenarios_are_accepted() {
    let schema = lab_scenario::schema();
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".yaml") {
            let value = instance(&fs::read_to_string(&path).unwrap());
            assert_eq!(violations(&schema, &value), [""; 0], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} scenarios");
}

#[test]
fn editors_refuse_wrong_values() {
    let schema = lab_scenario::schema();
    let changes = [
        ("/topology/links/0/rate", json!("200 GBps")),
        ("/topology/links/0/rate", json!(200)),
        ("/topology/links/0/delay", json!("5 minutes")),
        ("/topology/links/0/between", json!(["dc1"])),
        ("/topology/dcs/0/name", json!("DC1")),
        ("/topology/dcs/0/name", json!("dc-1")),
        ("/topology/dcs/0", json!({ "name": "dc1", "host": 4 })),
        ("/topology/dcs/0/hosts", json!(-1)),
        ("/traffic/0", json!({ "workload": {}, "flows": [] })),
        ("/traffic/0/workload/load", json!(0)),
        ("/traffic/0/workload/pairs", json!("all")),
        ("/policies", json!([])),
        ("/policies/0", json!("emcp")),
        ("/policies/6/lcmp", json!({ "s_path": 17 })),
        ("/policies/6/lcmp", json!({ "trend_shift": 32 })),
        ("/policies/6/lcmp", json!({ "high_water": 0 })),
        ("/policies/6/lcmp", json!({ "flow_table_entries": 50_001 })),
        ("/scale", json!({ "rate": "1/2000" })),
        ("/name", json!("")),
    ];
    for (pointer, value) in changes {
        let mut scenario = scenario("8dc.yaml");
        *scenario.pointer_mut(pointer).unwrap() = value.clone();
        let found = violations(&schema, &scenario);
        assert!(!found.is_empty(), "{pointer} = {value} is accepted");
    }
}

#[test]
fn editors_accept_what_people_write() {
    let schema = lab_scenario::schema();
    for (pointer, value) in [
        ("/topology/links/0/rate", "100 Gbps"),
        ("/topology/links/0/rate", "1 Tbit/s"),
        ("/topology/links/0/delay", "10ms"),
        ("/topology/links/0/buffer", "2 MiB"),
        ("/traffic/0/workload/load", "50%"),
    ] {
        let mut scenario = scenario("8dc.yaml");
        scenario["topology"]["links"][0]["buffer"] = json!("1 GB");
        *scenario.pointer_mut(pointer).unwrap() = value.into();
        assert_eq!(
            violations(&schema, &scenario),
            [""; 0],
            "{pointer} = {value}"
        );
        let text = serde_json::to_string(&scenario).unwrap();
        lab_scenario::parse("words.yaml", text.as_bytes()).unwrap();
    }
}

#[test]
fn every_key_is_described() {
    fn check(schema: &Value, at: &str) {
        match schema {
            Value::Object(object) => {
                let properties = object.get("properties").and_then(Value::as_object);
                for (key, property) in properties.into_iter().flatten() {
                    assert!(property.get("description").is_some(), "{at}/{key}");
                }
                for (key, value) in object {
                    check(value, &format!("{at}/{key}"));
                }
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, at)),
            _ => {}
        }
    }
    check(&lab_scenario::schema(), "");
}

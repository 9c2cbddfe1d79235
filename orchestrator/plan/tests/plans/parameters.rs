//! Tests of policy parameters, from the scenario into the plan.

use lab_parameters::{LcmpConfig, Value, lcmp::Keep};
use lab_plan::{render_table, resolve};
use lab_scenario::{PolicySpec, Settings};
use lab_units::{BitsPerSec, Bytes, Nanos};

use crate::common;

fn with_parameters(parameters: &str) -> String {
    let text = common::scenario_text("smoke.yaml").replace("time: 100", "time: 10");
    text.replace("  - lcmp\n", &format!("  - lcmp: {{ {parameters} }}\n"))
}

fn config(text: &str) -> LcmpConfig {
    let plan = common::plan(text);
    plan.policies[1].policy.lcmp().unwrap().clone()
}

/// Times are emulated, ten times the scenario's; all other parameters are as written.
#[test]
fn a_switch_runs_with_the_scenarios_parameters() {
    let text = with_parameters(
        "preset: artifact, alpha: 1, beta: 2, w_dl: 3, w_lc: 4, s_path: 5, w_ql: 6, w_tl: 7, w_dp: 8, \
         s_cong: 9, max_delay: 1024 ms, max_capacity: 40 Gbit, trend_shift: 11, duration_shift: 12, \
         high_water: 13, low_water: 11, sample_interval: 15 ms, gc_interval: 16 ms, \
         idle_timeout: 17 ms, flow_table_entries: 18, congested_threshold: 19, drop_threshold: 20, \
         level_buffer: 1 GB, keep: floor",
    );
    let mut expected = LcmpConfig::ARTIFACT;
    expected.alpha = 1;
    expected.beta = 2;
    expected.w_dl = 3;
    expected.w_lc = 4;
    expected.s_path = 5;
    expected.w_ql = 6;
    expected.w_tl = 7;
    expected.w_dp = 8;
    expected.s_cong = 9;
    expected.max_delay_ns = Nanos::from_millis(1_024);
    expected.max_capacity_bps = BitsPerSec::new(40_000_000_000).unwrap();
    expected.trend_shift = 11;
    expected.duration_shift = 12;
    expected.high_water = 13;
    expected.low_water = 11;
    expected.sample_interval_ns = Nanos::from_millis(150);
    expected.gc_interval_ns = Nanos::from_millis(160);
    expected.idle_timeout_ns = Nanos::from_millis(170);
    expected.flow_table_entries = 18;
    expected.congested_threshold = 19;
    expected.drop_threshold = 20;
    // 1 GB · rate scale 1/2000 · time scale 10 is 5 MB.
    expected.level_buffer_bytes = Some(Bytes::new(5_000_000));
    expected.keep = Keep::Floor;
    assert_eq!(config(&text), expected);
}

#[test]
fn plans_of_versions_without_the_newer_parameters_are_read() {
    let config = config(&with_parameters("alpha: 1"));
    let mut text = serde_json::to_value(&config).unwrap();
    for newer in ["keep", "level_buffer_bytes"] {
        assert!(text.as_object_mut().unwrap().remove(newer).is_some());
    }
    assert_eq!(serde_json::from_value::<LcmpConfig>(text).unwrap(), config);
}

#[test]
fn parameters_left_out_are_the_presets() {
    let preset = LcmpConfig::artifact();
    let expected = LcmpConfig {
        sample_interval_ns: Nanos::from_millis(10),
        gc_interval_ns: Nanos::from_millis(10_000),
        idle_timeout_ns: Nanos::from_millis(20_000),
        ..preset
    };
    assert_eq!(config(&with_parameters("preset: artifact")), expected);
}

#[test]
fn a_larger_shift_makes_path_scores_smaller() {
    let scores = |parameters: &str| {
        let plan = common::plan(&with_parameters(parameters));
        plan.policies[1].path_scores.concat().concat()
    };
    let plain = scores("s_path: 2");
    let halved = scores("s_path: 3");
    assert!(!plain.is_empty());
    for (plain, halved) in plain.iter().zip(&halved) {
        assert_eq!(plain / 2, *halved);
    }
}

#[test]
fn the_table_shows_what_departs_from_the_preset() {
    let departing = "s_path: 3, trend_shift: 4, flow_table_entries: 100, low_water: 102";
    let table = render_table(&common::plan(&with_parameters(departing)));
    let policies = table
        .split("Policies (paper units)\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    insta::assert_snapshot!(policies);
}

/// The parser already rejects values out of range; the planner's own check is for scenarios built by a program.
#[test]
fn parameters_that_do_not_fit_are_refused() {
    let (mut scenario, files) = common::read(&common::scenario_text("smoke.yaml"));
    for (name, value, message) in [
        (
            "s_path",
            Value::Number(17),
            "`s_path` is 17; it must be 0 to 16",
        ),
        (
            "low_water",
            Value::Number(204),
            "`low_water` is 204; it must be below `high_water`, which is 204",
        ),
        (
            "max_delay",
            Value::Time(Nanos::from_millis(500)),
            "`max_delay` is 500 ms; it must be a power of two of us (hint: the nearest are \
             `262144 us`, `524288 us`)",
        ),
        (
            "sample_interval",
            Value::Time(Nanos::ZERO),
            "`sample_interval` is 0 ns; it must be 1 us to 3600 s",
        ),
    ] {
        scenario.policies[1] = PolicySpec::Lcmp(Settings::default().with(name, value));
        let plan = resolve(&scenario, "", &files, &lab_plan::PlanOptions::default());
        let expected = format!("`policies[1].lcmp`: {message}");
        assert_eq!(plan.unwrap_err().to_string(), expected);
    }
}

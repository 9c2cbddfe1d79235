//! Parameters of policies, from the scenario into the plan.

use lab_plan::{render_table, resolve};
use lab_policy::lcmp::{LcmpConfig, Preset};
use lab_scenario::{LcmpSpec, PolicySpec, defaults, limits};
use lab_units::{BitsPerSec, Nanos};

use crate::common;

fn with_parameters(parameters: &str) -> String {
    let text = common::scenario_text("smoke.yaml").replace("time: 100", "time: 10");
    text.replace("  - lcmp\n", &format!("  - lcmp: {{ {parameters} }}\n"))
}

fn config(text: &str) -> LcmpConfig {
    let plan = common::plan(text);
    plan.policies[1].policy.lcmp().unwrap().clone()
}

/// Times are emulated, ten times as long; everything else is as written.
#[test]
fn what_a_scenario_sets_is_what_a_switch_runs_with() {
    let text = with_parameters(
        "preset: artifact, alpha: 1, beta: 2, w_dl: 3, w_lc: 4, s_path: 5, w_ql: 6, w_tl: 7, w_dp: 8, \
         s_cong: 9, max_delay: 1024 ms, max_capacity: 40 Gbit, trend_shift: 11, duration_shift: 12, \
         high_water: 13, low_water: 11, sample_interval: 15 ms, gc_interval: 16 ms, \
         idle_timeout: 17 ms, flow_table_entries: 18, congested_threshold: 19, drop_threshold: 20",
    );
    let expected = LcmpConfig {
        preset: Preset::Artifact,
        alpha: 1,
        beta: 2,
        w_dl: 3,
        w_lc: 4,
        s_path: 5,
        w_ql: 6,
        w_tl: 7,
        w_dp: 8,
        s_cong: 9,
        max_delay_ns: Nanos::from_millis(1_024),
        max_capacity_bps: BitsPerSec::new(40_000_000_000).unwrap(),
        trend_shift: 11,
        duration_shift: 12,
        high_water: 13,
        low_water: 11,
        sample_interval_ns: Nanos::from_millis(150),
        gc_interval_ns: Nanos::from_millis(160),
        idle_timeout_ns: Nanos::from_millis(170),
        flow_table_entries: 18,
        congested_threshold: 19,
        drop_threshold: 20,
    };
    assert_eq!(config(&text), expected);
}

#[test]
fn what_a_scenario_leaves_out_is_the_presets() {
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
    let (plain, halved) = (scores("s_path: 2"), scores("s_path: 3"));
    assert!(!plain.is_empty());
    for (plain, halved) in plain.iter().zip(&halved) {
        assert_eq!(plain / 2, *halved);
    }
}

#[test]
fn the_table_shows_what_departs_from_the_preset() {
    let departing = "s_path: 3, trend_shift: 4, flow_table_entries: 100, low_water: 102";
    let table = render_table(&common::plan(&with_parameters(departing)));
    let policies = table.split("Policies\n").nth(1).unwrap();
    let policies = policies.split("\n\n").next().unwrap();
    insta::assert_snapshot!(policies);
}

/// The reader of scenarios refuses these first; a scenario made by a program is checked here.
#[test]
fn what_no_switch_computes_with() {
    let (mut scenario, files) = common::read(&common::scenario_text("smoke.yaml"));
    let mut plan = |spec: LcmpSpec| {
        scenario.policies[1] = PolicySpec::Lcmp(spec);
        let plan = resolve(&scenario, "", &files, &lab_plan::PlanOptions::default());
        plan.unwrap_err().to_string()
    };
    assert_eq!(
        plan(LcmpSpec {
            s_path: Some(17),
            ..LcmpSpec::default()
        }),
        "`policies[1].lcmp`: `s_path` is 17, it must be 0 to 16"
    );
    assert_eq!(
        plan(LcmpSpec {
            low_water: Some(204),
            ..LcmpSpec::default()
        }),
        "`policies[1].lcmp`: `low_water` is 204, it must be below `high_water`, which is 204"
    );
}

/// Scenarios are read without knowing what switches compute with, so that both are held together
/// here: the bounds are the widest that validate.
#[test]
fn the_readers_bounds_and_defaults_are_the_switchs() {
    let presets = [
        LcmpConfig::artifact(),
        LcmpConfig::paper(BitsPerSec::new(1).unwrap()),
    ];
    for preset in presets {
        assert_eq!(preset.high_water, defaults::HIGH_WATER);
        assert_eq!(preset.low_water, defaults::LOW_WATER);
        let (score, state) = (limits::MAX_SCORE_SHIFT, limits::MAX_STATE_SHIFT);
        let entries = limits::MAX_FLOW_TABLE_ENTRIES;
        for (past, is_valid) in [(0, true), (1, false)] {
            let entries = entries + u32::from(past);
            let changes: [&dyn Fn(&mut LcmpConfig); 5] = [
                &|config| config.s_path = score + past,
                &|config| config.s_cong = score + past,
                &|config| config.trend_shift = state + past,
                &|config| config.duration_shift = state + past,
                &|config| config.flow_table_entries = entries,
            ];
            for change in changes {
                let mut config = preset.clone();
                change(&mut config);
                assert_eq!(config.validate().is_ok(), is_valid, "{config:?}");
            }
        }
    }
}

//! Tests of requests: their text form, and requests that repeat an earlier run.

use std::path::Path;

use lab_records::{
    Asked, Clock, EngineInfo, EngineRequest, Location, RunDir, RunInfo, RunRequest, Semantics,
    SimInfo, SimRecords, SimRequest,
    directory::{FORMAT_VERSION, SCENARIO_FILE},
    request::Overrides,
};
use lab_sample as sample;
use lab_units::{Engine, Nanos, Ratio};

fn ratio(text: &str) -> Ratio {
    text.parse().expect("a ratio")
}

/// Returns the request that repeats the run described by `info`.
fn again(info: &RunInfo, scale_for: Option<&str>) -> Option<RunRequest> {
    let scale_for = scale_for.map(str::to_owned);
    RunRequest::again(info, SCENARIO_FILE.into(), scale_for)
}

/// Returns the facts of a run in a guest, with the options of its command line.
fn of_lab() -> RunInfo {
    let mut info = sample::info();
    info.provenance.asked = Some(Asked {
        load: Some(ratio("3/10")),
        options: SimRequest {
            is_scaled: true,
            ..SimRequest::default()
        },
    });
    info
}

#[test]
fn a_request_needs_only_a_scenario_and_an_engine() {
    for (engine, text) in [
        (
            Engine::Kernel,
            r#"{ "scenario": "8dc", "engine": "kernel" }"#,
        ),
        (
            Engine::Sim,
            r#"{ "scenario": "8dc", "engine": { "sim": {} } }"#,
        ),
    ] {
        let read: RunRequest = serde_json::from_str(text).expect("a request");
        assert_eq!(read, RunRequest::new("8dc".into(), engine));
    }
    let misspelt = r#"{ "scenario": "8dc", "engine": "kernel", "overrides": { "sed": 1 } }"#;
    let error = serde_json::from_str::<RunRequest>(misspelt).expect_err("no such override");
    assert!(error.to_string().contains("`sed`"), "{error}");
}

#[test]
fn a_request_survives_its_text_form() {
    let request = RunRequest {
        scenario: "scenarios/8dc.yaml".into(),
        overrides: Overrides {
            seed: Some(u64::MAX),
            repetitions: Some(3),
            policies: vec!["ecmp".into(), "lcmp".into()],
            load: Some(ratio("1/3")),
            scale: Some((ratio("1/6000"), ratio("100"))),
            scale_for: Some("guest-kvm".into()),
        },
        engine: EngineRequest::Sim(SimRequest {
            is_scaled: true,
            until_ns: Some(Nanos::from_millis(200)),
            story: vec!["7".into(), "all".into()],
            trains: Some(512),
            records: SimRecords::Flows,
        }),
        location: Some(Location::Guest),
        clock: Some(Clock::Real),
    };
    let text = serde_json::to_string(&request).expect("plain data");
    let read: RunRequest = serde_json::from_str(&text).expect("a request");
    assert_eq!(read, request);
}

/// The run in the folder of the current format was made by an lcmp-lab that did not record requests yet.
#[test]
fn an_older_run_of_this_format_gives_the_request_for_it() {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/formats");
    let run = RunDir::open(&formats.join(FORMAT_VERSION.to_string())).expect("a run");
    let expected = RunRequest {
        overrides: Overrides {
            seed: Some(2),
            repetitions: Some(1),
            policies: vec!["lcmp".into()],
            ..Overrides::default()
        },
        ..RunRequest::new(SCENARIO_FILE.into(), Engine::Sim)
    };
    assert_eq!(again(run.info(), None), Some(expected));
}

#[test]
fn a_lab_runs_again_at_its_place_with_the_factors_of_its_scale() {
    let expected = RunRequest {
        overrides: Overrides {
            seed: Some(1),
            repetitions: Some(1),
            policies: vec!["ecmp".into(), "lcmp".into()],
            load: Some(ratio("3/10")),
            scale: Some((ratio("1/2000"), ratio("10"))),
            scale_for: None,
        },
        location: Some(Location::Guest),
        clock: Some(Clock::Virtual),
        ..RunRequest::new(SCENARIO_FILE.into(), Engine::Kernel)
    };
    assert_eq!(again(&of_lab(), None), Some(expected.clone()));
    let here = RunInfo {
        location: Location::Here,
        clock: Clock::Real,
        ..of_lab()
    };
    let expected = RunRequest {
        location: Some(Location::Here),
        clock: None,
        ..expected
    };
    assert_eq!(again(&here, None), Some(expected));
}

#[test]
fn an_automatic_scale_is_made_again_for_its_capacity() {
    let request = again(&of_lab(), Some("here:4us,150us")).expect("a request");
    assert_eq!(request.overrides.scale, None);
    assert_eq!(
        request.overrides.scale_for.as_deref(),
        Some("here:4us,150us")
    );
}

#[test]
fn a_simulation_runs_again_with_its_own_options() {
    let mut info = of_lab();
    info.engine = EngineInfo::Sim(SimInfo {
        semantics: Semantics::Paper,
        cc: vec!["none".into(); 2],
        threads: 1,
        trains: None,
    });
    let options = SimRequest {
        is_scaled: false,
        until_ns: Some(Nanos::from_millis(5)),
        story: vec!["0".into()],
        trains: None,
        records: SimRecords::Full,
    };
    info.provenance.asked = Some(Asked {
        load: None,
        options: options.clone(),
    });
    let request = again(&info, None).expect("a request");
    assert_eq!(request.engine, EngineRequest::Sim(options));
    assert_eq!((request.location, request.overrides.scale), (None, None));
}

#[test]
fn a_run_keeps_its_load_and_its_options_side_by_side() {
    let text = r#"{"load":"3/10","is_scaled":true,"until_ns":200000000,"story":["0","7"]}"#;
    let asked: Asked = serde_json::from_str(text).expect("what a run was asked for");
    assert_eq!(asked.load, Some(ratio("3/10")));
    assert_eq!(asked.options.story, ["0", "7"]);
    assert_eq!(serde_json::to_string(&asked).expect("plain data"), text);
}

#[test]
fn a_run_without_its_options_is_not_made_again() {
    assert_eq!(again(&sample::info(), None), None);
}

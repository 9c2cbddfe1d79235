//! Tests of the contents of reports.

use std::{
    fs,
    path::{Path, PathBuf},
};

use lab_records::{
    Asked, DcPath, FaultInfo, FlowRow, Grade, LinkChange, SimRecords, SimRequest,
    directory::FORMAT_VERSION,
};
use lab_reports::{Report, render};
use lab_units::Nanos;

use crate::{html, readme, synthetic::Synthetic, thirteen};

fn report(dir: &Path) -> (Report, String) {
    let report = render(dir).expect("a report");
    let html = fs::read_to_string(&report.html).expect("a page");
    (report, html)
}

#[test]
fn the_testbed_is_reported() {
    let dir = Synthetic::testbed(44).write("testbed");
    let (report, html) = report(&dir);
    assert_eq!(report.summary.verdict, Grade::Valid);
    insta::assert_snapshot!("testbed_page", html::text(&html));
    insta::assert_json_snapshot!("testbed_summary", report.numbers());
    let mut files: Vec<&str> = report
        .figures
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    files.sort_unstable();
    insta::assert_snapshot!("testbed_figures", files.join("\n"));
    let explained = readme::first_cells("## Figures");
    assert!(
        files
            .iter()
            .all(|file| explained.contains(&&file[..file.len() - 4]))
    );
    assert!(report.figures.iter().all(|file| file.exists()));
}

#[test]
fn a_run_of_the_simulator_is_reported() {
    let (report, html) = report(&thirteen::run(3_000).write("thirteen"));
    assert_eq!(report.summary.verdict, Grade::Valid, "{:?}", report.summary);
    let text = html::text(&html);
    let section = |start: &str, end: &str| {
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with(start))
            .take_while(|line| *line != end)
            .collect();
        lines.join("\n")
    };
    insta::assert_snapshot!("simulated_facts", section("scenario", "Written by"));
    insta::assert_snapshot!(
        "simulated_pauses",
        section("Paused by", "What happened to single flows?")
    );
    assert!(text.contains(" marked"));
}

#[test]
fn a_run_that_is_not_valid_opens_with_its_reasons() {
    let mut run = Synthetic::testbed(44);
    run.give_up("ecmp", 3);
    run.give_up("ecmp", 17);
    run.flow_mut("lcmp", 5).slowdown = Some(0.93);
    let end = run.end.as_mut().expect("an end");
    end.late_launches = 1;
    end.problems.push("the agent of `dc4` ended early".into());
    let (report, html) = report(&run.write("doubtful"));
    assert_eq!(report.summary.verdict, Grade::Invalid);
    assert_eq!(report.summary.policies[0].unfinished, 2);
    assert_eq!(report.summary.policies[1].below_one, 1);
    let text = html::text(&html);
    let banner: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Invalid run"))
        .take(5)
        .collect();
    insta::assert_snapshot!(banner.join("\n"), @r"
    Invalid run: these results do not represent the scenario.
    doubtful: 2 of 88 flows did not finish
    invalid: 1 of 86 flows impossibly fast (the ideal FCT or the measurement is wrong)
    invalid: the agent of `dc4` ended early
    doubtful: 1 of 88 flows launched late, bound 0.1 %
    ");
    assert!(!text.contains("Valid."));
    assert!(text.contains("timed out: not ended 60 s after its start"));
}

#[test]
fn a_run_without_rows_has_a_report() {
    let mut run = Synthetic::testbed(44);
    run.flows.clear();
    run.links.clear();
    run.queues.clear();
    run.decisions.clear();
    run.end = None;
    let (report, html) = report(&run.write("dead"));
    assert_eq!(report.summary.verdict, Grade::Doubtful);
    assert_eq!(report.summary.policies[0].slowdown, None);
    let text = html::text(&html);
    for sentence in [
        "the run did not end: it was interrupted, or is still running",
        "0 of 88 scheduled flows recorded",
        "no flow finished",
        "no link was measured",
        "no flow's path is known",
        "no flow is recorded",
        "The links were not measured.",
    ] {
        assert!(
            html.contains(&html::escape(sentence)) || text.contains(sentence),
            "{sentence}"
        );
    }
}

/// Of each link direction and port, the run has totals. The page has neither figures over time nor claims about what was
/// not recorded.
#[test]
fn a_run_that_kept_only_flows_and_totals_has_no_figures_over_time() {
    let mut run = thirteen::run(3_000);
    let last = run.links.iter().map(|row| row.time_ns).max();
    run.links.retain(|row| Some(row.time_ns) == last);
    run.queues.clear();
    run.decisions.clear();
    run.info.provenance.asked = Some(Asked {
        load: None,
        options: SimRequest {
            records: SimRecords::Flows,
            ..SimRequest::default()
        },
    });
    let (report, html) = report(&run.write("only-flows"));
    let text = html::text(&html);
    assert!(text.contains("The run kept only flows and totals (`--records flows`)"));
    let is_drawn = |figure: &str| {
        let names = report.figures.iter().filter_map(|path| path.file_stem());
        names.into_iter().any(|name| name == figure)
    };
    assert!(is_drawn("link-utilisation"));
    for figure in ["links-over-time", "queues-over-time", "around-faults"] {
        assert!(!is_drawn(figure), "{figure}");
    }
    for sentence in [
        "no link was measured",
        "No link counters",
        "no queue was sampled",
    ] {
        assert!(!html.contains(sentence), "{sentence}");
    }
}

#[test]
fn a_truncated_row_is_left_out_and_reported() {
    let dir = Synthetic::testbed(44).write("truncated");
    let flows = dir.join("flows.csv");
    let text = fs::read_to_string(&flows).expect("flows");
    fs::write(&flows, &text[..text.len() - 20]).expect("the cut table");
    let (report, _) = report(&dir);
    assert_eq!(
        report
            .summary
            .reasons
            .iter()
            .map(lab_reports::words::reason)
            .collect::<Vec<_>>(),
        [
            "87 of 88 scheduled flows recorded",
            "1 table with a truncated last row, which is left out",
        ]
    );
}

#[test]
fn a_newer_run_is_refused() {
    let dir = Synthetic::testbed(1).write("newer");
    let file = dir.join("run.json");
    let text = fs::read_to_string(&file).expect("run.json");
    let format = |version: u32| format!("\"format\": {version}");
    let newer = text.replace(&format(FORMAT_VERSION), &format(FORMAT_VERSION + 1));
    fs::write(&file, newer).expect("run.json");
    let error = render(&dir).unwrap_err();
    let source = std::error::Error::source(&error)
        .expect("a source")
        .to_string();
    let expected = format!(
        "has format {}, which this lcmp-lab (format {FORMAT_VERSION}) cannot read",
        FORMAT_VERSION + 1
    );
    assert!(source.contains(&expected), "{source}");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let run = Synthetic::testbed(44);
    let read = |name: &str| {
        let (report, html) = report(&run.write(name));
        let files = report
            .figures
            .iter()
            .map(|file| fs::read(file).expect("a figure"));
        (html, files.collect::<Vec<_>>())
    };
    assert!(read("same-1") == read("same-2"));
}

#[test]
fn the_page_loads_nothing_and_runs_only_its_own_scripts() {
    let dir = Synthetic::testbed(44).write("closed");
    let (report, html) = report(&dir);
    let pages = pages(&report, html);
    assert_eq!(pages.len(), 10);
    for page in pages {
        let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        let fonts = page.match_indices("url(data:font/ttf;base64,").count();
        assert_eq!((fonts, page.match_indices("url(").count()), (1, 1));
        let page = html::without_font(&page);
        let scripts = page.matches("<script").count();
        let hashes = page.matches("'sha256-").count();
        assert!(
            [(0, 0), (3, 2)].contains(&(scripts, hashes)),
            "{scripts} {hashes}"
        );
        let page = html::without_code(&page);
        for forbidden in [
            "http:", "https:", "//", "<link", "<img", "@import", "onload=",
        ] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}

/// Returns the texts of the page and of its figures.
fn pages(report: &Report, html: String) -> Vec<String> {
    let is_svg = |file: &&PathBuf| file.extension().is_some_and(|end| end == "svg");
    let svgs = report.figures.iter().filter(is_svg);
    let mut pages = vec![html];
    pages.extend(svgs.map(|file| fs::read_to_string(file).expect("a figure")));
    pages
}

#[test]
fn hostile_names_are_text() {
    let mut run = Synthetic::testbed(12);
    let evil = "<script>alert(\"1\")</script>&amp;'";
    let evil_dc = "\"><img src=x onerror=alert(1)>";
    let rename = |dc: &mut String| {
        if dc == "dc4" {
            *dc = evil_dc.into();
        }
    };
    run.info.scenario = evil.into();
    run.info.description = evil.into();
    run.info.policies[0] = evil.into();
    run.info.warnings = vec![evil.into()];
    run.info.dcs.iter_mut().for_each(|dc| rename(&mut dc.name));
    for link in &mut run.info.links {
        rename(&mut link.a);
        rename(&mut link.b);
        link.name = format!("{}-{}", link.a, link.b);
    }
    let rename = |policy: &mut String| {
        if policy == "ecmp" {
            *policy = evil.into();
        }
    };
    run.links.iter_mut().for_each(|row| rename(&mut row.policy));
    run.queues
        .iter_mut()
        .for_each(|row| rename(&mut row.policy));
    run.decisions
        .iter_mut()
        .for_each(|row| rename(&mut row.policy));
    for flow in &mut run.flows {
        rename(&mut flow.policy);
        flow.reason = evil.into();
        flow.path = Some(DcPath::new(["dc1", evil_dc, "dc8"]));
    }
    run.end.as_mut().expect("an end").problems = vec![evil.into()];
    let (report, html) = report(&run.write("hostile"));
    let pages = pages(&report, html);
    for page in &pages {
        html::assert_well_formed(page);
        let markup = html::without_code(page);
        assert!(!markup.contains("<script") && !page.contains("<img"));
        assert!(!page.contains("<script>alert"));
    }
    let escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;";
    assert!(pages[0].contains(escaped));
}

#[test]
fn only_a_run_with_faults_shows_rates_around_them() {
    let mut run = Synthetic::testbed(40);
    let (_, without) = report(&run.write("sound"));
    assert!(!without.contains("id=\"around-faults\""));
    let fault = |millis, change| FaultInfo {
        time_ns: Nanos::from_millis(millis),
        link: "dc1-dc6".into(),
        change,
        rate_bps: None,
    };
    run.info.faults = vec![fault(20, LinkChange::Down), fault(40, LinkChange::Up)];
    let (_, with) = report(&run.write("faulty"));
    assert!(with.contains("id=\"around-faults\""));
    for label in [
        "to dc4",
        "1: dc1-dc6 cut at 20 ms",
        "lcmp: sent by dc1 (Gbit/s)",
    ] {
        assert!(with.contains(label), "{label}");
    }
}

#[test]
fn a_large_run_shows_a_selection_and_says_so() {
    let mut run = Synthetic::testbed(820);
    let ecmp: Vec<FlowRow> = run
        .flows
        .iter()
        .filter(|flow| flow.policy == "ecmp")
        .cloned()
        .collect();
    for policy in [
        "wcmp",
        "ucmp",
        "ucmp-artifact",
        "te-100ms",
        "lcmp-alpha0",
        "lcmp-beta0",
    ] {
        run.info.policies.push(policy.into());
        run.flows.extend(ecmp.iter().cloned().map(|flow| FlowRow {
            policy: policy.into(),
            ..flow
        }));
    }
    let second = run.flows.clone().into_iter().map(|flow| FlowRow {
        repetition: 1,
        start_ns: flow.start_ns + Nanos::new(5),
        ..flow
    });
    run.flows.extend(second.collect::<Vec<_>>());
    run.info.repetitions = 2;
    run.info.scheduled_flows = 1_640;
    let (report, html) = report(&run.write("large"));
    assert_eq!(
        report.summary.verdict,
        Grade::Valid,
        "{:?}",
        report.summary.reasons
    );
    let text = html::text(&html);
    for sentence in [
        "p50 in 20 bins, p99 in 1 bin",
        "Only the first repetition is shown.",
        "Bands are 95 % intervals, Student's t over the repetitions.",
        "of 13,120 flows: the worst of each policy",
    ] {
        assert!(text.contains(sentence), "{sentence}");
    }
}

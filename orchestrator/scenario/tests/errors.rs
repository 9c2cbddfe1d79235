//! Messages about invalid scenarios and files: a snapshot for each text in `errors/`, and for each generated text.

use std::{fs, path::Path};

use lab_scenario::{ScenarioErrors, SizeCdf, limits, parse, parse_flow_file};

/// Returns the problems in `text`; the extension of `name` selects the parser.
fn errors(name: &str, text: &[u8]) -> ScenarioErrors {
    let as_text = || str::from_utf8(text).unwrap();
    let refused = match name.rsplit_once('.') {
        Some((_, "yaml")) => parse(name, text).err(),
        Some((_, "csv")) => SizeCdf::parse(name, as_text()).err(),
        Some((_, "txt")) => parse_flow_file(name, as_text()).err(),
        _ => panic!("`{name}` is of no known kind"),
    };
    refused.unwrap_or_else(|| panic!("`{name}` is accepted"))
}

/// Snapshot filter that cuts lists of policies after the first entry, because each new policy would change them.
const CUT_LISTS: (&str, &str) = ("`ecmp`, `wcmp`(, `[a-z0-9-]+`)+", "`ecmp`, …");

fn assert_message(name: &str, text: &[u8]) {
    let (stem, _) = name.rsplit_once('.').unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "errors/said", filters => [CUT_LISTS] }, {
        insta::assert_snapshot!(stem, errors(name, text));
    });
}

fn case_names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn case(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn every_problem_has_a_location_and_a_reason() {
    let names = case_names();
    assert!(names.len() >= 40, "{} cases", names.len());
    for name in names {
        assert_message(&name, &case(&name));
    }
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let mut text = case("key-unknown.yaml");
    text[40] = 0xff;
    assert_message("not-utf8.yaml", &text);
    assert_message("utf16.yaml", b"\xff\xfen\0a\0m\0e\0:\0");
    assert_message("nul.yaml", b"name: ca\0se\n");
}

#[test]
fn ten_megabytes_are_refused() {
    let text = vec![b'#'; 10_000_000];
    assert_message("ten-megabytes.yaml", &text);
}

#[test]
fn one_very_long_line_is_cut_around_the_caret() {
    let long = format!("{{ name: case, {} bandwidth: 5 }}", " ".repeat(100_000));
    let text = errors("long.yaml", long.as_bytes()).to_string();
    assert!(text.len() < 1_000, "{} bytes", text.len());
    assert!(text.contains("bandwidth: 5"), "{text}");
}

/// Returns a valid scenario with the given links, and with the lines `flows` after a 30 MB flow from dc1/h1 to dc2/h1.
fn scenario(links: &str, flows: &str) -> String {
    format!(
        "name: case\n\
         topology:\n\
         \x20 dcs: [{{ name: dc1, hosts: 2 }}, {{ name: dc2, hosts: 2 }}]\n\
         \x20 links: [{links}]\n\
         traffic:\n\
         \x20 - flows:\n\
         \x20     - &flow {{ from: dc1/h1, to: dc2/h1, size: 30 MB }}\n{flows}\
         policies: [ecmp]\n"
    )
}

const LINK: &str = "{ between: [dc1, dc2], rate: 100 Gbit, delay: 5 ms }";

#[test]
fn many_aliases_are_fine_until_they_are_too_many() {
    let aliases = |count| scenario(LINK, &"      - *flow\n".repeat(count));
    parse("aliases.yaml", aliases(10_000).as_bytes()).unwrap();
    assert_message("too-many-aliases.yaml", aliases(60_000).as_bytes());
}

#[test]
fn only_the_first_of_many_problems_are_shown() {
    let flow = "      - { from: dc1/h1, to: dc2/h7, size: 30 MB }\n";
    let text = scenario(LINK, &flow.repeat(15_000));
    let errors = errors("many-problems.yaml", text.as_bytes());
    assert_eq!(errors.problems().len(), limits::MAX_PROBLEMS);
    assert_eq!(errors.omitted(), 15_000 - limits::MAX_PROBLEMS);
    assert!(errors.to_string().ends_with("\n\nand 14980 more"));
}

#[test]
fn a_value_beyond_its_limit_is_refused_with_the_limit() {
    let links = vec![LINK; limits::MAX_LINKS + 1].join(", ");
    let text = scenario(&links, "");
    let errors = errors("links.yaml", text.as_bytes());
    let message = errors.problems()[0].message();
    assert_eq!(message, "the list has 2049 entries; it must have 1 to 2048");
}

#[test]
fn every_snapshot_has_its_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors/said");
    let names = case_names();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let stem = file.strip_suffix(".snap").unwrap();
        let mut stems = names.iter().map(|name| name.rsplit_once('.').unwrap().0);
        let has_case = WITHOUT_FILE.contains(&stem) || stems.any(|other| other == stem);
        assert!(has_case, "`{file}` is left over");
    }
}

/// Names of snapshots without an input file, because a test generates the input.
const WITHOUT_FILE: &[&str] = &[
    "not-utf8",
    "nul",
    "ten-megabytes",
    "too-many-aliases",
    "utf16",
];

#[test]
fn problems_are_data_for_tools() {
    let errors = errors("key-unknown.yaml", &case("key-unknown.yaml"));
    let expected = serde_json::json!([{
        "file": "key-unknown.yaml",
        "line": 8,
        "column": 30,
        "path": "topology.links[0].rte",
        "message": "unknown key `rte`",
        "hint": "did you mean `rate`?",
    }]);
    assert_eq!(serde_json::to_value(errors.problems()).unwrap(), expected);
}

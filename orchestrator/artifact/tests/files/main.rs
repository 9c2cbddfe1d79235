//! Tests with files in the artifact's format: small files made for the tests, and the published files if they are
//! present.

mod import;
mod published;

/// Returns the text of a file in the folder `data`.
fn data(name: &str) -> String {
    let path = format!("{}/tests/files/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the test's file")
}

/// Returns the simulator's plan for the scenario in `text`, which may refer to `files`, given by name and contents.
fn plan(text: &str, files: &[(&str, &str)]) -> lab_plan::Plan {
    let scenario = lab_scenario::parse("import.yaml", text.as_bytes())
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let options = lab_plan::PlanOptions {
        engine: lab_plan::Engine::Sim,
        ..lab_plan::PlanOptions::default()
    };
    lab_plan::resolve(&scenario, text, &files.collect(), &options).expect("a plan")
}

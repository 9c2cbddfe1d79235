//! Switch programs of the user's own, looked at before anything is built.

use std::path::Path;

use lab_plan::Plan;
use lab_scenario::PolicySpec;
use lab_switchd::{ObjectError, read_object};

use crate::{failure::Failure, load::Loaded};

/// Refuses objects that are no switch programs, of the policies of `plan`; `scenario` is the path that
/// theirs are relative to.
///
/// # Errors
/// With exit code 2: the files are the user's.
pub fn check(loaded: &Loaded, scenario: &Path, plan: &Plan) -> Result<(), Failure> {
    let base = scenario.parent().unwrap_or(Path::new(""));
    let is_run = |spec: &PolicySpec| plan.policies.iter().any(|run| run.label == spec.label());
    let policies = loaded.scenario.policies.iter().enumerate();
    let wrong = policies
        .filter(|(_, spec)| is_run(spec))
        .filter_map(|(at, spec)| {
            let PolicySpec::Ebpf(own) = spec else {
                return None;
            };
            let error = read_object(&base.join(&own.object)).err()?;
            Some(format!(
                "{}: `policies[{at}].ebpf`: `{}` is no switch program: {}",
                scenario.display(),
                own.object,
                with_hint(&error),
            ))
        });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(wrong.join("\nerror: ")))
}

/// What is wrong with an object, and what to do about it.
fn with_hint(error: &ObjectError) -> String {
    match error {
        ObjectError::Read(_) | ObjectError::NoFile => format!(
            "{error} (hint: the path is relative to the scenario, agents/ebpf/build.sh SOURCE.c \
             OBJECT.o makes one)"
        ),
        ObjectError::TooLarge { .. }
        | ObjectError::NotAnObject { .. }
        | ObjectError::License { .. }
        | ObjectError::NoProgram
        | ObjectError::NoMap { .. }
        | ObjectError::OtherMap { .. } => error.to_string(),
    }
}

//! Switch programs that the user supplies, kept in the run directory so that a bundle of the run can be run again.

use std::{collections::BTreeMap, fmt, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lab_plan::{Plan, PolicyPlan};
use lab_records::directory::{self, PROGRAMS_FILE};
use lab_switchd::read_object;

use crate::failure::{During, Failure};

/// Bytes of eBPF objects by their path in the scenario.
pub type Programs = BTreeMap<String, Vec<u8>>;

/// Reads the eBPF objects of the policies in `plan`, whose paths are relative to `base`, and copies them into the run
/// directory `dir`; no effect if no policy has an object.
/// Fails on an object that cannot be read or written, with exit code 3.
pub fn keep(dir: &Path, plan: &Plan, base: &Path) -> Result<(), Failure> {
    let mut texts = BTreeMap::new();
    for run in &plan.policies {
        if let PolicyPlan::Ebpf(own) = &run.policy {
            let action = format!("keep `{}`", own.object);
            let object = read_object(&base.join(&own.object)).during(&action)?;
            texts.insert(own.object.clone(), STANDARD.encode(object));
        }
    }
    if texts.is_empty() {
        return Ok(());
    }
    directory::write_texts(dir, PROGRAMS_FILE, &texts).during("keep the switch programs")
}

/// Returns the eBPF objects stored in the run directory `dir`.
/// Fails on a file that [`keep`] did not write, with exit code 2.
pub fn kept(dir: &Path) -> Result<Programs, Failure> {
    let path = dir.join(PROGRAMS_FILE);
    let text = directory::read_text(dir, PROGRAMS_FILE);
    let Some(text) = text.map_err(|error| Failure::records(&error))? else {
        return Ok(Programs::new());
    };
    let wrong =
        |error: &dyn fmt::Display| Failure::usage(format_args!("`{}`: {error}", path.display()));
    let texts: BTreeMap<String, String> =
        serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    texts
        .into_iter()
        .map(|(name, text)| {
            let object = STANDARD.decode(text).map_err(|error| wrong(&error))?;
            Ok((name, object))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn objects_are_kept_by_name_and_garbage_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let read = |text: &str| {
            fs::write(dir.path().join(PROGRAMS_FILE), text).expect("written");
            kept(dir.path())
        };
        assert!(kept(dir.path()).is_ok_and(|programs| programs.is_empty()));
        let programs = read(r#"{ "own/a.bpf.o": "f0VMRgA=" }"#).expect("objects");
        assert_eq!(programs["own/a.bpf.o"], b"\x7fELF\0");
        for garbage in ["[]", r#"{ "a.o": "f0VMRg=A" }"#, r#"{ "a.o": 1 }"#] {
            let failure = read(garbage).expect_err(garbage);
            assert!(
                failure.message.contains(PROGRAMS_FILE),
                "{}",
                failure.message
            );
        }
    }
}

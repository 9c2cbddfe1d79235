//! `lcmp-lab verify`: checks a bundle, derives its numbers again, runs its scenario again.
//!
//! - `rerun`: the second run, and its comparison with the first
//! - `work`: the directory of the unpacked run and the second one

mod rerun;
mod work;

use lab_bundle::{
    Discrepancy, Limits, Manifest,
    derive::{DeriveError, derive},
    unpack,
};
use lab_files::Links;
use lab_reports::check::{Answered, Check, Judgement};
use lab_units::show::commas;
use serde::Serialize;

use self::{
    rerun::Rerun,
    work::{KEPT, WorkDir},
};
use crate::{
    args::{Global, VerifyArgs},
    caller,
    failure::{Exit, Failure, Outcome, with_causes},
    terminal::{note, print, print_json},
    verbs::bundle,
};

/// Values of a verification, for `--json`.
#[derive(Serialize)]
struct Verified {
    /// Name of the run.
    run: String,
    /// SHA-256 of the bundle.
    sha256: String,
    /// Version and commit of the program that packed it.
    packed_by: [String; 2],
    /// Number of figures whose numbers were derived again.
    figures: usize,
    /// Numbers that differ from those derived from the rows.
    differences: Vec<Discrepancy>,
    /// Second run; `None` without `--rerun`.
    rerun: Option<Rerun>,
}

/// Runs `lcmp-lab verify`.
pub fn verify(arguments: &VerifyArgs, global: &Global) -> Outcome {
    let (verified, manifest) = check(arguments, global)?;
    let checks = verified.checks();
    if global.json {
        print_json(&Answered::new(&verified, &checks, Vec::new(), None));
    } else {
        print(&text(&verified, &manifest));
    }
    if let Some(kept) = &arguments.output {
        caller::hand_over(kept);
        note(&format!("kept: {}", kept.display()));
    }
    Ok(Exit::of_judgement(Judgement::of(&checks)))
}

impl Verified {
    /// Returns a check of the derived numbers and one of the second run, each with its differences as reasons.
    fn checks(&self) -> Vec<Check> {
        let derived = self.differences.iter();
        let differences = derived
            .map(|it| format!("{}: {}", it.file, it.detail))
            .collect();
        let mut checks = same("derived-numbers", differences);
        if let Some(rerun) = &self.rerun {
            checks.extend(same("rerun", rerun.differences()));
        }
        checks
    }
}

/// Returns a failed check for each difference, or one that holds.
fn same(code: &str, differences: Vec<String>) -> Vec<Check> {
    let check = |grade, reason| Check {
        code: code.to_owned(),
        grade,
        found: None,
        bound: None,
        reason,
    };
    if differences.is_empty() {
        return vec![check(Judgement::Pass, "no difference".to_owned())];
    }
    let failed = differences.into_iter().map(|it| check(Judgement::Fail, it));
    failed.collect()
}

/// Unpacks the bundle and derives its numbers. Removes the temporary folder before it returns.
fn check(arguments: &VerifyArgs, global: &Global) -> Result<(Verified, Manifest), Failure> {
    let path = &arguments.bundle;
    let unreadable = |error| Failure::usage(lab_files::failed(path, &error));
    let mut file = lab_files::open(path, Links::Follow).map_err(unreadable)?;
    let work = WorkDir::new(arguments)?;
    let manifest =
        unpack(&mut file, &work.at(KEPT), &Limits::default()).map_err(bundle::failure)?;
    let (sha256, _) = bundle::digest(&mut file).map_err(unreadable)?;
    let derived = derive(&work.at(KEPT), &work.at("derived")).map_err(derive_failure)?;
    let mut verified = Verified {
        run: manifest.origin.run.clone(),
        sha256,
        packed_by: [
            manifest.origin.tool_version.clone(),
            manifest.origin.tool_commit.clone(),
        ],
        figures: derived.figures,
        differences: derived.differences,
        rerun: None,
    };
    if arguments.rerun {
        if let Some(temporary) = &work.temporary {
            temporary.leave_signals();
        }
        verified.rerun = Some(rerun::rerun(&work, global)?);
    }
    Ok((verified, manifest))
}

fn derive_failure(error: DeriveError) -> Failure {
    match error {
        DeriveError::Files(error) => bundle::failure(error),
        DeriveError::Records(error) => Failure::records(&error),
        DeriveError::Report(error) => Failure::report(&error),
        DeriveError::Plan(_) => Failure::usage(with_causes(&error)),
    }
}

fn text(verified: &Verified, manifest: &Manifest) -> String {
    let files = &manifest.files;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let [version, commit] = &verified.packed_by;
    let mut text = format!(
        "{}: {} files, {} bytes, as in the manifest; packed by lcmp-lab {version} ({commit})\nsha256: {}\n",
        verified.run,
        files.len(),
        commas(bytes),
        verified.sha256
    );
    match verified.differences.as_slice() {
        [] => {
            text += &format!(
                "rows: give the same numbers of {} figures, closing table, counts, verdict, evidence\n",
                verified.figures
            );
        }
        differences => {
            for it in differences {
                text += &format!("differs: {}: {}\n", it.file, it.detail);
            }
        }
    }
    if let Some(rerun) = &verified.rerun {
        text += &rerun::text(rerun);
    }
    text += match Judgement::of(&verified.checks()) {
        Judgement::Pass if verified.rerun.as_ref().is_some_and(|it| !it.is_exact()) => {
            "verified: the same within the bounds"
        }
        Judgement::Pass => "verified: all is the same",
        Judgement::Fail | Judgement::Inconclusive => "not verified",
    };
    text
}

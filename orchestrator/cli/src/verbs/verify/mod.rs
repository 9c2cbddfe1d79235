//! `lcmp-lab verify`: checks a bundle, derives its numbers again, and can run its scenario again.
//!
//! - `rerun`: the second run, and its comparison with the first
//! - `work`: the directory for the unpacked run and the second run

mod rerun;
mod work;

use lab_bundle::{
    Discrepancy, Limits, Manifest,
    derive::{DeriveError, derive},
    unpack,
};
use lab_files::Links;
use lab_reports::check::{Answer, Check, Judgement};
use lab_units::show::commas;
use serde::Serialize;

use self::{
    rerun::Rerun,
    work::{KEPT, WorkDir},
};
use crate::{
    args::{Global, VerifyArgs},
    caller,
    failure::{Failure, Outcome, with_causes},
    terminal::note,
    verbs::{bundle, conclude::conclude},
};

/// Result of a verification, for `--json`.
#[derive(Serialize)]
struct Verified {
    /// Name of the run directory that was packed.
    run: String,
    /// SHA-256 of the bundle, in lower-case hexadecimal digits.
    sha256: String,
    /// Version and commit of the program that packed the bundle.
    packed_by: [String; 2],
    /// Number of figures whose numbers were recomputed from the bundle's rows.
    figures: usize,
    /// Stored numbers that differ from the numbers recomputed from the bundle's rows.
    differences: Vec<Discrepancy>,
    /// Comparison of the bundle's run with a second run of its scenario; `None` without `--rerun`.
    rerun: Option<Rerun>,
    /// Manifest of the bundle.
    #[serde(skip)]
    manifest: Manifest,
}

/// Runs `lcmp-lab verify`.
pub fn verify(arguments: &VerifyArgs, global: &Global) -> Outcome {
    let exit = conclude(&verified(arguments, global)?, None, global.json)?;
    if let Some(kept) = &arguments.output {
        caller::hand_over(kept);
        note(&format!("kept: {}", kept.display()));
    }
    Ok(exit)
}

impl Answer for Verified {
    const STATES_CHECKS: bool = true;

    fn values(&self) -> impl Serialize {
        self
    }

    /// Returns the checks that the stored numbers equal the recomputed ones and, with `--rerun`, that a second run
    /// equals the bundle's run. Each difference is a failed check.
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

    fn text(&self) -> String {
        let files = &self.manifest.files;
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let [version, commit] = &self.packed_by;
        let mut text = format!(
            "{}: {} files, {} bytes, as in the manifest; packed by lcmp-lab {version} ({commit})\nsha256: {}\n",
            self.run,
            files.len(),
            commas(bytes),
            self.sha256
        );
        match self.differences.as_slice() {
            [] => {
                text += &format!(
                    "rows: reproduce the stored numbers of {} figures, closing table, counts, verdict and evidence\n",
                    self.figures
                );
            }
            differences => {
                for it in differences {
                    text += &format!("differs: {}: {}\n", it.file, it.detail);
                }
            }
        }
        if let Some(rerun) = &self.rerun {
            text += &rerun::text(rerun);
        }
        text += match Judgement::of(&self.checks()) {
            Judgement::Pass if self.rerun.as_ref().is_some_and(|it| !it.is_exact()) => {
                "verified: both runs agree within the bounds"
            }
            Judgement::Pass => "verified: no difference",
            Judgement::Fail | Judgement::Inconclusive => "not verified",
        };
        text
    }
}

/// Returns a failed check for each of the `differences`; if `differences` is empty, a check that passes.
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

/// Unpacks the bundle, recomputes its numbers from its rows and, with `--rerun`, runs its scenario again. Removes the
/// temporary folder before it returns.
fn verified(arguments: &VerifyArgs, global: &Global) -> Result<Verified, Failure> {
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
        manifest,
    };
    if arguments.rerun {
        if let Some(temporary) = &work.temporary {
            temporary.leave_signals();
        }
        verified.rerun = Some(rerun::rerun(&work, global)?);
    }
    Ok(verified)
}

fn derive_failure(error: DeriveError) -> Failure {
    match error {
        DeriveError::Files(error) => bundle::failure(error),
        DeriveError::Records(error) => Failure::records(&error),
        DeriveError::Report(error) => Failure::report(&error),
        DeriveError::Plan(_) => Failure::usage(with_causes(&error)),
    }
}

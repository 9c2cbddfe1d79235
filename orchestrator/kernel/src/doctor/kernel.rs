//! Whether this kernel has what a lab is made of.

use super::{
    finding::Finding,
    modules, port,
    trial::{Feature, Trial, is_unknown},
};
use crate::exec::StepCause;

/// Tries every feature. One that could not be tried, because what it is tried with is missing, is
/// left out.
pub(super) fn findings() -> Vec<Finding> {
    let mut trial = match Trial::new() {
        Ok(trial) => trial,
        Err(error) => return vec![missing(Feature::Namespaces, &error.into())],
    };
    let (mut findings, mut unknown) = (Vec::new(), Vec::new());
    for feature in Feature::ALL {
        if feature
            .tried_with()
            .is_some_and(|with| unknown.contains(&with))
        {
            unknown.push(feature);
            continue;
        }
        findings.push(match make(&mut trial, feature) {
            Ok(()) => present(feature),
            Err(cause) => {
                unknown.push(feature);
                missing(feature, &cause)
            }
        });
    }
    findings
}

/// Makes one of a feature, after loading its modules if it has to be. The error is that of the
/// first time, when the kernel had its say about modules.
fn make(trial: &mut Trial, feature: Feature) -> Result<(), StepCause> {
    let first = trial.make(feature);
    match first {
        Err(_) if modules::load(feature.words().modules) => trial.make(feature),
        first => first,
    }
}

fn present(feature: Feature) -> Finding {
    let words = feature.words();
    Finding::ok(words.subject, "this kernel has it", words.why)
}

fn missing(feature: Feature, cause: &StepCause) -> Finding {
    let words = feature.words();
    if feature == Feature::RdmaRxe && port::is_a_programs() {
        let what = format!(
            "SoftRoCE cannot receive: UDP port {} is a program's",
            port::ROCE
        );
        let mend = format!(
            "end the program that `ss -lunp sport = :{}` names",
            port::ROCE
        );
        return Finding::fail(words.subject, what, words.why).mended_by(mend);
    }
    let what = if is_unknown(feature, cause) {
        format!("this kernel has no {}", words.thing)
    } else {
        format!("one cannot be made: {cause}")
    };
    let finding = Finding::fail(words.subject, what, words.why);
    if nix::unistd::geteuid().is_root() {
        finding.mended_by(modules::mend())
    } else {
        finding.mended_by("sudo lcmp-lab doctor")
    }
}

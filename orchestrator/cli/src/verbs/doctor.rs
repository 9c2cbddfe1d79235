//! `lcmp-lab doctor` and `provision`: what this machine lacks, and its installation.

use std::{os::unix::process::ExitStatusExt, path::Path, process::Command};

use lab_guest::{KvmVerdict, Need, cache, probe};
use lab_kernel::{
    doctor::{self, Finding, Level},
    journal::Location,
};
use serde::Serialize;

use crate::{
    args::{DoctorArgs, Global, PlaceArgs, ProvisionArgs},
    failure::{During, Exit, Failure, Outcome},
    place, terminal,
    verbs::measure,
};

/// Findings by the location of labs that they matter for.
#[derive(Debug, Serialize)]
struct Examination {
    /// Location where `up` runs labs on this machine; `None` if labs cannot run.
    #[serde(rename = "place")]
    location: Option<Location>,
    /// Requirements of all labs.
    everywhere: Vec<Finding>,
    /// Requirements of a lab on this kernel.
    here: Vec<Finding>,
    /// Requirements of a guest; `None` if labs run on this kernel.
    guest: Option<Vec<Finding>>,
}

/// Runs `lcmp-lab doctor`.
pub fn doctor(arguments: &DoctorArgs, global: &Global) -> Outcome {
    if arguments.measure {
        return measure(&arguments.place, global);
    }
    let examination = examine(&global.results);
    terminal::show(global.json, &examination, text)?;
    Ok(match examination.location {
        Some(_) => Exit::Pass,
        None => Exit::Environment,
    })
}

/// Measures the capacity of a place and keeps it for automatic scales.
fn measure(place: &PlaceArgs, global: &Global) -> Outcome {
    let measurement = measure::measure(place, None, global)?;
    let kept = place::keep(&measurement.capacity).during("keep the capacity")?;
    terminal::show(global.json, &measurement, measure::text)?;
    terminal::note(&format!("kept for `scale: auto` in {}", kept.display()));
    Ok(Exit::Pass)
}

fn examine(results: &Path) -> Examination {
    let everywhere = doctor::everywhere(results);
    let here = doctor::here();
    let guest = fails(&here).then(guest);
    Examination {
        location: location(&everywhere, &here, guest.as_deref()),
        everywhere,
        here,
        guest,
    }
}

fn location(
    everywhere: &[Finding],
    here: &[Finding],
    guest: Option<&[Finding]>,
) -> Option<Location> {
    match (fails(everywhere), fails(here), guest.is_none_or(fails)) {
        (true, ..) | (_, true, true) => None,
        (_, false, _) => Some(Location::Here),
        (_, true, false) => Some(Location::Guest),
    }
}

fn fails(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.level == Level::Fail)
}

fn guest() -> Vec<Finding> {
    let cache = cache::default_dir();
    let needs = probe::needs(&cache).into_iter().map(need);
    let kvm = probe::kvm(&cache).map(|verdict| kvm(&verdict));
    needs.chain(kvm).collect()
}

fn need(need: Need) -> Finding {
    let (subject, why) = (need.subject, need.why);
    match need.found {
        Ok(what) => Finding::ok(subject, what, why),
        Err(missing) => Finding::fail(subject, missing.to_string(), why).with_fix(missing.remedy()),
    }
}

/// Returns the finding on KVM; without KVM guests are emulated on the virtual clock, which is no fault.
fn kvm(verdict: &KvmVerdict) -> Finding {
    let what = match verdict {
        KvmVerdict::Works => "it works: guests run on it, on the real clock".to_owned(),
        verdict => format!("{verdict}: guests are emulated, on the virtual clock"),
    };
    Finding::ok("kvm", what, "a boot was tried")
}

fn text(examination: &Examination) -> String {
    let here = ("requirements of a lab on this kernel", &examination.here);
    let mut sections = vec![("requirements of every lab", &examination.everywhere), here];
    let guest = examination.guest.as_ref();
    sections.extend(guest.map(|guest| ("requirements of a lab in a guest", guest)));
    let mut text = String::new();
    for (heading, findings) in sections {
        text += &format!("{heading}\n");
        for finding in findings {
            text += &format!("  {finding}\n");
        }
    }
    text + match examination.location {
        Some(Location::Here) => "labs run on this kernel",
        Some(Location::Guest) => "labs run in a guest: this kernel lacks the items marked `fail`",
        None => "labs cannot run on this machine until the items marked `fail` are fixed",
    }
}

/// Runs `lcmp-lab provision`: installs everything that is missing, or lists it.
pub fn provision(arguments: &ProvisionArgs) -> Outcome {
    let mut command = Command::new("bash");
    // The script's text is constant; the user's options are arguments. `--run-only` builds nothing.
    command.args(["-c", SCRIPT, NAME, "--run-only"]);
    let options = [
        (arguments.check, "--check"),
        (arguments.guest, "--guest"),
        (arguments.no_guest, "--no-guest"),
    ];
    let given = options.into_iter().filter(|(on, _)| *on);
    command.args(given.map(|(_, name)| name));
    let status = command.status().during("run `bash`")?;
    if status.success() {
        return Ok(Exit::Pass);
    }
    Err(Failure::environment(match status.signal() {
        Some(signal) => format!("provisioning was ended by signal {signal}"),
        None if arguments.check => {
            "the items above are missing (hint: sudo lcmp-lab provision)".to_owned()
        }
        None => "the installation failed (hint: the reason is above)".to_owned(),
    }))
}

/// Provisioning script of the repository, so that the program alone can install everything.
const SCRIPT: &str = include_str!("../../../../vagrant/provision.sh");

/// Name of the script in its messages.
const NAME: &str = "lcmp-lab provision";

#[cfg(test)]
mod tests {
    use super::*;

    const OK: fn() -> Vec<Finding> = || vec![Finding::ok("it", "is there", "it is good")];
    const FAIL: fn() -> Vec<Finding> =
        || vec![Finding::fail("it", "is not there", "it is good").with_fix("get it")];

    #[test]
    fn labs_run_on_this_kernel_or_else_in_a_guest() {
        assert_eq!(location(&OK(), &OK(), None), Some(Location::Here));
        assert_eq!(location(&OK(), &FAIL(), Some(&OK())), Some(Location::Guest));
        assert_eq!(location(&OK(), &FAIL(), Some(&FAIL())), None);
        assert_eq!(location(&FAIL(), &OK(), None), None);
        assert_eq!(location(&FAIL(), &FAIL(), Some(&OK())), None);
    }

    #[test]
    fn findings_are_listed_by_location() {
        let text = text(&Examination {
            location: Some(Location::Guest),
            everywhere: OK(),
            here: FAIL(),
            guest: Some(OK()),
        });
        insta::assert_snapshot!(text, @"
        requirements of every lab
          ok    it: is there; it is good
        requirements of a lab on this kernel
          fail  it: is not there; it is good (hint: get it)
        requirements of a lab in a guest
          ok    it: is there; it is good
        labs run in a guest: this kernel lacks the items marked `fail`
        ");
    }

    #[test]
    fn missing_kvm_is_no_fault() {
        let finding = kvm(&KvmVerdict::Absent);
        assert_eq!(finding.level, Level::Ok);
        let what = "there is no `/dev/kvm`: guests are emulated, on the virtual clock";
        assert_eq!(finding.what, what);
    }
}

//! `lcmp-lab doctor` and `provision`: list and install what labs need and this machine lacks.

use std::{os::unix::process::ExitStatusExt, path::Path, process::Command};

use lab_guest::{KvmVerdict, Need, cache, probe};
use lab_kernel::{
    doctor::{self, Finding, Level},
    journal::Location,
};
use lab_units::Place;
use serde::Serialize;

use crate::{
    args::{DoctorArgs, Global, PlaceArgs, ProvisionArgs},
    failure::{During, Exit, Failure, Outcome},
    place, terminal,
    verbs::measure,
};

/// Findings about this machine, grouped by where a lab would run.
#[derive(Debug, Serialize)]
struct Examination {
    /// Location where `up` would run a lab, this kernel or a guest; `None` if this machine cannot run a lab.
    #[serde(rename = "place")]
    location: Option<Location>,
    /// Findings that concern every lab.
    everywhere: Vec<Finding>,
    /// Findings that concern a lab on this kernel.
    here: Vec<Finding>,
    /// Findings that concern a lab in a guest; `None` if labs run on this kernel.
    guest: Option<Vec<Finding>>,
    /// State of KVM; `None` if labs run on this kernel, or if there is no guest kernel to test it with.
    kvm: Option<KvmVerdict>,
}

/// Runs `lcmp-lab doctor`.
pub fn doctor(arguments: &DoctorArgs, global: &Global) -> Outcome {
    if arguments.measure {
        return measure(&arguments.place, global);
    }
    let examination = examine(&global.results);
    terminal::show(global.json, &examination, |it| text(it, arguments.all))?;
    Ok(match examination.location {
        Some(_) => Exit::Pass,
        None => Exit::Environment,
    })
}

/// Measures the capacity of this kernel or of a guest, as `place` selects, and prints it. The capacity is not stored; a
/// plan fits it only if `--scale-for` states it.
fn measure(place: &PlaceArgs, global: &Global) -> Outcome {
    let measurement = measure::measure(place, None, global)?;
    terminal::show(global.json, &measurement, measure::text)
}

fn examine(results: &Path) -> Examination {
    let everywhere = doctor::everywhere(results);
    let here = doctor::here();
    let cache = cache::default_dir();
    let guest = fails(&here).then(|| needs(&cache));
    let location = location(&everywhere, &here, guest.as_deref());
    Examination {
        location,
        everywhere,
        here,
        // The trial boot that tests KVM needs the programs of a guest.
        kvm: guest
            .as_deref()
            .is_some_and(|guest| !fails(guest))
            .then(|| probe::kvm(&cache))
            .flatten(),
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

/// Returns the findings about a guest, including how the SoftRoCE in the guest's kernel affects a lab.
fn needs(cache: &Path) -> Vec<Finding> {
    let release = place::kernel_release(Place::GuestVirtual, cache);
    let needs = probe::needs(cache).into_iter().map(need);
    needs.chain(doctor::softroce(&release)).collect()
}

fn need(need: Need) -> Finding {
    let subject = need.subject;
    let why = need.why;
    match need.found {
        Ok(what) => Finding::ok(subject, what, why),
        Err(missing) => Finding::fail(subject, missing.to_string(), why).with_fix(missing.remedy()),
    }
}

/// Returns the findings as text, without those that are `ok` unless `all` is true, and a line on where labs run.
fn text(examination: &Examination, all: bool) -> String {
    let here = ("requirements of a lab on this kernel", &examination.here);
    let mut sections = vec![("requirements of every lab", &examination.everywhere), here];
    let guest = examination.guest.as_ref();
    sections.extend(guest.map(|guest| ("requirements of a lab in a guest", guest)));
    let mut text = String::new();
    for (heading, findings) in sections {
        let count = findings.len();
        let met = findings.iter().filter(|it| it.level == Level::Ok).count();
        text += &format!("{heading}: {met} of {count} are met\n");
        let shown = |it: &&Finding| all || it.level != Level::Ok;
        for finding in findings.iter().filter(shown) {
            text += &format!("  {finding}\n");
        }
    }
    text + &conclusion(examination)
}

/// States where `up` would run labs; if nowhere, names the verb that works without a lab.
fn conclusion(examination: &Examination) -> String {
    match examination.location {
        Some(Location::Here) => "labs run on this kernel".to_owned(),
        Some(Location::Guest) => {
            let missing = "this kernel lacks the items marked `fail`";
            match &examination.kvm {
                Some(KvmVerdict::Works) => {
                    format!("labs run in a guest under KVM, on the real clock: {missing}")
                }
                Some(verdict) => format!(
                    "labs run in an emulated guest, on the virtual clock: {missing}\nkvm: {verdict}"
                ),
                None => format!("labs run in a guest: {missing}"),
            }
        }
        None => "labs cannot run on this machine until the items marked `fail` are fixed, either for a \
                 guest or for this kernel\nwithout a lab, `lcmp-lab sim SCENARIO` simulates a scenario"
            .to_owned(),
    }
}

/// Runs `lcmp-lab provision`: installs everything that is missing, or only lists it.
pub fn provision(arguments: &ProvisionArgs) -> Outcome {
    let mut command = Command::new("bash");
    // No option can inject a command: the script is constant, and options are passed as arguments. `--run-only` skips
    // what only a build needs.
    command.args(["-c", SCRIPT, NAME, "--run-only"]);
    let options = [
        (arguments.check, "--check"),
        (arguments.guest, "--guest"),
        (arguments.no_guest, "--no-guest"),
    ];
    let given = options.into_iter().filter(|(on, _)| *on);
    command.args(given.map(|(_, name)| name));
    for package in &arguments.kernel {
        command.args(["--kernel", package]);
    }
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

/// Provisioning script of the repository, included so that the program alone can install everything.
const SCRIPT: &str = include_str!("../../../../vagrant/provision.sh");

/// Name of the provisioning script in the script's messages.
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

    fn examination(location: Option<Location>, kvm: Option<KvmVerdict>) -> Examination {
        Examination {
            location,
            everywhere: OK(),
            here: FAIL(),
            guest: Some(OK()),
            kvm,
        }
    }

    #[test]
    fn what_is_missing_is_listed_by_location() {
        let examination = examination(Some(Location::Guest), Some(KvmVerdict::Absent));
        insta::assert_snapshot!(text(&examination, false), @"
        requirements of every lab: 1 of 1 are met
        requirements of a lab on this kernel: 0 of 1 are met
          fail  it: is not there; it is good (hint: get it)
        requirements of a lab in a guest: 1 of 1 are met
        labs run in an emulated guest, on the virtual clock: this kernel lacks the items marked `fail`
        kvm: there is no `/dev/kvm`
        ");
        let all = text(&examination, true);
        assert!(
            all.contains("1 of 1 are met\n  ok    it: is there"),
            "{all}"
        );
    }

    #[test]
    fn a_machine_without_labs_has_the_simulator() {
        let conclusion = conclusion(&examination(None, None));
        assert!(
            conclusion.contains("`lcmp-lab sim SCENARIO`"),
            "{conclusion}"
        );
    }

    #[test]
    fn the_best_guest_is_one_under_kvm() {
        let of = |kvm| conclusion(&examination(Some(Location::Guest), kvm));
        assert!(of(Some(KvmVerdict::Works)).starts_with("labs run in a guest under KVM"));
        assert!(of(Some(KvmVerdict::Denied)).contains("emulated guest, on the virtual clock"));
        assert!(of(None).starts_with("labs run in a guest: "));
    }
}

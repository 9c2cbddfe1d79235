//! `lcmp-lab doctor` and `provision`: what this machine lacks, and its installation.

use std::{os::unix::process::ExitStatusExt, path::Path, process::Command};

use lab_guest::{KvmVerdict, Need, cache, probe};
use lab_kernel::doctor::{self, Finding, Level};
use serde::Serialize;

use crate::{
    args::{Global, ProvisionArgs},
    failure::{During, Exit, Failure, Outcome},
    terminal::{print, print_json},
};

/// What was found, by where it matters.
#[derive(Debug, Serialize)]
struct Examination {
    /// Where `up` runs labs on this machine; none where they cannot run.
    place: Option<Place>,
    /// What a lab takes wherever it runs.
    everywhere: Vec<Finding>,
    /// What it takes of the kernel it runs on, found on this one.
    here: Vec<Finding>,
    /// What a guest takes; looked at where no lab runs on this kernel.
    guest: Option<Vec<Finding>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Place {
    Here,
    Guest,
}

/// Says where labs run on this machine, what they lack, and the commands that mend it.
pub fn doctor(global: &Global) -> Outcome {
    let examination = examine(&global.results);
    if global.json {
        print_json(&examination);
    } else {
        print(&text(&examination));
    }
    Ok(match examination.place {
        Some(_) => Exit::Pass,
        None => Exit::Environment,
    })
}

fn examine(results: &Path) -> Examination {
    let everywhere = doctor::everywhere(results);
    let here = doctor::here();
    let guest = fails(&here).then(guest);
    Examination {
        place: place(&everywhere, &here, guest.as_deref()),
        everywhere,
        here,
        guest,
    }
}

fn place(everywhere: &[Finding], here: &[Finding], guest: Option<&[Finding]>) -> Option<Place> {
    if fails(everywhere) {
        None
    } else if !fails(here) {
        Some(Place::Here)
    } else {
        guest
            .is_some_and(|guest| !fails(guest))
            .then_some(Place::Guest)
    }
}

fn fails(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.level == Level::Fail)
}

fn guest() -> Vec<Finding> {
    let cache = cache::default_dir();
    let needs = probe::needs(&cache).into_iter().map(need);
    needs
        .chain(probe::kvm(&cache).map(|verdict| kvm(&verdict)))
        .collect()
}

fn need(
    Need {
        subject,
        why,
        found,
    }: Need,
) -> Finding {
    match found {
        Ok(what) => Finding::ok(subject, what, why),
        Err(missing) => {
            Finding::fail(subject, missing.to_string(), why).mended_by(missing.remedy())
        }
    }
}

/// Without KVM a guest is emulated, on a clock that makes its results exact: nothing is to be mended.
fn kvm(verdict: &KvmVerdict) -> Finding {
    let what = match verdict {
        KvmVerdict::Works => "it works: guests run on it, on the real clock".to_owned(),
        verdict => format!("{verdict}: guests are emulated, on the virtual clock"),
    };
    Finding::ok("kvm", what, "it was tried by a boot")
}

fn text(examination: &Examination) -> String {
    let Examination {
        place,
        everywhere,
        here,
        guest,
    } = examination;
    let sections = [
        ("what every lab takes", Some(everywhere)),
        ("what it takes to run one on this kernel", Some(here)),
        ("what it takes to run one in a guest", guest.as_ref()),
    ];
    let mut text = String::new();
    for (heading, findings) in sections {
        let Some(findings) = findings else { continue };
        text += &format!("{heading}\n");
        for finding in findings {
            text += &format!("  {finding}\n");
        }
    }
    text + match place {
        Some(Place::Here) => "labs run on this kernel",
        Some(Place::Guest) => "labs run in a guest: this kernel lacks what is marked `fail`",
        None => "no lab runs on this machine until what is marked `fail` is mended",
    }
}

/// Installs what is missing, or says what is.
pub fn provision(arguments: &ProvisionArgs) -> Outcome {
    let mut command = Command::new("bash");
    // The script's text is ours; what the user says are arguments to it. This program is built.
    command.args(["-c", SCRIPT, NAME, "--run-only"]);
    let options = [
        (arguments.check, "--check"),
        (arguments.guest, "--guest"),
        (arguments.no_guest, "--no-guest"),
    ];
    command.args(
        options
            .into_iter()
            .filter_map(|(on, name)| on.then_some(name)),
    );
    let status = command.status().during("run `bash`")?;
    if status.success() {
        return Ok(Exit::Pass);
    }
    Err(Failure::environment(match status.signal() {
        Some(signal) => format!("provisioning was ended by signal {signal}"),
        None if arguments.check => {
            "what is listed above is missing (hint: sudo lcmp-lab provision)".to_owned()
        }
        None => "not everything could be installed (hint: the reason is above)".to_owned(),
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
        || vec![Finding::fail("it", "is not there", "it is good").mended_by("get it")];

    #[test]
    fn labs_run_here_or_else_in_a_guest() {
        assert_eq!(place(&OK(), &OK(), None), Some(Place::Here));
        assert_eq!(place(&OK(), &FAIL(), Some(&OK())), Some(Place::Guest));
        assert_eq!(place(&OK(), &FAIL(), Some(&FAIL())), None);
        assert_eq!(place(&FAIL(), &OK(), None), None);
        assert_eq!(place(&FAIL(), &FAIL(), Some(&OK())), None);
    }

    #[test]
    fn every_finding_is_a_line_below_the_place_it_matters_for() {
        let text = text(&Examination {
            place: Some(Place::Guest),
            everywhere: OK(),
            here: FAIL(),
            guest: Some(OK()),
        });
        insta::assert_snapshot!(text, @"
        what every lab takes
          ok    it: is there; it is good
        what it takes to run one on this kernel
          fail  it: is not there; it is good (hint: get it)
        what it takes to run one in a guest
          ok    it: is there; it is good
        labs run in a guest: this kernel lacks what is marked `fail`
        ");
    }

    #[test]
    fn kvm_that_does_not_work_is_no_fault() {
        let finding = kvm(&KvmVerdict::Absent);
        assert_eq!(finding.level, Level::Ok);
        assert_eq!(
            finding.what,
            "there is no `/dev/kvm`: guests are emulated, on the virtual clock"
        );
    }
}

//! Decides where `up` runs a lab, or why it cannot, before anything is created.

use std::fmt;

use lab_guest::probe::GuestFinding;
use lab_kernel::doctor::{Finding, Level};
use lab_plan::Plan;

use crate::{args::UpArgs, failure::Failure, place};

/// Facts about this machine that decide where a lab runs.
#[derive(Debug)]
pub struct MachineFacts {
    /// True if this process runs as root.
    pub is_root: bool,
    /// Requirements of a lab, such as kernel modules, that this kernel lacks.
    pub kernel_lacks: Vec<Finding>,
    /// State of the results directory, such as its free space.
    pub results: Finding,
    /// Requirements of the plan's guest that this machine lacks; empty if no guest is used.
    pub guest_lacks: Vec<GuestFinding>,
}

/// Location of a run and, for a guest, the process that owns the guest.
#[derive(Debug, Eq, PartialEq)]
pub enum RunLocation {
    /// On this kernel.
    Here,
    /// In a guest that this process owns.
    Guest,
    /// In a guest that a background process owns, because the lab outlives this process.
    KeptGuest,
}

/// Decides where the run with the options `arguments` takes place.
///
/// # Errors
/// If this machine lacks anything for the run, with exit code 3.
pub fn location(arguments: &UpArgs, machine: &MachineFacts) -> Result<RunLocation, Failure> {
    if !machine.is_root {
        return Err(cannot(
            arguments,
            "a lab needs root to create namespaces and load eBPF (hint: sudo lcmp-lab up …)",
        ));
    }
    if machine.results.level == Level::Fail {
        let hint = machine.results.fix.as_ref();
        return Err(Failure::environment(format_args!(
            "results: {}{}",
            machine.results.what,
            hint.map_or_else(String::new, |fix| format!(" (hint: {fix})"))
        )));
    }
    if !place::needs_guest(&arguments.place, &machine.kernel_lacks) {
        return if machine.kernel_lacks.is_empty() {
            Ok(RunLocation::Here)
        } else {
            let findings = texts(&machine.kernel_lacks).join("\n  ");
            Err(cannot(
                arguments,
                format_args!(
                    "this kernel cannot run the lab (hint: leave out --here to use a guest):\n  \
                     {findings}"
                ),
            ))
        };
    }
    if !machine.guest_lacks.is_empty() {
        let lacks = machine
            .guest_lacks
            .iter()
            .map(|finding| format!("{finding} (hint: {})", finding.remedy()))
            .collect::<Vec<_>>()
            .join("\n  ");
        return Err(cannot(
            arguments,
            format_args!("this machine cannot run a guest:\n  {lacks}"),
        ));
    }
    if arguments.keep {
        Ok(RunLocation::KeptGuest)
    } else {
        Ok(RunLocation::Guest)
    }
}

/// Returns the failure of a machine that cannot run the lab, with `lcmp-lab sim` as an alternative.
fn cannot(arguments: &UpArgs, what: impl fmt::Display) -> Failure {
    let scenario = arguments.scenario.scenario.display();
    Failure::environment(format_args!(
        "{what}\nwithout a lab, `lcmp-lab sim {scenario}` simulates the scenario"
    ))
}

/// Returns the reason why a lab runs in a guest; `None` if this kernel lacks nothing, so that the user must have asked
/// for a guest.
pub fn guest_reason(kernel_lacks: &[Finding]) -> Option<String> {
    let subjects: Vec<&str> = kernel_lacks
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    (!subjects.is_empty()).then(|| {
        format!(
            "this kernel has no {}: running in a guest",
            subjects.join(", ")
        )
    })
}

/// Checks that the kernel engine can run `plan`: its network and every policy.
///
/// # Errors
/// If the network is too large, a link is too slow, or the kernel engine cannot run a policy, with exit code 2. The message
/// names the first such policy.
pub fn check_supported(plan: &Plan) -> Result<(), Failure> {
    if let Some(why) = lab_plan::address::too_large_for_lab(plan.dcs.len()) {
        return Err(Failure::usage(format_args!(
            "{why} (hint: simulate it with `lcmp-lab sim`)"
        )));
    }
    if let Some(why) = plan.wires().too_slow_for_lab() {
        return Err(Failure::usage(why));
    }
    let mut policies = plan.policies.iter();
    match policies.find_map(|run| Some((&run.label, run.policy.not_in_kernel()?))) {
        None => Ok(()),
        Some((label, why)) => Err(Failure::usage(format_args!(
            "the kernel engine does not run policy `{label}`: {why} (hint: simulate it with \
             `lcmp-lab sim`, or choose other policies with `--policies`)"
        ))),
    }
}

/// Checks that every switch of `plan` has few enough ports and transit rows for its agent.
///
/// # Errors
/// If a switch has too many of either (exit code 2). The message names the first datacenter with too many ports, else the
/// one with the most transit rows.
pub fn check_switches(plan: &Plan) -> Result<(), Failure> {
    if let [first, others @ ..] = plan.crowded_switches().as_slice() {
        return Err(Failure::usage(first.describe("", others.len())));
    }
    match plan.full_switch() {
        None => Ok(()),
        Some(full) => Err(Failure::usage(full.describe())),
    }
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        args::{Cli, Verb},
        failure::Exit,
    };

    fn up(flags: &[&str]) -> UpArgs {
        let words = ["lcmp-lab", "up", "scenario.yaml"];
        let cli = Cli::parse_from(words.iter().chain(flags));
        match cli.verb {
            Verb::Up(arguments) => arguments,
            verb => panic!("{verb:?}"),
        }
    }

    /// Returns a machine that has everything, except one kernel module if `has_module` is false.
    fn machine(has_module: bool) -> MachineFacts {
        let missing = Finding::fail("netem", "there is no module", "delays");
        MachineFacts {
            is_root: true,
            kernel_lacks: (!has_module).then_some(missing).into_iter().collect(),
            results: Finding::ok("results", "10 GB free", "records"),
            guest_lacks: Vec::new(),
        }
    }

    #[test]
    fn a_switch_with_too_many_ports_is_refused_before_the_lab_is_built() {
        let plan = |hosts: u32| {
            let text = format!(
                "name: wide\ntopology:\n  dcs: [{{ name: a, hosts: {hosts} }}, {{ name: b, hosts: 1 }}]\n  links: \
                 [{{ between: [a, b], rate: 1 Gbit, delay: 1 ms }}]\ntraffic: [{{ flows: [{{ from: a/h1, to: b/h1, \
                 size: 1 MB }}] }}]\npolicies: [ecmp]\n"
            );
            let scenario = lab_scenario::parse("wide.yaml", text.as_bytes()).unwrap();
            let files = lab_scenario::Files::new();
            lab_plan::resolve(&scenario, &text, &files, &lab_plan::PlanOptions::default()).unwrap()
        };
        assert!(check_switches(&plan(63)).is_ok());
        let failure = check_switches(&plan(64)).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(
            failure
                .message
                .starts_with("datacenter `a` has 65 ports at its switch"),
            "{}",
            failure.message
        );
    }

    fn refusal(flags: &[&str], machine: &MachineFacts) -> String {
        let failure = location(&up(flags), machine).expect_err("a refusal");
        assert_eq!(failure.exit, Exit::Environment);
        failure.message
    }

    #[test]
    fn a_lab_runs_on_this_kernel_or_else_in_a_guest() {
        for (flags, has_module, expected) in [
            ([].as_slice(), true, RunLocation::Here),
            (&["--keep"], true, RunLocation::Here),
            (&["--here"], true, RunLocation::Here),
            (&["--guest"], true, RunLocation::Guest),
            (&[], false, RunLocation::Guest),
            (&["--keep"], false, RunLocation::KeptGuest),
            (&["--guest", "--keep"], true, RunLocation::KeptGuest),
        ] {
            let decided = location(&up(flags), &machine(has_module));
            assert_eq!(decided.ok(), Some(expected), "{flags:?} {has_module}");
        }
    }

    #[test]
    fn a_reason_is_given_only_for_what_the_kernel_lacks() {
        assert_eq!(guest_reason(&machine(true).kernel_lacks), None);
        assert_eq!(
            guest_reason(&machine(false).kernel_lacks).as_deref(),
            Some("this kernel has no netem: running in a guest")
        );
    }

    #[test]
    fn everything_that_is_missing_is_named_with_its_remedy() {
        let message = refusal(&["--here"], &machine(false));
        assert!(message.contains("leave out --here") && message.contains("netem"));
        let no_root = MachineFacts {
            is_root: false,
            ..machine(true)
        };
        assert!(refusal(&[], &no_root).starts_with("a lab needs root"));
        let no_room = MachineFacts {
            results: Finding::fail("results", "1 MB free", "records").with_fix("free some"),
            ..machine(true)
        };
        assert_eq!(
            refusal(&[], &no_room),
            "results: 1 MB free (hint: free some)"
        );
        let no_emulator = MachineFacts {
            guest_lacks: vec![GuestFinding::ProgramMissing {
                program: "qemu",
                package: "qemu-system-x86",
            }],
            ..machine(false)
        };
        assert_eq!(
            refusal(&[], &no_emulator),
            "this machine cannot run a guest:\n  `qemu` is not installed (hint: sudo apt-get install \
             qemu-system-x86)\nwithout a lab, `lcmp-lab sim scenario.yaml` simulates the scenario"
        );
    }
}

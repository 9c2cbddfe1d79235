//! This machine's own kernel, tried by making what a lab makes.
//!
//! Names of modules say little: a kernel may have them built in, may refuse to load them, or may
//! have other ones on disk than it runs. So one of each kind is made in a network namespace that
//! ends with the thread.

use std::{io, process::Command, thread};

use nix::sched::{CloneFlags, unshare};

use crate::{probe::Finding, programs};

/// Something a lab is made of, as commands that make one.
struct Trial {
    what: &'static str,
    module: &'static str,
    program: &'static str,
    package: &'static str,
    make: &'static [&'static str],
    /// What takes it away where the end of the namespace does not.
    unmake: Option<&'static [&'static str]>,
}

/// What keeps a lab from running on this kernel.
pub(crate) fn findings() -> Vec<Finding> {
    let tried = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Finding::NoNamespaces {
            source: error.into(),
        })?;
        Ok(TRIALS
            .iter()
            .filter_map(|trial| trial.run().err())
            .collect())
    });
    match tried.join() {
        Ok(Ok(findings)) => findings,
        Ok(Err(finding)) => vec![finding],
        Err(_) => vec![Finding::NoNamespaces {
            source: io::Error::other("the thread that tried it panicked"),
        }],
    }
}

impl Trial {
    fn run(&self) -> Result<(), Finding> {
        if programs::find(self.program).is_none() {
            return Err(Finding::ProgramMissing {
                program: self.program,
                package: self.package,
            });
        }
        let made = execute(self.program, self.make);
        if let Some(unmake) = self.unmake.filter(|_| made.is_ok()) {
            execute(self.program, unmake).map_err(|said| self.lacking(said))?;
        }
        made.map_err(|said| self.lacking(said))
    }

    fn lacking(&self, said: String) -> Finding {
        Finding::KernelLacks {
            what: self.what,
            module: self.module,
            said,
        }
    }
}

/// Runs a program in this thread's namespace; what it said is the error.
fn execute(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(first.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
}

/// The rxe device is visible in every namespace while it exists, hence the unlikely name.
const TRIALS: &[Trial] = &[
    Trial {
        what: "a veth pair",
        module: "veth",
        program: "ip",
        package: "iproute2",
        make: &[
            "link",
            "add",
            "lcmplab-a",
            "up",
            "type",
            "veth",
            "peer",
            "name",
            "lcmplab-b",
        ],
        unmake: None,
    },
    Trial {
        what: "a delay line (netem)",
        module: "sch_netem",
        program: "tc",
        package: "iproute2",
        make: &[
            "qdisc",
            "add",
            "dev",
            "lcmplab-a",
            "root",
            "netem",
            "delay",
            "1ms",
        ],
        unmake: None,
    },
    Trial {
        what: "a rate limit (tbf)",
        module: "sch_tbf",
        program: "tc",
        package: "iproute2",
        make: &[
            "qdisc",
            "add",
            "dev",
            "lcmplab-b",
            "root",
            "tbf",
            "rate",
            "1mbit",
            "burst",
            "10kb",
            "limit",
            "10kb",
        ],
        unmake: None,
    },
    Trial {
        what: "a SoftRoCE device (rxe)",
        module: "rdma_rxe",
        program: "rdma",
        package: "iproute2",
        make: &[
            "link",
            "add",
            "lcmplab-probe",
            "type",
            "rxe",
            "netdev",
            "lcmplab-a",
        ],
        unmake: Some(&["link", "delete", "lcmplab-probe"]),
    },
];

//! Failures of an agent.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use lab_abi::wire::AgentConfigError;
use lab_units::PortId;
use nix::{errno::Errno, unistd::geteuid};

use crate::ObjectError;

/// Failure of an agent.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SwitchdError {
    #[error("configuration: {0}")]
    Config(#[from] AgentConfigError),
    #[error("cannot connect to the controller at `{path}`")]
    Connect {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the controller sent `{line}`, which is no command")]
    Command {
        line: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("switch program `{path}`: {source}")]
    Object {
        path: String,
        #[source]
        source: ObjectError,
    },
    #[error("cannot {action} `{path}` (hint: it is to be in a BPF file system)")]
    Pins {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot load the switch program")]
    Load(#[from] EbpfError),
    #[error("cannot {action} the switch program")]
    Program {
        action: &'static str,
        #[source]
        source: ProgramError,
    },
    #[error("the switch program has no `{name}`")]
    Missing { name: &'static str },
    #[error("cannot {action} the map `{map}`")]
    Map {
        action: &'static str,
        map: &'static str,
        #[source]
        source: MapError,
    },
    #[error("port {port}: there is no interface `{interface}` in this network namespace")]
    NoInterface { port: PortId, interface: String },
    #[error("cannot attach the switch program to `{interface}`")]
    Attach {
        interface: String,
        #[source]
        source: ProgramError,
    },
    #[error("cannot attach by tcx: this kernel is older than 6.6 (hint: attach by netlink)")]
    NoTcx,
    #[error("cannot {action}")]
    Netlink {
        action: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("cannot {action}")]
    Io {
        action: &'static str,
        #[source]
        source: io::Error,
    },
}

impl SwitchdError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(nix::Error) -> Self {
        move |errno| Self::Io {
            action,
            source: errno.into(),
        }
    }

    /// Returns a conversion of the program's error.
    pub fn program(action: &'static str) -> impl FnOnce(ProgramError) -> Self {
        move |source| Self::Program { action, source }
    }

    /// Returns a conversion of a map's error.
    pub fn map(action: &'static str, map: &'static str) -> impl FnOnce(MapError) -> Self {
        move |source| Self::Map {
            action,
            map,
            source,
        }
    }

    /// Returns true if the kernel refused for lack of privileges: tests are skipped then.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        lacks_privilege(self, geteuid().is_root())
    }

    /// Returns the error and its causes on one line, without repeating a cause that is already there.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let reason = error.to_string();
            if !text.ends_with(&reason) {
                text.push_str(": ");
                text.push_str(&reason);
            }
            cause = error.source();
        }
        text
    }
}

/// Returns true if the error or one of its causes is `EPERM` and the process is not root.
///
/// `EACCES` does not count, because the verifier returns it for a program that it rejects. Nor does any error of a root
/// process, which has all privileges.
#[must_use]
pub fn lacks_privilege(error: &(dyn std::error::Error + 'static), is_root: bool) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let is_eperm = |error: &io::Error| error.raw_os_error() == Some(Errno::EPERM as i32);
    !is_root && causes.any(|cause| cause.downcast_ref().is_some_and(is_eperm))
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod tests {
    use aya_obj::{Object, VerifierLog, generated::bpf_insn};

    use super::*;
    use crate::program::{OBJECT, PROGRAM, Program};

    fn refused_program(errno: Errno) -> SwitchdError {
        SwitchdError::program("load")(ProgramError::LoadError {
            io_error: errno.into(),
            verifier_log: VerifierLog::new(String::new()),
        })
    }

    #[test]
    fn only_eperm_and_only_for_users_is_a_lack_of_privileges() {
        assert!(lacks_privilege(&refused_program(Errno::EPERM), false));
        assert!(!lacks_privilege(&refused_program(Errno::EPERM), true));
        for refused in [Errno::EACCES, Errno::EINVAL, Errno::E2BIG] {
            assert!(
                !lacks_privilege(&refused_program(refused), false),
                "{refused}"
            );
        }
        assert!(!lacks_privilege(&SwitchdError::NoTcx, false));
    }

    /// Returns the agent's object, with the program's first instruction replaced by a read far beyond its context.
    fn with_an_illegal_read() -> Vec<u8> {
        // r0 = *(u64 *)(r1 + 32752)
        const READ: [u8; 8] = [0x79, 0x10, 0xf0, 0x7f, 0, 0, 0, 0];
        let parsed = Object::parse(OBJECT).expect("an object");
        let mut functions = parsed.functions.values();
        let function = functions.find(|function| function.name == PROGRAM);
        let code = &function.expect("the program").instructions;
        let start: Vec<u8> = code.iter().take(16).flat_map(bytes).collect();
        let mut found = OBJECT.windows(start.len()).enumerate();
        let (at, _) = found.find(|(_, bytes)| *bytes == start).expect("its code");
        let mut object = OBJECT.to_vec();
        object[at..at + READ.len()].copy_from_slice(&READ);
        object
    }

    fn bytes(instruction: &bpf_insn) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[0] = instruction.code;
        bytes[1] = instruction.src_reg() << 4 | instruction.dst_reg();
        bytes[2..4].copy_from_slice(&instruction.off.to_le_bytes());
        bytes[4..].copy_from_slice(&instruction.imm.to_le_bytes());
        bytes
    }

    #[test]
    fn a_program_that_the_verifier_refuses_fails_its_tests() {
        match Program::load_object(&with_an_illegal_read(), 1_000, None) {
            Err(error) if error.is_not_permitted() => println!(
                "skipped: a_program_that_the_verifier_refuses_fails_its_tests: {}",
                error.chain()
            ),
            Err(SwitchdError::Program {
                source: ProgramError::LoadError { io_error, .. },
                ..
            }) => assert_eq!(io_error.raw_os_error(), Some(Errno::EACCES as i32)),
            Err(error) => panic!("{}", error.chain()),
            Ok(_) => panic!("the kernel runs it"),
        }
    }

    #[test]
    fn a_chain_names_each_cause_once_and_finds_a_refusal() {
        let refused = MapError::CreateError {
            name: "flows".to_owned(),
            io_error: Errno::EPERM.into(),
        };
        let error = SwitchdError::Load(EbpfError::MapError(refused));
        assert!(lacks_privilege(&error, false));
        assert_eq!(
            error.chain(),
            "cannot load the switch program: map error: failed to create map `flows`: \
             Operation not permitted (os error 1)"
        );
    }
}

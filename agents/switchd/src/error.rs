//! Failures of an agent.

use std::io;

use aya::{maps::MapError, programs::ProgramError};
use lab_abi::wire::AgentConfigError;
use lab_loader::{LoaderError, chain, lacks_privilege};
use lab_units::PortId;
use nix::unistd::geteuid;

use crate::{ObjectError, object::PROGRAM};

/// Reason why a switch agent cannot start or has to stop.
#[derive(Debug, thiserror::Error)]
pub enum SwitchdError {
    #[error("configuration: {0}")]
    Config(#[from] AgentConfigError),
    #[error("the trained weights cannot be used: {0}")]
    Weights(#[from] lab_redte::WeightsError),
    #[error("cannot connect to the controller at `{path}`")]
    Connect {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the controller sent `{line}`, which is not a command")]
    Command {
        line: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("the controller began a repetition before it had stopped the previous one")]
    StillRunning,
    #[error("switch program `{path}`: {source}")]
    Object {
        path: String,
        #[source]
        source: ObjectError,
    },
    #[error("cannot {action} `{path}` (hint: the path must be on a bpffs mount)")]
    Pins {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Loader(#[from] LoaderError),
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
    Io {
        action: &'static str,
        #[source]
        source: io::Error,
    },
}

impl SwitchdError {
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Io {
            action,
            source: source.into(),
        }
    }

    pub(crate) fn program(action: &'static str) -> impl FnOnce(ProgramError) -> Self {
        move |source| LoaderError::program(action, PROGRAM)(source).into()
    }

    pub(crate) fn map(
        action: &'static str,
        map: impl Into<Option<&'static str>>,
    ) -> impl FnOnce(MapError) -> Self {
        move |source| LoaderError::map(action, map)(source).into()
    }

    /// Returns true if the kernel refused an operation because privileges are missing; tests are then skipped.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        lacks_privilege(self, geteuid().is_root())
    }

    /// Returns the error and its causes on one line, without repeating a cause that the text already contains.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod tests {
    use aya_obj::{Object, generated::bpf_insn};
    use nix::errno::Errno;

    use super::*;
    use crate::program::{OBJECT, Program};

    /// Returns the agent's object, with the program's first instruction replaced by a read far beyond its context.
    fn with_an_illegal_read() -> Vec<u8> {
        // r0 = *(u64 *)(r1 + 32752)
        const READ: [u8; 8] = [0x79, 0x10, 0xf0, 0x7f, 0, 0, 0, 0];
        let parsed = Object::parse(OBJECT).expect("an object");
        let function = parsed
            .functions
            .values()
            .find(|function| function.name == PROGRAM);
        let code = &function.expect("the program").instructions;
        let start: Vec<u8> = code.iter().take(16).flat_map(bytes).collect();
        let (at, _) = OBJECT
            .windows(start.len())
            .enumerate()
            .find(|(_, bytes)| *bytes == start)
            .expect("its code");
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
            Err(SwitchdError::Loader(LoaderError::Program { source, .. })) => {
                let ProgramError::LoadError { io_error, .. } = *source else {
                    panic!("{source}");
                };
                assert_eq!(io_error.raw_os_error(), Some(Errno::EACCES as i32));
            }
            Err(error) => panic!("{}", error.chain()),
            Ok(_) => panic!("the kernel runs it"),
        }
    }
}

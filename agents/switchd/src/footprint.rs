//! How long the switch program is, as the kernel has it.

use aya::programs::ProgramInfo;

use crate::{SwitchdError, program::Program};

/// The length of the switch program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Footprint {
    /// Instructions as the kernel runs them, before they are compiled for the machine.
    pub instructions: u32,
    /// Instructions the verifier walked to accept the program: all ways through it together.
    pub verified_instructions: Option<u32>,
    /// Bytes of machine code; 0 if the kernel compiles no programs.
    pub machine_code_bytes: u32,
}

/// Loads the switch program with a flow table of so many rows, and asks the kernel how long it is.
///
/// # Errors
///
/// When the program cannot be loaded, or the kernel does not say.
pub fn footprint(flow_table_entries: u32) -> Result<Footprint, SwitchdError> {
    let info = Program::load(flow_table_entries)?.info()?;
    Ok(Footprint::of(&info))
}

impl Footprint {
    /// As the kernel tells it.
    pub(crate) fn of(info: &ProgramInfo) -> Self {
        Self {
            instructions: info.size_translated().unwrap_or(0) / BYTES_PER_INSTRUCTION,
            verified_instructions: info.verified_instruction_count(),
            machine_code_bytes: info.size_jitted(),
        }
    }
}

const BYTES_PER_INSTRUCTION: u32 = 8;

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_long_the_program_is() {
        let found = match footprint(1_000) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: footprint: {}", error.chain());
                return;
            }
            other => other.expect("the program loads"),
        };
        assert!((300..3_000).contains(&found.instructions), "{found:?}");
        let verified = found.verified_instructions.unwrap_or(found.instructions);
        assert!(verified >= found.instructions, "{found:?}");
    }
}

//! What the switch program takes (the paper's section 4): bytes of its maps, instructions of its code.
//!
//! The paper counts a table's rows. The kernel needs more for the same rows, to find them; both are
//! told.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd},
};

use aya::{maps::MapInfo, programs::ProgramInfo};

use crate::{SwitchdError, pins::MAPS, program::Program};

/// What the switch program takes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// Its maps, in the order of their names.
    pub maps: Vec<MapAccount>,
    /// How long it is.
    pub program: Footprint,
}

/// What a map takes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MapAccount {
    /// Its name.
    pub name: String,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Rows; of a ring buffer its bytes.
    pub entries: u32,
    /// Rows times keys and values, on one CPU.
    pub row_bytes: u64,
    /// What the kernel says the map takes of its memory, if it was asked.
    pub kernel_bytes: Option<u64>,
}

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

/// Loads the switch program with a flow table of so many rows, and asks the kernel what it takes.
///
/// # Errors
///
/// When the program cannot be loaded, or the kernel does not say.
pub fn account(flow_table_entries: u32) -> Result<Account, SwitchdError> {
    // While it is loaded: the kernel is asked for its maps by its number.
    let mut program = Program::load(flow_table_entries)?;
    let info = program.info()?;
    let failed = |source| SwitchdError::Program {
        action: "look at the maps of",
        source,
    };
    let ids = info.map_ids().map_err(failed)?.unwrap_or_default();
    let mut maps = ids
        .into_iter()
        .map(MapAccount::of)
        .collect::<Result<Vec<_>, _>>()?;
    maps.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Account {
        maps,
        program: Footprint::of(&info),
    })
}

/// The maps that every switch program has, with a flow table of so many rows: what is known of them
/// where none can be loaded.
#[must_use]
pub fn declared_maps(flow_table_entries: u32) -> Vec<MapAccount> {
    let account = |shape: &crate::pins::MapShape| {
        let sizes = [shape.key_bytes, shape.value_bytes];
        let [key, value] = sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let entries = shape.entries(flow_table_entries);
        MapAccount::new(shape.name.to_owned(), key, value, entries)
    };
    MAPS.iter().map(account).collect()
}

impl MapAccount {
    fn new(name: String, key_bytes: u32, value_bytes: u32, entries: u32) -> Self {
        // A ring buffer has neither keys nor values, and as many bytes as entries.
        let row = (u64::from(key_bytes) + u64::from(value_bytes)).max(1);
        Self {
            name,
            key_bytes,
            value_bytes,
            entries,
            row_bytes: row * u64::from(entries),
            kernel_bytes: None,
        }
    }

    fn of(id: u32) -> Result<Self, SwitchdError> {
        let failed = SwitchdError::map("look at", "of the program");
        let info = MapInfo::from_id(id).map_err(failed)?;
        let name = info.name_as_str().unwrap_or_default().to_owned();
        Ok(Self {
            kernel_bytes: kernel_bytes(&info)?,
            ..Self::new(name, info.key_size(), info.value_size(), info.max_entries())
        })
    }
}

/// The `memlock` line of the descriptor's entry in `/proc`.
fn kernel_bytes(map: &MapInfo) -> Result<Option<u64>, SwitchdError> {
    let descriptor = map
        .fd()
        .map_err(SwitchdError::map("open", "of the program"))?;
    let descriptor = descriptor.as_fd().as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}"));
    let text = text.map_err(|source| SwitchdError::Io {
        action: "read what a map takes",
        source,
    })?;
    let mut lines = text.lines();
    Ok(lines.find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok()))
}

impl Footprint {
    fn of(info: &ProgramInfo) -> Self {
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
    use lab_abi::rows::{FlowEntry, FlowKey, PortRow};
    use lab_policy::lcmp::PortState;

    use super::*;
    use crate::pins::FLOWS;

    #[test]
    fn a_port_is_what_the_paper_counts_and_a_flow_twice_that() {
        assert_eq!(size_of::<PortRow>(), 24);
        assert_eq!(size_of::<PortState>(), 24);
        assert_eq!(size_of::<FlowKey>() + size_of::<FlowEntry>(), 2 * 24);
    }

    #[test]
    fn the_kernel_says_what_the_program_and_its_tables_take() {
        let account = match account(50_000) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: account: {}", error.chain());
                return;
            }
            other => other.expect("the program loads"),
        };
        println!("{account:#?}");
        let program = account.program;
        assert!((300..3_000).contains(&program.instructions), "{program:?}");
        let verified = program.verified_instructions;
        let verified = verified.unwrap_or(program.instructions);
        assert!(verified >= program.instructions, "{program:?}");

        let flows = account.maps.iter().find(|map| map.name == FLOWS);
        let flows = flows.expect("there is a flow table");
        assert_eq!(flows.row_bytes, 50_000 * 48);
        // Never less than its rows; with what finds them not more than four times that.
        let kernel_bytes = flows.kernel_bytes.expect("the kernel says");
        assert!((flows.row_bytes..4 * flows.row_bytes).contains(&kernel_bytes));
        let names: Vec<_> = account.maps.iter().map(|map| &*map.name).collect();
        let expected = [
            "counters",
            "decisions",
            "demands",
            "destinations",
            "flows",
            "scratch",
            "table",
        ];
        assert_eq!(names, expected);

        // The scratch row is the program's own.
        let shared = account.maps.into_iter().filter(|map| map.name != "scratch");
        let shared = shared.map(|map| MapAccount {
            kernel_bytes: None,
            ..map
        });
        assert_eq!(shared.collect::<Vec<_>>(), declared_maps(50_000));
    }
}

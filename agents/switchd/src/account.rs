//! Size of the switch program (the paper's section 4): its maps in bytes, its code in eBPF instructions.
//!
//! The paper counts only the rows of the tables. The kernel also needs memory to index the rows; an account reports
//! both.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd},
};

use aya::{maps::MapInfo, programs::ProgramInfo};
use serde::Serialize;

use crate::{SwitchdError, maps::MAPS, program::Program};

/// Size of the switch program's code and of its maps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// Maps in the order of their names.
    pub maps: Vec<MapAccount>,
    /// Size of the program's code.
    pub program: ProgramAccount,
}

/// Name of one map, the sizes of its rows, and its memory.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct MapAccount {
    /// Name of the map.
    pub name: String,
    /// Size of a key, bytes.
    pub key_bytes: u32,
    /// Size of a value, bytes.
    pub value_bytes: u32,
    /// Number of rows; for a ring buffer, number of bytes.
    pub rows: u32,
    /// Size of all keys and values on one CPU, bytes.
    pub bytes: u64,
    /// Kernel memory that the map occupies, bytes; `None` for a map that is not loaded.
    pub kernel_bytes: Option<u64>,
}

/// Size of the switch program's code.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct ProgramAccount {
    /// Number of eBPF instructions after translation by the kernel.
    pub instructions: u32,
    /// Number of instructions that the verifier processed on all paths through the program; `None` if the kernel does
    /// not report it.
    pub verified_instructions: Option<u32>,
    /// Size of the machine code, bytes; 0 if the kernel's JIT compiler is off.
    pub machine_code_bytes: u32,
}

/// Loads the switch program and reads its size from the kernel. Fails if the program cannot be loaded or the kernel
/// does not report its size.
pub fn account(flow_table_entries: u32) -> Result<Account, SwitchdError> {
    // The maps can be opened only while the program is loaded.
    let mut program = Program::load(flow_table_entries)?;
    let info = program.info()?;
    let failed = SwitchdError::program("inspect the maps of");
    let ids = info.map_ids().map_err(failed)?.unwrap_or_default();
    let mut maps = ids
        .into_iter()
        .map(MapAccount::of)
        .collect::<Result<Vec<_>, _>>()?;
    maps.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Account {
        maps,
        program: ProgramAccount::of(&info),
    })
}

/// Returns the maps that every switch program declares, without loading a program.
#[must_use]
pub fn declared_maps(flow_table_entries: u32) -> Vec<MapAccount> {
    let account = |shape: &crate::maps::MapShape| {
        let sizes = [shape.key_bytes, shape.value_bytes];
        let [key, value] = sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let entries = shape.rows(flow_table_entries);
        MapAccount::new(shape.name.to_owned(), key, value, entries)
    };
    MAPS.iter().map(account).collect()
}

impl MapAccount {
    fn new(name: String, key_bytes: u32, value_bytes: u32, rows: u32) -> Self {
        // A ring buffer has neither keys nor values; its rows are bytes.
        let row = (u64::from(key_bytes) + u64::from(value_bytes)).max(1);
        Self {
            name,
            key_bytes,
            value_bytes,
            rows,
            bytes: row * u64::from(rows),
            kernel_bytes: None,
        }
    }

    fn of(id: u32) -> Result<Self, SwitchdError> {
        let failed = SwitchdError::map("inspect", None);
        let info = MapInfo::from_id(id).map_err(failed)?;
        let name = info.name_as_str().unwrap_or_default().to_owned();
        Ok(Self {
            kernel_bytes: kernel_bytes(&info)?,
            ..Self::new(name, info.key_size(), info.value_size(), info.max_entries())
        })
    }
}

/// Returns the size on the `memlock` line of the map's entry in `/proc/self/fdinfo`.
fn kernel_bytes(map: &MapInfo) -> Result<Option<u64>, SwitchdError> {
    // The descriptor must stay open until its file in `/proc` has been read.
    let open = map.fd().map_err(SwitchdError::map("open", None))?;
    let number = open.as_fd().as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).map_err(|source| {
        SwitchdError::Io {
            action: "read the size of a map",
            source,
        }
    })?;
    let mut lines = text.lines();
    Ok(lines.find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok()))
}

impl ProgramAccount {
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
    use crate::maps::FLOWS;

    #[test]
    fn a_port_has_the_papers_bytes_and_a_flow_twice_as_many() {
        assert_eq!(size_of::<PortRow>(), 24);
        assert_eq!(size_of::<PortState>(), 24);
        assert_eq!(size_of::<FlowKey>() + size_of::<FlowEntry>(), 2 * 24);
    }

    #[test]
    fn the_kernel_reports_the_size_of_program_and_tables() {
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
        let verified = program
            .verified_instructions
            .unwrap_or(program.instructions);
        assert!(verified >= program.instructions, "{program:?}");
        // The kernel's limit is 1,000,000; most of the start of an agent is this work.
        assert!(verified < 50_000, "{program:?}");

        let flows = account
            .maps
            .iter()
            .find(|map| map.name == FLOWS)
            .expect("there is a flow table");
        // Room for 50,000 flows, and for 15,536 more until the next eviction.
        assert_eq!(flows.bytes, 65_536 * 48);
        // The memory is at least the rows, and with the kernel's index at most four times as much.
        let kernel_bytes = flows.kernel_bytes.expect("the kernel reports it");
        assert!((flows.bytes..4 * flows.bytes).contains(&kernel_bytes));
        let names: Vec<_> = account.maps.iter().map(|map| &*map.name).collect();
        let expected = [
            "buffers",
            "calendar",
            "counters",
            "decisions",
            "demands",
            "destinations",
            "flows",
            "scratch",
            "table",
            "transits",
        ];
        assert_eq!(names, expected);

        // Only this program has the scratch row, and needs the maps of PFC and of tunnels.
        let own = ["buffers", "calendar", "scratch", "transits"];
        let shared = account
            .maps
            .into_iter()
            .filter(|map| !own.contains(&&*map.name))
            .map(|map| MapAccount {
                kernel_bytes: None,
                ..map
            });
        assert_eq!(shared.collect::<Vec<_>>(), declared_maps(50_000));
    }
}

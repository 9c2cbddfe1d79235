//! What the switch program takes, beside what the paper counts (section 4): bytes of its tables,
//! instructions of its code.
//!
//! The paper counts a table's rows. The kernel needs more for the same rows, to find them; both are
//! told.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd},
};

use aya::maps::MapInfo;
use lab_abi::rows::{FlowEntry, FlowKey, PortRow};
use lab_policy::lcmp::PortState;

use crate::{SwitchdError, footprint::Footprint, pins::FLOWS, program::Program};

/// What the paper counts for a port: the state of its congestion.
pub const PAPER_BYTES_PER_PORT: usize = 24;

/// What the paper counts for a flow: id, port and time.
pub const PAPER_BYTES_PER_FLOW: usize = 24;

/// The integer operations of a decision at six candidates, by the paper's count.
pub const PAPER_OPERATIONS_PER_DECISION: u32 = 105;

/// Bytes of a port's row in the switch table: its liveness and levels in one word, its interface and
/// both Ethernet addresses.
pub const BYTES_PER_PORT_ROW: usize = size_of::<PortRow>();

/// Bytes of the state that a port's congestion is computed with, which is the agent's.
pub const BYTES_PER_PORT_STATE: usize = size_of::<PortState>();

/// Bytes of a flow's key and entry.
pub const BYTES_PER_FLOW: usize = size_of::<FlowKey>() + size_of::<FlowEntry>();

/// What the switch program takes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Account {
    /// Its maps, by name.
    pub maps: Vec<MapAccount>,
    /// How long it is.
    pub program: Footprint,
    /// Time the kernel took to check and load the program.
    pub load_ns: u64,
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
    /// What the kernel says the map takes of its memory.
    pub kernel_bytes: u64,
}

impl Account {
    /// The flow table.
    #[must_use]
    pub fn flows(&self) -> Option<&MapAccount> {
        self.maps.iter().find(|map| map.name == FLOWS)
    }
}

/// Loads the switch program with a flow table of so many rows, and asks the kernel what it takes.
///
/// # Errors
///
/// When the program cannot be loaded, or the kernel does not say.
pub fn account(flow_table_entries: u32) -> Result<Account, SwitchdError> {
    let mut program = Program::load(flow_table_entries)?;
    let info = program.info()?;
    let failed = |source| SwitchdError::Program {
        action: "look at the maps of",
        source,
    };
    let ids = info.map_ids().map_err(failed)?.unwrap_or_default();
    let mut maps = ids
        .into_iter()
        .map(map_account)
        .collect::<Result<Vec<_>, _>>()?;
    maps.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Account {
        maps,
        program: Footprint::of(&info),
        load_ns: program.load_ns,
    })
}

fn map_account(id: u32) -> Result<MapAccount, SwitchdError> {
    let failed = SwitchdError::map("look at", "of the program");
    let info = MapInfo::from_id(id).map_err(failed)?;
    let name = info.name_as_str().unwrap_or_default().to_owned();
    let (key_bytes, value_bytes) = (info.key_size(), info.value_size());
    let row = u64::from(key_bytes) + u64::from(value_bytes);
    let entries = info.max_entries();
    Ok(MapAccount {
        name,
        key_bytes,
        value_bytes,
        entries,
        row_bytes: row * u64::from(entries),
        kernel_bytes: kernel_bytes(&info)?,
    })
}

/// The `memlock` line of the descriptor's entry in `/proc`.
fn kernel_bytes(map: &MapInfo) -> Result<u64, SwitchdError> {
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
    let bytes = lines.find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok());
    Ok(bytes.unwrap_or(0))
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_what_the_paper_counts_and_a_flow_twice_that() {
        assert_eq!(BYTES_PER_PORT_ROW, PAPER_BYTES_PER_PORT);
        assert_eq!(BYTES_PER_PORT_STATE, PAPER_BYTES_PER_PORT);
        assert_eq!(BYTES_PER_FLOW, 2 * PAPER_BYTES_PER_FLOW);
    }

    #[test]
    fn the_kernel_says_what_the_tables_take() {
        let account = match account(50_000) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: account: {}", error.chain());
                return;
            }
            other => other.expect("the program loads"),
        };
        println!("{account:#?}");
        let flows = account.flows().expect("there is a flow table");
        assert_eq!(flows.row_bytes, 50_000 * 48);
        // Never less than its rows; with what finds them not more than four times that.
        assert!((flows.row_bytes..4 * flows.row_bytes).contains(&flows.kernel_bytes));
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
    }
}

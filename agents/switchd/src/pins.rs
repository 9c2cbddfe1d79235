//! Pinned maps and links: files of a BPF file system, which outlive the agent.
//!
//! An agent that ends removes its files. An agent that is killed leaves them: the program keeps
//! forwarding by its tables, and the next agent takes them over.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use aya::{maps::MapData, programs::links::FdLink};
use lab_abi::{
    lcmp::{FLOW_TABLE_HEADROOM, MAX_FLOW_TABLE_ENTRIES},
    pfc::{CALENDAR_SLOTS, CalendarSlot, SharedBuffer},
    rows::{
        Counters, DestinationRow, FlowEntry, FlowKey, MAX_DESTINATIONS, PrefixKey, RING_BYTES,
        SwitchTable,
    },
};

use crate::SwitchdError;

/// Map that agent and program share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MapShape {
    pub(crate) name: &'static str,
    pub(crate) key_bytes: usize,
    pub(crate) value_bytes: usize,
    /// Number of rows; for the flow table, the largest number.
    pub(crate) entries: u32,
}

/// Maps that every switch program has, ordered by name. A program may have more.
pub(crate) const MAPS: [MapShape; 6] = [
    shape("counters", 4, size_of::<Counters>(), 1),
    shape("decisions", 0, 0, RING_BYTES),
    shape("demands", 4, 8, MAX_DESTINATIONS),
    shape(
        "destinations",
        size_of::<PrefixKey>(),
        size_of::<DestinationRow>(),
        MAX_DESTINATIONS,
    ),
    shape(
        FLOWS,
        size_of::<FlowKey>(),
        size_of::<FlowEntry>(),
        flow_map_rows(MAX_FLOW_TABLE_ENTRIES),
    ),
    shape("table", 4, size_of::<SwitchTable>(), 1),
];

/// Maps of PFC: the buffered bytes, and the times at which they leave. A user's own program may lack them.
pub(crate) const PFC_MAPS: [MapShape; 2] = [
    shape(BUFFERS, 4, size_of::<SharedBuffer>(), 1),
    shape(CALENDAR, 4, size_of::<CalendarSlot>(), CALENDAR_SLOTS),
];

/// Map of the shared buffer.
pub(crate) const BUFFERS: &str = "buffers";

/// Map of the bytes that leave the shared buffer in each time slot.
const CALENDAR: &str = "calendar";

/// Name of the flow table, whose number of rows the configuration sets.
pub(crate) const FLOWS: &str = "flows";

impl MapShape {
    /// Returns the number of rows for a given flow table.
    pub(crate) fn rows(&self, flow_table_entries: u32) -> u32 {
        match self.name {
            FLOWS => flow_map_rows(flow_table_entries),
            _ => self.entries,
        }
    }
}

/// Returns the number of rows in a flow table's map: its capacity, and room for the flows that arrive until the agent's
/// next eviction.
pub(crate) const fn flow_map_rows(flow_table_entries: u32) -> u32 {
    flow_table_entries + FLOW_TABLE_HEADROOM
}

const fn shape(name: &'static str, key_bytes: usize, value_bytes: usize, entries: u32) -> MapShape {
    MapShape {
        name,
        key_bytes,
        value_bytes,
        entries,
    }
}

/// Files of one switch, removed when this value is dropped, but not when its process is killed.
pub struct Pins {
    directory: PathBuf,
    is_inherited: bool,
}

impl Pins {
    /// Opens or creates a directory in a BPF file system.
    ///
    /// Files of an earlier agent are taken over if they fit. Files of another version of this program,
    /// or of a flow table of another size, are removed.
    pub(crate) fn open(directory: &str, flow_table_entries: u32) -> Result<Self, SwitchdError> {
        let directory = PathBuf::from(directory);
        fs::create_dir_all(&directory).map_err(failed("make", &directory))?;
        let mut pins = Self {
            directory,
            is_inherited: false,
        };
        let fits = |shape: &MapShape| pins.holds(shape, flow_table_entries);
        let fits_or_lacks = |shape: &MapShape| !pins.map(shape.name).exists() || fits(shape);
        pins.is_inherited = MAPS.iter().all(fits) && PFC_MAPS.iter().all(fits_or_lacks);
        if !pins.is_inherited {
            pins.clear()?;
        }
        Ok(pins)
    }

    /// Returns true if an agent that was killed left the files.
    pub(crate) const fn is_inherited(&self) -> bool {
        self.is_inherited
    }

    /// Returns the file of a map.
    pub(crate) fn map(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the file of the link to the port in `slot`.
    pub(crate) fn link(&self, slot: usize) -> PathBuf {
        self.directory.join(format!("port-{slot}"))
    }

    /// Pins the link of the program that marks ports dead, in place of an earlier agent's.
    pub(crate) fn pin_carriers(&self, link: FdLink) -> Result<FdLink, SwitchdError> {
        let path = self.directory.join("carriers");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &path)(error));
            }
            _ => {}
        }
        let pinned = link.pin(&path).map_err(io::Error::other);
        pinned.map(FdLink::from).map_err(failed("make", &path))
    }

    fn holds(&self, shape: &MapShape, flow_table_entries: u32) -> bool {
        let entries = shape.rows(flow_table_entries);
        let info = MapData::from_pin(self.map(shape.name)).and_then(|map| map.info());
        info.is_ok_and(|info| {
            (info.key_size(), info.value_size(), info.max_entries())
                == (bytes(shape.key_bytes), bytes(shape.value_bytes), entries)
        })
    }

    fn clear(&self) -> Result<(), SwitchdError> {
        let entries = fs::read_dir(&self.directory).map_err(failed("list", &self.directory))?;
        for entry in entries {
            let path = entry.map_err(failed("list", &self.directory))?.path();
            fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
        Ok(())
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        let removed = self.clear().and_then(|()| {
            fs::remove_dir(&self.directory).map_err(failed("remove", &self.directory))
        });
        if let Err(error) = removed {
            tracing::warn!(error = error.chain(), "cannot remove pinned maps");
        }
    }
}

fn bytes(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SwitchdError {
    let path = path.display().to_string();
    move |source| SwitchdError::Pins {
        action,
        path,
        source,
    }
}

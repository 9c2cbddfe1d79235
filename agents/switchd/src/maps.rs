//! Maps that agent and program share.

use aya::maps::{HashMap, MapData};
use lab_abi::{
    lcmp::{FLOW_TABLE_HEADROOM, MAX_FLOW_TABLE_ENTRIES},
    pfc::{CALENDAR_SLOTS, CalendarSlot, SharedBuffer},
    rows::{
        Counters, DestinationRow, FlowEntry, FlowKey, MAX_DESTINATIONS, MAX_TRANSITS, PrefixKey,
        RING_BYTES, SwitchTable, TransitKey,
    },
};
use lab_loader::MapRow;

/// Map in the kernel that holds the next hop of each pinned flow.
pub(crate) type FlowMap = HashMap<MapData, MapRow<FlowKey>, MapRow<FlowEntry>>;

/// Name and layout of a map that agent and program share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MapShape {
    pub(crate) name: &'static str,
    pub(crate) key_bytes: usize,
    pub(crate) value_bytes: usize,
    /// Number of rows; for the flow table, the maximum that a configuration may set.
    pub(crate) entries: u32,
}

/// Maps of every switch program, in the order of their names. A user's program may have further maps.
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

/// Maps that a user's own program may lack: for PFC, the buffered bytes and the times at which they leave; and rows for
/// packets on tunnels.
pub(crate) const OPTIONAL_MAPS: [MapShape; 3] = [
    shape(BUFFERS, 4, size_of::<SharedBuffer>(), 1),
    shape(CALENDAR, 4, size_of::<CalendarSlot>(), CALENDAR_SLOTS),
    shape(TRANSITS, size_of::<TransitKey>(), 4, MAX_TRANSITS),
];

/// Map in the kernel that holds the port of packets on tunnels.
pub(crate) type TransitMap = HashMap<MapData, MapRow<TransitKey>, u32>;

/// Name of the map with the transit rows.
pub(crate) const TRANSITS: &str = "transits";

/// Name of the map that holds the shared buffer.
pub(crate) const BUFFERS: &str = "buffers";

/// Name of the map that counts the bytes leaving the shared buffer in each time slot.
pub(crate) const CALENDAR: &str = "calendar";

/// Name of the flow table, whose number of rows the configuration sets.
pub(crate) const FLOWS: &str = "flows";

impl MapShape {
    /// Returns the number of rows for a flow table with the given capacity.
    pub(crate) fn rows(&self, flow_table_entries: u32) -> u32 {
        match self.name {
            FLOWS => flow_map_rows(flow_table_entries),
            _ => self.entries,
        }
    }
}

/// Returns the number of rows that the map of a flow table needs: the capacity, and room for the flows that arrive
/// until the agent's next eviction.
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

//! Pinned maps of a lab's host programs.

use std::path::Path;

use aya::maps::{Array, HashMap, Map, MapData, MapError, RingBuf};
use bytemuck::Pod;
use lab_abi::{
    dcqcn::{HostCounters, HostParams, MarkedQp, PacedQp, QpKey},
    pfc::{NicRow, PauseRecord},
};
use lab_loader::{MapRow, drain, remove};

use crate::HostError;

/// Name of the map that holds the programs' parameters.
pub(crate) const HOST: &str = "host";
/// Name of the map that holds the NICs' rates and pauses.
pub(crate) const NICS: &str = "nics";
/// Name of the map of sending QPs.
pub(crate) const SENDERS: &str = "senders";
/// Name of the map of receiving QPs.
pub(crate) const RECEIVERS: &str = "receivers";
/// Name of the map that holds the counters.
pub(crate) const COUNTS: &str = "host_counts";
/// Name of the ring buffer of finished NIC pauses.
pub(crate) const PAUSES: &str = "pauses";

/// Open maps of a lab's host programs.
pub struct HostMaps {
    host: Array<MapData, MapRow<HostParams>>,
    senders: HashMap<MapData, MapRow<QpKey>, MapRow<PacedQp>>,
    receivers: HashMap<MapData, MapRow<QpKey>, MapRow<MarkedQp>>,
    counts: Array<MapData, MapRow<HostCounters>>,
    nics: HashMap<MapData, u32, MapRow<NicRow>>,
    pauses: RingBuf<MapData>,
}

impl HostMaps {
    /// Opens the maps that are pinned in `directory`.
    ///
    /// # Errors
    /// The directory has no such maps, or the kernel refuses to open them.
    pub fn open(directory: &Path) -> Result<Self, HostError> {
        Ok(Self {
            host: array(directory, HOST)?,
            senders: hash(directory, SENDERS)?,
            receivers: hash(directory, RECEIVERS)?,
            counts: array(directory, COUNTS)?,
            nics: Map::HashMap(open(directory, NICS)?)
                .try_into()
                .map_err(HostError::map("use", NICS))?,
            pauses: Map::RingBuf(open(directory, PAUSES)?)
                .try_into()
                .map_err(HostError::map("use", PAUSES))?,
        })
    }

    /// Removes the state of all QPs and NICs, clears the counters and lets the pacer accept packets again. The next
    /// packet of each QP is treated as its first.
    ///
    /// # Errors
    /// The kernel refuses access to a map.
    pub fn reset(&mut self) -> Result<(), HostError> {
        clear(&mut self.senders, SENDERS)?;
        clear(&mut self.receivers, RECEIVERS)?;
        self.counts
            .set(0, MapRow(HostCounters::default()), 0)
            .map_err(HostError::map("clear", COUNTS))?;
        for (ifindex, nic) in self.nics()? {
            let idle = NicRow {
                line_bps: nic.line_bps,
                quantum_ns: nic.quantum_ns,
                ..NicRow::default()
            };
            self.nics
                .insert(ifindex, MapRow(idle), 0)
                .map_err(HostError::map("clear", NICS))?;
        }
        drain::<PauseRecord>(&mut self.pauses);
        self.set_closing(false)
    }

    /// Makes the pacer drop all packets that it holds or receives. SoftRoCE can destroy a QP only once the kernel
    /// holds no more packets of the QP.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn close(&mut self) -> Result<(), HostError> {
        self.set_closing(true)
    }

    fn set_closing(&mut self, is_closing: bool) -> Result<(), HostError> {
        let params = HostParams {
            is_closing: u32::from(is_closing),
            ..self.params()?
        };
        self.host
            .set(0, MapRow(params), 0)
            .map_err(HostError::map("write", HOST))
    }

    /// Returns the sending QPs, sorted by key.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn senders(&self) -> Result<Vec<(QpKey, PacedQp)>, HostError> {
        rows(&self.senders, SENDERS)
    }

    /// Returns a sending QP; `None` before the QP's first packet.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn sender(&self, key: QpKey) -> Result<Option<PacedQp>, HostError> {
        match self.senders.get(&MapRow(key), 0) {
            Ok(MapRow(qp)) => Ok(Some(qp)),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(error) => Err(HostError::map("read", SENDERS)(error)),
        }
    }

    /// Returns the parameters of the programs.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn params(&self) -> Result<HostParams, HostError> {
        let row = self.host.get(&0, 0);
        row.map(|MapRow(params)| params)
            .map_err(HostError::map("read", HOST))
    }

    /// Returns the receiving QPs that received marked packets, sorted by key.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn receivers(&self) -> Result<Vec<(QpKey, MarkedQp)>, HostError> {
        rows(&self.receivers, RECEIVERS)
    }

    /// Removes and returns all pauses of NICs, sorted by time for each NIC; a pause that is still active is recorded as
    /// ended at `now_ns`.
    ///
    /// # Errors
    /// The kernel refuses access to a map.
    pub fn take_pauses(&mut self, now_ns: u64) -> Result<Vec<PauseRecord>, HostError> {
        let mut pauses: Vec<PauseRecord> = drain(&mut self.pauses);
        let paused = self
            .nics()?
            .into_iter()
            .filter(|(_, nic)| nic.paused_at_ns > 0);
        pauses.extend(paused.map(|(ifindex, nic)| PauseRecord {
            from_ns: nic.paused_at_ns,
            until_ns: nic.paused_until_ns.min(now_ns),
            ifindex,
            pad: 0,
        }));
        Ok(pauses)
    }

    fn nics(&self) -> Result<Vec<(u32, NicRow)>, HostError> {
        self.nics
            .iter()
            .map(|row| row.map(|(ifindex, MapRow(nic))| (ifindex, nic)))
            .collect::<Result<_, MapError>>()
            .map_err(HostError::map("read", NICS))
    }

    /// Returns the counters, summed over all QPs.
    ///
    /// # Errors
    /// The kernel refuses access to the map.
    pub fn counts(&self) -> Result<HostCounters, HostError> {
        let row = self.counts.get(&0, 0);
        row.map(|MapRow(counts)| counts)
            .map_err(HostError::map("read", COUNTS))
    }
}

type QpMap<T> = HashMap<MapData, MapRow<QpKey>, MapRow<T>>;

fn open(directory: &Path, name: &'static str) -> Result<MapData, HostError> {
    MapData::from_pin(directory.join(name)).map_err(HostError::map("open", name))
}

fn array<T: Pod>(
    directory: &Path,
    name: &'static str,
) -> Result<Array<MapData, MapRow<T>>, HostError> {
    Map::Array(open(directory, name)?)
        .try_into()
        .map_err(HostError::map("use", name))
}

fn hash<T: Pod>(directory: &Path, name: &'static str) -> Result<QpMap<T>, HostError> {
    Map::HashMap(open(directory, name)?)
        .try_into()
        .map_err(HostError::map("use", name))
}

fn clear<T: Pod>(map: &mut QpMap<T>, name: &'static str) -> Result<(), HostError> {
    // Read all keys first, because removing rows would disturb the iteration.
    let keys: Result<Vec<_>, MapError> = map.keys().collect();
    for key in keys.map_err(HostError::map("read", name))? {
        remove(map, &key).map_err(HostError::map("clear", name))?;
    }
    Ok(())
}

fn rows<T: Pod>(map: &QpMap<T>, name: &'static str) -> Result<Vec<(QpKey, T)>, HostError> {
    let mut rows = map
        .iter()
        .map(|row| row.map(|(MapRow(key), MapRow(row))| (key, row)))
        .collect::<Result<Vec<_>, MapError>>()
        .map_err(HostError::map("read", name))?;
    rows.sort_by_key(|(key, _)| *key);
    Ok(rows)
}

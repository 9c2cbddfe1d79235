//! Switch program in the kernel, and its maps.
//!
//! Every method fails if the kernel refuses the program, a run of it, or access to a map.

use std::{collections::BTreeSet, time::Instant};

use aya::{
    Btf, BtfError, Ebpf, EbpfLoader,
    maps::{Array, LpmTrie, MapData, MapError, PerCpuArray, PerCpuValues, RingBuf, lpm_trie::Key},
    programs::{
        FEntry, ProgramInfo, SchedClassifier, TestRun, TestRunOptions, TestRunResult, links::FdLink,
    },
    util::nr_cpus,
};
use lab_abi::{
    pfc::{CALENDAR_SLOTS, CalendarSlot, SharedBuffer},
    rows::{
        Counters, DecisionRecord, DestinationRow, MAX_DESTINATIONS, PrefixKey, SwitchTable,
        TransitKey,
    },
};
use lab_loader::{LoaderError, MapRow, drain, program, take};

use crate::{
    SwitchdError,
    buffer::continued,
    install::SwitchTables,
    maps::{
        BUFFERS, CALENDAR, FLOWS, FlowMap, MAPS, OPTIONAL_MAPS, TRANSITS, TransitMap, flow_map_rows,
    },
    object::PROGRAM,
    pins::Pins,
    shared::SharedTable,
};

/// ELF object of the agent's own program, built by `agents/ebpf/build.sh`.
pub const OBJECT: &[u8] = aya::include_bytes_aligned!("../../ebpf/switch.bpf.o");

/// Program in `agents/ebpf/carrier.bpf.h` that marks ports dead.
#[derive(Clone, Copy)]
struct CarrierProgram {
    name: &'static str,
    /// Kernel function whose calls run the program.
    function: &'static str,
}

/// Program that marks ports dead before the kernel has changed the interface's state.
const CARRIER_OFF: CarrierProgram = CarrierProgram {
    name: "carrier_off",
    function: "netif_carrier_off",
};

/// Program for agents for which the function of [`CARRIER_OFF`] has no room, because a kernel function calls at most 38
/// programs. A user's own program may lack it.
///
/// <https://github.com/torvalds/linux/blob/v6.1/include/linux/bpf.h#L784>
const CARRIER_EVENT: CarrierProgram = CarrierProgram {
    name: "carrier_event",
    function: "linkwatch_fire_event",
};

/// Loaded switch program. It is unloaded when this value is dropped, and so are its maps unless they are pinned.
pub struct Program {
    ebpf: Ebpf,
    /// Flow table, which holds the entries of pinned flows.
    pub(crate) flows: FlowMap,
    /// Ring buffer of decision records.
    pub(crate) decisions: RingBuf<MapData>,
    /// Parameters and ports, in memory shared with the program.
    pub(crate) table: SharedTable,
    table_map: Array<MapData, MapRow<SwitchTable>>,
    destinations: LpmTrie<MapData, [u8; 4], MapRow<DestinationRow>>,
    counters: PerCpuArray<MapData, MapRow<Counters>>,
    demands: PerCpuArray<MapData, u64>,
    /// Shared buffer; `None` if a user's own program has no such map.
    buffers: Option<Array<MapData, MapRow<SharedBuffer>>>,
    /// Transit rows; `None` if a user's own program has no such map.
    transits: Option<TransitMap>,
    /// Pinned files of the maps and of attachments; `None` if nothing is pinned.
    pins: Option<Pins>,
    /// Capacity of the flow table, for which its map was made.
    flow_table_entries: u32,
    /// Time in which the kernel verified and loaded the program, ns.
    pub(crate) load_ns: u64,
}

impl Program {
    /// Loads the agent's own program.
    pub fn load(flow_table_entries: u32) -> Result<Self, SwitchdError> {
        Self::load_object(OBJECT, flow_table_entries, None)
    }

    /// Loads a program. Its maps are those pinned at `pins`, or new maps that are then pinned there.
    pub fn load_object(
        object: &[u8],
        flow_table_entries: u32,
        pins: Option<Pins>,
    ) -> Result<Self, SwitchdError> {
        let btf = Btf::from_sys_fs();
        let mut loader = EbpfLoader::new();
        loader.btf(btf.as_ref().ok());
        loader.map_max_entries(FLOWS, flow_map_rows(flow_table_entries));
        if let Some(pins) = &pins {
            for map in MAPS.iter().chain(&OPTIONAL_MAPS) {
                loader.map_pin_path(map.name, pins.map(map.name));
            }
        }
        let mut ebpf = loader.load(object).map_err(LoaderError::Load)?;
        let started = Instant::now();
        program::<SchedClassifier>(&mut ebpf, PROGRAM)?
            .load()
            .map_err(SwitchdError::program("load"))?;
        let load_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // A failure is ignored here: the load is tried again, and its error returned, when the program is attached.
        let _ = load_carrier(&mut ebpf, btf, CARRIER_OFF);
        let table_map = ebpf
            .take_map("table")
            .ok_or(LoaderError::Missing { name: "table" })?;
        let table = SharedTable::map(&table_map)?;
        let table_map = table_map
            .try_into()
            .map_err(SwitchdError::map("use", "table"))?;
        Ok(Self {
            flows: take(&mut ebpf, FLOWS)?,
            decisions: take(&mut ebpf, "decisions")?,
            table,
            table_map,
            destinations: take(&mut ebpf, "destinations")?,
            counters: take(&mut ebpf, "counters")?,
            demands: take(&mut ebpf, "demands")?,
            buffers: take(&mut ebpf, BUFFERS).ok(),
            transits: take(&mut ebpf, TRANSITS).ok(),
            pins,
            flow_table_entries,
            load_ns,
            ebpf,
        })
    }

    /// Returns true if the program has a flow table of the given capacity.
    pub(crate) const fn fits(&self, flow_table_entries: u32) -> bool {
        self.flow_table_entries == flow_table_entries
    }

    pub(crate) const fn pins(&self) -> Option<&Pins> {
        self.pins.as_ref()
    }

    /// Returns true if the program has the maps of a killed agent.
    pub(crate) fn is_inherited(&self) -> bool {
        self.pins.as_ref().is_some_and(Pins::is_inherited)
    }

    /// Empties all maps, so that the next repetition starts as with a program that has just been loaded. The program
    /// must not be attached.
    pub(crate) fn clear(&mut self) -> Result<(), SwitchdError> {
        let flows: Result<Vec<_>, _> = self.flows.keys().collect();
        for flow in flows.map_err(SwitchdError::map("read", FLOWS))? {
            let removed = self.flows.remove(&flow);
            removed.map_err(SwitchdError::map("remove a flow from", FLOWS))?;
        }
        let prefixes: Result<Vec<_>, _> = self.destinations.keys().collect();
        for prefix in prefixes.map_err(SwitchdError::map("read", "destinations"))? {
            let removed = self.destinations.remove(&prefix);
            removed.map_err(SwitchdError::map("remove a row from", "destinations"))?;
        }
        set_all(&mut self.counters, 1, MapRow(Counters::default()))
            .map_err(SwitchdError::map("write", "counters"))?;
        set_all(&mut self.demands, MAX_DESTINATIONS, 0)
            .map_err(SwitchdError::map("write", "demands"))?;
        self.set_table(&SwitchTable::default())?;
        self.set_transits(&[])?;
        self.clear_buffer()?;
        self.drain_decisions();
        if let Some(pins) = &mut self.pins {
            pins.disown();
        }
        Ok(())
    }

    /// Empties the shared buffer and forgets when its packets leave.
    fn clear_buffer(&mut self) -> Result<(), SwitchdError> {
        let Some(buffers) = &mut self.buffers else {
            return Ok(());
        };
        buffers
            .set(0, MapRow(SharedBuffer::default()), 0)
            .map_err(SwitchdError::map("write", BUFFERS))?;
        let found = self.ebpf.map_mut(CALENDAR);
        let map = found.ok_or(LoaderError::Missing { name: CALENDAR })?;
        let failed = || SwitchdError::map("write", CALENDAR);
        let mut calendar: Array<_, MapRow<CalendarSlot>> = map.try_into().map_err(failed())?;
        (0..CALENDAR_SLOTS).try_for_each(|slot| {
            let empty = MapRow(CalendarSlot::default());
            calendar.set(slot, empty, 0).map_err(failed())
        })
    }

    /// Reads the parameters and ports from the program's table.
    pub(crate) fn table(&self) -> Result<SwitchTable, SwitchdError> {
        let row = self.table_map.get(&0, 0);
        row.map(|MapRow(table)| table)
            .map_err(SwitchdError::map("read", "table"))
    }

    /// Writes the tables of a switch.
    pub fn install(&mut self, tables: &SwitchTables) -> Result<(), SwitchdError> {
        self.set_table(&tables.switch)?;
        self.set_buffer(tables.buffer.as_ref())?;
        self.set_transits(&tables.transits)?;
        tables
            .destinations
            .iter()
            .try_for_each(|(prefix, row)| self.set_destination(*prefix, row))
    }

    /// Writes the settings of the shared buffer; the packets in the buffer stay counted.
    fn set_buffer(&mut self, buffer: Option<&SharedBuffer>) -> Result<(), SwitchdError> {
        let Some(buffers) = &mut self.buffers else {
            return match buffer {
                Some(_) => Err(LoaderError::Missing { name: BUFFERS }.into()),
                None => Ok(()),
            };
        };
        let before = buffers.get(&0, 0);
        let MapRow(before) = before.map_err(SwitchdError::map("read", BUFFERS))?;
        let buffer = buffer.map_or_else(SharedBuffer::default, |new| continued(new, &before));
        // The program of a killed agent counts packets until it is replaced, so the counts are overwritten only if a
        // setting changes.
        if buffer == before {
            return Ok(());
        }
        buffers
            .set(0, MapRow(buffer), 0)
            .map_err(SwitchdError::map("write", BUFFERS))
    }

    /// Writes the parameters and ports in one step.
    pub fn set_table(&mut self, table: &SwitchTable) -> Result<(), SwitchdError> {
        self.table_map
            .set(0, MapRow(*table), 0)
            .map_err(SwitchdError::map("write", "table"))
    }

    /// Makes `rows` the transit rows. A row that stays is never absent in between.
    pub fn set_transits(&mut self, rows: &[(TransitKey, u32)]) -> Result<(), SwitchdError> {
        self.add_transits(rows)?;
        let Some(transits) = &mut self.transits else {
            return Ok(());
        };
        let wanted: BTreeSet<_> = rows.iter().map(|(key, _)| *key).collect();
        let keys: Result<Vec<_>, _> = transits.keys().collect();
        let found = keys.map_err(SwitchdError::map("read", TRANSITS))?;
        let mut old = found.iter().filter(|MapRow(key)| !wanted.contains(key));
        old.try_for_each(|key| {
            let removed = transits.remove(key);
            removed.map_err(SwitchdError::map("remove a row from", TRANSITS))
        })
    }

    /// Adds transit rows; each replaces the row with its key, if there is one.
    pub fn add_transits(&mut self, rows: &[(TransitKey, u32)]) -> Result<(), SwitchdError> {
        let Some(transits) = &mut self.transits else {
            return match rows {
                [] => Ok(()),
                _ => Err(LoaderError::Missing { name: TRANSITS }.into()),
            };
        };
        rows.iter().try_for_each(|(key, slot)| {
            let added = transits.insert(MapRow(*key), slot, 0);
            added.map_err(SwitchdError::map("write", TRANSITS))
        })
    }

    /// Writes the row for the prefix of a destination.
    pub fn set_destination(
        &mut self,
        prefix: PrefixKey,
        row: &DestinationRow,
    ) -> Result<(), SwitchdError> {
        let key = Key::new(prefix.bits, prefix.addr.to_ne_bytes());
        self.destinations
            .insert(&key, MapRow(*row), 0)
            .map_err(SwitchdError::map("write", "destinations"))
    }

    /// Reads a destination's row; `None` if the table has no such row.
    pub(crate) fn destination(
        &self,
        prefix: PrefixKey,
    ) -> Result<Option<DestinationRow>, SwitchdError> {
        let key = Key::new(prefix.bits, prefix.addr.to_ne_bytes());
        match self.destinations.get(&key, 0) {
            Ok(MapRow(row)) => Ok(Some(row)),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(error) => Err(SwitchdError::map("read", "destinations")(error)),
        }
    }

    /// Takes all decision records out of the ring buffer, oldest first.
    pub fn drain_decisions(&mut self) -> Vec<DecisionRecord> {
        drain(&mut self.decisions)
    }

    /// Returns the counters, summed over all CPUs.
    pub(crate) fn counters(&self) -> Result<Counters, SwitchdError> {
        let per_cpu = self
            .counters
            .get(&0, 0)
            .map_err(SwitchdError::map("read", "counters"))?;
        let mut total = Counters::default();
        for MapRow(cpu) in per_cpu.iter() {
            let sums: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut total));
            let parts: &[u64] = bytemuck::cast_slice(std::slice::from_ref(cpu));
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += part;
            }
        }
        Ok(total)
    }

    /// Returns the bytes that the datacenter's hosts have sent to the destination with index `row`.
    pub(crate) fn demand(&self, row: u32) -> Result<u64, SwitchdError> {
        let per_cpu = self
            .demands
            .get(&row, 0)
            .map_err(SwitchdError::map("read", "demands"))?;
        Ok(per_cpu.iter().sum())
    }

    /// Returns the classifier program, so that it can be attached.
    pub(crate) fn classifier(&mut self) -> Result<&mut SchedClassifier, SwitchdError> {
        Ok(program(&mut self.ebpf, PROGRAM)?)
    }

    /// Attaches the program that marks ports dead, which then runs for all interfaces of this kernel.
    ///
    /// Fails if the kernel has no BTF, if the object lacks the program, or if too many such programs are attached
    /// to both kernel functions already.
    pub(crate) fn watch_carriers(&mut self) -> Result<FdLink, SwitchdError> {
        self.attach_carrier(CARRIER_OFF).or_else(|error| {
            let second = self.attach_carrier(CARRIER_EVENT);
            second.map_err(|_| error)
        })
    }

    /// Attaches a program that marks ports dead, and first loads it unless it is loaded.
    fn attach_carrier(&mut self, carrier: CarrierProgram) -> Result<FdLink, SwitchdError> {
        if program::<FEntry>(&mut self.ebpf, carrier.name)?
            .fd()
            .is_err()
        {
            load_carrier(&mut self.ebpf, Btf::from_sys_fs(), carrier)?;
        }
        let program = program::<FEntry>(&mut self.ebpf, carrier.name)?;
        let link = program
            .attach()
            .and_then(|link| program.take_link(link))
            .map_err(LoaderError::program("attach", carrier.name))?;
        Ok(link.into())
    }

    /// Returns the information that the kernel has about the program.
    pub(crate) fn info(&mut self) -> Result<ProgramInfo, SwitchdError> {
        self.classifier()?
            .info()
            .map_err(SwitchdError::program("inspect"))
    }

    /// Runs the program once on `packet`, without an interface (`BPF_PROG_TEST_RUN`).
    pub fn test_run(
        &mut self,
        packet: &[u8],
        output: &mut [u8],
    ) -> Result<TestRunResult, SwitchdError> {
        let options = TestRunOptions {
            data_in: Some(packet),
            data_out: Some(output),
            ..TestRunOptions::default()
        };
        self.classifier()?
            .test_run(options)
            .map_err(SwitchdError::program("test"))
    }
}

/// Sets the first `rows` rows of `map` to `value` on all CPUs.
fn set_all<V: aya::Pod>(
    map: &mut PerCpuArray<MapData, V>,
    rows: u32,
    value: V,
) -> Result<(), MapError> {
    let cpus = nr_cpus().map_err(|(_, error)| MapError::IoError(error))?;
    (0..rows).try_for_each(|row| {
        let values = PerCpuValues::try_from(vec![value; cpus]).map_err(MapError::IoError)?;
        map.set(row, values, 0)
    })
}

fn load_carrier(
    ebpf: &mut Ebpf,
    btf: Result<Btf, BtfError>,
    carrier: CarrierProgram,
) -> Result<(), SwitchdError> {
    let load = |program: &mut FEntry| program.load(carrier.function, &btf?);
    let loaded = program::<FEntry>(ebpf, carrier.name).map(load)?;
    Ok(loaded.map_err(LoaderError::program("load", carrier.name))?)
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod state;

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use lab_abi::{
        dcqcn::{CongestionPoint, MAX_THRESHOLD},
        pfc::{CALENDAR_SLOTS, IngressPort},
        rows::{CandidateRow, FlowEntry, FlowKey, PORT_ALIVE, PortQueueRow},
    };
    use lab_policy::{FlowTuple, flow_hash, packet_hash};
    use nix::{
        errno::Errno,
        mount::{MntFlags, MsFlags, mount, umount2},
        unistd::geteuid,
    };

    use super::*;
    use crate::{flow_gc, frame::roce_frame, install::UNMARKED};

    pub(super) fn flow(number: u16) -> FlowKey {
        flow_in(0, number)
    }

    /// Returns the flow [`flow`] with the addresses of the lab slot `slot`.
    fn flow_in(slot: u8, number: u16) -> FlowKey {
        let addr = |net| Ipv4Addr::new(10, slot << 4 | net, 0, 1);
        FlowKey::new(addr(1), addr(8), number, 4791, 17)
    }

    /// Returns a program with room for 1,000 flows, whose only port leads to the destination of [`flow`], and its
    /// table; reports `test` as skipped if the program may not be loaded.
    pub(super) fn with_one_port(test: &str) -> Option<(Program, SwitchTable)> {
        with_candidates(test, 1, FLOW_TABLE)
    }

    /// Returns a program with room for `entries` flows, whose first `candidates` ports lead to the destination of
    /// [`flow`], and its table; reports `test` as skipped if the program may not be loaded.
    fn with_candidates(test: &str, candidates: u8, entries: u32) -> Option<(Program, SwitchTable)> {
        let mut program = match Program::load(entries) {
            Err(error) if error.is_not_permitted() => {
                println!("skipped: {test}: {}", error.chain());
                return None;
            }
            other => other.expect("the program loads"),
        };
        let tables = ports(candidates);
        program.install(&tables).expect("written");
        Some((program, tables.switch))
    }

    /// Returns the tables of a switch whose first `candidates` ports lead to the destination of [`flow`].
    fn ports(candidates: u8) -> SwitchTables {
        let mut switch = SwitchTable::default();
        let mut row = DestinationRow {
            count: candidates.into(),
            ..DestinationRow::default()
        };
        for slot in 0..candidates {
            let port = usize::from(slot);
            switch.ports[port].state = PORT_ALIVE;
            row.candidates[port] = CandidateRow {
                port: slot.into(),
                buckets: 1,
                ..CandidateRow::default()
            };
        }
        let prefix = PrefixKey::new(Ipv4Addr::new(10, 8, 0, 1), 32);
        SwitchTables {
            switch,
            buffer: None,
            transits: Vec::new(),
            destinations: vec![(prefix, row)],
        }
    }

    /// The datacenter's own hosts are in 10.1.0.0/16, those of [`flow`], and its port 0 leads to 10.8.0.1. In transit
    /// are packets of 10.2.0.0/16 that arrive at the interface of a test run, the loopback interface: they leave
    /// through port 1, although 10.8.0.1 has the candidate 0, and are counted as neither pinned nor decided. Without
    /// their row they are dropped. Packets for hosts here, and for unknown destinations, are left to the kernel.
    #[test]
    fn packets_of_other_datacenters_follow_their_tunnel() {
        const LOOPBACK: u32 = 1;
        let Some((mut program, mut table)) = with_one_port("tunnels") else {
            return;
        };
        table.params.local_addr = Ipv4Addr::new(10, 1, 0, 0).to_bits().to_be();
        table.params.local_mask = Ipv4Addr::new(255, 255, 0, 0).to_bits().to_be();
        table.params.tunnels = 1;
        for (slot, port) in table.ports[..2].iter_mut().enumerate() {
            port.state = PORT_ALIVE;
            port.dst_mac[5] = u8::try_from(slot).unwrap();
        }
        program.set_table(&table).expect("written");
        let net = |net: u8| Ipv4Addr::new(10, net, 0, 0).to_bits().to_be();
        let key = |ifindex| TransitKey {
            src: net(2),
            dst: net(8),
            ifindex,
        };
        // Port of the packet, or the program's verdict if it does not leave.
        let run = |program: &mut Program, from: u8, to: u8| {
            let addr = |net| Ipv4Addr::new(10, net, 0, 1);
            let flow = FlowKey::new(addr(from), addr(to), 7, 4791, 17);
            let frame = roce_frame(flow, 1, 64, 0).bytes;
            let mut output = [0; 256];
            let run = program.test_run(&frame, &mut output).expect("it runs");
            match run.return_value {
                TC_ACT_REDIRECT => Ok(output[5]),
                verdict => Err(verdict),
            }
        };
        program
            .set_transits(&[(key(LOOPBACK), 1), (key(9), 0)])
            .expect("written");
        assert_eq!(run(&mut program, 2, 8), Ok(1));
        assert_eq!(run(&mut program, 3, 8), Err(TC_ACT_SHOT), "on no tunnel");
        assert_eq!(run(&mut program, 2, 1), Err(TC_ACT_OK), "for a host here");
        assert_eq!(program.counters().expect("readable").decisions(), 0);
        assert_eq!(run(&mut program, 1, 8), Ok(0), "from a host here");
        assert_eq!(flow_gc::all(&program.flows, 9).expect("readable").len(), 0);

        table.ports[1].state = 0;
        program.set_table(&table).expect("written");
        assert_eq!(
            run(&mut program, 2, 8),
            Err(TC_ACT_SHOT),
            "its tunnel is cut"
        );
        assert_eq!(program.counters().expect("readable").no_destination, 2);
        table.ports[1].state = PORT_ALIVE;
        program.set_table(&table).expect("written");
        // Added rows replace those with their key and no others.
        program
            .add_transits(&[(key(LOOPBACK), 0), (key(7), 1)])
            .expect("written");
        assert_eq!(run(&mut program, 2, 8), Ok(0), "replaced");
        program.add_transits(&[(key(9), 1)]).expect("written");
        assert_eq!(run(&mut program, 2, 8), Ok(0), "still there");
        // A new set replaces all earlier rows.
        program.set_transits(&[(key(9), 1)]).expect("written");
        assert_eq!(run(&mut program, 2, 8), Err(TC_ACT_SHOT), "gone");
        table.params.tunnels = 0;
        program.set_table(&table).expect("written");
        assert_eq!(run(&mut program, 2, 8), Ok(0));
        let counters = program.counters().expect("readable");
        assert_eq!((counters.decisions(), counters.passed), (0, 1));
        assert_eq!(
            flow_gc::all(&program.flows, 9).expect("readable").len(),
            0,
            "one candidate"
        );
    }

    /// Verdicts of tc.
    const TC_ACT_OK: u32 = 0;
    const TC_ACT_SHOT: u32 = 2;
    const TC_ACT_REDIRECT: u32 = 7;

    /// A packet that would wait a minute, with thresholds of 0 and 137 s, is marked if its hash is below 60/137 of the
    /// range. The hash is the same in every lab slot.
    #[test]
    fn packets_that_meet_a_queue_are_marked_by_their_numbers() {
        let Some((mut program, mut table)) = with_one_port("marks") else {
            return;
        };
        table.params.seed = 176;
        let minute = 60_000_000_000;
        table.queues[0] = PortQueueRow {
            busy_until_ns: now() + minute,
            // Packets add no waiting time, so the queue stays as it is.
            byte_time_q20: 1,
            max_wait_ns: 2 * minute,
            congestion: CongestionPoint {
                k_min: 0,
                k_max: MAX_THRESHOLD,
                p_max_q32: 1 << 32,
            },
            ..PortQueueRow::default()
        };
        program.set_table(&table).expect("written");
        let tables = ports(1);
        let (_, row) = &tables.destinations[0];
        for slot in 1..16 {
            let prefix = PrefixKey::new(flow_in(slot, 7).destination(), 32);
            program.set_destination(prefix, row).expect("written");
        }

        let mut output = [0; 256];
        let mut marked = 0;
        let mut either = 0;
        let hash = flow_hash(
            FlowTuple {
                src: Ipv4Addr::new(10, 1, 0, 1),
                dst: Ipv4Addr::new(10, 8, 0, 1),
                sport: 7,
                dport: 4791,
            },
            176,
        );
        let left = || table.queues[0].busy_until_ns.saturating_sub(now());
        for (psn, slot) in (0..2_000_u32).zip((0..16).cycle()) {
            let frame = roce_frame(flow_in(slot, 7), 1, 64, 0).with_psn(psn);
            // Waiting time above which the packet is marked: its hash as a share of 2^37 ns. The program rounds waiting
            // times to its unit of 64 ns.
            let needed = u64::from(packet_hash(hash, psn)) << 5;
            // Packets marked as congested (CE), ECT(0), ECT(1), and a packet that is not ECN-capable.
            for (tos, is_capable) in [(3, true), (2, true), (1, true), (0, false)] {
                let frame = frame.clone().with_tos(tos);
                let longest = left();
                let run = program.test_run(&frame.bytes, &mut output);
                let shortest = left();
                assert_eq!(run.expect("it runs").return_value, 7, "redirected");
                if (shortest.saturating_sub(64)..longest + 64).contains(&needed) {
                    either += u64::from(is_capable);
                    continue;
                }
                let is_marked = is_capable && needed < shortest;
                let tos = if is_marked { 3 } else { tos };
                let expected = frame.with_tos(tos).forwarded(&table.ports[0]);
                assert_eq!(
                    output[..expected.bytes.len()],
                    expected.bytes,
                    "{psn} {tos} in slot {slot}"
                );
                marked += u64::from(is_marked);
            }
        }
        let counted = program.table.marks(0).expect("the port marks");
        assert!(
            (marked..=marked + either).contains(&counted),
            "{counted}, {marked} and {either} of either kind"
        );
        assert!(marked > 1_000 && either < 1_000, "{marked}, {either}");
    }

    fn now() -> u64 {
        crate::now().expect("a clock").get()
    }

    fn wait_until(time_ns: u64) {
        std::thread::sleep(Duration::from_nanos(time_ns.saturating_sub(now())));
    }

    /// Returns the value that `step` measures in a queue. `step` also returns the time at which the queue becomes
    /// empty; if a busy machine finishes the step after that time, packets have left, and the step is repeated.
    fn in_time<T>(mut step: impl FnMut() -> Option<(T, u64)>) -> Option<T> {
        for _ in 0..100 {
            let (found, until_ns) = step()?;
            if now() < until_ns {
                return Some(found);
            }
        }
        panic!("100 times it took longer than the queue")
    }

    /// Returns a queue that takes half a second to drain; new packets add almost no time, at 2^-20 ns per byte.
    pub(super) fn half_a_second() -> PortQueueRow {
        PortQueueRow {
            busy_until_ns: now() + 500_000_000,
            byte_time_q20: 1,
            ..PortQueueRow::default()
        }
    }

    /// Sends packets of 1,000 B into `queue` until one is dropped, and returns how many were accepted.
    pub(super) fn fill(
        program: &mut Program,
        table: &mut SwitchTable,
        queue: PortQueueRow,
        quantum_ns: u64,
    ) -> u64 {
        table.queues[0] = PortQueueRow {
            max_wait_ns: 1_000_000_000,
            congestion: UNMARKED,
            ..queue
        };
        program.set_table(table).expect("written");
        program
            .set_buffer(Some(&small_buffer(quantum_ns)))
            .expect("written");
        (0..100)
            .find(|_| is_dropped(program))
            .expect("a buffer has an end")
    }

    fn small_buffer(quantum_ns: u64) -> SharedBuffer {
        let mut buffer = SharedBuffer {
            shared: 37_712,
            slot_bits: 21, // 512 slots are a second
            count: 1,
            ..SharedBuffer::default()
        };
        buffer.ports[0] = IngressPort {
            ifindex: 1, // of the packets of a test
            headroom: 10_000,
            threshold_shift: 1,
            quantum_ns,
            ..IngressPort::default()
        };
        buffer
    }

    pub(super) fn buffer(program: &Program) -> SharedBuffer {
        let buffers = program.buffers.as_ref().expect("the map");
        let MapRow(buffer) = buffers.get(&0, 0).expect("readable");
        buffer
    }

    fn is_dropped(program: &mut Program) -> bool {
        let mut output = [0; 1_024];
        let frame = roce_frame(flow(7), 1, 64, 946);
        assert_eq!(frame.bytes.len(), 1_000);
        let run = program.test_run(&frame.bytes, &mut output);
        run.expect("it runs").return_value == 2
    }

    /// A port accepts 27,000 B. 17,000 B are the 4,096 B reserve and just half of the 37,712 B that are free before the
    /// last of these packets arrives; 10,000 B are the headroom. The simulator's buffer accepts the same number of
    /// bytes.
    #[test]
    fn a_port_takes_its_reserve_its_share_and_its_headroom_then_drops_until_packets_have_left() {
        let filled = in_time(|| {
            let (mut program, mut table) = with_one_port("shared buffer")?;
            let taken = fill(&mut program, &mut table, half_a_second(), 0);
            let counters = program.counters().expect("readable");
            let until = table.queues[0].busy_until_ns;
            Some(((program, table, taken, counters), until))
        });
        let Some((mut program, mut table, taken, counters)) = filled else {
            return;
        };
        assert_eq!(taken, 27);
        let found = (counters.not_paused, counters.pauses, counters.buffer_drops);
        assert_eq!(found, (11, 0, 1));

        let is_empty = |program: &mut Program| {
            assert!(!is_dropped(program));
            let buffer = buffer(program);
            let [port, ..] = buffer.ports;
            (buffer.used, port.bytes, port.headroom_bytes) == (0, 0, 0)
        };
        let end_of_slot = 1 << 21;
        wait_until(table.queues[0].busy_until_ns + end_of_slot);
        assert!(is_empty(&mut program));
        // The same slot of the calendar is used again, one revolution later.
        let is_empty_in_time = in_time(|| {
            table.queues[0].busy_until_ns += u64::from(CALENDAR_SLOTS) << 21;
            program.set_table(&table).expect("written");
            Some((is_empty(&mut program), table.queues[0].busy_until_ns))
        });
        assert_eq!(is_empty_in_time, Some(false));
        wait_until(table.queues[0].busy_until_ns + end_of_slot);
        assert!(is_empty(&mut program));
    }

    /// When the agent is killed, the buffer contains 27 packets of 1,000 B. The next agent finds the buffer as full as
    /// it was, and empty once the packets have left.
    #[test]
    fn a_successor_of_a_killed_agent_knows_the_packets_in_the_buffer() {
        let succeeded = in_time(|| {
            let bpf = BpfMount::new("successor")?;
            let load =
                || Program::load_object(OBJECT, FLOW_TABLE, Some(bpf.pins())).expect("it loads");
            let mut program = load();
            let mut tables = ports(1);
            program.install(&tables).expect("written");
            let taken = fill(&mut program, &mut tables.switch, half_a_second(), 0);
            // A killed agent leaves its pinned files behind.
            std::mem::forget(program.pins.take());
            drop(program);

            let mut program = load();
            assert!(program.is_inherited());
            tables.buffer = Some(small_buffer(0));
            program.install(&tables).expect("written");
            let found = buffer(&program);
            let is_full = is_dropped(&mut program);
            let until = tables.switch.queues[0].busy_until_ns;
            Some(((bpf, program, taken, found, is_full, until), until))
        });
        let Some((_bpf, mut program, taken, found, is_full, until)) = succeeded else {
            return;
        };
        assert_eq!(taken, 27);
        assert_eq!(found.ports[0].bytes + found.ports[0].headroom_bytes, 27_000);
        assert!(is_full);
        wait_until(until + (1 << 21));
        assert!(!is_dropped(&mut program));
        let found = buffer(&program);
        let [port, ..] = found.ports;
        assert_eq!((found.used, port.bytes, port.headroom_bytes), (0, 0, 0));
    }

    /// BPF file system, unmounted when this value is dropped.
    struct BpfMount(tempfile::TempDir);

    impl BpfMount {
        /// Mounts a BPF file system; reports `test` as skipped if this user may not mount one.
        fn new(test: &str) -> Option<Self> {
            let directory = tempfile::tempdir().expect("a directory");
            let kind = Some("bpf");
            let mounted = mount(kind, directory.path(), kind, MsFlags::empty(), None::<&str>);
            match mounted {
                Err(Errno::EPERM) if !geteuid().is_root() => {
                    println!("skipped: {test}: only root may mount");
                    None
                }
                other => {
                    other.expect("root may mount");
                    Some(Self(directory))
                }
            }
        }

        fn pins(&self) -> Pins {
            let path = self.0.path().join("s");
            Pins::open(path.to_str().expect("a text"), FLOW_TABLE).expect("it opens")
        }
    }

    impl Drop for BpfMount {
        fn drop(&mut self) {
            let _ = umount2(self.0.path(), MntFlags::MNT_DETACH);
        }
    }

    /// Capacity of the flow table in these tests.
    const FLOW_TABLE: u32 = 1_000;

    #[test]
    fn a_host_is_paused_once_until_its_packets_will_have_left() {
        let filled = in_time(|| {
            let (mut program, mut table) = with_one_port("pauses")?;
            let taken = fill(&mut program, &mut table, half_a_second(), 10_240);
            let until = table.queues[0].busy_until_ns;
            Some(((program, table, taken), until))
        });
        let Some((program, table, taken)) = filled else {
            return;
        };
        assert_eq!(taken, 27);
        let counters = program.counters().expect("readable");
        assert_eq!((counters.not_paused, counters.pauses), (0, 1));
        let late = buffer(&program).ports[0].paused_until_ns - table.queues[0].busy_until_ns;
        // The pause may last until the end of a slot, rounded up to whole quanta.
        assert!(late <= (1 << 21) + 10_240, "{late}");
    }

    /// A packet takes 10 ms. The sender may resume when b, the bytes of the ingress port beyond the reserve, is 3,072 B
    /// less than half of the free bytes: b + 3,072 ≤ (37,712 − b) / 2, that is with 14 packets, the reserve included.
    #[test]
    fn a_pause_lasts_until_the_port_is_below_its_share() {
        let Some((mut program, mut table)) = with_one_port("pauses of packets") else {
            return;
        };
        let queue = PortQueueRow {
            byte_time_q20: 10_000 << 20,
            ..PortQueueRow::default()
        };
        fill(&mut program, &mut table, queue, 10_240);
        let counters = program.counters().expect("readable");
        assert!(
            counters.pauses > 1,
            "each packet in the headroom prolongs the pause"
        );
        let queue = program.table().expect("readable").queues[0];
        let left = queue.busy_until_ns - buffer(&program).ports[0].paused_until_ns;
        // A packet leaves the buffer when its transmission begins, but counts until the end of its 2 ms slot.
        assert!((147_000_000..=150_000_000).contains(&left), "{left}");
    }

    fn send(program: &mut Program, number: u16) {
        let mut output = [0; 256];
        let frame = roce_frame(flow(number), 1, 64, 0).bytes;
        let sent = program.test_run(&frame, &mut output).expect("it runs");
        assert_eq!(sent.return_value, 7, "redirected");
    }

    /// Returns the number of each flow in the table, with its packet count.
    fn pinned(program: &Program) -> Vec<(u16, u64)> {
        let found = flow_gc::all(&program.flows, 100_000).expect("it is read");
        let row = |(key, entry): &(FlowKey, FlowEntry)| (key.source_port(), entry.packets);
        let mut found: Vec<_> = found.iter().map(row).collect();
        found.sort_unstable();
        found
    }

    /// A table for 16 flows receives 20 flows, and flows 0 and 1 send again, so the four least recently seen flows are
    /// 2 to 5. A kernel LRU table of 16 rows would then hold only four flows.
    #[test]
    fn a_full_table_evicts_exactly_the_least_recently_seen_flows() {
        let Some((mut program, _)) = with_candidates("eviction", 2, 16) else {
            return;
        };
        (0..20)
            .chain([0, 1])
            .for_each(|number| send(&mut program, number));
        assert_eq!(
            pinned(&program).len(),
            20,
            "there is room until the agent evicts"
        );

        let mut evictor = flow_gc::Evictor::default();
        let mut evict = |program: &mut Program, excess| {
            evictor
                .evict(&mut program.flows, 100_000, excess)
                .expect("they are removed")
                .into_iter()
                .map(|(key, _)| key.source_port())
                .collect::<Vec<_>>()
        };
        assert_eq!(evict(&mut program, 4), [2, 3, 4, 5]);
        assert_eq!(pinned(&program).len(), 16);
        // Before another reading, flow 6 sends and stays; flow 2 returns as a new flow and is now the latest.
        send(&mut program, 6);
        send(&mut program, 2);
        assert_eq!(evict(&mut program, 1), [7]);
        let counters = program.counters().expect("read");
        assert_eq!((counters.new_flows, counters.not_pinned), (21, 0));
        // A new reading gives the remaining flows: 8 to 19, then the four that sent again.
        let left = (8..20).chain([0, 1, 6, 2]);
        assert_eq!(evict(&mut program, 100), left.collect::<Vec<u16>>());
        assert!(pinned(&program).is_empty());
    }

    /// A table for 16 flows has 16 rows plus the headroom until the agent's next eviction. Each packet of a flow
    /// without a row gets its own decision, and is counted.
    #[test]
    fn a_flow_without_room_is_forwarded_and_counted() {
        let Some((mut program, _)) = with_candidates("headroom", 2, 16) else {
            return;
        };
        let rows = u16::try_from(16 + lab_abi::lcmp::FLOW_TABLE_HEADROOM).expect("fits");
        (0..rows).for_each(|number| send(&mut program, number));
        let counts = |program: &Program| {
            let counters = program.counters().expect("read");
            (counters.new_flows, counters.not_pinned)
        };
        assert_eq!(counts(&program), (rows.into(), 0));
        send(&mut program, rows);
        send(&mut program, rows);
        assert_eq!(counts(&program), (u64::from(rows) + 2, 2));
        assert_eq!(pinned(&program).len(), usize::from(rows));
    }

    #[test]
    fn a_flow_without_a_choice_is_forwarded_and_not_pinned() {
        let Some((mut program, mut table)) = with_one_port("one candidate") else {
            return;
        };
        (0..2).for_each(|_| send(&mut program, 7));
        assert!(pinned(&program).is_empty());
        assert!(program.drain_decisions().is_empty());
        let counters = program.counters().expect("read");
        assert_eq!(
            (counters.received, counters.new_flows, counters.hits),
            (2, 0, 0)
        );

        table.ports[0].state = 0;
        program.set_table(&table).expect("written");
        assert!(is_dropped(&mut program));
        let counters = program.counters().expect("read");
        assert_eq!((counters.no_destination, counters.not_pinned), (1, 0));
    }
}

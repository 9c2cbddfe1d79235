//! Measurement of the kernel that this process runs on.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use lab_guest::inside;
use lab_kernel::{
    Lab, LabName,
    doctor::probe_host_placement,
    lab::Reservation,
    lower::{HostPlacement, LowerOptions},
    run::{AgentLauncher, FLOWS_MADE_AHEAD, RunReport, Runner},
};
use lab_plan::{MeasuredLoad, Plan, PlanOptions};
use lab_recorder::run_info;
use lab_records::{FlowRow, RunWriter};
use lab_scenario::{Files, Scenario, Traffic};
use lab_units::{Bytes, Nanos};
use tokio_util::sync::CancellationToken;

use super::measurement::Loads;
use crate::{
    args::{self, Global},
    failure::{During, Failure, with_causes},
    progress::Progress,
    run_dir, terminal,
    verbs::up,
};

/// Measures this kernel with two loads: `flows` flows of one packet, then [`BULK_FLOWS`] large flows that together have
/// [`BULK_PACKETS`] times as many packets.
///
/// # Errors
/// If the lab cannot be brought up or down, or a flow does not finish.
pub fn run(flows: u32, global: &Global) -> Result<Loads, Failure> {
    let cancel = CancellationToken::new();
    terminal::cancel_on_signal(&cancel).during("listen to signals")?;
    let lab = global.lab.as_deref().unwrap_or("measure").parse();
    let mut bench = LabBench {
        lab: lab.map_err(Failure::usage)?,
        hosts: probe_host_placement().unwrap_or(HostPlacement::RootNamespace),
        progress: Progress::new(),
        cancel,
    };
    up::preload()?;
    let bulk = Bytes::new(u64::from(flows) * BULK_PACKETS * PACKET.get() / u64::from(BULK_FLOWS));
    let loads = Loads {
        small: bench.load(flows, PACKET)?,
        bulk: bench.load(BULK_FLOWS, bulk)?,
    };
    bench.progress.finish();
    Ok(loads)
}

struct LabBench {
    lab: LabName,
    hosts: HostPlacement,
    progress: Progress,
    cancel: CancellationToken,
}

impl LabBench {
    /// Brings a lab up, measures `flows` flows of `size` each, and takes the lab down.
    fn load(&mut self, flows: u32, size: Bytes) -> Result<MeasuredLoad, Failure> {
        let reservation =
            Reservation::acquire(&self.lab, NAME).during("make a lab to measure with")?;
        let plan = plan(flows, size).in_slot(reservation.slot());
        let options = LowerOptions {
            lab: self.lab.clone(),
            hosts: self.hosts,
            clock: inside::clock(),
            delay_lines: true,
            cpus: u32::try_from(args::threads(None)).unwrap_or(u32::MAX),
        };
        self.progress.begin("build-up", 0);
        let lab = Lab::up(reservation, &plan, &options, &self.cancel, &mut |_| {});
        let mut lab = lab.during("bring the lab up")?;
        let records = PathBuf::from(format!("{RECORDS}-{}", std::process::id()));
        fs::create_dir_all(&records).during(format_args!("make `{}`", records.display()))?;
        let measured = self.run(&plan, &mut lab, &records);
        let left = lab.down();
        let removed = fs::remove_dir_all(&records);
        let measured = measured?;
        removed.during(format_args!("remove `{}`", records.display()))?;
        match left.first() {
            Some(error) => Err(Failure::environment(format_args!(
                "an object of the lab could not be removed: {error}"
            ))),
            None => Ok(measured),
        }
    }

    fn run(&mut self, plan: &Plan, lab: &mut Lab, records: &Path) -> Result<MeasuredLoad, Failure> {
        let program = std::env::current_exe().during("find this program")?;
        let agents = AgentLauncher {
            command: vec![program.into(), OsString::from("switchd")],
            socket_dir: lab.directory(),
            lab: self.lab.to_string(),
            programs: PathBuf::new(),
        };
        let info = run_info(plan, "", &run_dir::kernel_setting());
        let mut writer =
            RunWriter::create_in(records, SystemTime::now(), &info).during("start the records")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .during("start the runtime")?;
        let progress = &mut self.progress;
        let mut runner = Runner {
            plan,
            lab,
            agents,
            records: &mut writer,
            events: &mut |event| progress.show(event),
            inputs: None,
            host_waits: &|| 0,
            guest_cpu: &up::guest_cpu,
            cancel: self.cancel.clone(),
        };
        let report = runtime
            .block_on(runner.run())
            .map_err(|error| Failure::environment(with_causes(&error)))?;
        // Dropping the writer flushes the rows to their file.
        drop(writer);
        let rows = lab_records::RunDir::open(records)
            .during("read the records")?
            .table::<FlowRow>()
            .during("read the flows")?
            .rows;
        measured(plan, &rows, &report)
    }
}

/// Returns a plan of `flows` flows that start at the same time, over links faster than any kernel can forward.
fn plan(flows: u32, size: Bytes) -> Plan {
    let mut scenario = scenario();
    if let Some(Traffic::Flows(specs)) = scenario.traffic.first_mut() {
        specs[0].size = size;
        let count = usize::try_from(flows).expect("32 bits fit");
        specs.resize(count, specs[0].clone());
    }
    let mut plan = lab_plan::resolve(&scenario, SCENARIO, &Files::new(), &PlanOptions::default())
        .expect("the built-in scenario can be planned");
    // Packets wait for the busy CPU much longer than the delays of links would suggest.
    plan.rdma.qp_timeout = PATIENT_QP_TIMEOUT;
    plan.rdma.flow_deadline_ns = DEADLINE;
    plan
}

fn scenario() -> Scenario {
    let scenario = lab_scenario::parse("generator.yaml", SCENARIO.as_bytes());
    scenario.expect("the built-in scenario is valid")
}

/// Returns the measured load of the flows in `rows`.
fn measured(plan: &Plan, rows: &[FlowRow], report: &RunReport) -> Result<MeasuredLoad, Failure> {
    let unfinished = rows.iter().find(|row| !row.status.is_finished());
    if let Some(row) = unfinished {
        return Err(Failure::environment(format_args!(
            "flow {} did not finish: {}",
            row.flow_id, row.reason
        )));
    }
    let starts = rows.iter().map(|row| row.emu_start_ns).min();
    let ends = rows.iter().filter_map(|row| {
        let fct = row.emu_fct_ns?;
        Some(row.emu_start_ns.saturating_add(fct))
    });
    let lab_ns = ends
        .max()
        .unwrap_or(Nanos::ZERO)
        .saturating_sub(starts.unwrap_or(Nanos::ZERO));
    let made = rows.len().saturating_sub(FLOWS_MADE_AHEAD);
    Ok(MeasuredLoad {
        flows: u64::try_from(made).unwrap_or(u64::MAX),
        data_packets: plan.estimate.data_packets,
        packet_hops: report.work.packet_hops,
        bytes: rows.iter().map(|row| row.emu_size_bytes).sum(),
        lab_ns,
        wall_ns: lab_ns,
        cpu_ns: report.guest_cpu.map(|cpu| cpu.busy_ns),
    })
}

/// Number of links on the path between the two hosts of the measurement.
pub const LINKS: u32 = 3;

const NAME: &str = "generator";

/// Directory of the records, on a file system in memory.
const RECORDS: &str = "/run/lcmp-lab-measure";

/// Payload of a full packet, bytes.
const PACKET: Bytes = Bytes::new(4_096);

/// Number of flows in the bulk load; with SoftRoCE's window of 128 packets each, they always keep the path busy.
const BULK_FLOWS: u32 = 8;

/// Number of packets in the bulk load per packet of the small load.
const BULK_PACKETS: u64 = 6;

/// Time-out exponent of the QPs: 4.096 µs · 2^21, about 8.6 s.
const PATIENT_QP_TIMEOUT: u8 = 21;

/// Time after which an unfinished flow is given up.
const DEADLINE: Nanos = Nanos::from_millis(600_000);

/// Scenario of the measurement: two hosts, three links, and one flow, which is repeated. It is not scaled, and its
/// samples are rare, so that sampling takes hardly any time.
const SCENARIO: &str = "
name: generator
topology:
  defaults:
    host_link: { rate: 40 Gbit, delay: 1 us, buffer: 64 MB }
  dcs: [{ name: dc1, hosts: 1 }, { name: dc2, hosts: 1 }]
  links:
    - { between: [dc1, dc2], rate: 40 Gbit, delay: 1 ms, buffer: 64 MB }
traffic:
  - flows: [{ from: dc1/h1, to: dc2/h1, size: 4096 B }]
generator: verbs
policies: [ecmp]
measure: { queues: 1 s, links: 1 s, switches: 1 s }
scale: { rate: 1, time: 1 }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_are_many_packets_alone_and_a_few_flows() {
        let small = plan(2_000, PACKET);
        assert_eq!(small.flows.len(), 2_000);
        assert_eq!(small.estimate.data_packets, 2_000);
        let hops = small.estimate.packet_hops;
        assert_eq!(hops, 2 * 2_000 * u64::from(LINKS), "data and ACK");
        let bulk = plan(BULK_FLOWS, Bytes::new(6_144_000));
        assert_eq!(bulk.estimate.data_packets, 8 * 1_500);
        assert!(bulk.flows.iter().all(|flow| flow.start_ns == Nanos::ZERO));
    }
}

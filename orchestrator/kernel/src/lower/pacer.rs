//! Lowering of the pacer for the hosts' QPs, which adds congestion control to SoftRoCE.
//!
//! ```text
//! rxe ──> NIC's egress ⇒ pacer [fq] ──veth── gate ⇒ NIC's egress [netem]
//! ```
//!
//! Programs pass each data packet from its NIC to the pacer, and back at the departure time that follows from its QP's
//! rate; see `agents/ebpf/host.bpf.c`. One pacer serves all hosts. The limits of fq leave room for every packet that
//! SoftRoCE passes to the kernel, because a dropped packet would stall its QP.

use lab_host::HostProgram;
use lab_plan::{
    address,
    frame::RXE_PARKED_PACKETS,
    model::{Plan, Role},
    transport::DcqcnConfig,
};
use lab_units::{Nanos, PortId};

use super::{
    Layout,
    interface::{self, CLSACT, ROOT},
};
use crate::step::{
    DeviceChange, Fq, HostPrograms, Namespace, NicRate, Parent, Qdisc, QdiscAt, Step, Veth, VethEnd,
};

/// Appends the step that creates the veth pair of the pacer, which limits QPs to DCQCN's rates.
pub(super) fn pair(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    if layout.dcqcn().is_none() {
        return;
    }
    // The MAC addresses follow those of the last port, so that no other interface has them.
    let ports = u32::try_from(layout.plan.ports.len()).unwrap_or(u32::MAX);
    let end = |dev: String, number| VethEnd {
        netns: Namespace::Root,
        dev,
        mac: address::mac(layout.plan.slot, PortId(ports.saturating_add(number))),
        group: interface::root_group(layout),
        index: 0,
    };
    steps.push(Step::Veth(Veth {
        a: end(layout.pacer_dev(), 0),
        b: end(layout.gate_dev(), 1),
        mtu: layout.plan.rdma.interface_mtu,
        queue_len: interface::QUEUE_LEN,
    }));
}

/// Appends the steps that configure the pacer's interfaces, load the programs, and attach them to these interfaces. The
/// steps that create the hosts' NICs must come first.
pub(super) fn programs(layout: &Layout<'_>, steps: &mut Vec<Step>) {
    let Some(dcqcn) = layout.dcqcn() else {
        return;
    };
    let pacer = layout.pacer_dev();
    let gate = layout.gate_dev();
    let root = Namespace::Root;
    for dev in [&pacer, &gate] {
        steps.push(interface::offloads(&root, dev));
    }
    for dev in [&pacer, &gate] {
        steps.push(Step::Sysctl {
            netns: Namespace::Root,
            key: format!("net.ipv6.conf.{dev}.disable_ipv6"),
            value: "1".into(),
            optional: true,
        });
    }
    steps.push(Step::HostPrograms(host_programs(layout, dcqcn)));
    steps.push(Step::Qdisc(QdiscAt {
        netns: Namespace::Root,
        dev: pacer.clone(),
        parent: Parent::Root,
        handle: ROOT,
        qdisc: Qdisc::Fq(fq(layout)),
    }));
    attach(layout, &pacer, &[HostProgram::PacerEgress], steps);
    attach(layout, &gate, &[HostProgram::PacerGate], steps);
    for dev in [&gate, &pacer] {
        steps.push(Step::device(&root, dev, DeviceChange::Up));
    }
}

/// Appends the steps that attach the programs to a host's NIC in the root namespace.
pub(super) fn hooks(layout: &Layout<'_>, netns: &Namespace, dev: &str, steps: &mut Vec<Step>) {
    if layout.dcqcn().is_some() && *netns == Namespace::Root {
        let programs = [HostProgram::NicIngress, HostProgram::NicEgress];
        attach(layout, dev, &programs, steps);
    }
}

fn attach(layout: &Layout<'_>, dev: &str, programs: &[HostProgram], steps: &mut Vec<Step>) {
    let root = Namespace::Root;
    steps.push(Step::Qdisc(QdiscAt {
        netns: Namespace::Root,
        dev: dev.to_owned(),
        parent: Parent::Clsact,
        handle: CLSACT,
        qdisc: Qdisc::Clsact,
    }));
    let change = |&program| DeviceChange::Program {
        program,
        directory: layout.host_directory(),
    };
    let changes = programs.iter().map(change);
    steps.extend(changes.map(|change| Step::device(&root, dev, change)));
}

fn host_programs(layout: &Layout<'_>, dcqcn: &DcqcnConfig) -> HostPrograms {
    let hosts = layout.nodes().filter(|node| node.role == Role::Host);
    let nic = |&id: &PortId| NicRate {
        dev: layout.port(id).interface.clone(),
        rate: layout.link(id.link()).emu.rate_bps,
    };
    HostPrograms {
        directory: layout.host_directory(),
        pacer: layout.pacer_dev(),
        nics: hosts.flat_map(|host| host.ports.iter().map(nic)).collect(),
        pfc: layout.plan.transport.has_pfc_in_lab(),
        qps: max_flows(layout.plan).saturating_add(SPARE_QPS),
        dcqcn: dcqcn.clone(),
        horizon: HORIZON,
    }
}

fn fq(layout: &Layout<'_>) -> Fq {
    let parked = u32::try_from(RXE_PARKED_PACKETS).unwrap_or(u32::MAX);
    let packets = max_flows(layout.plan).saturating_mul(parked);
    Fq {
        limit: packets.max(MIN_FQ_LIMIT),
        // One socket may carry several QPs, so a flow may hold the packets of all of them.
        flow_limit: packets.max(MIN_FQ_LIMIT),
        orphan_mask: PACKETS_APART,
        horizon: MAX_PARKED,
    }
}

/// Returns the maximum number of flows in one repetition; each flow has a QP at both ends.
fn max_flows(plan: &Plan) -> u32 {
    let repetitions = plan.flows.chunk_by(|a, b| a.repetition == b.repetition);
    let max = repetitions.map(<[_]>::len).max().unwrap_or(0);
    u32::try_from(max).unwrap_or(u32::MAX)
}

/// Minimum time until the pacer checks a held packet again; DCQCN's timer interval applies instead if it is longer.
/// Measurements showed that a shorter time costs CPU time and does not increase rates sooner.
const HORIZON: Nanos = Nanos::from_millis(5);

/// Mask of the hash by which fq distinguishes flows. Each packet gets its own hash, so that no packet waits for the
/// departure time of another packet.
const PACKETS_APART: u32 = (1 << 24) - 1;

/// Maximum time that a packet may stay in fq. The pacer assigns a longer time only if the timer interval of DCQCN is
/// over 7 s.
const MAX_PARKED: Nanos = Nanos::from_millis(60_000);

/// Minimum limit of fq in packets; a packet takes memory only while it is queued.
const MIN_FQ_LIMIT: u32 = 100_000;

/// Number of QPs in addition to those of flows, for programs that the user runs.
const SPARE_QPS: u32 = 1_024;

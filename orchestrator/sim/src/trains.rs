//! Trains, several packets of one flow that are one event: which plans they can simulate, and their default length.

use lab_plan::{CcPlan, FaultChange, Flow, HostProfile, Node, Plan, pfc};
use lab_units::{Nanos, Ratio};

use crate::network::line_rate;

/// Maximum number of packets in a train.
pub const MAX_LENGTH: u32 = u16::MAX as u32;

/// Part of a flow's one-way delay that the default train takes at the rate of the flow's NIC. Packets wait for whole
/// trains, so the relative error of an FCT is about this part per queue.
const DELAY_PART: u64 = 100;

/// Part of a flow's one-way delay that the default train takes at most at the slowest link of the flow's path.
const SLOWEST_PART: u64 = 8;

/// Part of a switch's shared buffer that the trains of all its ports may take, so that PFC pauses about as with packets.
const BUFFER_PART: u64 = 40;

/// Part of a queue's limit that a train may take, so that it fills about as with packets.
const QUEUE_PART: u64 = 10;

/// Returns the default length for `plan`, in packets, at most [`longest`].
///
/// It is the smaller of two medians over the flows: what the NIC sends in a hundredth of the one-way delay, and what the
/// slowest link of the path sends in an eighth of it.
#[must_use]
pub fn default_length(plan: &Plan) -> u32 {
    let bytes = u64::from(plan.transport.payload_bytes.max(1));
    let at_nic = plan.flows.iter().map(|flow| {
        let time = Nanos::new(flow.base_rtt_ns.get() / 2 / DELAY_PART);
        line_rate(plan, flow).bytes_in(time).get() / bytes
    });
    let sending_time = sending_time(plan);
    // A flow of one packet does not tell the rate of its path.
    let at_slowest = plan.flows.iter().filter_map(|flow| {
        let behind = flow.size_bytes.get().checked_sub(bytes)?;
        let time = flow.base_rtt_ns.get() / 2 / SLOWEST_PART;
        let sent = u128::from(time) * u128::from(behind);
        let sending = sending_time(flow).get();
        let packets = sent.checked_div(u128::from(bytes) * u128::from(sending))?;
        (behind > 0).then(|| u64::try_from(packets).unwrap_or(u64::MAX))
    });
    let most = median(at_slowest).unwrap_or(u64::MAX).max(1);
    let packets = median(at_nic).unwrap_or(0).clamp(1, most);
    let length = u32::try_from(packets).unwrap_or(MAX_LENGTH);
    length.min(longest(plan))
}

/// Returns a function for the time that the packets of a flow behind its first one take on an empty path: what the ideal
/// FCT has beyond the round trip. It is slightly too short where the ideal FCT's ACK takes a faster path than the data. If a
/// fault changes a delay, the two can be of different paths, and the time is that of the whole flow on the NIC's link.
fn sending_time(plan: &Plan) -> impl Fn(&Flow) -> Nanos {
    let changes_delay = plan.faults.iter().any(|fault| match &fault.change {
        FaultChange::Wire(wire) => wire.delay_ns != plan.links[fault.link.index()].emu.delay_ns,
        FaultChange::Down | FaultChange::Up => false,
    });
    move |flow| {
        if changes_delay {
            let time = line_rate(plan, flow).serialize(flow.size_bytes);
            time.unwrap_or(Nanos::new(u64::MAX))
        } else {
            flow.ideal_fct_ns.saturating_sub(flow.base_rtt_ns)
        }
    }
}

fn median(lengths: impl Iterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = lengths.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// Returns the maximum length for `plan`, in packets, at which trains are small beside the queues, or under PFC beside the
/// shared buffers.
#[must_use]
pub fn longest(plan: &Plan) -> u32 {
    let bytes = u64::from(plan.transport.payload_bytes.max(1));
    let of_switch = |node: &Node| {
        let buffer = pfc::shared_buffer(node, plan.wires(), &plan.transport)?;
        let ports = u64::try_from(node.ports.len().max(1)).unwrap_or(u64::MAX);
        Some(buffer.shared.get() / BUFFER_PART / ports / bytes)
    };
    let fits = if plan.transport.pfc {
        plan.nodes.iter().filter_map(of_switch).min()
    } else {
        let limits = plan.links.iter().map(|link| link.emu.buffer_bytes.get());
        limits.map(|limit| limit / QUEUE_PART / bytes).min()
    };
    let length = fits.unwrap_or(u64::MAX).clamp(1, MAX_LENGTH.into());
    u32::try_from(length).unwrap_or(MAX_LENGTH)
}

/// Returns why trains cannot simulate `plan`, with a hint; `None` if they can.
#[must_use]
pub fn refusal(plan: &Plan) -> Option<String> {
    let transport = &plan.transport;
    if transport.profile == HostProfile::Rxe {
        let why = "`--scaled` simulates SoftRoCE, whose hosts acknowledge and pace single packets (hint: leave out `--scaled`)";
        return Some(why.to_owned());
    }
    match transport.cc {
        CcPlan::None | CcPlan::Dcqcn(_) => {}
        CcPlan::Hpcc(_) | CcPlan::Timely(_) | CcPlan::Dctcp(_) => {
            return Some(format!(
                "`cc: {}` reacts to the telemetry, round trip or mark of every packet (hint: only `none` and `dcqcn` can be \
                 simulated by trains)",
                transport.cc.name()
            ));
        }
    }
    let loses = |wire: &lab_plan::WirePlan| wire.loss > Ratio::ZERO;
    let by_fault = plan.faults.iter().find_map(|fault| match &fault.change {
        FaultChange::Wire(wire) if loses(wire) => Some(fault.link),
        _ => None,
    });
    if let Some(link) = plan.links.iter().find(|link| loses(&link.emu)) {
        return Some(format!(
            "link `{}` loses single packets at random (hint: remove its `loss`)",
            link.name
        ));
    }
    if let Some(link) = by_fault {
        return Some(format!(
            "a fault makes link `{}` lose single packets at random (hint: remove the fault's `loss`)",
            plan.links[link.index()].name
        ));
    }
    if matches!(transport.cc, CcPlan::Dcqcn(_)) {
        let sending_time = sending_time(plan);
        let is_long = |flow: &&Flow| sending_time(flow) > flow.base_rtt_ns;
        let long = plan.flows.iter().filter(is_long).count();
        if long > 0 {
            return Some(format!(
                "{long} of {} flows are sent for longer than a round trip even on an empty path, so that `cc: dcqcn` sets \
                 their rates by the marks of single packets (hint: `cc: none`, or leave out `--trains`)",
                plan.flows.len()
            ));
        }
    }
    None
}

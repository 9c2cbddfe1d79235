//! Transport of the hosts, in the simulator's units.

use lab_plan::{CcPlan, HostProfile, Plan, Window, timer_wheel::WheelTimer};
use lab_units::{Nanos, Tool};

use crate::{
    cc::CongestionControl,
    packet::{DATA_CLASS, STRICT},
    semantics::SemanticsRules,
    time::SimTime,
};

/// Parameters of the hosts' transport that all QPs share.
#[derive(Clone, Copy, Debug)]
pub struct Transport {
    /// Model of the hosts' RDMA devices.
    pub profile: HostProfile,
    /// RDMA operation that transfers a flow's data, for [`HostProfile::Rxe`].
    pub tool: Tool,
    /// Payload bytes of a full packet.
    pub payload: u32,
    /// Bytes that congestion control adds to each data packet.
    pub data_extra: u32,
    /// Maximum number of switches whose telemetry a data packet can hold.
    pub int_hops: usize,
    /// Wire bytes of an ACK.
    pub ack_bytes: u32,
    /// Traffic class of ACKs.
    pub ack_class: u8,
    /// Time after which a receiver repeats its NACK for a packet; `None` if NACKs are never repeated.
    pub nack_interval: Option<SimTime>,
    /// Retransmission timer; `None` if senders never time out.
    pub timer: Option<RetransmitTimer>,
    /// Time from its start after which an unfinished flow is aborted, for [`HostProfile::Rxe`].
    pub flow_deadline: SimTime,
    /// Rule for a QP's maximum number of unacknowledged bytes.
    pub window: Window,
    /// True if switches pause their neighbours (PFC) rather than drop packets.
    pub pfc: bool,
}

/// Retransmission timer of a QP.
#[derive(Clone, Copy, Debug)]
pub enum RetransmitTimer {
    /// Timer of a hardware NIC, which expires exactly after its time-out.
    Rnic(SimTime),
    /// Timer of SoftRoCE, on the kernel's timer wheel.
    Rxe(WheelTimer),
}

impl RetransmitTimer {
    fn new(timeout: Nanos, profile: HostProfile) -> Self {
        match profile {
            HostProfile::Rnic => Self::Rnic(timeout.into()),
            HostProfile::Rxe => Self::Rxe(WheelTimer::new(timeout)),
        }
    }

    /// Returns the time at which the timer expires, if the last answer arrived at `since`.
    #[must_use]
    pub fn expiry(self, since: SimTime) -> SimTime {
        match self {
            Self::Rnic(timeout) => since + timeout,
            Self::Rxe(timer) => timer.expiry(since.nanos_trunc()).into(),
        }
    }
}

pub(super) fn transport<S: SemanticsRules, C: CongestionControl>(
    plan: &Plan,
    control: &C::Parameters,
) -> Transport {
    let rdma = &plan.rdma;
    let plan = &plan.transport;
    let extra = C::extra_wire_bytes(control);
    let payload = plan.payload_bytes;
    Transport {
        profile: plan.profile,
        tool: rdma.tool,
        payload,
        data_extra: extra.data,
        int_hops: match &plan.cc {
            CcPlan::Hpcc(hpcc) => usize::try_from(hpcc.int_hops).unwrap_or(usize::MAX),
            CcPlan::None | CcPlan::Dcqcn(_) | CcPlan::Timely(_) | CcPlan::Dctcp(_) => 0,
        },
        ack_bytes: S::ACK_BYTES + extra.ack,
        ack_class: if plan.ack_priority {
            STRICT
        } else {
            DATA_CLASS
        },
        nack_interval: plan.nack_interval_ns.0.map(SimTime::from),
        timer: plan
            .retransmit_timeout_ns
            .0
            .map(|timeout| RetransmitTimer::new(timeout, plan.profile)),
        flow_deadline: rdma.flow_deadline_ns.into(),
        window: plan.window,
        pfc: plan.pfc,
    }
}

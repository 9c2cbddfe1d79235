//! Choice of the namespace for hosts' NICs. A trial shows whether this kernel's SoftRoCE can send from inside a
//! namespace.
//!
//! Five messages are sent between two hosts of a lab, each in its own namespace. Before Linux 7.1, rxe looks up routes
//! in the root namespace and listens only there, so the first message fails. Since 7.1, rxe's sockets and devices
//! belong to the namespace in which they were created (<https://github.com/torvalds/linux/commit/13f2a53c2a71>,
//! <https://github.com/torvalds/linux/commit/f1327abd6abe>). The decision depends on the outcome of the flow, not on
//! the kernel's release.

use std::io;

use lab_generators::{
    contract::{Endpoint, FlowJob, HandshakeError, MonotonicTime, Status, Tool},
    perftest::{Options, Session},
};
use lab_units::{Bytes, FlowId, Nanos, NodeId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    finding::{Finding, Requirement},
    sandbox::{self, TwoHosts},
};
use crate::{
    lab::{Lab, LabError, LabErrorKind, ReservationError},
    lower::HostPlacement,
};

/// Failure to bring up the trial's two hosts. If it occurs, no other lab can be brought up either.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("cannot create two hosts to try SoftRoCE: {0}")]
    Io(#[from] io::Error),
    #[error("cannot create two hosts to try SoftRoCE: {0}")]
    Reservation(#[from] ReservationError),
    #[error("cannot create two hosts to try SoftRoCE: {0}")]
    Lab(#[from] LabError),
}

/// Determines the namespace for hosts' NICs on this kernel: a namespace per host if a trial flow between two such
/// namespaces finishes; otherwise the root namespace, where the SoftRoCE of every release can send. The reason is
/// logged.
///
/// Takes a second or two. All created objects are removed.
pub fn probe_host_placement() -> Result<HostPlacement, ProbeError> {
    let (hosts, reason) = probe()?;
    tracing::info!(?hosts, reason, "tried SoftRoCE inside namespaces");
    Ok(hosts)
}

/// Returns the finding about the namespace for hosts' NICs, and the placement itself if it could be determined.
pub(super) fn finding() -> (Finding, Option<HostPlacement>) {
    let why = "before Linux 7.1 (f1327abd6abe), SoftRoCE sends only from the root namespace";
    let about = Requirement("hosts", why);
    match probe() {
        Ok((hosts, reason)) => {
            let place = match hosts {
                HostPlacement::OwnNamespace => "each in a namespace of its own",
                HostPlacement::RootNamespace => "in the root namespace, behind policy routing",
            };
            (about.ok(format!("{place}: {reason}")), Some(hosts))
        }
        Err(error) => (about.fail(error.to_string()), None),
    }
}

/// Determines the namespace for hosts' NICs by a trial flow, and returns the placement with the reason.
fn probe() -> Result<(HostPlacement, String), ProbeError> {
    Ok(match sandbox::run(try_flow)?? {
        Ok(()) => {
            let reason = "a flow from one namespace to another finished".to_owned();
            (HostPlacement::OwnNamespace, reason)
        }
        Err(reason) => (HostPlacement::RootNamespace, reason),
    })
}

/// Brings two hosts up and sends a flow between them; the inner error is the reason why the flow failed.
fn try_flow() -> Result<Result<(), String>, ProbeError> {
    let TwoHosts {
        reservation,
        plan,
        options,
    } = TwoHosts::reserve()?;
    let cancel = CancellationToken::new();
    let mut lab = match Lab::up(reservation, &plan, &options, &cancel, &mut |_| {}) {
        // Before Linux 7.1, a device is made in the root namespace. If RDMA devices are only in their own namespace, as in
        // guests, it is missing in the host's.
        Err(error)
            if matches!(
                error.kind,
                LabErrorKind::NoGid { .. } | LabErrorKind::Differs { .. }
            ) =>
        {
            return Ok(Err(error.to_string()));
        }
        lab => lab?,
    };
    let hosts: Vec<NodeId> = plan.dcs.iter().flat_map(|dc| dc.hosts.clone()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let sent = runtime.block_on(send(&lab, &hosts));
    // A flow that did not use the link was not sent from inside the namespace.
    let used = hosts.iter().try_for_each(|&host| has_sent(&mut lab, host));
    for error in lab.down() {
        tracing::warn!(%error, "an object of the doctor's lab remains until the doctor's thread ends");
    }
    Ok(sent.and(used))
}

async fn send(lab: &Lab, hosts: &[NodeId]) -> Result<(), String> {
    lab_generators::perftest::probe(Tool::SendBw)
        .await
        .map_err(|error| error.to_string())?;
    let mut last = String::new();
    for _ in 0..MAX_ATTEMPTS {
        match flow(lab, hosts).await? {
            Status::Finished(_) => return Ok(()),
            // The clock of a guest may advance while programs are read from the host's disk, so that a flow times out
            // as soon as it starts. By the next attempt, the programs are cached.
            status if is_timeout(&status) => last = status.to_string(),
            status => return Err(format!("a flow between two namespaces failed: {status}")),
        }
    }
    Err(format!(
        "none of {MAX_ATTEMPTS} flows between two namespaces finished: {last}"
    ))
}

async fn flow(lab: &Lab, hosts: &[NodeId]) -> Result<Status, String> {
    let endpoint = |host: NodeId| {
        let name = &lab.plan().nodes[host.index()].name;
        let found = lab
            .host_endpoint(host)
            .ok_or_else(|| format!("`{name}` has no RDMA device"))?;
        Ok::<_, String>(Endpoint {
            host: name.clone(),
            rdma_device: found.rdma_device,
            gid_index: found.gid_index,
            netns: found.netns,
        })
    };
    let job = FlowJob {
        flow: FlowId(0),
        tool: Tool::SendBw,
        src: endpoint(hosts[0])?,
        dst: endpoint(hosts[1])?,
        message_bytes: Bytes::new(4_096),
        messages: lab_generators::contract::limits::MIN_MESSAGES,
        start: Nanos::ZERO,
        qp_timeout: lab_generators::contract::qp::MIN_QP_TIMEOUT,
        path_mtu: 1_024,
        traffic_class: 0,
        flow_label: 0,
        deadline: DEADLINE,
    };
    let options = Options {
        ready_within: Some(DEADLINE.to_duration()),
        ..Options::default()
    };
    let (events, _) = mpsc::unbounded_channel();
    let session = Session::prepare(vec![job], &options, events)
        .await
        .map_err(|error| error.to_string())?;
    let mut rows = session
        .run(MonotonicTime::now())
        .await
        .map_err(|error| error.to_string())?;
    let row = rows.pop().ok_or("the trial flow ended without a result")?;
    Ok(row.status)
}

/// Fails if the host has not sent any packet through its NIC.
fn has_sent(lab: &mut Lab, host: NodeId) -> Result<(), String> {
    let counters = lab.counters(host).map_err(|error| error.to_string())?;
    match counters.iter().map(|port| port.tx_packets).sum() {
        0u64 => Err("a flow between two namespaces finished without using their link".to_owned()),
        _ => Ok(()),
    }
}

/// Returns true if a flow failed only because of a time limit.
const fn is_timeout(status: &Status) -> bool {
    matches!(
        status,
        Status::TimedOut { .. }
            | Status::NoReport { .. }
            | Status::NotReady {
                error: HandshakeError::TimedOut { .. }
            }
    )
}

/// Time limit of the trial flow. Its five messages take less than a second, or, with seven retries, 67 ms more per
/// retry.
const DEADLINE: Nanos = Nanos::from_millis(60_000);
const MAX_ATTEMPTS: u32 = 3;

#[cfg(test)]
mod tests {
    use lab_generators::contract::{Exit, Side};

    use super::*;

    #[test]
    fn only_a_timeout_is_worth_another_attempt() {
        let timeout = HandshakeError::TimedOut {
            seconds: 60,
            waiting_for: "the flow's processes to connect".to_owned(),
        };
        let closed = HandshakeError::Closed { side: Side::Client };
        let failed = Status::Failed {
            side: Side::Client,
            exit: Exit::Code(17),
            message: String::new(),
        };
        for (status, expected) in [
            (Status::TimedOut { after: DEADLINE }, true),
            (Status::NotReady { error: timeout }, true),
            (Status::NotReady { error: closed }, false),
            (failed, false),
        ] {
            assert_eq!(is_timeout(&status), expected, "{status}");
        }
    }
}

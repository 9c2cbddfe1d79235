//! Transport settings without effect in an engine.

use lab_units::show::{about_bytes, about_time};

use super::{Inspection, warning};
use crate::{
    frame,
    model::{Role, Scale, Warning},
    pfc, rdma,
    transport::{Semantics, TransportPlan, WindowPlan},
};

/// Settings that the kernel engine ignores.
pub(super) fn not_rxes(inspection: &Inspection<'_>) -> Option<Warning> {
    let asked = departures(inspection.transport);
    if asked.is_empty() {
        return None;
    }
    let text = format!(
        "the kernel engine has rxe's transport, without congestion control or PFC, and does not \
         honour {} of `transport` (hint: the simulator does, `lcmp-lab sim`)",
        asked.join(", "),
    );
    Some(warning("transport-ignored", text))
}

/// Names of the settings that differ from a scenario without a section `transport`.
fn departures(transport: &TransportPlan) -> Vec<String> {
    let is_artifact = transport.semantics == Semantics::Artifact;
    let cc = transport.cc.name();
    let window = match transport.window {
        // The default wherever rxe's window is not.
        WindowPlan::Bdp if is_artifact || cc != "none" => None,
        WindowPlan::Bdp => Some("`window: bdp`".to_owned()),
        WindowPlan::None => Some("`window: none`".to_owned()),
        WindowPlan::Bytes(bytes) if bytes == frame::rxe_window(transport.payload_bytes) => None,
        WindowPlan::Bytes(bytes) => Some(format!("`window` ({bytes} emulated)")),
    };
    let waits_for_ever = !is_artifact && transport.retransmit_timeout_ns.is_none();
    [
        is_artifact.then(|| "`semantics: artifact`".to_owned()),
        (cc != "none").then(|| format!("`cc: {cc}`")),
        window,
        waits_for_ever.then(|| "`retransmit_timeout: none`".to_owned()),
        transport.pfc.then(|| "`pfc`".to_owned()),
        transport.ack_priority.then(|| "`ack_priority`".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// QPs whose time-out is below the longest round trip.
pub(super) fn early_timeout(inspection: &Inspection<'_>) -> Option<Warning> {
    let timeout = rdma::timeout(inspection.rdma.qp_timeout);
    let round_trip = inspection.trips.base;
    (timeout <= round_trip).then(|| {
        let text = format!(
            "QPs send again after {}, and on the longest path an ACK takes {} to come back with \
             nothing queued (hint: raise `transport.retransmit_timeout`)",
            about_time(timeout),
            about_time(round_trip),
        );
        warning("early-timeout", text)
    })
}

/// Congestion control by marks on a network without marks.
pub(super) fn without_marks(inspection: &Inspection<'_>) -> Option<Warning> {
    let cc = &inspection.transport.cc;
    let mut links = inspection.network.links.iter();
    let is_marked = links.any(|link| link.emu.ecn.is_some());
    (cc.needs_marks() && !is_marked).then(|| {
        let text = format!(
            "`{}` goes by ECN marks and no link marks, so all QPs stay at line rate (hint: set \
             `ecn` of links, or of `topology.defaults`)",
            cc.name(),
        );
        warning("cc-without-marks", text)
    })
}

/// Ports that drop in spite of PFC, as their switch's buffer does not hold their headroom.
pub(super) fn lossy_pfc(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let found = pfc::overcommitted(&network.nodes, &network.links, inspection.transport);
    let first = found.first()?;
    let switch = network.node(first.switch);
    let ports: usize = found.iter().map(|found| found.lossy_ports.len()).sum();
    let links = first.lossy_ports.iter().map(|&port| {
        let link = network.link(switch.ports[port].link());
        format!("`{}`", link.name)
    });
    let setting = match switch.role {
        Role::DciSwitch => "dci_buffer",
        Role::Spine | Role::Leaf | Role::Host => "fabric_buffer",
    };
    let text = format!(
        "in the simulator, {ports} ports of {} switches have no room for PFC's headroom in their \
         switch's buffer and drop instead of \
         sending a pause (`{}`: {} emulated for {} of headroom; lossy towards {}; hint: raise \
         `transport.{setting}`)",
        found.len(),
        switch.name,
        about_bytes(first.buffer),
        about_bytes(first.needed),
        links.collect::<Vec<_>>().join(", "),
    );
    Some(warning("pfc-lossy", text))
}

/// The authors' wraps and codes are of the paper's numbers.
pub(super) fn scaled_artifact(inspection: &Inspection<'_>) -> Option<Warning> {
    let is_artifact = inspection.transport.semantics == Semantics::Artifact;
    (is_artifact && *inspection.scale != Scale::PAPER).then(|| {
        let text = "`semantics: artifact` wraps at fixed numbers, which scaled ones do not meet (hint: \
                    run it unscaled)";
        warning("artifact-scaled", text.to_owned())
    })
}

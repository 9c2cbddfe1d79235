//! Warnings about transport settings that have no effect in an engine, or a harmful one.

use lab_abi::dcqcn::MAX_RATE_BPS;
use lab_units::{
    Bytes, Engine, Ratio,
    show::{about_bytes, about_rate, about_time},
};

use super::inspection::{Inspection, LARGER_SIZES, line_of, warning};
use crate::{
    frame,
    model::{Flow, Link, LinkKind, Role, Scale, Warning},
    pfc, rdma,
    round_trip::RoundTrips,
    transport::{CcPlan, Semantics, Timer, Window},
};

/// Returns a warning about `transport` settings that the kernel engine ignores.
pub(super) fn not_rxes(inspection: &Inspection<'_>) -> Option<Warning> {
    let asked = departures(inspection);
    if asked.is_empty() {
        return None;
    }
    let has = match inspection.transport.cc.in_lab() {
        None => "without congestion control or PFC",
        Some(_) if inspection.transport.has_pfc_in_lab() => "with DCQCN and PFC",
        Some(_) => "with DCQCN",
    };
    let text = format!(
        "the kernel engine has rxe's transport, {has}, and ignores {} of `transport` (hint: \
         the simulator, `lcmp-lab sim`, supports them)",
        asked.join(", "),
    );
    Some(warning("transport-ignored", text))
}

/// Returns the `transport` settings that the kernel engine ignores, with their lines.
fn departures(inspection: &Inspection<'_>) -> Vec<String> {
    let transport = inspection.transport;
    let spec = &inspection.scenario.transport;
    let is_set = |name| spec.value(name).is_some();
    let is_artifact = transport.semantics == Semantics::Artifact;
    let cc = transport.cc.name();
    let has_other_cc = cc != "none" && transport.cc.in_lab().is_none();
    let window = match transport.window {
        // Except for rxe's window, the default in these cases is `bdp`.
        Window::Bdp if is_artifact || has_other_cc => None,
        Window::Bdp => Some("window: bdp".to_owned()),
        Window::None => Some("window: none".to_owned()),
        Window::Bytes(bytes) if bytes == frame::rxe_window(transport.payload_bytes) => None,
        Window::Bytes(_) => Some("window".to_owned()),
    };
    let waits_for_ever = !is_artifact && transport.retransmit_timeout_ns == Timer::NONE;
    let has_pfc_elsewhere = transport.pfc && !transport.has_pfc_in_lab();
    let has_other_payload =
        is_set("payload") && transport.payload_bytes != inspection.rdma.path_mtu;
    let settings = [
        is_artifact.then(|| "semantics: artifact".to_owned()),
        has_other_cc.then(|| format!("cc: {cc}")),
        has_other_payload.then(|| "payload".to_owned()),
        window,
        waits_for_ever.then(|| "retransmit_timeout: none".to_owned()),
        has_pfc_elsewhere.then(|| "pfc".to_owned()),
        transport.ack_priority.then(|| "ack_priority".to_owned()),
        (!is_artifact && transport.nack_interval_ns != Timer::NONE)
            .then(|| "nack_interval".to_owned()),
        // In the lab, PFC acts only between DCI switches and their hosts, so fabric buffers have no effect.
        (transport.pfc && is_set("fabric_buffer")).then(|| "fabric_buffer".to_owned()),
        (has_pfc_elsewhere && is_set("dci_buffer")).then(|| "dci_buffer".to_owned()),
        spec.routes.is_some().then(|| "routes".to_owned()),
    ];
    settings
        .into_iter()
        .flatten()
        .map(|setting| {
            let key = setting.split(':').next().unwrap_or(&setting);
            let line = line_of(inspection, &format!("transport.{key}"));
            format!("`{setting}`{line}")
        })
        .collect()
}

/// Returns a warning about shared buffer sizes that are set without PFC and so have no effect.
pub(super) fn unshared_buffers(inspection: &Inspection<'_>) -> Option<Warning> {
    let spec = &inspection.scenario.transport;
    let set: Vec<String> = ["fabric_buffer", "dci_buffer"]
        .into_iter()
        .filter(|name| spec.value(name).is_some())
        .map(|name| format!("transport.{name}"))
        .map(|path| format!("`{path}`{}", line_of(inspection, &path)))
        .collect();
    (!set.is_empty() && !inspection.transport.pfc).then(|| {
        let text = format!(
            "{} has no effect without PFC, under which a switch's ports share its buffer (hint: set `transport.pfc`, \
             or each link's `buffer`)",
            set.join(" or "),
        );
        warning("buffer-ignored", text)
    })
}

/// Returns a warning if the QPs' time-out is shorter than the longest round trip: with empty queues, or with full ones
/// if the plan chose the time-out. A simulated QP has the time-out that the scenario gives, or none.
pub(super) fn early_timeout(inspection: &Inspection<'_>) -> Option<Warning> {
    let timeout = match inspection.engine {
        Engine::Kernel => rdma::timeout(inspection.rdma.qp_timeout),
        Engine::Sim => inspection.transport.parameters.retransmit_timeout_ns.0?,
    };
    let RoundTrips { base, queued } = inspection.trips;
    let spec = &inspection.scenario.transport;
    if timeout <= base {
        let text = format!(
            "QPs retransmit after {}, but on the longest path an ACK takes {} to return even with empty queues (hint: \
             raise `transport.retransmit_timeout`)",
            about_time(timeout),
            about_time(base),
        );
        return Some(warning("early-timeout", text));
    }
    (timeout <= queued && spec.value("retransmit_timeout").is_none()).then(|| {
        let text = format!(
            "QPs retransmit after {}, InfiniBand's longest time-out, but on the longest path an ACK takes {} if all \
             queues are full (hint: smaller `buffer` of links, or a smaller factor of times in `scale`)",
            about_time(timeout),
            about_time(queued),
        );
        warning("early-timeout", text)
    })
}

/// Returns a warning if the congestion control needs ECN marks but no queue marks packets.
pub(super) fn without_marks(inspection: &Inspection<'_>) -> Option<Warning> {
    let cc = &inspection.transport.cc;
    let mut links = inspection.network.links.iter();
    let is_marked = links.any(|link| link.emu.ecn.is_some());
    (cc.needs_marks() && !is_marked).then(|| {
        let text = format!(
            "`{}` reacts to ECN marks, but no link marks packets, so all QPs stay at line rate (hint: set \
             `ecn` of links, or of `topology.defaults`)",
            cc.name(),
        );
        warning("cc-without-marks", text)
    })
}

/// Returns a warning about paths with more switches than HPCC's packets have telemetry fields for.
pub(super) fn blind_hpcc(inspection: &Inspection<'_>) -> Option<Warning> {
    let CcPlan::Hpcc(hpcc) = &inspection.transport.cc else {
        return None;
    };
    let longest = inspection.longest;
    (hpcc.int_hops < longest).then(|| {
        let text = format!(
            "HPCC's packets have room for the telemetry of {} switches (`int_hops`), but the longest path has \
             {longest}, so senders get no telemetry of later switches (hint: leave `int_hops` out)",
            hpcc.int_hops,
        );
        warning("hpcc-blind", text)
    })
}

/// Returns a warning about NICs that are faster than the maximum rate of DCQCN's implementation.
pub(super) fn capped_dcqcn(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.transport.cc.in_lab()?;
    let network = inspection.network;
    let hosts = network.nodes.iter().filter(|node| node.role == Role::Host);
    let nics = hosts.filter_map(|host| Some(network.link(host.ports.first()?.link())));
    let nic = nics.max_by_key(|nic| nic.emu.rate_bps)?;
    let rate = nic.emu.rate_bps.get();
    (rate > MAX_RATE_BPS).then(|| {
        let text = format!(
            "`{}` has a rate of {}, but DCQCN's implementation supports rates up to {}, so no QP sends faster (hint: a \
             slower `host_link`, or another `cc`)",
            nic.name,
            about_rate(rate),
            about_rate(MAX_RATE_BPS),
        );
        warning("dcqcn-capped", text)
    })
}

/// Returns a warning if even all SoftRoCE windows together cannot fill a queue up to its marking threshold, so that
/// DCQCN has no effect.
pub(super) fn inert_dcqcn(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.transport.cc.in_lab()?;
    let repetitions = inspection
        .flows
        .chunk_by(|a, b| a.repetition == b.repetition);
    let qps = u64::try_from(repetitions.map(<[Flow]>::len).max()?).ok()?;
    let window = frame::rxe_window(inspection.rdma.path_mtu);
    let windows = Bytes::new(window.get().saturating_mul(qps));
    // A packet is in flight for at least the link's delay in both directions, until its ACK arrives.
    let need = |link: &Link| {
        let wire = &link.emu;
        let trip = wire.delay_ns.saturating_add(wire.delay_ns);
        Some(wire.ecn?.k_min + wire.rate_bps.bytes_in(trip))
    };
    let marked = marked_links(inspection).filter_map(|link| Some((link, need(link)?)));
    let (link, need) = marked.min_by_key(|(_, need)| *need)?;
    (windows < need).then(|| {
        let text = format!(
            "{qps} QPs have at most {} in flight (SoftRoCE's windows of {} packets), but even `{}`, which has the \
             lowest threshold, marks only from {} on, so DCQCN has no effect (hint: more flows at once, or a `scale` \
             that makes sizes smaller)",
            about_bytes(windows),
            frame::RXE_WINDOW_PACKETS,
            link.name,
            about_bytes(need),
        );
        warning("dcqcn-inert", text)
    })
}

/// Returns a warning about queues with a marking threshold below three packets.
pub(super) fn early_marks(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.transport.cc.in_lab()?;
    let packet = frame::data(u64::from(inspection.rdma.path_mtu), 0);
    let min = Bytes::new(packet * MIN_MARKED_PACKETS);
    let is_early = |link: &&Link| link.emu.ecn.is_some_and(|ecn| ecn.k_min < min);
    let link = marked_links(inspection).find(is_early)?;
    let k_min = link.emu.ecn?.k_min;
    let text = format!(
        "`{}` marks from {k_min} on, less than {MIN_MARKED_PACKETS} packets of {packet} B, so that DCQCN cuts rates \
         even where packets of two flows merely arrive together (hint: {LARGER_SIZES}, or raise `k_min`)",
        link.name,
    );
    Some(warning("early-marks", text))
}

/// Returns a warning if the QPs' time-out is shorter than the time that packets may wait in the pacer at the minimum
/// rate.
pub(super) fn parked_timeout(inspection: &Inspection<'_>) -> Option<Warning> {
    let min_rate = inspection.transport.cc.in_lab()?.min_rate_bps;
    let timeout = rdma::timeout(inspection.rdma.qp_timeout);
    let parked = rdma::parked_time(inspection.rdma.path_mtu, min_rate);
    let trips = inspection.trips.base.saturating_add(inspection.trips.base);
    let needed = parked.saturating_add(trips);
    (timeout < needed).then(|| {
        let text = format!(
            "QPs retransmit after {}, but at DCQCN's minimum rate of {min_rate} an ACK may take {} (hint: raise \
             `transport.retransmit_timeout`, or `min_rate`)",
            about_time(timeout),
            about_time(needed),
        );
        warning("parked-timeout", text)
    })
}

/// Returns the links at which the kernel engine marks packets: inter-DC links with `ecn`.
fn marked_links<'a>(inspection: &Inspection<'a>) -> impl Iterator<Item = &'a Link> {
    inspection
        .network
        .links
        .iter()
        .filter(|link| link.kind == LinkKind::InterDc && link.emu.ecn.is_some())
}

/// Minimum marking threshold, in packets; a lower one marks packets without congestion.
const MIN_MARKED_PACKETS: u64 = 3;

/// Returns a warning about ports that drop packets despite PFC, because the headroom they need does not fit into the
/// buffer.
pub(super) fn lossy_pfc(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let found = pfc::overcommitted(&network.nodes, inspection.wires(), inspection.transport);
    let first = found.first()?;
    let ports: usize = found.iter().map(|found| found.lossy_ports.len()).sum();
    let setting = match network.node(first.switch).role {
        Role::DciSwitch => "dci_buffer",
        Role::Spine | Role::Leaf | Role::Host => "fabric_buffer",
    };
    let shown = found.iter().map(|found| {
        let switch = network.node(found.switch);
        let ports = found.lossy_ports.iter().map(|port| {
            let link = network.link(switch.ports[port.index].link());
            format!("{} towards `{}`", about_bytes(port.headroom), link.name)
        });
        format!(
            "`{}` has {} after scaling but needs {}, of which {}",
            switch.name,
            about_bytes(found.buffer),
            about_bytes(found.needed),
            ports.collect::<Vec<_>>().join(", "),
        )
    });
    let is_of_lab = inspection.engine == Engine::Kernel;
    let engine = match is_of_lab && !inspection.transport.has_pfc_in_lab() {
        true if inspection.scale.size == Ratio::ONE => "in the simulator, ",
        true => "in `sim --scaled`, ",
        false => "",
    };
    let text = format!(
        "{engine}{ports} ports of {} switches have no room for PFC's headroom in their \
         switch's buffer and drop instead of \
         sending a pause ({}; hint: raise `transport.{setting}`)",
        found.len(),
        shown.collect::<Vec<_>>().join("; "),
    );
    Some(warning("pfc-lossy", text))
}

/// Returns a warning about artifact semantics at a scale other than 1, because its integers wrap around at fixed
/// values.
pub(super) fn scaled_artifact(inspection: &Inspection<'_>) -> Option<Warning> {
    let is_artifact = inspection.transport.semantics == Semantics::Artifact;
    (is_artifact && *inspection.scale != Scale::PAPER).then(|| {
        let text = "integers of `semantics: artifact` wrap around at fixed values, which scaled quantities do not \
                    reach (hint: run it unscaled)";
        warning("artifact-scaled", text.to_owned())
    })
}

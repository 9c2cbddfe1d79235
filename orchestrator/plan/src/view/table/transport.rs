//! Table of the transport. It has details only if the scenario departs from the default transport.

use lab_units::{
    Nanos,
    show::{about_bytes, about_time, paragraph},
};

use crate::{
    frame,
    model::Plan,
    parameters::list,
    transport::{CcPlan, HostProfile, Semantics, TransportPlan, Window},
};

pub(super) fn section(plan: &Plan) -> String {
    let transport = &plan.transport;
    if is_plain(transport) {
        let words = match transport.profile {
            HostProfile::Rnic => PLAIN,
            HostProfile::Rxe => RXE,
        };
        return format!("Transport\n{}", paragraph("  ", words));
    }
    let rows = [
        ("semantics", semantics(transport)),
        ("congestion control", congestion_control(&transport.cc)),
        ("hosts", hosts(transport)),
        ("switches", switches(transport)),
    ]
    .map(|(name, words)| paragraph(&format!("  {name:18}  "), &words));
    let of = match transport.cc.in_lab() {
        None => "simulator, emulated",
        Some(_) if transport.has_pfc_in_lab() => {
            "emulated, for the simulator; the lab uses only congestion control and PFC"
        }
        Some(_) => "emulated, for the simulator; the lab uses only congestion control",
    };
    format!("Transport ({of})\n{}", rows.concat())
}

/// Text for the default transport of an unscaled simulation.
const PLAIN: &str = "none: every QP sends at line rate within a window of the maximum bandwidth-delay \
                     product, and full queues drop packets (the paper's is DCQCN with PFC: `transport: { cc: \
                     dcqcn, pfc: true }`)";

/// Text for the default transport of the lab and of `sim --scaled`.
const RXE: &str = "SoftRoCE: no congestion control, 129 packets of a QP in flight, one first-in, \
                   first-out queue per host, ACKs on request";

/// Text for the lab's hosts under congestion control.
const PACED: &str = "SoftRoCE: 129 packets of a QP in flight, 65 of them in its pacer, ACKs on request, a \
                     NACK for each gap";

/// Returns true if the transport is the default one, which a scenario without a `transport` section has.
fn is_plain(transport: &TransportPlan) -> bool {
    transport.semantics == Semantics::Paper
        && transport.cc == CcPlan::None
        && is_default_window(transport)
        && !transport.pfc
        && !transport.ack_priority
}

/// Returns true if the window is one of the two defaults: the bandwidth-delay product, or rxe's own window.
fn is_default_window(transport: &TransportPlan) -> bool {
    match transport.window {
        Window::None => false,
        Window::Bdp => true,
        Window::Bytes(bytes) => bytes == frame::rxe_window(transport.payload_bytes),
    }
}

fn semantics(transport: &TransportPlan) -> String {
    match transport.semantics {
        Semantics::Paper => "paper".to_owned(),
        Semantics::Artifact => {
            "artifact: the authors' integer wrap-around, flow aliasing and packet headers"
                .to_owned()
        }
    }
}

fn congestion_control(cc: &CcPlan) -> String {
    let (preset, parameters) = match cc {
        CcPlan::None => return "none".to_owned(),
        CcPlan::Dcqcn(config) => (config.preset, list(config, config.preset)),
        CcPlan::Hpcc(config) => (config.preset, list(config, config.preset)),
        CcPlan::Timely(config) => (config.preset, list(config, config.preset)),
        CcPlan::Dctcp(config) => (config.preset, list(config, config.preset)),
    };
    format!("{}, preset {preset}; {parameters}", cc.name())
}

fn hosts(transport: &TransportPlan) -> String {
    let timeout = |time: Nanos| format!("retransmission after {}", about_time(time));
    let timeout = transport
        .retransmit_timeout_ns
        .0
        .map_or("retransmission by NACKs alone".to_owned(), timeout);
    let payload = transport.payload_bytes;
    if transport.profile == HostProfile::Rxe {
        return format!("payload {payload} B; {PACED}; {timeout}");
    }
    let window = match transport.window {
        Window::None => "no window".to_owned(),
        Window::Bdp => "window of the maximum bandwidth-delay product".to_owned(),
        Window::Bytes(bytes) => format!("window of {bytes}"),
    };
    let nacks = match transport.nack_interval_ns.0 {
        None => "a NACK for each gap".to_owned(),
        Some(interval) => format!("at least {} between NACKs", about_time(interval)),
    };
    format!(
        "payload {payload} B; {window}; ACKs {} data; {nacks}; {timeout}",
        if transport.ack_priority {
            "before"
        } else {
            "with"
        },
    )
}

fn switches(transport: &TransportPlan) -> String {
    format!(
        "{}; shared buffers of {} inside datacenters, {} at DCI switches",
        if transport.pfc { "PFC" } else { "no PFC" },
        about_bytes(transport.fabric_buffer_bytes),
        about_bytes(transport.dci_buffer_bytes),
    )
}

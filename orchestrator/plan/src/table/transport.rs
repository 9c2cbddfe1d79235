//! The simulator's transport, where a scenario asks for more than rxe's.

use lab_units::{BitsPerSec, Nanos};

use crate::{
    frame,
    model::Plan,
    text::{about_bytes, about_time, paragraph},
    transport::{CcPlan, Semantics, TimelyStep, TransportPlan, WindowPlan},
};

pub(super) fn section(plan: &Plan) -> String {
    let transport = &plan.transport;
    if is_plain(transport) {
        return String::new();
    }
    let rows = [
        ("semantics", semantics(transport)),
        ("congestion control", congestion_control(&transport.cc)),
        ("hosts", hosts(transport)),
        ("switches", switches(transport)),
    ];
    let rows = rows.map(|(name, words)| paragraph(&format!("  {name:18}  "), &words));
    format!("Transport (simulator, emulated)\n{}", rows.concat())
}

/// As without a section `transport`.
fn is_plain(transport: &TransportPlan) -> bool {
    transport.semantics == Semantics::Paper
        && transport.cc == CcPlan::None
        && is_default_window(transport)
        && !transport.pfc
        && !transport.ack_priority
}

/// Whether the window is what it is if the scenario does not say.
fn is_default_window(transport: &TransportPlan) -> bool {
    match transport.window {
        WindowPlan::None => false,
        WindowPlan::Bdp => true,
        WindowPlan::Bytes(bytes) => bytes == frame::rxe_window(transport.payload_bytes),
    }
}

fn semantics(transport: &TransportPlan) -> String {
    match transport.semantics {
        Semantics::Paper => "paper".to_owned(),
        Semantics::Artifact => {
            "artifact: wraps, aliases and headers of the authors' code".to_owned()
        }
    }
}

fn congestion_control(cc: &CcPlan) -> String {
    match cc {
        CcPlan::None => "none".to_owned(),
        CcPlan::Dcqcn(dcqcn) => format!(
            "dcqcn as published; gain {}, CNPs every {} at most, α every {}, raises every {} and \
             {}, {} of them fast; {}",
            dcqcn.gain,
            about_time(dcqcn.cnp_interval_ns),
            about_time(dcqcn.alpha_interval_ns),
            about_time(dcqcn.increase_interval_ns),
            about_bytes(dcqcn.byte_counter_bytes),
            dcqcn.fast_recovery,
            rates(
                Some(dcqcn.additive_bps),
                Some(dcqcn.hyper_bps),
                dcqcn.min_bps
            ),
        ),
        CcPlan::ArtifactDcqcn(dcqcn) => format!(
            "dcqcn as in the artifact; gain {}, marks in ACKs, α every {}, cuts every {}, raises \
             every {}, {} of them fast; {}",
            dcqcn.gain,
            about_time(dcqcn.alpha_interval_ns),
            about_time(dcqcn.decrease_interval_ns),
            about_time(dcqcn.increase_interval_ns),
            dcqcn.fast_recovery,
            rates(
                Some(dcqcn.additive_bps),
                Some(dcqcn.hyper_bps),
                dcqcn.min_bps
            ),
        ),
        CcPlan::Hpcc(hpcc) => format!(
            "hpcc; utilisation {}, {} additive raises, room for {} hops; {}",
            hpcc.utilisation,
            hpcc.max_stage,
            hpcc.int_hops,
            rates(Some(hpcc.additive_bps), None, hpcc.min_bps),
        ),
        CcPlan::Timely(timely) => format!(
            "timely; steps {}, difference weight {}, decrease {}, round trips of {} to {}, unit {}, \
             {} small raises; {}",
            match timely.step {
                TimelyStep::Segment(bytes) => format!("every {}", about_bytes(bytes)),
                TimelyStep::RoundTrip => "once a round trip".to_owned(),
            },
            timely.difference_weight,
            timely.decrease,
            about_time(timely.t_low_ns),
            about_time(timely.t_high_ns),
            about_time(timely.min_rtt_ns),
            timely.hyper_after,
            rates(
                Some(timely.additive_bps),
                Some(timely.hyper_bps),
                timely.min_bps
            ),
        ),
        CcPlan::Dctcp(dctcp) => format!(
            "dctcp; gain {}, {}; {}",
            dctcp.gain,
            if dctcp.reacts_to_loss {
                "halves on loss"
            } else {
                "does not react to loss"
            },
            rates(dctcp.additive_bps, None, dctcp.min_bps),
        ),
    }
}

fn rates(additive: Option<BitsPerSec>, hyper: Option<BitsPerSec>, least: BitsPerSec) -> String {
    let raise = additive.map_or("one packet".to_owned(), |rate| rate.to_string());
    let hyper = hyper.map_or(String::new(), |rate| format!(", then {rate}"));
    format!("raises of {raise}{hyper}, at least {least}")
}

fn hosts(transport: &TransportPlan) -> String {
    let window = match transport.window {
        WindowPlan::None => "no window".to_owned(),
        WindowPlan::Bdp => "window of the largest bandwidth-delay product".to_owned(),
        WindowPlan::Bytes(bytes) => format!("window of {bytes}"),
    };
    let again = |time: Nanos| format!("sent again after {}", about_time(time));
    format!(
        "payload {} B; {window}; ACKs {} data; NACKs every {} at most; {}",
        transport.payload_bytes,
        if transport.ack_priority {
            "before"
        } else {
            "with"
        },
        about_time(transport.nack_interval_ns),
        transport
            .retransmit_timeout_ns
            .map_or("never sent again without a NACK".to_owned(), again),
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

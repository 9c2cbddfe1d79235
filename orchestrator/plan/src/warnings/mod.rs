//! Warnings of a plan, which a reader should know before trusting results.

mod agents;
mod alike;
mod choice;
mod cuts;
mod faults;
mod ideal;
mod inspection;
mod load;
mod outages;
mod overload;
mod policies;
mod queues;
mod simulator;
mod transport;

use lab_units::{
    Clock, Engine, Nanos, Tool,
    show::{about_rate, about_time, commas, counted},
};

pub(crate) use self::inspection::Inspection;
use self::inspection::{LARGER_SIZES, line_of, warning};
use crate::{
    address, frame,
    model::{Flow, Warning},
    offer, ports, transits,
};

/// Returns all warnings of a plan, in a fixed order.
pub(crate) fn inspect(inspection: &Inspection<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(policies::delay_score_ties(inspection));
    warnings.extend(policies::unused_parameters(inspection));
    warnings.extend(alike::same(inspection));
    let of_traffic = [
        no_flows(inspection),
        choice::missing(inspection),
        choice::left_out(inspection),
        overload::nics(inspection),
        overload::egress(inspection)
            .or_else(|| overload::cut(inspection))
            .or_else(|| overload::links(inspection)),
        load::same_repetitions(inspection),
        load::short(inspection),
        load::early_end(inspection),
        load::late_window(inspection),
    ];
    warnings.extend(of_traffic.into_iter().flatten());
    warnings.extend(faults::early(inspection));
    warnings.extend(faults::late(inspection));
    warnings.extend(faults::without_reconvergence(inspection));
    warnings.extend(agents::without_traffic(inspection));
    warnings.extend(agents::idle(inspection));
    warnings.extend(first_spans(
        faults::cut_off(inspection),
        "some pairs have no path",
    ));
    warnings.extend(first_spans(
        cuts::unseen(inspection),
        "no source datacenter's switch detects a cut",
    ));
    warnings.extend(first_spans(
        outages::until_reconvergence(inspection),
        "some pairs have no next hop",
    ));
    warnings.extend(ideal::delay_off_the_tables(inspection));
    warnings.extend(of_transport(inspection));
    let costs = inspection.auto_scale.map_or(&[][..], |auto| &auto.costs);
    warnings.extend(costs.iter().map(|cost| warning("auto-scale", cost.clone())));
    match inspection.engine {
        Engine::Kernel => {
            warnings.extend(too_large_for_lab(inspection));
            warnings.extend(too_slow_for_lab(inspection));
            warnings.extend(policies::not_in_kernel(inspection));
            warnings.extend(policies::artifact_in_kernel(inspection));
            warnings.extend(crowded_switches(inspection));
            warnings.extend(full_switch(inspection));
            warnings.extend(of_the_kernel(inspection).into_iter().flatten());
        }
        Engine::Sim => {}
    }
    warnings
}

/// Number of time spans of one kind that have a warning each.
const SPANS: usize = 3;

/// Returns the first [`SPANS`] of `warnings`, each about one time span, and one warning that counts the other spans;
/// `what` is the event in them. Returns all warnings if at most one would be left over.
fn first_spans(mut warnings: Vec<Warning>, what: &str) -> Vec<Warning> {
    let more = warnings.len().saturating_sub(SPANS);
    if more > 1 {
        let others = warning(
            &warnings[SPANS].code,
            format!("{what} in {more} later time spans, too"),
        );
        warnings.truncate(SPANS);
        warnings.push(others);
    }
    warnings
}

/// Returns a warning if the network is too large for a lab.
fn too_large_for_lab(inspection: &Inspection<'_>) -> Option<Warning> {
    let why = address::too_large_for_lab(inspection.network.dcs.len())?;
    let text = format!("{why} (hint: run it with `lcmp-lab sim`)");
    Some(warning("too-large-for-lab", text))
}

/// Returns a warning if a link is too slow for a lab.
fn too_slow_for_lab(inspection: &Inspection<'_>) -> Option<Warning> {
    let why = inspection.wires().too_slow_for_lab()?;
    Some(warning("too-slow-for-lab", why))
}

/// Returns warnings about transport, and about settings that the simulator ignores.
fn of_transport(inspection: &Inspection<'_>) -> Vec<Warning> {
    let found: Vec<Option<Warning>> = match inspection.engine {
        // `check` plans for the kernel engine, although the user may intend to run the simulator.
        Engine::Kernel => vec![
            simulator::without_delay(inspection),
            transport::not_rxes(inspection),
            transport::unshared_buffers(inspection),
            transport::lossy_pfc(inspection),
            // This warning applies only to a congestion control that the kernel engine implements.
            (inspection.transport.cc.in_lab()).and_then(|_| transport::without_marks(inspection)),
            transport::capped_dcqcn(inspection),
            transport::blind_hpcc(inspection),
        ],
        Engine::Sim => vec![
            simulator::not_simulated(inspection),
            transport::early_timeout(inspection),
            transport::unshared_buffers(inspection),
            transport::without_marks(inspection),
            transport::scaled_artifact(inspection),
            transport::lossy_pfc(inspection),
            transport::capped_dcqcn(inspection),
            transport::blind_hpcc(inspection),
        ],
    };
    found.into_iter().flatten().collect()
}

/// Returns warnings about the kernel engine: SoftRoCE, perftest, and the machine that forwards the packets.
fn of_the_kernel(inspection: &Inspection<'_>) -> [Option<Warning>; 16] {
    [
        rxe_window(inspection),
        transport::early_timeout(inspection),
        transport::inert_dcqcn(inspection),
        transport::early_marks(inspection),
        transport::parked_timeout(inspection),
        sub_packet_flows(inspection),
        packet_vs_delay(inspection),
        queues::short_queues(inspection),
        queues::tiny_queues(inspection),
        queues::ecn_not_capable(inspection),
        queues::capped_ecn(inspection),
        queues::ecn_inside_dcs(inspection),
        busy_polling(inspection),
        forwarding(inspection),
        generator_load(inspection),
        long_run(inspection),
    ]
}

fn no_flows(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.flows.is_empty().then(|| {
        let text = "no flow starts within the workloads' durations (hint: raise `duration` or \
                    `load`)";
        warning("no-flows", text.to_owned())
    })
}

/// Returns a warning if a switch has too many ports for the lab.
fn crowded_switches(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    let crowded = ports::crowded(&network.dcs, &network.nodes);
    let (first, others) = crowded.split_first()?;
    let path = format!("topology.dcs[{}].name", first.dc.index());
    let text = first.describe(&line_of(inspection, &path), others.len());
    Some(warning("switch-ports", text))
}

/// Returns a warning if a switch has too many transit rows for the lab.
fn full_switch(inspection: &Inspection<'_>) -> Option<Warning> {
    let network = inspection.network;
    if address::too_large_for_lab(network.dcs.len()).is_some() {
        return None;
    }
    let network = (&network.dcs[..], &network.nodes[..], &network.ports[..]);
    let full = transits::fullest(network, inspection.switches, inspection.reconvergences)?;
    Some(warning("transit-rows", full.describe()))
}

fn rxe_window(inspection: &Inspection<'_>) -> Option<Warning> {
    let mtu = inspection.rdma.path_mtu;
    let over: Vec<u64> = inspection
        .flows
        .iter()
        .map(|flow| flow.packets(mtu))
        .filter(|packets| *packets > frame::RXE_WINDOW_PACKETS)
        .collect();
    let max = over.iter().max()?;
    let longest = inspection.flows.iter().map(|flow| flow.base_rtt_ns).max()?;
    let window = frame::rxe_window(mtu);
    let ceiling = u128::from(window.get()) * 8_000_000_000 / u128::from(longest.get().max(1));
    let text = format!(
        "{} of {} flows are longer than the {} packets that a SoftRoCE QP has in flight at most: \
         over a round trip of {} such a flow gets {} at best (the largest has {} \
         packets; hint: a `scale` that makes sizes {} times smaller fits all flows)",
        commas(over.len() as u64),
        commas(inspection.flows.len() as u64),
        frame::RXE_WINDOW_PACKETS,
        about_time(longest),
        about_rate(u64::try_from(ceiling).unwrap_or(u64::MAX)),
        commas(*max),
        frame::rxe_round_trips(*max),
    );
    Some(warning("rxe-window", text))
}

fn sub_packet_flows(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.sub_packet_flows_percent;
    (percent > 0).then(|| {
        let text = format!(
            "{percent} % of flows are under one packet of {} B after scaling, so their FCT in the lab does not \
             depend on their size (hint: {LARGER_SIZES}; `lcmp-lab sim` without `--scaled` takes sizes as written)",
            inspection.rdma.path_mtu
        );
        warning("sub-packet-flows", text)
    })
}

fn packet_vs_delay(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.packet_vs_delay_percent;
    (percent > COARSE_PERCENT).then(|| {
        let text = format!(
            "one packet takes up to {percent} % of the shortest inter-DC delay to send, so short flows experience \
             serialisation that the paper's network does not have (hint: {LARGER_SIZES})"
        );
        warning("coarse-packets", text)
    })
}

fn busy_polling(inspection: &Inspection<'_>) -> Option<Warning> {
    (inspection.rdma.tool == Tool::WriteBw).then(|| {
        let text = "ib_write_bw polls for completions, which takes CPU time from packet forwarding and keeps a \
                    virtual clock from skipping idle time (hint: `ib_send_bw` waits for events)";
        warning("busy-polling", text.to_owned())
    })
}

fn forwarding(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.forwarding_percent;
    // An automatic scale fits the capacity of its place, which may exceed the reference guest's.
    (percent > FULL_PERCENT && inspection.auto_scale.is_none()).then(|| {
        let text = format!(
            "the flows and samples of the busiest second need {percent} % of the reference guest's CPU (hint: raise \
             `scale.time`, lower `scale.rate` or `load`, sample less often by `measure`)"
        );
        warning("forwarding", text)
    })
}

fn generator_load(inspection: &Inspection<'_>) -> Option<Warning> {
    let repetitions = inspection
        .flows
        .chunk_by(|a, b| a.repetition == b.repetition);
    let max = u64::try_from(repetitions.map(<[Flow]>::len).max()?).unwrap_or(u64::MAX);
    (max > PERFTEST_FLOWS && inspection.rdma.tool != Tool::Verbs).then(|| {
        let cpu = offer::PROCESS_CPU.get().saturating_mul(2 * max);
        let text = format!(
            "{} are {} perftest processes, which take {} of CPU time by themselves (hint: \
             perftest is for tens of flows; set `generator: verbs`)",
            counted(max, "flow"),
            commas(2 * max),
            about_time(Nanos::new(cpu)),
        );
        warning("perftest-load", text)
    })
}

/// Returns a warning if the flows take more than a day, with a hint on how to shorten the run.
fn long_run(inspection: &Inspection<'_>) -> Option<Warning> {
    let wall = inspection.place?.wall_ns;
    if wall <= DAY {
        return None;
    }
    let place = inspection.capacity.place;
    let remedy = match (inspection.rdma.tool, place.clock()) {
        // Starting two processes per flow dominates the cost at any scale; idle time costs nothing on a virtual clock.
        (Tool::SendBw | Tool::WriteBw | Tool::ReadBw, Clock::Virtual) => "set `generator: verbs`",
        (Tool::Verbs, Clock::Virtual) => {
            "send fewer packets with a smaller rate factor, `--scale RATE,TIME`"
        }
        (_, Clock::Real) => "shorten the run with a smaller time factor, `--scale RATE,TIME`",
    };
    let text = format!(
        "the flows of all policies take about {} on `{}`, more than a day (hint: {remedy}, or have fewer flows by \
         `max_flows` or a shorter `duration`)",
        about_time(wall),
        place.name(),
    );
    Some(warning("long-run", text))
}

/// Duration of a run above which the plan has a warning.
const DAY: Nanos = Nanos::from_millis(86_400_000);

/// Number of flows above which the CPU time of perftest's processes dominates the run.
const PERFTEST_FLOWS: u64 = 100;

/// Packet serialisation time, in percent of the shortest inter-DC delay, above which short flows have an inaccurate
/// slowdown.
const COARSE_PERCENT: u32 = 10;

/// CPU need of the busiest second, in percent, above which the guest falls behind its own clock.
const FULL_PERCENT: u32 = 100;

//! What a reader should know before trusting results.

use lab_policy::lcmp::{LcmpConfig, Preset, delay_score, separating_shift};
use lab_scenario::Tool;
use lab_units::{Bytes, DcId, Nanos};

use crate::{
    estimate, frame,
    ideal::{self, Transfer},
    model::{Estimate, Flow, Link, LinkKind, PolicyPlan, PolicyRun, Rdma, Switch, Warning},
    policy,
    routing::{self, Ways},
    schedule,
    topology::Network,
};

/// What is looked at.
pub(crate) struct Inspection<'a> {
    pub network: &'a Network,
    pub ways: &'a Ways,
    pub switches: &'a [Switch],
    pub policies: &'a [PolicyRun],
    pub flows: &'a [Flow],
    pub rdma: &'a Rdma,
    pub estimate: &'a Estimate,
}

/// Everything worth a warning, in a fixed order.
pub(crate) fn inspect(inspection: &Inspection<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(delay_score_ties(inspection));
    let others = [
        no_flows(inspection),
        rxe_window(inspection),
        sub_packet_flows(inspection),
        packet_vs_delay(inspection),
        ideal_not_least(inspection),
        short_queues(inspection),
        tiny_queues(inspection),
        ecn_not_capable(inspection),
        busy_polling(inspection),
        forwarding(inspection),
        generator_load(inspection),
    ];
    warnings.extend(others.into_iter().flatten());
    warnings
}

fn warning(code: &str, text: String) -> Warning {
    Warning {
        code: code.to_owned(),
        text,
    }
}

/// Candidates of one destination whose delays differ and whose delay scores do not: one warning
/// for each policy, which names the first such pair and what would separate all.
fn delay_score_ties(inspection: &Inspection<'_>) -> Vec<Warning> {
    let lcmp = inspection
        .policies
        .iter()
        .filter_map(|run| match &run.policy {
            PolicyPlan::Ecmp => None,
            PolicyPlan::Lcmp(config) => Some((run.label.as_str(), config)),
        });
    lcmp.filter_map(|(label, config)| tie(inspection, label, config))
        .collect()
}

fn tie(inspection: &Inspection<'_>, label: &str, config: &LcmpConfig) -> Option<Warning> {
    let rows = delay_rows(inspection, config.preset);
    let mut tied = rows
        .iter()
        .filter_map(|row| first_tie(&row.delays, config).map(|pair| (row, pair)));
    let (row, (a, b)) = tied.next()?;
    let also = match tied.count() {
        0 => String::new(),
        1 => ", and so for one more destination".to_owned(),
        more => format!(", and so for {more} more destinations"),
    };
    let text = format!(
        "policy `{label}`: from `{}` to `{}` the ways by `{}` ({}) and `{}` ({}) have the same \
         delay score{also} (hint: {})",
        row.from,
        row.to,
        row.via[a],
        row.delays[a],
        row.via[b],
        row.delays[b],
        separation(&rows, config),
    );
    Some(warning("delay-score-ties", text))
}

/// The delays that one switch's candidates for one destination are scored by.
struct DelayRow<'a> {
    from: &'a str,
    to: &'a str,
    via: Vec<&'a str>,
    delays: Vec<Nanos>,
}

fn delay_rows<'a>(inspection: &Inspection<'a>, preset: Preset) -> Vec<DelayRow<'a>> {
    let name = |dc: DcId| inspection.network.dcs[dc.index()].name.as_str();
    let switches = (0u32..).map(DcId).zip(inspection.switches);
    let rows = switches.flat_map(|(from, switch)| {
        switch.destinations.iter().map(move |row| DelayRow {
            from: name(from),
            to: name(row.dc),
            via: row.candidates.iter().map(|way| name(way.next_dc)).collect(),
            delays: row
                .candidates
                .iter()
                .map(|way| policy::scored(way, preset).0)
                .collect(),
        })
    });
    rows.collect()
}

/// The smallest `max_delay` that separates the delays of every row, or that there is none.
fn separation(rows: &[DelayRow<'_>], config: &LcmpConfig) -> String {
    let several = rows.iter().filter(|row| row.delays.len() > 1);
    let shifts: Option<Vec<u8>> = several
        .map(|row| separating_shift(&row.delays, config.preset))
        .collect();
    let shift = shifts.and_then(|shifts| shifts.into_iter().max());
    let separates = |shift: &u8| {
        let trial = LcmpConfig {
            max_delay_shift: *shift,
            ..config.clone()
        };
        rows.iter()
            .all(|row| first_tie(&row.delays, &trial).is_none())
    };
    match shift.filter(separates) {
        Some(shift) => {
            let smallest = policy::max_delay(shift, config.preset);
            format!("`max_delay: {smallest}` is the smallest that separates all")
        }
        None => "no `max_delay` separates all: its steps are 1/255 of it".to_owned(),
    }
}

/// Two delays that differ and score the same.
fn first_tie(delays: &[Nanos], config: &LcmpConfig) -> Option<(usize, usize)> {
    let pairs = (0..delays.len()).flat_map(|a| (a + 1..delays.len()).map(move |b| (a, b)));
    let score = |at: usize| delay_score(delays[at], config);
    let mut ties = pairs.filter(|&(a, b)| delays[a] != delays[b] && score(a) == score(b));
    ties.next()
}

fn no_flows(inspection: &Inspection<'_>) -> Option<Warning> {
    inspection.flows.is_empty().then(|| {
        let text = "no flow starts within the workloads' durations (hint: raise `duration` or \
                    `load`)";
        warning("no-flows", text.to_owned())
    })
}

fn rxe_window(inspection: &Inspection<'_>) -> Option<Warning> {
    let mtu = inspection.rdma.path_mtu;
    let packets = |flow: &Flow| u64::from(flow.messages) * frame::packets(flow.message_bytes, mtu);
    let over = inspection.flows.iter().map(packets);
    let over: Vec<u64> = over
        .filter(|packets| *packets > frame::RXE_WINDOW_PACKETS)
        .collect();
    let most = over.iter().max()?;
    let longest = inspection.flows.iter().map(|flow| flow.base_rtt_ns).max()?;
    let window = Bytes::new(frame::RXE_WINDOW_PACKETS * u64::from(mtu));
    let ceiling = u128::from(window.get()) * 8_000_000_000 / u128::from(longest.get().max(1));
    let text = format!(
        "{} of {} flows are longer than the {} packets that a SoftRoCE QP has under way at most: \
         over a round trip of {} such a flow gets {} kbit/s at best (the largest has {most} \
         packets; hint: a `scale` of sizes {} times smaller fits all)",
        over.len(),
        inspection.flows.len(),
        frame::RXE_WINDOW_PACKETS,
        short(longest),
        ceiling / 1_000,
        most.div_ceil(frame::RXE_WINDOW_PACKETS),
    );
    Some(warning("rxe-window", text))
}

fn sub_packet_flows(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.sub_packet_flows_percent;
    (percent > 0).then(|| {
        let text = format!(
            "{percent} % of flows are under one packet of {} B after scaling, so their FCT does not \
             depend on their size (hint: scale sizes less)",
            inspection.rdma.path_mtu
        );
        warning("sub-packet-flows", text)
    })
}

fn packet_vs_delay(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.packet_vs_delay_percent;
    (percent > COARSE_PERCENT).then(|| {
        let text = format!(
            "one packet takes up to {percent} % of the shortest inter-DC delay to send, so short \
             flows see serialisation that the paper's network does not have (hint: scale sizes \
             less)"
        );
        warning("coarse-packets", text)
    })
}

/// Flows that another candidate path would end sooner than the path of least delay, when alone.
fn ideal_not_least(inspection: &Inspection<'_>) -> Option<Warning> {
    let largest = largest_by_pair(inspection);
    let mut found = 0;
    let mut example = None;
    for flow in largest {
        if let Some((via, fct)) = faster_way(inspection, flow) {
            found += 1;
            example.get_or_insert((flow, via, fct));
        }
    }
    let (flow, via, fct) = example?;
    let name = |node| &inspection.network.node(node).name;
    let text = format!(
        "for {found} pairs of datacenters the largest flow would end sooner on another way than on \
         that of least delay, to which its slowdown refers: {} from {} to {} by {via} in {} \
         instead of {}, a slowdown of {}/1000",
        flow.paper_size_bytes,
        name(flow.src),
        name(flow.dst),
        short(fct),
        short(flow.ideal_fct_ns),
        u128::from(fct.get()) * 1_000 / u128::from(flow.ideal_fct_ns.get().max(1)),
    );
    Some(warning("ideal-not-least", text))
}

/// The largest flow of each pair of datacenters, by the pair.
fn largest_by_pair<'a>(inspection: &Inspection<'a>) -> Vec<&'a Flow> {
    let mut largest = std::collections::BTreeMap::new();
    for flow in inspection.flows {
        let dc = |node| inspection.network.node(node).dc;
        let known = largest.entry((dc(flow.src), dc(flow.dst))).or_insert(flow);
        if flow.size_bytes > known.size_bytes {
            *known = flow;
        }
    }
    largest.into_values().collect()
}

fn faster_way(inspection: &Inspection<'_>, flow: &Flow) -> Option<(String, Nanos)> {
    let network = inspection.network;
    let (from, to) = (network.node(flow.src).dc, network.node(flow.dst).dc);
    let rows = &inspection.switches[from.index()].destinations;
    let candidates = &rows.iter().find(|row| row.dc == to)?.candidates;
    let transfer = Transfer {
        tool: inspection.rdma.tool,
        path_mtu: inspection.rdma.path_mtu,
        messages: flow.messages,
        message_bytes: flow.message_bytes,
    };
    let times = candidates.iter().map(|candidate| {
        let port = Some(candidate.port);
        let ports = routing::host_path(network, inspection.ways, flow.src, flow.dst, port);
        let fct = ideal::completion(&ideal::hops(network, &ports), &transfer);
        (fct, candidate)
    });
    let (fct, candidate) = times.min_by_key(|(fct, candidate)| (*fct, candidate.port))?;
    let via = network.dcs[candidate.next_dc.index()].name.clone();
    (fct < flow.ideal_fct_ns).then_some((via, fct))
}

fn short_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    let sent = schedule::most_wire_bytes(inspection.flows);
    let is_short = |link: &&Link| {
        let wire = &link.emu;
        let way = wire.rate_bps.bytes_in(wire.delay_ns);
        wire.buffer_bytes < way.min(sent)
    };
    let links = inspection.network.links.iter();
    let inter_dc = links.filter(|link| link.kind == LinkKind::InterDc);
    let short: Vec<&Link> = inter_dc.clone().filter(is_short).collect();
    let first = short.first()?;
    let text = format!(
        "{} of {} inter-DC links have egress queues that hold less than the link itself; SoftRoCE \
         has no congestion control, so bursts can drop packets and be sent again (`{}`: {} of \
         buffer, {} under way; hint: raise `buffer`)",
        short.len(),
        inter_dc.count(),
        first.name,
        first.paper.buffer_bytes,
        first.paper.rate_bps.bytes_in(first.paper.delay_ns),
    );
    Some(warning("short-queues", text))
}

fn tiny_queues(inspection: &Inspection<'_>) -> Option<Warning> {
    let packet = frame::data(u64::from(inspection.rdma.path_mtu), 0);
    let least = Bytes::new(packet * LEAST_QUEUE_PACKETS);
    let mut links = inspection.network.links.iter();
    let tiny = links.find(|link| link.emu.buffer_bytes < least)?;
    let text = format!(
        "`{}` queues {} after scaling, less than {LEAST_QUEUE_PACKETS} packets, so any burst drops \
         (hint: scale sizes less, or raise `buffer`)",
        tiny.name, tiny.emu.buffer_bytes,
    );
    Some(warning("tiny-queues", text))
}

fn ecn_not_capable(inspection: &Inspection<'_>) -> Option<Warning> {
    let mut links = inspection.network.links.iter();
    let marked = links.find(|link| link.emu.ecn.is_some())?;
    let capable = matches!(inspection.rdma.traffic_class & 3, 1 | 2);
    (!capable).then(|| {
        let text = format!(
            "`{}` marks ECN but traffic class {} says that flows are not ECN-capable, so their \
             packets are dropped instead (hint: set the lowest two bits to 2)",
            marked.name, inspection.rdma.traffic_class
        );
        warning("ecn-not-capable", text)
    })
}

fn busy_polling(inspection: &Inspection<'_>) -> Option<Warning> {
    (inspection.rdma.tool == Tool::IbWriteBw).then(|| {
        let text = "ib_write_bw polls for completions, which takes the CPU that forwards packets \
                    and keeps a virtual clock from jumping over idle time (hint: `ib_send_bw` waits \
                    for events)";
        warning("busy-polling", text.to_owned())
    })
}

fn forwarding(inspection: &Inspection<'_>) -> Option<Warning> {
    let percent = inspection.estimate.forwarding_percent;
    (percent > FULL_PERCENT).then(|| {
        let text = format!(
            "flows that start within one second need {percent} % of the packets that the reference \
             guest forwards in one (hint: raise `scale.time`, lower `scale.rate` or `load`)"
        );
        warning("forwarding", text)
    })
}

fn generator_load(inspection: &Inspection<'_>) -> Option<Warning> {
    let repetitions = inspection
        .flows
        .chunk_by(|a, b| a.repetition == b.repetition);
    let most = u64::try_from(repetitions.map(<[Flow]>::len).max()?).unwrap_or(u64::MAX);
    (most > PERFTEST_FLOWS).then(|| {
        let cpu = estimate::PROCESS_CPU.get().saturating_mul(2 * most);
        let text = format!(
            "{most} flows are {} perftest processes, which take {} of CPU by themselves (hint: \
             perftest is for tens of flows; set `max_flows`)",
            2 * most,
            short(Nanos::new(cpu)),
        );
        warning("perftest-load", text)
    })
}

/// `time` in milliseconds, or as it is below one.
fn short(time: Nanos) -> String {
    match time.whole_millis_trunc() {
        0 => time.to_string(),
        millis => format!("{millis} ms"),
    }
}

/// Fewer packets are not a queue.
const LEAST_QUEUE_PACKETS: u64 = 8;

/// Above this, perftest's own work is most of the run.
const PERFTEST_FLOWS: u64 = 100;

/// More than this of the shortest delay would show in short flows' slowdown.
const COARSE_PERCENT: u32 = 10;

/// Above this, the guest is late for its own clock.
const FULL_PERCENT: u32 = 100;
